"""Tables, on the screen and on paper; a line of some is chosen: clicked, or marked from elsewhere."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd
import streamlit as st

from pages.shared.app import paper, presenting, wording

if TYPE_CHECKING:
    import pyarrow as pa
    from pandas.io.formats.style import Styler
    from streamlit.delta_generator import DeltaGenerator

_HEAD_PIXELS = 37
_MOST_CELLS = 600
_MOST_COLUMNS = 12
"""Of a table whose cells are written one by one, and made texts at every rerun. A larger one, as that of pairs, has its
numbers as the browser writes them."""
_HELD = "written_tables"
_MOST_HELD = 8
_SPACED_FROM = 1_000
_IDENTIFIERS = frozenset({"Seed"})
"""Columns of whole numbers that are names, not counts."""
ROW_PIXELS = 35
_HOW_TO_CHOOSE = '<p class="evenhand-hint">Arrow keys go through the table, Space or Enter chooses a line.</p>'
"""By keyboard: seen where the focus is, and heard by whom the page is read to."""


def show(table: pd.DataFrame | pa.Table, key: str, hint: str = "", **options: Any) -> Any:
    """Draw a table without its index.

    Args:
        table: what is shown.
        key: of the table.
        hint: HTML beside it.
        options: more of Streamlit's.

    Returns:
        What is chosen in it, where the options ask for that.
    """
    on_screen, on_paper = _written(table, options.get("column_config"), options.get("column_order"))
    event = st.dataframe(on_screen, hide_index=True, key=key, **_for_its_text(options))
    st.html(hint + on_paper)
    return event


def _written(
    table: pd.DataFrame | pa.Table, column_config: Mapping[str, Any] | None, column_order: Sequence[str] | None
) -> tuple[pd.DataFrame | pa.Table | Styler, str]:
    """A table as the screen and as paper has it: of the last ones, which the rerun before drew, as it was made then; of
    large ones of the last alone, so that a session holds one more than its pages keep.

    A page that keeps its table hands in the same object again; one that makes it anew has it written anew.
    """
    held: OrderedDict[int, _Written] = st.session_state.setdefault(_HELD, OrderedDict())
    known = held.get(id(table))
    asked = (column_config, column_order)
    if known is None or known.table is not table or known.asked != asked:
        on_paper = paper.table(table, column_config, column_order)
        known = _Written(table, asked, _converted(spaced(table, column_config)), on_paper)
    if known.is_large:
        for other in [name for name, one in held.items() if one.is_large]:
            del held[other]
    held[id(table)] = known
    held.move_to_end(id(table))
    if len(held) > _MOST_HELD:
        held.popitem(last=False)
    return known.on_screen, known.on_paper


def _converted(table: pd.DataFrame | pa.Table | Styler) -> pd.DataFrame | pa.Table | Styler:
    """A table in the form that travels, where its columns can be converted as they are; else Streamlit mends them."""
    import pyarrow as pa

    if not isinstance(table, pd.DataFrame):
        return table
    try:
        return pa.Table.from_pandas(table)
    except (pa.ArrowException, OverflowError):
        return table


@dataclass(frozen=True)
class _Written:
    table: pd.DataFrame | pa.Table
    asked: tuple[Mapping[str, Any] | None, Sequence[str] | None]
    on_screen: pd.DataFrame | pa.Table | Styler
    on_paper: str

    @property
    def is_large(self) -> bool:
        """Whether its cells are not written one by one."""
        return bool(self.table.shape[0] * self.table.shape[1] > _MOST_CELLS)


def edit(table: pd.DataFrame, key: str, **options: Any) -> pd.DataFrame:
    """Draw a table that is corrected in place; the table as it stands."""
    edited = st.data_editor(table, hide_index=True, key=key, **_for_its_text(options))
    st.html(paper.table(edited, options.get("column_config"), options.get("column_order")))
    return edited


def _for_its_text(options: Mapping[str, Any]) -> dict[str, Any]:
    """Widths and heights as the size of the text asks: a column that wraps and is narrower than a letter stops the
    browser.
    """
    columns = _said(options.get("column_config") or {})
    if not presenting.is_on():
        return {**options, "column_config": columns}
    larger = _enlarged(options, ("height", "row_height"))
    return larger | {"column_config": {name: _enlarged(column, ("width",)) for name, column in columns.items()}}


def _said(content: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of columns, without what is left open: Streamlit copies all of it several times at every rerun."""
    return {
        name: _said(value) if isinstance(value, Mapping) else value
        for name, value in content.items()
        if value is not None
    }


def _enlarged(sizes: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    larger = {name: round(presenting.LARGER * sizes[name]) for name in names if isinstance(sizes.get(name), int)}
    return {**sizes, **larger}


def clicked_row(table: pd.DataFrame | pa.Table, key: str, **options: Any) -> int | None:
    """Draw a table; the line that was clicked.

    Args:
        table: what is shown.
        key: of the table.
        options: more of Streamlit's.
    """
    with _choosing(key):
        event = show(table, key, _HOW_TO_CHOOSE, on_select="rerun", selection_mode="single-row", **options)
    return next((row for row in event.selection.rows if row < len(table)), None)


def choose_row(
    table: pd.DataFrame | pa.Table, key: str, take: Callable[[int], None], chosen: Sequence[int] = (), **options: Any
) -> None:
    """Draw a table in which a line is marked; a click tells ``take`` of another one before the page is drawn anew.

    Args:
        table: what is shown.
        key: of the table, one of its own for each choice: what was clicked before has no say in it.
        take: given the position of the clicked line.
        chosen: the lines that are marked at first.
        options: more of Streamlit's.
    """

    def tell() -> None:
        rows = st.session_state[key].selection.rows
        if rows and rows[0] < len(table):
            take(rows[0])

    with _choosing(key):
        show(
            table,
            key,
            _HOW_TO_CHOOSE,
            on_select=tell,
            selection_mode="single-row",
            selection_default={"selection": {"rows": list(chosen)}} if chosen else None,
            **options,
        )


def _choosing(key: str) -> DeltaGenerator:
    """Around a table of which a line is chosen: the browser knows it by its key (``access``)."""
    return st.container(key=f"choose_{key}", gap=None)


def spaced(
    table: pd.DataFrame | pa.Table, column_config: Mapping[str, Any] | None = None
) -> pd.DataFrame | pa.Table | Styler:
    """The table with its whole numbers written as everywhere, ``26 847``; they sort, and are saved, as numbers.

    A column that is given a format of its own, by Streamlit's ``column_config``, keeps it.
    """
    from pandas.api.types import is_bool_dtype, is_float_dtype, is_integer_dtype

    n_rows, n_columns = table.shape
    if n_rows * n_columns > _MOST_CELLS or n_columns > _MOST_COLUMNS:
        return table
    frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    large = [
        name
        for name, column in frame.items()
        if is_integer_dtype(column)
        and not is_bool_dtype(column)
        and name not in _IDENTIFIERS
        and column.abs().max() >= _SPACED_FROM
    ]
    if not large or not frame.columns.is_unique or not frame.index.is_unique:
        return table
    texts = []
    for place, (name, column) in enumerate(frame.items()):
        write = wording.count if name in large else _fraction
        is_written = name in large or (is_float_dtype(column) and not paper.format_of(column_config, name))
        for row, (value, is_missing) in enumerate(zip(column, column.isna(), strict=True)):
            if is_missing:
                texts.append((row, place, ""))
            elif is_written:
                texts.append((row, place, write(value)))
    return _written_otherwise(frame, texts)


def _written_otherwise(frame: pd.DataFrame, texts: Sequence[tuple[int, int, str]]) -> Styler:
    """A table of which some cells, at row and column, are shown as a text.

    Streamlit asks a Styler, at every rerun, for all cells as they would stand in a page of HTML (``_compute``,
    ``_translate``), makes texts of the table (``astype``) and puts those of the cells in. That takes several times what
    is left of the table: it gets the texts as they were made once, and no cell to put in.
    """
    shown = frame.astype(str)
    for column in {column for _, column, _ in texts}:
        rows, written = zip(*((row, text) for row, at, text in texts if at == column), strict=True)
        shown.iloc[list(rows), column] = list(written)
    table = _Shown(frame)
    table.shown = shown
    styler = table.style
    styler._compute = lambda: styler
    styler._translate = lambda *_: {"body": []}
    return styler


class _Shown(pd.DataFrame):
    """A table whose texts are made already."""

    _metadata: ClassVar[list[str]] = ["shown"]
    shown: pd.DataFrame

    def astype(self, dtype: Any, *args: Any, **options: Any) -> pd.DataFrame:
        """As of any table; as texts, those that are shown."""
        return self.shown if dtype is str else super().astype(dtype, *args, **options)


def _fraction(value: float) -> str:
    """As the browser writes a number without a format of its own."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def height(n_rows: int, most: int, row_pixels: int = ROW_PIXELS) -> int:
    """Pixels of a table that shows all its lines, or as many as there is room for."""
    return min(most, _HEAD_PIXELS + row_pixels * max(1, n_rows))


def arrow(table: pd.DataFrame) -> pa.Table:
    """The table in the form that travels, to be kept: converted once, not at every rerun."""
    import pyarrow as pa

    return pa.Table.from_pandas(table, preserve_index=False)
