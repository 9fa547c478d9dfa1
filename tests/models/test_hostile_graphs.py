"""ONNX graphs and ``.nnet`` texts that no exporter wrote: each is refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, ModelProto, SparseTensorProto, TensorProto, helper, numpy_helper
from small_models import numbers_schema

from fairness_engine.errors import InputError, ModelError
from fairness_engine.models.dense.nnet_file import read_nnet
from fairness_engine.models.open import open_model

ROWS = helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, 4])
SCORES = helper.make_tensor_value_info("scores", TensorProto.FLOAT, None)
ONES = numpy_helper.from_array(np.ones((4, 1), np.float32), "w")


def saved(path: Path, nodes: list[Any], tensors: tuple[Any, ...] = (), inputs: tuple[Any, ...] = (ROWS,)) -> Path:
    graph = helper.make_graph(nodes, "g", list(inputs), [SCORES], list(tensors))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString())
    return path


def node(kind: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
    domain = "ai.onnx.ml" if kind in ("ZipMap", "ArrayFeatureExtractor") else ""
    return helper.make_node(kind, inputs, outputs, domain=domain, **attributes)


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ([node("ZipMap", [], ["scores"])], "ZipMap of the ONNX file must have an input and an output"),
        ([node("ZipMap", ["rows"], [])], "ZipMap of the ONNX file must have an input and an output"),
        ([node("Identity", [], ["scores"])], "operators of the ONNX file must fit one another"),
        ([node("ArrayFeatureExtractor", [], ["scores"])], "operators of the ONNX file must fit one another"),
        ([node("Identity", ["a"], ["scores"]), node("Identity", ["scores"], ["a"])], "onnxruntime does not accept"),
        ([node("MatMul", ["rows"], ["scores"])], "onnxruntime does not accept"),
        ([node("Add", ["rows"], ["scores"])], "onnxruntime does not accept"),
        ([node("Concat", ["a", "b"], ["scores"], axis=1), node("Sub", ["w"], ["a"])], "onnxruntime does not accept"),
        ([node("LeakyRelu", ["rows"], ["scores"], alpha="much")], "onnxruntime does not accept"),
        ([node("Reshape", ["rows", "scalar"], ["scores"])], "onnxruntime does not accept|fails on rows"),
        ([node("Run" * 500, ["rows"], ["scores"])], "onnxruntime does not accept"),
    ],
)
def test_operators_without_what_they_need_are_refused(tmp_path: Path, nodes: list[Any], says: str) -> None:
    scalar = numpy_helper.from_array(np.array(4, np.int64), "scalar")
    with pytest.raises(InputError, match=says) as caught:
        open_model(saved(tmp_path / "m.onnx", nodes, (ONES, scalar)), numbers_schema())
    assert len(str(caught.value)) <= 300


def test_a_graph_without_inputs_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", [node("Identity", ["w"], ["scores"])], (ONES,), ())
    with pytest.raises(ModelError, match="it has no inputs"):
        open_model(path, numbers_schema())


def elsewhere(tensor: Any) -> Any:
    """The array, said to be kept in another file."""
    moved = TensorProto()
    moved.CopyFrom(tensor)
    moved.ClearField("raw_data")
    moved.data_location = TensorProto.EXTERNAL
    moved.external_data.add(key="location", value="/etc/passwd")
    return moved


def sparse(values: Any) -> Any:
    places = numpy_helper.from_array(np.arange(4, dtype=np.int64), "places")
    return SparseTensorProto(values=values, indices=places, dims=[4])


def hide_in_branch(model: ModelProto, tensor: Any) -> None:
    branch = helper.make_graph([node("Identity", ["w"], ["y"])], "then", [], [SCORES], [tensor])
    model.graph.node.append(helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch))


def hide_in_nested_branch(model: ModelProto, tensor: Any) -> None:
    inner = ModelProto()
    hide_in_branch(inner, tensor)
    branch = helper.make_graph(list(inner.graph.node), "outer", [], [SCORES])
    model.graph.node.append(helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch))


def hide_in_constant(model: ModelProto, tensor: Any) -> None:
    model.graph.node.append(helper.make_node("Constant", [], ["y"], value=tensor))


def hide_in_sparse_constant(model: ModelProto, tensor: Any) -> None:
    model.graph.node.append(helper.make_node("Constant", [], ["y"]))
    attribute = AttributeProto(name="sparse_value", type=AttributeProto.SPARSE_TENSOR, sparse_tensor=sparse(tensor))
    model.graph.node[-1].attribute.append(attribute)


def hide_in_sparse_weights(model: ModelProto, tensor: Any) -> None:
    model.graph.sparse_initializer.append(sparse(tensor))


def hide_in_sparse_weights_of_a_branch(model: ModelProto, tensor: Any) -> None:
    branch = helper.make_graph([node("Identity", ["w"], ["y"])], "then", [], [SCORES])
    branch.sparse_initializer.append(sparse(tensor))
    model.graph.node.append(helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch))


@pytest.mark.parametrize(
    "hide",
    [
        hide_in_branch,
        hide_in_nested_branch,
        hide_in_constant,
        hide_in_sparse_constant,
        hide_in_sparse_weights,
        hide_in_sparse_weights_of_a_branch,
    ],
)
def test_weights_in_another_file_are_found_at_any_depth(
    tmp_path: Path, hide: Callable[[ModelProto, Any], None]
) -> None:
    path = saved(tmp_path / "m.onnx", [node("MatMul", ["rows", "w"], ["scores"])], (ONES,))
    model = ModelProto.FromString(path.read_bytes())
    hide(model, elsewhere(ONES))
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="keeps weights in another file"):
        open_model(path, numbers_schema())


NNET = ["// one unit", "1,2,1,2,", "2,1,", "0,", *["0,0,"] * 4, "1.0,-2.5e-1,", "0.5,"]


@pytest.mark.parametrize(
    ("place", "line", "says"),
    [
        (8, "1_0,2,", "must hold numbers, got '1_0,2,'"),
        (8, "１０,2,", "must hold numbers"),
        (9, "٣,", "must hold numbers"),
        (8, "nan,1,", "finite numbers"),
        (1, "1,2,0_1,2,", "sizes of its layers"),
        (2, "２,1,", "sizes of its layers"),
        (2, "2," * 3000, "contradict one another|at most"),
        (2, "9" * 4000 + ",1,", "sizes of its layers"),
        (10, "7,", "must end with the last bias, but 1 lines stand behind it"),
    ],
)
def test_an_nnet_file_holds_plain_numbers_and_nothing_behind_them(
    tmp_path: Path, place: int, line: str, says: str
) -> None:
    path = tmp_path / "m.nnet"
    path.write_text("\n".join(NNET) + "\n\n")
    assert read_nnet(path).predict(np.array([[1.0, 2.0]])) == pytest.approx(1.0)
    path.write_text("\n".join([*NNET[:place], line, *NNET[place + 1 :]]), encoding="utf-8")
    with pytest.raises(ModelError, match=says) as caught:
        read_nnet(path)
    assert len(str(caught.value)) <= 300
