"""The clock, the log and the counters of one retraining: how long it may go on, and what it says meanwhile."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from fairness_engine.errors import SearchStopped
from fairness_engine.events import Event, Progress, ResultReady, StopReason
from fairness_engine.mitigation.measure import Meter
from fairness_engine.mitigation.rounds_log import RoundsLog
from fairness_engine.mitigation.strategy import Standing
from fairness_engine.mitigation.trainer import Epoch, Job, Trained, Trainer

_REPORT_SECONDS = 0.5
"""How often the curve of a training is sent while it works."""


class Desk:
    """What every step of a run asks and tells.

    Args:
        max_seconds: of the run; infinite for none.
        is_cancelled: by a person.
        report: takes events of a step that is at work.

    Attributes:
        log: rounds and epochs.
        meters: whose evaluations count.
        counts: further evaluations.
        n_trained: trainings so far.
        quickest: seconds of the quickest training; infinite before the first.
        reference: what the tolerance counts from, as the result ``training`` tells it.
    """

    def __init__(self, max_seconds: float, is_cancelled: Callable[[], bool], report: Callable[[Event], None]) -> None:
        self.is_cancelled = is_cancelled
        self._report, self._max_seconds = report, max_seconds
        self._started, self._told, self._end_of_last = time.perf_counter(), -math.inf, math.inf
        self.log = RoundsLog()
        self.meters: list[Meter] = []
        self.counts: Callable[[], int] = lambda: 0
        self.n_trained, self.quickest = 0, math.inf
        self.reference: dict[str, float] | None = None
        self._phase, self._is_last = "", False

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.perf_counter() - self._started

    @property
    def seconds_left(self) -> float:
        """Of the budget; 0 or less when it is spent."""
        return self._max_seconds - self.seconds

    @property
    def evaluations(self) -> int:
        """Rows passed to models, but for those of trainings."""
        return sum(meter.evaluations for meter in self.meters) + self.counts()

    def must_end(self) -> bool:
        """Cancelled, or out of time: whether a search or a training must end."""
        return self.is_cancelled() or self.seconds_left <= 0

    def is_over(self) -> bool:
        """Whether measuring must end: at a cancel, and at the end of a run a few seconds after it."""
        return self.is_cancelled() and (not self._is_last or self.seconds > self._end_of_last)

    def begin_last(self, max_seconds: float) -> None:
        """The last measuring begins; a cancelled run has so long for it."""
        self._is_last, self._end_of_last = True, self.seconds + max_seconds

    def say(self, phase: str) -> None:
        """Tell what is at work."""
        self._phase = phase
        self._report(self.progress())

    def progress(self) -> Progress:
        """Where the run stands."""
        log = self.log
        return Progress(self.evaluations, self.seconds, len(log.proposed), log.n_within, self._phase)

    def training(self) -> ResultReady:
        """The result ``training`` as it is now."""
        content: dict[str, Any] = self.log.to_json()
        return ResultReady("training", {**content, "reference": self.reference})

    def refer_to(self, standing: Standing, accuracy: float, tolerance: float) -> None:
        """Note where the original stands and what the tolerance counts from, for live charts."""
        shares = {"uniform": standing.uniform, "data": standing.data}
        self.reference = {"accuracy": accuracy, **shares, "tolerance": tolerance}

    def note_epoch(self, epoch: Epoch) -> None:
        """Keep and tell a point of the curve."""
        self.log.note_epoch(epoch)
        if time.perf_counter() - self._told > _REPORT_SECONDS:
            self._told = time.perf_counter()
            self._report(self.training())
            self.say(f"round {self.log.next_number}: epoch {epoch.epoch} of at most {epoch.n_epochs}")

    def train(self, trainer: Trainer, job: Job) -> Trained:
        """Train once.

        Raises:
            SearchStopped: cancelled, or out of time.
            ModelError: the estimator refuses what it is given.
        """
        began = time.perf_counter()
        self.say(f"round {self.log.next_number}: training on {len(job.examples):,} rows")
        trained = trainer.train(job)
        if self.is_cancelled():
            raise SearchStopped(StopReason.CANCELLED)
        self.n_trained += 1
        self.quickest = min(self.quickest, time.perf_counter() - began)
        return trained
