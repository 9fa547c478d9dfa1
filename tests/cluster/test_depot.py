"""Files of a run by what they hold: found where they are, copied from elsewhere, refused when they are others."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from fairness_engine.errors import RunError

depot = pytest.importorskip("fairness_engine.cluster.depot", reason="evenhand[cluster] is not installed")

CONTENT = b"age,sex\n30,f\n"
NAME = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_bytes(CONTENT)
    return path


def test_a_folder_of_this_machine_is_read_in_place(file: Path, tmp_path: Path) -> None:
    here = depot.Depot(str(tmp_path / "files"))
    here.put(file, NAME)
    found = here.fetch(NAME, tmp_path / "copies")
    assert found == tmp_path / "files" / NAME[:2] / NAME
    assert found.read_bytes() == CONTENT
    assert not (tmp_path / "copies").exists()


def test_a_file_from_elsewhere_is_copied_once(file: Path, tmp_path: Path) -> None:
    there = depot.Depot(f"file://{tmp_path}/files/")
    there.put(file, NAME)
    there.put(file, NAME)
    copy = there.fetch(NAME, tmp_path / "copies")
    assert copy.read_bytes() == CONTENT
    (tmp_path / "files" / NAME[:2] / NAME).unlink()
    assert there.fetch(NAME, tmp_path / "copies") == copy
    assert [path.name for path in (tmp_path / "copies").iterdir()] == [NAME]


def test_a_file_that_is_another_is_refused(file: Path, tmp_path: Path) -> None:
    there = depot.Depot(f"file://{tmp_path}/files")
    there.put(file, NAME)
    (tmp_path / "files" / NAME[:2] / NAME).write_bytes(b"something else")
    with pytest.raises(RunError, match="must hold what its name says"):
        there.fetch(NAME, tmp_path / "copies")
    assert not list((tmp_path / "copies").iterdir())


@pytest.mark.parametrize("url", ["file:///dev/null/files", "nothing://bucket/files"])
def test_a_place_that_cannot_be_used_is_said(url: str, file: Path, tmp_path: Path) -> None:
    nowhere = depot.Depot(url)
    with pytest.raises(RunError, match="reach the cluster through"):
        nowhere.put(file, NAME)
    with pytest.raises(RunError, match="must be found in"):
        nowhere.fetch(NAME, tmp_path / "copies")
