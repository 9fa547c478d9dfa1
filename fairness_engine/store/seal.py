"""A run's seal: hashes of all that was stored of it, chained, made when it ends; whatever is changed later no longer
fits.

Each line hashes one part and the line before, so that no part can be changed, added, taken away or put elsewhere
without another last line. That last one, the *seal*, is shown with the run: who writes it down elsewhere can tell later
even a change that made the lines anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, insert, select

from fairness_engine.store import tables

if TYPE_CHECKING:
    from fairness_engine.store.runs import RunTable

_AFTERWARDS = frozenset({"measured"})
"""Results that are written when other runs have ended."""
_FILES = ("tree.npz", "rules.npz", "tested.npz")
"""What a run's folder holds beside its pairs and its log."""
TOTALS = "the totals"
_TOTALS = (
    "state",
    "stop_reason",
    "message",
    "evaluations",
    "seconds",
    "n_tried",
    "n_found",
    "n_rejected",
    "created",
    "started",
)
_BLOCK = 1 << 20
LIST_OF_PAIRS = "the list of pairs"
"""The part that says which files hold a run's pairs."""


def part_of_file(name: str) -> str:
    """What the chain calls a file of a run."""
    return f"the file '{name}'"


def part_of_result(name: str) -> str:
    """What the chain calls a result of a run."""
    return f"the result '{name}'"


@dataclass(frozen=True)
class SealCheck:
    """What became of a run's seal.

    Args:
        seal: the last line of the chain, as stored; empty where the run has none.
        n_parts: stored parts that the chain names and that were looked at.
        changed: parts that are not what they were, in words.
    """

    seal: str
    n_parts: int
    changed: tuple[str, ...]


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes; empty where there is none."""
    if not path.is_file():
        return ""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def write_seal(connection: Connection, run_id: str, files: Sequence[tuple[str, str]]) -> None:
    """Make the chain of a run, in the transaction that ends it: none has ended without.

    Args:
        files: its files as ``hashes_of_files`` has them, which may take long.
    """
    lines = _chained([*_of_database(connection, run_id), *files])
    connection.execute(delete(tables.seals).where(tables.seals.c.run_id == run_id))
    connection.execute(insert(tables.seals), [{"run_id": run_id, **line} for line in lines])


def seal_of(store: RunTable, run_id: str) -> str:
    """The seal of a run; empty where it has none yet, or was made by a version without."""
    lines = seal_lines(store, run_id)
    return lines[-1]["chain"] if lines else ""


def check_seal(store: RunTable, run_id: str, left_out: Collection[str] = ()) -> SealCheck:
    """Hash every part again and compare.

    Args:
        left_out: names of parts that are not there on purpose, and are not looked at.
    """
    stored = seal_lines(store, run_id)
    if not stored:
        return SealCheck("", 0, ())
    was = {line["name"]: line["sha256"] for line in stored if line["name"] not in left_out}
    with store.engine.connect() as connection:
        now = dict(_of_database(connection, run_id))
    now |= dict(hashes_of_files(store, run_id))
    now = {name: sha256 for name, sha256 in now.items() if name not in left_out}
    changed = [
        f"{name} are not what they were" if name == TOTALS else f"{name} is not what it was"
        for name in was
        if name in now and was[name] != now[name]
    ]
    changed += [f"{name} is gone" for name in was if name not in now]
    changed += [f"{name} came later" for name in now if name not in was]
    remade = _chained([(line["name"], line["sha256"]) for line in stored])
    if [line["chain"] for line in remade] != [line["chain"] for line in stored]:
        changed.append("the chain of hashes does not close")
    return SealCheck(stored[-1]["chain"], len(was), tuple(changed))


def _chained(parts: list[tuple[str, str]]) -> list[dict[str, Any]]:
    lines = []
    chain = ""
    for position, (name, sha256) in enumerate(parts):
        chain = hashlib.sha256(f"{chain}\n{name}\n{sha256}".encode()).hexdigest()
        lines.append({"position": position, "name": name, "sha256": sha256, "chain": chain})
    return lines


def seal_lines(store: RunTable, run_id: str) -> list[dict[str, Any]]:
    """The chain of a run as it is stored, a line a part: ``position``, ``name``, ``sha256``, ``chain``."""
    table = tables.seals
    query = select(table).where(table.c.run_id == run_id).order_by(table.c.position)
    with store.engine.connect() as connection:
        return [dict(row._mapping) for row in connection.execute(query)]


def _of_database(connection: Connection, run_id: str) -> Iterator[tuple[str, str]]:
    """Name and hash of all that the database holds of a run, in a fixed order."""
    run = connection.execute(select(tables.runs).where(tables.runs.c.id == run_id)).one()._mapping
    yield "the question", _hash(run["config"])
    yield TOTALS, _hash([run[name] for name in _TOTALS])
    for role in ("data_id", "model_id"):
        query = select(tables.files.c.sha256, tables.files.c.name).where(tables.files.c.id == run["config"].get(role))
        yield f"the {role.removesuffix('_id')} file's entry", _hash([list(row) for row in connection.execute(query)])
    curve = select(tables.progress).where(tables.progress.c.run_id == run_id).order_by(tables.progress.c.id)
    yield "the order of events", _hash([list(row)[2:] for row in connection.execute(curve)])
    parts = select(tables.parts).where(tables.parts.c.run_id == run_id).order_by(tables.parts.c.start)
    yield LIST_OF_PAIRS, _hash([list(row)[1:] for row in connection.execute(parts)])
    results = connection.execute(select(tables.results).where(tables.results.c.run_id == run_id)).all()
    for row in sorted(results, key=lambda row: row.name):  # databases order texts by the rules of different languages
        if row.name not in _AFTERWARDS:
            yield part_of_result(row.name), _hash(row.content)
    made = select(tables.versions.c.model_id, tables.versions.c.parent_id).where(tables.versions.c.run_id == run_id)
    yield "the model that was made", _hash([list(row) for row in connection.execute(made)])


def hashes_of_files(store: RunTable, run_id: str) -> list[tuple[str, str]]:
    """Name and hash of all files of a run, in a fixed order."""
    folder = store.run_folder(run_id)
    listed = [part.file for part in store.parts(run_id)]
    return [
        (part_of_file(name), file_hash(folder / name))
        for name in (*listed, *(name for name in _FILES if (folder / name).is_file()))
    ]


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
