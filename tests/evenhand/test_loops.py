"""Compiled loops of a script are the app's; where somebody keeps numba's cache elsewhere, they are left alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest

from evenhand import loops
from fairness_engine.model_process.starting import compiled_loops
from fairness_engine.model_process.starting.compiled_loops import Loops


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Path, tuple[Loops, ...]]]]:
    """What is asked to be compiled, and where; nothing is."""
    asked: list[tuple[Path, tuple[Loops, ...]]] = []
    monkeypatch.setattr(compiled_loops, "prepare_compiled", lambda folder, _, *parts: asked.append((folder, parts)))
    monkeypatch.setattr(compiled_loops, "compiled_folder", lambda folder: folder / "compiled" / "this")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = numba.config.CACHE_DIR
    yield asked
    numba.config.CACHE_DIR = before


@pytest.mark.parametrize("is_imported", [True, False])
def test_the_cache_becomes_the_engines_and_what_is_missing_is_compiled(
    compiled: list[tuple[Path, tuple[Loops, ...]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_imported: bool
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    numba.config.CACHE_DIR = ""
    if not is_imported:
        monkeypatch.delitem(loops.sys.modules, "numba")
    folder = tmp_path / "evenhand" / "compiled" / "this"
    loops.prepare_loops(Loops.MODELS)
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder)
    assert (str(folder) if is_imported else "") == numba.config.CACHE_DIR
    assert compiled == [(tmp_path / "evenhand", (Loops.MODELS,))]
    folder.mkdir(parents=True)
    (folder / "done-models").touch()
    loops.prepare_loops(Loops.MODELS)
    assert len(compiled) == 1, "a second call costs nothing"


def test_a_cache_that_somebody_chose_stays(
    compiled: list[tuple[Path, tuple[Loops, ...]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "mine"))
    numba.config.CACHE_DIR = str(tmp_path / "mine")
    loops.prepare_loops(Loops.MODELS)
    assert os.environ["NUMBA_CACHE_DIR"] == numba.config.CACHE_DIR == str(tmp_path / "mine")
    assert compiled == []
