"""A refinement of any size as the tree and the certificates that are stored: its largest and most undecided boxes."""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.certification.partition import partition_kernels
from fairness_engine.certification.partition.certificates import explain_in_order
from fairness_engine.certification.partition.partition_tree import MAX_BOXES, LeafCertificates, PartitionTree
from fairness_engine.certification.partition.refine_kernels import EVALUATED
from fairness_engine.certification.partition.refinement import Refinement
from fairness_engine.clock import NO_LIMIT, Clock

MAX_CERTIFICATE_BYTES = 48_000_000


def export_tree(refinement: Refinement, rows: FloatArray, max_boxes: int = MAX_BOXES) -> tuple[PartitionTree, IntArray]:
    """The partition as it stands, and the box of the refinement that each of the tree's is ``(n,)``.

    Where there are more than ``max_boxes``, those are kept apart that hold most of everybody and most of the undecided;
    what lies below is merged into them, its proved shares as sums.

    Args:
        refinement: whose.
        rows: of the data ``(n_rows, n_columns)``, counted in the boxes they lie in; those outside the domain do not
            count.
        max_boxes: 1 and more.
    """
    nodes = refinement.nodes
    space = refinement.assessor.space
    total = space.total
    certified = nodes.certified.copy()
    falsified = nodes.falsified.copy()
    undecided = np.maximum(nodes.weight - certified - falsified, 0.0)
    n_below = np.empty(len(certified), np.int32)
    partition_kernels.sum_up(nodes.child, certified, falsified, undecided, n_below)
    is_expanded = _expanded(nodes.child, nodes.weight / total + undecided / max(undecided[0], 1e-300), max_boxes)
    n = 2 * int(is_expanded.sum()) + 1
    order = np.empty(n, np.int64)
    right = np.empty(n, np.int64)
    partition_kernels.in_order(nodes.child, is_expanded, order, right)
    is_leaf = right < 0
    column = np.where(is_leaf, -1, nodes.column[order]).astype(np.int64)
    cut = np.where(is_leaf, 0, nodes.cut[order]).astype(np.int64)
    n_people = np.zeros(n, np.int64)
    partition_kernels.count_people(_digits_inside(refinement, rows), column, cut, right, n_people)
    weight, certified, falsified = (weights[order] / total for weights in (nodes.weight, certified, falsified))
    n_merged = np.where(is_leaf, n_below[order], 0).astype(np.int64)
    return PartitionTree(column, cut, right, weight, certified, falsified, n_people, n_merged, space.n_digits), order


def _digits_inside(refinement: Refinement, rows: FloatArray) -> IntArray:
    space = refinement.assessor.space
    return space.digits(rows[space.domain.contains(rows)] if len(rows) else np.empty((0, space.domain.n_columns)))


def _expanded(child: IntArray, importance: FloatArray, max_boxes: int) -> BoolArray:
    """Which boxes stay split in a tree of at most ``max_boxes``: the most important ones, of equal ones the older.

    A part is never more important than the whole, and younger, so what lies above a box that is kept is kept as well.
    """
    inner = np.flatnonzero(child >= 0)
    n_kept = (max_boxes - 1) // 2
    if len(inner) > n_kept:
        least = np.partition(importance[inner], len(inner) - n_kept)[len(inner) - n_kept] if n_kept else np.inf
        above = inner[importance[inner] > least]
        equal = inner[importance[inner] == least]
        inner = np.concatenate([above, equal[: n_kept - len(above)]])
    is_expanded = np.zeros(len(child), np.bool_)
    is_expanded[inner] = True
    return is_expanded


def export_certificates(
    refinement: Refinement,
    tree: PartitionTree,
    order: IntArray,
    clock: Clock = NO_LIMIT,
    max_bytes: float = MAX_CERTIFICATE_BYTES,
) -> LeafCertificates:
    """Certificates of the tree's boxes in which something is proved by bounds; the largest where there is no room or
    time for all.

    Boxes whose individuals were evaluated need none: evaluating them again is the check.
    """
    is_told = tree.is_leaf & (tree.n_merged == 0) & (refinement.nodes.column[order] != EVALUATED)
    told = np.flatnonzero(is_told & (tree.certified + tree.falsified > 0))
    told = told[np.argsort(-tree.weight[told], kind="stable")]
    low, high = refinement.boxes(order[told], refinement.parents()[0])
    found = explain_in_order(refinement.assessor, refinement.threads, low, high, clock, max_bytes)
    return LeafCertificates(told[: len(found.leaf)], found.coefficients, found.starts, found.thresholds)
