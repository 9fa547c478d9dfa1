from __future__ import annotations

import numpy as np
import pytest

from fairness_engine.arrays import FloatArray
from fairness_engine.clock import Clock
from fairness_engine.codec import decode
from fairness_engine.errors import SettingError, StopReason
from fairness_engine.events import ResultReady, ShareEstimated, Stopped
from fairness_engine.measures import plausible_finds, share
from fairness_engine.measures.plausibility.plausibility import Plausibility
from fairness_engine.measures.results import Share
from fairness_engine.measures.share import perturb, run_estimate
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from handmade import biased_score, function_model, small_domain, true_keys


def final(
    distribution: str, n: int, seed: int = 0, rows: np.ndarray | None = None, **options: object
) -> ShareEstimated:
    domain = small_domain()
    rows = domain.sample(300, np.random.default_rng(7)) if rows is None else rows
    events = list(run_estimate(function_model(biased_score), domain, rows, distribution, n, seed, **options))
    assert isinstance(events[-1], Stopped)
    return [e for e in events if isinstance(e, ShareEstimated)][-1]


@pytest.mark.thorough
def test_the_interval_covers_the_true_share_in_95_percent_of_repeats() -> None:
    domain = small_domain()
    truth = len(true_keys(function_model(biased_score), domain)) / domain.n_individuals
    covered = [e.low <= truth <= e.high for e in (final("uniform", 400, seed) for seed in range(400))]
    assert np.mean(covered) >= 0.925


def test_all_rows_of_the_data_give_their_own_share_exactly() -> None:
    domain = small_domain()
    rows = domain.sample(300, np.random.default_rng(7))
    keys = true_keys(function_model(biased_score), domain)
    truth = np.mean([int(k) in keys for k in domain.keys(rows)])
    estimate = final("data", 10_000)
    assert (estimate.share, estimate.n) == (pytest.approx(truth), 300)


def test_perturbed_rows_stay_in_the_domain_and_move_one_attribute_by_one_unit() -> None:
    domain = small_domain(fixed=("job",))
    rows = domain.sample(500, np.random.default_rng(8))
    moved = perturb(domain, rows, np.random.default_rng(9))
    assert domain.contains(moved).all()
    changes = np.abs(moved - rows) / domain.unit
    assert (np.count_nonzero(changes, axis=1) <= 1).all()
    assert changes.max() == pytest.approx(1)
    assert (moved[:, [0, 1]] == rows[:, [0, 1]]).all()
    everything_fixed = small_domain(fixed=("job", "age", "hours", "wealth"))
    assert (perturb(everything_fixed, rows, np.random.default_rng(9)) == rows).all()


def test_the_curve_has_a_point_a_trial_and_narrows() -> None:
    domain = small_domain()
    events = run_estimate(function_model(biased_score), domain, np.empty((0, 5)), "uniform", 5000, 1)
    curve = [e for e in events if isinstance(e, ShareEstimated)]
    assert [e.n for e in curve] == list(range(50, 5001, 50))
    assert curve[-1].high - curve[-1].low < (curve[0].high - curve[0].low) / 3


def test_of_all_rows_of_the_data_the_share_has_no_interval() -> None:
    rows = small_domain().sample(300, np.random.default_rng(5))
    truth = len([row for row in rows if 3 <= row[3] <= 6 and row[2] < 26 and 0.2 + 0.6 * row[4] > 0.5]) / len(rows)
    for n_samples in (300, 10_000):
        events = run_estimate(function_model(biased_score), small_domain(), rows, "data", n_samples, 1)
        *_, last = (event for event in events if isinstance(event, ShareEstimated))
        assert (last.share, last.low, last.high, last.n) == (pytest.approx(truth), last.share, last.share, 300)
    half = [
        e
        for e in run_estimate(function_model(biased_score), small_domain(), rows, "data", 150, 1)
        if isinstance(e, ShareEstimated)
    ]
    assert half[-1].low <= truth <= half[-1].high
    assert 0 < half[-1].high - half[-1].low < 0.11


def test_same_seed_same_estimate_and_budgets_hold() -> None:
    assert final("perturbed", 500, 3) == final("perturbed", 500, 3)
    events = list(
        run_estimate(
            function_model(biased_score), small_domain(), np.empty((0, 5)), "uniform", 1000, 0, budget=Budget(100)
        )
    )
    assert events[-1].reason is StopReason.EVALUATIONS
    assert events[-1].evaluations == 100


@pytest.mark.parametrize("distribution", ["uniform", "perturbed", "data"])
def test_large_trials_are_tested_in_parts_and_say_the_same(distribution: str, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = small_domain(fixed=("job",))
    rows = domain.sample(3000, np.random.default_rng(7))
    plausibility = Plausibility.learn(rows, domain, np.random.default_rng(0))
    monkeypatch.setattr(plausible_finds, "MAX_JUDGED", 400)

    def told() -> tuple[list[ShareEstimated], Share]:
        asked = (function_model(biased_score), domain, rows, distribution, 2500, 3)
        events = list(run_estimate(*asked, learn=lambda: plausibility))
        (plausible,) = [decode(Share, event.content) for event in events if isinstance(event, ResultReady)]
        return [event for event in events if isinstance(event, ShareEstimated)], plausible

    whole, plausible = told()
    assert plausible.n < 2500  # not all trials are judged
    monkeypatch.setattr(share, "_FIRST_ROWS", 2)
    monkeypatch.setattr(share, "_MAX_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(share, "_MAX_KEPT_CELLS", 0)
    in_parts, again = told()
    assert again == plausible
    ends = [each.n for each in whole]
    assert [each.n for each in in_parts][:9] == [2, 4, 8, 15, 22, 25, 32, 39, 46]
    assert [each for each in in_parts if each.n in ends] == whole


@pytest.mark.parametrize("distribution", ["uniform", "perturbed"])
def test_of_any_number_of_draws_a_limit_of_time_leaves_those_that_were_tested(
    distribution: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = small_domain()
    rows = domain.sample(300, np.random.default_rng(7))
    time = [0.0]

    def timed(asked: FloatArray) -> FloatArray:
        time[0] += 0.1
        return biased_score(asked)

    monkeypatch.setattr(share, "_MAX_TRIAL_ROWS", 2000)
    monkeypatch.setattr(share, "_FIRST_ROWS", 50)
    monkeypatch.setattr(share, "_MAX_ROWS_AT_ONCE", 500)
    clock = Clock(5.0, now=lambda: time[0])
    *_, stopped = run_estimate(function_model(timed), domain, rows, distribution, 10**30, 0, clock)
    assert isinstance(stopped, Stopped)
    assert stopped.reason is StopReason.SECONDS
    assert stopped.n_tried >= 50
    assert time[0] < 6


@pytest.mark.parametrize(
    ("distribution", "n", "message"),
    [("normal", 10, "one of uniform"), ("uniform", 0, "at least 1"), ("data", 10, "No row of the data")],
)
def test_what_cannot_be_estimated_is_said(distribution: str, n: int, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        final(distribution, n, rows=np.empty((0, 5)))


# --- of two plausible people ----------------------------------------------------------------------


def plausible_share(
    model: Model, domain: Domain, rows: FloatArray, distribution: str, n: int, plausibility: Plausibility
) -> Share:
    events = run_estimate(model, domain, rows, distribution, n, 0, learn=lambda: plausibility)
    (told,) = [event for event in events if isinstance(event, ResultReady)]
    assert told.name == "plausible_share"
    return decode(Share, told.content)


def have_a_plausible_pair(model: Model, domain: Domain, rows: FloatArray, plausibility: Plausibility) -> list[bool]:
    """One after the other, and each variant by itself."""
    found = []
    for row in rows:
        decisions = set()
        for variant in domain.variants(row[None])[0]:
            if plausibility.are_plausible(variant[None])[0]:
                decisions.add(int(model.decide(model.scores(variant[None]))[0]))
        found.append(len(decisions) > 1)
    return found


@pytest.mark.parametrize("most", [200_000, 10])
def test_individuals_with_a_pair_of_two_plausible_people_are_counted(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plausible_finds, "MAX_JUDGED", most)
    monkeypatch.setattr(plausible_finds, "MAX_AT_ONCE", 7)
    domain = small_domain()
    model = function_model(biased_score)
    rows = domain.sample(300, np.random.default_rng(7))
    rows[rows[:, 1] == 0, 0] = 0.0  # nobody else has that job: whoever is given it with another value could not exist
    plausibility = Plausibility.learn(rows, domain, np.random.default_rng(0))
    truth = have_a_plausible_pair(model, domain, rows, plausibility)
    n_pairs = sum(int(k) in true_keys(model, domain) for k in domain.keys(rows))
    assert 0 < sum(truth) < n_pairs
    found = plausible_share(model, domain, rows, "data", 10_000, plausibility)
    assert found.low <= np.mean(truth) <= found.high
    if most > 10:
        assert (found.n_hits, found.n, found.low, found.high) == (sum(truth), 300, found.share, found.share)
    else:
        assert 0 < found.n < 300


@pytest.mark.thorough
def test_what_is_told_of_plausible_people_covers_the_truth_in_95_percent_of_repeats() -> None:
    domain = small_domain()
    model = function_model(biased_score)
    rows = domain.sample(60, np.random.default_rng(7))
    plausibility = Plausibility.learn(rows, domain, np.random.default_rng(0))
    everybody = domain.sample(20_000, np.random.default_rng(1))
    truth = np.mean(have_a_plausible_pair(model, domain, everybody[:4_000], plausibility))
    assert 0.002 < truth < 0.2
    covered = []
    for seed in range(200):
        events = run_estimate(model, domain, rows, "uniform", 400, seed, learn=lambda: plausibility)
        told = next(decode(Share, event.content) for event in events if isinstance(event, ResultReady))
        covered.append(told.low - 0.01 <= truth <= told.high + 0.01)
    assert np.mean(covered) >= 0.925


def test_with_a_score_gap_scores_make_the_pair() -> None:
    domain = small_domain(score_gap=0.1)
    model = function_model(biased_score)
    rows = domain.sample(200, np.random.default_rng(7))
    plausibility = Plausibility.learn(rows, domain, np.random.default_rng(0))
    found = plausible_share(model, domain, rows, "data", 200, plausibility)
    n_hits = 0
    for row in rows:
        variants = domain.variants(row[None])[0]
        scores = model.scores(variants[plausibility.are_plausible(variants)])
        n_hits += bool(len(scores) and (np.ptp(scores, axis=0) > 0.1).any())
    assert found.n_hits == n_hits > 0


def test_an_estimate_that_was_ended_says_nothing_of_plausible_people() -> None:
    domain = small_domain()
    rows = domain.sample(60, np.random.default_rng(7))
    plausibility = Plausibility.learn(rows, domain, np.random.default_rng(0))
    model = function_model(biased_score)
    asked = (model, domain, rows, "uniform", 1000, 0)
    events = list(run_estimate(*asked, budget=Budget(100), learn=lambda: plausibility))
    assert not any(isinstance(event, ResultReady) for event in events)
