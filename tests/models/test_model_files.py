"""skops, pickle, ONNX and ``.nnet`` files, and how a format is told; hostile files are made here."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import onnx
import pytest
import sklearn.datasets
import skops.io
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - makes the next one importable
from sklearn.impute import IterativeImputer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OutputCodeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from small_models import numbers_schema, random_network, write_legacy_h5

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import FitError, ModelError
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.dense.nnet_file import read_nnet
from fairness_engine.models.model import Output
from fairness_engine.models.onnx.file import OnnxRuntime, read_onnx
from fairness_engine.models.open import open_model
from memory import takes_at_most

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(3)
ROWS = RNG.integers(0, 10, (300, 4)).astype(np.float64)
LABELS = (ROWS[:, 0] + ROWS[:, 1] > ROWS[:, 2] + 5).astype(int)
TREE = DecisionTreeClassifier(max_depth=4, random_state=0).fit(ROWS, LABELS)


# --- formats ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.keras", b"", "is empty"),
        ("m.keras", b"hello", "damaged or cut short"),
        ("m.h5", b"<html></html>", "damaged or cut short"),
        ("m.skops", b"\x00\x01", "damaged or cut short"),
        ("m.exe", b"MZ\x90", "no known model format"),
        ("m.txt", b"a,b,c\n", "no known model format"),
        ("m.onnx", b"\xff\xfe\x00garbage", "damaged or cut short"),
        ("m.onnx", b"", "is empty"),
        ("m.nnet", b"\xff\xfe\x00\x01", "must be text"),
    ],
)
def test_files_of_no_known_format_are_refused_in_a_sentence(tmp_path: Path, name: str, content: bytes, message: str):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=message):
        open_model(tmp_path / name, numbers_schema())


def test_folders_missing_and_large_files_are_refused(tmp_path: Path):
    with pytest.raises(ModelError, match="must be one file"):
        open_model(tmp_path, numbers_schema())
    with pytest.raises(ModelError, match=r"'missing.keras' is not there any more"):
        open_model(tmp_path / "missing.keras", numbers_schema())
    with (tmp_path / "m.h5").open("wb") as file:
        file.truncate(200_000_001)
    with pytest.raises(ModelError, match="at most 200 MB"):
        open_model(tmp_path / "m.h5", numbers_schema())


@pytest.mark.parametrize(
    ("member", "message"),
    [
        ("model/saved_model.pb", "TensorFlow SavedModel"),
        ("archive/data.pkl", "PyTorch file"),
        ("xl/workbook.xml", "of no known model format"),
    ],
)
def test_archives_of_other_programs_are_refused(tmp_path: Path, member: str, message: str):
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.writestr(member, b"x")
    with pytest.raises(ModelError, match=message):
        open_model(tmp_path / "m.zip", numbers_schema())


def test_the_content_decides_and_the_stored_name_needs_no_suffix(tmp_path: Path):
    write_legacy_h5(tmp_path / "blob", random_network((4, 3, 1)))
    assert open_model(tmp_path / "blob", numbers_schema(), name="x.keras").format == "Keras (.h5)"
    skops.io.dump(TREE, tmp_path / "other")
    assert open_model(tmp_path / "other", numbers_schema(), name="model.skops").format == "scikit-learn (.skops)"


# --- pickle -------------------------------------------------------------------------------


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


@pytest.mark.parametrize("name", ["m.pkl", "m.joblib", "m.pickle", "m.sav"])
def test_pickles_are_refused_and_nothing_of_them_runs(tmp_path: Path, name: str):
    (tmp_path / name).write_bytes(pickle.dumps(Trap(tmp_path / "ran")))
    with pytest.raises(ModelError, match=r"run code of their author on load and are refused.*--allow-unsafe-models"):
        open_model(tmp_path / name, numbers_schema())
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("compress", [0, 3])
def test_pickles_are_read_when_the_operator_allows_it_and_the_risk_is_named(tmp_path: Path, compress: int):
    joblib.dump(TREE, tmp_path / "m.joblib", compress=compress)
    model = open_model(tmp_path / "m.joblib", numbers_schema(), unsafe_formats=True)
    assert (model.decide(model.scores(ROWS)) == TREE.predict(ROWS)).all()
    assert "can run code of its author" in model.notes[0]


def test_a_damaged_pickle_is_refused_in_a_sentence(tmp_path: Path):
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(TREE)[:100])
    with pytest.raises(ModelError, match="could not be loaded"):
        open_model(tmp_path / "m.pkl", numbers_schema(), unsafe_formats=True)


# --- skops --------------------------------------------------------------------------------


def change_skops(path: Path, change: Any) -> None:
    """Write a skops file again with its members changed by ``change(members)``."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_a_skops_file_is_read(tmp_path: Path):
    skops.io.dump(TREE, tmp_path / "m.skops")
    model = open_model(tmp_path / "m.skops", numbers_schema(), classes=("no", "yes"))
    assert (model.decide(model.scores(ROWS)) == TREE.predict(ROWS)).all()
    assert (model.predictor.kind, model.classes, model.notes) == ("decision tree", ("no", "yes"), ())


def test_a_skops_file_that_names_posix_system_is_refused_and_does_not_run_it(tmp_path: Path):
    path = tmp_path / "m.skops"
    skops.io.dump(FunctionTransformer(os.system), path)
    assert b"posix" in zipfile.ZipFile(path).read("schema.json")
    with pytest.raises(ModelError, match=r"posix\.system.*not a known part of scikit-learn"):
        open_model(path, numbers_schema())


def _with_gaps() -> np.ndarray:
    rows = ROWS.copy()
    rows[::9, 1] = np.nan
    return rows


@pytest.mark.parametrize(
    ("estimator", "rows", "labels"),
    [
        (make_pipeline(IterativeImputer(max_iter=2), LogisticRegression(max_iter=500)), _with_gaps(), LABELS),
        (CalibratedClassifierCV(LogisticRegression(max_iter=500), method="temperature"), ROWS, LABELS),
        (OutputCodeClassifier(TREE, code_size=1.2, random_state=0), ROWS, LABELS + (ROWS[:, 3] > 7)),
        (make_pipeline(FunctionTransformer(np.round, kw_args={"decimals": -1}), TREE), ROWS, LABELS),
    ],
    ids=["imputer by regressions", "temperature", "codes of classes", "rounded"],
)
def test_seldom_parts_of_scikit_learn_are_read(
    tmp_path: Path, estimator: Any, rows: np.ndarray, labels: np.ndarray
) -> None:
    fitted = clone(estimator).fit(rows, labels)
    skops.io.dump(fitted, tmp_path / "m.skops")
    model = open_model(tmp_path / "m.skops", numbers_schema(), classes=tuple(map(str, sorted(set(labels)))))
    assert (model.decide(model.scores(ROWS)) == fitted.predict(ROWS)).all()


def test_a_part_of_scikit_learn_that_is_not_read_is_no_part_of_others(tmp_path: Path) -> None:
    transformer = FunctionTransformer(sklearn.datasets.load_svmlight_file)
    skops.io.dump(make_pipeline(transformer, TREE), tmp_path / "m.skops")
    with pytest.raises(ModelError, match="a part of scikit-learn that is not read, and is refused"):
        open_model(tmp_path / "m.skops", numbers_schema())


class OwnTree(DecisionTreeClassifier):
    """A class of its own module."""


def test_classes_of_the_authors_own_are_refused(tmp_path: Path):
    skops.io.dump(OwnTree().fit(ROWS, LABELS), tmp_path / "m.skops")
    with pytest.raises(ModelError, match=r"OwnTree.*is refused"):
        open_model(tmp_path / "m.skops", numbers_schema())


def test_another_version_of_scikit_learn_is_said(tmp_path: Path):
    path = tmp_path / "m.skops"
    skops.io.dump(TREE, path)

    def age(members: dict[str, bytes]) -> None:
        import sklearn

        members["schema.json"] = members["schema.json"].replace(sklearn.__version__.encode(), b"1.2.3")

    change_skops(path, age)
    model = open_model(path, numbers_schema())
    assert "saved with scikit-learn 1.2.3 and is read with" in model.notes[0]


def test_damaged_skops_files_are_refused(tmp_path: Path):
    path = tmp_path / "m.skops"
    skops.io.dump(TREE, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match="cut short"):
        open_model(path, numbers_schema())
    path.write_bytes(whole)
    change_skops(path, lambda members: members.update({"schema.json": b"{"}))
    with pytest.raises(ModelError, match=r"schema\.json.*damaged"):
        open_model(path, numbers_schema())
    path.write_bytes(whole)
    change_skops(path, lambda members: members.update({"schema.json": b'{"__class__": "x"}'}))
    with pytest.raises(ModelError, match="whole skops file"):
        open_model(path, numbers_schema())
    path.write_bytes(whole)
    change_skops(path, lambda members: members.update({"evil.py": b"x"}))
    with pytest.raises(ModelError, match="does not belong to its format"):
        open_model(path, numbers_schema())
    path.write_bytes(whole)
    change_skops(path, lambda members: members.pop("schema.json"))
    with pytest.raises(ModelError, match=r"schema\.json"):
        open_model(path, numbers_schema(), name="m.skops")


def npy(array: np.ndarray, shape: tuple[int, ...] | None = None) -> bytes:
    stream = io.BytesIO()
    if shape is None:
        np.save(stream, array, allow_pickle=True)
        return stream.getvalue()
    header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue() + array.tobytes()


def npz(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("data.npy", content)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.npy", npy(np.zeros(2), (10**9, 10)), "declares more numbers than it holds"),
        ("x.npy", npy(np.array([{}], dtype=object)), "declares more numbers|no array of numbers"),
        ("x.npy", b"nothing", "no array of numbers"),
        ("x.npz", npz(npy(np.zeros(2), (10**9,))), "declares more numbers than it holds"),
        ("x.npz", b"PK\x03\x04nothing", "is damaged"),
        ("x.npz", 500_000_000, "more than is allowed"),
    ],
)
def test_hostile_arrays_in_skops_files_are_refused_at_once(
    tmp_path: Path, name: str, content: bytes | int, message: str
) -> None:
    path = tmp_path / "m.skops"
    skops.io.dump(TREE, path)
    member = npz(bytes(content)) if isinstance(content, int) else content  # not made where tests are only collected
    change_skops(path, lambda members: members.update({name: member}))
    with takes_at_most(20_000_000), pytest.raises(ModelError, match=message):
        open_model(path, numbers_schema())


# --- ONNX ---------------------------------------------------------------------------------


def save_onnx(path: Path, nodes: list[Any], weights: dict[str, np.ndarray], **options: Any) -> Path:
    """One input ``rows`` and one output ``scores``."""
    kind = options.get("kind", TensorProto.FLOAT)
    rows = helper.make_tensor_value_info("rows", kind, options.get("shape", [None, 4]))
    scores = helper.make_tensor_value_info("scores", options.get("output", TensorProto.FLOAT), None)
    tensors = [numpy_helper.from_array(values, name) for name, values in weights.items()]
    graph = helper.make_graph(nodes, "g", [rows], [scores], tensors)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=options.get("functions", []))
    path.write_bytes(model.SerializeToString())
    return path


def weights_of(network: DenseNetwork, dtype: type = np.float32) -> dict[str, np.ndarray]:
    weights = {}
    for i, layer in enumerate(network.layers):
        weights |= {f"w{i}": layer.weights.astype(dtype), f"b{i}": layer.biases.astype(dtype)}
    return weights


NETWORK = random_network((4, 6, 1))


def runtime_scores(path: Path, rows: np.ndarray) -> np.ndarray:
    import onnxruntime

    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return np.asarray(session.run(None, {name: rows.astype(np.float32)})[-1])


def test_a_chain_of_gemm_is_read_statically(tmp_path: Path):
    weights = weights_of(NETWORK)
    weights["w1"] = np.ascontiguousarray(weights["w1"].T)
    nodes = [
        helper.make_node("Gemm", ["rows", "w0", "b0"], ["s0"], alpha=2.0, beta=0.5),
        helper.make_node("LeakyRelu", ["s0"], ["v0"], alpha=0.2),
        helper.make_node("Gemm", ["v0", "w1", "b1"], ["s1"], transB=1),
        helper.make_node("Sigmoid", ["s1"], ["scores"]),
    ]
    path = save_onnx(tmp_path / "m.onnx", nodes, weights)
    model = open_model(path, numbers_schema())
    assert isinstance(model.predictor, DenseNetwork)
    assert np.abs(model.scores(ROWS) - runtime_scores(path, ROWS)).max() < 1e-5


def test_a_chain_of_matmul_scalings_and_normalisation_is_read_statically(tmp_path: Path):
    weights = weights_of(random_network((4, 6, 3), Activation.SOFTMAX))
    weights |= {
        "mean": np.full(4, 4.5, np.float32),
        "deviation": np.full(4, 3.0, np.float32),
        "shape": np.array([-1, 4], np.int64),
        **{name: RNG.uniform(0.5, 2, 6).astype(np.float32) for name in ("gamma", "beta", "m", "v")},
    }
    one = helper.make_node("Constant", [], ["one"], value=numpy_helper.from_array(np.float32(1.5).reshape(1), "one"))
    nodes = [
        one,
        helper.make_node("Sub", ["rows", "mean"], ["a"]),
        helper.make_node("Div", ["a", "deviation"], ["b"]),
        helper.make_node("Mul", ["one", "b"], ["c"]),
        helper.make_node("Reshape", ["c", "shape"], ["d"]),
        helper.make_node("MatMul", ["d", "w0"], ["e"]),
        helper.make_node("Add", ["b0", "e"], ["f"]),
        helper.make_node("BatchNormalization", ["f", "gamma", "beta", "m", "v"], ["g"], epsilon=0.01),
        helper.make_node("Elu", ["g"], ["h"]),
        helper.make_node("Flatten", ["h"], ["i"]),
        helper.make_node("Cast", ["i"], ["j"], to=TensorProto.FLOAT),
        helper.make_node("Gemm", ["j", "w1"], ["k"]),
        helper.make_node("Softmax", ["k"], ["scores"]),
    ]
    path = save_onnx(tmp_path / "m.onnx", nodes, weights)
    predictor, _ = read_onnx(path)
    assert isinstance(predictor, DenseNetwork)
    assert np.abs(predictor.predict(ROWS) - runtime_scores(path, ROWS)).max() < 1e-5


@pytest.mark.thorough
@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize(
    "labels", [LABELS, LABELS + (ROWS[:, 3] > 6), np.where(LABELS, "yes", "no")], ids=["2", "3", "text"]
)
@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(5, max_depth=3, random_state=0),
        LogisticRegression(max_iter=500),
        MLPClassifier((5,), random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_classifiers_exported_by_sklearn_onnx(tmp_path: Path, estimator: Any, labels: np.ndarray, zipmap: bool):
    fitted = estimator.fit(ROWS, labels)
    exported = to_onnx(fitted, ROWS[:1].astype(np.float32), options={id(fitted): {"zipmap": zipmap}})
    (tmp_path / "m.onnx").write_bytes(exported.SerializeToString())
    classes = tuple(str(name) for name in fitted.classes_)
    model = open_model(tmp_path / "m.onnx", numbers_schema(), classes=classes)
    decided = np.array(classes)[model.decide(model.scores(ROWS))]
    assert (decided == fitted.predict(ROWS).astype(str)).mean() > 0.995  # float32 against float64
    expected = fitted.predict_proba(ROWS)
    assert np.abs(model.scores(ROWS) - (expected[:, 1:] if model.is_binary else expected)).max() < 1e-5
    assert model.predictor.output is Output.PROBABILITY


def test_an_output_of_a_class_that_is_no_score_a_row_is_refused(tmp_path: Path) -> None:
    """Found by damaged files: it was an error of NumPy's."""
    fitted = LogisticRegression(max_iter=500).fit(ROWS, LABELS)
    exported = to_onnx(fitted, ROWS[:1].astype(np.float32), options={id(fitted): {"zipmap": "columns"}})
    graph = exported.graph
    (both,) = (node.output[1] for node in graph.node if node.op_type == "LinearClassifier")
    first = graph.output[1].name
    (maker,) = (node for node in graph.node if first in node.output)
    graph.node.remove(maker)
    graph.node.append(helper.make_node("Identity", [both], [first]))
    (tmp_path / "m.onnx").write_bytes(exported.SerializeToString())
    with pytest.raises(FitError, match=r"must hold one score a row, \d+, got shapes \(\d+, 2\) and \(\d+,"):
        open_model(tmp_path / "m.onnx", numbers_schema(), classes=("0", "1"))


def test_fixed_batch_sizes_are_filled_up_and_cut(tmp_path: Path):
    nodes = [helper.make_node("ReduceMax", ["rows"], ["scores"], axes=[1])]
    path = save_onnx(tmp_path / "m.onnx", nodes, {}, shape=[64, 4])
    model = open_model(path, numbers_schema())
    assert isinstance(model.predictor, OnnxRuntime)
    assert np.array_equal(model.scores(ROWS)[:, 0], ROWS.max(axis=1))
    assert model.predictor.output is Output.PROBABILITY or model.threshold == 0
    assert model.rounding == 1e-6
    assert model.scores(ROWS[:0]).shape == (0, 1)


@pytest.mark.parametrize("kind", [TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32])
def test_rows_are_cast_to_the_declared_type(tmp_path: Path, kind: int):
    nodes = [
        helper.make_node("Cast", ["rows"], ["x"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["x"], ["scores"]),
    ]
    nodes[1] = helper.make_node("ReduceMean", ["x"], ["scores"], axes=[1])
    model = open_model(save_onnx(tmp_path / "m.onnx", nodes, {}, kind=kind), numbers_schema())
    assert np.allclose(model.scores(ROWS)[:, 0], ROWS.mean(axis=1), atol=1e-6)


def test_a_model_of_one_input_a_column_gets_each_by_name(tmp_path: Path):
    number = helper.make_tensor_value_info("age", TensorProto.INT64, [None, 1])
    text = helper.make_tensor_value_info("sex", TensorProto.STRING, [None, 1])
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node(
            "LabelEncoder", ["sex"], ["s"], domain="ai.onnx.ml", keys_strings=["F", "M"], values_floats=[0.0, 0.25]
        ),
        helper.make_node("Cast", ["age"], ["a"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["a", "hundredth"], ["b"]),
        helper.make_node("Add", ["s", "b"], ["scores"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [number, text], [scores], [numpy_helper.from_array(np.float32(0.01), "hundredth")]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    (tmp_path / "m.onnx").write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString())
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
        Column("age", Kind.INTEGER, minimum=20, maximum=60),
        Column("unused", Kind.INTEGER, minimum=0, maximum=1),
    )
    model = open_model(tmp_path / "m.onnx", Schema(columns, protected=("sex",)))
    assert np.allclose(model.scores(np.array([[0, 30, 0], [1, 30, 1.0]]))[:, 0], [0.3, 0.55], atol=1e-6)


def test_a_model_of_labels_only_gives_labels(tmp_path: Path):
    nodes = [
        helper.make_node("Greater", ["rows", "limits"], ["x"]),
        helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT64),
        helper.make_node("ReduceMax", ["y"], ["scores"], axes=[1], keepdims=0),
    ]
    weights = {"limits": np.full(4, 8, np.float32)}
    model = open_model(save_onnx(tmp_path / "m.onnx", nodes, weights, output=TensorProto.INT64), numbers_schema())
    assert model.predictor.output is Output.LABEL
    assert np.array_equal(model.decide(model.scores(ROWS)), (ROWS > 8).any(axis=1))


def test_external_data_is_refused(tmp_path: Path):
    nodes = [helper.make_node("MatMul", ["rows", "w"], ["scores"])]
    path = save_onnx(tmp_path / "m.onnx", nodes, {"w": np.ones((4, 1), np.float32)})
    model = onnx.load(path)
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="keeps weights in another file"):
        open_model(path, numbers_schema())


def test_an_endless_loop_is_refused(tmp_path: Path):
    yes = helper.make_node("Constant", [], ["go_on"], value=numpy_helper.from_array(np.array(True), "t"))
    body = helper.make_graph(
        [yes],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("before", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("go_on", TensorProto.BOOL, [])],
    )
    nodes = [
        helper.make_node("Loop", ["", "start"], [], body=body),
        helper.make_node("Identity", ["rows"], ["scores"]),
    ]
    path = save_onnx(tmp_path / "m.onnx", nodes, {"start": np.array(True)})
    with pytest.raises(ModelError, match="a loop"):
        open_model(path, numbers_schema())


def test_operators_of_other_domains_and_own_functions_are_refused(tmp_path: Path):
    nodes = [helper.make_node("Run", ["rows"], ["scores"], domain="own")]
    with pytest.raises(ModelError, match="operator 'Run' of 'own'"):
        open_model(save_onnx(tmp_path / "m.onnx", nodes, {}), numbers_schema())
    opset = [helper.make_opsetid("", 17)]
    inner = [helper.make_node("Identity", ["x"], ["y"])]
    function = helper.make_function("own", "Run", ["x"], ["y"], inner, opset)
    with pytest.raises(ModelError, match="operators of its own"):
        open_model(save_onnx(tmp_path / "m.onnx", nodes, {}, functions=[function]), numbers_schema())


def test_onnx_files_that_are_no_classifiers_of_rows_are_refused(tmp_path: Path):
    same = [helper.make_node("Identity", ["rows"], ["scores"])]
    with pytest.raises(ModelError, match="not rows of numbers"):
        open_model(save_onnx(tmp_path / "a.onnx", same, {}, shape=[None, 3, 4, 4]), numbers_schema())
    with pytest.raises(ModelError, match="onnxruntime does not accept"):
        open_model(
            save_onnx(tmp_path / "b.onnx", [helper.make_node("NoSuch", ["rows"], ["scores"])], {}), numbers_schema()
        )
    with pytest.raises(ModelError, match=r"type tensor\(uint64\)"):
        open_model(
            save_onnx(tmp_path / "c.onnx", same, {}, kind=TensorProto.UINT64, output=TensorProto.UINT64),
            numbers_schema(),
        )
    nodes = [helper.make_node("ReduceMax", ["rows"], ["scores"], axes=[1])]
    with pytest.raises(FitError, match="takes 4 inputs, but there are 3 input columns"):
        open_model(save_onnx(tmp_path / "d.onnx", nodes, {}), numbers_schema(3))
    wrong = [helper.make_node("Reshape", ["rows", "shape"], ["scores"])]
    with pytest.raises(FitError, match=r"fails on rows of the data|must return"):
        open_model(save_onnx(tmp_path / "e.onnx", wrong, {"shape": np.array([7, 3], np.int64)}), numbers_schema())
    content = save_onnx(tmp_path / "f.onnx", same, {}).read_bytes()
    (tmp_path / "f.onnx").write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError):
        open_model(tmp_path / "f.onnx", numbers_schema())


# --- .nnet --------------------------------------------------------------------------------


def nnet_text(network: DenseNetwork) -> str:
    """The text format: bounds in the header are wrong on purpose."""
    widths = network.widths
    lines = ["// written by a test", f"{len(widths) - 1},{widths[0]},{widths[-1]},{max(widths)},"]
    lines += [",".join(map(str, widths)) + ",", "0,", *["5,5,5,5,"] * 4]
    for layer in network.layers:
        lines += [",".join(f"{value:.9g}" for value in unit) + "," for unit in layer.weights.T]
        lines += [f"{value:.9g}," for value in layer.biases]
    return "\n".join(lines) + "\n"


def test_an_nnet_file_gives_logits(tmp_path: Path):
    path = tmp_path / "m.nnet"
    path.write_text(nnet_text(NETWORK))
    model = open_model(path, numbers_schema())
    assert (model.predictor.output, model.threshold) == (Output.LOGIT, 0.0)
    assert np.allclose(model.scores(ROWS), NETWORK.logits(ROWS), atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "cut short"),
        (lambda text: text[:40], "cut short"),
        (lambda text: text.replace("2,4,1,6,", "9999999,4,1,6,"), "at most 200 layers"),
        (lambda text: text.replace("\n4,6,1,", "\n4,600000000,1,"), "at most 200 layers"),
        (lambda text: text.replace("2,4,1,6,", "3,4,1,6,"), "contradict"),
        (lambda text: text.replace("2,4,1,6,", "two,4,1,6,"), "sizes of its layers"),
        (
            lambda text: text.replace("5,5,5,5,\n0", "5,5,5,5,\nx", 1).replace("5,5,5,5,\n-", "5,5,5,5,\nx", 1),
            "must hold numbers",
        ),
        (lambda text: text.rsplit("\n", 2)[0] + "\nnan,\n", "finite numbers"),
        (lambda text: text.rsplit("\n", 2)[0] + "\n1,2,\n", "must hold 1 finite numbers, got 2"),
    ],
)
def test_damaged_nnet_files_are_refused(tmp_path: Path, change: Any, message: str):
    path = tmp_path / "m.nnet"
    changed = change(nnet_text(NETWORK))
    assert changed != nnet_text(NETWORK)
    path.write_text(changed)
    with pytest.raises(ModelError, match=message):
        open_model(path, numbers_schema())


@pytest.mark.shared
def test_published_nnet_files_agree_with_the_networks_they_were_made_of(shared: Path):
    from fairness_engine.models.keras.file import read_keras

    for text, weights in (
        ("fairquant/compas-1.nnet", "fairquant/compas-1.h5"),
        ("fairquant/AC-1.nnet", "fairify/AC-1.h5"),
    ):
        printed = read_nnet(shared / "models" / text)
        kept = read_keras(shared / "models" / weights)
        rows = np.random.default_rng(0).integers(0, 10, (500, kept.n_inputs or 0)).astype(np.float64)
        assert np.abs(printed.predict(rows) - kept.logits(rows)).max() < 1e-4  # the text has six digits


# --- the package --------------------------------------------------------------------------


def test_importing_the_package_loads_no_library_of_models():
    code = (
        "import sys, fairness_engine.models, fairness_engine.models.model, fairness_engine.models.open, "
        "fairness_engine.models.fit.report;"
        "print(sorted({'sklearn', 'keras', 'tensorflow', 'onnx', 'onnxruntime', 'h5py', 'numba', 'skops', 'joblib'} & "
        "set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_the_class_that_is_favourable_must_be_one_of_the_models(tmp_path: Path):
    from fairness_engine.errors import SettingError

    skops.io.dump(TREE, tmp_path / "m.skops")
    with pytest.raises(SettingError, match="must be one of the model's 2, got 2"):
        open_model(tmp_path / "m.skops", numbers_schema(), favourable=2)
