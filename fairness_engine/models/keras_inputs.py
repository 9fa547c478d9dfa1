"""What a loaded Keras model says of its inputs: their types, and what the layers behind them look up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fairness_engine.models.typed_inputs import InputSpec, Takes

_ON_THE_WAY = ("Reshape", "Flatten", "Identity", "Dropout", "RepeatVector", "Permute")
"""Layers that hand values on as they are."""


def input_specs(model: Any) -> tuple[InputSpec, ...]:
    """Specs of all inputs of a model, in its order; ``None`` as a length of a shape counts as 1."""
    return tuple(_spec(model, i) for i in range(len(model.inputs)))


def _spec(model: Any, place: int) -> InputSpec:
    value = model.inputs[place]
    dtype = str(value.dtype)
    takes = Takes.TEXT if dtype == "string" else Takes.WHOLE if "int" in dtype or dtype == "bool" else Takes.NUMBER
    known: tuple[Any, ...] | None = None
    n_codes: int | None = None
    for layer in _readers(model, value):
        kind = type(layer).__name__
        if kind in ("StringLookup", "IntegerLookup"):
            known = tuple(_plain(word) for word in layer.get_vocabulary(include_special_tokens=False))
        elif kind == "Embedding":
            n_codes = int(layer.input_dim)
        elif kind == "CategoryEncoding" and layer.num_tokens:
            n_codes = int(layer.num_tokens)
    width = int(np.prod([length or 1 for length in value.shape[1:]]))
    return InputSpec(str(value.name), takes, width, known, n_codes)


def _readers(model: Any, value: Any) -> Iterator[Any]:
    """The layers that take a tensor of the model, also those inside nested models and behind layers that only hand it on."""
    graph = getattr(model, "_functional", None) or model  # of a Sequential model
    for operation in getattr(graph, "operations", ()):
        for node in operation._inbound_nodes:
            for place, taken in enumerate(node.input_tensors):
                if taken is not value:
                    continue
                if hasattr(operation, "layers") and hasattr(operation, "inputs"):
                    yield from _readers(operation, operation.inputs[place])
                elif type(operation).__name__ in _ON_THE_WAY:
                    yield from _readers(model, node.outputs[0])
                else:
                    yield operation


def _plain(word: Any) -> Any:
    return word.item() if hasattr(word, "item") else word
