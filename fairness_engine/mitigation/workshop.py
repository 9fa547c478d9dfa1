"""What a retraining works with: the parts of the data, what measures, what chooses, what finds cases and what trains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.mitigation.cases import Cases
from fairness_engine.mitigation.desk import Desk
from fairness_engine.mitigation.draws import affordable_draws
from fairness_engine.mitigation.judging import Judge
from fairness_engine.mitigation.labels import Labeller, MajorityOfVariants
from fairness_engine.mitigation.measure import Meter
from fairness_engine.mitigation.parts import checked_labels, split_rows
from fairness_engine.mitigation.registry import objective_of
from fairness_engine.mitigation.settings import Labels, RetrainSettings
from fairness_engine.mitigation.strategy import Context, Proposal
from fairness_engine.mitigation.subject import Subject
from fairness_engine.mitigation.trainer import Examples, Job, Trained, Trainer
from fairness_engine.mitigation.worst_group import WorstGroups

_SELECT, _MEASURE, _TRAIN, _CASES, _RULES = range(1, 6)
"""Streams of a run's seed: what chooses a model is not what measures it."""


class Workshop:
    """Everything that rounds need, made from one seed.

    Args:
        subject, settings: what is retrained, and how.
        seed: the only source of chance.
        desk: the clock and the log.

    Attributes:
        parts: of the data.
        cases, groups: what finds cases, and the rule set that is looked at.
        n_draws: individuals for each estimate.

    Raises:
        DataError: the rows cannot be split.
    """

    def __init__(self, subject: Subject, settings: RetrainSettings, seed: int, desk: Desk) -> None:
        self._subject, self._settings, self._seed, self._desk = subject, settings, seed, desk
        self.parts = split_rows(subject.dataset, settings.test_share, settings.validation_share)
        self.n_draws = affordable_draws(subject.model, subject.domain, subject.dataset.rows, settings.n_draws)
        clock = desk.must_end, desk.say, lambda: desk.seconds_left
        self.cases = Cases(subject, self.parts, settings, self._stream(_CASES), *clock)
        self.groups = WorstGroups(subject, self.parts, settings, self._number(_RULES), desk.is_over)
        desk.counts = lambda: self.cases.evaluations + self.groups.evaluations

    @property
    def training(self) -> Examples:
        """The rows that models are trained on."""
        return self._examples(self.parts.train)

    def test_meter(self) -> Meter:
        """What measures before and after: test rows, and draws that choose nothing."""
        return self._meter(_MEASURE, self.parts.test, self._subject.dataset.rows, self._desk.is_over)

    def judge(self) -> Judge:
        """What chooses among models: rows and draws that are not measured by."""
        seen = self.parts.seen
        meter = self._meter(_SELECT, seen, self._subject.dataset.rows[seen], self._desk.must_end)
        own = objective_of(self._settings.strategy, self.groups)
        return Judge(meter, self._examples(self.parts.validation), self._subject.model, self._settings.tolerance, own)

    def context(self) -> Context:
        """What the strategy works with."""
        subject = self._subject
        return Context(
            subject.model,
            subject.domain,
            subject.dataset,
            self.parts,
            self._settings,
            self._labeller(),
            self.cases.find,
            self._stream(_TRAIN),
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
        seed = self._number(_TRAIN, self._desk.n_trained + 1)
        job = Job(examples, held, seed, self._desk.must_end, self._desk.note_epoch, stopping)
        return self._desk.train(trainer or self._subject.trainer, job)

    def _labeller(self) -> Labeller:
        if self._settings.labels is Labels.COMMITTEE:
            from fairness_engine.mitigation.committee import Committee

            return Committee(self._subject.dataset, self.parts, self._subject.domain, self._seed)
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
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(which,)))

    def _number(self, *key: int) -> int:
        """A seed of 32 bits, for what takes a number."""
        return int(np.random.SeedSequence(self._seed, spawn_key=key).generate_state(1)[0])
