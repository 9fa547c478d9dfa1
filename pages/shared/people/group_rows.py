"""The rows of the data in a group: which they are, what the data and the model say of them, as a table and as a
file.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Column, Kind
from fairness_engine.data.table import export_text
from fairness_engine.errors import EvenhandError
from fairness_engine.groups.rule_sets import membership
from fairness_engine.oracle.domain import Ranges
from fairness_engine.runs.kinds import RULES
from pages.shared import exports, tables
from pages.shared.app import wording
from pages.shared.app.kept import kept
from pages.shared.pairs.table import column_texts
from pages.shared.people import cohorts, group_link
from pages.shared.review import dataset as data_files

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.arrays import BoolArray
    from fairness_engine.data.dataset import Dataset
    from fairness_engine.store.records import Review
    from pages.shared.people.group_link import LinkedGroup

ROW = "Row"
DECISION = "Decision"
SCORE = "Score"
N_SHOWN = 200
MAX_COLUMNS = 60
_TABLE_HEIGHT = 330


@dataclass(frozen=True)
class GroupRows:
    """The rows of a run's data, and which of them are in a group.

    Args:
        dataset: under the run's schema.
        inside: positions of the group's rows among ``dataset.rows``, ascending.
        others: of those of everyone else that the run counted.
    """

    dataset: Dataset
    inside: IntArray
    others: IntArray


def rows_of(review: Review, group: LinkedGroup) -> GroupRows:
    """The rows of the data that a run counted, in a group and not.

    Raises:
        EvenhandError: the data of the run cannot be read any more.
    """
    config = group.run.config
    dataset = data_files.dataset_of(replace(review, data_id=config.data_id, schema=config.schema))

    def find() -> GroupRows:
        counted = membership.lie_within(Ranges(config.schema, config.scope), dataset.rows) & _is_known(review, group)
        is_inside = group.contains(config.schema, dataset.rows)
        return GroupRows(dataset, np.flatnonzero(counted & is_inside), np.flatnonzero(counted & ~is_inside))

    return kept("group_rows", (group.run.id, group.position, dataset.source_hash), find)


def _is_known(review: Review, group: LinkedGroup) -> BoolArray:
    """Which rows say something in the column of predictions of a run without a model; all for other runs."""
    from fairness_engine.data.recorded import recorded_predictions

    config = group.run.config
    of_run = replace(review, data_id=config.data_id, schema=config.schema)
    dataset = data_files.dataset_of(of_run)
    name = RULES.settings(config).predictions
    if not name:
        return np.ones(len(dataset.rows), dtype=bool)
    return recorded_predictions(data_files.table_of(of_run), dataset, name).is_known


# --- the table ----------------------------------------------------------------------------------


def frame(
    dataset: Dataset, positions: IntArray, decisions: list[str] | None, scores: FloatArray | None
) -> pd.DataFrame:
    """Rows in people's words, one line a row.

    Args:
        dataset: of the rows.
        positions: which of them ``(n_shown,)``.
        decisions: of the model, one a row shown; ``None`` without a model's answer.
        scores: the same, ``(n_shown,)``.

    Returns:
        Columns ``Row`` (its number in the file, from 1), the id where the data has one, ``Decision``, ``Score``, the
        label, then the columns that a model may take (a space is added to a name that is taken).
    """
    import pandas as pd

    rows = dataset.rows[positions]
    schema = dataset.schema
    lines: dict[str, object] = {ROW: dataset.kept[positions] + 1}
    if dataset.ids is not None and schema.case_id:
        lines[_free(schema.case_id, lines)] = dataset.ids[positions]
    if decisions is not None:
        lines[DECISION] = decisions
    if scores is not None:
        lines[SCORE] = scores
    if dataset.labels is not None and schema.label:
        lines[_free(schema.label, lines)] = [dataset.classes[label] for label in dataset.labels[positions]]
    for place, column in enumerate(schema.inputs[:MAX_COLUMNS]):
        lines[_free(column.name, lines)] = _cells(column, rows[:, place])
    return pd.DataFrame(lines)


def _cells(column: Column, values: FloatArray) -> np.ndarray:
    """Words of a category; numbers as numbers, so that the table sorts by them."""
    if column.codes:
        return column_texts(column, values)
    return values.astype(np.int64) if column.kind is Kind.INTEGER else values


def _free(name: str, taken: dict[str, object]) -> str:
    while name in taken:
        name += " "
    return name


def rows_csv(dataset: Dataset, positions: IntArray) -> bytes:
    """Rows as CSV in UTF-8, every column as people read it; text that a spreadsheet would run is neutralised."""
    schema = dataset.schema
    names = ["row"]
    cells = [(dataset.kept[positions] + 1).tolist()]
    if dataset.ids is not None and schema.case_id:
        names.append(schema.case_id)
        cells.append([export_text(text) for text in dataset.ids[positions]])
    for place, column in enumerate(schema.inputs):
        names.append(column.name)
        texts = column_texts(column, dataset.rows[positions, place])
        cells.append([export_text(text) for text in texts])
    if dataset.labels is not None and schema.label:
        names.append(schema.label)
        cells.append([export_text(dataset.classes[label]) for label in dataset.labels[positions]])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([export_text(name) for name in names])
    writer.writerows(zip(*cells, strict=True))
    return out.getvalue().encode("utf-8")


def offer_csv(group: LinkedGroup, found: GroupRows, key: str) -> None:
    """A button that saves all rows of a group; the file is made when it is pressed."""
    exports.offer_csv(
        f"Save {wording.counted(len(found.inside), 'row')} as CSV",
        lambda: rows_csv(found.dataset, found.inside),
        f"evenhand-group-{group.run.id[:8]}-{group.position + 1}",
        key,
        run_ids=(group.run.id,),
    )


def say_columns(dataset: Dataset) -> None:
    """That not all columns fit into the table."""
    n = len(dataset.schema.inputs)
    if n > MAX_COLUMNS:
        st.caption(f"The first {MAX_COLUMNS} of {wording.count(n)} columns; the file has all of them.")


# --- on the Data page ---------------------------------------------------------------------------


def draw(review: Review) -> None:
    """The rows of the groups that the address names, above everything else of the Data page; nothing without one."""
    if group_link.NAME in st.query_params:
        _draw_linked(review)
    _draw_chosen(review)


def _draw_linked(review: Review) -> None:
    """Those of a rule set, of the data of its run."""
    group = group_link.named(review)
    if group is not None:
        st.header("Rows of a group", anchor=False)
    group_link.chip(review, group)
    if group is None:
        return
    if group.is_of_texts:
        st.caption("The group is made by words in texts: its sentences stand with the group.")
        return
    found = rows_of(review, group)
    _draw_rows(found, group.key, "group_data")
    offer_csv(group, found, "group_data_csv")
    st.divider()


def _draw_chosen(review: Review) -> None:
    """Those of a group that has a name, of all rows that miss no cell."""
    group = cohorts.choose(review, "data")
    if group is None:
        return
    try:
        dataset = data_files.dataset_of(review)
    except EvenhandError:
        return  # the page says why further down
    is_inside = group.contains(dataset.schema, dataset.rows)
    found = GroupRows(dataset, np.flatnonzero(is_inside), np.flatnonzero(~is_inside))
    st.header("Rows of the group", anchor=False)
    _draw_rows(found, group.key, "cohort_data")
    exports.offer_csv(
        f"Save {wording.counted(len(found.inside), 'row')} as CSV",
        lambda: rows_csv(dataset, found.inside),
        f"evenhand-group-{group.cohort.id}",
        "cohort_data_csv",
    )
    st.divider()


def _draw_rows(found: GroupRows, key: tuple[str, int], name: str) -> None:
    """How many rows are in a group, and the first of them."""
    shown = found.inside[:N_SHOWN]
    n = len(found.inside)
    n_all = len(found.inside) + len(found.others)
    text = f"{wording.counted(n, 'row')}, {wording.share(n / max(n_all, 1))} of {wording.count(n_all)}."
    st.markdown(text + (f" The first {wording.count(len(shown))}:" if len(shown) < n else ""))
    held = (key, found.dataset.source_hash, found.dataset.schema)
    table = kept(f"{name}_table", held, lambda: frame(found.dataset, shown, None, None))
    tables.show(table, height=tables.height(len(shown), _TABLE_HEIGHT), key=name)
    say_columns(found.dataset)
