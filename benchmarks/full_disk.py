"""What each write says when the disk is full, and what is there then: ``python -m benchmarks.full_disk`` keeps the
table. The workspace lies in a small file system in memory, which only root can mount.

Before each write the file system is filled but for a few bytes; what comes must be one sentence of at most 300
characters, what was stored before must be there, and nothing half. With room again the same write must work.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from benchmarks.kills import left_over
from benchmarks.table import keep, markdown
from fairness_engine.errors import RunError
from fairness_engine.model_process.starting.start import get_ready
from fairness_engine.runs import queue
from fairness_engine.store.records import AnswersSource, FileRole, ReviewTerms
from fairness_engine.store.store import RunStore
from store_cases import SCHEMA
from worker_cases import DATA, census_config

ROOT = Path(__file__).resolve().parents[1]
TREE = ROOT / "sample_models" / "census_income_tree.skops"
FILES = ((DATA, FileRole.DATA), (TREE, FileRole.MODEL))
SIZE = "64m"
MAX_CHARACTERS = 300
Write = Callable[[RunStore], object]


@contextlib.contextmanager
def small_disk(folder: Path, size: str = SIZE) -> Iterator[Path]:
    """A file system of its own in memory.

    Raises:
        PermissionError: it cannot be mounted; only root can.
    """
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    mounted = subprocess.run(mount, check=False, capture_output=True)
    if mounted.returncode:
        raise PermissionError(mounted.stderr.decode().strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextlib.contextmanager
def filled(folder: Path, n_free: int) -> Iterator[None]:
    """A file system that is full but for so many bytes."""
    filler = folder / "filler"
    try:
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 12))
        os.truncate(filler, max(0, filler.stat().st_size - n_free))
        yield
    finally:
        filler.unlink()


def command(*arguments: str) -> Write:
    """A command on the sample data and a tree."""

    def run(store: RunStore) -> None:
        files = () if arguments[0] == "runs" else ("--data", str(DATA), "--model", str(TREE), "--protected", "sex")
        done = subprocess.run(
            [sys.executable, "-m", "evenhand", *arguments, *files, "--workspace", str(store.workspace), "--quiet"],
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode not in (0, 1):
            said = [line for line in done.stderr.strip().splitlines() if not line.startswith("Note: ")]
            raise RunError(f"[{done.returncode}] {chr(10).join(said)}")

    return run


SEARCH = ("search", "--technique", "random", "--max-evaluations", "400000")
RETRAIN = ("retrain", "--tolerance", "0.3", "--rounds", "1", "--measure-seconds", "0")
WRITES: dict[str, Write] = {
    "a new workspace": lambda store: RunStore(store.workspace.parent / "another").close(),
    "a review": lambda store: [store.create_review("x" * 200) for _ in range(50)],
    "its files and columns": lambda store: store.save_review(replace(store.reviews()[0], schema=SCHEMA)),
    "its name": lambda store: store.rename_review(store.reviews()[0].id, "n" * 200),
    "its terms": lambda store: store.set_terms(store.reviews()[0].id, ReviewTerms((("a", ("b" * 9000,)),), ("a",))),
    "where its answers are": lambda store: store.set_answers(store.reviews()[0].id, AnswersSource(None, "c" * 9000)),
    "a pinned pair": lambda store: store.set_pin(store.reviews()[0].id, store.runs()[0].id, 0, "n" * 9000),
    "a review that is deleted": lambda store: store.delete_review(store.create_review("y").id),
    "a small file": lambda store: store.add_file(os.urandom(5000), "data.csv", FileRole.DATA),
    "a large file": lambda store: store.add_file(os.urandom(2 << 20), "data.csv", FileRole.DATA),
    "a file that is kept already": lambda store: store.add_file(DATA, DATA.name, FileRole.DATA),
    "a note that saves time": lambda store: store.keep_note("surrogates", "x", "y" * 9000),
    "a run in the queue": lambda store: store.create_run(census_config(store)),
    "a run's folder": lambda store: store.make_run_folder("a" * 20),
    "a run that is cancelled": lambda store: store.request_cancel(store.create_run(census_config(store))),
}
"""What is written in this process, on a disk without any room."""
RUNS: dict[str, tuple[str, ...]] = {
    "a search": SEARCH,
    "a certification": ("certify", "--max-boxes", "20000"),
    "rule sets": ("rules",),
    "a retraining": RETRAIN,
    "an estimate": ("estimate", "--samples", "300000"),
    "a model that is looked at": ("inspect",),
}
"""Commands, with room for a part of what they write."""
ROOM = (8 << 10, 64 << 10, 128 << 10, 256 << 10)
EXPORTS: dict[str, tuple[str, ...]] = {
    "pairs": (*SEARCH, "--pairs"),
    "JSON": (*SEARCH, "--json"),
    "a model": (*RETRAIN, "--out-model"),
}
"""Commands whose last word is a file on the full disk; the workspace lies elsewhere."""


def attempt(write: Write, store: RunStore) -> str:
    """What a write says; empty when it works."""
    try:
        write(store)
    except RunError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - that there is none is what is looked at
        return f"UNEXPECTED {type(error).__name__}: {error}"
    return ""


def wrong_after(store: RunStore, known: set[str]) -> list[str]:
    """What is not as it should be with a full disk behind it: the database, what was there, what is half."""
    wrong = []
    with contextlib.closing(sqlite3.connect(store.workspace / "evenhand.db")) as opened:
        if opened.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            wrong.append("database")
    queue.mark_crashed(store)
    if not known <= {each.id for each in (*store.runs(), *store.reviews())}:
        wrong.append("what was there")
    if active := [run.state.value for run in store.runs() if run.is_active and run.reserved is not None]:
        wrong.append(f"active {active}")
    for run in store.runs():
        if len(store.pairs(run.id)) != store.n_pairs(run.id):
            wrong.append("pairs")
    return wrong + left_over(store)


def new_store(folder: Path) -> tuple[RunStore, set[str]]:
    """A workspace with a review and a run that waits; their ids."""
    store = RunStore(folder / "workspace")
    mine = store.create_review("before")
    return store, {mine.id, store.create_run(census_config(store), mine.id)}


def line(name: str, room: str, said: str, wrong: list[str], again: str) -> tuple[str, ...]:
    """Of the table; what is longer than a sentence may be is marked."""
    is_long = "TOO LONG: " if len(said) > MAX_CHARACTERS or "\n" in said else ""
    return name, room, is_long + (said or "nothing: it works"), ", ".join(wrong) or "nothing", again or "yes"


def tried(name: str, write: Write, store: RunStore, disk: Path, n_free: int, known: set[str]) -> tuple[str, ...]:
    """A write on a full disk, what is there then, and the write again."""
    with filled(disk, n_free):
        said = attempt(write, store)
    wrong = wrong_after(store, known)
    if disk not in store.workspace.parents:
        wrong += [path.name for path in disk.iterdir()]
    said = said.replace(str(disk.parent), "...")
    return line(name, f"{n_free >> 10} KB", said, wrong, attempt(write, store))


def all_lines(folder: Path) -> Iterator[tuple[str, ...]]:
    """Every write, one after the other."""
    with small_disk(folder / "writes") as disk:
        store, known = new_store(disk)
        for name, write in WRITES.items():
            yield tried(name, write, store, disk, 0, known)
        store.close()
    for name, words in RUNS.items():
        for n_free in ROOM:
            with small_disk(folder / "runs") as disk:
                store, known = new_store(disk)
                for run_id in known:
                    store.request_cancel(run_id)
                for path, role in FILES:
                    store.add_file(path, path.name, role)
                yield tried(name, command(*words), store, disk, n_free, known)
                store.close()
    with small_disk(folder / "exports") as disk:
        (folder / "beside").mkdir()
        store, known = new_store(folder / "beside")
        for run_id in known:
            store.request_cancel(run_id)
        for name, words in EXPORTS.items():
            out = disk / f"out.{name.split()[-1]}{'.skops' if 'model' in name else ''}"
            yield tried(f"exported: {name}", command(*words, str(out)), store, disk, 0, known)
        store.close()


def main() -> None:
    """All of them; the table is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        get_ready(Path(folder), stands_by=True)
        for row in all_lines(Path(folder)):
            rows.append(row)
            print(*row, sep=" | ", flush=True)
    header = ("what is written", "room left", "what is said", "half or lost", "works with room")
    keep("full_disk", "A full disk at each write", [markdown(header, rows)])


if __name__ == "__main__":
    main()
