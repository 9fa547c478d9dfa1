"""What every test may ask for."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Set
from pathlib import Path

import pytest
from hypothesis import settings

from everyday import the_first
from fairness_engine.model_process.starting.compiled_loops import Loops, compiled_folder, prepare_compiled
from fairness_engine.model_process.starting.start import get_ready
from fairness_engine.store.environment import DATABASE_VARIABLE
from made_once import FOLDER_VARIABLE
from own_cluster import Cluster, cluster
from own_folders import KEPT, move_back, move_to_memory

ROOT = Path(__file__).resolve().parent.parent

# before anything imports numba: loops that a run has compiled serve the tests, and theirs serve the runs; a folder a
# version, so that no loop outlives the one it calls
os.environ.setdefault("NUMBA_CACHE_DIR", str(compiled_folder(KEPT)))

# the interpreters that tests start by the hundred read the project as it was compiled, and what rewriting the
# assertions of a file gives is kept for the other processes and the next time
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

LOOPS_VARIABLE = "EVENHAND_TESTS_LOOPS"
"""Names the loops that are compiled before the processes start, where the tests that are asked for need no others."""

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


_THOROUGH = ("acceptance", "browser", "cluster", "truth")
"""Folders whose tests are thorough, as those are that say so themselves."""
_AT_LEAST = "test_answer_and_chart_are_on_the_first_screen"
"""What is walked in a browser all the same: every page, with a whole assessment in it."""
_ITS_FILE = "test_first_screen.py"

_IN_MEMORY = pytest.StashKey[Path | None]()
_LONGEST_FIRST = ("certification", "browser", "truth", "cli", "runs", "pages")
"""Folders whose files take longest: the processes are handed whole files, and a long one at the end leaves the others
idle.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--thorough``: which of the tests that are long for what they assert."""
    parser.addoption(
        "--thorough",
        default="all",
        help="tests that are long for what they assert: 'all' of them, 'none', or a share, as in '2/36'",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Several processes would each compile the same loops, and make the same runs: it is done once for all of them, and
    what they write stays in memory (what one process alone writes is left on the disk, to be looked at). Signals that
    a shell ignores for what it starts in the background reach the commands that tests interrupt.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if not hasattr(config, "workerinput"):
        config.stash[_IN_MEMORY] = move_to_memory() if config.getoption("numprocesses", None) else None
        os.environ[FOLDER_VARIABLE] = tempfile.mkdtemp(prefix="evenhand-made-once-")
        os.environ["XDG_RUNTIME_DIR"] = os.environ[FOLDER_VARIABLE]  # no fork server of an app that is open beside them
        if config.getoption("numprocesses", None):
            prepare_compiled(KEPT, None, *map(Loops, os.environ.get(LOOPS_VARIABLE, " ".join(Loops)).split()))
    get_ready(KEPT, stands_by=True)  # the first one starts it; processes, commands and apps of the tests find it


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take away the runs that were made for all, and what was written in memory."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(FOLDER_VARIABLE, ""), ignore_errors=True)
        move_back(config.stash.get(_IN_MEMORY, None))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave unread what lies in thorough folders, where no thorough test is asked for."""
    is_left_out = (
        config.getoption("thorough") == "none"
        and collection_path.name.startswith("test_")
        and collection_path.name != _ITS_FILE
        and collection_path.parent.name in _THOROUGH
    )
    return is_left_out or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what lies in tests/browser as browser tests, so that `-m "not browser"` leaves all of them out, and what is
    thorough, of which a share may be asked for; long files go first.
    """
    tests = Path(__file__).resolve().parent
    for item in items:
        folder = item.path.relative_to(tests).parts[0]
        if folder == "browser":
            item.add_marker(pytest.mark.browser)
        if folder in _THOROUGH and item.name != _AT_LEAST:
            item.add_marker(pytest.mark.thorough)
    thorough = [item for item in items if item.get_closest_marker("thorough")]
    asked = _in_share({item.path for item in thorough}, config.getoption("thorough"))
    kept = [item for item in items if item.path in asked or not item.get_closest_marker("thorough")]
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=set(items) - set(kept))
        items[:] = kept
    ranks = {folder: rank for rank, folder in enumerate(_LONGEST_FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.relative_to(tests).parts[0], len(ranks)))


def _in_share(files: Set[Path], share: str) -> frozenset[Path]:
    """The files whose thorough tests are in a share: all of a file are in the same, and each share has about as many of
    each folder, since those of one folder take about as long.
    """
    if share in ("all", "none"):
        return frozenset(files if share == "all" else ())
    number, n_shares = map(int, share.split("/"))
    return frozenset(sorted(files)[number % n_shares :: n_shares])


def pytest_collection_finish() -> None:
    """What is here before the first test stays to the last: the collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def priority() -> Iterator[None]:
    """This process keeps its priority, by which all that come after find the fork server."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    yield
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Cluster]:
    """A server of PostgreSQL that is the tests' own; without its programs the test is skipped, and says so."""
    with cluster() as started:
        yield started


@pytest.fixture(params=the_first(1, ["sqlite", "postgresql"]))
def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str | None]:
    """Where a store keeps its small records: ``None`` for SQLite in its workspace, else an empty database, which the
    commands and programs of the test find, too.
    """
    if request.param == "sqlite":
        yield None
        return
    with request.getfixturevalue("postgresql").database() as url:
        monkeypatch.setenv(DATABASE_VARIABLE, url)
        yield url


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the real data sets and models; without it the test is skipped, and says so."""
    named = os.environ.get("EVENHAND_SHARED")
    if not named:
        pytest.skip("real data and models not here: EVENHAND_SHARED is not set")
    folder = Path(named)
    if not folder.is_dir():
        pytest.skip(f"real data and models not here: EVENHAND_SHARED names '{folder}', which is no folder")
    return folder
