"""The driver of a retraining: split, measure, let a strategy propose models, keep the best within the tolerance, measure again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairness_engine.dataset import Dataset
from fairness_engine.domain import Domain
from fairness_engine.errors import SearchStopped, SettingError
from fairness_engine.events import Event, FloatArray, Pairs, Progress, ResultReady, Stopped, StopReason
from fairness_engine.mitigation.cases import Cases
from fairness_engine.mitigation.changes import changes
from fairness_engine.mitigation.judging import Judge
from fairness_engine.mitigation.labels import Labeller, MajorityOfVariants
from fairness_engine.mitigation.measure import Meter
from fairness_engine.mitigation.model_parts import model_parts
from fairness_engine.mitigation.parts import Parts, split_rows
from fairness_engine.mitigation.registry import STRATEGIES, rounds_of
from fairness_engine.mitigation.settings import Labels, Reference, RetrainSettings
from fairness_engine.mitigation.strategy import Context, Proposal, Standing
from fairness_engine.mitigation.trainer import Epoch, Examples, Job, Trained, Trainer
from fairness_engine.models.model import Model

_SELECT, _MEASURE, _TRAIN, _CASES = range(1, 5)
"""Streams of a run's seed: what chooses a model is not what measures it."""
_SECONDS_TO_DRAW = 4.0
"""A slow model is estimated from fewer draws: as many as it decides in this time."""
_SPEED_ROWS = 2_048


@dataclass(frozen=True)
class Subject:
    """What is retrained.

    Args:
        model: as given, bound to the data.
        domain, dataset: the scope and the data.
        trainer: makes models of the same kind (or of a surrogate's).
        picked: pairs that a person picked as cases; ``None`` for those of a search.
    """

    model: Model
    domain: Domain
    dataset: Dataset
    trainer: Trainer
    picked: Pairs | None = None


@dataclass
class _State:
    """Where a run stands: rounds so far, the best, and the events that wait to be sent."""

    rounds: list[dict[str, Any]] = field(default_factory=list)
    epochs: list[list[float | int | None]] = field(default_factory=list)
    best: tuple[Trained, Standing, int] | None = None
    phase: str = ""
    n_within: int = 0


def run_retraining(
    subject: Subject,
    settings: RetrainSettings,
    seed: int,
    max_seconds: float = math.inf,
    is_cancelled: Callable[[], bool] = lambda: False,
    report: Callable[[Event], None] = lambda _: None,
) -> Iterator[Event]:
    """Retrain a model and say honestly what came of it.

    Args:
        subject, settings: what is retrained, and how.
        seed: the only source of chance.
        max_seconds: no round begins after; the best model by then is the result.
        is_cancelled: asked between steps. The best model found before a cancel was sent already.
        report: takes events of a step that is at work (epochs, phases).

    Yields:
        ``ResultReady`` ``before``, ``training`` (again after every round), ``after``, ``changes``, ``retrained``; ``ModelPart`` of
        every new best model; ``Progress``; one ``Stopped``, last.

    Raises:
        DataError: no labels, one outcome, too few rows.
        ModelError: the model cannot be trained.
    """
    yield from _Retraining(subject, settings, seed, max_seconds, is_cancelled, report).events()


class _Retraining:
    """One run: see ``run_retraining``."""

    def __init__(
        self,
        subject: Subject,
        settings: RetrainSettings,
        seed: int,
        max_seconds: float,
        is_cancelled: Callable[[], bool],
        report: Callable[[Event], None],
    ) -> None:
        self._subject, self._settings, self._seed = subject, settings, seed
        self._started, self._max_seconds = time.perf_counter(), max_seconds
        self._is_cancelled, self._report = is_cancelled, report
        self._parts = split_rows(subject.dataset, settings.test_share, settings.validation_share)
        self._state = _State()
        self._cases = Cases(subject, self._parts, settings, self._stream(_CASES), is_cancelled, self._say)
        self._meters: list[Meter] = []

    # --- the run -------------------------------------------------------------------------------

    def events(self) -> Iterator[Event]:
        """All events; what was best when it was stopped is the result."""
        subject, reason = self._subject, StopReason.EXHAUSTED
        self._say("measuring the model as it is")
        test = self._meter(_MEASURE, self._parts.test)
        before = test.measure(subject.model, subject.model.favourable)
        yield ResultReady("before", before.to_json())
        try:
            judge = self._judge()
            yield from self._rounds(judge)
        except SearchStopped as stop:
            reason = stop.reason
        if reason is StopReason.EXHAUSTED and self._seconds > self._max_seconds:
            reason = StopReason.SECONDS
        if not self._is_cancelled():
            yield from self._last(test)
        yield self._progress()
        yield Stopped(reason, self._evaluations, self._seconds, len(self._state.rounds), self._state.n_within)

    def _rounds(self, judge: Judge) -> Iterator[Event]:
        rounds = rounds_of(self._context())
        standing: Standing | None = None
        while self._seconds < self._max_seconds:
            try:
                proposal = next(rounds) if standing is None else rounds.send(standing)
            except StopIteration:
                return
            trained = self._train(proposal)
            standing = judge.judge(trained.model)
            yield from self._take(proposal, trained, standing)

    def _take(self, proposal: Proposal, trained: Trained, standing: Standing) -> Iterator[Event]:
        """Note a round; a model that is better than all before is sent at once, so that a cancel does not lose it."""
        state = self._state
        number = len(state.rounds) + 1
        is_best = standing.is_within and standing.objective < (state.best[1].objective if state.best else 1.0)
        state.n_within += standing.is_within
        shown = {"accuracy": standing.accuracy, "uniform": standing.uniform, "data": standing.data}
        shown |= {"objective": standing.objective, "is_within": standing.is_within, "is_best": is_best}
        state.rounds.append(
            {"title": proposal.title, "n_added": proposal.n_added, "facts": dict(proposal.facts), **shown}
        )
        if is_best:
            state.best = (trained, standing, number)
            yield from model_parts(trained.content(), self._subject.trainer.suffix, number)
        yield self._training_result()
        yield self._progress()

    def _last(self, test: Meter) -> Iterator[Event]:
        """What came of it, measured on rows and draws that chose nothing."""
        subject, best = self._subject, self._state.best
        summary: dict[str, Any] = {
            "strategy": self._settings.strategy.value,
            "kind": subject.trainer.kind,
            "n_rounds": len(self._state.rounds),
            "n_train": len(self._parts.train),
            "n_validation": len(self._parts.validation),
            "n_test": len(self._parts.test),
            "tolerance": self._settings.tolerance,
            **self._cases.facts,
        }
        if best is None:
            yield ResultReady("retrained", {**summary, "has_model": False, "round": 0, "n_added": 0})
            return
        self._say("measuring the new model")
        trained, _, number = best
        after = test.measure(trained.model, trained.model.favourable)
        yield ResultReady("after", after.to_json())
        yield ResultReady("changes", changes(subject, trained.model, self._parts, test, self._cases.used).to_json())
        n_added = self._state.rounds[number - 1]["n_added"]
        yield ResultReady("retrained", {**summary, "has_model": True, "round": number, "n_added": n_added})

    # --- its parts -----------------------------------------------------------------------------

    def _train(self, proposal: Proposal) -> Trained:
        if proposal.made is not None:
            return proposal.made
        assert proposal.examples is not None, "a proposal has examples, or a model"
        number = len(self._state.rounds) + 1
        self._say(f"round {number}: training on {len(proposal.examples):,} rows")
        dataset, validation = self._subject.dataset, self._parts.validation
        assert dataset.labels is not None, "checked when the rows were split"
        held = Examples(dataset.rows[validation], dataset.labels[validation])
        seed = int(np.random.SeedSequence(self._seed, spawn_key=(_TRAIN, number)).generate_state(1)[0])

        def note(epoch: Epoch) -> None:
            self._state.epochs.append(
                [number, epoch.epoch, epoch.loss, epoch.validation_loss, epoch.validation_accuracy]
            )
            self._report(self._training_result())
            self._say(f"round {number}: epoch {epoch.epoch} of at most {epoch.n_epochs}")

        return self._subject.trainer.train(Job(proposal.examples, held, seed, self._must_stop, note))

    def _must_stop(self) -> bool:
        return self._is_cancelled() or self._seconds > self._max_seconds

    def _context(self) -> Context:
        subject = self._subject
        return Context(
            subject.model,
            subject.domain,
            subject.dataset,
            self._parts,
            self._settings,
            self._labeller(),
            self._cases.find,
            self._stream(_TRAIN),
            self._say,
        )

    def _labeller(self) -> Labeller:
        if self._settings.labels is Labels.COMMITTEE:
            from fairness_engine.mitigation.committee import Committee

            return Committee(self._subject.dataset, self._parts, self._subject.domain, self._seed)
        return MajorityOfVariants(self._subject.model, self._subject.domain)

    def _judge(self) -> Judge:
        subject, dataset = self._subject, self._subject.dataset
        assert dataset.labels is not None, "checked when the rows were split"
        meter = self._meter(_SELECT, self._parts.seen)
        chosen = self._parts.validation
        validation = Examples(dataset.rows[chosen], dataset.labels[chosen])
        if self._settings.reference is Reference.CONTROL:
            raise SettingError("The tolerance counts from the model as it is.")
        return Judge(meter, validation, subject.model, self._settings.tolerance)

    def _meter(self, stream: int, part: np.ndarray[Any, np.dtype[np.int64]]) -> Meter:
        subject, dataset = self._subject, self._subject.dataset
        assert dataset.labels is not None, "checked when the rows were split"
        people = subject.domain.sample(self._n_draws, self._stream(stream), dataset.rows)
        meter = Meter(subject.domain, people, dataset.rows[part], dataset.labels[part], self._is_cancelled)
        self._meters.append(meter)
        return meter

    @property
    def _n_draws(self) -> int:
        """Individuals for an estimate: those asked for, or as many as a slow model can decide."""
        if not hasattr(self, "_drawn"):
            rows = self._subject.dataset.rows[:_SPEED_ROWS]
            began = time.perf_counter()
            self._subject.model.scores(rows)
            speed = len(rows) / max(time.perf_counter() - began, 1e-6)
            most = int(speed * _SECONDS_TO_DRAW / self._subject.domain.n_variants)
            self._drawn = max(500, min(self._settings.n_draws, most))
        return self._drawn

    # --- what is said --------------------------------------------------------------------------

    def _stream(self, which: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(which,)))

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._started

    @property
    def _evaluations(self) -> int:
        return sum(meter.evaluations for meter in self._meters) + self._cases.evaluations

    def _say(self, phase: str) -> None:
        self._state.phase = phase
        self._report(self._progress())

    def _progress(self) -> Progress:
        state = self._state
        return Progress(self._evaluations, self._seconds, len(state.rounds), state.n_within, state.phase)

    def _training_result(self) -> ResultReady:
        return ResultReady("training", {"rounds": list(self._state.rounds), "epochs": list(self._state.epochs)})


__all__ = ["STRATEGIES", "FloatArray", "Parts", "Subject", "run_retraining"]
