"""Counts at every decision threshold: small ones worked by hand, others decided anew row by row; which thresholds are
offered; what another one costs; what travels.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairness_engine.arrays import BoolArray, FloatArray, pack_array
from fairness_engine.data.dataset import Dataset
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import ProcessError, SchemaError, SettingError
from fairness_engine.groups.figures.figures import GroupDecisions, group_figures
from fairness_engine.groups.figures.report import FigureSettings
from fairness_engine.groups.figures.threshold_counts import (
    ScoredRows,
    count_thresholds,
    offered_thresholds,
    plainest_between,
)
from fairness_engine.groups.figures.thresholds import (
    MAX_COUNTED_GROUPS,
    MAX_OFFERED,
    ThresholdCounts,
    ThresholdSettings,
    counts_from_json,
    counts_to_json,
)
from fairness_engine.groups.rule_sets.settings import Edges
from fairness_engine.models.model import decide
from fairness_engine.oracle.domain import Scope

SEX = Column("sex", Kind.CATEGORICAL, codes=("f", "m"), labels=("Women", "Men"))
RACE = Column("race", Kind.CATEGORICAL, codes=("a", "b", "c"), labels=("A", "B", "C"))
AGE = Column("age", Kind.INTEGER, minimum=18, maximum=77)
SCHEMA = Schema((SEX, RACE, AGE), protected=("sex", "race"))
BY_SEX = ThresholdSettings("sex")


def dataset_of(rows: FloatArray | list[list[float]], schema: Schema = SCHEMA) -> Dataset:
    rows = np.asarray(rows, dtype=np.float64)
    return Dataset(schema, rows, None, (), np.arange(len(rows)), 0, (), "", None, {})


def people(*sexes: float) -> Dataset:
    """One row each, of race A and aged 40."""
    return dataset_of([[sex, 0.0, 40.0] for sex in sexes])


def scored(scores: Any, actual: Any = None, **changes: Any) -> ScoredRows:
    labels = None if actual is None else np.asarray(actual, dtype=bool)
    values: dict[str, Any] = {"favourable": 1, "present": 0.5, "own": 0.5, **changes}
    return ScoredRows(np.asarray(scores, dtype=np.float64), labels, **values)


def random_people(n: int, rng: np.random.Generator, **changes: Any) -> tuple[Dataset, ScoredRows]:
    """Scores with many ties that depend on everything a little; some rows miss their race."""
    rows = np.stack([rng.integers(2, size=n), rng.integers(3, size=n), rng.integers(18, 78, size=n)], axis=1) * 1.0
    scores = np.clip(rng.normal(0.4 + 0.1 * rows[:, 0] + 0.05 * rows[:, 1], 0.2).round(2), 0, 1)
    actual = rng.random(n) < scores
    rows[rng.random(n) < 0.05, 1] = np.nan
    return dataset_of(rows), scored(scores, actual, **changes)


def decided(row: ScoredRows, threshold: float) -> BoolArray:
    """What a model decides at a threshold, one row after the other."""
    return np.array([decide(np.array([[score]]), threshold)[0] == row.favourable for score in row.scores.tolist()])


# --- counts -------------------------------------------------------------------------------------


def test_counts_worked_by_hand() -> None:
    """Women score 0.2, 0.4, 0.6; men 0.4, 0.8: a score on the threshold is not above it."""
    row = scored([0.2, 0.4, 0.6, 0.4, 0.8], present=0.4)
    counts = count_thresholds(people(0, 0, 0, 1, 1), None, row, BY_SEX)
    assert counts.labels == ("Women", "Men")
    assert counts.thresholds.tolist() == [0.0, 0.3, 0.4, 0.5, 0.7, 1.0]
    assert counts.favourable[:, :, 0].tolist() == [[3, 2, 0], [2, 2, 0], [1, 1, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]]
    assert not counts.favourable[:, :, 1].any()
    assert (counts.present, counts.own, counts.n_scores, counts.is_every) == (2, 3, 4, True)
    assert counts.shares[4].tolist() == [0.0, 0.5]


@pytest.mark.parametrize("favourable", [0, 1])
def test_counts_are_those_of_decisions_made_anew(favourable: int) -> None:
    rng = np.random.default_rng(favourable)
    dataset, row = random_people(400, rng, favourable=favourable)
    counts = count_thresholds(dataset, None, row, ThresholdSettings("race"))
    assert row.actual is not None
    race = dataset.rows[:, 1]
    for position, threshold in enumerate(counts.thresholds.tolist()):
        is_for = decided(row, threshold)
        for group in range(4):
            is_in = np.isnan(race) if group == 3 else race == group
            for side in (0, 1):
                chosen = is_in & (row.actual == bool(side))
                assert counts.n[group, side] == chosen.sum()
                assert counts.favourable[position, group, side] == (chosen & is_for).sum()
    assert counts.n_incomplete == counts.n[-1].sum() == np.isnan(race).sum()


@given(
    st.lists(st.tuples(st.integers(0, 1), st.floats(-5, 5), st.booleans()), min_size=1, max_size=40),
    st.floats(-6, 6),
    st.sampled_from([0, 1]),
)
def test_every_decision_that_a_threshold_can_make_is_counted(
    rows: list[tuple[int, float, bool]], wanted: float, favourable: int
) -> None:
    """For any threshold there is one that is offered and decides alike, unless scores differ by rounding alone."""
    scores = np.array([round(score, 3) for _, score, _ in rows])
    row = scored(scores, [label for _, _, label in rows], favourable=favourable, is_share=False, own=0.0, present=0.25)
    counts = count_thresholds(people(*(sex for sex, _, _ in rows)), None, row, BY_SEX)
    assert {0.25, 0.0} <= set(counts.thresholds.tolist())
    of_offered = {tuple(decided(row, threshold).tolist()) for threshold in counts.thresholds.tolist()}
    assert tuple(decided(row, wanted).tolist()) in of_offered


def test_figures_are_those_of_group_figures() -> None:
    """Counts, intervals and ratios, at the present threshold and at others."""
    rng = np.random.default_rng(5)
    dataset, row = random_people(600, rng)
    assert row.actual is not None
    counts = count_thresholds(dataset, None, row, ThresholdSettings("race"))
    for position in (counts.present, 3, len(counts.thresholds) - 2):
        is_for = decided(row, float(counts.thresholds[position]))
        decisions = GroupDecisions(is_for, row.actual, np.ones(len(is_for), dtype=bool))
        (expected,) = group_figures(dataset, None, decisions, FigureSettings((("race",),))).tables
        table = counts.table(position)
        assert table.groups == expected.groups
        assert (table.verdict, table.most_favoured) == (expected.verdict, expected.most_favoured)
        lowest = min(group.selection.share for group in expected.compared)
        highest = max(group.selection.share for group in expected.compared)
        assert counts.lowest_ratios[position] == pytest.approx(lowest / highest)


def test_limits_of_the_scope_hold_and_numbers_are_cut() -> None:
    rng = np.random.default_rng(2)
    dataset, row = random_people(300, rng)
    scope = Scope(("sex",), limits={"age": (30.0, 49.0)})
    counts = count_thresholds(dataset, scope, row, ThresholdSettings("age", bins=3, edges=Edges.EQUAL))
    age = dataset.rows[:, 2]
    assert counts.n_rows == ((age >= 30) & (age <= 49)).sum()
    assert counts.n_left_out == 300 - counts.n_rows
    assert counts.labels == ("30 to 36", "37 to 42", "43 to 49")
    assert counts.n_unknown == 0


def test_what_cannot_be_counted_is_said() -> None:
    row = scored([0.2, 0.8])
    with pytest.raises(SettingError, match=r"got none\. Widen the limits"):
        count_thresholds(people(0, 1), Scope(("sex",), limits={"age": (50.0, 60.0)}), row, BY_SEX)
    with pytest.raises(SettingError, match="Groups of race need a row that has it, got none"):
        count_thresholds(dataset_of([[0, np.nan, 40], [1, np.nan, 40]]), None, row, ThresholdSettings("race"))
    with pytest.raises(SchemaError):
        count_thresholds(people(0, 1), None, row, ThresholdSettings("shoe size"))
    with pytest.raises(SettingError):
        ThresholdSettings("age", bins=1)


def test_groups_that_nobody_can_read_are_refused() -> None:
    names = tuple(f"town {i}" for i in range(MAX_COUNTED_GROUPS + 1))
    schema = Schema((Column("town", Kind.CATEGORICAL, codes=names, labels=names),), protected=("town",))
    n = len(names)
    dataset = dataset_of(np.arange(n, dtype=np.float64)[:, None], schema)
    with pytest.raises(SettingError, match=f"at most {MAX_COUNTED_GROUPS} groups that have a row, got {n}"):
        count_thresholds(dataset, None, scored(np.linspace(0, 1, n)), ThresholdSettings("town"))


# --- which thresholds ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "number"),
    [
        (0.21, 0.39, 0.3),
        (0.4701, 0.4709, 0.4705),
        (0.47, 0.48, 0.47),
        (-0.3, 0.2, 0.0),
        (1234.0, 1890.0, 1562.0),
        (2e-12, 4e-12, 3e-12),
        (7.0, 7.0, 7.0),
    ],
)
def test_a_threshold_is_the_plainest_number_between_two_scores(low: float, high: float, number: float) -> None:
    found = plainest_between(low, high)
    assert low <= found <= high
    assert len(repr(found)) <= len(repr(number))
    assert str(plainest_between(-0.3, 0.2)) == "0.0"


def offered(scores: Any, **changes: Any) -> tuple[list[float], int]:
    row = scored(scores, **changes)
    thresholds, n_scores = offered_thresholds(row.scores, row)
    return thresholds.tolist(), n_scores


def test_constant_scores_leave_all_or_nobody() -> None:
    assert offered([0.25] * 9) == ([0.0, 0.5], 1)
    assert offered([0.5] * 9) == ([0.0, 0.5], 1)
    assert offered([0.75] * 9) == ([0.5, 1.0], 1)
    assert offered([0.0, 0.0]) == ([0.5], 1)
    thresholds, n_scores = offered([-3.0] * 4, own=0.0, present=0.0, is_share=False)
    assert n_scores == 1
    assert (thresholds[0], thresholds[-1]) == (pytest.approx(-3.2, abs=0.2), 0.0)


def test_the_present_threshold_and_the_models_own_stay_even_where_they_decide_alike() -> None:
    thresholds, _ = offered([0.1, 0.9], present=0.35)
    assert thresholds == [0.0, 0.35, 0.5, 1.0]
    assert offered([0.1, 0.9], present=7.0)[0] == [0.0, 0.5, 7.0]


def test_scores_that_differ_by_rounding_are_no_different_scores() -> None:
    """A threshold between them might be decided otherwise by the arithmetic of a search."""
    scores = [0.3, 0.1 + 0.2, 0.7, 0.7 + 1e-12]
    assert offered(scores) == ([0.0, 0.5, 1.0], 2)
    assert offered([0.4, 0.9, 0.9 + 3e-10]) == ([0.0, 0.5, 1.0], 2)
    assert offered([0.3, 0.30001, 0.7], noise=1e-5) == ([0.0, 0.5, 1.0], 2)
    assert offered([0.3, 0.30001, 0.7], noise=1e-7)[1] == 3
    tiny = [1e-8, 2e-8, 0.4]
    assert offered(tiny)[1] == 3


def test_a_threshold_keeps_away_from_the_scores() -> None:
    rng = np.random.default_rng(0)
    scores = np.sort(rng.random(900))
    thresholds, n_scores = offered(scores)
    assert n_scores == 900
    others = np.array([each for each in thresholds if each != 0.5])
    assert np.abs(others[:, None] - scores[None, :]).min() > 1e-10


def test_of_many_scores_steps_and_parts_of_the_rows_are_offered() -> None:
    """Nine tenths of the rows lie below 0.02: there thresholds are as close as people are, above they are round."""
    rng = np.random.default_rng(3)
    scores = np.concatenate([0.02 * rng.random(45_000), rng.random(5_000)])
    thresholds, n_scores = offered(scores)
    assert n_scores > 40_000
    assert 1_500 < len(thresholds) <= MAX_OFFERED + 4
    assert {0.25, 0.35, 0.5, 0.9} <= {round(each, 12) for each in thresholds}
    ordered = np.sort(scores)
    n_between = np.diff(np.searchsorted(ordered, thresholds))
    assert n_between.max() <= 2 * len(scores) / 1_000
    assert sum(each < 0.02 for each in thresholds) > 800


# --- what another threshold costs ---------------------------------------------------------------


@pytest.fixture
def by_hand() -> ThresholdCounts:
    """Women 0.1 0.3 0.45 0.45 0.9, men 0.2 0.6 0.7 0.8 0.9; in fact favourable: women's last three, men's last."""
    row = scored(
        [0.1, 0.3, 0.45, 0.45, 0.9, 0.2, 0.6, 0.7, 0.8, 0.9],
        [False, False, True, True, True, False, False, False, False, True],
    )
    return count_thresholds(people(*[0] * 5, *[1] * 5), None, row, BY_SEX)


def test_a_lower_threshold_gains_and_a_higher_one_loses(by_hand: ThresholdCounts) -> None:
    """At 0.5 women 1 of 5 and men 4 of 5; at 0.4 women 3, both newly favoured recorded so."""
    lower = by_hand.nearest(0.4)
    cost = by_hand.cost(lower)
    assert (cost.n_gained, cost.n_lost, cost.n_right, cost.n_wrong, cost.n_changed) == (2, 0, 2, 0, 2)
    assert by_hand.changed(lower).tolist() == [2, 0, 0]
    assert by_hand.accuracies[by_hand.present] == pytest.approx(0.5)
    assert cost.accuracy == pytest.approx(0.7)
    assert cost.accuracy_change is not None
    assert cost.accuracy_change.value == pytest.approx(0.2)
    assert cost.accuracy_change.low < 0.2 < cost.accuracy_change.high
    higher = by_hand.cost(by_hand.nearest(0.85))
    assert (higher.n_gained, higher.n_lost, higher.n_right, higher.n_wrong) == (0, 3, 3, 0)
    assert higher.accuracy == pytest.approx(0.8)
    nothing = by_hand.cost(by_hand.present)
    assert (nothing.n_changed, nothing.accuracy_change.value if nothing.accuracy_change else None) == (0, 0)


def test_four_fifths_are_found_with_the_fewest_changes(by_hand: ThresholdCounts) -> None:
    """Ratio 1/4 at 0.5, 3/4 at 0.4; at 0.85 one of five each, for three decisions; at 0.25 four each, for three too,
    but with less accuracy."""
    assert by_hand.lowest_ratios[by_hand.nearest(0.4)] == pytest.approx(0.75)
    assert by_hand.four_fifths is not None
    assert by_hand.four_fifths == by_hand.nearest(0.85)
    assert by_hand.cost(by_hand.nearest(0.25)).n_changed == by_hand.cost(by_hand.four_fifths).n_changed == 3


def test_four_fifths_that_are_there_already_and_that_are_nowhere() -> None:
    equal = count_thresholds(people(0, 0, 1, 1), None, scored([0.1, 0.9, 0.2, 0.8]), BY_SEX)
    assert equal.four_fifths == equal.present
    apart = count_thresholds(people(0, 0, 1, 1), None, scored([0.0, 0.0, 0.2, 0.8]), BY_SEX)
    assert apart.four_fifths is None
    nobody_to_compare = count_thresholds(people(0, 0), None, scored([0.1, 0.8]), BY_SEX)
    assert np.isnan(nobody_to_compare.lowest_ratios).all()
    assert nobody_to_compare.four_fifths is None


def test_exactly_four_fifths_are_reached() -> None:
    """36 of 100 women and 45 of 100 men: in floating point a little less than 0.8."""
    scores = [0.9] * 36 + [0.1] * 64 + [0.9] * 45 + [0.1] * 55
    counts = count_thresholds(people(*[0] * 100, *[1] * 100), None, scored(scores), BY_SEX)
    assert counts.lowest_ratios[counts.present] < 0.8
    assert counts.four_fifths == counts.present


def test_a_small_group_does_not_count_for_four_fifths() -> None:
    dataset = dataset_of([[0, 0, 40]] * 100 + [[0, 1, 40]] * 100 + [[0, 2, 40]])
    scores = [0.9] * 50 + [0.1] * 50 + [0.9] * 45 + [0.1] * 55 + [0.1]
    counts = count_thresholds(dataset, None, scored(scores), ThresholdSettings("race"))
    assert counts.is_compared.tolist() == [True, True, False]
    assert counts.lowest_ratios[counts.present] == pytest.approx(0.9)


def test_without_labels_there_is_no_accuracy(by_hand: ThresholdCounts) -> None:
    counts = count_thresholds(people(0, 1, 1), None, scored([0.1, 0.4, 0.9]), BY_SEX)
    cost = counts.cost(counts.nearest(0.3))
    assert (cost.n_gained, cost.accuracy, cost.accuracy_change, cost.n_right) == (1, None, None, 0)
    assert np.isnan(counts.accuracies).all()
    assert all(group.true_positive is None for group in counts.table(0).groups)
    assert all(group.true_positive is not None for group in by_hand.table(0).groups)


# --- what travels -------------------------------------------------------------------------------


def sent(counts: ThresholdCounts) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json.dumps(counts_to_json(counts)))
    return content


def same(first: ThresholdCounts, second: ThresholdCounts) -> bool:
    arrays = ("thresholds", "n", "favourable")
    others = [replace(each, **{name: np.empty(0) for name in arrays}) for each in (first, second)]
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in arrays) and str(
        others[0]
    ) == str(others[1])


def test_counts_travel(by_hand: ThresholdCounts) -> None:
    assert same(counts_from_json(sent(by_hand), BY_SEX, SCHEMA, None), by_hand)
    settings = ThresholdSettings("age", 5, Edges.EQUAL)
    assert ThresholdSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings


def changed(counts: ThresholdCounts, **values: Any) -> dict[str, Any]:
    return sent(replace(counts, **values))


def _favourable(counts: ThresholdCounts, change: Callable[[Any], None]) -> dict[str, Any]:
    array = counts.favourable.copy()
    change(array)
    return changed(counts, favourable=array)


def _more_than_there_are(array: Any) -> None:
    array[0, 0, 0] = 99


def _fewer_than_none(array: Any) -> None:
    array[-1, 0, 0] = -1


def _both_ways(array: Any) -> None:
    array[-1] = array[0]


LIES: dict[str, Callable[[ThresholdCounts], Any]] = {
    "nothing": lambda _: None,
    "a list": lambda _: [1, 2],
    "no fields": lambda _: {},
    "another attribute": lambda counts: changed(counts, attribute="race"),
    "groups that are no values": lambda counts: changed(counts, labels=("Women", "<b>Men</b>")),
    "groups twice": lambda counts: changed(counts, labels=("Men", "Men")),
    "too few groups": lambda counts: changed(counts, labels=("Men",)),
    "no groups": lambda counts: changed(counts, labels=()),
    "thresholds in no order": lambda counts: changed(counts, thresholds=counts.thresholds[::-1]),
    "a threshold twice": lambda counts: changed(counts, thresholds=np.full(len(counts.thresholds), 0.5)),
    "a threshold that is no number": lambda counts: changed(counts, thresholds=counts.thresholds * np.nan),
    "thresholds that are whole": lambda counts: changed(counts, thresholds=np.arange(len(counts.thresholds))),
    "thresholds of two": lambda counts: changed(counts, thresholds=counts.thresholds[:, None]),
    "too many thresholds": lambda counts: changed(counts, thresholds=np.arange(MAX_OFFERED + 5.0)),
    "no thresholds": lambda counts: changed(counts, thresholds=np.empty(0)),
    "a present one that is not there": lambda counts: changed(counts, present=len(counts.thresholds)),
    "a present one below 0": lambda counts: changed(counts, present=-1),
    "an own one that is not in force": lambda counts: changed(counts, own=0),
    "rows below 0": lambda counts: changed(counts, n=-counts.n),
    "rows without end": lambda counts: changed(counts, n=counts.n + 2**62),
    "a group of nobody": lambda counts: changed(counts, n=counts.n * 0),
    "rows of another shape": lambda counts: changed(counts, n=counts.n[:-1]),
    "rows in halves": lambda counts: changed(counts, n=counts.n * 1.0),
    "labels that there are not": lambda counts: changed(counts, has_labels=False),
    "labels that are 1": lambda counts: {**sent(counts), "has_labels": 1},
    "more favoured than there are": lambda counts: _favourable(counts, _more_than_there_are),
    "fewer favoured than none": lambda counts: _favourable(counts, _fewer_than_none),
    "decisions that go both ways": lambda counts: _favourable(counts, _both_ways),
    "another number of thresholds": lambda counts: changed(counts, favourable=counts.favourable[1:]),
    "rows in no group that miss nothing": lambda counts: changed(counts, n=counts.n + 1),
    "more that miss a cell than rows": lambda counts: changed(counts, n_incomplete=11),
    "a count of text": lambda counts: {**sent(counts), "n_scores": "many"},
    "no array": lambda counts: {**sent(counts), "n": "AAAA"},
    "an array of text": lambda counts: {**sent(counts), "thresholds": {"dtype": "U1", "shape": [1], "base64": "AA"}},
    "an array that grows": lambda counts: {**sent(counts), "n": {**pack_array(counts.n), "zlib": True}},
}


@pytest.mark.parametrize("lie", LIES)
def test_what_cannot_be_an_answer_is_refused(by_hand: ThresholdCounts, lie: str) -> None:
    content = copy.deepcopy(LIES[lie](by_hand))
    with pytest.raises(ProcessError, match="it sent no counts by threshold"):
        counts_from_json(content, BY_SEX, SCHEMA, None)


def test_another_threshold_in_force_is_refused(by_hand: ThresholdCounts) -> None:
    assert counts_from_json(sent(by_hand), BY_SEX, SCHEMA, 0.5).present == by_hand.present
    with pytest.raises(ProcessError):
        counts_from_json(sent(by_hand), BY_SEX, SCHEMA, 0.4)
