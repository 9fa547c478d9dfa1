"""The documentation of the command line names every option, and none that is not there."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from fairness_engine.cli.commands.retrain import SIDE_KEYS, settings_of_options
from fairness_engine.cli.main import _command
from fairness_engine.cli.output import COMMON_KEYS, ExitStatus
from fairness_engine.cli.parser import make_parser
from fairness_engine.retraining.settings import Labels, Reference, RetrainSettings, Strategy, Surrogate
from fairness_engine.search.registry import TECHNIQUES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
SHARED_SECTION = "## Options of every command but `report`, `runs` and `store`"


def section(title: str) -> str:
    return PAGE.split(title + "\n", 1)[1].split("\n## ", 1)[0]


def table_options(title: str) -> set[str]:
    """Options in the first column of a section's table."""
    cells = re.findall(r"^\| (`--[^|]+)\|", section(title), flags=re.MULTILINE)
    return {option for cell in cells for option in re.findall(r"`(--[a-z-]+)", cell)}


def commands() -> dict[str, argparse.ArgumentParser]:
    (choices,) = (a for a in make_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(choices.choices)


def options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from options_of(inner)
        yield from (option for option in action.option_strings if option.startswith("--"))


@pytest.mark.parametrize("command", sorted(set(commands()) - {"runs"}))
def test_every_option_is_in_the_tables_and_nothing_else(command: str) -> None:
    shared = set() if command in ("report", "store") else table_options(SHARED_SECTION)
    documented = shared | table_options(f"## Options of `{command}`")
    assert documented == set(options_of(commands()[command]))


def test_runs_is_documented() -> None:
    text = section("## `runs`")
    (actions,) = (a for a in commands()["runs"]._actions if isinstance(a, argparse._SubParsersAction))
    assert set(re.findall(r"^\| `(\w+)", text, flags=re.MULTILINE)) == set(actions.choices)
    for option in set(options_of(commands()["runs"])) - {"--help"}:
        assert f"`{option}`" in text


def test_every_name_of_the_json_is_documented() -> None:
    text = section("## The JSON")
    own = {key for name in commands() for key in _command(argparse.Namespace(command=name))[1]} | set(SIDE_KEYS)
    for name in (*COMMON_KEYS, *own):
        assert f"`{name}`" in text, name


def test_every_technique_and_every_status_is_documented() -> None:
    for name in TECHNIQUES:
        assert f"`{name}`" in section("## Options of `search`")
    for status in ExitStatus:
        assert re.search(rf"^\| {status.value} \|", PAGE, flags=re.MULTILINE)


def test_every_setting_of_a_retraining_has_an_option_or_is_named() -> None:
    """A setting that nobody can give, or a default that the options change, would not be noticed otherwise."""
    text = section("## Options of `retrain`")
    options = make_parser().parse_args(["retrain", "--data", "d", "--model", "m"])
    assert settings_of_options(options) == RetrainSettings()
    own = {"cases": "--cases", "rule_set": "--rule-set", "max_rounds": "--rounds"}
    for one in fields(RetrainSettings):
        option = own.get(one.name, f"--{one.name.replace('_', '-')}")
        assert f"`{option} " in text or f"`{one.name}`" in text, one.name
    for kind in (Strategy, Labels, Reference, Surrogate):
        for choice in kind:
            assert not choice or f"`{choice}`" in text, choice
