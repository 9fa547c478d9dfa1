"""The only door to the model: it counts rows, enforces budget and cancel, tests variants, and knows what was tried.

Techniques hand rows to ``probe`` and learn which are discriminatory. Duplicates never reach the model, every pair
is replayed before it counts, and the budget cannot be overspent, so no technique can cheat or be careless.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Batches, Clock
from fairness_engine.errors import SearchStopped, StopReason
from fairness_engine.models.model import Model
from fairness_engine.oracle import kernels
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.confirmation import CandidatePairs, PairConfirmer
from fairness_engine.oracle.domain import Domain, KeyArray
from fairness_engine.oracle.evaluation import VariantEvaluator
from fairness_engine.oracle.nearness import Nearness
from fairness_engine.oracle.tested import TestedPeople
from fairness_engine.oracle.tested_sample import Origins, TestedSample
from fairness_engine.oracle.variants import VariantMargins
from fairness_engine.oracle.visited import VisitedIndividuals, expected_individuals
from fairness_engine.pairs import Pairs

_FIRST_BATCH = 1 << 10
_MAX_BATCH = 1 << 15
"""Evaluations at once; larger batches only move more memory."""
_REPLAY_SECONDS = 0.2
_REPLAY_ROWS = 1 << 14
"""Candidates are replayed after so long, or when they are so many."""


@dataclass(frozen=True)
class Probe:
    """What ``Oracle.probe`` found.

    Args:
        is_discriminatory: two variants of the row get different decisions ``(n_rows,)``.
        fresh: positions of the rows whose individual was tested for the first time, here ``(n_new,)``.
    """

    is_discriminatory: BoolArray
    fresh: IntArray


@dataclass(frozen=True)
class VariantScores:
    """What ``Oracle.measure`` found: the scores that a gradient search is guided by.

    Args:
        scores: of every variant of every row ``(n_rows, n_variants, n_scores)``.
        decisions: classes of the same ``(n_rows, n_variants)``.
        is_discriminatory: two variants of the row get different decisions ``(n_rows,)``.
    """

    scores: FloatArray
    decisions: IntArray
    is_discriminatory: BoolArray


class Oracle:
    """One search's view of the model.

    Args:
        model: scores of rows.
        domain: the space and the variants.
        budget: when to stop; reaching it raises ``SearchStopped`` from ``probe``.
        clock: ends it, too; asked before every batch.
        nearness: says who could exist, where a pair must be of two people who could; ``None`` where anybody will do.
            Individuals who have no such pair are passed over by ``worth_testing``; of the others two variants who could
            exist must differ.

    Attributes:
        clock: of this search, with the budget's seconds.
        n_tried, n_found: individuals (unique non-protected parts) tested, and found discriminatory.
        n_partly: of those tried, how many were evaluated with some of their variants only, which agreed.
        n_behind: individuals of the last batch behind the last find that was wanted: tested, and not counted.
        n_rejected: pairs that the replay did not confirm; they are not counted as found.
    """

    def __init__(
        self,
        model: Model,
        domain: Domain,
        budget: Budget,
        clock: Clock = NO_LIMIT,
        nearness: Nearness | None = None,
    ) -> None:
        self.model = model
        self.domain = domain
        self.nearness = nearness
        self.budget = budget
        self.clock = clock.part(budget.max_seconds)
        self.n_tried = 0
        self.n_partly = 0
        self.n_found = 0
        self.n_rejected = 0
        self.n_behind = 0
        self._behind: KeyArray | None = None  # keys of those, where there are any
        self._spent_behind = 0
        self._is_again: BoolArray | None = None  # which of the batch at work were tried in part before
        self._tested = TestedSample(domain.n_columns)
        self._judge = VariantEvaluator(model, domain)
        self._replayer = PairConfirmer(model, domain)
        self._replayed = self.clock.now()
        self._pending: list[Pairs] = []
        self._batches = Batches(self.clock, _FIRST_BATCH, _MAX_BATCH * model.breadth)
        self._began = 0  # evaluations before the batch at work
        self._known = VisitedIndividuals(expected_individuals(budget, domain))

    @property
    def evaluations(self) -> int:
        """Rows passed to the model so far; the replay of found pairs is the oracle's own and not counted."""
        return self._judge.evaluations - self._spent_behind

    def count_favourable(self) -> None:
        """Count, from now on, the favourable decisions of each variant; for two classes, without a score gap."""
        self._judge.counts_favourable = True

    @property
    def favourable_counts(self) -> IntArray:
        """Favourable decisions of each variant ``(n_variants,)`` over all rows tested since ``count_favourable``."""
        return self._judge.favourable_counts

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return self.clock.seconds

    @property
    def is_exhausted(self) -> bool:
        """True when every individual of the domain was tested with all variants, or found."""
        return self.n_tried - self.n_partly >= self.domain.n_individuals

    def take_found(self) -> Pairs:
        """The pairs found since the last call, in the order of discovery."""
        self._replay()
        pairs = Pairs.concatenate(self._pending, self.domain.n_columns)
        self._pending = []
        return pairs

    def name_step(self, phase: str) -> None:
        """What the technique calls the step in which the latest people were tested."""
        self._tested.name(phase)

    def sample(self) -> TestedPeople:
        """Some of those tested so far, each pair confirmed that ``take_found`` gave."""
        return self._tested.people(self.evaluations, self.n_tried, self.n_found)

    def show(self, shown: object) -> None:
        """A technique tells what it goes by: for whoever watches (``search.recording``), here for nobody."""

    # --- who could exist ------------------------------------------------------------------

    def worth_testing(self, rows: FloatArray) -> BoolArray:
        """Which individuals ``(n_rows, n_columns)`` have two variants who could exist ``(n_rows,)``; all, where nobody
        asked.
        """
        if self.nearness is None:
            return np.ones(len(rows), dtype=bool)
        return np.asarray(self.nearness.plausible_variants(rows).sum(axis=1) >= 2)

    def worth_comparing(self, rows: FloatArray, first: IntArray, second: IntArray) -> BoolArray:
        """Of which individuals two given variants could exist ``(n_rows,)``; of all, where nobody asked."""
        if self.nearness is None:
            return np.ones(len(rows), dtype=bool)
        return np.asarray(self.nearness.plausible_variants(rows, np.stack([first, second], axis=1)).all(axis=1))

    def _among_plausible(self, rows: FloatArray, values: FloatArray) -> tuple[FloatArray, IntArray | None]:
        """``values`` of all variants with those who could not exist told as another's who could, so that they make no
        pair of their own; and by which variant each is told ``(n_rows, n_variants)``, ``None`` where nobody asked.
        """
        if self.nearness is None or not len(rows):
            return values, None
        could = self.nearness.plausible_variants(rows)
        stands_for = np.where(could, np.arange(could.shape[1]), could.argmax(axis=1)[:, None])
        return np.take_along_axis(values, stands_for[:, :, None], axis=1), stands_for

    # --- testing rows ---------------------------------------------------------------------

    def probe(self, rows: FloatArray) -> Probe:
        """Test rows for discrimination; rows whose individual is known cost nothing.

        Args:
            rows: rows in the domain, ``(n_rows, n_columns)``; the protected values they hold do not matter.

        Raises:
            SearchStopped: the budget is spent or the search was cancelled. What fitted in was tested and kept.
        """
        self._check_limits()
        return self._probe(self.domain.keys(rows), lambda chosen: rows[chosen])

    def probe_moves(self, rows: FloatArray, columns: IntArray, values: FloatArray) -> Probe:
        """``probe`` of the rows with one column changed each; known individuals are recognised without copying a row.

        Args:
            rows: where the walkers stand, ``(n_rows, n_columns)``.
            columns, values: which column moves, and to what ``(n_rows,)``; inside the domain.

        Raises:
            SearchStopped: as ``probe``.
        """
        self._check_limits()

        def moved(chosen: IntArray) -> FloatArray:
            out = rows[chosen]
            out[np.arange(len(chosen)), columns[chosen]] = values[chosen]
            return out

        return self._probe(self.domain.moved_keys(rows, columns, values), moved, lambda at: rows[at])

    def probe_pairs(self, rows: FloatArray, first: IntArray, second: IntArray, origins: Origins | None = None) -> Probe:
        """Test rows with two of their variants only: two evaluations a row, whatever the number of variants.

        An individual that is known, also in part, costs nothing. One whose two variants agree counts as tried, and
        stays open for ``probe`` and ``measure``.

        Args:
            rows: ``(n_rows, n_columns)``; the protected values they hold do not matter.
            first, second: indices of the two variants ``(n_rows,)``.
            origins: where the rows moved from, for who watches.

        Raises:
            SearchStopped: as ``probe``.
        """
        self._check_limits()
        slots, fresh, _ = self._known.look_up(self.domain.keys(rows), takes_partly=False)
        for batch in self._affordable(len(fresh), 2):
            chosen = fresh[batch]
            part = rows[chosen]
            one = first[chosen]
            two = second[chosen]
            disagree = self._judge.disagree(part, one, two)
            self._known.states[slots[chosen]] = self._settle_pairs(
                part, one, two, disagree, 2, _of_chosen(origins, chosen)
            )
        return Probe(self._known.states[slots] == 1, fresh)

    def probe_widest(self, rows: FloatArray, reach: float = math.inf) -> VariantMargins:
        """As ``probe``, and of the individuals found here also which two variants differ most, and how firmly.

        Args:
            rows: ``(n_rows, n_columns)``; the protected values they hold do not matter.
            reach: an individual whose first variant's decision leads by more than this is passed over after that one
                evaluation: tried in part. Infinite: everybody is tested in full. With a score gap it says nothing and
                is not used.

        Raises:
            SearchStopped: as ``probe``.
        """
        self._check_limits()
        screens = math.isfinite(reach) and self.domain.scope.score_gap == 0
        slots, fresh, n_new = self._known.look_up(self.domain.keys(rows), takes_partly=not screens)
        variants = np.zeros((len(rows), 2), np.int64)
        classes = np.zeros((len(rows), 2), np.int64)
        leads = np.full((len(rows), 2), np.nan)
        for batch in self._affordable(len(fresh), self.domain.n_variants):
            chosen = fresh[batch]
            self._count_tried(slots[chosen], len(fresh) > n_new)
            values = self._judge.screened(rows[chosen], reach) if screens else self._judge.values(rows[chosen])
            is_far = np.isnan(values[:, -1, 0])
            values, stands_for = self._among_plausible(rows[chosen], values)
            verdicts, lowest, highest = self._judge.verdicts(values)
            verdicts &= ~is_far
            self.n_partly += int(is_far.sum())
            self._known.states[slots[chosen]] = np.where(is_far, kernels.PARTLY, verdicts)
            costs = np.where(is_far, 1, self.domain.n_variants)
            self._keep_candidates(rows[chosen], verdicts, lowest, highest, costs, values, stands_for=stands_for)
            found = chosen[verdicts]
            widest = np.stack([lowest, highest], axis=1)[verdicts]
            variants[found] = _standing_for(widest, stands_for, verdicts)
            classes[found], leads[found] = self._judge.firmness(values[np.flatnonzero(verdicts)[:, None], widest])
        return VariantMargins(self._known.states[slots] == 1, fresh, variants, classes, leads)

    def probe_alike(
        self, rows: FloatArray, variants: IntArray, classes: IntArray, origins: Origins | None = None
    ) -> VariantMargins:
        """Test whether two variants of each row get two given decisions: one or two evaluations a row.

        The second variant is evaluated only where the first gets the decision meant, so name first the one likelier to
        differ. Known individuals, also in part, cost nothing. One that is not found counts as tried; it stays open for
        ``probe`` and ``measure`` unless all its variants were evaluated.

        Args:
            rows: ``(n_rows, n_columns)``; the protected values they hold do not matter.
            variants: indices of the two variants ``(n_rows, 2)``.
            classes: the decisions meant ``(n_rows, 2)``, two different ones.
            origins: where the rows moved from, for who watches.

        Raises:
            SearchStopped: as ``probe``.
        """
        self._check_limits()
        slots, fresh, _ = self._known.look_up(self.domain.keys(rows), takes_partly=False)
        leads = np.full((len(rows), 2), np.nan)
        for batch in self._affordable(len(fresh), 2):
            chosen = fresh[batch]
            part = rows[chosen]
            pair = variants[chosen]
            leads[chosen], found = self._judge.in_turn(part, pair, classes[chosen])
            is_partly = np.isnan(leads[chosen, 1]) if self.domain.n_variants == 2 else ~found
            self.n_tried += len(chosen)
            self.n_partly += int(is_partly.sum())
            self._known.states[slots[chosen]] = np.where(is_partly, kernels.PARTLY, found)
            costs = np.where(np.isnan(leads[chosen, 1]), 1, 2)
            came_from = _of_chosen(origins, chosen)
            self._keep_candidates(part, found, pair[:, 0], pair[:, 1], costs, origins=came_from)
        return VariantMargins(self._known.states[slots] == 1, fresh, variants, classes, leads)

    @property
    def known(self) -> tuple[KeyArray, NDArray[np.int8]]:
        """The table of known individuals and its states, to be read by compiled loops before each call; not to be
        changed.
        """
        return self._known.table, self._known.states

    def note_pairs(self, rows: FloatArray, first: IntArray, second: IntArray, scores: FloatArray) -> Probe:
        """Learn from evaluations that were made for another reason: two variants of each row, already paid for.

        Args:
            rows, first, second: as ``probe_pairs``.
            scores: of the two variants, as ``scores`` gave them ``(n_rows, 2, n_scores)``.
        """
        slots, fresh, _ = self._known.look_up(self.domain.keys(rows), takes_partly=False)
        part = rows[fresh]
        one = first[fresh]
        two = second[fresh]
        disagree = self._judge.noted(part, one, two, scores[fresh])
        self._known.states[slots[fresh]] = self._settle_pairs(part, one, two, disagree, 0)
        self._check_found()
        return Probe(self._known.states[slots] == 1, fresh)

    def measure(self, rows: FloatArray, origins: Origins | None = None) -> VariantScores:
        """Scores of all variants of every row, known or not: each is paid. Individuals not known before are tested.

        Args:
            rows: rows in the domain ``(n_rows, n_columns)``; the protected values they hold do not matter.
            origins: where the rows moved from, for who watches.

        Raises:
            SearchStopped: as ``probe``.
        """
        self._check_limits()
        slots, fresh, n_new = self._known.look_up(self.domain.keys(rows), takes_partly=True)
        is_fresh = np.zeros(len(rows), dtype=bool)
        is_fresh[fresh] = True
        n_variants = self.domain.n_variants
        scores = np.empty((len(rows), n_variants, self.model.predictor.n_scores))
        verdicts = np.empty(len(rows), dtype=bool)
        for part in self._affordable(len(rows), n_variants):
            scores[part], flags, lowest, highest, values = self._judge.measure(rows[part])
            values, stands_for = self._among_plausible(rows[part], values)
            if stands_for is not None:
                flags, lowest, highest = self._judge.measured_verdicts(values)
            verdicts[part] = flags
            is_new = is_fresh[part]
            chosen = slots[part][is_new]
            self._count_tried(chosen, len(fresh) > n_new)
            self._known.states[chosen] = verdicts[part][is_new]
            came_from = _of_chosen(origins, np.arange(part.start, part.stop))
            measured = (rows[part], flags, lowest, highest, n_variants, values)
            self._keep_candidates(
                *measured, is_measured=True, stands_for=stands_for, is_tested=is_new, origins=came_from
            )
        decisions = self.model.decide(scores.reshape(-1, scores.shape[2])).reshape(len(rows), n_variants)
        return VariantScores(scores, decisions, verdicts)

    def scores(self, rows: FloatArray) -> FloatArray:
        """Scores ``(n_rows, n_scores)`` of rows as they are, one evaluation each; nobody is tested.

        Raises:
            SearchStopped: as ``probe``; the rows that were evaluated are paid for.
        """
        return self._by_block(len(rows), 1, lambda part: self.model.fast_scores(rows[part]))

    def nearby_scores(self, rows: FloatArray, columns: IntArray, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores of rows and of each with one column moved: ``1 + n_moves`` evaluations a row; nobody is tested.

        Args:
            rows: ``(n_rows, n_columns)``.
            columns: which columns move ``(n_moves,)``.
            steps: by how much ``(n_rows, n_moves)``; the moved rows must lie in the domain.

        Returns:
            ``(n_rows, n_scores)`` and ``(n_rows, n_moves, n_scores)``.

        Raises:
            SearchStopped: as ``probe``.
        """

        def evaluate(part: slice) -> FloatArray:
            own, moved = self.model.nearby_scores(rows[part], columns, steps[part])
            return np.concatenate([own[:, None, :], moved], axis=1)

        scores = self._by_block(len(rows), len(columns) + 1, evaluate)
        return scores[:, 0], scores[:, 1:]

    def gradients(self, rows: FloatArray, classes: IntArray | None = None) -> FloatArray:
        """True derivatives of a score by the columns ``(n_rows, n_columns)``; a row counts as one evaluation.

        Args:
            rows: ``(n_rows, n_columns)``.
            classes: for more than two classes, whose score, by row ``(n_rows,)``.

        Raises:
            ModelError: the model has no gradient.
            SearchStopped: as ``probe``.
        """
        chosen = classes if classes is not None else np.ones(len(rows), dtype=np.int64)
        return self._by_block(len(rows), 1, lambda part: self.model.gradients(rows[part], chosen[part]))

    def _by_block(self, n_rows: int, cost: int, evaluate: Callable[[slice], FloatArray]) -> FloatArray:
        """What ``evaluate`` gives for all rows, ``cost`` evaluations each, in batches that can be afforded."""
        self._check_limits()
        parts = []
        for part in self._affordable(n_rows, cost):
            self._judge.evaluations += (part.stop - part.start) * cost
            parts.append(evaluate(part))
        return np.concatenate(parts) if parts else evaluate(slice(0, 0))

    def _probe(self, keys: KeyArray, take: Callable[[IntArray], FloatArray], origins: Origins | None = None) -> Probe:
        """Test the individuals that are not known yet; ``take`` gives the rows of some positions."""
        slots, fresh, n_new = self._known.look_up(keys, takes_partly=True)
        for batch in self._affordable(len(fresh), self.domain.n_variants):
            chosen = fresh[batch]
            self._count_tried(slots[chosen], len(fresh) > n_new)
            self._known.states[slots[chosen]] = self._test(take(chosen), _of_chosen(origins, chosen))
        return Probe(self._known.states[slots] == 1, fresh)

    def test(self, rows: FloatArray) -> BoolArray:
        """Test independent draws ``(n_rows, n_columns)``: every row is paid, a row drawn twice counts twice.

        For estimates, where removing duplicates would bias the share. No pairs are kept.
        """
        verdicts = np.empty(len(rows), dtype=bool)
        for part in self._affordable(len(rows), self.domain.n_variants):
            verdicts[part], _, _ = self._judge.decide(rows[part])
        self.n_tried += len(rows)
        self.n_found += int(verdicts.sum())
        return verdicts

    def n_tested_of(self, rows: FloatArray) -> int:
        """How many of these rows, from the first on, are of individuals that were tested with all variants, or found:
        up to the first that is not, for of those behind it only twins were; costs nothing.
        """
        keys = self.domain.keys(rows)
        slots, _, _ = self._known.look_up(keys, takes_partly=False)
        is_tested = np.isin(self._known.states[slots], (0, 1))
        if self._behind is not None:
            is_tested &= ~np.isin(keys, self._behind)
        return int(np.logical_and.accumulate(is_tested).sum())

    def _affordable(self, n_rows: int, cost: int) -> Iterator[slice]:
        """The batches in which rows go to the model, as far as the budget allows.

        Args:
            n_rows: how many are waiting.
            cost: evaluations of one row.

        Raises:
            SearchStopped: before a batch that may not be tested any more.
        """
        begin = 0
        while begin < n_rows:
            self._check_limits()
            end = min(begin + self._batches.size(cost), n_rows)
            if self.budget.max_evaluations is not None:
                affordable = (self.budget.max_evaluations - self.evaluations) // cost
                if affordable <= 0:
                    raise SearchStopped(StopReason.EVALUATIONS)
                end = min(end, begin + affordable)
            started = self.clock.now()
            self._began = self.evaluations
            yield slice(begin, end)
            self._began = self.evaluations
            now = self.clock.now()
            self._batches.learn((end - begin) * cost, now - started)
            begin = end
            if self._replayer.n_waiting > _REPLAY_ROWS or now - self._replayed > _REPLAY_SECONDS:
                self._replay()  # a slow model must not be left with a heap of them when it is cancelled
        self._check_found()

    def _check_limits(self) -> None:
        self.clock.check()
        self._check_found()

    def _check_found(self) -> None:
        if self.budget.max_found is not None and self.n_found >= self.budget.max_found:
            raise SearchStopped(StopReason.FOUND)

    def _count_tried(self, slots: IntArray, has_known: bool) -> None:
        """Count individuals that are about to be tested; ``has_known``: some may have been tried in part before."""
        self._is_again = self._known.states[slots] == kernels.PENDING_AGAIN if has_known else None
        n_again = int(self._is_again.sum()) if self._is_again is not None else 0
        self.n_tried += len(slots) - n_again
        self.n_partly -= n_again

    def _test(self, rows: FloatArray, origins: Origins | None) -> NDArray[np.int8]:
        """Verdicts (0 or 1) of rows that were not tested before; what was found waits for its replay."""
        values, stands_for = self._among_plausible(rows, self._judge.values_of_all(rows))
        is_discriminatory, lowest, highest = self._judge.verdicts(values)
        verdicts = (is_discriminatory, lowest, highest, self.domain.n_variants, values)
        self._keep_candidates(rows, *verdicts, stands_for=stands_for, origins=origins)
        return is_discriminatory.astype(np.int8)

    def _settle_pairs(
        self,
        rows: FloatArray,
        first: IntArray,
        second: IntArray,
        disagree: BoolArray,
        cost: int,
        origins: Origins | None = None,
    ) -> NDArray[np.int8]:
        """States of individuals tried with two variants for the first time, for so many evaluations each; those that
        disagree are found.
        """
        agreed = kernels.PARTLY if self.domain.n_variants > 2 else np.int8(0)
        self.n_tried += len(rows)
        if agreed == kernels.PARTLY:
            self.n_partly += len(rows) - int(disagree.sum())
        self._keep_candidates(rows, disagree, first, second, cost, origins=origins)
        return np.where(disagree, np.int8(1), agreed)

    def _keep_candidates(
        self,
        rows: FloatArray,
        is_found: BoolArray,
        lowest: IntArray,
        highest: IntArray,
        costs: int | IntArray,
        values: FloatArray | None = None,
        *,
        is_measured: bool = False,
        stands_for: IntArray | None = None,
        is_tested: BoolArray | None = None,
        origins: Origins | None = None,
    ) -> None:
        """Sample who was tested, and let what was found wait for its replay, in its plainest form; each with the
        evaluations up to its own row, as if rows came one by one.

        Args:
            lowest, highest: variants that differ, of each row.
            costs: evaluations of every row of the batch at work, or of each ``(n_rows,)``.
            values: of all variants, from which the plainest pair is chosen; without them, it is looked for at the
                replay.
            is_measured: they come from ``VariantEvaluator.measure``.
            stands_for: see ``_among_plausible``.
            is_tested: which rows are tested here for the first time; all, where it is not said.
            origins: where the rows moved from.
        """
        found = np.flatnonzero(is_found if is_tested is None else is_found & is_tested)
        if is_tested is None:
            self._tested.add(rows, is_found, found, origins)
        else:
            new = np.flatnonzero(is_tested)
            at = np.searchsorted(new, found)
            self._tested.add(rows[new], is_found[new], at, _of_chosen(origins, new))
        if len(found):
            self.n_found += len(found)
            spent = self._began + ((found + 1) * costs if isinstance(costs, int) else np.cumsum(costs)[found])
            held = rows[found]
            wide = (lowest[found], highest[found])
            if values is None:
                # where both must be people who could exist, the two that were told to are the pair
                self._replayer.add(CandidatePairs(held, *wide, spent, None if self.nearness is None else wide))
            else:
                plain = self._judge.plainest(held, values[found], *wide, is_measured=is_measured)
                both = np.stack([*plain, *wide], axis=1)
                one, two, low, high = _standing_for(both, stands_for, found).T
                self._replayer.add(CandidatePairs(held, one, two, spent, (low, high)))
            if self.budget.max_found is not None:
                self._replay()
                if self.n_found >= self.budget.max_found:
                    per_row = np.full(len(rows), costs) if isinstance(costs, int) else costs
                    self._leave_behind(rows, self._began + np.cumsum(per_row), is_tested)
        self._is_again = None  # it is of this batch alone

    def _leave_behind(self, rows: FloatArray, spent: IntArray, is_tested: BoolArray | None) -> None:
        """Of the batch with the last find that is wanted, what comes behind that counts for nothing: as if rows came
        one by one. Else the more were tested at once, the fewer of them would seem to be found.

        Args:
            rows, spent: of the batch, and the evaluations up to each ``(n_rows,)``.
            is_tested: see ``_keep_candidates``.
        """
        last = int(self._pending[-1].evaluation[-1])
        is_behind = spent > last
        is_new = np.ones(len(rows), dtype=bool) if is_tested is None else is_tested.copy()
        if self._is_again is not None:
            is_new[np.flatnonzero(is_new)] = ~self._is_again
        behind = self.domain.keys(rows[is_behind & is_new])
        self._behind = behind
        self.n_behind = len(behind)
        self.n_tried -= self.n_behind
        self._spent_behind = max(0, self._judge.evaluations - last)
        self._tested.drop(lambda kept: np.isin(self.domain.keys(kept), behind), len(behind))

    def _replay(self) -> None:
        """Have the candidates replayed, and keep what held for ``take_found``, no more than the budget wants."""
        self._replayed = self.clock.now()
        n_candidates = self._replayer.n_waiting
        candidates = self._replayer.waiting
        pairs = self._replayer.replay()
        self.n_rejected += n_candidates - len(pairs)
        self.n_found -= n_candidates
        if self.budget.max_found is not None:
            pairs = pairs[: self.budget.max_found - self.n_found]
        self.n_found += len(pairs)
        if len(pairs):
            self._pending.append(pairs)
        if len(pairs) < n_candidates:
            self._forget_unconfirmed(candidates, pairs)

    def _forget_unconfirmed(self, candidates: list[CandidatePairs], pairs: Pairs) -> None:
        """Leave those out of the sample that are not counted as found."""
        keys = np.concatenate([self.domain.keys(batch.rows) for batch in candidates])
        uncounted = np.setdiff1d(keys, self.domain.keys(pairs.first))
        self._tested.drop_found(lambda rows: np.isin(self.domain.keys(rows), uncounted))


def _of_chosen(origins: Origins | None, chosen: IntArray) -> Origins | None:
    """The origins of some rows."""
    return None if origins is None else lambda at: origins(chosen[at])


def _standing_for(variants: IntArray, stands_for: IntArray | None, of: BoolArray | IntArray) -> IntArray:
    """The variants who are meant by some ``(n, m)`` of the rows ``of``; see ``Oracle._among_plausible``."""
    return variants if stands_for is None else np.take_along_axis(stands_for[of], variants, axis=1)
