"""What tests share is there in each one's workspace."""

from __future__ import annotations

from pathlib import Path

import run_cases
from fairness_engine.store.store import RunStore


def test_a_workspace_that_an_app_has_open_is_filled_too(tmp_path: Path) -> None:
    opened = RunStore(tmp_path)
    assert opened.runs() == []
    finished = run_cases.finished_runs(tmp_path)
    there = {run.id for run in opened.runs()}
    assert {run.id for run in finished.searches} < there
    assert {run.id for run in RunStore(tmp_path).runs()} == there
