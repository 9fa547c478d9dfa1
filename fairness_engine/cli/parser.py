"""The options of every command. ``docs/command-line.md`` lists them; a test compares the two."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from fairness_engine import __version__
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.cli import option_values
from fairness_engine.cli.option_values import Parser
from fairness_engine.cli.request import with_text
from fairness_engine.data.schema import Schema
from fairness_engine.errors import DataError, SettingError
from fairness_engine.groups.identity_terms.terms import read_terms
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.measures.proxies.settings import ProxySettings
from fairness_engine.oracle.domain import Distribution, Scope
from fairness_engine.retraining.settings import RetrainSettings, Strategy
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.settings import SettingInfo, Settings, settings_of
from fairness_engine.store.environment import (
    CLUSTER_VARIABLE,
    DATA_VARIABLE,
    DATABASE_VARIABLE,
    DEPOT_VARIABLE,
    WORKSPACE_VARIABLE,
)

AnySettings = TypeVar("AnySettings", bound=Settings)


def add_settings(group: argparse._ArgumentGroup, kind: type[Settings], *by_hand: str) -> None:
    """Add the options of settings, which say what the settings say, and ``--set`` where there are some without one.

    Args:
        by_hand: names of settings that follow from other options.
    """
    for info in settings_of(kind):
        if not info.option:
            continue
        named: dict[str, Any] = {"dest": info.name, "default": info.default}
        text = info.help[:1].lower() + info.help[1:].removesuffix(".").replace("%", "%%")
        if isinstance(info.default, bool):
            group.add_argument(info.flag, action="store_true", help=text, **named)
            continue
        default = "" if info.default == "" else f" (default {_plain(info.default)})"
        choices = [one for one in info.choices if one] or None
        stands = info.option.removeprefix(info.flag).strip()
        own: dict[str, Any] = {"choices": choices} if choices else {"type": info.read, "metavar": stands}
        group.add_argument(info.flag, help=f"{text}{default}", **named, **own)
    others = [info for info in settings_of(kind) if _is_by_set(info, by_hand)]
    if others:
        _add_set(group, f"another setting: {_listed(others)}; repeatable")


def _add_set(group: argparse._ArgumentGroup, text: str) -> None:
    group.add_argument(
        "--set", type=option_values.setting, action=option_values.Named, default=[], metavar="NAME=VALUE", help=text
    )


def _is_by_set(info: SettingInfo, by_hand: Collection[str]) -> bool:
    return not info.option and info.name not in by_hand


def _listed(infos: Iterable[SettingInfo]) -> str:
    """Names and defaults, as ``--set`` takes them."""
    return ", ".join(f"{info.name}={_plain(info.default)}" for info in infos)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def read_settings(options: argparse.Namespace, kind: type[AnySettings], **by_hand: Any) -> AnySettings:
    """The settings that the options describe.

    Args:
        by_hand: those that follow from other options, by name.

    Raises:
        SettingError: ``--set`` names a setting that there is none of, or that another option gives; one is out of its
            range.
    """
    infos = {info.name: info for info in settings_of(kind)}
    values = {name: getattr(options, name) for name, info in infos.items() if info.option} | by_hand
    for name, text in getattr(options, "set", ()):
        if name in infos and not _is_by_set(infos[name], by_hand):
            flag = infos[name].flag or f"--{name.replace('_', '-')}"
            where = f"is {flag}" if hasattr(options, name) else "follows from the other options"
            raise SettingError(f"--set takes settings without an option of their own; '{name}' {where}.")
        values[name] = text
    return kind.from_json(values)


def add_rule_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's own options."""
    group = parser.add_argument_group("the rule sets")
    add_settings(group, RuleSettings, "source", "text_column", "terms")
    _add_texts(group)
    group.add_argument(
        "--max-seconds",
        type=option_values.positive,
        metavar="S",
        help="stop after so many seconds; what is scored is kept",
    )
    _add_list(parser.add_argument_group("what is listed"))


def add_proxy_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's own options."""
    group = parser.add_argument_group("the proxies")
    add_settings(group, ProxySettings, "source")
    group.add_argument(
        "--max-seconds",
        type=option_values.positive,
        metavar="S",
        help="stop after so many seconds; the attributes that are done are kept",
    )


def _add_texts(group: argparse._ArgumentGroup) -> None:
    """Add what names the texts, and the terms in them."""
    group.add_argument(
        "--text-column", default="", metavar="COLUMN", help="compare identity terms in the texts of this column"
    )
    group.add_argument(
        "--terms", type=Path, metavar="FILE", help="the terms by category, JSON or CSV; default: the 48 of the paper"
    )


def named_terms(options: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """The terms that ``--terms`` names, by category; empty for the project's own list.

    Raises:
        SettingError: there are no texts that they would be looked for in, or the file holds no terms.
        DataError: there is no such file.
    """
    if not options.terms:
        return {}
    if not options.text_column:
        raise SettingError("--terms names what is looked for in texts: name their column with --text-column.")
    try:
        content = options.terms.read_bytes()
    except OSError as error:
        raise DataError(
            f"--terms must name a file of identity terms, got '{options.terms}': {error.strerror}."
        ) from None
    return dict(read_terms(content, options.terms.name))


def text_scope(options: argparse.Namespace, schema: Schema) -> tuple[Schema, Scope]:
    """The schema and the scope of a run on the texts of ``--text-column``.

    Raises:
        SettingError: protected attributes beside it, or it is the label.
    """
    if options.protected:
        raise SettingError("--protected names attributes of a table, and --text-column compares terms: leave one out.")
    return with_text(schema, options.text_column), Scope(protected=(options.text_column,), threshold=options.threshold)


def _add_list(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--top",
        type=option_values.count_from_zero,
        default=10,
        metavar="N",
        help="so many rule sets, the highest scores first (default 10); 0 lists all of them, near-duplicates too",
    )
    group.add_argument("--folded", action="store_true", help="near-duplicates too, not the plainest of them alone")


OF_TEXTS = Strategy.RULES
"""The strategy of a retraining of texts when none is named."""


def add_retrain_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's own options; their defaults are those of ``RetrainSettings``."""
    group = parser.add_argument_group("the retraining")
    group.add_argument(
        "--strategy",
        choices=[str(one) for one in Strategy],
        help=f"how the data, or the decision, is changed (default {RetrainSettings.strategy}; {OF_TEXTS} for texts)",
    )
    add_settings(group, RetrainSettings, "strategy", "cases", "rule_set", "terms")
    group.add_argument(
        "--cases",
        type=option_values.names,
        default=(),
        metavar="ID,ID",
        help="learn from the pairs of these runs; default: a search of the strategy's own",
    )
    group.add_argument(
        "--rule-set",
        type=option_values.place,
        metavar="ID:RANK",
        help="the rule set of a run that the strategy rules corrects; default: the worst",
    )
    group.add_argument(
        "--max-seconds", type=option_values.positive, metavar="S", help="begin no round after so many seconds"
    )
    _add_texts(group)
    _add_results(parser.add_argument_group("what comes out"))


def _add_results(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--out-model", type=Path, metavar="FILE", help="write the new model, and its card beside it as FILE.md"
    )
    group.add_argument(
        "--keep-anyway",
        action="store_true",
        help="write the new model, and leave with status 0, also where it discriminates more than before",
    )


PROGRAM = "python -m fairness_engine"


def make_parser(program: str = PROGRAM, others: Mapping[str, str] | None = None) -> Parser:
    """The whole command line.

    Args:
        program: what it is called.
        others: further commands, which the caller works itself, and what each does.
    """
    parser = Parser(prog=program, description="Find and count discrimination in a model.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"evenhand {__version__}")
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
        help="scores that the model gave in its own environment (column 'score', and the case's id or the order of "
        "--data), or a column of --data",
    )
    inspect.add_argument(
        "--out-schema",
        type=Path,
        metavar="S.json",
        help="write the columns as they are read, to be corrected and given as --schema",
    )
    inspect.add_argument(
        "--suggest-links",
        action="store_true",
        help="columns whose values the data has with one protected value only, and what they become with another",
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
    _add_figures(commands.add_parser("figures", help="rates and impact ratios by group", allow_abbrev=False))
    _add_proxies(
        commands.add_parser("proxies", help="which other columns tell a protected attribute", allow_abbrev=False)
    )
    _add_retrain(commands.add_parser("retrain", help="train the model to discriminate less", allow_abbrev=False))
    _add_report(commands.add_parser("report", help="what runs found, as a document", allow_abbrev=False))
    _add_runs(
        commands.add_parser(
            "runs", help="list, show, cancel and verify stored runs; try the walls around a model", allow_abbrev=False
        )
    )
    _add_store(commands.add_parser("store", help="take the store to a team's server, or back", allow_abbrev=False))
    for name, text in (others or {}).items():
        commands.add_parser(name, help=text, allow_abbrev=False)
    return parser


def _add_inputs(parser: argparse.ArgumentParser, *, is_model_needed: bool = True) -> None:
    group = parser.add_argument_group("what is assessed")
    source = group.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", metavar="D.csv", help="the table, a CSV or Parquet file")
    source.add_argument(
        "--data-query", metavar="Q.sql", help="instead of a file: a query, or the file of one; its rows are the table"
    )
    group.add_argument(
        "--data-url",
        metavar="URL",
        help=f"the database of the query, of PostgreSQL or SQLite; default: {DATA_VARIABLE}, which hides a password",
    )
    group.add_argument("--data-name", metavar="NAME", help="what the rows of the query are called (default query)")
    group.add_argument("--schema", metavar="S.json", help="its columns; inferred from the table when missing")
    group.add_argument(
        "--missing",
        type=option_values.names,
        default=(),
        metavar="a,b",
        help="spellings of a missing cell, beside those that are found by themselves",
    )
    group.add_argument("--label", metavar="COLUMN", help="the column of outcomes; '' for none")
    group.add_argument("--favourable", metavar="OUTCOME", help="the outcome that is good for the person")
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
        action=option_values.Named,
        default=[],
        metavar="NAME=LOW:HIGH",
        help="a narrower range (numbers; positions for categories)",
    )
    group.add_argument(
        "--values",
        type=option_values.values,
        action=option_values.Named,
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
        "--link",
        action="append",
        default=[],
        metavar="A:B=V/W",
        help="column B goes with the protected attribute A: its value V becomes W when A changes, one value for each "
        "of A's in their order (sex:relationship=Husband/Wife); several roles by commas, repeatable",
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
    group.add_argument(
        "--cluster",
        metavar="N|tcp://HOST:PORT",
        help="who works on large runs beside this process: so many processes here, or those of a Dask scheduler; "
        f"default: {CLUSTER_VARIABLE}, else nobody",
    )
    group.add_argument(
        "--files",
        metavar="URL",
        help=f"where all machines of the cluster find files; default: {DEPOT_VARIABLE}, else the workspace",
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
        "--database", metavar="URL", help=f"where runs are noted; default: {DATABASE_VARIABLE}, else in the workspace"
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
    group.add_argument(
        "--policy", type=Path, metavar="FILE.yaml", help="gates with names and reasons, by command; beside --fail-if"
    )
    group.add_argument(
        "--junit", type=Path, metavar="FILE.xml", help="write what became of each gate as test cases, JUnit XML"
    )


def _add_search(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    group = parser.add_argument_group("the search")
    group.add_argument(
        "--technique", default="aequitas", metavar="NAME", help=f"one of {', '.join(TECHNIQUES)} (default aequitas)"
    )
    _add_set(group, "a setting of the technique, which are listed below; repeatable")
    _add_only_plausible(group)
    group.add_argument("--starts", type=option_values.count, metavar="N", help="the technique's setting n_starts")
    group.add_argument("--steps", type=option_values.count, metavar="N", help="the technique's setting n_steps")
    _add_budget(group)
    group.add_argument("--pairs", type=Path, metavar="FILE.csv", help="write the pairs, one row a person")
    _add_common(parser)
    for name, technique in TECHNIQUES.items():
        if settings_of(technique):
            parser.add_argument_group(f"settings of {name}", _listed(settings_of(technique)))


def _add_only_plausible(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--only-plausible",
        action="store_true",
        help="only pairs of two people who could exist: of directed, maft-plus and sg-shared",
    )


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
        action=option_values.Named,
        default=[],
        metavar="TECHNIQUE.NAME=VALUE",
        help="a setting of one technique",
    )
    _add_only_plausible(group)
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
    add_settings(group, CertifySettings)
    group.add_argument("--pairs", type=Path, metavar="FILE.csv", help="write the counterexamples, one row a person")
    _add_common(parser)


def _add_rules(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser, is_model_needed=False)
    add_rule_options(parser)
    _add_common(parser)


def _add_figures(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser, is_model_needed=False)
    group = parser.add_argument_group("figures")
    group.add_argument(
        "--by",
        type=option_values.names,
        action="append",
        default=[],
        metavar="a,b",
        help="a table of the groups of these attributes together; default: each protected one, every two, all of three",
    )
    group.add_argument(
        "--predictions", metavar="COLUMN", help="without a model: compare this column's outcomes instead of the label's"
    )
    group.add_argument(
        "--bins", type=option_values.ranges, default=10, metavar="N", help="ranges that a number is cut into (10)"
    )
    group.add_argument(
        "--edges", choices=("round", "equal"), default="round", help="where numbers are cut; default: at round numbers"
    )
    _add_common(parser)


def _add_proxies(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser, is_model_needed=False)
    add_proxy_options(parser)
    _add_common(parser)


def _add_retrain(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    add_retrain_options(parser)
    _add_common(parser)


def _add_report(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the report")
    group.add_argument("--review", metavar="ID", help="of all that a review has")
    group.add_argument(
        "--run",
        nargs="+",
        action="extend",
        default=[],
        metavar="ID",
        help="of these runs; the beginning of an id will do",
    )
    group.add_argument(
        "--preset",
        default="plain",
        metavar="NAME",
        help="plain, nyc-local-law-144, four-fifths, eu-ai-act, iso-12791, adverse-outcome, or a JSON file of your own",
    )
    group.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where it is written")
    group.add_argument("--prepared-by", metavar="NAME", help="who it is by")
    group.add_argument("--organisation", metavar="NAME", help="whose model it is")
    group.add_argument("--purpose", metavar="TEXT", help="what the model is for, in a sentence")
    group.add_argument("--person", metavar="RUN:N", help="the pair that a sheet for one person is about")
    group.add_argument(
        "--without-people",
        action="store_true",
        help="no people in the report, no data and no model in the bundle: one of a pair may be real",
    )
    _add_output(parser.add_argument_group("workspace and output"))


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["copy"], help="copy every line of the database; files stay where they are")
    parser.add_argument(
        "--to",
        choices=["server", "workspace"],
        required=True,
        help=f"to the database that {DATABASE_VARIABLE} names, from the workspace's own; or back",
    )
    _add_output(parser.add_argument_group("workspace and output"))


ACTIONS = {
    "list": "all runs of the workspace",
    "show": "one run",
    "cancel": "stop a run and keep what it found",
    "verify": "look again whether what a run found holds",
    "clean": "name runs that ended long ago and files that nothing needs, and remove them where asked",
    "walls": "try the walls around a model on this machine, from inside",
}
"""Of ``runs``."""


def _add_runs(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    for name, text in ACTIONS.items():
        action = actions.add_parser(name, help=text, allow_abbrev=False)
        if name == "walls":
            action.add_argument(
                "--newest-landlock",
                type=option_values.count_from_zero,
                metavar="N",
                help="as on a kernel whose Landlock is of version N, or that has none (0)",
            )
        elif name == "clean":
            action.add_argument(
                "--older-than",
                type=option_values.days,
                required=True,
                metavar="DAYS",
                help="runs that ended, and files that were added, more than so many days ago, such as 30d",
            )
            action.add_argument("--remove", action="store_true", help="remove them; without it they are only named")
        elif name == "verify":
            action.add_argument(
                "run_id", metavar="ID|BUNDLE", help="the run's id, or its beginning; or the folder of a bundle"
            )
        elif name != "list":
            action.add_argument("run_id", metavar="ID", help="the run's id, or its beginning")
        _add_output(action.add_argument_group("workspace and output"))
        if name == "verify":
            for option, metavar in (("--data", "D.csv"), ("--model", "M")):
                action.add_argument(
                    option,
                    action="append",
                    default=[],
                    metavar=metavar,
                    help="a file that a bundle names and does not hold; repeatable",
                )
            action.add_argument(
                "--unsafe-formats",
                action="store_true",
                help="accept pickle and joblib files, which run code when loaded",
            )
