"""Files that pages offer: tables that open in a spreadsheet of any country, each with where it comes from.

A table is saved as a zip of two CSV files. The first holds the table and nothing else, so that a spreadsheet or a
program reads it as it is, without comments to skip; the second says what it was made of, in two columns, and opens the
same way. Both begin with the mark of UTF-8, without which a spreadsheet breaks umlauts. Columns for all of it beside
every row would make large files many times as large.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.data.links.spelling import link_text
from fairness_engine.errors import EvenhandError
from pages.shared.app import frame, session
from pages.shared.people.decisions import decisions_of
from pages.shared.review import tables
from pages.shared.runs import phrases

if TYPE_CHECKING:
    from fairness_engine.data.schema import Schema
    from fairness_engine.oracle.domain import Scope
    from fairness_engine.store.records import Review, RunRecord, StoredFile

_DECIMAL_COMMA = "csv_decimal_comma"
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)\.\d+(?:[eE][+-]?\d+)?")
_MAX_VALUES = 12
_KINDS = {".json": "application/json", ".md": "text/markdown"}
Facts = Mapping[str, Any]


def offer_csv(
    label: str, make: Callable[[], bytes], name: str, key: str, *, run_ids: Sequence[str] = (), is_open: bool = False
) -> None:
    """A button that saves a table with its provenance, and the choice of the spreadsheet's way of writing numbers.

    Args:
        label: of the button.
        make: gives the table as CSV, with commas and decimal points; called when the button is pressed.
        name: of the file, without a suffix.
        key: of the button.
        run_ids: the runs that the table is of, if it is of any; what was asked is said of the first.
        is_open: draw it where it stands, within a popover of its own already.
    """
    known_facts = facts_of(session.current_review(), run_ids)
    look = session.still_opens()
    has_comma = bool(st.session_state.get(_DECIMAL_COMMA))

    def pressed() -> bytes:
        look()
        return bundle(make(), known_facts(), name, decimal_comma=has_comma)

    def save(icon: str | None) -> None:
        st.download_button(
            label,
            pressed,
            f"{name}.zip",
            "application/zip",
            key=key,
            icon=icon,
            on_click="ignore",
            width="stretch",
        )

    def ask_and_save() -> None:
        ask_format(key)
        save(":material/download:")

    if is_open:
        save(None)
    else:
        frame.popup(label, ask_and_save, f"{key}_popup", icon=":material/download:")


def offer_file(label: str, content: bytes | Callable[[], bytes], name: str, key: str, hint: str | None = None) -> None:
    """A button that saves a file as it is.

    Args:
        label: of the button.
        content: of the file; a function makes it when the button is pressed.
        name: of the file, with a suffix.
        key: of the button.
        hint: on hovering.
    """
    kind = _KINDS.get(PurePath(name).suffix, "application/octet-stream")
    icon = ":material/download:"
    look = session.still_opens()

    def pressed(make: Callable[[], bytes]) -> bytes:
        look()
        return make()

    given = content if isinstance(content, bytes) else partial(pressed, content)
    st.download_button(label, given, name, kind, key=key, icon=icon, on_click="ignore", help=hint)


def ask_format(key: str) -> None:
    """Ask whether tables are for a spreadsheet with decimal commas; what is chosen once holds for every file of the
    session.
    """

    def keep() -> None:
        st.session_state[_DECIMAL_COMMA] = st.session_state[f"{key}_comma"]

    st.toggle(
        "For Excel with decimal comma",
        value=bool(st.session_state.get(_DECIMAL_COMMA)),
        key=f"{key}_comma",
        on_change=keep,
        help="Columns are parted by semicolons, and numbers written 0,5: as a spreadsheet in German, French or "
        "Spanish opens a file. Off: commas and 0.5.",
    )
    st.caption("A zip of two tables: this one, and where it comes from.")


def bundle(table: bytes, facts: Facts, name: str, *, decimal_comma: bool) -> bytes:
    """A table and its provenance as the bytes of a zip file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["what", "value"])
    writer.writerows(facts.items())
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(f"{name}.csv", for_spreadsheet(table, decimal_comma=decimal_comma))
        provenance = for_spreadsheet(out.getvalue().encode(), decimal_comma=decimal_comma)
        file.writestr(f"{name}-provenance.csv", provenance)
    return content.getvalue()


def for_spreadsheet(table: bytes, *, decimal_comma: bool) -> bytes:
    """A CSV table in UTF-8 with its mark; with semicolons and decimal commas if wanted."""
    text = table.decode("utf-8")
    if decimal_comma:
        out = io.StringIO()
        writer = csv.writer(out, delimiter=";", lineterminator="\r\n")
        writer.writerows([_with_comma(cell) for cell in line] for line in csv.reader(io.StringIO(text)))
        text = out.getvalue()
    return text.encode("utf-8-sig")


def _with_comma(cell: str) -> str:
    return cell.replace(".", ",") if _NUMBER.fullmatch(cell) else cell


# --- where a file comes from --------------------------------------------------------------------


def facts_of(review: Review | None, run_ids: Sequence[str] = ()) -> Callable[[], Facts]:
    """What a file was made of: review, run, the content of data and model, the question, and what is known of them.

    Args:
        review: the open one.
        run_ids: the runs whose results are saved; without any the review as it stands is what counts.

    Returns:
        A function that gives it when the file is made: the data is read for it.
    """
    store = session.store()
    names = None if review is None else decisions_of(review)

    def make() -> Facts:
        run = store.run(run_ids[0]) if run_ids else None
        found: dict[str, Any] = {
            "evenhand_version": _version(run),
            "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        if review is not None:
            found |= {"review": review.name, "review_id": review.id}
        if run is not None:
            found |= _of_run(run) | ({"all_run_ids": " ".join(run_ids)} if len(run_ids) > 1 else {})
        source = run.config if run is not None else review
        if source is None:
            return found
        for role, file_id in (("data", source.data_id), ("model", source.model_id)):
            file = store.file(file_id) if file_id else None
            found |= {f"{role}_file": file.name if file else "none", f"{role}_sha256": file.sha256 if file else ""}
        if source.data_id and source.schema is not None:
            found["rows_left_out"] = _rows_left_out(store.file(source.data_id), source.schema)
        if source.schema is not None and source.scope is not None:
            found |= {"scope": scope_text(source.schema, source.scope)}
        fit = (review.fit if review is not None else None) or {}
        is_same_model = review is not None and source.model_id == review.model_id
        threshold = source.scope.threshold if source.scope is not None else None
        found["threshold"] = (
            threshold if threshold is not None else fit.get("threshold") if is_same_model else "the model's own"
        )
        if names is not None and names.names and names.favourable is not None:
            found |= {"favourable_outcome": names.name(names.favourable), "scores_are_for": names.scored()}
            if names.is_binary:
                found["threshold_is_of_the_score_for"] = names.name(1)
        reading = fit.get("reading") or {}
        found["reading_of_the_model"] = reading.get("state", "not confirmed") if is_same_model else "not confirmed"
        return {key: "" if value is None else value for key, value in found.items()}

    return make


def markdown_facts(facts: Facts) -> str:
    """The facts as a section of a Markdown file."""
    lines = [f"* {key.replace('_', ' ')}: `{str(value).replace('`', chr(39))}`" for key, value in facts.items()]
    return "\n\n## Where this file comes from\n\n" + "\n".join(lines) + "\n"


def _version(run: RunRecord | None) -> str:
    from fairness_engine.store.run_config import installed_versions

    return (run.config.versions if run is not None else installed_versions()).get("evenhand", "")


def _of_run(run: RunRecord) -> dict[str, Any]:
    return {
        "run": phrases.run_title(run.config),
        "run_id": run.id,
        "run_made": run.created.isoformat(timespec="seconds"),
        "run_state": run.state.value,
        "run_ended": run.stop_reason.value if run.stop_reason else "",
        "seed": run.config.seed,
    }


def _rows_left_out(file: StoredFile, schema: Schema) -> int | str:
    try:
        return tables.dataset_of(tables.table_of(file), schema).n_dropped
    except (EvenhandError, OSError):
        return "not known"


def scope_text(schema: Schema, scope: Scope) -> str:
    """What was asked, in words."""
    from fairness_engine.oracle.domain import compared_values

    parts = []
    for name in scope.protected:
        try:
            column = schema.column(name)
            values = [column.text(value) for value in compared_values(schema, scope, name)]
        except EvenhandError:  # a column of texts, whose terms are compared
            parts.append(name)
            continue
        shown = values if len(values) <= _MAX_VALUES else [values[0], "…", values[-1]]
        parts.append(f"{name} ({', '.join(shown)}: {len(values)} values)")
    text = f"protected: {'; '.join(parts)}"
    if scope.excluded:
        text += f"; {len(scope.excluded)} combinations left out"
    text += (
        f"; a pair has scores more than {scope.score_gap:g} apart" if scope.score_gap else "; a pair has two decisions"
    )
    if scope.fixed:
        text += f"; kept as in the data: {', '.join(scope.fixed)}"
    for link in scope.links:
        text += f"; {link_text(link, schema)}"
    for name, (low, high) in scope.limits.items():
        column = schema.column(name)
        text += f"; {name} from {column.text(low)} to {column.text(high)}"
    return text
