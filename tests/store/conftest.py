"""What the tests of the store may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairness_engine.store.store import RunStore


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """A store in a workspace of the test's own."""
    return RunStore(tmp_path / "workspace")
