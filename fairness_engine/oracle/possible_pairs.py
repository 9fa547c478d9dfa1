"""What pairs of a scope can be, told without the model: who sends them may have been handed a hostile one.

Imports no numba: the app and the worker ask it.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Schema
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs

MAX_CLASSES = 100_000
_SHIFT = np.uint64(31)


class PossiblePairs:
    """The pairs of one scope.

    Args:
        schema, scope: whose; a protected attribute that holds texts is no input, and has no pairs.
    """

    def __init__(self, schema: Schema, scope: Scope) -> None:
        self._schema = schema
        self._scope = scope
        protected = [schema.index(name) for name in scope.protected if name in schema.names]
        self._shared = np.setdiff1d(np.arange(len(schema.inputs)), protected)

    @cached_property
    def _domain(self) -> Domain:
        return Domain(self._schema, self._scope)

    def check(self, pairs: Pairs) -> None:
        """See that the two people of each pair could exist, are compared, differ in protected columns only (and in what
        the scope links to them) and are not treated alike.

        Args:
            pairs: of the right shapes and types.

        Raises:
            ValueError: they cannot be pairs; ``a person who lies outside the domain`` is in the message.
        """
        if not len(pairs):
            return
        both = (pairs.first, pairs.second)
        roles = tuple(self._domain.roles(rows) for rows in both)
        if not np.array_equal(roles[0][:, self._shared], roles[1][:, self._shared]):
            raise ValueError("a pair that differs in a column that is not protected, nor linked to one")
        if not all(self._domain.contains(rows).all() for rows in both):
            raise ValueError("a person who lies outside the domain")
        if (pairs.first == pairs.second).all(axis=1).any():
            raise ValueError("a person as a pair")
        if any((self._domain.variants_holding(rows[:, self._domain.protected]) < 0).any() for rows in both):
            raise ValueError("a person whose protected attributes are not compared")
        decisions = np.stack([pairs.decision_first, pairs.decision_second])
        if decisions.min() < 0 or decisions.max() >= MAX_CLASSES:
            raise ValueError("a decision that is no class")
        if self._scope.score_gap == 0 and (decisions[0] == decisions[1]).any():
            raise ValueError("a pair that is treated alike")
        if pairs.evaluation.min() < 0 or (np.diff(pairs.evaluation) < 0).any():
            raise ValueError("pairs out of their order")

    def individuals(self, rows: FloatArray) -> NDArray[np.uint64]:
        """A number for each individual ``(n_rows,)``: equal where everything that is not protected is."""
        rows = self._domain.roles(rows)
        inverse, weights, is_exact = self._domain.key_weights
        keys = np.zeros(len(rows), dtype=np.uint64)
        for column, scale, weight in zip(self._domain.free, inverse, weights, strict=True):
            digits = np.floor((rows[:, column] - self._domain.low[column]) * scale + 0.5).astype(np.int64)
            if is_exact:
                keys += digits.astype(np.uint64) * weight
            else:
                keys = (keys ^ (digits.astype(np.uint64) + weight)) * weight
                keys ^= keys >> _SHIFT
        return keys


class Seen:
    """Numbers of individuals that were met: sorted arrays that double, so that each is merged few times."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.uint64]] = []

    def meet(self, keys: NDArray[np.uint64]) -> bool:
        """Enter individuals; whether none was met before, or is there twice."""
        fresh = np.sort(keys)
        if (fresh[1:] == fresh[:-1]).any() or any(_has_any(part, fresh) for part in self._parts):
            return False
        self._parts.append(fresh)
        while len(self._parts) > 1 and len(self._parts[-2]) < 2 * len(self._parts[-1]):
            last = self._parts.pop()
            self._parts[-1] = np.sort(np.concatenate([self._parts[-1], last]))
        return True


def _has_any(part: NDArray[np.uint64], keys: NDArray[np.uint64]) -> bool:
    if not len(part):
        return False
    places = np.minimum(np.searchsorted(part, keys), len(part) - 1)
    return bool((part[places] == keys).any())
