"""Decisions that a column of the data holds: the label's, or predictions that somebody wrote beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairness_engine.data.schema import Column, Schema
from fairness_engine.errors import SettingError

if TYPE_CHECKING:
    from fairness_engine.data.dataset import Dataset
    from fairness_engine.data.table import Cells, Table


class Source(StrEnum):
    """Whose decisions are compared: the model's, or what a column of the data holds."""

    MODEL = "model"
    LABELS = "labels"


@dataclass(frozen=True)
class RecordedDecisions:
    """What a column says of the rows of a data set.

    Args:
        favourable: whether it decides for the person ``(n_rows,)``; false where it says nothing.
        is_known: whether it says anything ``(n_rows,)``.
        column: its name.
    """

    favourable: NDArray[np.bool_]
    is_known: NDArray[np.bool_]
    column: str


def recorded_labels(dataset: Dataset) -> RecordedDecisions:
    """What the label says.

    Raises:
        SettingError: the data has no label, or nobody said which of its outcomes is favourable.
    """
    schema = dataset.schema
    if dataset.labels is None or schema.label is None:
        raise SettingError(
            "Groups without a model are compared by a column of outcomes, but the data has no label. "
            "Name the label in the schema, or a column of predictions."
        )
    if dataset.favourable_class is None:
        shown = ", ".join(f"'{name}'" for name in dataset.classes[:6])
        raise SettingError(
            f"One outcome of '{schema.label}' ({shown}) must be the favourable one, got none. Choose it in the schema."
        )
    return RecordedDecisions(
        dataset.labels == dataset.favourable_class, np.ones(len(dataset.rows), dtype=bool), schema.label
    )


def recorded_predictions(table: Table, dataset: Dataset, name: str) -> RecordedDecisions:
    """What a column of predictions says; its cells are outcomes of the label, as the file or as people write them.

    Args:
        table: that the data set was made of.
        dataset: the rows that count.
        name: of the column; it need not be part of the schema.

    Raises:
        SettingError: a cell is no outcome, or nobody said which outcome is favourable.
        DataError: the table has no such column.
    """
    from fairness_engine.data.label import favourable_class, find_outcome  # a worker, which reads no table, loads none

    cells = table.cells(name)
    schema = dataset.schema
    outcome = find_outcome(table, schema if schema.label is not None else _with_label(schema, name))
    favourable = None if outcome is None else favourable_class(outcome, schema.favourable)
    if outcome is None or favourable is None:
        shown = ", ".join(f"'{text}'" for text in cells.texts[:6])
        raise SettingError(
            f"One outcome of '{name}' ({shown}) must be the favourable one, got none. Choose it as 'favourable' in "
            "the schema."
        )
    position, is_wrong = _outcomes(cells, outcome)
    if is_wrong.any():
        i = int(np.argmax(is_wrong))
        shown = ", ".join(f"'{code}'" for code in outcome.codes[:6])
        raise SettingError(
            f"The predictions in '{name}' must be outcomes like those of '{outcome.name}' ({shown}), got "
            f"'{cells.texts[i][:40]}' in {table.place(cells.first_row(i))}. Name another column, or turn scores "
            "into outcomes."
        )
    says = np.append(position, -1)[cells.index][dataset.kept]  # the last one is the empty cell, of index -1
    return RecordedDecisions(says == favourable, says >= 0, name)


def _with_label(schema: Schema, name: str) -> Schema:
    """The schema with the column as its label."""
    protected = tuple(each for each in schema.protected if each != name)
    columns = tuple(column for column in schema.columns if column.name != name)
    return replace(schema, columns=columns, protected=protected, label=name, links=())


def _outcomes(cells: Cells, outcome: Column) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The outcome that each distinct text is, -1 for none ``(n_distinct,)``, and which texts should have been one."""
    from fairness_engine.data.encoding import positions_of

    by_code, _, wrong = positions_of(cells, outcome)
    as_people_read = replace(outcome, codes=outcome.labels)
    by_label, _, _ = positions_of(cells, as_people_read)
    position = np.where(by_code >= 0, by_code, by_label)
    return position, (position < 0) & wrong


def say_unknown(column: str, is_known: NDArray[np.bool_]) -> str:
    """That some rows have no outcome in a column; empty where all have one.

    Args:
        column: that decides.
        is_known: whether it holds an outcome ``(n_rows,)``.
    """
    n = int((~is_known).sum())
    if n == 1:
        return f"1 row holds no outcome in '{column}' and is left out."
    return f"{n:,} rows hold no outcome in '{column}' and are left out." if n else ""
