"""The tables of the run store, on SQLite and on PostgreSQL alike. A change of them is a migration, too
(``database/migrations/``).
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TypeDecorator,
    false,
)


class _WithoutNul(TypeDecorator[str]):
    """Text, in which U+FFFD stands for NUL: PostgreSQL keeps and compares none with it."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """What is written, or compared."""
        return value if value is None or "\0" not in value else value.replace("\0", "\N{REPLACEMENT CHARACTER}")


class _Short(_WithoutNul):
    """Of at most so many characters, which only PostgreSQL checks: whoever writes has to."""

    cache_ok = True


class _Long(_WithoutNul):
    """Of any length."""

    impl = Text
    cache_ok = True


_COUNT = BigInteger().with_variant(Integer(), "sqlite")
"""Of evaluations, people or bytes; ``Integer`` ends at 2^31 on PostgreSQL. SQLite's has 64 bits, and only an
``INTEGER`` of its numbers lines by itself."""

metadata = MetaData()

meta = Table("meta", metadata, Column("key", _Short(40), primary_key=True), Column("value", _Short(200)))
"""``version`` is what versions before ``alembic_version`` look at: they refuse a store that does not say 1."""

alembic_version = Table(
    "alembic_version",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""The last migration of the store."""

files = Table(
    "files",
    metadata,
    Column("id", _Short(40), primary_key=True),
    Column("sha256", _Short(64), nullable=False),
    Column("role", _Short(20), nullable=False),
    Column("name", _Short(255), nullable=False),
    Column("n_bytes", _COUNT, nullable=False),
    Column("created", Float, nullable=False),
)

reviews = Table(
    "reviews",
    metadata,
    Column("id", _Short(40), primary_key=True),
    Column("owner", _Short(200), nullable=False),
    Column("name", _Short(200), nullable=False),
    Column("created", Float, nullable=False),
    Column("changed", Float, nullable=False),
    Column("data_id", _Short(40), ForeignKey("files.id")),
    Column("model_id", _Short(40), ForeignKey("files.id")),
    Column("schema", JSON(none_as_null=True)),
    Column("scope", JSON(none_as_null=True)),
    Column("fit", JSON(none_as_null=True)),
    Column("stage", _Short(40), nullable=False, default=""),
    Column("is_deleted", Boolean, nullable=False, default=False),
    Column("revision", Integer, nullable=False, server_default="0"),
    Column("is_archived", Boolean, nullable=False, server_default=false()),
    Index("reviews_of_owner", "owner", "is_deleted"),
)

review_members = Table(
    "review_members",
    metadata,
    Column("review_id", _Short(40), ForeignKey("reviews.id"), primary_key=True),
    Column("person", _Short(200), primary_key=True, index=True),
    Column("role", _Short(20), nullable=False),
    Column("added", Float, nullable=False),
    Column("added_by", _Short(200), nullable=False),
)
"""Who may open a review beside its owner, by the name they sign in with (``people.roles.name_of``)."""

review_states = Table(
    "review_states",
    metadata,
    Column("review_id", _Short(40), ForeignKey("reviews.id"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("changed", Float, nullable=False),
    Column("content", JSON, nullable=False),
)
"""What a review held before its last changes, so that they can be undone; ``changed`` is when that state was left."""

uploads = Table(
    "uploads",
    metadata,
    Column("owner", _Short(200), primary_key=True),
    Column("file_id", _Short(40), ForeignKey("files.id"), primary_key=True),
    Column("created", Float, nullable=False),
)
"""Who brought which file to a server; one content may be several people's."""

runs = Table(
    "runs",
    metadata,
    Column("id", _Short(40), primary_key=True),
    Column("review_id", _Short(40), ForeignKey("reviews.id"), index=True),
    Column("config", JSON, nullable=False),
    Column("state", _Short(20), nullable=False, index=True),
    Column("stop_reason", _Short(60)),
    Column("message", _Long),
    Column("created", Float, nullable=False),
    Column("started", Float),
    Column("finished", Float),
    Column("evaluations", _COUNT, nullable=False, default=0),
    Column("seconds", Float, nullable=False, default=0.0),
    Column("n_tried", _COUNT, nullable=False, default=0),
    Column("n_found", _COUNT, nullable=False, default=0),
    Column("n_rejected", _COUNT, nullable=False, default=0),
    Column("phase", _Short(200), nullable=False, default=""),
    Column("is_cancel_requested", Boolean, nullable=False, default=False),
    Column("reserved", Float),
    Column("heard", Float),
    Column("worker_host", _Short(255)),
    Column("worker_pid", Integer),
    Column("worker_born", _Short(60)),
    Column("person", _Short(200)),
    # a configuration takes pages: what looks for the newest run of each review does not turn them all
    Index("runs_by_time", "review_id", "created"),
)
"""``person`` is whoever started a run; empty where that is the owner of its review, or nobody signs in."""

progress = Table(
    "progress",
    metadata,
    Column("id", _COUNT, primary_key=True, autoincrement=True),
    Column("run_id", _Short(40), ForeignKey("runs.id"), nullable=False, index=True),
    Column("evaluations", _COUNT, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("n_tried", _COUNT, nullable=False),
    Column("n_found", _COUNT, nullable=False),
    Column("phase", _Short(200), nullable=False),
)

parts = Table(
    "parts",
    metadata,
    Column("run_id", _Short(40), ForeignKey("runs.id"), primary_key=True),
    Column("start", _COUNT, primary_key=True),
    Column("n_pairs", _COUNT, nullable=False),
    Column("file", _Short(60), nullable=False),
)
"""The Parquet files of a run's pairs: a file counts once its line is here."""

results = Table(
    "results",
    metadata,
    Column("run_id", _Short(40), ForeignKey("runs.id"), primary_key=True),
    Column("name", _Short(60), primary_key=True),
    Column("content", JSON, nullable=False),
)

pins = Table(
    "pins",
    metadata,
    Column("review_id", _Short(40), ForeignKey("reviews.id"), primary_key=True),
    Column("run_id", _Short(40), ForeignKey("runs.id"), primary_key=True),
    Column("pair_index", _COUNT, primary_key=True),
    Column("note", _Long, nullable=False),
    Column("created", Float, nullable=False),
)

review_terms = Table(
    "review_terms",
    metadata,
    Column("review_id", _Short(40), ForeignKey("reviews.id"), primary_key=True),
    Column("content", JSON, nullable=False),
)
"""The identity terms of a review of texts, where they are not the project's own list."""

review_answers = Table(
    "review_answers",
    metadata,
    Column("review_id", _Short(40), ForeignKey("reviews.id"), primary_key=True),
    Column("content", JSON, nullable=False),
)
"""Where the known answers of a review's model are: a file of the store, or a column of the data."""

rule_pins = Table(
    "rule_pins",
    metadata,
    Column("review_id", _Short(40), ForeignKey("reviews.id"), primary_key=True),
    Column("run_id", _Short(40), ForeignKey("runs.id"), primary_key=True),
    Column("rule_index", _COUNT, primary_key=True),
    Column("note", _Long, nullable=False),
    Column("created", Float, nullable=False),
)

decisions = Table(
    "decisions",
    metadata,
    Column("id", _COUNT, primary_key=True, autoincrement=True),
    Column("review_id", _Short(40), ForeignKey("reviews.id"), nullable=False, index=True),
    Column("finding", _Short(300), nullable=False),
    Column("decision", _Short(20), nullable=False),
    Column("reason", _Long, nullable=False),
    Column("name", _Short(200), nullable=False),
    Column("expires", _Short(10)),
    Column("statement", _Long, nullable=False),
    Column("run_ids", JSON, nullable=False),
    Column("created", Float, nullable=False),
)
"""What people decided about findings. Lines are added and never changed: the last one of a finding holds."""

comments = Table(
    "comments",
    metadata,
    Column("id", _COUNT, primary_key=True, autoincrement=True),
    Column("review_id", _Short(40), ForeignKey("reviews.id"), nullable=False, index=True),
    Column("finding", _Short(300), nullable=False),
    Column("name", _Short(200), nullable=False),
    Column("text", _Long, nullable=False),
    Column("created", Float, nullable=False),
)

cohorts = Table(
    "cohorts",
    metadata,
    Column("id", _COUNT, primary_key=True, autoincrement=True),
    Column("review_id", _Short(40), ForeignKey("reviews.id"), nullable=False, index=True),
    Column("name", _Short(200), nullable=False),
    Column("rules", JSON, nullable=False),
    Column("source", _Short(200), nullable=False),
    Column("created", Float, nullable=False),
)
"""Groups of people that a review keeps under a name: rules on columns."""

versions = Table(
    "versions",
    metadata,
    Column("run_id", _Short(40), ForeignKey("runs.id"), primary_key=True),
    Column("model_id", _Short(40), ForeignKey("files.id"), nullable=False, index=True),
    Column("parent_id", _Short(40), ForeignKey("files.id"), nullable=False, index=True),
    Column("state", _Short(20), nullable=False),
    Column("created", Float, nullable=False),
)
"""Models that a retraining made, and of which model; a later one of the same run replaces an earlier one."""

seals = Table(
    "seals",
    metadata,
    Column("run_id", _Short(40), ForeignKey("runs.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", _Short(200), nullable=False),
    Column("sha256", _Short(64), nullable=False),
    Column("chain", _Short(64), nullable=False),
)
"""Hashes of all that a run stored, made when it ended (``seal.py``); none of runs that a version before this table
made.
"""
