"""How a program of the command line ends."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_CRASHED = 3
_CANCELLED = 130
"""``cli.output.ExitStatus``, without what that loads."""


def leave_with(do: Callable[[], int]) -> NoReturn:
    """Be a program: do its work, say what is left to say, and end this process with the status.

    The interpreter takes nothing down: a thread of a library that still works while it does ends the process with
    "terminate called without an active exception" and another status, once in a hundred times.

    Until ``raise_interrupts`` an interrupt ends the process at once.
    """
    end_at_interrupts()
    if sys.stderr is None:  # it was closed; what is said there would go to standard output
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for as long as the program is there
    try:
        status = do()
    except KeyboardInterrupt:
        status = _CANCELLED
    except SystemExit as ended:  # as the reader of options does
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    end_at_interrupts()  # nothing is left to be tidied up
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever read it has gone
        pass
    except (OSError, ValueError) as error:
        status = _CRASHED
        with contextlib.suppress(OSError, ValueError):
            print(f"Standard output must be writable, but is not ({error}). The result is lost.", file=sys.stderr)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
    os._exit(status)


def end_at_interrupts() -> None:
    """Have an interrupt end the process at once, and quietly: there is nothing to be tidied up.

    Raised while libraries are loaded they are swallowed by some, and printed with a traceback by others.
    """
    _set_interrupts(signal.default_int_handler, _leave_cancelled)


def raise_interrupts() -> None:
    """Have interrupts raised from here on: all is loaded, and there is something to be tidied up."""
    _set_interrupts(_leave_cancelled, signal.default_int_handler)


def raise_interrupts_once(is_up: Callable[[], bool]) -> None:
    """Have an interrupt raised when something is up that is to be tidied up; until then, when it no longer is, and from
    the second on, they end the process at once.
    """
    is_raised = threading.Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if is_raised.is_set() or not is_up():
            _leave_cancelled(number, frame)
        is_raised.set()
        signal.default_int_handler(number, frame)

    _set_interrupts(_leave_cancelled, interrupt)


def _leave_cancelled(_: int, __: FrameType | None) -> NoReturn:
    os._exit(_CANCELLED)


def _set_interrupts(
    before: Callable[[int, FrameType | None], object], after: Callable[[int, FrameType | None], object]
) -> None:
    """Have interrupts handled in another way, unless whoever calls has them ignored, or handles them."""
    if signal.getsignal(signal.SIGINT) is before:
        signal.signal(signal.SIGINT, after)
