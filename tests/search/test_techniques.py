"""The contract, over all techniques of the registry."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from fairness_engine.budget import Budget
from fairness_engine.domain import Domain, Scope
from fairness_engine.errors import SettingError
from fairness_engine.events import (
    Event,
    GroupScored,
    Pairs,
    PairsFound,
    Progress,
    Stopped,
    StopReason,
    from_line,
    to_line,
)
from fairness_engine.schema import Column, Kind, Schema
from fairness_engine.search.registry import TECHNIQUES, technique_named
from fairness_engine.search.run import run_search
from fairness_engine.search.technique import make_technique, settings_of
from handmade import all_individuals, biased_score, function_model, small_domain, true_keys

ALL = sorted(TECHNIQUES)


def run(name: str, budget: Budget, seed: int = 0, model: Any = None, domain: Any = None, **cancel: Any) -> list[Event]:
    domain = domain or small_domain()
    rows = domain.sample(400, np.random.default_rng(99))
    return list(
        run_search(TECHNIQUES[name](), model or function_model(biased_score), domain, rows, budget, seed, **cancel)
    )


def pairs_of(events: list[Event]) -> Pairs:
    return Pairs.concatenate([e.pairs for e in events if isinstance(e, PairsFound)], 5)


@pytest.mark.parametrize("name", ALL)
def test_exactly_one_stopped_and_it_is_last(name: str) -> None:
    events = run(name, Budget(2000))
    assert [isinstance(e, Stopped) for e in events].count(True) == 1
    last = events[-1]
    assert isinstance(last, Stopped)
    assert last.evaluations <= 2000
    assert last.n_found == len(pairs_of(events))
    progress = [e for e in events if isinstance(e, Progress)][-1]
    assert (progress.evaluations, progress.n_tried, progress.n_found) == (last.evaluations, last.n_tried, last.n_found)


@pytest.mark.parametrize("name", ALL)
def test_same_seed_same_pairs_other_seed_other_order(name: str) -> None:
    first, second = (pairs_of(run(name, Budget(2000), seed=4)) for _ in range(2))
    assert len(first)
    for field in ("first", "second", "score_first", "decision_second", "evaluation"):
        assert (getattr(first, field) == getattr(second, field)).all()
    other = pairs_of(run(name, Budget(2000), seed=5))
    assert other.first.shape != first.first.shape or (other.first != first.first).any()


@pytest.mark.parametrize("name", ALL)
def test_every_pair_is_real(name: str) -> None:
    model, domain = function_model(biased_score), small_domain(("sex", "job"))
    pairs = pairs_of(run(name, Budget(20_000), domain=domain))
    assert len(pairs)
    assert (pairs.first[:, domain.free] == pairs.second[:, domain.free]).all()
    assert domain.contains(pairs.first).all()
    assert domain.contains(pairs.second).all()
    for rows, scores, decisions in (
        (pairs.first, pairs.score_first, pairs.decision_first),
        (pairs.second, pairs.score_second, pairs.decision_second),
    ):
        assert (biased_score(rows) == scores).all()
        assert ((scores > 0.5) == decisions).all()
    assert (pairs.decision_first != pairs.decision_second).all()
    keys = [int(k) for k in domain.keys(pairs.first)]
    assert len(set(keys)) == len(keys)
    assert set(keys) <= true_keys(model, domain)


@pytest.mark.parametrize("name", ALL)
def test_the_model_is_asked_for_no_more_rows_than_the_budget_and_the_replays(name: str) -> None:
    model = function_model(biased_score)
    last = run(name, Budget(1000), model=model)[-1]
    assert isinstance(last, Stopped)
    assert model.predictor.n_rows_asked == last.evaluations + 2 * (last.n_found + last.n_rejected)


@pytest.mark.parametrize("name", ALL)
def test_a_cancelled_search_of_a_slow_model_asks_for_little_more(name: str) -> None:
    """At 20 microseconds a row, what is asked for after the cancel takes less than half a second."""
    seconds_a_row, rows_before = 2e-5, 30_000
    columns = [Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M"))]
    columns += [Column(f"c{i}", Kind.INTEGER, minimum=0, maximum=99) for i in range(4)]
    domain = Domain(Schema(columns=tuple(columns)), Scope(("sex",)))

    def slow(rows: np.ndarray) -> np.ndarray:
        time.sleep(seconds_a_row * len(rows))
        return np.where((rows[:, 0] == 0) & (rows[:, 1] < 30), 0.1, 0.9)

    model = function_model(slow)
    rows = domain.sample(200_000, np.random.default_rng(1))
    events = list(
        run_search(
            TECHNIQUES[name](),
            model,
            domain,
            rows,
            Budget(10**8),
            0,
            lambda: model.predictor.n_rows_asked > rows_before,
        )
    )
    last = events[-1]
    assert isinstance(last, Stopped)
    assert last.reason is StopReason.CANCELLED
    assert model.predictor.n_rows_asked < rows_before + 0.5 / seconds_a_row  # replays included
    assert last.n_found == sum(len(event.pairs) for event in events if isinstance(event, PairsFound)) > 0


@pytest.mark.parametrize("name", ALL)
def test_a_model_without_discrimination_yields_no_pair(name: str) -> None:
    events = run(name, Budget(3000), model=function_model(lambda rows: rows[:, 4]))
    assert len(pairs_of(events)) == 0
    assert events[-1].n_found == 0


@pytest.mark.parametrize("name", ALL)
def test_a_model_with_nothing_but_discrimination_is_searched_to_the_end(name: str) -> None:
    events = run(name, Budget(10**6), model=function_model(lambda rows: rows[:, 0]))
    last = events[-1]
    assert isinstance(last, Stopped)
    assert last.n_found == last.n_tried
    assert last.reason is StopReason.EXHAUSTED


@pytest.mark.parametrize("name", ALL)
def test_every_event_survives_its_line(name: str) -> None:
    for event in run(name, Budget(2000)):
        assert "\n" not in to_line(event)
        back = from_line(to_line(event))
        assert to_line(back) == to_line(event)


@pytest.mark.parametrize("name", ALL)
def test_a_technique_says_what_it_is(name: str) -> None:
    technique = technique_named(name)
    assert technique.name == name
    assert technique.title and technique.summary and technique.reference  # noqa: PT018 - one claim: all are there
    for info in settings_of(technique):
        assert info.help
        assert info.read(str(info.default)) == info.default


def test_random_reports_the_group_score_of_themis() -> None:
    model, domain = function_model(biased_score), small_domain()
    scored = [e for e in run("random", Budget(10**6)) if isinstance(e, GroupScored)]
    assert len(scored) == 1
    rows = all_individuals(domain)
    shares = [
        float((model.scores(domain.with_variant(rows, np.full(len(rows), v)))[:, 0] > 0.5).mean()) for v in (0, 1)
    ]
    assert scored[0].shares == pytest.approx(shares)
    assert scored[0].score == pytest.approx(max(shares) - min(shares))
    assert scored[0].groups == ("F", "M")


def test_the_data_scan_tests_every_row_of_the_data_once() -> None:
    events = run("data-scan", Budget(10**6))
    rows = small_domain().sample(400, np.random.default_rng(99))
    assert events[-1].n_tried == len(np.unique(small_domain().keys(rows)))


def test_start_rows_outside_the_domain_are_left_out() -> None:
    domain = small_domain(limits={"hours": (0.0, 4.0)})
    rows = small_domain().sample(400, np.random.default_rng(99))
    events = list(run_search(TECHNIQUES["data-scan"](), function_model(biased_score), domain, rows, Budget(), 0))
    pairs = pairs_of(events)
    assert len(pairs)
    assert pairs.first[:, 3].max() <= 4


def test_settings_are_read_and_refused_in_a_sentence() -> None:
    aequitas = technique_named("aequitas")
    made = make_technique(aequitas, {"strategy": "random", "n_steps": "50", "step_direction": "0.5"})
    assert (made.strategy, made.n_steps, made.step_direction) == ("random", 50, 0.5)
    for values, message in (
        ({"speed": 1}, "no setting 'speed'"),
        ({"strategy": "best"}, "one of random"),
        ({"n_steps": "many"}, "whole number"),
        ({"n_steps": 2.5}, "whole number"),
        ({"n_steps": 0}, "1 to"),
        ({"floor": "nan"}, "finite"),
        ({"step_direction": 3}, "0 to 1"),
    ):
        with pytest.raises(SettingError, match=message):
            make_technique(aequitas, values)
    with pytest.raises(SettingError, match="must be one of"):
        technique_named("best")
