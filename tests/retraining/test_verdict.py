"""Paired intervals and the words of a verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairness_engine.measures.results import Share
from fairness_engine.retraining.evaluation.changes import paired_change
from fairness_engine.retraining.evaluation.verdict import Opinion, compare, compare_rule_set, percent, points
from fairness_engine.retraining.results import (
    GroupScore,
    Interval,
    Measured,
    PairedChange,
    Quality,
    Verdict,
    WorstOfNew,
    WorstRuleSet,
)

FALL = PairedChange(-0.1, -0.12, -0.08, 0, 100, 1000)
RISE = PairedChange(0.1, 0.08, 0.12, 100, 0, 1000)
CHANCE = PairedChange(0.001, -0.01, 0.012, 6, 5, 1000)
RULE = WorstRuleSet(rules=[{"column": "sex"}], group="women")


def _score(value: float, low: float, high: float) -> GroupScore:
    return GroupScore(value, value, 0.0, low, high)


WAS = _score(0.3, 0.25, 0.35)


def _measured(uniform: float, data: float, accuracy: float = 0.9) -> Measured:
    figure = Interval(accuracy, accuracy - 0.02, accuracy + 0.02)
    shares = (Share.of(round(1000 * share), 1000) for share in (uniform, data))
    return Measured(Quality(1000, figure, figure, None), *shares)


def test_counts_and_the_ends_of_a_change() -> None:
    before = np.array([1, 1, 0, 0, 1], bool)
    after = np.array([1, 0, 1, 0, 0], bool)
    found = paired_change(before, after)
    assert (found.value, found.n_gained, found.n_lost, found.n) == (pytest.approx(-0.2), 1, 2, 5)
    assert found.low < -0.2 < found.high
    assert not found.is_fall
    assert not found.is_rise


def test_no_change_has_an_interval_all_the_same_and_no_rows_say_nothing() -> None:
    same = np.ones(200, bool)
    found = paired_change(same, same)
    assert found.value == 0
    assert found.low < 0 < found.high < 0.03
    nothing = paired_change(same[:0], same[:0])
    assert (nothing.low, nothing.high) == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("n", "gained", "lost"),
    [
        (20, 0.0, 0.2),
        (60, 0.02, 0.05),
        (200, 0.05, 0.1),
        (1000, 0.005, 0.03),
        (2000, 0.0, 0.003),
        (5000, 0.0002, 0.004),
    ],
)
def test_the_paired_interval_holds_the_truth_as_often_as_it_says(n: int, gained: float, lost: float) -> None:
    rng = np.random.default_rng(5)
    n_held = 0
    for _ in range(1000):
        drawn = rng.random(n)
        found = paired_change((drawn >= gained) & (drawn < gained + lost), drawn < gained)
        n_held += found.low <= gained - lost <= found.high
    assert n_held / 1000 >= 0.94


def test_it_is_narrower_than_what_two_shares_leave_open() -> None:
    before = np.arange(1000) < 100
    after = np.arange(1000) < 70
    found = paired_change(before, after)
    was = Share.of(100, 1000)
    now = Share.of(70, 1000)
    assert now.high > was.low  # the shares' own intervals overlap
    assert found.is_fall


@pytest.mark.parametrize(
    ("uniform", "data", "verdict", "said"),
    [
        (
            FALL,
            FALL,
            Verdict.IMPROVED,
            "fell from 20 % to 10 % of the individuals of the domain, and from 30 % to 20 %",
        ),
        (FALL, CHANCE, Verdict.IMPROVED, "no more than chance explains"),
        (CHANCE, FALL, Verdict.IMPROVED, "of the test rows; from 20 %"),
        (CHANCE, CHANCE, Verdict.NO_IMPROVEMENT, "did not change by more than chance explains"),
        (FALL, RISE, Verdict.NO_IMPROVEMENT, "The shares contradict each other: fell"),
        (
            RISE,
            FALL,
            Verdict.NO_IMPROVEMENT,
            "The shares contradict each other: fell from 30 % to 20 % of the test rows",
        ),
        (RISE, CHANCE, Verdict.WORSE, "rose"),
        (RISE, RISE, Verdict.WORSE, "rose"),
    ],
)
def test_the_verdict_looks_at_both_shares(
    uniform: PairedChange, data: PairedChange, verdict: Verdict, said: str
) -> None:
    found = compare(_measured(0.2, 0.3), _measured(0.1, 0.2, 0.89), CHANCE, uniform, data)
    assert found.verdict is verdict
    assert said in found.why.replace("20.0", "20").replace("10.0", "10").replace("30.0", "30")
    assert "Accuracy on the 1,000 test rows went from 90.0 % to 89.0 %" in found.why


def test_a_retraining_for_a_rule_set_is_judged_by_its_score() -> None:
    better = compare(_measured(0.2, 0.3), _measured(0.1, 0.2), CHANCE, FALL, CHANCE)
    worse = compare(_measured(0.2, 0.3), _measured(0.4, 0.4), CHANCE, RISE, RISE)
    assert compare_rule_set(RULE, WAS, _score(0.1, 0.05, 0.15), better).verdict is Verdict.IMPROVED
    assert compare_rule_set(RULE, WAS, _score(0.28, 0.2, 0.33), better).verdict is Verdict.NO_IMPROVEMENT
    assert compare_rule_set(RULE, WAS, _score(0.5, 0.4, 0.6), better).verdict is Verdict.WORSE
    contradiction = compare_rule_set(RULE, WAS, _score(0.1, 0.05, 0.15), worse)
    assert contradiction.verdict is Verdict.NO_IMPROVEMENT
    assert "more individuals are discriminatory" in contradiction.why


@pytest.mark.parametrize(
    ("score", "verdict", "end"),
    [
        ((0.2151, 0.18, 0.25), Verdict.IMPROVED, "21.5 points."),
        ((0.32, 0.27, 0.37), Verdict.NO_IMPROVEMENT, "32.0 points. The worst before had no more."),
        ((0.45, 0.4, 0.5), Verdict.WORSE, "45.0 points. That is more than the worst had before."),
    ],
)
def test_another_group_as_bad_as_the_first_is_no_improvement(
    score: tuple[float, float, float], verdict: Verdict, end: str
) -> None:
    shares = Opinion(Verdict.NO_IMPROVEMENT, "Nothing moved.")
    other = WorstOfNew(**vars(_score(*score)), rules=[{"column": "age"}], group="people under 25")
    told = compare_rule_set(replace(RULE, worst_after=other), WAS, _score(0.1, 0.05, 0.15), shares)
    assert told.verdict is verdict
    assert (
        f"fell from 30.0 to 10.0 points. The worst of the new model is another one: people under 25, {end}" in told.why
    )


def test_a_group_that_nobody_treats_worse_is_not_the_worst() -> None:
    shares = Opinion(Verdict.NO_IMPROVEMENT, "Nothing moved.")
    other = WorstOfNew(**vars(_score(0.0, -0.05, 0.05)), rules=[{"column": "age"}], group="people under 25")
    told = compare_rule_set(replace(RULE, worst_after=other), WAS, _score(0.0, -0.05, 0.05), shares)
    assert "another one" not in told.why


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0 %"), (0.123, "12.3 %"), (0.0123, "1.2 %"), (0.000041, "0.0041 %"), (1.0, "100.0 %")]
)
def test_shares_are_said_with_the_digits_that_matter(share: float, text: str) -> None:
    assert percent(share) == text
    assert points(0.0) == "0"
    assert points(-0.0123) == "-1.23"


def test_a_paired_change_tells_more_of_a_score_than_two_intervals_that_overlap() -> None:
    same = Opinion(Verdict.NO_IMPROVEMENT, "Nothing moved.")
    was = _score(0.3, 0.1, 0.5)
    lower = _score(0.1, 0.0, 0.25)
    higher = _score(0.5, 0.3, 0.7)

    def verdict(now: GroupScore, low: float, high: float) -> Verdict:
        n_gained, n_lost = (20, 0) if low > 0 else (0, 20)
        change = PairedChange((n_gained - n_lost) / 100, low, high, n_gained, n_lost, 100)
        return compare_rule_set(replace(RULE, change=change), was, now, same).verdict

    assert compare_rule_set(RULE, was, lower, same).verdict is Verdict.NO_IMPROVEMENT
    assert verdict(lower, -0.3, -0.1) is Verdict.IMPROVED
    assert verdict(lower, -0.3, 0.0) is Verdict.NO_IMPROVEMENT
    assert verdict(higher, 0.1, 0.3) is Verdict.WORSE
    assert verdict(higher, -0.3, -0.1) is Verdict.NO_IMPROVEMENT


def test_draws_of_few_texts_are_no_more_than_the_texts() -> None:
    """Of 13 texts each hangs on its term or not, and 2,000 swaps are drawn of them: the interval is over the texts."""
    rng = np.random.default_rng(0)
    n_held = n_too_sharp = 0
    for _ in range(400):
        hangs = rng.random(13) < 0.1
        n_hits = int(hangs[rng.integers(0, 13, 2_000)].sum())
        share = Share.of(n_hits, 2_000, 13)
        assert share.low <= share.share == n_hits / 2_000 <= share.high
        n_held += share.low <= 0.1 <= share.high
        naive = Share.of(n_hits, 2_000)
        n_too_sharp += not naive.low <= 0.1 <= naive.high
    assert n_held >= 0.95 * 400
    assert n_too_sharp > 200
    before = np.zeros(2_000, dtype=bool)
    before[: 2_000 // 12] = True  # all swaps of one text of twelve
    after = np.zeros(2_000, dtype=bool)
    assert paired_change(before, after).is_fall
    change = paired_change(before, after, 12)
    assert (change.is_fall, change.value) == (False, paired_change(before, after).value)
    assert paired_change(np.ones(2_000, dtype=bool), after, 12).is_fall
    assert paired_change(before, after, 3_000) == paired_change(before, after)
