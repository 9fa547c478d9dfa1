"""A schema of two columns, for tests of the store."""

from __future__ import annotations

from fairness_engine.data.schema import Column, Kind, Schema

SCHEMA = Schema(
    (
        Column("age", Kind.INTEGER, minimum=18, maximum=70),
        Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("Female", "Male")),
    ),
    protected=("sex",),
)
