"""The command line: ``python -m fairness_engine COMMAND``. See ``docs/command-line.md``."""

from __future__ import annotations

import sys

try:
    from typing import TYPE_CHECKING

    from fairness_engine.cli.leaving import leave_with
except KeyboardInterrupt:
    sys.exit(130)

if TYPE_CHECKING:  # all else is loaded where an interrupt ends the program quietly
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_WITHOUT_MODEL = ("app", "runs")
"""Commands that start no process of a model soon, if at all."""


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
    starts_model = given[:1] and (given[0] not in _WITHOUT_MODEL or given[:2] == ["runs", "walls"])
    if starts_model and not {"-h", "--help"} & set(given):
        from fairness_engine.model_process.starting.start import get_ready
        from fairness_engine.store.environment import cluster_address

        is_shared = bool(cluster_address()) or any(each.startswith("--cluster") for each in given)
        get_ready(_workspace(given), ahead=False, stands_by=is_shared)  # for the processes of a cluster of this machine
    from fairness_engine.cli.main import main as command_line

    return command_line(given, program, others)


def _workspace(arguments: Sequence[str]) -> Path:
    import argparse
    from pathlib import Path

    from fairness_engine.store.environment import default_workspace

    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--workspace", type=Path, default=default_workspace())
    try:
        return parser.parse_known_args(arguments)[0].workspace  # type: ignore[no-any-return]
    except argparse.ArgumentError:  # which is said when all options are read
        return default_workspace()


if __name__ == "__main__":
    leave_with(main)
