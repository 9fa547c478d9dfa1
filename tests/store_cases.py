"""A schema of two columns, and stores of other versions, for tests of the store."""

from __future__ import annotations

from sqlalchemy import Connection, text

from fairness_engine.data.schema import Column, Kind, Schema

SCHEMA = Schema(
    (
        Column("age", Kind.INTEGER, minimum=18, maximum=70),
        Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("Female", "Male")),
    ),
    protected=("sex",),
)


def say_version_one(connection: Connection) -> None:
    """Let a store say what those from before migrations say."""
    connection.execute(text("DROP TABLE alembic_version"))
    connection.execute(text("UPDATE meta SET value = '1'"))
