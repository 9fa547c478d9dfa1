"""Pairs on disk: Parquet, one file a batch, ``a.<column>`` for the first person and ``b.<column>`` for the second.

Values are those of a row of the engine (position of the category, or the number). The second person is kept in the
protected columns, and those linked to them, only: the two are equal in all others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairness_engine.errors import RunError
from fairness_engine.pairs import NOT_MEASURED, Pairs
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.whole_files import whole_file

_NUMBERS = {"score_a": "score_first", "score_b": "score_second"}
_CODES = {"decision_a": "decision_first", "decision_b": "decision_second", "evaluation": "evaluation"}
_GAP = "gap"
"""Files of earlier versions have none."""
_MEASURED = {"distance": np.nan, "n_unseen": NOT_MEASURED}
"""Two columns each, ``distance_a`` and ``distance_b``. Files of earlier versions have one, without the ending, of what
the two people share; or none.
"""


def write_pairs(path: Path, pairs: Pairs, config: RunConfig) -> None:
    """Write one file; it appears under its name when it is whole."""
    names = config.schema.names
    columns: dict[str, Any] = {f"a.{name}": pairs.first[:, i] for i, name in enumerate(names)}
    columns |= {f"b.{name}": pairs.second[:, config.schema.index(name)] for name in config.scope.changing}
    columns |= {name: getattr(pairs, field) for name, field in {**_NUMBERS, **_CODES}.items()}
    columns[_GAP] = pairs.gaps
    columns |= {f"{name}_{side}": getattr(pairs, name)[:, k] for name in _MEASURED for k, side in enumerate("ab")}
    table = pa.table({name: np.ascontiguousarray(values) for name, values in columns.items()})
    with whole_file(path) as file:
        pq.write_table(table, file, compression="zstd")


def read_pairs(path: Path, config: RunConfig) -> Pairs:
    """Read one file back.

    Raises:
        FileNotFoundError: it is gone (merged into a larger one since it was listed).
        RunError: it is damaged, or of other columns.
    """
    try:
        with path.open("rb") as file:
            table = pq.ParquetFile(file).read()  # without Arrow's data sets, which each run would load for this alone
        first = _matrix(table, [f"a.{name}" for name in config.schema.names])
        second = first.copy()
        for name in config.scope.changing:
            second[:, config.schema.index(name)] = table[f"b.{name}"].to_numpy()
        values = {field: table[name].to_numpy().copy() for name, field in {**_NUMBERS, **_CODES}.items()}
        values |= {name: _measured(table, name, unknown) for name, unknown in _MEASURED.items()}
        if _GAP in table.schema.names:
            values["gaps"] = table[_GAP].to_numpy().copy()
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:  # Parquet's own say either
        raise RunError(f"The stored pairs in {path.name} are damaged ({type(error).__name__}). Run again.") from None
    return Pairs(first, second, **values)


def _measured(table: pa.Table, name: str, unknown: float) -> np.ndarray[Any, Any]:
    """What was measured of both people ``(n_pairs, 2)``."""
    given = [f"{name}_a", f"{name}_b"] if f"{name}_a" in table.schema.names else [name]
    known = [table[each].to_numpy() for each in given if each in table.schema.names]
    missing = [np.full(table.num_rows, unknown)] * (2 - len(known))
    return np.stack([*known, *missing], axis=1).astype(np.int64 if unknown == NOT_MEASURED else np.float64)


def _matrix(table: pa.Table, names: list[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """``(n_rows, n_columns)`` of the named columns."""
    out = np.empty((table.num_rows, len(names)))
    for i, name in enumerate(names):
        out[:, i] = table[name].to_numpy()
    return out
