"""A control group for each model's process: one limit on memory of every kind, one on processes and threads.

A trusted program, the fork server, finds a part of the machine's groups that it may divide (``settle``): one that was
delegated to it, or a scope that it asks systemd for. A model's process makes a group in it and moves there
(``enter_own``) before it raises the walls that keep it from moving out again. Groups whose process has ended are
removed by the next one.

Only version 2 is used: that of version 1 has no delegation, and is on its way out.

Reference: the kernel's admin-guide/cgroup-v2; systemd's CGROUP_DELEGATION.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

LEAF = "evenhand"
"""The group of the trusted programs, beside those of models: one that is divided holds no process itself."""
_MODEL = "model-"
_CONTROLLERS = {"memory", "pids"}
_SYSTEMD = Path("/run/systemd/system")
_SECONDS_TO_ANSWER = 5.0
_SECONDS_TO_MOVE = 2.0
_ATTEMPTS = 3

NO_VERSION_2 = "this system has no control groups of version 2 that count memory and processes"
NOT_DELEGATED = "nobody lets this account divide a control group: no systemd, or a service without Delegate=yes"


def own_group(mounts: Path = Path("/proc/self/mountinfo"), groups: Path = Path("/proc/self/cgroup")) -> Path | None:
    """The folder of this process's group; ``None`` where it cannot be seen, or is of version 1 alone."""
    try:
        name = next(line[3:] for line in groups.read_text().splitlines() if line.startswith("0::"))
        for line in mounts.read_text().splitlines():
            before, _, after = line.partition(" - ")
            if after.startswith("cgroup2 "):
                root, top = before.split()[3:5]
                beneath = Path(name) if root == "/" else Path("/") / Path(name).relative_to(root)
                folder = Path(top) / beneath.relative_to("/")
                return folder if ".." not in folder.parts and folder.is_dir() else None
    except (OSError, StopIteration, ValueError):
        pass
    return None


def settle() -> None:
    """Have a part of the groups that this trusted program, and what it will start, may divide; nothing is raised.

    Asking systemd takes some hundredths of a second; there is nothing to ask where it is not in charge.
    """
    own = own_group()
    if not sys.platform.startswith("linux") or own is None or own.name == LEAF:
        return
    if not _is_delegated(own):
        if own.name.endswith(".service") or not _SYSTEMD.is_dir():
            return  # what leaves a service is not ended with it
        _ask_for_scope(own)
        own = own_group()
        if own is None or not _is_delegated(own):
            return
    with contextlib.suppress(OSError):
        divide(own)


def divide(group: Path) -> None:
    """Move what is in a group into its leaf, and have its parts counted.

    Raises:
        OSError: it cannot be done.
    """
    leaf = group / LEAF
    leaf.mkdir(exist_ok=True)
    for attempt in range(_ATTEMPTS):
        for pid in {str(os.getpid()), *(group / "cgroup.procs").read_text().split()}:
            with contextlib.suppress(OSError):  # it has ended, or is one of the kernel's
                (leaf / "cgroup.procs").write_text(pid)
        try:
            (group / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in sorted(_CONTROLLERS)))
        except OSError:  # one more was started meanwhile
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            return


def enter_own(max_bytes: int, max_threads: int) -> str:
    """Move this process into a group of its own.

    Args:
        max_bytes: of memory of every kind, with what it writes to files in memory.
        max_threads: and processes.

    Returns:
        Why there is none; empty when it is there.
    """
    own = own_group()
    if (
        own is None
        or not _words(own / "cgroup.controllers") | _words(own.parent / "cgroup.controllers") >= _CONTROLLERS
    ):
        return NO_VERSION_2
    if own.name != LEAF or not _words(own.parent / "cgroup.subtree_control") >= _CONTROLLERS:
        return NOT_DELEGATED
    _forget_ended(own.parent)
    group = own.parent / f"{_MODEL}{os.getpid()}"
    try:
        group.mkdir(exist_ok=True)
        (group / "memory.max").write_text(str(max_bytes))
        (group / "pids.max").write_text(str(max_threads))
        for file, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
            with contextlib.suppress(OSError):  # a kernel without swap, or of long ago
                (group / file).write_text(value)
        (group / "cgroup.procs").write_text("0")  # whoever writes
    except OSError as error:
        return f"its control group could not be set up ({error.strerror})"
    return ""


def _is_delegated(group: Path) -> bool:
    """Whether this account may divide a group: root could divide any, and systemd would not know."""
    needed = (group, group / "cgroup.procs", group / "cgroup.subtree_control")
    if not _words(group / "cgroup.controllers") >= _CONTROLLERS or not all(os.access(one, os.W_OK) for one in needed):
        return False
    if os.geteuid() != 0 or not _SYSTEMD.is_dir():
        return True
    for name in ("user.delegate", "trusted.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(group, name) == b"1":
                return True
    return False


def _ask_for_scope(own: Path) -> None:
    """Have systemd move this process into a scope of its own, which it may divide."""
    account = os.geteuid()
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": f"/run/user/{account}"}
    command = [
        *("busctl", *(["--user"] if account else []), "--expect-reply=yes", "call", "org.freedesktop.systemd1"),
        *("/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))"),
        *(f"evenhand-{os.getpid()}.scope", "fail", "4", "PIDs", "au", "1", str(os.getpid()), "Delegate", "b", "true"),
        *("Description", "s", "Evenhand", "CollectMode", "s", "inactive-or-failed", "0"),
    ]
    try:
        subprocess.run(  # noqa: S603 - a program of the system, looked for in its folders alone
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=_SECONDS_TO_ANSWER,
        )
    except (OSError, subprocess.SubprocessError):
        return
    deadline = time.monotonic() + _SECONDS_TO_MOVE
    while own_group() == own and time.monotonic() < deadline:
        time.sleep(0.005)


def _forget_ended(parent: Path) -> None:
    """Remove the groups of processes that have ended; one that lives keeps its own, which is not empty."""
    with contextlib.suppress(OSError):
        for group in parent.glob(f"{_MODEL}*"):
            if not Path("/proc", group.name.removeprefix(_MODEL)).exists():
                with contextlib.suppress(OSError):
                    group.rmdir()


def _words(file: Path) -> set[str]:
    with contextlib.suppress(OSError):
        return set(file.read_text().split())
    return set()
