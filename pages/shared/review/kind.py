"""Reviews of models that take texts: which column is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairness_engine.data.schema import Kind

if TYPE_CHECKING:
    from fairness_engine.data.schema import Schema
    from fairness_engine.store.records import Review

SOURCE = "source"
PREDICTIONS = "predictions"
"""Names in the place of the fit card; the settings of a run of rule sets are called the same."""
LABELS = "labels"


def is_without_model(review: Review | None) -> bool:
    """Whether the reader said that this review has no model."""
    return review is not None and review.model_id is None and (review.fit or {}).get(SOURCE) == LABELS


def predictions_of(review: Review) -> str:
    """The column of predictions of a review without a model; empty where the label is looked at."""
    return str((review.fit or {}).get(PREDICTIONS) or "")


def rule_source(review: Review) -> dict[str, str]:
    """Settings that make a run of rule sets look at the review's column; none for a review with a model."""
    if not is_without_model(review):
        return {}
    return {SOURCE: LABELS, PREDICTIONS: predictions_of(review)}


FIT_KEY = "text_column"
"""Name in a review's fit card of the column that its model takes as a string; absent for a model of tables."""


def text_columns(schema: Schema | None) -> tuple[str, ...]:
    """Names of the columns that hold texts, in the schema's order."""
    if schema is None:
        return ()
    return tuple(column.name for column in schema.columns if column.kind is Kind.TEXT and column.name != schema.label)


def column_of(review: Review | None) -> str | None:
    """The column whose texts a review's model takes: by its scope, else by its fit card; ``None`` for a table."""
    if review is None:
        return None
    named = review.scope.protected[0] if review.scope is not None else (review.fit or {}).get(FIT_KEY)
    return named if named in text_columns(review.schema) else None


def is_text(review: Review | None) -> bool:
    """Whether a review's model takes texts."""
    return column_of(review) is not None
