"""Files appear whole or not at all, and what a process that was killed left half written goes."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairness_engine.errors import RunError
from fairness_engine.store import files
from fairness_engine.store.records import FileRole
from fairness_engine.store.store import RunStore
from fairness_engine.store.whole_files import exported_file, incoming_file, sweep, whole_file


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"before")
    with whole_file(path) as file:
        file.write(b"after")
        file.flush()
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_does_not_become_whole_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"before")

    def write() -> None:
        with whole_file(path) as file:
            file.write(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write()
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_what_nobody_writes_any_more_is_swept_and_what_somebody_writes_is_not(tmp_path: Path) -> None:
    left = tmp_path / "incoming-abcd_123"
    kept = [tmp_path / name for name in ("incoming-abcd_123.csv", "incoming-", "data", "evenhand.db")]
    for path in (left, *kept):
        path.write_bytes(b"half")
    with incoming_file(tmp_path) as (file, temporary):
        sweep(tmp_path)
        assert temporary.exists()
        assert not left.exists()
        file.write(b"whole")
    assert sorted(tmp_path.iterdir()) == sorted(kept)
    sweep(tmp_path / "nowhere")


def test_what_a_killed_process_left_of_files_and_notes_goes_with_the_next_one(store: RunStore) -> None:
    store.add_file(b"1", "data.csv", FileRole.DATA)
    store.keep_note("surrogates", "x", "y")
    left = [store.workspace / folder / "incoming-abcd_123" for folder in ("files", "surrogates", "")]
    for path in left:
        path.write_bytes(b"half")
    with left[0].open("rb") as other:  # it is being written: by another process, as far as locks can tell
        fcntl.flock(other, fcntl.LOCK_EX)
        store.add_file(b"1", "data.csv", FileRole.DATA)
        assert left[0].exists()
    store.add_file(b"1", "data.csv", FileRole.DATA)
    store.keep_note("surrogates", "z", "y")
    RunStore(store.workspace).close()
    assert [path for path in left if path.exists()] == []
    assert store.note("surrogates", "x") == "y"


def test_a_file_that_is_kept_already_can_be_added_to_a_full_disk(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = store.add_file(b"a,b\n", "data.csv", FileRole.DATA)

    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "incoming_file", full)
    assert store.add_file(b"a,b\n", "data.csv", FileRole.DATA) == kept
    with pytest.raises(RunError, match="cannot be kept in the workspace: No space left"):
        store.add_file(b"other", "data.csv", FileRole.DATA)


@pytest.fixture(params=["disk", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """An empty folder; one in memory is under ``/dev`` and holds plain files all the same."""
    if request.param == "disk":
        yield tmp_path
        return
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no folder in memory (/dev/shm) here")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as made:
        yield Path(made)


def test_an_export_is_whole_or_what_was_there_before(folder: Path) -> None:
    path = folder / "pairs.csv"
    link = folder / "link.csv"
    link.symlink_to(path)
    path.write_bytes(b"before")
    path.chmod(0o640)

    def write() -> None:
        with exported_file(link) as file:
            file.write(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write()
    assert path.read_bytes() == b"before"
    with exported_file(link) as file:
        file.write(b"after")
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    with exported_file(folder / "new.csv") as file:
        file.write(b"new")
    (folder / "as-others.csv").write_bytes(b"")
    assert (folder / "new.csv").stat().st_mode == (folder / "as-others.csv").stat().st_mode
    assert len(list(folder.iterdir())) == 4


def test_an_export_to_what_is_no_plain_file_is_written_as_it_comes(tmp_path: Path) -> None:
    with exported_file(Path(os.devnull)) as file:
        file.write(b"away")
    assert Path(os.devnull).is_char_device()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with exported_file(pipe) as file:
        file.write(b"streamed")
    assert os.read(reader, 100) == b"streamed"
    os.close(reader)
