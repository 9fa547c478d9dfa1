"""What the tests of bundles may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

import bundle_cases


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of all kinds of runs, with the data and the models."""
    folder = tmp_path_factory.mktemp("whole")
    bundle_cases.write(folder / "workspace", folder / "bundle")
    return folder / "bundle"


@pytest.fixture(scope="session")
def without_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without any row of the data."""
    folder = tmp_path_factory.mktemp("without")
    bundle_cases.write(folder / "workspace", folder / "bundle", with_rows=False)
    return folder / "bundle"
