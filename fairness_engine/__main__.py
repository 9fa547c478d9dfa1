"""The command line: ``python -m fairness_engine COMMAND``. See ``docs/command-line.md``."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from fairness_engine.model_process.starting.start import get_ready
from fairness_engine.store.environment import default_workspace

_WITHOUT_MODEL = ("app", "runs")
"""Commands that start no process of a model soon, if at all."""
_CRASHED = 3
"""``cli.output.ExitStatus.CRASHED``, without what that loads."""


def main(arguments: Sequence[str] | None = None, program: str = "", others: Mapping[str, str] | None = None) -> int:
    """Do one command; returns the exit status. Errors are one sentence on standard error.

    What its processes need is loaded beside what it needs itself.

    Args:
        arguments: of the command line; ``None`` takes this process's own.
        program, others: as in ``cli.parser.make_parser``.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None and given[:1] != ["app"]:
        from fairness_engine.cli.relay import relayed

        status = relayed(given, program, others, _workspace(given))
        if status is not None:
            return status
    if given and given[0] not in _WITHOUT_MODEL and not {"-h", "--help"} & set(given):
        get_ready(_workspace(given), ahead=False)
    from fairness_engine.cli.main import main as command_line

    return command_line(given, program, others)


def _workspace(arguments: Sequence[str]) -> Path:
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--workspace", type=Path, default=default_workspace())
    try:
        return parser.parse_known_args(arguments)[0].workspace  # type: ignore[no-any-return]
    except argparse.ArgumentError:  # which is said when all options are read
        return default_workspace()


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


if __name__ == "__main__":
    leave_with(main)
