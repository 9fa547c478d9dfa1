"""What a model is measured by before and after: on rows held out, and over the domain, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fairness_engine.budget import Budget
from fairness_engine.domain import Domain
from fairness_engine.estimate import interval
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.mitigation.quality import Quality, quality
from fairness_engine.models.model import Model
from fairness_engine.oracle import Oracle

UNLIMITED = Budget(2**62)
_BLOCK_ROWS = 1 << 14


@dataclass(frozen=True)
class Share:
    """A share of discriminatory individuals with its 95 % interval: ``n_hits`` of ``n``."""

    n_hits: int
    n: int
    share: float
    low: float
    high: float

    @classmethod
    def of(cls, n_hits: int, n: int) -> Share:
        """With Wilson's interval; see ``estimate.interval``."""
        low, high = interval(n_hits, n)
        return cls(n_hits, n, n_hits / n if n else 0.0, low, high)


@dataclass(frozen=True)
class Measured:
    """A model, measured.

    Args:
        quality: on the held-out rows.
        uniform: discriminatory individuals of the domain.
        data: of the held-out rows.
    """

    quality: Quality
    uniform: Share
    data: Share

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return asdict(self)


class Meter:
    """Measures models alike: the same rows, the same draws.

    Args:
        domain: the scope.
        people: uniform individuals ``(n_draws, n_columns)``.
        rows, labels: of the data.
        is_cancelled: asked between batches.
    """

    def __init__(
        self, domain: Domain, people: FloatArray, rows: FloatArray, labels: IntArray, is_cancelled: Callable[[], bool]
    ) -> None:
        self._domain, self._people, self._is_cancelled = domain, people, is_cancelled
        self._rows, self._labels = rows, labels
        self._inside = rows[domain.contains(rows)]
        self.evaluations = 0

    def measure(self, model: Model, favourable: int) -> Measured:
        """All figures of a model.

        Raises:
            SearchStopped: cancelled.
        """
        scores = model.scores(self._rows)
        self.evaluations += len(self._rows)
        found = quality(model, scores, self._labels, favourable)
        return Measured(found, *self.shares(model))

    def shares(self, model: Model) -> tuple[Share, Share]:
        """The shares of the drawn individuals, and of the rows."""
        return self.share(model, self._people), self.share(model, self._inside)

    def share(self, model: Model, people: FloatArray) -> Share:
        """The share of people whose variants are not decided alike."""
        return Share.of(int(self.verdicts(model, people).sum()), len(people))

    def verdicts(self, model: Model, people: FloatArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether each is discriminatory ``(n_people,)``."""
        oracle = Oracle(model, self._domain, UNLIMITED, self._is_cancelled)
        found = [oracle.test(people[start : start + _BLOCK_ROWS]) for start in range(0, len(people), _BLOCK_ROWS)]
        self.evaluations += oracle.evaluations
        return np.concatenate(found).astype(bool) if found else np.zeros(0, dtype=bool)
