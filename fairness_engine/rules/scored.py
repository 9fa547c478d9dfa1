"""What a run of rule sets ends with: rule sets in order of their score, as arrays that travel and are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.attributes import BoolArray, RuleAttribute
from fairness_engine.rules.space import NO_RULE, RuleSpace

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
        head: position of the rule set that this one is folded under, its own when it is shown; -1 where nothing was folded. A member
            that is harmed where its head is favoured, or the reverse, is the group of the others.
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

    def space(self, attributes: tuple[RuleAttribute, ...]) -> RuleSpace:
        """To find the cells of a rule set, or of two attributes; weights are then those of cells."""
        return RuleSpace(attributes, self.codes)


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
