"""Folds what the model's process says into the store: at most four writes of progress a second, pairs in batches.

Nothing is believed: types, ranges and shapes are checked, and that the two persons of a pair differ in protected
columns only.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict
from typing import Any

from fairness_engine.errors import StopReason, breach
from fairness_engine.events import (
    Event,
    Failed,
    GroupScored,
    ModelPart,
    PairsFound,
    PairsMeasured,
    Progress,
    ResultReady,
    RulesScored,
    ShareEstimated,
    SharesProved,
    Step,
    Stopped,
    TreeReady,
    from_line,
)
from fairness_engine.model_process.protocol import raise_failure, read_object
from fairness_engine.runs.kinds import checked, kind_of
from fairness_engine.store.records import RunRecord
from fairness_engine.store.store import RunStore

WRITE_SECONDS = 0.25
_MAX_PHASE_CHARACTERS = 200
_MAX_CURVE_POINTS = 2000
_MAX_COUNT = 2**62
_MAX_RESULT_CHARACTERS = 1_000_000
"""Of one result. Results are made to stay far below whatever the data is; the longest there is, group figures of
``MAX_GROUPS`` groups before and after a retraining, has some 500,000."""
_UNASKED: dict[type[Event], str] = {
    PairsFound: "pairs",
    PairsMeasured: "a plausibility",
    SharesProved: "a proof",
    TreeReady: "a proof",
    RulesScored: "rule sets",
    ModelPart: "a model",
}


class RunRecorder:
    """What a run has said so far, and what of it is stored."""

    def __init__(self, store: RunStore, run: RunRecord) -> None:
        self._store = store
        self._run_id = run.id
        store.run_folder(run.id).mkdir(mode=0o700, parents=True, exist_ok=True)
        kind = kind_of(run.config)
        self._results = kind.results
        self._writers = [writer(store, run.id, run.config) for writer in kind.writers]
        self._writer_of = {event: writer for writer in self._writers for event in writer.takes}
        self._progress: Progress | None = None
        self._share: dict[str, Any] | None = None
        self._curve: list[list[float]] = []
        self._notes: list[str] = []
        self._left_out: dict[str, str] = {}
        self._has_news = False
        self._written = 0.0
        self._phase: str | None = None
        self._phase_written = 0.0
        self._stopped: Stopped | None = None
        self._replied = 0
        self.reply: dict[str, Any] = {}
        """The last reply that was taken, which nobody has checked."""

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the search stopped; ``None`` while it has not said."""
        return self._stopped.reason if self._stopped else None

    @property
    def counts(self) -> dict[str, Any]:
        """The last counts heard, as columns of the store."""
        last = self._stopped or self._progress
        names = ("evaluations", "seconds", "n_tried", "n_found")
        counts = {name: getattr(last, name) for name in names} if last else {"n_found": 0}
        if not self._stopped:  # it ended between pairs and the progress that counts them
            counts["n_found"] = max(counts["n_found"], self._store.n_pairs(self._run_id))
        return counts | ({"n_rejected": self._stopped.n_rejected} if self._stopped else {})

    def is_done(self, request: int) -> bool:
        """True once the reply to a request was taken."""
        return self._replied == request

    def take(self, line: str) -> None:
        """Take one line: an event, a phase or a reply.

        Raises:
            EvenhandError: what a reply reports.
            ProcessError: it is nothing of these, or says what cannot be.
        """
        if line.startswith('{"event":'):  # as events.to_line writes it; most lines, and the long ones
            self._take_event(from_line(line))
            return
        content = read_object(line)
        if isinstance(content.get("phase"), str):
            self._phase = content["phase"][:_MAX_PHASE_CHARACTERS]
        elif isinstance(content.get("reply"), int):
            self._replied = content["reply"]
            self.reply = content
            raise_failure(content)
        else:
            raise breach("it sent a line that is neither an event nor a reply")

    def _take_event(self, event: Event) -> None:
        if self._stopped is not None:
            raise breach("it went on after its last event")
        match event:
            case Progress():
                _check_counts(event)
                self._progress = event
                self._has_news = True
            case ShareEstimated():
                self._take_share(event)
            case GroupScored():
                self._store.set_result(self._run_id, "group_score", _of_event("group_score", event))
            case ResultReady():
                self._take_result(event)
            case PairsFound() | PairsMeasured() | SharesProved() | TreeReady() | RulesScored() | ModelPart():
                self._hand_on(event)
            case Stopped():
                _check_counts(event)
                _check_numbers(event.n_rejected)
                for writer in self._writers:
                    writer.check_end(event)
                self._stopped = event
            case Failed():
                raise_failure({"error": "ProcessError", "message": event.message})
            case Step():
                pass

    def _take_result(self, event: ResultReady) -> None:
        """Store a result; one that is too long becomes a note, and the run goes on: its length is nobody's fault but
        ours.
        """
        if event.name not in self._results or not isinstance(event.content, dict):
            raise breach("it sent a result that nobody asked for")
        try:
            n_characters = len(json.dumps(event.content, allow_nan=False))
        except ValueError:
            raise breach("it sent a result with a number that is not finite") from None
        if n_characters > _MAX_RESULT_CHARACTERS:
            self._left_out[event.name] = (
                f"The result '{event.name}' is missing here: it has {n_characters:,} characters, and at most "
                f"{_MAX_RESULT_CHARACTERS:,} are stored. This is a limit of Evenhand and says nothing about the model. "
                "Compare fewer protected values to see it."
            )
        else:
            try:
                content = checked(event.name, event.content)
            except ValueError:
                raise breach(f"it sent a result that cannot be ({event.name})") from None
            if event.name != "notes":
                self._store.set_result(self._run_id, event.name, content)
                return
            self._notes = content["notes"]
        self._store.set_result(self._run_id, "notes", {"notes": [*self._notes, *self._left_out.values()]})

    def _take_share(self, event: ShareEstimated) -> None:
        self._share = _of_event("share", event)
        self._has_news = True
        self._curve.append([event.n, event.share, event.low, event.high])
        if len(self._curve) > _MAX_CURVE_POINTS:
            self._curve = self._curve[::2]

    def _hand_on(self, event: Event) -> None:
        """Give an event to the writer whose own it is."""
        writer = self._writer_of.get(type(event))
        if writer is None:
            raise breach(f"it sent {_UNASKED[type(event)]} that nobody asked for")
        if writer.take(event):
            self._has_news = True

    def write_when_due(self) -> None:
        """Store what is new, as often as is useful."""
        for writer in self._writers:
            writer.write_when_due()
        now = time.monotonic()
        if self._phase is not None and now - self._phase_written >= WRITE_SECONDS:
            self._store.set_phase(self._run_id, self._phase)
            self._phase = None
            self._phase_written = now
        if self._has_news and now - self._written >= WRITE_SECONDS:
            self._write()

    def _write(self) -> None:
        for writer in self._writers:  # first, so that the count on the screen never runs ahead of the pairs on disk
            writer.write()
        if self._progress is not None:
            self._store.add_progress(self._run_id, self._progress)
        if self._share is not None:
            self._store.set_result(self._run_id, "share", self._share)
            self._store.set_result(self._run_id, "share_curve", self._curve)
        self._has_news = False
        self._written = time.monotonic()

    def close(self) -> None:
        """Store everything that is left; half a model is dropped."""
        if self._has_news:
            self._write()
        for writer in self._writers:
            writer.close()


def _check_counts(event: Progress | Stopped) -> None:
    _check_numbers(event.evaluations, event.n_tried, event.n_found)
    _check_numbers(event.seconds, whole=False)
    if isinstance(event, Progress) and not isinstance(event.phase, str):
        raise breach("it sent a phase that is no text")


def _of_event(name: str, event: ShareEstimated | GroupScored) -> dict[str, Any]:
    """What an event says, as the result of this name."""
    try:
        return checked(name, asdict(event))
    except ValueError:
        raise breach(f"it sent a result that cannot be ({name})") from None


def _check_numbers(*values: Any, whole: bool = True) -> None:
    for value in values:
        kinds = (int,) if whole else (int, float)
        if (
            isinstance(value, bool)
            or not isinstance(value, kinds)
            or not math.isfinite(value)
            or not 0 <= value < _MAX_COUNT
        ):
            raise breach(f"it sent a number that cannot be ({str(value)[:40]})")
