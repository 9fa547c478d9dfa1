"""From the texts of a column to values of the engine, with a sentence for every cell that is outside its domain.

Works on the distinct texts of a column and spreads the result over its rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.data.inference import is_missing
from fairness_engine.data.schema import Column, Kind
from fairness_engine.data.table import Cells, Table

MISSING = 1
WRONG = 2
"""States of a cell; 0 is a cell that can be used."""


@dataclass(frozen=True)
class EncodedColumn:
    """One column of a table.

    Args:
        content: the value of the engine in every row ``(n_rows,)``; NaN where the state is not 0.
        state: 0, ``MISSING`` or ``WRONG`` ``(n_rows,)``.
        problem: one sentence on the wrong cells.
    """

    content: FloatArray
    state: NDArray[np.int8]
    problem: str | None


@dataclass(frozen=True)
class Tally:
    """What of a column cannot be used.

    Args:
        name: of the column.
        n_missing: rows whose cell is missing.
        n_unknown: and those whose cell is outside the domain.
        problem: one sentence on these.
        spellings: rows by how the file writes a missing cell; empty text for the empty cell.
    """

    name: str
    n_missing: int
    n_unknown: int
    problem: str | None
    spellings: Mapping[str, int] = field(default_factory=dict)


def encode_column(table: Table, column: Column) -> tuple[EncodedColumn, Tally]:
    """Encode a column of the table as the schema describes it: positions of categories, or numbers."""
    cells = table.cells(column.name)
    content, missing, wrong = match_cells(cells, column)
    state_of_text = np.where(wrong, WRONG, np.where(missing, MISSING, 0))
    is_category = "" in column.codes
    # One more entry at the end, for index -1: the empty cell.
    state = np.append(state_of_text, 0 if is_category else MISSING).astype(np.int8)[cells.index]
    problem = _say_wrong(table, column, cells, wrong)
    of_empty = column.codes.index("") if is_category else np.nan
    content = np.append(np.where(state_of_text == 0, content, np.nan), of_empty)
    encoded = EncodedColumn(content[cells.index], state, problem)
    spelled = zip(cells.texts[missing].tolist(), cells.counts[missing].tolist(), strict=True)
    spellings = ({"": cells.n_empty} if cells.n_empty and not is_category else {}) | dict(spelled)
    n_missing = sum(spellings.values())
    n_unknown = n_missing + int(cells.counts[wrong].sum())
    return encoded, Tally(column.name, n_missing, n_unknown, problem, spellings)


def match_cells(cells: Cells, column: Column) -> tuple[FloatArray, BoolArray, BoolArray]:
    """The value of the engine of every distinct text, which texts are missing, and which lie outside the domain."""
    return positions_of(cells, column) if column.kind is Kind.CATEGORICAL else _numbers(cells, column)


def positions_of(cells: Cells, column: Column) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Position of the category of every distinct text, which texts are missing, and which no category.

    Codes that are numbers match ``1``, ``1.0`` and ``01`` alike.
    """
    as_number = has_number_codes(column)
    if as_number:
        positions = pd.Index([float(code) for code in column.codes]).get_indexer(pd.Index(cells.numbers))
    else:
        texts = pd.Index([str(code) for code in column.codes], dtype=object)
        positions = texts.get_indexer(pd.Index(cells.texts, dtype=object))
    is_unseen = positions < 0
    missing = is_unseen & is_missing(cells, as_number=as_number, chosen=column.missing)
    return positions.astype(np.float64), missing, is_unseen & ~missing


def has_number_codes(column: Column) -> bool:
    """True when the file holds numbers for the categories of a column."""
    return not any(isinstance(code, str) for code in column.codes)


def _numbers(cells: Cells, column: Column) -> tuple[FloatArray, BoolArray, BoolArray]:
    numbers = cells.numbers
    missing = is_missing(cells, as_number=True, chosen=column.missing)
    with np.errstate(invalid="ignore"):
        fits = (numbers >= column.low) & (numbers <= column.high)
        if column.kind is Kind.INTEGER:
            fits &= numbers == np.floor(numbers)
    fits &= ~missing
    return np.where(fits, numbers, np.nan), missing, ~fits & ~missing


def _say_wrong(table: Table, column: Column, cells: Cells, wrong: BoolArray) -> str | None:
    """One sentence on the cells of a column that are not in its domain, with the first of them."""
    if not wrong.any():
        return None
    n_rows = int(cells.counts[wrong].sum())
    position = int(np.argmax(wrong))
    where = f"got '{_shorten(cells.texts[position])}' in {table.place(cells.first_row(position))}"
    left_out = f"{n_rows} {'row is' if n_rows == 1 else 'rows are'} left out"
    must, remedy = _rule_and_remedy(column, float(cells.numbers[position]))
    return f"Column '{column.name}' must {must}, {where}; {left_out}. {remedy}."


def _rule_and_remedy(column: Column, number: float) -> tuple[str, str]:
    if column.kind is Kind.CATEGORICAL:
        codes = ", ".join(_shorten(str(code)) for code in column.codes[:6]) + (", ..." if len(column.codes) > 6 else "")
        return f"hold one of its categories ({codes})", "Add the category to the column, or correct the cells"
    whole = column.kind is Kind.INTEGER
    what = "whole numbers" if whole else "numbers"
    if not np.isfinite(number):
        what = "finite numbers" if np.isinf(number) else what
        return f"hold {what}", "Fix the cells, or choose 'categorical' as its type"
    if whole and number != np.floor(number):
        return f"hold {what}", "Choose 'real' as its type, or correct the cells"
    return f"lie from {column.low:.15g} to {column.high:.15g}", "Widen the column's range, or correct the cells"


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
