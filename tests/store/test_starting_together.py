"""Runs are not disturbed by others that keep the same files again."""

from __future__ import annotations

from pathlib import Path

import pytest
from starting_together import failures_of_a_round

from fairness_engine.store.environment import MAX_AT_WORK_VARIABLE
from fairness_engine.store.store import RunStore

pytestmark = pytest.mark.thorough


def test_searches_a_demo_and_uploads_of_the_same_files_at_once_all_end_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MAX_AT_WORK_VARIABLE, "3")
    store = RunStore(tmp_path / "workspace")
    assert [failure for number in range(2) for failure in failures_of_a_round(store, number)] == []
    store.close()
