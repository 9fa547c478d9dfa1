"""Boxes that are small enough to be evaluated: everybody in them is decided by the model itself, so nothing stays
open.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.certification.partition import enumeration_kernels
from fairness_engine.certification.partition.lattice import Lattice
from fairness_engine.measures.exact_count import decide_variants
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain

MAX_POINTS = 64
"""Individuals of a box that is evaluated rather than split."""
_NEURONS_A_POINT = 4
"""To bound a box of a large network takes the work of up to a thousand individuals, and that of each of its parts as
much again.
"""
_BLOCK_ROWS = 1 << 16
"""Variants that are evaluated at once; with many protected values a box of 64 individuals is thousands of rows."""


def most_points(model: Model) -> int:
    """Individuals of a box that is evaluated rather than split: the more, the larger the network whose bounds it
    saves.
    """
    if not isinstance(model.predictor, DenseNetwork):
        return MAX_POINTS
    return max(MAX_POINTS, sum(model.predictor.widths[1:-1]) // _NEURONS_A_POINT)


class BoxEnumerator:
    """Evaluates individuals of a space.

    Args:
        model, domain: what decides; the truth is ``model.decide(model.scores(rows))`` of every variant.
        space: of the domain.
    """

    def __init__(self, model: Model, domain: Domain, space: Lattice) -> None:
        self.model = model
        self.domain = domain
        self.space = space
        self.most = most_points(model)

    def are_unfair(self, rows: FloatArray) -> BoolArray:
        """Whether two variants of a row ``(n, n_columns)`` are decided differently ``(n,)``."""
        domain = self.domain
        size = max(1, _BLOCK_ROWS // domain.n_variants)
        found = [np.zeros(0, np.bool_)]
        for begin in range(0, len(rows), size):
            block = rows[begin : begin + size]
            found.append(decide_variants(self.model, domain, block, domain.protected, domain.variant_values)[0])
        return np.concatenate(found)

    def evaluate(self, low: IntArray, high: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Certified and falsified weights of boxes ``(n, D)`` without continuous columns, ``(n,)`` each; they sum to
        ``weights``.
        """
        counts = np.prod(high - low + 1, axis=1)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        digits = np.empty((offsets[-1], low.shape[1]), np.int64)
        enumeration_kernels.individuals_of(low, high, offsets, digits)
        certified = np.empty(len(low))
        falsified = np.empty(len(low))
        is_unfair = self.are_unfair(self.space.rows(digits))
        enumeration_kernels.tally(is_unfair, digits, offsets, *self.space.mass_sums, certified, falsified)
        # the weight of a box is a product of sums, that of its people a sum of products: their last bits differ
        falsified = np.where(certified == 0, weights, np.minimum(falsified, weights))
        return weights - falsified, falsified
