"""The clock, the log and the counters of one retraining: how long it may go on, and what it says meanwhile."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

from fairness_engine.codec import encode
from fairness_engine.errors import SearchStopped, StopReason
from fairness_engine.events import Event, Progress, ResultReady
from fairness_engine.retraining.evaluation.measure import Meter
from fairness_engine.retraining.results import EpochPoint, Round, Training
from fairness_engine.retraining.strategy import Proposal, Validation
from fairness_engine.retraining.trainers.trainer import Epoch, Job, Trained, Trainer

MAX_EPOCHS = 1_200
"""Points of the curve that are kept; beyond, every second one is left out, evenly, and the latest one is always
there.
"""


class RoundsLog:
    """Rounds, numbered from 1 on in the order in which they were trained, the control among them.

    Attributes:
        rows: what the result ``training`` holds of each.
        n_within: rounds within the tolerance, on the rows that test too.
    """

    def __init__(self) -> None:
        self.rows: list[Round] = []
        self.n_within = 0
        self._epochs: list[EpochPoint] = []
        self._last: EpochPoint | None = None
        self._n_epochs = 0
        self._stride = 1

    @property
    def next_number(self) -> int:
        """Of the round that is being trained."""
        return len(self.rows) + 1

    @property
    def proposed(self) -> list[Round]:
        """The rounds that a strategy proposed: all but the control."""
        return [row for row in self.rows if not row.is_control]

    def note_epoch(self, epoch: Epoch) -> None:
        """Keep a point of the curve of the round that is being trained; a loss that ran away is none."""
        loss, validation_loss, accuracy = map(_plain, (epoch.loss, epoch.validation_loss, epoch.validation_accuracy))
        self._last = (self.next_number, epoch.epoch, loss, validation_loss, accuracy)
        if self._n_epochs % self._stride == 0:
            self._epochs.append(self._last)
        self._n_epochs += 1
        if len(self._epochs) > MAX_EPOCHS:
            self._epochs = self._epochs[::2]
            self._stride = 2 * self._stride

    def note(
        self,
        proposal: Proposal,
        standing: Validation,
        *,
        is_best: bool = False,
        is_vetoed: bool = False,
        is_control: bool = False,
        no_file: str = "",
    ) -> int:
        """Keep a round; a new best one takes the mark from the one before.

        Args:
            no_file: why its model cannot become a file, where it would have been the best; such a one is not kept.

        Returns:
            its number.
        """
        if is_best:
            self.rows = [replace(row, is_best=False) for row in self.rows]
        self.n_within += standing.is_within and not (is_control or is_vetoed)
        self.rows.append(
            Round(
                proposal.title,
                proposal.n_added,
                standing.accuracy,
                standing.uniform,
                standing.data,
                standing.objective,
                standing.is_within,
                is_best,
                is_vetoed,
                is_control,
                no_file,
                dict(proposal.facts),
            )
        )
        return len(self.rows)

    def n_vetoed(self, objective: float) -> int:
        """Rounds that would have been chosen before one with this objective, but for the test rows."""
        return sum(row.is_vetoed and row.objective <= objective for row in self.rows)

    def training(self, reference: dict[str, float] | None) -> Training:
        """All of it; ``reference`` is what ``Training`` says."""
        latest = [self._last] if self._last is not None and self._last is not self._epochs[-1] else []
        return Training(list(self.rows), [*self._epochs, *latest], reference)


def _plain(value: float | None) -> float | None:
    """A number for a chart: six digits, so that the curve of a long run stays short; ``None`` for what JSON has no
    number for.
    """
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None


_REPORT_SECONDS = 0.5
"""How often the curve of a training is sent while it works."""


class Session:
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
        self._report = report
        self._max_seconds = max_seconds
        self._started = time.perf_counter()
        self._told = -math.inf
        self._end_of_last = math.inf
        self.log = RoundsLog()
        self.meters: list[Meter] = []
        self.counts: Callable[[], int] = lambda: 0
        self.n_trained = 0
        self.quickest = math.inf
        self.reference: dict[str, float] | None = None
        self._phase = ""
        self._is_last = False

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
        self._is_last = True
        self._end_of_last = self.seconds + max_seconds

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
        return ResultReady("training", encode(self.log.training(self.reference)))

    def refer_to(self, standing: Validation, accuracy: float, tolerance: float) -> None:
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
