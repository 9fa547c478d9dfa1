"""Gates: what they read, what they refuse, and what they never do."""

from __future__ import annotations

import pytest

from fairness_engine.cli.gate import read_gate
from fairness_engine.errors import SettingError

RESULT = {
    "share": 0.02,
    "high": 0.03,
    "n": 100,
    "state": "finished",
    "auc": None,
    "fit": {"accuracy": 0.9, "is_deterministic": True, "uses_protected": {"sex": False}},
    "estimate": {"high": 0.5},
    "rule_sets": [{"score": 0.3, "rules": [{"low": 18}]}, {"score": 0.1}],
}


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("high > 0.01", True),
        ("high>0.03", False),
        ("high >= 3e-2", True),
        ("0.01 < share", True),
        ("share == .02", True),
        ("share != 0.02", False),
        ("n <= -1", False),
        ("fit.accuracy < 0.95", True),
        ("fit.is_deterministic == false", False),
        ("fit.uses_protected.sex == false", True),
        ("share < high", True),
        ("share > 1 or high > 0.01", True),
        ("share > 1 and high > 0.01", False),
        ("share > 1 and high > 0.01 or n == 100", True),
        ("n == 100 or share > 1 and high > 1", True),
        ("estimate.high == 0.5", True),
        ("estimate.share > 0.01", True),
        ("rule_sets.0.score > 0.2", True),
        ("rule_sets.1.score > 0.2", False),
        ("estimate.rule_sets.0.rules.0.low == 18", True),
    ],
)
def test_a_gate_compares(text: str, fails: bool) -> None:
    assert read_gate(text).fails(RESULT, "estimate") is fails


@pytest.mark.parametrize(
    "text",
    [
        "",
        "high",
        "high >",
        "high = 3",
        "high > 0.1 and",
        "or",
        "__import__('os').system('x') > 0",
        "high > 1; n",
        "1 < n < 3",
        "(n > 1)",
        "nan > 1 >",
    ],
)
def test_what_is_no_gate_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="--fail-if needs comparisons"):
        read_gate(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing > 1", "must name something in the result"),
        ("fit.nothing > 1", "must name something in the result"),
        ("fit.accuracy.x > 1", "must name something in the result"),
        ("state == 1", "no number"),
        ("auc > 0.5", "'auc' is nothing"),
        ("fit > 0.5", "no number"),
        ("rule_sets > 0.5", "no number"),
        ("rule_sets.2.score > 0.5", "must name something in the result"),
        ("rule_sets.score > 0.5", "must name something in the result"),
        ("rule_sets.-1.score > 0.5", "must name something in the result"),
    ],
)
def test_a_name_must_stand_for_a_number(text: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        read_gate(text).fails(RESULT, "search")


def test_unknown_names_are_refused_before_the_work() -> None:
    known = ("share", "high", "fit")
    for text in ("high > 1", "estimate.high > 1", "fit.accuracy > 1", "1 < 2", "true == false"):
        read_gate(text).check_names(known, "estimate")
    for text in ("hihg > 1", "estimate.hihg > 1", "search.high > 1", "estimate > 1"):
        with pytest.raises(SettingError, match="must name something in the JSON"):
            read_gate(text).check_names(known, "estimate")
