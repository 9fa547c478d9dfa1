"""What docs/papers.md names is there: every item of the papers, and every page, command, option, file and heading it
points to.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairness_engine.cli.parser import make_parser
from fairness_engine.retraining.settings import Strategy
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.settings import settings_of
from pages.shared.app.navigation import PLACES

ITEMS = {
    "AEQUITAS": {"algorithm": "1 2 3 4 5", "table": "1 2 3 4 5", "figure": "1 2 3 4 5", "rq": "1 2 3"},
    "TestSGD": {"algorithm": "1 2", "table": "1 2 3 4 5 6 7 8", "figure": "1", "rq": "1 2 3"},
    "MAFT, with ADF and EIDIG": {"algorithm": "1 2 3 4", "table": "1 2", "figure": "1 3 4 10 11", "rq": "1 2 3"},
    "SG": {"algorithm": "1 2 3 4 5", "table": "1 2 3 4 5 6 7", "figure": "1 2 3 4"},
    "FairQuant": {"algorithm": "1 2 3 4", "table": "I II", "figure": "1 2 3 4 5", "rq": "1 2 3"},
}
"""Numbered items of each paper."""


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "papers.md").read_text(encoding="utf-8")


def table(page: str, paper: str) -> list[list[str]]:
    """The lines of a paper's table: item, page, command, result."""
    section = page.split(f"\n## {paper}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line[1:-1].split("|") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def lines(page: str) -> Iterator[list[str]]:
    for paper in ITEMS:
        yield from table(page, paper)


@pytest.mark.parametrize("paper", ITEMS)
def test_every_numbered_item_of_a_paper_has_a_line(page: str, paper: str) -> None:
    items = " ".join(line[0] for line in table(page, paper)).lower()
    for kind, numbers in ITEMS[paper].items():
        named = re.findall(rf"{kind}s? ?((?:\d+|[iv]+\b)(?: and (?:\d+|[iv]+\b))*)", items)
        found = {number for some in named for number in some.split(" and ")}
        assert set(numbers.lower().split()) <= found, kind


def test_every_line_says_where_or_why_not(page: str) -> None:
    for line in lines(page):
        assert len(line) == 4, line
        assert any(cell.strip() for cell in line[1:]), line
    assert "in work" not in page


def test_pages_are_those_of_the_menu(page: str) -> None:
    titles = {place.title for place in PLACES}
    for line in lines(page):
        assert set(re.findall(r"\*(\w+)\*", line[1])) <= titles, line


def test_commands_and_their_options_are_there(page: str) -> None:
    (choices,) = (a for a in make_parser()._actions if isinstance(a, argparse._SubParsersAction))
    for line in lines(page):
        for named in re.findall(r"`([^`]+)`", line[2]):
            check_command(shlex.split(named), choices.choices)


def check_command(words: list[str], parsers: dict[str, argparse.ArgumentParser]) -> None:
    """One command as it is printed: its options, what may be chosen for them, and settings of its technique."""
    actions = {option: action for action in parsers[words[0]]._actions for option in action.option_strings}
    given = {words[i]: words[i + 1] for i in range(len(words) - 1) if words[i].startswith("--")}
    for option in (word for word in words if word.startswith("--")):
        assert option in actions, words
        allowed = actions[option].choices
        assert allowed is None or given[option] in allowed, words
    assert set(given.get("--techniques", "random").split(",")) <= set(TECHNIQUES), words
    technique = TECHNIQUES[given.get("--technique", "random")]
    settings = [words[i + 1].partition("=")[0] for i, word in enumerate(words) if word == "--set"]
    assert set(settings) <= {setting.name for setting in settings_of(technique)}, words
    assert given.get("--strategy", "variants") in set(Strategy), words


def test_files_and_headings_are_there(root: Path, page: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page):
        name, _, anchor = target.partition("#")
        file = root / "docs" / name
        assert file.exists(), target
        headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert not anchor or anchor in {anchor_of(heading) for heading in headings}, target
    for name in re.findall(r"`([\w/.]+/[\w.]+)`", page):
        assert (root / name).exists(), name


def anchor_of(heading: str) -> str:
    """The part of an address that leads to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
