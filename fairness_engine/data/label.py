"""The label of a table: its classes, the favourable one, and what is suspicious about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.inference import MAX_CLASSES, codes_of
from fairness_engine.data.schema import Column, Kind, Schema, Value
from fairness_engine.data.table import Table
from fairness_engine.errors import DataError, cut

_ROWS_PER_VALUE = 5
_FIRST_ROWS = 1_000


def find_outcome(table: Table, schema: Schema) -> Column | None:
    """The label's column as categories: the schema's own, or made from the data; ``schema.positive`` is the last of
    two.

    Raises:
        DataError: no outcome at all, one only, or too many; or ``schema.positive`` is none of two.
    """
    if schema.label is None:
        return None
    return _with_positive_last(_outcome_column(table, schema, schema.label), schema.positive)


def _outcome_column(table: Table, schema: Schema, label: str) -> Column:
    described = next((column for column in schema.columns if column.name == label), None)
    if described is not None and described.kind is Kind.CATEGORICAL:
        return described
    codes = codes_of(table.cells(label))
    if len(codes) < 2:
        got = f"only '{codes[0]}'" if codes else "none"
        raise DataError(
            f"The label '{label}' must hold at least two outcomes, got {got}. Choose another column, or no label."
        )
    if len(codes) > MAX_CLASSES:
        raise DataError(
            f"The label '{label}' must hold at most {MAX_CLASSES} outcomes, got {len(codes)} different values. "
            "Choose another column, or cut it into classes."
        )
    return Column(label, Kind.CATEGORICAL, codes=codes, labels=tuple(str(code) for code in codes))


def _with_positive_last(outcome: Column, positive: Value | None) -> Column:
    """The outcomes in the order of a model's classes: class 1 is the one that was said to be."""
    if positive is None:
        return outcome
    place = favourable_class(outcome, positive)
    if place is None or len(outcome.codes) != 2:
        shown = ", ".join(f"'{cut(str(code))}'" for code in outcome.codes[:6])
        what = (
            "one of"
            if len(outcome.codes) == 2
            else "left open, since a label of more or less than two outcomes has no class 1:"
        )
        raise DataError(f"The outcome of class 1 must be {what} {shown}, got '{cut(str(positive))}'. Choose it again.")
    if place == 1:
        return outcome
    return replace(outcome, codes=outcome.codes[::-1], labels=outcome.labels[::-1])


def favourable_class(outcome: Column, favourable: Value | None) -> int | None:
    """The class that holds the favourable outcome: ``1``, ``'1'`` and ``1.0`` are the same, and so is a human label."""
    if favourable is None:
        return None
    wanted = _plain(favourable)
    for known in ([_plain(code) for code in outcome.codes], [_plain(label) for label in outcome.labels]):
        if wanted in known:
            return known.index(wanted)
    return None


def _plain(value: Value) -> str:
    try:
        return f"{float(value):.15g}"
    except (ValueError, OverflowError):
        return str(value).strip()


def plain_outcome(text: str) -> str:
    """An outcome without what files write now so, now so: capitals, and a full stop at the end."""
    return text.removesuffix(".").casefold()


def doubled_outcomes(outcomes: Iterable[str]) -> list[tuple[str, str]]:
    """Outcomes that differ by a full stop or by capitals only, each with the first that is written otherwise."""
    first: dict[str, str] = {}
    pairs = [(first.setdefault(plain_outcome(each), each), each) for each in outcomes]
    return [(one, other) for one, other in pairs if one != other]


def say_doubled(name: str, outcomes: Sequence[str]) -> str:
    """That a label's outcomes are hardly as many as they seem; empty where they are."""
    doubled = doubled_outcomes(outcomes)
    if not doubled:
        return ""
    first, second = doubled[0]
    n_more = len(doubled) - 1
    more = f" (and {n_more:,} more spelling{'s' if n_more > 1 else ''})" if n_more else ""
    return (
        f"Label '{name}' holds '{cut(first)}' and '{cut(second)}'{more}, which differ by a full stop or by capitals "
        "only and count as different outcomes. Fold them on the Data page to treat them as one, or write them alike in "
        "the file."
    )


def say_label(outcome: Column, schema: Schema, labels: IntArray, favourable: int | None) -> list[str]:
    """What a reader should know about the label, one sentence each."""
    said = []
    codes = [str(code) for code in outcome.codes]
    doubled = say_doubled(outcome.name, codes)
    if doubled:
        said.append(doubled)
    if len(np.unique(labels)) == 1:
        only = outcome.labels[int(labels[0])]
        said.append(
            f"The label '{outcome.name}' should hold two outcomes, got only '{only}': accuracy and the groups' rates "
            "say nothing. Add rows with the other outcome, or choose no label."
        )
    if schema.favourable is not None and favourable is None:
        said.append(_no_outcome(schema, codes))
    return said


def favourable_or_second(schema: Schema, outcomes: Sequence[str], favourable: int | None) -> int:
    """Which outcome decisions are judged by: the favourable one, or the second where none is named.

    Args:
        outcomes: of the label in the data; none where it has no label.
        favourable: as ``favourable_class`` found it.

    Raises:
        DataError: one is named, and the label has no such outcome.
    """
    if favourable is None and schema.favourable is not None and outcomes:
        raise DataError(_no_outcome(schema, outcomes))
    return 1 if favourable is None else favourable


def _no_outcome(schema: Schema, outcomes: Sequence[str]) -> str:
    shown = ", ".join(f"'{cut(outcome)}'" for outcome in outcomes[:6])
    return (
        f"The favourable outcome must be one of {shown} like the cells of '{cut(str(schema.label))}', got "
        f"'{cut(str(schema.favourable))}'. Choose it again, under Data or in the schema file."
    )


def say_leaks(schema: Schema, rows: FloatArray, labels: IntArray) -> list[str]:
    """Inputs that decide the label outright: likely the label itself under another name.

    Args:
        rows: rows of the engine ``(n_rows, n_columns)``.
        labels: their classes ``(n_rows,)``.
    """
    if len(np.unique(labels)) < 2:
        return []
    return [
        f"Column '{column.name}' alone tells the label '{schema.label}' in every row: it may be the label under "
        "another name. If the model does not take it, choose 'ignored' as its type."
        for position, column in enumerate(schema.inputs)
        if 2 <= (column.n_values or 0) <= MAX_CLASSES and _tells(rows[:, position] - column.low, labels)
    ]


def _tells(values: FloatArray, labels: IntArray) -> bool:
    """True when every value comes with one class only, and values are common enough for that to mean something.

    Args:
        values: ``(n_rows,)``, at least 0.
        labels: ``(n_rows,)``.
    """
    n_classes = int(labels.max()) + 1
    for n in (_FIRST_ROWS, len(values)):  # nearly always the first ones show that it does not
        found = np.unique(np.round(values[:n]).astype(np.int64) * n_classes + labels[:n])
        if len(np.unique(found // n_classes)) < len(found):
            return False
    return 1 < len(found) <= len(values) / _ROWS_PER_VALUE
