"""Who got better and who got worse, group by group, and the classical group figures before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from fairness_engine.groups.figures.report import (
    Bounded,
    GroupTable,
    Rate,
)
from fairness_engine.retraining.results import Changes, GroupChange
from pages.groups.figures import phrases as group_figures_words
from pages.retrain import charts
from pages.retrain import phrases as retrain_numbers
from pages.retrain.charts import BETTER, WORSE, Moved
from pages.retrain.phrases import AFTER, BEFORE, Figure, Line
from pages.shared import tables
from pages.shared.app import frame, theme, wording
from pages.shared.app.kept import kept

if TYPE_CHECKING:
    from fairness_engine.data.schema import Schema
    from fairness_engine.store.records import RunRecord

MAX_DRAWN = 20
_MAX_RATES = 16


def draw(run: RunRecord, changes: Changes | None) -> None:
    """Both parts; nothing where no decision was compared."""
    if changes is None or not changes.groups:
        return
    groups = changes.groups
    st.header("Who got better, and who worse", anchor=False)
    is_of_texts = bool(run.config.text_column)
    if not is_of_texts:
        st.markdown(wording.markdown(moved_text(groups)))
    moved = [_moved(group, run.config.schema, is_of_texts=is_of_texts) for group in groups]
    shown = drawn(moved)
    figure = kept("retrain_moved", (run.id, theme.is_dark()), lambda: charts.moved_bars(shown))
    note = (
        "Held-out texts that hold a term, whose decision changed. A text may hold several."
        if is_of_texts
        else "Held-out people whose decision changed. Both can happen in one group. Small intersections are left out."
    )
    if len(shown) < len(moved):
        note += f" The {len(shown)} of {len(moved)} groups with the largest changes are drawn; the table has all."
    frame.chart_with_table(
        figure,
        lambda: moved_table(moved, groups),
        "retrain_moved_chart",
        note,
        said="" if is_of_texts else moved_text(groups),
    )
    _draw_figures(run, changes)


def _moved(group: GroupChange, schema: Schema, *, is_of_texts: bool) -> Moved:
    name = f"“{group.labels[0]}”" if is_of_texts else group_name(group, schema)
    return Moved(name, group.n, group.n_better, group.n_worse)


def group_name(group: GroupChange, schema: Schema) -> str:
    """``Female``, ``age 18 to 29``, ``Female, Black``."""
    named = zip(group.names, group.labels, strict=True)
    return ", ".join(label if schema.column(name).codes else f"{name} {label}" for name, label in named)


def drawn(moved: Sequence[Moved]) -> list[Moved]:
    """The groups of the chart, in their order: all, or those where most changed."""
    if len(moved) <= MAX_DRAWN:
        return list(moved)
    ordered = sorted(moved, key=lambda one: -(one.n_better + one.n_worse) / max(1, one.n))
    chosen = set(map(id, ordered[:MAX_DRAWN]))
    return [one for one in moved if id(one) in chosen]


def moved_text(groups: Sequence[GroupChange]) -> str:
    """How many people are decided differently, counted once each, by the first attribute."""
    first = [group for group in groups if group.names == groups[0].names]
    n, better, worse = (sum(getattr(group, key) for group in first) for key in ("n", "n_better", "n_worse"))
    return (
        f"Of {wording.counted(n, 'held-out person', 'held-out people')}, {BETTER.symbol} {wording.count(better)} "
        f"({wording.share(better / max(1, n))}) got the favourable decision from the new model only, and "
        f"{WORSE.symbol} {wording.count(worse)} ({wording.share(worse / max(1, n))}) lost it."
    )


def moved_table(moved: Sequence[Moved], groups: Sequence[GroupChange]) -> pd.DataFrame:
    """One line a group, with counts."""
    return pd.DataFrame(
        {
            "Groups by": [wording.listed(list(group.names)) for group in groups],
            "Group": [one.name for one in moved],
            "People": [one.n for one in moved],
            f"{BETTER.symbol} Better": [one.n_better for one in moved],
            f"{WORSE.symbol} Worse": [one.n_worse for one in moved],
            f"Favourable {BEFORE.lower()}": [_share(group.n_before, group.n) for group in groups],
            f"Favourable {AFTER.lower()}": [_share(group.n_after, group.n) for group in groups],
        }
    )


def _share(count: int, n: int) -> str:
    return f"{wording.count(count)} ({wording.share(count / n)})" if n else wording.DASH


# --- group figures ------------------------------------------------------------------------------


def _draw_figures(run: RunRecord, changes: Changes) -> None:
    reports = changes.reports()
    if reports is None:
        return
    st.header("Group figures", anchor=False)
    pairs = list(zip(reports[0].tables, reports[1].tables, strict=True))
    tables.show(
        summary_table(pairs),
        key="retrain_group_figures",
        height="content",
        column_config={
            "Groups by": st.column_config.TextColumn(width=130),
            "Figure": st.column_config.TextColumn(help=_FIGURES_HELP),
        },
    )
    st.caption(
        "Of the held-out rows, computed with fairlearn. A group figure compares how often groups get the favourable "
        "outcome; it says "
        "nothing of two people who differ in nothing else. It may rise while individual discrimination falls."
    )
    names = {group_figures_words.title_of(before): (before, after) for before, after in pairs}
    chosen = next(iter(names))
    if len(names) > 1:
        chosen = st.segmented_control(
            "Rates by", list(names), default=chosen, required=True, key=f"retrain_rates_{run.id}"
        )
    lines = rate_lines(*names[str(chosen)], run.config.schema)
    key = (run.id, chosen, theme.is_dark())
    title = "How often each group gets the favourable outcome"
    figure = kept(
        "retrain_rates",
        key,
        lambda: charts.dumbbells(lines[:_MAX_RATES], title, "Favourable, % of the group", is_from_zero=True),
    )
    note = "" if len(lines) <= _MAX_RATES else f"The {_MAX_RATES} largest changes are drawn; the table has all groups."
    frame.chart_with_table(
        figure,
        lambda: retrain_numbers.table(lines, "Group"),
        "retrain_rates_chart",
        note,
        said=retrain_numbers.lines_text(lines[:_MAX_RATES]),
    )


def rate_lines(before: GroupTable, after: GroupTable, schema: Schema) -> list[Line]:
    """The favourable share of every group, the largest change first where there are many."""
    now = {group.labels: group for group in after.groups}
    lines = [
        Line(
            group_figures_words.group_name(before, group, schema),
            rate_figure(group.selection),
            rate_figure(now[group.labels].selection),
            change=retrain_numbers.points(now[group.labels].selection.share - group.selection.share),
        )
        for group in before.groups
        if group.labels in now
    ]
    if len(lines) > _MAX_RATES:
        lines.sort(key=lambda line: -abs(line.after.value - line.before.value) if line.after and line.before else 0.0)
    return lines


def rate_figure(rate: Rate) -> Figure:
    """A rate with its interval."""
    return Figure(rate.share, rate.low, rate.high)


def summary_table(tables: Sequence[tuple[GroupTable, GroupTable]]) -> pd.DataFrame:
    """One line a choice of attributes and figure, before and after."""
    lines = []
    for before, after in tables:
        title = group_figures_words.title_of(before)
        for name, attribute in _FIGURES.items():
            ends = [_bounded_text(getattr(table, attribute)) for table in (before, after)]
            if any(end != wording.DASH for end in ends):
                lines.append([title, name, *ends])
        marks = [group_figures_words.MEANINGS[table.verdict] for table in (before, after)]
        lines.append([title, "Four fifths (a convention)", *(f"{mark.symbol} {mark.name}" for mark in marks)])
    return pd.DataFrame(lines, columns=["Groups by", "Figure", BEFORE, AFTER])


_FIGURES_HELP = (
    "Demographic parity: the highest and the lowest favourable share among the groups, their difference (0 is equal) "
    "and their ratio (1 is equal). Equalised odds: the larger gap in how often people with the same recorded outcome "
    "get the favourable decision. Four fifths: a flag where the ratio lies below 0.8 with its whole interval; a "
    "convention, no law for every decision."
)
_FIGURES = {
    "Demographic parity, difference": "parity_difference",
    "Demographic parity, ratio": "parity_ratio",
    "Equalised odds, difference": "odds_difference",
}


def _bounded_text(figure: Bounded | None) -> str:
    return wording.DASH if figure is None else group_figures_words.figure_text(figure)
