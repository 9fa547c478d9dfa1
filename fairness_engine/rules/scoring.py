"""The samples of one run on a table, step by step: what is scored so far survives a step that is cut short."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairness_engine.errors import SearchStopped
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.pool import MAX_PASSES, pool_size, takes_everything
from fairness_engine.rules.samples import RowCounts, Sampler
from fairness_engine.rules.scored import Stage
from fairness_engine.rules.scores import Counts, count
from fairness_engine.rules.settings import RuleSettings
from fairness_engine.rules.space import RuleSpace
from fairness_engine.rules.top_up import top_up

_FIRST_LOOK = 1 / 20
"""An evaluation of everything begins with this part of it, drawn like a pool: what is known should it be cut short."""


class Scoring:
    """Scores rule sets by samples of the data's people.

    Args:
        space, rules: what is scored.
        sampler: asks the model.
        settings: the error, the least number of samples, how many are scored again.
        rng: the only source of chance.

    Attributes:
        samples: by row; of the pool, or of everything; ``None`` before any was decided.
        counts: of all rule sets, in the order of ``rules``; ``None`` like ``samples``.
        stage: what each rule set's samples are ``(n_rule_sets,)``.
        n_tested: for ``joint_intervals``, ``(n_rule_sets,)``: half of the chance of error is kept for scores made again; of that,
            half for the first pass, half of the rest for the second, and so on, even by rule sets.
        n_population: samples that there are in all.

    Reference: paper 001 (TestSGD), Algorithm 2. There each rule set has its own samples, drawn until the error is met; here a pool
    serves all of them, and its size is fixed before anything is decided, so that no score is stopped at a moment that suits it.
    """

    def __init__(
        self, space: RuleSpace, rules: IntArray, sampler: Sampler, settings: RuleSettings, rng: np.random.Generator
    ) -> None:
        self.space, self.settings, self._rules, self._sampler, self._rng = space, settings, rules, sampler, rng
        self._n_rescored = min(settings.n_rescored, len(rules))
        self._n_pool = pool_size(settings)
        self.n_population = space.n_rows * sampler.n_neighbours
        self.samples: RowCounts | None = None
        self.counts: Counts | None = None
        self.stage: IntArray = np.full(len(rules), Stage.POOL, dtype=np.int64)
        self.n_tested: FloatArray = np.full(len(rules), len(rules) * (2.0 if self._n_rescored else 1.0))

    @property
    def is_exact(self) -> bool:
        """Whether everything is evaluated: asked for, or no more than the pools would take."""
        return takes_everything(self.settings, self.n_population)

    def steps(self) -> Iterator[str]:
        """Work; before each step its name.

        Raises:
            SearchStopped: cancelled, or out of time; ``counts`` are those of the steps before, or of a part of the first pool.
        """
        yield "drawing samples for all groups at once"
        self._draw_pool()
        if self.is_exact:
            yield "evaluating every neighbour of every row"
            self.samples = self._sampler.enumerate()
            self.counts = count(self.space, self._rules, self.samples, is_whole=True)
            self.stage[:] = Stage.EXACT
            return
        yield "drawing more for rare groups"
        self._top_up_pool()
        for number in range(1, MAX_PASSES + 1):
            chosen = self._not_fresh()
            if not len(chosen):
                return
            yield "scoring the highest again on fresh samples"
            self._score_again(chosen, number)

    def _draw_pool(self) -> None:
        pool, n = RowCounts.none(self.space.n_rows), self._n_pool
        if self.is_exact:
            n = min(n, int(self.n_population * _FIRST_LOOK))
        try:
            self._sampler.draw(n, self._rng, into=pool)
        except SearchStopped:
            if not pool.drawn.any():
                raise
            self._take(pool)
            raise
        self._take(pool)

    def _take(self, samples: RowCounts) -> None:
        self.samples, self.counts = samples, count(self.space, self._rules, samples)

    def _top_up_pool(self) -> None:
        assert self.counts is not None
        self.counts, is_topped = self._topped_up(self._rules, self.counts)
        self.stage[is_topped] = Stage.TOPPED_UP

    def _not_fresh(self) -> IntArray:
        """Of the highest as many as are scored again, those that were not yet."""
        assert self.counts is not None
        highest = np.argsort(-self.counts.score, kind="stable")[: self._n_rescored]
        return np.asarray(highest[self.stage[highest] != Stage.FRESH])

    def _score_again(self, chosen: IntArray, number: int) -> None:
        assert self.counts is not None
        rules = self._rules[chosen]
        fresh, _ = self._topped_up(rules, count(self.space, rules, self._sampler.draw(self._n_pool, self._rng)))
        self.counts = self.counts.merged(chosen, fresh)
        self.stage[chosen] = Stage.FRESH
        self.n_tested[chosen] = 2.0 * 2.0**number * len(chosen)

    def _topped_up(self, rules: IntArray, counts: Counts) -> tuple[Counts, IntArray]:
        counts, is_topped = top_up(self.space, rules, counts, self._sampler, self.settings, self._rng)
        return counts, np.flatnonzero(is_topped)
