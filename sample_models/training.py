"""How each kind of model is trained: small, seeded, on the committed rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Kind, Schema
from fairness_engine.models.fair_svm import FairLinearSVC
from sample_models.layers import ReluNetwork, network_of_mlp

SEED = 20240401
N_SVM_ROWS = 1500
HIDDEN = (24, 12)
N_EPOCHS = 25
BATCH = 64
LEARNING_RATE = 0.005


def tree(n_leaves: int = 80) -> DecisionTreeClassifier:
    """A decision tree on codes."""
    return DecisionTreeClassifier(max_leaf_nodes=n_leaves, min_samples_leaf=5, random_state=SEED)


def forest(n_leaves: int = 80) -> RandomForestClassifier:
    """A small random forest on codes."""
    return RandomForestClassifier(
        n_estimators=12, max_leaf_nodes=n_leaves, min_samples_leaf=3, max_features=0.6, random_state=SEED
    )


def ensemble() -> VotingClassifier:
    """A random forest and a decision tree that vote with their probabilities."""
    return VotingClassifier([("forest", forest(50)), ("tree", tree(50))], voting="soft")


def svm(rows: FloatArray, labels: IntArray) -> Pipeline:
    """A support vector machine with the radial kernel, on the first rows only: its size grows with them."""
    machine = Pipeline([("scale", StandardScaler()), ("svm", SVC(C=8.0, gamma=0.12, random_state=SEED))])
    return machine.fit(rows[:N_SVM_ROWS], labels[:N_SVM_ROWS])


def fair_svm(schema: Schema, rows: FloatArray, labels: IntArray) -> Pipeline:
    """A linear machine whose scores do not covary with sex on the rows that it is trained on."""
    sex = [column.name for column in schema.inputs].index("sex")
    return Pipeline([("scale", StandardScaler()), ("svm", FairLinearSVC((sex,)))]).fit(rows, labels)


def mlp(rows: FloatArray, labels: IntArray) -> MLPClassifier:
    """A multi-layer perceptron; the standardisation of its inputs is folded into the first layer."""
    mean = rows.mean(axis=0)
    scale = rows.std(axis=0)
    network = MLPClassifier(
        HIDDEN,
        learning_rate_init=LEARNING_RATE,
        max_iter=300,
        early_stopping=True,
        n_iter_no_change=15,
        random_state=SEED,
    )
    network.fit((rows - mean) / scale, labels)
    folded = network_of_mlp(network.coefs_, network.intercepts_).on_raw_inputs(mean, scale)
    network.coefs_ = [weights for weights, _ in folded.layers]
    network.intercepts_ = [biases for _, biases in folded.layers]
    for left_over in ("_optimizer", "_random_state", "_best_coefs", "_best_intercepts"):
        network.__dict__.pop(left_over, None)  # what training needed and predicting does not
    return network


def keras_network(rows: FloatArray, labels: IntArray) -> ReluNetwork:
    """A network trained with Keras; the standardisation of its inputs is folded into the first layer."""
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    mean = rows.mean(axis=0)
    scale = rows.std(axis=0)
    hidden = [keras.layers.Dense(n, activation="relu") for n in HIDDEN]
    model = keras.Sequential([keras.Input((rows.shape[1],)), *hidden, keras.layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.Adam(LEARNING_RATE), "binary_crossentropy")
    model.fit((rows - mean) / scale, labels, epochs=N_EPOCHS, batch_size=BATCH, verbose=0)
    arrays = [np.asarray(array, dtype=np.float64) for array in model.get_weights()]
    return ReluNetwork(tuple(zip(arrays[::2], arrays[1::2], strict=True))).on_raw_inputs(mean, scale)


def label_pipeline(
    schema: Schema, frame: pd.DataFrame, outcome: pd.Series[Any], without: tuple[str, ...] = ()
) -> Pipeline:
    """A pipeline that takes the labels themselves as a DataFrame: one-hot columns, scaled numbers, a linear model.

    Args:
        without: columns that the pipeline is given but drops.
    """
    used = [column for column in schema.inputs if column.name not in without]
    categories = [column.name for column in used if column.kind is Kind.CATEGORICAL]
    numbers = [column.name for column in used if column.kind is not Kind.CATEGORICAL]
    labels = [list(schema.column(name).labels) for name in categories]
    encode = ColumnTransformer(
        [("categories", OneHotEncoder(categories=labels), categories), ("numbers", StandardScaler(), numbers)]
    )
    return Pipeline([("encode", encode), ("linear", LogisticRegression(max_iter=1000))]).fit(frame, outcome)


def text_pipeline(texts: list[str], outcome: list[str]) -> Pipeline:
    """A linear model over the weighted words of a text."""
    words = TfidfVectorizer(min_df=2, sublinear_tf=True)
    return Pipeline([("words", words), ("linear", LogisticRegression(C=20.0, max_iter=1000))]).fit(texts, outcome)


def tree_of_rule(rows: FloatArray, decisions: IntArray) -> DecisionTreeClassifier:
    """The decision tree that repeats every decision of a rule over a whole domain."""
    return DecisionTreeClassifier(random_state=SEED).fit(rows, decisions)
