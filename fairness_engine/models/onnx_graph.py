"""ONNX files as graphs: what is refused, and which output holds the scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fairness_engine.errors import ModelError

_DOMAINS = ("", "ai.onnx", "ai.onnx.ml")
_LOOPS = ("Loop", "SequenceMap")
_ON_THE_WAY = ("Identity", "Reshape", "Cast", "Squeeze", "Unsqueeze", "Flatten")
"""Operators that hand values on as they are."""
FLOAT_TYPES = (1, 11)  # FLOAT, DOUBLE


@dataclass(frozen=True)
class Graph:
    """A checked graph.

    Args:
        model: the ``onnx.ModelProto``; its ``ZipMap`` nodes, which make a dictionary a row, are taken out.
        scores: name of the output that holds scores.
        is_label: the only output is the decided class.
        classes: names of the classes, when the file carries them.
        by_class: names of the outputs, where each class has its own; else empty.
    """

    model: Any
    scores: str
    is_label: bool
    classes: tuple[str, ...] | None
    by_class: tuple[str, ...] = ()

    @property
    def inputs(self) -> list[Any]:
        """The graph's inputs that are no weights."""
        constants = {tensor.name for tensor in self.model.graph.initializer}
        return [value for value in self.model.graph.input if value.name not in constants]


def parse_graph(content: bytes) -> Graph:
    """Parse and judge an ONNX file.

    Raises:
        ModelError: damaged, or it keeps data elsewhere, loops, or uses operators of its own.
    """
    import onnx

    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # noqa: BLE001 - protobuf raises its own types for each fault
        raise ModelError(
            f"The model must be a whole ONNX file, but it is damaged or cut short ({type(error).__name__}). Upload it again."
        ) from None
    if not model.graph.node or not model.graph.output:
        raise ModelError("The ONNX file is damaged or cut short: it holds no operators. Upload it again.")
    _refuse_unsafe(model)
    return _choose_scores(model)


def _refuse_unsafe(model: Any) -> None:
    if len(model.functions):
        raise ModelError(
            "The ONNX file defines operators of its own and is refused. Export it with standard operators only."
        )
    for node in _nodes(model.graph):
        if node.domain not in _DOMAINS:
            raise ModelError(
                f"The ONNX file uses the operator '{node.op_type}' of '{node.domain[:60]}' and is refused. Export it with "
                "standard operators only."
            )
        if node.op_type in _LOOPS:
            raise ModelError(
                f"The ONNX file has a loop ('{node.op_type}'), which may never end, and is refused. Export a model "
                "without loops."
            )
    for tensor in _tensors(model.graph):
        if len(tensor.external_data) or tensor.data_location == 1:
            raise ModelError(
                "The ONNX file keeps weights in another file and is refused. Export it as one file, without external data."
            )


def _nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from _nodes(inner)


def _tensors(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    for node in _nodes(graph):
        for attribute in node.attribute:
            yield from [attribute.t, *attribute.tensors]


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
    return Graph(
        model, scores[0] if scores else names[0], not scores, classes, tuple(scores) if len(scores) > 1 else ()
    )


def _classes(model: Any, zips: list[Any]) -> tuple[str, ...] | None:
    """What the classes are called: by the node that names the scores, else by where the label comes from, else by the last classifier."""
    import onnx

    for node in zips:
        if (named := _class_names(node)) is not None:
            return named
    makers = {name: node for node in model.graph.node for name in node.output}
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for output in model.graph.output:
        node = makers.get(output.name)
        while node is not None and node.op_type in _ON_THE_WAY:
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
