"""Small boxes by evaluation, against everybody's scores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from certification.refinement_cases import boxes_as_slices, mass_table, unfair_table, weighted_space
from fairness_engine.certification.assessors import make_assessor
from fairness_engine.certification.partition import enumeration
from fairness_engine.certification.partition.enumeration import BoxEnumerator
from fairness_engine.certification.partition.enumeration_kernels import drawn_inside
from fairness_engine.certification.partition.lattice import Lattice, make_lattice
from fairness_engine.certification.partition.refine_kernels import EVALUATED
from fairness_engine.certification.partition.refinement import Refinement
from fairness_engine.certification.settings import Mode
from fairness_engine.certification.thread_pool import ThreadPool
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from handmade import network_model, small_domain, small_network


def random_boxes(space: Lattice, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, space.n_digits, size=(2, n, len(space.n_digits)))
    low = ends.min(axis=0)
    high = ends.max(axis=0)
    return low, np.minimum(high, low + 2)


@pytest.mark.parametrize("protected", [("sex",), ("sex", "job"), ("age",)])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_weights_of_boxes_are_those_of_their_people(
    protected: tuple[str, ...], n_outputs: int, is_weighted: bool
) -> None:
    domain = small_domain(protected)
    model = network_model(domain, small_network(domain, n_outputs, seed=5))
    space = weighted_space(domain) if is_weighted else make_lattice(domain)
    truth = unfair_table(model, space)
    masses = mass_table(space)
    low, high = random_boxes(space, 60)
    weights = space.weigh(low, high)
    certified, falsified = BoxEnumerator(model, domain, space).evaluate(low, high, weights)
    slices = boxes_as_slices(low, high)
    assert certified == pytest.approx([masses[box][~truth[box]].sum() for box in slices], rel=1e-12, abs=1e-15)
    assert falsified == pytest.approx([masses[box][truth[box]].sum() for box in slices], rel=1e-12, abs=1e-15)
    assert (certified + falsified == weights).all() or is_weighted
    assert truth.any()
    assert not truth.all()


def test_margins_too_near_the_threshold_are_decided_at_full_precision() -> None:
    domain = small_domain()
    model = network_model(domain, small_network(domain, seed=3))
    space = make_lattice(domain)
    truth = unfair_table(model, space)
    unsure = type(model)(**{**vars(model), "rounding": 1e9})
    low, high = random_boxes(space, 20)
    _, falsified = BoxEnumerator(unsure, domain, space).evaluate(low, high, space.weigh(low, high))
    assert falsified.tolist() == [truth[box].sum() for box in boxes_as_slices(low, high)]
    assert falsified.any()


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = small_domain()
    model = network_model(domain)
    space = make_lattice(domain)
    rows = space.rows(space.draw(*(np.repeat(ends, 100, axis=0) for ends in space.whole()), np.random.default_rng(0)))
    at_once = BoxEnumerator(model, domain, space).are_unfair(rows)
    monkeypatch.setattr(enumeration, "_BLOCK_ROWS", 6)
    assert np.array_equal(BoxEnumerator(model, domain, space).are_unfair(rows), at_once)
    assert not len(BoxEnumerator(model, domain, space).are_unfair(rows[:0]))


@pytest.mark.parametrize(("width", "most"), [(8, 64), (400, 200)])
def test_larger_boxes_are_evaluated_where_bounds_are_dear(width: int, most: int) -> None:
    domain = small_domain()
    rng = np.random.default_rng(0)
    sizes = [domain.n_columns, width, width, 1]
    layers = [
        Layer(rng.normal(size=(a, b)), np.zeros(b), Activation.RELU if b > 1 else Activation.SIGMOID)
        for a, b in itertools.pairwise(sizes)
    ]
    model = network_model(domain, DenseNetwork(layers))
    space = make_lattice(domain)
    assert enumeration.most_points(model) == most
    refinement = Refinement(
        make_assessor(model, space, Mode.COUNTING), BoxEnumerator(model, domain, space), threads=ThreadPool(1)
    )
    while refinement.step():
        pass
    is_evaluated = refinement.nodes.column == EVALUATED
    assert is_evaluated.any()
    low, high = refinement.boxes(np.arange(refinement.n_boxes), refinement.parents()[0])
    assert (space.n_points(low, high)[is_evaluated] <= most).all()
    assert (space.n_points(low, high)[refinement.nodes.child >= 0] > most).all()
    assert refinement.standing.falsified == unfair_table(model, space).sum()


def test_individuals_drawn_from_a_box_lie_in_it_and_depend_on_it_and_the_seed_alone() -> None:
    low = np.array([[0, 3, 5], [1, 0, 0]])
    high = np.array([[9, 3, 999], [1, 50, 7]])
    drawn = {}
    for seed in (1, 2):
        drawn[seed] = np.empty((2 * 400, 3), np.int64)
        drawn_inside(low, high, 400, seed, drawn[seed])
    again = np.empty((400, 3), np.int64)
    drawn_inside(low[1:], high[1:], 400, 1, again)
    assert np.array_equal(again, drawn[1][400:])
    assert not np.array_equal(drawn[1], drawn[2])
    whole = np.repeat(low, 400, axis=0), np.repeat(high, 400, axis=0)
    assert ((drawn[1] >= whole[0]) & (drawn[1] <= whole[1])).all()
    counts = np.bincount(drawn[1][:400, 0], minlength=10)
    assert counts.min() > 15  # 40 expected of each
    assert abs(drawn[1][:400, 2].mean() - 502) < 60
