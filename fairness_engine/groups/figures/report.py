"""What classical group figures say: rates of groups with intervals, compared with the most favoured group, and a
verdict.

Plain numbers, as they travel from the model's process to a page; ``group_figures.py`` makes them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fairness_engine.codec import MAX_COUNT, MAX_NUMBER, decode, encode
from fairness_engine.data.recorded import Source
from fairness_engine.errors import EvenhandError, SettingError, breach, cut
from fairness_engine.groups.rule_sets.settings import Edges, RuleSettings
from fairness_engine.telling.rules import Rule, Rules

FOUR_FIFTHS = 0.8
"""An impact ratio below it is flagged: a convention of personnel selection in the United States (29 CFR 1607.4 D,
1978).
"""
LEAST_SHARE = 0.02
"""Groups with a smaller share of the rows are no measure for others: a convention too (29 CFR 1607.15 A)."""
MAX_GROUPS = 1_000
MAX_TABLES = 40
_MOST_IN_PAIRS = 7
_MOST_TOGETHER = 3


class FigureVerdict(StrEnum):
    """What an interval says of the four-fifths convention; of a group that is too small to be compared, nothing."""

    PASS = "pass"  # noqa: S105 - no password
    FLAG = "flag"
    UNCLEAR = "not enough evidence"
    LEFT_OUT = "left out"


@dataclass(frozen=True)
class FigureSettings:
    """What is asked.

    Args:
        attribute_sets: one table each: ``(("sex",), ("sex", "race"))`` are the groups by sex, and those of the
            intersection.
        source: the model's decisions on the data's rows, or what a column of the data holds.
        predictions: name of that column; empty takes the label. Needs ``source`` labels.
        bins, edges: how numbers are cut, as for rule sets.
        within: only people who obey these rules are counted, as if there were no others; empty for everybody.

    Raises:
        SettingError: no attribute, too many tables, or a value out of its range.
    """

    attribute_sets: tuple[tuple[str, ...], ...]
    source: Source = Source.MODEL
    predictions: str = ""
    bins: int = 10
    edges: Edges = Edges.ROUND
    within: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        by_attributes: dict[frozenset[str], tuple[str, ...]] = {}
        for names in self.attribute_sets:
            if not names or len(set(names)) < len(names):
                said = cut(", ".join(names)) or "none"
                raise SettingError(f"A table of groups needs different attributes, got {said}. Name each once.")
            by_attributes.setdefault(frozenset(names), tuple(names))  # a table twice would but widen all intervals
        sets = tuple(by_attributes.values())
        object.__setattr__(self, "attribute_sets", sets)
        if not 0 < len(sets) <= MAX_TABLES:
            raise SettingError(
                f"Group figures need 1 to {MAX_TABLES} tables of groups, got {len(sets)}. Choose an attribute, or "
                "fewer tables."
            )
        same = RuleSettings(source=self.source, predictions=self.predictions, bins=self.bins, edges=self.edges)
        object.__setattr__(self, "source", same.source)
        object.__setattr__(self, "edges", same.edges)
        try:
            object.__setattr__(self, "within", tuple(decode(Rules, encode(list(self.within)))))
        except (TypeError, ValueError) as error:
            raise SettingError(f"Figures of a group need rules on columns, got {cut(str(error))}.") from None

    @classmethod
    def of_all(cls, protected: Sequence[str], **others: Any) -> FigureSettings:
        """Every attribute alone, every two, and all three of three.

        Args:
            protected: names of the attributes; of more than 7 each alone.
            others: further fields.
        """
        most = 1 if len(protected) > _MOST_IN_PAIRS else min(len(protected), _MOST_TOGETHER)
        sets = [names for n in range(1, most + 1) for names in itertools.combinations(protected, n)]
        return cls(tuple(sets[:MAX_TABLES]), **others)

    @property
    def cuts(self) -> RuleSettings:
        """The same ranges for rule sets."""
        return RuleSettings(bins=self.bins, edges=self.edges)

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and text; ``from_json`` reads it back to equal settings."""
        content = {
            "attribute_sets": [list(names) for names in self.attribute_sets],
            "source": self.source.value,
            "predictions": self.predictions,
            "bins": self.bins,
            "edges": self.edges.value,
        }
        return content | {"within": encode(list(self.within))} if self.within else content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> FigureSettings:
        """Read what ``to_json`` wrote.

        Raises:
            SettingError: a value out of its range.
        """
        return cls(**content)


@dataclass(frozen=True)
class Rate:
    """How many rows of a group got an outcome, with the 95 % interval of the share, each on its own."""

    n_hits: int
    n: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """0 to 1; of a group without a row not a number."""
        return self.n_hits / self.n if self.n else math.nan


@dataclass(frozen=True)
class Bounded:
    """A figure with an interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class GroupRates:
    """How often a group gets the favourable outcome, beside the most favoured one.

    Args:
        labels: what people read, one text an attribute.
        is_compared: it has at least ``LEAST_SHARE`` of the rows, or the share that is asked for.
        selection: rows with the favourable outcome.
        impact: its selection rate by that of the most favoured group compared, at most 1, with an interval that holds
            jointly; ``None`` where nobody got the favourable outcome, or there is no group to compare with.
        true_positive, false_positive: of those whose label is favourable, or is not, how many get the favourable
            outcome; ``None`` without labels.
        scoring: rows whose score for the favourable outcome is above the median of all rows (6 RCNY 5-301(c)); ``None``
            where no scores were asked for, or there are none.
    """

    labels: tuple[str, ...]
    is_compared: bool
    selection: Rate
    impact: Bounded | None
    true_positive: Rate | None = None
    false_positive: Rate | None = None
    scoring: Rate | None = None

    @property
    def n_rows(self) -> int:
        """Rows of the group."""
        return self.selection.n

    @property
    def verdict(self) -> FigureVerdict:
        """From the interval, never from the ratio alone; of a group that is not compared, that it is left out."""
        return verdict_of(self.impact) if self.is_compared else FigureVerdict.LEFT_OUT


def verdict_of(impact: Bounded | None) -> FigureVerdict:
    """*Flag* when all of the interval lies below four fifths, *pass* when none of it does, else *not enough
    evidence*.
    """
    if impact is None:
        return FigureVerdict.UNCLEAR
    if impact.high < FOUR_FIFTHS:
        return FigureVerdict.FLAG
    return FigureVerdict.PASS if impact.low >= FOUR_FIFTHS else FigureVerdict.UNCLEAR


@dataclass(frozen=True)
class GroupTable:
    """The groups of one attribute, or of an intersection.

    Args:
        attributes: names of columns.
        groups: those with a row, in the order of the attributes' values.
        n_unknown: rows of the file left out because their group is unknown.
        parity_difference, parity_ratio: largest less smallest selection rate of the groups compared, and smallest by
            largest.
        odds_difference: the larger of the differences in true and in false positive rates; ``None`` without labels, or
            when a group has no row of one outcome.
    """

    attributes: tuple[str, ...]
    groups: tuple[GroupRates, ...]
    n_unknown: int
    parity_difference: Bounded | None
    parity_ratio: Bounded | None
    odds_difference: Bounded | None

    @property
    def compared(self) -> tuple[GroupRates, ...]:
        """The groups that are large enough to be a measure for others."""
        return tuple(group for group in self.groups if group.is_compared)

    @property
    def small(self) -> tuple[GroupRates, ...]:
        """The groups that are not."""
        return tuple(group for group in self.groups if not group.is_compared)

    @property
    def most_favoured(self) -> GroupRates | None:
        """The group compared with the largest selection rate; the first of equals; ``None`` when nobody is favoured."""
        best = max(self.compared, key=lambda group: group.selection.share, default=None)
        return best if best is not None and best.selection.n_hits else None

    @property
    def verdict(self) -> FigureVerdict:
        """*Flag* when any group compared is flagged; *pass* when all of them pass; else *not enough evidence*.

        A group that is too small to be compared neither makes a flag nor prevents a pass: it is named beside it.
        """
        if any(group.verdict is FigureVerdict.FLAG for group in self.groups):
            return FigureVerdict.FLAG
        is_pass = len(self.compared) > 1 and all(group.verdict is FigureVerdict.PASS for group in self.compared)
        return FigureVerdict.PASS if is_pass else FigureVerdict.UNCLEAR


@dataclass(frozen=True)
class GroupReport:
    """Group figures of one model or column.

    Args:
        tables: one for each choice of attributes.
        n_rows: rows of the data that the figures are of.
        n_left_out: rows of the data that are not: outside the scope's limits or the group asked for, or without a
            decision.
        column: whose decisions: a column of the data; empty for the model's.
        n_incomplete: of ``n_rows``, those that miss a cell; such a row is in no group of an attribute that it misses.
        median_score: of the rows, for the favourable outcome; ``None`` where there is no ``scoring``.
    """

    tables: tuple[GroupTable, ...]
    n_rows: int
    n_left_out: int
    column: str
    n_incomplete: int = 0
    median_score: float | None = None


_TOLERANCE = 1e-9
_MAX_TEXT = 500


def report_to_json(report: GroupReport) -> dict[str, Any]:
    """Plain lists, numbers and text."""
    content = {
        "tables": [_table_to_json(table) for table in report.tables],
        "n_rows": report.n_rows,
        "n_left_out": report.n_left_out,
        "column": report.column,
        "n_incomplete": report.n_incomplete,
    }
    return content if report.median_score is None else content | {"median_score": report.median_score}


def report_from_json(content: Any, settings: FigureSettings) -> GroupReport:
    """Read what ``report_to_json`` wrote, with every number checked: it comes from the process that holds the model.

    Raises:
        ProcessError: it is nothing of the kind, or not an answer to these settings.
    """
    try:
        tables = tuple(_table_from_json(table) for table in content["tables"])
        n_rows = _count(content["n_rows"])
        n_left_out = _count(content["n_left_out"])
        n_incomplete = _count(content.get("n_incomplete", 0))
        median = content.get("median_score")
        median = None if median is None else _real(median)
        report = GroupReport(tables, n_rows, n_left_out, _text(content["column"]), n_incomplete, median)
        if tuple(table.attributes for table in tables) != settings.attribute_sets:
            raise ValueError("attributes")
        grouped = [sum(group.n_rows for group in table.groups) for table in tables]
        if n_incomplete > n_rows or any(not n_rows - n_incomplete <= n <= n_rows for n in grouped):
            raise ValueError("rows")
    except (KeyError, TypeError, ValueError, OverflowError):
        raise breach("it sent no group figures") from None
    return report


def _table_to_json(table: GroupTable) -> dict[str, Any]:
    return {
        "attributes": list(table.attributes),
        "groups": [_group_to_json(group) for group in table.groups],
        "n_unknown": table.n_unknown,
        "figures": [
            _bounded_to_json(each) for each in (table.parity_difference, table.parity_ratio, table.odds_difference)
        ],
    }


def _table_from_json(content: Any) -> GroupTable:
    attributes = tuple(map(_text, content["attributes"]))
    groups = tuple(_group_from_json(group) for group in content["groups"])
    if not 0 < len(groups) <= MAX_GROUPS or any(len(group.labels) != len(attributes) for group in groups):
        raise ValueError("groups")
    if len({group.labels for group in groups}) != len(groups):
        raise ValueError("groups, which are there twice")
    difference, ratio, odds = map(_bounded_from_json, content["figures"])
    return GroupTable(attributes, groups, _count(content["n_unknown"]), difference, ratio, odds)


def _group_to_json(group: GroupRates) -> dict[str, Any]:
    rates = (group.selection, group.true_positive, group.false_positive)
    content = {
        "labels": list(group.labels),
        "is_compared": group.is_compared,
        "rates": [None if rate is None else _rate_to_json(rate) for rate in rates],
        "impact": _bounded_to_json(group.impact),
    }
    return content if group.scoring is None else content | {"scoring": _rate_to_json(group.scoring)}


def _group_from_json(content: Any) -> GroupRates:
    selection, true_positive, false_positive = map(_rate_from_json, content["rates"])
    if selection is None or (true_positive is None) != (false_positive is None):
        raise ValueError("rates")
    if true_positive is not None and false_positive is not None:
        is_split = true_positive.n + false_positive.n == selection.n
        if not is_split or true_positive.n_hits + false_positive.n_hits != selection.n_hits:
            raise ValueError("rates that do not add up")
    labels = tuple(map(_text, content["labels"]))
    impact = _bounded_from_json(content["impact"])
    scoring = _rate_from_json(content.get("scoring"))
    if scoring is not None and scoring.n > selection.n:
        raise ValueError("scored rows")
    rates = (selection, impact, true_positive, false_positive, scoring)
    return GroupRates(labels, content["is_compared"] is True, *rates)


def _rate_to_json(rate: Rate) -> list[float]:
    return [rate.n_hits, rate.n, rate.low, rate.high]


def _rate_from_json(content: Any) -> Rate | None:
    if content is None:
        return None
    n_hits, n = map(_count, content[:2])
    low, high = map(_share, content[2:])
    if n_hits > n or not low <= high or (n and not low - _TOLERANCE <= n_hits / n <= high + _TOLERANCE):
        raise ValueError("rate")
    return Rate(n_hits, n, low, high)


def _bounded_to_json(figure: Bounded | None) -> list[float] | None:
    return None if figure is None else [figure.value, figure.low, figure.high]


def _bounded_from_json(content: Any) -> Bounded | None:
    if content is None:
        return None
    value, low, high = map(_share, content)
    if not low - _TOLERANCE <= value <= high + _TOLERANCE:
        raise ValueError("interval")
    return Bounded(value, low, high)


def _share(number: Any) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
        raise ValueError("share")
    return float(number)


def _real(number: Any) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= MAX_NUMBER:
        raise ValueError("number")
    return float(number)


def _count(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < MAX_COUNT:
        raise ValueError("count")
    return number


def _text(text: Any) -> str:
    if not isinstance(text, str) or len(text) > _MAX_TEXT:
        raise ValueError("text")
    return text


@dataclass(frozen=True)
class Figures:
    """Group figures as a run leaves them, as ``report_to_json`` wrote them."""

    report: dict[str, Any]

    def __post_init__(self) -> None:
        self.read()

    def read(self) -> GroupReport:
        """The figures.

        Raises:
            ValueError: they cannot be.
        """
        try:
            sets = tuple(tuple(table["attributes"]) for table in self.report["tables"])
            return report_from_json(self.report, FigureSettings(sets))
        except (EvenhandError, KeyError, TypeError) as error:
            raise ValueError(f"group figures ({error})") from None
