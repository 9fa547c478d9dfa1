"""The figures of a model before and after a retraining, as they are written and as one table; shares with 95 % intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import pandas as pd
import streamlit as st

from pages.components import theme, wording

BEFORE = f"{theme.BEFORE.symbol} Before"
AFTER = f"{theme.AFTER.symbol} After"
CONTROL = "○ Control"
"""The same kind of model, trained on the same rows without any case."""
_ONE_DECIMAL = 0.01
"""Shares from here on are written with one decimal: a tolerance is half a point or one."""
_QUALITY = (("accuracy", "Accuracy"), ("f1", "F1"), ("auc", "AUC"))
SHARES = {"uniform": "All individuals", "data": "Held-out people"}
"""Of whom the discriminatory share is one: anybody of the domain, or the people of the data that nothing was learned from."""


class Unit(StrEnum):
    """How a figure is written."""

    SHARE = "share"
    POINTS = "points"
    PLAIN = "plain"


@dataclass(frozen=True)
class Figure:
    """A share, a difference of shares, or an AUC, with its 95 % interval, 0 to 1 each."""

    value: float
    low: float
    high: float
    unit: Unit = Unit.SHARE

    @classmethod
    def of(cls, content: Mapping[str, Any] | None, unit: Unit = Unit.SHARE) -> Figure | None:
        """From a result: of quality (``value``), or of a counted share (``share``); ``None`` where nothing was counted."""
        if not content or content.get("n") == 0:
            return None
        value = content["value"] if "value" in content else content["share"]
        return cls(float(value), float(content["low"]), float(content["high"]), unit)

    @property
    def text(self) -> str:
        """With its interval: ``93.9 % (92.2-95.2)``, ``27.6 points (24.1-30.0)``, ``0.983 (0.976-0.989)``, ``27.6 points, exact``."""
        if self.unit is Unit.SHARE and self.value < _ONE_DECIMAL:
            return wording.share(self.value, self.low, self.high)
        if self.low == self.high and self.unit is Unit.POINTS:
            return f"{self.short}, exact"
        scale, decimals = (1, 3) if self.unit is Unit.PLAIN else (100, 1)
        return f"{self.short} ({scale * self.low:.{decimals}f}-{scale * self.high:.{decimals}f})"

    @property
    def short(self) -> str:
        """Without its interval; one decimal, so that a small change is seen: ``93.9 %``, ``0.041 %``, ``27.6 points``, ``0.983``. Of a share of
        which nothing was seen its upper bound: ``below 0.060 %``."""
        if self.unit is Unit.PLAIN:
            return f"{self.value:.3f}"
        if self.unit is Unit.POINTS:
            return f"{100 * self.value:.1f} points"
        if self.value == 0 < self.high:
            return wording.share(self.value, self.low, self.high)
        return f"{100 * self.value:.1f} %" if self.value >= _ONE_DECIMAL else wording.share(self.value)


@dataclass(frozen=True)
class Line:
    """One figure of both models.

    Args:
        name: what it is of.
        before, after, control: ``None`` where it was not measured.
        change: the paired change, or the difference; empty where none is told.
    """

    name: str
    before: Figure | None
    after: Figure | None
    control: Figure | None = None
    change: str = ""


def quality_lines(results: Mapping[str, Any]) -> list[Line]:
    """Accuracy, F1 and AUC; those that neither model has are left out."""
    lines = []
    for key, name in _QUALITY:
        unit = Unit.PLAIN if key == "auc" else Unit.SHARE
        found = [Figure.of(_quality(results, which).get(key), unit) for which in _MODELS]
        if any(found):
            lines.append(Line(name, *found, change=_change(results, key)))
    return lines


def share_lines(results: Mapping[str, Any], names: Mapping[str, str] = SHARES) -> list[Line]:
    """The discriminatory shares, of whom ``names`` says; those that nobody was counted for are left out."""
    lines = [
        Line(name, *(Figure.of((results.get(which) or {}).get(key)) for which in _MODELS), change=_change(results, key))
        for key, name in names.items()
    ]
    return [line for line in lines if line.before or line.after or line.control]


_MODELS = ("before", "after", "control")


def _quality(results: Mapping[str, Any], which: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (results.get(which) or {}).get("quality") or {}
    return found


def _change(results: Mapping[str, Any], key: str) -> str:
    """The paired change in points with its interval, where it was measured; else the plain difference of figures of the same draws."""
    found = (results.get("changes") or {}).get(key)
    if isinstance(found, Mapping) and "low" in found:
        return change_text(found["value"], found["low"], found["high"])
    ends = [_quality(results, which).get(key) or (results.get(which) or {}).get(key) for which in ("before", "after")]
    return plain_change(*ends)


def plain_change(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    """The difference of two figures of as many rows or draws, in points; empty where they are of others, or one is missing."""
    first, second = Figure.of(before), Figure.of(after)
    if before is None or after is None or first is None or second is None or before.get("n") != after.get("n"):
        return ""
    return points(second.value - first.value)


def change_text(value: float, low: float, high: float) -> str:
    """A paired change in points with its interval: ``−4.2 (−5.9 to −2.6)``."""
    return f"{points(value)} ({points(low)} to {points(high)})"


def points(change: float) -> str:
    """A change of a share in points of a percent, with a real sign: ``+0.3``, ``−4.2``, ``0``."""
    value = 100 * change
    decimals = 2 if abs(value) < 1 else 1
    text = f"{abs(value):.{decimals}f}"
    if float(text) == 0:
        return "0"
    return f"{'+' if value > 0 else '−'}{text}"


def named_shares(lines: Sequence[Line]) -> list[Line]:
    """The discriminatory shares, named so that they can stand in a table with other figures."""
    return [replace(line, name=f"Discriminatory, {line.name.lower()}") for line in lines]


def column_helps(figures: str = "") -> dict[str, Any]:
    """What the columns of the figures mean, for a hover help; ``figures`` takes the place of what they are for people."""
    helps = _HELPS | ({"Figure": figures} if figures else {})
    return {name: st.column_config.TextColumn(help=text) for name, text in helps.items()}


_HELPS = {
    "Figure": "Accuracy: share of decisions that equal the recorded outcome. F1: how well the favourable outcome is found, missed and wrongly "
    "given ones counted alike. AUC: how well scores put people in order, 0.5 as chance, 1 perfect. Discriminatory: decided differently when "
    "nothing but protected attributes changes; of all individuals that the columns allow, and of the held-out people of the data.",
    CONTROL: "The same kind of model, trained on the same rows without any case: what training again does alone.",
    "Change, points": "After less before, in points of a percent (AUC times 100); with a 95 % interval where the same people were asked twice.",
}


def table(lines: Sequence[Line], first: str) -> pd.DataFrame:
    """The twin of a chart: one line a figure; columns that nobody fills are left out.

    Args:
        lines: of the chart.
        first: heading of the names.
    """
    columns: dict[str, list[str]] = {first: [line.name for line in lines]}
    for heading, figures in (
        (BEFORE, [line.before for line in lines]),
        (AFTER, [line.after for line in lines]),
    ):
        if any(figures):
            columns[heading] = [_text_of(figure) for figure in figures]
    if any(line.change for line in lines):
        columns["Change, points"] = [line.change or wording.DASH for line in lines]
    if any(line.control for line in lines):
        columns[CONTROL] = [_text_of(line.control) for line in lines]
    return pd.DataFrame(columns)


def _text_of(figure: Figure | None) -> str:
    return wording.DASH if figure is None else figure.text
