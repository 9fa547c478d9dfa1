"""Confine this process to a few folders with Landlock (Linux 5.13 and later).

Rules hold for the calling thread and all that it starts, so this must run before other threads do. They cannot be
taken back.

Reference: the kernel's userspace-api/landlock documentation.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

# the same on all architectures
_CREATE_RULESET = 444
_ADD_RULE = 445
_RESTRICT_SELF = 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1

_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_TRUNCATE = 1 << 14
_IOCTL_DEV = 1 << 15
_ALL_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_EXECUTE = 1 << 0
_MAKE_SPECIAL = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11
"""Devices, sockets and pipes with a name."""
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_TCP = 0b11
_SCOPE_SOCKETS_AND_SIGNALS = 0b11


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi_version() -> int:
    """Version of the kernel's interface; 0 when there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG))


def confine(readable: Iterable[Path], writable: Iterable[Path], newest: int | None = None) -> bool:
    """Allow reading beneath some paths, and everything but running programs and making special files beneath others.

    Paths that do not exist are passed over. From version 6 on, signals and abstract sockets end at this process too.

    Args:
        readable, writable: files, and folders with all that is in them.
        newest: version of the interface to be used at most, as if the kernel had no other; ``None`` for the kernel's.

    Returns:
        Whether the rules are in force.
    """
    version = abi_version() if newest is None else min(newest, abi_version())
    if version < 1:
        return False
    handled = _ALL_BY_ABI[min(version, max(_ALL_BY_ABI))]
    ruleset = _Ruleset(handled, _TCP if version >= 4 else 0, _SCOPE_SOCKETS_AND_SIGNALS if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    descriptor = _syscall(_CREATE_RULESET, ctypes.byref(ruleset), size, 0)
    if descriptor < 0:
        return False
    try:
        for paths, rights in (
            (readable, _READ_FILE | _READ_DIR),
            (writable, handled & ~_EXECUTE & ~_MAKE_SPECIAL),
        ):
            for path in paths:
                _allow(descriptor, path, rights & handled)
        return _syscall(_RESTRICT_SELF, descriptor, 0) == 0
    finally:
        os.close(descriptor)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not on this machine
        return
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= _FILE_RIGHTS
        rule = _PathBeneath(rights, parent)
        if rights:
            _syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(parent)


def _syscall(number: int, *arguments: object) -> int:
    function = _library().syscall
    function.restype = ctypes.c_long
    return int(function(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)))


@cache
def _library() -> ctypes.CDLL:
    """The C library; to make an object of it takes longer than a call."""
    return ctypes.CDLL(None, use_errno=True)
