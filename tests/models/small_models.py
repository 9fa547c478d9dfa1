"""Small schemas, networks and files for the tests of model formats."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from fairness_engine.data.schema import Column, Kind, ModelInput, Schema
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer

N_FEATURES = 4


def numbers_schema(n_columns: int = N_FEATURES, **changes: object) -> Schema:
    """Columns a, b, ... of whole numbers 0..9; the first is protected."""
    columns = tuple(
        Column("abcdefghijklmnopqrstuvwxyz"[i], Kind.INTEGER, minimum=0, maximum=9) for i in range(n_columns)
    )
    return Schema(columns=columns, protected=("a",), **changes)


def mixed_schema(model_input: ModelInput = ModelInput.AUTO) -> Schema:
    """sex and job as text, age whole, wealth continuous."""
    return Schema(
        columns=(
            Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
            Column("age", Kind.INTEGER, minimum=20, maximum=60),
            Column("job", Kind.CATEGORICAL, codes=("clerk", "nurse", "judge"), labels=("clerk", "nurse", "judge")),
            Column("wealth", Kind.REAL, minimum=0.0, maximum=5.0),
        ),
        label="hired",
        favourable="yes",
        protected=("sex",),
        model_input=model_input,
    )


def random_network(widths: tuple[int, ...], last: Activation = Activation.SIGMOID, seed: int = 0) -> DenseNetwork:
    """ReLU layers of random weights."""
    rng = np.random.default_rng(seed)
    layers = [
        Layer(
            rng.normal(size=(n_in, n_out)) / np.sqrt(n_in),
            rng.normal(size=n_out),
            last if i == len(widths) - 2 else Activation.RELU,
        )
        for i, (n_in, n_out) in enumerate(pairwise(widths))
    ]
    return DenseNetwork(layers)


def dense_config(units: int, n_inputs: int | None, activation: str, name: str) -> dict[str, object]:
    """A Dense layer as Keras 2 wrote it."""
    config: dict[str, object] = {
        "name": name,
        "units": units,
        "activation": activation,
        "use_bias": True,
        "dtype": "float32",
    }
    if n_inputs is not None:
        config["batch_input_shape"] = [None, n_inputs]
    return {"class_name": "Dense", "config": config}


def write_legacy_h5(path: Path, network: DenseNetwork, layers: list[dict[str, object]] | None = None) -> None:
    """A ``.h5`` file in the layout of Keras 2."""
    import json

    import h5py

    names = [f"dense_{i}" for i in range(len(network.layers))]
    described = layers or [
        dense_config(
            layer.weights.shape[1], layer.weights.shape[0] if i == 0 else None, str(layer.activation), names[i]
        )
        for i, layer in enumerate(network.layers)
    ]
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(
            {"class_name": "Sequential", "config": {"name": "s", "layers": described}}
        )
        weights = file.create_group("model_weights")
        weights.attrs["layer_names"] = np.array(names, dtype="S20")
        for name, layer in zip(names, network.layers, strict=True):
            group = weights.create_group(name)
            group.attrs["weight_names"] = np.array([f"{name}/kernel:0", f"{name}/bias:0"], dtype="S40")
            group[f"{name}/kernel:0"] = layer.weights.astype(np.float32)
            group[f"{name}/bias:0"] = layer.biases.astype(np.float32)
