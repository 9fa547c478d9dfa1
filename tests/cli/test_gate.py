"""Gates: what they read, what they refuse, and what they never do."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairness_engine.cli.gate import FAIL_IF, Comparison, read_gate
from fairness_engine.errors import SettingError
from fairness_engine.measures.results import Share
from fairness_engine.retraining.results import Changes

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


@pytest.mark.parametrize(
    ("text", "fails", "said"),
    [
        ("high > 0.01", True, "high must be at most 0.01, got 0.03"),
        ("high >= 3e-2", True, "high must be below 3e-2, got 0.03"),
        ("fit.accuracy < 0.95", True, "fit.accuracy must be at least 0.95, got 0.9"),
        ("n <= 100", True, "n must be above 100, got 100"),
        ("fit.uses_protected.sex == false", True, "fit.uses_protected.sex must not be false, got false"),
        ("fit.is_deterministic != true", False, "fit.is_deterministic must be true, got true"),
        ("0.01 < share", True, "share must be at most 0.01, got 0.02"),
        ("n < 1000 and high > 0.01", True, "n must be at least 1000, got 100; or high must be at most 0.01, got 0.03"),
        ("share < high", True, "share must be at least high (0.03), got 0.02"),
        (
            "share > 1 and auc > 1 or high > 1",
            False,
            "share must be at most 1, got 0.02; and high must be at most 1, got 0.03",
        ),
        ("n == 100 or auc > 1", True, "n must not be 100, got 100"),
    ],
)
def test_what_decided_is_said_with_its_figures(text: str, fails: bool, said: str) -> None:
    decided = read_gate(text).decide(RESULT, "estimate")
    assert (decided.fails, decided.said) == (fails, said)


@pytest.mark.parametrize("text", ["n == 100 and auc > 1", "n != 100 or auc > 1", "auc > 1 and n != 100"])
def test_what_is_reached_and_null_decides_nothing(text: str) -> None:
    with pytest.raises(SettingError, match="'auc' is nothing"):
        read_gate(text).decide(RESULT, "estimate")


FIGURES = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**12), 10**12)
CLOSE = st.tuples(st.floats(-1e6, 1e6), st.integers(-3, 3)).map(lambda pair: math.nextafter(pair[0], 1e9 * pair[1]))


@given(FIGURES | CLOSE, FIGURES | CLOSE, st.sampled_from(["<", "<=", "==", "!=", ">=", ">"]))
def test_the_figures_that_are_said_decide_alike(left: float, right: float, sign: str) -> None:
    """A figure is shortened only as far as whoever reads the sentence comes to the same verdict."""
    comparison = Comparison("a", sign, "b")
    values = {"a": left, "b": right}
    found = re.fullmatch(r"a must .* b \((.*)\), got (.*)", comparison.said(values, ""))
    assert found is not None
    told = {"a": float(found[2]), "b": float(found[1])}
    assert comparison.holds(told, "") == comparison.holds(values, "")


PARTS = {"fit": ("accuracy",), "plausible": Share, "changes": Changes, "after": {"estimate": Share, "figures": None}}
KNOWN = ("high", "fit", "changes", "after", "rule_sets")


@pytest.mark.parametrize(
    "text",
    [
        "fit.accuracy > 1",
        "retrain.fit.accuracy > 1",
        "changes.accuracy.low > 1",
        "changes.figures.anything.at.all > 1",
        "changes.groups.0.n > 1",
        "after.estimate.high > 1",
        "after.figures.x.y > 1",
        "rule_sets.0.score > 1",
        "retrain.high > 1",
    ],
)
def test_names_inside_objects_are_known(text: str) -> None:
    read_gate(text).check_names(KNOWN, "retrain", PARTS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "fit.acuracy > 1",
            r"something in 'fit' of the JSON of 'retrain', got 'fit.acuracy'. Take another, such as accuracy;",
        ),
        ("retrain.fit.acuracy > 1", r"something in 'fit' of the JSON of 'retrain', got 'retrain.fit.acuracy'"),
        (
            "changes.accuracy.hihg > 1",
            r"something in 'changes.accuracy' of the JSON of 'retrain', got .* such as high, ",
        ),
        ("after.estimate.hihg > 1", r"something in 'after.estimate' of the JSON"),
        ("plausible.high > 1", r"something in the JSON of 'retrain', got 'plausible.high'. Take another, such as "),
    ],
)
def test_unknown_names_inside_objects_are_refused_before_the_work(text: str, said: str) -> None:
    with pytest.raises(SettingError, match=f"{FAIL_IF} must name {said}"):
        read_gate(text).check_names(KNOWN, "retrain", PARTS)


def test_the_wrong_name_and_what_to_do_are_said_where_there_are_many_names() -> None:
    known = ("n_tried", *(f"name_no_{i}" for i in range(100)), "n_found")
    with pytest.raises(SettingError) as said:
        read_gate("n_foud > 0").check_names(known, "search")
    sentence = str(said.value)
    assert "got 'n_foud'. Take another, such as n_found, " in sentence
    assert sentence.endswith("docs/command-line.md has all.")
    assert len(sentence) < 200
