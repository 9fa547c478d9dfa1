"""What a certification proves, from the model's process to disk: the latest shares, their trace, the partition tree.

Nothing is believed: shares must be shares, time and boxes must not run backwards, and a tree must be one, of this run's
domain.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairness_engine.certification.partition.partition_tree import PartitionTree, read_tree, write_tree
from fairness_engine.certification.partition.validation import check_space, read_certificates, read_tree_arrays
from fairness_engine.certification.results import Certification, Proved
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.codec import TOLERANCE, decode, encode, hold
from fairness_engine.errors import RunError, breach
from fairness_engine.events import Event, SharesProved, Stopped, TreeReady
from fairness_engine.oracle.domain import Domain
from fairness_engine.runs.writers.writer import Writer
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

TREE_FILE = "tree.npz"
MAX_TRACE_POINTS = 1_000
_TRACE_SECONDS = 1.0
"""The trace is stored this often: it is longer than the latest shares."""


class Trace:
    """Shares over time, ``[seconds, certified, falsified, undecided, boxes]`` each: evenly thinned, first and last
    kept.
    """

    def __init__(self) -> None:
        self._points: list[list[float]] = []
        self._stride = 1
        self._n = 0
        self._last: list[float] = []

    def add(self, point: list[float]) -> None:
        """Append a point."""
        if self._n % self._stride == 0:
            self._points.append(point)
        self._n += 1
        self._last = point
        if len(self._points) >= MAX_TRACE_POINTS:
            self._points = self._points[::2]
            self._stride = 2 * self._stride

    def to_json(self) -> list[list[float]]:
        """At most ``MAX_TRACE_POINTS`` points."""
        is_last_kept = not self._points or self._points[-1] is self._last
        return self._points if is_last_kept else [*self._points, self._last]


class ProofsWriter(Writer):
    """Keeps what one run proves. One writer a run."""

    takes = (SharesProved, TreeReady)

    def __init__(self, store: RunStore, run_id: str, config: RunConfig) -> None:
        self._store = store
        self._run_id = run_id
        self._config = config
        self._latest: Proved | None = None
        self._trace = Trace()
        self._trace_written = 0.0
        self._tree: PartitionTree | None = None

    def take(self, event: Event) -> bool:
        """See ``Writer``."""
        match event:
            case SharesProved():
                self.add(event)
                return True
            case TreeReady():
                self.keep_tree(event)
        return False

    def add(self, event: SharesProved) -> None:
        """Take what is proved so far.

        Raises:
            ProcessError: it cannot be.
        """
        before = self._latest
        try:
            proved = decode(Proved, asdict(event))
        except ValueError:
            raise breach("it sent proved shares that cannot be") from None
        if before is not None and (proved.seconds < before.seconds or proved.n_boxes < before.n_boxes):
            raise breach("it sent proved shares that run backwards")
        self._latest = proved
        undecided = max(0.0, 1 - proved.certified - proved.falsified)
        self._trace.add([proved.seconds, proved.certified, proved.falsified, undecided, proved.n_boxes])

    def write(self) -> None:
        """Store the latest shares, and the trace now and then."""
        self._write(time.monotonic() - self._trace_written >= _TRACE_SECONDS)

    def close(self) -> None:
        """Store the latest shares, and the whole trace."""
        self._write(is_with_trace=True)

    def _write(self, is_with_trace: bool) -> None:
        if self._latest is None:
            return
        self._store.set_result(self._run_id, "proved", encode(self._latest))
        if is_with_trace:
            self._store.set_result(self._run_id, "trace", self._trace.to_json())
            self._trace_written = time.monotonic()

    def keep_tree(self, event: TreeReady) -> None:
        """Check a tree and write its file.

        Raises:
            ProcessError: it is none, or not the first.
            RunError: the workspace cannot be written.
        """
        if self._tree is not None:
            raise breach("it sent a second partition tree")
        try:
            tree = read_tree_arrays(event.arrays)
            certificates = read_certificates(event.certificates, tree)
            space = check_space(event.space, tree.n_digits.tolist(), Domain(self._config.schema, self._config.scope))
        except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError) as error:
            reason = f" ({str(error)[:60]})" if isinstance(error, ValueError) else ""
            raise breach(f"it sent a partition tree that cannot be{reason}") from None
        path = self._store.run_folder(self._run_id) / TREE_FILE
        try:
            write_tree(path, tree, certificates, space)
        except OSError as error:
            raise RunError(
                f"The partition tree cannot be written to the workspace: {error.strerror or error}."
            ) from None
        self._tree = tree

    def agree(self, told: Mapping[str, Any], stopped: Stopped | None) -> None:
        """See ``Writer``: the last word is what was asked for and proved last, and the tree's."""
        last = told.get("certification")
        if last is None:
            hold(stopped is None, "a certification without its last word")
            return
        settings = CertifySettings.from_json(self._config.settings)
        hold((last.mode, last.weights) == (settings.mode.value, settings.weights.value), "what was asked for")
        if self._latest is not None:
            hold(last.boxes >= self._latest.n_boxes, "boxes")
        if self._tree is not None:
            self._agree_with_tree(last, self._tree)
        if stopped is not None:
            hold(self._tree is not None, "a certification without its tree")
            hold(last.n_counterexamples == stopped.n_found and last.boxes == stopped.evaluations, "counterexamples")

    def _agree_with_tree(self, last: Certification, tree: PartitionTree) -> None:
        """Refuse a tree that claims something else; it does not stay, whatever becomes of the run."""
        try:
            for name in ("certified", "falsified"):
                hold(abs(getattr(last, name) - getattr(tree, name)[0]) <= TOLERANCE, f"what is {name}")
            hold(last.n_leaves <= last.boxes >= len(tree), "boxes of the tree")
        except ValueError:
            (self._store.run_folder(self._run_id) / TREE_FILE).unlink(missing_ok=True)
            raise


def stored_tree_file(store: RunStore, run_id: str) -> Path | None:
    """Where the partition tree of a certification lies; ``None`` where none was stored (yet)."""
    path = store.run_folder(run_id) / TREE_FILE
    return path if path.is_file() else None


def stored_tree(store: RunStore, run_id: str) -> tuple[PartitionTree, dict[str, Any]]:
    """The partition tree of a certification, and what its digits stand for (``validation.space_to_json``).

    Raises:
        RunError: it has none, or it is damaged.
    """
    path = stored_tree_file(store, run_id)
    if path is None:
        raise RunError("This run has no partition tree: it is at work, or ended before it had one. Certify again.")
    return read_tree(path)
