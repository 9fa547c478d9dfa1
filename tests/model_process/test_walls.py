"""The parts of the sandbox one by one: the filter on every processor, Landlock in a thread, births of processes."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import shutil
import site
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fairness_engine.model_process.sandbox import capabilities, landlock, seccomp, walls
from fairness_engine.store import alive

OWN_PID = 4242
THREAD_FLAGS = 0x003D0F00
ALLOW = 0x7FFF0000
KILL = 0x80000000
EPERM = 0x00050000 | errno.EPERM
ENOSYS = 0x00050000 | errno.ENOSYS
REFUSED = """
socket connect bind listen sendmsg execve execveat tkill ptrace process_vm_readv process_vm_writev rt_sigqueueinfo mount
chroot unshare setns bpf perf_event_open keyctl userfaultfd init_module kexec_load open_by_handle_at fchmod fchown
truncate setxattr utimensat setpriority ioprio_set shmget shmat msgget semget mq_open memfd_create mlockall mknodat
inotify_init1 inotify_add_watch fanotify_init pidfd_open pidfd_send_signal io_uring_setup move_mount
"""
"""What no processor's filter may let through, written down a second time: a line that is lost there is missed here."""


def verdict(program: list[seccomp._Instruction], audit: int, number: int, *arguments: int) -> int:
    """What the kernel's machine would return: an interpreter of the few instructions in use."""
    data = {0: number, 4: audit} | dict.fromkeys(range(16, 64, 8), 0)
    data |= {16 + 8 * i: argument for i, argument in enumerate(arguments)}
    accumulator = 0
    at = 0
    while True:
        step = program[at]
        at += 1
        if step.code == 0x20:
            accumulator = data[step.k]
        elif step.code == 0x06:
            return int(step.k)
        elif step.code == 0x54:
            accumulator &= step.k
        else:
            holds = {0x15: accumulator == step.k, 0x35: accumulator >= step.k}[step.code]
            at += step.then if holds else step.otherwise


@pytest.mark.parametrize("name", ["x86_64", "aarch64"])
def test_the_filter_refuses_what_it_must_and_nothing_else(name: str) -> None:
    machine = seccomp._MACHINES[name]
    program = seccomp._filter(machine, OWN_PID)
    assert len(program) < 4096

    def call(number: int, *arguments: int) -> int:
        return verdict(program, machine.audit, number, *arguments)

    refused = {**seccomp._EVERYWHERE, **machine.refused}
    assert set(REFUSED.split()) <= set(refused)
    special = {machine.clone, machine.kill, machine.tgkill, machine.prlimit64, *machine.scheduling, 435, 437}
    special |= {machine.socketpair}
    for number in range(500):
        if number in refused.values():
            assert call(number) == EPERM
        elif number not in special:
            assert call(number) == ALLOW
    assert (call(435), call(437)) == (ENOSYS, ENOSYS)
    assert call(machine.clone, THREAD_FLAGS) == ALLOW
    assert call(machine.clone, THREAD_FLAGS & ~0x400) == EPERM  # with open files of its own
    assert [call(machine.socketpair, 1, kind | 0x80800) for kind in (1, 2, 3, 5)] == [ALLOW, EPERM, EPERM, EPERM]
    for number, at in machine.opening:
        flags = (0, 0o1, 0o2, 0o100, 0o1001, 0o1101, 0o1002, 0o1000, 0o1003, 0o3001000)
        assert [call(number, *[0] * at, each) for each in flags] == [ALLOW] * 7 + [EPERM] * 3
    assert call(machine.clone, 17) == EPERM  # what fork asks for
    for number in (machine.kill, machine.tgkill):
        assert (call(number, OWN_PID), call(number, 1), call(number, 0)) == (ALLOW, EPERM, EPERM)
    for number in (machine.prlimit64, *machine.scheduling):
        assert [call(number, pid) for pid in (0, OWN_PID, 1)] == [ALLOW, ALLOW, EPERM]
    assert [call(machine.prctl, option) for option in (1, 15, 38)] == [EPERM, ALLOW, ALLOW]
    for command in range(1050):
        assert call(machine.fcntl, 5, command) == (EPERM if command in (8, 10, 15) else ALLOW)
    assert [call(machine.ioctl, 5, request) for request in (0x8901, 0x8902, 0x5401)] == [EPERM, EPERM, ALLOW]
    assert verdict(program, 0x40000003, 1) == KILL  # calls of another architecture
    if name == "x86_64":
        assert call(0x40000000 + 41) == EPERM


def test_the_numbers_of_the_calls_are_the_kernels() -> None:
    """Against the headers of this machine, where they are installed."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    machine = seccomp._MACHINES.get(os.uname().machine)
    if compiler is None or machine is None or not sys.platform.startswith("linux"):
        pytest.skip("no C compiler, or no such processor")
    known = subprocess.run(
        [compiler, "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"],
        capture_output=True,
        check=True,
        text=True,
    )
    numbers = dict(line.split()[1:3] for line in known.stdout.splitlines() if line.startswith("#define __NR_"))
    own = {
        "clone": machine.clone,
        "kill": machine.kill,
        "tgkill": machine.tgkill,
        "prlimit64": machine.prlimit64,
        "seccomp": machine.seccomp,
        "prctl": machine.prctl,
        "fcntl": machine.fcntl,
        "ioctl": machine.ioctl,
        "socketpair": machine.socketpair,
        "openat2": 437,
        **dict(zip(("openat", "open"), (number for number, _ in machine.opening[::-1]), strict=False)),
        **dict(
            zip(
                ("sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr"),
                machine.scheduling,
                strict=True,
            )
        ),
    }
    compared = 0
    for name, number in {**seccomp._EVERYWHERE, **machine.refused, **own, "clone3": 435}.items():
        if f"__NR_{name}" in numbers:
            assert int(numbers[f"__NR_{name}"]) == number, name
            compared += 1
    if not compared:
        pytest.skip("the kernel's headers are not installed")


@pytest.mark.skipif(landlock.abi_version() < 1, reason="this kernel has no Landlock")
def test_landlock_confines_the_thread_that_asks(tmp_path: Path) -> None:
    for name in ("readable", "writable", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    outcomes: dict[str, object] = {}

    def attempt(name: str, action: object) -> None:
        try:
            action()
            outcomes[name] = True
        except PermissionError:
            outcomes[name] = False

    def confined() -> None:
        capabilities.forbid_new_privileges()  # of this thread alone
        readable = [tmp_path / "readable", tmp_path / "missing"]
        outcomes["confined"] = landlock.confine(readable, [tmp_path / "writable", Path("/dev/null")])
        for name in ("readable", "writable", "other"):
            attempt(f"read {name}", (tmp_path / name / "file").read_text)
            attempt(f"list {name}", lambda name=name: list((tmp_path / name).iterdir()))
            attempt(f"write {name}", lambda name=name: (tmp_path / name / "new").write_text("y"))
        attempt("null", lambda: Path("/dev/null").write_text("x"))

    thread = threading.Thread(target=confined)
    thread.start()
    thread.join()
    allowed = {name for name, outcome in outcomes.items() if outcome}
    assert allowed == {"confined", "null", "read readable", "list readable"} | {
        f"{what} writable" for what in ("read", "list", "write")
    }
    (tmp_path / "other" / "new").write_text("this thread is free")


def test_an_old_kernel_is_asked_for_no_more_than_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    def refuse(number: int, *arguments: object) -> int:
        asked.append((number, *arguments))
        return -1

    for version, size in ((1, 8), (3, 8), (4, 16), (6, 24), (7, 24)):
        monkeypatch.setattr(landlock, "abi_version", lambda version=version: version)
        monkeypatch.setattr(landlock, "_syscall", refuse)
        assert landlock.confine([], []) is False
        assert asked[-1][2] == size
        assert landlock.confine([], [], 1) is False
        assert asked[-1][2] == 8
        n_asked = len(asked)
        assert landlock.confine([], [], 0) is False
        assert len(asked) == n_asked, "as without it"
        assert ctypes.sizeof(landlock._Ruleset) == 24
    assert ctypes.sizeof(landlock._PathBeneath) == 12


def test_the_folder_beside_the_package_is_not_readable_as_a_whole() -> None:
    paths = walls._readable([Path("/given")])
    root = Path(walls.__file__).resolve().parents[3]
    assert Path("/given") in paths
    assert root / "fairness_engine" in paths
    assert root not in paths
    assert not set(root.parents) & set(paths)
    assert Path(sys.prefix).resolve() in paths
    assert Path(site.getuserbase()) in paths


def test_a_limit_is_only_ever_lowered() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_CORE)
    assert walls._limit(resource.RLIMIT_CORE, 0) is True
    assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
    assert walls._limit(resource.RLIMIT_CORE, 5) is True
    assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0 <= max(soft, 0)


def test_a_birth_tells_processes_apart() -> None:
    own = alive.process_start_time(os.getpid())
    assert own
    assert alive.process_start_time(os.getpid()) == own
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    other = alive.process_start_time(process.pid)
    assert other
    assert other != own
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it ended; nobody asked for it yet
    assert alive.process_start_time(process.pid) is None
    process.communicate()
    assert alive.process_start_time(process.pid) is None


@pytest.mark.skipif(shutil.which("ps") is None, reason="no ps on this machine")
def test_a_birth_is_told_without_proc_too() -> None:
    assert alive._birth_from_ps(os.getpid())
    assert alive._birth_from_ps(2**22 + 1) is None


def test_without_ps_and_proc_nobody_is_known_to_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/no/such/folder")
    assert alive._birth_from_ps(os.getpid()) is None
