"""Trees as they are stored: from refinements of any size, back from disk, and refused when they are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from certification.refinement_cases import (
    KnowingAssessor,
    OpenAssessor,
    large_domain,
    points_of,
    small_case,
    threshold_model,
)
from fairness_engine.certification.networks.assessor import NetworkAssessor
from fairness_engine.certification.partition.certificates import proved_by
from fairness_engine.certification.partition.enumeration import BoxEnumerator
from fairness_engine.certification.partition.export import export_certificates, export_tree
from fairness_engine.certification.partition.lattice import Weights, make_lattice
from fairness_engine.certification.partition.partition_tree import PartitionTree, read_tree, write_tree
from fairness_engine.certification.partition.refinement import Refinement
from fairness_engine.certification.relu_network import read_network
from fairness_engine.certification.settings import Mode
from fairness_engine.certification.thread_pool import ThreadPool
from fairness_engine.clock import Clock
from fairness_engine.errors import RunError
from handmade import all_individuals, network_model, small_domain


def refined(n_boxes: int, weights: Weights = Weights.UNIFORM) -> Refinement:
    model, space, truth = small_case(weights)
    refinement = Refinement(KnowingAssessor(space, truth, 0.4), points_of(model, space), threads=ThreadPool(1))
    while refinement.step(max_boxes=n_boxes):
        pass
    return refinement


def network_refined(n_boxes: int) -> Refinement:
    domain = small_domain()
    model = network_model(domain)
    space = make_lattice(domain)
    assessor = NetworkAssessor(read_network(model, space), space, Mode.COUNTING)
    refinement = Refinement(assessor, BoxEnumerator(model, domain, space), threads=ThreadPool(1))
    while refinement.step(max_boxes=n_boxes):
        pass
    return refinement


@pytest.mark.parametrize("weights", list(Weights))
@pytest.mark.parametrize("max_boxes", [1, 2, 3, 10, 10_000])
def test_a_stored_tree_says_what_the_refinement_says(weights: Weights, max_boxes: int) -> None:
    refinement = refined(61, weights)
    rows = all_individuals(refinement.assessor.space.domain)[::3]
    tree, order = export_tree(refinement, rows, max_boxes)
    tree.check()
    space = refinement.assessor.space
    standing = refinement.recount()
    assert len(tree) == min(refinement.n_boxes, max(1, max_boxes - 1 + max_boxes % 2))
    assert tree.certified[0] == pytest.approx(standing.certified / space.total, rel=1e-12)
    assert tree.falsified[0] == pytest.approx(standing.falsified / space.total, rel=1e-12)
    assert len(tree) + tree.n_merged.sum() == refinement.n_boxes
    low, high = tree.boxes()
    mine = refinement.boxes(order, refinement.parents()[0])
    assert np.array_equal(low, mine[0])
    assert np.array_equal(high, mine[1])
    digits = space.digits(rows)
    for box in range(len(tree)):
        assert tree.n_people[box] == ((digits >= low[box]) & (digits <= high[box])).all(axis=1).sum()
        assert tuple(map(tuple, tree.box(box))) == (tuple(low[box]), tuple(high[box]))
    inner = np.flatnonzero(~tree.is_leaf)
    for shares in (tree.weight, tree.certified, tree.falsified, tree.n_people):
        assert shares[inner + 1] + shares[tree.right[inner]] == pytest.approx(shares[inner], rel=1e-12)


def test_what_is_kept_of_many_boxes_holds_most_of_everybody_and_of_the_undecided() -> None:
    space = make_lattice(large_domain())
    refinement = Refinement(OpenAssessor(space), points_of(threshold_model(), space), threads=ThreadPool(1))
    while refinement.n_boxes < 4001:
        refinement.step(max_boxes=4001)
    tree, order = export_tree(refinement, np.empty((0, 4)), 501)
    assert len(tree) == 501
    kept = set(order.tolist())
    left_out = [node for node in range(refinement.n_boxes) if node not in kept]
    parents, _ = refinement.parents()
    weights = refinement.nodes.weight
    inner = [node for node in kept if refinement.nodes.child[node] >= 0]
    is_split = {int(node) for node in order[~tree.is_leaf]}
    least_split = min(weights[node] for node in is_split)
    assert all(weights[parents[node]] <= least_split for node in left_out)
    assert all(weights[node] <= least_split for node in inner if node not in is_split)


def test_a_tree_comes_back_from_disk_with_its_certificates_beside_it(tmp_path: Path) -> None:
    refinement = network_refined(201)
    tree, order = export_tree(refinement, np.empty((0, 5)))
    certificates = export_certificates(refinement, tree, order, Clock(60))
    write_tree(tmp_path / "tree.npz", tree, certificates, {"columns": ["job"]})
    again, more = read_tree(tmp_path / "tree.npz")
    assert more == {"columns": ["job"]}
    for name, array in tree.to_arrays().items():
        assert np.array_equal(array, again.to_arrays()[name])
    with np.load(tmp_path / "tree.npz") as file:
        assert np.array_equal(file["certificate_thresholds"], certificates.thresholds)
    (tmp_path / "tree.npz").write_bytes(b"no tree")
    with pytest.raises(RunError, match="Certify again"):
        read_tree(tmp_path / "tree.npz")


def test_certificates_prove_no_less_than_was_counted_and_nothing_false() -> None:
    refinement = network_refined(301)
    space = refinement.assessor.space
    tree, order = export_tree(refinement, np.empty((0, 5)))
    certificates = export_certificates(refinement, tree, order, Clock(60))
    assert len(certificates.leaf)
    rows = all_individuals(space.domain)
    digits = space.digits(rows)
    is_unfair = refinement.points.are_unfair(rows)
    low, high = tree.boxes()
    for which, leaf in enumerate(certificates.leaf):
        inside = ((digits >= low[leaf]) & (digits <= high[leaf])).all(axis=1)
        certified, falsified = proved_by(certificates, np.full(inside.sum(), which), digits[inside])
        assert not (certified & is_unfair[inside]).any()
        assert not (falsified & ~is_unfair[inside]).any()
        assert certified.sum() >= tree.certified[leaf] * space.total - 1e-6
        assert falsified.sum() >= tree.falsified[leaf] * space.total - 1e-6
    proved = tree.certified + tree.falsified > 0
    evaluated = refinement.nodes.column[order] == -2
    assert set(np.flatnonzero(tree.is_leaf & proved & ~evaluated)) == set(certificates.leaf)


def test_certificates_keep_to_their_time_and_room() -> None:
    refinement = network_refined(301)
    tree, order = export_tree(refinement, np.empty((0, 5)))
    every = export_certificates(refinement, tree, order, Clock(60))
    assert not len(export_certificates(refinement, tree, order, Clock(-1)).leaf)
    each = every.coefficients[0].nbytes + every.thresholds[0].nbytes + 8
    few = export_certificates(refinement, tree, order, Clock(60), max_bytes=3.5 * each)
    assert few.leaf.tolist() == every.leaf[:3].tolist()
    assert (np.diff(tree.weight[every.leaf]) <= 0).all()


def good_arrays() -> dict[str, np.ndarray]:
    return export_tree(refined(41), np.empty((0, 5)))[0].to_arrays()


def broken(name: str, index: int, value: float) -> dict[str, np.ndarray]:
    arrays = {key: array.copy() for key, array in good_arrays().items()}
    arrays[name][index] = value
    return arrays


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("column", 0, 4),
        ("column", 0, -1),
        ("column", 0, -7),
        ("column", -1, 0),
        ("cut", 0, -1),
        ("cut", 0, 99),
        ("right", 0, 0),
        ("right", 0, 1),
        ("right", 0, 2),
        ("right", 0, 10**9),
        ("right", -1, 3),
        ("weight", 1, -0.1),
        ("weight", 1, np.nan),
        ("certified", 0, np.inf),
        ("certified", 0, 2.0),
        ("falsified", 3, 1.5),
        ("n_people", 0, -1),
        ("n_merged", 0, -1),
        ("n_digits", 0, 0),
    ],
)
def test_arrays_that_are_no_tree_are_refused(name: str, index: int, value: float) -> None:
    PartitionTree.from_arrays(good_arrays())
    with pytest.raises(ValueError, match=r".+"):
        PartitionTree.from_arrays(broken(name, index, value))


def test_parts_out_of_order_are_refused() -> None:
    """Every box has one parent and stands behind it, but the parts of the second box are not together."""
    tree = PartitionTree(
        column=np.array([0, 0, -1, -1, -1]),
        cut=np.array([1, 0, 0, 0, 0]),
        right=np.array([3, 4, -1, -1, -1]),
        weight=np.array([1.0, 0.5, 0.25, 0.5, 0.25]),
        certified=np.zeros(5),
        falsified=np.zeros(5),
        n_people=np.zeros(5, np.int64),
        n_merged=np.zeros(5, np.int64),
        n_digits=np.array([4]),
    )
    with pytest.raises(ValueError, match="pre-order"):
        tree.check()
    in_order = replace(tree, right=np.array([4, 3, -1, -1, -1]), weight=np.array([1.0, 0.5, 0.25, 0.25, 0.5]))
    in_order.check()


@pytest.mark.parametrize("change", ["longer", "missing", "empty"])
def test_arrays_that_do_not_fit_are_refused(change: str) -> None:
    arrays = good_arrays()
    if change == "longer":
        arrays["cut"] = np.append(arrays["cut"], 0)
    elif change == "missing":
        del arrays["cut"]
    else:
        arrays = {name: array[:0] if name != "n_digits" else array for name, array in arrays.items()}
    with pytest.raises(ValueError, match=r".+"):
        PartitionTree.from_arrays(arrays)
