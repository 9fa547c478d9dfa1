"""The clocks, the log and the counters of one retraining: how long it may go on, and what it says meanwhile."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from fairness_engine.clock import Clock
from fairness_engine.codec import encode
from fairness_engine.errors import SearchStopped, StopReason
from fairness_engine.events import Event, Progress, ResultReady
from fairness_engine.retraining.evaluation.measure import Meter
from fairness_engine.retraining.results import EpochPoint, ReferenceShares, Round, Training
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

    def training(self, reference: ReferenceShares | None) -> Training:
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
        clock: of the run; its seconds begin here. Searches and trainings end with it.
        report: takes events of a step that is at work.

    Attributes:
        clock: as it began.
        measuring: the clock of measurements, which a cancel ends, and the run's seconds do not.
        log: rounds and epochs.
        meters: whose evaluations count.
        counts: further evaluations.
        n_trained: trainings so far.
        quickest: seconds of the quickest training; infinite before the first.
        reference: what the tolerance counts from, as the result ``training`` tells it.
    """

    def __init__(self, clock: Clock, report: Callable[[Event], None]) -> None:
        self.clock = clock.anew()
        self.measuring = Clock(is_cancelled=self._ends_measuring)
        self._last: Clock | None = None
        self._report = report
        self._told = -math.inf
        self.log = RoundsLog()
        self.meters: list[Meter] = []
        self.counts: Callable[[], int] = lambda: 0
        self.n_trained = 0
        self.quickest = math.inf
        self.reference: ReferenceShares | None = None
        self._phase = ""

    @property
    def evaluations(self) -> int:
        """Rows passed to models, but for those of trainings."""
        return sum(meter.evaluations for meter in self.meters) + self.counts()

    def _ends_measuring(self) -> bool:
        return self.clock.is_cancelled() and (self._last is None or self._last.is_over)

    def begin_last(self, max_seconds: float) -> None:
        """The last measuring begins; a cancelled run has so long for it."""
        self._last = Clock(max_seconds)

    def say(self, phase: str) -> None:
        """Tell what is at work."""
        self._phase = phase
        self._report(self.progress())

    def progress(self) -> Progress:
        """Where the run stands."""
        log = self.log
        return Progress(self.evaluations, self.clock.seconds, len(log.proposed), log.n_within, self._phase)

    def training(self) -> ResultReady:
        """The result ``training`` as it is now."""
        return ResultReady("training", encode(self.log.training(self.reference)))

    def refer_to(self, standing: Validation, accuracy: float, tolerance: float) -> None:
        """Note where the original stands and what the tolerance counts from, for live charts."""
        self.reference = ReferenceShares(
            accuracy=accuracy, uniform=standing.uniform, data=standing.data, tolerance=tolerance
        )

    def note_epoch(self, epoch: Epoch) -> None:
        """Keep and tell a point of the curve."""
        self.log.note_epoch(epoch)
        if self.clock.seconds - self._told > _REPORT_SECONDS:
            self._told = self.clock.seconds
            self._report(self.training())
            self.say(f"round {self.log.next_number}: epoch {epoch.epoch} of at most {epoch.n_epochs}")

    def train(self, trainer: Trainer, job: Job) -> Trained:
        """Train once.

        Raises:
            SearchStopped: cancelled, or out of time.
            ModelError: the estimator refuses what it is given.
        """
        began = self.clock.seconds
        self.say(f"round {self.log.next_number}: training on {len(job.examples):,} rows")
        trained = trainer.train(job)
        if self.clock.is_cancelled():
            raise SearchStopped(StopReason.CANCELLED)
        self.n_trained += 1
        self.quickest = min(self.quickest, self.clock.seconds - began)
        return trained
