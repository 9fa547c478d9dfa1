"""What certification is measured on: the peers' networks, AEQUITAS's classifiers, and networks made for size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.table import shared_folder
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.model import Model
from fairness_engine.models.open import bind, open_model
from fairness_engine.oracle.domain import Domain, Scope


@dataclass(frozen=True)
class Source:
    """Where a network, its data and its question are.

    Args:
        file: of ``models``.
        data: of ``data/peer``, without its ending.
        protected: what the two persons may differ in.
    """

    file: str
    data: str
    protected: tuple[str, ...]

    @property
    def model_path(self) -> Path:
        """The model's file."""
        return shared_folder() / "models" / self.file

    @property
    def schema_path(self) -> Path:
        """The schema's file."""
        return shared_folder() / "data" / "peer" / f"{self.data}.schema.json"


@dataclass(frozen=True)
class Case:
    """A model over a domain, and the rows of its data ``(n_rows, n_columns)``."""

    model: Model
    domain: Domain
    rows: np.ndarray


_FAIRIFY = {"AC": ("adult", "sex"), "BM": ("bank_additional", "age"), "GC": ("german", "age")}
FAIRIFY_NAMES = ("BM-1", "BM-2", "BM-3", "GC-1", "GC-2", "GC-3", "AC-1", "AC-2", "AC-3", "AC-4", "AC-6")


def _fairify(name: str) -> Source:
    data, protected = _FAIRIFY[name[:2]]
    return Source(f"fairify/{name}.h5", f"{data}__fairify_fairquant", (protected,))


SOURCES: dict[str, Source] = {
    **{name: _fairify(name) for name in FAIRIFY_NAMES},
    "compas-1": Source("fairquant/compas-1.h5", "compas__fairquant", ("Race",)),
    "AC-1.nnet": Source("fairquant/AC-1.nnet", "adult__fairify_fairquant", ("sex",)),
    "maft-adult": Source("maft/adult_model.h5", "adult__maft_eidig", ("age",)),
    "maft-german": Source("maft/german_model.h5", "german__maft_eidig", ("PersonStatusSex",)),
    "maft-heart": Source("maft/heart_model.h5", "heart__maft", ("sex",)),
}


def network_case(name: str, **scope: object) -> Case:
    """A case on one of the peers' networks.

    Args:
        name: of ``SOURCES``.
        scope: further fields of ``Scope``.
    """
    source = SOURCES[name]
    schema = Schema.read(source.schema_path).with_protected(source.protected)
    csv = source.schema_path.with_name(f"{source.data}.csv")
    dataset = make_dataset(read_table(csv, name=csv.name), schema)
    favourable = 1 if dataset.favourable_class is None else dataset.favourable_class
    model = open_model(source.model_path, dataset.schema, classes=dataset.classes or None, favourable=favourable)
    domain = Domain(dataset.schema, Scope(source.protected, **scope), model.taken(dataset.schema.names))
    return Case(model, domain, dataset.rows)


BANK_AS_READ = {
    "low": (0, 0, 0, 0, 0, 0, 0, 0, 0, -3, 0, 1, 0, 0, 0, 0),
    "high": (10, 2, 6, 1, 1, 1, 1, 11, 6, 1, 5000, 50, 999, 7, 2, 1),
}
"""The ranges in the headers of the authors' bank networks. They stand in another order than the weights, so that the
first input, age as 0 or 1, is compared at 0 and 10: a problem about other people, but the one that their figures are
of."""


def bank_as_read(name: str) -> Case:
    """A bank network over the box that the authors' program takes for its domain."""
    case = network_case(name)
    names = case.domain.schema.inputs
    ranges = zip(names, BANK_AS_READ["low"], BANK_AS_READ["high"], strict=True)
    columns = tuple(Column(column.name, Kind.INTEGER, minimum=low, maximum=high) for column, low, high in ranges)
    schema = Schema(columns=columns, protected=("age",))
    model = bind(case.model.predictor, CodesEncoder(schema), schema)
    return Case(model, Domain(schema, Scope(("age",), bins={"age": (0.0, 10.0)})), np.empty((0, len(columns))))


AS_READ = " as read"


def case_of(name: str) -> Case:
    """A case by its name: that of a source, or of a bank network followed by ``AS_READ``."""
    return bank_as_read(name.removesuffix(AS_READ)) if name.endswith(AS_READ) else network_case(name)


AGES = (17.0, 95.0)


def bank_by_age(name: str, *, every_value: bool) -> Case:
    """A bank network with age in years: every one of them compared, or the youngest and the oldest alone.

    The network was trained on age as 0 or 1. What it answers outside that means nothing; what it costs to bound is the
    same.
    """
    case = network_case(name)
    columns = tuple(
        replace(column, minimum=AGES[0], maximum=AGES[1]) if column.name == "age" else column
        for column in case.domain.schema.columns
    )
    schema = replace(case.domain.schema, columns=columns)
    model = bind(case.model.predictor, CodesEncoder(schema), schema)
    scope = Scope(("age",)) if every_value else Scope(("age",), bins={"age": AGES})
    return Case(model, Domain(schema, scope), np.empty((0, case.domain.n_columns)))


def large_case(data: str, n_layers: int = 10, width: int = 1000) -> Case:
    """A network of ``n_layers`` x ``width`` neurons with seeded weights, scaled so that half of the domain is decided
    either way.

    Args:
        data: name of a source whose data and question are taken.
    """
    domain = network_case(data).domain
    rng = np.random.default_rng(0)
    span = np.maximum(domain.high - domain.low, 1.0)
    widths = [domain.n_columns, *[width] * n_layers]
    weights = [rng.normal(0, np.sqrt(2 / a), (a, b)) for a, b in pairwise(widths)]
    weights[0] /= span[:, None]
    layers = [Layer(w, rng.normal(0, 0.1, w.shape[1]), Activation.RELU) for w in weights]
    readout = rng.normal(0, np.sqrt(1 / width), (width, 1))
    half = np.median(_hidden(layers, domain.sample(2000, rng)) @ readout)
    layers.append(Layer(readout, np.array([-half]), Activation.SIGMOID))
    model = bind(DenseNetwork(tuple(layers)), CodesEncoder(domain.schema), domain.schema)
    return Case(model, domain, np.empty((0, domain.n_columns)))


def _hidden(layers: list[Layer], rows: np.ndarray) -> np.ndarray:
    values = rows
    for layer in layers:
        values = np.maximum(values @ layer.weights + layer.biases, 0.0)
    return values


def classifier_cases() -> dict[str, Callable[[], Case]]:
    """AEQUITAS's subjects on its census income, sex protected, and three more that proofs are made for; each trained
    when asked for.
    """
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    from benchmarks.aequitas import N_ROWS_SVM, census, classifiers
    from fairness_engine.models.sklearn.estimator import compile_estimator

    schema, rows, labels = census()
    estimators = classifiers() | {
        "gradient boosting": GradientBoostingClassifier(random_state=0),
        "logistic regression": LogisticRegression(max_iter=1000),
    }

    def make(name: str) -> Callable[[], Case]:
        def made() -> Case:
            n = N_ROWS_SVM if name == "SVM" else len(rows)
            fitted = estimators[name].fit(rows[:n], labels[:n])
            model = bind(compile_estimator(fitted), CodesEncoder(schema), schema)
            return Case(model, Domain(schema, Scope(("sex",))), rows)

        return made

    return {name: make(name) for name in estimators}
