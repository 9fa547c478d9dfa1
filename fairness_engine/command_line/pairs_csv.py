"""Pairs as CSV in long format: one row a person.

Columns: ``pair`` (1, 2, ... in the order of discovery), ``side`` (a, b), every column that the model takes, in the schema's order and as the
model's codes, ``score`` and ``decision`` (index of the class); ``id`` where the schema names a column of ids.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.case_ids import CaseIds, joined
from fairness_engine.dataset import export_text, make_dataset, read_table
from fairness_engine.errors import SettingError
from fairness_engine.events import FloatArray, IntArray, Pairs
from fairness_engine.runs.store import RunStore
from fairness_engine.schema import Column, Kind, Schema

_BATCH = 20_000


def write_pairs_csv(path: Path, store: RunStore, run_id: str, schema: Schema) -> int:
    """Write all pairs of a run; returns how many. Where the schema names a column of ids, the last column has those of the data's people.

    Raises:
        SettingError: the file cannot be written.
    """
    n_pairs = store.n_pairs(run_id)
    ids = _ids(store, run_id, schema)
    own = ("pair", "side", *schema.names, "score", "decision", *(("id",) if ids else ()))
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([export_text(name) for name in own])
            for start in range(0, n_pairs, _BATCH):
                writer.writerows(_persons(store.pairs(run_id, _BATCH, start), start, schema, ids))
    except OSError as error:
        raise SettingError(f"--pairs must name a file that can be written, got '{path}': {error.strerror}.") from None
    return n_pairs


def _ids(store: RunStore, run_id: str, schema: Schema) -> CaseIds | None:
    """The ids of the data of a run, where it has any."""
    if schema.case_id is None:
        return None
    data = store.file(store.run(run_id).config.data_id)
    dataset = make_dataset(read_table(data.path, data.name), schema)
    return None if dataset.ids is None else CaseIds(dataset)


def _persons(pairs: Pairs, offset: int, schema: Schema, ids: CaseIds | None) -> Iterator[list[Any]]:
    sides = (
        _lines(pairs.first, pairs.score_first, pairs.decision_first, schema, ids),
        _lines(pairs.second, pairs.score_second, pairs.decision_second, schema, ids),
    )
    for i, (first, second) in enumerate(zip(*sides, strict=True)):
        yield [offset + i + 1, "a", *first]
        yield [offset + i + 1, "b", *second]


def _lines(
    rows: FloatArray, scores: FloatArray, decisions: IntArray, schema: Schema, ids: CaseIds | None
) -> Iterator[tuple[Any, ...]]:
    columns = [_codes(rows[:, i], column) for i, column in enumerate(schema.inputs)]
    cases = [] if ids is None else [[export_text(joined(found)) for found in ids.of(rows)]]
    return zip(*columns, scores.tolist(), decisions.tolist(), *cases, strict=True)


def _codes(values: FloatArray, column: Column) -> list[Any]:
    """What the model receives, ``(n_rows,)``; text that a spreadsheet would run is escaped."""
    if column.kind is Kind.CATEGORICAL:
        codes = [export_text(code) for code in column.codes]
        return [codes[position] for position in np.rint(values).astype(int).tolist()]
    return list((np.rint(values).astype(np.int64) if column.kind is Kind.INTEGER else values).tolist())
