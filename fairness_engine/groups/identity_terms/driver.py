"""The driver of TestSGD on texts: terms swapped in the texts that hold one, every combination of a set of categories at
once.

Reference: paper 001 (TestSGD), Algorithm 2 and section 4.3. The inside of a rule set are the texts that hold a term of
each of its categories, with these terms replaced by the rule set's. Its outside are the same texts with the other terms
of these categories: the paper's figures have an outside share by category, not by term. The paper samples for each rule
set on its own; here the same texts serve all terms of a set of categories, so that a term is compared with others in
the same sentences.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.codec import encode
from fairness_engine.data.recorded import Source
from fairness_engine.errors import SearchStopped, SettingError, StopReason
from fairness_engine.events import Event, Progress, ResultReady, RulesScored, Stopped
from fairness_engine.groups.identity_terms.scoring import Block, TextDecider, decide_block, templates_at_once
from fairness_engine.groups.identity_terms.sentences import Scored, find_pairs, ranked
from fairness_engine.groups.identity_terms.templates import Templates, TextSpace
from fairness_engine.groups.identity_terms.terms import default_terms
from fairness_engine.groups.results import CategorySet, RuleSummary, TextCounts
from fairness_engine.groups.rule_sets.mining import least_rows
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.groups.rule_sets.sampling import side_size
from fairness_engine.groups.rule_sets.settings import MAX_RULE_SETS, RuleSettings
from fairness_engine.models.text_model import TextModel

_FRESH_STREAM = 1
_EXACT_RATIO = 2
"""Where all texts, or all that differ in more than terms, are no more than this many times a sample, all are looked at:
the highest would be sampled twice anyway."""
_MAX_SHOWN_TERMS = 6
_FEW_TEXTS = 30


@dataclass(frozen=True)
class AssessedTexts:
    """Texts and what decides them.

    Args:
        texts: of the data, none empty.
        model: takes strings.
    """

    texts: Sequence[str]
    model: TextModel


def run_text_rules(
    subject: AssessedTexts,
    settings: RuleSettings,
    seed: int,
    clock: Clock = NO_LIMIT,
) -> Iterator[Event]:
    """Score every term, and every combination of terms of several categories, that enough texts can speak for.

    Args:
        subject: what is assessed.
        settings: ``support`` counts texts that hold a term of each category; ``text_column`` names the column, for
            messages.
        seed: the only source of chance.
        clock: asked before every batch of evaluations; its seconds begin here. A run out of time keeps the categories
            that it has scored.

    Yields:
        ``Progress``, then ``RulesScored`` and ``ResultReady`` (``notes`` where there are any, ``rules``, ``sentences``)
        once, and one ``Stopped``, last.

    Raises:
        SettingError: no term occurs, too few texts hold one, or the labels were to be compared.
    """
    if settings.source is Source.LABELS:
        raise SettingError("Terms are swapped in texts, which only a model can decide anew. Name a model of texts.")
    decider = TextDecider(subject.model, clock)
    yield Progress(0, 0.0, 0, 0, "finding the terms")
    space = TextSpace(subject.texts, settings.terms or default_terms())
    work = _Work(space, find_sets(space, settings), settings, seed, decider)
    reason = StopReason.EXHAUSTED
    try:
        for phase in work.steps():
            yield Progress(decider.evaluations, decider.clock.seconds, work.n_rule_sets, 0, phase)
    except SearchStopped as stop:
        reason = stop.reason
    n_scored = sum(len(scored.block) for scored in work.scored)
    if n_scored:
        notes = _notes(space, work.sets, settings)
        if notes:
            yield ResultReady("notes", {"notes": notes})
        yield from _results(work, subject.model)
        yield Progress(decider.evaluations, decider.clock.seconds, n_scored, n_scored, "scored")
    yield Stopped(reason, decider.evaluations, decider.clock.seconds, n_scored, n_scored)


@dataclass(frozen=True)
class CategorySets:
    """The sets of categories whose texts are enough.

    Args:
        sets: of indices, fewer categories first.
        max_categories: in one set at most; fewer than asked where there would be too many rule sets.
    """

    sets: tuple[tuple[int, ...], ...]
    max_categories: int


def find_sets(space: TextSpace, settings: RuleSettings) -> CategorySets:
    """Every set of categories of which enough texts hold a term each.

    Raises:
        SettingError: no term occurs in any text, or too few texts hold one; it says the largest support there is.
    """
    counts = space.holds.sum(axis=0)
    if not counts.any():
        words = [label for attribute in space.attributes for label in attribute.labels]
        shown = ", ".join(words[:_MAX_SHOWN_TERMS]) + (", ..." if len(words) > _MAX_SHOWN_TERMS else "")
        raise SettingError(
            f"At least one text of '{settings.text_column}' must hold an identity term, but none of the {len(words)} "
            "terms looked for "
            f"({shown}) occurs in {space.n_texts:,} texts. Choose another column, or terms of your own."
        )
    least = least_rows(settings, space.n_texts)
    found = list[tuple[int, ...]]()
    n_rule_sets = 0
    most = settings.most_attributes(len(space.attributes))
    for size in range(1, most + 1):
        level = [
            which
            for which in itertools.combinations(range(len(space.attributes)), size)
            if len(space.seeds(which)) >= least
        ]
        n_rule_sets += sum(math.prod(space.attributes[i].n_values for i in which) for which in level)
        if size > 1 and n_rule_sets > MAX_RULE_SETS:
            most = size - 1
            break
        found += level
    if not found:
        largest = int(counts.argmax())
        raise SettingError(
            f"No category of terms is held by {settings.support:.3g} of the texts: the largest, "
            f"'{space.attributes[largest].name}', is in {counts[largest]:,} of {space.n_texts:,} "
            f"({counts[largest] / space.n_texts:.3g}). Ask for a smaller support."
        )
    return CategorySets(tuple(found), most)


@dataclass
class _Work:
    """The swaps of one run, step by step: the categories scored so far survive a step that is cut short."""

    space: TextSpace
    sets: CategorySets
    settings: RuleSettings
    seed: int
    decider: TextDecider
    scored: list[Scored] = field(default_factory=list)

    @property
    def n_rule_sets(self) -> int:
        """How many rule sets are to be scored in all."""
        return sum(self.n_combinations(which) for which in self.sets.sets)

    def n_combinations(self, which: Sequence[int]) -> int:
        """How many choices of a term of each of some categories there are."""
        return math.prod(self.space.attributes[i].n_values for i in which)

    @property
    def n_wanted(self) -> float:
        """Texts that keep the paper's error below the one asked for, whatever the shares are."""
        return side_size(self.settings)

    def steps(self) -> Iterator[str]:
        """Work; before each step its name."""
        for line, which in enumerate(self.sets.sets):
            block = Block.empty(self.space, which)
            seeds = self.space.seeds(which)
            most = _EXACT_RATIO * self.n_wanted
            every = self.space.templates(seeds, which, math.inf if len(seeds) <= most else most)
            yield from self._decided(block, every or self._drawn(seeds, which, line), "swapping terms of")
            self.scored.append(Scored(block, len(seeds), is_exact=every is not None))
        for line in self._to_rescore():
            old = self.scored[line]
            which = old.block.which
            fresh = Block.empty(self.space, which)
            drawn = self._drawn(self.space.seeds(which), which, line, _FRESH_STREAM)
            yield from self._decided(fresh, drawn, "scoring the highest again in other texts: terms of")
            self.scored[line] = Scored(fresh, old.n_texts, is_exact=False, is_fresh=True)

    def _drawn(self, seeds: IntArray, which: tuple[int, ...], line: int, *stream: int) -> Templates:
        """As many texts as are wanted, drawn without replacement."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(line, *stream)))
        drawn = np.sort(rng.choice(seeds, size=int(self.n_wanted), replace=False))
        found = self.space.templates(drawn, which)
        assert found is not None  # no limit was set
        return found

    def _decided(self, block: Block, templates: Templates, phase: str) -> Iterator[str]:
        """Decide texts with every combination, a batch at a time."""
        names = " and ".join(self.space.attributes[i].name for i in block.which)
        size = templates_at_once(block)
        for start in range(0, len(templates), size):
            yield f"{phase} {names}: {100 * start // len(templates)} %"
            decide_block(self.space, block, templates[start : start + size], self.decider)

    def _to_rescore(self) -> list[int]:
        """The sets of categories that hold one of the highest scores and were sampled."""
        scores = [each.block.score for each in self.scored]
        line = np.repeat(np.arange(len(scores)), [len(each) for each in scores])
        highest = np.argsort(-np.concatenate(scores), kind="stable")[: self.settings.n_rescored]
        return [i for i in np.unique(line[highest]).tolist() if not self.scored[i].is_exact]


def _notes(space: TextSpace, sets: CategorySets, settings: RuleSettings) -> list[str]:
    """What a reader should know: categories that few texts hold, and those of which few speak."""
    looked_at = {i for which in sets.sets for i in which}
    n_holding = space.holds.sum(axis=0).tolist()
    left_out = [
        f"'{attribute.name}' ({n_holding[i]:,})" for i, attribute in enumerate(space.attributes) if i not in looked_at
    ]
    few = [f"'{space.attributes[i].name}' ({n_holding[i]})" for i in sorted(looked_at) if n_holding[i] < _FEW_TEXTS]
    notes = []
    if left_out:
        notes.append(
            f"Fewer than {settings.support:.3g} of the {space.n_texts:,} texts hold a term of {', '.join(left_out)}, "
            "left out for that. Ask for a smaller support to see more."
        )
    if few:
        notes.append(
            f"Few texts hold a term of {', '.join(few)}: all of them were looked at, but a score speaks of these texts "
            "alone, and one text more may change it."
        )
    return notes


def _results(work: _Work, model: TextModel) -> Iterator[Event]:
    """Rule sets, their summary, and sentences for the highest."""
    space = work.space
    settings = work.settings
    found = ranked(space, work.scored, work.n_rule_sets, settings)
    result = RuleResult(space.attributes, space.n_texts, found.scored, found.cells)
    yield RulesScored(result.to_arrays(), result.to_json())
    yield ResultReady("rules", encode(_summary(work, result)))
    yield ResultReady("sentences", encode(find_pairs(space, found, model, work.decider)))


def _summary(work: _Work, result: RuleResult) -> RuleSummary:
    space = work.space
    sets = [
        CategorySet(
            [space.attributes[i].name for i in each.block.which],
            each.n_texts,
            each.block.n,
            len(each.block),
            each.is_exact,
        )
        for each in work.scored
    ]
    return RuleSummary(
        len(result.scored),
        space.n_texts,
        result.n_shown,
        result.n_by_size,
        max_attributes=work.sets.max_categories,
        n_neighbours=sum(each.n_texts * len(each.block) for each in work.scored),
        texts=TextCounts(space.n_texts, int(space.holds.any(axis=1).sum()), space.n_by_term, sets),
    )
