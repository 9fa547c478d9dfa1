"""The columns of a data set as a table that people correct, and back to a schema. No widgets here."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.data.corrections import (
    add_category,
    change_kind,
    change_label,
    find_column,
    left_out,
    remove_category,
    replace_column,
    set_case_id,
)
from fairness_engine.data.encoding import positions_of
from fairness_engine.data.inference import plain_column, why_left_out
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import SchemaError

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.data.summary import ColumnSummary
    from fairness_engine.data.table import Table

_NUMBERS = (Kind.INTEGER, Kind.REAL)


class Role(StrEnum):
    """What a column is for, in the words of the screen."""

    INPUT = "Input"
    PROTECTED = "Protected"
    LABEL = "Label"
    ID = "Id"
    IGNORED = "Ignored"


KIND_NAMES = {
    Kind.CATEGORICAL: "Categorical",
    Kind.INTEGER: "Integer",
    Kind.REAL: "Real",
    Kind.TEXT: "Text",
}
_KINDS = {name: kind for kind, name in KIND_NAMES.items()}


@dataclass(frozen=True)
class Line:
    """One line of the edited table."""

    name: str
    role: Role
    kind: Kind | None
    smallest: float | None
    largest: float | None


# --- schema -> table ----------------------------------------------------------------------------


def find_columns(table: Table, schema: Schema, wanted: str, role: Role | None, proposed: Collection[str]) -> list[str]:
    """Names of the columns whose name holds some letters, of one role or of any: those that are more than an input, or
    are proposed as such, first, then in the file's order.
    """
    letters = wanted.casefold().strip()
    ranks = {Role.LABEL: 0, Role.PROTECTED: 1, Role.ID: 2}
    roles = {name: role_of(schema, name) for name in table.columns if letters in name.casefold()}
    found = [name for name in roles if role is None or roles[name] is role]
    return sorted(found, key=lambda name: ranks.get(roles[name], 3 if name in proposed else 4))


def columns_table(table: Table, schema: Schema, names: Sequence[str] | None = None) -> pd.DataFrame:
    """One line a column of the file, in the file's order, or for those that are named: name, role, type, range, values,
    missing share in percent.
    """
    import pandas as pd

    from fairness_engine.data.summary import describe_columns

    reasons = why_left_out(table, schema)
    frame = pd.DataFrame([_line(summary, schema, reasons) for summary in describe_columns(table, schema, names)])
    for name in ("Smallest", "Largest"):
        frame[name] = frame[name].astype("float64")
    return frame


def _line(summary: ColumnSummary, schema: Schema, reasons: Mapping[str, str]) -> dict[str, Any]:
    column = find_column(schema, summary.name)
    number = column if column is not None and (column.was or column.kind) in _NUMBERS else None
    values = f"e.g. {', '.join(summary.examples)}"
    if summary.name in reasons:
        values = f"{reasons[summary.name]}; {values}"
    return {
        "Column": summary.name,
        "Role": role_of(schema, summary.name).value,
        "Type": KIND_NAMES.get(summary.kind if column is None else column.was or column.kind),
        "Smallest": number.minimum if number else None,
        "Largest": number.maximum if number else None,
        "Missing": 100 * summary.missing_share,
        "Values": summary.range_text if summary.kind is Kind.CATEGORICAL else values,
    }


def role_of(schema: Schema, name: str) -> Role:
    """What the schema uses a column for; a column that it does not name is ignored."""
    if name == schema.label:
        return Role.LABEL
    if name == schema.case_id:
        return Role.ID
    if name in schema.protected:
        return Role.PROTECTED
    column = find_column(schema, name)
    return Role.IGNORED if column is None or column.kind is Kind.IGNORED else Role.INPUT


# --- table -> schema ----------------------------------------------------------------------------


def read_columns(table: Table, schema: Schema, edited: pd.DataFrame) -> Schema:
    """The schema that an edited table asks for; what did not change, or is not in it, is kept as it is.

    Raises:
        InputError: a column cannot be what was asked for, or nothing is left that a model could take.
    """
    lines = [_read_line(record) for record in edited.to_dict("records")]
    edited_names = {line.name for line in lines}
    others = [Line(n, role_of(schema, n), None, None, None) for n in table.columns if n not in edited_names]
    lines += others
    label = _label(schema, lines)
    if label != schema.label:
        before = schema.label
        was_a_guess = schema.favourable is None
        schema = replace(change_label(table, schema, label), favourable=None)  # nobody said yet which outcome is good
        if before is not None and _line_of(lines, before).role is Role.LABEL:
            schema = _without_outcome(table, schema, before, was_a_guess=was_a_guess)
    schema = set_case_id(table, schema, _case_id(schema, lines))
    for line in lines[: len(lines) - len(others)]:
        if line.name != schema.label and line.role is not Role.LABEL:
            schema = _with_line(table, schema, line)
    return _with_protected(schema, [line.name for line in lines if line.role is Role.PROTECTED and line.name != label])


def _without_outcome(table: Table, schema: Schema, name: str, *, was_a_guess: bool) -> Schema:
    """The schema after a column stopped being the label: an outcome among the inputs would give the answer away, but
    what nobody said to be one is an input as others are.
    """
    if was_a_guess:
        return change_kind(table, schema, name, _usual_kind(table, name))
    known = find_column(schema, name) or Column(name, Kind.IGNORED)
    return replace_column(schema, left_out(known))


def _read_line(record: Mapping[Any, Any]) -> Line:
    return Line(
        name=record["Column"],
        role=Role(record["Role"] or Role.IGNORED),
        kind=_KINDS.get(record["Type"]),
        smallest=_number(record["Smallest"]),
        largest=_number(record["Largest"]),
    )


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(float(value)) else float(value)


def _line_of(lines: list[Line], name: str) -> Line:
    return next(line for line in lines if line.name == name)


def _label(schema: Schema, lines: list[Line]) -> str | None:
    """The outcome; where two lines say that they are it, the one that was just chosen."""
    names = [line.name for line in lines if line.role is Role.LABEL]
    new = [name for name in names if name != schema.label]
    return (new or names or [None])[0]


def _case_id(schema: Schema, lines: list[Line]) -> str | None:
    """The column that names the cases; where two lines say that they do, the one that was just chosen."""
    names = [line.name for line in lines if line.role is Role.ID]
    new = [name for name in names if name != schema.case_id]
    return (new or names or [None])[0]


def _with_line(table: Table, schema: Schema, line: Line) -> Schema:
    column = find_column(schema, line.name)
    if line.role in (Role.IGNORED, Role.ID):
        return schema if column is None else replace_column(schema, left_out(column))
    if column is None or column.kind is Kind.IGNORED:
        return change_kind(table, schema, line.name, line.kind or _usual_kind(table, line.name))
    if line.kind is not None and line.kind is not column.kind:
        return change_kind(table, schema, line.name, line.kind)
    if column.kind in _NUMBERS and (line.smallest, line.largest) != (column.minimum, column.maximum):
        low = column.minimum if line.smallest is None else line.smallest
        high = column.maximum if line.largest is None else line.largest
        return replace_column(schema, replace(column, minimum=low, maximum=high))
    return schema


def _usual_kind(table: Table, name: str) -> Kind:
    """The kind of a column that nobody described until now: numbers where all are numbers, else categories."""
    kind = plain_column(name, table.cells(name)).kind
    return Kind.CATEGORICAL if kind is Kind.IGNORED else kind


def _with_protected(schema: Schema, names: list[str]) -> Schema:
    for name in names:
        column = find_column(schema, name)
        if column is None or not column.is_input:
            raise SchemaError(
                f"A protected attribute must be categorical or a number, but '{name}' is text. Change its type first."
            )
    kept = [name for name in schema.protected if name in names]
    return schema.with_protected(kept + [name for name in names if name not in kept])


# --- labels of codes ----------------------------------------------------------------------------


def columns_with_codes(schema: Schema) -> list[Column]:
    """The columns whose file holds codes, so that people need labels for them."""
    return [
        column
        for column in schema.columns
        if column.kind is Kind.CATEGORICAL and not all(isinstance(code, str) for code in column.codes)
    ]


def without_words(schema: Schema) -> list[str]:
    """The label and the protected attributes that still show bare codes to people."""
    told = {schema.label, *schema.protected}
    return [
        column.name
        for column in columns_with_codes(schema)
        if column.name in told and column.labels == tuple(str(code) for code in column.codes)
    ]


def categorical(schema: Schema) -> list[Column]:
    """All columns with categories."""
    return [column for column in schema.columns if column.kind is Kind.CATEGORICAL]


def category_table(table: Table, column: Column) -> pd.DataFrame:
    """One line a category, and then one for every value of the data that is none: whether it is used, code, label,
    rows.
    """
    import pandas as pd

    cells = table.cells(column.name)
    positions, _, wrong = positions_of(cells, column)
    counts = np.bincount(positions[positions >= 0].astype(int), cells.counts[positions >= 0], len(column.codes))
    others = cells.texts[wrong].tolist()
    return pd.DataFrame(
        {
            "Used": [True] * len(column.codes) + [False] * len(others),
            "Code": [*(str(code) for code in column.codes), *others],
            "Label": [*column.labels, *others],
            "Rows": [*counts.astype(int).tolist(), *cells.counts[wrong].tolist()],
        }
    )


def with_categories(schema: Schema, name: str, edited: pd.DataFrame) -> Schema:
    """The schema that an edited table of categories asks for.

    Raises:
        SchemaError: a label is empty, or stands twice; no category is left; a value cannot be one.
    """
    column = find_column(schema, name)
    if column is None:
        raise SchemaError(f"There is no column '{name}' to label. Open the page again.")
    known = len(column.codes)
    schema = with_labels(schema, name, list(edited["Label"][:known]))
    for code, is_used in zip(column.codes, edited["Used"][:known], strict=True):
        if not is_used:
            schema = remove_category(schema, name, code)
    for text, is_used in zip(edited["Code"][known:], edited["Used"][known:], strict=True):
        if is_used:
            schema = add_category(schema, name, text)
    return schema


def with_labels(schema: Schema, name: str, labels: Sequence[object]) -> Schema:
    """The schema with other labels for the codes of one column, in the order of its codes.

    Raises:
        SchemaError: a label is empty, or stands twice.
    """
    column = find_column(schema, name)
    if column is None:
        raise SchemaError(f"There is no column '{name}' to label. Open the page again.")
    cleaned = tuple(" ".join(str(label or "").split()) for label in labels)
    if not all(cleaned):
        raise SchemaError(f"Every code of '{name}' needs a label, got an empty one. Write what the code means.")
    return replace_column(schema, replace(column, labels=cleaned))
