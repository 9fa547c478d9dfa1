"""Whose decisions a review looks at: a model's, or those that a column of the data holds.

A review without a model has no model file, and in the place of a fit card it says which column is meant. A model can be added at
any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairness_engine.runs.records import Review

SOURCE, PREDICTIONS = "source", "predictions"
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
