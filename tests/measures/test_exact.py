from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fairness_engine.clock import Clock
from fairness_engine.codec import decode
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import SettingError, StopReason
from fairness_engine.events import Event, Progress, ResultReady, Stopped
from fairness_engine.measures import plausible_finds
from fairness_engine.measures.exact_count import (
    _Drawn,
    can_count,
    decide_all,
    individuals,
    n_rows_to_count,
    run_exact,
)
from fairness_engine.measures.plausibility.plausibility import Plausibility
from fairness_engine.measures.results import ExactCount, Share
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain, Scope
from handmade import biased_score, function_model, small_domain, true_keys


def whole_count(model: Model, domain: Domain) -> int:
    """How many individuals are discriminatory; what is said of them must agree."""
    events = list(run_exact(model, domain))
    stopped = events[-1]
    assert isinstance(stopped, Stopped)
    assert stopped.reason is StopReason.EXHAUSTED
    (count,) = [event for event in events if isinstance(event, ResultReady)]
    n = count.content["n_discriminatory"]
    assert count.name == "count"
    assert count.content == {
        "n_discriminatory": n,
        "n_individuals": domain.n_individuals,
        "share": stopped.n_found / stopped.n_tried,
        "plausible": None,
    }
    assert (stopped.n_found, stopped.n_tried) == (n, domain.n_individuals)
    return int(n)


@pytest.mark.parametrize("protected", [("sex",), ("job",), ("age",), ("sex", "age"), ("wealth",)])
def test_the_count_is_that_of_enumeration(protected: tuple[str, ...]) -> None:
    domain = small_domain(protected)
    model = function_model(biased_score)
    truth = len(true_keys(model, domain))
    assert whole_count(model, domain) == truth
    assert (truth > 0) == (protected != ("job",))


def test_the_count_by_hand() -> None:
    # women of 6 ages (20-25), 4 hours (3-6) and 3 jobs are refused where wealth of 0.75 or 1 would decide
    assert whole_count(function_model(biased_score), small_domain()) == 6 * 4 * 3 * 2


def test_every_individual_comes_once_and_lies_in_the_domain() -> None:
    domain = small_domain(limits={"age": (22.0, 25.0), "wealth": (0.25, 1.0)})
    n = int(domain.n_individuals)
    rows = np.concatenate([individuals(domain, start, min(start + 7, n)) for start in range(0, n, 7)])
    assert domain.contains(rows).all()
    assert len(np.unique(rows, axis=0)) == len(rows) == n == 3 * 4 * 10 * 4


def test_scores_that_differ_by_the_gap_count() -> None:
    domain = small_domain(score_gap=0.35)
    model = function_model(biased_score)
    scores = model.scores(domain.variants(individuals(domain, 0, 1500)).reshape(-1, 5)).reshape(-1, 2)
    assert whole_count(model, domain) == int((np.abs(scores[:, 0] - scores[:, 1]) > 0.35).sum()) == 216


def three_scores(rows: np.ndarray) -> np.ndarray:
    return np.stack([rows[:, 4], 0.6 - 0.2 * (rows[:, 0] == 0), np.full(len(rows), 0.5)], axis=1)


def test_more_than_two_classes() -> None:
    domain = small_domain()
    # men: class 1 up to a wealth of 0.5; women: class 2; from 0.75 on everybody class 0
    assert whole_count(function_model(three_scores, 3), domain) == 900
    assert whole_count(function_model(three_scores, 3), small_domain(score_gap=0.19)) == 1500
    assert whole_count(function_model(three_scores, 3), small_domain(score_gap=0.21)) == 0


class RoughPredictor:
    """Fast margins that are off by up to 0.05; full scores that are right."""

    kind = "rough"
    n_inputs = None
    n_scores = 1
    output = "probability"
    names = ()
    block_rows = None

    def __init__(self, function: Callable[[np.ndarray], np.ndarray]) -> None:
        self.function = function

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        return self.function(inputs)[:, None]

    def margins(self, inputs: np.ndarray, threshold: float) -> np.ndarray:
        return self.predict(inputs) - threshold + 0.05 * np.sin(1e3 * inputs.sum(axis=1))[:, None]

    def encode(self, rows: np.ndarray) -> np.ndarray:
        return rows

    plain = encode


def test_rows_near_the_threshold_are_decided_at_full_precision() -> None:
    def near(rows: np.ndarray) -> np.ndarray:
        return 0.5 + np.where(rows[:, 0] == 0, -0.001, 0.001) * (rows[:, 3] > 4) + 0.3 * (rows[:, 4] - 0.5)

    rough = RoughPredictor(near)
    model = Model(rough, rough, rounding=0.06)
    assert whole_count(model, small_domain()) == len(true_keys(function_model(near), small_domain())) == 150


@pytest.mark.parametrize("inner_rows", [1, 7, 100, 10**6])
@pytest.mark.parametrize("block_seconds", [0.0, 60.0])
@pytest.mark.parametrize("kind", ["sure", "rough", "gap", "classes"])
def test_verdicts_come_in_the_order_of_individuals_however_they_are_blocked(
    inner_rows: int, block_seconds: float, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairness_engine.measures.exact_count._MAX_INNER_ROWS", inner_rows)
    clock = Clock(batch_seconds=block_seconds)
    domain = small_domain(("sex", "job"), score_gap=0.35 if kind == "gap" else 0.0)
    rough = RoughPredictor(biased_score)
    model = Model(rough, rough, rounding=0.06) if kind == "rough" else function_model(biased_score)
    if kind == "classes":
        model = function_model(three_scores, 3)
    verdicts = np.concatenate([verdicts for verdicts, _ in decide_all(model, domain, clock)])
    n = int(domain.n_individuals)
    scores = model.scores(domain.variants(individuals(domain, 0, n)).reshape(-1, 5))
    decisions = model.decide(scores).reshape(n, -1)
    truth = decisions.min(axis=1) != decisions.max(axis=1)
    if kind == "gap":
        truth = np.ptp(scores.reshape(n, -1), axis=1) > 0.35
    assert 0 < truth.sum() < n
    assert (verdicts == truth).all()


def test_a_count_that_is_cancelled_gives_no_share() -> None:
    asked = iter([False, False, *[True] * 100])
    domain = Domain(wide_schema(), Scope(("sex",)))
    events: list[Event] = list(
        run_exact(function_model(lambda rows: rows[:, 0]), domain, Clock(is_cancelled=lambda: next(asked)))
    )
    assert not [event for event in events if isinstance(event, ResultReady)]
    stopped = events[-1]
    assert isinstance(stopped, Stopped)
    assert stopped.reason is StopReason.CANCELLED
    assert 0 < stopped.n_tried < domain.n_individuals
    assert stopped.evaluations == 2 * stopped.n_tried


def test_a_count_out_of_time_gives_no_share() -> None:
    domain = Domain(wide_schema(), Scope(("sex",)))
    *_, progress, stopped = run_exact(function_model(lambda rows: rows[:, 0]), domain, Clock(1e-9))
    assert isinstance(stopped, Stopped)
    assert stopped.reason is StopReason.SECONDS
    assert isinstance(progress, Progress)
    assert progress.n_tried == stopped.n_tried < domain.n_individuals


def test_progress_is_said_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairness_engine.measures.exact_count._REPORT_SECONDS", 0.0)
    domain = Domain(wide_schema(), Scope(("sex",)))
    events = list(run_exact(function_model(lambda rows: rows[:, 2] * (rows[:, 0] > 900)), domain))
    progress = [event for event in events if isinstance(event, Progress)]
    assert len(progress) > 10
    assert [p.n_tried for p in progress] == sorted(p.n_tried for p in progress)
    assert progress[-1].n_found == 100_000
    assert progress[-1].evaluations == 2_000_000


def wide_schema(n: int = 1000) -> Schema:
    columns = (Column("a", Kind.INTEGER, minimum=1, maximum=n), Column("b", Kind.INTEGER, minimum=1, maximum=n))
    return Schema((*columns, Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M"))))


def test_only_protected_columns_make_one_individual() -> None:
    domain = Domain(Schema((Column("age", Kind.INTEGER, minimum=0, maximum=9),)), Scope(("age",)))
    assert whole_count(function_model(lambda rows: rows[:, 0] / 9), domain) == 1


def test_what_cannot_be_counted_is_refused() -> None:
    continuous = Schema(
        (
            Column("x", Kind.REAL, minimum=0.0, maximum=1.0),
            Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
        )
    )
    model = function_model(lambda rows: rows[:, 0])
    for domain, words in (
        (Domain(continuous, Scope(("sex",))), "continuous"),
        (Domain(wide_schema(100_000), Scope(("sex",))), "20,000,000,000 rows"),
        (small_domain(fixed=("job",)), "job must not vary"),
    ):
        assert not can_count(domain)
        with pytest.raises(SettingError, match=words):
            next(run_exact(model, domain))
    with pytest.raises(SettingError, match="max_seconds"):
        next(run_exact(model, small_domain(), Clock(0)))
    assert can_count(small_domain())
    assert n_rows_to_count(small_domain()) == 3000


# --- of two plausible people ----------------------------------------------------------------------


def with_a_plausible_pair(model: Model, domain: Domain, plausibility: Plausibility) -> int:
    """How many individuals are decided in two ways as people who could exist, one after the other."""
    n = 0
    for row in individuals(domain, 0, int(domain.n_individuals)):
        variants = domain.variants(row[None])[0]
        could = variants[plausibility.are_plausible(variants)]
        n += len(could) > 1 and len(set(model.decide(model.scores(could)).tolist())) > 1
    return n


def counted(domain: Domain, plausibility: Plausibility, seed: int = 0) -> ExactCount:
    events = run_exact(function_model(biased_score), domain, learn=lambda: plausibility, seed=seed)
    (told,) = [event for event in events if isinstance(event, ResultReady)]
    return decode(ExactCount, told.content)


def a_little_data(domain: Domain) -> Plausibility:
    rows = domain.sample(300, np.random.default_rng(7))
    rows[rows[:, 1] == 0, 0] = 0.0  # nobody else has that job: whoever is given it with another value could not exist
    return Plausibility.learn(rows, domain, np.random.default_rng(0))


def test_those_with_a_pair_of_two_plausible_people_are_counted() -> None:
    domain = small_domain()
    plausibility = a_little_data(domain)
    truth = with_a_plausible_pair(function_model(biased_score), domain, plausibility)
    found = counted(domain, plausibility)
    assert 0 < truth < found.n_discriminatory
    share = truth / found.n_discriminatory
    assert found.plausible == Share(truth, found.n_discriminatory, share, share, share)


def test_of_very_many_some_are_judged_and_their_interval_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plausible_finds, "MAX_JUDGED", 100)
    monkeypatch.setattr(plausible_finds, "MAX_AT_ONCE", 14)
    domain = small_domain()
    plausibility = a_little_data(domain)
    truth = with_a_plausible_pair(function_model(biased_score), domain, plausibility)
    covered = []
    for seed in range(40):
        found = counted(domain, plausibility, seed)
        assert found.plausible is not None
        assert found.plausible.n == 50 < found.n_discriminatory
        covered.append(found.plausible.low <= truth / found.n_discriminatory <= found.plausible.high)
    assert np.mean(covered) >= 0.9


@pytest.mark.thorough
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_who_is_judged_is_drawn_evenly_and_does_not_hang_on_how_many_come_at_once(size: int) -> None:
    drawn = []
    for seed in range(300):
        some = _Drawn(50, np.random.default_rng(seed))
        for start in range(0, 1000, size):
            some.add(np.arange(start, min(start + size, 1000)))
        numbers = some.numbers()
        assert len(set(numbers.tolist())) == 50
        lots = np.random.default_rng(seed).random(1000)
        assert sorted(numbers.tolist()) == sorted(np.argsort(lots)[:50].tolist())
        drawn.append(numbers)
    counts = np.bincount(np.concatenate(drawn) // 100, minlength=10)
    assert counts.min() > 1350  # 1,500 of each hundred are expected, give or take 36
    assert counts.max() < 1650
