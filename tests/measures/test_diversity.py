"""The diversity of a search: the rarefaction by enumeration, the surrogate, and when nothing is said."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from fairness_engine.clock import Clock
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import StopReason
from fairness_engine.events import Event, PairsFound, Progress, ResultReady, Stopped
from fairness_engine.measures import diversity
from fairness_engine.measures.diversity import expected_leaves, fit_surrogate, with_diversity
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.techniques.random_search import RandomSearch
from handmade import all_individuals, biased_score, function_model, small_domain


@pytest.mark.parametrize("counts", [(1,), (5,), (1, 1, 1), (4, 3, 1), (6, 1, 1, 1), (2, 2, 2, 2, 1)])
def test_expected_leaves_are_the_mean_over_all_draws(counts: tuple[int, ...]) -> None:
    finds = np.repeat(np.arange(len(counts)), counts)
    for n in range(1, len(finds) + 1):
        draws = [len(set(draw)) for draw in itertools.combinations(finds.tolist(), n)]
        assert expected_leaves(np.array(counts), n) == pytest.approx(np.mean(draws), rel=1e-12)
    assert expected_leaves(np.array(counts), len(finds) + 1) is None


def test_leaves_that_nobody_hit_do_not_matter() -> None:
    assert expected_leaves(np.array([4, 0, 3, 0]), 3) == expected_leaves(np.array([4, 3]), 3)


def test_a_thousand_of_many_finds_are_as_a_thousand_drawn() -> None:
    rng = np.random.default_rng(0)
    leaves = rng.choice(300, size=50_000, p=rng.dirichlet(np.full(300, 0.3)))
    expected = expected_leaves(np.bincount(leaves), 1000)
    drawn = [len(np.unique(rng.choice(leaves, 1000, replace=False))) for _ in range(300)]
    assert expected == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(300))


def test_the_surrogate_imitates_the_model_and_is_the_same_every_time() -> None:
    domain = small_domain()
    model = function_model(lambda rows: rows[:, 4] * (rows[:, 2] < 26))
    rows = all_individuals(domain)
    first = fit_surrogate(model, domain, rows[:200])
    second = fit_surrogate(model, domain, rows[:200])
    assert first is not None
    assert second is not None
    leaves = first.leaves(rows)
    assert (leaves == second.leaves(rows)).all()
    assert 1 < first.n_leaves == len(np.unique(leaves))
    decisions = model.decide(model.scores(rows))
    for leaf in np.unique(leaves):  # what the model treats alike for sure lies together; no leaf mixes decisions
        assert len(set(decisions[leaves == leaf])) == 1


def test_the_two_persons_of_a_pair_lie_in_one_leaf() -> None:
    domain = small_domain(("sex", "job"))
    surrogate = fit_surrogate(function_model(biased_score), domain, np.empty((0, 5)))
    assert surrogate is not None
    leaves = surrogate.leaves(domain.variants(all_individuals(domain)).reshape(-1, 5)).reshape(-1, domain.n_variants)
    assert (leaves == leaves[:, :1]).all()
    assert len(np.unique(leaves)) > 1


def test_where_nothing_tells_individuals_apart_there_is_one_leaf() -> None:
    domain = Domain(Schema((Column("age", Kind.INTEGER, minimum=0, maximum=9),)), Scope(("age",)))
    surrogate = fit_surrogate(function_model(lambda rows: rows[:, 0] / 9), domain, np.empty((0, 1)))
    assert surrogate is not None
    assert surrogate.n_leaves == 1
    assert surrogate.leaves(np.zeros((3, 1))).tolist() == [0, 0, 0]


def search_events(n_evaluations: int = 3000, seed: int = 0) -> Iterator[Event]:
    domain = small_domain()
    none = np.empty((0, domain.n_columns))
    return run_search(RandomSearch(), function_model(biased_score), domain, none, Budget(n_evaluations), seed)


def measured(events: Iterator[Event]) -> list[Event]:
    learn = partial(fit_surrogate, function_model(biased_score), small_domain(), np.empty((0, 5)))
    return list(with_diversity(events, learn))


def test_the_result_comes_before_the_last_event_and_counts_by_hand() -> None:
    before = list(search_events())
    after = measured(iter(before))
    *others, result, stopped = after
    assert [*others, stopped] == before
    assert isinstance(result, ResultReady)
    assert isinstance(stopped, Stopped)
    surrogate = fit_surrogate(function_model(biased_score), small_domain(), np.empty((0, 5)))
    assert surrogate is not None
    rows = Pairs.concatenate([event.pairs for event in before if isinstance(event, PairsFound)], 5).first
    counts = np.bincount(surrogate.leaves(rows))
    counts = counts[counts > 0]
    assert len(rows) == stopped.n_found == 144
    assert result == ResultReady(
        "diversity",
        {
            "n_leaves_hit": len(counts),
            "n_leaves": surrogate.n_leaves,
            "n_pairs": 144,
            "n_sampled": 144,
            "per_100": expected_leaves(counts, 100),
            "per_1000": None,
        },
    )


def test_a_sample_of_many_finds_does_not_depend_on_how_they_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diversity, "N_KEPT", 60)
    rows = Pairs.concatenate([e.pairs for e in search_events() if isinstance(e, PairsFound)], 5).first
    results = []
    for size in (1, 7, 50, 144):
        sample = diversity._Sample()
        for start in range(0, 144, size):
            sample.add(rows[start : start + size])
        kept = sample.rows()
        assert kept is not None
        assert sample.n_seen == 144
        assert kept.shape == (60, 5)
        results.append(kept[np.lexsort(kept.T)])
    assert all((result == results[0]).all() for result in results)
    assert len(np.unique(results[0], axis=0)) == 60


def test_the_sample_is_even() -> None:
    n = 3 * diversity.N_KEPT
    sample = diversity._Sample()
    for part in np.array_split(np.arange(n, dtype=float)[:, None], 11):
        sample.add(part)
    kept = sample.rows()
    assert kept is not None
    thirds = np.bincount((kept[:, 0] // diversity.N_KEPT).astype(int)) / diversity.N_KEPT
    assert thirds == pytest.approx([1 / 3] * 3, abs=0.02)


def test_a_search_that_found_nothing_or_was_cancelled_has_none() -> None:
    nothing = [Progress(10, 0.1, 5, 0), Stopped(StopReason.EXHAUSTED, 10, 0.1, 5, 0)]
    assert measured(iter(nothing)) == nothing
    found = [event for event in search_events() if isinstance(event, PairsFound)]
    cancelled = [*found, Stopped(StopReason.CANCELLED, 10, 0.1, 5, 0)]
    assert measured(iter(cancelled)) == cancelled


def test_a_cancel_during_the_measure_and_a_slow_model_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = function_model(biased_score)
    learn = partial(fit_surrogate, model, small_domain(), np.empty((0, 5)))
    events = list(with_diversity(search_events(), learn, Clock(is_cancelled=lambda: True)))
    assert not [event for event in events if isinstance(event, ResultReady)]
    assert model.predictor.n_rows_asked == 0
    monkeypatch.setattr(diversity, "MAX_SECONDS", 0.0)
    assert not [event for event in measured(search_events()) if isinstance(event, ResultReady)]


def test_rows_of_the_data_outside_the_domain_are_left_out() -> None:
    domain = small_domain(limits={"age": (20.0, 25.0)})
    model = function_model(biased_score)
    outside = all_individuals(small_domain())
    outside = outside[outside[:, 2] > 25]
    with_them = fit_surrogate(model, domain, outside)
    without = fit_surrogate(model, domain, outside[:0])
    assert with_them is not None
    assert without is not None
    rows = all_individuals(domain)
    assert (with_them.leaves(rows) == without.leaves(rows)).all()
