"""A few of the kills of ``benchmarks/kills.py``, which makes hundreds: nothing stored is lost, no state is wrong, and
the same run made again comes to the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.kills import CASES, Kills

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
]
SEARCH = CASES[0]


@pytest.fixture(scope="module")
def kills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kills]:
    kills = Kills(tmp_path_factory.mktemp("kills"))
    kills.undisturbed(SEARCH)
    yield kills
    kills.store.close()


@pytest.mark.parametrize(
    ("way", "target", "moment"),
    [
        ("directly", "worker", 0.5),
        ("directly", "everything", 0.9),
        ("directly", "model's process", 0.3),
        ("command", "everything", 0.7),
        ("command", "starter", 0.1),
    ],
)
def test_a_kill_loses_nothing(kills: Kills, way: str, target: str, moment: float) -> None:
    found = kills.kill(SEARCH, way, target, moment)
    assert {name: words for name, words in found.wrong.items() if words} == {}
