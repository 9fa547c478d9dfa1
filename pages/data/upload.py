"""The parts of the Data page: uploaders, the table of columns, labels of codes, groups, a preview."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.errors import EvenhandError
from pages.data import columns
from pages.shared import exports, tables
from pages.shared.app import frame, theme, uploads, wording
from pages.shared.app.kept import kept
from pages.shared.members import controls
from pages.shared.review import dataset as data_files
from pages.shared.review import group_sizes, kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from plotly.graph_objects import Figure

    from fairness_engine.data.dataset import Dataset
    from fairness_engine.data.schema import Schema
    from fairness_engine.data.table import Table
    from fairness_engine.store.records import Review, StoredFile

_N_PREVIEW = 20
_MAX_PREVIEW_COLUMNS = 60
_MAX_COLUMNS_SHOWN = 200
"""In the table of columns at once."""
_N_PROBLEMS = 6
_TYPE_HELP = (
    "Categorical: one of a list. Integer: whole numbers. Real: any number. Text: words that a table model does not "
    "take."
)
_ROLE_HELP = (
    "Input: the model may use it. Protected: an input that must not decide. Label: the outcome that the model "
    "predicts. Id: names the case, so that you find it again; the model never gets it. Ignored: left out."
)


# --- uploads ------------------------------------------------------------------------------------


def ask_files(review: Review) -> None:
    """Two uploaders; a file that can be used becomes the review's data at once."""
    from fairness_engine.data.csv.file_bytes import MAX_BYTES
    from fairness_engine.store.records import FileRole

    turn = st.session_state.setdefault("data_turn", 0)
    keys = (f"csv_{turn}", f"schema_{turn}")
    left, right = st.columns(2)
    with left:
        uploaded = controls.uploader(
            "CSV or Parquet file", MAX_BYTES, key=keys[0], help="CSV of any common encoding and delimiter."
        )
    with right:
        uploaded_schema = controls.uploader(
            "Schema file (optional)",
            uploads.MAX_CONTENT_BYTES,
            key=keys[1],
            help="JSON, version 1. Without one, Evenhand guesses and you correct.",
        )
    file = uploads.stored(uploaded, keys[0], FileRole.DATA)
    described = uploads.content(uploaded_schema, keys[1], "a schema file")
    if file is None and (described is None or review.data_id is None):
        return
    with uploads.refused_once("data", (review.id, file, described)):
        _use(review, file, None if described is None else data_files.read_schema(*described))
    st.session_state["data_turn"] = turn + 1
    redraw_columns()
    st.rerun()


def _use(review: Review, file: StoredFile | None, schema: Schema | None) -> None:
    if file is not None:
        data_files.keep_data(review, file, schema)
    elif schema is not None:
        described = data_files.with_label_described(data_files.table_of(review), schema)
        data_files.change_schema(review, described)


def redraw_columns() -> None:
    """Draw the table of columns anew: what stands in its cells was derived from what just changed."""
    st.session_state["columns_turn"] = st.session_state.get("columns_turn", 0) + 1


# --- what the file is ---------------------------------------------------------------------------


def rows_in_words(dataset: Dataset | None, fit: Mapping[str, Any] | None) -> str:
    """How many rows are complete, and what becomes of those that are not; empty where all are complete."""
    if dataset is None or not dataset.n_dropped:
        return ""
    said = f", {wording.count(len(dataset.rows))} of them complete"
    n = 0 if dataset.incomplete is None else len(dataset.incomplete)
    answered = (fit or {}).get("n_answered")
    if n and answered is None:
        return f"{said}, {wording.count(n)} with missing cells that some models take"
    if n:
        of_them = "all" if answered == n else "none" if not answered else wording.count(answered)
        return f"{said}, {wording.count(n)} with missing cells ({of_them} of these answered by your model)"
    return said


def show_facts(table: Table, dataset: Dataset | None, fit: Mapping[str, Any] | None = None) -> None:
    """Size and form of the file, and its problems in sentences."""
    delimiter = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}.get(table.delimiter, table.delimiter)
    form = f"separated by {delimiter}, {table.encoding}" if delimiter else table.encoding
    used = rows_in_words(dataset, fit)
    st.markdown(
        f"**{wording.markdown(table.name)}**: {wording.counted(table.n_rows, 'row')}{used}, "
        f"{wording.counted(len(table.columns), 'column')}; {wording.markdown(form)}"
        f"{', decimal comma' if table.decimal == ',' else ''}."
    )
    problems = [wording.spaced(problem) for problem in (table if dataset is None else dataset).problems]
    if problems:
        bullet = "- " if len(problems) > 1 else ""
        shown = "\n".join(f"{bullet}{wording.markdown(problem)}" for problem in problems[:_N_PROBLEMS])
        st.warning(shown, icon=":material/warning:")
    if len(problems) > _N_PROBLEMS:
        with st.expander(f"{len(problems) - _N_PROBLEMS} more"):
            st.markdown("\n".join(f"- {wording.markdown(problem)}" for problem in problems[_N_PROBLEMS:]))


def offer_remedies(review: Review, table: Table, dataset: Dataset) -> None:
    """Buttons for the problems that one click mends."""
    from fairness_engine.data.dataset import widen_to_data

    schema = dataset.schema
    key = (table.source_hash, schema)
    wider = kept("wider", key, lambda: widen_to_data(table, schema)) if dataset.n_dropped else schema
    if wider != schema and controls.button("Widen ranges and categories to the data", key="widen"):
        data_files.change_schema(review, wider)
        redraw_columns()
        st.rerun()
    if data_files.has_doubled_labels(dataset) and controls.button(
        "Fold labels that differ by a full stop or by capitals", key="fold"
    ):
        with st.spinner("Writing the corrected file …"):
            data_files.fold_and_keep(review, table)
        redraw_columns()
        st.rerun()


# --- columns ------------------------------------------------------------------------------------


def edit_columns(review: Review, table: Table) -> None:
    """The typed table of columns; a correction that holds is saved at once, one that does not is explained."""
    schema = review.schema
    assert schema is not None, "the page shows the editor after the upload"
    names = _choose_columns(table, schema)
    if names is not None and not names:
        st.caption("No column is called so.")
        return
    # Other lines are another table, drawn of the schema as it stands.
    part = "" if names is None else hash(tuple(names))
    turn = f"{st.session_state.get('columns_turn', 0)}_{part}"
    base_key = f"columns_base_{review.id}_{turn}"
    if base_key not in st.session_state:
        for key in [key for key in st.session_state if str(key).startswith(f"columns_base_{review.id}_")]:
            del st.session_state[key]
        st.session_state[base_key] = columns.columns_table(table, schema, names)
    base = st.session_state[base_key]
    edited = tables.edit(
        base,
        disabled=controls.off() or ["Column", "Values", "Missing"],
        column_config=_column_config(),
        placeholder="",
        key=f"columns_{review.id}_{turn}",
        height=min(640, 38 + 35 * len(base)),
    )
    if edited.equals(st.session_state.get(f"{base_key}_saved", base)):
        return
    try:
        changed = columns.read_columns(table, schema, edited)
        if changed != schema:
            data_files.change_schema(review, changed)
    except EvenhandError as error:
        frame.say(error)
        st.caption("Not saved. Correct the cell above, or set it back.")
        return
    st.session_state[f"{base_key}_saved"] = edited
    if changed != schema:
        if not edited[["Role", "Type"]].equals(base[["Role", "Type"]]):
            redraw_columns()
        st.rerun()


def _choose_columns(table: Table, schema: Schema) -> list[str] | None:
    """What to look at of a wide table: names, a page of them; ``None`` where all columns are shown."""
    from fairness_engine.data.inference import suggest_protected

    if len(table.columns) <= _MAX_COLUMNS_SHOWN:
        return None
    left, middle, right = st.columns([3, 1, 1], vertical_alignment="bottom")
    wanted = left.text_input("Find columns", placeholder="part of a name", key="columns_wanted")
    role = middle.selectbox("Role", [None, *columns.Role], format_func=lambda each: each or "any", key="columns_role")
    proposed = kept("proposed", (table.source_hash, schema.names), lambda: {*suggest_protected(schema)})
    found = columns.find_columns(table, schema, wanted, role, proposed)
    n_pages = max(1, -(-len(found) // _MAX_COLUMNS_SHOWN))
    page = min(int(right.number_input("Page", 1, n_pages, key=f"columns_page_{n_pages}")), n_pages)
    first = (page - 1) * _MAX_COLUMNS_SHOWN
    names = found[first : first + _MAX_COLUMNS_SHOWN]
    st.caption(
        f"{wording.count(first + bool(names))} to {wording.count(first + len(names))} of "
        f"{wording.counted(len(found), 'column')}: label, protected attributes and those that may be first."
    )
    return names


@cache
def _column_config() -> dict[str, object]:
    config = st.column_config
    roles = [role.value for role in columns.Role]
    kinds = list(columns.KIND_NAMES.values())
    return {
        "Column": config.TextColumn(pinned=True, width=180),
        "Role": config.SelectboxColumn(options=roles, required=True, help=_ROLE_HELP, width=120),
        "Type": config.SelectboxColumn(options=kinds, help=_TYPE_HELP, width=125),
        "Smallest": config.NumberColumn(format="%g", help="Lower end of the domain; numbers only.", width=105),
        "Largest": config.NumberColumn(format="%g", help="Upper end of the domain; numbers only.", width=105),
        "Missing": config.NumberColumn(
            "Missing (%)", format="%.1f", help="Share of rows whose cell is empty, or treated as missing.", width=110
        ),
        "Values": config.TextColumn("Values in people's words", width="large"),
    }


# --- groups and rows ----------------------------------------------------------------------------


def show_groups(review: Review, dataset: Dataset) -> None:
    """Sizes of the groups of every protected attribute, two side by side, and of their combinations."""
    if not dataset.schema.protected:
        st.info("No column has the role Protected yet. Choose at least one in the table above to see its groups.")
        return
    if dataset.n_dropped:
        st.caption(
            f"Of the {wording.counted(len(dataset.rows), 'row')} without a missing cell; rows whose own group is not "
            f"known are counted beside them, as {group_sizes.UNKNOWN}."
        )
    tables = data_files.group_tables_of(review)
    drawn = kept(
        "group_charts",
        (dataset.source_hash, dataset.schema, theme.is_dark()),
        lambda: [_drawn(*group) for group in tables],
    )
    for start in range(0, len(tables), 2):
        with frame.wrapping(f"groups_{start}", is_wide=True):
            places = st.columns(2, gap="large")
        for place, (title, table), (figure, note) in zip(places, tables[start:], drawn[start:], strict=False):
            with place:
                frame.chart_with_table(figure, lambda table=table: table, key=f"groups_{title}", note=note)


def _drawn(title: str, table: pd.DataFrame) -> tuple[Figure, str]:
    """Chart and note of a table of groups: to make them costs more than the rest of a rerun."""
    return group_sizes.group_chart(title, table), wording.markdown(group_sizes.notes(table))


def show_preview(table: Table, dataset: Dataset) -> None:
    """The first rows in people's words, texts in front."""
    key = (dataset.source_hash, dataset.schema)
    tables.show(kept("preview", key, lambda: _preview(table, dataset)), key="preview")
    n_inputs = len(dataset.schema.inputs)
    if n_inputs > _MAX_PREVIEW_COLUMNS:
        st.caption(f"The first {_MAX_PREVIEW_COLUMNS} of {wording.count(n_inputs)} columns that the model takes.")


def _preview(table: Table, dataset: Dataset) -> pd.DataFrame:
    import pandas as pd

    rows = dataset.rows[:_N_PREVIEW]
    inputs = dataset.schema.inputs[:_MAX_PREVIEW_COLUMNS]
    shown = {}
    for name in kind.text_columns(dataset.schema)[:_MAX_PREVIEW_COLUMNS]:
        texts = table.frame[name].iloc[dataset.kept[:_N_PREVIEW]]
        shown[name] = ["" if pd.isna(text) else str(text) for text in texts]
    shown |= {
        column.name: [column.text(value) for value in rows[:, position]] for position, column in enumerate(inputs)
    }
    if dataset.labels is not None and dataset.schema.label:
        shown[dataset.schema.label] = [dataset.classes[label] for label in dataset.labels[:_N_PREVIEW]]
    return pd.DataFrame(shown)


def offer_schema(review: Review) -> None:
    """The schema file to download."""
    assert review.schema is not None, "the page offers it after the upload"
    name = f"{data_files.file_of(review.data_id or '').name.rsplit('.', 1)[0]}.schema.json"
    exports.offer_file("Download schema file", partial(data_files.schema_file, review.schema), name, "schema_download")
