"""Frequent rule sets: every combination of rules whose group is large enough (paper 001, Algorithm 1), by Apriori.

A rule set's group is never larger than that of a part of it, so a rule set is looked at only if all its parts without one rule are
frequent. Counts come from grids of values, not from rows: a grid of three attributes has at most a few thousand cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairness_engine.errors import SettingError
from fairness_engine.events import IntArray
from fairness_engine.rules.settings import MAX_RULE_SETS, RuleSettings
from fairness_engine.rules.space import NO_RULE, RuleSpace, attribute_sets

_BLOCK_NUMBERS = 2_000_000


@dataclass(frozen=True)
class Mined:
    """Frequent rule sets.

    Args:
        rules: ``(n_rule_sets, n_attributes)``, fewer attributes first.
        n_rows: rows of the data inside each ``(n_rule_sets,)``.
        n_whole: rule sets left out because no row lies outside them.
        largest: the largest support of any rule set with a row outside it; 0 when there is none.
        max_attributes: attributes in a rule set at most; less than asked where there would be too many rule sets.
    """

    rules: IntArray
    n_rows: IntArray
    n_whole: int
    largest: float
    max_attributes: int


def least_rows(settings: RuleSettings, n_rows: int) -> int:
    """How many of the rows a group must hold."""
    return max(1, math.ceil(settings.support * n_rows - 1e-9))


def mine(space: RuleSpace, settings: RuleSettings) -> Mined:
    """Every frequent rule set of at most ``max_attributes`` rules.

    Raises:
        SettingError: no rule set is frequent; the message says the largest support there is.
    """
    least = least_rows(settings, space.n_rows)
    n_attributes = len(space.attributes)
    levels: list[IntArray] = []
    counts: list[IntArray] = []
    n_whole, largest, reached = 0, 0.0, 0
    n_found = 0
    known: dict[tuple[int, ...], IntArray] = {}
    for size in range(1, min(settings.max_attributes, n_attributes) + 1):
        found: dict[tuple[int, ...], IntArray] = {}
        level: list[IntArray] = []
        level_counts: list[IntArray] = []
        for which in attribute_sets(n_attributes, size):
            rules, n_rows = _candidates(space, which, known, least)
            n_whole += int((n_rows == space.n_rows).sum())
            proper = n_rows < space.n_rows
            if size == 1 and proper.any():
                largest = max(largest, float(n_rows[proper].max()) / space.n_rows)
            is_frequent = n_rows >= least
            found[which] = rules[is_frequent]
            keep = is_frequent & proper
            level.append(_spread(rules[keep], which, n_attributes))
            level_counts.append(n_rows[keep])
            n_found += int(keep.sum())
            if n_found > MAX_RULE_SETS and size > 1:
                break
        if n_found > MAX_RULE_SETS and size > 1:
            break
        known, reached = found, size
        levels += level
        counts += level_counts
    rules = np.concatenate(levels) if levels else np.empty((0, n_attributes), np.int64)
    if not len(rules):
        raise SettingError(
            f"No group holds {settings.support:.3g} of the rows: the largest that leaves a row outside it holds {largest:.3g}. "
            "Ask for a smaller support, or for other attributes."
        )
    return Mined(rules, np.concatenate(counts), n_whole, largest, reached)


def _candidates(
    space: RuleSpace, which: tuple[int, ...], known: dict[tuple[int, ...], IntArray], least: int
) -> tuple[IntArray, IntArray]:
    """Rule sets on these attributes whose parts are frequent, and the rows in each."""
    ones = np.ones((1, space.n_rows))
    last = space.attributes[which[-1]]
    if len(which) == 1:
        n_rows = last.members @ space.grid(which, ones)[0]
        return np.arange(last.n_rules)[:, None], np.rint(n_rows).astype(np.int64)
    prefixes = known[which[:-1]]
    ends = _frequent_alone(space, which[-1], least)
    size = max(1, _BLOCK_NUMBERS // max(1, len(ends)))
    blocks, sums = [], []
    for start in range(0, len(prefixes), size):
        part = prefixes[start : start + size]
        table = _prefix_sums(space, which, part)
        n_rows = np.rint(table @ last.members[ends].T.astype(np.float64)).astype(np.int64)
        prefix, end = np.nonzero(n_rows >= least)
        blocks.append(np.column_stack([part[prefix], ends[end]]))
        sums.append(n_rows[prefix, end])
    empty = np.empty((0, len(which)), np.int64)
    return np.concatenate([empty, *blocks]), np.concatenate([np.empty(0, np.int64), *sums])


def _frequent_alone(space: RuleSpace, attribute: int, least: int) -> IntArray:
    """Rules of one attribute that are frequent by themselves."""
    counts = space.attributes[attribute].members @ space.grid((attribute,), np.ones((1, space.n_rows)))[0]
    return np.flatnonzero(counts >= least)


def _prefix_sums(space: RuleSpace, which: tuple[int, ...], prefixes: IntArray) -> np.ndarray:
    """Rows inside each prefix by the value of the last attribute, ``(n_prefixes, n_values)``."""
    table = space.grid(which, np.ones((1, space.n_rows)))[0]
    first = space.attributes[which[0]].members.astype(np.float64)
    partial = np.tensordot(first, table, axes=(1, 0))[prefixes[:, 0]]
    for position, i in enumerate(which[1:-1], start=1):
        members = space.attributes[i].members.astype(np.float64)[prefixes[:, position]]
        partial = np.einsum("nv...,nv->n...", partial, members)
    return np.asarray(partial)


def _spread(rules: IntArray, which: tuple[int, ...], n_attributes: int) -> IntArray:
    out = np.full((len(rules), n_attributes), NO_RULE, dtype=np.int64)
    out[:, list(which)] = rules
    return out
