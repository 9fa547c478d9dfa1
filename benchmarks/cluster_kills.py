"""A run whose cluster's processes are killed again and again, against the same run alone: ``python -m
benchmarks.cluster_kills``; and how long a cancel of a shared run takes.

A scheduler and two workers of this machine; every so many seconds the older worker is ended by ``kill -9`` and another
one started. A forest of 1,200 trees, so that the run is long.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.cluster import ROOT, forest
from benchmarks.table import keep, markdown
from fairness_engine.audit.result_hash import result_hash
from fairness_engine.data.schema import Schema
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds, queue
from fairness_engine.store.environment import CLUSTER_VARIABLE
from fairness_engine.store.records import FileRole, RunRecord
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

sys.path.insert(0, str(ROOT / "tests"))

from dask_cases import Dask

_COPIES = 100
_N_CANCELS = 5
_SAMPLE = ROOT / "sample_data" / "census_income"


def search(store: RunStore, model: Path, n_evaluations: int) -> RunConfig:
    """A random search of so many rows."""
    data = store.add_file(Path(f"{_SAMPLE}.csv"), f"{_SAMPLE.name}.csv", FileRole.DATA)
    held = store.add_file(model, model.name, FileRole.MODEL)
    schema = Schema.read(Path(f"{_SAMPLE}.schema.json"))
    budget = Budget(n_evaluations)
    return kinds.SEARCH.config(data.id, held.id, schema, Scope(("sex",)), technique="random", budget=budget, seed=1)


def worked(store: RunStore, config: RunConfig, dask: Dask | None, pause: float) -> tuple[RunRecord, int, float]:
    """The run in its final state, how often a worker was killed, and the seconds that it took."""
    n_killed = 0
    began = last = time.monotonic()

    def kill(_: RunRecord) -> None:
        nonlocal n_killed, last
        if dask is not None and time.monotonic() - last > pause:
            last = time.monotonic()
            n_killed += 1
            dask.workers[0].kill()
            dask.workers[0].wait()
            dask.workers = [dask.workers[1], dask.start_worker()]

    run = queue.run_in_foreground(store, store.create_run(config), kill)
    return run, n_killed, time.monotonic() - began


def cancelled(store: RunStore, config: RunConfig) -> float:
    """Seconds from a cancel of a run that is shared out to its end."""
    run_id = store.create_run(config)
    queue.launch(store, run_id)
    while (counts := kinds.results_of(store, run_id).cluster) is None or not counts.n_done:
        time.sleep(0.1)
    store.request_cancel(run_id)
    began = time.monotonic()
    while not queue.refresh(store, run_id).state.is_final:
        time.sleep(0.01)
    return time.monotonic() - began


def main() -> None:
    """Print the figures and keep them in ``cluster_kills.md``."""
    parser = argparse.ArgumentParser(prog="benchmarks.cluster_kills")
    parser.add_argument("--evaluations", type=float, default=6e6)
    parser.add_argument("--pause", type=float, default=20.0, help="seconds between two kills")
    asked = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = RunStore(folder / "workspace")
        model = forest(_COPIES, folder)
        config = search(store, model, int(asked.evaluations))
        dask = Dask(folder, 2)
        try:
            for title in ("alone", f"a worker killed every {asked.pause:.0f} s"):
                is_shared = title != "alone"
                os.environ[CLUSTER_VARIABLE] = dask.address if is_shared else ""
                run, n_killed, seconds = worked(store, config, dask if is_shared else None, asked.pause)
                counts = kinds.results_of(store, run.id).cluster
                blocks = f"{counts.n_done:,}, {counts.n_repeated:,}, {counts.n_set_aside:,}" if counts else ""
                line = [title, str(run.state), f"{seconds:.0f}", str(n_killed), blocks]
                lines.append([*line, f"{run.evaluations:,}", f"{run.n_found:,}", result_hash(store, run)[:16]])
                print(lines[-1], flush=True)
            endless = search(store, model, 10**12)
            ends = [cancelled(store, endless) for _ in range(_N_CANCELS)]
        finally:
            dask.close()
    header = ("run", "ended", "s", "kills", "blocks done, repeated, set aside", "evaluations", "found", "result_hash")
    median = statistics.median(ends)
    said = f"From a cancel to the end of a shared run: {median:.2f} s, at most {max(ends):.2f} s of {_N_CANCELS} times."
    keep("cluster_kills", "A cluster whose workers are killed", [markdown(header, lines), said])


if __name__ == "__main__":
    main()
