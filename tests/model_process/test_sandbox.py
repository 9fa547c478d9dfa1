"""The walls around the model's process, attacked from the inside: the list of ``evenhand runs walls``."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from fairness_engine.model_process.process import ModelProcess
from fairness_engine.model_process.sandbox import capabilities, control_group, landlock, seccomp, walls, watcher
from fairness_engine.model_process.sandbox.probes import DONE, PROBES, REFUSED, Probe
from fairness_engine.model_process.sandbox.watcher import TooMuchError, check_folder
from fairness_engine.model_process.self_test import Tried, Verdict, try_walls

_HAS_FILTER = os.uname().machine in ("x86_64", "aarch64") and sys.platform.startswith("linux")
_NEEDS_FILTER = pytest.mark.skipif(not _HAS_FILTER, reason="no filter of system calls for this processor")
_NEEDS_WALLS = pytest.mark.skipif(
    landlock.abi_version() < 1 or not _HAS_FILTER, reason="this kernel has no Landlock, or the processor no filter"
)


SOON_TRIED = [probe for probe in PROBES if not probe.ends]


def by_wall(tried: list[Tried], verdict: Verdict) -> set[str]:
    return {one.probe.wall for one in tried if one.verdict is verdict}


@_NEEDS_WALLS
@pytest.mark.parametrize(("newest", "probes"), [(None, PROBES), (4, SOON_TRIED), (1, SOON_TRIED)])
def test_nothing_gets_out_and_work_goes_on_inside(newest: int | None, probes: Sequence[Probe], tmp_path: Path) -> None:
    tried = try_walls(tmp_path, newest, probes)
    assert [one.probe for one in tried] == list(probes)
    others = [(one.probe.name, one.verdict, one.why) for one in tried if one.verdict is not Verdict.HELD]
    # a group is offered by some systems; files without names take some disk
    assert [one for one in others if one[0] not in ("group_limit", "leave_group", "nameless")] == []
    assert all(verdict in (Verdict.NOT_OFFERED, Verdict.NOT_TRIED) for _, verdict, _ in others)


@_NEEDS_FILTER
def test_without_landlock_the_wall_of_files_is_named_and_the_others_hold(tmp_path: Path) -> None:
    tried = try_walls(tmp_path, 0, SOON_TRIED)
    assert by_wall(tried, Verdict.NOT_OFFERED) - {"group"} == {"files"}
    assert by_wall(tried, Verdict.FELL) == set()
    assert {"no Landlock" in one.why for one in tried if one.probe.wall == "files"} == {True}


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What comes of the probes in a process without walls: those that a wall is for, and that harm nobody."""
    folder = tmp_path_factory.mktemp("free")
    for name in ("secret", "allowed"):
        (folder / f"{name}.txt").write_text(name)
    risky = {"memory", "group_limit", "leave_group", "groups_of_accounts", "locked_memory", "exec"}
    names = [probe.name for probe in PROBES if not probe.ends and probe.name not in risky]
    program = (
        "import json, sys; from pathlib import Path; from fairness_engine.model_process.sandbox import probes\n"
        "ground = probes.Ground(Path(sys.argv[1]) / 'scratch', Path(sys.argv[1])); ground.scratch.mkdir()\n"
        "print(json.dumps(probes.outcomes(ground, json.loads(sys.argv[2]))))"
    )
    command = [sys.executable, "-P", "-c", program, str(folder), json.dumps(names)]
    command = ["sh", "-c", '"$@"; exit $?', "sh", *command]  # whose priority is changed, as its parent's
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=True)
    return dict(json.loads(done.stdout))


def test_a_probe_is_no_probe_where_it_fails_without_walls(free: dict[str, str]) -> None:
    """Else it would be held for held by a wall. What a container or an account may lack are calls of the kernel."""
    wall_of = {probe.name: probe.wall for probe in PROBES}
    refused = {name for name, outcome in free.items() if outcome == REFUSED}
    assert {wall_of[name] for name in refused} <= {"network", "programs", "rights"}
    assert refused.isdisjoint({"truncate", "truncate_by_open", "chmod", "times", "pipe_with_a_name", "fork", "spawn"})
    assert all(free[probe.name] == DONE for probe in PROBES if not probe.wall)


def test_a_machine_without_walls_says_so_and_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert landlock.abi_version() == 0
    assert not landlock.confine([], [])
    assert not seccomp.refuse_calls()
    assert seccomp.ask_for_threads() is None
    assert not capabilities.forbid_new_privileges()
    assert not capabilities.give_up()
    control_group.settle()


def test_an_unknown_processor_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert not seccomp.refuse_calls()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="rights are taken apart on Linux only")
def test_no_right_of_the_superuser_is_left_but_to_read(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; from fairness_engine.model_process.sandbox import capabilities\n"
        "print(capabilities.give_up())\n"
        "lines = dict(line.split(':') for line in Path('/proc/self/status').read_text().splitlines())\n"
        "print(*(int(lines[name], 16) & ~4 for name in ('CapPrm', 'CapEff', 'CapInh', 'CapAmb')), sep='')"
    )
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, env=walls.child_environment(tmp_path, tmp_path), capture_output=True, check=True)
    assert done.stdout.split() == [b"True", b"0000"]


# --- the watcher ----------------------------------------------------------------------------------


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "MAX_FOLDER_BYTES", 1 << 20)
    monkeypatch.setattr(watcher, "MAX_FILE_BYTES", 1 << 20)
    monkeypatch.setattr(watcher, "MAX_FOLDER_ENTRIES", 50)


@pytest.mark.usefixtures("limits")
def test_all_that_a_folder_holds_is_counted(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    for folder in (tmp_path, inner):
        (folder / "half").write_bytes(bytes(400_000))
    check_folder(tmp_path, os.getpid())
    (inner / "more").write_bytes(bytes(400_000))
    with pytest.raises(TooMuchError, match="wrote more than"):
        check_folder(tmp_path, os.getpid())


@pytest.mark.usefixtures("limits")
def test_too_many_entries_are_not_looked_through_to_their_end(tmp_path: Path) -> None:
    for i in range(51):
        (tmp_path / f"{i}").symlink_to("/etc/passwd")
    with pytest.raises(TooMuchError, match="made more than 50 files"):
        check_folder(tmp_path, os.getpid())


@pytest.mark.usefixtures("limits")
def test_a_tree_too_deep_to_look_into_is_too_much(tmp_path: Path) -> None:
    inside = os.open(tmp_path, os.O_RDONLY)
    for _ in range(40):
        os.mkdir("d" * 200, dir_fd=inside)
        deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=inside)
        os.close(inside)
        inside = deeper
    os.close(inside)
    with pytest.raises(TooMuchError, match="cannot be looked into"):
        check_folder(tmp_path, os.getpid())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="open files are listed on Linux only")
@pytest.mark.usefixtures("limits")
def test_files_that_lost_their_names_are_counted_while_they_are_held(tmp_path: Path) -> None:
    path = tmp_path / "nameless"
    with path.open("w+b") as file:
        path.unlink()
        file.write(bytes(1_200_000))
        file.flush()
        with pytest.raises(TooMuchError):
            check_folder(tmp_path, os.getpid())
    check_folder(tmp_path, os.getpid())
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    held = []
    for _ in range(2):
        with path.open("w+b") as file:
            file.write(bytes(4096))
            file.flush()
            held.append(ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(4096), 1, 1, file.fileno(), ctypes.c_long(0))))
        path.unlink()
    with pytest.raises(TooMuchError):  # each may be as large as any
        check_folder(tmp_path, os.getpid())
    for address in held:
        libc.munmap(address, ctypes.c_size_t(4096))
    check_folder(tmp_path, os.getpid())


def test_a_process_that_takes_too_much_is_ended_and_it_is_said_why(tmp_path: Path) -> None:
    process = ModelProcess(tmp_path, [], None)
    try:
        process.greet()
        assert process.protections["folder_size"]
        with pytest.raises(Exception, match=r"it made more than 5,000 files and was stopped\."):
            process.ask("try_walls", 60.0, outside="/nonexistent", names=["many_files"])
        assert process.took_too_much
    finally:
        process.close()


# --- limits, environment --------------------------------------------------------------------------


def test_memory_is_limited(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    program = (
        "import sys; from pathlib import Path; from fairness_engine.model_process.sandbox import walls\n"
        "up = walls.enter(Path(sys.argv[1]), [])\n"
        "assert up['ends_with_parent'] is not True\n"
        "assert isinstance(up['ends_with_parent'], str)\n"
        "try: bytearray(9 << 30)\n"
        "except MemoryError: print(up['memory'])\n"
    )
    environment = walls.child_environment(scratch, scratch)
    command = [sys.executable, "-P", "-c", program, str(scratch)]
    done = subprocess.run(command, env=environment, cwd=scratch, capture_output=True, timeout=60, check=True)
    assert done.stdout.strip() == b"True"


def test_the_environment_is_scrubbed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOME_SECRET", "x")
    environment = walls.child_environment(tmp_path, tmp_path / "numba")
    assert "SOME_SECRET" not in environment
    assert environment["HOME"] == environment["TMPDIR"] == str(tmp_path)
    assert environment["OPENBLAS_NUM_THREADS"] == "1"
