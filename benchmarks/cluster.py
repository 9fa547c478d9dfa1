"""What a cluster saves and costs: ``python -m benchmarks.cluster``, on the project's own data, with processes of this
machine.

A forest of 1,200 trees is slow enough to be shared out. Each run is made alone and with some processes, the whole
command timed from its start to its end; what it found must be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import skops.io

from benchmarks.table import keep, markdown
from fairness_engine.model_process.starting.compiled_loops import Loops, prepare_compiled

ROOT = Path(__file__).resolve().parents[1]
_COPIES = 100
_RUNS: dict[str, list[str]] = {
    "search, random": ["search", "--technique", "random", "--max-evaluations", "3e6"],
    "search, MAFT": ["search", "--technique", "maft", "--max-evaluations", "3e6"],
    "search, AEQUITAS": ["search", "--technique", "aequitas", "--max-evaluations", "3e6"],
    "search, Directed": ["search", "--technique", "directed", "--max-evaluations", "3e6"],
    "estimate": ["estimate", "--samples", "300000"],
    "exact count": [
        "count",
        "--limit",
        "age=25:54",
        "--limit",
        "hours_per_week=36:43",
        "--limit",
        "education_years=9:12",
    ],
    "certification": ["certify", "--max-boxes", "60000", "--max-seconds", "600"],
    "comparison, 7 techniques x 5 seeds": [
        *("compare", "--techniques", "aequitas,directed,maft,maft-plus,sg-shared", "--seeds", "5"),
        *("--max-evaluations", "3e5"),
    ],
}


def forest(copies: int, folder: Path) -> Path:
    """The sample forest with each tree so many times."""
    made = skops.io.load(ROOT / "sample_models" / "census_income_forest.skops", trusted=["sklearn.tree._tree.Tree"])
    made.estimators_ = made.estimators_ * copies
    made.n_estimators = len(made.estimators_)
    skops.io.dump(made, folder / "forest.skops")
    return folder / "forest.skops"


def _run(words: list[str], model: Path, folder: Path, cluster: str) -> tuple[float, dict[str, Any]]:
    """How long the whole command takes, and what it says."""
    sample = ROOT / "sample_data" / "census_income"
    command = [sys.executable, "-m", "fairness_engine", *words, "--data", f"{sample}.csv"]
    command += ["--schema", f"{sample}.schema.json", "--model", str(model), "--protected", "sex"]
    command += ["--workspace", str(folder / "workspace"), "--json", "-", "--quiet"]
    environment = {**os.environ, "EVENHAND_CLUSTER": cluster, "OPENBLAS_NUM_THREADS": "1"}
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    seconds = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(done.stderr)
    return seconds, json.loads(done.stdout)


def main() -> None:
    """Print the table and keep it in ``cluster.md``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--workers", default="2", help="how many processes, as 1,2,8")
    asked = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = forest(_COPIES, folder)
        prepare_compiled(folder / "workspace", None, *Loops)  # compiling is no part of any run
        for title, words in _RUNS.items():
            if asked.only not in title:
                continue
            counts = ["", *asked.workers.split(",")]
            spent: dict[str, list[float]] = {count: [] for count in counts}
            inside: dict[str, list[float]] = {count: [] for count in counts}
            hashes = set()
            said: dict[str, Any] = {}
            for _ in range(asked.repeats):
                for cluster, times in spent.items():
                    seconds, said = _run(words, model, folder, cluster)
                    times.append(seconds)
                    inside[cluster].append(said["seconds"])
                    hashes.add(said["result_hash"])
            whole = {cluster: statistics.median(each) for cluster, each in spent.items()}
            run = {cluster: statistics.median(each) for cluster, each in inside.items()}
            line = [title, *(f"{whole[c]:.1f} ({run[c]:.1f})" for c in counts)]
            line += [", ".join(f"{whole[''] / whole[c]:.2f}" for c in counts[1:])]
            line += [f"{said['blocks']['done']:,}", "yes" if len(hashes) == 1 else "NO"]
            print(" | ".join(line), flush=True)
            lines.append(line)
    header = ["run", "s alone", *(f"s with {n}" for n in asked.workers.split(",")), "times as fast", "blocks", "same"]
    keep(
        "cluster",
        "What a cluster saves",
        [f"Whole commands, in brackets the run; medians of {asked.repeats}.", markdown(header, lines)],
    )


if __name__ == "__main__":
    main()
