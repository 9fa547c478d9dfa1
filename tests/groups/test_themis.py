"""The two smallest groups that differ most, against pandas and by simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from rule_cases import categories, sample_case, small_run

from fairness_engine.groups.rule_sets.driver import LEAST_ROWS, themis
from fairness_engine.groups.rule_sets.result import RuleCells


def cells_of(n_rows: list[int], drawn: list[int], favourable: list[int]) -> RuleCells:
    codes = np.array([[i // 2, i % 2] for i in range(len(n_rows))])
    return RuleCells(codes, *map(np.array, (n_rows, drawn, favourable)))


ATTRIBUTES = (categories("race", 3), categories("sex", 2))


def test_the_labels_of_a_sample_by_pandas() -> None:
    case = sample_case("recidivism", "recidivism_planted", ("race", "sex", "age_group"))
    found = case.run_labels().summary["themis"]
    names = list(case.ranges.scope.protected)
    frame = pd.DataFrame(
        {
            name: np.array(case.dataset.schema.column(name).labels)[case.dataset.rows[:, i].astype(int)]
            for name, i in zip(names, case.ranges.protected, strict=True)
        }
    )
    frame["given"] = case.dataset.labels == case.dataset.favourable_class
    groups = frame.groupby(names).given.agg(["mean", "size"])
    groups = groups[groups["size"] >= LEAST_ROWS]
    assert found["n_groups"] == len(groups)
    assert found["score"] == pytest.approx(groups["mean"].max() - groups["mean"].min())
    for end, at in (("highest", groups["mean"].idxmax()), ("lowest", groups["mean"].idxmin())):
        assert tuple(rule["values"][0] for rule in found[end]["rules"]) == at
        assert [rule["column"] for rule in found[end]["rules"]] == names
        assert found[end]["share"] == pytest.approx(groups.loc[at, "mean"])
        assert found[end]["n_rows"] == found[end]["n"] == groups.loc[at, "size"]
        assert found[end]["low"] < found[end]["share"] < found[end]["high"]


def test_small_groups_and_groups_without_samples_are_not_compared() -> None:
    cells = cells_of([29, 30, 30, 500, 31], [100, 100, 100, 100, 0], [100, 90, 10, 50, 0])
    found = themis(ATTRIBUTES, cells, 0.95, is_exact=True)
    assert found is not None
    assert found.n_groups == 3
    assert (found.score, found.low, found.high) == (pytest.approx(0.8),) * 3
    assert found.highest.rules == [{"column": "race", "values": ["race0"]}, {"column": "sex", "values": ["sex1"]}]
    assert themis(ATTRIBUTES, cells_of([30, 29], [9, 9], [1, 2]), 0.95, is_exact=True) is None


def test_ranges_are_said_as_ranges() -> None:
    found = small_run(error=0, n_rows=2000, bins=2).summary["themis"]
    assert found["lowest"]["rules"] == [{"column": "sex", "values": ["F"]}, {"column": "age", "low": 20, "high": 24}]
    assert found["low"] == found["score"] == found["high"]


def test_the_interval_holds_the_difference_of_the_groups_that_were_chosen() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([0.5, 0.52, 0.48, 0.5, 0.53, 0.47])
    n_held = 0
    for _ in range(200):
        drawn = np.full(6, 60)
        cells = cells_of([100] * 6, drawn.tolist(), rng.binomial(drawn, truth).tolist())
        found = themis(ATTRIBUTES, cells, 0.95, is_exact=False)
        assert found is not None
        at = [
            2 * int(end.rules[0]["values"][0][-1]) + int(end.rules[1]["values"][0][-1])
            for end in (found.highest, found.lowest)
        ]
        n_held += found.low <= abs(truth[at[0]] - truth[at[1]]) <= found.high
    assert n_held >= 190
