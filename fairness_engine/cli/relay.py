"""Has a command done by a program that was forked, where the app stands by: it begins in a tenth of the time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TextIO

from fairness_engine.model_process.starting import start

_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_OF_THIS_PROCESS = ("/dev/fd/", "/proc/self/", "/proc/thread-self/", "/dev/tty")
"""Files that would be others in another process."""


def relayed(arguments: Sequence[str], program: str, others: Mapping[str, str] | None, workspace: Path) -> int | None:
    """Have a command done by a forked program; returns its exit status, or ``None`` when it was not begun.

    Args:
        arguments: of the command line.
        program, others: as in ``cli.parser.make_parser``.
        workspace: of the command.
    """
    if not _is_like_others(arguments) or not start.find_ready(workspace):
        return None
    streams = [_manner(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)]
    told = {"arguments": list(arguments), "program": program, "others": others, "streams": streams}
    sys.stdout.flush()
    sys.stderr.flush()
    forked = start.fork_command([json.dumps(told)])
    return None if forked is None else _stand_for(forked)


def _is_like_others(arguments: Sequence[str]) -> bool:
    """Whether nothing about this interpreter, its streams and its files would be different in another."""
    flags = sys.flags
    asked = flags.optimize or flags.dev_mode or flags.verbose or flags.inspect or sys.warnoptions or sys._xoptions
    is_plain = not asked and "LD_PRELOAD" not in os.environ and sys.getfilesystemencoding() == "utf-8"
    has_streams = None not in (sys.stdin, sys.stdout, sys.stderr)
    return is_plain and has_streams and not any(name in text for text in arguments for name in _OF_THIS_PROCESS)


def _manner(stream: TextIO) -> dict[str, object]:
    """How text is written to a stream of this process, and read from it."""
    manner: dict[str, object] = {"encoding": stream.encoding, "errors": stream.errors}
    if stream is not sys.stdin:
        manner |= {"line_buffering": stream.line_buffering, "write_through": getattr(stream, "write_through", False)}
    return manner


def _stand_for(forked: start.ForkedProgram) -> int:
    """Pass on to a program what is asked of this one, and end as it does."""

    def pass_on(number: int, _: FrameType | None) -> None:
        forked.send_signal(number)

    def pause(_: int, __: FrameType | None) -> None:
        forked.send_signal(signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        forked.send_signal(signal.SIGCONT)

    for number in _PASSED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as with nohup
            signal.signal(number, pass_on)
    signal.signal(signal.SIGTSTP, pause)
    status = forked.wait()
    if status >= 0:
        return status
    with contextlib.suppress(OSError):  # there is no other way to take a kill
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
    return -status
