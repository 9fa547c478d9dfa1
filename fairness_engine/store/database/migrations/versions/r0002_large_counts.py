"""Counts of 64 bits on PostgreSQL, where ``Integer`` ends at 2^31; SQLite's integers have 64 already. Keys of findings
no longer than their columns, which SQLite does not check. Versions of Evenhand before migrations refuse the store from
here on.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, MetaData, String, Table, insert, update

revision = "0002"
down_revision = "0001"

_COUNTS = {
    "files": ("n_bytes",),
    "runs": ("evaluations", "n_tried", "n_found", "n_rejected"),
    "progress": ("id", "evaluations", "n_tried", "n_found"),
    "parts": ("start", "n_pairs"),
    "pins": ("pair_index",),
    "rule_pins": ("rule_index",),
    "decisions": ("id",),
    "comments": ("id",),
    "cohorts": ("id",),
}
_meta = Table("meta", MetaData(), Column("key", String(40), primary_key=True), Column("value", String(200)))


def upgrade() -> None:
    """Widen the columns, and what numbers lines; cut the keys."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        for table, columns in _COUNTS.items():
            for column in columns:
                op.alter_column(table, column, type_=BigInteger())
                if column == "id":
                    op.execute(f"ALTER SEQUENCE {table}_id_seq AS bigint")
    op.execute("UPDATE decisions SET finding = substr(finding, 1, 300) WHERE length(finding) > 300")
    op.execute("UPDATE comments SET finding = substr(finding, 1, 300) WHERE length(finding) > 300")
    if not connection.execute(update(_meta).where(_meta.c.key == "version").values(value="2")).rowcount:
        connection.execute(insert(_meta).values(key="version", value="2"))
