"""Writes of the store on a disk that is full: one sentence, nothing half, and all works with room again.

The commands are in ``benchmarks/full_disk.py``, which keeps a table of every write.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.full_disk import MAX_CHARACTERS, WRITES, attempt, filled, new_store, small_disk, wrong_after
from fairness_engine.store.store import RunStore

WORK = ("a file that is kept already", "a note that saves time", "a run's folder")
"""What needs no room, or is not missed."""


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    try:
        with small_disk(tmp_path_factory.mktemp("disk"), "8m") as folder:
            yield folder
    except OSError as error:
        pytest.skip(f"a disk of a few megabytes can be mounted by root alone: {error}")


@pytest.fixture(scope="module")
def store_and_ids(disk: Path) -> Iterator[tuple[RunStore, set[str]]]:
    store, known = new_store(disk)
    yield store, known
    store.close()


@pytest.mark.parametrize("name", WRITES)
def test_a_write_on_a_full_disk(disk: Path, store_and_ids: tuple[RunStore, set[str]], name: str) -> None:
    store, known = store_and_ids
    with filled(disk, 0):
        said = attempt(WRITES[name], store)
    assert bool(said) is (name not in WORK)
    assert len(said) <= MAX_CHARACTERS
    assert "UNEXPECTED" not in said
    assert "\n" not in said
    assert wrong_after(store, known) == []
    assert attempt(WRITES[name], store) == ""
