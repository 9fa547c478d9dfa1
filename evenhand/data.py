"""A table to assess: a CSV or Parquet file, or a pandas data frame, and what its columns are taken for."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.arguments import checked

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.data.dataset import Dataset
    from fairness_engine.data.schema import Schema, Value
    from fairness_engine.data.table import Table


@dataclass(frozen=True, eq=False)
class Data:
    """A table and what its columns are; ``read_data`` makes one.

    Args:
        table: the cells as text.
        schema: kinds, categories and ranges of the columns, the label and its favourable outcome.
        frame: the data frame that was given; ``None`` for a file.
    """

    table: Table = field(repr=False)
    schema: Schema = field(repr=False)
    frame: pd.DataFrame | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """Its size, the label and what is good for the person."""
        label = f", label '{self.label}', favourable '{self.favourable}'" if self.label else ", no label"
        return f"<Data '{self.table.name}': {self.table.n_rows:,} rows, {len(self.table.columns)} columns{label}>"

    @property
    def label(self) -> str | None:
        """Name of the column of outcomes."""
        return self.schema.label

    @property
    def favourable(self) -> Value | None:
        """The outcome that is good for the person, as the file holds it."""
        return self.schema.favourable

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The label's outcomes in the order of a model's classes: that of class 0, of class 1, ..."""
        return self.dataset.classes

    @property
    def columns(self) -> pd.DataFrame:
        """What each column is taken for: ``kind``, ``values`` (a range, or how many categories) and, where no model
        takes it, ``left_out``, by the column's name.
        """
        import pandas as pd

        from fairness_engine.data.inference import why_left_out

        reasons = why_left_out(self.table, self.schema)
        lines = []
        for column in self.schema.columns:
            is_range = column.minimum is not None and column.maximum is not None and column.is_input
            values = (
                f"{column.text(column.low)} to {column.text(column.high)}" if is_range else ", ".join(column.labels)
            )
            reason = "the label" if column.name == self.label else reasons.get(column.name, "")
            lines.append((column.name, column.kind.value, values, reason))
        return pd.DataFrame(lines, columns=["column", "kind", "values", "left_out"]).set_index("column")

    @property
    def problems(self) -> tuple[str, ...]:
        """What a reader should know of the table, a sentence each: such as how many rows are kept out, and why."""
        return tuple(dict.fromkeys((*self.table.problems, *self.dataset.problems)))

    @cached_property
    def dataset(self) -> Dataset:
        """The rows that can be used."""
        from fairness_engine.data.dataset import make_dataset

        return make_dataset(self.table, self.schema)


@checked
def read_data(
    source: str | os.PathLike[str] | pd.DataFrame,
    *,
    label: str | None = None,
    favourable: Value | None = None,
    kinds: Mapping[str, str] | None = None,
    missing: Collection[str] | str = (),
    schema: str | os.PathLike[str] | None = None,
) -> Data:
    """Read a table, and infer what its columns are.

    Args:
        source: a CSV file of any common encoding and delimiter, with a line of names; a Parquet file; or a pandas
            data frame, whose index is left out.
        label: name of the column of outcomes; ``None`` takes the one that is inferred, ``""`` none.
        favourable: the outcome that is good for the person, as the file or people write it; ``None`` guesses.
        kinds: another kind for some columns: ``"categorical"``, ``"integer"``, ``"real"``, ``"text"`` or ``"ignored"``.
        missing: spellings of a missing cell, beside those that are found by themselves.
        schema: a schema file (``docs/data.md``), instead of inference.

    Raises:
        Error: the table cannot be used, or does not hold what was said of it.
    """
    from fairness_engine.cli.request import with_favourable
    from fairness_engine.data.corrections import change_kind, change_label
    from fairness_engine.data.inference import infer_schema
    from fairness_engine.data.missing import mark_missing
    from fairness_engine.data.schema import Kind, Schema
    from fairness_engine.data.table import read_table, table_of
    from fairness_engine.errors import DataError, SchemaError

    frame = None
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not path.is_file():
            raise DataError(
                f"The data must be a CSV or Parquet file, or a data frame, but there is no file at '{path}'."
            )
        table = read_table(path)
    elif hasattr(source, "columns") and hasattr(source, "iloc"):
        frame = source
        table = table_of(frame, "the data frame")
    else:
        raise DataError(f"The data must be a CSV or Parquet file, or a pandas data frame, got {type(source).__name__}.")
    found = infer_schema(table) if schema is None else Schema.read(Path(schema))
    found = mark_missing(table, found, tuple(missing))
    if label is not None and label != found.label:
        found = change_label(table, found, label or None)
    for name, kind in (kinds or {}).items():
        if kind not in set(Kind):
            raise SchemaError(f"The kind of '{name}' must be one of {', '.join(Kind)}, got '{kind}'.")
        found = change_kind(table, found, name, Kind(kind))
    if favourable is not None:
        found = with_favourable(table, found, favourable, "favourable")
    data = Data(table, found, frame)
    _ = data.dataset  # what cannot be used is refused here, and not at the first question
    return data


def read_sample(name: str, model: str | None = None) -> tuple[Data, Path]:
    """A sample that comes with Evenhand, with planted discrimination and a known answer (``docs/sample-data.md``).

    Args:
        name: ``"census_income"``, ``"credit"``, ``"marketing"`` or ``"recidivism"``.
        model: which of its models; ``None`` takes the first.

    Returns:
        the data, with protected attributes to start with, and the model's file.

    Raises:
        Error: there is no such sample or model, or it is one of texts.
    """
    from fairness_engine.data.catalogue import find_sample
    from fairness_engine.data.table import read_table
    from fairness_engine.errors import DataError

    sample = find_sample(name)
    if sample.text_column is not None:
        raise DataError(f"The sample must be a table, but '{name}' holds texts. Use the command line or the app.")
    chosen = sample.models[0] if model is None else sample.model(model)
    return Data(read_table(sample.data), sample.schema_for(chosen)), chosen.path
