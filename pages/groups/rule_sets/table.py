"""All rule sets as a table: sorted here and not in the browser, a page of them at a time, all of them as a file."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from fairness_engine.arrays import IntArray
from fairness_engine.data.table import export_text
from fairness_engine.groups.rule_sets.result import RuleResult
from pages.groups.rule_sets import charts, phrases
from pages.groups.rule_sets.cards import Ranked
from pages.shared import exports, tables
from pages.shared.app import wording
from pages.shared.app.kept import kept
from pages.shared.runs import rule_runs

if TYPE_CHECKING:
    import pandas as pd

PAGE_ROWS = 200
"""Lines that travel to the browser at once."""
_SORTS = {
    "score": "Score, largest first",
    "low": "Sure difference, largest first",
    "rows": "Rows, most first",
    "few": "Rows, fewest first",
    "inside": "Favourable share, smallest first",
    "outside": "Favourable share, largest first",
}
_HEIGHT = 420


def draw(run_id: str, result: RuleResult, ranked: Ranked, chosen: int | None) -> None:
    """The table of the rule sets that match the filters, and the file; a click on a line opens it."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="rules_table_controls"):
        sort = st.selectbox(
            "Sorted by",
            list(_SORTS),
            format_func=_SORTS.__getitem__,
            key=f"rules_sort_{run_id}",
            width=280,
            help="The sure difference is the lower end of the interval.",
            persist_state="session",
        )
        page = _page_field(run_id, len(ranked.positions))
        exports.offer_csv(
            "Save these rule sets as CSV",
            lambda: rules_csv(result, ranked.positions),
            f"evenhand-groups-{run_id[:8]}",
            "rules_csv",
            run_ids=(run_id,),
        )
    key = (run_id, ranked.positions.tobytes(), sort)
    ordered = kept("rules_ordered", key, lambda: order(result, ranked.positions, str(sort)))
    listed = ordered[page * PAGE_ROWS : (page + 1) * PAGE_ROWS]
    _table(run_id, result, listed, chosen)
    text = wording.counted(len(ranked.positions), "rule set")
    if ranked.families:
        text += ", near-duplicates among them"
    if len(ordered) > PAGE_ROWS:
        first = page * PAGE_ROWS
        text += f"; {wording.count(first + 1)} to {wording.count(first + len(listed))} are listed, the file has all"
    st.caption(f"{text}.")


def _page_field(run_id: str, n: int) -> int:
    n_pages = max(1, -(-n // PAGE_ROWS))
    if n_pages == 1:
        return 0
    page = st.number_input(
        f"Page, of {wording.count(n_pages)}", 1, n_pages, 1, key=f"rules_page_{run_id}_{n_pages}", width=150
    )
    return int(page or 1) - 1


def order(result: RuleResult, positions: IntArray, sort: str) -> IntArray:
    """Positions in the order that was asked for; equal ones by their score."""
    scored = result.scored
    keys: dict[str, Any] = {
        "low": -scored.low,
        "rows": -scored.n_rows,
        "few": scored.n_rows,
        "inside": scored.inside,
        "outside": -scored.inside,
    }
    return positions if sort == "score" else positions[np.argsort(keys[sort][positions], kind="stable")]


def _table(run_id: str, result: RuleResult, listed: IntArray, chosen: int | None) -> None:
    mark = -1 if chosen is None else chosen

    def take(row: int) -> None:
        rule_runs.choose(int(listed[row]))

    table = kept("rules_table", (run_id, listed.tobytes()), lambda: tables.arrow(rule_table(result, listed)))
    is_exact = phrases.is_exact(result)
    tables.choose_row(
        table,
        f"rules_table_{run_id}_{hash(listed.tobytes()) & 0xFFFFFFFF:x}_{mark}",
        take,
        np.flatnonzero(listed == mark).tolist(),
        height=tables.height(len(listed), _HEIGHT),
        column_order=[column for column in table.column_names if not (is_exact and column in ("Low", "High"))],
        column_config=_columns(phrases.others(result)),
    )


def rule_table(result: RuleResult, positions: IntArray) -> pd.DataFrame:
    """One line a rule set; shares in percent, scores in points; under which one it is folded."""
    table = charts.dot_table(result, positions)
    head = result.scored.head[positions]
    is_folded = (head >= 0) & (head != positions)
    table["Nearly the same as"] = np.where(is_folded, (head + 1).astype(str), "")
    return table


@cache
def _columns(others: str) -> dict[str, Any]:
    number = st.column_config.NumberColumn
    text = st.column_config.TextColumn
    return {
        "Rank": number(width=56),
        "Direction": text(width=96),
        "Group": text(width=330),
        "Favourable, %": number(format="%.1f", width=112, help="Of the group."),
        f"{phrases.capitalised(others)}, %": number(format="%.1f", width=132),
        "Score, points": number(format="%.1f", width=106),
        "Low": number(format="%.1f", width=60, help="Lower end of the interval; all intervals hold together."),
        "High": number(format="%.1f", width=60, help="Upper end of the interval."),
        "Rows": number(width=70),
        "Rows, %": number(format="%.1f", width=70),
        "Nearly the same as": text(width=120, help="The rank of the rule set that it is folded under."),
    }


def rules_csv(result: RuleResult, positions: IntArray) -> bytes:
    """The rule sets as a file; shares as fractions, with the samples behind them."""
    scored = result.scored
    table = rule_table(result, positions)
    table["Group"] = [export_text(text) for text in table["Group"]]
    percent = [name for name in table.columns if name.endswith((", %", ", points")) or name in ("Low", "High")]
    table[percent] = table[percent] / 100
    table = table.rename(columns={name: name.split(",")[0] for name in percent} | {"Rows, %": "Share of the rows"})
    table["Samples inside"] = scored.n_inside[positions]
    table["Samples outside"] = scored.n_outside[positions]
    return table.to_csv(index=False).encode()
