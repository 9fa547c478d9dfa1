"""What the tests of this folder may ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from commands import Commands


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """The commands, in one process for all tests of a file."""
    commands = Commands(tmp_path_factory.mktemp("command"))
    yield commands
    commands.close()
