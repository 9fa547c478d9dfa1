"""What the decisions of a review's model are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairness_engine.models.fit.decisions import Decisions, decisions_under
from pages.shared.review.kind import is_without_model

if TYPE_CHECKING:
    from fairness_engine.store.records import Review


def decisions_of(review: Review) -> Decisions:
    """What the classes of a review's model are called, from its fit card and the label's column; by the latter alone
    without a model, and where no fit was confirmed."""
    return decisions_under(review.fit or {}, review.schema, has_model=not is_without_model(review))


def favourable_name(review: Review) -> str:
    """What the favourable outcome is called, of a model or of the data's label."""
    decisions = decisions_of(review)
    schema = review.schema
    if decisions.names and decisions.favourable is not None:
        return decisions.name(decisions.favourable)
    if schema is None or schema.favourable is None:
        return "favourable"
    label = next((column for column in schema.columns if column.name == schema.label and column.codes), None)
    by_code = {} if label is None else dict(zip(map(str, label.codes), label.labels, strict=True))
    return by_code.get(str(schema.favourable), str(schema.favourable))
