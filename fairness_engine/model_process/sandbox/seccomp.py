"""Refuse system calls that scoring rows never needs: network, other programs, other processes and what outlives this
one, the machine's settings.

Classic BPF filters, installed for all threads of this process; they cannot be taken back. Refused calls return "not
permitted". New threads may be left to a trusted program, which counts them (``ask_for_threads``, ``answer``).

Reference: the kernel's userspace-api/seccomp_filter documentation.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass

from fairness_engine.model_process.sandbox.capabilities import forbid_new_privileges

_LOAD = 0x20
_JUMP_EQUAL = 0x15
_JUMP_AT_LEAST = 0x35
_RETURN = 0x06
_AND = 0x54
_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_ASK = 0x7FC00000
_ERRNO = 0x00050000
_NOT_PERMITTED = _ERRNO | errno.EPERM
_NO_SUCH_CALL = _ERRNO | errno.ENOSYS
_NUMBER_AT = 0
_ARCHITECTURE_AT = 4
_ARGUMENTS_AT = 16
_ARGUMENT_BYTES = 8
_THREAD_FLAGS = 0x00010F00
"""CLONE_THREAD, and with it memory, folder, open files and signals shared: a thread whose open files were its own could
keep some that nobody finds."""
_TRUNCATES = os.O_TRUNC
_STREAM = 1
_TYPE_OF_SOCKET = 0xF
_X32_CALLS = 0x40000000
_SET_MODE_FILTER = 1
_ALL_THREADS = 1
_NEW_LISTENER = 1 << 3
_OLDEST_LISTENER = (5, 5)
"""The version of Linux from which on the answer to a question may be to go on."""
_RECEIVE = 0xC0502100
_REPLY = 0xC0182101
_QUESTION_BYTES = 80
_QUESTION = struct.Struct("=Q")
_ANSWER = struct.Struct("=QqiI")
_GO_ON = 1
_PR_SET_PDEATHSIG = 1
_SIGNALS_BY_FCNTL = (8, 10, 15)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX: whom a file tells of what happens to it, and by which signal."""
_SIGNALS_BY_IOCTL = (0x8901, 0x8902)
"""FIOSETOWN, SIOCSPGRP: the same."""

_EVERYWHERE = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_open": 434,
    "pidfd_getfd": 438, "memfd_secret": 447,
    "process_madvise": 440, "mount_setattr": 442, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466,
}  # fmt: skip


@dataclass(frozen=True)
class _Machine:
    """Call numbers of one architecture."""

    audit: int
    seccomp: int
    clone: int
    kill: int
    tgkill: int
    prlimit64: int
    prctl: int
    fcntl: int
    ioctl: int
    socketpair: int
    opening: tuple[tuple[int, int], ...]
    """What opens a file, and which of its arguments the flags are."""
    scheduling: tuple[int, ...]
    """sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr: of a process by its number."""
    refused: dict[str, int]


_CLONE3 = 435
_OPENAT2 = 437
_MACHINES = {
    "x86_64": _Machine(
        0xC000003E, 317, 56, 62, 234, 302, 157, 72, 16, 53, ((2, 1), (257, 2)), (142, 144, 203, 314),
        {
            "socket": 41, "connect": 42, "bind": 49, "listen": 50, "sendmsg": 46, "sendmmsg": 307, "truncate": 76,
            "execve": 59, "execveat": 322, "fork": 57, "vfork": 58, "tkill": 200, "ptrace": 101,
            "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "rt_sigqueueinfo": 129,
            "rt_tgsigqueueinfo": 297,
            "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308,
            "bpf": 321, "perf_event_open": 298, "add_key": 248, "request_key": 249, "keyctl": 250, "userfaultfd": 323,
            "init_module": 175, "finit_module": 313, "delete_module": 176, "kexec_load": 246, "kexec_file_load": 320,
            "name_to_handle_at": 303, "open_by_handle_at": 304, "reboot": 169, "swapon": 167, "swapoff": 168,
            "sethostname": 170, "setdomainname": 171, "settimeofday": 164, "clock_settime": 227, "clock_adjtime": 305,
            "adjtimex": 159, "iopl": 172, "ioperm": 173, "quotactl": 179, "acct": 163, "syslog": 103,
            "personality": 135,
            "chmod": 90, "fchmod": 91, "fchmodat": 268, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260,
            "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198,
            "fremovexattr": 199,
            "utime": 132, "utimes": 235, "futimesat": 261, "utimensat": 280,
            "setpriority": 141, "ioprio_set": 251,
            "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66, "semtimedop": 220,
            "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71,
            "mq_open": 240, "memfd_create": 319, "mlockall": 151, "mknod": 133, "mknodat": 259,
            "inotify_init": 253, "inotify_init1": 294, "inotify_add_watch": 254, "fanotify_init": 300,
        },
    ),
    "aarch64": _Machine(
        0xC00000B7, 277, 220, 129, 131, 261, 167, 25, 29, 199, ((56, 2),), (118, 119, 122, 274),
        {
            "socket": 198, "connect": 203, "bind": 200, "listen": 201, "sendmsg": 211, "sendmmsg": 269, "truncate": 45,
            "execve": 221, "execveat": 281, "tkill": 130, "ptrace": 117,
            "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "rt_sigqueueinfo": 138,
            "rt_tgsigqueueinfo": 240,
            "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268,
            "bpf": 280, "perf_event_open": 241, "add_key": 217, "request_key": 218, "keyctl": 219, "userfaultfd": 282,
            "init_module": 105, "finit_module": 273, "delete_module": 106, "kexec_load": 104, "kexec_file_load": 294,
            "name_to_handle_at": 264, "open_by_handle_at": 265, "reboot": 142, "swapon": 224, "swapoff": 225,
            "sethostname": 161, "setdomainname": 162, "settimeofday": 170, "clock_settime": 112, "clock_adjtime": 266,
            "adjtimex": 171, "quotactl": 60, "acct": 89, "syslog": 116, "personality": 92,
            "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55,
            "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
            "utimensat": 88, "setpriority": 140, "ioprio_set": 30,
            "shmget": 194, "shmctl": 195, "shmat": 196, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189,
            "semget": 190, "semctl": 191, "semtimedop": 192, "semop": 193,
            "mq_open": 180, "memfd_create": 279, "mlockall": 230, "mknodat": 33,
            "inotify_init1": 26, "inotify_add_watch": 27, "fanotify_init": 262,
        },
    ),
}  # fmt: skip


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("then", ctypes.c_uint8),
        ("otherwise", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def refuse_calls() -> bool:
    """Install the filter on every thread of this process.

    Returns:
        Whether it is in force: Linux on x86_64 or aarch64 with seccomp.
    """
    machine = _this_machine()
    return machine is not None and _install(machine, _filter(machine, os.getpid()), _ALL_THREADS) == 0


def ask_for_threads() -> int | None:
    """Have every new thread of this process, which has one, wait for an answer from whoever holds the listener; before
    ``refuse_calls``, while the listener can be passed on.

    Returns:
        The listener, a file descriptor; ``None`` where the kernel has none (Linux 5.5 and later have).
    """
    machine = _this_machine()
    if machine is None or tuple(int(part) for part in os.uname().release.split(".")[:2]) < _OLDEST_LISTENER:
        return None
    listener = _install(machine, _asking_filter(machine), _NEW_LISTENER)
    return listener if listener >= 0 else None


def answer(listener: int, may_start: Callable[[], bool]) -> None:
    """Answer one question of a listener that can be read: the thread is started, or not ("try again").

    Args:
        listener: of ``ask_for_threads``.
        may_start: whether there may be one more.

    Raises:
        OSError: the process has ended, or the thread that asked.
    """
    question = bytearray(_QUESTION_BYTES)
    fcntl.ioctl(listener, _RECEIVE, question)
    (number,) = _QUESTION.unpack_from(question)
    reply = (number, 0, 0, _GO_ON) if may_start() else (number, 0, -errno.EAGAIN, 0)
    fcntl.ioctl(listener, _REPLY, bytearray(_ANSWER.pack(*reply)))


def _this_machine() -> _Machine | None:
    return _MACHINES.get(platform.machine()) if sys.platform.startswith("linux") else None


def _install(machine: _Machine, instructions: list[_Instruction], flags: int) -> int:
    """What the kernel says: negative where there is no such filter."""
    array = (_Instruction * len(instructions))(*instructions)
    program = _Program(len(instructions), array)
    if not forbid_new_privileges():
        return -1
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    numbers = (ctypes.c_long(value) for value in (machine.seccomp, _SET_MODE_FILTER, flags))
    return int(function(*numbers, ctypes.byref(program)))


def _asking_filter(machine: _Machine) -> list[_Instruction]:
    """New threads are asked for, the rest passes."""
    return [
        _Instruction(_LOAD, 0, 0, _ARCHITECTURE_AT),
        _Instruction(_JUMP_EQUAL, 1, 0, machine.audit),
        _Instruction(_RETURN, 0, 0, _ALLOW),  # the other filter kills
        _Instruction(_LOAD, 0, 0, _NUMBER_AT),
        _Instruction(_JUMP_EQUAL, 0, 1, machine.clone),
        _Instruction(_RETURN, 0, 0, _ASK),
        _Instruction(_RETURN, 0, 0, _ALLOW),
    ]


def _filter(machine: _Machine, own_pid: int) -> list[_Instruction]:
    """The program: another architecture kills, refused calls fail, a few depend on an argument, the rest pass."""
    refused = sorted({**_EVERYWHERE, **machine.refused}.values())
    program = [
        _Instruction(_LOAD, 0, 0, _ARCHITECTURE_AT),
        _Instruction(_JUMP_EQUAL, 1, 0, machine.audit),
        _Instruction(_RETURN, 0, 0, _KILL_PROCESS),
        _Instruction(_LOAD, 0, 0, _NUMBER_AT),
    ]
    if machine.audit == _MACHINES["x86_64"].audit:  # the x32 calls would pass the numbers below by
        program += [_Instruction(_JUMP_AT_LEAST, 0, 1, _X32_CALLS), _Instruction(_RETURN, 0, 0, _NOT_PERMITTED)]
    for number in refused:
        program += [_Instruction(_JUMP_EQUAL, 0, 1, number), _Instruction(_RETURN, 0, 0, _NOT_PERMITTED)]
    # these hide their flags in memory; told that they are missing, the C library takes those whose flags can be read
    for number in (_CLONE3, _OPENAT2):
        program += [_Instruction(_JUMP_EQUAL, 0, 1, number), _Instruction(_RETURN, 0, 0, _NO_SUCH_CALL)]
    this_process = [(_JUMP_EQUAL, 0), (_JUMP_EQUAL, own_pid)]
    program += _if_argument(
        machine.clone, 0, [(_JUMP_EQUAL, _THREAD_FLAGS)], _ALLOW, _NOT_PERMITTED, mask=_THREAD_FLAGS
    )
    # another kind of local socket may be told where to send
    program += _if_argument(
        machine.socketpair, 1, [(_JUMP_EQUAL, _STREAM)], _ALLOW, _NOT_PERMITTED, mask=_TYPE_OF_SOCKET
    )
    # before its third version Landlock lets a file be emptied by whoever opens it, but to write
    emptied = [(_JUMP_EQUAL, _TRUNCATES | os.O_RDONLY), (_JUMP_EQUAL, _TRUNCATES | os.O_ACCMODE)]
    for number, at in machine.opening:
        program += _if_argument(number, at, emptied, _NOT_PERMITTED, _ALLOW, mask=_TRUNCATES | os.O_ACCMODE)
    for call in (machine.kill, machine.tgkill):
        program += _if_argument(call, 0, this_process[1:], _ALLOW, _NOT_PERMITTED)
    for call in (machine.prlimit64, *machine.scheduling):
        program += _if_argument(call, 0, this_process, _ALLOW, _NOT_PERMITTED)
    for call, at, values in (
        (machine.prctl, 0, (_PR_SET_PDEATHSIG,)),
        (machine.fcntl, 1, _SIGNALS_BY_FCNTL),
        (machine.ioctl, 1, _SIGNALS_BY_IOCTL),
    ):
        program += _if_argument(call, at, [(_JUMP_EQUAL, value) for value in values], _NOT_PERMITTED, _ALLOW)
    return [*program, _Instruction(_RETURN, 0, 0, _ALLOW)]


def _if_argument(
    number: int, at: int, tests: list[tuple[int, int]], then: int, otherwise: int, *, mask: int | None = None
) -> list[_Instruction]:
    """What becomes of one call, by the low half of an argument.

    Args:
        number: of the call.
        at: which argument, from 0 on.
        tests: jumps and the values that they compare with; one that holds is enough.
        then, otherwise: what is returned where one holds, and where none does.
        mask: which bits of the argument count; all by default.
    """
    body = [_Instruction(_LOAD, 0, 0, _ARGUMENTS_AT + _ARGUMENT_BYTES * at)]
    body += [] if mask is None else [_Instruction(_AND, 0, 0, mask)]
    for i, (code, k) in enumerate(tests):
        body.append(_Instruction(code, len(tests) - i, 0, k))
    body += [_Instruction(_RETURN, 0, 0, otherwise), _Instruction(_RETURN, 0, 0, then)]
    return [_Instruction(_JUMP_EQUAL, 0, len(body), number), *body]
