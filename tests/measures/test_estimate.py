from __future__ import annotations

import numpy as np
import pytest

from fairness_engine.errors import SettingError, StopReason
from fairness_engine.events import ShareEstimated, Stopped
from fairness_engine.measures.share import perturb, run_estimate
from fairness_engine.oracle.budget import Budget
from handmade import biased_score, function_model, small_domain, true_keys


def final(
    distribution: str, n: int, seed: int = 0, rows: np.ndarray | None = None, **options: object
) -> ShareEstimated:
    domain = small_domain()
    rows = domain.sample(300, np.random.default_rng(7)) if rows is None else rows
    events = list(run_estimate(function_model(biased_score), domain, rows, distribution, n, seed, **options))
    assert isinstance(events[-1], Stopped)
    return [e for e in events if isinstance(e, ShareEstimated)][-1]


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


@pytest.mark.parametrize(
    ("distribution", "n", "message"),
    [("normal", 10, "one of uniform"), ("uniform", 0, "at least 1"), ("data", 10, "No row of the data")],
)
def test_what_cannot_be_estimated_is_said(distribution: str, n: int, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        final(distribution, n, rows=np.empty((0, 5)))
