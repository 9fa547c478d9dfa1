"""The walls around the model's process, attacked from the inside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairness_engine.model_process.sandbox import landlock, seccomp, walls

_ATTACKS = """
import ctypes, fcntl, json, os, pathlib, signal, socket, subprocess, sys, threading
from pathlib import Path
from fairness_engine.model_process.sandbox import walls

scratch, outside, parent = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
up = walls.enter(scratch, [outside / "allowed.txt"], parent if parent else None)

def outcome(action):
    try:
        action()
    except BaseException as error:
        return type(error).__name__
    return "done"

def thread():
    worker = threading.Thread(target=lambda: None)
    worker.start()
    worker.join()

def local_connection():
    first, second = socket.socketpair()
    first.sendall(b"x")

def replace_limit():
    import resource
    resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)

libc = ctypes.CDLL(None, use_errno=True)

def call(function, *arguments):
    if function(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "")

def owner_of_signals(set_owner):
    reads, writes = os.pipe()
    set_owner(reads)

print(json.dumps({"up": up} | {name: outcome(action) for name, action in {
    "write": lambda: (outside / "new.txt").write_text("x"),
    "overwrite": lambda: (outside / "secret.txt").write_text("x"),
    "truncate": lambda: os.truncate(outside / "secret.txt", 0),
    "delete": lambda: (outside / "secret.txt").unlink(),
    "rename": lambda: (scratch / "mine").rename(outside / "moved") if (scratch / "mine").write_text("x") else None,
    "link": lambda: (outside / "link").symlink_to("/etc/passwd"),
    "read": lambda: (outside / "secret.txt").read_text(),
    "read_by_link": lambda: ((scratch / "l").symlink_to(outside / "secret.txt"), (scratch / "l").read_text()),
    "list": lambda: os.listdir(outside),
    "chmod": lambda: (outside / "secret.txt").chmod(0o777),
    "connect": lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
    "socket6": lambda: socket.socket(socket.AF_INET6),
    "unix_socket": lambda: socket.socket(socket.AF_UNIX),
    "raw_socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "spawn": lambda: subprocess.run(["/bin/true"]),
    "fork": os.fork,
    "kill_parent": lambda: os.kill(os.getppid(), 0),
    "kill_group": lambda: os.killpg(os.getpgid(os.getppid()), 0),
    "replace_limit": replace_limit,
    "signal_of_a_file": lambda: owner_of_signals(lambda f: fcntl.fcntl(f, fcntl.F_SETOWN, os.getppid())),
    "signal_of_a_file_by_structure": lambda: owner_of_signals(lambda f: fcntl.fcntl(f, 15, bytes(8))),
    "which_signal_of_a_file": lambda: owner_of_signals(lambda f: fcntl.fcntl(f, 10, signal.SIGKILL)),
    "signal_of_a_device": lambda: owner_of_signals(lambda f: fcntl.ioctl(f, 0x8901, bytes(4))),
    "outlive_parent": lambda: call(libc.prctl, 1, 0, 0, 0, 0),
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19),
    "own_priority": lambda: os.setpriority(os.PRIO_PROCESS, 0, 19),
    "processors": lambda: os.sched_setaffinity(os.getppid(), {0}),
    "schedule": lambda: os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0)),
    "schedule_again": lambda: os.sched_setparam(os.getppid(), os.sched_param(0)),
    "shared_memory": lambda: call(libc.shmget, 0, 4096, 0o1600),
    "semaphores": lambda: call(libc.semget, 0, 1, 0o1600),
    "messages": lambda: call(libc.msgget, 0, 0o1600),
    "memory_of_a_file": lambda: os.memfd_create("more"),
    "locked_memory": lambda: call(libc.mlockall, 2),
    "watch": lambda: call(libc.inotify_init1, 0),
    "queue": lambda: call(libc.mq_open, b"/q", os.O_CREAT | os.O_RDWR, 0o600, None),
    "pipe_with_a_name": lambda: os.mkfifo(scratch / "pipe"),
    "device": lambda: os.mknod(scratch / "device", 0o20600, os.makedev(1, 3)),
    "list_the_checkout": lambda: os.listdir(Path(walls.__file__).parents[3]),
    "times": lambda: os.utime(outside / "allowed.txt", (0, 0)),
    "peek": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
    "allowed": lambda: (outside / "allowed.txt").read_text(),
    "own_folder": lambda: (scratch / "file").write_text("x"),
    "import": lambda: __import__("numpy").linalg.inv(__import__("numpy").eye(3)),
    "random": lambda: os.urandom(4) + Path("/dev/urandom").open("rb").read(4),
    "thread": thread,
    "local_connection": local_connection,
    "own_signal": lambda: os.kill(os.getpid(), 0),
    "own_processors": lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),
    "own_files": lambda: owner_of_signals(lambda f: fcntl.fcntl(f, fcntl.F_SETFL, os.O_NONBLOCK)),
}.items()}))
"""

_NEEDS_WALLS = pytest.mark.skipif(
    landlock.abi_version() < 3 or os.uname().machine not in ("x86_64", "aarch64"),
    reason="this kernel has no Landlock of version 3, or the processor no filter",
)


def attack(tmp_path: Path, *, ends_with_parent: bool) -> dict[str, object]:
    scratch = tmp_path / "scratch"
    outside = tmp_path / "outside"
    scratch.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (outside / "allowed.txt").write_text("allowed")
    command = [sys.executable, "-P", "-c", _ATTACKS, str(scratch), str(outside), str(os.getpid() * ends_with_parent)]
    environment = walls.child_environment(scratch, scratch / "numba")
    done = subprocess.run(command, env=environment, cwd=scratch, capture_output=True, timeout=60, check=True)
    assert (outside / "secret.txt").read_text() == "secret"
    assert sorted(p.name for p in outside.iterdir()) == ["allowed.txt", "secret.txt"]
    content: dict[str, object] = json.loads(done.stdout)
    return content


@_NEEDS_WALLS
def test_nothing_gets_out_and_work_goes_on_inside(tmp_path: Path) -> None:
    seen = attack(tmp_path, ends_with_parent=True)
    assert seen.pop("up") == dict.fromkeys(walls.PROTECTIONS, True)
    worked = {name for name, outcome in seen.items() if outcome == "done"}
    assert worked == {"allowed", "own_folder", "import", "random", "thread", "local_connection", "own_signal"} | {
        "own_processors",
        "own_files",
    }
    refused = {name: outcome for name, outcome in seen.items() if outcome != "done"}
    assert set(refused.values()) == {"PermissionError"}, refused


def test_a_machine_without_walls_says_so_and_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert landlock.abi_version() == 0
    assert not landlock.confine([], [])
    assert not seccomp.refuse_calls()
    assert not seccomp.forbid_new_privileges()


def test_an_unknown_processor_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert not seccomp.refuse_calls()


def test_memory_is_limited(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    program = (
        "import sys; from pathlib import Path; from fairness_engine.model_process.sandbox import walls\n"
        "up = walls.enter(Path(sys.argv[1]), [])\n"
        "assert up['ends_with_parent'] is False\n"
        "try: bytearray(9 << 30)\n"
        "except MemoryError: print(up['memory'])\n"
    )
    environment = walls.child_environment(scratch, scratch)
    command = [sys.executable, "-P", "-c", program, str(scratch)]
    done = subprocess.run(command, env=environment, cwd=scratch, capture_output=True, timeout=60, check=True)
    assert done.stdout.strip() == b"True"


def test_the_environment_is_scrubbed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOME_SECRET", "x")
    environment = walls.child_environment(tmp_path, tmp_path / "numba")
    assert "SOME_SECRET" not in environment
    assert environment["HOME"] == environment["TMPDIR"] == str(tmp_path)
    assert environment["OPENBLAS_NUM_THREADS"] == "1"
