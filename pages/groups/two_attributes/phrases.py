"""What the page says of two protected attributes at once, in plain words; nothing here is escaped."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.groups.rule_sets.phrases import group_words, plain_name, share_text
from fairness_engine.groups.rule_sets.result import RuleResult
from pages.groups.two_attributes import cells as group_cells
from pages.groups.two_attributes.cells import Cells
from pages.groups.two_attributes.charts import everybody, shows_one_number
from pages.shared.app import wording


def only_text(result: RuleResult, only: Mapping[int, frozenset[int]]) -> str:
    """The filter in words: ``race Black or Asian``; empty without one."""
    parts = []
    for attribute, values in only.items():
        labels = [result.attributes[attribute].labels[value] for value in sorted(values)]
        parts.append(f"{plain_name(result.attributes[attribute].name)} {' or '.join(labels)}")
    return ", ".join(parts)


def summary(result: RuleResult, cells: Cells, only: Mapping[int, frozenset[int]]) -> str:
    """The lowest and the highest cell that has not too few rows, and what is empty or marked."""
    told = np.where(cells.is_few, np.nan, cells.share)
    whom = f"Counted only: {only_text(result, only)}. " if only else ""
    if np.isnan(told).all():
        return f"{whom}No cell has 2 % of the rows: every share here is of few people."
    low, high = (np.unravel_index(at(told), told.shape) for at in (np.nanargmin, np.nanargmax))
    text = (
        f"{whom}Lowest: {group_of(result, cells, only, *low)}, {percent(cells, *low)} favourable. Highest: "
        f"{group_of(result, cells, only, *high)}, {percent(cells, *high)}. "
        f"{'Mean of all cells' if cells.is_text else 'Everybody'}: {share_text(cells.overall)}."
    )
    n_empty = int((cells.n_rows == 0).sum())
    n_few = int(cells.is_few.sum())
    if n_few:
        are, have = ("is", "has") if n_few == 1 else ("are", "have")
        text += (
            f" {wording.counted(n_few, 'cell')} {have} under 2 % of the rows and {are} hatched: too few people to "
            "count here."
        )
    if n_empty:
        text += f" {wording.counted(n_empty, 'combination')} {'has' if n_empty == 1 else 'have'} no row."
    return text


def group_of(result: RuleResult, cells: Cells, only: Mapping[int, frozenset[int]], i: int, j: int) -> str:
    """The group of a cell in words."""
    values = group_cells.values_of(cells, only, i, j)
    rules = [NO_RULE] * len(result.attributes)
    for attribute, some in values.items():
        rule = group_cells.rule_of(result.attributes[attribute], some)
        if rule is None:  # ranges that no rule takes
            labels = [cells.down[i], *([cells.across[j]] if len(cells.attributes) > 1 else [])]
            return ", ".join([*labels, *([only_text(result, only)] if only else [])])
        rules[attribute] = rule
    return group_words(result.attributes, rules)


def percent(cells: Cells, i: int, j: int) -> str:
    """The share of a cell, with its interval where it has one."""
    ends = cells.ends(i, j)
    share = float(cells.share[i, j])
    return share_text(share) if ends is None else wording.share(share, *ends)


def how_text(cells: Cells) -> str:
    """What the numbers are, and what the marks mean."""
    if cells.is_text:
        return (
            "In a cell: the share of texts with the favourable outcome when both terms are swapped in. ▼ below and △ "
            "above the mean of all cells. Click on a cell to see its rule set."
        )
    rows = "all neighbours of the rows"
    if not cells.is_exact:
        rows = (
            f"{'the rows' if cells.is_column else 'the samples of the run'}, with a 95 % interval each under the mouse"
        )
    if shows_one_number(cells):
        return (
            f"In a cell: the favourable share of {rows}, in percent. Vermilion is below and blue above everybody's "
            "share; hatched: under 2 % of the rows. Click on a cell to see who that is."
        )
    place = "cell" if len(cells.attributes) > 1 else "bar"
    return (
        f"In a {place}: the favourable share of {rows}; and the rows of the data. ▼ below and △ above everybody's "
        f"share; hatched: under 2 % of the rows. Click on a {place} to see who that is."
    )


def cell_sentence(result: RuleResult, cells: Cells, only: Mapping[int, frozenset[int]], i: int, j: int) -> str:
    """A cell that is no rule set, in words."""
    group = group_of(result, cells, only, i, j)
    if not cells.drawn[i, j]:
        return f"{group}: {'no row of the data' if not cells.n_rows[i, j] else 'no sample was drawn here'}"
    n = wording.counted(int(cells.n_rows[i, j]), "row")
    return f"{group}: {percent(cells, i, j)} favourable, {everybody(cells)}; {n}"


def why_not_scored(cells: Cells, i: int, j: int) -> str:
    """Why a cell is no rule set of the run."""
    if not cells.n_rows[i, j]:
        return "Nobody in the data is like this."
    return (
        "No rule set of this run is exactly this group: it is smaller than the run's least share of the rows, or its "
        "ranges are not taken one by one."
    )
