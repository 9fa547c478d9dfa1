"""Folds what the model's process says into the store: at most four writes a second, pairs in batches.

Nothing is believed: types, ranges and shapes are checked, that nothing runs backwards, and that what was told in
several places agrees.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Any

from fairness_engine.codec import encode
from fairness_engine.errors import StopReason, breach
from fairness_engine.events import (
    Event,
    Failed,
    GroupScored,
    ModelPart,
    PairsFound,
    PairsMeasured,
    PeopleSampled,
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
from fairness_engine.runs.kinds import kind_of, typed
from fairness_engine.store.records import RunRecord
from fairness_engine.store.store import RunStore

WRITE_SECONDS = 0.25
_MAX_PHASE_CHARACTERS = 200
_MAX_CURVE_POINTS = 2000
MAX_RUN_BYTES = 20_000_000_000
"""Of all lines of a run: some sixty million pairs of a dozen columns."""
_MAX_RESULT_CHARACTERS = 1_000_000
"""Of one result. Results are made to stay far below whatever the data is; the longest there is, group figures of
``MAX_GROUPS`` groups before and after a retraining, has some 500,000."""
_UNASKED: dict[type[Event], str] = {
    PairsFound: "pairs",
    PairsMeasured: "a plausibility",
    PeopleSampled: "a sample of people",
    SharesProved: "a proof",
    TreeReady: "a proof",
    RulesScored: "rule sets",
    ModelPart: "a model",
    ShareEstimated: "a share",
    GroupScored: "a group score",
}


class RunRecorder:
    """What a run has said so far, and what of it is stored."""

    def __init__(self, store: RunStore, run: RunRecord) -> None:
        self._store = store
        self._run_id = run.id
        store.make_run_folder(run.id)
        kind = kind_of(run.config)
        self._kind = kind
        self._config = run.config
        self._writers = [writer(store, run.id, run.config) for writer in kind.writers]
        self._writer_of = {event: writer for writer in self._writers for event in writer.takes}
        self._n_bytes = self._n_pairs = 0
        self._progress: Progress | None = None
        self._told: dict[str, Any] = {}
        self._new: dict[str, Any] = {}
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
        if not self._stopped and self._kind.has_pairs:  # it ended between pairs and the progress that counts them
            counts["n_found"] = self._store.n_pairs(self._run_id)
        if self._kind.counts_people:
            counts["n_tried"] = max(counts.get("n_tried", 0), counts["n_found"])
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
        self._n_bytes += len(line)
        if self._n_bytes > MAX_RUN_BYTES:
            raise breach(f"it sent more than {MAX_RUN_BYTES // 10**9} GB")
        if line.startswith('{"event":'):  # as events.to_line writes it; most lines, and the long ones
            self._take_event(from_line(line))
            return
        content = read_object(line)
        if isinstance(content.get("phase"), str):
            self._phase = content["phase"][:_MAX_PHASE_CHARACTERS]
        elif type(content.get("reply")) is int:  # True is one too
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
                self._check_order(event)
                self._progress = event
                self._has_news = True
            case ShareEstimated() | GroupScored():
                self._take_told(event)
            case ResultReady():
                self._take_result(event)
            case Stopped():
                self._check_order(event)
                self._check_totals(event)
                self._stopped = event
            case Failed():
                raise_failure({"error": "ProcessError", "message": event.message})
            case Step():
                pass
            case _:
                self._hand_on(event)

    def _check_order(self, event: Progress | Stopped) -> None:
        """Counts never fall, and what was found was tried.

        Raises:
            ProcessError: they do, or it was not.
        """
        before = self._progress
        names = ("evaluations", "seconds", "n_found", *(("n_tried",) if self._kind.counts_people else ()))
        if before is not None and any(getattr(event, name) < getattr(before, name) for name in names):
            raise breach("it sent progress that runs backwards")
        if self._kind.counts_people and event.n_found > event.n_tried:
            raise breach("it found more people than it tried")
        if self._kind.has_pairs and event.n_found > self._n_pairs:
            raise breach("it counts pairs that it never sent")

    def _check_totals(self, stopped: Stopped | None) -> None:
        """What was told in several places is the same.

        Raises:
            ProcessError: it is not.
        """
        try:
            self._kind.agree(self._config, self._told, stopped)
            for writer in self._writers:
                writer.agree(self._told, stopped)
        except ValueError as error:
            raise breach(f"it sent totals that do not agree ({error})") from None

    def _take_result(self, event: ResultReady) -> None:
        """Keep a result for the store; one that is too long becomes a note, and the run goes on: its length is nobody's
        fault but ours.
        """
        name = event.name
        if name not in self._kind.results:
            raise breach("it sent a result that nobody asked for")
        try:
            n_characters = len(json.dumps(event.content, allow_nan=False))
        except RecursionError:
            raise breach(f"it sent a result that cannot be ({name})") from None
        except ValueError:
            raise breach("it sent a result with a number that is not finite") from None
        if n_characters > _MAX_RESULT_CHARACTERS:
            self._left_out[name] = (
                f"The result '{name}' is missing here: it has {n_characters:,} characters, and at most "
                f"{_MAX_RESULT_CHARACTERS:,} are stored. This is a limit of Evenhand and says nothing about the model. "
                "Compare fewer protected values to see it."
            )
        else:
            self._keep(name, event.content)
            if name != "notes":
                return
            self._notes = self._told["notes"].notes
        self._new["notes"] = {"notes": [*self._notes, *self._left_out.values()]}
        self._has_news = True

    def _keep(self, name: str, content: dict[str, Any]) -> None:
        """Take a result once it is one, and agrees with the others.

        Raises:
            ProcessError: it does not.
        """
        try:
            self._told[name] = typed(name, content)
        except ValueError:
            raise breach(f"it sent a result that cannot be ({name})") from None
        self._check_totals(None)
        self._new[name] = encode(self._told[name])
        self._has_news = True

    def _take_told(self, event: ShareEstimated | GroupScored) -> None:
        """Keep what an event says as the result of its name."""
        if type(event) not in self._kind.tells:
            raise breach(f"it sent {_UNASKED[type(event)]} that nobody asked for")
        if isinstance(event, GroupScored):
            self._keep("group_score", asdict(event))
            return
        if self._curve and event.n < self._curve[-1][0]:
            raise breach("it sent shares that run backwards")
        self._keep("share", asdict(event))
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
        if isinstance(event, PairsFound):
            self._n_pairs += len(event.pairs)
        if isinstance(event, TreeReady | RulesScored):
            self._check_totals(None)

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
            self.write()

    def write(self) -> None:
        """Store what is new."""
        for writer in self._writers:  # first, so that the count on the screen never runs ahead of the pairs on disk
            writer.write()
        if self._progress is not None:
            self._store.add_progress(self._run_id, self._progress)
        if "share" in self._new:
            self._store.set_result(self._run_id, "share_curve", self._curve)
        for name, content in self._new.items():
            self._store.set_result(self._run_id, name, content)
        self._new = {}
        self._has_news = False
        self._written = time.monotonic()

    def close(self) -> None:
        """Store everything that is left; half a model is dropped."""
        if self._has_news:
            self.write()
        for writer in self._writers:
            writer.close()
