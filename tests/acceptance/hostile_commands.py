"""Options, workspaces and databases that cannot be."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from acceptance.hostile_case import Case, Maker, Place
from fairness_engine.store.store import RunStore

SEARCH = ("--technique", "random", "--max-evaluations", "200")


def nothing(place: Place) -> None:
    """Everything is honest but the options."""


def search(name: str, says: str, *options: str) -> Case:
    """A search with options that cannot be."""
    return Case(name, nothing, says, command="search", options=(*SEARCH, *options))


def asked(name: str, command: str, says: str, *options: str) -> Case:
    """Another command with options that cannot be."""
    return Case(name, nothing, says, command=command, options=options)


def of_runs(name: str, says: str, *options: str) -> Case:
    """A question of stored runs that cannot be answered."""
    return Case(name, nothing, says, command="runs", options=options, is_given=False)


def database(content: bytes) -> Maker:
    """The workspace's database is these bytes."""

    def make(place: Place) -> None:
        place.workspace.mkdir()
        (place.workspace / "evenhand.db").write_bytes(content)

    return make


def changed(statement: str) -> Maker:
    """The workspace's database after a statement of somebody else."""

    def make(place: Place) -> None:
        RunStore(place.workspace).close()
        with sqlite3.connect(place.workspace / "evenhand.db") as held:
            held.execute(statement)
        held.close()

    return make


def is_file(place: Place) -> None:
    """The workspace is a file."""
    place.workspace.write_bytes(b"")


def is_link_to_nowhere(place: Place) -> None:
    """The workspace leads nowhere."""
    place.workspace.symlink_to(place.folder / "nowhere" / "at" / "all")


def is_device(place: Place) -> Path:
    """The model is a device that never ends."""
    return Path("/dev/zero")


CASES = (
    search("a protected column that is none", "race", "--protected", "race"),
    search("a protected column that is no input", "hired", "--protected", "hired"),
    search("no protected column", "protected", "--protected", ""),
    search("a fixed column that is none", "race", "--fixed", "race"),
    search("fixed and protected", "sex", "--fixed", "sex"),
    search("a technique that is none", "magic", "--technique", "magic"),
    search("a budget of nothing", "Argument --max-evaluations: must be at least 1, got '0'.", "--max-evaluations", "0"),
    search(
        "a budget below nothing", "Argument --max-evaluations: must be at least 1, got '-5'.", "--max-evaluations", "-5"
    ),
    search("a budget that is no number", "many", "--max-evaluations", "many"),
    search(
        "a budget of 400 digits", "--max-evaluations: must be a finite number, got '9", "--max-evaluations", "9" * 400
    ),
    search("time that is no number", "nan", "--max-seconds", "nan"),
    search("time without end", "inf", "--max-seconds", "inf"),
    search("a seed below nothing", "Argument --seed: must be at least 0, got '-1'. 'python -m", "--seed", "-1"),
    search("a seed that is no number", "Argument --seed: must be a finite number, got 'x'. 'python", "--seed", "x"),
    search("a setting that is none", "speed", "--set", "speed=9"),
    search("a setting without a value", "Argument --set: must be like n_steps=500, got 'speed'.", "--set", "speed"),
    search("an option that is none", "--faster", "--faster"),
    search(
        "an option of 100,000 characters", r"Unrecognized arguments: --n.*lists the options\.$", "--" + "n" * 100_000
    ),
    search("a technique of 100,000 characters", "The technique must be one of", "--technique", "n" * 100_000),
    search("a technique of 50,000 words", "The technique must be one of", "--technique", "n " * 50_000),
    search("a gate that is no number", "--fail-if needs comparisons of names and numbers, got", "--fail-if", "sex"),
    search("a policy that never ends", "--policy must name a file of YAML, but there is none", "--policy", "/dev/zero"),
    search(
        "test cases among the result", "--junit must name a file, got '-'", "--fail-if", "n_found > 1", "--junit", "-"
    ),
    search("test cases where nobody may write", "--junit must name a file in a folder", "--junit", "/proc/1/x"),
    search(
        "an address of a database that is none",
        "EVENHAND_DATABASE_URL must name a database of PostgreSQL .* got 'nonsense'",
        "--database",
        "nonsense://x",
    ),
    Case(
        "a result where nobody may write",
        nothing,
        "--json must name a file in a folder that is there and can be written, got '/proc/1/x'",
        2,
        "search",
        (*SEARCH, "--quiet", "--json", "/proc/1/x"),
    ),
    search("a gradient of what has none", "gradient", "--technique", "eidig", "--set", "gradient=none"),
    asked(
        "an estimate of nobody",
        "estimate",
        "Argument --samples: must be at least 1, got '0'. 'python -m",
        "--samples",
        "0",
    ),
    asked("a comparison over no seed", "compare", "--seeds: must be at least 1", "--techniques", "adf", "--seeds", "0"),
    asked("a comparison with magic", "compare", "technique must be one of .* 'magic'", "--techniques", "random,magic"),
    asked(
        "a proof without time",
        "certify",
        "Argument --max-seconds: must be greater than 0, got '0'.",
        "--max-seconds",
        "0",
    ),
    asked(
        "rule sets of nobody", "rules", "The setting 'support' must be a number above 0 and below 1,", "--support", "2"
    ),
    asked("a strategy that is none", "retrain", "magic", "--strategy", "magic"),
    of_runs("no question", "Argument ACTION: invalid choice: '"),
    of_runs("a question that is none", "dance", "dance"),
    of_runs("a run that is none", "0123456789abcdef0123", "show", "0123456789abcdef0123"),
    of_runs("a run that leads elsewhere", "etc", "show", "../../../etc/passwd"),
    of_runs("a run of 100,000 characters", "run", "show", "f" * 100_000),
    of_runs("a run of other letters", "run", "verify", "\u202eabc"),
    of_runs("the end of a run that is none", "0123456789abcdef0123", "cancel", "0123456789abcdef0123"),
    Case("a workspace that is a file", is_file, "workspace"),
    Case(
        "a workspace that leads nowhere", is_link_to_nowhere, "The workspace must be a folder that can be written, got"
    ),
    Case("a database that is none", database(b"hello, this is no database at all" * 100), "database"),
    Case("a database cut short", database(b"SQLite format 3\0" + b"\0" * 40), "database"),
    Case(
        "a database whose runs are elsewhere",
        changed("ALTER TABLE runs RENAME TO walks"),
        "no such table: runs. It was changed by another program",
        2,
        "runs",
        ("show", "0" * 20),
        is_given=False,
    ),
    Case(
        "a database without a column",
        changed("ALTER TABLE files RENAME COLUMN n_bytes TO length"),
        "no column named n_bytes. It was changed by another program",
    ),
    Case(
        "a database of the future",
        changed("UPDATE alembic_version SET version_num = '0099'"),
        "must be of version 0003 or earlier, got version 0099",
    ),
    Case("a model that never ends", is_device, "--model must name a model file, but there is none at"),
)
"""Each ends with status 2 and one sentence."""
