"""The driver: what a run of rule sets on a table yields, whenever it ends."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rule_cases import Ran, group_score, ran, sample_case, small_rows, small_run

from fairness_engine.clock import Clock
from fairness_engine.data.catalogue import find_sample
from fairness_engine.errors import SettingError, StopReason
from fairness_engine.events import Event, Progress, ResultReady, RulesScored
from fairness_engine.groups.rule_sets.driver import AssessedData, run_rules
from fairness_engine.groups.rule_sets.result import Stage
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Ranges, Scope
from handmade import function_model, network_model, small_domain, small_schema


def shares_by_hand(
    rows: np.ndarray, decide: Callable[[np.ndarray], np.ndarray], protected: tuple[int, ...]
) -> np.ndarray:
    """Of every row, how many of its samples are decided for the person: each other column down and up."""
    units = np.array([1, 1, 1, 1, 0.25])
    low = np.array([0, 0, 20, 0, 0.0])
    high = np.array([1, 2, 29, 9, 1.0])
    found = []
    for column in set(range(5)) - set(protected):
        for sign in (-1, 1):
            moved = rows.copy()
            moved[:, column] = np.clip(moved[:, column] + sign * units[column], low[column], high[column])
            found.append(decide(moved))
    return np.mean(found, axis=0)


def assert_exact(found: Ran, rows: np.ndarray, shares: np.ndarray) -> None:
    """Every score is the difference of mean shares inside and outside."""
    scored = found.result.scored
    assert (scored.stage == Stage.EXACT).all()
    assert (scored.error == 0).all()
    np.testing.assert_array_equal(scored.low, scored.score)
    np.testing.assert_array_equal(scored.high, scored.score)
    assert (np.diff(scored.score) <= 1e-12).all()
    for position in range(len(scored)):
        inside = np.ones(len(rows), dtype=bool)
        for rule in found.result.rule_set_json(position)["rules"]:
            values = rows[:, small_schema().index(rule["column"])]
            if "values" in rule:
                labels = small_schema().column(rule["column"]).labels
                inside &= np.isin(values, [labels.index(each) for each in rule["values"]])
            else:
                inside &= (values >= rule["low"]) & (values <= rule["high"])
        assert scored.n_rows[position] == inside.sum()
        assert scored.inside[position] == pytest.approx(shares[inside].mean())
        assert scored.outside[position] == pytest.approx(shares[~inside].mean())
        assert scored.score[position] == pytest.approx(abs(shares[inside].mean() - shares[~inside].mean()))


def test_everything_evaluated_is_what_enumerating_by_hand_gives() -> None:
    found = small_run(error=0)
    rows = small_rows(600)
    assert_exact(found, rows, shares_by_hand(rows, lambda rows: group_score(rows) > 0.5, (0, 2)))
    assert found.stopped.reason is StopReason.EXHAUSTED
    assert found.summary["n_neighbours"] == 600 * 6
    assert found.stopped.evaluations == 600 * 6 + 600 * 6 // 20  # and the first look


@pytest.mark.parametrize("threshold", [0.15, 0.3, 0.5, 0.7])
def test_the_threshold_of_the_scope_decides(threshold: float) -> None:
    def by_wealth(rows: np.ndarray) -> np.ndarray:
        return 0.1 + 0.7 * rows[:, 4] * (1 - 0.1 * rows[:, 0])

    model = replace(function_model(by_wealth), threshold=threshold)
    found = small_run(model=model, error=0, scope=Scope(("sex", "age"), threshold=threshold))
    rows = small_rows(600)
    assert_exact(found, rows, shares_by_hand(rows, lambda rows: by_wealth(rows) > threshold, (0, 2)))


def test_the_threshold_of_a_model_file() -> None:
    sample = find_sample("census_income")
    case = sample_case("census_income", "census_income_network", ("sex",))
    chosen = sample.model("census_income_network")
    inside = []
    for threshold in (0.2, 0.5, 0.8):
        model = open_model(chosen.path, case.dataset.schema, classes=case.dataset.classes, threshold=threshold)
        events = run_rules(AssessedData(case.dataset.rows, None, model), case.ranges, RuleSettings(error=0), 0)
        scored = ran(events).result.scored
        inside.append(scored.inside[scored.n_rows == scored.n_rows.min()][0])
    assert inside[0] > inside[1] > inside[2]


@pytest.mark.parametrize("favourable", [0, 1, 2])
def test_three_classes_and_each_of_them_favourable(favourable: int) -> None:
    def three(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([rows[:, 4], 0.5 * np.ones(len(rows)), rows[:, 3] / 9 * (rows[:, 0] == 0)])

    model = replace(function_model(three, 3), favourable=favourable)
    found = small_run(model=model, error=0)
    rows = small_rows(600)
    assert_exact(found, rows, shares_by_hand(rows, lambda rows: three(rows).argmax(axis=1) == favourable, (0, 2)))


def test_a_model_that_ignores_protected_attributes_differs_by_what_they_act_on_alone() -> None:
    """Columns drawn independently: no group is treated otherwise, and no interval says so."""
    found = small_run(lambda rows: rows[:, 4], n_rows=4000, least_samples=300, error=0.2, n_rescored=0)
    scored = found.result.scored
    assert (scored.stage != Stage.EXACT).all()
    assert (scored.low < 0.03).all()
    case = sample_case("marketing", "marketing_ignores_protected", ("sex", "born_in"))
    assert case.run(error=0).result.scored.score.max() < 0.05
    assert sample_case("marketing", "marketing_planted", ("sex", "born_in")).run(error=0).result.scored.score[0] > 0.12


def test_a_network_near_its_threshold_is_decided_as_its_scores_say() -> None:
    domain = small_domain(("sex", "age"), bins={"age": (20.0, 29.0)})
    model = network_model(domain)
    found = small_run(model=model, error=0)
    rows = small_rows(600)
    shares = shares_by_hand(rows, lambda rows: model.decide(model.scores(rows)) == model.favourable, (0, 2))
    assert_exact(found, rows, shares)


def test_one_decision_for_everybody_scores_nothing() -> None:
    scored = small_run(lambda rows: np.full(len(rows), 0.9), least_samples=50, error=0.4).result.scored
    assert (scored.score == 0).all()
    assert (scored.low == 0).all()
    assert (scored.high < 0.4).all()


def test_the_same_seed_gives_the_same_result_and_another_another() -> None:
    def arrays(seed: int) -> dict[str, np.ndarray]:
        found = small_run(seed=seed, n_rows=3000, least_samples=100, error=0.3)
        return found.result.to_arrays()

    first = arrays(1)
    again = arrays(1)
    other = arrays(2)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["favourable_inside"], other["favourable_inside"])


def test_events_come_in_their_order() -> None:
    found = small_run(n_rows=3000, least_samples=100, error=0.3)
    kinds = [type(event) for event in found.events]
    assert kinds[-4:-1] == [RulesScored, ResultReady, Progress]
    phases = [event.phase for event in found.events if isinstance(event, Progress)]
    assert phases[:4] == [
        "finding the groups that are large enough",
        "drawing samples for all groups at once",
        "drawing more for rare groups",
        "scoring the highest again on fresh samples",
    ]
    scored = found.result.scored
    assert found.summary["n_rule_sets"] == len(scored) == found.stopped.n_tried
    assert sum(found.summary["n_by_size"]) == len(scored)
    assert (scored.error <= 0.3).all()
    stages = scored.stage[np.lexsort((np.arange(len(scored)), -scored.score))][:50]
    assert (stages == Stage.FRESH).all()


def stop_in(phase: str) -> tuple[Callable[[], bool], Callable[[Iterator[Event]], Ran]]:
    """A cancel that comes as soon as a step is announced, and what runs events under it."""
    is_told = [False]

    def listen(events: Iterator[Event]) -> Ran:
        seen = []
        for event in events:
            seen.append(event)
            is_told[0] |= isinstance(event, Progress) and phase in event.phase
        return Ran(tuple(seen))

    return lambda: is_told[0], listen


def cancelled_in(phase: str, **settings: object) -> Ran:
    is_cancelled, listen = stop_in(phase)
    subject = AssessedData(small_rows(4000), None, function_model(group_score))
    ranges = Ranges(small_schema(), Scope(("sex", "age")))
    return listen(run_rules(subject, ranges, RuleSettings(**settings), 3, Clock(is_cancelled=is_cancelled)))


@pytest.mark.parametrize(
    ("phase", "settings"),
    [
        ("scoring the highest again", {"least_samples": 100, "error": 0.3}),
        ("evaluating every neighbour", {"error": 0}),
    ],
)
def test_a_run_that_has_its_first_pool_only_is_scored_with_honest_intervals(phase: str, settings: dict) -> None:
    found = cancelled_in(phase, **settings)
    assert found.stopped.reason is StopReason.CANCELLED
    scored = found.result.scored
    assert set(scored.stage.tolist()) <= {Stage.POOL, Stage.TOPPED_UP}
    assert (scored.error > 0).all()
    assert found.result.cells.drawn.sum() <= found.stopped.evaluations
    whole = small_run(n_rows=4000, error=0).result.scored
    truth = dict(zip(map(tuple, whole.rules.tolist()), whole.score.tolist(), strict=True))
    for line, low, high in zip(scored.rules.tolist(), scored.low, scored.high, strict=True):
        assert low <= truth[tuple(line)] <= high
    assert (scored.high - scored.low > 0.05).all()


def test_a_run_cancelled_before_anything_was_decided_has_no_result() -> None:
    found = cancelled_in("drawing samples for all groups")
    assert not found.is_scored
    assert (found.stopped.reason, found.stopped.evaluations) == (StopReason.CANCELLED, 0)


def test_a_run_out_of_time_keeps_a_part_of_its_pool() -> None:
    def slow(rows: np.ndarray) -> np.ndarray:
        time.sleep(len(rows) * 2e-4)
        return group_score(rows)

    found = small_run(slow, n_rows=4000, max_seconds=0.15, least_samples=300, error=0.1)
    assert found.stopped.reason is StopReason.SECONDS
    scored = found.result.scored
    assert 0 < found.stopped.evaluations == scored.n_inside[0] + scored.n_outside[0]
    assert ((scored.n_inside + scored.n_outside) == found.stopped.evaluations).all()
    assert (scored.low <= scored.score).all()


def test_the_labels_are_compared_without_a_model() -> None:
    case = sample_case("recidivism", "recidivism_planted", ("race", "sex"))
    found = case.run_labels()
    scored = found.result.scored
    assert (scored.stage == Stage.ROWS).all()
    assert found.stopped.evaluations == 0
    assert (scored.n_inside == scored.n_rows).all()
    assert (scored.n_inside + scored.n_outside == len(case.dataset.rows)).all()
    is_given = case.dataset.labels == case.dataset.favourable_class
    assert found.result.rule_set_json(0)["rules"] == [
        {"column": "race", "values": ["African-American"]},
        {"column": "sex", "values": ["Male"]},
    ]
    assert scored.n_rows[0] == 1035
    assert scored.inside[0] == pytest.approx(0.315, abs=1e-4)  # as the truth file says
    assert scored.outside[0] == pytest.approx(0.7106, abs=1e-4)
    assert scored.favourable_inside[0] + scored.favourable_outside[0] == is_given.sum()


def test_rows_outside_the_scope_are_left_out() -> None:
    scope = Scope(("sex",), limits={"age": (22.0, 25.0)})
    found = small_run(scope=scope, error=0)
    rows = small_rows(600)
    assert found.result.n_rows == int(((rows[:, 2] >= 22) & (rows[:, 2] <= 25)).sum()) < 600
    decided = rows[:, 4] > 0.5
    events = run_rules(
        AssessedData(rows, decided, None), Ranges(small_schema(), scope), RuleSettings(source="labels"), 0
    )
    assert ran(events).result.cells.drawn.sum() == found.result.n_rows


OF_NOBODY = {"job": (1.0, 1.0), "age": (21.0, 21.0), "hours": (3.0, 3.0)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"support": 0.95}, r"No group holds 95 % of the rows .* the largest .* Ask for a smaller support"),
        (
            {"scope": Scope(("sex",), limits={"wealth": (0.1, 0.2)})},
            r"of 'wealth' must hold a value.* Widen",
        ),
        ({"scope": Scope(("sex",), limits=OF_NOBODY), "n_rows": 20}, r"No row of the data lies in the ranges.* Widen"),
        ({"scope": Scope(("sex",), limits={"sex": (1.0, 1.0)})}, r"'sex' has one value only.* Choose another"),
        ({"source": "labels"}, r"need a column of outcomes, got none\. Name the label"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(changes: dict, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        small_run(**changes)


def test_a_table_in_which_a_protected_attribute_never_varies() -> None:
    rows = small_rows(200)
    rows[:, 0] = 1
    subject = AssessedData(rows, None, function_model(group_score))
    with pytest.raises(SettingError, match=r"nobody is left to compare with"):
        ran(run_rules(subject, Ranges(small_schema(), Scope(("sex",))), RuleSettings(), 0))
    mixed = ran(run_rules(subject, Ranges(small_schema(), Scope(("sex", "age"))), RuleSettings(error=0), 0))
    assert mixed.summary["n_whole"] > 0
    assert (mixed.result.scored.n_rows < 200).all()


def test_no_compiled_loop_and_no_runtime_is_loaded_for_rule_sets(root: Path) -> None:
    """A fresh installation has nothing to compile before its first answer."""
    code = """
import sys
from fairness_engine.oracle.domain import Ranges, Scope
from fairness_engine.groups.rule_sets.driver import AssessedData, run_rules
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.data.schema import Column, Kind, Schema
import numpy as np
ranges = Ranges(Schema((Column("age", Kind.INTEGER, minimum=0, maximum=9),)), Scope(("age",)))
rows = np.arange(100.0)[:, None] % 10
assert len(list(run_rules(AssessedData(rows, rows[:, 0] > 4, None), ranges, RuleSettings(source="labels"), 0))) == 5
print(sorted({"numba", "sklearn", "keras", "tensorflow", "onnxruntime"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
