"""Corrections of a schema: another kind, another label, another text for a code. Each gives a new schema."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairness_engine.data.inference import (
    MAX_CATEGORIES,
    MAX_CLASSES,
    category_column,
    is_missing,
    missing_texts,
    number_column,
    with_label,
)
from fairness_engine.data.label import find_outcome
from fairness_engine.data.links.reading import still_there
from fairness_engine.data.schema import EMPTY, Column, Kind, Schema, Value
from fairness_engine.data.table import Cells, Table
from fairness_engine.errors import MAX_LISTED, DataError, SchemaError, cut


def change_kind(table: Table, schema: Schema, name: str, kind: Kind) -> Schema:
    """The schema with another kind for one column, its domain taken from the data.

    Raises:
        SchemaError: the cells of the column cannot be of that kind; says which and where.
        DataError: the table has no such column.
    """
    if name == schema.label and kind is not Kind.CATEGORICAL:
        raise SchemaError(f"'{name}' is the label, which must be categorical, got {kind}. Choose another label first.")
    old = find_column(schema, name)
    chosen = old.missing if old is not None else ()
    if kind is Kind.IGNORED and old is not None:
        column = left_out(old)
    elif old is not None and old.was is kind:
        column = taken_back(old)
    elif kind is Kind.CATEGORICAL:
        remedy = f"Choose 'text' or 'ignored' as the type of '{name}'"
        column = category_column(name, table.cells(name), MAX_CATEGORIES, remedy, chosen)
    elif kind in (Kind.INTEGER, Kind.REAL):
        column = _number_column(table, name, kind, chosen)
    else:
        table.cells(name)  # refuses a column that is not there
        column = Column(name, kind, missing=chosen)
    is_used = column.kind is not Kind.IGNORED and schema.case_id == name
    return replace_column(replace(schema, case_id=None) if is_used else schema, column)


def find_column(schema: Schema, name: str) -> Column | None:
    """The schema's column of that name, whatever its kind."""
    return schema.by_name.get(name)


def left_out(column: Column) -> Column:
    """A column as ignored, with what it was kept in it."""
    return column if column.kind is Kind.IGNORED else replace(column, kind=Kind.IGNORED, was=column.kind)


def taken_back(column: Column) -> Column:
    """An ignored column as what it was, with its codes, labels and range; as it is when it was nothing else."""
    return column if column.was is None else replace(column, kind=column.was, was=None)


def set_case_id(table: Table, schema: Schema, name: str | None) -> Schema:
    """The schema with another column that names the cases, or none; that column is no input.

    Raises:
        DataError: the table has no such column.
        SchemaError: it is the label, or the only input.
    """
    if name is None:
        return replace(schema, case_id=None)
    table.cells(name)
    if name == schema.label:
        raise SchemaError(f"'{name}' is the label and cannot name the cases. Choose another column as the id.")
    known = find_column(schema, name) or Column(name, Kind.IGNORED)
    return replace(replace_column(replace(schema, case_id=None), left_out(known)), case_id=name)


def _number_column(table: Table, name: str, kind: Kind, chosen: tuple[str, ...]) -> Column:
    cells = table.cells(name)
    is_absent = is_missing(cells, as_number=True, chosen=chosen)
    is_number = np.isfinite(cells.numbers) & ~is_absent
    fraction = (
        is_number & (cells.numbers != np.floor(cells.numbers)) if kind is Kind.INTEGER else np.zeros_like(is_number)
    )
    wrong = ~is_absent & ~is_number
    n_wrong = int(cells.counts[wrong].sum())
    n_right = int(cells.counts[is_number].sum())
    if fraction.any() or n_wrong > n_right or n_right == 0:
        what = "whole numbers" if kind is Kind.INTEGER else "numbers"
        got = _first(table, cells, fraction if fraction.any() else wrong)
        raise SchemaError(
            f"Column '{name}' must hold {what} to be of type {kind}, got {got}. Choose another type, or correct the "
            "cells."
        )
    missing = missing_texts(cells, as_number=True, chosen=chosen)
    return replace(number_column(name, kind, cells.numbers[is_number]), missing=missing)


def _first(table: Table, cells: Cells, which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> str:
    if not which.any():
        return "empty cells only"
    position = int(np.argmax(which))
    return f"'{cells.texts[position][:40]}' in {table.place(cells.first_row(position))}"


def replace_column(schema: Schema, column: Column) -> Schema:
    """The schema with another description of one column; it stops being protected if it is no input any more, and links
    keep what can still be.
    """
    known = any(old.name == column.name for old in schema.columns)
    columns = tuple(column if old.name == column.name else old for old in schema.columns)
    protected = tuple(name for name in schema.protected if name != column.name or column.is_input)
    changed = replace(schema, columns=columns if known else (*columns, column), protected=protected)
    return replace(changed, links=still_there(schema.links, changed))


def change_label(table: Table, schema: Schema, name: str | None) -> Schema:
    """The schema with another label column, or none; the favourable outcome is guessed anew.

    Raises:
        SchemaError: the column holds more outcomes than a label can.
        DataError: the table has no such column.
    """
    protected = tuple(old for old in schema.protected if old != name)
    if name is None:
        changed = replace(schema, label=None, favourable=None, protected=protected)
        return replace(changed, links=still_there(schema.links, changed))
    remedy = f"Choose another column than '{name}' as label, or cut it into a few classes"
    known = find_column(schema, name)
    chosen = known.missing if known is not None else ()
    column = category_column(name, table.cells(name), MAX_CLASSES, remedy, chosen)
    if known is not None and taken_back(known).is_input and set(known.codes) == set(column.codes):
        column = taken_back(known)
    case_id = None if schema.case_id == name else schema.case_id
    without = replace(schema, label=None, protected=protected, case_id=case_id)
    changed = with_label(replace_column(without, column), name)
    return replace(changed, links=still_there(schema.links, changed))


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


def add_category(schema: Schema, name: str, text: str) -> Schema:
    """The schema with one more category in a column's domain: a code as the file has it, which is its label too.

    Where the codes were in order, they still are.

    Raises:
        SchemaError: no such categorical column, the text is empty or a category already, or no number among codes that
            are.
    """
    column = _categorical(schema, name)
    text = text.strip()
    code: Value = text
    if not any(isinstance(known, str) for known in column.codes):
        code = _as_code(text, name)
    if not text or code in column.codes or text in column.labels:
        what = f"is '{text}' already" if text else "must not be empty"
        raise SchemaError(f"A new category of '{name}' must not be there yet, but it {what}. Type another.")
    return replace_column(schema, _with_category(column, code, text))


def take_empty_cells(schema: Schema, name: str) -> Schema:
    """The schema with the empty cells of a column of texts as one more of its categories.

    Raises:
        SchemaError: no such column, or a category is called as that one would be.
    """
    column = _categorical(schema, name)
    if EMPTY in column.labels:
        raise SchemaError(f"A category of '{name}' is called '{EMPTY}' already. Give it another label.")
    return replace_column(schema, _with_category(column, "", EMPTY))


def _with_category(column: Column, code: Value, label: str) -> Column:
    pairs = [*zip(column.codes, column.labels, strict=True), (code, label)]
    if list(column.codes) == sorted(column.codes, key=_in_order):
        pairs.sort(key=lambda pair: _in_order(pair[0]))
    codes, labels = zip(*pairs, strict=True)
    missing = tuple(spelling for spelling in column.missing if spelling != label)
    return replace(column, codes=codes, labels=labels, missing=missing)


def remove_category(schema: Schema, name: str, code: Value) -> Schema:
    """The schema without one category of a column: rows that hold it are left out, and no variant or search takes it.

    Raises:
        SchemaError: no such categorical column or code, or it is the last one.
    """
    column = _categorical(schema, name)
    if code not in column.codes or len(column.codes) == 1:
        what = "is the only one" if code in column.codes else "is none"
        raise SchemaError(f"A category of '{name}' can be removed while another stays, but {code!r} {what}.")
    pairs = [pair for pair in zip(column.codes, column.labels, strict=True) if pair[0] != code]
    codes, labels = zip(*pairs, strict=True)
    favourable = None if name == schema.label and schema.favourable == code else schema.favourable
    return replace_column(replace(schema, favourable=favourable), replace(column, codes=codes, labels=labels))


def order_outcomes(table: Table, schema: Schema, outcomes: Sequence[str]) -> Schema:
    """The schema with the outcomes of its label, as people read them, in another order: that of a model's classes.

    Raises:
        SchemaError: not its outcomes, each once, or there is no label.
        DataError: the label cannot be used.
    """
    column = find_outcome(table, schema)
    known = () if column is None else column.labels
    if column is None or sorted(outcomes) != sorted(known):
        raise SchemaError(
            f"The order of a model's classes must name each of the label's {len(known)} outcomes once, got "
            f"{', '.join(repr(outcome) for outcome in outcomes)[:120]}. Choose them again."
        )
    codes = tuple(column.codes[known.index(outcome)] for outcome in outcomes)
    return replace_column(schema, replace(column, codes=codes, labels=tuple(outcomes)))


def _categorical(schema: Schema, name: str) -> Column:
    column = find_column(schema, name)
    if column is None or column.kind is not Kind.CATEGORICAL:
        raise SchemaError(
            f"'{name}' must be a categorical column to have categories, and is not. Change its type first."
        )
    return column


def _in_order(code: Value) -> tuple[float, str]:
    return (0.0, code) if isinstance(code, str) else (float(code), "")


def _as_code(text: str, name: str) -> Value:
    for read in (int, float):
        try:
            code = read(text)
            if math.isfinite(code):
                return code
        except (ValueError, OverflowError):
            continue
    raise SchemaError(f"The categories of '{name}' are numbers in the file, so a new one must be, got '{cut(text)}'.")


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
        known = cut(", ".join(table.columns[:12]), MAX_LISTED)
        hint = f"Did you mean '{cut(near[0])}'?" if near else f"It has: {known}."
        others = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise DataError(
            f"'{table.name}' must have every column of the schema, but '{cut(missing[0])}'{others} is not in its "
            f"header. {hint}"
        )
