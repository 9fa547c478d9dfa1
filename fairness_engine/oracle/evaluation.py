"""The model's verdicts on people: their variants evaluated, compared and counted; no memory of who was tried.

Two classes are compared by margins, in the fast arithmetic; a margin within the model's rounding of 0 is decided by the
model's scores (``variants.settled_margins``). Several classes, or a score gap, are compared by scores.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.models.model import Model
from fairness_engine.oracle import kernels
from fairness_engine.oracle.domain import Domain
from fairness_engine.oracle.variants import PlainVariants, class_leads, settled_margins, settled_scores, widest_gap


class VariantEvaluator:
    """Evaluates variants of rows and decides whether they make a pair.

    Args:
        model, domain: what is assessed, and where.

    Attributes:
        evaluations: rows passed to the model so far.
        favourable_counts: favourable decisions of each variant ``(n_variants,)`` over all rows decided, two classes
            only; counted when ``counts_favourable`` is set.
    """

    def __init__(self, model: Model, domain: Domain) -> None:
        self.model = model
        self.domain = domain
        self.evaluations = 0
        self.favourable_counts = np.zeros(domain.n_variants, dtype=np.int64)
        self.counts_favourable = False
        self._plain = PlainVariants(domain)

    def decide(self, rows: FloatArray) -> tuple[BoolArray, IntArray, IntArray]:
        """Which rows are discriminatory, and the two variants that differ most."""
        return self.verdicts(self.values_of_all(rows))

    def values_of_all(self, rows: FloatArray) -> FloatArray:
        """``values`` of all variants; favourable decisions are counted, where that was asked for."""
        values = self.values(rows)
        if self.counts_favourable and not self._compares_scores:
            self.favourable_counts += self._count_favourable(values[:, :, 0] > 0)
        return values

    def plainest(
        self, rows: FloatArray, values: FloatArray, lowest: IntArray, highest: IntArray, *, is_measured: bool = False
    ) -> tuple[IntArray, IntArray]:
        """The two variants of discriminatory rows that make the plainest pair; costs no evaluation.

        Args:
            rows: ``(n_rows, n_columns)``, as they stand.
            values: of all their variants, as ``values`` or ``measure`` gave them ``(n_rows, n_variants, n_scores)``.
            lowest, highest: the two that differ most, to fall back on ``(n_rows,)``.
            is_measured: ``values`` come from ``measure``.
        """
        if self._compares_scores or (is_measured and not self.model.shares_variants):
            classes = self.model.decide(values.reshape(-1, values.shape[2])).reshape(values.shape[:2])
        else:
            classes = (values[:, :, 0] > 0).astype(np.int64)
        by_score = self.domain.scope.score_gap == 0 and self.model.is_binary
        return self._plain.choose(rows, values, classes, (lowest, highest), by_score=by_score)

    def disagree(self, rows: FloatArray, first: IntArray, second: IntArray) -> BoolArray:
        """Whether two variants of each row get different decisions ``(n_rows,)``."""
        n = len(rows)
        domain = self.domain
        self.evaluations += 2 * n
        both = np.concatenate([domain.with_variant(rows, first), domain.with_variant(rows, second)])
        if domain.scope.score_gap > 0 or not self.model.is_binary:
            return self.differ(self.model.scores(both).reshape(2, n, -1).transpose(1, 0, 2))
        margins = settled_margins(self.model, self.model.margins(both), lambda near: both[near])[:, 0]
        low = np.minimum(margins[:n], margins[n:])
        high = np.maximum(margins[:n], margins[n:])
        return np.asarray((high > 0) & (low <= 0))

    def measure(self, rows: FloatArray) -> tuple[FloatArray, BoolArray, IntArray, IntArray, FloatArray]:
        """Scores ``(n_rows, n_variants, n_scores)``, verdicts, the two variants that differ most, and what ``plainest``
        takes.
        """
        domain = self.domain
        model = self.model
        n_variants = domain.n_variants
        gap = domain.scope.score_gap
        self.evaluations += len(rows) * n_variants
        if gap == 0 and model.is_binary and model.shares_variants:
            margins = self._variant_margins(rows, domain.variant_values)
            values = margins.reshape(len(rows), n_variants, -1)
            scores = model.scores_of(margins).reshape(len(rows), n_variants, -1)
            return scores, *self.measured_verdicts(values), values
        scores = model.fast_scores(domain.variants(rows).reshape(-1, domain.n_columns)).reshape(
            len(rows), n_variants, -1
        )
        scores = settled_scores(
            model, scores, gap, lambda near: domain.variants(rows[near]).reshape(-1, domain.n_columns)
        )
        return scores, *self.measured_verdicts(scores), scores

    def measured_verdicts(self, values: FloatArray) -> tuple[BoolArray, IntArray, IntArray]:
        """As ``verdicts``, from the values that ``measure`` gave."""
        n_variants = values.shape[1]
        flat = values.reshape(-1, values.shape[2])
        gap = self.domain.scope.score_gap
        if gap == 0 and self.model.is_binary and self.model.shares_variants:
            flags, lowest, highest = kernels.extremes(flat[:, 0], n_variants)
            return flags, lowest, highest
        return widest_gap(self.model, flat, n_variants, gap)

    def noted(self, rows: FloatArray, first: IntArray, second: IntArray, scores: FloatArray) -> BoolArray:
        """Whether two variants of each row make a pair, from scores in the fast arithmetic ``(n_rows, 2, n_scores)``;
        costs nothing.
        """

        def both(near: IntArray) -> FloatArray:
            sides = [self.domain.with_variant(rows[near], variant[near]) for variant in (first, second)]
            return np.stack(sides, axis=1).reshape(-1, self.domain.n_columns)

        return self.differ(settled_scores(self.model, scores, self.domain.scope.score_gap, both))

    def differ(self, scores: FloatArray) -> BoolArray:
        """Whether scores of two people ``(n_rows, 2, n_scores)`` make a pair."""
        gap = self.domain.scope.score_gap
        if gap > 0:
            return np.asarray(np.abs(scores[:, 0] - scores[:, 1]).max(axis=1) > gap)
        return np.asarray(self.model.decide(scores[:, 0]) != self.model.decide(scores[:, 1]))

    def screened(self, rows: FloatArray, reach: float) -> FloatArray:
        """As ``values``; rows whose first variant leads by more than ``reach`` have NaN for the others, which are not
        paid.
        """
        first = self.values(rows, 0, 1)
        values = np.full((len(rows), self.domain.n_variants, first.shape[2]), np.nan)
        values[:, :1] = first
        decisions = first[:, 0].argmax(axis=1) if self._compares_scores else (first[:, 0, 0] > 0).astype(np.int64)
        near = class_leads(first[:, 0], decisions) <= reach
        values[near, 1:] = self.values(rows[near], 1)
        return values

    def in_turn(self, rows: FloatArray, variants: IntArray, classes: IntArray) -> tuple[FloatArray, BoolArray]:
        """Leads ``(n_rows, 2)`` of two variants, the second only where the first is decided as meant, and who was
        found.
        """
        leads = np.full((len(rows), 2), np.nan)
        found = np.zeros(len(rows), dtype=bool)
        if self.domain.scope.score_gap > 0:
            both = self._pick(rows, variants[:, 0]), self._pick(rows, variants[:, 1])
            excess = np.abs(both[0] - both[1]).max(axis=1) - self.domain.scope.score_gap
            return np.stack([excess, excess], axis=1), excess > 0
        leads[:, 0] = class_leads(self._pick(rows, variants[:, 0]), classes[:, 0])
        stays = np.flatnonzero(self._keeps(leads[:, 0], classes[:, 0]))
        second = self._pick(rows[stays], variants[stays, 1])
        leads[stays, 1] = class_leads(second, classes[stays, 1])
        if self._compares_scores:
            found[stays] = self.model.decide(second) != classes[stays, 0]
        else:
            found[stays] = self._keeps(leads[stays, 1], classes[stays, 1])
        return leads, found

    def values(self, rows: FloatArray, begin: int = 0, end: int | None = None) -> FloatArray:
        """Margins, or scores where verdicts need them, of some variants of each row ``(n_rows, n_variants, n_scores)``;
        paid.
        """
        domain = self.domain
        variant_values = self.domain.variant_values[begin:end]
        if not len(rows):  # models need not take an empty batch
            return np.empty((0, len(variant_values), self.model.predictor.n_scores))
        self.evaluations += len(rows) * len(variant_values)
        if self._compares_scores:
            variants = np.repeat(rows[:, None, :], len(variant_values), axis=1)
            variants[:, :, domain.protected] = variant_values
            values = self.model.scores(variants.reshape(-1, domain.n_columns))
        else:
            values = self._variant_margins(rows, variant_values)
        return values.reshape(len(rows), len(variant_values), self.model.predictor.n_scores)

    def _variant_margins(self, rows: FloatArray, variant_values: FloatArray) -> FloatArray:
        """Settled margins of some variants of each row ``(n_rows * n_variants, 1)``."""
        columns = self.domain.protected
        n_variants = len(variant_values)

        def people(near: IntArray) -> FloatArray:
            chosen = rows[near // n_variants]
            chosen[:, columns] = variant_values[near % n_variants]
            return chosen

        return settled_margins(self.model, self.model.variant_margins(rows, columns, variant_values), people)

    def _pick(self, rows: FloatArray, index: IntArray) -> FloatArray:
        """Margins, or scores where verdicts need them, of one variant of each row ``(n_rows, n_scores)``; paid."""
        if not len(rows):
            return np.empty((0, self.model.predictor.n_scores))
        self.evaluations += len(rows)
        people = self.domain.with_variant(rows, index)
        if self._compares_scores:
            return self.model.scores(people)
        return settled_margins(self.model, self.model.margins(people), lambda near: people[near])

    def verdicts(self, values: FloatArray) -> tuple[BoolArray, IntArray, IntArray]:
        """Which rows are discriminatory, and the two variants that differ most, from ``values``."""
        n_variants = values.shape[1]
        flat = values.reshape(-1, values.shape[2])
        if self._compares_scores:
            return widest_gap(self.model, flat, n_variants, self.domain.scope.score_gap)
        flags, lowest, highest = kernels.extremes(flat[:, 0], n_variants)
        return flags, lowest, highest

    def firmness(self, values: FloatArray) -> tuple[IntArray, FloatArray]:
        """Decisions of two variants of each row, and their leads, from ``values`` of these two ``(n_rows, 2,
        n_scores)``.
        """
        n = len(values)
        gap = self.domain.scope.score_gap
        flat = values.reshape(2 * n, values.shape[2])
        classes = self.model.decide(flat) if self._compares_scores else (flat[:, 0] > 0).astype(np.int64)
        if gap > 0:
            excess = np.abs(values[:, 0] - values[:, 1]).max(axis=1) - gap
            return classes.reshape(n, 2), np.stack([excess, excess], axis=1)
        return classes.reshape(n, 2), class_leads(flat, classes).reshape(n, 2)

    def _keeps(self, leads: FloatArray, classes: IntArray) -> BoolArray:
        """Whether a class with this lead is decided ``(n_rows,)``; class 0 of two also where the score is at the
        threshold.
        """
        if self._compares_scores:
            return np.asarray(leads > 0)
        return np.asarray((leads > 0) | ((classes == 0) & (leads >= 0)))

    @property
    def _compares_scores(self) -> bool:
        """Verdicts need scores, not margins: several classes, or a score gap."""
        return self.domain.scope.score_gap > 0 or not self.model.is_binary

    def _count_favourable(self, is_class_one: BoolArray) -> IntArray:
        counts: IntArray = is_class_one.sum(axis=0, dtype=np.int64)
        return counts if self.model.favourable == 1 else len(is_class_one) - counts
