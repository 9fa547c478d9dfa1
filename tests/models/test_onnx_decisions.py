"""ONNX files that hold decisions beside scores: what is decided is what the file itself decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.table import read_table
from fairness_engine.models.model import Output
from fairness_engine.models.open import open_model

N_ROWS = 600
ESTIMATORS = {
    "support vectors": SVC(class_weight="balanced"),
    "linear": LogisticRegression(),
    "neighbours": KNeighborsClassifier(4),
    "naive": GaussianNB(),
    "forest": RandomForestClassifier(10, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=20, random_state=0),
}


def outcomes(kind: str, merit: np.ndarray) -> np.ndarray:
    if kind == "three":
        return np.digitize(merit, [6, 9])
    return (merit > 8).astype(int) if kind == "numbers" else np.where(merit > 8, "yes", "no")


def people(kind: str) -> tuple[np.ndarray, np.ndarray, Dataset]:
    """Inputs and outcomes, and the same as a dataset."""
    rng = np.random.default_rng(5)
    inputs = np.column_stack([rng.integers(0, 9, N_ROWS), rng.integers(0, 9, N_ROWS), rng.integers(0, 2, N_ROWS)])
    wanted = outcomes(kind, inputs @ [1, 0.7, 1] + rng.normal(0, 2, N_ROWS))
    frame = pd.DataFrame(inputs, columns=["a", "b", "c"]).assign(y=wanted)
    table = read_table(frame.to_csv(index=False).encode(), "people.csv")
    return inputs.astype(np.float32), wanted, make_dataset(table, infer_schema(table))


def decided_by_file(path: Path, inputs: np.ndarray) -> list[str]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return [str(label) for label in session.run(None, {session.get_inputs()[0].name: inputs})[0]]


def decided_here(path: Path, dataset: Dataset) -> tuple[Any, list[str]]:
    model = open_model(path, dataset.schema, classes=dataset.classes)
    return model, [model.classes[i] for i in model.decide(model.scores(dataset.rows))]


@pytest.mark.parametrize("kind", ["numbers", "texts", "three"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_decisions_are_the_files_own(name: str, kind: str, tmp_path: Path) -> None:
    """Of two outcomes sklearn-onnx writes the scores of support vectors the wrong way round: they are turned."""
    inputs, wanted, dataset = people(kind)
    path = tmp_path / "model.onnx"
    exported = to_onnx(ESTIMATORS[name].fit(inputs, wanted), inputs[:1], options={"zipmap": False})
    path.write_bytes(exported.SerializeToString())
    model, decided = decided_here(path, dataset)
    assert decided == decided_by_file(path, inputs)
    assert model.predictor.output is not Output.LABEL
    assert not model.notes


@pytest.mark.parametrize("kind", ["numbers", "texts", "three"])
def test_probabilities_that_do_not_decide_are_not_taken_for_decisions(kind: str, tmp_path: Path) -> None:
    inputs, wanted, dataset = people(kind)
    estimator = SVC(probability=True, class_weight="balanced", random_state=0).fit(inputs, wanted)
    path = tmp_path / "model.onnx"
    path.write_bytes(to_onnx(estimator, inputs[:1], options={"zipmap": False}).SerializeToString())
    model, decided = decided_here(path, dataset)
    assert decided == decided_by_file(path, inputs)
    assert model.predictor.output is Output.LABEL
    assert any("asked for its decisions alone" in note for note in model.notes)


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_a_chain_of_layers_decides_as_its_file_says(weight: float, tmp_path: Path) -> None:
    """A decision that weighs the outcomes is no chain's larger score."""
    inputs, _, dataset = people("numbers")
    tensors = [
        numpy_helper.from_array(np.array([[0.0, 0.51], [0.0, 0.43], [0.0, 0.29]], np.float32), "w"),
        numpy_helper.from_array(np.array([0.0, -4.03], np.float32), "b"),
        numpy_helper.from_array(np.array([[1.0, weight]], np.float32), "costs"),
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["z"]),
        helper.make_node("Softmax", ["z"], ["p"], axis=1),
        *([] if weight == 1.0 else [helper.make_node("Mul", ["p", "costs"], ["weighed"])]),
        helper.make_node("ArgMax", ["p" if weight == 1.0 else "weighed"], ["label"], axis=1, keepdims=0),
    ]
    ends = [
        helper.make_tensor_value_info("label", TensorProto.INT64, ["n"]),
        helper.make_tensor_value_info("p", TensorProto.FLOAT, ["n", 2]),
    ]
    rows = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    graph = helper.make_graph(nodes, "net", [rows], ends, tensors)
    path = tmp_path / "net.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    )
    model, decided = decided_here(path, dataset)
    assert decided == decided_by_file(path, inputs)
    assert len(set(decided)) == 2
    assert (model.predictor.output is Output.LABEL) == (weight != 1.0)
    assert (type(model.predictor).__name__ == "DenseNetwork") == (weight == 1.0)
