"""docs/data.md says what is so: its schema file is read, its example runs, its limits and names are those of the
code.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fairness_engine.data.catalogue import REAL_DATA_SETS
from fairness_engine.data.csv.dialect import MAX_CELLS, MAX_COLUMNS, MAX_ROWS
from fairness_engine.data.csv.file_bytes import MAX_BYTES
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.schema import Kind, ModelInput, Schema
from fairness_engine.data.table import read_table


@pytest.fixture(scope="module")
def text(root: Path) -> str:
    return (root / "docs" / "data.md").read_text(encoding="utf-8")


def block(text: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found.group(1)


def test_the_schema_file_shown_is_one(text: str) -> None:
    schema = Schema.from_json(json.loads(block(text, "json")))
    assert schema.protected == ("sex",)


def test_the_example_runs(text: str, root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block(text, "python")],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert "('denied', 'granted')" in done.stdout


def test_limits_kinds_and_names_are_the_codes(text: str) -> None:
    assert f"{MAX_BYTES // 1_000_000} MB" in text
    for limit in (f"{MAX_ROWS:,} rows", f"{MAX_COLUMNS:,} columns", f"{MAX_CELLS:,} cells"):
        assert limit in text
    for word in (*Kind, *ModelInput, *REAL_DATA_SETS):
        assert f"`{word}`" in text


def test_reading_stays_cheap() -> None:
    """Seconds of the processor, not of the clock: other work on the machine must not fail this."""
    rng = np.random.default_rng(5)
    n_rows = 100_000
    columns = [rng.integers(17, 90, n_rows).astype(str), rng.normal(size=n_rows).round(4).astype(str)]
    columns += [rng.choice(["clerk", "nurse", "None"], n_rows) for _ in range(9)] + [rng.choice(["no", "yes"], n_rows)]
    header = ",".join(f"c{i}" for i in range(12))
    data = "\n".join([header, *(",".join(row) for row in zip(*columns, strict=True))]).encode()
    start = time.process_time()
    table = read_table(data, "f.csv")
    dataset = make_dataset(table, infer_schema(table))
    assert time.process_time() - start < 1.5
    assert dataset.rows.shape == (n_rows, 11)
