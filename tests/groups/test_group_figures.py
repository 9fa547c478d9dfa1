"""Group figures: small tables worked by hand, fairlearn itself, intervals by simulation, verdicts at their limits, what
travels.
"""

from __future__ import annotations

import copy
import csv
import json
import math
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import fairlearn.metrics
import numpy as np
import pytest
from scipy.stats import beta

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.errors import ProcessError, SchemaError, SettingError
from fairness_engine.groups.figures.figures import (
    GroupDecisions,
    group_figures,
    impact_ratios,
    odds_ends,
    with_least_share,
)
from fairness_engine.groups.figures.report import (
    Bounded,
    FigureSettings,
    FigureVerdict,
    GroupReport,
    GroupTable,
    report_from_json,
    report_to_json,
    verdict_of,
)
from fairness_engine.groups.figures.significance import fisher_p
from fairness_engine.groups.rule_sets.attributes import make_attribute
from fairness_engine.groups.rule_sets.settings import Edges, RuleSettings
from fairness_engine.intervals import clopper_pearson
from fairness_engine.oracle.domain import Scope
from fairness_engine.telling.rules import Rule

SEX = Column("sex", Kind.CATEGORICAL, codes=("f", "m"), labels=("Women", "Men"))
RACE = Column("race", Kind.CATEGORICAL, codes=("a", "b", "c"), labels=("A", "B", "C"))
AGE = Column("age", Kind.INTEGER, minimum=18, maximum=77)
SCHEMA = Schema((SEX, RACE, AGE), protected=("sex", "race"))


def dataset_of(rows: FloatArray | list[list[float]], n_unknown: dict[str, int] | None = None) -> Dataset:
    """Rows of sex, race, age; without a label."""
    rows = np.asarray(rows, dtype=np.float64)
    kept = np.arange(len(rows))
    return Dataset(SCHEMA, rows, None, (), kept, 0, (), "", None, n_unknown or {})


def decided(favourable: Any, actual: Any = None) -> GroupDecisions:
    favourable = np.asarray(favourable, dtype=bool)
    known = np.ones(len(favourable), dtype=bool)
    return GroupDecisions(favourable, None if actual is None else np.asarray(actual, dtype=bool), known)


def counted(*groups: tuple[float, float, int, int]) -> tuple[Dataset, BoolArray]:
    """Rows of groups ``(sex, race, n, n_favourable)``, aged 40."""
    rows = []
    favourable = []
    for sex, race, n, n_favourable in groups:
        rows += [[sex, race, 40.0]] * n
        favourable += [True] * n_favourable + [False] * (n - n_favourable)
    return dataset_of(rows), np.array(favourable)


def table_of(dataset: Dataset, favourable: BoolArray, *names: str, actual: Any = None) -> GroupTable:
    report = group_figures(dataset, None, decided(favourable, actual), FigureSettings((names,)))
    return report.tables[0]


def random_rows(n: int, rng: np.random.Generator) -> tuple[Dataset, BoolArray, BoolArray]:
    """Rows in which everything depends on everything a little."""
    rows = np.stack([rng.integers(2, size=n), rng.integers(3, size=n), rng.integers(18, 78, size=n)], axis=1)
    actual = rng.random(n) < 0.3 + 0.2 * rows[:, 0]
    favourable = rng.random(n) < 0.2 + 0.1 * rows[:, 0] + 0.05 * rows[:, 1] + 0.3 * actual
    return dataset_of(rows), favourable, actual


# --- by hand ------------------------------------------------------------------------------------


def test_a_table_worked_by_hand() -> None:
    """Women 12 of 40, men 30 of 60: rates 0.3 and 0.5, ratio 0.6, difference 0.2."""
    table = table_of(*counted((0, 0, 40, 12), (1, 0, 60, 30)), "sex")
    women, men = table.groups
    assert [women.labels, men.labels] == [("Women",), ("Men",)]
    assert (women.selection.n_hits, women.n_rows, women.selection.share) == (12, 40, pytest.approx(0.3))
    # each end is as unlikely as 1 in 40 to give 12 or more, or 12 or fewer
    low = women.selection.low
    high = women.selection.high
    assert sum(math.comb(40, k) * low**k * (1 - low) ** (40 - k) for k in range(12, 41)) == pytest.approx(0.025)
    assert sum(math.comb(40, k) * high**k * (1 - high) ** (40 - k) for k in range(13)) == pytest.approx(0.025)
    assert table.most_favoured is men
    assert women.impact is not None
    assert women.impact.value == pytest.approx(0.6)
    assert men.impact is not None
    assert men.impact.value == 1
    assert table.parity_ratio is not None
    assert table.parity_ratio.value == pytest.approx(0.6)
    assert table.parity_difference is not None
    assert table.parity_difference.value == pytest.approx(0.2)
    assert table.odds_difference is None


def test_the_ends_of_an_impact_ratio_worked_by_hand() -> None:
    """The ratio's ends are those of the shares, each against the other end of the best of the others."""
    share = np.array([0.3, 0.5, 0.4])
    low = np.array([0.2, 0.4, 0.3])
    high = np.array([0.35, 0.6, 0.7])
    first, second, third = impact_ratios(share, low, high, np.array([True, True, False]))
    assert first == Bounded(pytest.approx(0.6), pytest.approx(0.2 / 0.6), pytest.approx(0.35 / 0.4))
    assert second == Bounded(1, 1, 1)  # 0.4 / 0.35 at the least: surely the most favoured of the two
    assert third == Bounded(pytest.approx(0.8), pytest.approx(0.3 / 0.6), 1)  # 0.7 / 0.4 is capped


def test_true_and_false_positive_rates_worked_by_hand() -> None:
    dataset, favourable = counted((0, 0, 50, 20), (1, 0, 50, 30))
    actual = np.zeros(100, dtype=bool)
    actual[:10] = actual[20:30] = actual[50:75] = True  # women: 10 of 20 found; men: 25 of 25
    women, men = table_of(dataset, favourable, "sex", actual=actual).groups
    assert women.true_positive is not None
    assert women.false_positive is not None
    assert (women.true_positive.n_hits, women.true_positive.n) == (10, 20)
    assert (women.false_positive.n_hits, women.false_positive.n) == (10, 30)
    assert men.true_positive is not None
    assert men.false_positive is not None
    assert (men.true_positive.n_hits, men.true_positive.n) == (25, 25)
    assert (men.false_positive.n_hits, men.false_positive.n) == (5, 25)
    odds = table_of(dataset, favourable, "sex", actual=actual).odds_difference
    assert odds is not None
    assert odds.value == pytest.approx(0.5)
    assert odds.low < 0.5 < odds.high


def test_an_intersection_has_the_groups_that_occur() -> None:
    table = table_of(*counted((0, 0, 30, 10), (0, 2, 20, 5), (1, 1, 50, 25)), "sex", "race")
    assert [group.labels for group in table.groups] == [("Women", "A"), ("Women", "C"), ("Men", "B")]
    assert [group.n_rows for group in table.groups] == [30, 20, 50]


def test_numbers_are_cut_where_rule_sets_cut_them() -> None:
    rows = np.stack([np.zeros(60), np.zeros(60), np.arange(18, 78)], axis=1)
    settings = FigureSettings((("age",),), bins=6)
    report = group_figures(dataset_of(rows), None, decided(np.ones(60)), settings)
    labels = [group.labels[0] for group in report.tables[0].groups]
    assert labels == list(make_attribute(AGE, None, RuleSettings(bins=6, edges=Edges.ROUND)).labels)
    assert "30 to 39" in labels
    equal = group_figures(
        dataset_of(rows), None, decided(np.ones(60)), FigureSettings((("age",),), bins=2, edges=Edges.EQUAL)
    )
    assert [(group.labels[0], group.n_rows) for group in equal.tables[0].groups] == [("18 to 47", 30), ("48 to 77", 30)]


def test_limits_leave_rows_out_and_cut_between_them() -> None:
    rows = np.stack([np.zeros(60), np.zeros(60), np.arange(18, 78)], axis=1)
    scope = Scope(("sex",), limits={"age": (20.0, 39.0)})
    report = group_figures(dataset_of(rows), scope, decided(np.ones(60)), FigureSettings((("age",),), bins=2))
    assert (report.n_rows, report.n_left_out) == (20, 40)
    assert [group.labels[0] for group in report.tables[0].groups] == ["20 to 29", "30 to 39"]


def test_a_group_alone_is_counted_as_if_there_were_no_others() -> None:
    rng = np.random.default_rng(5)
    dataset, favourable, actual = random_rows(3_000, rng)
    rules: tuple[Rule, ...] = ({"column": "race", "values": ["C", "A"]}, {"column": "age", "low": 30, "high": 50})
    settings = FigureSettings((("sex",), ("sex", "race")), within=rules)
    report = group_figures(dataset, None, decided(favourable, actual), settings)
    race, age = dataset.rows[:, 1], dataset.rows[:, 2]
    inside = (race != 1) & (age >= 30) & (age <= 50)
    alone = dataset_of(dataset.rows[inside])
    expected = group_figures(alone, None, decided(favourable[inside], actual[inside]), replace(settings, within=()))
    assert report == replace(expected, n_left_out=int((~inside).sum()))
    assert report_from_json(json.loads(json.dumps(report_to_json(report))), settings) == report
    assert FigureSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings
    assert "within" not in replace(settings, within=()).to_json()  # as stored before there were groups


def test_a_group_without_a_row_and_rules_that_are_none_are_refused() -> None:
    dataset, favourable = counted((0, 0, 40, 12), (1, 0, 60, 30))
    nobody = FigureSettings((("sex",),), within=({"column": "age", "low": 18, "high": 39},))
    with pytest.raises(SettingError, match="a row of the data that is in it"):
        group_figures(dataset, None, decided(favourable), nobody)
    gone = FigureSettings((("sex",),), within=({"column": "race", "values": ["D"]},))
    with pytest.raises(SchemaError, match="got 'D'"):
        group_figures(dataset, None, decided(favourable), gone)
    for within in ([{"low": 3}], "sex", [["sex", "Women"]], 5):
        with pytest.raises(SettingError):
            FigureSettings.from_json({"attribute_sets": [["sex"]], "within": within})


def test_a_row_that_misses_the_cell_is_in_no_group() -> None:
    dataset, favourable = counted((0, 0, 40, 12), (1, 0, 60, 30))
    rows = dataset.rows.copy()
    rows[:10, 2] = math.nan
    aged = FigureSettings((("sex",),), within=({"column": "age", "low": 40, "high": 40},))
    report = group_figures(dataset_of(rows), None, decided(favourable), aged)
    assert (report.n_rows, report.n_left_out, report.n_incomplete) == (90, 10, 0)


def test_rows_without_a_decision_are_counted() -> None:
    dataset, favourable = counted((0, 0, 40, 12), (1, 0, 60, 30))
    is_known = np.arange(100) % 2 == 0
    report = group_figures(
        dataset, None, GroupDecisions(favourable, None, is_known, "vote"), FigureSettings((("sex",),))
    )
    assert (report.n_rows, report.n_left_out, report.column) == (50, 50, "vote")
    assert [group.n_rows for group in report.tables[0].groups] == [20, 30]


def test_unknown_rows_are_counted() -> None:
    dataset, favourable = counted((0, 0, 50, 10), (1, 1, 50, 10))
    dataset = replace(dataset, n_unknown={"sex": 3, "race": 7})
    settings = FigureSettings((("sex",), ("race",), ("sex", "race")))
    report = group_figures(dataset, None, decided(favourable), settings)
    assert [table.n_unknown for table in report.tables] == [3, 7, 7]


# --- against fairlearn --------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("sex",), ("race",), ("sex", "race")])
def test_every_figure_is_fairlearns(names: tuple[str, ...]) -> None:
    dataset, favourable, actual = random_rows(3000, np.random.default_rng(5))
    table = table_of(dataset, favourable, *names, actual=actual)
    features = dataset.rows[:, [SCHEMA.index(name) for name in names]].astype(int).astype(str)
    metrics = {
        "n": fairlearn.metrics.count,
        "rate": fairlearn.metrics.selection_rate,
        "true": fairlearn.metrics.true_positive_rate,
        "false": fairlearn.metrics.false_positive_rate,
    }
    frame = fairlearn.metrics.MetricFrame(
        metrics=metrics, y_true=actual, y_pred=favourable, sensitive_features=features
    )
    assert all(group.is_compared for group in table.groups)
    ours = [
        [g.n_rows, g.selection.share, g.true_positive.share, g.false_positive.share]
        for g in table.groups
        if g.true_positive and g.false_positive
    ]
    assert np.array(ours) == pytest.approx(frame.by_group.to_numpy(dtype=float))
    best = frame.by_group["rate"].max()
    assert [g.impact.value for g in table.groups if g.impact] == pytest.approx((frame.by_group["rate"] / best).tolist())
    flat = ["".join(line) for line in features.tolist()]
    given: dict[str, Any] = {"y_true": actual, "y_pred": favourable, "sensitive_features": flat}
    for figure, measure in (
        (table.parity_difference, fairlearn.metrics.demographic_parity_difference),
        (table.parity_ratio, fairlearn.metrics.demographic_parity_ratio),
        (table.odds_difference, fairlearn.metrics.equalized_odds_difference),
    ):
        assert figure is not None
        assert figure.value == pytest.approx(measure(**given))


def test_odds_are_not_made_up_where_a_group_has_one_outcome_only() -> None:
    """fairlearn takes a rate of nobody for 0; here there is no figure."""
    dataset, favourable = counted((0, 0, 50, 20), (1, 0, 50, 30))
    actual = np.arange(100) < 50
    table = table_of(dataset, favourable, "sex", actual=actual)
    assert table.odds_difference is None
    assert table.groups[0].false_positive is not None
    assert table.groups[0].false_positive.n == 0
    assert np.isnan(table.groups[0].false_positive.share)


# --- verdicts -----------------------------------------------------------------------------------


def test_the_verdict_is_read_off_the_interval() -> None:
    assert verdict_of(Bounded(0.7, 0.6, 0.79)) is FigureVerdict.FLAG
    assert verdict_of(Bounded(0.7, 0.6, 0.8)) is FigureVerdict.UNCLEAR
    assert verdict_of(Bounded(0.9, 0.79, 1.0)) is FigureVerdict.UNCLEAR
    assert verdict_of(Bounded(0.9, 0.8, 1.0)) is FigureVerdict.PASS
    assert verdict_of(None) is FigureVerdict.UNCLEAR


@pytest.mark.parametrize(
    ("groups", "verdict"),
    [
        (((0, 0, 4000, 1000), (1, 0, 4000, 2000)), FigureVerdict.FLAG),
        (((0, 0, 4000, 2000), (1, 0, 4000, 2000)), FigureVerdict.PASS),
        (((0, 0, 40, 10), (1, 0, 40, 20)), FigureVerdict.UNCLEAR),  # a ratio of 0.5, of few rows
        (((0, 0, 40, 20), (1, 0, 40, 20)), FigureVerdict.UNCLEAR),  # equal rates, of few rows
        (((0, 0, 400, 0), (1, 0, 400, 0)), FigureVerdict.UNCLEAR),  # nobody is favoured
        (((0, 0, 400, 200),), FigureVerdict.UNCLEAR),  # nobody to compare with
    ],
)
def test_verdicts(groups: tuple[tuple[float, float, int, int], ...], verdict: FigureVerdict) -> None:
    assert table_of(*counted(*groups), "sex").verdict is verdict


def test_a_tiny_group_is_no_measure_for_others_and_prevents_no_pass() -> None:
    """Three of three rows are favoured: that says nothing of the others, whose rates are alike."""
    table = table_of(*counted((0, 0, 4000, 2000), (0, 1, 4000, 2010), (0, 2, 3, 3)), "race")
    assert [group.is_compared for group in table.groups] == [True, True, False]
    assert [group.labels for group in table.small] == [("C",)]
    assert table.most_favoured is table.groups[1]
    assert table.groups[2].verdict is FigureVerdict.LEFT_OUT
    assert table.verdict is FigureVerdict.PASS


def test_a_group_that_is_left_out_keeps_its_figures_and_makes_no_flag() -> None:
    """A table was flagged by a group alone that its preset does not compare."""
    table = table_of(*counted((0, 0, 4000, 2000), (0, 1, 4000, 2010), (0, 2, 100, 2)), "race")
    small = table.groups[2]
    assert not small.is_compared
    assert verdict_of(small.impact) is FigureVerdict.FLAG
    assert small.verdict is FigureVerdict.LEFT_OUT
    assert table.verdict is FigureVerdict.PASS


def many_sizes() -> GroupReport:
    """By race: 60 of 1,000, all but one of them favoured, and two large groups; by sex two alike."""
    dataset, favourable = counted((0, 0, 240, 120), (1, 0, 240, 118), (0, 1, 230, 90), (1, 1, 230, 91), (0, 2, 60, 59))
    return group_figures(dataset, None, decided(favourable), FigureSettings((("sex",), ("race",))))


def test_groups_can_be_compared_from_another_share_on() -> None:
    """Intervals and measure are those of the groups that are compared then, by scipy and by hand."""
    report = many_sizes()
    assert report.tables[1].most_favoured is report.tables[1].groups[2]
    assert report.tables[1].verdict is FigureVerdict.FLAG
    table = with_least_share(report, 0.1).tables[1]
    large, other, small = table.groups
    assert [group.is_compared for group in table.groups] == [True, True, False]
    assert table.most_favoured is large
    assert small.verdict is FigureVerdict.LEFT_OUT
    assert [group.selection for group in table.groups] == [group.selection for group in report.tables[1].groups]
    alpha = 0.05 / (2 * 3)
    low, high = (beta.ppf(alpha / 2, 181, 280), beta.ppf(1 - alpha / 2, 182, 279))
    least, most = (beta.ppf(alpha / 2, 238, 243), beta.ppf(1 - alpha / 2, 239, 242))
    assert other.impact == Bounded(
        *(pytest.approx(each) for each in (181 / 460 / (238 / 480), low / most, min(1.0, high / least)))
    )
    assert table.verdict is FigureVerdict.UNCLEAR


def test_the_same_share_and_one_between_two_groups_give_the_same_figures() -> None:
    report = many_sizes()
    assert with_least_share(report, 0.02) is report
    again = with_least_share(report, 0.03)
    assert [table.groups for table in again.tables] == [table.groups for table in report.tables]


def test_a_share_of_nothing_compares_everybody_who_is_there() -> None:
    dataset, favourable = counted((0, 0, 4000, 2000), (0, 1, 4000, 2010), (0, 2, 1, 1))
    report = group_figures(dataset, None, decided(favourable), FigureSettings((("race",),)))
    table = with_least_share(report, 0.0).tables[0]
    assert all(group.is_compared for group in table.groups)
    assert table.most_favoured is table.groups[2]


def test_exactly_two_percent_is_compared() -> None:
    table = table_of(*counted((0, 0, 98, 50), (1, 0, 2, 1)), "sex")
    assert all(group.is_compared for group in table.groups)


# --- intervals by simulation --------------------------------------------------------------------


def drawn_shares(n: IntArray, shares: FloatArray, rng: np.random.Generator) -> list[Bounded | None]:
    """Impact ratios of one draw, as a report makes them with one table."""
    hits = rng.binomial(n, shares).astype(np.float64)
    low, high = clopper_pearson(hits, n.astype(np.float64), 0.05 / len(n))
    return impact_ratios(hits / n, low, high, np.ones(len(n), dtype=bool))


@pytest.mark.parametrize(
    ("n", "shares"),
    [
        ([400, 300, 200, 60], [0.5, 0.4, 0.5, 0.45]),
        ([50, 50], [0.1, 0.1]),
        ([2000, 40, 40, 40, 40, 40, 40, 40], [0.3] * 8),
        ([500, 500, 500], [0.05, 0.02, 0.04]),
    ],
)
def test_impact_ratios_hold_jointly(n: list[int], shares: list[float]) -> None:
    """In 400 repeats all ratios of a table lie in their intervals at least 95 times in 100, the best group being
    unknown.
    """
    sizes = np.array(n)
    truth = np.array(shares)
    rng = np.random.default_rng(11)
    ratios = truth / truth.max()
    n_held = 0
    for _ in range(400):
        found = drawn_shares(sizes, truth, rng)
        n_held += all(one is None or one.low <= ratio <= one.high for one, ratio in zip(found, ratios, strict=True))
    assert n_held >= 380


def test_groups_at_the_limit_are_seldom_flagged_and_equal_ones_seldom_too() -> None:
    """Wrong verdicts are what the intervals are for: of tables at exactly four fifths at most one in twenty is flagged
    or passes.
    """
    sizes = np.array([400, 300, 300])
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(400):
        verdicts = [verdict_of(one) for one in drawn_shares(sizes, np.array([0.5, 0.4, 0.4]), rng)]
        wrong += (
            FigureVerdict.FLAG in verdicts or verdicts[1] is FigureVerdict.PASS or verdicts[2] is FigureVerdict.PASS
        )
    assert wrong <= 20


@pytest.mark.parametrize("rates", [[[0.6, 0.2], [0.5, 0.3]], [[0.5, 0.3], [0.5, 0.3]], [[0.95, 0.05], [1.0, 0.0]]])
def test_equalised_odds_hold(rates: list[list[float]]) -> None:
    """The true difference lies in the interval at least 95 times in 100."""
    # (n_groups, true and false positive rate)
    rng = np.random.default_rng(8)
    truth = np.array(rates)
    difference = np.ptp(truth, axis=0).max()
    n_held = 0
    for _ in range(400):
        n = rng.binomial(300, [[0.4, 0.6], [0.3, 0.7]]).astype(np.float64)
        low, high = odds_ends(rng.binomial(n.astype(int), truth).astype(np.float64), n, 0.05)
        n_held += low <= difference + 1e-12 and difference <= high + 1e-12
    assert n_held >= 380


def test_more_tables_make_wider_intervals() -> None:
    """Everything a report says holds together: asking more costs certainty."""
    dataset, favourable = counted((0, 0, 300, 100), (1, 1, 300, 150))
    alone = table_of(dataset, favourable, "sex").groups[0].impact
    settings = FigureSettings((("sex",), ("race",), ("sex", "race")))
    among = group_figures(dataset, None, decided(favourable), settings).tables[0].groups[0].impact
    assert alone is not None
    assert among is not None
    assert among.value == alone.value
    assert among.low < alone.low < alone.high < among.high


# --- refusals and what travels ------------------------------------------------------------------


def test_refusals_say_what_to_do() -> None:
    dataset, favourable = counted((0, 0, 50, 10), (1, 1, 50, 10))
    with pytest.raises(SettingError, match="Choose an attribute"):
        FigureSettings(())
    with pytest.raises(SettingError, match="needs different attributes, got sex, sex"):
        FigureSettings((("sex",), ("sex", "sex")))
    with pytest.raises(SettingError, match="compared without a model"):
        FigureSettings((("sex",),), predictions="vote")
    with pytest.raises(SettingError, match="bins"):
        FigureSettings((("sex",),), bins=1)
    with pytest.raises(SchemaError):
        group_figures(dataset, None, decided(favourable), FigureSettings((("height",),)))
    scope = Scope(("sex",), limits={"age": (60.0, 70.0)})
    with pytest.raises(SettingError, match=r"got none\. Widen the limits"):
        group_figures(dataset, scope, decided(favourable), FigureSettings((("sex",),)))


def test_an_intersection_nobody_can_read_is_refused() -> None:
    rng = np.random.default_rng(2)
    rows = np.stack([rng.integers(2, size=4000), rng.integers(3, size=4000), rng.uniform(18, 77, 4000).round()], axis=1)
    columns = tuple(replace(AGE, name=name) for name in ("age", "again", "more"))
    dataset = replace(
        dataset_of(rows), schema=Schema(columns, protected=("age",)), rows=rng.integers(18, 78, (4000, 3)) * 1.0
    )
    settings = FigureSettings((("age", "again", "more"),), bins=60, edges=Edges.EQUAL)
    with pytest.raises(SettingError, match=r"at most 1,000 groups that have a row, got 3,\d+"):
        group_figures(dataset, None, decided(np.ones(4000)), settings)


@cache
def a_report() -> tuple[GroupReport, FigureSettings]:
    dataset, favourable, actual = random_rows(400, np.random.default_rng(1))
    settings = FigureSettings((("sex",), ("sex", "race")))
    return group_figures(dataset, None, decided(favourable, actual), settings), settings


def test_a_report_travels_as_json() -> None:
    report, settings = a_report()
    assert report_from_json(json.loads(json.dumps(report_to_json(report))), settings) == report
    assert FigureSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings


def damaged(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A report as JSON with one thing replaced."""
    content = copy.deepcopy(report_to_json(a_report()[0]))
    place: Any = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return content


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("tables",), None),
        (("tables", 0, "attributes"), ["race"]),
        (("tables", 0, "groups"), []),
        (("tables", 0, "groups", 0, "labels"), ["Women", "A"]),
        (("tables", 0, "groups", 0, "labels"), ["x" * 501]),
        (("tables", 0, "groups", 0, "rates", 0), None),
        (("tables", 0, "groups", 0, "rates", 0, 0), 10_000),
        (("tables", 0, "groups", 0, "rates", 0, 0), True),
        (("tables", 0, "groups", 0, "rates", 0, 2), 0.99),
        (("tables", 0, "groups", 0, "rates", 0, 3), float("nan")),
        (("tables", 0, "groups", 0, "rates", 1), [0, 0, 0.0, 1.0]),
        (("tables", 0, "groups", 0, "impact"), [0.5, 0.6, 0.7]),
        (("tables", 0, "groups", 0, "impact"), [0.5, 0.4, 1.7]),
        (("tables", 0, "figures"), [None, None]),
        (("tables", 0, "n_unknown"), -1),
        (("n_rows",), 399),
        (("column",), 3),
    ],
)
def test_what_cannot_be_is_not_believed(path: tuple[Any, ...], value: Any) -> None:
    with pytest.raises(ProcessError, match="sent no group figures"):
        report_from_json(damaged(path, value), a_report()[1])


def test_a_sample_counted_without_the_engine() -> None:
    """The label's favourable outcome by race: the file read by nothing of the project."""
    sample = find_sample("recidivism")
    schema = Schema.read(sample.schema)
    dataset = make_dataset(read_table(sample.data), schema)
    assert dataset.labels is not None
    favourable = dataset.labels == dataset.favourable_class
    table = group_figures(dataset, None, decided(favourable), FigureSettings((("race",),))).tables[0]
    with sample.data.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    n_rows = Counter(line["race"] for line in lines)
    n_hits = Counter(line["race"] for line in lines if line[str(schema.label)] == str(schema.favourable))
    assert len(lines) == len(dataset.rows)
    found = {group.labels[0]: (group.n_rows, group.selection.n_hits) for group in table.groups}
    assert found == {race: (n, n_hits[race]) for race, n in n_rows.items()}


# --- Fisher's test ------------------------------------------------------------------------


def test_fishers_p_is_that_of_scipy():
    from scipy.stats import fisher_exact

    rng = np.random.default_rng(7)
    for size in (3, 12, 200, 5_000, 300_000):
        for _ in range(60):
            n, n_other = (int(drawn) for drawn in rng.integers(1, size + 1, size=2))
            n_hits = int(rng.binomial(n, rng.uniform()))
            n_hits_other = int(rng.binomial(n_other, n_hits / n if rng.uniform() < 0.7 else rng.uniform()))
            known = fisher_exact([[n_hits, n - n_hits], [n_hits_other, n_other - n_hits_other]]).pvalue
            assert fisher_p(n_hits, n, n_hits_other, n_other) == pytest.approx(known, rel=1e-8, abs=1e-280)
    assert [fisher_p(0, 5, 0, 7), fisher_p(5, 5, 7, 7), fisher_p(3, 6, 3, 6), fisher_p(0, 0, 3, 5)] == [1.0] * 4


def test_figures_need_no_library_of_statistics():
    code = (
        "import sys; from fairness_engine.groups.figures.significance import fisher_p; fisher_p(3, 9, 5, 8);"
        "print('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False"
