"""Compiled loops: made once a version by a trusted program, copied for each model's process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import IO

from fairness_engine.model_process.sandbox import walls

MODEL_PROGRAM = "fairness_engine.model_process.server"
_MAX_SECONDS = 900.0
"""A machine that does much else takes several times as long."""
_MAX_OTHERS = 3
"""Versions beside the present one whose loops stay; each is some ten megabytes."""


class Loops(StrEnum):
    """Loops that are compiled together, because the same runs need them."""

    MODELS = "models"
    SEARCHES = "searches"
    CERTIFICATIONS = "certifications"


WARM_UPS: dict[Loops, tuple[str, ...]] = {
    Loops.MODELS: ("models",),
    Loops.SEARCHES: ("searches",),
    Loops.CERTIFICATIONS: ("networks", "other-proofs"),
}
"""What programs of their own compile."""
_ALONE = frozenset({"networks"})
"""What shares no loop with the others: it takes as long as they all, so on two cores both are ready after half the
time.
"""


def compiled_folder(workspace: Path) -> Path:
    """Where the compiled loops are kept between runs; only trusted programs write there.

    Beside the libraries of this installation, where every workspace finds them; in the workspace where that cannot be
    written.
    """
    shared = Path(sys.prefix) / "share"
    is_shared = os.access(shared if shared.exists() else sys.prefix, os.W_OK)
    return (shared / "evenhand" if is_shared else workspace) / "compiled" / _version()


def make_compiled_folder(folder: Path) -> None:
    """Make a folder of ``compiled_folder``. In a workspace it is its owner's alone, whatever the mask of new files and
    the workspace are: what lies there is run.

    Raises:
        OSError: it cannot be made.
    """
    if not folder.is_relative_to(sys.prefix):
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        if stat.S_IMODE(folder.parent.stat().st_mode) & 0o077:
            folder.parent.chmod(0o700)
    folder.mkdir(parents=True, exist_ok=True)


@cache
def _version() -> str:
    """Of this interpreter, and of the loops' sources as this program found them."""
    from fairness_engine import __file__ as package

    kernels = [file.stat() for file in sorted(Path(package).parent.rglob("*kernels.py"))]
    newest = max(file.st_mtime_ns for file in kernels)
    n_bytes = sum(file.st_size for file in kernels)
    return f"{sys.implementation.cache_tag}-{newest:x}-{n_bytes:x}"


def prepare_compiled(workspace: Path, log: Path | None, *parts: Loops) -> None:
    """Compile some loops once a version; a second call costs nothing.

    It takes 15 s of one core for models, 20 s for searches, a minute of two for certifications. Those of models come
    first: people wait for them. What comes after another finds the loops that both use. A failure is left to the run,
    which would compile for itself.
    """
    folder = compiled_folder(workspace)
    missing = set(parts) - ready_loops(workspace)
    with ThreadPoolExecutor(1) as program:
        before = [
            program.submit(_compile, folder, part, log) for part in (Loops.MODELS, Loops.SEARCHES) if part in missing
        ]
        if Loops.CERTIFICATIONS in missing:
            _compile(folder, Loops.CERTIFICATIONS, log, before)
        for one in before:
            one.result()


def ready_loops(workspace: Path) -> frozenset[Loops]:
    """Which loops of this version need no compiling any more."""
    folder = compiled_folder(workspace)
    return frozenset(part for part in Loops if (folder / f"done-{part}").exists())


def _compile(folder: Path, part: Loops, log: Path | None, before: Sequence[Future[None]] = ()) -> None:
    """Compile; where another program is at it already, wait for what it makes instead of doing the same beside it.

    Args:
        folder, log: where to.
        part: which loops.
        before: loops that are to be there before those that share some with them.
    """
    make_compiled_folder(folder)
    done = folder / f"done-{part}"
    names = WARM_UPS[part]

    def warm_up(name: str) -> None:
        if name not in _ALONE:
            wait(before)
        _warm_up(name, folder, lock.fileno(), errors)

    with (
        (log or Path(os.devnull)).open("ab") as errors,
        (folder / f"lock-{part}").open("w") as lock,
        contextlib.suppress(subprocess.SubprocessError, OSError),
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists():
            return
        with ThreadPoolExecutor(len(names)) as programs:
            list(programs.map(warm_up, names))
        done.touch()
        _forget_others(folder)


def _warm_up(name: str, folder: Path, lock: int, errors: IO[bytes]) -> None:
    """Have one program compile; it holds the lock to its own end, whatever becomes of this one."""
    subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-P", "-m", MODEL_PROGRAM, "--warm", name],
        env=walls.child_environment(folder, folder),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stderr=errors,
        check=True,
        timeout=_MAX_SECONDS,
        pass_fds=[lock],
    )


def _forget_others(folder: Path) -> None:
    """Keep the loops of the newest versions for the same Python: other copies of this program may use theirs by
    turns.
    """
    kind = folder.name.split("-")[0]
    others = [each for each in folder.parent.iterdir() if each != folder and each.name.startswith(f"{kind}-")]
    for other in sorted(others, key=_compiled_at, reverse=True)[_MAX_OTHERS:]:
        shutil.rmtree(other, ignore_errors=True)


def _compiled_at(folder: Path) -> float:
    """When its loops were last compiled, in seconds since 1970; 0 where another program has just deleted it."""
    with contextlib.suppress(OSError):
        return folder.stat().st_mtime
    return 0.0


def copy_compiled(source: Path, target: Path) -> None:
    """A copy of the loops of all for one process, which numba lets write there."""
    target.mkdir(mode=0o700)
    with contextlib.suppress(OSError):
        shutil.copytree(source, target, dirs_exist_ok=True)
