"""What the run store hands out: small frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from fairness_engine.data.schema import Schema
from fairness_engine.errors import RunError, StopReason
from fairness_engine.models.fit.reading_state import card_in_words
from fairness_engine.oracle.domain import Scope
from fairness_engine.store.people.roles import Role
from fairness_engine.store.run_config import RunConfig
from fairness_engine.telling.rules import Rule


class FileRole(StrEnum):
    """What a stored file is for."""

    DATA = "data"
    MODEL = "model"
    OTHER = "other"


class RunState(StrEnum):
    """Where a run stands. The last four are final."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    CRASHED = "crashed"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """True when the run will not change any more."""
        return self not in (RunState.QUEUED, RunState.RUNNING)


@dataclass(frozen=True)
class StoredFile:
    """A file of the store.

    Args:
        id: of this content under this name in this role.
        name: as it was uploaded; for screens only, never a path.
        path: where its bytes are, named by ``sha256``.
        n_bytes: its length.
    """

    id: str
    name: str
    role: FileRole
    path: Path
    n_bytes: int
    sha256: str


@dataclass(frozen=True)
class Review:
    """One data set, one model, one scope. ``dataclasses.replace`` it and hand it to ``RunStore.save_review``.

    Args:
        revision: how many changes were saved; a save that is based on an earlier one is refused.
    """

    id: str
    name: str
    owner: str
    created: datetime
    changed: datetime
    data_id: str | None = None
    model_id: str | None = None
    schema: Schema | None = None
    scope: Scope | None = None
    fit: dict[str, Any] | None = None
    stage: str = ""
    revision: int = 0

    @property
    def reading(self) -> str | None:
        """How far it is confirmed that its model is read rightly, in words; ``None`` without a model."""
        return None if self.model_id is None else card_in_words(self.fit)

    @property
    def is_of_texts(self) -> bool:
        """Whether it compares terms in the texts of a column, and no attributes."""
        if self.schema is None or self.scope is None:
            return False
        return any(map(self.schema.is_text, self.scope.protected))


@dataclass(frozen=True)
class ReviewLine:
    """What a list says of a review; its columns and its scope are not read for it.

    Args:
        data, model: what its files were called when they were uploaded.
        is_archived: put aside by its owner; it opens as any other.
        owner: who made it.
        role: of the person for whom it is listed.
    """

    id: str
    name: str
    changed: datetime
    data: str | None
    model: str | None
    is_archived: bool
    owner: str
    role: Role


@dataclass(frozen=True)
class RunRecord:
    """A run as it stands.

    Args:
        evaluations, seconds, n_tried, n_found: of its last progress.
        n_rejected: pairs that did not survive the replay; known when it stopped.
        message: for the person at the screen, of a run that failed or crashed.
        reserved: when a worker was started for it.
        heard: when its worker was last heard of.
        worker_host, worker_pid, worker_born: which process works it.
    """

    id: str
    review_id: str | None
    config: RunConfig
    state: RunState
    stop_reason: StopReason | None
    message: str | None
    created: datetime
    started: datetime | None
    finished: datetime | None
    evaluations: int
    seconds: float
    n_tried: int
    n_found: int
    n_rejected: int
    phase: str
    is_cancel_requested: bool
    reserved: datetime | None
    heard: datetime | None
    worker_host: str | None
    worker_pid: int | None
    worker_born: str | None
    person: str | None

    @property
    def is_active(self) -> bool:
        """True while the run waits or works."""
        return not self.state.is_final

    def found_by(self, whole: float) -> float | None:
        """How many were found by one of something that it counted, such as those tried; ``None`` where that is nothing,
        or where its worker is gone, which may have kept pairs before it counted what they cost.
        """
        return self.n_found / whole if whole and self.state is not RunState.CRASHED else None

    @property
    def extent(self) -> str:
        """How far a run looked that found nobody; one that was stopped used a part of its budget."""
        return "before it was stopped" if self.state is RunState.CANCELLED else "within the budget"


@dataclass(frozen=True)
class UnreadableRun:
    """A run that was changed, or damaged, since it was written.

    Args:
        reason: what cannot be read, in a sentence.
    """

    id: str
    review_id: str | None
    reason: str


class VersionState(StrEnum):
    """What became of a retrained model: the review goes on with it, without it, or nobody has said yet."""

    NEW = "new"
    KEPT = "kept"
    DISCARDED = "discarded"


@dataclass(frozen=True)
class Version:
    """A model that a retraining made.

    Args:
        run_id: the retraining.
        model_id, parent_id: files of the store: the new model, and the one it was made of.
        state: what became of it.
    """

    run_id: str
    model_id: str
    parent_id: str
    state: VersionState
    created: datetime


@dataclass(frozen=True)
class Pin:
    """A pair of a run that a person kept, with a note."""

    review_id: str
    run_id: str
    pair_index: int
    note: str
    created: datetime


@dataclass(frozen=True)
class ReviewTerms:
    """The identity terms of a review of texts.

    Args:
        terms: by category, in their order.
        compared: the categories whose terms are swapped; the others are only counted.
        source: name of the file they came from; empty for the project's own list.
    """

    terms: tuple[tuple[str, tuple[str, ...]], ...]
    compared: tuple[str, ...]
    source: str = ""

    @property
    def chosen(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The categories that are compared, with their terms."""
        return tuple((name, terms) for name, terms in self.terms if name in self.compared)

    def to_json(self) -> dict[str, Any]:
        """Plain lists and text; ``from_json`` reads it back."""
        terms = [[name, list(terms)] for name, terms in self.terms]
        return {"terms": terms, "compared": list(self.compared), "source": self.source}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> ReviewTerms:
        """Read what ``to_json`` wrote."""
        terms = tuple((name, tuple(terms)) for name, terms in content["terms"])
        return cls(terms, tuple(content["compared"]), content["source"])


@dataclass(frozen=True)
class AnswersSource:
    """Where the known answers of a review's model are: a file of the store, or else a column of the data."""

    file_id: str | None = None
    column: str | None = None


@dataclass(frozen=True)
class RulePin:
    """A rule set of a run that a person kept, with a note; ``rule_index`` is its position, from 0."""

    review_id: str
    run_id: str
    rule_index: int
    note: str
    created: datetime


class DecisionKind(StrEnum):
    """What was decided about a finding."""

    ACCEPT = "accept"
    MEND = "mend"
    STOP = "stop"
    MORE_EVIDENCE = "more evidence"


@dataclass(frozen=True)
class Decision:
    """What a person decided about a finding.

    Args:
        finding: its key.
        kind: what was decided.
        reason, name: why, and who.
        expires: until when it holds; ``None`` without an end.
        statement: the finding as it read then.
        run_ids: its evidence then.
    """

    review_id: str
    finding: str
    kind: DecisionKind
    reason: str
    name: str
    expires: date | None
    statement: str
    run_ids: tuple[str, ...]
    created: datetime

    def is_expired(self, today: date) -> bool:
        """Whether it holds no more."""
        return self.expires is not None and self.expires < today


@dataclass(frozen=True)
class Comment:
    """What a person said of a finding."""

    review_id: str
    finding: str
    name: str
    text: str
    created: datetime


@dataclass(frozen=True)
class Cohort:
    """A group of people that a review keeps under a name.

    Args:
        id: of it.
        rules: one a column; see ``fairness_engine.telling.rules``.
        source: where it was made, in words.
    """

    id: int
    review_id: str
    name: str
    rules: tuple[Rule, ...]
    source: str
    created: datetime


def to_time(seconds: float) -> datetime:
    """Seconds since 1970 as a moment in UTC.

    Raises:
        RunError: no moment that there is.
    """
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError, TypeError):
        raise RunError(
            f"A time in the run store must be a number of seconds since 1970, got {str(seconds)[:40]}: the store was "
            "changed or is damaged. Restore a copy, or use another workspace folder."
        ) from None


def to_optional_time(seconds: float | None) -> datetime | None:
    """Seconds since 1970 as a moment in UTC, or ``None``."""
    return None if seconds is None else to_time(seconds)
