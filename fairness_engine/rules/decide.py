"""Whether a model decides for the person, over many rows: counted, cancelled and timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from fairness_engine.events import FloatArray
from fairness_engine.models.model import Model
from fairness_engine.near_threshold import settled_margins
from fairness_engine.rules.attributes import BoolArray
from fairness_engine.rules.paced import Paced

_REPORT_SECONDS = 0.5
_FIRST_BLOCK, _MAX_BLOCK = 512, 1 << 17


class Decider(Paced):
    """Asks a model in blocks of about a tenth of a second, so that a slow one can be cancelled.

    Args:
        model: what is assessed.
        is_cancelled: whether the run is to end; asked before every block.
        max_seconds: the same by time, from now on.
        report: called between blocks, at most twice a second, with the evaluations and the seconds so far.
    """

    def __init__(
        self,
        model: Model,
        is_cancelled: Callable[[], bool],
        max_seconds: float,
        report: Callable[[int, float], None] = lambda *_: None,
    ) -> None:
        super().__init__(is_cancelled, max_seconds, first_block=_FIRST_BLOCK, max_block=_MAX_BLOCK)
        self._model = model
        self._report, self._reported = report, 0.0

    def favourable(self, rows: FloatArray) -> BoolArray:
        """Whether each row ``(n_rows, n_columns)`` gets the favourable outcome ``(n_rows,)``.

        Raises:
            SearchStopped: cancelled, or out of time; what was decided before is lost.
        """
        out = np.empty(len(rows), dtype=bool)
        for part, decided in self.decide(rows):
            out[part] = decided
        return out

    def decide(self, rows: FloatArray) -> Iterator[tuple[slice, BoolArray]]:
        """The same in blocks: which rows, and whether each gets the favourable outcome.

        Raises:
            SearchStopped: cancelled, or out of time, before a block.
        """
        done = 0
        while done < len(rows):
            part = slice(done, min(done + self._block, len(rows)))
            decided = self._asked(part.stop - done, partial(self._decide, rows[part]))
            done = part.stop
            self._report_when_due()
            yield part, decided

    def _report_when_due(self) -> None:
        if self.seconds - self._reported >= _REPORT_SECONDS:
            self._reported = self.seconds
            self._report(self.evaluations, self.seconds)

    def _decide(self, rows: FloatArray) -> BoolArray:
        model = self._model
        if model.is_binary:
            is_first = settled_margins(model, model.margins(rows), lambda near: rows[near])[:, 0] > 0
            return np.asarray(is_first if model.favourable == 1 else ~is_first)
        margins = model.margins(rows)
        ordered = np.partition(margins, -2, axis=1)
        in_doubt = ordered[:, -1] - ordered[:, -2] <= 2 * model.rounding  # of two margins, each may be off
        if model.rounding > 0 and in_doubt.any():
            margins = margins.copy()
            margins[in_doubt] = model.exact_margins(rows[in_doubt])
        return np.asarray(margins.argmax(axis=1) == model.favourable)
