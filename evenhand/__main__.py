"""The command ``evenhand``: the engine's command line, and ``evenhand app``. See ``docs/command-line.md``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

APP_COMMAND = "app"


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one command; returns the exit status. Errors are one sentence on standard error."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == [APP_COMMAND]:
        from evenhand import launcher

        return launcher.main(given[1:])
    from fairness_engine.__main__ import main as engine

    return engine(arguments, "evenhand", {APP_COMMAND: "open the app in a browser"})


def program() -> None:
    """The program ``evenhand``: does the command of this process's own arguments and ends the process."""
    try:
        from fairness_engine.cli.leaving import end_at_interrupts, leave_with
    except KeyboardInterrupt:
        sys.exit(130)
    if sys.argv[1:2] == [APP_COMMAND]:
        end_at_interrupts()
        try:
            sys.exit(main())
        except SystemExit as ended:
            if not isinstance(ended.code, str):
                raise
            print(ended.code, file=sys.stderr)
            sys.exit(2)  # bad input, as of the other commands
    leave_with(main)


if __name__ == "__main__":
    program()
