"""Alembic runs this for each migration, on the connection that ``migration.py`` opened and commits."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
