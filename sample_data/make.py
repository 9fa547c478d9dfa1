"""Write the sample data: ``python -m sample_data.make [--out FOLDER]``.

Every file comes from a written causal model (``sample_data/causal/``) and a seed. Next to each table and its schema
stands ``<name>.truth.json``: what is planted, in words and exact numbers.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Column, Kind, Layout, Schema
from fairness_engine.models.encoders.one_hot import is_text
from fairness_engine.oracle.domain import Domain, Scope
from sample_data.causal import comments
from sample_data.causal.census import CENSUS
from sample_data.causal.credit import CREDIT
from sample_data.causal.marketing import MARKETING
from sample_data.causal.model import CausalModel
from sample_data.causal.recidivism import RECIDIVISM
from sample_data.causal.rule import Effect, PointRule, values

TABLES = (CENSUS, CREDIT, MARKETING, RECIDIVISM)
FOLDER = Path(__file__).resolve().parent


def main(arguments: Sequence[str] | None = None) -> None:
    """Write every file into a folder."""
    parser = argparse.ArgumentParser(description="Write the sample data with their planted discrimination.")
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder to write to")
    folder = parser.parse_args(arguments).out
    folder.mkdir(parents=True, exist_ok=True)
    for model in TABLES:
        write_table(model, folder)
    write_comments(folder)
    write_json(folder / "catalogue.json", {"version": 1, "samples": [*map(table_entry, TABLES), comments_entry()]})


def with_numbers(schema: Schema) -> Schema:
    """The schema with the numbers that the sample models know its categories by: their places, as they were trained."""
    texts = {column.name: column.labels for column in schema.inputs if is_text(column)}
    return replace(schema, layout=Layout(codes=texts))


def write_table(model: CausalModel, folder: Path) -> None:
    """Write one table, its schema and its truth."""
    rows, labels = model.sample()
    schema = model.rule.schema
    outcomes = outcome_column(schema).labels
    cells = (
        [*(_cell(column, value) for column, value in zip(schema.inputs, row, strict=True)), outcomes[label]]
        for row, label in zip(rows, labels, strict=True)
    )
    write_csv(folder / f"{model.name}.csv", [*schema.names, str(schema.label)], cells)
    with_numbers(schema).write(folder / f"{model.name}.schema.json")
    write_json(folder / f"{model.name}.truth.json", table_truth(model, rows, labels))


def write_comments(folder: Path) -> None:
    """Write the comments, their schema and their truth."""
    cells, labels = comments.sample()
    outcome = ("kept", "removed")
    lines = ([text, topic, outcome[label]] for (text, topic), label in zip(cells, labels, strict=True))
    write_csv(folder / "comments.csv", ["comment", "topic", "moderation"], lines)
    comments.SCHEMA.write(folder / "comments.schema.json")
    write_json(folder / "comments.truth.json", comments_truth(labels))


def write_csv(path: Path, header: list[str], lines: Iterable[list[str]]) -> None:
    """Write a CSV file in UTF-8 with commas and plain line ends."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file that reads well."""
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _cell(column: Column, value: float) -> str:
    return str(column.code(value)) if column.kind is Kind.CATEGORICAL else f"{value:g}"


# --- the known answer ---------------------------------------------------------------------


def table_truth(model: CausalModel, rows: FloatArray, labels: IntArray) -> dict[str, Any]:
    """What is planted in one table, in words and numbers."""
    rule = model.rule
    return {
        "version": 1,
        "data": f"{model.name}.csv",
        "n_rows": len(rows),
        "seed": model.seed,
        "known": model.known,
        "equations": list(model.equations),
        "planted": [_effect(rule, effect, rows, labels) for effect in rule.effects],
        "proxies": list(model.proxies),
        "no_effect": list(model.no_effect),
        "decision_rule": _decision_rule(rule),
        "agreement_of_labels_with_rule": round(float((rule.decide(rows) == labels).mean()), 4),
        "shares": [_share(rule, protected, rows) for protected in model.protected_sets],
    }


def _effect(rule: PointRule, effect: Effect, rows: FloatArray, labels: IntArray) -> dict[str, Any]:
    inside = rule.totals(rows) != rule.without(effects=[effect.name]).totals(rows)
    favourable = (labels == 1) == (class_one(rule.schema) == rule.schema.favourable)
    return {
        "name": effect.name,
        "says": effect.says,
        "where": {name: list(condition) for name, condition in effect.where.items()},
        "points": effect.points,
        "n_rows_inside": int(inside.sum()),
        "favourable_share_inside": round(float(favourable[inside].mean()), 4),
        "favourable_share_outside": round(float(favourable[~inside].mean()), 4),
    }


def _decision_rule(rule: PointRule) -> dict[str, Any]:
    """The points as steps: each attribute's value from which a number of points counts."""
    schema = rule.schema
    steps = {}
    for name, points in rule.points.items():
        column = schema.column(name)
        texts = [column.text(value) for value in values(column)]
        changes = [i for i in range(len(points)) if i == 0 or points[i] != points[i - 1]]
        kept = range(len(points)) if column.kind is Kind.CATEGORICAL else changes
        steps[name] = {texts[i]: points[i] for i in kept}
    return {"outcome": class_one(schema), "when_points_are_at_least": rule.cut, "points": steps}


def class_one(schema: Schema) -> str:
    """The outcome that the rule decides on when the points reach the cut: the second label."""
    return outcome_column(schema).labels[1]


def outcome_column(schema: Schema) -> Column:
    """The label's column."""
    return next(column for column in schema.columns if column.name == schema.label)


def _share(rule: PointRule, protected: tuple[str, ...], rows: FloatArray) -> dict[str, Any]:
    n_discriminatory, n_individuals = rule.count(protected)
    domain = Domain(rule.schema, Scope(protected))
    variants = domain.variants(rows).reshape(-1, domain.n_columns)
    decisions = rule.decide(variants).reshape(-1, domain.n_variants)
    return {
        "protected": list(protected),
        "n_individuals": n_individuals,
        "n_discriminatory": n_discriminatory,
        "share": n_discriminatory / n_individuals,
        "share_of_data_rows": float(np.mean(decisions.min(axis=1) != decisions.max(axis=1))),
    }


def comments_truth(labels: IntArray) -> dict[str, Any]:
    """What is planted in the comments, in words and numbers."""
    counts = {kind: comments.count(kind) for kind in comments.TERMS}
    return {
        "version": 1,
        "data": "comments.csv",
        "n_rows": len(labels),
        "seed": comments.SEED,
        "known": comments_entry()["known"],
        "equations": [
            "tone and identity term are drawn independently",
            "comment <- person, term, act, clause in the tone, friendly clause",
            "moderation <- points of the tone; and the planted points of two terms",
        ],
        "terms": {kind: list(terms) for kind, terms in comments.TERMS.items()},
        "planted": [{"term": term, "points": points} for term, points in comments.TERM_POINTS.items()],
        "no_effect": ["race", "age"],
        "decision_rule": {
            "outcome": "removed",
            "when_points_are_at_least": comments.CUT,
            "points": {tone: points for tone, (points, _) in comments.TONES.items()},
        },
        "shares": [
            {"terms": kind, "n_individuals": n, "n_discriminatory": found, "share": found / n}
            for kind, (found, n) in counts.items()
        ],
    }


# --- the catalogue ------------------------------------------------------------------------


def table_entry(model: CausalModel) -> dict[str, Any]:
    """One table as the Start page lists it."""
    return {
        "name": model.name,
        "title": model.title,
        "description": model.description,
        "data": f"{model.name}.csv",
        "schema": f"{model.name}.schema.json",
        "truth": f"{model.name}.truth.json",
        "protected": list(model.protected),
        "known": model.known,
        "asks": model.asks,
        "outcome": model.outcome,
        "groups": [group.name for group in model.groups],
        "affected": list(model.affected),
    }


def comments_entry() -> dict[str, Any]:
    """The comments as the Start page lists them."""
    return {
        "name": "comments",
        "title": "Comments",
        "description": "Which comments moderators remove, with planted extra points for the words 'gay' and 'Muslim'.",
        "data": "comments.csv",
        "schema": "comments.schema.json",
        "truth": "comments.truth.json",
        "protected": [],
        "text_column": "comment",
        "known": "A critical comment that mentions 'gay' or 'Muslim' is removed where the same comment with another "
        "identity is kept; terms of race and age change no decision of the planted rule.",
        "asks": "Which comments are kept?",
        "outcome": "are kept",
        "groups": list(comments.GROUPS),
        "affected": [],
    }


if __name__ == "__main__":
    main()
