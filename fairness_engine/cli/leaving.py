"""How a program of the command line ends."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import NoReturn

_CRASHED = 3
"""``cli.output.ExitStatus.CRASHED``, without what that loads."""


def leave_with(do: Callable[[], int]) -> NoReturn:
    """Be a program: do its work, say what is left to say, and end this process with the status.

    The interpreter takes nothing down: a thread of a library that still works while it does ends the process with
    "terminate called without an active exception" and another status, once in a hundred times.
    """
    try:
        status = do()
    except SystemExit as ended:  # as the reader of options does
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
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
