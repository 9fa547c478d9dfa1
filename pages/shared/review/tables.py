"""Tables and data sets of the files that people look at just now, in all browser sessions together.

Small files are read here; larger ones in a process of its own, which leaves their columns to be mapped: a page's
process never takes the memory that reading takes.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.data.csv.dialect import DELIMITERS
from pages.shared.app import session, turns
from pages.shared.app.kept import Held

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from fairness_engine.data.dataset import Dataset
    from fairness_engine.data.schema import Schema
    from fairness_engine.data.table import Table
    from fairness_engine.data.texts import Texts
    from fairness_engine.model_process.tables import Reading
    from fairness_engine.store.records import StoredFile

MAX_SMALL_BYTES = 2_000_000
MAX_SMALL_COLUMNS = 200
"""What is read in a page's process: it takes some 20 MB and half a second at most; a process of its own takes a quarter
of a second more.
"""
_MEMORY_A_BYTE = 10
"""Of a small file that was read."""
_TEXT_BYTES = 60
"""Of a string beside its letters."""
_REASONS = "reasons"
"""Folder of the workspace: why columns of tables that were read are left out, by the hash of the file."""
_BYTES_OF_TABLES = 4_000_000_000
"""Most of them are columns in files, of which a page looks at some."""
_BYTES_OF_ROWS = 4_000_000_000
"""As those of tables."""
_BYTES_OF_TEXTS = 500_000_000
_LEAST_BYTES_IN_A_FILE = 4_000_000


def reading_of(file: StoredFile) -> Reading:
    """A stored file as read, with its description where it was read for the first time.

    Raises:
        DataError: it is no table that can be used.
    """
    return _TABLES.get((file.sha256, file.name), lambda: _read(file))


def table_of(file: StoredFile) -> Table:
    """A stored file as text.

    Raises:
        DataError: it is no table that can be used.
    """
    return reading_of(file).table


def describe(file: StoredFile) -> Schema:
    """A first description of a stored file.

    Raises:
        SchemaError: no column is left that a model could take.
    """
    from fairness_engine.data.inference import infer_schema

    reading = reading_of(file)
    if reading.inferred is None and not reading.refusal:
        return infer_schema(reading.table)
    return reading.schema()


def dataset_of(table: Table, schema: Schema) -> Dataset:
    """A table's rows under a schema.

    Raises:
        DataError: the table does not fit the schema.
    """
    from fairness_engine.data.dataset import make_dataset

    def make() -> Dataset:
        with st.spinner("Checking every cell …"):
            return _in_files(make_dataset(table, schema, _array_in_a_file), session.workspace())

    return _DATASETS.get((table.source_hash, table.name, json.dumps(schema.to_json())), make)


def texts_of(table: Table, schema: Schema, column: str) -> Texts:
    """The texts of a table's column that can be used.

    Raises:
        DataError: the column has none, or a cell of the label does not fit the schema.
    """
    from fairness_engine.data.texts import make_texts

    def make() -> Texts:
        with st.spinner("Reading the texts …"):
            return make_texts(table, schema, column)

    return _TEXTS.get((table.source_hash, table.name, json.dumps(schema.to_json()), column), make)


def forget() -> None:
    """Give up all that is held."""
    for held in (_TABLES, _DATASETS, _TEXTS):
        held.clear()


def _read(file: StoredFile) -> Reading:
    from fairness_engine.data.table import read_table
    from fairness_engine.model_process.tables import Reading, read_apart

    if _is_small(file):
        return Reading(read_table(file.path, file.name))
    store = session.store()
    note = store.note(_REASONS, file.sha256)
    with st.spinner("Reading the file …", show_time=True), turns.left():
        known = json.loads(note) if note else None
        reading = read_apart(store.workspace, file.path, file.name, reasons=known, is_described=known is None)
    if not note and reading.table.reasons is not None:
        store.keep_note(_REASONS, file.sha256, json.dumps(dict(reading.table.reasons)))
    return reading


def _is_small(file: StoredFile) -> bool:
    from fairness_engine.model_process.tables import is_parquet

    if file.n_bytes > MAX_SMALL_BYTES:
        return False
    try:
        if is_parquet(file.path):
            return False  # nobody knows what it takes before it was unpacked
        with file.path.open("rb") as opened:
            head = opened.readline(MAX_SMALL_BYTES)
    except OSError:
        return True  # the reader says it
    return max(head.count(sign.encode()) for sign in DELIMITERS) < MAX_SMALL_COLUMNS


def _in_files(dataset: Dataset, folder: Path) -> Dataset:
    """A data set whose large arrays lie in files without a name: whoever holds on to it holds no memory that others
    need. Its rows were made in one.
    """
    more = dataset.incomplete
    dataset.rows.flags.writeable = False
    return replace(
        dataset,
        kept=_in_file(dataset.kept, folder),
        labels=None if dataset.labels is None else _in_file(dataset.labels, folder),
        incomplete=None if more is None else replace(more, rows=_in_file(more.rows, folder)),
    )


def _in_file(values: NDArray[Any], folder: Path) -> NDArray[Any]:
    if values.nbytes < _LEAST_BYTES_IN_A_FILE:
        return values
    held = _mapped(values.shape, values.dtype, folder)
    if held is None:
        return values
    held[:] = values
    held.flags.writeable = False
    return held


def _array_in_a_file(shape: tuple[int, int]) -> NDArray[np.float64]:
    """Room for the rows of a data set: a large one never stands in this process's own memory, not even while it is
    made.
    """
    import numpy as np

    is_large = 8 * shape[0] * shape[1] >= _LEAST_BYTES_IN_A_FILE
    held = _mapped(shape, np.dtype(np.float64), session.workspace()) if is_large else None
    return np.empty(shape) if held is None else held


def _mapped(shape: tuple[int, ...], kind: np.dtype[Any], folder: Path) -> NDArray[Any] | None:
    """An array in a file without a name; ``None`` where the disk is full."""
    import numpy as np

    n_bytes = kind.itemsize * math.prod(shape)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, n_bytes)  # a page that finds no room later would end this process
            return np.memmap(file, dtype=kind, mode="r+", shape=shape).view(np.ndarray)
    except OSError:
        return None


def _weight_of_reading(reading: Reading) -> int:
    table = reading.table
    return _MEMORY_A_BYTE * MAX_SMALL_BYTES + 8 * table.n_rows * len(table.columns)


def _weight_of_dataset(dataset: Dataset) -> int:
    incomplete = dataset.incomplete
    rows = [dataset.rows, dataset.kept] + ([] if incomplete is None else [incomplete.rows, incomplete.kept])
    n_ids = 0 if dataset.ids is None else len(dataset.ids)
    return sum(array.nbytes for array in rows) + 8 * len(dataset.rows) + _TEXT_BYTES * n_ids


def _weight_of_texts(texts: Texts) -> int:
    return sum(map(len, texts.texts)) + _TEXT_BYTES * len(texts)


_TABLES: Held[Reading] = Held(_BYTES_OF_TABLES, _weight_of_reading)
_DATASETS: Held[Dataset] = Held(_BYTES_OF_ROWS, _weight_of_dataset)
_TEXTS: Held[Texts] = Held(_BYTES_OF_TEXTS, _weight_of_texts)
