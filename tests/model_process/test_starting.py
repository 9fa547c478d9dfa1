"""The fork server: what a program inherits, what it is told, how it ends, and what happens without one."""

from __future__ import annotations

import json
import os
import resource
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fairness_engine.errors import ProcessError
from fairness_engine.model_process.process import ModelProcess
from fairness_engine.model_process.sandbox import walls
from fairness_engine.model_process.starting import start
from fairness_engine.model_process.starting.compiled_loops import Loops, compiled_folder, ready_loops
from fairness_engine.model_process.starting.start import ForkedProgram, ForkServer, Started, Wanted
from fairness_engine.store.alive import process_start_time
from fairness_engine.store.environment import NO_FORK_VARIABLE
from worker_cases import wait_for

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the fork server takes Linux"),
]

TESTS = Path(__file__).resolve().parents[1]
PROBE = "fork_probe"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    """A fork server that knows the tests' own program."""
    patch = pytest.MonkeyPatch()
    environment = walls.child_environment

    def with_tests(scratch: Path, numba_cache: Path) -> dict[str, str]:
        variables = environment(scratch, numba_cache)
        return {**variables, "PYTHONPATH": f"{variables['PYTHONPATH']}:{TESTS / 'model_process'}"}

    patch.setattr(walls, "child_environment", with_tests)
    workspace = tmp_path_factory.mktemp("workspace")
    server = start._start_fork_server(compiled_folder(workspace), ready_loops(workspace), ahead=True)
    patch.undo()
    yield server
    server.close()
    wait_for(lambda: process_start_time(server.pid) is None)  # it ends when nobody can ask and nothing is at work


def run_probe(
    server: ForkServer,
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    may_start: bool = False,
) -> dict[str, Any]:
    """What the probe tells."""
    program, told = forked(server, folder, *arguments, environment=environment, may_start=may_start)
    assert program.wait(60) == 0, told
    answer: dict[str, Any] = json.loads(told)
    return answer


def forked(
    server: ForkServer,
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    may_start: bool = False,
    ends_with_owner: bool = True,
) -> tuple[ForkedProgram, str]:
    """The probe and what it wrote, where it tells."""
    their_input, tell = os.pipe()
    output, their_output = os.pipe()
    os.write(tell, b"a line of input\n")
    os.close(tell)
    program = server.fork(
        Wanted(PROBE, ends_with_owner=ends_with_owner, may_start=may_start),
        arguments,
        streams=(their_input, their_output, 2),
        folder=folder,
        environment=environment or {"PATH": "/usr/bin"},
    )
    assert program is not None
    os.close(their_input)
    os.close(their_output)
    with os.fdopen(output) as stream:
        return program, stream.read() if arguments[0] == "tell" else ""


def end(program: ForkedProgram) -> None:
    """Kill a program."""
    os.killpg(program.pid, signal.SIGKILL)
    assert program.wait(30) == -signal.SIGKILL


def test_what_nobody_asked_for_is_loaded_although_there_is_no_pause(server: ForkServer, tmp_path: Path) -> None:
    """Comes first, for the server is everybody's: where there is a pause it is loaded then."""
    for _ in range(400):
        program, _ = forked(server, tmp_path, "leave", "0")
        assert program.wait(60) == 0
        if "h5py" in Path(f"/proc/{server.pid}/maps").read_text():
            return
    raise AssertionError("each program has to load it for itself")


def test_a_program_gets_what_it_is_told_and_a_session_of_its_own(server: ForkServer, tmp_path: Path) -> None:
    told = run_probe(server, tmp_path, "tell", "x y", environment={"ONE": "1", "TMPDIR": str(tmp_path)})
    assert told["arguments"] == ["tell", "x y", "--parent", str(server.pid)]  # what it ends with
    assert told["argv"] == [PROBE, "tell", "x y"]
    assert told["folder"] == str(tmp_path)
    assert told["environment"] == {"ONE": "1", "TMPDIR": str(tmp_path)}
    assert told["input"] == "a line of input\n"
    assert told["session"] == told["pid"]
    assert {"numba", "pandas"} <= set(told["loaded"])
    assert "tensorflow" not in told["loaded"]


def test_nothing_is_open_but_the_standard_streams(server: ForkServer, tmp_path: Path) -> None:
    """Neither what this process has open, a database among it, nor what belongs to other programs at work."""
    other, _ = forked(server, tmp_path, "sleep")
    with sqlite3.connect(tmp_path / "evenhand.db") as database:
        database.execute("create table people (name)")
        told = run_probe(server, tmp_path, "tell")
        assert told["open_files"] == []
        assert told["connections"] == 0
        told = run_probe(server, tmp_path, "tell", may_start=True)
        assert len(told["open_files"]) == 1  # the way to the fork server
        assert told["open_files"][0].startswith("socket:")
    database.close()
    end(other)


def test_there_is_one_thread(server: ForkServer, tmp_path: Path) -> None:
    assert run_probe(server, tmp_path, "tell")["n_threads"] == 1
    assert len(list(Path(f"/proc/{server.pid}/task").iterdir())) == 1


def test_a_variable_of_this_process_or_of_another_program_is_not_inherited(
    server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither as a variable, nor in the first environment, nor anywhere in memory."""
    secret = secrets.token_hex(16)
    monkeypatch.setenv("EVENHAND_DATABASE_URL", secret)
    knows = run_probe(server, tmp_path, "tell", secret[::-1], environment={"EVENHAND_DATABASE_URL": secret})
    assert knows["knows_secret"]  # the probe finds what is there
    told = run_probe(server, tmp_path, "tell", secret[::-1])
    assert "EVENHAND_DATABASE_URL" not in told["environment"]
    assert secret not in told["first_environment"]
    assert not told["knows_secret"]


def test_rows_of_another_review_are_not_in_memory(server: ForkServer, tmp_path: Path) -> None:
    """A program reads a secret from its arguments, as it would from a file; the next one has nothing of it."""
    secret = secrets.token_hex(16)
    other, _ = forked(server, tmp_path, "sleep", secret)
    assert not run_probe(server, tmp_path, "tell", secret[::-1])["knows_secret"]
    end(other)


def test_chance_is_every_programs_own(server: ForkServer, tmp_path: Path) -> None:
    first, second = (run_probe(server, tmp_path, "tell")["random"] for _ in range(2))
    assert not set(first) & set(second)


def test_the_exit_status_is_told(server: ForkServer, tmp_path: Path) -> None:
    program, _ = forked(server, tmp_path, "leave", "7")
    assert program.wait(30) == 7
    program, _ = forked(server, tmp_path, "sleep")
    assert program.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        program.wait(0.05)
    os.kill(program.pid, signal.SIGSEGV)
    assert program.wait(30) == -signal.SIGSEGV
    assert process_start_time(program.pid) is None


def group_of(pid: int) -> list[int]:
    """The processes of a group that still work."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(group) == pid and state not in "ZX":
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("how", ["hang up", "kill"])
def test_a_program_ends_with_its_owner_and_so_does_what_it_started(
    server: ForkServer, tmp_path: Path, how: str
) -> None:
    program, _ = forked(server, tmp_path, "sleep")
    wait_for(lambda: len(group_of(program.pid)) == 2)
    if how == "kill":
        os.kill(program.pid, signal.SIGKILL)
    else:
        program._connection.close()
    wait_for(lambda: not group_of(program.pid))


def test_a_program_that_need_not_end_outlives_its_owner(server: ForkServer, tmp_path: Path) -> None:
    program, _ = forked(server, tmp_path, "sleep", ends_with_owner=False)
    program._connection.close()
    run_probe(server, tmp_path, "tell")  # the fork server has heard of it by now
    assert len(group_of(program.pid)) == 2
    os.killpg(program.pid, signal.SIGKILL)


def test_a_request_is_not_looked_for_where_a_program_has_just_ended(server: ForkServer, tmp_path: Path) -> None:
    """The number of a descriptor that is closed is the next one's: of an ended program that of the next channel."""
    ended, _ = forked(server, tmp_path, "sleep")
    os.kill(server.pid, signal.SIGSTOP)
    os.kill(ended.pid, signal.SIGKILL)
    worker = Wanted(PROBE, may_start=True)
    connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    server._ask(worker, theirs)  # both are seen at once
    theirs.close()
    os.kill(server.pid, signal.SIGCONT)
    assert run_probe(server, tmp_path, "tell")
    connection.close()


def test_what_is_no_request_is_passed_over(server: ForkServer, tmp_path: Path) -> None:
    for message in (b"x", b"{}", b"[]", b'{"program": "none", "loops": ["none"]}', b"{" * 10_000):
        server._channel.send(message)
    server.load(["none"])
    connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    socket.send_fds(server._channel, [b"{}"], [theirs.fileno()])
    theirs.close()
    assert connection.recv(1) == b""  # whoever asked so is told
    assert run_probe(server, tmp_path, "tell")


def test_where_there_are_no_more_files_a_program_is_a_new_interpreter(server: ForkServer, tmp_path: Path) -> None:
    run_probe(server, tmp_path, "tell")  # all that it loads for a program is loaded
    before = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    is_forked = []
    for n_files in range(3, 20):
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (n_files, before[1]))
        server.is_usable = True
        wanted = Wanted(PROBE, ends_with_owner=False, may_start=True)
        program = server.fork(wanted, ["leave", "0"], streams=(0, 1, 2), folder=tmp_path, environment={})
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, before)
        is_forked.append(program is not None)
        assert program is None or program.wait(30) in (0, 1)  # it may have been given no streams
    assert is_forked == sorted(is_forked)
    assert not is_forked[0]
    assert is_forked[-1]
    server.is_usable = True
    assert run_probe(server, tmp_path, "tell")


def test_a_program_that_ends_at_once_is_one_that_ended(server: ForkServer, tmp_path: Path) -> None:
    for _ in range(20):
        program = server.fork(Wanted(PROBE), [], streams=(0, 1, 2), folder=tmp_path / "none", environment={})
        assert program is not None
        assert program.wait(30) == 1


def test_a_fork_server_that_does_not_answer_is_not_asked_again(
    tmp_path: Path, own: start._OwnServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    start.get_ready(tmp_path)
    assert own.server is not None
    stopped = own.server.pid
    model_process(tmp_path).close()
    os.kill(stopped, signal.SIGSTOP)
    monkeypatch.setattr(start, "_SECONDS_TO_FORK", 0.2)
    with pytest.raises(ProcessError, match="gave no answer"):
        model_process(tmp_path)
    spawned = model_process(tmp_path)
    assert kind_of_start(spawned) is subprocess.Popen
    spawned.close()
    monkeypatch.undo()
    monkeypatch.setattr(start, "_own", own)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    start.get_ready(tmp_path)
    assert own.server.pid != stopped
    os.kill(stopped, signal.SIGCONT)
    wait_for(lambda: process_start_time(stopped) is None)


def test_more_requests_than_a_fork_server_can_take_do_not_block_whoever_asks(server: ForkServer) -> None:
    os.kill(server.pid, signal.SIGSTOP)
    for _ in range(2_000):
        server.load([])
    os.kill(server.pid, signal.SIGCONT)


def model_process(tmp_path: Path) -> ModelProcess:
    process = ModelProcess(tmp_path, [], tmp_path / "log", loops=(Loops.MODELS,))
    process.greet()
    return process


def kind_of_start(process: ModelProcess) -> type[Started]:
    return type(process._process)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[start._OwnServers]:
    """This process has no fork server, until the test wants one; none stands by."""
    own = start._OwnServers()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(start, "_own", own)
    yield own
    if own.server is not None:
        own.server.close()


def test_without_a_fork_server_a_program_is_a_new_interpreter(tmp_path: Path, own: start._OwnServers) -> None:
    spawned = model_process(tmp_path)
    assert kind_of_start(spawned) is subprocess.Popen
    protections = spawned.protections
    spawned.close()
    start.get_ready(tmp_path)
    process = model_process(tmp_path)
    assert kind_of_start(process) is ForkedProgram
    assert process.protections == protections
    process.close()


def test_where_the_operator_wants_no_fork_there_is_none(
    tmp_path: Path, own: start._OwnServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NO_FORK_VARIABLE, "1")
    start.get_ready(tmp_path)
    assert own.server is None


def test_a_fork_server_that_was_killed_is_replaced_and_nothing_is_lost_meanwhile(
    tmp_path: Path, own: start._OwnServers
) -> None:
    start.get_ready(tmp_path)
    before = model_process(tmp_path)
    assert own.server is not None
    pid = own.server.pid
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not before.is_alive)  # as it would end with a program that started it itself
    before.close()
    meanwhile = model_process(tmp_path)
    assert kind_of_start(meanwhile) is subprocess.Popen
    meanwhile.close()
    start.get_ready(tmp_path)
    assert own.server.pid != pid
    after = model_process(tmp_path)
    assert kind_of_start(after) is ForkedProgram
    after.close()


def test_a_fork_server_without_loops_that_were_compiled_since_is_replaced(
    tmp_path: Path, own: start._OwnServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "ready_loops", lambda _: frozenset())
    start.get_ready(tmp_path)
    assert own.server is not None
    assert own.server.loops == frozenset()
    first = own.server.pid
    monkeypatch.undo()
    monkeypatch.setattr(start, "_own", own)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(start, "ready_loops", lambda _: frozenset({Loops.MODELS}))
    process = model_process(tmp_path)
    assert own.server.pid != first
    assert own.server.loops == {Loops.MODELS}
    process.close()
    wait_for(lambda: process_start_time(first) is None)


def test_a_worker_outlives_the_fork_servers_owner(tmp_path: Path) -> None:
    """The fork server stays for those that it started, and for what they start."""
    program = (
        "import sys, time; from pathlib import Path; from fairness_engine.model_process.starting import start\n"
        "from fairness_engine.runs import queue; from fairness_engine.store.store import RunStore\n"
        "sys.path.insert(0, sys.argv[2]); from worker_cases import census_config\n"
        "store = RunStore(Path(sys.argv[1])); start.get_ready(store.workspace)\n"
        "run_id = store.create_run(census_config(store)); queue.launch(store, run_id)\n"
        "print(run_id, start._own.server.pid, flush=True)\n"
    )
    from fairness_engine.store.store import RunStore

    command = [sys.executable, "-c", program, str(tmp_path), str(TESTS)]
    own = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(command, cwd=TESTS.parent, env=own, capture_output=True, check=True, timeout=120, text=True)
    run_id, pid = done.stdout.split()
    store = RunStore(tmp_path)
    wait_for(lambda: store.run(run_id).state.is_final)
    assert store.run(run_id).state == "finished"
    store.close()
    wait_for(lambda: process_start_time(int(pid)) is None)
