"""The driver of a retraining: split, measure, let a strategy propose models, keep the best within the tolerance,
measure again.

Three kinds of rows, each with its own task: a model is trained on the training rows; the validation rows choose among
models and say whether one stays within the tolerance; the test rows measure, and may refuse a model that broke the
tolerance there: a strategy is told that it broke it, no more, and how often that happened is said with the result. What
is measured at the end is measured by draws that chose nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.codec import encode
from fairness_engine.errors import ModelError, SearchStopped, StopReason
from fairness_engine.events import Event, ResultReady, Stopped
from fairness_engine.models.formats import model_parts
from fairness_engine.models.model import Model
from fairness_engine.retraining.cases import CaseFinder, NoCases
from fairness_engine.retraining.evaluation.changes import changes
from fairness_engine.retraining.evaluation.control import MAX_SECONDS as CONTROL_SECONDS
from fairness_engine.retraining.evaluation.control import (
    TITLE,
    compare_with_control,
    control_text,
    gain_text,
    no_control_text,
)
from fairness_engine.retraining.evaluation.measure import Examined, Meter, affordable_draws
from fairness_engine.retraining.evaluation.model_card import model_card
from fairness_engine.retraining.evaluation.selection import ModelSelector
from fairness_engine.retraining.evaluation.split import checked_labels, split_rows
from fairness_engine.retraining.evaluation.summary import (
    ChosenModel,
    RunLog,
    aim_note,
    incomplete_note,
    none_found,
    nothing_to_mitigate,
    opinion_of,
    scope_notes,
    summary,
    threshold_note,
    unseen_note,
    unwritten_notes,
    vetoed_note,
    without_model,
    words_of,
)
from fairness_engine.retraining.evaluation.verdict import Opinion, Words, where_all_alike
from fairness_engine.retraining.evaluation.worst_rule_set import Groups, WorstGroups
from fairness_engine.retraining.labellers import Labeller, MajorityOfVariants
from fairness_engine.retraining.registry import objective_of, rounds_of
from fairness_engine.retraining.results import Card, Changes, Verdict
from fairness_engine.retraining.session import Session
from fairness_engine.retraining.settings import (
    CASES_STREAM,
    MEASURE_STREAM,
    RULES_STREAM,
    SELECT_STREAM,
    TRAIN_STREAM,
    Labels,
    Reference,
    RetrainSettings,
    Strategy,
)
from fairness_engine.retraining.strategy import Proposal, RoundContext, Rounds, Validation
from fairness_engine.retraining.subject import Retrainable, RetrainingTask
from fairness_engine.retraining.trainers.trainer import Examples, Job, Trained, Trainer


class Resources:
    """Everything that rounds need, made from one seed.

    Args:
        subject, settings: what is retrained, and how.
        seed: the only source of chance.
        desk: the clocks and the log.

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

    def __init__(self, subject: RetrainingTask, settings: RetrainSettings, seed: int, desk: Session) -> None:
        self.words = words_of(subject.domain.scope)
        self.subject: Retrainable = subject
        self._subject = subject
        self.settings = settings
        self.seed = seed
        self._desk = desk
        self.parts = split_rows(subject.people, settings.test_share, settings.validation_share)
        self.n_draws = affordable_draws(
            subject.model, subject.domain.n_variants, subject.dataset.rows, settings.n_draws
        )
        self._found = CaseFinder(subject, self.parts, settings, self._stream(CASES_STREAM), desk.clock, desk.say)
        self.cases: CaseFinder | NoCases = self._found
        self.groups: Groups = WorstGroups(subject, self.parts, settings, self._number(RULES_STREAM), desk.measuring)
        desk.counts = lambda: self._found.evaluations + self.groups.evaluations

    @property
    def training(self) -> Examples:
        """The rows that models are trained on."""
        return self._examples(self.parts.train)

    def test_meter(self) -> Meter:
        """What measures before and after: test rows, and draws that choose nothing."""
        return self._meter(MEASURE_STREAM, self.parts.test, self._subject.dataset.rows, self._desk.measuring)

    def judge(self) -> ModelSelector:
        """What chooses among models: rows and draws that are not measured by."""
        seen = self.parts.seen
        meter = self._meter(SELECT_STREAM, seen, self._subject.dataset.rows[seen], self._desk.clock)
        own = objective_of(self.settings.strategy, self.groups)
        return ModelSelector(
            meter, self._examples(self.parts.validation), self._subject.model, self.settings.tolerance, own
        )

    def rounds(self) -> Rounds:
        """The rounds of the strategy that the settings name."""
        return rounds_of(self._context())

    def nothing(self) -> str:
        """Why the model needs no mitigation; empty where it may."""
        return nothing_to_mitigate(self._subject)

    def changes(self, models: tuple[Model, Model], examined: tuple[Examined, Examined], meter: Meter) -> Changes:
        """Who is decided differently by the new model; see ``changes.changes``."""
        return changes(self._subject, models, examined, self.parts, meter, self._found.used)

    def notes_on_scope(self, before: Examined) -> list[str]:
        """What a reader of any figure should know of whom it is of."""
        return scope_notes(self._subject.domain, len(before.data), len(self.parts.test))

    def notes_on(self, model: Model, changed: Changes) -> list[str]:
        """What a reader of the new model's figures should know."""
        notes = (
            aim_note(self.settings, changed),
            unseen_note(model, self._subject),
            threshold_note(model),
            incomplete_note(model, self._subject),
        )
        return [text for text in notes if text]

    def _context(self) -> RoundContext:
        """What the strategy works with."""
        subject = self._subject
        return RoundContext(
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
            self._desk.clock,
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
        """Train once; see ``RoundContext.train`` and ``Job``."""
        held = validation or self._examples(self.parts.validation)
        seed = self._number(TRAIN_STREAM, self._desk.n_trained + 1)
        job = Job(examples, held, seed, self._desk.clock, self._desk.note_epoch, stopping)
        return self._desk.train(trainer or self.subject.trainer, job)

    def _labeller(self) -> Labeller:
        if self.settings.labels is Labels.COMMITTEE:
            from fairness_engine.retraining.labellers import Committee

            return Committee(self._subject.dataset, self.parts, self._subject.domain, self.seed)
        return MajorityOfVariants(self._subject.model, self._subject.domain)

    def _examples(self, part: IntArray) -> Examples:
        return Examples(self._subject.dataset.rows[part], checked_labels(self._subject.dataset)[part])

    def _meter(self, stream: int, part: IntArray, drawn_from: FloatArray, clock: Clock) -> Meter:
        """What measures on some rows, and on individuals drawn by one stream of the seed.

        Args:
            drawn_from: rows that the scope's fixed attributes are taken from.
        """
        people = self._subject.domain.sample(self.n_draws, self._stream(stream), drawn_from)
        held = self._examples(part)
        meter = Meter(self._subject.domain, people, held.rows, held.labels, clock)
        self._desk.meters.append(meter)
        return meter

    def _stream(self, which: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(which,)))

    def _number(self, *key: int) -> int:
        """A seed of 32 bits, for what takes a number."""
        return int(np.random.SeedSequence(self.seed, spawn_key=key).generate_state(1)[0])


_LAST_SECONDS = 6.0
"""How long a cancelled run may go on measuring the model that it has: less than a cancelled process is left alive."""
_EXACT = 1e-12


def run_retraining(
    subject: RetrainingTask,
    settings: RetrainSettings,
    seed: int,
    clock: Clock = NO_LIMIT,
    report: Callable[[Event], None] = lambda _: None,
) -> Iterator[Event]:
    """Retrain a model and say honestly what came of it.

    Args:
        subject, settings: what is retrained, and how.
        seed: the only source of chance.
        clock: asked between steps; its seconds begin here. Out of time no round begins and a training is ended, and the
            best model by then is the result. The best model found before a cancel was sent already.
        report: takes events of a step that is at work (epochs, phases).

    Yields:
        ``ResultReady`` ``before``, ``training`` (again after every round), ``control``, ``after``, ``changes``,
        ``worst_rule_set``, ``retrained``, ``card``; ``ModelPart`` of every new best model that holds on the test rows
        too; ``Progress``; one ``Stopped``, last.

    Raises:
        DataError: no labels, one outcome, too few rows.
        ModelError: the model cannot be trained.
    """
    desk = Session(clock, report)
    yield from retraining_events(Resources(subject, settings, seed, desk), desk)


def retraining_events(shop: Resources, desk: Session) -> Iterator[Event]:
    """The events of a retraining, whatever is retrained; see ``run_retraining``."""
    yield from _Retraining(shop, desk).events()


@dataclass(frozen=True)
class _Best:
    """The best model so far that holds on the test rows: only one is in memory."""

    trained: Trained
    model: Model
    standing: Validation


class _Retraining:
    """One run: see ``run_retraining``."""

    def __init__(self, shop: Resources, desk: Session) -> None:
        self._shop = shop
        self._desk = desk
        self._subject = shop.subject
        self._settings = shop.settings
        self._parts = shop.parts
        self._cases = shop.cases
        self._groups = shop.groups
        self._test = shop.test_meter()
        self._story = RunLog(desk.log)
        self._best: _Best | None = None
        self._control: Examined | None = None
        self._least_accuracy = 1.0
        self._is_raised = False

    # --- the run -------------------------------------------------------------------------------

    def events(self) -> Iterator[Event]:
        """All events; what was best when it was stopped is the result."""
        desk = self._desk
        reason = StopReason.EXHAUSTED
        desk.say("measuring the model as it is")
        before: Examined | None = None
        try:
            before = self._test.examine(self._subject.model)
            yield ResultReady("before", encode(before.measured))
            yield desk.training()
            yield from self._train_all(before)
        except SearchStopped as stop:
            reason = StopReason.CANCELLED if desk.clock.is_cancelled() else stop.reason
        if reason is StopReason.EXHAUSTED and desk.clock.seconds_left <= 0:
            reason = StopReason.SECONDS
        if before is not None:
            yield from self._last(before)
        yield desk.progress()
        yield Stopped(reason, desk.evaluations, desk.clock.seconds, len(desk.log.proposed), desk.log.n_within)

    def _train_all(self, before: Examined) -> Iterator[Event]:
        """All rounds, and the control; nothing where nothing could be mitigated."""
        desk = self._desk
        story = self._story
        settings = self._settings
        yield ResultReady("worst_rule_set", encode(self._groups.result()))
        is_of_individuals = not settings.is_baseline and settings.strategy is not Strategy.RULES
        story.nothing = self._shop.nothing() if is_of_individuals else ""
        if story.nothing:
            return
        judge = self._shop.judge()
        standing = judge.judge(self._subject.model)
        story.nothing = none_found(standing, self._shop.n_draws, self._shop.words) if is_of_individuals else ""
        if story.nothing:
            return
        self._least_accuracy = before.measured.quality.accuracy.value - settings.tolerance
        if settings.reference is Reference.CONTROL:
            yield from self._count_from_control(judge)
        story.reference = judge.reference
        desk.refer_to(standing, judge.reference, settings.tolerance)
        yield desk.training()
        yield from self._rounds(judge)
        if self._control is not None:
            return
        if desk.quickest < min(CONTROL_SECONDS, desk.clock.seconds_left):
            yield from self._train_control(judge)
        elif math.isfinite(desk.quickest):
            story.notes.append(no_control_text(desk.clock.seconds_left))

    def _count_from_control(self, judge: ModelSelector) -> Iterator[Event]:
        """Train the control, and let the tolerance count from it, on the rows that choose and on the test rows."""
        yield from self._train_control(judge)
        assert self._control is not None, "just made"
        judge.reference = self._desk.log.rows[-1].accuracy
        self._least_accuracy = self._control.measured.quality.accuracy.value - self._settings.tolerance
        self._story.notes.append(control_text(self._control, self._settings.tolerance))

    def _rounds(self, judge: ModelSelector) -> Iterator[Event]:
        rounds = self._shop.rounds()
        standing: Validation | None = None
        while self._desk.clock.seconds_left > 0:
            try:
                proposal = next(rounds) if standing is None else rounds.send(standing)
            except StopIteration:
                return
            trained = self._shop.made(proposal)
            standing = yield from self._take(proposal, trained, judge.judge(trained.model))

    def _take(self, proposal: Proposal, trained: Trained, standing: Validation) -> Generator[Event, None, Validation]:
        """Note a round, and return what the strategy is told of it: a refused model broke the tolerance, wherever it
        did.

        A model that is better than all before and holds on the test rows is sent at once: a cancel does not lose it.
        """
        desk = self._desk
        model = standing.model
        worst = math.inf if self._settings.is_baseline else 1.0
        is_better = standing.is_within and standing.objective < (self._best.standing.objective if self._best else worst)
        holds = is_better and self._test.accuracy(model) >= self._least_accuracy - _EXACT
        content, no_file = _file_of(trained) if holds else (b"", "")
        is_best = holds and not no_file
        is_vetoed = is_better and not holds
        number = desk.log.note(proposal, standing, is_best=is_best, is_vetoed=is_vetoed, no_file=no_file)
        if is_best:
            self._best = _Best(trained, model, standing)
            self._story.kept = ChosenModel(number, standing.objective, bool(content), getattr(trained, "no_file", ""))
            if content:
                yield from model_parts(content, getattr(trained, "suffix", self._subject.trainer.suffix), number)
        yield desk.training()
        yield desk.progress()
        return replace(standing, is_within=False) if is_vetoed else standing

    def _train_control(self, judge: ModelSelector) -> Iterator[Event]:
        """The same kind of model, on the training rows as they are."""
        proposal = Proposal(TITLE, self._shop.training)
        model = self._shop.made(proposal).model
        self._desk.log.note(proposal, judge.judge(model), is_control=True)
        self._control = self._test.examine(model)
        yield ResultReady("control", encode(self._control.measured))
        yield self._desk.training()

    # --- how it ends ---------------------------------------------------------------------------

    def _last(self, before: Examined) -> Iterator[Event]:
        """What came of it, measured on rows and draws that chose nothing; a cancelled run has a few seconds for it."""
        desk = self._desk
        best = self._best
        desk.begin_last(_LAST_SECONDS)
        opinion = without_model(
            self._story, self._settings, is_stopped=desk.clock.is_cancelled(), n_cases=len(self._cases.used)
        )
        after: Examined | None = None
        try:
            if best is not None:
                desk.say("measuring the new model")
                opinion = Opinion(Verdict.NOT_MEASURED, "It was stopped before the new model was measured.")
                after = self._test.examine(best.model)
                yield ResultReady("after", encode(after.measured))
                models = (self._subject.model, best.model)
                changed = self._shop.changes(models, (before, after), self._test)
                yield ResultReady("changes", encode(changed))
                self._is_raised = changed.uniform.is_rise or changed.data.is_rise
                compared = (self._settings, before.measured, after.measured, changed)
                opinion = opinion_of(*compared, None, self._shop.words)
                self._story.notes += self._shop.notes_on(best.model, changed)
                desk.say("scoring the worst rule set")
                worst = self._groups.result(best.model)
                yield ResultReady("worst_rule_set", encode(worst))
                opinion = opinion_of(*compared, worst, self._shop.words)
        except SearchStopped:
            pass  # cancelled: what was measured by then is told
        yield from self._told(before, after, opinion)

    def _told(self, before: Examined, after: Examined | None, opinion: Opinion) -> Iterator[Event]:
        """The results in words: ``retrained`` and ``card``."""
        story = self._story
        facts = {**self._cases.facts, "n_draws": self._shop.n_draws, "seed": self._shop.seed}
        facts |= {"has_control": self._control is not None, "is_inflated": False, "has_after": after is not None}
        if after is not None:
            opinion = where_all_alike(opinion, before, after, self._subject.model.classes)
        if self._control is not None:
            comparison = compare_with_control(self._subject, self._parts, before, self._control)
            facts["is_inflated"] = comparison.is_inflated
            story.notes += [comparison.text] if comparison.text else []
            if after is not None and opinion.verdict is Verdict.IMPROVED:
                text = gain_text(self._control, after, self._shop.words)
                story.notes += [text] if text else []
        story.notes += self._shop.notes_on_scope(before)
        facts["is_raised"] = self._is_raised or opinion.verdict is Verdict.WORSE
        facts["chance"] = self._test.chance_text(before.measured.quality)
        kept = story.kept
        if kept is not None:
            vetoed = vetoed_note(story.log.n_vetoed(kept.objective), self._settings.tolerance)
            story.notes += [text for text in (vetoed, *unwritten_notes(story.log), kept.no_file) if text]
        content = summary(self._subject, self._settings, self._parts, story, opinion, **facts)
        yield ResultReady("retrained", encode(content))
        was, control, now = (None if one is None else one.measured for one in (before, self._control, after))
        card = Card(model_card(self._subject, self._settings, content, was, control, now, self._shop.words))
        yield ResultReady("card", encode(card))


def _file_of(trained: Trained) -> tuple[bytes, str]:
    """The bytes of a model's file, or why there are none: a model that cannot be written ends no run."""
    try:
        return trained.content(), ""
    except ModelError as error:
        return b"", str(error)
