"""Who is in a review beside its owner, and who started a run. In a store from before, nobody and its review's owner."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Float, ForeignKey, String, inspect

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table, and the column, where they are missing."""
    known = inspect(op.get_bind())
    if not known.has_table("review_members"):
        op.create_table(
            "review_members",
            Column("review_id", String(40), ForeignKey("reviews.id"), primary_key=True),
            Column("person", String(200), primary_key=True, index=True),
            Column("role", String(20), nullable=False),
            Column("added", Float, nullable=False),
            Column("added_by", String(200), nullable=False),
        )
    if "person" not in {column["name"] for column in known.get_columns("runs")}:
        op.add_column("runs", Column("person", String(200)))
