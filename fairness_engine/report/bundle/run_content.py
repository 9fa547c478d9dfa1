"""All that the database holds of one run, out of one store and into another, so that its seal fits there too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from fairness_engine.codec import Amount, Count, Text, Word, encode
from fairness_engine.errors import RunError, cut
from fairness_engine.store import tables
from fairness_engine.store.files import file_identity
from fairness_engine.store.records import FileRole, RunState, VersionState
from fairness_engine.store.seal import seal_lines
from fairness_engine.store.store import RunStore

Sha256 = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
FileId = Annotated[str, Meta(pattern=r"\A[0-9a-f]{20}\Z")]
RunId = Annotated[str, Meta(pattern=r"\A[0-9a-f]{20}\Z")]
PairsFile = Annotated[str, Meta(pattern=r"\Apairs-[0-9]{5,9}\.parquet\Z")]
"""Ids become names of files, so that nothing else may stand in them."""


@dataclass(frozen=True)
class FileEntry:
    """A file that a run was made from, or that it made: its line, not its bytes.

    Args:
        created: when it was added, in seconds since 1970.
    """

    id: FileId
    sha256: Sha256
    role: FileRole
    name: Word
    n_bytes: Count
    created: Amount

    def __post_init__(self) -> None:
        if self.id != file_identity(self.role, self.name, self.sha256):
            raise ValueError("an id that is not the file's")


@dataclass(frozen=True)
class Curve:
    """What a run reported on its way, ``(n_reports,)`` each."""

    evaluations: list[Count] = field(default_factory=list)
    seconds: list[Amount] = field(default_factory=list)
    n_tried: list[Count] = field(default_factory=list)
    n_found: list[Count] = field(default_factory=list)
    phase: list[Word] = field(default_factory=list)


@dataclass(frozen=True)
class PartEntry:
    """A file of pairs: the position of its first pair, how many, and its name."""

    start: Count
    n_pairs: Count
    file: PairsFile


@dataclass(frozen=True)
class VersionEntry:
    """The model that a retraining made, and the one that it was made of."""

    model_id: FileId
    parent_id: FileId
    state: VersionState
    created: Amount


@dataclass(frozen=True)
class SealEntry:
    """A line of a run's seal; the hash of a file that was not there is empty."""

    name: Word
    sha256: Word
    chain: Word


@dataclass(frozen=True)
class RunContent:
    """What a store knows of a run that has ended, but for which process worked it and whose it was.

    Args:
        config: as ``RunConfig.to_json`` has it; ``results`` as they are stored. Both as they are: the seal hashes them.
        created, started, finished: in seconds since 1970.
    """

    id: RunId
    config: dict[str, Any]
    state: RunState
    stop_reason: Word | None
    message: Text | None
    created: Amount
    started: Amount | None
    finished: Amount | None
    evaluations: Count
    seconds: Amount
    n_tried: Count
    n_found: Count
    n_rejected: Count
    progress: Curve
    parts: list[PartEntry]
    results: dict[Word, Any]
    files: list[FileEntry]
    version: VersionEntry | None
    seal: list[SealEntry]

    def file(self, file_id: str) -> FileEntry | None:
        """The entry of a file; ``None`` where there is none."""
        return next((file for file in self.files if file.id == file_id), None)

    @property
    def data(self) -> FileEntry | None:
        """The data that it was made from."""
        return self.file(str(self.config.get("data_id")))

    @property
    def model(self) -> FileEntry | None:
        """The model that it was made from."""
        return self.file(str(self.config.get("model_id")))

    @property
    def made_model(self) -> FileEntry | None:
        """The model that it made."""
        return None if self.version is None else self.file(self.version.model_id)


_TOTALS = ("state", "stop_reason", "message", "created", "started", "finished", "evaluations", "seconds", "n_tried")
_COUNTS = ("n_found", "n_rejected")
_CURVE = ("evaluations", "seconds", "n_tried", "n_found", "phase")


def run_content(store: RunStore, run_id: str) -> RunContent:
    """What a store knows of a run.

    Raises:
        RunError: there is no such run, or it has not ended.
    """
    run = store.run(run_id)
    if run.is_active:
        raise RunError(f"A run must have ended before it is handed on, but run {run.id} is {run.state}. Wait for it.")
    version = store.version(run_id)
    with store.engine.connect() as connection:
        row = connection.execute(select(tables.runs).where(tables.runs.c.id == run_id)).one()
        progress = tables.progress
        query = (
            select(*(progress.c[name] for name in _CURVE)).where(progress.c.run_id == run_id).order_by(progress.c.id)
        )
        reports = list(zip(*connection.execute(query), strict=True)) or [()] * len(_CURVE)
        named = [run.config.data_id, run.config.model_id]
        named += [] if version is None else [version.model_id, version.parent_id]
        files = [_file_entry(connection, file_id) for file_id in dict.fromkeys(named) if file_id]
    return RunContent(
        id=run_id,
        config=row.config,
        **{name: getattr(row, name) for name in (*_TOTALS, *_COUNTS)},
        progress=Curve(*map(list, reports)),
        parts=[PartEntry(part.start, part.n_pairs, part.file) for part in store.parts(run_id)],
        results=store.results(run_id),
        files=files,
        version=None
        if version is None
        else VersionEntry(version.model_id, version.parent_id, version.state, version.created.timestamp()),
        seal=[SealEntry(line["name"], line["sha256"], line["chain"]) for line in seal_lines(store, run_id)],
    )


def _file_entry(connection: Connection, file_id: str) -> FileEntry:
    """
    Raises:
        RunError: there is none, or it was changed.
    """
    row = connection.execute(select(tables.files).where(tables.files.c.id == file_id)).one_or_none()
    if row is None:
        raise RunError(f"A file of this run has no entry in the workspace ('{cut(file_id)}'). Verify the run.")
    try:
        return FileEntry(row.id, row.sha256, FileRole(row.role), row.name, row.n_bytes, row.created)
    except ValueError:
        raise RunError(f"The entry of the file '{cut(row.name)}' was changed. Verify the run.") from None


def put_run(store: RunStore, content: RunContent) -> None:
    """Enter a run that another store knows; its files, and those of its folder, are for the caller to bring.

    Raises:
        RunError: there is such a run already, or the database cannot be written.
    """
    here = {"run_id": content.id}
    plain = encode(content)
    curve = zip(*(getattr(content.progress, name) for name in _CURVE), strict=True)
    lines: list[tuple[Any, list[dict[str, Any]]]] = [
        (tables.progress, [here | dict(zip(_CURVE, report, strict=True)) for report in curve]),
        (tables.parts, [here | encode(part) for part in content.parts]),
        (tables.results, [here | {"name": name, "content": found} for name, found in content.results.items()]),
        (tables.versions, [] if content.version is None else [here | encode(content.version)]),
        (
            tables.seals,
            [here | {"position": position} | encode(line) for position, line in enumerate(content.seal)],
        ),
    ]
    values = {name: plain[name] for name in ("id", "config", *_TOTALS, *_COUNTS)}
    try:
        with store.engine.begin() as connection:
            known = set(connection.scalars(select(tables.files.c.id)))
            new = [encode(file) for file in content.files if file.id not in known]
            for table, rows in ((tables.files, new), (tables.runs, [values]), *lines):
                if rows:
                    connection.execute(insert(table), rows)
    except IntegrityError:
        raise RunError(f"A run is entered once, and its parts once each, but run {content.id} is not so.") from None
