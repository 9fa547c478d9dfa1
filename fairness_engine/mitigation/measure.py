"""What a model is measured by before and after: on rows held out, and over the domain, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.budget import Budget
from fairness_engine.domain import Domain
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.intervals import share_interval
from fairness_engine.mitigation.quality import Quality, chance_text, quality
from fairness_engine.models.model import Model

BoolArray = NDArray[np.bool_]

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
        """With its interval."""
        low, high = share_interval(n_hits, n)
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


@dataclass(frozen=True)
class Examined:
    """A model's figures, and what they are made of: two models examined by one ``Meter`` can be compared row by row.

    Args:
        measured: the figures.
        decided: class of each held-out row ``(n_rows,)``.
        uniform: whether each drawn individual is discriminatory ``(n_draws,)``.
        data: the same of the held-out rows that lie inside the scope ``(n_inside,)``.
    """

    measured: Measured
    decided: IntArray
    uniform: BoolArray
    data: BoolArray


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
        self._domain, self._is_cancelled = domain, is_cancelled
        self._rows, self._labels = rows, labels
        self._people: Any = people  # of a table rows; what a kind of data calls people is for ``verdicts`` to know
        self._inside: Any = rows[domain.contains(rows)]
        self.evaluations = 0

    def examine(self, model: Model) -> Examined:
        """All figures of a model, and what they are made of.

        Raises:
            SearchStopped: cancelled.
        """
        scores = model.scores(self._rows)
        self.evaluations += len(self._rows)
        found = quality(model, scores, self._labels, model.favourable)
        verdicts = self.verdicts(model, self._people), self.verdicts(model, self._inside)
        shares = (Share.of(int(each.sum()), len(each)) for each in verdicts)
        return Examined(Measured(found, *shares), model.decide(scores), *verdicts)

    def chance_text(self, found: Quality) -> str:
        """That a model with these figures is no better than chance; empty where it is."""
        return chance_text(found, float(np.bincount(self._labels).max(initial=0) / max(1, len(self._labels))))

    def accuracy(self, model: Model) -> float:
        """Share of the rows that are decided as their outcome was."""
        self.evaluations += len(self._rows)
        return float((model.decide(model.scores(self._rows)) == self._labels).mean())

    def shares(self, model: Model) -> tuple[Share, Share]:
        """The shares of the drawn individuals, and of the rows."""
        return self.share(model, self._people), self.share(model, self._inside)

    def share(self, model: Model, people: FloatArray) -> Share:
        """The share of people whose variants are not decided alike."""
        return Share.of(int(self.verdicts(model, people).sum()), len(people))

    def verdicts(self, model: Model, people: FloatArray) -> BoolArray:
        """Whether each is discriminatory ``(n_people,)``."""
        from fairness_engine.oracle import Oracle  # brings numba; pages need the figures alone

        oracle = Oracle(model, self._domain, UNLIMITED, self._is_cancelled)
        found = [oracle.test(people[start : start + _BLOCK_ROWS]) for start in range(0, len(people), _BLOCK_ROWS)]
        self.evaluations += oracle.evaluations
        return np.concatenate(found).astype(bool) if found else np.zeros(0, dtype=bool)
