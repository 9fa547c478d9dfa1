"""What the comparison of searches is made on: models, data and scopes, each with an evaluation that is not the
engine's.

The independent half of a case (``decide``, ``allowed``) reads the weights and the schema file by itself and shares no
code with ``fairness_engine``; it judges every pair that a search reports.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from benchmarks.table import shared_folder
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import read_table
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.model import Model
from fairness_engine.models.open import bind, open_model
from fairness_engine.models.sklearn.estimator import compile_estimator
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs

SMALL_LIMITS = {"occupation": (0.0, 3.0), "native-country": (0.0, 0.0)}
"""Of Adult, so that everybody can be counted: one country and four occupations."""
N_TREES = 50


@dataclass(frozen=True)
class Case:
    """One question to compare searches on.

    Args:
        name: for ``--only``.
        title: for the heading.
        model, domain, rows: as the engine opens them; rows of the data ``(n_rows, n_columns)``.
        decide: decisions ``(n_rows,)`` of rows of the file's codes, independent of the engine.
        allowed: the codes that each column may hold, from the schema file itself and the case's limits.
        is_compiled: the model is no network.
    """

    name: str
    title: str
    model: Model
    domain: Domain
    rows: np.ndarray
    decide: Callable[[np.ndarray], np.ndarray]
    allowed: tuple[np.ndarray, ...]
    is_compiled: bool = False

    def n_wrong(self, pairs: Pairs) -> int:
        """How many pairs break what a pair is, by the independent evaluation.

        The two persons are decided differently, differ in protected columns only, hold codes that the file knows, and
        the rest of them was not reported before.
        """
        protected = self.domain.protected.tolist()
        others = [i for i in range(self.domain.n_columns) if i not in protected]
        first = self.codes(pairs.first)
        second = self.codes(pairs.second)
        wrong = self.decide(first) == self.decide(second)
        wrong |= (first[:, others] != second[:, others]).any(axis=1)
        wrong |= (first[:, protected] == second[:, protected]).all(axis=1)
        for i, allowed in enumerate(self.allowed):
            wrong |= ~(np.isin(first[:, i], allowed) & np.isin(second[:, i], allowed))
        wrong |= pd.DataFrame(first[:, others]).duplicated().to_numpy()
        return int(wrong.sum())

    def codes(self, rows: np.ndarray) -> np.ndarray:
        """Rows of the engine, which hold positions of categories, as the file's codes."""
        return _as_codes(self.domain.schema, rows)


def network_case(
    name: str, title: str, data: str, file: str, protected: str, limits: dict[str, tuple[float, float]] | None = None
) -> Case:
    """A case on one of the peers' networks.

    Args:
        name, title: of the case.
        data: of ``data/peer``, without its ending.
        file: of ``models/maft``.
        protected: the attribute that the two persons may differ in.
        limits: narrower ranges of the scope.
    """
    schema, rows, classes, allowed = _data(data, protected, limits or {})
    path = shared_folder() / "models" / "maft" / file
    model = open_model(path, schema, classes=classes, favourable=1, threshold=None, unsafe_formats=False, name=file)
    domain = Domain(schema, Scope((protected,), limits=limits or {}))
    return Case(name, title, model, domain, rows, independent_network(path), allowed)


def forest_case(name: str, title: str, data: str, protected: str) -> Case:
    """A case on a random forest."""
    return estimator_case(name, title, data, protected, RandomForestClassifier(n_estimators=N_TREES, random_state=0))


def estimator_case(name: str, title: str, data: str, protected: str, estimator: Any) -> Case:
    """A case on an estimator of scikit-learn that is trained here on all of the data; its ``predict`` is the
    independent evaluation.
    """
    schema, rows, _, allowed = _data(data, protected, {})
    labels = pd.read_csv(shared_folder() / "data" / "peer" / f"{data}.csv")[str(schema.label)].to_numpy()
    fitted = estimator.fit(_as_codes(schema, rows), labels)
    model = bind(compile_estimator(fitted), CodesEncoder(schema), schema)
    domain = Domain(schema, Scope((protected,)))
    return Case(name, title, model, domain, rows, lambda rows: np.asarray(fitted.predict(rows)), allowed, True)


def _as_codes(schema: Schema, rows: np.ndarray) -> np.ndarray:
    out = rows.copy()
    for i, column in enumerate(schema.inputs):
        if column.codes:
            out[:, i] = np.array(column.codes, dtype=float)[rows[:, i].astype(int)]
    return out


def _data(
    data: str, protected: str, limits: dict[str, tuple[float, float]]
) -> tuple[Schema, np.ndarray, tuple[str, ...], tuple[np.ndarray, ...]]:
    """Schema, rows, classes, and by an independent reading the codes that each column may hold."""
    folder = shared_folder() / "data" / "peer"
    schema = Schema.read(folder / f"{data}.schema.json").with_protected((protected,))
    dataset = make_dataset(read_table(folder / f"{data}.csv", name=f"{data}.csv"), schema)
    columns = json.loads((folder / f"{data}.schema.json").read_text(encoding="utf-8"))["columns"]
    allowed = [_codes(column) for column in columns]
    for i, column in enumerate(columns):
        if column["name"] in limits:  # positions; of columns whose codes count from 0 they are the codes
            low, high = limits[column["name"]]
            allowed[i] = allowed[i][(allowed[i] >= low) & (allowed[i] <= high)]
    return dataset.schema, dataset.rows, dataset.classes, tuple(allowed)


def _codes(column: dict[str, Any]) -> np.ndarray:
    if "codes" in column:
        return np.array([float(code) for code in column["codes"]])
    return np.arange(column["min"], column["max"] + 1, dtype=float)


def independent_network(path: Path) -> Callable[[np.ndarray], np.ndarray]:
    """Decisions of a Keras network of ReLU layers and one sigmoid: a plain float64 forward pass over the file's
    weights.
    """
    with h5py.File(path, "r") as file:
        config = json.loads(file.attrs["model_config"])
        named = {layer["config"]["name"]: layer for layer in config["config"]["layers"]}
        kept = [name if isinstance(name, str) else name.decode() for name in file["model_weights"].attrs["layer_names"]]
        layers = []
        for name in kept:
            arrays: dict[str, np.ndarray] = {}
            file["model_weights"][name].visititems(
                lambda key, item, arrays=arrays: (
                    arrays.update({key.rsplit("/", 1)[-1]: item[()]}) if isinstance(item, h5py.Dataset) else None
                )
            )
            if arrays:
                kernel = next(value for key, value in arrays.items() if key.startswith("kernel"))
                bias = next(value for key, value in arrays.items() if key.startswith("bias"))
                layers.append((kernel.astype(np.float64), bias.astype(np.float64), named[name]["config"]["activation"]))
    activations = [activation for _, _, activation in layers]
    if activations != ["relu"] * (len(layers) - 1) + ["sigmoid"]:
        raise SystemExit(f"The network must be ReLU layers and one sigmoid for this benchmark, got {activations}.")

    def decide(rows: np.ndarray) -> np.ndarray:
        decisions = np.empty(len(rows), dtype=bool)
        for start in range(0, len(rows), 8192):
            values = rows[start : start + 8192]
            for kernel, bias, activation in layers:
                values = values @ kernel + bias
                if activation == "relu":
                    values = np.maximum(values, 0.0)
            decisions[start : start + 8192] = values[:, 0] > 0.0  # a sigmoid exceeds one half where its input exceeds 0
        return decisions

    return decide


CASES: dict[str, Callable[[], Case]] = {
    "adult-age": lambda: network_case("adult-age", "Adult, age", "adult__maft_eidig", "adult_model.h5", "age"),
    "adult-sex": lambda: network_case("adult-sex", "Adult, sex", "adult__maft_eidig", "adult_model.h5", "sex"),
    "adult-small": lambda: network_case(
        "adult-small",
        "A part of Adult that can be counted, age",
        "adult__maft_eidig",
        "adult_model.h5",
        "age",
        SMALL_LIMITS,
    ),
    "german-sex": lambda: network_case(
        "german-sex", "German credit, sex and status", "german__maft_eidig", "german_model.h5", "PersonStatusSex"
    ),
    "heart-sex": lambda: network_case("heart-sex", "Heart disease, sex", "heart__maft", "heart_model.h5", "sex"),
    "adult-forest": lambda: forest_case(
        "adult-forest", f"A random forest of {N_TREES} trees on Adult, sex", "adult__maft_eidig", "sex"
    ),
}
