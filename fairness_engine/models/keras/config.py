"""The architecture that a Keras file describes: what is refused, and the chain of layers that can be read statically.

Nothing here imports Keras. ``refuse_unsafe`` allows by name: a class, function or module that is not known to be
harmless is refused before any library sees the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairness_engine.errors import ModelError


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CODE_LAYERS = ("Lambda", "TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "__lambda__")
_LAYERS = _words(
    "Sequential Functional Model InputLayer Dense Activation ReLU LeakyReLU PReLU ELU Softmax Dropout GaussianNoise "
    "GaussianDropout AlphaDropout SpatialDropout1D SpatialDropout2D ActivityRegularization Flatten Reshape Permute "
    "RepeatVector Normalization BatchNormalization LayerNormalization GroupNormalization UnitNormalization Rescaling "
    "Conv1D Conv2D SeparableConv1D SeparableConv2D DepthwiseConv1D DepthwiseConv2D Conv1DTranspose Conv2DTranspose "
    "MaxPooling1D MaxPooling2D AveragePooling1D AveragePooling2D GlobalMaxPooling1D GlobalMaxPooling2D "
    "GlobalAveragePooling1D GlobalAveragePooling2D ZeroPadding1D ZeroPadding2D Cropping1D Cropping2D UpSampling1D "
    "UpSampling2D LSTM GRU SimpleRNN LSTMCell GRUCell SimpleRNNCell StackedRNNCells RNN Bidirectional TimeDistributed "
    "Masking Embedding Attention AdditiveAttention MultiHeadAttention GroupQueryAttention Add Subtract Multiply "
    "Average Maximum Minimum Concatenate Dot Identity EinsumDense TextVectorization StringLookup IntegerLookup "
    "CategoryEncoding Discretization Hashing HashedCrossing"
)
_PARTS = _words(
    "DTypePolicy Policy FloatDTypePolicy __tensor__ __keras_tensor__ __numpy__ __tuple__ Zeros Ones Constant "
    "RandomNormal RandomUniform TruncatedNormal VarianceScaling GlorotUniform GlorotNormal HeUniform HeNormal "
    "LecunUniform LecunNormal Orthogonal OrthogonalInitializer Identity IdentityInitializer L1 L2 L1L2 "
    "OrthogonalRegularizer MaxNorm NonNeg UnitNorm MinMaxNorm"
)
_FUNCTIONS = _words(
    "linear relu relu6 leaky_relu elu selu celu gelu tanh sigmoid hard_sigmoid hard_silu hard_swish silu swish "
    "softplus softsign softmax log_softmax exponential mish log_sigmoid"
)
_SIZE_KEYS = (
    "units",
    "filters",
    "input_dim",
    "output_dim",
    "num_tokens",
    "max_tokens",
    "num_bins",
    "key_dim",
    "num_heads",
)
COMPILING = ("compile_config", "training_config")
"""How a model was trained: never used, and taken out before Keras sees it, for Keras would compile nested models."""
_MAX_SIZE = 5_000_000
_MAX_CONFIG_DEPTH = 60


class UnreadArchitectureError(ModelError):
    """The architecture is harmless but no chain of dense layers: the Keras runtime must evaluate it."""


@dataclass(frozen=True)
class LayerConfig:
    """One layer of a chain.

    Args:
        class_name, name, config: as the file has them.
        archive_path: where a ``.keras`` archive keeps its weights, e.g. ``layers/sequential/layers/dense_1``.
        group: the outermost layer it is in; a legacy ``.h5`` file groups weights by it.
    """

    class_name: str
    name: str
    config: Mapping[str, Any]
    archive_path: str
    group: str

    @property
    def title(self) -> str:
        """Its name as a sentence quotes it."""
        return str(self.name)[:60]


def refuse_unsafe(content: Any, depth: int = 0) -> None:
    """Go through a configuration and refuse what may run code, read files or is not known.

    Args:
        content: the parsed JSON of the whole model.

    Raises:
        ModelError: naming what is refused.
    """
    if depth > _MAX_CONFIG_DEPTH:
        raise ModelError("The model's description is nested deeper than any real one; the file is refused.")
    if isinstance(content, list):
        for item in content:
            refuse_unsafe(item, depth + 1)
    elif isinstance(content, Mapping):
        if "class_name" in content:
            _refuse_object(content)
        _refuse_sizes(content)
        for key, value in content.items():
            if key not in COMPILING:
                refuse_unsafe(value, depth + 1)


def without_training(content: Any) -> Any:
    """A judged description without the loss, the metrics and the optimizer of any model in it."""
    if isinstance(content, list):
        return [without_training(item) for item in content]
    if isinstance(content, Mapping):
        return {key: without_training(value) for key, value in content.items() if key not in COMPILING}
    return content


def _refuse_object(content: Mapping[str, Any]) -> None:
    name = content["class_name"]
    config = content.get("config")
    if name in _CODE_LAYERS:
        raise ModelError(
            f"The model has a layer of kind '{name}', which can run code on load, and is refused. "
            "Replace it by ordinary layers and save the model again."
        )
    module = content.get("module")
    registered = content.get("registered_name")
    is_keras = module is None or (
        isinstance(module, str) and re.match(r"(keras|tf_keras|tensorflow\.keras|builtins)(\.|$)", module)
    )
    is_own = registered not in (None, name) or (isinstance(registered, str) and ">" in registered)
    if (
        not is_keras
        or is_own
        or name not in (*_LAYERS, *_PARTS, "function", "list", "dict", "tuple", "str", "int", "float")
    ):
        raise ModelError(
            f"The model uses '{str(registered or name)[:80]}', which is not a known part of Keras, and is refused. "
            "Replace custom layers and functions by ordinary ones and save the model again."
        )
    if name == "function" and not (isinstance(config, str) and config in _FUNCTIONS):
        raise ModelError(
            f"The model calls the function '{str(config)[:80]}', which is not an activation, and is refused."
        )
    vocabulary = config.get("vocabulary") if isinstance(config, Mapping) else None
    if name in ("StringLookup", "IntegerLookup", "TextVectorization") and isinstance(vocabulary, str):
        raise ModelError(
            f"The layer '{name}' reads its vocabulary from a file of this computer and the model is refused. "
            "Give the vocabulary as a list and save the model again."
        )


def _refuse_sizes(content: Mapping[str, Any]) -> None:
    sizes = [content[key] for key in _SIZE_KEYS if isinstance(content.get(key), int)]
    if any(size > _MAX_SIZE or size < 0 for size in sizes):
        raise ModelError(f"A layer of the model declares {max(sizes):,} units; at most {_MAX_SIZE:,} are allowed.")


def chain_of(model: Mapping[str, Any]) -> list[LayerConfig]:
    """The layers in the order the data meets them, nested models opened.

    Raises:
        UnreadArchitectureError: the model branches, or has several inputs or outputs.
        ModelError: the description has not the form of one.
    """
    try:
        return _chain(model, "", None)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ModelError(
            f"The model's description must list its layers, but it is damaged ({type(error).__name__}). Save the "
            "model again."
        ) from None


def _chain(model: Mapping[str, Any], path: str, group: str | None) -> list[LayerConfig]:
    config = model["config"]
    layers = config["layers"] if isinstance(config, Mapping) else config
    counts: dict[str, int] = {}
    paths = {}
    for layer in layers:
        base = _snake_case(layer["class_name"])
        n = counts.get(base, 0)
        counts[base] = n + 1
        paths[layer["config"]["name"]] = f"{path}layers/{base}_{n}" if n else f"{path}layers/{base}"
    ordered = layers if model["class_name"] == "Sequential" else _order(config)
    chain: list[LayerConfig] = []
    for layer in ordered:
        name = layer["config"]["name"]
        if layer["class_name"] in ("Sequential", "Functional", "Model"):
            chain += _chain(layer, f"{paths[name]}/", group or name)
        else:
            chain.append(LayerConfig(layer["class_name"], name, layer["config"], paths[name], group or name))
    return chain


def _order(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The layers of a functional model from its input to its output, when each takes the output of one other."""
    by_name = {layer["config"]["name"]: layer for layer in config["layers"]}
    inputs = _names(config["input_layers"])
    outputs = _names(config["output_layers"])
    if len(inputs) != 1 or len(outputs) != 1 or len(by_name) != len(config["layers"]):
        raise UnreadArchitectureError("The model has several inputs or outputs.")
    ordered: list[Mapping[str, Any]] = []
    name = outputs[0]
    while len(ordered) <= len(by_name):
        layer = by_name[name]
        ordered.append(layer)
        if name == inputs[0]:
            break
        before = _sources(layer["inbound_nodes"])
        if len(before) != 1:
            raise UnreadArchitectureError("The layers of the model do not form one chain.")
        name = before[0]
    if ordered[-1] is not by_name[inputs[0]] or len(ordered) != len(by_name):
        raise UnreadArchitectureError("The layers of the model do not form one chain.")
    return ordered[::-1]


def _names(layers: Any) -> list[str]:
    """Layer names of ``[name, 0, 0]`` or ``[[name, 0, 0], ...]``."""
    if len(layers) == 3 and isinstance(layers[0], str):
        return [layers[0]]
    return [layer[0] for layer in layers]


def _sources(content: Any) -> list[str]:
    """Names of the layers whose outputs a layer's ``inbound_nodes`` take, in the form of Keras 3 or Keras 2."""
    if isinstance(content, Mapping):
        if "keras_history" in content:
            return [content["keras_history"][0]]
        return [name for value in content.values() for name in _sources(value)]
    if isinstance(content, list):
        if len(content) in (3, 4) and isinstance(content[0], str) and isinstance(content[1], int):
            return [content[0]]
        return [name for value in content for name in _sources(value)]
    return []


def _snake_case(name: str) -> str:
    """The name under which Keras keeps a layer of that class."""
    return re.sub(r"(?<=.)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", name).lower()
