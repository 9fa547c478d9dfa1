"""A table and a schema made into rows of the engine; what cannot be used is kept out, counted and said.

Reading is in ``table.py``, guessing a schema in ``inference.py``, what the Data page shows in ``summary.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.corrections import check_columns, replace_column
from fairness_engine.data.csv.numbers import Texts
from fairness_engine.data.encoding import MISSING, Tally, encode_column, has_number_codes, positions_of
from fairness_engine.data.inference import codes_of, is_missing
from fairness_engine.data.label import favourable_class, find_outcome, plain_outcome, say_label, say_leaks
from fairness_engine.data.missing import WHERE_SAID
from fairness_engine.data.schema import Column, Kind, Schema, Value
from fairness_engine.data.summary import GroupSizes, count_groups
from fairness_engine.data.table import Cells, Table
from fairness_engine.errors import DataError, cut

_MAX_PROBLEMS = 20
_MAX_SPELLINGS = 6
_BLOCK_CELLS = 1_000_000
_BLOCK_COLUMNS = 32


@dataclass(frozen=True)
class IncompleteRows:
    """Rows whose only fault is a missing cell in an input: a model may answer them all the same.

    Args:
        rows: rows of the engine ``(n_rows, n_columns)``, NaN where the cell is missing.
        labels: as in ``Dataset`` ``(n_rows,)``.
        kept: position of each row in the table ``(n_rows,)``.
        ids: as in ``Dataset``.
    """

    rows: FloatArray
    labels: IntArray | None
    kept: IntArray
    ids: Texts | None = None

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Dataset:
    """Rows of the engine made from a table.

    Args:
        schema: what the columns are.
        rows: rows of the engine ``(n_rows, n_columns)``: positions of categories, and numbers.
        labels: index into ``classes`` ``(n_rows,)``, or ``None`` without a label.
        classes: what people read for each outcome, in the order of the schema, or sorted.
        kept: position of each row in ``table.frame`` ``(n_rows,)``.
        n_dropped: rows of the table that were kept out.
        problems: one sentence each.
        source_hash: SHA-256 of the file.
        favourable_class: index into ``classes``, or ``None``.
        n_unknown: rows of the table whose cell in a column is missing or not in its domain, by column.
        missing: how the file writes missing cells: rows by spelling by column, of columns that have any; empty text for
            the empty cell.
        ids: what the schema's ``case_id`` holds in each row, empty where it holds nothing ``(n_rows,)``; ``None``
            without such a column.
        incomplete: rows beside ``rows`` that miss a cell of an input, and nothing else; ``None`` when there are none.
    """

    schema: Schema
    rows: FloatArray
    labels: IntArray | None
    classes: tuple[str, ...]
    kept: IntArray
    n_dropped: int
    problems: tuple[str, ...]
    source_hash: str
    favourable_class: int | None
    n_unknown: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    ids: Texts | None = None
    incomplete: IncompleteRows | None = None

    def say_left_out(self, n_counted: int) -> str:
        """That some rows of the file do not count; empty where all do.

        Args:
            n_counted: of the file's rows.
        """
        n_of_file = len(self.rows) + self.n_dropped
        if n_counted >= n_of_file:
            return ""
        return (
            f"{n_of_file - n_counted:,} of the file's {n_of_file:,} rows do not count: a cell of an input, or "
            "of the label, is missing, or outside its column's domain."
        )

    def with_incomplete(self, is_chosen: NDArray[np.bool_]) -> Dataset:
        """The dataset with some of its incomplete rows behind the others: ``rows`` then hold NaN, which few readers
        take.

        Args:
            is_chosen: which of them ``(len(incomplete),)``.
        """
        more = self.incomplete
        if more is None or not is_chosen.any():
            return self
        labels = None if self.labels is None or more.labels is None else _joined(self.labels, more.labels[is_chosen])
        ids = None if self.ids is None or more.ids is None else _joined(self.ids, more.ids[is_chosen])
        rows = _joined(self.rows, more.rows[is_chosen])
        kept = _joined(self.kept, more.kept[is_chosen])
        return replace(self, rows=rows, labels=labels, kept=kept, ids=ids, incomplete=None)


def _joined(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([first, second])


def make_dataset(table: Table, schema: Schema, allocate: Callable[[tuple[int, int]], FloatArray] = np.empty) -> Dataset:
    """Encode a table; the file's columns may stand in any order, and more of them than the schema has.

    A row is kept out when a cell of an input or of the label is missing or outside the column's domain; the dataset
    says how many, and shows one. Rows that only miss a cell of an input are in ``incomplete``. What stands for a
    missing cell is in ``missing.py``; a spelling that the schema lists as a category is one.

    Args:
        table, schema: the file, and what its columns are.
        allocate: makes the one large array, of a number of rows and columns; it may lie in a file.

    Raises:
        DataError: a column of the schema is not in the file, the label is no label, or no row is left.
    """
    check_columns(table, schema)
    outcome = find_outcome(table, schema)
    rows, state, tallies = _encode_inputs(table, schema, allocate)
    labels: FloatArray | None = None
    is_labelled = np.ones(table.n_rows, dtype=bool)
    if outcome is not None:
        encoded, tally = encode_column(table, outcome)
        labels = encoded.content
        is_labelled = encoded.state == 0
        np.maximum(state, encoded.state, out=state)
        tallies.append(tally)
    kept = np.flatnonzero(state == 0)
    partly = np.flatnonzero((state == MISSING) & is_labelled)
    said = [*table.problems, *_say_missing(table, schema, state, tallies, len(partly)), *_say_wrong(tallies)]
    said += _say_capitals(schema)
    if not len(kept):
        raise DataError(f"At least one row of '{table.name}' must be complete and fit the schema, got none. {said[-1]}")
    more = rows[partly]
    dataset = Dataset(
        schema=schema,
        rows=_kept_in_place(rows, kept),
        labels=None,
        classes=(),
        kept=kept,
        n_dropped=table.n_rows - len(kept),
        problems=tuple(said),
        source_hash=table.source_hash,
        favourable_class=None,
        n_unknown={tally.name: tally.n_unknown for tally in tallies},
        missing={tally.name: tally.spellings for tally in tallies if tally.spellings},
        ids=_ids(table, schema.case_id, kept),
    )
    if len(partly):
        their_labels = None if labels is None else labels[partly].astype(np.int64)
        incomplete = IncompleteRows(more, their_labels, partly, _ids(table, schema.case_id, partly))
        dataset = replace(dataset, incomplete=incomplete)
    if outcome is None or labels is None:
        return dataset
    return _with_labels(dataset, outcome, labels[kept].astype(np.int64))


def _say_capitals(schema: Schema) -> list[str]:
    """Which categories of inputs differ by capitals only: to all that is computed they are different people."""
    alike = []
    for column in schema.inputs:
        first: dict[str, str] = {}
        texts = [code for code in column.codes if isinstance(code, str)]
        pairs = [(first.setdefault(text.casefold(), text), text) for text in texts]
        alike += [(column.name, one, other) for one, other in pairs if one != other][:1]
    if not alike:
        return []
    name, one, other = alike[0]
    n_more = len(alike) - 1
    more = f" (and of {n_more:,} more column{'s' if n_more > 1 else ''})" if n_more else ""
    return [
        f"Categories of '{name}'{more} differ by capitals only, as in '{cut(one)}' and '{cut(other)}': they count as "
        "different. If they are the same, write them alike in the file, for the model, too."
    ]


def _kept_in_place(rows: FloatArray, kept: IntArray) -> FloatArray:
    """The rows that are kept, moved to the front of the array: a second array of millions of rows is not always there.

    Args:
        rows: ``(n_rows, n_columns)``; what stands in it afterwards is lost.
        kept: positions that rise ``(n_kept,)``.
    """
    if len(kept) < len(rows):
        step = max(1, _BLOCK_CELLS // max(1, rows.shape[1]))
        for start in range(0, len(kept), step):
            chosen = kept[start : start + step]
            rows[start : start + len(chosen)] = rows[chosen]
    return rows[: len(kept)]


def _ids(table: Table, name: str | None, kept: IntArray) -> Texts | None:
    """The ids of rows of the table ``(n_kept,)``."""
    if name is None or name not in table.columns:
        return None
    cells = table.cells(name)
    ids: Texts = np.append(cells.texts, "")[cells.index[kept]]  # the last one is the empty cell, of index -1
    return ids


def _encode_inputs(
    table: Table, schema: Schema, allocate: Callable[[tuple[int, int]], FloatArray]
) -> tuple[FloatArray, NDArray[np.int8], list[Tally]]:
    """All rows ``(n_rows, n_columns)``, the worst state of a cell in each ``(n_rows,)``, and a tally a column."""
    columns = schema.inputs
    rows = allocate((table.n_rows, len(columns)))
    step = max(1, min(_BLOCK_COLUMNS, _BLOCK_CELLS // max(1, table.n_rows)))
    block = np.empty((table.n_rows, step))  # written together: a cell here and there is a page of memory each
    state = np.zeros(table.n_rows, dtype=np.int8)
    tallies = []
    for position, column in enumerate(columns):
        encoded, tally = encode_column(table, column)
        block[:, position % step] = encoded.content
        if position % step == step - 1 or position == len(columns) - 1:
            start = position - position % step
            rows[:, start : position + 1] = block[:, : position + 1 - start]
        np.maximum(state, encoded.state, out=state)
        tallies.append(tally)
    return rows, state, tallies


def _with_labels(dataset: Dataset, outcome: Column, labels: IntArray) -> Dataset:
    schema = dataset.schema
    favourable = favourable_class(outcome, schema.favourable)
    said = say_label(outcome, schema, labels, favourable) + say_leaks(schema, dataset.rows, labels)
    return replace(
        dataset,
        labels=labels,
        classes=outcome.labels,
        favourable_class=favourable,
        problems=(*dataset.problems, *said),
    )


def _say_missing(
    table: Table, schema: Schema, state: NDArray[np.int8], tallies: list[Tally], n_answerable: int
) -> list[str]:
    n_rows = int((state == MISSING).sum())
    if not n_rows:
        return []
    worst = max(tallies, key=lambda tally: tally.n_missing)
    answerable = ""
    if n_answerable:
        which = "they" if n_answerable == n_rows else f"{n_answerable:,} of them"
        answerable = f", but {which} can count in what is measured of a model that takes missing cells"
    texts = {c.name for c in schema.inputs if c.kind is Kind.CATEGORICAL and not has_number_codes(c)}
    may_be_values = any(text or tally.name in texts for tally in tallies for text in tally.spellings)
    spelled = f", say what is a value after all ({WHERE_SAID})" if may_be_values else ""
    return [
        f"{n_rows:,} of {table.n_rows:,} rows have a missing cell ({_list_spellings(tallies)}); column '{worst.name}' "
        f"has {worst.n_missing:,}. Searches and proofs leave these rows out{answerable}. Complete them{spelled}, or "
        "choose 'ignored' as the type of a column that the model does not take."
    ]


def _list_spellings(tallies: list[Tally]) -> str:
    """How missing cells are written, the commonest first: ``empty, '-' or 'NA'``."""
    counts: Counter[str] = Counter()
    for tally in tallies:
        counts.update(tally.spellings)
    shown = [f"'{text}'" if text else "empty" for text, _ in counts.most_common(_MAX_SPELLINGS)]
    more = [f"{len(counts) - len(shown)} more spellings"] if len(counts) > len(shown) else []
    *first, last = [*shown, *more]
    return f"{', '.join(first)} or {last}" if first else last


def _say_wrong(tallies: list[Tally]) -> list[str]:
    said = [tally.problem for tally in tallies if tally.problem is not None]
    if len(said) <= _MAX_PROBLEMS:
        return said
    return [*said[:_MAX_PROBLEMS], f"{len(said) - _MAX_PROBLEMS} more columns hold values outside their domains."]


def group_sizes(dataset: Dataset, protected: tuple[str, ...]) -> list[GroupSizes]:
    """How large the groups of each protected attribute are, and of all of them together.

    Args:
        dataset: the rows; groups are counted among those kept.
        protected: names of inputs; a number with more than ten values is cut at its quintiles.

    Raises:
        SchemaError: a name is no input.
    """
    favourable = None
    if dataset.labels is not None and dataset.favourable_class is not None:
        favourable = dataset.labels == dataset.favourable_class
    return count_groups(dataset.schema, dataset.rows, favourable, dataset.n_unknown, protected)


# --- remedies -----------------------------------------------------------------------------


def fold_labels(table: Table, label: str) -> Table:
    """The table with outcomes that differ by a full stop or by capitals only written alike: without the full stop that
    the test part of Adult has, and as most rows have it.

    Raises:
        DataError: the table has no such column.
    """
    cells = table.cells(label)
    texts = [str(text) for text in cells.texts]
    counts: Counter[str] = Counter()
    for text, count in zip(texts, cells.counts.tolist(), strict=True):
        counts[text.removesuffix(".")] += count
    commonest: dict[str, str] = {}
    for text, _ in counts.most_common():
        commonest.setdefault(plain_outcome(text), text)
    folded = pa.array([*(commonest[plain_outcome(text)] for text in texts), None], type=pa.string())
    rows = np.where(cells.index < 0, len(texts), cells.index)  # the last is the empty cell
    frame = table.frame.copy(deep=False)
    frame[label] = pd.array(folded.take(pa.array(rows)), dtype=pd.StringDtype("pyarrow"))
    return replace(table, frame=frame, reasons=None, known=None, _cells={})


def widen_to_data(table: Table, schema: Schema) -> Schema:
    """The schema with ranges that take in every number of the data, and categories that take in every code.

    Raises:
        DataError: the file lacks a column.
    """
    check_columns(table, schema)
    for column in schema.inputs:
        cells = table.cells(column.name)
        wide = _with_unseen(cells, column) if column.kind is Kind.CATEGORICAL else _with_range(cells, column)
        schema = schema if wide == column else replace_column(schema, wide)
    return schema


def _with_range(cells: Cells, column: Column) -> Column:
    numbers = cells.numbers[np.isfinite(cells.numbers) & ~is_missing(cells, as_number=True, chosen=column.missing)]
    if column.kind is Kind.INTEGER:
        numbers = numbers[numbers == np.floor(numbers)]
    values = [column.low, column.high, *([numbers.min(), numbers.max()] if len(numbers) else [])]
    return replace(column, minimum=float(min(values)), maximum=float(max(values)))


def _with_unseen(cells: Cells, column: Column) -> Column:
    _, _, wrong = positions_of(cells, column)
    if not wrong.any():
        return column
    chosen = wrong & np.isfinite(cells.numbers) if has_number_codes(column) else wrong
    unseen = replace(cells, texts=cells.texts[chosen], numbers=cells.numbers[chosen], counts=cells.counts[chosen])
    new: tuple[Value, ...] = codes_of(unseen) if has_number_codes(column) else tuple(sorted(unseen.texts))
    new = tuple(code for code in new if str(code) not in column.labels)
    return replace(column, codes=(*column.codes, *new), labels=(*column.labels, *(str(code) for code in new)))


_MOST_NAMED = 10
_ODD = 0x9E3779B97F4A7C15


class CaseIds:
    """The ids of a data set's rows, found by what the rows hold.

    Args:
        dataset: with ids (``Schema.case_id``).
        columns: which inputs must be equal; all by default.

    Attributes:
        name: of the column of ids.
    """

    def __init__(self, dataset: Dataset, columns: Sequence[int] | None = None) -> None:
        self.name = dataset.schema.case_id or ""
        self._ids = dataset.ids
        self._columns = np.arange(dataset.rows.shape[1]) if columns is None else np.asarray(columns, dtype=np.int64)
        self._rows = dataset.rows[:, self._columns] + 0.0
        hashes = _hashes(self._rows)
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    def of(self, people: FloatArray) -> list[tuple[str, ...]]:
        """The ids of the rows that hold what each person ``(n_people, n_columns)`` holds, in the order of the file;
        none for most.
        """
        wanted = people[:, self._columns] + 0.0  # there is a negative zero
        hashes = _hashes(wanted)
        first, last = (np.searchsorted(self._hashes, hashes, side) for side in ("left", "right"))
        return [
            self._named(np.sort(self._order[a:b]), person)
            for a, b, person in zip(first.tolist(), last.tolist(), wanted, strict=True)
        ]

    def _named(self, positions: IntArray, person: FloatArray) -> tuple[str, ...]:
        if not len(positions) or self._ids is None:
            return ()
        same = positions[(self._rows[positions] == person).all(axis=1)]
        return tuple(text for text in (str(self._ids[at]) for at in same.tolist()) if text)


def joined(ids: Sequence[str]) -> str:
    """Ids for a cell of a table: ``A-1; A-7``, of many the first ten and how many more."""
    more = f"; and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return "; ".join(ids[:_MOST_NAMED]) + more


def _hashes(rows: FloatArray) -> np.ndarray:
    """One number a row ``(n_rows,)``; rows that hold the same have the same."""
    bits = np.ascontiguousarray(rows, dtype=np.float64).view(np.uint64)
    found = np.zeros(len(rows), dtype=np.uint64)
    for column in bits.T:
        found = (found ^ column) * np.uint64(_ODD)
        found ^= found >> np.uint64(32)
    return found
