"""Compiled loops: one place for all workspaces, and only of the version in use."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fairness_engine import certification
from fairness_engine.certification import warm
from fairness_engine.runs import compiled
from fairness_engine.runs.compiled import Loops


def test_every_workspace_finds_the_loops_of_this_installation(tmp_path: Path) -> None:
    one, other = (compiled.compiled_folder(tmp_path / name) for name in ("a", "b"))
    assert one == other
    assert one.is_relative_to(sys.prefix)


def test_an_installation_that_cannot_be_written_leaves_them_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled.os, "access", lambda *_: False)
    assert compiled.compiled_folder(tmp_path).is_relative_to(tmp_path)


def test_loops_are_compiled_once_and_those_of_other_versions_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = sys.implementation.cache_tag
    folder = tmp_path / f"{tag}-2"
    monkeypatch.setattr(compiled, "compiled_folder", lambda _: folder)
    monkeypatch.setattr(
        compiled, "CHILD_PROGRAM", "platform"
    )  # a program that ends well: the loops are not the subject
    old, foreign = tmp_path / f"{tag}-1", tmp_path / "pypy-1"
    old.mkdir()
    foreign.mkdir()
    compiled.prepare_compiled(tmp_path, None, Loops.SEARCHES)
    assert (folder / "done-searches").exists()
    assert not (folder / "done-certifications").exists()
    assert not old.exists()
    assert foreign.exists()
    old.mkdir()
    compiled.prepare_compiled(tmp_path, None, Loops.SEARCHES)
    assert old.exists()  # nothing was done again


def test_every_module_of_compiled_loops_is_warmed_up() -> None:
    modules = Path(certification.__file__).parent.glob("*kernels.py")
    assert {module.stem for module in modules if "def warm_up" in module.read_text()} == set(warm.KERNELS)
