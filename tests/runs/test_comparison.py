"""Comparisons of hand-made runs: what is a line, what its figures are, and that no curve goes beyond its runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairness_engine.data.schema import Schema
from fairness_engine.events import Progress
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.runs import kinds
from fairness_engine.runs.comparison import Comparison, Spread, common_grid, found_curve, spread_of, summarise
from fairness_engine.search.techniques.random_search import RandomSearch
from fairness_engine.store.records import RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from run_cases import review_of, run_of
from worker_cases import SCHEMA, SCOPE


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    opened = RunStore(tmp_path)
    yield opened
    opened.close()


Steps = Sequence[tuple[int, float, int, int]]
"""Progress: evaluations, seconds, tried, found."""


def add_run(
    store: RunStore,
    technique: str = "random",
    steps: Steps = (),
    state: RunState | None = RunState.FINISHED,
    results: dict[str, Any] | None = None,
    **changes: Any,
) -> str:
    """A run with that progress; it still works when ``state`` is ``None``."""
    values = {"kind": kinds.SEARCH.name, "technique": technique, "budget": Budget(1000), "comparison": "one", **changes}
    values = {"scope": SCOPE, **values}
    run_id = store.create_run(RunConfig(data_id="d", model_id="m", schema=Schema.read(SCHEMA), **values))
    if state is RunState.CANCELLED and not steps:
        store.request_cancel(run_id)
        return run_id
    store.claim(run_id, "here", 1, "then")
    for evaluations, seconds, n_tried, n_found in steps:
        store.add_progress(run_id, Progress(evaluations, seconds, n_tried, n_found, "at work"))
    for name, content in (results or {}).items():
        store.set_result(run_id, name, content)
    if state is not None:
        store.finish(run_id, state)
    return run_id


def compare(store: RunStore) -> Comparison:
    return summarise(store, store.runs())


def test_runs_that_differ_in_their_seed_are_one_line_with_median_and_range(store: RunStore) -> None:
    ids = [
        add_run(store, seed=seed, steps=[(500, 0.5, 250, n // 2), (1000, 2.0, 500, n)])
        for seed, n in enumerate((40, 10, 30))
    ]
    (line,) = compare(store).techniques
    assert (line.label, line.technique, line.settings) == ("Random", "random", asdict(RandomSearch()))
    assert (line.run_ids, line.n_done, line.n_runs) == (tuple(ids), 3, 3)
    assert line.n_found == Spread(30, 10, 40, 3)
    assert line.per_1000_rows == Spread(30, 10, 40, 3)
    assert line.per_second == Spread(15, 5, 20, 3)
    assert line.success_rate == Spread(0.06, 0.02, 0.08, 3)
    assert (line.diversity, line.plausible_share, line.median_distance, line.share_of_all) == (None,) * 4


def test_results_beside_pairs_become_figures(store: RunStore) -> None:
    for seed, (leaves, implausible, distance) in enumerate([(100.0, 5, 0.2), (None, 0, None), (50.0, 10, 0.4)]):
        plausibility = {"limit": 0.3, "n_measured": 10, "n_implausible": implausible, "median_distance": distance}
        plausibility["n_one_person"] = implausible
        results = {"diversity": {"n_leaves": 200, "per_1000": leaves}, "plausibility": plausibility}
        add_run(store, seed=seed, steps=[(1000, 1.0, 500, 10)], results=results)
    add_run(store, seed=9, steps=[(1000, 1.0, 500, 0)], results={"plausibility": {"limit": 0.3, "n_measured": 0}})
    older = {"limit": 0.3, "n_measured": 10, "n_implausible": 0}  # of what both people of a pair share
    add_run(store, "aequitas", results={"plausibility": older})
    line, from_before = sorted(compare(store).techniques, key=lambda each: each.n_runs, reverse=True)
    assert from_before.plausible_share is None
    assert line.diversity == Spread(75, 50, 100, 2)
    assert line.plausible_share == Spread(0.5, 0.0, 1.0, 3)
    assert line.median_distance is not None
    assert (line.median_distance.median, line.median_distance.n) == (pytest.approx(0.3), 2)
    assert line.n_found == Spread(10, 0, 10, 4)


def test_settings_that_differ_are_lines_of_their_own_and_named(store: RunStore) -> None:
    add_run(store, "random")
    add_run(store, "aequitas")
    add_run(store, "aequitas", settings={"strategy": "random"})
    add_run(store, "aequitas", settings={"strategy": "fully-directed"}, seed=1)  # the default, said aloud
    add_run(store, "aequitas", settings={"n_steps": 1500, "floor": 0.25})
    add_run(store, "aequitas", budget=Budget(2000))
    lines = compare(store).techniques
    assert [(line.label, line.n_runs) for line in lines] == [
        ("Random", 1),
        ("AEQUITAS, fully-directed, steps a walk 1,000, attribute floor 0.1", 2),
        ("AEQUITAS, random, steps a walk 1,000, attribute floor 0.1", 1),
        ("AEQUITAS, fully-directed, steps a walk 1,500, attribute floor 0.25", 1),
        ("AEQUITAS, fully-directed, steps a walk 1,000, attribute floor 0.1 (2)", 1),
    ]
    assert lines[2].settings["strategy"] == "random"
    assert lines[2].settings["n_steps"] == 1000


def test_one_setting_that_differs_is_the_only_one_said(store: RunStore) -> None:
    for strategy in ("random", "semi-directed", "fully-directed"):
        add_run(store, "aequitas", settings={"strategy": strategy})
    labels = [line.label for line in compare(store).techniques]
    assert labels == ["AEQUITAS, random", "AEQUITAS, semi-directed", "AEQUITAS, fully-directed"]


def test_a_technique_of_another_version_is_shown_as_it_was_stored(store: RunStore) -> None:
    add_run(store, "oracle-bones", settings={"n_bones": 3, "is_burnt": True})
    add_run(store, "oracle-bones", settings={"n_bones": 4, "is_burnt": False})
    lines = compare(store).techniques
    assert [line.label for line in lines] == [
        "oracle-bones, n bones 3, is burnt",
        "oracle-bones, n bones 4, no is burnt",
    ]
    assert lines[0].settings == {"n_bones": 3, "is_burnt": True}


def test_the_exact_count_gives_the_share_found(store: RunStore) -> None:
    add_run(store, steps=[(1000, 1.0, 500, 30)])
    count = {"n_discriminatory": 120, "n_individuals": 4000, "share": 0.03}
    values = {"kind": kinds.COUNT.name, "technique": ""}
    add_run(store, state=RunState.CANCELLED, steps=[(1, 1.0, 1, 1)], **values)
    assert compare(store).n_exact is None
    add_run(store, results={"count": count}, **values)
    add_run(store, kind=kinds.ESTIMATE.name, technique="")
    compared = compare(store)
    assert (compared.n_exact, compared.n_individuals) == (120, 4000)
    (line,) = compared.techniques
    assert line.share_of_all == Spread(0.25, 0.25, 0.25, 1)


def test_the_number_of_individuals_is_the_domains_until_they_are_counted(store: RunStore) -> None:
    add_run(store)
    assert compare(store).n_individuals == Domain(Schema.read(SCHEMA), SCOPE).n_individuals > 1e6
    narrow = Scope(("sex",), limits={"age": (30.0, 30.0)})
    run = store.run(add_run(store, scope=narrow))
    assert summarise(store, [run]).n_individuals == Domain(Schema.read(SCHEMA), narrow).n_individuals


def test_without_runs_there_is_nothing(store: RunStore) -> None:
    assert summarise(store, []) == Comparison((), None, None)


def test_figures_are_of_finished_runs_once_there_is_one(store: RunStore) -> None:
    add_run(store, seed=0, steps=[(100, 1.0, 50, 2)], state=None)
    add_run(store, seed=1, state=RunState.CANCELLED)
    add_run(store, seed=2, steps=[(300, 1.0, 150, 4)], state=RunState.CRASHED)
    (line,) = compare(store).techniques
    assert (line.n_found, line.n_done, line.n_runs) == (Spread(3, 2, 4, 2), 2, 3)
    of_the_one_at_work = Spread(0.04, 0.04, 0.04, 1)  # whoever was killed may have kept pairs before it counted more
    assert line.success_rate == of_the_one_at_work
    add_run(store, seed=3, steps=[(1000, 4.0, 500, 50)])
    (line,) = compare(store).techniques
    assert (line.n_found, line.n_done, line.n_runs) == (Spread(50, 50, 50, 1), 3, 4)


def test_a_line_that_has_not_begun_has_no_figures_and_an_empty_curve(store: RunStore) -> None:
    add_run(store, state=None)
    (line,) = compare(store).techniques
    assert line.n_found is None
    assert len(line.by_evaluations.x) == len(line.by_seconds.median) == 0


# --- curves -------------------------------------------------------------------------------


def at(curve: Any, x: float) -> tuple[float, float, float]:
    """Median, low and high at the last point of a curve that is not beyond ``x``."""
    i = int(np.searchsorted(curve.x, x, side="right")) - 1
    return float(curve.median[i]), float(curve.low[i]), float(curve.high[i])


def test_curves_are_steps_and_end_where_the_runs_end(store: RunStore) -> None:
    add_run(store, seed=0, steps=[(100, 1.0, 50, 5), (1000, 10.0, 500, 20)])
    add_run(store, seed=1, steps=[(400, 1.0, 50, 6), (1000, 20.0, 500, 40)])
    add_run(store, "data-scan", steps=[(250, 2.0, 125, 9)])
    first, second = compare(store).techniques
    curve = first.by_evaluations
    assert (curve.x[0], curve.x[-1]) == (0, 1000)
    assert (np.diff(curve.x) > 0).all()
    assert at(curve, 0) == (0, 0, 0)
    assert at(curve, 99) == (0, 0, 0)
    assert at(curve, 100) == (2.5, 0, 5)
    assert at(curve, 399) == (2.5, 0, 5)
    assert at(curve, 400) == (5.5, 5, 6)
    assert at(curve, 999) == (5.5, 5, 6)
    assert at(curve, 1000) == (30, 20, 40)
    assert second.by_evaluations.x[-1] == 250
    assert set(second.by_evaluations.x[:-1]) <= set(curve.x)
    assert at(second.by_evaluations, 249) == (0, 0, 0)
    assert at(second.by_evaluations, 250) == (9, 9, 9)
    assert first.by_seconds.x[-1] == 20
    assert at(first.by_seconds, 9.9) == (5.5, 5, 6)
    assert at(first.by_seconds, 15) == (6, 6, 6)  # the other run was never there
    assert at(first.by_seconds, 20) == (40, 40, 40)


def test_a_run_at_work_counts_up_to_where_it_is(store: RunStore) -> None:
    add_run(store, seed=0, steps=[(1000, 10.0, 500, 20)])
    add_run(store, seed=1, steps=[(300, 3.0, 150, 10)], state=None)
    (line,) = compare(store).techniques
    assert at(line.by_evaluations, 299) == (0, 0, 0)
    assert (
        at(line.by_evaluations, 320)[0] == 0
    )  # beyond the run at work there is the other one only, which had said nothing
    assert at(line.by_evaluations, 1000) == (20, 20, 20)


def test_runs_that_end_a_little_apart_end_the_curve_together() -> None:
    steps = [(np.array([500.0, end]), np.array([5.0, 10.0])) for end in (996.0, 998.0, 1000.0)]
    early = np.array([500.0, 700.0]), np.array([6.0, 9.0])
    curve = found_curve([*steps, early], np.array([0.0, 500.0, 990.0, 1200.0]))
    assert curve.x.tolist() == [0, 500, 990, 1000]
    assert curve.median.tolist() == [0, 5, 5, 10]
    assert curve.low.tolist() == [0, 5, 5, 10]
    assert curve.high.tolist() == [0, 6, 5, 10]
    assert curve.n_runs.tolist() == [4, 4, 3, 3]
    exact = found_curve(steps, np.array([0.0, 500.0, 990.0, 1000.0]))  # one of them ends on a point of the grid
    assert exact.x.tolist() == [0, 500, 990, 1000]
    assert exact.n_runs.tolist() == [3, 3, 3, 3]


def test_finer_discovery_takes_the_place_of_progress(store: RunStore) -> None:
    fine = {"evaluations": [10, 100, 1000], "n_found": [1, 7, 20]}
    add_run(store, steps=[(1000, 3.0, 500, 20)], results={"discovery": fine})
    (line,) = compare(store).techniques
    assert at(line.by_evaluations, 10) == (1, 1, 1)
    assert at(line.by_evaluations, 500) == (7, 7, 7)
    assert at(line.by_evaluations, 1000) == (20, 20, 20)
    assert at(line.by_seconds, 2.9) == (0, 0, 0)


@pytest.mark.parametrize("whole", [True, False])
def test_the_grid_goes_from_nothing_to_the_furthest(whole: bool) -> None:
    grid = common_grid([np.array([3.0, 70_000.0]), np.array([]), np.array([5.0, 90_000.0])], whole=whole)
    assert (grid[0], grid[-1]) == (0.0, 90_000.0)
    assert (np.diff(grid) > 0).all()
    assert 100 < len(grid) < 200
    assert ((grid > 0) & (grid < 100)).sum() > 10
    assert (grid == np.rint(grid)).all() or not whole
    assert common_grid([], whole=whole).tolist() == [0.0]
    assert common_grid([np.array([0.0])], whole=whole).tolist() == [0.0]


def test_a_spread_is_of_what_is_there() -> None:
    assert spread_of([3.0, None, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0, 3)
    assert spread_of([None]) is spread_of([]) is None


# --- real runs ----------------------------------------------------------------------------


@pytest.mark.thorough
def test_real_runs_and_a_real_count(store: RunStore) -> None:
    scope = Scope(("sex",), limits={"age": (40.0, 41.0), "hours_per_week": (30.0, 31.0)})
    review = review_of(store, scope=scope)
    for seed in (0, 1):
        run_of(store, review, "random", seed=seed, comparison="c", budget=Budget(4000))
    (count,) = [run_of(store, review, "", kind=kinds.COUNT.name, comparison="c")]
    assert (count.state, count.message) == (RunState.FINISHED, None)
    assert store.results(count.id)["count"]["n_individuals"] == count.n_tried
    compared = summarise(store, store.runs(review.id))
    (line,) = compared.techniques
    assert compared.n_exact == count.n_found > 0
    assert line.share_of_all is not None
    assert 0 < line.share_of_all.low <= line.share_of_all.high <= 1
    assert line.by_evaluations.x[-1] == 4000
    assert line.by_evaluations.median[-1] == line.n_found.median if line.n_found else False
    fine = store.results(line.run_ids[0])["discovery"]
    pairs = store.pairs(line.run_ids[0])
    assert fine["n_found"] == [int((pairs.evaluation <= x).sum()) for x in fine["evaluations"]]
    assert store.results(line.run_ids[0])["diversity"]["n_pairs"] == len(pairs)
