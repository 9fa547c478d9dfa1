"""A first description of a table: what each column holds, which one is the label, what the favourable outcome is.

Every guess is made to be corrected: ``change_kind``, ``change_label``, ``rename_label_text`` and ``replace_column`` give the corrected schema.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairness_engine.errors import DataError, SchemaError
from fairness_engine.number_text import MISSING_IN_NUMBERS
from fairness_engine.schema import Column, Kind, Schema, Value
from fairness_engine.table import Cells, Table

MAX_CATEGORIES = 1_000
MAX_CLASSES = 50

_MISSING_CATEGORY = "?"
_EXACT_INTEGERS = 2.0**53
_LABEL_NAMES = (
    *("label", "target", "class", "outcome", "decision", "y", "income", "credit_risk", "approved", "hired", "admitted"),
    *("two_year_recid", "default", "result", "credit", "accepted", "loan_status", "pass_bar"),
)
_GOOD = (
    *(
        ">50k",
        "yes",
        "good",
        "approved",
        "approve",
        "accepted",
        "accept",
        "granted",
        "hired",
        "admitted",
        "passed",
        "pass",
        "paid",
    ),
    *("fully paid", "nontoxic", "low", "absent", "healthy", "positive", "true", "y", "high", "1"),
)
_GOOD_WHEN_LABEL_IS_BAD = ("no", "absent", "low", "none", "false", "good", "nontoxic", "negative", "n", "0")
_BAD_LABEL = re.compile(
    r"recid|default|fraud|crime|disease|death|died|churn|arrest|reject|denied|toxic|violen|attrition|bankrupt|late",
    re.IGNORECASE,
)
_ID_NAME = re.compile(r"(^|[_\W])(id|ids|uuid|guid|index|key|nr|no|number|row|rownum|ssn)$|^column 1$|Id$|ID$")
_PROTECTED = (
    re.compile(r"^(sex|gender|female|male)$"),
    re.compile(r"^(race|racial|racepct.*|ethnic.*)$"),
    re.compile(r"^(age|ages|birth.*)$"),
    re.compile(
        r"^(religion|faith|disab.*|handicap.*|nation.*|country|foreign.*|marital|marriage|pregnan.*|orientation)$"
    ),
)


def infer_schema(table: Table) -> Schema:
    """Describe every column of a table from its cells alone.

    The kinds: whole numbers are *integer* (with two values only: *categorical*), other numbers *real*, a limited number of
    texts *categorical*, free text *text*; constants, empty columns and row numbers are *ignored*. Ranges are the data's.

    Raises:
        SchemaError: no column is left that a model could take.
    """
    columns = [_infer_column(name, table.cells(name)) for name in table.columns]
    label = _guess_label(table, columns)
    if label is not None:
        columns = [_as_classes(table, column) if column.name == label else column for column in columns]
    return _with_label(tuple(columns), label)


def suggest_protected(schema: Schema) -> tuple[str, ...]:
    """Inputs whose names speak of an attribute that law commonly protects; sex first, then race, then age, then others."""
    ranked = [(_protected_rank(name), position, name) for position, name in enumerate(schema.names)]
    return tuple(name for rank, _, name in sorted(ranked) if rank < len(_PROTECTED))


def change_kind(table: Table, schema: Schema, name: str, kind: Kind) -> Schema:
    """The schema with another kind for one column, its domain taken from the data.

    Raises:
        SchemaError: the cells of the column cannot be of that kind; says which and where.
        DataError: the table has no such column.
    """
    column = _make_column(table, name, kind)
    if name == schema.label and kind is not Kind.CATEGORICAL:
        raise SchemaError(f"'{name}' is the label, which must be categorical, got {kind}. Choose another label first.")
    return replace_column(schema, column)


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
    without = replace(schema, label=None, favourable=None, protected=protected)
    if name is None:
        return without
    column = _as_classes(table, Column(name, Kind.TEXT))
    columns = replace_column(without, column).columns
    return replace(_with_label(columns, name), protected=protected, model_input=schema.model_input)


def rename_label_text(schema: Schema, column: str, code: Value, label: str) -> Schema:
    """The schema with another human label for one code of a categorical column.

    Raises:
        SchemaError: no such categorical column or code, or the label is taken.
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


# --- one column ---------------------------------------------------------------------------


def is_missing(cells: Cells, *, as_number: bool) -> NDArray[np.bool_]:
    """Which texts stand for an empty cell ``(n_distinct,)``: ``?``, and in a column of numbers also ``NA``, ``None``, ..."""
    if as_number:
        return np.array([text.lower() in MISSING_IN_NUMBERS for text in cells.texts], dtype=bool)
    return np.asarray(cells.texts == _MISSING_CATEGORY, dtype=bool)


def _infer_column(name: str, cells: Cells) -> Column:
    if _is_numeric(cells):
        return _infer_number(name, cells)
    return _infer_text(name, cells)


def _is_numeric(cells: Cells) -> bool:
    """Numbers throughout, or but for a few slips that contain no digit or stand among many numbers."""
    is_number = np.isfinite(cells.numbers)
    if not is_number.any() or _has_leading_zeros(cells, is_number):
        return False
    is_bad = np.isnan(cells.numbers) & ~is_missing(cells, as_number=True)
    if not is_bad.any():
        return True
    n_bad, n_numbers = int(is_bad.sum()), int(is_number.sum())
    is_slip = n_numbers >= 8 * n_bad and cells.counts[is_bad].sum() <= 0.1 * cells.counts.sum()
    has_digit = any(any(sign.isdigit() for sign in text) for text in cells.texts[is_bad][:100])
    return bool(is_slip and (not has_digit or n_numbers > MAX_CLASSES))


def _has_leading_zeros(cells: Cells, is_number: NDArray[np.bool_]) -> bool:
    """Codes such as ``007`` or ``04109``: digits, and a zero in front that a number would lose."""
    return any(len(text) > 1 and text[0] == "0" and text.isdigit() for text in cells.texts[is_number])


def _infer_number(name: str, cells: Cells) -> Column:
    numbers = cells.numbers[np.isfinite(cells.numbers)]
    distinct = np.unique(numbers)
    if len(distinct) == 1:
        return Column(name, Kind.IGNORED)
    if not _are_whole(distinct):
        return _number_column(name, Kind.REAL, distinct)
    if len(distinct) == 2:
        return _coded_column(name, distinct)
    is_unique = len(cells.texts) == len(cells.index) == len(distinct) and len(distinct) > 2
    if is_unique and (_ID_NAME.search(name) or (len(distinct) >= 10 and (np.diff(numbers) > 0).all())):
        return Column(name, Kind.IGNORED)
    return _number_column(name, Kind.INTEGER, distinct)


def _are_whole(numbers: NDArray[np.float64]) -> bool:
    return bool((numbers == np.floor(numbers)).all() and np.abs(numbers).max() <= _EXACT_INTEGERS)


def _number_column(name: str, kind: Kind, distinct: NDArray[np.float64]) -> Column:
    return Column(name, kind, minimum=float(distinct[0]), maximum=float(distinct[-1]))


def _coded_column(name: str, distinct: NDArray[np.float64]) -> Column:
    codes = tuple(int(number) if number == int(number) else float(number) for number in distinct)
    return Column(name, Kind.CATEGORICAL, codes=codes, labels=tuple(str(code) for code in codes))


def _infer_text(name: str, cells: Cells) -> Column:
    texts = cells.texts[~is_missing(cells, as_number=False)]
    n_rows, n_texts = int(cells.counts.sum()), len(texts)
    if n_texts <= 1:
        return Column(name, Kind.IGNORED)
    is_few = n_texts <= 10 if n_rows < 100 else n_texts <= max(20, min(0.1 * n_rows, MAX_CATEGORIES))
    if is_few and n_texts < n_rows:
        return _text_categories(name, texts)
    has_words = np.mean([text.count(" ") for text in texts[:1000]]) >= 1
    return Column(name, Kind.IGNORED if n_texts == n_rows and not has_words else Kind.TEXT)


def _text_categories(name: str, texts: NDArray[np.object_]) -> Column:
    """Categories in the order of ``sorted``, as scikit-learn's and pandas' encoders number them."""
    ordered = tuple(sorted(texts))
    return Column(name, Kind.CATEGORICAL, codes=ordered, labels=ordered)


# --- a kind that was asked for --------------------------------------------------------------


def _make_column(table: Table, name: str, kind: Kind) -> Column:
    cells = table.cells(name)
    if kind is Kind.CATEGORICAL:
        return _make_categories(name, cells, MAX_CATEGORIES, f"Choose 'text' or 'ignored' as the type of '{name}'")
    if kind in (Kind.INTEGER, Kind.REAL):
        return _make_number(table, name, kind)
    return Column(name, kind)


def _make_categories(name: str, cells: Cells, most: int, remedy: str) -> Column:
    as_number = _is_numeric(cells) and not (np.isnan(cells.numbers) & ~is_missing(cells, as_number=True)).any()
    texts = cells.texts[~is_missing(cells, as_number=as_number)]
    numbers = np.unique(cells.numbers[np.isfinite(cells.numbers)]) if as_number else np.empty(0)
    n_categories = len(numbers) if as_number else len(texts)
    if not 1 <= n_categories <= most:
        raise SchemaError(
            f"Column '{name}' must hold 1 to {most} different values for this, got {n_categories}. {remedy}."
        )
    return _coded_column(name, numbers) if as_number else _text_categories(name, texts)


def _make_number(table: Table, name: str, kind: Kind) -> Column:
    cells = table.cells(name)
    is_number = np.isfinite(cells.numbers)
    wrong = ~is_number & ~is_missing(cells, as_number=True)
    if kind is Kind.INTEGER:
        wrong |= is_number & (cells.numbers != np.floor(np.where(is_number, cells.numbers, 0.0)))
    n_wrong, n_right = int(cells.counts[wrong].sum()), int(cells.counts[is_number & ~wrong].sum())
    if n_right == 0 or n_wrong > n_right or (kind is Kind.INTEGER and (wrong & is_number).any()):
        position = int(np.argmax(wrong & is_number)) if (wrong & is_number).any() else int(np.argmax(wrong))
        what = "whole numbers" if kind is Kind.INTEGER else "numbers"
        got = (
            f"'{cells.texts[position]}' in line {table.line(cells.first_row(position))}"
            if wrong.any()
            else "empty cells only"
        )
        raise SchemaError(
            f"Column '{name}' must hold {what} to be of type {kind}, got {got}. Choose another type, or correct the cells."
        )
    return _number_column(name, kind, np.unique(cells.numbers[is_number & ~wrong]))


# --- the label ------------------------------------------------------------------------------


def _guess_label(table: Table, columns: list[Column]) -> str | None:
    """A column with a usual name and few outcomes; else the last one with few outcomes, two before more."""
    few = {column.name: n for column in columns if 2 <= (n := _n_outcomes(table, column)) <= 20}
    named = [name for known in _LABEL_NAMES for name in few if name.lower().replace("-", "_") == known]
    if named:
        return named[0]
    last = [column.name for column in columns[-3:] if column.name in few]
    two = [name for name in last if few[name] == 2]
    chosen = two or last
    return chosen[-1] if chosen and len(few) > 1 else None


def _n_outcomes(table: Table, column: Column) -> int:
    if column.kind is Kind.CATEGORICAL:
        return len(column.codes)
    if column.kind is Kind.INTEGER:
        numbers = table.cells(column.name).numbers
        return len(np.unique(numbers[np.isfinite(numbers)]))
    return 0


def _as_classes(table: Table, column: Column) -> Column:
    remedy = f"Choose another column than '{column.name}' as label, or cut it into a few classes"
    return _make_categories(column.name, table.cells(column.name), MAX_CLASSES, remedy)


def _with_label(columns: tuple[Column, ...], label: str | None) -> Schema:
    outcome = next((column for column in columns if column.name == label), None)
    favourable = None if outcome is None else guess_favourable(outcome)
    return Schema(columns, label=label, favourable=favourable)


def guess_favourable(label: Column) -> Value:
    """The outcome that is likely good for the person: by usual words, else 1, else the last one."""
    words = _GOOD_WHEN_LABEL_IS_BAD if _BAD_LABEL.search(label.name) else _GOOD
    by_text = {str(code).strip().rstrip(".").lower(): code for code in reversed(label.codes)}
    return next((by_text[word] for word in words if word in by_text), label.codes[-1])


def _protected_rank(name: str) -> int:
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
    ranks = [rank for rank, pattern in enumerate(_PROTECTED) for word in words if pattern.match(word)]
    return min(ranks, default=len(_PROTECTED))


def check_columns(table: Table, schema: Schema) -> None:
    """Refuse a schema that speaks of a column which the file does not have.

    Raises:
        DataError: names the column, and the nearest one of the file.
    """
    import difflib

    needed = [column.name for column in schema.columns if column.is_input]
    needed += [schema.label] if schema.label is not None else []
    missing = [name for name in needed if name not in set(table.columns)]
    if missing:
        near = difflib.get_close_matches(missing[0], table.columns, n=1)
        hint = f"Did you mean '{near[0]}'?" if near else f"It has: {', '.join(table.columns[:12])}."
        others = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise DataError(
            f"'{table.name}' must have every column of the schema, but '{missing[0]}'{others} is not in its header. {hint}"
        )
