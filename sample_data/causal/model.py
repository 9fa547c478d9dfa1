"""What every causal model of a table says about itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.data.schema import Column, Kind
from sample_data.causal.draw import decided
from sample_data.causal.rule import Condition, PointRule, allowed, place


@dataclass(frozen=True)
class Group:
    """People among whom a class is asked to find those who fare worst.

    Args:
        name: in words, at the place of ``of 100 ...``.
        where: conditions that must all hold, by attribute.
    """

    name: str
    where: Mapping[str, Condition]

    def holds(self, rule: PointRule, rows: FloatArray) -> BoolArray:
        """Which rows of the engine ``(n_rows, n_columns)`` are in the group."""
        inside = np.ones(len(rows), dtype=np.bool_)
        for place_of, column in enumerate(rule.schema.inputs):
            if column.name in self.where:
                inside &= allowed(column, self.where[column.name])[place(column, rows[:, place_of])]
        return inside


@dataclass(frozen=True)
class CausalModel:
    """A table with planted discrimination.

    Args:
        name: of the files.
        title, description: for the Start page; the description is one sentence.
        rule: how the points of a row decide.
        draw: draws ``n`` rows of the engine ``(n, n_columns)`` from the structural equations.
        equations: the structural equations in words, one an attribute, in causal order.
        noise: width of the logistic curve between points and label.
        n_rows, seed: of the committed file.
        protected: the recommended protected attributes.
        protected_sets: the sets whose exact share is stated.
        proxies: what carries a protected attribute indirectly, in sentences.
        no_effect: protected attributes with no points and in no effect.
        known: what is known to be found, in one sentence.
        asks: what the label says of a person, as a question that gives nothing away.
        outcome: what happens to the favoured, at the place of ``2 of 100 women ...``.
        groups: those to choose from; in front the one with the planted effect, then the one most like it.
        affected: the other attributes that tell best for whom the protected ones decide.
    """

    name: str
    title: str
    description: str
    rule: PointRule
    draw: Callable[[int, np.random.Generator], FloatArray]
    equations: tuple[str, ...]
    noise: float
    n_rows: int
    seed: int
    protected: tuple[str, ...]
    protected_sets: tuple[tuple[str, ...], ...]
    proxies: tuple[str, ...]
    no_effect: tuple[str, ...]
    known: str
    asks: str
    outcome: str
    groups: tuple[Group, ...]
    affected: tuple[str, ...]

    def sample(self) -> tuple[FloatArray, IntArray]:
        """The rows ``(n_rows, n_columns)`` and labels ``(n_rows,)`` of the committed file."""
        rng = np.random.Generator(np.random.PCG64(self.seed))
        rows = self.draw(self.n_rows, rng)
        return rows, decided(rng, self.rule.totals(rows), self.rule.cut, self.noise)


def category(name: str, *labels: str) -> Column:
    """A column whose cells hold the labels themselves, in alphabetical order.

    That is the order in which a schema inferred from the table has them too, so that models on codes fit both.
    """
    if sorted(labels) != list(labels):
        raise ValueError(f"The labels of '{name}' must be in alphabetical order, got {labels}.")
    return Column(name, Kind.CATEGORICAL, codes=labels, labels=labels)


def whole(name: str, low: int, high: int) -> Column:
    """A column of whole numbers."""
    return Column(name, Kind.INTEGER, minimum=float(low), maximum=float(high))


def as_rows(columns: Sequence[Column], drawn: dict[str, FloatArray | IntArray]) -> FloatArray:
    """Named draws as rows of the engine, in the order of the columns."""
    return np.column_stack([drawn[column.name] for column in columns]).astype(np.float64)
