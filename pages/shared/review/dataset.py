"""From an uploaded file to the review's data set. What is derived from an upload is kept for this browser session
only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.data.label import favourable_class
from fairness_engine.data.schema import Schema
from fairness_engine.errors import DataError, InputError, SchemaError
from fairness_engine.oracle.domain import Domain, Ranges, Scope
from pages.shared.app import session
from pages.shared.app.kept import kept
from pages.shared.review import kind as text_review
from pages.shared.review import tables
from pages.shared.review.kind import is_without_model

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.data.dataset import Dataset
    from fairness_engine.data.table import Table
    from fairness_engine.store.records import Review, StoredFile


def table_of(review: Review) -> Table:
    """The review's file as text.

    Raises:
        DataError: the review has no data, or the file cannot be read.
    """
    if review.data_id is None:
        raise DataError("This review has no data yet. Drop a CSV file on the Data page.")
    return tables.table_of(file_of(review.data_id))


def file_of(data_id: str) -> StoredFile:
    """The stored file of a review's data."""
    return kept("data_file", data_id, lambda: session.store().file(data_id))


def dataset_of(review: Review) -> Dataset:
    """The review's rows under its schema.

    Raises:
        DataError: the file does not fit the schema.
    """
    table = table_of(review)
    if review.schema is None:
        raise DataError("This review has no description of its columns yet. Open the Data page.")
    return tables.dataset_of(table, review.schema)


def reasons_of(review: Review) -> dict[str, str]:
    """Why columns of the review's data are left out, by what they hold; looked at once a schema. Texts are, unless the
    model takes them.
    """
    from fairness_engine.data.inference import why_left_out

    table = table_of(review)
    schema = review.schema
    if schema is None:
        return {}
    key = (table.source_hash, *((column.name, column.kind) for column in schema.columns), schema.label)
    reasons = kept("left_out", key, lambda: why_left_out(table, schema))
    taken = text_review.text_columns(schema) if text_review.is_text(review) or not schema.inputs else ()
    return {name: reason for name, reason in reasons.items() if name not in taken}


def group_tables_of(review: Review) -> list[tuple[str, pd.DataFrame]]:
    """Title and table of the groups of each protected attribute, and of their combinations."""
    dataset = dataset_of(review)
    return _group_tables(dataset.source_hash, json.dumps(dataset.schema.to_json()), dataset)


@st.cache_resource(scope="session", max_entries=2, show_spinner="Counting groups …")
def _group_tables(sha256: str, schema: str, _dataset: Dataset) -> list[tuple[str, pd.DataFrame]]:  # noqa: ARG001 - the cache's key
    from pages.shared.review import group_sizes

    return [(group_sizes.title_of(sizes), group_sizes.group_table(sizes)) for sizes in group_sizes.sizes_of(_dataset)]


# --- changes ------------------------------------------------------------------------------------


def keep_data(review: Review, file: StoredFile, schema: Schema | None = None) -> Review:
    """Give a review a data set, a stored file; without a schema one is inferred. A scope and a fit that no longer hold
    are dropped.

    The favourable outcome of an inferred schema is left open: the page asks for it.

    Raises:
        InputError: the file is no table, or does not fit the schema given.
    """
    from fairness_engine.data.inference import suggest_protected

    changed = replace(review, data_id=file.id)
    if schema is None:
        inferred = tables.describe(file)
        schema = replace(inferred, favourable=None, protected=suggest_protected(inferred))
    else:
        dataset_of(replace(changed, schema=schema))
        schema = with_label_described(table_of(changed), schema)
    return session.save(replace(with_schema(changed, schema), fit=None))


def with_label_described(table: Table, schema: Schema) -> Schema:
    """The schema with its label among the columns, so that its outcomes can be given words."""
    from fairness_engine.data.corrections import change_label

    if schema.label is None or any(column.name == schema.label for column in schema.columns):
        return schema
    described = change_label(table, schema, schema.label)
    return replace(described, favourable=schema.favourable)


def change_schema(review: Review, schema: Schema) -> Review:
    """Save a corrected schema after a check against the file.

    Raises:
        InputError: the file does not fit it; nothing was saved.
    """
    changed = with_schema(review, schema)
    dataset_of(changed)
    return session.save(changed)


def with_schema(review: Review, schema: Schema) -> Review:
    """The review with another schema; the fit and the scope stay only while they still hold."""
    old = review.schema
    scope = review.scope
    if scope is not None and scope.protected[0] not in text_review.text_columns(schema):
        has_values = old is not None and _is_space(Domain, old, scope)
        scope = scope if old is None else scope.moved(old, schema)
        if not _is_space(Domain if has_values else Ranges, schema, scope):  # values to compare are not lost unnoticed
            scope = None
    fit = review.fit
    if old is not None and old.favourable is None and schema.favourable is not None:
        fit = _with_favourable(fit, schema)
        old = replace(old, favourable=schema.favourable)
    is_same = old is not None and old.as_model_sees == schema.as_model_sees
    is_kept = is_without_model(review) or (is_same and knows_use_of(replace(review, fit=fit), schema.protected))
    return replace(review, schema=schema, scope=scope, fit=fit if is_kept else None)


def _with_favourable(fit: dict[str, Any] | None, schema: Schema) -> dict[str, Any] | None:
    """A fit card that was confirmed before anybody said which outcome is favourable, with the answer; ``None`` where it
    has no such class.
    """
    classes = list((fit or {}).get("classes") or ())
    label = next((column for column in schema.columns if column.name == schema.label), None)
    position = None if label is None or schema.favourable is None else favourable_class(label, schema.favourable)
    if fit is None or label is None or position is None or label.labels[position] not in classes:
        return None if classes else fit
    return {**fit, "favourable": classes.index(label.labels[position])}


def _is_space(kind: type[Ranges], schema: Schema, scope: Scope) -> bool:
    """Whether a schema and a scope belong together."""
    try:
        kind(schema, scope)
    except InputError:
        return False
    return True


def knows_use_of(review: Review, protected: Iterable[str]) -> bool:
    """Whether the review's fit card says of all these attributes if the model takes them; nothing is to be said of a
    model of texts, or of none."""
    if text_review.FIT_KEY in (review.fit or {}) or is_without_model(review):
        return True
    return set(protected) <= set((review.fit or {}).get("uses_protected") or {})


def read_schema(content: bytes, name: str) -> Schema:
    """A schema file as uploaded.

    Raises:
        SchemaError: it is no schema file.
    """
    try:
        return Schema.from_json(json.loads(content.decode("utf-8-sig")))
    except (ValueError, RecursionError):
        raise SchemaError(
            f"The schema file '{name}' must be JSON in UTF-8, but cannot be read as such. Save it again."
        ) from None


def schema_file(schema: Schema) -> bytes:
    """The content of a schema file to download."""
    return f"{json.dumps(schema.to_json(), indent=1, ensure_ascii=False)}\n".encode()


# --- remedies -----------------------------------------------------------------------------------


def has_doubled_labels(dataset: Dataset) -> bool:
    """Whether two outcomes differ by a full stop, as in a well-known census file, or by capitals only."""
    from fairness_engine.data.label import doubled_outcomes

    return bool(doubled_outcomes(dataset.classes))


def fold_and_keep(review: Review, table: Table) -> Review:
    """Store the table again with outcomes that differ by full stops or capitals written alike, and use that."""
    from fairness_engine.data.corrections import change_label
    from fairness_engine.data.dataset import fold_labels
    from fairness_engine.data.label import plain_outcome
    from fairness_engine.store.records import FileRole

    schema = review.schema
    if schema is None or schema.label is None:
        raise DataError("Folding labels needs a label column. Choose one in the table of columns.")
    folded = fold_labels(table, schema.label)
    content = folded.frame.to_csv(index=False).encode("utf-8")
    by_plain = {plain_outcome(str(text)): str(text) for text in folded.cells(schema.label).texts}
    favourable = schema.favourable
    if isinstance(favourable, str):
        favourable = by_plain.get(plain_outcome(favourable), favourable)
    corrected = replace(change_label(folded, schema, schema.label), favourable=favourable)
    return keep_data(
        review, session.keep_file(content, f"folded {PurePath(table.name).stem}.csv", FileRole.DATA), corrected
    )
