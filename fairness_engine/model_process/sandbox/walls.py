"""The walls around the process that holds an uploaded model.

What the parent arranges (``child_environment``, a new session, an empty scratch folder, a ``Watcher``) and what the
child does to itself as its first act (``enter``): a control group, limits, rights given up, Landlock, system-call
filters. Each is used where the system offers it; ``enter`` reports which are in force, and why one is not.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import os
import resource
import signal
import site
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairness_engine.model_process.sandbox import capabilities, control_group, landlock, seccomp

GIGABYTE = 1 << 30
MAX_MEMORY_BYTES = 8 * GIGABYTE
MAX_FILE_BYTES = GIGABYTE
MAX_FOLDER_BYTES = 2 * GIGABYTE
MAX_FOLDER_ENTRIES = 5_000
MAX_THREADS = 1024
"""The pools of the libraries have some of each processor."""
MAX_CPU_SECONDS = 24 * 3600
MAX_OPEN_FILES = 1024

PROTECTIONS = {
    "memory": "at most 8 GB of memory",
    "group": "all its memory is counted together, also what is shared or in files (a control group)",
    "threads": "at most 1,024 threads",
    "cpu_time": "at most 24 hours of processor time",
    "file_size": "at most 1 GB a file",
    "folder_size": "at most 2 GB and 5,000 files in its folder",
    "ends_with_parent": "ends when the program that started it ends",
    "rights": "has no rights of the superuser but to read",
    "files": "reads its own libraries, the data and the model, and writes nothing outside an empty folder (Landlock)",
    "network": "no network",
    "programs": "starts no other program and reaches no other process",
}
"""The walls by name, in words for a screen."""

Raised = dict[str, bool | str]
"""Of each wall: true where it is up, else why it is not."""

NOT_LINUX = "only Linux has it"
_NO_LIMIT = "this system takes no such limit"
_NO_LANDLOCK = "this kernel has no Landlock: Linux 5.13 and later have it, where it is not switched off"
_NO_FILTER = "this kernel, or this kind of processor, has no filter of system calls"
_NOBODY_COUNTS = "this kernel cannot ask before a thread is started: Linux 5.5 and later can"
_NO_PARENT = "no program that it could end with was named"
_NO_RIGHTS = "the kernel did not take the rights away"

_PR_SET_PDEATHSIG = 1
_PACKAGE = Path(__file__).resolve().parents[2]
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SSL_CERT_FILE", "TZ")
_ONE_THREAD = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
_READABLE_SYSTEM = (
    *("/usr", "/lib", "/lib32", "/lib64", "/opt/homebrew", "/etc/ld.so.cache", "/etc/localtime", "/etc/nsswitch.conf"),
    *("/etc/passwd", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems"),
    *(
        "/sys/devices/system/cpu",
        "/sys/devices/system/node",
        "/sys/fs/cgroup",
        "/dev/urandom",
        "/dev/random",
        "/dev/zero",
    ),
)


def child_environment(scratch: Path, numba_cache: Path) -> dict[str, str]:
    """A scrubbed environment: nothing of the parent's but what the loader and the interpreter need."""
    variables = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    variables |= dict.fromkeys(("HOME", "TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME"), str(scratch))
    variables |= dict.fromkeys(_ONE_THREAD, "1")
    return variables | {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(_PACKAGE.parent),
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "NUMBA_CACHE_DIR": str(numba_cache),
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        "CUDA_VISIBLE_DEVICES": "-1",
        "JOBLIB_MULTIPROCESSING": "0",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "KERAS_BACKEND": "tensorflow",
    }


def enter(
    scratch: Path,
    readable: Sequence[Path],
    parent_pid: int | None = None,
    *,
    watcher: int | None = None,
    newest_landlock: int | None = None,
) -> Raised:
    """Raise the walls around this process. Call it first, while there is one thread.

    Args:
        scratch: the only folder that can be written.
        readable: the data's and the model's file.
        parent_pid: end when that process, this one's parent, does; ``None`` where a thread of the parent may end
            earlier.
        watcher: descriptor of a socket to the ``Watcher``, who is asked for every thread where no group counts them.
        newest_landlock: take no newer version of Landlock, as on an older kernel; 0 is none.

    Returns:
        Which walls are up, by the names of ``PROTECTIONS``, and why others are not; those of the watcher are its own
        to tell.
    """
    is_linux = sys.platform.startswith("linux")
    group = control_group.enter_own(MAX_MEMORY_BYTES, MAX_THREADS) if is_linux else NOT_LINUX
    raised: Raised = {
        "memory": limit_memory() or _NO_LIMIT,
        "group": group or True,
        "cpu_time": _limit(resource.RLIMIT_CPU, MAX_CPU_SECONDS) or _NO_LIMIT,
        "file_size": _limit(resource.RLIMIT_FSIZE, MAX_FILE_BYTES) or _NO_LIMIT,
    }
    _limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
    _limit(resource.RLIMIT_CORE, 0)
    capabilities.forbid_new_privileges()  # Landlock asks for it
    raised["rights"] = capabilities.give_up() or (_NO_RIGHTS if is_linux else NOT_LINUX)
    raised["ends_with_parent"] = (
        NOT_LINUX if not is_linux else _NO_PARENT if parent_pid is None else _end_with(parent_pid) or _NO_LIMIT
    )
    confined = landlock.confine(_readable(readable), [scratch, Path("/dev/null")], newest_landlock)
    raised["files"] = confined or (_NO_LANDLOCK if is_linux else NOT_LINUX)
    raised["threads"] = not group or (watcher is not None and _leave_threads_to(watcher)) or _NOBODY_COUNTS
    refused = seccomp.refuse_calls() or (_NO_FILTER if is_linux else NOT_LINUX)
    return raised | {"network": refused, "programs": refused}


def limit_memory() -> bool:
    """Let this process have no more than ``MAX_MEMORY_BYTES``, for ever; whether it is so."""
    return _limit(resource.RLIMIT_AS, MAX_MEMORY_BYTES)


def limit_own_memory() -> None:
    """Let this process, whose code is trusted, have no more than that; see ``memory_for_others``."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MAX_MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MAX_MEMORY_BYTES, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


@contextlib.contextmanager
def memory_for_others() -> Iterator[None]:
    """Programs that are started meanwhile may have what this process could, not what ``limit_own_memory`` left it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _readable(given: Sequence[Path]) -> list[Path]:
    """The interpreter, its libraries, this package, the given files. The folder of a checkout may hold the workspace
    too: not all of it. A package that was installed lies among its libraries.
    """
    libraries = {sys.prefix, sys.base_prefix, sys.exec_prefix, site.getuserbase(), *sys.path}
    root = _PACKAGE.parent
    is_installed = any(root.glob("evenhand-*.dist-info"))
    withheld = () if is_installed else (root, *root.parents)
    folders = [Path(entry).resolve() for entry in libraries if entry]
    return [*given, _PACKAGE, *(f for f in folders if f not in withheld), *map(Path, _READABLE_SYSTEM)]


def _limit(what: int, most: int) -> bool:
    """Lower a limit; one that is lower already stays."""
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(what, (most, most))
    return resource.getrlimit(what)[0] == most


def _end_with(parent_pid: int) -> bool:
    """Ask the kernel for a kill when the parent ends (Linux)."""
    if not sys.platform.startswith("linux"):
        return False
    is_set = int(ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)) == 0
    if os.getppid() != parent_pid:  # it ended before it was asked
        os._exit(1)
    return is_set


def _leave_threads_to(watcher: int) -> bool:
    """Pass the listener for new threads to the watcher; whether there is one."""
    listener = seccomp.ask_for_threads()
    if listener is None:
        return False
    with socket.socket(fileno=os.dup(watcher)) as connection:
        passed = array.array("i", [listener])
        connection.sendmsg([b"l"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)])
    os.close(listener)
    return True
