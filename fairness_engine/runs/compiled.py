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
    """Where the searches' compiled loops are kept between runs; only trusted programs write there.

    Beside the libraries of this installation, where every workspace finds them; in the workspace where that cannot be written.
    """
    from fairness_engine import __file__ as package

    kernels = [file.stat() for file in sorted(Path(package).parent.rglob("*kernels.py"))]
    newest, n_bytes = max(file.st_mtime_ns for file in kernels), sum(file.st_size for file in kernels)
    version = f"{sys.implementation.cache_tag}-{newest:x}-{n_bytes:x}"
    shared = Path(sys.prefix) / "share"
    is_shared = os.access(shared if shared.exists() else sys.prefix, os.W_OK)
    return (shared / "evenhand" if is_shared else workspace) / "compiled" / version


def prepare_compiled(workspace: Path, log: Path | None) -> None:
    """Compile the searches' loops once a version (some 20 s of one core); a second call costs nothing.

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
        _forget_others(folder)


def _forget_others(folder: Path) -> None:
    """Loops of other versions for the same Python are of no use any more; a model's process has its own copy."""
    kind = folder.name.split("-")[0]
    for other in folder.parent.iterdir():
        if other != folder and other.name.startswith(f"{kind}-"):
            shutil.rmtree(other, ignore_errors=True)


def copy_compiled(source: Path, target: Path) -> None:
    """A copy of its own for the child: numba insists on a folder it can write, and none may write the shared one."""
    target.mkdir(mode=0o700)
    with contextlib.suppress(OSError):
        shutil.copytree(source, target, dirs_exist_ok=True)
