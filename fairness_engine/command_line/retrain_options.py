"""The options of the command ``retrain``, and the settings that they describe."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from fairness_engine.command_line import option_values
from fairness_engine.command_line.rule_options import add_text_options, named_terms
from fairness_engine.errors import SettingError
from fairness_engine.mitigation.settings import Labels, Reference, RetrainSettings, Strategy, Surrogate

_DEFAULT = RetrainSettings()
_OWN = ("strategy", "tolerance", "labels", "technique", "reference", "surrogate", "measure_seconds")
"""Settings that have an option of their name."""
_OTHERWISE = {"cases": "--cases", "rule_set": "--rule-set", "max_rounds": "--rounds"} | {
    name: f"--{name.replace('_', '-')}" for name in (*_OWN, "terms")
}
_OF_TEXTS = Strategy.RULES
"""The strategy for texts when none is named."""


def add_retrain_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's own options; their defaults are those of ``RetrainSettings``."""
    group = parser.add_argument_group("the retraining")
    group.add_argument(
        "--strategy",
        choices=[str(one) for one in Strategy],
        help=f"how the data, or the decision, is changed (default {_DEFAULT.strategy}; {_OF_TEXTS} for texts)",
    )
    group.add_argument(
        "--tolerance",
        type=option_values.share,
        default=_DEFAULT.tolerance,
        metavar="T",
        help=f"how much accuracy may fall, as a share (default {_DEFAULT.tolerance})",
    )
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
        "--technique", default="", metavar="NAME", help="of the search for cases; default: the strategy's"
    )
    _add_choice(group, "labels", Labels, "who labels added people")
    _add_choice(group, "reference", Reference, "what the tolerance counts from")
    _add_choice(group, "surrogate", Surrogate, "what to train instead of a model that cannot be trained", default="")
    group.add_argument("--rounds", type=option_values.count, metavar="N", help="models trained at most")
    group.add_argument(
        "--set",
        type=option_values.setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another setting of a retraining",
    )
    group.add_argument(
        "--max-seconds", type=option_values.positive, metavar="S", help="begin no round after so many seconds"
    )
    add_text_options(group)
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
    group.add_argument(
        "--measure-seconds",
        type=option_values.from_zero,
        default=_DEFAULT.measure_seconds,
        metavar="S",
        help="afterwards certify both models for so many seconds each, search them and score their rule sets "
        f"(default {_DEFAULT.measure_seconds:g}); 0: none of it",
    )


def _add_choice(
    group: argparse._ArgumentGroup, name: str, kind: type[Any], meaning: str, default: str | None = None
) -> None:
    chosen = str(getattr(_DEFAULT, name)) if default is None else default
    said = f" (default {chosen})" if chosen else ""
    group.add_argument(f"--{name}", default=chosen, choices=[str(one) for one in kind if one], help=f"{meaning}{said}")


def read_settings(
    options: argparse.Namespace, run_ids: tuple[str, ...] = (), rule_set: tuple[str, int] | None = None
) -> RetrainSettings:
    """The settings that the options describe.

    Args:
        run_ids: whole ids of the runs that ``--cases`` names.
        rule_set: whole id and position of what ``--rule-set`` names.

    Raises:
        SettingError: a setting that there is none of, that has an option of its own, or out of its range.
    """
    values: dict[str, Any] = {name: getattr(options, name) for name in _OWN}
    values["strategy"] = options.strategy or (_OF_TEXTS if options.text_column else _DEFAULT.strategy)
    values["terms"] = named_terms(options)
    values["cases"] = [[run_id, []] for run_id in run_ids]
    values["rule_set"] = None if rule_set is None else list(rule_set)
    if options.rounds is not None:
        values["max_rounds"] = options.rounds
    kinds = {one.name: type(getattr(_DEFAULT, one.name)) for one in fields(RetrainSettings)}
    for name, text in options.set:
        if name in _OTHERWISE:
            raise SettingError(f"--set takes settings without an option of their own; '{name}' is {_OTHERWISE[name]}.")
        values[name] = _read(name, text, kinds.get(name, str))
    return RetrainSettings.from_json(values)


def _read(name: str, text: str, kind: type[Any]) -> Any:
    """The value of a setting.

    Raises:
        SettingError: it is no number where one is needed.
    """
    if not issubclass(kind, int | float):
        return text
    try:
        value = float(text)
        return int(value) if issubclass(kind, int) and value == int(value) else value
    except (ValueError, OverflowError):
        raise SettingError(f"The setting '{name}' must be a number, got '{text}'.") from None
