"""Give up the rights of the superuser (Linux capabilities), for good.

One stays where it was held: to read what other accounts keep to themselves. A program that root starts in somebody's
folder needs it to find its own libraries; Landlock says which folders it may read.

Reference: capabilities(7), capset(2).
"""

from __future__ import annotations

import ctypes
import sys

_VERSION = 0x20080522
_MAY_READ_ALL = 1 << 2
"""CAP_DAC_READ_SEARCH."""
_PR_CAPBSET_READ = 23
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4


class _Head(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Half(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def forbid_new_privileges() -> bool:
    """Nothing started from here can gain rights that this process lacks (Linux). Returns whether it is in force."""
    if not sys.platform.startswith("linux"):
        return False
    return _prctl(ctypes.CDLL(None), _PR_SET_NO_NEW_PRIVS, 1) == 0


def give_up() -> bool:
    """Drop all rights of the calling thread but that of reading; whether none other is left (Linux)."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    head = _Head(_VERSION, 0)
    held = (_Half * 2)()
    if libc.capget(ctypes.byref(head), held) != 0:
        return False
    _prctl(libc, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    right = 0
    while held[0].permitted and _prctl(libc, _PR_CAPBSET_READ, right) >= 0:
        if 1 << right != _MAY_READ_ALL:
            _prctl(libc, _PR_CAPBSET_DROP, right)
        right += 1
    kept = held[0].permitted & _MAY_READ_ALL
    left = (_Half * 2)(_Half(kept, kept, 0), _Half(0, 0, 0))
    return int(libc.capset(ctypes.byref(head), left)) == 0


def _prctl(libc: ctypes.CDLL, option: int, argument: int) -> int:
    zero = ctypes.c_ulong(0)
    return int(libc.prctl(option, ctypes.c_ulong(argument), zero, zero, zero))
