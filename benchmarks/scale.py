"""Large tables: seconds and memory against rows and columns, as CSV and as Parquet, from the file to a data scan.

``python -m benchmarks.scale`` writes its sections of ``scale.md``; ``--rows 100000,1000000`` and ``--columns 1000``
choose less. The tables are raw Adult (``EVENHAND_SHARED``), its rows drawn again with a little noise in age, hours and
weight, and columns of noise beside it; they are made in a temporary folder, of some gigabytes (``TMPDIR``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.app_uploads import _family, _memory
from benchmarks.table import keep_sections, markdown, shared_folder
from fairness_engine.model_process.sandbox.walls import MAX_MEMORY_BYTES

ROOT = Path(__file__).resolve().parents[1]
ROWS = (100_000, 1_000_000, 5_000_000)
ROWS_ON_PAPER = 10**9
MOST_MEGABYTES = MAX_MEMORY_BYTES // 10**6
COLUMNS = (100, 1_000, 5_000)
N_ROWS_OF_WIDE = 20_000
SEED = 1
_NOT_TAKEN = ("income", "split", "fnlwgt")
_STEPS = """
import json, sys, time
from pathlib import Path
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.table import read_table
seconds = []
def timed(what):
    begun = time.perf_counter()
    made = what()
    most = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
    seconds.append((time.perf_counter() - begun, int(most) / 1024))
    return made
table = timed(lambda: read_table(Path(sys.argv[1])))
schema = timed(lambda: infer_schema(table))
rows = timed(lambda: make_dataset(table, schema)).rows
print(json.dumps({"steps": seconds, "shape": rows.shape}))
"""


def drawn(people: pd.DataFrame, n_rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Rows of the data again, with noise in three columns of numbers, within their ranges."""
    frame = people.iloc[rng.integers(0, len(people), n_rows)].reset_index(drop=True)
    for name, spread in (("age", 1.5), ("hours-per-week", 1.5), ("fnlwgt", 10_000.0)):
        moved = np.rint(frame[name] + rng.normal(0, spread, n_rows))
        frame[name] = np.clip(moved, people[name].min(), people[name].max()).astype(np.int64)
    return frame


def widened(frame: pd.DataFrame, n_columns: int, rng: np.random.Generator) -> pd.DataFrame:
    """Columns of noise before the others: two codes, a hundred numbers, four words by turns."""
    n_more = n_columns - len(frame.columns)
    words = np.array(["low", "mid", "high", "none yet"])
    noise = {
        f"noise {i}": words[rng.integers(0, 4, len(frame))]
        if i % 3 == 2
        else rng.integers(0, (2, 100)[i % 3], len(frame))
        for i in range(n_more)
    }
    return pd.concat([pd.DataFrame(noise), frame], axis=1)


def written(frame: pd.DataFrame, folder: Path) -> tuple[Path, Path]:
    """The same table as CSV and as Parquet."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    paths = folder / "people.csv", folder / "people.parquet"
    pyarrow.csv.write_csv(table, paths[0], pyarrow.csv.WriteOptions(quoting_style="none"))
    pq.write_table(table, paths[1])
    return paths


def train(people: pd.DataFrame, path: Path) -> None:
    """A pipeline on the complete rows of the data itself."""
    complete = people[(people != "?").all(axis=1)]
    inputs = complete.drop(columns=list(_NOT_TAKEN))
    texts = [name for name in inputs if not pd.api.types.is_numeric_dtype(inputs[name])]
    numbers = [name for name in inputs if name not in texts]
    encoders = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), texts), (StandardScaler(), numbers))
    model = make_pipeline(encoders, LogisticRegression(max_iter=1_000)).fit(inputs, complete["income"])
    skops.io.dump(model, path)


def opened(path: Path) -> list[str]:
    """Cells of a line: seconds of reading, describing and encoding, and the most memory until then, in MB."""
    done = subprocess.run(
        [sys.executable, "-c", _STEPS, str(path)],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    steps = json.loads(done.stdout)["steps"]
    size = f"{path.stat().st_size / 1e6:,.0f}"
    return [size, *(f"{seconds:.1f}" for seconds, _ in steps), *(f"{most:,.0f}" for _, most in (steps[0], steps[2]))]


def scanned(path: Path, model: Path, workspace: Path) -> list[str]:
    """Cells of a line: a data scan by the command, from the file to its end."""
    command = [sys.executable, "-m", "fairness_engine", "search", "--data", str(path), "--model", str(model)]
    command += ["--workspace", str(workspace), "--protected", "sex", "--technique", "data-scan", "--seed", str(SEED)]
    begun = time.perf_counter()
    first: list[float] = []
    own: list[float] = [0.0]
    most: list[float] = [0.0]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )

    def look() -> None:
        while process.poll() is None:
            own[0] = max(own[0], _memory(process.pid)[1])
            most[0] = max([most[0], *(_memory(pid)[1] for pid in _family(process.pid))])
            time.sleep(0.1)

    watching = threading.Thread(target=look)
    watching.start()
    assert process.stderr is not None
    assert process.stdout is not None
    for line in process.stderr:
        found = [part for part in line.split(",") if part.strip().endswith(" found")]
        if not first and "evaluations" in line and not any(part.strip() == "0 found" for part in found):
            first.append(time.perf_counter() - begun)
    told = process.stdout.read()
    process.wait()
    watching.join()
    if process.returncode:
        raise SystemExit(told)
    tested = next((line for line in told.splitlines() if line.startswith("Tested")), "")
    n_tested = tested.removeprefix("Tested ").partition(" of ")[0]
    seconds = f"{first[0]:.0f}" if first else ""
    return [n_tested, seconds, f"{time.perf_counter() - begun:.0f}", f"{own[0]:,.0f}", f"{most[0]:,.0f}"]


def on_paper(scans: Sequence[Sequence[str]]) -> str:
    """What a billion rows would take, from the two largest files; empty where there are not two of a kind."""
    said = ""
    for kind in sorted({scan[1] for scan in scans}):
        largest = [[float(scan[i].replace(",", "")) for i in (0, 4, 6)] for scan in scans if scan[1] == kind][-2:]
        if len(largest) == 2:
            before, last = largest
            n_more = last[0] - before[0]
            hours = ROWS_ON_PAPER * (last[1] - before[1]) / n_more / 3600
            megabytes_a_row = (last[2] - before[2]) / n_more
            most = int((MOST_MEGABYTES - last[2]) / megabytes_a_row + last[0])
            said += (
                f"\n\nOn paper, {ROWS_ON_PAPER:,} rows ({kind}): {hours:.1f} h, if "
                f"{ROWS_ON_PAPER * megabytes_a_row / 1e6:.2f} TB of memory were there for the model's process. It may "
                f"take {MOST_MEGABYTES:,} MB, which are some {most // 10**6:,},000,000 rows."
            )
    return said


def main() -> None:
    """Print and keep the tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.scale")
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--columns", default=",".join(map(str, COLUMNS)))
    options = parser.parse_args()
    people = pd.read_csv(
        shared_folder() / "data" / "raw" / "adult" / "data.csv", skipinitialspace=True, keep_default_na=False
    )
    rng = np.random.default_rng(SEED)
    by_rows: list[list[str]] = []
    by_columns: list[list[str]] = []
    scans: list[list[str]] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = Path(name)
        train(people, folder / "model.skops")
        for n_rows in map(int, filter(None, options.rows.split(","))):
            for path in written(drawn(people, n_rows, rng), folder):
                by_rows.append([f"{n_rows:,}", path.suffix[1:], *opened(path)])
                scans.append([f"{n_rows:,}", path.suffix[1:], *scanned(path, folder / "model.skops", folder / "runs")])
                print(by_rows[-1], scans[-1], flush=True)
        for n_columns in map(int, filter(None, options.columns.split(","))):
            wide = widened(drawn(people, N_ROWS_OF_WIDE, rng), n_columns, rng)
            for path in written(wide, folder):
                by_columns.append([f"{n_columns:,}", path.suffix[1:], *opened(path)])
                print(by_columns[-1], flush=True)
    steps = ("file, MB", "read, s", "describe, s", "encode, s", "memory read, MB", "memory encoded, MB")
    sections = []
    if by_rows:
        header = (
            "rows",
            "as",
            "people tested",
            "first pairs told, s",
            "ended, s",
            "command, MB",
            "model's process, MB",
        )
        sections += [
            f"## Opened, by rows\n\n{markdown(('rows', 'as', *steps), by_rows)}",
            "## A data scan by the command `search`\n\nFrom the start of the command, which reads the file apart, and "
            "the model's process once more. Memory that is no file's: of the command, and of the largest process "
            f"that it started, the model's.\n\n{markdown(header, scans)}{on_paper(scans)}",
        ]
    if by_columns:
        table = markdown(("columns", "as", *steps), by_columns)
        said = f"{N_ROWS_OF_WIDE:,} rows; columns of noise beside those of Adult."
        sections.append(f"## Opened, by columns\n\n{said}\n\n{table}")
    keep_sections("scale", "Large tables, large models, wide scopes", sections)


if __name__ == "__main__":
    main()
