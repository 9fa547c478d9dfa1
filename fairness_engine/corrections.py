"""Corrections of a schema: another kind, another label, another text for a code. Each gives a new schema."""

from __future__ import annotations

import difflib
from dataclasses import replace

import numpy as np

from fairness_engine.errors import DataError, SchemaError
from fairness_engine.infer import with_label
from fairness_engine.kinds import MAX_CATEGORIES, MAX_CLASSES, category_column, is_slip, number_column
from fairness_engine.schema import Column, Kind, Schema, Value
from fairness_engine.table import Cells, Table


def change_kind(table: Table, schema: Schema, name: str, kind: Kind) -> Schema:
    """The schema with another kind for one column, its domain taken from the data.

    Raises:
        SchemaError: the cells of the column cannot be of that kind; says which and where.
        DataError: the table has no such column.
    """
    if name == schema.label and kind is not Kind.CATEGORICAL:
        raise SchemaError(f"'{name}' is the label, which must be categorical, got {kind}. Choose another label first.")
    cells = table.cells(name)
    column = Column(name, Kind.TEXT)
    if kind is Kind.CATEGORICAL:
        remedy = f"Choose 'text' or 'ignored' as the type of '{name}'"
        column = category_column(name, cells, MAX_CATEGORIES, remedy)
    elif kind in (Kind.INTEGER, Kind.REAL):
        column = _number_column(table, name, kind)
    return replace_column(schema, column if column.is_input else replace(column, kind=kind))


def _number_column(table: Table, name: str, kind: Kind) -> Column:
    cells = table.cells(name)
    is_number = np.isfinite(cells.numbers)
    fraction = (
        is_number & (cells.numbers != np.floor(cells.numbers)) if kind is Kind.INTEGER else np.zeros_like(is_number)
    )
    wrong = is_slip(cells) | np.isinf(cells.numbers)
    n_wrong, n_right = int(cells.counts[wrong].sum()), int(cells.counts[is_number].sum())
    if fraction.any() or n_wrong > n_right or n_right == 0:
        what = "whole numbers" if kind is Kind.INTEGER else "numbers"
        got = _first(table, cells, fraction if fraction.any() else wrong)
        raise SchemaError(
            f"Column '{name}' must hold {what} to be of type {kind}, got {got}. Choose another type, or correct the cells."
        )
    return number_column(name, kind, cells.numbers[is_number])


def _first(table: Table, cells: Cells, which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> str:
    if not which.any():
        return "empty cells only"
    position = int(np.argmax(which))
    return f"'{cells.texts[position][:40]}' in line {table.line(cells.first_row(position))}"


def replace_column(schema: Schema, column: Column) -> Schema:
    """The schema with another description of one column; it stops being protected if it is no input any more."""
    known = any(old.name == column.name for old in schema.columns)
    columns = tuple(column if old.name == column.name else old for old in schema.columns)
    protected = tuple(name for name in schema.protected if name != column.name or column.is_input)
    return replace(schema, columns=columns if known else (*columns, column), protected=protected)


def change_label(table: Table, schema: Schema, name: str | None) -> Schema:
    """The schema with another label column, or none; the favourable outcome is guessed anew.

    Raises:
        SchemaError: the column holds more outcomes than a label can.
        DataError: the table has no such column.
    """
    protected = tuple(old for old in schema.protected if old != name)
    if name is None:
        return replace(schema, label=None, favourable=None, protected=protected)
    remedy = f"Choose another column than '{name}' as label, or cut it into a few classes"
    column = category_column(name, table.cells(name), MAX_CLASSES, remedy)
    old = next(
        (known for known in schema.columns if known.name == name and set(known.codes) == set(column.codes)), column
    )
    return with_label(replace_column(replace(schema, label=None, protected=protected), old), name)


def rename_label_text(schema: Schema, column: str, code: Value, label: str) -> Schema:
    """The schema with another human label for one code of a categorical column.

    Raises:
        SchemaError: no such categorical column or code, or the label is empty or taken.
    """
    old = next((known for known in schema.columns if known.name == column), None)
    if old is None or code not in old.codes:
        raise SchemaError(
            f"Column '{column}' must have the code {code!r} for it to be renamed, and has not. Check the spelling."
        )
    if not label.strip():
        raise SchemaError(
            f"The label of code {code!r} in column '{column}' must not be empty. Type what people should read."
        )
    labels = tuple(label.strip() if known == code else text for known, text in zip(old.codes, old.labels, strict=True))
    return replace_column(schema, replace(old, labels=labels))


def check_columns(table: Table, schema: Schema) -> None:
    """Refuse a schema that speaks of a column which the file does not have.

    Raises:
        DataError: names the column, and the nearest one of the file.
    """
    needed = [column.name for column in schema.columns if column.is_input]
    needed += [schema.label] if schema.label is not None else []
    present = set(table.columns)
    missing = [name for name in needed if name not in present]
    if missing:
        near = difflib.get_close_matches(missing[0], table.columns, n=1)
        hint = f"Did you mean '{near[0]}'?" if near else f"It has: {', '.join(table.columns[:12])}."
        others = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise DataError(
            f"'{table.name}' must have every column of the schema, but '{missing[0]}'{others} is not in its header. {hint}"
        )
