"""A run that a cluster helps with: its model's process asks for blocks, and the coordinator has them answered."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fairness_engine.cluster.coordinator import Coordinator
from fairness_engine.cluster.depot import Depot
from fairness_engine.cluster.host import HeldFiles
from fairness_engine.errors import breach
from fairness_engine.model_process.starting.compiled_loops import Loops
from fairness_engine.store.environment import depot_address
from fairness_engine.store.records import RunRecord, StoredFile
from fairness_engine.store.store import RunStore

_ASKED = re.compile(r'\{"block": (\d{1,12}), "ask": (\{.*\})\}')
_MAX_OUT = 10_000
"""Blocks that may be out at once: a process that asks for more lies."""
_WRITE_SECONDS = 1.0


class SharedRun:
    """What stands between a run's model's process and the cluster; neither's words are read.

    Args:
        store, run: what to do, and where it is kept how it goes.
        address: of the cluster, see ``environment.cluster_address``.
        files: the data and the model.
        opened: how they are opened.
        loops: that the blocks need.
        tell: sends a line to the model's process.

    Raises:
        RunError: the cluster cannot be reached.
    """

    def __init__(
        self,
        store: RunStore,
        run: RunRecord,
        address: str,
        files: Mapping[str, StoredFile],
        opened: Mapping[str, Any],
        loops: Sequence[Loops],
        tell: Callable[[str], None],
    ) -> None:
        self._store = store
        self._run_id = run.id
        depot = Depot(depot_address() or str(store.workspace / "files"))
        for file in files.values():
            depot.put(file.path, file.sha256)
        held = HeldFiles(
            {role: (file.sha256, file.name) for role, file in files.items()},
            dict(opened),
            depot.url,
            tuple(str(each) for each in loops),
            tuple(store.libraries(run.config.model_id)),
        )
        self._tell = tell
        self._written: dict[str, Any] = {}
        self._next_write = 0.0
        self._n_out = 0
        self._coordinator = Coordinator(address, held, store.workspace / "scratch", self._answer)

    @property
    def width(self) -> int:
        """Processes that work."""
        return self._coordinator.counts.n_workers

    def takes(self, line: str) -> bool:
        """Pass a line on, if it asks for a block.

        Raises:
            ProcessError: it asks for too many.
        """
        if not line.startswith('{"block":'):
            return False
        asked = _ASKED.fullmatch(line)
        self._n_out += 1
        if asked is None or self._n_out > _MAX_OUT:
            raise breach("it asked for a block that cannot be")
        self._coordinator.ask(int(asked[1]), asked[2])
        return True

    def look(self) -> float:
        """When a block was last answered (``time.monotonic``); how it goes is written now and then.

        Raises:
            RunError: the cluster is lost.
        """
        if self._coordinator.failure is not None:
            raise self._coordinator.failure
        now = time.monotonic()
        if now >= self._next_write:
            self._next_write = now + _WRITE_SECONDS
            self._write()
        return self._coordinator.heard

    def close(self) -> None:
        """Leave the cluster."""
        self._coordinator.close()
        self._write()

    def _write(self) -> None:
        content = asdict(self._coordinator.counts)
        if content != self._written:
            self._store.set_result(self._run_id, "cluster", content)
            self._written = content

    def _answer(self, number: int, reply: str) -> None:
        self._n_out -= 1
        self._tell(f'{{"do": "block_done", "number": {number}, "reply": {reply}}}')
