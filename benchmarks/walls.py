"""Which walls hold where: ``python -m benchmarks.walls`` tries them as root and as an ordinary account, with Landlock
of several versions and without, and keeps the table. Root starts it, and becomes the other account by ``setpriv``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.table import keep, markdown
from fairness_engine.model_process.sandbox import walls
from fairness_engine.model_process.sandbox.landlock import abi_version
from fairness_engine.model_process.self_test import Verdict

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = (abi_version(), 4, 1, 0)
_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
_READS_ALL = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
_REPEATS = 20


def accounts() -> dict[str, tuple[str, ...]]:
    """What stands before a command, by who does it."""
    if os.geteuid() != 0:
        return {"ordinary account": ()}
    again = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import numpy'], check=True)"
    reached = subprocess.run([*_NOBODY, sys.executable, "-c", again], capture_output=True, check=False)
    if reached.returncode == 0:
        return {"root": (), "ordinary account": _NOBODY}
    return {"root": (), "ordinary account that may read all": (*_NOBODY, *_READS_ALL)}


def tried(before: tuple[str, ...], version: int) -> list[dict[str, Any]]:
    """What the command says of each probe."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        command = [*before, sys.executable, "-m", "evenhand", "runs", "walls", "--workspace", f"{folder}/workspace"]
        done = subprocess.run(
            [*command, "--newest-landlock", str(version), "--json", "-"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": folder, "TMPDIR": folder, "XDG_RUNTIME_DIR": folder},
            capture_output=True,
            check=False,
            text=True,
        )
        if not done.stdout:
            raise SystemExit(f"{' '.join(command)}: {done.stderr}")
        return list(json.loads(done.stdout)["walls"])


def cell(rows: list[dict[str, Any]]) -> str:
    """In few words what came of the probes of one wall."""
    n = Counter(row["verdict"] for row in rows)
    if not n[Verdict.FELL] and not n[Verdict.NOT_TRIED] and not n[Verdict.NOT_OFFERED]:
        return f"{n[Verdict.HELD]} held"
    fallen = [row["tried"] for row in rows if row["verdict"] == Verdict.FELL]
    counts = [f"{n[verdict]} {verdict.value}" for verdict in Verdict if n[verdict]]
    return ", ".join(counts) + (f" ({'; '.join(fallen)})" if fallen else "")


def cost() -> tuple[float, float]:
    """Milliseconds that raising all walls takes in a process that was just forked: by the clock, of a processor."""
    figures = []
    for _ in range(_REPEATS):
        reads, writes = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.setsid()
            scratch = Path(tempfile.mkdtemp())
            begin = time.perf_counter()
            used = time.process_time()
            walls.enter(scratch, [], os.getppid())
            told = json.dumps([time.perf_counter() - begin, time.process_time() - used])
            os.write(writes, told.encode())
            os._exit(0)
        os.waitpid(pid, 0)
        figures.append(json.loads(os.read(reads, 200)))
    return median(one[0] for one in figures) * 1000, median(one[1] for one in figures) * 1000


def main() -> None:
    """Try all, and keep the table."""
    columns: dict[str, list[dict[str, Any]]] = {}
    for account, before in accounts().items():
        for version in dict.fromkeys(VERSIONS):
            columns[f"{account}, Landlock {version or 'missing'}"] = tried(before, version)
    rows = [
        [f"`{name}`" if name else "work goes on"]
        + [cell([row for row in every if (row["wall"] or "") == name]) for every in columns.values()]
        for name in (*walls.PROTECTIONS, "")
    ]
    everything = [row for every in columns.values() for row in every]
    down = sorted({(row["wall"], row["why"]) for row in everything if row["verdict"] == Verdict.NOT_OFFERED})
    clock, processor = cost()
    keep(
        "walls",
        "Which walls hold where",
        [
            f"Linux {os.uname().release}. Every probe of `evenhand runs walls`, tried from inside a model's process.\n"
            "An older Landlock is this kernel's, asked for no more than that version has.",
            markdown(["wall", *columns], rows),
            "Not offered here: " + "; ".join(f"`{wall}`: {why}" for wall, why in down) + ".",
            f"Raising the walls takes {clock:.1f} ms by the clock, {processor:.1f} ms of a processor (median of "
            f"{_REPEATS}).",
        ],
    )


if __name__ == "__main__":
    main()
