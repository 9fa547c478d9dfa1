"""A command from its words to its exit status."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairness_engine.cli.leaving import raise_interrupts
from fairness_engine.cli.output import COMMON_KEYS, COMMON_PARTS, ExitStatus, Outcome, sentence_of
from fairness_engine.errors import EvenhandError, ProcessError, SettingError, one_sentence
from fairness_engine.store.environment import (
    CLUSTER_VARIABLE,
    DATABASE_VARIABLE,
    DEPOT_VARIABLE,
    TRACEBACK_VARIABLE,
    cluster_address,
    is_yes,
)

if TYPE_CHECKING:
    import argparse


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
    except BrokenPipeError:  # whoever read what is said has gone
        _discard_output()
        return ExitStatus.DONE
    except Exception as error:
        if is_yes(TRACEBACK_VARIABLE):
            raise
        return _explain(error)


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain(error: Exception) -> ExitStatus:
    """Say what went wrong; returns the status to leave with."""
    from fairness_engine.cli.output import say

    say(_sentence(error))
    if not isinstance(error, EvenhandError):
        return ExitStatus.CRASHED
    if error.recipe:
        say(f"\n{error.recipe}")
    return ExitStatus.CRASHED if isinstance(error, ProcessError) else ExitStatus.BAD_INPUT


def _sentence(error: BaseException) -> str:
    """What went wrong."""
    if isinstance(error, EvenhandError):
        return sentence_of(error)
    if isinstance(error, MemoryError):
        return "The command needs more memory than there is. Use less data."
    if isinstance(error, KeyboardInterrupt):
        return "The command was cancelled."
    kind = type(error).__name__
    what = one_sentence(str(error), 150)
    return f"An unexpected error ended the command ({kind}: {what}). {TRACEBACK_VARIABLE}=1 shows where."


def _main(arguments: Sequence[str] | None, program: str, others: Mapping[str, str] | None) -> int:
    from fairness_engine.cli.output import write_result
    from fairness_engine.cli.parser import ACTIONS, PROGRAM, make_parser
    from fairness_engine.cli.pipeline import Pipeline, make_pipeline, typed
    from fairness_engine.cli.written_files import check_junit, check_written

    options = make_parser(program or PROGRAM, others).parse_args(arguments)
    _steer(options)
    check_junit(options)
    command, _ = _command(options)
    raise_interrupts()
    pipeline = Pipeline(typed(options), options.command, junit=options.junit)
    try:
        check_written(options)
        names = [*(name for name in COMMANDS if name != "runs"), *(f"runs {action}" for action in ACTIONS)]
        pipeline = make_pipeline(options, *_json_names(options), names)
        outcome = command(options)
        try:
            write_result(outcome.result, outcome.text, options.json)
        except BrokenPipeError:  # its reader has gone; the gates are looked at all the same
            _discard_output()
        if outcome.unwritten is not None:
            raise outcome.unwritten
        return pipeline.conclude(outcome)
    except BrokenPipeError:
        if not pipeline.is_asked:
            raise
        _discard_output()
        pipeline.break_off("Whoever read what the command said left before its gates were looked at.")
        return ExitStatus.CRASHED
    except (Exception, KeyboardInterrupt) as error:
        pipeline.break_off(_sentence(error))
        raise


def _steer(options: argparse.Namespace) -> None:
    """Let the processes of the command's runs know what was said of the database and the cluster.

    Raises:
        SettingError: the cluster is none, or the database's address holds a password.
        RunError: the database's address is none.
    """
    if getattr(options, "database", None) is not None:
        from fairness_engine.store.database.opening import read_url

        address = read_url(options.database)
        if address.password is not None or "password" in address.query:
            raise SettingError(
                "--database must hold no password, which whoever lists the processes would see. Put the whole address "
                f"into {DATABASE_VARIABLE}, or the password into the file that PGPASSFILE names."
            )
    names = {DATABASE_VARIABLE: "database", CLUSTER_VARIABLE: "cluster", DEPOT_VARIABLE: "files"}
    said = {variable: getattr(options, name, None) for variable, name in names.items()}
    os.environ.update({name: value for name, value in said.items() if value is not None})
    cluster_address()


COMMANDS = {
    "inspect": "inspect",
    "search": "search",
    "compare": "compare",
    "estimate": "search",
    "count": "search",
    "certify": "certify",
    "rules": "rules",
    "figures": "figures",
    "proxies": "proxies",
    "retrain": "retrain",
    "report": "report",
    "runs": "runs",
    "store": "store",
}
"""Which module of ``commands`` has a command, as a function of its name beside ``<NAME>_KEYS``, the names of its JSON;
``<NAME>_PARTS``, where it is there, has what is known of objects in it, ``<NAME>_ACTIONS`` all names for each action.
"""


def _command(options: argparse.Namespace) -> tuple[Callable[[argparse.Namespace], Outcome], tuple[str, ...]]:
    """The function of a command, and the names of its own in the JSON; only its module is loaded."""
    name: str = options.command
    module = importlib.import_module(f"fairness_engine.cli.commands.{COMMANDS[name]}")
    return getattr(module, name), getattr(module, f"{name.upper()}_KEYS")


def _json_names(options: argparse.Namespace) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """All names of a command's JSON, and what is known of objects in it."""
    name: str = options.command
    module = importlib.import_module(f"fairness_engine.cli.commands.{COMMANDS[name]}")
    of_actions: Mapping[str, tuple[str, ...]] = getattr(module, f"{name.upper()}_ACTIONS", {})
    keys = of_actions[options.action] if of_actions else (*COMMON_KEYS, *getattr(module, f"{name.upper()}_KEYS"))
    return keys, {**COMMON_PARTS, **getattr(module, f"{name.upper()}_PARTS", {})}
