"""The searches' compiled loops: made once a version by a trusted program, copied for each model's process."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from fairness_engine.runs import sandbox

CHILD_PROGRAM = "fairness_engine.runs.child"


def compiled_folder(workspace: Path) -> Path:
    """Where the searches' compiled loops are kept between runs; only trusted programs write there."""
    from fairness_engine import __file__ as package

    kernels = [file.stat() for file in sorted(Path(package).parent.rglob("*kernels.py"))]
    newest, n_bytes = max(file.st_mtime_ns for file in kernels), sum(file.st_size for file in kernels)
    version = f"{sys.implementation.cache_tag}-{newest:x}-{n_bytes:x}"
    return workspace / "compiled" / version


def prepare_compiled(workspace: Path, log: Path | None) -> None:
    """Compile the searches' loops once a version and workspace (some 10 s); a second call costs nothing.

    A failure is left to the run, which would compile for itself.
    """
    folder = compiled_folder(workspace)
    stamp = folder / "done"
    if stamp.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-P", "-m", CHILD_PROGRAM, "--warm"]
    with (log or Path(os.devnull)).open("ab") as errors, contextlib.suppress(subprocess.SubprocessError, OSError):
        environment = sandbox.child_environment(folder, folder)
        subprocess.run(  # noqa: S603 - our own program
            command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stderr=errors, check=True, timeout=300
        )
        stamp.touch()


def copy_compiled(source: Path, target: Path) -> None:
    """A copy of its own for the child: numba insists on a folder it can write, and none may write the shared one."""
    target.mkdir(mode=0o700)
    with contextlib.suppress(OSError):
        shutil.copytree(source, target, dirs_exist_ok=True)
