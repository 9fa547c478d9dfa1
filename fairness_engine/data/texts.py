"""The texts of a table's column, with the outcomes of its label: what a model that takes strings is assessed on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.data.encoding import encode_column
from fairness_engine.data.label import favourable_class, find_outcome, say_label
from fairness_engine.data.schema import Kind, Schema
from fairness_engine.data.table import Table
from fairness_engine.errors import DataError, SchemaError

UNKNOWN = -1
"""In ``Texts.labels``: the cell is missing or no outcome."""


@dataclass(frozen=True)
class Texts:
    """The texts of a column. Other columns do not matter: no row is left out for what they hold.

    Args:
        column: its name.
        texts: as the file has them, spaces at the ends removed ``(n_texts,)``.
        labels: index into ``classes`` ``(n_texts,)``, -1 where the label is not known; ``None`` without a label.
        classes: what people read for each outcome.
        favourable_class: index into ``classes``, or ``None``.
        kept: position of each text in the table ``(n_texts,)``.
        n_empty: rows without a text, which are left out.
        problems: one sentence each.
    """

    column: str
    texts: tuple[str, ...]
    labels: IntArray | None
    classes: tuple[str, ...]
    favourable_class: int | None
    kept: IntArray
    n_empty: int
    problems: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


def make_texts(table: Table, schema: Schema, column: str) -> Texts:
    """The texts of a column of the table.

    Raises:
        SchemaError: the schema has no column of texts of this name.
        DataError: the table has no such column, it holds no text, or the label is no label.
    """
    if not schema.is_text(column):
        known = [each.name for each in schema.columns if each.kind is Kind.TEXT]
        said = f"the texts are in: {', '.join(known[:12])}" if known else "no column is of type text"
        raise SchemaError(f"'{column}' must be a column of type text, but {said}. Choose its type under Data.")
    cells = table.cells(column)
    kept = np.flatnonzero(cells.index >= 0)
    if not len(kept):
        raise DataError(
            f"The text column '{column}' of '{table.name}' must hold texts, but is empty in all {table.n_rows:,} rows. "
            "Choose another column."
        )
    n_empty = table.n_rows - len(kept)
    texts = tuple(cells.texts[cells.index[kept]].tolist())
    said_empty = (
        [f"{n_empty:,} of {table.n_rows:,} rows have no text in '{column}' and are left out."] if n_empty else []
    )
    labels, classes, favourable, said_label = _outcomes(table, schema, kept)
    problems = (*table.problems, *said_empty, *said_label)
    return Texts(column, texts, labels, classes, favourable, kept, n_empty, problems)


def _outcomes(
    table: Table, schema: Schema, kept: IntArray
) -> tuple[IntArray | None, tuple[str, ...], int | None, list[str]]:
    """The label of each kept row, its classes, the favourable one, and what is odd about them."""
    outcome = find_outcome(table, schema)
    if outcome is None:
        return None, (), None, []
    encoded, tally = encode_column(table, outcome)
    is_known = encoded.state[kept] == 0
    if not is_known.any():
        raise DataError(
            f"The label '{outcome.name}' must hold an outcome beside at least one text, got none. "
            f"{tally.problem or ''}".rstrip()
        )
    labels = np.where(is_known, np.nan_to_num(encoded.content[kept], nan=UNKNOWN), UNKNOWN).astype(np.int64)
    favourable = favourable_class(outcome, schema.favourable)
    n_unknown = int((~is_known).sum())
    said = say_label(outcome, schema, labels[is_known], favourable)
    if n_unknown:
        said.append(
            f"{n_unknown:,} texts have no known outcome in '{outcome.name}': they are looked at, but not counted in "
            "the accuracy."
        )
    return labels, outcome.labels, favourable, said
