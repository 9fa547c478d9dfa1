"""Algorithm 2 of paper 001 word for word: one rule set at a time, one row at a time.

It shares no code with ``fairness_engine.groups.rule_sets``: groups are read from what the command line says of a rule
set, samples are made and networks evaluated here. It is what the engine is slower or faster than, and what its scores
are checked against.
"""

from __future__ import annotations

import io
import math
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from scipy.stats import beta

from fairness_engine.data.schema import Column, Kind, Schema

Z_95 = 1.959963984540054
MAX_SAMPLES = 100_000
"""On each side, for a rule set whose error does not come down."""

Decide = Callable[[np.ndarray], bool]


@dataclass(frozen=True)
class LiteralScore:
    """Samples on each side, how many of them got the favourable outcome, and the seconds it took."""

    n: int
    favourable_inside: int
    favourable_outside: int
    seconds: float

    @property
    def score(self) -> float:
        """The group fairness score, 0 to 1."""
        return abs(self.favourable_inside - self.favourable_outside) / self.n

    def interval(self, n_tested: int, confidence: float = 0.95) -> tuple[float, float]:
        """Of the score, jointly over so many rule sets: from Clopper and Pearson's interval of each side."""
        alpha = (1 - confidence) / (2 * n_tested)
        low_in, high_in = clopper_pearson(self.favourable_inside, self.n, alpha)
        low_out, high_out = clopper_pearson(self.favourable_outside, self.n, alpha)
        low = low_in - high_out
        high = high_in - low_out
        return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def clopper_pearson(hits: int, n: int, alpha: float) -> tuple[float, float]:
    """The exact interval of a share, wrong with probability ``alpha`` at most."""
    low = 0.0 if hits == 0 else float(beta.ppf(alpha / 2, hits, n - hits + 1))
    high = 1.0 if hits == n else float(beta.ppf(1 - alpha / 2, hits + 1, n - hits))
    return low, high


def is_inside(schema: Schema, rows: np.ndarray, rules: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """Which rows satisfy every rule, as the command line says them ``(n_rows,)``."""
    found = np.ones(len(rows), dtype=bool)
    for rule in rules:
        column = schema.column(rule["column"])
        held = rows[:, schema.index(rule["column"])]
        if "values" in rule:
            found &= np.isin(held, [column.labels.index(label) for label in rule["values"]])
        else:
            is_last = column.kind is Kind.INTEGER or rule["high"] == column.high
            found &= (held >= rule["low"]) & ((held <= rule["high"]) if is_last else (held < rule["high"]))
    return found


class Literal:
    """Algorithm 2 on one data set.

    Args:
        schema: what the columns are.
        protected: attributes that a sample never moves.
        rows: of the data, as the engine holds them ``(n_rows, n_columns)``.
        decide: whether one row gets the favourable outcome.
    """

    def __init__(self, schema: Schema, protected: Sequence[str], rows: np.ndarray, decide: Decide) -> None:
        self._schema = schema
        self._rows = rows
        self._decide = decide
        columns = schema.inputs
        self._movable = [i for i, column in enumerate(columns) if column.name not in protected and _span(column) > 0]
        self._unit = [_move(column) for column in columns]
        self._low = [column.low for column in columns]
        self._high = [column.high for column in columns]

    def score(
        self, rules: Sequence[Mapping[str, Any]], rng: np.random.Generator, least: int = 1000, error: float = 0.05
    ) -> LiteralScore:
        """The score of one rule set.

        Args:
            rules: as the command line says them.
            rng: the only source of chance.
            least: samples on each side before the error is looked at.
            error: the most it may be.
        """
        started = time.perf_counter()
        inside = is_inside(self._schema, self._rows, rules)
        sides = np.flatnonzero(inside), np.flatnonzero(~inside)
        n = 0
        favourable = [0, 0]
        while n < MAX_SAMPLES:
            for side, seeds in enumerate(sides):
                favourable[side] += self._decide(self._sample(self._rows[seeds[rng.integers(len(seeds))]], rng))
            n += 1
            if n > least and sum(_error(hits / n, n) for hits in favourable) <= error:
                break
        return LiteralScore(n, favourable[0], favourable[1], time.perf_counter() - started)

    def _sample(self, seed: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        row = seed.copy()
        column = self._movable[rng.integers(len(self._movable))]
        moved = row[column] + (self._unit[column] if rng.random() < 0.5 else -self._unit[column])
        row[column] = min(max(moved, self._low[column]), self._high[column])
        return row


def _span(column: Column) -> float:
    return column.high - column.low


def _move(column: Column) -> float:
    """A tiny move: 1, the column's step, or 0.01 of its range."""
    return column.step or (_span(column) / 100 if column.kind is Kind.REAL else 1.0)


def _error(share: float, n: int) -> float:
    return Z_95 * math.sqrt(share * (1 - share) / n)


# --- deciding one row ------------------------------------------------------------------------


def own_network(path: Path, favourable: int) -> Decide:
    """A ``.keras`` file of ReLU layers and one sigmoid, evaluated in NumPy one row at a time."""
    with zipfile.ZipFile(path) as archive, h5py.File(io.BytesIO(archive.read("model.weights.h5"))) as file:
        names = sorted(
            (name for name in file["layers"] if name.startswith("dense")), key=lambda name: (len(name), name)
        )
        held = [file["layers"][name]["vars"] for name in names]
        layers = [(part["0"][()].astype(np.float64), part["1"][()].astype(np.float64)) for part in held]

    def decide(row: np.ndarray) -> bool:
        values = row
        for kernel, bias in layers[:-1]:
            values = np.maximum(values @ kernel + bias, 0.0)
        kernel, bias = layers[-1]
        return bool((values @ kernel + bias)[0] > 0.0) == bool(favourable)

    return decide


def keras_network(path: Path, favourable: int) -> Decide:
    """The same file in Keras, one row a call of a compiled graph."""
    import keras
    import tensorflow as tf

    model = keras.saving.load_model(path, compile=False)
    call = tf.function(lambda rows: model(rows, training=False), input_signature=[tf.TensorSpec((1, None), tf.float32)])

    def decide(row: np.ndarray) -> bool:
        return bool(float(call(tf.constant(row[None], tf.float32))[0, 0]) > 0.5) == bool(favourable)

    return decide
