"""What is known of one box: the answer to a click on the map of a certification."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, pack_array, unpack_array
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs

MAX_DRAWN = 2_000
"""Individuals of a box that are evaluated, at most."""
SEED = 0
"""Draws them: the same ones each time a box is opened."""
_MAX_REASONS = 20
_MAX_REASON = 600
_TOLERANCE = 1e-9
_SHARES = ("weight", "certified", "falsified")
_COUNTS = ("n_people", "n_unstable", "n_units", "n_drawn", "n_unfair")
_ARRAYS = ("thresholds", "bounds", "score_bounds", "blame")


@dataclass(frozen=True)
class BoxDetails:
    """One box ``[low, high]``, assessed for itself.

    Args:
        weight, certified, falsified: shares of all individuals, by the weights of the settings; proved from below.
        n_points: individuals in the box; ``None`` where a column is continuous.
        n_people: rows of the data in it.
        is_evaluated: it is small: everybody in it was evaluated, nothing was bounded.
        thresholds: of its certificate ``(4,)``; see ``assessor.Certificates``. NaN where there is none.
        bounds: of the margin of every variant, low and high ``(K, 2)``; above 0 is class 1. NaN for several classes, or
            none.
        score_bounds: the same of the score, where it is a probability; NaN elsewhere ``(K, 2)``.
        blame: how much each column contributes to what keeps it undecided ``(D,)``, 0 and more.
        n_unstable: neurons that are neither always on nor always off in it, or trees that are not settled.
        n_units: of how many.
        n_drawn: individuals of it that were evaluated: drawn by weight, or all where ``is_evaluated``.
        n_unfair: how many of them are decided differently for two variants.
        counterexample: one of them as a pair, or none.
        reasons: why it is undecided, or what decides it, in sentences.
    """

    weight: float
    certified: float
    falsified: float
    n_points: int | None
    n_people: int
    is_evaluated: bool
    thresholds: FloatArray
    bounds: FloatArray
    score_bounds: FloatArray
    blame: FloatArray
    n_unstable: int
    n_units: int
    n_drawn: int
    n_unfair: int
    counterexample: Pairs
    reasons: tuple[str, ...]

    @property
    def undecided(self) -> float:
        """Share of all individuals that stay undecided."""
        return max(0.0, self.weight - self.certified - self.falsified)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, arrays packed, without the counterexample, which the protocol has its own form for."""
        content: dict[str, Any] = {
            name: getattr(self, name) for name in (*_SHARES, *_COUNTS, "n_points", "is_evaluated")
        }
        content |= {name: pack_array(getattr(self, name)) for name in _ARRAYS}
        return content | {"reasons": list(self.reasons)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any], counterexample: Pairs, domain: Domain, n_columns: int) -> BoxDetails:
        """Read what ``to_json`` wrote; the other side may hold a hostile model.

        Args:
            counterexample: already checked.
            domain: of the box.
            n_columns: of the box.

        Raises:
            ValueError, KeyError, TypeError: it cannot be; what was wrong is in the message.
        """
        arrays: dict[str, Any] = {name: unpack_array(content[name]) for name in _ARRAYS}
        k = domain.n_variants
        shapes = {"thresholds": (4,), "bounds": (k, 2), "score_bounds": (k, 2), "blame": (n_columns,)}
        if any(array.dtype != np.float64 or array.shape != shapes[name] for name, array in arrays.items()):
            raise ValueError("arrays of a box")
        if not np.isfinite(arrays["blame"]).all() or arrays["blame"].min(initial=0.0) < 0:
            raise ValueError("blame of a box")
        reasons = tuple(content["reasons"])
        if len(reasons) > _MAX_REASONS or not all(
            isinstance(text, str) and len(text) <= _MAX_REASON for text in reasons
        ):
            raise ValueError("reasons of a box")
        if not isinstance(content["is_evaluated"], bool):
            raise TypeError("claim of a box")
        n_points = None if content["n_points"] is None else _count(content["n_points"])
        shares = _shares(content)
        counts: dict[str, Any] = {name: _count(content[name]) for name in _COUNTS}
        if counts["n_unfair"] > counts["n_drawn"] or (counts["n_unfair"] > 0) != (len(counterexample) == 1):
            raise ValueError("counterexample of a box")
        return cls(
            **shares,
            **counts,
            **arrays,
            n_points=n_points,
            is_evaluated=content["is_evaluated"],
            counterexample=counterexample,
            reasons=reasons,
        )


def _shares(content: Mapping[str, Any]) -> dict[str, Any]:
    shares = {name: content[name] for name in _SHARES}
    if not all(isinstance(share, int | float) and not isinstance(share, bool) for share in shares.values()):
        raise TypeError("shares of a box")
    weight, certified, falsified = shares.values()
    if not all(map(math.isfinite, shares.values())):
        raise ValueError("shares of a box")
    if min(certified, falsified) < 0 or certified + falsified > weight + _TOLERANCE or weight > 1 + _TOLERANCE:
        raise ValueError("shares of a box")
    return {name: float(share) for name, share in shares.items()}


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("counts of a box")
    return value
