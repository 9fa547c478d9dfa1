"""Constraint sets: their solutions against brute force over a small space, and what Algorithm 5 makes of a path."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.search.techniques.sg import queue as symbolic_queue
from fairness_engine.search.techniques.sg.constraints import ConstraintSolver, Predicate
from fairness_engine.search.techniques.sg.queue import Generated, InputQueue, directed, undirected
from fairness_engine.search.techniques.sg.search import Origin
from fairness_engine.search.techniques.sg.trees import Path
from handmade import all_individuals, small_domain


def everyone(domain: Domain) -> np.ndarray:
    return domain.variants(all_individuals(domain)).reshape(-1, domain.n_columns)


def random_predicates(domain: Domain, n: int, rng: np.random.Generator) -> tuple[Predicate, ...]:
    """Thresholds on and between values, and beyond the ends; several predicates on one column."""
    columns = rng.integers(domain.n_columns, size=n)
    units = np.where(domain.step > 0, domain.step, 0.1)
    steps = rng.integers(-2, 22, size=n) / 2
    thresholds = domain.low[columns] + units[columns] * steps
    return tuple(
        Predicate(int(column), float(threshold), bool(below))
        for column, threshold, below in zip(columns, thresholds, rng.integers(2, size=n), strict=True)
    )


def satisfies(predicates: tuple[Predicate, ...], rows: np.ndarray) -> np.ndarray:
    return np.logical_and.reduce([predicate.holds(rows) for predicate in predicates])


def test_solutions_are_those_of_brute_force() -> None:
    domain = small_domain()
    rng = np.random.default_rng(0)
    people = everyone(domain)
    solver = ConstraintSolver(domain)
    n_empty = 0
    for _ in range(400):
        predicates = random_predicates(domain, int(rng.integers(1, 7)), rng)
        person = people[rng.integers(len(people))]
        row = solver.solve(predicates, person, rng)
        exists = satisfies(predicates, people).any()
        n_empty += not exists
        assert (row is not None) == exists
        if row is not None:
            assert domain.contains(row[None]).all()
            assert satisfies(predicates, row[None]).all()
            rest = [i for i in range(domain.n_columns) if i not in {p.column for p in predicates}]
            assert (row[rest] == person[rest]).all()
    assert 50 < n_empty < 350
    assert 0 < solver.n_solved <= 400


def test_a_box_is_drawn_from_evenly_and_z3_is_asked_about_it_once() -> None:
    domain = small_domain()
    rng = np.random.default_rng(1)
    predicates = (
        Predicate(2, 24.5, False),
        Predicate(2, 27.0, True),
        Predicate(3, 1.2, True),
        Predicate(0, 0.5, False),
    )
    solver = ConstraintSolver(domain)
    person = np.array([0.0, 2.0, 21.0, 9.0, 0.5])
    rows = np.array([solver.solve(predicates, person, rng) for _ in range(3000)])
    assert solver.n_solved == 1
    assert (rows[:, [0, 1, 4]] == [1.0, 2.0, 0.5]).all()
    cells, counts = np.unique(rows[:, 2:4], axis=0, return_counts=True)
    assert cells.tolist() == [[age, hours] for age in (25, 26, 27) for hours in (0, 1)]
    assert counts.min() > 430  # 500 each, within 3.4 standard deviations
    again = ConstraintSolver(domain)
    same = np.array([again.solve(predicates, person, np.random.default_rng(5)) for _ in range(3)])
    assert (same == same[0]).all()


def test_z3_s_answer_counts_and_not_the_box() -> None:
    """Were a wish lost, z3's own solution is taken; were it wrong about a box, z3 would say so."""
    domain = small_domain()
    solver = ConstraintSolver(domain)
    person = np.array([0.0, 2.0, 21.0, 9.0, 0.5])
    predicates = (Predicate(2, 24.5, False), Predicate(4, 0.3, True))
    solution = solver._ask(predicates, {2: float("nan"), 4: float("nan")})
    assert solution is not None
    row = person.copy()
    row[[2, 4]] = solution[2], solution[4]
    assert domain.contains(row[None]).all()
    assert satisfies(predicates, row[None]).all()
    assert solver._ask(predicates, {2: 22.0, 4: 0.25}) is None
    assert solver._ask((*predicates, Predicate(2, 23.0, True)), {2: float("nan")}) is None


def test_reals_are_exact_to_z3() -> None:
    """The range of one rounding error is open below and closed above."""
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
        Column("wealth", Kind.REAL, minimum=-1.0, maximum=1.0),
    )
    domain = Domain(Schema(columns=columns), Scope(("sex",)))
    rng = np.random.default_rng(2)
    solver = ConstraintSolver(domain)
    person = np.array([0.0, 0.0])
    low = 0.1
    high = float(np.nextafter(low, 1))
    row = solver.solve((Predicate(1, low, False), Predicate(1, high, True)), person, rng)
    assert row is not None
    assert row[1] == high
    assert solver.solve((Predicate(1, low, False), Predicate(1, low, True)), person, rng) is None
    assert solver.solve((Predicate(1, 1.0, False),), person, rng) is None
    assert solver.solve((Predicate(1, -1.0, True),), person, rng) is not None
    draws = np.array([solver.solve((Predicate(1, -0.5, False),), person, rng) for _ in range(2000)])[:, 1]
    assert draws.min() > -0.5
    assert draws.max() <= 1.0
    assert draws.mean() == pytest.approx(0.25, abs=0.03)
    assert Fraction(low) != Fraction(high)


def test_constraints_are_the_same_whatever_their_order_and_thresholds_between_values() -> None:
    solver = ConstraintSolver(small_domain())
    one = (Predicate(2, 24.5, True), Predicate(3, 3.1, False))
    other = (Predicate(3, 3.9, False), Predicate(2, 24.0, True))
    assert solver.key(one) == solver.key(other)
    assert solver.key(one) != solver.key((one[0], one[1].negated()))
    assert solver.key(one) != solver.key(one[:1])


def example_path() -> tuple[np.ndarray, Path]:
    """Sex is protected; confidences fall below T1 = 0.3 at the fourth predicate and below T2 = 0.2 at the last two."""
    predicates = (
        Predicate(2, 25.5, True),
        Predicate(0, 0.5, True),
        Predicate(3, 6.5, False),
        Predicate(1, 0.5, False),
        Predicate(2, 22.5, False),
        Predicate(0, 1.5, True),
        Predicate(4, 0.3, True),
    )
    return np.array([0.0, 1.0, 24.0, 8.0, 0.25]), Path(predicates, np.array([0.9, 0.1, 0.6, 0.29, 0.19, 0.15, 0.1]))


MOVABLE = frozenset({1, 2, 3, 4})


def test_directed_negates_each_unprotected_predicate_under_t2_and_keeps_all_others() -> None:
    person, path = example_path()
    p = path.predicates
    made = list(directed(person, path, MOVABLE, 0.2))
    assert [one.predicates for one in made] == [(*p[:4], p[4].negated(), *p[5:]), (*p[:6], p[6].negated())]
    assert all(
        satisfies((*one.predicates[: one.negated], *one.predicates[one.negated + 1 :]), person[None]) for one in made
    )
    assert not list(directed(person, path, MOVABLE, 0.1))


def test_undirected_negates_from_the_root_until_one_is_under_t1_and_leaves_protected_ones_out() -> None:
    person, path = example_path()
    p = path.predicates
    made = list(undirected(person, path, MOVABLE, 0.3))
    assert [one.predicates for one in made] == [(p[0].negated(),), (p[0], p[2].negated())]
    assert len(list(undirected(person, path, MOVABLE, 0.25))) == 3
    assert not list(undirected(person, path, MOVABLE - {2}, 0.7))


def test_a_queue_that_grows_too_long_drops_those_whose_turn_is_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic_queue, "_MAX_WAITING", 5)
    queue = InputQueue()
    person = np.zeros(5)
    for i in np.random.default_rng(0).permutation(40):
        queue.add(Generated(person, Path((Predicate(2, 20.5, True),), np.array([i / 100])), 0, Origin.DIRECTED, ()))
    taken = [queue.take(Origin.DIRECTED).path.confidences[0] for _ in range(5)]
    assert taken == [0.0, 0.01, 0.02, 0.03, 0.04]


def test_the_queue_takes_the_least_confident_directed_and_the_most_confident_undirected_set_first() -> None:
    def made(rank: Origin, *confidences: float) -> Generated:
        predicates = tuple(Predicate(2, 20.5 + i, True) for i in range(len(confidences)))
        return Generated(np.zeros(5), Path(predicates, np.array(confidences)), 0, rank, predicates)

    queue = InputQueue()
    for rank in (Origin.DIRECTED, Origin.UNDIRECTED):
        for confidences in ((0.5, 0.1), (0.2, 0.2), (0.6, 0.2), (0.3, 0.3)):
            queue.add(made(rank, *confidences))
    taken = {
        rank: [queue.take(rank).path.confidences.tolist() for _ in range(4)]
        for rank in (Origin.DIRECTED, Origin.UNDIRECTED)
    }
    assert taken[Origin.DIRECTED] == [[0.2, 0.2], [0.5, 0.1], [0.3, 0.3], [0.6, 0.2]]  # averages 0.2, 0.3, 0.3, 0.4
    assert taken[Origin.UNDIRECTED] == [[0.6, 0.2], [0.5, 0.1], [0.3, 0.3], [0.2, 0.2]]  # of the first predicate alone
    assert not queue.has(Origin.DIRECTED)
