"""Control groups, on folders that look like the kernel's; the kernel's own are tried where a system offers them, by
``test_sandbox.py``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairness_engine.model_process.sandbox import control_group
from fairness_engine.model_process.sandbox.control_group import LEAF, NO_VERSION_2, NOT_DELEGATED, enter_own, own_group

FILES = ("cgroup.procs", "cgroup.subtree_control", "cgroup.controllers")


def make_group(folder: Path, controllers: str = "cpu memory pids", divided: str = "") -> Path:
    folder.mkdir(parents=True)
    for name, text in zip(FILES, ("", divided, controllers), strict=True):
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def scope(tmp_path: Path) -> Path:
    return make_group(tmp_path / "evenhand.scope")


def told(folder: Path, name: str, mounts: str) -> Path | None:
    groups = folder / "groups"
    groups.write_text(f"8:pids:/\n{name}\n")
    (folder / "mounts").write_text(mounts)
    return own_group(folder / "mounts", groups)


def test_the_own_group_is_found_wherever_the_groups_are_mounted(tmp_path: Path) -> None:
    inner = make_group(tmp_path / "top" / "user.slice" / "a.scope")
    mount = f"30 23 0:26 / {tmp_path}/top rw - cgroup2 cgroup2 rw"
    assert told(tmp_path, "0::/user.slice/a.scope", mount) == inner
    assert told(tmp_path, "0::/user.slice/gone.scope", mount) is None
    part = f"30 23 0:26 /user.slice {tmp_path}/top/user.slice rw - cgroup2 cgroup2 rw"
    assert told(tmp_path, "0::/user.slice/a.scope", part) == inner
    assert told(tmp_path, "0::/other", part) is None, "not beneath what is mounted"
    assert told(tmp_path, "0::/../a.scope", mount) is None, "outside the name space"
    assert told(tmp_path, "1:memory:/", mount) is None, "version 1 alone"
    assert told(tmp_path, "0::/", "30 23 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw") is None
    assert own_group(tmp_path / "none", tmp_path / "none") is None


def test_a_group_that_is_divided_holds_its_programs_in_a_leaf(scope: Path) -> None:
    (scope / "cgroup.procs").write_text(f"{os.getpid()}\n")
    make_group(scope / LEAF)
    control_group.divide(scope)
    assert (scope / LEAF / "cgroup.procs").read_text() == str(os.getpid())
    assert (scope / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_a_group_that_cannot_be_divided_is_tried_again_and_said(scope: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (scope / "cgroup.subtree_control").unlink()
    (scope / "cgroup.subtree_control").mkdir()
    with pytest.raises(OSError, match="directory"):
        control_group.divide(scope)
    monkeypatch.setattr(control_group, "own_group", lambda: scope)
    control_group.settle()  # nothing is raised: there is no group then


def test_a_process_gets_a_group_with_limits_and_those_of_ended_ones_go(
    scope: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scope / "cgroup.subtree_control").write_text("memory pids")
    leaf = make_group(scope / LEAF)
    monkeypatch.setattr(control_group, "own_group", lambda: leaf)
    ended = scope / "model-99999999"
    alive = scope / f"model-{os.getppid()}"
    ended.mkdir()
    alive.mkdir()
    assert enter_own(8 << 30, 1024) == ""
    own = scope / f"model-{os.getpid()}"
    written = {file.name: file.read_text() for file in own.iterdir()}
    assert written == {
        "memory.max": str(8 << 30),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": "1024",
        "cgroup.procs": "0",
    }
    assert alive.is_dir()
    assert not ended.exists()


def test_it_is_said_why_there_is_no_group(scope: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_group, "own_group", lambda: None)
    assert enter_own(1, 1) == NO_VERSION_2
    monkeypatch.setattr(control_group, "own_group", lambda: make_group(scope / "old", "hugetlb"))
    (scope / "cgroup.controllers").write_text("hugetlb")
    assert enter_own(1, 1) == NO_VERSION_2
    (scope / "cgroup.controllers").write_text("memory pids")
    monkeypatch.setattr(control_group, "own_group", lambda: scope)
    assert enter_own(1, 1) == NOT_DELEGATED
    leaf = make_group(scope / LEAF)
    monkeypatch.setattr(control_group, "own_group", lambda: leaf)
    assert enter_own(1, 1) == NOT_DELEGATED, "what is in the leaf is not counted apart"
    (scope / "cgroup.subtree_control").write_text("memory pids")
    (scope / f"model-{os.getpid()}").write_text("no folder")
    assert "could not be set up" in enter_own(1, 1)


def test_a_service_is_not_left(scope: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = make_group(scope / "evenhand.service", "hugetlb")
    monkeypatch.setattr(control_group, "own_group", lambda: service)
    monkeypatch.setattr(control_group, "_ask_for_scope", lambda own: pytest.fail("asked to leave"))
    control_group.settle()
    assert not (service / LEAF).exists()


def test_root_divides_where_systemd_knows_of_it_only(scope: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(control_group, "_SYSTEMD", scope)  # it is in charge
    assert not control_group._is_delegated(scope)
    try:
        os.setxattr(scope, "user.delegate", b"1")
    except OSError:
        pytest.skip("this file system has no attributes")
    assert control_group._is_delegated(scope)
    monkeypatch.setattr(control_group, "_SYSTEMD", scope / "none")
    os.removexattr(scope, "user.delegate")
    assert control_group._is_delegated(scope)
