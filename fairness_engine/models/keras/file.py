"""Static reader of Keras files: ``.keras`` archives and legacy ``.h5``, without importing Keras.

The description of the architecture is read and judged first; then the weights it calls for, each of the shape it must
have. What the description does not ask for is never read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.errors import ModelError
from fairness_engine.models.dense.chain import DenseChain
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.formats import read_members
from fairness_engine.models.keras.config import LayerConfig, UnreadArchitectureError, chain_of, refuse_unsafe
from fairness_engine.models.keras.hdf5 import open_hdf5, read_floats, read_text, shape_of


class Weights(Protocol):
    """Where the weights of layers are read from."""

    def find(self, layer: LayerConfig, names: tuple[str, ...]) -> list[Any]:
        """The variables of a layer, unread, in the order asked for."""
        ...


class ArchiveWeights:
    """Weights of a ``.keras`` archive: numbered variables in the group of a layer."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def find(self, layer: LayerConfig, names: tuple[str, ...]) -> list[Any]:
        older = layer.archive_path.replace("layers/", "_layer_checkpoint_dependencies/")
        for path in (layer.archive_path, older):
            if f"{path}/vars" in self._file:
                variables = self._file[f"{path}/vars"]
                if all(str(i) in variables for i in range(len(names))):
                    return [variables[str(i)] for i in range(len(names))]
        raise ModelError(f"The weights of layer '{layer.title}' are missing from the model file. Save the model again.")


class LegacyWeights:
    """Weights of a legacy ``.h5`` file: named variables, grouped by the outermost layer."""

    def __init__(self, group: Any) -> None:
        self._group = group

    def find(self, layer: LayerConfig, names: tuple[str, ...]) -> list[Any]:
        if layer.group in self._group:
            group = self._group[layer.group]
            found = {}
            for raw in group.attrs.get("weight_names", ()):
                path = raw.decode("utf-8") if isinstance(raw, bytes) else str(raw)
                parts = path.split(":")[0].split("/")
                if layer.group == layer.name or layer.name in parts[:-1]:
                    found[parts[-1]] = path
            if all(name in found for name in names):
                return [group[found[name]] for name in names]
        raise ModelError(f"The weights of layer '{layer.title}' are missing from the model file. Save the model again.")


_WITHOUT_EFFECT = (
    "Dropout",
    "GaussianNoise",
    "GaussianDropout",
    "AlphaDropout",
    "ActivityRegularization",
    "Identity",
)
_SLOPES = {"leaky_relu": 0.2, "elu": 1.0}
_SYNONYMS = {"swish": "silu", "relu_6": "relu6"}
_NORMALIZATION_EPSILON = 1e-7
MEMBERS = ("metadata.json", "config.json", "model.weights.h5")


def read_keras(path: Path) -> DenseNetwork:
    """Read a ``.keras`` archive or a legacy ``.h5`` file.

    Raises:
        UnreadArchitectureError: harmless, but not a chain of dense layers: see ``keras_runtime``.
        ModelError: refused or damaged; the message says why.
    """
    with path.open("rb") as file:
        is_archive = file.read(2) == b"PK"
    return _read_archive(path) if is_archive else _read_legacy(path)


def is_all_trained(path: Path) -> bool:
    """Whether no layer of a file is marked as one that a training leaves as it is."""
    with path.open("rb") as file:
        is_archive = file.read(2) == b"PK"
    if is_archive:
        text: str | bytes | None = read_members(path, is_keras_member).get("config.json")
    else:
        with open_hdf5(path) as file:
            text = read_text(file, "model_config")
    return '"trainable": false' not in json.dumps(parse_config(text))


def is_keras_member(name: str) -> bool:
    """Whether a ``.keras`` archive may hold a member of that name: the three files, and vocabularies as text."""
    return name in MEMBERS or (name.startswith("assets/") and name.endswith(".txt"))


def parse_config(text: str | bytes | None) -> Mapping[str, Any]:
    """The description of the architecture, judged.

    Raises:
        ModelError: there is none, it is not JSON, or it names what is refused.
    """
    if not text:
        raise ModelError(
            "The model file must hold the architecture and the weights, but it holds weights only. "
            "Save the whole model with model.save('model.keras')."
        )
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        raise ModelError("The model's description must be JSON, but it is damaged. Save the model again.") from None
    if not isinstance(config, Mapping) or "class_name" not in config or "config" not in config:
        raise ModelError("The model's description must name a class and its layers. Save the model again.")
    refuse_unsafe(config)
    return config


def _read_archive(path: Path) -> DenseNetwork:
    members = read_members(path, is_keras_member)
    config = parse_config(members.get("config.json"))
    chain = chain_of(config)
    _check_readable(chain)
    if "model.weights.h5" not in members:
        raise ModelError("The model file must hold 'model.weights.h5' beside its description. Save the model again.")
    with open_hdf5(members["model.weights.h5"]) as file:
        return _build(chain, ArchiveWeights(file))


def _read_legacy(path: Path) -> DenseNetwork:
    with open_hdf5(path) as file:
        chain = chain_of(parse_config(read_text(file, "model_config")))
        _check_readable(chain)
        if "model_weights" not in file:
            raise ModelError("The model file must hold 'model_weights' beside its description. Save the model again.")
        return _build(chain, LegacyWeights(file["model_weights"]))


def _build(chain: list[LayerConfig], weights: Weights) -> DenseNetwork:
    network = DenseChain()
    for layer in chain:
        _STEPS[layer.class_name](network, layer, weights)
    if network.has_inner_softmax:
        raise UnreadArchitectureError("The model has a softmax before its last layer.")
    return network.finish()


def _check_readable(chain: list[LayerConfig]) -> None:
    """Refuse, before any weight is read, what the steps below do not know."""
    for layer in chain:
        dtype = layer.config.get("dtype")
        if isinstance(dtype, Mapping):
            dtype = dtype["config"].get("name") if isinstance(dtype.get("config"), Mapping) else None
        is_known = layer.class_name in _STEPS and dtype in (None, "float32", "float64")
        if not is_known or layer.config.get("quantization_config"):
            raise UnreadArchitectureError(f"Layer '{layer.title}' is of kind '{layer.class_name[:60]}'.")


def _read_input(network: DenseChain, layer: LayerConfig, _: Weights) -> None:
    shape = layer.config.get("batch_shape") or layer.config.get("batch_input_shape")
    if shape is None or network.width is not None:
        return
    _check_flat(layer, shape)
    network.width = shape[-1]


def _check_flat(layer: LayerConfig, shape: Any) -> None:
    """A row must reach the layer as one line of numbers; leading axes of length 1 do not change it."""
    if not isinstance(shape, list) or len(shape) < 2 or not isinstance(shape[-1], int | None):
        raise ModelError(f"Layer '{layer.title}' declares the input shape {str(shape)[:80]}. Save the model again.")
    if any(length not in (None, 1) for length in shape[1:-1]):
        raise UnreadArchitectureError(f"Layer '{layer.title}' takes inputs of shape {str(shape)[:80]}.")


def _read_dense(network: DenseChain, layer: LayerConfig, weights: Weights) -> None:
    _read_input(network, layer, weights)
    has_bias = layer.config.get("use_bias", True)
    kernel, *bias = weights.find(layer, ("kernel", "bias") if has_bias else ("kernel",))
    n_units = layer.config["units"]
    shape = shape_of(kernel)
    if len(shape) != 2 or shape[1] != n_units:
        raise ModelError(
            f"Layer '{layer.title}' declares {str(n_units)[:20]} units, but its weights have shape {str(shape)[:80]}. "
            "Save the model again."
        )
    network.check_shapes(shape, shape_of(bias[0]) if bias else None)
    network.multiply(read_floats(kernel), read_floats(bias[0]) if bias else None)
    _apply(network, layer.config.get("activation"))


def _apply(network: DenseChain, activation: Any) -> None:
    """Apply an activation given by name, or as Keras 3 writes objects."""
    slope = None
    if isinstance(activation, Mapping):
        config = activation.get("config")
        name = config if isinstance(config, str) else activation["class_name"]
        if isinstance(config, Mapping):
            slope = config.get("negative_slope", config.get("alpha"))
        activation = {"ReLU": "relu", "LeakyReLU": "leaky_relu", "ELU": "elu", "Softmax": "softmax"}.get(name, name)
    activation = _SYNONYMS.get(activation, activation) or "linear"
    if activation not in list(Activation):
        raise UnreadArchitectureError(f"The model uses the activation '{str(activation)[:60]}'.")
    network.activate(Activation(activation), float(_SLOPES.get(activation, 0.0) if slope is None else slope))


def _read_activation(network: DenseChain, layer: LayerConfig, weights: Weights) -> None:
    _read_input(network, layer, weights)
    _apply(network, layer.config.get("activation"))


def _read_relu(network: DenseChain, layer: LayerConfig, weights: Weights) -> None:
    _read_input(network, layer, weights)
    config = layer.config
    if config.get("max_value") not in (None, 6.0) or config.get("threshold"):
        raise UnreadArchitectureError(f"Layer '{layer.title}' cuts its values off.")
    slope = float(config.get("negative_slope") or 0.0)
    if slope and config.get("max_value"):
        raise UnreadArchitectureError(f"Layer '{layer.title}' cuts its values off.")
    plain = Activation.RELU6 if config.get("max_value") else Activation.RELU
    network.activate(Activation.LEAKY_RELU if slope else plain, slope)


def _read_leaky(network: DenseChain, layer: LayerConfig, weights: Weights) -> None:
    _read_input(network, layer, weights)
    slope = layer.config.get("negative_slope", layer.config.get("alpha", 0.3))
    network.activate(Activation.LEAKY_RELU, float(slope))


def _read_elu(network: DenseChain, layer: LayerConfig, weights: Weights) -> None:
    _read_input(network, layer, weights)
    network.activate(Activation.ELU, float(layer.config.get("alpha", 1.0)))


def _read_softmax(network: DenseChain, layer: LayerConfig, weights: Weights) -> None:
    _read_input(network, layer, weights)
    _check_last_axis(layer)
    network.activate(Activation.SOFTMAX)


def _check_last_axis(layer: LayerConfig) -> None:
    axis = layer.config.get("axis", -1)
    if axis not in (-1, 1, [-1], [1]):
        raise UnreadArchitectureError(f"Layer '{layer.title}' works along axis {str(axis)[:60]}.")


def _read_reshape(network: DenseChain, layer: LayerConfig, weights: Weights) -> None:
    _read_input(network, layer, weights)
    shape = layer.config.get("target_shape")
    if shape is not None:
        _check_flat(layer, [None, *shape])


def _read_rescaling(network: DenseChain, layer: LayerConfig, weights: Weights) -> None:
    _read_input(network, layer, weights)
    scale = layer.config.get("scale", 1.0)
    offset = layer.config.get("offset", 0.0)
    if not isinstance(scale, int | float) or not isinstance(offset, int | float):
        raise UnreadArchitectureError(f"Layer '{layer.title}' scales every input by its own factor.")
    network.scale(float(scale), float(offset))


def _read_by_unit(
    network: DenseChain, layer: LayerConfig, weights: Weights, names: tuple[str, ...]
) -> list[FloatArray]:
    """Variables of one number, or one a unit each, where the number of units is known."""
    found = weights.find(layer, names)
    for dataset in found:
        size = int(np.prod(shape_of(dataset)))
        if network.width is not None and size not in (1, network.width):
            raise ModelError(
                f"Layer '{layer.title}' needs {network.width} values, one for each unit, got {size}. Save the model "
                "again."
            )
    return [read_floats(dataset) for dataset in found]


def _read_normalization(network: DenseChain, layer: LayerConfig, weights: Weights) -> None:
    _read_input(network, layer, weights)
    _check_last_axis(layer)
    if layer.config.get("invert"):
        raise UnreadArchitectureError(f"Layer '{layer.title}' inverts its scaling.")
    mean = layer.config.get("mean")
    variance = layer.config.get("variance")
    if mean is None or variance is None:
        mean, variance = _read_by_unit(network, layer, weights, ("mean", "variance"))
    mean = np.asarray(mean, dtype=np.float64)
    variance = np.asarray(variance, dtype=np.float64)
    factor = 1 / np.maximum(np.sqrt(variance), _NORMALIZATION_EPSILON)
    network.scale(factor, -mean * factor)


def _read_batch_normalization(network: DenseChain, layer: LayerConfig, weights: Weights) -> None:
    _read_input(network, layer, weights)
    _check_last_axis(layer)
    config = layer.config
    learned = [name for name, key in (("gamma", "scale"), ("beta", "center")) if config.get(key, True)]
    names = (*learned, "moving_mean", "moving_variance")
    values = dict(zip(names, _read_by_unit(network, layer, weights, names), strict=True))
    factor = values.get("gamma", 1.0) / np.sqrt(values["moving_variance"] + float(config.get("epsilon", 1e-3)))
    network.scale(factor, values.get("beta", 0.0) - values["moving_mean"] * factor)


_STEPS = {
    "InputLayer": _read_input,
    "Dense": _read_dense,
    "Activation": _read_activation,
    "ReLU": _read_relu,
    "LeakyReLU": _read_leaky,
    "ELU": _read_elu,
    "Softmax": _read_softmax,
    "Flatten": _read_reshape,
    "Reshape": _read_reshape,
    "Rescaling": _read_rescaling,
    "Normalization": _read_normalization,
    "BatchNormalization": _read_batch_normalization,
    **dict.fromkeys(_WITHOUT_EFFECT, _read_input),
}
