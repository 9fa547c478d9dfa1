"""The options of every command. ``docs/command-line.md`` lists them; a test compares the two."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from fairness_engine.certification.settings import Mode
from fairness_engine.certification.space import Weights
from fairness_engine.command_line import option_values
from fairness_engine.command_line.retrain_options import add_retrain_options
from fairness_engine.command_line.rule_options import add_rule_options
from fairness_engine.errors import SettingError
from fairness_engine.estimate import Distribution
from fairness_engine.runs.config import WORKSPACE_VARIABLE
from fairness_engine.search.registry import TECHNIQUES

PROGRAM = "python -m fairness_engine"


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage.

        Raises:
            SettingError: always.
        """
        raise SettingError(f"{message[:1].upper()}{message[1:]}. '{self.prog} --help' lists the options.")


def make_parser() -> Parser:
    """The whole command line."""
    parser = Parser(prog=PROGRAM, description="Find and count discrimination in a model.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    inspect = commands.add_parser(
        "inspect", help="what is in the data and the model, and do they fit", allow_abbrev=False
    )
    _add_inputs(inspect, is_model_needed=False)
    inspect.add_argument("--text-column", default="", metavar="COLUMN", help="the model takes the texts of this column")
    inspect.add_argument(
        "--known-answers",
        default="",
        metavar="A.csv",
        help="scores that the model gave in its own environment (column 'score', and the case's id or the order of --data), or a column of --data",
    )
    _add_common(inspect)
    _add_search(commands.add_parser("search", help="search for discriminatory pairs", allow_abbrev=False))
    _add_estimate(commands.add_parser("estimate", help="how often the model discriminates", allow_abbrev=False))
    _add_compare(commands.add_parser("compare", help="several techniques over several seeds", allow_abbrev=False))
    _add_count(commands.add_parser("count", help="count everyone the model discriminates against", allow_abbrev=False))
    _add_certify(commands.add_parser("certify", help="prove who is treated fairly, and who is not", allow_abbrev=False))
    _add_rules(
        commands.add_parser(
            "rules", help="which groups are treated differently, without naming one", allow_abbrev=False
        )
    )
    _add_retrain(commands.add_parser("retrain", help="train the model to discriminate less", allow_abbrev=False))
    _add_runs(commands.add_parser("runs", help="list, show, cancel and verify stored runs", allow_abbrev=False))
    return parser


def _add_inputs(parser: argparse.ArgumentParser, *, is_model_needed: bool = True) -> None:
    group = parser.add_argument_group("what is assessed")
    group.add_argument("--data", required=True, metavar="D.csv", help="the table")
    group.add_argument("--schema", metavar="S.json", help="its columns; inferred from the table when missing")
    group.add_argument(
        "--missing",
        type=option_values.names,
        default=(),
        metavar="a,b",
        help="spellings of a missing cell, beside those that are found by themselves",
    )
    group.add_argument("--favourable", metavar="OUTCOME", help="the label's outcome that is good for the person")
    group.add_argument("--id", metavar="COLUMN", help="the column that names the cases; no model takes it")
    group.add_argument("--model", required=is_model_needed, metavar="M", help="the model file")
    group.add_argument(
        "--protected", type=option_values.names, metavar="a,b", help="protected attributes; default: the schema's"
    )
    group.add_argument(
        "--positive",
        metavar="LABEL",
        help="the outcome whose probability the model's one score is; default: the second one",
    )
    group.add_argument(
        "--threshold", type=option_values.number, metavar="T", help="class 1 above this score; default: the model's own"
    )
    group.add_argument(
        "--gap",
        type=option_values.number,
        default=0.0,
        metavar="G",
        help="count scores that differ by more than this; 0: decisions that differ",
    )
    group.add_argument(
        "--fixed", type=option_values.names, default=(), metavar="a,b", help="attributes that must not vary"
    )
    group.add_argument(
        "--limit",
        type=option_values.limit,
        action="append",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="a narrower range (numbers; positions for categories)",
    )
    group.add_argument(
        "--values",
        type=option_values.values,
        action="append",
        default=[],
        metavar="NAME=V,V",
        help="values of a protected attribute to compare, instead of all",
    )
    group.add_argument(
        "--max-variants",
        type=option_values.count,
        default=1000,
        metavar="N",
        help="compare at most this many combinations of protected values (default 1000)",
    )
    group.add_argument(
        "--leave-out-impossible",
        action="store_true",
        help="do not compare protected values that the data never holds together",
    )
    group.add_argument(
        "--unsafe-formats", action="store_true", help="accept pickle and joblib files, which run code when loaded"
    )


def _add_common(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("seed, workspace and output")
    group.add_argument(
        "--seed",
        type=option_values.count_from_zero,
        default=0,
        metavar="N",
        help="where all chance comes from (default 0)",
    )
    _add_output(group)


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--workspace",
        type=Path,
        metavar="DIR",
        help=f"where runs are kept; default: {WORKSPACE_VARIABLE}, else ./workspace",
    )
    group.add_argument(
        "--json",
        metavar="FILE|-",
        help="write the result as one JSON object; - prints it, and nothing else, on standard output",
    )
    group.add_argument("--quiet", action="store_true", help="no progress")
    group.add_argument(
        "--fail-if",
        action="append",
        default=[],
        metavar="GATE",
        help='leave with status 1 when it holds, e.g. "estimate.high > 0.01"',
    )


def _add_search(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    group = parser.add_argument_group("the search")
    group.add_argument(
        "--technique", default="aequitas", metavar="NAME", help=f"one of {', '.join(TECHNIQUES)} (default aequitas)"
    )
    group.add_argument(
        "--set",
        type=option_values.setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the technique",
    )
    group.add_argument("--starts", type=option_values.count, metavar="N", help="the technique's setting n_starts")
    group.add_argument("--steps", type=option_values.count, metavar="N", help="the technique's setting n_steps")
    _add_budget(group)
    group.add_argument("--pairs", type=Path, metavar="FILE.csv", help="write the pairs, one row a person")
    _add_common(parser)


def _add_budget(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--start-rows",
        type=option_values.count,
        metavar="N",
        help="start from at most this many rows of the data, drawn by the seed; default: all",
    )
    group.add_argument(
        "--max-evaluations",
        type=option_values.count,
        metavar="N",
        help="stop after so many rows passed to the model (default 200000 when there is no other limit)",
    )
    group.add_argument("--max-seconds", type=option_values.positive, metavar="S", help="stop after so many seconds")
    group.add_argument(
        "--max-found", type=option_values.count, metavar="N", help="stop after so many individuals found"
    )


def _add_compare(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    group = parser.add_argument_group("the comparison")
    group.add_argument(
        "--techniques",
        type=option_values.names,
        required=True,
        metavar="a,b",
        help=f"some of {', '.join(TECHNIQUES)}; random and data-scan always",
    )
    group.add_argument(
        "--seeds",
        type=option_values.count,
        default=5,
        metavar="N",
        help="runs of each, with the seeds from --seed on (default 5)",
    )
    group.add_argument(
        "--set",
        type=option_values.setting_of,
        action="append",
        default=[],
        metavar="TECHNIQUE.NAME=VALUE",
        help="a setting of one technique",
    )
    group.add_argument("--count", action="store_true", help="count all discriminatory individuals as well")
    _add_budget(group)
    _add_common(parser)


def _add_estimate(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    group = parser.add_argument_group("the estimate")
    group.add_argument(
        "--samples", type=option_values.count, default=20_000, metavar="N", help="how many draws (default 20000)"
    )
    group.add_argument(
        "--distribution",
        default=Distribution.UNIFORM.value,
        choices=[d.value for d in Distribution],
        help="what is drawn (default uniform)",
    )
    group.add_argument("--max-seconds", type=option_values.positive, metavar="S", help="stop after so many seconds")
    _add_common(parser)


def _add_count(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    group = parser.add_argument_group("the count")
    group.add_argument(
        "--max-seconds", type=option_values.positive, metavar="S", help="give the count up after so many seconds"
    )
    _add_common(parser)


def _add_certify(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    group = parser.add_argument_group("the certification")
    group.add_argument(
        "--max-seconds",
        type=option_values.positive,
        default=60.0,
        metavar="S",
        help="stop refining after so many seconds (default 60)",
    )
    group.add_argument(
        "--mode",
        default=Mode.COUNTING.value,
        choices=[m.value for m in Mode],
        help="how a box is decided (default counting)",
    )
    group.add_argument(
        "--weights",
        default=Weights.UNIFORM.value,
        choices=[w.value for w in Weights],
        help="what a share is a share of (default uniform)",
    )
    group.add_argument(
        "--max-boxes",
        type=option_values.count,
        default=0,
        metavar="N",
        help="stop after so many boxes; default: no limit",
    )
    group.add_argument(
        "--target",
        type=option_values.share,
        default=0.0,
        metavar="T",
        help="stop when at most this share is undecided (default 0)",
    )
    group.add_argument("--pairs", type=Path, metavar="FILE.csv", help="write the counterexamples, one row a person")
    _add_common(parser)


def _add_rules(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser, is_model_needed=False)
    add_rule_options(parser)
    _add_common(parser)


def _add_retrain(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    add_retrain_options(parser)
    _add_common(parser)


def _add_runs(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    for name, text in (
        ("list", "all runs of the workspace"),
        ("show", "one run"),
        ("cancel", "stop a run and keep what it found"),
        ("verify", "look again whether what a run found holds"),
    ):
        action = actions.add_parser(name, help=text, allow_abbrev=False)
        if name != "list":
            action.add_argument("run_id", metavar="ID", help="the run's id, or its beginning")
        _add_output(action.add_argument_group("workspace and output"))
        if name == "verify":
            action.add_argument(
                "--unsafe-formats",
                action="store_true",
                help="accept pickle and joblib files, which run code when loaded",
            )
