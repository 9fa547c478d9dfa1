"""Is the process that did this still there? Told by id and birth, because ids are used again."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path


@cache
def host_name() -> str:
    """This machine, as worker processes name it in the store."""
    return platform.node() or "here"


def process_start_time(pid: int) -> str | None:
    """When a process of this machine started, as a text that no other process of that id will share.

    Returns:
        ``None`` when there is no such process, or only its remains (a zombie).
    """
    if Path("/proc/self/stat").exists():
        return _birth_from_proc(pid)
    return _birth_from_ps(pid)


def _birth_from_proc(pid: int) -> str | None:
    try:
        # the program's name, in parentheses, may hold spaces and parentheses itself
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in "ZX" else f"{_boot()}:{rest[18]}"


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _birth_from_ps(pid: int) -> str | None:
    """Systems without /proc."""
    environment = {**os.environ, "LC_ALL": "C"}
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=10)  # noqa: S603 - no text of a user
    except (OSError, subprocess.SubprocessError):
        return None
    state, _, started = shown.stdout.strip().partition(" ")
    return started.strip() or None if state and not state.startswith("Z") else None
