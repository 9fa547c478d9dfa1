"""Classical group figures of decisions: selection rates, impact ratios and equalised odds, by group and by
intersection.

Grouping figures are ``fairlearn.metrics``; the intervals are ours. Importing fairlearn brings scikit-learn: only the
model's own process does. Rows count as independent draws from the people that the data stands for; that is what every
interval is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.data.dataset import Dataset
from fairness_engine.errors import SettingError
from fairness_engine.groups.figures.report import (
    LEAST_SHARE,
    MAX_GROUPS,
    Bounded,
    FigureSettings,
    GroupRates,
    GroupReport,
    GroupTable,
    Rate,
)
from fairness_engine.groups.rule_sets.attributes import make_attribute, value_codes
from fairness_engine.groups.rule_sets.membership import lie_within
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.intervals import clopper_pearson, share_interval
from fairness_engine.oracle.cohorts import members
from fairness_engine.oracle.domain import Ranges, Scope
from fairness_engine.telling.rules import Rule


def impact_ratios(share: FloatArray, low: FloatArray, high: FloatArray, is_compared: BoolArray) -> list[Bounded | None]:
    """Selection rates of groups by that of the most favoured group compared.

    Which group is the most favoured is itself uncertain. If all shares lie in their intervals, the largest of the
    *other* groups compared lies between the largest lower and the largest upper end, so these bound the ratio, whoever
    it is. The ends hold jointly when those of the shares do, with nothing assumed of how large the groups are.

    Args:
        share, low, high: selection rate of each group with an interval ``(n_groups,)`` each, 0 to 1.
        is_compared: which groups are a measure for others ``(n_groups,)``.

    Returns:
        One a group, at most 1; ``None`` where there is no other group, or none in which anybody is favoured.
    """
    best = share[is_compared].max(initial=0.0)
    out: list[Bounded | None] = []
    for i in range(len(share)):
        others = is_compared.copy()
        others[i] = False
        if best == 0 or not others.any():
            out.append(None)
            continue
        least = low[others].max()
        most = high[others].max()
        ends = (min(1.0, low[i] / most), min(1.0, high[i] / least) if least > 0 else 1.0)
        out.append(between(min(1.0, share[i] / best), *ends))
    return out


def odds_ends(hits: FloatArray, n: FloatArray, alpha: float) -> tuple[float, float]:
    """Ends of the equalised odds difference, wrong with probability ``alpha`` at most, whichever groups are the
    furthest apart.

    Args:
        hits, n: rows decided for the person, and rows, by group and by whether the label is favourable ``(n_groups,
            2)``.
        alpha: 0 to 1.
    """
    low, high = (ends.reshape(n.shape) for ends in clopper_pearson(hits.ravel(), n.ravel(), alpha / n.size))
    least = low.max(axis=0) - high.min(axis=0)
    most = high.max(axis=0) - low.min(axis=0)
    return max(0.0, float(least.max())), float(most.max())


def between(value: float, low: float, high: float) -> Bounded:
    """A figure with its ends, which rounding in the last place must not put on the wrong side of it."""
    value = float(value)
    return Bounded(value, min(float(low), value), min(1.0, max(float(high), value)))


CONFIDENCE = 0.95
"""Of all impact ratios of a report together; and of all its equalised odds together."""


@dataclass(frozen=True)
class GroupDecisions:
    """What was decided on the rows of a data set.

    Args:
        favourable: whether for the person ``(n_rows,)``.
        actual: whether the label is the favourable outcome ``(n_rows,)``; ``None`` without labels, or when they are
            what decides.
        is_known: whether there is a decision ``(n_rows,)``.
        column: that decides; empty for a model.
        scores: for the favourable outcome ``(n_rows,)``; ``None`` where nobody asked, or nothing has scores.
    """

    favourable: BoolArray
    actual: BoolArray | None
    is_known: BoolArray
    column: str = ""
    scores: FloatArray | None = None


def group_figures(
    dataset: Dataset, scope: Scope | None, decided: GroupDecisions, settings: FigureSettings
) -> GroupReport:
    """The figures of every group of every choice of attributes.

    Args:
        dataset: whose rows are counted, those inside the scope's limits and in the group asked for. A row may miss
            cells (NaN): it is in no group of an attribute that it misses.
        scope: gives the limits; a number's ranges are cut between them.
        decided: on the dataset's rows.
        settings: attributes, how numbers are cut, and the group whose rows alone are counted.

    Raises:
        SettingError: no row is left, or an intersection has too many groups to read.
        SchemaError: an attribute is no input, or a rule cannot be of these columns.

    Reference: impact ratio and the four-fifths convention: 29 CFR 1607.4 D; equalised odds: Hardt, Price and Srebro
        (2016).
    """
    is_inside = members(dataset.schema, settings.within, dataset.rows)
    chosen = np.flatnonzero(decided.is_known & rows_within(dataset, scope) & is_inside)
    if not len(chosen) and settings.within:
        raise SettingError(
            "Figures of a group need a row of the data that is in it, lies in the ranges of the scope and has a "
            "decision, got none. Choose another group."
        )
    if not len(chosen):
        raise SettingError(
            "Group figures need a row of the data that lies in the ranges of the scope and has a decision, got none. "
            "Widen the limits."
        )
    actual = None if decided.actual is None else decided.actual[chosen]
    cutter = Cutter(dataset, scope, settings.cuts, chosen, settings.within)
    median, is_above = _above_median(None if decided.scores is None else decided.scores[chosen])
    outcomes = Outcomes(decided.favourable[chosen], actual, is_above)
    alpha = (1 - CONFIDENCE) / len(settings.attribute_sets)
    tables = tuple(_table(cutter, names, outcomes, alpha) for names in settings.attribute_sets)
    n_incomplete = int(np.isnan(dataset.rows[chosen]).any(axis=1).sum())
    return GroupReport(tables, len(chosen), len(dataset.rows) - len(chosen), decided.column, n_incomplete, median)


def with_least_share(report: GroupReport, least_share: float) -> GroupReport:
    """The same figures where groups are compared from another share of the rows on; their counts are what they were.

    Args:
        report: as a run left it, compared from ``LEAST_SHARE`` on.
        least_share: of the rows of a table, 0 to 1.

    Returns:
        A report without differences and ratios of whole tables, which are of the groups that the run compared.
    """
    if least_share == LEAST_SHARE:
        return report
    alpha = (1 - CONFIDENCE) / len(report.tables)
    return replace(report, tables=tuple(_compared_anew(table, least_share, alpha) for table in report.tables))


def _compared_anew(table: GroupTable, least_share: float, alpha: float) -> GroupTable:
    hits, n = np.array([(group.selection.n_hits, group.n_rows) for group in table.groups], dtype=np.float64).T
    is_compared = (n >= least_share * n.sum()) & (n > 0)
    low, high = clopper_pearson(hits, n, alpha / len(n))
    impacts = impact_ratios(hits / np.maximum(n, 1), low, high, is_compared)
    groups = tuple(
        replace(group, is_compared=bool(is_one), impact=impact)
        for group, is_one, impact in zip(table.groups, is_compared, impacts, strict=True)
    )
    return replace(table, groups=groups, parity_difference=None, parity_ratio=None, odds_difference=None)


@dataclass(frozen=True)
class Outcomes:
    """What became of the rows counted ``(n_rows,)`` each: decided for the person, label favourable, score above the
    median; ``None`` where that is not known."""

    favourable: BoolArray
    actual: BoolArray | None
    is_above: BoolArray | None

    def of(self, rows: BoolArray) -> Outcomes:
        """Of some of the rows."""
        parts = [None if each is None else each[rows] for each in (self.actual, self.is_above)]
        return Outcomes(self.favourable[rows], *parts)


def _above_median(scores: FloatArray | None) -> tuple[float | None, BoolArray | None]:
    """The median of scores, and which are above it; nothing where they are two values or fewer, which no median
    parts."""
    if scores is None or len(np.unique(scores)) <= 2:
        return None, None
    median = float(np.median(scores))
    return median, scores > median


def rows_within(dataset: Dataset, scope: Scope | None) -> BoolArray:
    """Which rows lie inside the limits of a scope ``(n_rows,)``, as for rule sets; a missing cell where there is no
    limit.
    """
    if scope is None:
        return np.ones(len(dataset.rows), dtype=bool)
    ranges = Ranges(dataset.schema, scope)
    return lie_within(ranges, ranges.filled(dataset.rows))


class Cutter:
    """Cuts attributes into the values that rule sets have, once each.

    Args:
        dataset: whose rows.
        scope: gives the limits between which numbers are cut.
        cuts: how.
        chosen: positions of the rows that count ``(n_rows,)``.
        within: the group that they are in, as ``members`` takes it.
    """

    def __init__(
        self, dataset: Dataset, scope: Scope | None, cuts: RuleSettings, chosen: IntArray, within: Sequence[Rule] = ()
    ) -> None:
        self._dataset = dataset
        self._cuts = cuts
        self._chosen = chosen
        self._limits = dict(scope.limits) if scope else {}
        self._known: dict[str, tuple[IntArray, tuple[str, ...]]] = {}
        is_missing = np.isnan(dataset.rows)
        is_narrowed = bool(self._limits or within) or bool(is_missing.any())
        self._misses = _missing_in(dataset, scope, within, is_missing[chosen])
        self._n_of_file = {} if is_narrowed else dataset.n_unknown

    def n_unknown(self, names: Sequence[str]) -> int:
        """Rows of which one of these cells is not known: of the file; or where rows that miss cells count, or lie in
        limits and group, of these. Of several columns in a file it is no more than what is certain, since rows without
        a label are known by column only.
        """
        places = [self._dataset.schema.index(name) for name in names]
        n_there = int(self._misses[:, places].any(axis=1).sum())
        return max(n_there, *(int(self._n_of_file.get(name, 0)) for name in names))

    def __call__(self, name: str) -> tuple[IntArray, tuple[str, ...]]:
        """The value of each row, -1 where it is missing ``(n_rows,)``, and the labels of all values."""
        if name not in self._known:
            schema = self._dataset.schema
            limits = self._limits.get(name)
            column = schema.column(name)
            values = self._dataset.rows[self._chosen, schema.index(name)]
            attribute = make_attribute(column, limits, self._cuts)
            codes = np.full(len(values), -1, dtype=np.int64)
            is_known = ~np.isnan(values)
            low = column.low if limits is None else float(limits[0])
            codes[is_known] = value_codes(attribute, column, values[is_known], low)
            self._known[name] = codes, attribute.labels
        return self._known[name]


def _missing_in(dataset: Dataset, scope: Scope | None, within: Sequence[Rule], misses: BoolArray) -> BoolArray:
    """Which cells are missing in the rows that count ``(n_rows, n_columns)``, and behind them in those beside them that
    lie in limits and group.
    """
    if dataset.incomplete is None:
        return misses
    beside = replace(dataset, rows=dataset.incomplete.rows)
    is_inside = rows_within(beside, scope) & members(dataset.schema, within, beside.rows)
    return np.concatenate([misses, np.isnan(beside.rows[is_inside])])


def _table(cutter: Cutter, names: tuple[str, ...], outcomes: Outcomes, alpha: float) -> GroupTable:
    """The groups of some attributes; their intervals miss together with probability ``alpha`` at most."""
    codes, labels = zip(*map(cutter, names), strict=True)
    is_known = np.all([code >= 0 for code in codes], axis=0)
    if not is_known.any():
        raise SettingError(f"Groups of {' and '.join(names)} need a row that has them, got none. Widen the limits.")
    found, group = _grouped([code[is_known] for code in codes])
    if len(found) > MAX_GROUPS:
        raise SettingError(
            f"{' and '.join(names)} must make at most {MAX_GROUPS:,} groups that have a row, got {len(found):,}. "
            "Choose fewer attributes, or wider ranges."
        )
    texts = [tuple(of[code] for of, code in zip(labels, line, strict=True)) for line in found.tolist()]
    counted = Counted.of(group, outcomes.of(is_known))
    return counted.table(names, texts, cutter.n_unknown(names), alpha)


def _grouped(codes: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """The combinations of values that occur ``(n_groups, n_attributes)``, in their order, and which one each row has
    ``(n_rows,)``.
    """
    found = np.empty((1, 0), dtype=np.int64)
    group = np.zeros(len(codes[0]), dtype=np.int64)
    for code in codes:
        size = int(code.max()) + 1
        # whole numbers sort faster than rows of a matrix
        keys, group = np.unique(group * size + code, return_inverse=True)
        found = np.column_stack([found[keys // size], keys % size])
    return found, group


@dataclass(frozen=True)
class Counted:
    """Rows by group and outcome.

    Args:
        counts: rows by group, by whether the label is favourable, and by whether the decision is ``(n_groups, 2, 2)``.
        has_labels: without labels nobody's counts as favourable.
        n_above: rows of each group with a score above the median ``(n_groups,)``; ``None`` without scores.
    """

    counts: FloatArray
    has_labels: bool
    n_above: IntArray | None = None

    @classmethod
    def of(cls, group: IntArray, outcomes: Outcomes) -> Counted:
        """Count rows; ``group`` is 0 to n_groups - 1 ``(n_rows,)``."""
        actual = outcomes.actual
        n_groups = int(group.max()) + 1
        place = 4 * group + outcomes.favourable + (0 if actual is None else 2 * actual)
        counts = np.bincount(place, minlength=4 * n_groups).astype(np.float64)
        above = outcomes.is_above
        n_above = None if above is None else np.bincount(group[above], minlength=n_groups)
        return cls(counts.reshape(-1, 2, 2), actual is not None, n_above)

    @cached_property
    def n(self) -> FloatArray:
        """Rows of each group ``(n_groups,)``."""
        total: FloatArray = self.counts.sum(axis=(1, 2))
        return total

    @cached_property
    def hits(self) -> FloatArray:
        """Rows of each group that are decided for the person ``(n_groups,)``."""
        total: FloatArray = self.counts[:, :, 1].sum(axis=1)
        return total

    @cached_property
    def is_compared(self) -> BoolArray:
        """Which groups are large enough to be a measure for others ``(n_groups,)``."""
        is_large: BoolArray = self.n >= LEAST_SHARE * self.n.sum()
        return is_large

    def table(self, names: tuple[str, ...], texts: list[tuple[str, ...]], n_unknown: int, alpha: float) -> GroupTable:
        """With intervals; see ``_table``."""
        low, high, impacts = self._compared(alpha)
        difference, ratio = self._parity(low, high, impacts)
        groups = self._groups(texts, impacts)
        return GroupTable(names, groups, n_unknown, difference, ratio, self._odds_difference(alpha))

    def rates(self, texts: Sequence[tuple[str, ...]], alpha: float) -> tuple[GroupRates, ...]:
        """The groups alone, without figures of all of them: what takes no library.

        Args:
            texts: labels of each group.
            alpha: the impact ratios miss together with this probability at most.
        """
        return self._groups(texts, self._compared(alpha)[2])

    def _compared(self, alpha: float) -> tuple[FloatArray, FloatArray, list[Bounded | None]]:
        """Intervals of the selection rates that hold together, and the impact ratios."""
        low, high = clopper_pearson(self.hits, self.n, alpha / len(self.n))
        return low, high, impact_ratios(self.hits / self.n, low, high, self.is_compared)

    def _groups(self, texts: Sequence[tuple[str, ...]], impacts: Sequence[Bounded | None]) -> tuple[GroupRates, ...]:
        return tuple(
            GroupRates(
                labels,
                bool(self.is_compared[i]),
                _rate(self.hits[i], self.n[i]),
                impacts[i],
                *self._odds_of(i),
                None if self.n_above is None else _rate(float(self.n_above[i]), self.n[i]),
            )
            for i, labels in enumerate(texts)
        )

    def _odds_of(self, i: int) -> tuple[Rate | None, Rate | None]:
        """True and false positive rate of a group; nothing without labels."""
        if not self.has_labels:
            return None, None
        false, true = self.counts[i]
        return _rate(true[1], true.sum()), _rate(false[1], false.sum())

    def _parity(
        self, low: FloatArray, high: FloatArray, impacts: list[Bounded | None]
    ) -> tuple[Bounded | None, Bounded | None]:
        """Difference and ratio of the selection rates of the groups compared; the ends hold whichever group is
        which.
        """
        compared = np.flatnonzero(self.is_compared)
        if len(compared) < 2:
            return None, None
        from fairlearn.metrics import MetricFrame, selection_rate

        # as demographic_parity_difference and demographic_parity_ratio have it, which would make the frame twice
        actual, favourable, group, weight = self._weighed_rows()
        rates = MetricFrame(
            metrics=selection_rate,
            y_true=actual,
            y_pred=favourable,
            sensitive_features=group,
            sample_params={"sample_weight": weight},
        )
        value = float(rates.difference())
        difference = between(value, max(0.0, low[compared].max() - high[compared].min()), _span(low, high, compared))
        known = [impact for i in compared.tolist() if (impact := impacts[i]) is not None]
        if not known:
            return difference, None
        value = float(rates.ratio())
        return difference, between(value, min(one.low for one in known), min(one.high for one in known))

    def _odds_difference(self, alpha: float) -> Bounded | None:
        """The larger of the differences in true and false positive rates; nothing where a group has no row of one
        outcome.
        """
        compared = self.counts[self.is_compared]
        n = compared.sum(axis=2)
        if not self.has_labels or len(compared) < 2 or not n.all():
            return None
        from fairlearn.metrics import equalized_odds_difference

        actual, favourable, group, weight = self._weighed_rows()
        value = float(equalized_odds_difference(actual, favourable, sensitive_features=group, sample_weight=weight))
        return between(value, *odds_ends(compared[:, :, 1], n, alpha))

    def _weighed_rows(self) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """What fairlearn is given of the groups compared: one row for each count, weighed by it, however many rows
        there are. Outcome, decision, group and weight, ``(n_counts,)`` each.
        """
        weight = self.counts[self.is_compared]
        group, actual, favourable = np.indices(weight.shape).reshape(3, -1)
        some = weight.ravel() > 0
        return actual[some], favourable[some], group[some], weight.ravel()[some]


def _rate(n_hits: float, n: float) -> Rate:
    low, high = share_interval(round(n_hits), round(n))
    return Rate(round(n_hits), round(n), float(low), float(high))


def _span(low: FloatArray, high: FloatArray, compared: IntArray) -> float:
    return float(high[compared].max() - low[compared].min())
