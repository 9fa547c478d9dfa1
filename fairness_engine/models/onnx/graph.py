"""ONNX files as graphs: what is refused, and which output holds the scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.errors import EvenhandError, ModelError
from fairness_engine.models.classes import check_class_count
from fairness_engine.models.dense.chain import DenseChain
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.onnx.judge import refuse_unsafe

_ON_THE_WAY = ("Identity", "Reshape", "Cast", "Squeeze", "Unsqueeze", "Flatten")
"""Operators that hand values on as they are."""
FLOAT_TYPES = (1, 11)  # FLOAT, DOUBLE
_LABEL_TYPES = (6, 7, 8)  # INT32, INT64, STRING
_HANDED_ON = ("ArrayFeatureExtractor", "Cast", "Identity", "Reshape", "Squeeze")
"""What makes the name of a class of its place."""


@dataclass(frozen=True)
class Graph:
    """A checked graph.

    Args:
        model: the ``onnx.ModelProto``; its ``ZipMap`` nodes, which make a dictionary a row, are taken out.
        scores: name of the output that holds scores.
        is_label: the only output is the decided class.
        classes: names of the classes, when the file carries them.
        by_class: names of the outputs, where each class has its own; else empty.
        label: name of the output that holds the decided class beside the scores; empty where none does.
    """

    model: Any
    scores: str
    is_label: bool
    classes: tuple[str, ...] | None
    by_class: tuple[str, ...] = ()
    label: str = ""

    @property
    def decides_apart(self) -> bool:
        """Whether the decided class is known not to be that of the largest score: probabilities of a support vector
        machine are fitted to its decisions afterwards.
        """
        return bool(self.label) and any(
            node.op_type == "SVMClassifier" and any(each.name == "prob_a" and each.floats for each in node.attribute)
            for node in self.model.graph.node
        )

    @property
    def decides_by_scores(self) -> bool:
        """Whether the decided class, if it has an output, is read off the graph as that of the largest score, or of a
        score above a half.
        """
        producers = {name: node for node in self.model.graph.node for name in node.output}
        scores = _same_values(self.scores, producers)
        name = self.label
        for _ in producers:
            node = producers.get(name)
            if node is None or not node.input:
                break
            if node.op_type == "Greater" and len(node.input) == 2:
                half = _constants(self).get(node.input[1])
                return node.input[0] in scores and half is not None and bool((np.asarray(half) == 0.5).all())
            if node.op_type == "ArgMax":
                return node.input[0] in scores
            if node.op_type not in _HANDED_ON:
                break
            name = node.input[-1 if node.op_type == "ArrayFeatureExtractor" else 0]
        return not self.label

    @property
    def inputs(self) -> list[Any]:
        """The graph's inputs that are no weights."""
        constants = {tensor.name for tensor in self.model.graph.initializer}
        return [value for value in self.model.graph.input if value.name not in constants]


def _same_values(name: str, producers: Mapping[str, Any]) -> set[str]:
    """The names under which a value is known on its way to this one."""
    found = {name}
    while name in producers and producers[name].op_type == "Identity" and producers[name].input:
        name = producers[name].input[0]
        if name in found:
            break
        found.add(name)
    return found


def parse_graph(content: bytes) -> Graph:
    """Parse and judge an ONNX file.

    Raises:
        ModelError: damaged, of too many classes, or refused by ``judge.refuse_unsafe``.
    """
    import onnx

    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # noqa: BLE001 - protobuf raises its own types for each fault
        raise ModelError(
            f"The model must be a whole ONNX file, but it is damaged or cut short ({type(error).__name__}). Upload it "
            "again."
        ) from None
    if not model.graph.node or not model.graph.output:
        raise ModelError("The ONNX file is damaged or cut short: it holds no operators. Upload it again.")
    refuse_unsafe(model)
    if any(node.op_type == "ZipMap" and not (node.input and node.output) for node in model.graph.node):
        raise ModelError("A ZipMap of the ONNX file must have an input and an output. Export the model again.")
    try:
        graph = _choose_scores(model)
    except EvenhandError:
        raise
    except Exception as error:  # noqa: BLE001 - operators without inputs and damaged arrays fail in many ways
        raise ModelError(
            f"The operators of the ONNX file must fit one another, but some are damaged ({type(error).__name__}). "
            "Export or upload the model again."
        ) from None
    check_class_count(len(graph.classes or ()))
    if not graph.inputs:
        raise ModelError("The ONNX model must take rows of a table, but it has no inputs. Export it with its inputs.")
    return graph


def _choose_scores(model: Any) -> Graph:
    """Take ``ZipMap`` nodes out, and choose the output with scores, or the outputs with one class each."""
    import onnx

    zips = {node.output[0]: node for node in model.graph.node if node.op_type == "ZipMap"}
    classes = _classes(model, list(zips.values()))
    names = [zips[output.name].input[0] if output.name in zips else output.name for output in model.graph.output]
    for output in list(model.graph.output):
        if output.name in zips:
            model.graph.output.remove(output)
            name = zips[output.name].input[0]
            model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    for node in zips.values():
        model.graph.node.remove(node)
    types = {output.name: output.type.tensor_type.elem_type for output in model.graph.output}
    scores = [name for name in names if types[name] in (*FLOAT_TYPES, onnx.TensorProto.FLOAT16)]
    if len(scores) > 1 and len(scores) != len(classes or ()):
        raise ModelError(
            f"The ONNX file has {len(scores)} outputs of numbers; a classifier has one. Export one outcome only."
        )
    labels = [name for name in names if types[name] in _LABEL_TYPES]
    return Graph(
        model,
        scores[0] if scores else names[0],
        not scores,
        classes,
        tuple(scores) if len(scores) > 1 else (),
        labels[0] if scores and len(labels) == 1 else "",
    )


def _classes(model: Any, zips: list[Any]) -> tuple[str, ...] | None:
    """What the classes are called: by the node that names the scores, else by where the label comes from, else by the
    last classifier.
    """
    import onnx

    for node in zips:
        if (named := _class_names(node)) is not None:
            return named
    makers = {name: node for node in model.graph.node for name in node.output}
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for output in model.graph.output:
        node = makers.get(output.name)
        for _ in range(len(makers)):  # a graph that leads back to itself is onnxruntime's to refuse
            if node is None or node.op_type not in _ON_THE_WAY:
                break
            node = makers.get(node.input[0])
        if node is None:
            continue
        if (named := _class_names(node)) is not None:
            return named
        if node.op_type == "ArrayFeatureExtractor" and node.input[0] in constants:
            values = onnx.numpy_helper.to_array(constants[node.input[0]]).ravel()
            if values.dtype.kind in "iuO":
                return tuple(v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in values)
    found = [named for node in model.graph.node if (named := _class_names(node)) is not None]
    return found[-1] if found else None


def known_values(model: Any, name: str) -> tuple[Any, ...] | None:
    """The words or codes that a graph looks up in one of its inputs; ``None`` where it looks up none."""
    known: tuple[Any, ...] | None = None
    for node in model.graph.node:
        if name not in node.input:
            continue
        if node.op_type in _ON_THE_WAY:
            known = known_values(model, node.output[0]) or known
        for attribute in node.attribute if node.op_type in ("OneHotEncoder", "LabelEncoder") else ():
            if attribute.name in ("cats_strings", "keys_strings"):
                known = tuple(value.decode("utf-8", "replace") for value in attribute.strings)
            elif attribute.name in ("cats_int64s", "keys_int64s"):
                known = tuple(int(value) for value in attribute.ints)
    return known


def _class_names(node: Any) -> tuple[str, ...] | None:
    for attribute in node.attribute:
        if attribute.name in ("classlabels_strings", "classlabels_string") and len(attribute.strings):
            return tuple(value.decode("utf-8", "replace") for value in attribute.strings)
        if attribute.name in ("classlabels_int64s", "classlabels_ints") and len(attribute.ints):
            return tuple(str(value) for value in attribute.ints)
    return None


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
    """The graph as a dense network, or ``None`` when it is more than a chain of weights and activations, or one that
    onnxruntime has to judge.
    """
    try:
        return _read_chain(graph)
    except (IndexError, TypeError, ValueError, KeyError, ZeroDivisionError):  # an operator without what it needs
        return None


def _read_chain(graph: Graph) -> DenseNetwork | None:
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
    kind = node.op_type
    is_first = node.input[0] == name
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
