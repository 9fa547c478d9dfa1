"""The kinds of runs: whoever has a table of them has all of them."""

from __future__ import annotations

from dataclasses import fields

from fairness_engine.audit import verification
from fairness_engine.model_process import work
from fairness_engine.runs.kinds import KINDS, Results
from pages.shared.runs.kinds import VIEWS


def test_every_kind_is_worked_and_shown() -> None:
    assert set(work.OF_TABLES) | set(work._OF_TEXTS) == set(KINDS)
    assert set(VIEWS) == set(KINDS)
    assert all(name == kind.name for name, kind in KINDS.items())
    assert all(view.kind is KINDS[name] for name, view in VIEWS.items())


def test_every_result_has_a_type() -> None:
    typed = {field.name for field in fields(Results)}
    for kind in KINDS.values():
        assert set(kind.results) <= typed, kind.name


def test_what_nothing_looks_at_again_is_said() -> None:
    assert set(verification._OWN) | set(verification._LOOKED_AT_ELSEWHERE) == set(KINDS)
