"""Counterexamples: pairs that hold, nobody twice, and some wherever something is falsified."""

from __future__ import annotations

import numpy as np
import pytest

from certification.refinement_cases import KnowingAssessor, in_a_minute, network_refined, points_of, small_case
from fairness_engine.certification import counterexamples as module
from fairness_engine.certification.counterexamples import counterexamples, falsified_rows
from fairness_engine.certification.linear.assessor import LinearAssessor
from fairness_engine.certification.partition.enumeration import BoxEnumerator
from fairness_engine.certification.partition.lattice import Weights, make_lattice
from fairness_engine.certification.partition.refinement import Refinement
from fairness_engine.certification.relu_network import read_network
from fairness_engine.certification.thread_pool import ThreadPool
from fairness_engine.clock import Clock
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.oracle.domain import Domain, Scope
from handmade import linear_network, network_model


@pytest.mark.parametrize("weights", list(Weights))
def test_counterexamples_hold_and_nobody_appears_twice(weights: Weights) -> None:
    model, space, truth = small_case(weights)
    refinement = Refinement(KnowingAssessor(space, truth, 0.4), points_of(model, space), threads=ThreadPool(1))
    for _ in range(4):
        refinement.step()
    rows = falsified_rows(refinement, np.random.default_rng(0))
    pairs = counterexamples(refinement, np.concatenate([rows, rows]), in_a_minute())
    domain = space.domain
    assert len(pairs) > 20
    assert len(np.unique(domain.keys(pairs.first))) == len(pairs)
    assert truth[tuple(space.digits(pairs.first).T)].all()
    assert (model.decide(model.scores(pairs.first)) != model.decide(model.scores(pairs.second))).all()
    assert (pairs.first[:, domain.free] == pairs.second[:, domain.free]).all()
    assert (pairs.first[:, domain.protected] != pairs.second[:, domain.protected]).any(axis=1).all()


def test_at_most_so_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    refinement = network_refined(0)
    rows = falsified_rows(refinement, np.random.default_rng(0))
    every = counterexamples(refinement, rows, in_a_minute())
    monkeypatch.setattr(module, "MAX_PAIRS", 3)
    few = counterexamples(refinement, rows, in_a_minute())
    assert len(every) > 3
    assert np.array_equal(few.first, every.first[:3])
    assert not len(counterexamples(refinement, rows[:0], in_a_minute()))
    assert not len(counterexamples(refinement, rows, Clock(-1)))


@pytest.mark.parametrize("n_columns", [4, 6, 8])
def test_what_is_falsified_has_an_example_however_rare_it_is(n_columns: int) -> None:
    """One person in 10^n is decided in two ways, whom nobody finds by drawing."""
    group = Column("group", Kind.CATEGORICAL, codes=("a", "b"), labels=("a", "b"))
    numbers = [Column(f"x{i}", Kind.INTEGER, minimum=0, maximum=9) for i in range(n_columns)]
    domain = Domain(Schema(columns=(group, *numbers), label="y", favourable=1, protected=("group",)), Scope(("group",)))
    weights = [10.0**i for i in range(n_columns)]
    threshold = sum(7 * weight for weight in weights)  # each number must be 7: they are the digits of the sum
    model = network_model(domain, linear_network(1.0, *weights, bias=-threshold - 0.5))
    space = make_lattice(domain)
    refinement = Refinement(
        LinearAssessor(read_network(model, space), space), BoxEnumerator(model, domain, space), threads=ThreadPool(1)
    )
    while refinement.step(max_boxes=50):
        pass
    assert refinement.standing.falsified == pytest.approx(1.0)
    rows = falsified_rows(refinement, np.random.default_rng(0))
    pairs = counterexamples(refinement, rows, in_a_minute(), insists=True)
    assert pairs.first[:, 1:].tolist() == [[7.0] * n_columns]
