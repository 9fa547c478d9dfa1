"""How a file writes missing cells: what was found, what is only proposed, and a person's word on each spelling.

A spelling in ``Column.missing`` is neither a category nor a number of that column. What is sure is put there when a
schema is inferred; what may be a value (*unknown*, 999) is proposed and stays one until somebody says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.data.corrections import (
    add_category,
    find_column,
    remove_category,
    replace_column,
    take_empty_cells,
)
from fairness_engine.data.encoding import has_number_codes, match_cells, positions_of
from fairness_engine.data.inference import is_missing, may_be_missing
from fairness_engine.data.schema import Column, Kind, Schema, Value
from fairness_engine.data.table import Cells, Table
from fairness_engine.errors import SchemaError

WHERE_SAID = "under Treat as missing on the Data page, or by a category in the schema file"
"""Where a person says that a spelling of missing cells is a value; in brackets, in sentences."""


@dataclass(frozen=True)
class Spelling:
    """A text of a column that stands for a missing cell, or may.

    Args:
        column, text: where, and how the file has it; empty for the empty cells of a column of texts.
        n_rows: that hold it.
        is_missing: whether it counts as missing now.
        is_fixed: nothing else is possible, since it is no number in a column of numbers.
    """

    column: str
    text: str
    n_rows: int
    is_missing: bool
    is_fixed: bool


def find_spellings(table: Table, schema: Schema) -> list[Spelling]:
    """How the inputs and the label write missing cells, or may write them, in the table's order; empty cells are among
    them where they could be a category.
    """
    found = []
    for name in table.columns:
        column = find_column(schema, name)
        if column is None or not column.is_input:
            continue
        cells = table.cells(name)
        as_number = _is_number(column)
        _, missing, _ = match_cells(cells, column)
        listed = missing | may_be_missing(cells, as_number=as_number)
        if cells.n_empty and not as_number:
            found.append(Spelling(name, "", cells.n_empty, is_missing="" not in column.codes, is_fixed=False))
        found += [
            Spelling(
                name,
                str(cells.texts[i]),
                int(cells.counts[i]),
                is_missing=bool(missing[i]),
                is_fixed=bool(as_number and missing[i] and np.isnan(cells.numbers[i])),
            )
            for i in np.flatnonzero(listed)
        ]
    return found


def say_proposed(spellings: Iterable[Spelling]) -> list[str]:
    """One sentence for every spelling that may stand for a missing cell and does not."""
    return [
        f"'{each.text}' stands in {each.n_rows:,} rows of column '{each.column}' and counts as a value. If it means "
        "that the cell is missing, say so."
        for each in spellings
        if each.text and not each.is_missing
    ]


def set_missing(table: Table, schema: Schema, name: str, text: str, *, is_missing: bool) -> Schema:
    """The schema with a spelling of one column as missing, or as a value again; categories and range follow. An empty
    text stands for the empty cells.

    Raises:
        SchemaError: the column is no input and no label, or nothing would be left in it.
    """
    column = find_column(schema, name)
    if column is None or not column.is_input:
        raise SchemaError(f"'{name}' must be an input or the label to have missing cells, and is not. Change its role.")
    if not text:
        if is_missing == ("" not in column.codes):
            return schema
        return remove_category(schema, name, "") if is_missing else take_empty_cells(schema, name)
    if is_missing == (text in column.missing):
        return schema
    missing = tuple(sorted({*column.missing, text})) if is_missing else tuple(t for t in column.missing if t != text)
    schema = replace_column(schema, replace(column, missing=missing))
    column = replace(column, missing=missing)
    if column.kind is not Kind.CATEGORICAL:
        return replace_column(schema, _with_range_of(table.cells(name), column, text))
    code = _code_of(table.cells(name), column, text)
    if is_missing:
        return schema if code is None else remove_category(schema, name, code)
    return schema if code is not None else add_category(schema, name, text)


def mark_missing(table: Table, schema: Schema, texts: Sequence[str]) -> Schema:
    """The schema with spellings as missing in every input, and the label, that holds them.

    Raises:
        SchemaError: nothing would be left in a column.
    """
    for column in schema.columns:
        if column.is_input and column.name in table.columns:
            for text in set(texts) & set(table.cells(column.name).texts):
                schema = set_missing(table, schema, column.name, text, is_missing=True)
    return schema


def _code_of(cells: Cells, column: Column, text: str) -> Value | None:
    """The category that the file writes in this way: ``9`` and ``9.0`` are the code 9 where codes are numbers."""
    position = positions_of(replace(cells, texts=np.array([text], dtype=object), numbers=_number(cells, text)), column)[
        0
    ]
    return None if position[0] < 0 else column.codes[int(position[0])]


def _number(cells: Cells, text: str) -> FloatArray:
    number = cells.numbers[cells.texts == text]
    return number if len(number) else np.array([np.nan])


def _is_number(column: Column) -> bool:
    return column.kind is not Kind.CATEGORICAL or has_number_codes(column)


def _with_range_of(cells: Cells, column: Column, text: str) -> Column:
    """The column with a range that ends at the data's again where it ended at the spelling, or that takes it in."""
    number = float(_number(cells, text)[0])
    if not np.isfinite(number):
        return column
    if text not in column.missing:
        return replace(column, minimum=min(column.low, number), maximum=max(column.high, number))
    left = cells.numbers[np.isfinite(cells.numbers) & ~is_missing(cells, as_number=True, chosen=column.missing)]
    if not len(left):
        raise SchemaError(
            f"Column '{column.name}' must keep a number, but holds '{text}' only. Choose 'ignored' as its type."
        )
    low = float(left.min()) if number <= column.low else column.minimum
    high = float(left.max()) if number >= column.high else column.maximum
    return replace(column, minimum=low, maximum=high)
