"""A command in a program that was forked for it (``relay.py``), which has loaded all that commands need."""

from __future__ import annotations

import importlib
import io
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TextIO

from fairness_engine.cli import main as command_line
from fairness_engine.cli import parser, pipeline  # noqa: F401 - what every command needs
from fairness_engine.cli.leaving import leave_with

for _module in sorted(set(command_line.COMMANDS.values())):
    importlib.import_module(f"fairness_engine.cli.commands.{_module}")


def main(arguments: Sequence[str]) -> NoReturn:
    """Do one command, and end with its status.

    Args:
        arguments: what ``relay.relayed`` tells, as one.
    """
    told = json.loads(arguments[0])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # whoever calls passes on what is not to be ignored
    sys.stdin, sys.stdout, sys.stderr = map(_open_stream, range(3), told["streams"])
    leave_with(lambda: command_line.main(told["arguments"], told["program"], told["others"]))


def _open_stream(file: int, manner: Mapping[str, Any]) -> TextIO:
    """A standard stream as the caller has it; the fork server's own was opened on another kind of file."""
    binary = open(file, "wb" if file else "rb", closefd=False)  # noqa: SIM115 - it stays to the end
    return io.TextIOWrapper(binary, **manner)
