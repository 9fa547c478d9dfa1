"""Corners of the model package: ties, compiled loops, spellings, graphs that are no chains, archives."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import onnx
import pandas as pd
import pytest
from onnx import TensorProto, helper, numpy_helper
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from small_models import mixed_schema, numbers_schema, random_network

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import EvenhandError, FitError, ModelError
from fairness_engine.models.callable_model import open_callable
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.encoders import LabelsEncoder, choose_encoder
from fairness_engine.models.encoders.tabulated import TabulatedEncoder, tabulate
from fairness_engine.models.formats import member_names, read_members
from fairness_engine.models.inputs.spelling import known_categories
from fairness_engine.models.keras.hdf5 import open_hdf5
from fairness_engine.models.model import Output
from fairness_engine.models.onnx.file import OnnxRuntime, read_onnx
from fairness_engine.models.open import bind, open_model
from fairness_engine.models.sklearn.binding import bind_estimator
from fairness_engine.models.sklearn.estimator import prepare_estimator, takes_frame
from fairness_engine.models.sklearn.support_vectors import SupportVectors
from fairness_engine.models.sklearn.voting import JUST_ABOVE_HALF, settle
from fairness_engine.models.trees.kernels import N_LANES, add_leaf_values
from fairness_engine.models.trees.trees import TreeSums

RNG = np.random.default_rng(11)
ROWS = RNG.integers(0, 10, (320, 4)).astype(np.float64)
LABELS = (ROWS[:, 0] + ROWS[:, 1] > ROWS[:, 2] + 5).astype(int)


def test_scores_follow_the_larger_probability_to_the_last_digit():
    nearly = np.nextafter(0.5, 0)
    probabilities = np.array(
        [[nearly, 0.5], [0.5, nearly], [0.5, 0.5], [0.5, JUST_ABOVE_HALF], [JUST_ABOVE_HALF, JUST_ABOVE_HALF]]
    )
    scores = settle(probabilities)
    assert scores[:, 0].tolist() == [JUST_ABOVE_HALF, nearly, 0.5, JUST_ABOVE_HALF, 0.5]
    assert np.array_equal(scores[:, 0] > 0.5, probabilities.argmax(axis=1) == 1)
    three = np.full((2, 3), 1 / 3)
    assert settle(three) is three


def test_the_compiled_walk_is_the_written_one():
    forest = RandomForestClassifier(3, max_depth=4, random_state=0).fit(ROWS, LABELS)
    trees = [member.tree_ for member in forest.estimators_]
    sums = TreeSums(trees, [tree.value[:, 0] for tree in trees], 4)
    assert len(ROWS) % N_LANES == 0
    inputs = ROWS[: 2 * N_LANES].astype(np.float32).ravel()
    written = np.zeros((2 * N_LANES, 2))
    add_leaf_values.py_func(inputs, 4, sums._roots, sums._links, sums._limits, sums._values, written)
    assert np.array_equal(written / 3, forest.predict_proba(ROWS[: 2 * N_LANES]))
    assert np.array_equal(written, sums.add_to(np.zeros((2 * N_LANES, 2)), ROWS[: 2 * N_LANES]))


@pytest.mark.parametrize("n_rows", [0, 1, 2047, 2048, 2049, 5001])
def test_many_rows_reach_the_leaves_that_each_alone_does(n_rows: int):
    forest = RandomForestClassifier(7, max_depth=6, random_state=0).fit(ROWS, LABELS)
    trees = [member.tree_ for member in forest.estimators_]
    sums = TreeSums(trees, [tree.value[:, 0] for tree in trees], 4)
    rows = np.random.default_rng(1).integers(0, 10, (n_rows, 4)).astype(np.float64)
    found = sums.add_to(np.zeros((n_rows, 2)), rows)
    assert found.shape == (n_rows, 2)
    if n_rows:
        assert np.array_equal(found / 7, forest.predict_proba(rows))


def test_support_vectors_near_the_boundary_are_decided_by_libsvm():
    from sklearn.svm import SVC

    line = np.linspace(-1, 1, 41)[:, None]
    fitted = SVC(kernel="linear").fit(line, (line[:, 0] > 0).astype(int))
    boundary = -fitted.intercept_[0] / fitted.coef_[0, 0] + np.spacing(1.0) * np.arange(-40, 41)[:, None]
    scores = SupportVectors(fitted).predict(boundary)[:, 0]
    theirs = fitted.decision_function(boundary)
    assert 0 < (theirs > 0).sum() < len(theirs)
    assert np.array_equal(scores > 0, theirs > 0)
    assert np.allclose(scores, theirs, atol=1e-12)


def frame(n_rows: int = 200) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sex": RNG.choice(["F", "M"], n_rows),
            "age": RNG.integers(20, 61, n_rows),
            "job": RNG.choice(["clerk", "judge", "nurse"], n_rows),
            "wealth": RNG.uniform(0, 5, n_rows),
        }
    )


def test_categories_are_found_wherever_a_pipeline_keeps_them():
    data = frame()
    labels = (data["wealth"] > 2).to_numpy()
    text = ["sex", "job"]
    by_name = make_pipeline(ColumnTransformer([("t", make_pipeline(OrdinalEncoder()), text)]), DecisionTreeClassifier())
    by_position = make_pipeline(ColumnTransformer([("t", OneHotEncoder(), [0, 2])]), DecisionTreeClassifier())
    by_slice = make_pipeline(ColumnTransformer([("t", OneHotEncoder(), slice(2, 3))]), DecisionTreeClassifier())
    by_selector = make_pipeline(
        ColumnTransformer([("t", OneHotEncoder(), make_column_selector(pattern="sex|job"))]), DecisionTreeClassifier()
    )
    whole = make_pipeline(OneHotEncoder(), DecisionTreeClassifier())
    vote = VotingClassifier([("a", by_name)])
    for estimator, columns in (
        (by_name, text),
        (by_position, text),
        (by_slice, ["job"]),
        (by_selector, text),
        (vote, text),
    ):
        known = known_categories(estimator.fit(data, labels))
        assert set(known) == set(columns)
        assert list(known["job"]) == ["clerk", "judge", "nurse"]
        assert takes_frame(estimator)
    assert list(known_categories(whole.fit(data[text], labels))["sex"]) == ["F", "M"]
    assert not takes_frame(make_pipeline(StandardScaler(), DecisionTreeClassifier()))
    by_text_slice = make_pipeline(
        ColumnTransformer([("t", OneHotEncoder(), slice("job", "job"))]), DecisionTreeClassifier()
    )
    assert list(known_categories(by_text_slice.fit(data, labels))) == ["job"]


def test_boosting_with_categories_of_a_frame_gets_a_frame():
    data = frame().astype({"sex": "category", "job": "category"})
    fitted = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype").fit(data, data["wealth"] > 2)
    assert takes_frame(fitted)


def test_tables_are_not_used_where_they_would_not_be_right():
    schema = mixed_schema()
    encoder = LabelsEncoder(schema)

    def numbers(data: Any) -> np.ndarray:
        return np.stack([data["age"] / 3, data["wealth"]], axis=1)

    def curved(data: Any) -> np.ndarray:
        return np.stack([data["age"] / 3, data["wealth"] ** 2], axis=1)

    def shared_feature(data: Any) -> np.ndarray:
        return np.stack([data["age"] + data["wealth"]], axis=1)

    def wide(data: Any) -> np.ndarray:
        return np.zeros((len(data), 20_001))

    assert isinstance(tabulate(schema, encoder, numbers, np.float64, False), TabulatedEncoder)
    for transform in (curved, shared_feature, wide):
        assert tabulate(schema, encoder, transform, np.float64, True) is None

    def scaled(data: Any) -> np.ndarray:
        return np.stack([(data["wealth"] - 2.3456789) / 0.7654321], axis=1)

    assert tabulate(schema, encoder, scaled, np.float64, True) is not None
    assert tabulate(schema, encoder, scaled, np.float64, False) is None  # right to 1e-16, not to the bit


def test_decisions_on_thresholds_survive_a_scaler():
    data = pd.DataFrame({"a": np.arange(40), "b": RNG.uniform(0, 1, 40)})
    labels = (data["a"] % 7 > 3).to_numpy()
    final = HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=1)
    fitted = make_pipeline(ColumnTransformer([("n", StandardScaler(), ["a", "b"])]), final).fit(data, labels)
    schema = Schema(
        (Column("a", Kind.INTEGER, minimum=0, maximum=39), Column("b", Kind.REAL, minimum=0.0, maximum=1.0))
    )
    estimator = prepare_estimator(fitted)
    predictor, encoder, _ = bind_estimator(estimator, schema)
    model = bind(predictor, encoder, schema)
    rows = data.to_numpy(dtype=np.float64)
    assert np.array_equal(model.decide(model.scores(rows)), fitted.predict(data).astype(int))


def test_an_estimator_behind_a_function_is_asked_as_it_is():
    fitted = make_pipeline(FunctionTransformer(lambda rows: rows), LogisticRegression()).fit(ROWS, LABELS)
    predictor, encoder, _ = bind_estimator(prepare_estimator(fitted), numbers_schema())
    model = bind(predictor, encoder, numbers_schema())
    assert (model.decide(model.scores(ROWS)) == fitted.predict(ROWS)).all()


def test_a_column_that_the_schema_ignores_is_named():
    schema = Schema((*mixed_schema().columns, Column("height", Kind.IGNORED)))
    with pytest.raises(
        FitError, match=r"takes the column 'height', which is not among the inputs: .* \(its role on the Data page"
    ):
        choose_encoder(schema, 2, ("age", "height"))


# --- ONNX graphs that are no chains -------------------------------------------------------


def read_nodes(path: Path, nodes: list[Any], weights: dict[str, np.ndarray], shape: Any = (None, 4)) -> Any:
    rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, shape)
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, None)
    tensors = [numpy_helper.from_array(values, name) for name, values in weights.items()]
    graph = helper.make_graph(nodes, "g", [rows], [scores], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return read_onnx(path)[0]


ONES = {"w": np.ones((4, 1), np.float32), "v": np.ones((4, 4), np.float32)}


@pytest.mark.parametrize(
    ("nodes", "weights"),
    [
        (
            [("MatMul", ["rows", "v"], "x", {}), ("Add", ["x", "rows"], "y", {}), ("MatMul", ["y", "w"], "scores", {})],
            ONES,
        ),
        ([("Concat", ["rows", "rows"], "scores", {"axis": 1})], {}),
        ([("MatMul", ["rows", "w"], "x", {}), ("Concat", ["x", "x"], "scores", {"axis": 1})], ONES),
        ([("MatMul", ["rows", "w"], "x", {}), ("Exp", ["x"], "scores", {})], ONES),
        ([("MatMul", ["rows", "v"], "x", {}), ("Softmax", ["x"], "scores", {"axis": 0})], ONES),
        ([("MatMul", ["rows", "v"], "x", {}), ("Softmax", ["x"], "y", {}), ("MatMul", ["y", "w"], "scores", {})], ONES),
        ([("MatMul", ["rows", "w"], "x", {}), ("Flatten", ["x"], "scores", {"axis": 0})], ONES),
        (
            [("MatMul", ["rows", "w"], "x", {}), ("Reshape", ["x", "shape"], "scores", {})],
            {**ONES, "shape": np.array([-1])},
        ),
        ([("Sub", ["v", "rows"], "scores", {})], {"v": np.ones(4, np.float32)}),
    ],
)
def test_graphs_that_are_no_chains_are_evaluated_by_onnxruntime(
    tmp_path: Path, nodes: list[Any], weights: dict[str, np.ndarray]
):
    made = [helper.make_node(kind, inputs, [output], **options) for kind, inputs, output, options in nodes]
    predictor = read_nodes(tmp_path / "m.onnx", made, weights)
    assert isinstance(predictor, OnnxRuntime)
    assert np.isfinite(predictor.predict(ROWS)).all()


def test_both_probabilities_joined_are_one_score(tmp_path: Path):
    one = numpy_helper.from_array(np.array([1.0], np.float32), "one")
    nodes = [
        helper.make_node("Constant", [], ["one"], value=one),
        helper.make_node("MatMul", ["rows", "w"], ["x"]),
        helper.make_node("Sigmoid", ["x"], ["p"]),
        helper.make_node("Sub", ["one", "p"], ["q"]),
        helper.make_node("Concat", ["q", "p"], ["scores"], axis=1),
    ]
    predictor = read_nodes(tmp_path / "m.onnx", nodes, {"w": np.full((4, 1), 0.1, np.float32)})
    assert isinstance(predictor, DenseNetwork)
    assert np.allclose(predictor.predict(ROWS)[:, 0], 1 / (1 + np.exp(-ROWS.sum(axis=1) * np.float32(0.1))), atol=1e-6)


def test_two_outputs_of_numbers_are_refused(tmp_path: Path):
    rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, 4])
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("a", "b")]
    nodes = [helper.make_node("Relu", ["rows"], ["a"]), helper.make_node("Neg", ["rows"], ["b"])]
    model = helper.make_model(helper.make_graph(nodes, "g", [rows], outputs), ir_version=9)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="2 outputs of numbers"):
        open_model(tmp_path / "m.onnx", numbers_schema())
    empty = onnx.ModelProto()
    empty.ir_version = 9
    (tmp_path / "n.onnx").write_bytes(empty.SerializeToString())
    with pytest.raises(ModelError, match="holds no operators"):
        open_model(tmp_path / "n.onnx", numbers_schema())


def test_text_labels_without_scores_are_refused(tmp_path: Path):
    rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, 4])
    label = helper.make_tensor_value_info("label", TensorProto.STRING, None)
    nodes = [
        helper.make_node("ArgMax", ["rows"], ["i"], axis=1, keepdims=0),
        helper.make_node(
            "LabelEncoder", ["i"], ["label"], domain="ai.onnx.ml", keys_int64s=[0, 1], values_strings=["a", "b"]
        ),
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(helper.make_graph(nodes, "g", [rows], [label]), opset_imports=opsets, ir_version=9)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(FitError, match="labels as text and no scores"):
        open_model(tmp_path / "m.onnx", numbers_schema())


def test_inner_weights_kept_elsewhere_are_found(tmp_path: Path):
    tensor = TensorProto(name="t", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="other.bin")
    nodes = [helper.make_node("Constant", [], ["c"], value=tensor), helper.make_node("Add", ["rows", "c"], ["scores"])]
    with pytest.raises(ModelError, match="keeps weights in another file"):
        read_nodes(tmp_path / "m.onnx", nodes, {})


# --- archives and HDF5 --------------------------------------------------------------------


@pytest.mark.thorough
def test_archives_are_bounded_in_members_and_size(tmp_path: Path):
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(50_001):
            archive.writestr(f"{i}.txt", b"")
    with pytest.raises(ModelError, match="at most 50,000, got 50,001"):
        read_members(path, lambda _: True)
    assert len(member_names(path)) == 50_000
    path.write_bytes(b"PK nothing")
    assert member_names(path) == frozenset()


def test_archives_that_unpack_to_too_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", b"12345")
    monkeypatch.setattr("fairness_engine.models.formats.MAX_UNPACKED_BYTES", 4)
    with pytest.raises(ModelError, match="may unpack to at most"):
        read_members(path, lambda _: True)


def test_members_of_another_size_than_declared_are_refused(tmp_path: Path):
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", b"12345")
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02")
    content[at + 24 : at + 28] = (4).to_bytes(4, "little")
    path.write_bytes(bytes(content))
    with pytest.raises(ModelError, match=r"damaged or cut short|has not the size"):
        read_members(path, lambda _: True)


def test_hdf5_files_of_endless_groups_are_refused():
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        group = file.create_group("a")
        group["again"] = file["a"]  # a hard link to itself
    with pytest.raises(ModelError, match="more groups than any real one"), open_hdf5(buffer.getvalue()):
        pass


def test_an_address_in_an_hdf5_file_that_no_file_has_is_refused():
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file["w"] = np.zeros(3)
    content = bytearray(buffer.getvalue())
    content[48] = 0x7F  # of the address of the driver's information
    with pytest.raises(ModelError, match="damaged or cut short"), open_hdf5(bytes(content)):
        pass


def test_a_model_that_fails_once_it_is_open_is_told_in_a_sentence():
    def fails_on_three(rows: np.ndarray) -> np.ndarray:
        if len(rows) == 3:
            raise KeyError("x" * 5_000)
        return rows[:, 0] / 9

    model = open_callable(fails_on_three, numbers_schema())
    with pytest.raises(FitError, match="fails on rows of the data") as caught:
        model.scores(ROWS[:3])
    assert isinstance(caught.value.__cause__, Exception)
    assert len(str(caught.value)) <= 300


def test_a_network_of_one_score_has_the_threshold_of_its_kind():
    model = bind(random_network((4, 3, 1)), choose_encoder(numbers_schema(), 4), numbers_schema(), threshold=0.9)
    rows = sample_rows(numbers_schema(), 300, RNG)
    assert model.predictor.output is Output.PROBABILITY
    assert np.array_equal(model.decide(model.scores(rows)), (model.scores(rows)[:, 0] > 0.9).astype(int))


def damage(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for at in rng.integers(0, len(changed), rng.integers(1, 9)):
        changed[at] = rng.integers(0, 256)
    return bytes(changed)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["network.keras", "forest.skops", "dense.onnx"])
def test_files_with_changed_bytes_are_read_or_refused_in_a_sentence(root: Path, tmp_path: Path, name: str):
    schema = Schema.read(root / "sample_data" / "census_income.schema.json")
    content = (root / "sample_models" / f"census_income_{name}").read_bytes()
    rng = np.random.default_rng(5)
    path = tmp_path / name
    refusals = []
    for _ in range(60):
        path.write_bytes(damage(content, rng))
        try:
            open_model(path, schema)
        except EvenhandError as error:
            refusals.append(str(error))
    assert len(refusals) > 10
    assert all(refusal.endswith((".", "?")) for refusal in refusals)
