"""Settings of rule sets: what is refused, and that they come back from JSON as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairness_engine.errors import SettingError
from fairness_engine.groups.rule_sets.settings import MAX_RESCORED, RuleSettings

LEAST = {
    **{"support": 1e-9, "error": 0, "confidence": 0.5, "least_samples": 1, "bins": 2, "edges": "round"},
    **{"max_attributes": 1, "one_sided": True, "n_rescored": 0, "source": "labels", "predictions": "guess"},
}
MOST = {
    **{"support": 0.999, "error": 0.999, "confidence": 0.999, "least_samples": 10**7, "bins": 100},
    **{"max_attributes": 6, "n_rescored": MAX_RESCORED, "text_column": "said", "terms": {"size": ["big", "small"]}},
}


@pytest.mark.parametrize("content", [{}, LEAST, MOST])
def test_settings_come_back_as_they_were(content: dict[str, Any]) -> None:
    settings = RuleSettings.from_json(content)
    assert RuleSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("support", (0, 1, -0.1, float("nan"))),
        ("error", (-0.01, 1, float("nan"))),
        ("confidence", (0.49, 1, float("nan"))),
        ("least_samples", (0, 10**7 + 1)),
        ("bins", (1, 101)),
        ("max_attributes", (-1, 7)),
        ("n_rescored", (-1, MAX_RESCORED + 1)),
    ],
)
def test_a_value_out_of_its_range_is_named_with_what_was_got(name: str, values: tuple[float, ...]) -> None:
    for value in values:
        with pytest.raises(SettingError, match=f"'{name}' must be .*, got {value}"):
            RuleSettings.from_json({name: value})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"theta": 0.1}, "no setting 'theta'; known are: support, max_attributes, error"),
        ({"edges": "odd"}, "must be one of 'equal', 'round', got 'odd'"),
        ({"bins": "ten"}, "'bins' must be a whole number from 2 to 100, got 'ten'"),
        ({"terms": 5}, "'terms' must be identity terms by category, got 5"),
        ({"predictions": "guess"}, "compared without a model"),
        ({"terms": {"size": ["big"]}}, "at least two terms"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(content: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        RuleSettings.from_json(content)
