"""Pairs in the long format, one line a person: ``--pairs`` of the command line, and the tables of a bundle."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.data.dataset import CaseIds, joined, make_dataset
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import export_text
from fairness_engine.errors import SettingError
from fairness_engine.model_process.tables import read_stored
from fairness_engine.pairs import Pairs
from fairness_engine.runs.kinds import results_of
from fairness_engine.store.store import RunStore
from fairness_engine.store.whole_files import exported_file

BATCH = 20_000
"""Pairs that are read, and written, at once."""


@dataclass(frozen=True)
class PersonColumn:
    """One thing that is told of both people of some pairs.

    Args:
        name: of the column in a file.
        first, second: of the two people of every pair ``(n_pairs,)`` each.
    """

    name: str
    first: Sequence[Any]
    second: Sequence[Any]


def person_columns(
    pairs: Pairs,
    numbers: Sequence[int],
    schema: Schema,
    limit: float,
    ids: CaseIds | None = None,
    written: Callable[[object], object] = export_text,
) -> list[PersonColumn]:
    """What is told of the people of pairs: the pair's number and the side, the model's own codes, score of class 1 and
    class number, whether the person could exist, the gap of the pair's scores, and the ids of whoever is the same.

    Args:
        pairs: some of a run's.
        numbers: theirs in the run, from 1 ``(n_pairs,)``.
        schema: the columns of the rows.
        limit: the largest distance of a plausible person; NaN where nothing was measured.
        ids: of the data's people, where they are to be told.
        written: makes a text what a file may hold.
    """
    severity = pairs.gaps.tolist()
    plausible = pairs.plausible_texts(limit)
    columns = [
        PersonColumn("pair", numbers, numbers),
        PersonColumn("side", ["a"] * len(numbers), ["b"] * len(numbers)),
    ]
    for i, column in enumerate(schema.inputs):
        sides = (_codes(rows[:, i], column, written) for rows in (pairs.first, pairs.second))
        columns.append(PersonColumn(column.name, *sides))
    columns += [
        PersonColumn("score", pairs.score_first.tolist(), pairs.score_second.tolist()),
        PersonColumn("decision", pairs.decision_first.tolist(), pairs.decision_second.tolist()),
        PersonColumn("is_plausible", *plausible),
        PersonColumn("severity", severity, severity),
    ]
    if ids is not None:
        cases = ([written(joined(found)) for found in ids.of(rows)] for rows in (pairs.first, pairs.second))
        columns.append(PersonColumn("id", *cases))
    return columns


def different(names: Sequence[str]) -> list[str]:
    """Names of columns, so that no two are equal: one that has the name of an earlier one gets a stroke behind it."""
    found: dict[str, None] = {}
    for name in names:
        free = name
        while free in found:
            free += "_"
        found[free] = None
    return list(found)


def person_lines(columns: Sequence[PersonColumn]) -> Iterator[tuple[Any, ...]]:
    """A line a person: the first and the second of each pair, one after the other."""
    first = zip(*(column.first for column in columns), strict=True)
    second = zip(*(column.second for column in columns), strict=True)
    for both in zip(first, second, strict=True):
        yield from both


def case_ids(store: RunStore, run_id: str, schema: Schema) -> CaseIds | None:
    """The ids of the data of a run; ``None`` where it has none."""
    if schema.case_id is None:
        return None
    data = store.file(store.run(run_id).config.data_id)
    dataset = make_dataset(read_stored(store.workspace, data.path, data.name), schema)
    return None if dataset.ids is None else CaseIds(dataset)


def write_pairs_csv(path: Path, store: RunStore, run_id: str, schema: Schema) -> int:
    """Write all pairs of a run; returns how many.

    ``is_plausible`` is empty where a person was not measured, ``severity`` is the gap between the pair's two scores.
    Where the schema names a column of ids, the last column has those of the data's people.

    Raises:
        SettingError: the file cannot be written.
    """
    n_pairs = store.n_pairs(run_id)
    ids = case_ids(store, run_id, schema)
    plausibility = results_of(store, run_id).plausibility
    limit = math.nan if plausibility is None else plausibility.limit
    try:
        with exported_file(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            writer = csv.writer(text, lineterminator="\n")
            empty = person_columns(Pairs.empty(len(schema.inputs)), [], schema, limit, ids)
            writer.writerow([export_text(name) for name in different([column.name for column in empty])])
            for start in range(0, n_pairs, BATCH):
                pairs = store.pairs(run_id, BATCH, start)
                numbers = range(start + 1, start + 1 + len(pairs))
                writer.writerows(person_lines(person_columns(pairs, numbers, schema, limit, ids)))
            text.detach()
    except OSError as error:
        raise SettingError(f"--pairs must name a file that can be written, got '{path}': {error.strerror}.") from None
    return n_pairs


def _codes(values: FloatArray, column: Column, written: Callable[[object], object]) -> list[Any]:
    """What the model receives, ``(n_rows,)``; text that a spreadsheet would run is escaped."""
    if column.kind is Kind.CATEGORICAL:
        codes = [written(code) for code in column.codes]
        return [codes[position] for position in np.rint(values).astype(int).tolist()]
    return list((np.rint(values).astype(np.int64) if column.kind is Kind.INTEGER else values).tolist())
