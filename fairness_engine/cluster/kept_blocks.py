"""What a cluster answered, kept in a run's folder until it has ended: one that broke off and is asked again goes on
from there.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import select

from fairness_engine.store import tables
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.store import RunStore

_FILE = "blocks"
_MAX_BYTES = 1 << 29
"""Some 12,000,000 rows; whoever goes on holds as much in memory."""
_MAX_SECONDS = 7 * 24 * 3600
"""A run that broke off and that nobody asked again for so long keeps nothing."""
_LEFT_OUT = ("budget", "comparison")
"""Of a configuration: what a model answers does not hang on how long it is asked."""
_BROKEN_OFF = tuple(state.value for state in RunState if state.is_final and state is not RunState.FINISHED)
_CHUNK_BYTES = 1 << 20


class KeptBlocks:
    """Blocks and their answers, a line each, which nobody here reads. A run whose disk is full keeps none.

    Args:
        store, run: whose they are; it takes over those of the last run of its review, or of the command line, that
            asked the same and broke off.

    Attributes:
        n_known: how many it took over.
        path: where they are.
    """

    def __init__(self, store: RunStore, run: RunRecord) -> None:
        self.path = store.run_folder(run.id) / _FILE
        self.n_known = 0
        self._n_bytes = 0
        self._file: BinaryIO | None = None
        for left in _left(store, run):
            with contextlib.suppress(OSError):  # another run was quicker
                left.replace(self.path)
                break
        with contextlib.suppress(OSError):
            self._open()

    def keep(self, ask: str, reply: str) -> None:
        """A block was answered."""
        line = f"{ask}\t{reply}\n".encode()
        if self._file is None or self._n_bytes + len(line) > _MAX_BYTES:
            return
        try:
            self._file.write(line)
            self._file.flush()
        except OSError:
            self.forget()
            return
        self._n_bytes += len(line)

    def forget(self) -> None:
        """The run has ended, or there is no room: nothing is needed, or kept, any more."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Leave them to whoever asks the same."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
                if not self._n_bytes:
                    self.path.unlink(missing_ok=True)
        self._file = None

    def _open(self) -> None:
        with contextlib.ExitStack() as opened:
            file = opened.enter_context(self.path.open("a+b"))
            self.n_known, self._n_bytes = _whole_lines(file)
            file.truncate(self._n_bytes)
            self._file = file
            opened.pop_all()


def are_kept(store: RunStore, run: RunRecord) -> bool:
    """Whether a run that broke off left blocks that whoever asks the same goes on from."""
    with contextlib.suppress(OSError):
        return run.state.value in _BROKEN_OFF and not _is_old(store.run_folder(run.id) / _FILE)
    return False


def _is_old(path: Path) -> bool:
    return path.stat().st_mtime < time.time() - _MAX_SECONDS


def _left(store: RunStore, run: RunRecord) -> list[Path]:
    """What runs of the same question left, the last one's first; what is older than a week is taken away."""
    runs = tables.runs.c
    query = select(runs.id, runs.config).where(runs.review_id == run.review_id, runs.state.in_(_BROKEN_OFF))
    with store.engine.connect() as connection:
        found = connection.execute(query.order_by(runs.finished.desc())).all()
    asked = _question(run.config.to_json())
    left = []
    for run_id, config in found:
        path = store.run_folder(run_id) / _FILE
        with contextlib.suppress(OSError):
            if _is_old(path):
                path.unlink()
            elif _question(config) == asked:
                left.append(path)
    return left


def _question(config: Mapping[str, Any]) -> str:
    return json.dumps({name: value for name, value in config.items() if name not in _LEFT_OUT}, sort_keys=True)


def _whole_lines(file: BinaryIO) -> tuple[int, int]:
    """How many lines there are, and their bytes; the last one may be torn."""
    file.seek(0)
    n_lines = n_bytes = at = 0
    while chunk := file.read(_CHUNK_BYTES):
        n_lines += chunk.count(b"\n")
        if b"\n" in chunk:
            n_bytes = at + chunk.rindex(b"\n") + 1
        at += len(chunk)
    return n_lines, n_bytes
