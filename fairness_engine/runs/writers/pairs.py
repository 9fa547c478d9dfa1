"""Pairs of a running search, from memory to disk: small files at once, merged into large ones as they gather.

Pairs are measured after they were found: what is known of their plausibility is filled in when their file is written or
merged, at the latest when the run ends. A file counts once its line is in the store, so that a writer that is killed
leaves whole files and nothing twice.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import Engine, delete

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.codec import hold
from fairness_engine.errors import RunError, breach
from fairness_engine.events import Event, PairsFound, PairsMeasured, Stopped
from fairness_engine.model_process.protocol import check_pairs, is_measured_or_not
from fairness_engine.oracle.possible_pairs import PossiblePairs, Seen
from fairness_engine.pairs import Pairs
from fairness_engine.runs.writers.writer import Writer
from fairness_engine.store import tables
from fairness_engine.store.database.transactions import durable_transaction, put
from fairness_engine.store.pairs_file import read_pairs, write_pairs
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

FLUSH_SECONDS = 0.25
"""Pairs wait in memory no longer than this."""
_FLUSH_PAIRS = 50_000
_MERGED_PAIRS = 200_000
"""Files of at least this many pairs are left alone."""
_MERGE_FILES = 16


class PairsWriter(Writer):
    """Appends a run's pairs, and what is measured of them. One writer a run."""

    takes = (PairsFound, PairsMeasured)

    def __init__(self, store: RunStore, run_id: str, config: RunConfig) -> None:
        self._store = store
        self._run_id = run_id
        self._config = config
        self._waiting: list[Pairs] = []
        self._n_waiting = 0
        self._flushed = 0.0
        self._n_files = 0
        self._parts: list[_Part] = []
        self._measures = _Measures()
        self.n_pairs = 0
        self._folder = store.make_run_folder(run_id)
        self._possible = PossiblePairs(config.schema, config.scope)
        self._seen = Seen()
        self._last_evaluation = 0

    def take(self, event: Event) -> bool:
        """See ``Writer``: the two people of a pair could exist, differ in protected columns only, and are not treated
        alike.
        """
        match event:
            case PairsFound():
                self._check(event.pairs)
                self.add(event.pairs)
            case PairsMeasured():
                if not is_measured_or_not(event.distance, event.n_unseen):
                    raise breach("it sent a plausibility that cannot be")
                self.measured(event.distance, event.n_unseen)
        return False

    def _check(self, pairs: Pairs) -> None:
        """See that these can be the next pairs of the run.

        Raises:
            ProcessError: they cannot.
        """
        check_pairs(pairs, len(self._config.schema.inputs))
        if not len(pairs):
            return
        try:
            self._possible.check(pairs)
        except ValueError as error:
            raise breach(f"it sent {error}") from None
        if not self._seen.meet(self._possible.individuals(pairs.first)):
            raise breach("it sent an individual twice")
        if pairs.evaluation[0] < self._last_evaluation:
            raise breach("it sent pairs out of their order")
        self._last_evaluation = int(pairs.evaluation[-1])

    def agree(self, told: Mapping[str, Any], stopped: Stopped | None) -> None:
        """See ``Writer``: each individual that was found came with its pair, and results are of these pairs."""
        n_pairs = self.n_pairs + self._n_waiting
        plausibility = told.get("plausibility")
        if plausibility is not None:
            hold(plausibility.n_measured + plausibility.n_unmeasured <= n_pairs, "people who were measured")
        severity = told.get("severity")
        if severity is not None:
            hold(all(one.pair <= n_pairs for one in severity.top), "people for whom it matters most")
        discovery = told.get("discovery")
        if discovery is not None:
            hold(discovery.n_found[-1] <= n_pairs, "pairs of the curve")
        diversity = told.get("diversity")
        if diversity is not None:
            hold(diversity.n_pairs <= n_pairs, "pairs of the diversity")
        if stopped is not None:
            hold(stopped.n_found == n_pairs, "pairs that it sent")
            hold(discovery is None or discovery.n_found[-1] == n_pairs, "pairs of the curve")
            hold(diversity is None or diversity.n_pairs == n_pairs, "pairs of the diversity")
            hold(self._last_evaluation <= stopped.evaluations, "evaluations of pairs")

    def add(self, pairs: Pairs) -> None:
        """Take pairs; they are on disk after the next ``write``."""
        if len(pairs):
            self._waiting.append(pairs)
            self._n_waiting += len(pairs)
            if self._n_waiting >= _FLUSH_PAIRS:
                self.write()

    def measured(self, distance: FloatArray, n_unseen: IntArray) -> None:
        """Take the plausibility of the next pairs, in the order they were added.

        Raises:
            ProcessError: there are not so many pairs.
        """
        self._measures.add(distance, n_unseen)
        if self._measures.n > self.n_pairs + self._n_waiting:
            raise breach("it measured pairs that it never sent")

    def write_when_due(self) -> None:
        """Write what waits when the last write is some time ago."""
        if self._waiting and time.monotonic() - self._flushed >= FLUSH_SECONDS:
            self.write()

    def write(self) -> None:
        """Write what waits as one file.

        Raises:
            RunError: the workspace cannot be written (a full disk).
        """
        if not self._waiting:
            return
        pairs = Pairs.concatenate(self._waiting, len(self._config.schema.inputs))
        self._add_part(self._write(self.n_pairs, pairs), [])
        self.n_pairs += len(pairs)
        self._waiting = []
        self._n_waiting = 0
        self._flushed = time.monotonic()
        tail = self._small_tail()
        if len(tail) >= _MERGE_FILES:
            self._merge(tail)

    def close(self) -> None:
        """Write what waits and leave few, large files with everything that was measured."""
        self.write()
        waiting = [part for part in self._parts if part.n_pairs < _MERGED_PAIRS or self._lacks_measures(part)]
        batch: list[_Part] = []
        for part in waiting:
            is_next = not batch or part.start == batch[-1].end
            if batch and (not is_next or part.end - batch[0].start > 2 * _MERGED_PAIRS):
                self._merge(batch)
                batch = []
            batch.append(part)
        self._merge(batch)

    def _write(self, start: int, pairs: Pairs) -> _Part:
        """Write pairs, with what is known of their plausibility, as one file."""
        self._n_files += 1
        name = f"pairs-{self._n_files:05d}.parquet"
        pairs, n_measured = self._measures.fill(start, pairs)
        try:
            write_pairs(self._folder / name, pairs, self._config)
        except OSError as error:
            raise RunError(f"The pairs cannot be written to the workspace: {error.strerror or error}.") from None
        return _Part(start, len(pairs), name, n_measured)

    def _small_tail(self) -> list[_Part]:
        """The last files that are all small and together make at most one large one; those that still lack measures
        wait.
        """
        tail: list[_Part] = []
        n_pairs = 0
        for part in reversed(self._parts):
            n_pairs += part.n_pairs
            if part.n_pairs >= _MERGED_PAIRS or n_pairs > 2 * _MERGED_PAIRS:
                break
            tail.append(part)
        return [part for part in tail[::-1] if part.end <= self._measures.n] if self._measures.n else tail[::-1]

    def _lacks_measures(self, part: _Part) -> bool:
        """Whether more is known of a file's pairs by now than it says."""
        return part.n_measured < self._measures.n_known(part.start, part.n_pairs)

    def _merge(self, parts: list[_Part]) -> None:
        """Replace neighbouring files by one: first the new file, then its line, then the old files go."""
        if len(parts) < 2 and all(
            part.n_measured == self._measures.n_known(part.start, part.n_pairs) for part in parts
        ):
            return
        files = [self._folder / part.file for part in parts]
        pairs = Pairs.concatenate([read_pairs(file, self._config) for file in files], len(self._config.schema.inputs))
        self._add_part(self._write(parts[0].start, pairs), parts)
        for file in files:
            with contextlib.suppress(OSError):
                file.unlink()

    def _add_part(self, part: _Part, old: list[_Part]) -> None:
        """Enter a file, and strike those that it replaces."""
        gone = (tables.parts.c.run_id == self._run_id) & tables.parts.c.start.in_([each.start for each in old])
        key = {"run_id": self._run_id, "start": part.start}

        def enter() -> None:
            with (durable_transaction if old else Engine.begin)(self._store.engine) as connection:
                if old:  # their files go next, so that a power cut must not bring these lines back
                    connection.execute(delete(tables.parts).where(gone))
                put(connection, tables.parts, key, {"n_pairs": part.n_pairs, "file": part.file})

        self._store.patience.keep_trying(enter)
        kept = [each for each in self._parts if each not in old]
        self._parts = sorted([*kept, part], key=lambda each: each.start)


@dataclass(frozen=True)
class _Part:
    """A file: its first pair's place in the run, how many it has, its name, and how many of them, the first, were
    measured.
    """

    start: int
    n_pairs: int
    file: str
    n_measured: int

    @property
    def end(self) -> int:
        return self.start + self.n_pairs


class _Measures:
    """The plausibility of a run's first ``n`` pairs, 32 bytes a pair."""

    def __init__(self) -> None:
        self.n = 0
        self._distance = np.empty((0, 2))
        self._n_unseen = np.empty((0, 2), dtype=np.int64)

    def add(self, distance: FloatArray, n_unseen: IntArray) -> None:
        """Append."""
        end = self.n + len(distance)
        if end > len(self._distance):
            size = max(end, 2 * len(self._distance))
            self._distance.resize((size, 2), refcheck=False)
            self._n_unseen.resize((size, 2), refcheck=False)
        self._distance[self.n : end] = distance
        self._n_unseen[self.n : end] = n_unseen
        self.n = end

    def n_known(self, start: int, n_pairs: int) -> int:
        """Of how many of ``n_pairs`` pairs from ``start`` on, the first, something is known."""
        return min(max(self.n - start, 0), n_pairs)

    def fill(self, start: int, pairs: Pairs) -> tuple[Pairs, int]:
        """The pairs from ``start`` on with what is known of them, and for how many, the first, that is."""
        n = self.n_known(start, len(pairs))
        if not n:
            return pairs, 0
        distance = pairs.distance.copy()
        n_unseen = pairs.n_unseen.copy()
        distance[:n] = self._distance[start : start + n]
        n_unseen[:n] = self._n_unseen[start : start + n]
        return replace(pairs, distance=distance, n_unseen=n_unseen), n
