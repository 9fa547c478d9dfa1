"""What the Data page shows: a line a column, and how large the groups are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.encoding import encode_column
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import Cells, Table

_N_EXAMPLES = 3
_MAX_VALUES = 10
_N_BINS = 5
_MAX_LISTED_EMPTY = 64


@dataclass(frozen=True)
class ColumnSummary:
    """One column of a file as the schema describes it.

    Args:
        name, kind: as in the schema; a column that the schema does not have is *ignored*.
        range_text: the domain in a few words; for text and ignored columns what the cells hold.
        n_categories: how many categories, for a categorical column.
        n_distinct: how many different texts the file holds.
        n_missing, n_unknown: rows whose cell is empty; and those, or outside the domain.
        missing_share: ``n_missing`` by rows of the file, 0 to 1.
        examples: the first few cells, as people read them.
        groups: rows for each category, with its human label, in the schema's order; empty for other kinds.
        is_label, is_protected: its part in the review.
        problem: one sentence on cells that do not fit.
    """

    name: str
    kind: Kind
    range_text: str
    n_categories: int | None
    n_distinct: int
    n_missing: int
    n_unknown: int
    missing_share: float
    examples: tuple[str, ...]
    groups: tuple[tuple[str, int], ...]
    is_label: bool
    is_protected: bool
    problem: str | None


def describe_columns(table: Table, schema: Schema, names: Sequence[str] | None = None) -> list[ColumnSummary]:
    """One summary for every column of the file, in the file's order, or for those that are named."""
    described = {column.name: column for column in schema.columns}
    protected = set(schema.protected)
    return [
        _summary(table, described.get(name, Column(name, Kind.IGNORED)), name == schema.label, name in protected)
        for name in (table.columns if names is None else names)
    ]


def _summary(table: Table, column: Column, is_label: bool, is_protected: bool) -> ColumnSummary:
    cells = table.cells(column.name)
    n_missing = n_unknown = cells.n_empty
    problem: str | None = None
    groups: tuple[tuple[str, int], ...] = ()
    if column.is_input:
        encoded, tally = encode_column(table, column)
        n_missing = tally.n_missing
        n_unknown = tally.n_unknown
        problem = tally.problem
        groups = _category_counts(column, encoded.content) if column.kind is Kind.CATEGORICAL else ()
    return ColumnSummary(
        name=column.name,
        kind=column.kind,
        range_text=range_text(column) if column.is_input else _content_text(cells),
        n_categories=len(column.codes) if column.kind is Kind.CATEGORICAL else None,
        n_distinct=len(cells.texts),
        n_missing=n_missing,
        n_unknown=n_unknown,
        missing_share=n_missing / table.n_rows,
        examples=_examples(cells, column),
        groups=groups,
        is_label=is_label,
        is_protected=is_protected,
        problem=problem,
    )


def _category_counts(column: Column, positions: FloatArray) -> tuple[tuple[str, int], ...]:
    known = positions[positions >= 0].astype(np.int64)
    counts = np.bincount(known, minlength=len(column.codes))
    return tuple(zip(column.labels, counts.tolist(), strict=True))


def range_text(column: Column) -> str:
    """The domain of a column in a few words."""
    if column.kind is Kind.CATEGORICAL:
        shown = ", ".join(column.labels[:4])
        return shown if len(column.labels) <= 4 else f"{shown}, ... ({len(column.labels)})"
    if column.kind in (Kind.INTEGER, Kind.REAL):
        step = f", step {column.step:g}" if column.step is not None else ""
        return f"{column.text(column.low)} to {column.text(column.high)}{step}"
    return ""


def _content_text(cells: Cells) -> str:
    n_texts = len(cells.texts)
    n_rows = len(cells.index)
    if n_texts == 0:
        return "empty"
    if n_texts == 1:
        return f"one value only: {cells.texts[0][:40]}"
    return "a different value in every row" if n_texts == n_rows else f"{n_texts} different values"


def _examples(cells: Cells, column: Column) -> tuple[str, ...]:
    labels = {str(code): label for code, label in zip(column.codes, column.labels, strict=True)}
    return tuple(labels.get(text, text) for text in cells.texts[:_N_EXAMPLES])


# --- groups -------------------------------------------------------------------------------


@dataclass(frozen=True)
class CategoryGroup:
    """The rows with one value in each of some protected attributes.

    Args:
        labels: what people read, one text an attribute.
        n: rows.
        share: of all rows kept, 0 to 1.
        favourable_share: rows with the favourable outcome by ``n``; ``None`` without one, or in an empty group.
    """

    labels: tuple[str, ...]
    n: int
    share: float
    favourable_share: float | None


@dataclass(frozen=True)
class GroupSizes:
    """The groups of some protected attributes, and how many rows of the file belong to none for sure."""

    protected: tuple[str, ...]
    groups: tuple[CategoryGroup, ...]
    n_unknown: int


def count_groups(
    schema: Schema,
    rows: FloatArray,
    favourable: NDArray[np.bool_] | None,
    n_unknown: Mapping[str, int],
    protected: tuple[str, ...],
) -> list[GroupSizes]:
    """Count the groups of every protected attribute and, with several, of their combinations.

    Args:
        rows: rows of the engine ``(n_rows, n_columns)``.
        favourable: which rows have the favourable outcome ``(n_rows,)``, if that is known.
        n_unknown: rows of the file that were left out for a column, by column.
        protected: names of inputs.

    Raises:
        SchemaError: a name is no input.
    """
    cut = {name: grouped(schema.column(name), rows[:, schema.index(name)]) for name in protected}
    sets = [(name,) for name in protected] + ([protected] if len(protected) > 1 else [])
    return [
        GroupSizes(
            protected=names,
            groups=_count([cut[name] for name in names], favourable),
            # Several columns may be unknown in the same row: the largest is what is certain.
            n_unknown=max(n_unknown.get(name, 0) for name in names),
        )
        for names in sets
    ]


def grouped(column: Column, values: FloatArray) -> tuple[IntArray, tuple[str, ...]]:
    """The group of every row ``(n_rows,)`` and the groups' labels: values where they are few, else quintiles."""
    if column.kind is Kind.CATEGORICAL:
        return values.astype(np.int64), column.labels
    distinct, index = np.unique(values, return_inverse=True)
    if len(distinct) <= _MAX_VALUES:
        return index.astype(np.int64), tuple(column.text(value) for value in distinct)
    # Whole-number positions: 3/5 of the rows must not become 0.6000000000000001 of them.
    places = -(-np.arange(1, _N_BINS) * len(values) // _N_BINS) - 1
    edges = np.unique(np.sort(values)[places])
    index = np.searchsorted(edges, values, side="left")
    used = np.unique(index)
    ends = [(column.text(values[index == one].min()), column.text(values[index == one].max())) for one in used]
    labels = tuple(low if low == high else f"{low} to {high}" for low, high in ends)
    return np.searchsorted(used, index).astype(np.int64), labels


def _count(
    attributes: list[tuple[IntArray, tuple[str, ...]]], favourable: NDArray[np.bool_] | None
) -> tuple[CategoryGroup, ...]:
    shape = tuple(len(labels) for _, labels in attributes)
    key = np.ravel_multi_index(tuple(index for index, _ in attributes), shape)
    n_groups = int(np.prod(shape))
    found, inverse = np.unique(key, return_inverse=True)
    n_rows = np.bincount(inverse, minlength=len(found))
    n_good = np.bincount(inverse, weights=favourable, minlength=len(found)) if favourable is not None else None
    at = {int(one): position for position, one in enumerate(found)}
    listed = range(n_groups) if n_groups <= _MAX_LISTED_EMPTY else found.tolist()
    groups = []
    for one in listed:
        labels = tuple(labels[i] for i, (_, labels) in zip(np.unravel_index(one, shape), attributes, strict=True))
        position = at.get(one)
        n = int(n_rows[position]) if position is not None else 0
        good = float(n_good[position]) / n if n_good is not None and position is not None else None
        groups.append(CategoryGroup(labels, n, n / len(key), good))
    return tuple(groups)
