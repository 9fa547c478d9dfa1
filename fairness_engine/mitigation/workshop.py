"""What a retraining works with: the parts of the data, what measures, what chooses, what finds cases and what trains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.mitigation.cases import Cases, NoCases
from fairness_engine.mitigation.changes import Changes, changes
from fairness_engine.mitigation.desk import Desk
from fairness_engine.mitigation.draws import affordable_draws
from fairness_engine.mitigation.judging import Judge
from fairness_engine.mitigation.labels import Labeller, MajorityOfVariants
from fairness_engine.mitigation.measure import Examined, Meter
from fairness_engine.mitigation.outcome import aim_note, nothing_to_mitigate, unseen_note
from fairness_engine.mitigation.parts import checked_labels, split_rows
from fairness_engine.mitigation.registry import objective_of, rounds_of
from fairness_engine.mitigation.settings import Labels, RetrainSettings
from fairness_engine.mitigation.strategy import Context, Proposal, Rounds
from fairness_engine.mitigation.subject import Retrainable, Subject
from fairness_engine.mitigation.trainer import Examples, Job, Trained, Trainer
from fairness_engine.mitigation.verdict import Words
from fairness_engine.mitigation.worst_group import Groups, WorstGroups
from fairness_engine.models.model import Model

SELECT_STREAM, MEASURE_STREAM, TRAIN_STREAM, CASES_STREAM, RULES_STREAM = range(1, 6)
"""Streams of a run's seed: what chooses a model is not what measures it."""


class Workshop:
    """Everything that rounds need, made from one seed.

    Args:
        subject, settings: what is retrained, and how.
        seed: the only source of chance.
        desk: the clock and the log.

    Attributes:
        subject, settings, seed: as given.
        words: of what the shares of discrimination are.
        parts: of the data.
        cases, groups: what finds cases, and the rule set that is looked at.
        n_draws: individuals for each estimate.

    Raises:
        DataError: the rows cannot be split.
    """

    words = Words()

    def __init__(self, subject: Subject, settings: RetrainSettings, seed: int, desk: Desk) -> None:
        self.subject: Retrainable = subject
        self._subject, self.settings, self.seed, self._desk = subject, settings, seed, desk
        self.parts = split_rows(subject.dataset, settings.test_share, settings.validation_share)
        self.n_draws = affordable_draws(
            subject.model, subject.domain.n_variants, subject.dataset.rows, settings.n_draws
        )
        clock = desk.must_end, desk.say, lambda: desk.seconds_left
        self._found = Cases(subject, self.parts, settings, self._stream(CASES_STREAM), *clock)
        self.cases: Cases | NoCases = self._found
        self.groups: Groups = WorstGroups(subject, self.parts, settings, self._number(RULES_STREAM), desk.is_over)
        desk.counts = lambda: self._found.evaluations + self.groups.evaluations

    @property
    def training(self) -> Examples:
        """The rows that models are trained on."""
        return self._examples(self.parts.train)

    def test_meter(self) -> Meter:
        """What measures before and after: test rows, and draws that choose nothing."""
        return self._meter(MEASURE_STREAM, self.parts.test, self._subject.dataset.rows, self._desk.is_over)

    def judge(self) -> Judge:
        """What chooses among models: rows and draws that are not measured by."""
        seen = self.parts.seen
        meter = self._meter(SELECT_STREAM, seen, self._subject.dataset.rows[seen], self._desk.must_end)
        own = objective_of(self.settings.strategy, self.groups)
        return Judge(meter, self._examples(self.parts.validation), self._subject.model, self.settings.tolerance, own)

    def rounds(self) -> Rounds:
        """The rounds of the strategy that the settings name."""
        return rounds_of(self._context())

    def nothing(self) -> str:
        """Why the model needs no mitigation; empty where it may."""
        return nothing_to_mitigate(self._subject)

    def changes(self, models: tuple[Model, Model], examined: tuple[Examined, Examined], meter: Meter) -> Changes:
        """Who is decided differently by the new model; see ``changes.changes``."""
        return changes(self._subject, models, examined, self.parts, meter, self._found.used)

    def notes_on(self, model: Model, changed: Changes) -> list[str]:
        """What a reader of the new model's figures should know."""
        notes = (aim_note(self.settings, changed), unseen_note(model, self._subject))
        return [text for text in notes if text]

    def _context(self) -> Context:
        """What the strategy works with."""
        subject = self._subject
        return Context(
            subject.model,
            subject.domain,
            subject.dataset,
            self.parts,
            self.settings,
            self._labeller(),
            self._found.find,
            self._stream(TRAIN_STREAM),
            self._desk.say,
            subject.trainer,
            self.train,
            self.groups,
            self._desk.must_end,
        )

    def made(self, proposal: Proposal) -> Trained:
        """The model that is proposed, trained if it is not made already.

        Raises:
            SearchStopped: cancelled, or out of time.
            ModelError: the estimator refuses what it is given.
        """
        if proposal.made is not None:
            return proposal.made
        assert proposal.examples is not None, "a proposal has examples, or a model"
        return self.train(proposal.examples, stopping=proposal.stopping)

    def train(
        self,
        examples: Examples,
        validation: Examples | None = None,
        trainer: Trainer | None = None,
        stopping: Examples | None = None,
    ) -> Trained:
        """Train once; see ``Context.train`` and ``Job``."""
        held = validation or self._examples(self.parts.validation)
        seed = self._number(TRAIN_STREAM, self._desk.n_trained + 1)
        job = Job(examples, held, seed, self._desk.must_end, self._desk.note_epoch, stopping)
        return self._desk.train(trainer or self.subject.trainer, job)

    def _labeller(self) -> Labeller:
        if self.settings.labels is Labels.COMMITTEE:
            from fairness_engine.mitigation.committee import Committee

            return Committee(self._subject.dataset, self.parts, self._subject.domain, self.seed)
        return MajorityOfVariants(self._subject.model, self._subject.domain)

    def _examples(self, part: IntArray) -> Examples:
        return Examples(self._subject.dataset.rows[part], checked_labels(self._subject.dataset)[part])

    def _meter(self, stream: int, part: IntArray, drawn_from: FloatArray, is_over: Callable[[], bool]) -> Meter:
        """What measures on some rows, and on individuals drawn by one stream of the seed.

        Args:
            drawn_from: rows that the scope's fixed attributes are taken from.
        """
        people = self._subject.domain.sample(self.n_draws, self._stream(stream), drawn_from)
        held = self._examples(part)
        meter = Meter(self._subject.domain, people, held.rows, held.labels, is_over)
        self._desk.meters.append(meter)
        return meter

    def _stream(self, which: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(which,)))

    def _number(self, *key: int) -> int:
        """A seed of 32 bits, for what takes a number."""
        return int(np.random.SeedSequence(self.seed, spawn_key=key).generate_state(1)[0])
