"""Reading a table in a process of its own, behind the walls of a model's: for a program that serves many people.

A CSV file of 600 MB takes a reader up to 2 GB and a quarter of a minute. The process that reads it has a limit of
memory, and leaves the columns in a file that whoever asked maps (``data/csv/mapped.py``): what has been read costs it
little.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairness_engine.data.csv.file_bytes import PARQUET
from fairness_engine.data.csv.mapped import map_table
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import Table, read_table
from fairness_engine.errors import DataError, ProcessError, SchemaError, breach
from fairness_engine.model_process.process import ModelProcess

MAX_MEMORY_BYTES = 5 << 30
"""Of addresses: what the largest table takes, and what a forked process has before it begins."""
MAX_SECONDS = 300.0
MAX_BYTES_HERE = 20_000_000
"""Of a CSV file that is read in the process of a command: it takes half a second and 100 MB."""
_MAX_AT_ONCE = 2
_MAX_REASON = 100
_MAX_REFUSAL = 300
_places = threading.BoundedSemaphore(_MAX_AT_ONCE)


@dataclass(frozen=True)
class Reading:
    """A table as it was read.

    Args:
        table: its columns are mapped.
        inferred: its description; ``None`` where that was not asked for.
        refusal: why there is none, though it was.
    """

    table: Table
    inferred: Schema | None = None
    refusal: str = ""

    def schema(self) -> Schema:
        """The description.

        Raises:
            SchemaError: there is none.
        """
        if self.inferred is None:
            raise SchemaError(self.refusal or "This table was not described. Drop the file again.")
        return self.inferred


def read_stored(workspace: Path, path: Path, name: str) -> Table:
    """Read a table, not described: a CSV file that is not large here, anything else in a process of its own.

    Args:
        workspace: where that process has its scratch folder.
        path: of the file.
        name: what messages call it.

    Raises:
        DataError: as ``read_apart`` and ``read_table`` do.
    """
    try:
        is_text = path.stat().st_size <= MAX_BYTES_HERE and not is_parquet(path)
    except OSError:
        is_text = True  # the reader says it
    if is_text:
        return read_table(path, name)
    return read_apart(workspace, path, name, is_described=False).table


def is_parquet(path: Path) -> bool:
    """Whether a file begins as a Parquet file does.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET


def read_apart(
    workspace: Path, path: Path, name: str, *, reasons: Mapping[str, str] | None = None, is_described: bool = True
) -> Reading:
    """Read a file in a process of its own; several at once wait for one another.

    Args:
        workspace: where its scratch folder lies.
        path: of the file.
        name: what messages call it.
        reasons: of ``Table``, where they are known.
        is_described: whether a description is asked for.

    Raises:
        DataError: the file is no table that can be used, or takes too much memory or time to read.
    """
    path = path.absolute()  # that process has a working folder of its own
    with _places:
        process = _Reader(workspace, [path], None)
        try:
            process.greet()
            asked = {"path": str(path), "name": name, "is_described": is_described}
            reply = process.ask("read_table", MAX_SECONDS, table={**asked, "max_memory_bytes": MAX_MEMORY_BYTES})
            return process.reading(reply, reasons, is_described=is_described)
        except ProcessError as error:
            raise DataError(
                f"'{name}' must be a table that can be read in {MAX_SECONDS / 60:.0f} minutes and "
                f"{MAX_MEMORY_BYTES >> 30} GB, but its reading was ended. {error} Leave columns out, or take a sample "
                "of the rows."
            ) from None
        finally:
            process.close()


class _Reader(ModelProcess):
    """The process that reads one table."""

    def reading(self, reply: Mapping[str, Any], reasons: Mapping[str, str] | None, *, is_described: bool) -> Reading:
        """What it has read; it is ended, so that nobody writes to what is mapped.

        Raises:
            ProcessError: it is no table.
        """
        self.kill()
        self._process.wait()
        try:
            described = reply.get("schema")
            inferred = None if described is None else Schema.from_json(described)
            known = _reasons(reply.get("reasons")) if is_described else reasons
            table = map_table(self._scratch, reply, known)
        except (DataError, SchemaError):
            raise breach("it sent a table that is none") from None
        return Reading(table, inferred, str(reply.get("refusal") or "")[:_MAX_REFUSAL])


def _reasons(content: Any) -> dict[str, str]:
    if not isinstance(content, dict):
        raise breach("it sent a table that is none")
    return {str(name): str(reason)[:_MAX_REASON] for name, reason in content.items()}
