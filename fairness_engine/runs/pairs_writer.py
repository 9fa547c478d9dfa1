"""Pairs of a running search, from memory to disk: small files at once, merged into large ones as they gather.

A file counts once its line is in the store, so that a writer that is killed leaves whole files and nothing twice.
"""

from __future__ import annotations

import contextlib
import time

from sqlalchemy import delete, insert

from fairness_engine.errors import RunError
from fairness_engine.events import Pairs
from fairness_engine.runs import tables
from fairness_engine.runs.config import RunConfig
from fairness_engine.runs.pairs_file import read_pairs, write_pairs
from fairness_engine.runs.store import RunStore

FLUSH_SECONDS = 0.25
"""Pairs wait in memory no longer than this."""
_FLUSH_PAIRS = 50_000
_MERGED_PAIRS = 200_000
"""Files of at least this many pairs are left alone."""
_MERGE_FILES = 16


class PairsWriter:
    """Appends a run's pairs. One writer a run."""

    def __init__(self, store: RunStore, run_id: str, config: RunConfig) -> None:
        self._store = store
        self._run_id = run_id
        self._config = config
        self._waiting: list[Pairs] = []
        self._n_waiting = 0
        self._flushed = 0.0
        self._n_files = 0
        self._parts: list[tuple[int, int, str]] = []
        self.n_pairs = 0
        self._folder = store.run_folder(run_id)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def add(self, pairs: Pairs) -> None:
        """Take pairs; they are on disk after the next ``flush``."""
        if len(pairs):
            self._waiting.append(pairs)
            self._n_waiting += len(pairs)
            if self._n_waiting >= _FLUSH_PAIRS:
                self.flush()

    def flush_when_due(self) -> None:
        """Write what waits when the last write is some time ago."""
        if self._waiting and time.monotonic() - self._flushed >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what waits as one file.

        Raises:
            RunError: the workspace cannot be written (a full disk).
        """
        if not self._waiting:
            return
        pairs = Pairs.concatenate(self._waiting, len(self._config.schema.inputs))
        part = (self.n_pairs, len(pairs), self._write(pairs))
        with self._store.engine.begin() as connection:
            connection.execute(insert(tables.parts).values(**self._line(part)))
        self._parts.append(part)
        self.n_pairs += len(pairs)
        self._waiting, self._n_waiting, self._flushed = [], 0, time.monotonic()
        if len(self._small_tail()) >= _MERGE_FILES:
            self._merge()

    def close(self) -> None:
        """Write what waits and leave few, large files."""
        self.flush()
        if len(self._small_tail()) > 1:
            self._merge()

    def _write(self, pairs: Pairs) -> str:
        self._n_files += 1
        name = f"pairs-{self._n_files:05d}.parquet"
        try:
            write_pairs(self._folder / name, pairs, self._config)
        except OSError as error:
            raise RunError(f"The pairs cannot be written to the workspace: {error.strerror or error}.") from None
        return name

    def _small_tail(self) -> list[tuple[int, int, str]]:
        """The last files that are all small and together make at most one large one."""
        tail: list[tuple[int, int, str]] = []
        n_pairs = 0
        for part in reversed(self._parts):
            n_pairs += part[1]
            if part[1] >= _MERGED_PAIRS or n_pairs > 2 * _MERGED_PAIRS:
                break
            tail.append(part)
        return tail[::-1]

    def _merge(self) -> None:
        """Replace the small files at the end by one: first the new file, then its line, then the old files go."""
        tail = self._small_tail()
        files = [self._folder / name for _, _, name in tail]
        pairs = Pairs.concatenate([read_pairs(file, self._config) for file in files], len(self._config.schema.inputs))
        part = (tail[0][0], len(pairs), self._write(pairs))
        old = (tables.parts.c.run_id == self._run_id) & (tables.parts.c.start >= part[0])
        with self._store.engine.begin() as connection:
            connection.execute(delete(tables.parts).where(old))
            connection.execute(insert(tables.parts).values(**self._line(part)))
        self._parts[-len(tail) :] = [part]
        for file in files:
            with contextlib.suppress(OSError):
                file.unlink()

    def _line(self, part: tuple[int, int, str]) -> dict[str, object]:
        return {"run_id": self._run_id, "start": part[0], "n_pairs": part[1], "file": part[2]}
