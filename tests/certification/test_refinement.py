"""The refinement: leaves always part the space, sums never drift, and neither threads nor waves change anything."""

from __future__ import annotations

import numpy as np
import pytest

from certification.refinement_cases import (
    KnowingAssessor,
    OpenAssessor,
    boxes_as_slices,
    everybody,
    large_domain,
    mass_table,
    points_of,
    small_case,
    threshold_model,
)
from fairness_engine.certification.partition import refine_kernels
from fairness_engine.certification.partition import refinement as refine
from fairness_engine.certification.partition.enumeration import MAX_POINTS
from fairness_engine.certification.partition.lattice import Weights, make_lattice
from fairness_engine.certification.partition.refine_kernels import EVALUATED
from fairness_engine.certification.partition.refinement import Refinement
from fairness_engine.certification.thread_pool import ThreadPool

BOTH_WEIGHTS = pytest.mark.parametrize("weights", list(Weights))


def refined(weights: Weights, n_steps: int, part: float = 0.4, cut: int | None = None) -> tuple[Refinement, np.ndarray]:
    model, space, truth = small_case(weights)
    refinement = Refinement(KnowingAssessor(space, truth, part, cut), points_of(model, space), threads=ThreadPool(1))
    for _ in range(n_steps):
        refinement.step()
    return refinement, truth


def leaf_boxes(refinement: Refinement) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    leaves = np.flatnonzero(refinement.nodes.child < 0)
    return leaves, *refinement.boxes(leaves, refinement.parents()[0])


@BOTH_WEIGHTS
@pytest.mark.parametrize("n_steps", [0, 1, 2, 3, 5, 100])
@pytest.mark.parametrize("cut", [None, 0, 1, 77])
def test_leaves_part_the_space_and_weigh_what_it_weighs(weights: Weights, n_steps: int, cut: int | None) -> None:
    refinement, _ = refined(weights, n_steps, cut=cut)
    space = refinement.assessor.space
    leaves, low, high = leaf_boxes(refinement)
    n_times = np.zeros(tuple(space.n_digits), np.int64)
    for box in boxes_as_slices(low, high):
        n_times[box] += 1
    assert (n_times == 1).all()
    weights_of = [mass_table(space)[box].sum() for box in boxes_as_slices(low, high)]
    assert refinement.nodes.weight[leaves] == pytest.approx(weights_of, rel=1e-12)
    assert refinement.nodes.weight[leaves].sum() == pytest.approx(space.total, rel=1e-12)


def test_everybody_is_looked_up_in_the_one_leaf_that_holds_them() -> None:
    refinement, _ = refined(Weights.UNIFORM, 3)
    digits = everybody(refinement.assessor.space)
    leaves = refinement.leaves_of(digits)
    low, high = refinement.boxes(leaves, refinement.parents()[0])
    assert ((digits >= low) & (digits <= high)).all()
    assert (refinement.nodes.child[leaves] < 0).all()


@BOTH_WEIGHTS
def test_kept_sums_are_those_of_the_leaves_at_every_step(weights: Weights) -> None:
    refinement, truth = refined(weights, 0)
    space = refinement.assessor.space
    is_at_work = True
    while is_at_work:
        kept = refinement.standing
        counted = refinement.recount()
        for name in ("certified", "falsified", "undecided"):
            assert getattr(kept, name) == pytest.approx(getattr(counted, name), rel=1e-12, abs=1e-12 * space.total)
        assert kept.certified <= mass_table(space)[~truth].sum() * (1 + 1e-12)
        assert kept.falsified <= mass_table(space)[truth].sum() * (1 + 1e-12)
        is_at_work = refinement.step()


@BOTH_WEIGHTS
@pytest.mark.parametrize("part", [0.0, 0.7])
def test_refinement_that_ends_of_itself_is_the_truth_exactly(weights: Weights, part: float) -> None:
    refinement, truth = refined(weights, 0, part)
    while refinement.step():
        pass
    masses = mass_table(refinement.assessor.space)
    standing = refinement.recount()
    assert standing.n_open == 0
    assert standing.undecided <= 1e-15 * refinement.assessor.space.total
    assert standing.certified == pytest.approx(masses[~truth].sum(), rel=1e-12)
    assert standing.falsified == pytest.approx(masses[truth].sum(), rel=1e-12)
    if weights is Weights.UNIFORM:
        assert (standing.certified, standing.falsified, standing.undecided) == ((~truth).sum(), truth.sum(), 0.0)


def test_small_boxes_are_evaluated_and_not_split() -> None:
    refinement, truth = refined(Weights.UNIFORM, 100)
    evaluated = np.flatnonzero(refinement.nodes.column == EVALUATED)
    low, high = refinement.boxes(evaluated, refinement.parents()[0])
    assert len(evaluated)
    assert (np.prod(high - low + 1, axis=1) <= MAX_POINTS).all()
    for node, box in zip(evaluated, boxes_as_slices(low, high), strict=True):
        assert refinement.nodes.falsified[node] == truth[box].sum()
        assert refinement.nodes.certified[node] == (~truth[box]).sum()
    inner = np.flatnonzero(refinement.nodes.child >= 0)
    low, high = refinement.boxes(inner, refinement.parents()[0])
    assert (np.prod(high - low + 1, axis=1) > MAX_POINTS).all()


def test_the_most_undecided_boxes_are_split_first() -> None:
    domain = large_domain()
    space = make_lattice(domain)
    refinement = Refinement(OpenAssessor(space), points_of(threshold_model(), space), threads=ThreadPool(1))
    for _ in range(12):
        refinement.step()
    leaves, _, _ = leaf_boxes(refinement)
    weights = refinement.nodes.weight[leaves]
    assert (
        weights.max() <= 4.5 * weights.min()
    )  # halves of halves; a bucket holds boxes within a factor of 2 ** (1 / 8)


@pytest.mark.parametrize("is_continuous", [False, True])
def test_storage_grows_without_losing_a_box(is_continuous: bool) -> None:
    space = make_lattice(large_domain(is_continuous))
    refinement = Refinement(OpenAssessor(space), points_of(threshold_model(), space), threads=ThreadPool(2))
    while refinement.n_boxes < 30_001:
        assert refinement.step(max_boxes=30_001)
    leaves, low, high = leaf_boxes(refinement)
    assert len(leaves) == 15_001
    assert space.weigh(low, high) == pytest.approx(refinement.nodes.weight[leaves], rel=1e-12)
    assert refinement.nodes.weight[leaves].sum() == pytest.approx(space.total, rel=1e-12)
    digits = space.draw(*(np.repeat(ends, 500, axis=0) for ends in space.whole()), np.random.default_rng(1))
    low, high = refinement.boxes(refinement.leaves_of(digits), refinement.parents()[0])
    assert ((digits >= low) & (digits <= high)).all()
    assert refinement.standing.n_open == 15_001


@pytest.mark.parametrize("max_boxes", [1, 2, 3, 40, 101, 0])
def test_threads_and_waves_change_nothing(max_boxes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for n_threads, wave_seconds in ((1, 1.0), (2, 1.0), (3, 1.0), (1, 1e-9), (3, 1e-9)):
        monkeypatch.setattr(ThreadPool, "wave_seconds", wave_seconds)
        monkeypatch.setattr(refine, "_LEAST_SECONDS", 1e-9)
        model, space, truth = small_case()
        threads = ThreadPool(n_threads)
        refinement = Refinement(KnowingAssessor(space, truth, 0.3), points_of(model, space), threads=threads)
        while refinement.step(max_boxes=max_boxes):
            pass
        threads.close()
        results.append((refinement.standing, [np.array(array) for array in refinement.nodes]))
    assert 1 <= results[0][0].n_boxes <= (max_boxes or np.inf)
    for standing, nodes in results[1:]:
        assert standing == results[0][0]
        for mine, first in zip(nodes, results[0][1], strict=True):
            assert np.array_equal(mine, first)


def test_a_round_that_is_left_leaves_its_boxes_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ThreadPool, "wave_seconds", 1e-9)
    monkeypatch.setattr(refine, "_LEAST_SECONDS", 1e-9)
    refinement, truth = refined(Weights.UNIFORM, 8)
    assert not refinement.is_between_rounds
    n_open = refinement.standing.n_open
    refinement.stop()
    assert refinement.is_between_rounds
    assert refinement.standing.n_open == n_open
    while refinement.step():
        pass
    assert refinement.recount().falsified == truth.sum()


def test_a_box_that_cannot_be_split_further_is_left_undecided() -> None:
    space = make_lattice(large_domain(is_continuous=True))

    class Stubborn(OpenAssessor):
        def assess(self, low, high):
            found = super().assess(low, high)
            found.column[:] = np.where(low[:, 0] < high[:, 0], 0, -1)
            return found

    refinement = Refinement(Stubborn(space), points_of(threshold_model(), space), threads=ThreadPool(1))
    while refinement.step():
        pass
    assert refinement.n_boxes == 2 * 500 - 1
    assert refinement.standing.undecided == pytest.approx(space.total)


def test_no_more_boxes_than_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    space = make_lattice(large_domain())
    refinement = Refinement(OpenAssessor(space), points_of(threshold_model(), space), threads=ThreadPool(1))
    assert not refinement.is_full
    monkeypatch.setattr(refine_kernels, "MAX_BYTES", 1_500_000)
    while not refinement.is_full:
        refinement.step()
    held = [*refinement._storage.nodes, *refinement._storage.slots]
    n_used = refinement.n_boxes
    assert n_used > 1
    assert sum(array[:n_used].nbytes for array in held[:6]) <= 1_500_000


def test_an_error_of_an_assessor_reaches_the_caller_from_any_thread() -> None:
    space = make_lattice(large_domain())

    class Failing(OpenAssessor):
        def assess(self, low, high):
            if len(low) and (low[:, 0] > 400).any():
                raise ArithmeticError("no")
            return super().assess(low, high)

    refinement = Refinement(Failing(space), points_of(threshold_model(), space), threads=ThreadPool(3))
    with pytest.raises(ArithmeticError):
        all(refinement.step() for _ in range(100))
