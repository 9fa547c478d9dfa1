"""What a cluster saves and costs: ``python -m benchmarks.cluster``, on the project's own data, with processes of this
machine.

A forest of 1,200 trees is slow enough to be shared out. Each run is made alone, alone on one core, and with some
processes, the whole command timed from its start to its end; what it found must be the same. A run alone may use what
cores there are (a certification uses all of them): what another worker of one core adds is told by the run on one.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import skops.io

from benchmarks.table import keep_sections, markdown
from fairness_engine.model_process.starting.compiled_loops import Loops, prepare_compiled
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore

ROOT = Path(__file__).resolve().parents[1]
_COPIES = 100
_ALONE = "alone"
_ONE_CORE = "alone on one core"
_BROKEN_OFF = "a search that broke off"
_RUNS: dict[str, list[str]] = {
    "search, random": ["search", "--technique", "random", "--max-evaluations", "1.2e7"],
    "search, MAFT": ["search", "--technique", "maft", "--max-evaluations", "3e6"],
    "search, AEQUITAS": ["search", "--technique", "aequitas", "--max-evaluations", "3e6"],
    "search, Directed": ["search", "--technique", "directed", "--max-evaluations", "3e6"],
    "estimate": ["estimate", "--samples", "2400000"],
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


def _run(
    words: list[str], model: Path, folder: Path, way: str, breaks_off: float = 1.0
) -> tuple[float, dict[str, Any]]:
    """How long the whole command takes, and what it says.

    Args:
        way: ``_ALONE``, ``_ONE_CORE``, or how many processes.
        breaks_off: after which share of its evaluations its worker is killed.
    """
    sample = ROOT / "sample_data" / "census_income"
    command = [sys.executable, "-m", "fairness_engine", *words, "--data", f"{sample}.csv"]
    command += ["--schema", f"{sample}.schema.json", "--model", str(model), "--protected", "sex"]
    command += ["--workspace", str(folder / "workspace"), "--json", "-", "--quiet"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    environment["EVENHAND_CLUSTER"] = "" if way in (_ALONE, _ONE_CORE) else way
    if way == _ONE_CORE:
        command = ["taskset", "--cpu-list", "0", *command]
        (folder / "one-core").mkdir(exist_ok=True)
        environment["XDG_RUNTIME_DIR"] = str(folder / "one-core")  # a fork server that stands by has all cores
    began = time.perf_counter()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=ROOT, env=environment, **pipes) as started:
        if breaks_off < 1:
            _kill_worker(RunStore(folder / "workspace"), breaks_off)
        said, why = started.communicate()
    seconds = time.perf_counter() - began
    if breaks_off < 1:
        return seconds, {}
    if started.returncode:
        raise SystemExit(why)
    return seconds, json.loads(said)


def _kill_worker(store: RunStore, share: float) -> None:
    """Once so much of the search that is at work is done."""
    while True:
        time.sleep(0.1)
        for run in store.runs_in(RunState.RUNNING):
            most = run.config.budget.max_evaluations
            if run.worker_pid and most and run.evaluations > share * most:
                os.kill(run.worker_pid, signal.SIGKILL)
                return


def _broken_off(model: Path, folder: Path) -> str:
    """A search whose worker is killed in the middle, begun again."""
    words = _RUNS["search, random"]
    seconds, whole = _run(words, model, folder, "2")
    until, _ = _run(words, model, folder, "2", breaks_off=0.5)
    after, again = _run(words, model, folder, "2")
    kept = again["blocks"]
    lines = [["whole", f"{seconds:.1f}", f"{whole['blocks']['done']:,}", ""]]
    lines += [["until its worker was killed, half done", f"{until:.1f}", "", ""]]
    lines += [["begun again", f"{after:.1f}", f"{kept['done']:,}", f"{kept['known']:,}"]]
    same = "the same findings" if whole["result_hash"] == again["result_hash"] else "OTHER FINDINGS"
    table = markdown(["search with 2", "s, the whole command", "blocks", "known"], lines)
    return f"## {_BROKEN_OFF}\n`{' '.join(words)}`, {same}; single runs.\n\n{table}"


def _section(title: str, ways: Sequence[str], model: Path, folder: Path, repeats: int) -> str:
    """A run in each way, in turn."""
    spent: dict[str, list[float]] = {way: [] for way in ways}
    inside: dict[str, list[float]] = {way: [] for way in ways}
    blocks: dict[str, str] = {}
    hashes = set()
    for _ in range(repeats):
        for way, times in spent.items():
            seconds, said = _run(_RUNS[title], model, folder, way)
            times.append(seconds)
            inside[way].append(said["seconds"])
            blocks[way] = f"{said['blocks']['done']:,}"
            hashes.add(said["result_hash"])
    whole = {way: statistics.median(each) for way, each in spent.items()}
    lines = []
    for way in ways:
        line = [way if way in (_ALONE, _ONE_CORE) else f"with {way}", f"{whole[way]:.1f}"]
        line += [f"{statistics.median(inside[way]):.1f}", *(f"{whole[base] / whole[way]:.2f}" for base in ways[:2])]
        lines.append([*line, blocks[way]])
    header = ["way", "s, the whole command", "s, the run", "times as fast as alone", "as on one core", "blocks"]
    same = "the same findings" if len(hashes) == 1 else "OTHER FINDINGS"
    note = f"`{' '.join(_RUNS[title])}`, {same}; {f'medians of {repeats}' if repeats > 1 else 'single runs'}."
    return f"## {title}\n{note}\n\n{markdown(header, lines)}"


def main() -> None:
    """Print a table of each run and keep it in ``cluster.md``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="runs whose titles hold one of these, as random,count")
    parser.add_argument("--workers", default="2", help="how many processes, as 1,2,8")
    asked = parser.parse_args()
    ways = [_ALONE, _ONE_CORE, *asked.workers.split(",")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = forest(_COPIES, folder)
        prepare_compiled(folder / "workspace", None, *Loops)  # compiling is no part of any run
        for title in (*_RUNS, _BROKEN_OFF):
            if not any(part in title for part in asked.only.split(",")):
                continue
            if title == _BROKEN_OFF:
                section = _broken_off(model, folder)
            else:
                section = _section(title, ways, model, folder, asked.repeats)
            print(section, flush=True)
            keep_sections("cluster", "What a cluster saves", [section])


if __name__ == "__main__":
    main()
