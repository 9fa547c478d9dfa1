"""The sample by which a search is watched: who is kept follows from the order of the tests alone, and there are never
too many.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from fairness_engine.errors import StopReason
from fairness_engine.events import PairsFound, PeopleSampled, Stopped
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.oracle import Oracle
from fairness_engine.oracle.tested import MAX_KEPT, MAX_PHASES, TestedPeople, max_kept
from fairness_engine.oracle.tested_sample import TestedSample
from fairness_engine.pairs import Pairs
from fairness_engine.search import driver
from fairness_engine.search.registry import TECHNIQUES
from handmade import network_model, small_domain

N_TESTS = 9_000
N_COLUMNS = 3


def sampled(is_found: np.ndarray, sizes: Sequence[int]) -> TestedPeople:
    """A sample of tests whose rows hold their own numbers, in batches of these sizes; each moved from one before."""
    sample = TestedSample(N_COLUMNS)
    start = 0
    for size in sizes:
        rows = np.arange(start + 1.0, start + 1 + size)[:, None] * np.ones(N_COLUMNS)
        part = is_found[start : start + size]
        sample.add(rows, part, np.flatnonzero(part), None if start % 2 else lambda at, rows=rows: rows[at] - 1)
        sample.name("even" if start % 2 == 0 else "odd")
        start += size
    assert start == len(is_found)
    return sample.people(0, start, int(is_found.sum()))


def batches(rng: np.random.Generator, n: int) -> list[int]:
    sizes = []
    while sum(sizes) < n:
        sizes.append(int(min(rng.choice((1, 7, 300, 4_000)), n - sum(sizes))))
    return sizes


@pytest.mark.parametrize("share", [0.0, 0.01, 0.4, 1.0])
def test_every_so_many_th_test_is_kept_and_of_those_found_every_so_many_th(share: float) -> None:
    rng = np.random.default_rng(1)
    is_found = rng.random(N_TESTS) < share
    people = sampled(is_found, batches(rng, N_TESTS))
    of_others, of_found = people.strides.tolist()
    numbers = np.arange(1, N_TESTS + 1)
    assert people.test[people.is_found == 1].tolist() == numbers[is_found][::of_found].tolist()
    assert people.test[people.is_found == 0].tolist() == [
        n for n in numbers if (n - 1) % of_others == 0 and not is_found[n - 1]
    ]
    for n_all, kept, stride in (
        (int(is_found.sum()), int(people.is_found.sum()), of_found),
        (int((~is_found).sum()), int((people.is_found == 0).sum()), of_others),
    ):
        assert kept <= MAX_KEPT
        assert stride == 1 or kept > MAX_KEPT / 3 or n_all < MAX_KEPT, "no more is left out than must be"
    assert np.array_equal(people.rows[:, 0], people.test)
    assert np.array_equal(people.origins[:, 0], people.test[people.has_moved == 1] - 1)
    assert people.totals.tolist() == [N_TESTS, 0, N_TESTS, int(is_found.sum())]


def test_the_size_of_batches_has_no_say() -> None:
    rng = np.random.default_rng(2)
    is_found = rng.random(N_TESTS) < 0.3
    ones = [sampled(is_found, batches(rng, N_TESTS)) for _ in range(3)] + [sampled(is_found, [N_TESTS])]
    for other in ones[1:]:
        for name in ("rows", "is_found", "test", "strides", "totals"):
            assert np.array_equal(getattr(other, name), getattr(ones[0], name)), name


def test_each_has_the_phase_in_which_it_was_tested() -> None:
    people = sampled(np.arange(N_TESTS) % 3 == 0, [1_001] * 8 + [992])
    expected = ["even" if (test - 1) // 1_001 % 2 == 0 else "odd" for test in people.test]
    assert [people.phases[phase] for phase in people.phase] == expected


def test_phases_are_few_however_many_a_technique_names() -> None:
    sample = TestedSample(N_COLUMNS)
    for i in range(3 * MAX_PHASES):
        sample.add(np.full((1, N_COLUMNS), float(i)), np.array([False]), np.zeros(0, np.int64))
        sample.name(f"phase {i}")
    people = sample.people(0, 3 * MAX_PHASES, 0)
    assert len(people.phases) == MAX_PHASES
    assert people.phase.max() == MAX_PHASES - 1


def test_of_wide_tables_fewer_are_kept() -> None:
    n_columns = 5_000
    sample = TestedSample(n_columns)
    for _ in range(20):
        sample.add(np.zeros((50, n_columns)), np.arange(50) % 2 == 0, np.arange(0, 50, 2))
    people = sample.people(0, 1_000, 500)
    assert 0 < len(people) <= 2 * max_kept(n_columns)
    assert sum(array.nbytes for array in people.arrays.values()) < 2_000_000
    assert max_kept(10**9) == 1


# --- of searches --------------------------------------------------------------------------------


def searched(name: str, budget: Budget, settings: dict[str, object]) -> tuple[TestedPeople, Pairs, Stopped]:
    domain = small_domain()
    model = network_model(domain)
    starts = domain.sample(300, np.random.default_rng(9))
    events = list(driver.run_search(TECHNIQUES[name].from_json(settings), model, domain, starts, budget, 3))
    last = [event for event in events if isinstance(event, PeopleSampled)][-1]
    pairs = Pairs.concatenate([event.pairs for event in events if isinstance(event, PairsFound)], domain.n_columns)
    stopped = events[-1]
    assert isinstance(stopped, Stopped)
    return TestedPeople(**last.arrays, phases=last.phases), pairs, stopped


@pytest.mark.parametrize("name", sorted(TECHNIQUES))
def test_of_every_technique_those_shown_as_found_are_its_pairs_in_order(name: str) -> None:
    settings: dict[str, object] = {"n_samples": 100} if name == "sg" else {}
    people, pairs, stopped = searched(name, Budget(1_500), settings)
    domain = small_domain()
    found = domain.keys(people.rows[people.is_found == 1]).tolist()
    assert people.strides.tolist() == [1, 1]
    assert found == domain.keys(pairs.first).tolist()
    assert people.totals.tolist()[1:] == [stopped.evaluations, stopped.n_tried, stopped.n_found]
    assert len(people) == people.totals[0]
    assert domain.contains(people.rows).all()
    assert domain.contains(people.origins).all()


@pytest.mark.parametrize("name", ["aequitas", "directed", "maft", "maft-plus", "adf", "eidig"])
def test_a_walk_is_a_chain_of_people_of_whom_each_differs_from_the_one_before(name: str) -> None:
    people, _, _ = searched(name, Budget(3_000), {})
    assert people.has_moved.any()
    moved = people.rows[people.has_moved == 1]
    free = small_domain().free
    assert (moved[:, free] != people.origins[:, free]).any(axis=1).all()


def test_a_budget_of_finds_counts_nobody_who_came_later() -> None:
    people, pairs, stopped = searched("random", Budget(None, None, 5), {})
    assert stopped.reason is StopReason.FOUND
    assert people.is_found.sum() == len(pairs) == 5


def test_who_is_not_confirmed_is_not_shown_as_found() -> None:
    domain = small_domain()
    oracle = Oracle(network_model(domain), domain, Budget(4_000))
    oracle.probe(domain.sample(1_000, np.random.default_rng(0)))
    n_candidates = oracle.n_found
    replay = oracle._replayer.replay
    oracle._replayer.replay = lambda: replay()[::2]  # type: ignore[method-assign] # half of them do not hold
    pairs = oracle.take_found()
    people = oracle.sample()
    assert len(pairs) < n_candidates
    assert domain.keys(people.rows[people.is_found == 1]).tolist() == domain.keys(pairs.first).tolist()
