"""Compiled loops: one place for all workspaces, of the version in use and a few before it."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from fairness_engine import certification
from fairness_engine.certification import warm_up
from fairness_engine.model_process.starting import compiled_loops
from fairness_engine.model_process.starting.compiled_loops import Loops


def test_every_workspace_finds_the_loops_of_this_installation(tmp_path: Path) -> None:
    one, other = (compiled_loops.compiled_folder(tmp_path / name) for name in ("a", "b"))
    assert one == other
    assert one.is_relative_to(sys.prefix)


def test_an_installation_that_cannot_be_written_leaves_them_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_loops.os, "access", lambda *_: False)
    assert compiled_loops.compiled_folder(tmp_path).is_relative_to(tmp_path)


@pytest.mark.parametrize("mode", [None, 0o775])
def test_loops_in_a_workspace_are_its_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int | None
) -> None:
    """Whoever could write there could have workers run something else."""
    monkeypatch.setattr(compiled_loops.os, "access", lambda *_: False)
    workspace = tmp_path / "workspace"
    workspace.mkdir(mode=0o755)
    folder = compiled_loops.compiled_folder(workspace)
    if mode is not None:  # as an earlier version made it
        folder.parent.mkdir()
        folder.parent.chmod(mode)
    before = os.umask(0o002)
    try:
        compiled_loops.make_compiled_folder(folder)
    finally:
        os.umask(before)
    assert folder.is_dir()
    assert folder.parent == workspace / "compiled"
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_loops_are_compiled_once_and_those_of_the_oldest_versions_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = sys.implementation.cache_tag
    folder = tmp_path / f"{tag}-new"
    monkeypatch.setattr(compiled_loops, "compiled_folder", lambda _: folder)
    monkeypatch.setattr(
        compiled_loops, "MODEL_PROGRAM", "platform"
    )  # a program that ends well: the loops are not the subject
    *others, foreign = (tmp_path / name for name in (f"{tag}-d", f"{tag}-a", f"{tag}-c", f"{tag}-b", "pypy-1"))
    for age, other in enumerate((*others, foreign)):
        other.mkdir()
        os.utime(other, (1e9 - age, 1e9 - age))
    compiled_loops.prepare_compiled(tmp_path, None, Loops.SEARCHES)
    assert (folder / "done-searches").exists()
    assert not (folder / "done-certifications").exists()
    assert [other.exists() for other in others] == [True, True, True, False]
    assert foreign.exists()
    others[3].mkdir()
    compiled_loops.prepare_compiled(tmp_path, None, Loops.SEARCHES)
    assert others[3].exists()  # nothing was done again


def test_two_programs_that_need_the_same_loops_compile_them_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "loops"
    started = []
    monkeypatch.setattr(compiled_loops, "compiled_folder", lambda _: folder)

    def compile_slowly(*_: object, **__: object) -> None:
        started.append(len(started))
        time.sleep(0.5)  # so that the other one comes meanwhile

    monkeypatch.setattr(compiled_loops.subprocess, "run", compile_slowly)
    arguments = (tmp_path, None, Loops.CERTIFICATIONS)
    programs = [threading.Thread(target=compiled_loops.prepare_compiled, args=arguments) for _ in range(3)]
    for program in programs:
        program.start()
    for program in programs:
        program.join(60)
    assert (folder / "done-certifications").exists()
    assert started == [0, 1]  # one half each


def test_every_module_of_compiled_loops_is_warmed_up() -> None:
    folder = Path(certification.__file__).parent
    modules = [path for path in folder.rglob("*kernels.py") if "def warm_up" in path.read_text()]
    compiled = [".".join(path.relative_to(folder).with_suffix("").parts) for path in modules]
    assert sorted(compiled) == sorted(warm_up.KERNELS)
