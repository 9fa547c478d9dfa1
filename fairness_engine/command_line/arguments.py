"""The options of every command. ``docs/command-line.md`` lists them; a test compares the two."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import NoReturn

from fairness_engine.certification.settings import Mode
from fairness_engine.certification.space import Weights
from fairness_engine.errors import SettingError
from fairness_engine.estimate import Distribution
from fairness_engine.rules.settings import Edges, RuleSettings
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
    _add_runs(commands.add_parser("runs", help="list, show, cancel and verify stored runs", allow_abbrev=False))
    return parser


def _add_inputs(parser: argparse.ArgumentParser, *, is_model_needed: bool = True) -> None:
    group = parser.add_argument_group("what is assessed")
    group.add_argument("--data", required=True, metavar="D.csv", help="the table")
    group.add_argument("--schema", metavar="S.json", help="its columns; inferred from the table when missing")
    group.add_argument("--model", required=is_model_needed, metavar="M", help="the model file")
    group.add_argument("--protected", type=_names, metavar="a,b", help="protected attributes; default: the schema's")
    group.add_argument(
        "--threshold", type=_number, metavar="T", help="class 1 above this score; default: the model's own"
    )
    group.add_argument(
        "--gap",
        type=_number,
        default=0.0,
        metavar="G",
        help="count scores that differ by more than this; 0: decisions that differ",
    )
    group.add_argument("--fixed", type=_names, default=(), metavar="a,b", help="attributes that must not vary")
    group.add_argument(
        "--limit",
        type=_limit,
        action="append",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="a narrower range (numbers; positions for categories)",
    )
    group.add_argument(
        "--values",
        type=_values,
        action="append",
        default=[],
        metavar="NAME=V,V",
        help="values of a protected number to compare, instead of all",
    )
    group.add_argument(
        "--unsafe-formats", action="store_true", help="accept pickle and joblib files, which run code when loaded"
    )


def _add_common(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("seed, workspace and output")
    group.add_argument(
        "--seed", type=_count_from_zero, default=0, metavar="N", help="where all chance comes from (default 0)"
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
        "--set", type=_setting, action="append", default=[], metavar="NAME=VALUE", help="a setting of the technique"
    )
    group.add_argument("--starts", type=_count, metavar="N", help="the technique's setting n_starts")
    group.add_argument("--steps", type=_count, metavar="N", help="the technique's setting n_steps")
    _add_budget(group)
    group.add_argument("--pairs", type=Path, metavar="FILE.csv", help="write the pairs, one row a person")
    _add_common(parser)


def _add_budget(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--start-rows",
        type=_count,
        metavar="N",
        help="start from at most this many rows of the data, drawn by the seed; default: all",
    )
    group.add_argument(
        "--max-evaluations",
        type=_count,
        metavar="N",
        help="stop after so many rows passed to the model (default 200000 when there is no other limit)",
    )
    group.add_argument("--max-seconds", type=_positive, metavar="S", help="stop after so many seconds")
    group.add_argument("--max-found", type=_count, metavar="N", help="stop after so many individuals found")


def _add_compare(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    group = parser.add_argument_group("the comparison")
    group.add_argument(
        "--techniques",
        type=_names,
        required=True,
        metavar="a,b",
        help=f"some of {', '.join(TECHNIQUES)}; random and data-scan always",
    )
    group.add_argument(
        "--seeds", type=_count, default=5, metavar="N", help="runs of each, with the seeds from --seed on (default 5)"
    )
    group.add_argument(
        "--set",
        type=_setting_of,
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
    group.add_argument("--samples", type=_count, default=20_000, metavar="N", help="how many draws (default 20000)")
    group.add_argument(
        "--distribution",
        default=Distribution.UNIFORM.value,
        choices=[d.value for d in Distribution],
        help="what is drawn (default uniform)",
    )
    group.add_argument("--max-seconds", type=_positive, metavar="S", help="stop after so many seconds")
    _add_common(parser)


def _add_count(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    group = parser.add_argument_group("the count")
    group.add_argument("--max-seconds", type=_positive, metavar="S", help="give the count up after so many seconds")
    _add_common(parser)


def _add_certify(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    group = parser.add_argument_group("the certification")
    group.add_argument(
        "--max-seconds",
        type=_positive,
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
        "--max-boxes", type=_count, default=0, metavar="N", help="stop after so many boxes; default: no limit"
    )
    group.add_argument(
        "--target", type=_share, default=0.0, metavar="T", help="stop when at most this share is undecided (default 0)"
    )
    group.add_argument("--pairs", type=Path, metavar="FILE.csv", help="write the counterexamples, one row a person")
    _add_common(parser)


def _add_rules(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser, is_model_needed=False)
    default = RuleSettings()
    group = parser.add_argument_group("the rule sets")
    group.add_argument(
        "--support",
        type=_share,
        default=default.support,
        metavar="S",
        help=f"the least share of the rows that a group holds (default {default.support})",
    )
    group.add_argument(
        "--error",
        type=_share,
        default=default.error,
        metavar="E",
        help=f"the most a score may be off; 0 evaluates every neighbour of every row (default {default.error})",
    )
    group.add_argument(
        "--confidence",
        type=_share,
        default=default.confidence,
        metavar="C",
        help=f"of the intervals, all together (default {default.confidence})",
    )
    group.add_argument(
        "--bins",
        type=_count,
        default=default.bins,
        metavar="N",
        help=f"ranges that a number is cut into (default {default.bins})",
    )
    group.add_argument(
        "--edges",
        default=default.edges.value,
        choices=[e.value for e in Edges],
        help=f"where numbers are cut: equal widths, or round numbers (default {default.edges.value})",
    )
    group.add_argument(
        "--one-sided", action="store_true", help='only ranges without a lower or an upper end ("60 or more")'
    )
    group.add_argument(
        "--max-attributes",
        type=_count,
        default=default.max_attributes,
        metavar="N",
        help=f"attributes in one rule set at most (default {default.max_attributes})",
    )
    group.add_argument(
        "--least-samples",
        type=_count,
        default=default.least_samples,
        metavar="N",
        help=f"samples inside and outside each, at least (default {default.least_samples})",
    )
    group.add_argument(
        "--predictions",
        default="",
        metavar="COLUMN",
        help="compare this column's outcomes instead of the label's; without --model",
    )
    group.add_argument(
        "--max-seconds", type=_positive, metavar="S", help="stop after so many seconds; what is scored is kept"
    )
    group.add_argument(
        "--top",
        type=_count_from_zero,
        default=10,
        metavar="N",
        help="list so many rule sets, the highest scores first (default 10); 0 lists all of them, near-duplicates too",
    )
    group.add_argument(
        "--folded",
        action="store_true",
        help="list near-duplicates too, not the plainest of them alone",
    )
    texts = parser.add_argument_group("texts")
    texts.add_argument(
        "--text-column", default="", metavar="COLUMN", help="compare identity terms in the texts of this column"
    )
    texts.add_argument(
        "--terms", type=Path, metavar="FILE", help="the terms by category, JSON or CSV; default: the 48 of the paper"
    )
    _add_common(parser)


def _add_runs(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    for name, text in (
        ("list", "all runs of the workspace"),
        ("show", "one run"),
        ("cancel", "stop a run and keep what it found"),
        ("verify", "pass every stored pair through the model again"),
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


# --- values -------------------------------------------------------------------------------


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a finite number, got '{text}'")
    return value


def _positive(text: str) -> float:
    value = _number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"must be greater than 0, got '{text}'")
    return value


def _share(text: str) -> float:
    value = _number(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be a share from 0 to 1, got '{text}'")
    return value


def _count(text: str) -> int:
    return _whole(text, 1)


def _count_from_zero(text: str) -> int:
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    """A whole number; 1e6 and 1_000_000 are fine."""
    try:
        value = int(text)
    except ValueError:
        number = _number(text)
        value = int(number)
        if value != number:
            raise argparse.ArgumentTypeError(f"must be a whole number, got '{text}'") from None
    if value < least:
        raise argparse.ArgumentTypeError(f"must be at least {least}, got '{text}'")
    return value


def _assignment(text: str, example: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise argparse.ArgumentTypeError(f"must be like {example}, got '{text}'")
    return name.strip(), value.strip()


def _setting(text: str) -> tuple[str, str]:
    return _assignment(text, "n_steps=500")


def _setting_of(text: str) -> tuple[str, str]:
    return _assignment(text, "maft.n_starts=100")


def _limit(text: str) -> tuple[str, tuple[float, float]]:
    name, value = _assignment(text, "age=20:60")
    low, sign, high = value.partition(":")
    if not sign:
        raise argparse.ArgumentTypeError(f"must be like age=20:60, got '{text}'")
    return name, (_number(low), _number(high))


def _values(text: str) -> tuple[str, tuple[float, ...]]:
    name, value = _assignment(text, "age=20,40,60")
    return name, tuple(_number(part) for part in value.split(","))
