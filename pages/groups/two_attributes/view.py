"""Two protected attributes of a run at once: which two, the heat map, its table, and the group of the cell that was
chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from fairness_engine.data.table import export_text
from fairness_engine.groups.rule_sets.attributes import TERM
from fairness_engine.groups.rule_sets.phrases import plain_name, sentence
from pages.groups.rule_sets.phrases import capitalised
from pages.groups.two_attributes import cells as group_cells
from pages.groups.two_attributes import charts, phrases
from pages.groups.two_attributes.cells import Cells
from pages.shared import exports, tables
from pages.shared.app import frame as layout
from pages.shared.app import theme, wording
from pages.shared.app.kept import kept
from pages.shared.people.decisions import favourable_name
from pages.shared.runs import rule_runs

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
    from streamlit.delta_generator import DeltaGenerator

    from fairness_engine.groups.rule_sets.result import RuleResult
    from fairness_engine.store.records import Review, RunRecord


def matrix_frame(cells: Cells, names: tuple[str, ...]) -> pd.DataFrame:
    """One line a cell, in the order of the picture, the empty ones too; shares in percent."""
    lines = []
    for i, j in np.ndindex(cells.share.shape):
        labels = dict(zip(names, (cells.down[i], cells.across[j]), strict=False))
        share = float(cells.share[i, j])
        ends = cells.ends(i, j)
        lines.append(
            {
                **labels,
                "Favourable, %": None if np.isnan(share) else 100 * share,
                "Points from everybody": None if np.isnan(share) else 100 * (share - cells.overall),
                "Low, %": None if ends is None else 100 * ends[0],
                "High, %": None if ends is None else 100 * ends[1],
                "Texts" if cells.is_text else "Rows": int(cells.n_rows[i, j]),
                "Samples": int(cells.drawn[i, j]),
                "Under 2 %": "yes" if cells.is_few[i, j] else "",
            }
        )
    frame = pd.DataFrame(lines)
    dropped = [name for name in ("Low, %", "High, %") if frame[name].isna().all()]
    return frame.drop(columns=[*dropped, *(["Under 2 %"] if cells.is_text else [])])


def matrix_csv(frame: pd.DataFrame) -> bytes:
    """The table as a file, safe for a spreadsheet."""
    return frame.map(export_text).to_csv(index=False).encode()


_ANYBODY = "Everybody"


def has_cells(result: RuleResult) -> bool:
    """Whether there is a picture: of a table always, of texts where terms of two categories were scored together."""
    return result.attributes[0].kind != TERM or bool(group_cells.pairs_with_cells(result))


def draw(review: Review, run: RunRecord, result: RuleResult) -> None:
    """The section of a run; a click in here leaves the rest of the page alone.

    Args:
        review: the open one, which names the favourable outcome.
        run: that is shown.
        result: what it scored.
    """
    layout.alone(_draw)(review, run, result)


def _draw(review: Review, run: RunRecord, result: RuleResult) -> None:
    """Controls, picture, the chosen cell and the table."""
    with layout.wrapping("matrix_controls"):
        places = st.columns([3, 2, 3])
    with places[0]:
        pair = _choose_pair(run, result)
    only = _filter(run, result, pair, places[1:])
    down, across = _orientation(result, pair)
    asked = (run.id, down, across, tuple((i, tuple(sorted(values))) for i, values in only.items()))
    cells = kept("matrix_cells", asked, lambda: group_cells.cells_of(result, down, across, only))
    names = tuple(plain_name(result.attributes[i].name) for i in cells.attributes)
    key = "matrix_" + "_".join(map(str, asked))
    chosen = st.session_state.get(f"{key}_cell")
    st.markdown(wording.markdown(phrases.summary(result, cells, only)))
    _picture(cells, names, favourable_name(review), key, chosen)
    if chosen is not None:
        _cell(result, cells, only, chosen)
    _table(cells, names, key, chosen, run.id)


# --- controls -----------------------------------------------------------------------------------


def _choose_pair(run: RunRecord, result: RuleResult) -> tuple[int, int] | None:
    """The two attributes; those of the highest rule set at first, ``None`` where there is one attribute only."""
    pairs = group_cells.pairs_with_cells(result)
    first = group_cells.first_pair(result)
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


# --- picture, table, chosen cell ----------------------------------------------------------------


def picture_of(cells: Cells, names: tuple[str, ...], outcome: str, chosen: tuple[int, int] | None) -> Figure:
    """The heat map of two attributes, or the bars of one."""
    if len(names) == 1:
        return charts.bar_chart(cells, names[0], outcome, chosen)
    return charts.matrix_chart(cells, names, outcome, chosen)


def _picture(cells: Cells, names: tuple[str, ...], outcome: str, key: str, chosen: tuple[int, int] | None) -> None:
    """The heat map; a click chooses a cell."""

    def take(points: list[Mapping[str, Any]]) -> None:
        found = [point["customdata"] for point in points if "customdata" in point]
        if found:
            i, j = found[0]
            st.session_state[f"{key}_cell"] = (int(i), int(j))

    figure = kept(
        "matrix_chart",
        (key, chosen, theme.is_dark()),
        lambda: picture_of(cells, names, outcome, chosen),
    )
    layout.chart(figure, f"{key}_chart_{chosen}", phrases.how_text(cells), on_points=take)


def _table(cells: Cells, names: tuple[str, ...], key: str, chosen: tuple[int, int] | None, run_id: str) -> None:
    """The same as a table; a click on a line chooses its cell."""
    frame: pd.DataFrame = kept("matrix_frame", key, lambda: matrix_frame(cells, names))
    n_across = cells.share.shape[1]

    def take(row: int) -> None:
        st.session_state[f"{key}_cell"] = divmod(row, n_across)

    with st.expander("The same as a table"):
        tables.choose_row(frame, f"{key}_table_{chosen}", take, column_config=_formats())
        exports.offer_csv(
            "Save the cells as CSV",
            lambda: matrix_csv(frame),
            f"evenhand-{'-'.join(names).replace(' ', '-')}",
            "matrix_csv",
            run_ids=(run_id,),
        )


def _formats() -> dict[str, object]:
    shares = ("Favourable, %", "Points from everybody", "Low, %", "High, %")
    return {name: st.column_config.NumberColumn(format="%.1f") for name in shares}


def _cell(result: RuleResult, cells: Cells, only: Mapping[int, frozenset[int]], chosen: tuple[int, int]) -> None:
    """Who the chosen cell is, and the way to its rule set."""
    i, j = chosen
    position = group_cells.rule_set_of(result, group_cells.values_of(cells, only, i, j))
    with st.container(border=True, key="matrix_cell"):
        mark = f'<span style="color:{theme.SELECTION.colour}">{theme.SELECTION.symbol}</span>'
        st.html(f"{mark} The chosen cell")
        if position is None:
            st.markdown(f"**{wording.markdown(capitalised(phrases.cell_sentence(result, cells, only, i, j)))}**")
            st.caption(phrases.why_not_scored(cells, i, j))
            return
        st.markdown(f"**{wording.markdown(capitalised(sentence(result, position)))}**")
        is_asked = st.button(
            "Open its rule set",
            key="matrix_open",
            icon=":material/open_in_full:",
            on_click=rule_runs.open_in_rule_sets,
            args=(position,),
            help="Intervals, samples, rows and pairs of this group.",
        )
        if is_asked:
            st.rerun()  # the whole page: another section is open now
