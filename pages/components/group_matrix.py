"""Two protected attributes of a run at once: which two, the heat map, its table, and the group of the cell that was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from fairness_engine.rules.attributes import TERM
from fairness_engine.rules.space import NO_RULE
from fairness_engine.rules.words import group_words, plain_name, sentence, share_text
from pages.components import group_cells, group_matrix_chart, layout, rules_choice, theme, wording
from pages.components.decisions import favourable_name
from pages.components.group_cells import Cells
from pages.components.kept import kept
from pages.components.theme import CHART_CONFIG

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from fairness_engine.rules.scored import RuleResult
    from fairness_engine.runs.records import Review, RunRecord

_ANYBODY = "Everybody"


def draw(review: Review, run: RunRecord, result: RuleResult) -> None:
    """Controls, picture, table and the chosen cell.

    Args:
        review: the open one, which names the favourable outcome.
        run: that is shown.
        result: what it scored.
    """
    with layout.wrapping("matrix_controls"):
        places = st.columns([3, 2, 3])
    with places[0]:
        pair = _choose_pair(run, result)
    only = _filter(run, result, pair, places[1:])
    down, across = _orientation(result, pair)
    cells = kept(
        "matrix_cells",
        (run.id, down, across, tuple(only.items())),
        lambda: group_cells.cells_of(result, down, across, only),
    )
    names = tuple(plain_name(result.attributes[i].name) for i in cells.attributes)
    key = f"matrix_{run.id}_{down}_{across}_{hash(tuple(only.items())) & 0xFFFFFFFF:x}"
    chosen = st.session_state.get(f"{key}_cell")
    outcome = favourable_name(review)
    st.markdown(wording.markdown(summary(result, cells, only_text(result, only))))
    _picture(cells, names, outcome, key, chosen)
    _table(cells, names, key, chosen)
    if chosen is not None:
        _cell(result, cells, only, chosen)


# --- controls -----------------------------------------------------------------------------------


def _choose_pair(run: RunRecord, result: RuleResult) -> tuple[int, int] | None:
    """The two attributes; those of the highest rule set at first, ``None`` where there is one attribute only."""
    pairs, first = group_cells.pairs_with_cells(result), group_cells.first_pair(result)
    if first is None or len(pairs) == 1:
        return first
    names = {
        f"{plain_name(result.attributes[i].name)} and {plain_name(result.attributes[j].name)}": (i, j) for i, j in pairs
    }
    texts = list(names)
    chosen = st.selectbox(
        "Attributes",
        texts,
        index=list(names.values()).index(first),
        key=f"matrix_pair_{run.id}",
        persist_state="session",
        help="At first the two of the rule set with the largest difference.",
    )
    return names[str(chosen)]


def _orientation(result: RuleResult, pair: tuple[int, int] | None) -> tuple[int, int | None]:
    """The attribute with more values runs down, where there is room."""
    if pair is None:
        return 0, None
    first, second = pair
    is_longer = result.attributes[first].n_values >= result.attributes[second].n_values
    return (first, second) if is_longer else (second, first)


def _filter(
    run: RunRecord, result: RuleResult, pair: tuple[int, int] | None, places: Sequence[DeltaGenerator]
) -> dict[int, frozenset[int]]:
    """Values of a third attribute that alone count; nothing for all."""
    taken = pair if pair is not None else (0,)
    others = [i for i in range(len(result.attributes)) if i not in taken]
    if not others or result.attributes[0].kind == TERM:
        return {}
    names = {_ANYBODY: None, **{plain_name(result.attributes[i].name): i for i in others}}
    chosen = places[0].selectbox(
        "Whom to count",
        list(names),
        format_func=lambda name: name if names[name] is None else f"by {name}",
        key=f"matrix_third_{run.id}_{taken}",
        help="By a third attribute: the cells then count only people with the values that you choose.",
    )
    third = names[str(chosen)]
    if third is None:
        return {}
    labels = result.attributes[third].labels
    values = places[1].multiselect(
        f"Only {chosen}",
        range(len(labels)),
        format_func=labels.__getitem__,
        key=f"matrix_values_{run.id}_{taken}_{third}",
        placeholder="all values",
    )
    return {third: frozenset(values)} if values else {}


# --- words --------------------------------------------------------------------------------------


def only_text(result: RuleResult, only: Mapping[int, frozenset[int]]) -> str:
    """The filter in words: ``race Black or Asian``; empty without one."""
    parts = []
    for attribute, values in only.items():
        labels = [result.attributes[attribute].labels[value] for value in sorted(values)]
        parts.append(f"{plain_name(result.attributes[attribute].name)} {' or '.join(labels)}")
    return ", ".join(parts)


def summary(result: RuleResult, cells: Cells, only: str) -> str:
    """The lowest and the highest cell that has not too few rows, and what is empty or marked; not escaped."""
    told = np.where(cells.is_few, np.nan, cells.share)
    whom = f"People with {only}. " if only else ""
    if np.isnan(told).all():
        return f"{whom}No cell has 2 % of the rows: every share here is of few people."
    low, high = (np.unravel_index(at(told), told.shape) for at in (np.nanargmin, np.nanargmax))
    text = (
        f"{whom}Lowest: {group_of(result, cells, *low)}, {percent(cells, *low)} favourable. Highest: "
        f"{group_of(result, cells, *high)}, {percent(cells, *high)}. Everybody: {share_text(cells.overall)}."
    )
    n_empty, n_few = int((cells.n_rows == 0).sum()), int(cells.is_few.sum())
    if n_few:
        are, have = ("is", "has") if n_few == 1 else ("are", "have")
        text += f" {wording.counted(n_few, 'cell')} {have} under 2 % of the rows and {are} hatched: too few people to count here."
    if n_empty:
        text += f" {wording.counted(n_empty, 'combination')} {'has' if n_empty == 1 else 'have'} no row."
    return text


def group_of(result: RuleResult, cells: Cells, i: int, j: int) -> str:
    """The group of a cell in words; not escaped."""
    rules = [NO_RULE] * len(result.attributes)
    for attribute, value in zip(cells.attributes, (i, j), strict=False):
        rule = group_cells.single_rule(result.attributes[attribute], value)
        if rule is None:  # ranges that rules do not take one by one
            return ", ".join([cells.down[i], *([cells.across[j]] if len(cells.attributes) > 1 else [])])
        rules[attribute] = rule
    return group_words(result.attributes, rules)


def percent(cells: Cells, i: int, j: int) -> str:
    """The share of a cell, with its interval where it has one."""
    ends, share = cells.ends(i, j), float(cells.share[i, j])
    return share_text(share) if ends is None else wording.share(share, *ends)


def how_text(cells: Cells) -> str:
    """What the numbers are, and what the marks mean."""
    if cells.is_text:
        return (
            "In a cell: the share of texts with the favourable outcome when both terms are swapped in. ▼ below and △ above the mean "
            "of all cells. Click on a cell to see its rule set."
        )
    rows = (
        "every neighbour of every row"
        if cells.is_exact
        else "the samples of the run, with a 95 % interval each under the mouse"
    )
    return (
        f"In a cell: the favourable share of {rows}, and the rows of the data. ▼ below and △ above everybody's share; hatched: "
        "under 2 % of the rows. Click on a cell to see who that is."
    )


# --- picture, table, chosen cell ----------------------------------------------------------------


def _picture(cells: Cells, names: tuple[str, ...], outcome: str, key: str, chosen: tuple[int, int] | None) -> None:
    """The heat map; a click chooses a cell."""
    name = f"{key}_chart_{chosen}"  # a picture of its own for each choice: what was clicked before has no say in it

    def take() -> None:
        found = [point["customdata"] for point in st.session_state[name].selection.points if "customdata" in point]
        if found:
            i, j = found[0]
            st.session_state[f"{key}_cell"] = (int(i), int(j))

    figure = kept(
        "matrix_chart",
        (key, chosen, theme.is_dark()),
        lambda: group_matrix_chart.matrix_chart(cells, names, outcome, chosen),
    )
    st.plotly_chart(figure, key=name, config=CHART_CONFIG, theme=None, on_select=take, selection_mode="points")
    st.caption(how_text(cells))


def _table(cells: Cells, names: tuple[str, ...], key: str, chosen: tuple[int, int] | None) -> None:
    """The same as a table; a click on a line chooses its cell."""
    frame: pd.DataFrame = kept("matrix_frame", key, lambda: group_matrix_chart.matrix_frame(cells, names))
    name, n_across = f"{key}_table_{chosen}", cells.share.shape[1]

    def take() -> None:
        rows = st.session_state[name].selection.rows
        if rows:
            st.session_state[f"{key}_cell"] = divmod(int(rows[0]), n_across)

    with st.expander("The same as a table"):
        st.dataframe(
            frame, hide_index=True, key=name, on_select=take, selection_mode="single-row", column_config=_formats()
        )
        st.download_button(
            "Save the cells as CSV",
            lambda: group_matrix_chart.matrix_csv(frame),
            f"evenhand-{'-'.join(names).replace(' ', '-')}.csv",
            "text/csv",
            key="matrix_csv",
            icon=":material/download:",
            on_click="ignore",
        )


def _formats() -> dict[str, object]:
    shares = ("Favourable, %", "Points from everybody", "Low, %", "High, %")
    return {name: st.column_config.NumberColumn(format="%.1f") for name in shares}


def _cell(result: RuleResult, cells: Cells, only: Mapping[int, frozenset[int]], chosen: tuple[int, int]) -> None:
    """Who the chosen cell is, and the way to its rule set."""
    i, j = chosen
    values = dict(zip(cells.attributes, chosen, strict=False))
    position = group_cells.rule_set_of(result, values, only)
    with st.container(border=True, key="matrix_cell"):
        st.html(f'<span style="color:{theme.SELECTION.colour}">{theme.SELECTION.symbol}</span> The chosen cell')
        if position is not None:
            st.markdown(f"**{wording.markdown(sentence(result, position))}**")
            st.button(
                "Open its rule set",
                key="matrix_open",
                icon=":material/open_in_full:",
                on_click=rules_choice.open_in_rule_sets,
                args=(position,),
                help="Intervals, samples, rows and pairs of this group.",
            )
            return
        st.markdown(f"**{wording.markdown(cell_sentence(result, cells, only_text(result, only), i, j))}**")
        st.caption(why_not_scored(cells, i, j))


def cell_sentence(result: RuleResult, cells: Cells, only: str, i: int, j: int) -> str:
    """A cell that is no rule set, in words; not escaped."""
    group = group_of(result, cells, i, j) + (f", {only}" if only else "")
    if not cells.drawn[i, j]:
        return f"{group}: {'no row of the data' if not cells.n_rows[i, j] else 'no sample was drawn here'}"
    n = wording.counted(int(cells.n_rows[i, j]), "row")
    return f"{group}: {percent(cells, i, j)} favourable, everybody {share_text(cells.overall)}; {n}"


def why_not_scored(cells: Cells, i: int, j: int) -> str:
    """Why a cell is no rule set of the run."""
    if not cells.n_rows[i, j]:
        return "Nobody in the data is like this."
    return "No rule set of this run is exactly this group: it is smaller than the run's least size, or its ranges are not taken one by one."
