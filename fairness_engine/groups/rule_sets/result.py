"""What a run of rule sets ends with: rule sets in order of their score, as arrays that travel and are stored."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.errors import RunError
from fairness_engine.groups.rule_sets.attributes import TERM, RuleAttribute
from fairness_engine.groups.rule_sets.mining import NO_RULE, GroupIndex, least_rows, rests
from fairness_engine.groups.rule_sets.settings import MAX_RULE_SETS, RuleSettings
from fairness_engine.store.whole_files import whole_file

_CELL = "cell_"


class Stage(IntEnum):
    """What the samples of a score are."""

    POOL = 0
    """Drawn for all rule sets together."""
    TOPPED_UP = 1
    """Drawn for a group that is rare in the pool."""
    FRESH = 2
    """Drawn anew after the rule set was among the highest."""
    EXACT = 3
    """Every neighbour of every row."""
    ROWS = 4
    """The rows themselves, as a column of the data decides them."""


def score_of(
    n_inside: FloatArray | IntArray, inside: FloatArray, n_outside: FloatArray | IntArray, outside: FloatArray
) -> FloatArray:
    """By how much the favourable shares differ; 0 where a side has no sample, of which nothing can be said."""
    return np.where((n_inside > 0) & (n_outside > 0), np.abs(inside - outside), 0.0)


@dataclass(frozen=True)
class ScoredRuleSets:
    """Rule sets, the highest score first; ``(n_rule_sets,)`` each unless said.

    Args:
        rules: index of the rule on each attribute, or -1 ``(n_rule_sets, n_attributes)``.
        n_rows: rows of the data inside.
        n_inside, favourable_inside, n_outside, favourable_outside: samples of the reported score.
        low, high: of the score, jointly over all rule sets tested.
        error: the paper's epsilon; 0 where every neighbour was evaluated.
        stage: a ``Stage``.
        is_rest: 1 where so few rows lie outside that the rule set speaks of those few, see ``mining.rests``.
        head: position of the rule set that this one is folded under, its own when it is shown; -1 where nothing was
            folded. A member that is harmed where its head is favoured, or the reverse, is the group of the others.
    """

    rules: IntArray
    n_rows: IntArray
    n_inside: IntArray
    favourable_inside: IntArray
    n_outside: IntArray
    favourable_outside: IntArray
    low: FloatArray
    high: FloatArray
    error: FloatArray
    stage: IntArray
    is_rest: IntArray
    head: IntArray

    def __len__(self) -> int:
        return len(self.rules)

    @cached_property
    def inside(self) -> FloatArray:
        """Favourable share inside."""
        return self.favourable_inside / np.maximum(self.n_inside, 1)

    @cached_property
    def outside(self) -> FloatArray:
        """Favourable share outside."""
        return self.favourable_outside / np.maximum(self.n_outside, 1)

    @cached_property
    def score(self) -> FloatArray:
        """The group fairness score: by how much the shares differ, 0 to 1."""
        return score_of(self.n_inside, self.inside, self.n_outside, self.outside)

    @cached_property
    def n_attributes(self) -> IntArray:
        """How many attributes each rule set constrains."""
        found: IntArray = (self.rules != NO_RULE).sum(axis=1)
        return found

    def to_arrays(self) -> dict[str, FloatArray | IntArray]:
        """By name; ``from_arrays`` reads them back."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> ScoredRuleSets:
        """Read what ``to_arrays`` gave."""
        return cls(**{each.name: np.asarray(arrays[each.name]) for each in fields(cls)})

    @cached_property
    def is_harmed(self) -> BoolArray:
        """Whether fewer inside than outside get the favourable outcome."""
        return self.inside < self.outside

    def rule_set_json(self, position: int, attributes: tuple[RuleAttribute, ...], n_rows: int) -> dict[str, Any]:
        """One rule set as the command line says it."""
        line = self.rules[position]
        return {
            "rules": [attributes[i].rule_json(int(rule)) for i, rule in enumerate(line) if rule != NO_RULE],
            "support": float(self.n_rows[position] / n_rows),
            "score": float(self.score[position]),
            "inside": float(self.inside[position]),
            "outside": float(self.outside[position]),
            "n_inside": int(self.n_inside[position]),
            "n_outside": int(self.n_outside[position]),
            "low": float(self.low[position]),
            "high": float(self.high[position]),
        }


@dataclass(frozen=True)
class RuleCells:
    """The data's different combinations of values of the attributes, and the samples in each.

    Args:
        codes: the value of each attribute ``(n_cells, n_attributes)``.
        n_rows: rows of the data ``(n_cells,)``.
        drawn, favourable: samples, and those with the favourable outcome ``(n_cells,)`` each.
    """

    codes: IntArray
    n_rows: IntArray
    drawn: IntArray
    favourable: IntArray

    def space(self, attributes: tuple[RuleAttribute, ...]) -> GroupIndex:
        """To find the cells of a rule set, or of two attributes; weights are then those of cells."""
        return GroupIndex(attributes, self.codes)


@dataclass(frozen=True)
class RuleResult:
    """All that a run of rule sets leaves.

    Args:
        attributes: what rules are on.
        n_rows: rows of the data in the scope.
        scored: rule sets, the highest score first.
        cells: the samples they were scored by.
    """

    attributes: tuple[RuleAttribute, ...]
    n_rows: int
    scored: ScoredRuleSets
    cells: RuleCells

    @property
    def n_shown(self) -> int:
        """Rule sets that are no near duplicate of a higher one."""
        return int((self.scored.head == np.arange(len(self.scored))).sum())

    @property
    def n_by_size(self) -> list[int]:
        """Rule sets of one attribute, of two, and so on."""
        sizes: list[int] = np.bincount(self.scored.n_attributes, minlength=1)[1:].tolist()
        return sizes

    def rule_set_json(self, position: int) -> dict[str, Any]:
        """One rule set as the command line says it."""
        return self.scored.rule_set_json(position, self.attributes, self.n_rows)

    def to_arrays(self) -> dict[str, FloatArray | IntArray]:
        """What varies, by name."""
        cells = {_CELL + each.name: getattr(self.cells, each.name) for each in fields(self.cells)}
        return {**self.scored.to_arrays(), **cells}

    def to_json(self) -> dict[str, Any]:
        """What the arrays speak of; plain lists and text."""
        return {"attributes": [attribute.to_json() for attribute in self.attributes], "n_rows": self.n_rows}

    @classmethod
    def from_parts(cls, arrays: Mapping[str, Any], content: Mapping[str, Any]) -> RuleResult:
        """Read what ``to_arrays`` and ``to_json`` gave."""
        attributes = tuple(RuleAttribute.from_json(each) for each in content["attributes"])
        cells = RuleCells(**{each.name: np.asarray(arrays[_CELL + each.name]) for each in fields(RuleCells)})
        return cls(attributes, content["n_rows"], ScoredRuleSets.from_arrays(arrays), cells)


_SPACE = "space"


def write_rules(path: Path, result: RuleResult) -> None:
    """Write a result; the file appears whole or not at all.

    Raises:
        OSError: the folder cannot be written.
    """
    text = np.frombuffer(json.dumps(result.to_json()).encode(), dtype=np.uint8)
    with whole_file(path) as file:
        np.savez_compressed(file, allow_pickle=False, **{_SPACE: text}, **result.to_arrays())


def read_rules(path: Path) -> RuleResult:
    """What ``write_rules`` wrote.

    Raises:
        RunError: the file is damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        space = json.loads(arrays.pop(_SPACE).tobytes())
        return RuleResult.from_parts(arrays, space)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        raise RunError("The stored rule sets of this run are damaged. Run it again.") from None


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
    n = len(result.scored.rules)
    n_cells = len(result.cells.codes)
    n_attributes = len(result.attributes)
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
        n = getattr(scored, f"n_{name}")
        favourable = getattr(scored, f"favourable_{name}")
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
    scored = result.scored
    cells = result.cells
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
    score = scored.score
    low = scored.low
    high = scored.high
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
