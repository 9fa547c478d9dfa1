"""Whether a model decides for the person, over many rows: counted, cancelled and timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from fairness_engine.errors import SearchStopped
from fairness_engine.events import FloatArray, StopReason
from fairness_engine.models.model import Model
from fairness_engine.rules.attributes import BoolArray

_BLOCK_SECONDS = 0.1
_REPORT_SECONDS = 0.5
_FIRST_BLOCK, _MAX_BLOCK = 512, 1 << 17


class Decider:
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
        self._model = model
        self._is_cancelled = is_cancelled
        self._max_seconds = max_seconds
        self._started = time.perf_counter()
        self._block = _FIRST_BLOCK
        self._report, self._reported = report, 0.0
        self.evaluations = 0

    @property
    def seconds(self) -> float:
        """Since it was made."""
        return time.perf_counter() - self._started

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
            self._check()
            part = slice(done, min(done + self._block, len(rows)))
            before = time.perf_counter()
            decided = self._decide(rows[part])
            self._adapt(len(decided), time.perf_counter() - before)
            done += len(decided)
            self.evaluations += len(decided)
            self._report_when_due()
            yield part, decided

    def _report_when_due(self) -> None:
        if self.seconds - self._reported >= _REPORT_SECONDS:
            self._reported = self.seconds
            self._report(self.evaluations, self.seconds)

    def _decide(self, rows: FloatArray) -> BoolArray:
        model = self._model
        margins = model.margins(rows)
        in_doubt = _lead(margins, is_binary=model.is_binary) <= model.rounding
        if model.rounding > 0 and in_doubt.any():  # fast arithmetic decides nothing on its own near the threshold
            margins = margins.copy()
            margins[in_doubt] = model.exact_margins(rows[in_doubt])
        if model.is_binary:
            is_first = margins[:, 0] > 0
            return np.asarray(is_first if model.favourable == 1 else ~is_first)
        return np.asarray(margins.argmax(axis=1) == model.favourable)

    def _check(self) -> None:
        if self._is_cancelled():
            raise SearchStopped(StopReason.CANCELLED)
        if self.seconds > self._max_seconds:
            raise SearchStopped(StopReason.SECONDS)

    def _adapt(self, n: int, seconds: float) -> None:
        if seconds > 2 * _BLOCK_SECONDS:
            self._block = max(1, self._block // 2)
        elif n == self._block and seconds < _BLOCK_SECONDS / 2:
            self._block = min(_MAX_BLOCK, self._block * 4)


def _lead(margins: FloatArray, *, is_binary: bool) -> FloatArray:
    """How far each decision is from another ``(n_rows,)``: from the threshold, or the highest score from the next."""
    if is_binary:
        return np.abs(margins[:, 0])
    ordered = np.partition(margins, -2, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])
