"""What a run of rule sets is asked: the group size that counts, the error allowed, how numbers are cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fairness_engine.errors import SettingError
from fairness_engine.groups.identity_terms.terms import Terms, check_terms
from fairness_engine.settings import refuse_unknown, take_choice

MAX_RULE_SETS = 200_000
"""More than anybody reads; beyond it the larger rule sets are left out, and the run says so."""
FEW_ATTRIBUTES = 5
USUAL_ATTRIBUTES = 3
"""Of at most the first all are combined where nothing else is asked, of more attributes at most the second."""
MAX_UNASKED = 100_000
"""Rule sets up to which those of more than three attributes are looked at unasked: less than a second's work, and ten
times as many widen the intervals by a tenth."""
MAX_RESCORED = 2_000
"""Nobody reads on so far, and these share half of the chance of error among them."""


class Edges(StrEnum):
    """Where the ranges of a number are cut."""

    EQUAL = "equal"
    ROUND = "round"


class Source(StrEnum):
    """Whose decisions are compared: the model's, or what a column of the data holds."""

    MODEL = "model"
    LABELS = "labels"


@dataclass(frozen=True)
class RuleSettings:
    """Settings of TestSGD.

    Args:
        support: theta, the least share of the data's rows that a group must have, above 0, below 1.
        error: the most that ``z * sqrt(p(1-p)/n)``, inside plus outside, may be; 0 evaluates every neighbour of every
            row.
        confidence: of the intervals, jointly over all rule sets; also of each side's error, as in the paper.
        least_samples: samples at least, inside and outside each.
        bins: into how many ranges a number is cut.
        edges: equal widths over the column's range (the paper), or round numbers.
        max_attributes: attributes in one rule set at most; 0: of a table all of them where they are at most five, and
            else three; those beyond three only while there are at most 100,000 rule sets. Of texts, three categories.
        one_sided: only ranges that begin or end where the column does ("60 or more"), not those between.
        n_rescored: how many of the top rule sets are scored again on samples of their own, 2,000 at most.
        source: the model's decisions on rows and their neighbours, or the label column on the rows alone.
        predictions: name of a column whose decisions are compared instead of the label's; needs ``source`` labels.
        text_column: the column of texts to look into; empty for a table.
        terms: identity terms by category for texts; empty takes the project's own list.

    Raises:
        SettingError: a value out of its range.

    Reference: paper 001 (TestSGD), Algorithms 1 and 2, Table 2.
    """

    support: float = 0.05
    error: float = 0.05
    confidence: float = 0.95
    least_samples: int = 1000
    bins: int = 10
    edges: Edges = Edges.EQUAL
    max_attributes: int = 0
    one_sided: bool = False
    n_rescored: int = 100
    source: Source = Source.MODEL
    predictions: str = ""
    text_column: str = ""
    terms: Terms = ()

    def __post_init__(self) -> None:
        take_choice(self, "edges", Edges)
        take_choice(self, "source", Source)
        _check("support", self.support, 0 < self.support < 1, "a share above 0 and below 1")
        _check("error", self.error, 0 <= self.error < 1, "0 (evaluate everything) or a share below 1")
        _check("confidence", self.confidence, 0.5 <= self.confidence < 1, "0.5 or more and below 1")
        _check("least_samples", self.least_samples, 1 <= self.least_samples <= 10_000_000, "1 to 10,000,000")
        _check("bins", self.bins, 2 <= self.bins <= 100, "2 to 100")
        _check("max_attributes", self.max_attributes, 0 <= self.max_attributes <= 6, "0 (all, where they are few) to 6")
        _check("n_rescored", self.n_rescored, 0 <= self.n_rescored <= MAX_RESCORED, f"0 to {MAX_RESCORED:,}")
        if self.terms:
            object.__setattr__(self, "terms", check_terms(self.terms))
        if self.predictions and self.source is not Source.LABELS:
            raise SettingError(
                "A column of predictions is compared without a model. Leave the model out, or the column."
            )

    def most_attributes(self, n_attributes: int) -> int:
        """How many of so many attributes, or categories of terms, a rule set has at most."""
        is_few = n_attributes <= FEW_ATTRIBUTES and not self.text_column
        unasked = n_attributes if is_few else USUAL_ATTRIBUTES
        return min(self.max_attributes or unasked, n_attributes)

    def most_rule_sets(self, size: int) -> int:
        """How many rule sets there may be with those of ``size`` attributes among them."""
        return MAX_UNASKED if size > USUAL_ATTRIBUTES and not self.max_attributes else MAX_RULE_SETS

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and text; ``from_json`` reads it back to equal settings."""
        content = {name: getattr(self, name) for name in self.__dataclass_fields__}
        terms = {category: list(terms) for category, terms in self.terms}
        return content | {"edges": self.edges.value, "source": self.source.value, "terms": terms}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RuleSettings:
        """Read what ``to_json`` wrote; what is missing keeps its default.

        Raises:
            SettingError: an unknown name, or a value out of its range.
        """
        refuse_unknown(cls, content, "Rule sets have")
        known = dict(content)
        if "terms" in known and isinstance(known["terms"], Mapping):
            known["terms"] = tuple((str(category), tuple(terms)) for category, terms in known["terms"].items())
        try:
            return cls(**known)
        except (TypeError, ValueError) as error:
            if isinstance(error, SettingError):
                raise
            raise SettingError(f"A setting of the rule sets cannot be read: {error}.") from None


def _check(name: str, value: Any, holds: bool, what: str) -> None:
    if not holds:
        raise SettingError(f"'{name}' must be {what}, got {value}.")
