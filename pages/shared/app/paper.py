"""What a page is on paper: its look (``front/paper.css``), what it is of at the head of each sheet, and tables, which
the screen paints and scrolls.

Charts are scaled, and tables and reports laid out, when the browser prints (``front/paper.js``), in the colours of the
light theme (``front/white.js``).
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.errors import RunError
from pages.shared.app import session, theme, wording
from pages.shared.app.kept import kept

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from fairness_engine.store.records import Review

_FRONT = Path(__file__).parent / "front"
STYLE = f"<style>{(_FRONT / 'paper.css').read_text(encoding='utf-8')}</style>"
MAX_ROWS = 30
"""Of a table on paper; below them it says how many more there are."""
_HASH_LETTERS = 10
_MAX_NAME = 60

_scripts = st.components.v2.component(
    "evenhand_paper", js="\n".join((_FRONT / f"{name}.js").read_text(encoding="utf-8") for name in ("white", "paper"))
)


def head(review: Review | None) -> None:
    """What the page is of: a line on the screen, on the first sheet, and in the margin of those that follow."""
    # what a chart has is drawn anew by the rerun itself
    _scripts(data={"colours": _colours(), "isDark": theme.is_dark()}, key="paper", height=1, on_theme_change=_ignore)
    if review is None:
        return
    facts = [review.name, *_model_of(review), wording.when(datetime.now(UTC)).split(",")[0]]
    name, *rest = (wording.escaped(fact) for fact in facts)
    margin = " · ".join(textwrap.shorten(fact, _MAX_NAME, placeholder="…") for fact in facts)
    # the first sheet begins with the line itself
    st.html(
        f'<p class="evenhand-of"><b>{name}</b>{"".join(f"<span> · {fact}</span>" for fact in rest)}</p>'
        f"<style>@page {{@top-left {{content: {_css_text(margin)}}}}} @page :first {{@top-left {{content: none}}}}"
        "</style>"
    )


def _ignore() -> None:
    """Another theme needs no callback: the rerun that it starts draws in it."""


@cache
def _colours() -> dict[str, dict[str, str]]:
    painted, written = theme.light_of_dark()
    return {"painted": _by_channels(painted), "written": _by_channels(written)}


def _by_channels(colours: Mapping[str, str]) -> dict[str, str]:
    """Colours by others, these as a browser gives them: ``20, 23, 27``."""
    return {", ".join(map(str, bytes.fromhex(dark[1:]))): light for dark, light in colours.items()}


def _model_of(review: Review) -> list[str]:
    """The file of the model and the beginning of its hash."""
    if review.model_id is None:
        return ["no model"] if review.data_id is not None else []
    try:
        file = kept("model_file", review.model_id, lambda: session.store().file(review.model_id))
    except RunError:
        return ["a model that is not here"]
    return [f"{file.name} (SHA-256 {file.sha256[:_HASH_LETTERS]})"]


def _css_text(text: str) -> str:
    """A text in a style sheet: whatever is no letter or digit is written by its number."""
    letters = (letter if letter.isalnum() else rf"\{ord(letter):x} " for letter in text)
    return f'"{"".join(letters)}"'


# --- tables -------------------------------------------------------------------------------------


def table(
    content: pd.DataFrame | pa.Table,
    column_config: Mapping[str, Any] | None = None,
    column_order: Sequence[str] | None = None,
) -> str:
    """The rows of a table for paper, where all columns are to be read, as HTML; on the screen it takes no room.

    Args:
        content: of the table, without its index.
        column_config, column_order: Streamlit's, of the table on the screen.
    """
    n_rows = len(content)
    first = content.slice(0, MAX_ROWS).to_pandas() if hasattr(content, "to_pandas") else content.head(MAX_ROWS)
    configs = column_config or {}
    columns: list[dict[str, Any]] = []
    for name in column_order or list(first.columns):
        config = configs.get(name) or {}
        written = format_of(column_config, name)
        values = first[name].tolist()
        is_number = any(isinstance(value, int | float) for value in values[:1])
        cells = [_cell(value, written) for value in values]
        columns.append({"name": config.get("label") or str(name), "cells": cells, "number": is_number})
    more = f"and {wording.counted(n_rows - MAX_ROWS, 'row')} more" if n_rows > MAX_ROWS else ""
    rows = wording.escaped(json.dumps({"columns": columns, "more": more}, ensure_ascii=False))
    return f'<div class="evenhand-paper-table" data-table="{rows}"></div>'


def format_of(column_config: Mapping[str, Any] | None, name: str) -> str | None:
    """The format of its own that a column is given, as in ``table``."""
    config = (column_config or {}).get(name) or {}
    return (config.get("type_config") or {}).get("format")


_FORMAT = re.compile(r"%[-+ 0#]*\d*(?:\.\d+)?[dfeg]|%%")


def _cell(value: Any, written: str | None) -> str:
    """A value as the screen writes it; nothing for a missing one."""
    import pandas as pd

    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)
    if pd.isna(value):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if written is not None and _FORMAT.search(written):
        return _FORMAT.sub(lambda part: part.group() % (() if part.group() == "%%" else value), written)
    return str(value) if isinstance(value, int) else f"{value:.4f}".rstrip("0").rstrip(".")
