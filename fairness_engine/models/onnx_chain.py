"""ONNX graphs that are chains of weights and activations, read as dense networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairness_engine.errors import ModelError
from fairness_engine.models.activations import Activation
from fairness_engine.models.dense import DenseNetwork
from fairness_engine.models.dense_chain import DenseChain
from fairness_engine.models.onnx_graph import FLOAT_TYPES, Graph

_SAME = ("Identity", "Dropout", "Cast")
_ACTIVATIONS = {
    "Relu": Activation.RELU,
    "LeakyRelu": Activation.LEAKY_RELU,
    "Elu": Activation.ELU,
    "Tanh": Activation.TANH,
    "Sigmoid": Activation.SIGMOID,
    "Softplus": Activation.SOFTPLUS,
    "Softsign": Activation.SOFTSIGN,
    "Softmax": Activation.SOFTMAX,
}
_SLOPES = {"LeakyRelu": 0.01, "Elu": 1.0}


def read_chain(graph: Graph) -> DenseNetwork | None:
    """The graph as a dense network, or ``None`` when it is more than a chain of weights and activations."""

    inputs = graph.inputs
    if graph.is_label or graph.by_class or len(inputs) != 1 or inputs[0].type.tensor_type.elem_type not in FLOAT_TYPES:
        return None
    constants = _constants(graph)
    nodes = _walk_back(graph, constants, inputs[0].name)
    if nodes is None:
        return None
    dims = inputs[0].type.tensor_type.shape.dim
    if len(dims) not in (0, 2):
        return None
    chain = DenseChain(dims[1].dim_value or None if dims else None)
    for node, name in nodes:
        if not _add(chain, node, name, constants):
            return None
    return None if chain.is_empty or chain.has_inner_softmax else chain.finish()


def _constants(graph: Graph) -> dict[str, Any]:
    """The arrays in the file, by the name of the value they are."""
    import onnx

    tensors = {tensor.name: tensor for tensor in graph.model.graph.initializer}
    for node in graph.model.graph.node:
        if node.op_type == "Constant" and node.output and node.attribute and node.attribute[0].name == "value":
            tensors[node.output[0]] = node.attribute[0].t
    try:
        return {name: onnx.numpy_helper.to_array(tensor) for name, tensor in tensors.items()}
    except Exception as error:  # noqa: BLE001 - onnx raises anything on an array it cannot read
        raise ModelError(
            f"An array of the ONNX file is damaged ({type(error).__name__}). Export or upload the model again."
        ) from None


def _walk_back(graph: Graph, constants: Mapping[str, Any], start: str) -> list[tuple[Any, str]] | None:
    """The nodes from the input to the scores, each with the name of the one input that is no constant."""
    producers = {name: node for node in graph.model.graph.node for name in node.output}
    nodes: list[tuple[Any, str]] = []
    name = graph.scores
    while name != start:
        node = producers.get(name)
        if node is None or len(nodes) > len(producers):
            return None
        varying = [value for value in node.input if value and value not in constants]
        if node.op_type == "Concat":
            positive = _positive_part(node, producers, constants)
            if positive is None or nodes:
                return None
            name = positive
            continue
        if len(varying) != 1:
            return None
        nodes.append((node, varying[0]))
        name = varying[0]
    return nodes[::-1]


def _positive_part(node: Any, producers: Mapping[str, Any], constants: Mapping[str, Any]) -> str | None:
    """``p`` where a node joins ``1 - p`` and ``p``: the probabilities of both classes."""
    if len(node.input) != 2:
        return None
    first = producers.get(node.input[0])
    if first is None or first.op_type != "Sub" or first.input[1] != node.input[1]:
        return None
    one = constants.get(first.input[0])
    return str(node.input[1]) if one is not None and np.size(one) == 1 and float(np.ravel(one)[0]) == 1.0 else None


def _add(chain: DenseChain, node: Any, name: str, constants: Mapping[str, Any]) -> bool:
    """Add one node to the chain; false when it is of another kind."""
    attributes = {attribute.name: _value(attribute) for attribute in node.attribute}
    kind = node.op_type
    if kind in _SAME:
        return kind != "Cast" or attributes.get("to") in FLOAT_TYPES
    if kind in ("Flatten", "Reshape"):
        return _keeps_rows(chain, node, attributes, constants)
    if kind in _ACTIVATIONS:
        if kind == "Softmax" and attributes.get("axis", -1) not in (-1, 1):
            return False
        chain.activate(_ACTIVATIONS[kind], float(attributes.get("alpha", _SLOPES.get(kind, 0.0))))
        return True
    values = [np.asarray(constants[value], dtype=np.float64) for value in node.input if value in constants]
    if kind == "BatchNormalization" and len(values) == 4:
        gamma, beta, mean, variance = values
        factor = gamma / np.sqrt(variance + attributes.get("epsilon", 1e-5))
        chain.scale(factor, beta - mean * factor)
        return True
    return _add_arithmetic(chain, node, name, attributes, values)


def _add_arithmetic(chain: DenseChain, node: Any, name: str, attributes: Mapping[str, Any], values: list[Any]) -> bool:
    kind, is_first = node.op_type, node.input[0] == name
    if kind == "Gemm" and is_first and not attributes.get("transA") and values:
        weights = values[0].T if attributes.get("transB") else values[0]
        biases = (
            np.broadcast_to(values[1].ravel(), (weights.shape[1],)) if len(values) > 1 else np.zeros(weights.shape[1])
        )
        chain.multiply(weights * attributes.get("alpha", 1.0), biases * attributes.get("beta", 1.0))
        return True
    if kind == "MatMul" and is_first:
        chain.multiply(values[0])
        return True
    if kind in ("Add", "Sub", "Mul", "Div") and (is_first or kind in ("Add", "Mul")) and _is_by_unit(values[0]):
        value = values[0].ravel()
        factor, shift = {"Add": (1.0, value), "Sub": (1.0, -value), "Mul": (value, 0.0), "Div": (1 / value, 0.0)}[kind]
        chain.scale(factor, shift)
        return True
    return False


def _is_by_unit(value: Any) -> bool:
    """One number, or one a unit along the last axis."""
    return bool(value.size == 1 or value.shape[-1] == value.size)


def _keeps_rows(chain: DenseChain, node: Any, attributes: Mapping[str, Any], constants: Mapping[str, Any]) -> bool:
    if node.op_type == "Flatten":
        return bool(attributes.get("axis", 1) == 1)
    shape = constants.get(node.input[1]) if len(node.input) > 1 else None
    if shape is None or len(shape) != 2:
        return False
    return int(shape[1]) == chain.width or (int(shape[0]) != -1 and int(shape[1]) == -1 and chain.width is not None)


def _value(attribute: Any) -> Any:
    import onnx

    return onnx.helper.get_attribute_value(attribute)
