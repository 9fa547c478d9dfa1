"""A small review on the sample data, and waiting for a run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairness_engine.data.schema import Schema
from fairness_engine.model_process import process
from fairness_engine.model_process.sandbox import walls
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds, queue, worker
from fairness_engine.store.alive import process_start_time
from fairness_engine.store.records import FileRole, RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "sample_data" / "census_income.csv"
SCHEMA = ROOT / "sample_data" / "census_income.schema.json"
MODEL = ROOT / "sample_models" / "census_income_network.keras"
SCOPE = Scope(("sex",))
ENDLESS = Budget(max_evaluations=10**12)


def census_config(store: RunStore, **changes: Any) -> RunConfig:
    """A random search on the sample network, of 20,000 evaluations."""
    data = store.add_file(DATA, DATA.name, FileRole.DATA)
    model = store.add_file(MODEL, MODEL.name, FileRole.MODEL)
    values = {"technique": "random", "budget": Budget(max_evaluations=20_000), "seed": 1, "scope": SCOPE, **changes}
    return kinds.KINDS[values.pop("kind", kinds.SEARCH.name)].config(data.id, model.id, Schema.read(SCHEMA), **values)


def endless_config(store: RunStore, **changes: Any) -> RunConfig:
    """A search that ends only when told to: the walk meets new people in a domain of billions."""
    return census_config(store, technique="aequitas", budget=ENDLESS, **changes)


def put_in_the_lying_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """The misbehaving program of ``lying_child.py`` takes the place of the real one."""
    environment = walls.child_environment

    def with_tests(scratch: Path, numba_cache: Path) -> dict[str, str]:
        variables = environment(scratch, numba_cache)
        return {
            **variables,
            "PYTHONPATH": f"{variables['PYTHONPATH']}:{ROOT / 'tests' / 'model_process'}:{ROOT / 'tests'}",
        }

    monkeypatch.setattr(walls, "child_environment", with_tests)
    monkeypatch.setattr(process, "PROGRAM", "lying_child")
    monkeypatch.setattr(worker, "prepare_compiled", lambda *_: None)


def lying_run(store: RunStore, mode: str, **changes: Any) -> str:
    """A run whose model's process misbehaves so."""
    model = store.add_file(mode.encode(), "model.keras", FileRole.MODEL)
    return store.create_run(replace(census_config(store, **changes), model_id=model.id))


def wait_for(condition: Callable[[], bool], seconds: float = 300.0) -> float:
    """Wait until something holds; returns how long it took."""
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > seconds:
            raise AssertionError(f"did not happen within {seconds} s")
        time.sleep(0.01)
    return time.monotonic() - started


def wait_for_pairs(store: RunStore, run_id: str, n_pairs: int = 1) -> RunRecord:
    """Wait until a working run has stored some pairs."""
    wait_for(lambda: store.n_pairs(run_id) >= n_pairs or store.run(run_id).state.is_final)
    run = store.run(run_id)
    assert run.state is RunState.RUNNING, (run.state, run.message)
    return run


def wait_for_end(store: RunStore, run_id: str, seconds: float = 300.0) -> RunRecord:
    """Wait until a run has ended, looking at it as a page does."""
    wait_for(lambda: queue.refresh(store, run_id).state.is_final, seconds)
    return store.run(run_id)


def model_processes(workspace: Path, owner: int | None = None) -> list[int]:
    """Ids of the model's processes at work that a process (this one) started for a workspace: they work in scratch
    folders that bear its id.
    """
    owner = os.getpid() if owner is None else owner
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                folder = (entry / "cwd").readlink()
            except OSError:
                continue
            is_scratch = folder.is_relative_to(workspace.resolve() / "scratch")
            if is_scratch and folder.name.startswith(f"{owner}-") and process_start_time(int(entry.name)) is not None:
                found.append(int(entry.name))
    return found
