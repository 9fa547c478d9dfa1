"""What a person sees while and after a command works: progress on standard error, results on standard output."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol, TextIO

from fairness_engine.audit.result_hash import result_hash
from fairness_engine.cli.junit import Case
from fairness_engine.cluster.counts import ClusterCounts
from fairness_engine.codec import decode
from fairness_engine.data.links.spelling import links_to_json
from fairness_engine.errors import EvenhandError, RunError, SettingError, one_sentence
from fairness_engine.models.fit.reading_state import Reading
from fairness_engine.runs.kinds import kind_of
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from fairness_engine.store.whole_files import exported_file

COMMON_KEYS = (
    *("seed", "seconds", "evaluations", "stop_reason", "run_id", "versions", "state"),
    *("positive", "reading", "left_out", "links", "data_query", "result_hash", "workers", "blocks"),
)
COMMON_PARTS = {"reading": Reading, "data_query": ("text", "url")}
"""What objects of the JSON hold, as ``cli.gate`` reads it."""


class ExitStatus(IntEnum):
    """How a command ends."""

    DONE = 0
    GATE_FAILED = 1
    BAD_INPUT = 2
    CRASHED = 3
    CANCELLED = 130


@dataclass(frozen=True)
class Outcome:
    """A result, the same in words, and the status to leave with.

    Args:
        why: a sentence on a command that did not come to its end.
        cases: what decided on the status, beside the gates.
        unwritten: why a file that was asked for beside the result could not be written.
    """

    result: Mapping[str, Any]
    text: str
    status: ExitStatus = ExitStatus.DONE
    why: str = ""
    cases: tuple[Case, ...] = ()
    unwritten: EvenhandError | None = None


def run_fields(run: RunRecord, store: RunStore, *, is_hashed: bool = True) -> dict[str, Any]:
    """What the JSON of every run says.

    Args:
        run: as it ended.
        store: that keeps it.
        is_hashed: all that it stored is read for its ``result_hash``.
    """
    return {
        **reading_fields(store, run),
        "seed": run.config.seed,
        "seconds": run.seconds,
        "evaluations": run.evaluations,
        "stop_reason": run.stop_reason.value if run.stop_reason else None,
        "run_id": run.id,
        "versions": dict(run.config.versions),
        "state": run.state.value,
        "left_out": left_out(run.config),
        "links": links_to_json(run.config.scope.links, run.config.schema),
        "data_query": run.config.data_query,
        "result_hash": _hash_of(store, run) if is_hashed else None,
        **cluster_fields(store, [run]),
    }


def _hash_of(store: RunStore, run: RunRecord) -> str | None:
    """``None`` of a run that is damaged."""
    try:
        return result_hash(store, run)
    except RunError:
        return None


def cluster_fields(store: RunStore, runs: Sequence[RunRecord]) -> dict[str, Any]:
    """Who worked on runs: ``workers`` of a cluster, 0 without one, and the ``blocks`` that they did."""
    counts = [decode(ClusterCounts, store.results(run.id).get("cluster", {})) for run in runs]
    return {
        "workers": max((each.n_workers for each in counts), default=0),
        "blocks": {
            "done": sum(each.n_done for each in counts),
            "repeated": sum(each.n_repeated for each in counts),
            "set_aside": sum(each.n_set_aside for each in counts),
            "known": sum(each.n_known for each in counts),
        },
    }


def reading_fields(store: RunStore, run: RunRecord) -> dict[str, Any]:
    """How far it was confirmed that the model was read rightly when the run began, and whose score its one score is."""
    reading = store.results(run.id).get("reading")
    return {"positive": reading and reading.get("positive"), "reading": reading}


def left_out(config: RunConfig) -> list[dict[str, str]]:
    """Protected values that a run does not compare together, by column."""
    scope = config.scope
    column = config.schema.column
    return [
        {name: column(name).text(value) for name, value in zip(scope.protected, each, strict=True) if value is not None}
        for each in scope.excluded
    ]


def end_status(run: RunRecord) -> ExitStatus:
    """The exit status of a run that ended."""
    return {
        RunState.FINISHED: ExitStatus.DONE,
        RunState.CANCELLED: ExitStatus.CANCELLED,
        RunState.FAILED: ExitStatus.BAD_INPUT,
    }.get(run.state, ExitStatus.CRASHED)


def outcome_of(run: RunRecord, result: Mapping[str, Any], text: str, unwritten: EvenhandError | None = None) -> Outcome:
    """What a command came to whose run ended.

    Args:
        run: as it ended.
        result, text, unwritten: see ``Outcome``.
    """
    return Outcome(result, text, end_status(run), run.message or "", unwritten=unwritten)


_BAR_WIDTH = 30
_LEAST_BAR_WIDTH = 8
_LINE_SECONDS = 1.0
_USUAL_COLUMNS = 80
_ECHO = "^C"
"""What a terminal writes behind a line when it is interrupted."""


class ProgressDisplay:
    """Shows a run as it goes on: a bar on a terminal, else a line a second.

    Args:
        is_quiet: show nothing.
        stream: where; ``None`` is standard error.
        describe: makes the line.
    """

    def __init__(self, *, is_quiet: bool, stream: TextIO | None = None, describe: Describe | None = None) -> None:
        self._describe = describe or progress_text
        self._stream = stream or sys.stderr
        self._is_quiet = is_quiet
        self._is_terminal = self._stream.isatty()
        self._shown = 0.0
        self._width = 0
        self._last = ""

    def __call__(self, run: RunRecord) -> None:
        """Show a run that changed."""
        now = time.monotonic()
        if self._is_quiet or (not self._is_terminal and not run.state.is_final and now - self._shown < _LINE_SECONDS):
            return
        text = self._describe(run, has_bar=self._is_terminal)
        if text == self._last:
            return
        self._shown = now
        self._last = text
        if self._is_terminal:
            text = self._fitting(text, is_cut=not run.state.is_final)
            self._stream.write("\r" + text.ljust(self._width) + ("\n" if run.state.is_final else ""))
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def _fitting(self, text: str, *, is_cut: bool) -> str:
        """A line that does not wrap, for one that wraps cannot be written over: with a shorter bar, or none, and cut,
        unless it is the last one.
        """
        room = _columns(self._stream) - 1
        self._width = min(self._width + len(_ECHO), room)
        if len(text) > room and text.startswith("["):
            bar, _, rest = text[1:].partition("]")
            width = room - len(rest) - len("[]")
            filled = round(width * bar.count("#") / _BAR_WIDTH)
            text = f"[{'#' * filled}{'.' * (width - filled)}]{rest}" if width >= _LEAST_BAR_WIDTH else rest.lstrip()
        return text[:room] if is_cut else text


def _columns(stream: TextIO) -> int:
    """How wide a terminal is."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS
    except (OSError, ValueError):
        return _USUAL_COLUMNS


class Describe(Protocol):
    """Makes the line of a run."""

    def __call__(self, run: RunRecord, *, has_bar: bool) -> str:
        """One line about a run; with a bar on a terminal."""
        ...


def progress_text(run: RunRecord, *, has_bar: bool, counts: str | None = None, name: str = "") -> str:
    """One line about a run.

    Args:
        counts: where it stands; ``None`` counts evaluations, and finds where any are looked for.
        name: which one it is, where there are several.
    """
    named = f"{name}: " if name else ""
    if not run.evaluations and not run.state.is_final:
        return f"{run.id}: {named}{run.phase or run.state.value}"
    if counts is None:
        finds = kind_of(run.config).finds
        tried = f"{run.n_tried:,} tried, {run.n_found:,} {finds}, " if finds else ""
        counts = f"{run.evaluations:,} evaluations, {tried}{run.seconds:.1f} s"
    counts += f", {run.state.value}" if run.state.is_final else f", {run.phase}" if run.phase else ""
    done = share_done(run) if has_bar else None
    if done is None:
        return f"{run.id}: {named}{counts}"
    filled = round(_BAR_WIDTH * done)
    return f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] {done:4.0%} {named}{counts}"


def share_done(run: RunRecord) -> float | None:
    """How much of its budget a run has spent, 0 to 1: the limit that is nearest; ``None`` where it has none."""
    if run.state is RunState.FINISHED:
        return 1.0
    kind = kind_of(run.config)
    shares = [spent.n / spent.limit for spent in kind.spent(run, kind.settings(run.config))]
    if run.config.budget.max_seconds:
        shares.append(run.seconds / run.config.budget.max_seconds)
    return min(1.0, max(shares)) if shares else None


def write_result(result: Mapping[str, Any], text: str, target: str | None) -> None:
    """Give the result out: as JSON into a file or, for ``-``, on standard output alone; else as text.

    Raises:
        SettingError: the file cannot be written; the text is printed all the same.
    """
    content = _plain(result)
    if target == "-":
        print(json.dumps(content, allow_nan=False))
        return
    if target is not None:
        try:
            with exported_file(Path(target)) as file:
                file.write(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        except OSError as error:
            print(_printable(text))
            raise SettingError(
                f"--json must name a file that can be written, got '{target}': {error.strerror}."
            ) from None
    print(_printable(text))


_LONG_WORD = re.compile(r"(\S{100})\S{100,}")
"""Shortened, so that a sentence that quotes it keeps its end, which says what to do."""


def sentence_of(error: EvenhandError) -> str:
    """What an error says, as one line of bounded length."""
    return one_sentence(_LONG_WORD.sub(r"\1...", str(error)))


def counted(n: float, one: str, several: str) -> str:
    """A number with its noun, as the command line writes numbers: ``1 row``, ``1,200 rows``."""
    return f"{n:,.0f} {one if n == 1 else several}"


def say(message: str) -> None:
    """One line on standard error."""
    print(_printable(message), file=sys.stderr, flush=True)


def _printable(text: str) -> str:
    """The text without control characters: names from a file must not steer the terminal."""
    return "".join(character if character.isprintable() or character == "\n" else "?" for character in text)


def _plain(value: Any) -> Any:
    """The value as JSON has it: no numbers that JSON lacks (they become null), no arrays, no tuples."""
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "tolist"):  # a number or an array of NumPy
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
