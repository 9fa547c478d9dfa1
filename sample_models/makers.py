"""What is made for each data set: trained models, and models whose weights are the planted rule."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Kind, Schema
from sample_data.causal import comments
from sample_data.causal.model import CausalModel
from sample_data.make import CENSUS, CREDIT, MARKETING, RECIDIVISM, outcome_column
from sample_models import training
from sample_models.layers import ReluNetwork, network_of_mlp, network_of_rule, write_keras, write_onnx


@dataclass(frozen=True)
class Made:
    """A model in memory, with what the catalogue says about it.

    Args:
        file: its name in the folder.
        title, description, known: for screens.
        decide: classes of rows of the engine (of texts, for the comments).
        write: writes it to a path.
        model_input: ``codes`` (positions of categories, numbers as they are) or ``labels``.
        is_exact: True when it is the planted rule or a part of it.
        protected: the recommended protected attributes.
    """

    file: str
    title: str
    description: str
    known: str
    decide: Callable[[Any], Any]
    write: Callable[[Path], None]
    model_input: str = "codes"
    is_exact: bool = False
    protected: tuple[str, ...] = ()


def outcomes(schema: Schema) -> tuple[str, ...]:
    """What class 0 and class 1 are called."""
    return outcome_column(schema).labels


def write_skops(estimator: Any, path: Path) -> None:
    """Write a scikit-learn estimator as a compressed ``.skops`` file."""
    import skops.io

    skops.io.dump(estimator, path, compression=zipfile.ZIP_DEFLATED)


def training_rows(table: CausalModel) -> tuple[FloatArray, IntArray]:
    """The first three quarters of the committed rows, and their labels."""
    rows, labels = table.sample()
    n = len(rows) * 3 // 4
    return rows[:n], labels[:n]


def as_frame(schema: Schema, rows: FloatArray) -> pd.DataFrame:
    """Rows of the engine as the cells of the file: labels, and numbers as numbers."""
    return pd.DataFrame(
        {
            column.name: (
                np.array(column.labels, dtype=object)[rows[:, i].astype(int)]
                if column.kind is Kind.CATEGORICAL
                else rows[:, i]
            )
            for i, column in enumerate(schema.inputs)
        }
    )


def _estimator(table: CausalModel, kind: str, title: str, description: str, fitted: Any) -> Made:
    """A trained scikit-learn model on codes."""
    return Made(
        f"{table.name}_{kind}.skops",
        title,
        description,
        table.known,
        fitted.predict,
        partial(write_skops, fitted),
        protected=table.protected,
    )


def _network(table: CausalModel, suffix: str, title: str, description: str, network: ReluNetwork) -> Made:
    """A trained dense network."""
    write = write_keras if suffix == "network.keras" else write_onnx
    return Made(
        f"{table.name}_{suffix}",
        title,
        description,
        table.known,
        network.decide,
        partial(write, network),
        protected=table.protected,
    )


def _labels(table: CausalModel, kind: str, title: str, description: str, known: str, without: tuple[str, ...]) -> Made:
    """A trained pipeline that takes labels."""
    rows, labels = training_rows(table)
    schema = table.rule.schema
    names = np.array(outcomes(schema), dtype=object)
    pipeline = training.label_pipeline(schema, as_frame(schema, rows), names[labels], without)
    return Made(
        f"{table.name}_{kind}.skops",
        title,
        description,
        known,
        lambda rows: (pipeline.predict(as_frame(schema, rows)) == names[1]).astype(np.int64),
        partial(write_skops, pipeline),
        model_input="labels",
        protected=table.protected,
    )


def _keras(table: CausalModel) -> Made:
    return _network(
        table,
        "network.keras",
        "Neural network (Keras)",
        "A dense ReLU network with two hidden layers, trained on the data.",
        training.keras_network(*training_rows(table)),
    )


def make_census(table: CausalModel) -> Iterator[Made]:
    """The models for census income."""
    rows, labels = training_rows(table)
    forest = training.forest().fit(rows, labels)
    tree = training.tree().fit(rows, labels)
    ensemble = training.ensemble().fit(rows, labels)
    mlp = training.mlp(rows, labels)
    dense = network_of_mlp(mlp.coefs_, mlp.intercepts_)
    yield _keras(table)
    yield _estimator(table, "forest", "Random forest (scikit-learn)", "Twelve small trees that vote.", forest)
    yield _estimator(table, "tree", "Decision tree (scikit-learn)", "One tree with at most 80 leaves.", tree)
    voters = "A random forest and a decision tree that vote."
    yield _estimator(table, "ensemble", "Voting ensemble (scikit-learn)", voters, ensemble)
    yield _estimator(
        table,
        "svm",
        "Support vector machine (scikit-learn)",
        "A radial-kernel machine trained on a part of the rows; its scores are distances, not probabilities.",
        training.svm(rows, labels),
    )
    yield _estimator(
        table,
        "fair_svm",
        "Linear machine with balanced groups (scikit-learn)",
        "A linear support vector machine whose scores may not covary with sex: Zafar's constraint. Women and men "
        "score alike on average.",
        training.fair_svm(table.rule.schema, rows, labels),
    )
    trained = "A dense ReLU network trained by scikit-learn."
    yield _estimator(table, "mlp", "Multi-layer perceptron (scikit-learn)", trained, mlp)
    same = "The network of scikit-learn as an ONNX file."
    yield _network(table, "dense.onnx", "Multi-layer perceptron (ONNX)", same, dense)
    yield _labels(
        table,
        "pipeline",
        "Pipeline on labels (scikit-learn)",
        "One-hot columns and a linear model, made for the labels as they stand in the file.",
        "A linear model cannot learn for whom sex matters; it finds women near the boundary, whatever their hours.",
        (),
    )
    yield from _exact_census(table)


def _exact_census(table: CausalModel) -> Iterator[Made]:
    planted = network_of_rule(table.rule)
    yield Made(
        f"{table.name}_planted.keras",
        "The planted rule itself (Keras)",
        "A network whose weights are the planted rule, so that every exact share of the truth file is its own.",
        table.known,
        planted.decide,
        partial(write_keras, planted),
        is_exact=True,
        protected=table.protected,
    )
    without = network_of_rule(table.rule.without(effects=[effect.name for effect in table.rule.effects]))
    yield Made(
        f"{table.name}_ignores_protected.keras",
        "The rule without the planted effect (Keras)",
        "A network with the same points that takes sex and race and gives them no weight.",
        "No discriminatory individual exists for sex and race.",
        without.decide,
        partial(write_keras, without),
        is_exact=True,
        protected=table.protected,
    )


def make_credit(table: CausalModel) -> Iterator[Made]:
    """The models for credit."""
    yield _keras(table)
    planted = network_of_rule(table.rule)
    yield Made(
        f"{table.name}_planted.onnx",
        "The planted rule itself (ONNX)",
        "A network whose weights are the planted rule: an age rule, and no effect of sex at all.",
        table.known,
        planted.decide,
        partial(write_onnx, planted),
        is_exact=True,
        protected=table.protected,
    )


def make_marketing(table: CausalModel) -> Iterator[Made]:
    """The models for marketing."""
    rows, labels = training_rows(table)
    forest = training.forest(120).fit(rows, labels)
    yield _estimator(table, "forest", "Random forest (scikit-learn)", "Twelve small trees that vote.", forest)
    yield _keras(table)
    yield _labels(
        table,
        "ignores_protected",
        "Pipeline without the protected columns (scikit-learn)",
        "A linear model on labels that is given age, sex and place of birth, and drops them.",
        "No discriminatory individual exists for age, sex and place of birth: the model never sees them.",
        table.protected,
    )

    planted = network_of_rule(table.rule)
    yield Made(
        f"{table.name}_planted.onnx",
        "The planted rule itself (ONNX)",
        "A network whose weights are the planted rule: what the trained ones learnt of it can be told apart.",
        table.known,
        planted.decide,
        partial(write_onnx, planted),
        is_exact=True,
        protected=table.protected,
    )


def make_recidivism(table: CausalModel) -> Iterator[Made]:
    """The models for recidivism; its whole space is small enough to fit a tree to."""
    rows, labels = training_rows(table)
    yield _estimator(
        table,
        "mlp",
        "Multi-layer perceptron (scikit-learn)",
        "A dense ReLU network trained by scikit-learn.",
        training.mlp(rows, labels),
    )
    everyone = every_row(table.rule.schema)
    tree = training.tree_of_rule(everyone, table.rule.decide(everyone))
    yield Made(
        f"{table.name}_planted.skops",
        "The planted rule itself (decision tree)",
        "A decision tree that repeats the planted rule on every row of the space.",
        table.known,
        tree.predict,
        partial(write_skops, tree),
        is_exact=True,
        protected=table.protected,
    )


def every_row(schema: Schema) -> FloatArray:
    """Every row of a small space of categories and whole numbers, ``(n, n_columns)``."""
    ranges = [np.arange(column.low, column.high + 1) for column in schema.inputs]
    return np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, len(ranges))


def make_comments_model() -> Made:
    """The linear model of the comments."""
    cells, labels = comments.sample()
    n = len(cells) * 3 // 4
    names = np.array(["kept", "removed"])
    pipeline = training.text_pipeline([text for text, _ in cells[:n]], names[labels[:n]].tolist())
    return Made(
        "comments_linear.skops",
        "Linear text model (scikit-learn)",
        "Weighted words and logistic regression; takes the comment as a string.",
        "Replacing an identity by 'gay' or 'Muslim' turns a critical comment from kept to removed.",
        lambda texts: (pipeline.predict(texts) == "removed").astype(np.int64),
        partial(write_skops, pipeline),
        model_input="labels",
    )


MAKERS: dict[str, Callable[[CausalModel], Iterator[Made]]] = {
    CENSUS.name: make_census,
    CREDIT.name: make_credit,
    MARKETING.name: make_marketing,
    RECIDIVISM.name: make_recidivism,
}
