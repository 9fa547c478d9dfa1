"""A program for the fork server that says what it has inherited and been told, as a line of JSON on its output."""

from __future__ import annotations

import gc
import json
import os
import random
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def open_files() -> list[str]:
    """What is open beside the standard streams and the folder that is listed here."""
    found = []
    for entry in sorted(Path("/proc/self/fd").iterdir(), key=lambda entry: int(entry.name)):
        if int(entry.name) > 2:
            try:
                found.append(str(entry.readlink()))
            except OSError:
                continue
    return [name for name in found if not name.startswith("/proc/")]


def is_in_memory(secret: bytes) -> bool:
    """Whether a text stands anywhere in this process's memory; it is given reversed, so as not to be found itself."""
    wanted = np.frombuffer(secret[::-1], np.uint8)
    with Path("/proc/self/maps").open() as maps, Path("/proc/self/mem").open("rb", buffering=0) as memory:
        for line in maps.read().splitlines():
            span, rights, *_ = line.split()
            low, high = (int(end, 16) for end in span.split("-"))
            if not rights.startswith("r") or "[v" in line:
                continue
            for start in range(low, high, 1 << 20):
                memory.seek(start)
                try:
                    part = np.frombuffer(memory.read(min(high - start, (1 << 20) + len(wanted))), np.uint8)
                except OSError:
                    continue
                at = np.flatnonzero(part[: len(part) - len(wanted) + 1] == wanted[0])
                for i in range(1, len(wanted)):
                    at = at[part[at + i] == wanted[i]]
                addresses = start + at
                own = wanted.__array_interface__["data"][0]
                if np.any(np.abs(addresses - own) > 0):
                    return True
    return False


def main(arguments: Sequence[str]) -> int:
    """Tell, or leave or sleep as told."""
    if arguments[0] == "leave":
        return int(arguments[1])
    if arguments[0] == "sleep":
        if os.fork() == 0:
            time.sleep(600)
        time.sleep(600)
    told = {
        "arguments": list(arguments),
        "argv": sys.argv,
        "folder": str(Path.cwd()),
        "environment": dict(os.environ),
        "first_environment": Path("/proc/self/environ").read_text(),
        "open_files": open_files(),
        "n_threads": len(list(Path("/proc/self/task").iterdir())),
        "session": os.getsid(0),
        "pid": os.getpid(),
        "random": [random.random(), np.random.random(), uuid.uuid4().hex],  # noqa: NPY002
        "loaded": sorted(name for name in ("numba", "pandas", "tensorflow", "sqlite3") if name in sys.modules),
        "connections": sum(type(thing).__module__ == "sqlite3" for thing in gc.get_objects()),
        "knows_secret": len(arguments) > 1 and is_in_memory(arguments[1].encode()),
        "input": sys.stdin.readline(),
    }
    print(json.dumps(told), flush=True)
    return 0
