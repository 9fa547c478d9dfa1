"""Dense ReLU networks as plain arrays: built from a rule, taken from scikit-learn, written as Keras or ONNX files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Column
from sample_data.causal.rule import PointRule, allowed, n_values, values


@dataclass(frozen=True)
class ReluNetwork:
    """Dense layers with ReLU between them and one sigmoid at the end.

    Args:
        layers: (weights ``(n_in, n_out)``, biases ``(n_out,)``) a layer; the last has one output.
    """

    layers: tuple[tuple[FloatArray, FloatArray], ...]

    def logits(self, rows: FloatArray) -> FloatArray:
        """What enters the sigmoid, ``(n_rows,)``."""
        hidden = rows
        for weights, biases in self.layers[:-1]:
            hidden = np.maximum(hidden @ weights + biases, 0.0)
        weights, biases = self.layers[-1]
        output: FloatArray = (hidden @ weights + biases)[:, 0]
        return output

    def decide(self, rows: FloatArray) -> IntArray:
        """Classes 0 or 1 ``(n_rows,)``."""
        return (self.logits(rows) > 0).astype(np.int64)

    def on_raw_inputs(self, mean: FloatArray, scale: FloatArray) -> ReluNetwork:
        """The network that takes ``x`` where this one takes ``(x - mean) / scale``."""
        weights, biases = self.layers[0]
        folded = weights / scale[:, None]
        return ReluNetwork(((folded, biases - mean @ folded), *self.layers[1:]))


def network_of_rule(rule: PointRule) -> ReluNetwork:
    """The network that decides exactly as a rule does, for every row of its domain.

    The first layer has two hinges at each value where the points of an attribute, or its part in an effect, change:
    their difference is 0 below the value and 1 from it on. The second adds up the points, and tells for every
    effect whether all its conditions hold. The logit is the total less the cut, plus one half, so that no row is near
    0.
    """
    columns = rule.schema.inputs
    tables = [_tables(rule, column) for column in columns]  # (1 + n_effects, n_values) each
    hinges = [(i, k) for i, table in enumerate(tables) for k in _changes(table)]
    first = np.zeros((len(columns), 2 * len(hinges)))
    first_bias = np.zeros(2 * len(hinges))
    n_sums = 1 + len(rule.effects)
    second = np.zeros((2 * len(hinges), n_sums))
    second_bias = np.zeros(n_sums)
    for unit, (i, k) in enumerate(hinges):
        step = columns[i].step or 1.0
        first[i, 2 * unit : 2 * unit + 2] = 1.0 / step
        first_bias[2 * unit : 2 * unit + 2] = np.array([1.0, 0.0]) - values(columns[i])[k] / step
        rise = tables[i][:, k] - tables[i][:, k - 1]
        second[2 * unit] = rise
        second[2 * unit + 1] = -rise
    starts = np.sum([table[:, 0] for table in tables], axis=0)
    offset = -sum(min(points) for points in rule.points.values())
    second_bias[0] = starts[0] + offset
    second_bias[1:] = starts[1:] - len(columns) + 1
    last = np.array([[1.0], *([float(effect.points)] for effect in rule.effects)])
    return ReluNetwork(((first, first_bias), (second, second_bias), (last, np.array([0.5 - rule.cut - offset]))))


def _tables(rule: PointRule, column: Column) -> FloatArray:
    """For every value of a column its points, and for every effect whether it does not rule it out."""
    points = rule.points.get(column.name, (0,) * n_values(column))
    parts = [
        allowed(column, effect.where[column.name]) if column.name in effect.where else np.ones(n_values(column))
        for effect in rule.effects
    ]
    return np.array([points, *parts], dtype=np.float64)


def _changes(table: FloatArray) -> IntArray:
    return np.flatnonzero(np.any(table[:, 1:] != table[:, :-1], axis=0)) + 1


def write_keras(network: ReluNetwork, path: Path) -> None:
    """Write a network as a ``.keras`` file of Dense layers, without optimizer."""
    import keras

    n_inputs = network.layers[0][0].shape[0]
    model = keras.Sequential([keras.Input((n_inputs,))])
    for i, (weights, _) in enumerate(network.layers):
        is_last = i == len(network.layers) - 1
        model.add(keras.layers.Dense(weights.shape[1], activation="sigmoid" if is_last else "relu"))
    model.set_weights([array for layer in network.layers for array in layer])
    model.save(path)


def write_onnx(network: ReluNetwork, path: Path) -> None:
    """Write a network as an ONNX file of Gemm, Relu and Sigmoid in float32."""
    import onnx

    make = onnx.helper
    nodes = []
    weights_of = []
    name = "rows"
    for i, (weights, biases) in enumerate(network.layers):
        for part, array in (("weights", weights), ("biases", biases)):
            weights_of.append(onnx.numpy_helper.from_array(array.astype(np.float32), f"{part}_{i}"))
        nodes.append(make.make_node("Gemm", [name, f"weights_{i}", f"biases_{i}"], [f"sums_{i}"]))
        name = f"values_{i}" if i < len(network.layers) - 1 else "probability"
        nodes.append(make.make_node("Relu" if name != "probability" else "Sigmoid", [f"sums_{i}"], [name]))
    float32 = onnx.TensorProto.FLOAT
    n_inputs = network.layers[0][0].shape[0]
    graph = make.make_graph(
        nodes,
        "dense network",
        [make.make_tensor_value_info("rows", float32, ["n_rows", n_inputs])],
        [make.make_tensor_value_info("probability", float32, ["n_rows", 1])],
        weights_of,
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9, producer_name="evenhand")
    onnx.checker.check_model(model)
    onnx.save(model, path)


def network_of_mlp(coefficients: Sequence[Any], intercepts: Sequence[Any]) -> ReluNetwork:
    """The layers of a fitted two-class ``MLPClassifier``."""
    return ReluNetwork(
        tuple((np.asarray(w, float), np.asarray(b, float)) for w, b in zip(coefficients, intercepts, strict=True))
    )
