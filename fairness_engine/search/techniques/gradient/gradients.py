"""Where the gradient searches take slopes from: estimated from scores, or the true gradient of the score or of the
loss.

All give, for both people of pairs, the slope of the score of the person's predicted class along every movable column,
per unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.models.model import Output
from fairness_engine.oracle.domain import Domain

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle

_LEAST_SHARE = 1e-7
"""Smallest probability of a predicted class that a loss is divided by (Keras clips the loss there)."""


@dataclass(frozen=True)
class MovableColumns:
    """The movable columns of a domain as the compiled loops take them, ``(n_movable,)`` each.

    Args:
        columns: their indices.
        low, top: their smallest and largest value; on a lattice ``top`` is its last point.
        unit: length of one move.
    """

    columns: IntArray
    low: FloatArray
    top: FloatArray
    unit: FloatArray

    @classmethod
    def of(cls, domain: Domain) -> MovableColumns:
        """The terrain of a domain; a column whose limits leave one point of its lattice is left out."""
        low = domain.low
        high = domain.high
        step = domain.step
        n_steps = np.where(step > 0, domain.n_values - 1, 0.0)
        top = np.where(step > 0, np.minimum(low + n_steps * step, high), high)
        columns = domain.movable[(top > low)[domain.movable]]
        return cls(columns, low[columns], top[columns], domain.unit[columns])


class Gradients(Protocol):
    """Slopes at both people of pairs.

    Attributes:
        needs_scores: whether the scores of a row's variants must be known before its slopes are taken.
    """

    needs_scores: bool

    def __call__(
        self, rows: FloatArray, own: IntArray, other: IntArray, scores: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """The slopes.

        Args:
            rows: ``(n_rows, n_columns)``; the protected values they hold do not matter.
            own, other: two variants of each row ``(n_rows,)``.
            scores: of all variants ``(n_rows, n_variants, n_scores)``; may be ``None`` where ``needs_scores`` is false.

        Returns:
            ``(n_rows, n_movable)`` of the one and of the other; without scores their signs do not matter.
        """
        ...


class EstimatedSlopes:
    """Algorithm 2 of MAFT: the score where one column is moved, less the score of the row, divided by the move.

    A row and its probes are evaluated together, ``1 + n_movable`` evaluations. A probe that would leave the domain
    steps backwards. Probes of a lattice take whole steps, unless the model takes plain numbers.

    Args:
        oracle, terrain: of the search.
        h: how far a probe moves, in units.
        is_whole: whole steps for every model, so that each probe is a person of the domain.
    """

    def __init__(self, oracle: Oracle, terrain: MovableColumns, h: float, is_whole: bool = False) -> None:
        self._oracle = oracle
        self._terrain = terrain
        whole = (oracle.domain.step[terrain.columns] > 0) & (is_whole or not oracle.model.has_gradient)
        self._reach = terrain.unit * np.where(whole, max(1.0, np.rint(h)), h)
        # of two variants the pair is known, and the probes' own rows bring its scores
        self.needs_scores = oracle.domain.n_variants > 2

    def __call__(
        self,
        rows: FloatArray,
        own: IntArray,
        other: IntArray,
        scores: FloatArray | None,  # noqa: ARG002 - they come with the probes
    ) -> tuple[FloatArray, FloatArray]:
        """As ``Gradients``."""
        from fairness_engine.search.techniques.gradient import (
            kernels as gradient_kernels,  # numba is loaded when a search begins, not by the app
        )

        oracle = self._oracle
        terrain = self._terrain
        domain = self._oracle.domain
        both = gradient_kernels.pair_rows(rows, own, other, domain.protected, domain.variant_values)
        steps = gradient_kernels.probe_steps(both, terrain.columns, self._reach, terrain.low, terrain.top, terrain.unit)
        here, near = oracle.nearby_scores(both, terrain.columns, steps)
        self.learn(rows, own, other, steps[: len(rows)], near)
        if oracle.model.is_binary:
            here = here[:, 0]
            near = near[:, :, 0]
            signs = np.where(here > oracle.model.threshold, 1.0, -1.0)
        else:
            index = np.arange(len(both))
            classes = oracle.model.decide(here)
            here = here[index, classes]
            near = near[index, :, classes]
            signs = np.ones(len(both))
        slopes = gradient_kernels.slopes(here, near, signs, steps, terrain.unit)
        return slopes[: len(rows)], slopes[len(rows) :]

    def learn(self, rows: FloatArray, own: IntArray, other: IntArray, steps: FloatArray, near: FloatArray) -> None:
        """What else the probes tell; MAFT asks no more of them.

        Args:
            rows, own, other: the pairs.
            steps: how far each probe went ``(n_rows, n_movable)``.
            near: scores of the probes of the one people, then of the other ``(2 * n_rows, n_movable, n_scores)``.
        """


class TrueSlopes:
    """The gradient of the score, one evaluation a row.

    Args:
        oracle, terrain: of the search.
    """

    def __init__(self, oracle: Oracle, terrain: MovableColumns) -> None:
        self._oracle = oracle
        self._terrain = terrain
        # to find a pair among more than two variants, and the predicted class among more than two
        self.needs_scores = oracle.domain.n_variants > 2 or not oracle.model.is_binary

    def __call__(
        self, rows: FloatArray, own: IntArray, other: IntArray, scores: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """As ``Gradients``."""
        from fairness_engine.search.techniques.gradient import (
            kernels as gradient_kernels,  # numba is loaded when a search begins, not by the app
        )

        domain = self._oracle.domain
        model = self._oracle.model
        both = gradient_kernels.pair_rows(rows, own, other, domain.protected, domain.variant_values)
        chosen = None if scores is None else pair_scores(scores, own, other)
        classes = None if chosen is None else model.decide(chosen)
        slopes = np.ascontiguousarray(self._oracle.gradients(both, classes)[:, self._terrain.columns])
        slopes *= self._terrain.unit
        if chosen is not None and classes is not None:
            slopes *= self.factors(chosen, classes)[:, None]
        return slopes[: len(rows)], slopes[len(rows) :]

    def factors(self, scores: FloatArray, classes: IntArray) -> FloatArray:
        """What the derivatives of scores ``(n_people, n_scores)`` are multiplied by ``(n_people,)``: a sign.

        Two classes have one score, of class 1, which falls as class 0 becomes more likely.
        """
        if not self._oracle.model.is_binary:
            return np.ones(len(scores))
        return np.where(classes == 1, 1.0, -1.0)


class LossSlopes(TrueSlopes):
    """The gradient of the loss with its sign turned, one evaluation a row.

    The loss is the cross-entropy of the predicted class, ``-log F``, whose gradient is ``-F' / F``. A score that is no
    probability is taken for the loss itself.

    Args:
        oracle, terrain: of the search.
    """

    def __init__(self, oracle: Oracle, terrain: MovableColumns) -> None:
        super().__init__(oracle, terrain)
        self.needs_scores = True

    def factors(self, scores: FloatArray, classes: IntArray) -> FloatArray:
        """A sign, divided by the probability of the predicted class."""
        model = self._oracle.model
        signs = super().factors(scores, classes)
        if model.predictor.output is not Output.PROBABILITY:
            return signs
        shares = np.where(classes == 1, scores[:, 0], 1 - scores[:, 0]) if model.is_binary else scores.max(axis=1)
        return np.asarray(signs / np.maximum(shares, _LEAST_SHARE))


def pair_scores(scores: FloatArray, own: IntArray, other: IntArray) -> FloatArray:
    """Scores ``(2 * n_rows, n_scores)`` of the one people of pairs, then of the other."""
    rows = np.arange(len(scores))
    return np.concatenate([scores[rows, own], scores[rows, other]])
