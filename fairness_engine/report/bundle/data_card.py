"""The data card: a data file as Croissant 1.1 with its vocabulary for responsible AI (mlcommons.org/croissant/1.1 and
/RAI/1.0): columns and categories from the schema that the review keeps, never a row.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.report.bundle.contents import Contents, data_path
from fairness_engine.report.bundle.crate import WHY_GONE, WHY_NO_DATA
from fairness_engine.report.bundle.figures import rule_set_text
from fairness_engine.report.bundle.run_content import FileEntry
from fairness_engine.store.records import to_time

CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
_FILE = "data-file"
_ROWS = "rows"
_NOT_STATED = "Not stated by the program that wrote this card: ask whoever gave the data."
_TYPES = {Kind.INTEGER: "sc:Integer", Kind.REAL: "sc:Float"}
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{
        name: f"cr:{name}"
        for name in (
            *("annotation", "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "excludes"),
            *("extract", "field", "fileObject", "fileProperty", "fileSet", "format", "includes", "isArray"),
            *("isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "readLines", "recordSet"),
            *("references", "regex", "repeated", "replace", "samplingRate", "sdVersion", "separator", "source"),
            *("subField", "transform", "unArchive", "value"),
        )
    },
}
"""The context that the specification recommends (its appendix 1), over schema.org's present address."""


def data_card(data: FileEntry, contents: Contents) -> dict[str, Any]:
    """The content of ``croissant.json`` of a data file.

    Raises:
        RunError: the columns cannot be read.
    """
    schema = contents.schema_of(data)
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS_TO),
        "name": data.name,
        "description": _description(data, schema, contents),
        "license": {"@type": "sc:CreativeWork", "name": "Not stated", "description": _NOT_STATED},
        "url": _address(data),
        "creator": {"@type": "sc:Organization", "name": "Not stated", "description": _NOT_STATED},
        "datePublished": to_time(data.created).isoformat(timespec="seconds"),
        "version": "1.0.0",
        "citeAs": f"{data.name}, SHA-256 {data.sha256}",
        "distribution": [_distribution(data, contents)],
        "recordSet": [_rows(schema), *_categories(schema)],
        **_responsible(data, schema, contents),
    }


def _address(data: FileEntry) -> str:
    """The data by its hash, as RFC 6920 writes it: it has no other address."""
    digest = base64.urlsafe_b64encode(bytes.fromhex(data.sha256)).decode().rstrip("=")
    return f"ni:///sha-256;{digest}"


def _description(data: FileEntry, schema: Schema, contents: Contents) -> str:
    label = f" The outcome is '{schema.label}', good for the person: {schema.favourable}." if schema.label else ""
    is_there = contents.has(data_path(data))
    why = "" if is_there else f" {WHY_GONE if contents.about.with_rows else WHY_NO_DATA}"
    return f"Data that a review of discrimination was made on, with {len(schema.columns):,} columns.{label}{why}"


def _distribution(data: FileEntry, contents: Contents) -> dict[str, Any]:
    path = data_path(data)
    where = path.removeprefix("data/") if contents.has(path) else _address(data)
    return {
        "@type": "cr:FileObject",
        "@id": _FILE,
        "name": data.name,
        "contentUrl": where,
        "contentSize": f"{data.n_bytes} B",
        "encodingFormat": "application/vnd.apache.parquet" if _is_parquet(data, contents) else "text/csv",
        "sha256": data.sha256,
    }


def _is_parquet(data: FileEntry, contents: Contents) -> bool:
    """Whether a file is called so, or holds the rows of a query."""
    queries = (run.config.data_query for run in contents.runs if run.config.data_id == data.id)
    return data.name.lower().endswith(".parquet") or any(queries)


# --- record sets --------------------------------------------------------------------------------


def _rows(schema: Schema) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": _ROWS,
        "name": _ROWS,
        "description": "One record a row of the table.",
        "field": [_field(column, schema) for column in schema.columns],
    }


def _field(column: Column, schema: Schema) -> dict[str, Any]:
    identity = f"{_ROWS}/{quote(column.name, safe='')}"
    types = [_data_type(column)]
    if column.name == schema.label:
        types.append("cr:Label")
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": identity,
        "name": column.name,
        "description": _column_text(column, schema),
        "dataType": types if len(types) > 1 else types[0],
        "source": {"fileObject": {"@id": _FILE}, "extract": {"column": column.name}},
    }
    if column.kind is Kind.CATEGORICAL:
        field["references"] = {"field": {"@id": f"{_categories_id(column)}/code"}}
    return field


def _data_type(column: Column) -> str:
    if column.kind is Kind.CATEGORICAL:
        is_text = any(isinstance(code, str) for code in column.codes)
        is_whole = all(isinstance(code, int) for code in column.codes)
        return "sc:Text" if is_text else "sc:Integer" if is_whole else "sc:Float"
    return _TYPES.get(column.kind, "sc:Text")


def _column_text(column: Column, schema: Schema) -> str:
    told = []
    if column.kind in (Kind.INTEGER, Kind.REAL):
        told.append(f"{column.kind.value}, {column.minimum:g} to {column.maximum:g}")
    else:
        told.append(column.kind.value)
    if column.name in schema.protected:
        told.append("a protected attribute")
    if column.name == schema.label:
        told.append("the outcome")
    if column.name == schema.case_id:
        told.append("names the case; no model takes it")
    if column.missing:
        told.append(f"missing cells are also written as {', '.join(map(repr, column.missing))}")
    return f"{'; '.join(told)}."


def _categories_id(column: Column) -> str:
    return f"categories-of-{quote(column.name, safe='')}"


def _categories(schema: Schema) -> Iterator[dict[str, Any]]:
    """The categories of each column: what the file holds, and what people read."""
    for column in schema.columns:
        if column.kind is Kind.CATEGORICAL:
            identity = _categories_id(column)
            kind = _data_type(column)
            yield {
                "@type": "cr:RecordSet",
                "@id": identity,
                "name": identity,
                "description": f"What the codes of '{column.name}' stand for.",
                "dataType": "sc:Enumeration",
                "key": {"@id": f"{identity}/code"},
                "field": [
                    {"@type": "cr:Field", "@id": f"{identity}/code", "name": "code", "dataType": kind},
                    {"@type": "cr:Field", "@id": f"{identity}/label", "name": "label", "dataType": "sc:Text"},
                ],
                "data": [
                    {f"{identity}/code": code, f"{identity}/label": label}
                    for code, label in zip(column.codes, column.labels, strict=True)
                ],
            }


# --- responsible AI -----------------------------------------------------------------------------


def _responsible(data: FileEntry, schema: Schema, contents: Contents) -> dict[str, Any]:
    """What a review knows of data that matters to responsible use; what it does not know it says so."""
    missing = [column.name for column in schema.columns if column.missing]
    card: dict[str, Any] = {
        "rai:dataCollection": _NOT_STATED,
        "rai:dataUseCases": ["Assessment of discrimination by a model, or in the outcomes themselves."],
        "rai:dataLimitations": [
            "Rows that miss a cell, or lie outside the columns' domains, are left out of most figures; each run says "
            "which people its figures are of."
        ],
        "rai:dataReleaseMaintenancePlan": _NOT_STATED,
    }
    if schema.protected:
        card["rai:personalSensitiveInformation"] = list(schema.protected)
    if missing:
        card["rai:dataCollectionMissingData"] = (
            f"Beside empty cells, spellings that stand for a missing one are known of: {', '.join(missing)}."
        )
    biases = list(_biases(data, contents))
    return card | ({"rai:dataBiases": biases} if biases else {})


def _biases(data: FileEntry, contents: Contents) -> Iterator[str]:
    """What rule sets say of the data's own outcomes: those whose interval lies above 0."""
    for run in contents.runs:
        if run.rule_sets is not None and run.config.data_id == data.id and not run.config.model_id:
            for line in run.rule_sets.top:
                if line.low > 0:
                    yield f"{rule_set_text(line)}; run {run.run.id}."
