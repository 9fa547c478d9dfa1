"""A command from its words to its exit status."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fairness_engine.cli.output import COMMON_KEYS, ExitStatus, Outcome
from fairness_engine.errors import EvenhandError, ProcessError, one_sentence
from fairness_engine.store.environment import TRACEBACK_VARIABLE, is_yes

if TYPE_CHECKING:
    import argparse

_LONG_WORD = re.compile(r"(\S{100})\S{100,}")
"""Shortened, so that a sentence that quotes it keeps its end, which says what to do."""


def main(arguments: Sequence[str] | None = None, program: str = "", others: Mapping[str, str] | None = None) -> int:
    """Do one command; returns the exit status. Errors are one sentence on standard error.

    Args:
        arguments: of the command line; ``None`` takes this process's own.
        program, others: as in ``make_parser``.
    """
    try:
        return _main(arguments, program, others)
    except KeyboardInterrupt:
        return ExitStatus.CANCELLED
    except BrokenPipeError:  # whoever read standard output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.DONE
    except Exception as error:
        if is_yes(TRACEBACK_VARIABLE):
            raise
        return _explain(error)


def _explain(error: Exception) -> ExitStatus:
    """Say what went wrong; returns the status to leave with."""
    from fairness_engine.cli.output import say

    if isinstance(error, EvenhandError):
        say(one_sentence(_LONG_WORD.sub(r"\1...", str(error))))
        if error.recipe:
            say(f"\n{error.recipe}")
        return ExitStatus.CRASHED if isinstance(error, ProcessError) else ExitStatus.BAD_INPUT
    if isinstance(error, MemoryError):
        say("The command needs more memory than there is. Use less data.")
    else:
        kind = type(error).__name__
        what = one_sentence(str(error), 150)
        say(f"An unexpected error ended the command ({kind}: {what}). {TRACEBACK_VARIABLE}=1 shows where.")
    return ExitStatus.CRASHED


def _main(arguments: Sequence[str] | None, program: str, others: Mapping[str, str] | None) -> int:
    from fairness_engine.cli.gate import read_gate
    from fairness_engine.cli.output import say, write_result
    from fairness_engine.cli.parser import PROGRAM, make_parser

    options = make_parser(program or PROGRAM, others).parse_args(arguments)
    command, keys = _command(options)
    gates = [read_gate(text) for text in options.fail_if]
    for gate in gates:
        gate.check_names((*COMMON_KEYS, *keys), options.command)
    outcome = command(options)
    write_result(outcome.result, outcome.text, options.json)
    if outcome.status is not ExitStatus.DONE:
        return outcome.status
    failed = [gate for gate in gates if gate.fails(outcome.result, options.command)]
    for gate in failed:
        say(f"Gate failed: {gate.text}.")
    return ExitStatus.GATE_FAILED if failed else ExitStatus.DONE


COMMANDS = {
    "inspect": "inspect",
    "search": "search",
    "compare": "compare",
    "estimate": "search",
    "count": "search",
    "certify": "certify",
    "rules": "rules",
    "figures": "figures",
    "retrain": "retrain",
    "report": "report",
    "runs": "runs",
}
"""Which module of ``commands`` has a command, as a function of its name beside ``<NAME>_KEYS``."""


def _command(options: argparse.Namespace) -> tuple[Callable[[argparse.Namespace], Outcome], tuple[str, ...]]:
    """The function of a command, and the names of its own in the JSON; only its module is loaded."""
    name: str = options.command
    module = importlib.import_module(f"fairness_engine.cli.commands.{COMMANDS[name]}")
    return getattr(module, name), getattr(module, f"{name.upper()}_KEYS")
