"""Blocks that go out to a real cluster whose processes hang, vanish or cannot keep files: each is answered, or handed
back to who asked; nothing is waited for that does not come.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fairness_engine.arrays import pack_columns
from fairness_engine.data.schema import Schema
from fairness_engine.model_process.starting.compiled_loops import Loops
from fairness_engine.store.records import FileRole
from fairness_engine.store.run_config import installed_versions
from fairness_engine.store.store import RunStore
from worker_cases import DATA, ROOT, SCHEMA, SCOPE, wait_for

pytest.importorskip("distributed", reason="evenhand[cluster] is not installed")

from dask_cases import Dask
from fairness_engine.cluster import coordinator
from fairness_engine.cluster.coordinator import Coordinator
from fairness_engine.cluster.host import Answer, HeldFiles

TREE = ROOT / "sample_models" / "census_income_tree.skops"
N_BLOCKS = 40
ASK = json.dumps({"name": "scores", "settings": {}, "arrays": {"rows": pack_columns(np.zeros((1, 9)))}})


class Asked:
    """A coordinator, and what it said."""

    def __init__(self, dask: Dask, folder: Path) -> None:
        store = RunStore(folder / "workspace")
        files = {"data": (DATA, FileRole.DATA), "model": (TREE, FileRole.MODEL)}
        kept = {name: store.add_file(path, path.name, role) for name, (path, role) in files.items()}
        held = HeldFiles(
            {name: (file.sha256, file.name) for name, file in kept.items()},
            {"schema": Schema.read(SCHEMA).to_json(), "scope": SCOPE.to_json(), "unsafe_formats": False},
            str(store.workspace / "files"),
            (str(Loops.MODELS),),
            (),
            dict(installed_versions()),
            "a run",
        )
        self.width = 0
        self.answers: dict[int, Answer] = {}
        self._n_asked = 0
        self.blocks = Coordinator(dask.address, held, folder, self._answer, self._be_ready)

    def _answer(self, number: int, answer: Answer) -> None:
        self.answers[number] = answer

    def _be_ready(self, n_workers: int) -> None:
        self.width = n_workers

    def ask(self, n: int = N_BLOCKS) -> None:
        for _ in range(n):
            self._n_asked += 1
            self.blocks.ask(self._n_asked, ASK)

    def all_came(self) -> bool:
        return len(self.answers) == self._n_asked

    def replies(self) -> list[str]:
        return [answer.reply for answer in self.answers.values() if not answer.is_back]


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    started = Dask(tmp_path, 2)
    yield started
    started.close()


@pytest.fixture
def asked(dask: Dask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    """With both processes ready, however long they take; from then on nobody is waited for longer than seconds."""
    monkeypatch.setattr(coordinator, "_CONNECT_SECONDS", 300.0)
    asks = Asked(dask, tmp_path)
    try:
        wait_for(lambda: asks.width == 2, 300)
        monkeypatch.setattr(coordinator, "_STUCK_SECONDS", 2.0)
        monkeypatch.setattr(coordinator, "_NOBODY_SECONDS", 1.0)
        monkeypatch.setattr(coordinator, "_TALK_SECONDS", 3.0)
        monkeypatch.setattr(coordinator, "_CONNECT_SECONDS", 5.0)
        yield asks
    finally:
        asks.blocks.close()


def test_a_process_that_hangs_is_not_asked_until_it_says_something(asked: Asked, dask: Dask) -> None:
    dask.workers[0].send_signal(signal.SIGSTOP)
    asked.ask()
    wait_for(asked.all_came)
    wait_for(lambda: asked.width == 1)
    assert all(asked.replies())
    assert asked.blocks.counts.n_set_aside == 0
    dask.workers[0].send_signal(signal.SIGCONT)
    wait_for(lambda: asked.width == 2)


def test_blocks_of_processes_that_all_hang_are_handed_back(asked: Asked, dask: Dask) -> None:
    for worker in dask.workers:
        worker.send_signal(signal.SIGSTOP)
    asked.ask()
    wait_for(asked.all_came)
    assert any(answer.is_back for answer in asked.answers.values())
    assert asked.width == 0


def test_blocks_of_a_scheduler_that_hangs_are_handed_back(asked: Asked, dask: Dask) -> None:
    dask.scheduler.send_signal(signal.SIGSTOP)
    asked.ask()
    wait_for(asked.all_came)
    assert asked.width == 0
    dask.scheduler.send_signal(signal.SIGCONT)
    wait_for(lambda: asked.width == 2)
    asked.ask()
    wait_for(asked.all_came)
    assert all(asked.replies())


def test_blocks_of_a_cluster_that_lost_its_processes_are_handed_back(asked: Asked, dask: Dask) -> None:
    for worker in dask.workers:
        worker.kill()
    asked.ask()
    wait_for(asked.all_came)
    wait_for(lambda: asked.width == 0)
    dask.workers = [dask.start_worker()]
    wait_for(lambda: asked.width == 1)
    asked.ask()
    wait_for(asked.all_came)
    assert asked.replies()


@pytest.mark.parametrize("who", ["worker", "scheduler"])
def test_who_hangs_does_not_hold_up_the_end(who: str, asked: Asked, dask: Dask) -> None:
    (dask.workers[0] if who == "worker" else dask.scheduler).send_signal(signal.SIGSTOP)
    ending = threading.Thread(target=asked.blocks.close, daemon=True)
    ending.start()
    ending.join(300)
    assert not ending.is_alive()
