"""What a bundle holds, as its own JSON files say it. Documents are made of this alone, so that whoever has a bundle can
make them again and compare.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from fairness_engine.audit.verification import LeftOut
from fairness_engine.codec import Amount, Count, Number, Text, Word, hold
from fairness_engine.data.schema import Schema
from fairness_engine.errors import InputError, RunError
from fairness_engine.report.bundle.run_content import FileEntry, FileId, PartEntry, RunContent, RunId, Sha256
from fairness_engine.runs.kinds import Results, of_stored
from fairness_engine.store.records import RunState
from fairness_engine.store.run_config import RunConfig

BUNDLE = "bundle"
"""The folder beside a report."""
CRATE_FILE = "ro-crate-metadata.json"
ATTESTATION_FILE = "attestation.intoto.json"
MODEL_CARD_FILE = "model-card.cdx.json"
REVIEW_FILE = "review.json"
RUN_FILE = "run.json"
PAIRS_CSV = "pairs.csv"
PAIRS_PARQUET = "pairs.parquet"
VERSION = 1
_NAMED = 16
"""Digits of a hash that name a file; all of them stand in the crate."""
_SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")


@dataclass(frozen=True)
class RuleSetLine:
    """A rule set of a run.

    Args:
        group: in words.
        is_harmed: whether fewer inside than outside get the favourable outcome.
        inside, outside, score, low, high, n_inside, n_outside: as the command line says them.
    """

    group: Text
    is_harmed: bool
    inside: Number
    outside: Number
    score: Number
    low: Number
    high: Number
    n_inside: Count
    n_outside: Count


@dataclass(frozen=True)
class RuleSetLines:
    """The highest rule sets of a run.

    Args:
        n_beyond_chance: of all its rule sets, those whose interval lies above 0.
        top: those with the highest scores that are no near duplicates of a higher one.
    """

    n_beyond_chance: Count = 0
    top: Annotated[list[RuleSetLine], Meta(max_length=100)] = field(default_factory=list)


@dataclass(frozen=True)
class Withheld:
    """What of a run is not in the bundle, since it would tell who stands in the data.

    Args:
        n_pairs: pairs.
        parts: names of the parts of the run's seal that are not there, or not as they were.
        why: a sentence each.
    """

    n_pairs: Count = 0
    parts: list[Word] = field(default_factory=list)
    why: list[Text] = field(default_factory=list)

    @property
    def left_out(self) -> LeftOut:
        """The same for who looks at the run again."""
        return LeftOut(self.n_pairs, frozenset(self.parts))


@dataclass(frozen=True)
class BundledRun:
    """A run, as its ``run.json`` has it.

    Args:
        run: all that the store knew of it; its ``parts`` and ``results`` without what is withheld.
        n_pairs: that it found.
        n_of_data: of them the pairs of individuals who stand in the data, with whatever protected values; ``None``
            where the data could not be read.
        withheld: what is not here.
        rule_sets: of a run of rule sets.
        version: of this form.
    """

    run: RunContent
    n_pairs: Count = 0
    n_of_data: Count | None = None
    withheld: Withheld = field(default_factory=Withheld)
    rule_sets: RuleSetLines | None = None
    version: Annotated[int, Meta(ge=VERSION, le=VERSION)] = VERSION

    def __post_init__(self) -> None:
        hold((self.n_of_data or 0) <= self.n_pairs >= self.withheld.n_pairs, "pairs of the data")

    @cached_property
    def config(self) -> RunConfig:
        """What it was asked to do.

        Raises:
            RunError: it was changed.
        """
        return RunConfig.from_json(self.run.config)

    @cached_property
    def results(self) -> Results:
        """What it left.

        Raises:
            RunError: a result is damaged.
        """
        return of_stored(self.run.results)

    @property
    def state(self) -> RunState:
        """How it ended."""
        return RunState(self.run.state)

    @property
    def folder(self) -> str:
        """Its folder in the bundle, with a stroke at the end."""
        return f"runs/{self.run.id}/"

    @property
    def file(self) -> str:
        """Its ``run.json`` in the bundle."""
        return self.folder + RUN_FILE

    def stored(self, name: str) -> str:
        """Where a file of the run's folder lies in the bundle."""
        return f"{self.folder}stored/{name}"


@dataclass(frozen=True)
class BundledReview:
    """The review that the runs are of; times in seconds since 1970, ``schema`` and ``scope`` as the store has them."""

    id: Word
    name: Word
    owner: Word
    created: Amount
    changed: Amount
    data_id: FileId | None
    model_id: FileId | None
    schema: dict[str, Any] | None
    scope: dict[str, Any] | None


@dataclass(frozen=True)
class About:
    """What ``review.json`` says.

    Args:
        evenhand: the version that wrote the bundle.
        with_rows: whether data, models and people of the data are in it.
        runs: their ids, the oldest first.
        review: ``None`` for runs of no review.
    """

    evenhand: Word
    with_rows: bool
    runs: Annotated[list[RunId], Meta(max_length=10_000)]
    review: BundledReview | None = None
    version: Annotated[int, Meta(ge=VERSION, le=VERSION)] = VERSION

    def __post_init__(self) -> None:
        hold(len(set(self.runs)) == len(self.runs), "runs named once")


@dataclass(frozen=True)
class BundledFile:
    """A file of a bundle: its path from there, its hash and its length in bytes."""

    path: str
    sha256: Sha256
    n_bytes: Count


@dataclass(frozen=True)
class Contents:
    """A bundle without the documents that are made of it.

    Args:
        about: what ``review.json`` says.
        runs: the oldest first.
        files: those that are there, by path.
    """

    about: About
    runs: tuple[BundledRun, ...]
    files: dict[str, BundledFile]

    @cached_property
    def data(self) -> tuple[FileEntry, ...]:
        """The data of the runs, that of the review first."""
        first = None if self.about.review is None else self.about.review.data_id
        return self._entries(first, (bundled.run.data for bundled in self.runs))

    @cached_property
    def models(self) -> tuple[FileEntry, ...]:
        """The models of the runs, that of the review first, and those that they made."""
        first = None if self.about.review is None else self.about.review.model_id
        return self._entries(first, (m for each in self.runs for m in (each.run.model, each.run.made_model)))

    def _entries(self, first: str | None, found: Any) -> tuple[FileEntry, ...]:
        entries = {entry.id: entry for entry in found if entry is not None}
        return tuple(sorted(entries.values(), key=lambda entry: entry.id != first))

    def schema_of(self, data: FileEntry) -> Schema:
        """The columns of a data file: the review's where it is its data, else those of the newest run on it.

        Raises:
            RunError: they cannot be read.
        """
        review = self.about.review
        if review is not None and review.schema is not None and review.data_id == data.id:
            try:
                return Schema.from_json(review.schema)
            except InputError as error:
                raise RunError(f"The columns of the review cannot be read: {error}") from None
        return next(each.config.schema for each in reversed(self.runs) if each.config.data_id == data.id)

    @property
    def published(self) -> float:
        """When the last of it was made, in seconds since 1970."""
        times = [run.run.finished or run.run.created for run in self.runs]
        return max(times, default=self.about.review.changed if self.about.review else 0.0)

    def of_run(self, run: BundledRun) -> list[str]:
        """The files of a run's folder."""
        return self._by_run.get(run.run.id, [])

    @cached_property
    def _by_run(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in sorted(self.files):
            parts = path.split("/", 2)
            if parts[0] == "runs" and len(parts) == 3:
                found.setdefault(parts[1], []).append(path)
        return found

    def has(self, path: str) -> bool:
        """Whether a file is there."""
        return path in self.files


def is_bundle(folder: Path) -> bool:
    """Whether a folder is a bundle, by the name of its metadata."""
    return (folder / CRATE_FILE).is_file()


def data_path(entry: FileEntry) -> str:
    """Where the bytes of a data file lie in a bundle that has them; its own name is never a path."""
    return f"data/{entry.sha256[:_NAMED]}.csv"


def card_path(data: FileEntry, contents: Contents) -> str:
    """Where the data card of a file lies."""
    return "data/croissant.json" if data == contents.data[0] else f"data/croissant-{data.sha256[:_NAMED]}.json"


def model_path(entry: FileEntry) -> str:
    """Where the bytes of a model file lie in a bundle that has them; the suffix is its name's, where it is one."""
    suffix = entry.name[entry.name.rfind(".") :].lower() if "." in entry.name else ""
    return f"models/{entry.sha256[:_NAMED]}{suffix if _SUFFIX.fullmatch(suffix) else ''}"


def schema_path(run: BundledRun) -> str:
    """Where the columns that a run read its data by lie: runs that read it alike share a file."""
    content = json_bytes(run.config.schema.to_json())
    return f"data/schema-{hashlib.sha256(content).hexdigest()[:_NAMED]}.json"


def json_bytes(content: Any) -> bytes:
    """JSON for people and programs: the same content gives the same bytes.

    Raises:
        RunError: a number that JSON lacks.
    """
    try:
        text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True, allow_nan=False) + "\n"
    except ValueError:
        raise RunError("What a bundle holds must be finite numbers, but a result holds others. Run it again.") from None
    try:
        return text.encode()
    except UnicodeEncodeError:  # a name that holds half of a letter
        return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


def kept_parts(n_pairs: list[int]) -> list[PartEntry]:
    """Entries of files of pairs, one after the other."""
    starts = [sum(n_pairs[:i]) for i in range(len(n_pairs))]
    return [
        PartEntry(start, n, f"pairs-{i + 1:05d}.parquet")
        for i, (start, n) in enumerate(zip(starts, n_pairs, strict=True))
    ]
