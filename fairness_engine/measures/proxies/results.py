"""What a run of proxies leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from fairness_engine.codec import Count, Number, Proportion, Text, are_in_order, hold

MAX_COLUMNS = 4_000
"""That are looked at in a run, once for each attribute: more would not fit into a result."""
MAX_ATTRIBUTES = 100
MAX_GROUPS = 12
"""Values of an attribute that are told apart; rarer ones are one group together."""
OTHERS = "all rarer ones"
"""What they are called."""
REST = "everybody else"
"""What each of several groups is compared with."""
N_STRONGEST = 3
"""Columns that are held on their own, at most."""
_SUMS = 1e-6


class Measure(StrEnum):
    """How well an attribute is told: of groups the area under the ROC curve, 0.5 by chance; of a number R squared, 0 by
    chance.
    """

    AUC = "auc"
    R2 = "r2"


@dataclass(frozen=True)
class Figure:
    """A figure inside its 95 % interval."""

    value: Number
    low: Number
    high: Number

    def __post_init__(self) -> None:
        hold(are_in_order(self.low, self.value, self.high), "interval")


@dataclass(frozen=True)
class ColumnTells:
    """How well one column tells an attribute.

    Args:
        column: its name.
        tells: in the attribute's measure; the interval is of this column on its own.
        is_clear: it tells more than chance by an interval that holds together for all columns and attributes of a run.
        is_linked: the scope says that it goes with the attribute, so that it is no surprise.
    """

    column: Text
    tells: Figure
    is_clear: bool
    is_linked: bool


@dataclass(frozen=True)
class GroupDifference:
    """The favourable share of a group less that of another, before and after other columns are held.

    Args:
        group, reference: what people read; of several groups ``OTHERS`` may be one, and the reference is ``REST``.
        n_group, n_reference: rows of each.
        raw: the difference in the rows as they are.
        held: what is left among people who are alike in all other columns; ``None`` where too few are.
        why: it is not there, in a sentence; empty where it is.
        overlap: how much of who is in the group the other columns leave open, 1 for all of it.
        held_strongest, why_strongest: the same with the strongest proxies alone held.
    """

    group: Text
    reference: Text
    n_group: Count
    n_reference: Count
    raw: Figure
    held: Figure | None
    why: Text
    overlap: Proportion
    held_strongest: Figure | None
    why_strongest: Text

    def __post_init__(self) -> None:
        for figure in (self.raw, self.held, self.held_strongest):
            hold(figure is None or are_in_order(-1.0, figure.low, figure.high, 1.0), "difference of shares")
        hold((self.held is None) == bool(self.why), "what is held")
        hold((self.held_strongest is None) == bool(self.why_strongest), "what the strongest hold")


@dataclass(frozen=True)
class AttributeProxies:
    """The proxies of one protected attribute.

    Args:
        protected: its name.
        measure: of all figures that say how well it is told.
        together: by all other columns, linked ones as the roles they stand for.
        columns: each on its own, those that tell the most first.
        strongest: of those that are clear and not linked the first, at most ``N_STRONGEST``.
        differences: between two groups, or of each of several groups to everybody else.
        n_rows, n_held_out: rows that have a group, and those of them that figures are of.
        n_left_out: rows whose value is missing, or too rare to be compared.
    """

    protected: Text
    measure: Measure
    together: Figure
    columns: Annotated[list[ColumnTells], Meta(min_length=1, max_length=MAX_COLUMNS)]
    strongest: Annotated[list[Text], Meta(max_length=N_STRONGEST)]
    differences: Annotated[list[GroupDifference], Meta(min_length=1, max_length=MAX_GROUPS)]
    n_rows: Count
    n_held_out: Count
    n_left_out: Count = 0

    def __post_init__(self) -> None:
        names = [each.column for each in self.columns]
        hold(len(set(names)) == len(names) and self.protected not in names, "columns")
        for figure in (self.together, *(each.tells for each in self.columns)):
            hold(are_in_order(0.0, figure.low, figure.high, 1.0), "how well it is told")
        values = [each.tells.value for each in self.columns]
        hold(values == sorted(values, reverse=True), "order of columns")
        surprising = [each.column for each in self.columns if each.is_clear and not each.is_linked]
        hold(self.strongest == surprising[:N_STRONGEST], "the strongest columns")
        hold(self.n_held_out <= self.n_rows, "rows held out")
        for each in self.differences:
            hold(each.n_group + each.n_reference <= self.n_rows, "rows of groups")


@dataclass(frozen=True)
class ShapShares:
    """What each column carries of a model's scores: its mean absolute SHAP value by the sum over all columns.

    Args:
        shares: by column; they sum to 1, or are all 0 for a model that gives everybody the same score.
        n_people: of the data, who were explained.
        n_background: rows that stand for what is left out.
        n_permutations: random orders of the columns for each person, each also reversed.
    """

    shares: Annotated[dict[Text, Proportion], Meta(min_length=1, max_length=MAX_COLUMNS + 1)]
    n_people: Count
    n_background: Count
    n_permutations: Count

    def __post_init__(self) -> None:
        total = sum(self.shares.values())
        hold(abs(total - 1) <= _SUMS or total == 0, "sum of shares")


@dataclass(frozen=True)
class Proxies:
    """The proxies of all protected attributes of a scope.

    Args:
        attributes: those that there was time for, in the order of the scope.
        n_rows: of the data, that were drawn.
        n_incomplete: of them, those that miss a cell.
        shap: which columns the model leans on; ``None`` without a model, and where there was no time.
        why_no_shap: in a sentence; empty where it is there.
    """

    attributes: Annotated[list[AttributeProxies], Meta(min_length=1, max_length=MAX_ATTRIBUTES)]
    n_rows: Count
    n_incomplete: Count = 0
    shap: ShapShares | None = None
    why_no_shap: Text = field(default="")

    def __post_init__(self) -> None:
        hold(self.n_incomplete <= self.n_rows, "rows with a missing cell")
        hold((self.shap is None) == bool(self.why_no_shap), "SHAP values")
        for each in self.attributes:
            hold(each.n_rows + each.n_left_out == self.n_rows, "rows of an attribute")

    @property
    def n_columns(self) -> int:
        """Columns that were looked at, once for each attribute."""
        return sum(len(each.columns) for each in self.attributes)

    @property
    def n_clear(self) -> int:
        """Those of them that tell more than chance."""
        return sum(one.is_clear for each in self.attributes for one in each.columns)
