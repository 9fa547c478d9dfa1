"""How the two programs end: with the command's status, whatever the libraries' threads do meanwhile."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairness_engine import __version__
from fairness_engine.store.environment import NO_FORK_VARIABLE

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
DATA = str(ROOT / "sample_data" / "census_income.csv")
ABORTS = "import atexit, os, runpy, sys; atexit.register(os.abort); "
"""A library whose thread is at work when the interpreter ends."""
AS_PROGRAM = "sys.argv = sys.argv[1:]; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"


def ended(code: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    options = {"stdout": subprocess.PIPE, **options}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=False,
        **options,
    )


@pytest.mark.parametrize("program", ["fairness_engine", "evenhand"])
@pytest.mark.parametrize(
    ("arguments", "status", "out", "err"),
    [
        (["inspect", "--data", "nowhere.csv"], 2, "", "there is none at nowhere.csv"),
        (["inspect", "--data", DATA, "--lable", "zz"], 2, "", "--lable"),
        (["runs", "list"], 0, "no runs", ""),
        (["nonsense"], 2, "", "invalid choice"),
        (["--help"], 0, "inspect", ""),
        (["--version"], 0, f"evenhand {__version__}\n", ""),
    ],
)
def test_a_program_ends_with_its_status(
    tmp_path: Path, program: str, arguments: list[str], status: int, out: str, err: str
) -> None:
    place = [] if arguments[0] in ("--help", "--version", "nonsense") else ["--workspace", str(tmp_path)]
    done = ended(ABORTS + AS_PROGRAM, program, *arguments, *place)
    assert (done.returncode, out in done.stdout.lower(), err in done.stderr) == (status, True, True), done


INTERRUPTS = (
    "import os, runpy, signal, sys\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "moment = sys.argv.pop(1)\n"
    "def look(event, what):\n"
    "    if event == 'import' and what[0] == moment:\n"
    "        print('interrupted', file=sys.stderr, flush=True)\n"
    "        os.kill(os.getpid(), signal.SIGINT)\n"
    "sys.addaudithook(look)\n"
)
"""Whoever calls interrupts in the moment in which a module begins to be loaded."""


@pytest.mark.parametrize(
    "moment",
    [
        *("fairness_engine.cli.leaving", "fairness_engine.cli.relay", "fairness_engine.cli.main"),
        "fairness_engine.model_process.starting.start",
        *("fairness_engine.cli.parser", "numpy", "numpy.linalg", "pandas", "fairness_engine.runs.queue"),
    ],
)
def test_an_interrupt_while_libraries_are_loaded_ends_quietly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    monkeypatch.setenv(NO_FORK_VARIABLE, "1")
    command = ("search", "--data", DATA, "--model", DATA, "--workspace", str(tmp_path))
    done = ended(INTERRUPTS + AS_PROGRAM, moment, "fairness_engine", *command)
    assert (done.returncode, done.stderr, done.stdout) == (130, "interrupted\n", "")


@pytest.mark.parametrize(
    "moment",
    [
        *("fairness_engine.cli.leaving", "evenhand.launcher", "starlette.middleware", "streamlit.web.bootstrap"),
        *("uvicorn.protocols.http.flow_control", "pandas.compat", "numpy.linalg"),
    ],
)
def test_an_interrupt_while_the_app_is_not_open_yet_ends_it_quietly(tmp_path: Path, moment: str) -> None:
    """Raised in the moment in which the server begins, it was swallowed, or printed with a traceback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ("app", "--no-browser", "--port", str(port), "--workspace", str(tmp_path))
    done = ended(INTERRUPTS + AS_PROGRAM, moment, "evenhand", *command)
    assert (done.returncode, done.stderr, done.stdout) == (130, "interrupted\n", "")


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--port", "0"), "A port must be between 1 and 65535, got 0."),
        (("--host", "nowhere.invalid"), "must be one of this machine, got 'nowhere.invalid'."),
        (("--host", "nowhere.invalid", "--port", "8791"), "must be one of this machine, got 'nowhere.invalid'."),
    ],
)
def test_an_app_that_cannot_be_opened_is_bad_input(tmp_path: Path, option: tuple[str, ...], said: str) -> None:
    command = ("app", "--no-browser", "--workspace", str(tmp_path))
    done = ended("import runpy, sys; " + AS_PROGRAM, "evenhand", *command, *option)
    assert (done.returncode, said in done.stderr, len(done.stderr.splitlines())) == (2, True, 1)


def test_a_closed_standard_error_loses_what_is_said_there_and_no_more(tmp_path: Path) -> None:
    command = f"'{sys.executable}' -m fairness_engine inspect --data '{DATA}' --workspace '{tmp_path}' --json - 2>&-"
    done = subprocess.run(command, shell=True, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, timeout=120)
    assert (done.returncode, json.loads(done.stdout)["rows"]) == (0, 5000)


@contextmanager
def open_app(workspace: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "evenhand", "app", "--no-browser", "--workspace", str(workspace)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as app:
        assert app.stdout is not None, "it is a pipe"
        assert "stop it with Ctrl-C" in app.stdout.readline()
        yield app


def test_an_interrupt_closes_an_open_app_as_it_says(tmp_path: Path) -> None:
    with open_app(tmp_path) as app:
        app.send_signal(signal.SIGINT)
        rest, errors = app.communicate(timeout=120)
    assert (app.returncode, rest, errors) == (0, "Evenhand is closed.\n", "")


def test_interrupts_that_are_repeated_close_an_open_app_without_a_traceback(tmp_path: Path) -> None:
    with open_app(tmp_path) as app:
        while app.poll() is None:
            app.send_signal(signal.SIGINT)
            time.sleep(0.02)
        rest, errors = app.communicate(timeout=120)
    assert (set(rest.splitlines()) - {"Evenhand is closed."}, errors) == (set(), "")


def test_the_app_and_whoever_calls_from_python_end_as_they_like(tmp_path: Path) -> None:
    says = "import atexit, runpy, sys; atexit.register(print, 'the end'); "
    assert "the end" in ended(says + AS_PROGRAM, "evenhand", "app", "--help").stdout
    for package in ("fairness_engine", "evenhand"):
        calls = f"from {package}.__main__ import main; sys.exit(main(['runs', 'list', '--workspace', sys.argv[1]]))"
        done = ended(says + calls, str(tmp_path))
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "the end")


def test_a_result_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    always_full = Path("/dev/full")
    if not always_full.exists():
        pytest.skip("this system has no device that is always full")
    monkeypatch.setenv(NO_FORK_VARIABLE, "1")
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # it is said when what was kept back goes out
    command = ("fairness_engine", "runs", "list", "--workspace", str(tmp_path))
    with always_full.open("w") as full:
        done = ended(f"import runpy, sys; {AS_PROGRAM}", *command, stdout=full)
    assert (done.returncode, "Standard output must be writable" in done.stderr) == (3, True)
