"""Reviews of models that take texts: which column is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairness_engine.schema import Kind

if TYPE_CHECKING:
    from fairness_engine.runs.records import Review
    from fairness_engine.schema import Schema

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
