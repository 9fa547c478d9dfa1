"""The tables of version 1, which had no migrations: a store of it may lack whatever came later than it was made.

Columns that came later have a default of the database's own, so that lines that are there need nothing.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    false,
    inspect,
    text,
)
from sqlalchemy.schema import CreateColumn

revision = "0001"
down_revision = None

_metadata = MetaData()

Table("meta", _metadata, Column("key", String(40), primary_key=True), Column("value", String(200)))

Table(
    "files",
    _metadata,
    Column("id", String(40), primary_key=True),
    Column("sha256", String(64), nullable=False),
    Column("role", String(20), nullable=False),
    Column("name", String(255), nullable=False),
    Column("n_bytes", Integer, nullable=False),
    Column("created", Float, nullable=False),
)

Table(
    "reviews",
    _metadata,
    Column("id", String(40), primary_key=True),
    Column("owner", String(200), nullable=False),
    Column("name", String(200), nullable=False),
    Column("created", Float, nullable=False),
    Column("changed", Float, nullable=False),
    Column("data_id", String(40), ForeignKey("files.id")),
    Column("model_id", String(40), ForeignKey("files.id")),
    Column("schema", JSON(none_as_null=True)),
    Column("scope", JSON(none_as_null=True)),
    Column("fit", JSON(none_as_null=True)),
    Column("stage", String(40), nullable=False, default=""),
    Column("is_deleted", Boolean, nullable=False, default=False),
    Column("revision", Integer, nullable=False, server_default="0"),
    Column("is_archived", Boolean, nullable=False, server_default=false()),
    Index("reviews_of_owner", "owner", "is_deleted"),
)

Table(
    "review_states",
    _metadata,
    Column("review_id", String(40), ForeignKey("reviews.id"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("changed", Float, nullable=False),
    Column("content", JSON, nullable=False),
)

Table(
    "uploads",
    _metadata,
    Column("owner", String(200), primary_key=True),
    Column("file_id", String(40), ForeignKey("files.id"), primary_key=True),
    Column("created", Float, nullable=False),
)

Table(
    "runs",
    _metadata,
    Column("id", String(40), primary_key=True),
    Column("review_id", String(40), ForeignKey("reviews.id"), index=True),
    Column("config", JSON, nullable=False),
    Column("state", String(20), nullable=False, index=True),
    Column("stop_reason", String(60)),
    Column("message", Text),
    Column("created", Float, nullable=False),
    Column("started", Float),
    Column("finished", Float),
    Column("evaluations", Integer, nullable=False, default=0),
    Column("seconds", Float, nullable=False, default=0.0),
    Column("n_tried", Integer, nullable=False, default=0),
    Column("n_found", Integer, nullable=False, default=0),
    Column("n_rejected", Integer, nullable=False, default=0),
    Column("phase", String(200), nullable=False, default=""),
    Column("is_cancel_requested", Boolean, nullable=False, default=False),
    Column("reserved", Float),
    Column("heard", Float),
    Column("worker_host", String(255)),
    Column("worker_pid", Integer),
    Column("worker_born", String(60)),
    Index("runs_by_time", "review_id", "created"),
)

Table(
    "progress",
    _metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("run_id", String(40), ForeignKey("runs.id"), nullable=False, index=True),
    Column("evaluations", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("n_tried", Integer, nullable=False),
    Column("n_found", Integer, nullable=False),
    Column("phase", String(200), nullable=False),
)

Table(
    "parts",
    _metadata,
    Column("run_id", String(40), ForeignKey("runs.id"), primary_key=True),
    Column("start", Integer, primary_key=True),
    Column("n_pairs", Integer, nullable=False),
    Column("file", String(60), nullable=False),
)

Table(
    "results",
    _metadata,
    Column("run_id", String(40), ForeignKey("runs.id"), primary_key=True),
    Column("name", String(60), primary_key=True),
    Column("content", JSON, nullable=False),
)

Table(
    "pins",
    _metadata,
    Column("review_id", String(40), ForeignKey("reviews.id"), primary_key=True),
    Column("run_id", String(40), ForeignKey("runs.id"), primary_key=True),
    Column("pair_index", Integer, primary_key=True),
    Column("note", Text, nullable=False),
    Column("created", Float, nullable=False),
)

Table(
    "review_terms",
    _metadata,
    Column("review_id", String(40), ForeignKey("reviews.id"), primary_key=True),
    Column("content", JSON, nullable=False),
)

Table(
    "review_answers",
    _metadata,
    Column("review_id", String(40), ForeignKey("reviews.id"), primary_key=True),
    Column("content", JSON, nullable=False),
)

Table(
    "rule_pins",
    _metadata,
    Column("review_id", String(40), ForeignKey("reviews.id"), primary_key=True),
    Column("run_id", String(40), ForeignKey("runs.id"), primary_key=True),
    Column("rule_index", Integer, primary_key=True),
    Column("note", Text, nullable=False),
    Column("created", Float, nullable=False),
)

Table(
    "decisions",
    _metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("review_id", String(40), ForeignKey("reviews.id"), nullable=False, index=True),
    Column("finding", String(300), nullable=False),
    Column("decision", String(20), nullable=False),
    Column("reason", Text, nullable=False),
    Column("name", String(200), nullable=False),
    Column("expires", String(10)),
    Column("statement", Text, nullable=False),
    Column("run_ids", JSON, nullable=False),
    Column("created", Float, nullable=False),
)

Table(
    "comments",
    _metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("review_id", String(40), ForeignKey("reviews.id"), nullable=False, index=True),
    Column("finding", String(300), nullable=False),
    Column("name", String(200), nullable=False),
    Column("text", Text, nullable=False),
    Column("created", Float, nullable=False),
)

Table(
    "cohorts",
    _metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("review_id", String(40), ForeignKey("reviews.id"), nullable=False, index=True),
    Column("name", String(200), nullable=False),
    Column("rules", JSON, nullable=False),
    Column("source", String(200), nullable=False),
    Column("created", Float, nullable=False),
)

Table(
    "versions",
    _metadata,
    Column("run_id", String(40), ForeignKey("runs.id"), primary_key=True),
    Column("model_id", String(40), ForeignKey("files.id"), nullable=False, index=True),
    Column("parent_id", String(40), ForeignKey("files.id"), nullable=False, index=True),
    Column("state", String(20), nullable=False),
    Column("created", Float, nullable=False),
)

Table(
    "seals",
    _metadata,
    Column("run_id", String(40), ForeignKey("runs.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("chain", String(64), nullable=False),
)


def upgrade() -> None:
    """Make what is missing: tables, columns, indexes."""
    connection = op.get_bind()
    _metadata.create_all(connection)
    known = inspect(connection)
    for table in _metadata.sorted_tables:
        held = {column["name"] for column in known.get_columns(table.name)}
        for column in table.columns:
            if column.name not in held:
                described = CreateColumn(column).compile(dialect=connection.dialect)
                connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {described}"))
        for index in table.indexes:
            index.create(connection, checkfirst=True)
