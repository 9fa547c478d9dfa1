"""Rules on one protected attribute: subsets of categories, runs of neighbouring ranges, terms of a text."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.data.schema import Column, Kind
from fairness_engine.groups.rule_sets.settings import Edges, RuleSettings
from fairness_engine.telling.rules import Rule

MAX_SUBSET_CATEGORIES = 8
"""With more categories there are too many subsets to name: then each category alone, and all but one; the paper takes
every subset.
"""
TERM = "term"
_DIGITS = 12
"""Of an end of a range of real numbers, from the first digit of the whole range on."""
_ROUND_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class RuleAttribute:
    """A protected attribute cut into values, and every rule on it.

    Args:
        name: of the column; of the category of terms for a text.
        kind: ``categorical``, ``integer``, ``real`` or ``term``.
        labels: what people read for each value: categories, ranges or terms.
        lows, highs: numbers only: the closed range of each value, parallel to ``labels``; a real range ends where the
            next begins.
        one_sided: numbers only: no rule that neither begins nor ends where the column does.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()
    one_sided: bool = False

    @property
    def is_number(self) -> bool:
        """True when values are ranges in order."""
        return self.kind in (Kind.INTEGER, Kind.REAL)

    @property
    def n_values(self) -> int:
        """How many values the attribute is cut into."""
        return len(self.labels)

    @cached_property
    def members(self) -> BoolArray:
        """Which values each rule takes, ``(n_rules, n_values)``; the order of rules is fixed by the values alone."""
        rules = list(self._rules())
        members = np.zeros((len(rules), self.n_values), dtype=bool)
        for rule, values in enumerate(rules):
            members[rule, list(values)] = True
        return members

    @cached_property
    def n_named(self) -> IntArray:
        """How much must be said to say each rule ``(n_rules,)``: categories, or "not" and those left out; ends inside
        the column.
        """
        if self.is_number:
            n_outer = self.members[:, 0].astype(np.int64) + self.members[:, -1]
            return 2 - n_outer
        n_taken: IntArray = self.members.sum(axis=1)
        return np.minimum(n_taken, self.n_values - n_taken + 1)

    @property
    def n_rules(self) -> int:
        """How many rules there are on this attribute."""
        return len(self.members)

    def _rules(self) -> Iterator[Sequence[int]]:
        n = self.n_values
        if self.kind == TERM:
            yield from ((value,) for value in range(n))
        elif self.is_number:
            for first in range(n):
                for last in range(first, n):
                    is_whole = first == 0 and last == n - 1
                    is_between = first > 0 and last < n - 1
                    if not is_whole and not (is_between and self.one_sided):
                        yield range(first, last + 1)
        else:
            sizes = range(1, n) if n <= MAX_SUBSET_CATEGORIES else (1, n - 1)
            for size in sizes:
                yield from itertools.combinations(range(n), size)

    def values_of(self, rule: int) -> IntArray:
        """The values a rule takes, ascending."""
        return np.flatnonzero(self.members[rule])

    def to_json(self) -> dict[str, Any]:
        """Plain lists and text; ``from_json`` reads it back to an equal attribute, with the same rules."""
        return {
            "name": self.name,
            "kind": str(self.kind),
            "labels": list(self.labels),
            "lows": list(self.lows),
            "highs": list(self.highs),
            "one_sided": self.one_sided,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RuleAttribute:
        """Read what ``to_json`` wrote."""
        lists = {name: tuple(content[name]) for name in ("labels", "lows", "highs")}
        return cls(content["name"], content["kind"], one_sided=bool(content["one_sided"]), **lists)

    def rule_json(self, rule: int) -> Rule:
        """One rule as the command line says it: ``{column, values | low, high | term}``."""
        return self.values_json(self.values_of(rule).tolist())

    def exact_rule(self, rule: int) -> Rule:
        """One rule; of a continuous range also whether its upper end belongs to it."""
        found = self.rule_json(rule)
        if self.kind == Kind.REAL:
            found["includes_high"] = bool(self.members[rule, -1])
        return found

    def values_json(self, values: Sequence[int]) -> Rule:
        """Values, ascending and without gaps in a number, said like a rule."""
        if self.is_number:
            low = self.lows[values[0]]
            high = self.highs[values[-1]]
            if self.kind == Kind.INTEGER:
                return {"column": self.name, "low": int(low), "high": int(high)}
            return {"column": self.name, "low": low, "high": high}
        if self.kind == TERM:
            return {"column": self.name, "term": self.labels[values[0]]}
        return {"column": self.name, "values": [self.labels[value] for value in values]}


def make_attribute(column: Column, limits: tuple[float, float] | None, settings: RuleSettings) -> RuleAttribute:
    """Cut a column of a table into values.

    Args:
        column: categorical, integer or real.
        limits: the scope's narrower range, or ``None``.
        settings: how numbers are cut.
    """
    low, high = (column.low, column.high) if limits is None else (float(limits[0]), float(limits[1]))
    if column.kind is Kind.CATEGORICAL:
        labels = tuple(column.labels[position] for position in range(int(low), int(high) + 1))
        return RuleAttribute(column.name, column.kind.value, labels, lows=(), highs=())
    is_whole = column.kind is Kind.INTEGER
    cuts = _cuts(low, high, settings, is_whole=is_whole)
    lows = cuts[:-1]
    highs = [*(cut - 1 for cut in cuts[1:-1]), high] if is_whole else cuts[1:]
    return RuleAttribute(
        column.name,
        column.kind.value,
        _range_texts(lows, highs, is_whole=is_whole),
        tuple(lows),
        tuple(highs),
        settings.one_sided,
    )


def value_codes(attribute: RuleAttribute, column: Column, rows: FloatArray, low: float) -> IntArray:
    """Which value of an attribute each row has ``(n_rows,)``.

    Args:
        attribute: made of this column.
        column: of the schema.
        rows: what the rows hold in the column ``(n_rows,)``.
        low: of the range the attribute was made for.
    """
    if column.kind is Kind.CATEGORICAL:
        return np.rint(rows - low).astype(np.int64)
    found = np.searchsorted(np.asarray(attribute.lows[1:]), rows, side="right")
    return np.asarray(found, dtype=np.int64)


def _cuts(low: float, high: float, settings: RuleSettings, *, is_whole: bool) -> list[float]:
    """Where ranges begin, ascending, and at last where the column ends; whole numbers for whole numbers."""
    n_values = int(high - low) + 1
    if is_whole and n_values <= settings.bins:
        return [low + i for i in range(n_values)] + [high]
    if high == low:
        return [low, high]
    # an end of 0.3 is the 0.3 of a row, and no little more
    n_digits = _DIGITS - math.floor(math.log10(high - low))
    if settings.edges is Edges.ROUND:
        width = _round_width((high - low) / settings.bins)
        first = math.floor(low / width + 1e-9)
        inner = [round(i * width, n_digits) for i in range(first + 1, first + settings.bins + 2)]
        # no range of a year or two at an end
        inner = [cut for cut in inner if low + width / 2 <= cut <= high - width / 2]
    else:
        inner = [round(low + (high - low) * i / settings.bins, n_digits) for i in range(1, settings.bins)]
    if is_whole:
        inner = [float(math.ceil(cut - 1e-9)) for cut in inner]
    return [low, *sorted({cut for cut in inner if low < cut < high}), high]


def _round_width(width: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not less."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(step * power for step in _ROUND_STEPS if step * power >= width * (1 - 1e-9))


def _range_texts(lows: Sequence[float], highs: Sequence[float], *, is_whole: bool) -> tuple[str, ...]:
    """Ranges as people write them: with as few digits as tell all ends apart, six at least."""
    ends = sorted({*lows, *highs})
    for digits in range(6, 18):
        text = {end: f"{end:.0f}" if is_whole else _plain(end, digits) for end in ends}
        if len(set(text.values())) == len(ends):
            break
    return tuple(text[a] if a == b else f"{text[a]} to {text[b]}" for a, b in zip(lows, highs, strict=True))


def _plain(value: float, digits: int) -> str:
    """A number without an exponent."""
    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")
