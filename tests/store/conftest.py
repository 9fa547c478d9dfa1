"""What the tests of the store may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairness_engine.store.store import RunStore


@pytest.fixture
def store(tmp_path: Path, database: str | None) -> Iterator[RunStore]:
    """A store in a workspace of the test's own, on each of the databases."""
    store = RunStore(tmp_path / "workspace", database)
    yield store
    store.close()
