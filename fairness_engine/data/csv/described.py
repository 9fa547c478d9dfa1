"""In the process that reads a table for another: the table is read, described, and left in a file to be mapped."""

from __future__ import annotations

import json
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from fairness_engine.data.csv.mapped import map_table, write_mapped
from fairness_engine.data.inference import guess_columns, infer_schema
from fairness_engine.data.table import read_table
from fairness_engine.errors import ProcessError, SchemaError

_MAX_DESCRIPTION = 30_000_000


def write_table(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Read a table, describe it where that is asked for, and write it to the own folder.

    Args:
        asked: ``path``, ``name``, ``is_described``, ``max_memory_bytes``.

    Returns:
        What the reply says.

    Raises:
        DataError: the file is no table that can be used.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = asked["max_memory_bytes"] if hard == resource.RLIM_INFINITY else min(hard, asked["max_memory_bytes"])
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    folder = Path.cwd()
    try:
        facts = write_mapped(read_table(Path(asked["path"]), name=asked["name"]), folder)
    except (MemoryError, pa.ArrowMemoryError):
        raise ProcessError("It took more memory.") from None
    if not asked["is_described"]:
        return facts
    table = map_table(folder, facts)
    guesses = guess_columns(table)
    facts["reasons"] = {guess.column.name: guess.reason for guess in guesses if guess.reason}
    try:
        facts["schema"] = infer_schema(table, guesses).to_json()
    except SchemaError as error:
        facts["refusal"] = str(error)
    if len(json.dumps(facts)) > _MAX_DESCRIPTION:
        del facts["schema"]
        facts["refusal"] = (
            f"The columns of '{table.name}' hold too many different values for a description. Leave columns out, or "
            "add a schema file."
        )
    return facts
