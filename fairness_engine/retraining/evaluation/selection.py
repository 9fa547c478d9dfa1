"""Which of the proposed models is best, within the tolerance: judged on rows that choose, never on the test rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairness_engine.measures.results import Share
from fairness_engine.models.model import Model
from fairness_engine.retraining.evaluation.measure import Meter
from fairness_engine.retraining.strategy import Validation
from fairness_engine.retraining.trainers.trainer import Examples

_LEAST_OWN = 1e-9


class ModelSelector:
    """Judges models by the same rows and draws.

    Args:
        meter: of the rows that may be looked at.
        validation: rows that tell the accuracy.
        model: the one before.
        tolerance: how much accuracy may fall.
        own: what the strategy makes small instead of the shares of discriminatory individuals, 0 or more; ``None`` for
            the shares.

    Raises:
        SettingError: the strategy has nothing to make small in this scope.
    """

    def __init__(
        self,
        meter: Meter,
        validation: Examples,
        model: Model,
        tolerance: float,
        own: Callable[[Model], float] | None = None,
    ) -> None:
        self._meter = meter
        self._validation = validation
        self._tolerance = tolerance
        self._own = own
        self._uniform, self._data = self._shares(model)
        self._own_before = own(model) if own is not None else 0.0
        self.reference = self.accuracy(model)

    def accuracy(self, model: Model) -> float:
        """On the validation rows."""
        return float((model.decide(model.scores(self._validation.rows)) == self._validation.labels).mean())

    def judge(self, model: Model) -> Validation:
        """How a model stands."""
        accuracy = self.accuracy(model)
        uniform, data = self._shares(model)
        if self._own is not None:
            objective = self._own(model) / max(self._own_before, _LEAST_OWN)
        else:
            both = ((uniform, self._uniform), (data, self._data))
            objective = float(np.mean([_ratio(now, then) for now, then in both]))
        is_within = accuracy >= self.reference - self._tolerance - 1e-12
        return Validation(model, accuracy, uniform.share, data.share, objective, is_within)

    def _shares(self, model: Model) -> tuple[Share, Share]:
        return self._meter.shares(model)


def _ratio(now: Share, then: Share) -> float:
    """How much is left of a share; half a hit is added, so that nothing found before does not divide by zero."""
    return ((now.n_hits + 0.5) / (now.n + 1)) / ((then.n_hits + 0.5) / (then.n + 1))
