"""The models that rule sets are measured on: six dense layers for tables, a CNN-LSTM and a linear model for texts,
trained here.

``python -m benchmarks.rules_models`` with ``EVENHAND_SHARED`` set trains those that are missing, in minutes on two
cores, and says how often they are right. Models lie outside the project, in ``EVENHAND_BENCH_MODELS`` or a temporary
folder: they are made of data that is not the project's to pass on. A file's name holds a digest of its recipe and its
data, so that neither can change unnoticed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.rules_data import TABLES, TEXTS, TableSource, TextSource
from benchmarks.table import markdown
from fairness_engine.arrays import FloatArray, IntArray
from sample_models.layers import ReluNetwork, write_keras

SEED = 20240405
WIDTHS = (64, 32, 16, 8, 4)
"""Hidden layers, as in the configuration that the paper refers to; a sigmoid for two outcomes is the sixth layer."""
LEARNING_RATE = 0.002
TRAINED_SHARE = 0.8
RECIPE = 4
"""Counted up with every change of what is trained, so that no old file is taken for a new one."""
CNN_LSTM = "cnn_lstm"
LINEAR = "linear"
KIND_WORDS = {CNN_LSTM: "CNN-LSTM", LINEAR: "linear"}
TEXT_SUFFIX = {CNN_LSTM: ".keras", LINEAR: ".skops"}


@dataclass(frozen=True)
class Trained:
    """A model's file, and how often it is right: on the rows it was trained on, on the others, and always saying the
    commonest outcome.
    """

    path: Path
    seconds: float
    accuracy: float
    held_out: float
    majority: float

    def to_json(self) -> dict[str, Any]:
        """The figures."""
        return {name: getattr(self, name) for name in ("seconds", "accuracy", "held_out", "majority")}


def model_folder() -> Path:
    """Where models are kept: ``EVENHAND_BENCH_MODELS``, or one of the system's temporary folder; made when missing."""
    default = Path(tempfile.gettempdir()) / "evenhand-bench-models"
    folder = Path(os.environ.get("EVENHAND_BENCH_MODELS", "") or default)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def table_model(source: TableSource) -> Trained:
    """The network of a table; trained in a process of its own when it is not there yet."""
    return _kept(_path(source, ".keras"), _train_network, source.name)


def text_model(source: TextSource, kind: str) -> Trained:
    """The CNN-LSTM or the linear model of a data set of texts; trained in a process of its own when it is not there
    yet.
    """
    train = _train_cnn_lstm if kind == CNN_LSTM else _train_linear
    return _kept(_path(source, f"-{kind}{TEXT_SUFFIX[kind]}"), train, source.name)


def _path(source: TableSource | TextSource, suffix: str) -> Path:
    made_of = f"{RECIPE} {SEED} {WIDTHS} {LEARNING_RATE} {TRAINED_SHARE} {source}".encode()
    digest = hashlib.sha256(made_of + (source.folder / "data.csv").read_bytes()).hexdigest()
    return model_folder() / f"{source.name}-{digest[:12]}{suffix}"


def _kept(path: Path, train: Callable[[str, Path], dict[str, float]], name: str) -> Trained:
    said = path.with_suffix(".json")
    if not said.exists():
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            started = time.perf_counter()
            figures = pool.apply(train, (name, path))
            said.write_text(json.dumps({"seconds": time.perf_counter() - started, **figures}), encoding="utf-8")
    return Trained(path, **json.loads(said.read_text(encoding="utf-8")))


# --- tables ---------------------------------------------------------------------------------


def _train_network(name: str, path: Path) -> dict[str, float]:
    """Six dense layers on standardised rows; the standardisation is folded into the first layer."""
    source = TABLES[name]
    dataset = source.dataset()
    assert dataset.labels is not None  # every table here has a label
    rows = dataset.rows
    labels = dataset.labels
    is_trained = _split(len(rows))
    network = _fit(rows[is_trained], labels[is_trained], source)
    write_keras(network, path)
    return _figures(network.decide(rows) == labels, is_trained, labels)


def _fit(rows: FloatArray, labels: IntArray, source: TableSource) -> ReluNetwork:
    keras = _keras()
    mean = rows.mean(axis=0)
    scale = np.maximum(rows.std(axis=0), 1e-9)
    hidden = [keras.layers.Dense(n, activation="relu", kernel_initializer="he_normal") for n in WIDTHS]
    model = keras.Sequential([keras.Input((rows.shape[1],)), *hidden, keras.layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.Adam(LEARNING_RATE), "binary_crossentropy")
    model.fit((rows - mean) / scale, labels, epochs=source.n_epochs, batch_size=source.n_batch, verbose=0)
    arrays = [np.asarray(array, dtype=np.float64) for array in model.get_weights()]
    return ReluNetwork(tuple(zip(arrays[::2], arrays[1::2], strict=True))).on_raw_inputs(mean, scale)


def _keras() -> Any:
    """Keras, seeded and without operations that differ from run to run."""
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    return keras


def _split(n: int) -> np.ndarray:
    """Which rows a model is trained on ``(n,)``."""
    order = np.random.default_rng(SEED).permutation(n)
    is_trained = np.zeros(n, dtype=bool)
    is_trained[order[: round(TRAINED_SHARE * n)]] = True
    return is_trained


def _figures(is_right: np.ndarray, is_trained: np.ndarray, labels: IntArray) -> dict[str, float]:
    return {
        "accuracy": float(is_right[is_trained].mean()),
        "held_out": float(is_right[~is_trained].mean()),
        "majority": float(np.bincount(labels).max() / len(labels)),
    }


# --- texts ----------------------------------------------------------------------------------


def _texts(source: TextSource) -> tuple[list[str], IntArray, np.ndarray]:
    """Texts, 1 for the second outcome in alphabetical order, and which of them a model is trained on."""
    frame = pd.read_csv(source.folder / "data.csv", dtype=str, keep_default_na=False)
    labels = np.unique(frame[source.label], return_inverse=True)[1].astype(np.int64)
    is_trained = np.zeros(len(frame), dtype=bool)
    is_trained[np.random.default_rng(SEED).permutation(len(frame))[: source.n_trained]] = True
    return frame[source.text].tolist(), labels, is_trained


def _train_cnn_lstm(name: str, path: Path) -> dict[str, float]:
    """Words, a convolution over them, an LSTM over that; texts go in as they are."""
    source = TEXTS[name]
    texts, labels, is_trained = _texts(source)
    trained = np.array(texts, dtype=object)[is_trained]
    sizes = source.n_words, source.n_tokens, source.n_epochs
    model = cnn_lstm(trained.tolist(), labels[is_trained], path, *sizes)
    scores = np.asarray(model.predict(_tensor(texts), batch_size=2048, verbose=0))[:, 0]
    return _figures((scores > 0.5) == labels, is_trained, labels)


def cnn_lstm(texts: list[str], labels: np.ndarray, path: Path, n_words: int, n_tokens: int, n_epochs: int) -> Any:
    """Train the network on these texts and write it; returns it."""
    keras = _keras()
    words = keras.layers.TextVectorization(max_tokens=n_words, output_sequence_length=n_tokens)
    words.adapt(np.array(texts, dtype=object))
    model = keras.Sequential(
        [
            keras.Input((1,), dtype="string"),
            words,
            keras.layers.Embedding(n_words, 32),
            keras.layers.Conv1D(32, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling1D(2),
            keras.layers.LSTM(32),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.003), "binary_crossentropy")
    model.fit(_tensor(texts), labels.astype(np.float32), epochs=n_epochs, batch_size=64, verbose=0)
    model.save(path)
    return model


def _tensor(texts: list[str]) -> Any:
    import tensorflow as tf

    return tf.constant([[text] for text in texts])


def _train_linear(name: str, path: Path) -> dict[str, float]:
    """A linear model over the weighted words."""
    import skops.io

    from sample_models.training import text_pipeline

    source = TEXTS[name]
    texts, labels, is_trained = _texts(source)
    frame = pd.read_csv(source.folder / "data.csv", dtype=str, keep_default_na=False)
    outcome = frame[source.label].to_numpy(dtype=object)
    chosen = np.flatnonzero(is_trained)
    pipeline = text_pipeline([texts[i] for i in chosen], outcome[chosen].tolist())
    skops.io.dump(pipeline, path)
    return _figures(pipeline.predict(texts) == outcome, is_trained, labels)


def main() -> None:
    """Train what is missing, and print how often each model is right."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    rows = []
    models = [(source.title, table_model(source)) for source in TABLES.values()]
    for text in TEXTS.values():
        models += [(f"{text.title}, {KIND_WORDS[kind]}", text_model(text, kind)) for kind in KIND_WORDS]
    for title, trained in models:
        figures = (f"{100 * value:.2f} %" for value in (trained.accuracy, trained.held_out, trained.majority))
        rows.append((title, *figures, f"{trained.seconds:.0f}", trained.path.name))
    print(markdown(("model", "right", "held out", "commonest outcome", "s to train", "file"), rows))


if __name__ == "__main__":
    main()
