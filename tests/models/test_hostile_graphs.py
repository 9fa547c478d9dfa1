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


def of_random(kind: str) -> list[Any]:
    noise = {
        "RandomUniform": node("RandomUniform", [], ["noise"], shape=[1, 1]),
        "RandomNormalLike": node("RandomNormalLike", ["s"], ["noise"]),
        "Bernoulli": node("Bernoulli", ["s"], ["noise"]),
        "Dropout": node("Dropout", ["s", "half", "yes"], ["noise"]),
    }
    return [node("MatMul", ["rows", "w"], ["s"]), noise[kind], node("Add", ["s", "noise"], ["scores"])]


HALF = numpy_helper.from_array(np.array(0.5, np.float32), "half")
YES = numpy_helper.from_array(np.array(True), "yes")
NO = numpy_helper.from_array(np.array(False), "yes")


@pytest.mark.parametrize("kind", ["RandomUniform", "RandomNormalLike", "Bernoulli", "Dropout"])
@pytest.mark.parametrize("is_hidden", [False, True])
def test_a_graph_that_draws_at_random_is_refused(tmp_path: Path, kind: str, is_hidden: bool) -> None:
    nodes = of_random(kind)
    if is_hidden:
        branch = helper.make_graph(nodes, "b", [], [SCORES])
        nodes = [helper.make_node("If", ["yes"], ["scores"], then_branch=branch, else_branch=branch)]
    path = saved(tmp_path / "m.onnx", nodes, (ONES, HALF, YES))
    with pytest.raises(ModelError, match=f"draws at random \\('{kind}'\\)"):
        open_model(path, numbers_schema())


def test_dropout_that_is_switched_off_is_none(tmp_path: Path) -> None:
    nodes = [node("MatMul", ["rows", "w"], ["s"]), node("Dropout", ["s", "half", "yes"], ["scores"])]
    model = open_model(saved(tmp_path / "m.onnx", nodes, (ONES, HALF, NO)), numbers_schema())
    assert model.scores(np.ones((3, 4))) == pytest.approx(4.0)


def scan_over(n_steps: int, length: str = "long") -> list[Any]:
    """Sums an array of that many numbers, one by one, and adds it to every row."""
    total = helper.make_tensor_value_info("total", TensorProto.FLOAT, [1])
    each = helper.make_tensor_value_info("each", TensorProto.FLOAT, [1])
    then = helper.make_tensor_value_info("then", TensorProto.FLOAT, [1])
    body = helper.make_graph([node("Add", ["total", "each"], ["then"])], "body", [total, each], [then])
    return [
        node("Constant", [], ["long"], value_ints=[n_steps, 1]),
        node("ConstantOfShape", [length], ["array"]),
        node("Constant", [], ["zero"], value_floats=[0.0]),
        node("Scan", ["zero", "array"], ["sum"], body=body, num_scan_inputs=1),
        node("MatMul", ["rows", "w"], ["s"]),
        node("Add", ["s", "sum"], ["scores"]),
    ]


def test_steps_through_an_array_are_counted_before_they_are_taken(tmp_path: Path) -> None:
    model = open_model(saved(tmp_path / "m.onnx", scan_over(5), (ONES,)), numbers_schema())
    assert model.scores(np.ones((2, 4))) == pytest.approx(4.0)
    for nodes, says in (
        (scan_over(10**8), "a Scan of 100,000,000 steps, which may last for ever; at most 1,000,000"),
        ([node("NonZero", ["rows"], ["any"]), *scan_over(1, "any")], "a Scan of an unknown number of steps"),
    ):
        with pytest.raises(ModelError, match=says) as caught:
            open_model(saved(tmp_path / "m.onnx", nodes, (ONES,)), numbers_schema())
        assert len(str(caught.value)) <= 300


@pytest.mark.parametrize("n_rows", [10**7, 10**10])
def test_a_fixed_number_of_rows_is_said_with_what_to_do(tmp_path: Path, n_rows: int) -> None:
    fixed = helper.make_tensor_value_info("rows", TensorProto.FLOAT, [n_rows, 4])
    nodes = [node("MatMul", ["rows", "w"], ["s"]), node("Cos", ["s"], ["scores"])]
    with pytest.raises(
        ModelError, match=f"takes a fixed number of rows, {n_rows:,} at once.*free first axis"
    ) as caught:
        open_model(saved(tmp_path / "m.onnx", nodes, (ONES,), (fixed,)), numbers_schema())
    assert len(str(caught.value)) <= 300


def test_a_chain_of_layers_is_read_whatever_its_number_of_rows(tmp_path: Path) -> None:
    fixed = helper.make_tensor_value_info("rows", TensorProto.FLOAT, [10**10, 4])
    path = saved(tmp_path / "m.onnx", [node("MatMul", ["rows", "w"], ["scores"])], (ONES,), (fixed,))
    assert open_model(path, numbers_schema()).scores(np.ones((3, 4))) == pytest.approx(4.0)


def test_a_hundred_thousand_classes_are_refused_at_once(tmp_path: Path) -> None:
    names = [f"class {i}" for i in range(100_000)]
    nodes = [
        node("MatMul", ["rows", "wide"], ["s"]),
        helper.make_node("ZipMap", ["s"], ["scores"], domain="ai.onnx.ml", classlabels_strings=names),
    ]
    wide = numpy_helper.from_array(np.zeros((4, 100_000), np.float32), "wide")
    with pytest.raises(ModelError, match="at most 1,000 classes, got 100,000"):
        open_model(saved(tmp_path / "m.onnx", nodes, (wide,)), numbers_schema())
    with pytest.raises(ModelError, match="at most 1,000 classes, got 100,000"):  # without a name each
        open_model(
            saved(tmp_path / "m.onnx", [node("MatMul", ["rows", "wide"], ["scores"])], (wide,)), numbers_schema()
        )


# --- operators made of arrays ---------------------------------------------------------------------

TREES: dict[str, Any] = {
    "nodes_treeids": [0, 0, 0, 0, 0],
    "nodes_nodeids": [0, 1, 2, 3, 4],
    "nodes_featureids": [0, 0, 3, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_values": [4.0, 0.0, 2.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 3, 0, 0],
    "nodes_falsenodeids": [2, 0, 4, 0, 0],
    "class_treeids": [0, 0, 0, 0, 0, 0],
    "class_nodeids": [1, 1, 3, 3, 4, 4],
    "class_ids": [0, 1, 0, 1, 0, 1],
    "class_weights": [0.25, 0.75, 0.5, 0.5, 1.0, 0.0],
    "classlabels_int64s": [0, 1],
}
MACHINE: dict[str, Any] = {
    "kernel_type": "RBF",
    "kernel_params": [0.5, 0.0, 3.0],
    "vectors_per_class": [1, 1],
    "support_vectors": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    "coefficients": [1.0, -1.0],
    "rho": [0.1],
    "classlabels_ints": [0, 1],
}
LINE: dict[str, Any] = {"coefficients": [1.0] * 8, "intercepts": [0.0, 1.0], "classlabels_ints": [0, 1]}
JOINED: dict[str, Any] = {
    "tree_roots": [0],
    "nodes_featureids": [0, 3],
    "nodes_modes": np.zeros(2, np.uint8),
    "nodes_splits": np.array([4.0, 2.0], np.float32),
    "nodes_truenodeids": [0, 1],
    "nodes_trueleafs": [1, 1],
    "nodes_falsenodeids": [1, 2],
    "nodes_falseleafs": [0, 1],
    "leaf_targetids": [0, 0, 0],
    "leaf_weights": np.array([0.25, 0.5, 0.75], np.float32),
    "n_targets": 1,
}


def made_of(path: Path, kind: str, arrays: dict[str, Any]) -> Path:
    held = {
        name: numpy_helper.from_array(each, name) if isinstance(each, np.ndarray) else each
        for name, each in arrays.items()
    }
    outputs = ["scores"] if kind == "TreeEnsemble" else ["label", "scores"]
    nodes = [helper.make_node(kind, ["rows"], outputs, domain="ai.onnx.ml", **held)]
    graph = helper.make_graph(nodes, "g", [ROWS], [SCORES])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 5 if kind == "TreeEnsemble" else 3)]
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString())
    return path


@pytest.mark.parametrize(
    ("kind", "arrays", "change"),
    [
        ("TreeEnsembleClassifier", TREES, {"nodes_truenodeids": [0, 0, 3, 0, 0]}),
        ("TreeEnsembleClassifier", TREES, {"nodes_falsenodeids": [2, 0, 0, 0, 0]}),
        ("TreeEnsembleClassifier", TREES, {"nodes_truenodeids": [9, 0, 3, 0, 0]}),
        ("TreeEnsembleClassifier", TREES, {"nodes_falsenodeids": [2, 0, 2, 0, 0]}),
        ("TreeEnsembleClassifier", TREES, {"nodes_featureids": [0, 0, 4, 0, 0]}),
        ("TreeEnsembleClassifier", TREES, {"nodes_featureids": [-1, 0, 3, 0, 0]}),
        ("TreeEnsembleClassifier", TREES, {"nodes_nodeids": [0, 1, 2, 3, 3]}),
        ("TreeEnsembleClassifier", TREES, {"nodes_values": [4.0]}),
        ("TreeEnsembleClassifier", TREES, {"class_ids": [0, 1, 0, 1, 0, 10**6]}),
        ("TreeEnsembleClassifier", TREES, {"class_nodeids": [1, 1, 3, 3, 4, 77]}),
        ("TreeEnsembleClassifier", TREES, {"class_weights": [0.5]}),
        ("TreeEnsemble", JOINED, {"nodes_falsenodeids": [0, 2]}),
        ("TreeEnsemble", JOINED, {"nodes_falsenodeids": [1, 3]}),
        ("TreeEnsemble", JOINED, {"tree_roots": [-1]}),
        ("TreeEnsemble", JOINED, {"nodes_featureids": [0, 4]}),
        ("TreeEnsemble", JOINED, {"leaf_targetids": [0, 0, 5]}),
        ("SVMClassifier", MACHINE, {"vectors_per_class": [1, 10**6]}),
        ("SVMClassifier", MACHINE, {"vectors_per_class": [-1, 3]}),
        ("SVMClassifier", MACHINE, {"coefficients": [1.0]}),
        ("SVMClassifier", MACHINE, {"rho": [0.1, 0.2, 0.3]}),
        ("SVMClassifier", MACHINE, {"support_vectors": [0.0] * 16}),
        ("SVMClassifier", MACHINE, {"prob_a": [1.0]}),
        ("SVMClassifier", MACHINE, {"kernel_params": [0.5]}),
        ("LinearClassifier", LINE, {"coefficients": [1.0] * 7}),
        ("LinearClassifier", LINE, {"coefficients": [1.0] * 20}),
        ("LinearClassifier", LINE, {"intercepts": [1.0] * 5}),
    ],
)
def test_operators_made_of_arrays_that_do_not_fit_are_refused(
    tmp_path: Path, kind: str, arrays: dict[str, Any], change: dict[str, Any]
) -> None:
    open_model(made_of(tmp_path / "whole.onnx", kind, arrays), numbers_schema())
    with pytest.raises(ModelError, match=f"The arrays of a '{kind}' in the ONNX file must fit one another") as caught:
        open_model(made_of(tmp_path / "m.onnx", kind, arrays | change), numbers_schema())
    assert len(str(caught.value)) <= 300


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
