"""Which of the proposed models is best, within the tolerance: judged on rows that choose, never on the test rows."""

from __future__ import annotations

import numpy as np

from fairness_engine.mitigation.measure import Meter, Share
from fairness_engine.mitigation.strategy import Standing
from fairness_engine.mitigation.trainer import Examples
from fairness_engine.models.model import Model


class Judge:
    """Judges models by the same rows and draws.

    Args:
        meter: of the rows that may be looked at.
        validation: rows that tell the accuracy.
        model: the one before.
        tolerance: how much accuracy may fall.
    """

    def __init__(self, meter: Meter, validation: Examples, model: Model, tolerance: float) -> None:
        self._meter, self._validation, self._tolerance = meter, validation, tolerance
        self._uniform, self._data = self._shares(model)
        self.reference = self.accuracy(model)

    def accuracy(self, model: Model) -> float:
        """On the validation rows."""
        return float((model.decide(model.scores(self._validation.rows)) == self._validation.labels).mean())

    def judge(self, model: Model) -> Standing:
        """How a model stands."""
        accuracy = self.accuracy(model)
        uniform, data = self._shares(model)
        ratios = [_ratio(now, then) for now, then in ((uniform, self._uniform), (data, self._data))]
        is_within = accuracy >= self.reference - self._tolerance - 1e-12
        return Standing(model, accuracy, uniform.share, data.share, float(np.mean(ratios)), is_within)

    def _shares(self, model: Model) -> tuple[Share, Share]:
        return self._meter.shares(model)


def _ratio(now: Share, then: Share) -> float:
    """How much is left of a share; half a hit is added, so that nothing found before does not divide by zero."""
    return ((now.n_hits + 0.5) / (now.n + 1)) / ((then.n_hits + 0.5) / (then.n + 1))
