"""A run that a cluster helps with: its model's process asks for blocks, and the coordinator has them answered; or one
of its processes works the whole run.
"""

from __future__ import annotations

import contextlib
import json
import math
import queue
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fairness_engine.cluster.coordinator import Coordinator
from fairness_engine.cluster.depot import Depot
from fairness_engine.cluster.host import Answer, HeldFiles
from fairness_engine.cluster.kept_blocks import KeptBlocks
from fairness_engine.errors import EvenhandError, ProcessError, RunError, breach
from fairness_engine.events import Progress, from_line
from fairness_engine.model_process.starting.compiled_loops import Loops
from fairness_engine.store.environment import depot_address
from fairness_engine.store.records import RunRecord, StoredFile
from fairness_engine.store.run_config import installed_versions
from fairness_engine.store.store import RunStore

_ASKED = re.compile(r'\{"block": (\d{1,12}), "ask": (\{.*\})\}')
_MAX_OUT = 10_000
"""Blocks that may be out at once: a process that asks for more lies."""
_WRITE_SECONDS = 1.0
_POLL_SECONDS = 0.1
_CANCEL_SECONDS = 10.0
"""How long a cancelled run may take to come back from the cluster with what it has."""


class SharedRun:
    """What stands between a run's model's process and the cluster; neither's words are read.

    Args:
        store, run: what to do, and where it is kept how it goes.
        address: of the cluster, see ``environment.cluster_address``.
        files: the data and the model.
        opened: how they are opened.
        loops: that the blocks need.
        tell: sends a line to the model's process; ``None`` for a run that is worked whole, elsewhere.
        kept: takes what is answered.

    Raises:
        RunError: the cluster has no place for the files.
    """

    def __init__(
        self,
        store: RunStore,
        run: RunRecord,
        address: str,
        files: Mapping[str, StoredFile],
        opened: Mapping[str, Any],
        loops: Sequence[Loops],
        tell: Callable[[str], None] | None,
        kept: KeptBlocks | None = None,
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
            tuple(store.libraries(run.config.model_id)) if run.config.model_id else (),
            dict(installed_versions()),
            run.id,
            run.config.comparison or "",
        )
        self._tell = tell
        self._written: dict[str, Any] = {}
        self._next_write = 0.0
        self._out: dict[int, str] = {}
        self._kept = kept
        self._whole: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._is_ready = threading.Event()
        self._told = ""
        self._coordinator = Coordinator(
            address,
            held,
            store.workspace / "scratch",
            self._answer,
            self._be_ready,
            is_whole=tell is None,
            tell=self._note,
        )
        self._coordinator.counts.n_known = 0 if kept is None else kept.n_known

    def takes(self, line: str) -> bool:
        """Pass a line on, if it asks for a block.

        Raises:
            ProcessError: it asks for too many.
        """
        if not line.startswith('{"block":'):
            return False
        asked = _ASKED.fullmatch(line)
        if asked is None or len(self._out) >= _MAX_OUT or int(asked[1]) in self._out:
            raise breach("it asked for a block that cannot be")
        self._out[int(asked[1])] = asked[2]
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

    # --- a whole run ----------------------------------------------------------------------

    def work_whole(self, request: Mapping[str, Any], is_cancelled: Callable[[], bool]) -> Answer | None:
        """Have the run worked; what it said, once it ended. ``None`` where it did not end soon after a cancel.

        Args:
            request: the others of a ``run`` request.
            is_cancelled: asked several times a second.

        Raises:
            RunError: the cluster is lost, or none of its processes can open the files.
            ProcessError: the run ended every process that worked it.
        """
        has_asked = False
        gives_up = math.inf
        told = ""
        while True:
            self.look()
            if self._is_ready.is_set() and not has_asked:
                has_asked = True
                self._coordinator.ask(1, json.dumps(request))
            with contextlib.suppress(queue.Empty):
                answer = self._whole.get(timeout=_POLL_SECONDS)
                if answer.unable:
                    raise RunError(answer.why)
                if not answer.reply:
                    raise ProcessError(answer.why)
                return answer
            if self._told != told:
                told = self._told
                self._store.set_phase(self._run_id, told)
            if math.isinf(gives_up) and is_cancelled():
                gives_up = time.monotonic() + _CANCEL_SECONDS
                self._coordinator.cancel()
            if time.monotonic() > gives_up:
                return None

    def _note(self, line: str) -> None:
        """How a whole run goes, from a line of progress that nobody has checked."""
        with contextlib.suppress(ValueError, KeyError, TypeError, EvenhandError):
            event = from_line(line)
            if isinstance(event, Progress):
                self._told = f"{event.phase[:100]}, on the cluster: {event.n_found:,} found so far"

    def close(self) -> None:
        """Leave the cluster."""
        self._coordinator.close()
        self._write()

    def _write(self) -> None:
        content = asdict(self._coordinator.counts)
        if content != self._written:
            self._store.set_result(self._run_id, "cluster", content)
            self._written = content

    def _be_ready(self, n_workers: int) -> None:
        self._is_ready.set()
        if self._tell is not None:
            self._tell(f'{{"do": "blocks_ready", "width": {n_workers}}}')

    def _answer(self, number: int, answer: Answer) -> None:
        ask = self._out.pop(number, "")
        if self._kept is not None and answer.reply:
            self._kept.keep(ask, answer.reply)
        reply = answer.reply or json.dumps({"is_back": answer.is_back})
        if self._tell is None:
            self._whole.put(answer)
        else:
            self._tell(f'{{"do": "block_done", "number": {number}, "reply": {reply}}}')
