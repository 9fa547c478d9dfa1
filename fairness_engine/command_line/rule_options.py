"""The options of the command ``rules``."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairness_engine.command_line import option_values
from fairness_engine.command_line.request import with_text
from fairness_engine.domain import Scope
from fairness_engine.errors import DataError, SettingError
from fairness_engine.rules.settings import Edges, RuleSettings
from fairness_engine.rules.terms import read_terms
from fairness_engine.schema import Schema

_DEFAULT = RuleSettings()
_NUMBERS = (
    ("support", "S", option_values.share, "the least share of the rows that a group holds"),
    ("error", "E", option_values.share, "the most a score may be off; 0 decides every neighbour of every row"),
    ("confidence", "C", option_values.share, "of the intervals, all together"),
    ("bins", "N", option_values.count, "ranges that a number is cut into"),
    (
        "max_attributes",
        "N",
        option_values.count_from_zero,
        "attributes in one rule set at most; 0: all where they are five or fewer, else three",
    ),
    ("least_samples", "N", option_values.count, "samples inside and outside each, at least"),
)
"""Setting, what stands for its value, how that is read, and what it means."""


def add_rule_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's own options; their defaults are those of ``RuleSettings``."""
    group = parser.add_argument_group("the rule sets")
    for name, value, read, meaning in _NUMBERS:
        default = getattr(_DEFAULT, name)
        text = f"{meaning} (default {default})"
        group.add_argument(f"--{name.replace('_', '-')}", type=read, default=default, metavar=value, help=text)
    group.add_argument(
        "--edges",
        default=_DEFAULT.edges.value,
        choices=[e.value for e in Edges],
        help=f"where numbers are cut: equal widths, or round numbers (default {_DEFAULT.edges.value})",
    )
    group.add_argument(
        "--one-sided", action="store_true", help='only ranges without a lower or an upper end ("60 or more")'
    )
    _add_source(group)
    _add_list(parser.add_argument_group("what is listed"))


def _add_source(group: argparse._ArgumentGroup) -> None:
    """Options of what decides, on what, and for how long."""
    group.add_argument(
        "--predictions",
        default="",
        metavar="COLUMN",
        help="compare this column's outcomes instead of the label's; without --model",
    )
    add_text_options(group)
    group.add_argument(
        "--max-seconds",
        type=option_values.positive,
        metavar="S",
        help="stop after so many seconds; what is scored is kept",
    )


def add_text_options(group: argparse._ArgumentGroup) -> None:
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
