"""Loan applications with hundreds and thousands of protected combinations, and small models of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.schema import Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.oracle.domain import Scope
from loan_cases import loan_frame

COLUMNS = ("Geschlecht", "Alter", "Staatsangehörigkeit", "Wohneigentum", "Einkommen", "Score", "bewilligt")
PROTECTED = COLUMNS[:3]
AGES = (20.0, 32.0, 44.0, 56.0, 68.0)
HUNDREDS = Scope(PROTECTED, bins={"Alter": AGES})
"""3 x 5 x 30 = 450 combinations."""
THOUSANDS = Scope(PROTECTED, bins={"Alter": tuple(map(float, range(20, 76)))}, max_variants=10_000)
"""3 x 56 x 30 = 5,040 combinations."""


@cache
def loan_csv(n_rows: int = 2_500) -> bytes:
    """The applications as a clean CSV file."""
    return loan_frame(n_rows, seed=3)[list(COLUMNS)].to_csv(index=False).encode()


@cache
def loan_data(n_rows: int = 2_500) -> Dataset:
    """The applications as rows."""
    table = read_table(loan_csv(n_rows), "loans.csv")
    return make_dataset(table, loan_schema(n_rows))


@cache
def loan_schema(n_rows: int = 2_500) -> Schema:
    """With three protected attributes; ``ja`` is favourable."""
    schema = infer_schema(read_table(loan_csv(n_rows), "loans.csv"))
    assert [column.kind for column in schema.inputs] == [
        *(Kind.CATEGORICAL, Kind.INTEGER, Kind.CATEGORICAL, Kind.CATEGORICAL, Kind.REAL, Kind.REAL)
    ]
    return replace(schema, label="bewilligt", favourable="ja", protected=PROTECTED)


def write_model(folder: Path, kind: str = "tree") -> Path:
    """A model of the applications that discriminates by what was planted: ``tree``, ``linear`` or ``network``."""
    frame = loan_frame(2_500, seed=3)[list(COLUMNS)]
    path = folder / f"loans_{kind}.skops"
    words = ["Geschlecht", "Staatsangehörigkeit", "Wohneigentum"]
    numbers = ["Alter", "Einkommen", "Score"]
    steps = ColumnTransformer(
        [("words", OneHotEncoder(handle_unknown="ignore"), words), ("numbers", StandardScaler(), numbers)]
    )
    learner = {
        "tree": lambda: DecisionTreeClassifier(min_samples_leaf=10, random_state=0),
        "linear": lambda: LogisticRegression(max_iter=500),
        "network": lambda: MLPClassifier((8, 6), max_iter=40, random_state=0),
    }[kind]()
    model = make_pipeline(steps, learner).fit(frame.drop(columns="bewilligt"), frame["bewilligt"])
    skops.io.dump(model, path)
    return path
