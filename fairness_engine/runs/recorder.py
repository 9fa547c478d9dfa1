"""Folds what the model's process says into the store: at most four writes of progress a second, pairs in batches.

Nothing is believed: types, ranges and shapes are checked, and that the two persons of a pair differ in protected
columns only.
"""

from __future__ import annotations

import json
import math
import time
from typing import Any

import numpy as np

from fairness_engine.errors import ProcessError, StopReason
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
from fairness_engine.model_process.protocol import check_pairs, is_measured_or_not, raise_failure, read_object
from fairness_engine.pairs import Pairs
from fairness_engine.runs.result_checks import is_possible
from fairness_engine.runs.writers.models import ModelWriter
from fairness_engine.runs.writers.pairs import PairsWriter
from fairness_engine.runs.writers.proofs import ProofsWriter
from fairness_engine.runs.writers.rule_sets import RulesWriter
from fairness_engine.store.records import RunRecord
from fairness_engine.store.run_config import RunKind
from fairness_engine.store.store import RunStore

WRITE_SECONDS = 0.25
_MAX_CURVE_POINTS = 2000
_MAX_GROUPS = 10_000
_MAX_COUNT = 2**62
_RESULTS = ("reading", "notes", "plausibility", "discovery", "diversity", "count", "split", "scan")
_PROOF_RESULTS = ("reading", "certification", "plausibility")
_RULE_RESULTS = ("reading", "notes", "rules", "sentences")
_RETRAIN_RESULTS = (
    "reading",
    *("notes", "before", "training", "control", "after", "changes", "worst_rule_set", "retrained", "card"),
)
_MAX_RESULT_CHARACTERS = 1_000_000
"""Of one result. Results are made to stay far below whatever the data is; the longest there is, group figures of
``MAX_GROUPS`` groups before and after a retraining, has some 500,000."""
_PROTOCOL = "The model's process broke its protocol: "


class Fold:
    """What a run has said so far, and what of it is stored."""

    def __init__(self, store: RunStore, run: RunRecord) -> None:
        self._store = store
        self._run_id = run.id
        self._pairs = PairsWriter(store, run.id, run.config)
        self._proofs = ProofsWriter(store, run.id, run.config) if run.config.kind is RunKind.CERTIFY else None
        by_kind = {RunKind.CERTIFY: _PROOF_RESULTS, RunKind.RULES: _RULE_RESULTS, RunKind.RETRAIN: _RETRAIN_RESULTS}
        self._results = by_kind.get(run.config.kind, _RESULTS)
        self._rules = RulesWriter(store, run.id, run.config) if run.config.kind is RunKind.RULES else None
        self._models = ModelWriter(store, run.id, run.config) if run.config.kind is RunKind.RETRAIN else None
        schema = run.config.schema
        self._n_columns = len(schema.inputs)
        # a text may be what is protected, which is no input; runs on texts have no pairs
        protected = [schema.index(name) for name in run.config.scope.protected if name in schema.names]
        self._kept = np.setdiff1d(np.arange(self._n_columns), protected)
        self._progress: Progress | None = None
        self._share: ShareEstimated | None = None
        self._curve: list[list[float]] = []
        self._notes: list[str] = []
        self._left_out: dict[str, str] = {}
        self._has_news = False
        self._written = 0.0
        self._stopped: Stopped | None = None
        self._replied = 0

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
            counts["n_found"] = max(counts["n_found"], self._pairs.n_pairs)
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
            self._store.set_phase(self._run_id, content["phase"])
        elif isinstance(content.get("reply"), int):
            self._replied = content["reply"]
            raise_failure(content)
        else:
            raise ProcessError(_PROTOCOL + "it sent a line that is neither an event nor a reply.")

    def _take_event(self, event: Event) -> None:
        if self._stopped is not None:
            raise ProcessError(_PROTOCOL + "it went on after its last event.")
        match event:
            case PairsFound():
                self._pairs.add(self._checked_pairs(event.pairs))
            case PairsMeasured():
                if not is_measured_or_not(event.distance, event.n_unseen):
                    raise ProcessError(_PROTOCOL + "it sent a plausibility that cannot be.")
                self._pairs.measured(event.distance, event.n_unseen)
            case Progress():
                _check_counts(event)
                self._progress = event
                self._has_news = True
            case ShareEstimated():
                self._take_share(event)
            case GroupScored():
                self._store.set_result(self._run_id, "group_score", _group_score(event))
            case ResultReady():
                self._take_result(event)
            case SharesProved() | TreeReady() | RulesScored() | ModelPart():
                self._take_bulk(event)
            case Stopped():
                _check_counts(event)
                _check_numbers(event.n_rejected)
                self._stopped = event
            case Failed():
                raise_failure({"error": "ProcessError", "message": event.message})
            case Step():
                pass

    def _take_result(self, event: ResultReady) -> None:
        """Store a result; one that is too long becomes a note, and the run goes on: its length is nobody's fault but
        ours.
        """
        n_characters = _check_result(event, self._results)
        if n_characters > _MAX_RESULT_CHARACTERS:
            self._left_out[event.name] = (
                f"The result '{event.name}' is missing here: it has {n_characters:,} characters, and at most "
                f"{_MAX_RESULT_CHARACTERS:,} are stored. This is a limit of Evenhand and says nothing about the model. "
                "Compare fewer protected values to see it."
            )
        elif event.name == "notes":
            self._notes = event.content["notes"]
        else:
            self._store.set_result(self._run_id, event.name, event.content)
            return
        self._store.set_result(self._run_id, "notes", {"notes": [*self._notes, *self._left_out.values()]})

    def _take_share(self, event: ShareEstimated) -> None:
        _check_share(event)
        self._share = event
        self._has_news = True
        self._curve.append([event.n, event.share, event.low, event.high])
        if len(self._curve) > _MAX_CURVE_POINTS:
            self._curve = self._curve[::2]

    def _take_bulk(self, event: SharesProved | TreeReady | RulesScored | ModelPart) -> None:
        if isinstance(event, ModelPart):
            if self._models is None:
                raise ProcessError(_PROTOCOL + "it sent a model that nobody asked for.")
            self._models.add(event)
            return
        if isinstance(event, RulesScored):
            if self._rules is None:
                raise ProcessError(_PROTOCOL + "it sent rule sets that nobody asked for.")
            self._rules.keep(event)
            return
        if self._proofs is None:
            raise ProcessError(_PROTOCOL + "it sent a proof that nobody asked for.")
        if isinstance(event, SharesProved):
            self._proofs.add(event)
            self._has_news = True
        else:
            self._proofs.keep_tree(event)

    def _checked_pairs(self, pairs: Pairs) -> Pairs:
        if self._rules is not None or self._models is not None:
            raise ProcessError(_PROTOCOL + "it sent pairs that nobody asked for.")
        check_pairs(pairs, self._n_columns)
        if not np.array_equal(pairs.first[:, self._kept], pairs.second[:, self._kept]):
            raise ProcessError(_PROTOCOL + "it sent a pair that differs in a column that is not protected.")
        return pairs

    def write_when_due(self) -> None:
        """Store what is new, as often as is useful."""
        self._pairs.flush_when_due()
        if self._has_news and time.monotonic() - self._written >= WRITE_SECONDS:
            self._write()

    def _write(self) -> None:
        self._pairs.flush()  # so that the count on the screen never runs ahead of the pairs on disk
        if self._progress is not None:
            self._store.add_progress(self._run_id, self._progress)
        if self._share is not None:
            share = {name: getattr(self._share, name) for name in ShareEstimated.__dataclass_fields__}
            self._store.set_result(self._run_id, "share", share)
            self._store.set_result(self._run_id, "share_curve", self._curve)
        if self._proofs is not None:
            self._proofs.write()
        self._has_news = False
        self._written = time.monotonic()

    def close(self) -> None:
        """Store everything that is left; half a model is dropped."""
        if self._models is not None:
            self._models.close()
        self._pairs.close()
        if self._has_news:
            self._write()
        if self._proofs is not None:
            self._proofs.write(is_last=True)


def _check_counts(event: Progress | Stopped) -> None:
    _check_numbers(event.evaluations, event.n_tried, event.n_found)
    _check_numbers(event.seconds, whole=False)
    if isinstance(event, Progress) and not isinstance(event.phase, str):
        raise ProcessError(_PROTOCOL + "it sent a phase that is no text.")


def _check_share(event: ShareEstimated) -> None:
    _check_numbers(event.n_hits, event.n)
    _check_numbers(event.share, event.low, event.high, whole=False)
    if not 0 <= event.low <= event.share <= event.high <= 1 or not isinstance(event.distribution, str):
        raise ProcessError(_PROTOCOL + "it sent a share that cannot be.")


def _group_score(event: GroupScored) -> dict[str, Any]:
    groups = [str(group)[:500] for group in event.groups[:_MAX_GROUPS]]
    _check_numbers(event.score, *event.shares, whole=False)
    _check_numbers(*event.counts)
    return {"score": event.score, "shares": list(event.shares), "counts": list(event.counts), "groups": groups}


def _check_result(event: ResultReady, known: tuple[str, ...]) -> int:
    """See that such a run may have this result, as far as that can be judged; how many characters it has."""
    if event.name not in known or not isinstance(event.content, dict):
        raise ProcessError(_PROTOCOL + "it sent a result that nobody asked for.")
    try:
        n_characters = len(json.dumps(event.content, allow_nan=False))
    except ValueError:
        raise ProcessError(_PROTOCOL + "it sent a result with a number that is not finite.") from None
    if n_characters <= _MAX_RESULT_CHARACTERS and not is_possible(event.name, event.content):
        raise ProcessError(_PROTOCOL + f"it sent a result that cannot be ({event.name}).")
    return n_characters


def _check_numbers(*values: Any, whole: bool = True) -> None:
    for value in values:
        kinds = (int,) if whole else (int, float)
        if (
            isinstance(value, bool)
            or not isinstance(value, kinds)
            or not math.isfinite(value)
            or not 0 <= value < _MAX_COUNT
        ):
            raise ProcessError(_PROTOCOL + f"it sent a number that cannot be ({str(value)[:40]}).")
