"""Whether arrays that claim to be scored rule sets are some, of the run that asked for them.

The process that scores holds a model that nobody vouches for. What it sends is compared with what the run asked (attributes, support,
rules), and with itself: the rows of a group are those of its cells, samples are part of those drawn, scores lie in their intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.attributes import TERM, BoolArray, RuleAttribute
from fairness_engine.rules.mining import least_rows, rests
from fairness_engine.rules.scored import RuleResult, ScoredRuleSets, Stage
from fairness_engine.rules.settings import MAX_RULE_SETS, RuleSettings
from fairness_engine.rules.space import NO_RULE

_TOLERANCE = 1e-9
_MAX_ROWS = 2**40
_FLOATS = ("low", "high", "error")
_SHARED = (Stage.POOL, Stage.EXACT, Stage.ROWS)
"""Stages whose samples are the ones that the cells count."""


def read_checked(
    arrays: Mapping[str, Any], content: Mapping[str, Any], settings: RuleSettings, asked: tuple[RuleAttribute, ...]
) -> RuleResult:
    """The result that arrays and their description make.

    Args:
        arrays, content: as they were sent.
        settings: what was asked.
        asked: the attributes that rule sets must be on: the scope's, cut as the settings say, or categories of terms.

    Raises:
        ValueError, TypeError, KeyError: it is no result of such a run; a ``ValueError`` names the part.
    """
    n_rows = content["n_rows"]
    _hold("rows", isinstance(n_rows, int) and not isinstance(n_rows, bool) and 0 < n_rows < _MAX_ROWS)
    result = RuleResult.from_parts(arrays, content)
    _check_types(arrays, result)
    _hold("attributes", result.attributes == asked)
    _check_rules(result, settings)
    _check_counts(result.scored)
    if any(each.kind == TERM for each in asked):
        _check_texts(result, settings)
    else:
        _check_cells(result)
        _check_against_cells(result, settings)
    _check_scores(result.scored)
    _check_families(result.scored)
    return result


def _check_types(arrays: Mapping[str, Any], result: RuleResult) -> None:
    n, n_cells, n_attributes = len(result.scored.rules), len(result.cells.codes), len(result.attributes)
    _hold("names", set(arrays) == set(result.to_arrays()))
    _hold("number of rule sets", 0 < n <= 2 * MAX_RULE_SETS)
    for part, shape, of_lines in ((result.scored, (n,), "rules"), (result.cells, (n_cells,), "codes")):
        for name in (each.name for each in fields(part)):
            array = getattr(part, name)
            is_right = array.shape == ((*shape, n_attributes) if name == of_lines else shape)
            _hold(f"type of {name}", is_right and array.dtype == (np.float64 if name in _FLOATS else np.int64))


def _check_rules(result: RuleResult, settings: RuleSettings) -> None:
    rules = result.scored.rules
    n_rules = np.array([attribute.n_rules for attribute in result.attributes])
    _hold("rules", bool(((rules >= NO_RULE) & (rules < n_rules)).all()))
    size = (rules != NO_RULE).sum(axis=1)
    _hold("sizes of rule sets", bool(((size >= 1) & (size <= settings.most_attributes(len(n_rules)))).all()))
    _hold("rule sets, which are there twice", len(np.unique(rules, axis=0)) == len(rules))


def _check_counts(scored: ScoredRuleSets) -> None:
    for name in ("inside", "outside"):
        n, favourable = getattr(scored, f"n_{name}"), getattr(scored, f"favourable_{name}")
        _hold(f"samples {name}", bool(((favourable >= 0) & (favourable <= n)).all()))


def _check_texts(result: RuleResult, settings: RuleSettings) -> None:
    """A text may lie in many groups, also in all of them, so there are no cells, and no rule set leaves few outside."""
    scored = result.scored
    _hold("cells, which texts have none of", not len(result.cells.codes))
    is_large = scored.n_rows >= least_rows(settings, result.n_rows)
    _hold("support of rule sets", bool((is_large & (scored.n_rows <= result.n_rows)).all()))
    _hold("rests", not scored.is_rest.any())


def _check_cells(result: RuleResult) -> None:
    cells = result.cells
    n_values = np.array([attribute.n_values for attribute in result.attributes])
    _hold("codes of cells", bool(((cells.codes >= 0) & (cells.codes < n_values)).all()))
    _hold("rows of cells", bool(((cells.n_rows >= 1) & (cells.n_rows <= result.n_rows)).all()))
    _hold("samples of cells", bool(((cells.favourable >= 0) & (cells.favourable <= cells.drawn)).all()))


def _check_against_cells(result: RuleResult, settings: RuleSettings) -> None:
    """A table's cells hold every row once, and tell how many rows and shared samples each group has."""
    scored, cells = result.scored, result.cells
    _hold("cells, which are there twice", len(np.unique(cells.codes, axis=0)) == len(cells.codes))
    _hold("rows of cells", int(cells.n_rows.sum()) == result.n_rows)
    weights = np.stack([cells.n_rows, cells.drawn, cells.favourable]).astype(np.float64)
    n_rows, drawn, favourable = np.rint(cells.space(result.attributes).sums(scored.rules, weights))
    _hold("rows of rule sets", np.array_equal(n_rows, scored.n_rows))
    least = least_rows(settings, result.n_rows)
    _hold("support of rule sets", bool(((scored.n_rows >= least) & (scored.n_rows < result.n_rows)).all()))
    _hold("rests", np.array_equal(scored.is_rest, rests(settings, scored.n_rows, result.n_rows)))
    of_cells = np.isin(scored.stage, _SHARED)
    counted = (drawn, favourable, weights[1].sum() - drawn, weights[2].sum() - favourable)
    told = (scored.n_inside, scored.favourable_inside, scored.n_outside, scored.favourable_outside)
    for a, b in zip(counted, told, strict=True):
        _hold("samples of rule sets", np.array_equal(a[of_cells], b[of_cells]))


def _check_scores(scored: ScoredRuleSets) -> None:
    score, low, high = scored.score, scored.low, scored.high
    _hold("stages", bool(np.isin(scored.stage, [stage.value for stage in Stage]).all()))
    _hold("errors", bool(((scored.error >= 0) & (scored.error <= 1)).all()))
    _hold(
        "intervals", bool(((low >= 0) & (high <= 1) & (low <= score + _TOLERANCE) & (score <= high + _TOLERANCE)).all())
    )
    is_exact = scored.stage == Stage.EXACT
    _hold("exact scores", _are_near(low[is_exact], score[is_exact]) and _are_near(high[is_exact], score[is_exact]))
    _hold("order of scores", bool((np.diff(score) <= _TOLERANCE).all()))


def _check_families(scored: ScoredRuleSets) -> None:
    head = scored.head
    _hold("families", bool(((head >= -1) & (head < len(head))).all()))
    heads: IntArray = head[head >= 0]
    _hold("families", np.array_equal(head[heads], heads))


def _are_near(first: FloatArray, second: FloatArray) -> bool:
    return bool((np.abs(first - second) <= _TOLERANCE).all())


def _hold(what: str, holds: bool | BoolArray) -> None:
    if not holds:
        raise ValueError(what)
