"""What a model's decisions are called on the screen, and the symbol that says whether one is good for the person."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from pages.components.outcome_source import is_without_model

if TYPE_CHECKING:
    from fairness_engine.runs.records import Review
    from fairness_engine.schema import Column, Schema

FAVOURABLE = "●"
UNFAVOURABLE = "○"
_MIN_DIGITS, _MAX_DIGITS = 3, 8


@dataclass(frozen=True)
class Decisions:
    """Human names of the classes.

    Args:
        names: one name a class, in the model's order.
        favourable: the class that is good for the person; ``None`` when it is not known.
    """

    names: tuple[str, ...]
    favourable: int | None = 1

    def name(self, decision: int) -> str:
        """The name of a class; a class without a name is told by its number."""
        return self.names[decision] if 0 <= decision < len(self.names) else f"outcome {decision + 1}"

    def symbol(self, decision: int) -> str:
        """A filled dot for the favourable decision, an empty one for any other."""
        return FAVOURABLE if decision == self.favourable else UNFAVOURABLE

    def text(self, decision: int) -> str:
        """Symbol and name."""
        return f"{self.symbol(decision)} {self.name(decision)}"


def score_digits(scores: Iterable[float]) -> int:
    """How many decimals keep different scores apart: at least 3, at most 8."""
    ordered = sorted(set(scores))
    smallest = min((high - low for low, high in pairwise(ordered)), default=1.0)
    digits = _MIN_DIGITS
    while digits < _MAX_DIGITS and smallest < 10.0**-digits:
        digits += 1
    return digits


def score_text(score: float, digits: int = _MIN_DIGITS) -> str:
    """A score with a fixed number of decimals and a real minus sign."""
    return f"{score:.{digits}f}".replace("-", "−")


def decisions_of(review: Review) -> Decisions:
    """What the classes of a review's model are called, from its fit card and the label's column; without a model by the latter alone."""
    fit, schema = review.fit or {}, review.schema
    label = next((c for c in schema.columns if c.name == schema.label), None) if schema else None
    favourable = fit.get("favourable", 1)
    names = [str(name) for name in fit.get("classes") or fit.get("class_shares") or ()]
    if schema is not None and label is not None and is_without_model(review):
        names, favourable = [str(code) for code in label.codes], _favourable(label, schema)
    if label is not None and label.codes:
        by_code = {str(code): text for code, text in zip(label.codes, label.labels, strict=True)}
        names = [by_code.get(name, name) for name in names]
    if names and all(_is_code(name) for name in names):
        names = [f"{'favourable' if i == favourable else 'unfavourable'} ({name})" for i, name in enumerate(names)]
    return Decisions(tuple(names), favourable)


def favourable_name(review: Review) -> str:
    """What the favourable outcome is called, of a model or of the data's label."""
    decisions, schema = decisions_of(review), review.schema
    if decisions.names and decisions.favourable is not None:
        return decisions.name(decisions.favourable)
    if schema is None or schema.favourable is None:
        return "favourable"
    label = next((column for column in schema.columns if column.name == schema.label and column.codes), None)
    by_code = {} if label is None else dict(zip(map(str, label.codes), label.labels, strict=True))
    return by_code.get(str(schema.favourable), str(schema.favourable))


def _favourable(label: Column, schema: Schema) -> int | None:
    from fairness_engine.outcome import favourable_class

    return favourable_class(label, schema.favourable)


def _is_code(name: str) -> bool:
    """A bare number says nothing to a reader."""
    try:
        float(name)
    except ValueError:
        return False
    return True
