"""All lines of a run store taken to another database: from a workspace to a team's server, or back."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, Table, func, insert, select, text

from fairness_engine.errors import RunError
from fairness_engine.store import tables
from fairness_engine.store.records import RunState

_CHUNK_LINES = 1_000
_OF_THE_DATABASE = (tables.meta, tables.alembic_version)
"""What says of which version a database is: each has its own."""
COPIED = tuple(table for table in tables.metadata.sorted_tables if table not in _OF_THE_DATABASE)
"""In an order in which what a line belongs to is there before it."""


def copy_lines(source: Engine, target: Engine) -> dict[str, int]:
    """Copy every line of every table, as it is at one moment, or nothing.

    Args:
        source, target: of stores of this version; the target holds nothing yet.

    Returns:
        how many lines of each table there are now.

    Raises:
        RunError: the target holds something, a run of the source waits or works, or a line of the source cannot be read
            or is refused by the target.
    """
    with source.connect() as reading, target.begin() as writing:
        _hold_still(reading)
        held = [table.name for table in COPIED if _n_lines(writing, table)]
        if held:
            raise RunError(
                f"A store is copied to an empty database, but this one has lines already ({', '.join(held[:3])}). "
                "Empty it, or name another."
            )
        active = tables.runs.c.state.in_([state.value for state in RunState if not state.is_final])
        n_active = reading.scalar(select(func.count()).select_from(tables.runs).where(active))
        if n_active:
            raise RunError(
                f"A store is copied while no run waits or works, but {n_active:,} do. Wait for them, or cancel them."
            )
        copied = {table.name: _copy(reading, writing, table) for table in COPIED}
        for table in COPIED:
            if _n_lines(writing, table) != copied[table.name]:
                raise RunError(f"Every line of a store is copied, but of '{table.name}' some are missing. Try again.")
        return copied


def _hold_still(connection: Connection) -> None:
    """See that the transaction that begins reads one moment, whatever others write."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN")  # Python begins none before a line is written
    else:
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))


def _n_lines(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0


def _copy(reading: Connection, writing: Connection, table: Table) -> int:
    n_lines = 0
    lines = reading.execution_options(yield_per=_CHUNK_LINES).execute(select(table))
    for chunk in lines.mappings().partitions():
        writing.execute(insert(table), [dict(line) for line in chunk])
        n_lines += len(chunk)
    number = table.autoincrement_column
    if n_lines and number is not None and writing.dialect.name == "postgresql":  # the next line gets the next number
        named = {"table": table.name, "column": number.name, "last": writing.scalar(select(func.max(number)))}
        writing.execute(text("SELECT setval(pg_get_serial_sequence(:table, :column), :last)"), named)
    return n_lines
