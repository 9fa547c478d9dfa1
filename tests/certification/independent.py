"""A second reading of model files, schema files and stored proofs, for judging certifications. It imports nothing of
the engine.

The truth about a person is what the weights in the file say in float64. A framework that evaluates the same weights in
float32 rounds differently; how often that changes a decision is counted elsewhere, it refutes nothing.
"""

from __future__ import annotations

import io
import itertools
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

Layers = list[tuple[np.ndarray, np.ndarray, str]]
_BLOCK = 4096


@dataclass(frozen=True)
class Judge:
    """What a model decides of rows in the file's codes ``(n, n_columns)``.

    Args:
        decide: classes 0 or 1 (or more) ``(n,)``.
        margins: above 0 is class 1 ``(n,)``; ``None`` for a model that gives classes alone.
        decide_float32: as ``decide``, every step in float32; ``None`` where the model's own code decides.
    """

    decide: Callable[[np.ndarray], np.ndarray]
    margins: Callable[[np.ndarray], np.ndarray] | None = None
    decide_float32: Callable[[np.ndarray], np.ndarray] | None = None


def read_judge(path: Path) -> Judge:
    """The judge of a model file: ``.h5``, ``.keras``, ``.nnet``, ``.onnx``; scikit-learn decides its own
    (``.skops``).
    """
    if path.suffix == ".skops":
        import skops.io

        estimator = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
        return judge_of_estimator(estimator)
    readers = {".h5": _h5_layers, ".keras": _keras_layers, ".nnet": _nnet_layers, ".onnx": _onnx_layers}
    return judge_of_layers(readers[path.suffix](path))


def judge_of_estimator(estimator: Any) -> Judge:
    """scikit-learn's own ``predict``, as positions of its classes."""
    classes = np.asarray(estimator.classes_)

    def decide(rows: np.ndarray) -> np.ndarray:
        return np.searchsorted(classes, estimator.predict(rows)) if len(rows) else np.empty(0, int)

    if getattr(estimator, "activation", "") == "relu" and estimator.n_outputs_ == 1:
        names = ["relu"] * (len(estimator.coefs_) - 1) + ["sigmoid"]
        layers = judge_of_layers(list(zip(estimator.coefs_, estimator.intercepts_, names, strict=True)))
        return Judge(decide, layers.margins, layers.decide_float32)
    return Judge(decide)


def judge_of_layers(layers: Layers) -> Judge:
    """The judge of dense layers: weights ``(n_in, n_out)``, biases, and what follows."""

    def margins(rows: np.ndarray) -> np.ndarray:
        return _outputs(layers, rows)[:, 0]

    def decide(rows: np.ndarray) -> np.ndarray:
        return _decisions(_outputs(layers, rows))

    single = [(w.astype(np.float32), b.astype(np.float32), name) for w, b, name in layers]

    def decide_float32(rows: np.ndarray) -> np.ndarray:
        return _decisions(_outputs(single, rows.astype(np.float32)))

    return Judge(decide, margins if layers[-1][0].shape[1] == 1 else None, decide_float32)


def _outputs(layers: Layers, rows: np.ndarray) -> np.ndarray:
    """What enters the last activation ``(n, n_out)``."""
    parts = []
    for start in range(0, len(rows), _BLOCK):
        values = rows[start : start + _BLOCK]
        for weights, biases, activation in layers:
            values = values @ weights + biases
            if activation == "relu":
                np.maximum(values, 0, out=values)
            elif activation == "relu6":
                np.clip(values, 0, 6, out=values)
            elif activation.startswith("leaky"):
                values = np.where(values > 0, values, float(activation[5:]) * values)
            elif activation not in ("sigmoid", "softmax", "linear"):
                raise ValueError(activation)
        parts.append(values)
    return np.concatenate(parts) if parts else np.empty((0, layers[-1][0].shape[1]))


def _decisions(outputs: np.ndarray) -> np.ndarray:
    return (outputs[:, 0] > 0).astype(int) if outputs.shape[1] == 1 else outputs.argmax(axis=1)


# --- files ----------------------------------------------------------------------------------


def _h5_layers(path: Path) -> Layers:
    with h5py.File(path, "r") as file:
        config = json.loads(file.attrs["model_config"])
        layers = []
        for item in config["config"]["layers"]:
            if item["class_name"] == "Dense":
                found: dict[str, np.ndarray] = {}
                name = item["config"]["name"]
                file["model_weights"][name].visititems(
                    lambda key, node, found=found: (
                        found.update({key.rsplit("/", 1)[-1].split(":")[0]: np.array(node, dtype=np.float64)})
                        if isinstance(node, h5py.Dataset)
                        else None
                    )
                )
                layers.append((found["kernel"], found["bias"], item["config"]["activation"]))
    return layers


def _keras_layers(path: Path) -> Layers:
    with zipfile.ZipFile(path) as archive:
        config = json.loads(archive.read("config.json"))
        weights = io.BytesIO(archive.read("model.weights.h5"))
    activations = [item["config"]["activation"] for item in config["config"]["layers"] if item["class_name"] == "Dense"]
    layers = []
    with h5py.File(weights, "r") as file:
        for i, activation in enumerate(activations):
            held = file["layers"]["dense" + (f"_{i}" if i else "")]["vars"]
            layers.append(
                (np.array(held["0"], dtype=np.float64), np.array(held["1"], dtype=np.float64), str(activation))
            )
    return layers


def _nnet_layers(path: Path) -> Layers:
    """The header's bounds, means and ranges belong to another application and are passed over."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("//")]
    widths = [int(value) for value in lines[1].split(",") if value.strip()]
    at = 7
    layers = []
    for n_in, n_out in itertools.pairwise(widths):
        block = [[float(value) for value in line.split(",") if value.strip()] for line in lines[at : at + 2 * n_out]]
        weights = np.array(block[:n_out]).T
        assert weights.shape == (n_in, n_out)
        layers.append((weights, np.array(block[n_out:])[:, 0], "relu"))
        at += 2 * n_out
    layers[-1] = (*layers[-1][:2], "linear")
    return layers


def _onnx_layers(path: Path) -> Layers:
    import onnx

    graph = onnx.load(path).graph
    arrays = {item.name: onnx.numpy_helper.to_array(item).astype(np.float64) for item in graph.initializer}
    layers: Layers = []
    for node in graph.node:
        held = [arrays[name] for name in node.input if name in arrays]
        if node.op_type == "Gemm":
            attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
            assert {key: value for key, value in attributes.items() if key != "transB"} in ({}, {"alpha": 1, "beta": 1})
            layers.append((held[0].T if attributes.get("transB") else held[0], held[1].ravel(), "linear"))
        elif node.op_type == "MatMul":
            layers.append((held[0], np.zeros(held[0].shape[1]), "linear"))
        elif node.op_type == "Add":
            layers[-1] = (layers[-1][0], layers[-1][1] + held[0].ravel(), "linear")
        elif node.op_type == "Relu":
            layers[-1] = (*layers[-1][:2], "relu")
        elif node.op_type == "Sigmoid":
            break
        elif node.op_type not in ("Cast", "Identity"):
            raise ValueError(node.op_type)
    return layers


# --- people ---------------------------------------------------------------------------------


class People:
    """Individuals as digits, and their variants as rows of the file's codes.

    Args:
        schema: the content of a schema file.
        protected: names of the protected columns.
        names, n_digits: of the free columns, in the order of the proof.
        limits: narrower ranges by name (positions for categories).
        bins: values of a protected column to compare, instead of all (positions for categories).
        excluded: combinations of protected values, one an attribute and ``None`` for any, that are not compared.
    """

    def __init__(
        self,
        schema: Mapping[str, Any],
        protected: Sequence[str],
        names: Sequence[str],
        n_digits: Sequence[int],
        limits: Mapping[str, tuple[float, float]] | None = None,
        bins: Mapping[str, Sequence[float]] | None = None,
        excluded: Sequence[Sequence[float | None]] = (),
    ) -> None:
        columns = [column for column in schema["columns"] if column["name"] != schema.get("label")]
        at = {column["name"]: i for i, column in enumerate(columns)}
        limits = limits or {}
        bins = bins or {}
        self.n_columns = len(columns)
        self.base = np.array([_range(column, limits)[0] for column in columns])
        self.columns = np.array([at[name] for name in names], dtype=int)
        self.n_digits = np.array(n_digits, dtype=int)
        free = [columns[i] for i in self.columns]
        self.values = [column_values(column, limits) for column in free]  # None for a continuous one
        self.ranges = [_range(column, limits) for column in free]
        assert all(v is None or len(v) == n for v, n in zip(self.values, self.n_digits, strict=True))
        self.protected = np.array([at[name] for name in protected], dtype=int)
        own = [columns[at[name]] for name in protected]
        choices = [_chosen(column, bins, limits) for column in own]
        left_out = [
            [None if v is None else _code(column, v) for column, v in zip(own, each, strict=True)] for each in excluded
        ]
        self.variants = np.array(
            [
                variant
                for variant in itertools.product(*choices)
                if not any(all(v is None or v == w for v, w in zip(each, variant, strict=True)) for each in left_out)
            ],
            dtype=float,
        )

    @property
    def n_individuals(self) -> float:
        """How many there are; infinity with a continuous column."""
        return float(np.prod(self.n_digits.astype(float))) if not self.is_continuous else np.inf

    @property
    def is_continuous(self) -> bool:
        """Whether a digit of some column is a cell."""
        return any(value is None for value in self.values)

    def variant_rows(self, digits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """``(n, D)`` -> ``(n * K, n_columns)``, the variants of a person together; anywhere in a cell, its ends among
        it.
        """
        rows = np.tile(self.base, (len(digits), 1))
        for i, column in enumerate(self.columns):
            values = self.values[i]
            if values is None:
                low, high = self.ranges[i]
                inside = np.clip(rng.uniform(-0.2, 1.2, len(digits)), 0.0, 1.0)
                rows[:, column] = np.minimum(low + (digits[:, i] + inside) * (high - low) / self.n_digits[i], high)
            else:
                rows[:, column] = values[digits[:, i]]
        out = np.repeat(rows, len(self.variants), axis=0)
        out.reshape(len(rows), len(self.variants), self.n_columns)[:, :, self.protected] = self.variants
        return out


def _chosen(
    column: Mapping[str, Any], bins: Mapping[str, Sequence[float]], limits: Mapping[str, tuple[float, float]]
) -> Sequence[float] | np.ndarray:
    """The values that are compared of one protected column, in the file's codes."""
    if column["name"] not in bins:
        values = column_values(column, limits)
        assert values is not None, "a continuous number needs values"
        return values
    return [_code(column, value) for value in bins[column["name"]]]


def _code(column: Mapping[str, Any], value: float) -> float:
    return float(_codes(column)[int(value)]) if column["kind"] == "categorical" else float(value)


def _codes(column: Mapping[str, Any]) -> np.ndarray:
    """Of a category: numbers where the file holds numbers, else positions."""
    held = column["codes"] if "codes" in column else column["categories"]
    try:
        return np.array([float(code) for code in held])
    except ValueError:
        return np.arange(len(held), dtype=float)


def _range(column: Mapping[str, Any], limits: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    if column["kind"] == "categorical":
        codes = _codes(column)
        low, high = limits.get(column["name"], (0, len(codes) - 1))
        return float(codes[int(low)]), float(codes[int(high)])
    return limits.get(column["name"], (float(column["min"]), float(column["max"])))


def column_values(
    column: Mapping[str, Any], limits: Mapping[str, tuple[float, float]] | None = None
) -> np.ndarray | None:
    """What the digits of a column stand for; ``None`` where they are cells."""
    limits = limits or {}
    if column["kind"] == "categorical":
        codes = _codes(column)
        low, high = limits.get(column["name"], (0, len(codes) - 1))
        return codes[int(low) : int(high) + 1]
    low, high = _range(column, limits)
    step = 1.0 if column["kind"] == "integer" else column.get("step") or (0.0 if high > low else 1.0)
    return low + step * np.arange(int(np.floor((high - low) / step + 1e-9)) + 1) if step else None
