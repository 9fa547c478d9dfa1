"""Which trainer a model file calls for, and which surrogates are offered by name instead."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.schema import Column, Kind, ModelInput, Schema
from fairness_engine.errors import ModelError
from fairness_engine.models.open import open_model
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.trainers.factory import make_surrogate, make_trainer
from fairness_engine.retraining.trainers.trainer import Binding, Examples, Job, Trainer
from sample_models.layers import network_of_mlp, write_onnx

SCHEMA = Schema(
    (
        Column("sex", Kind.INTEGER, minimum=0, maximum=1),
        Column("hours", Kind.INTEGER, minimum=0, maximum=20),
        Column("grade", Kind.INTEGER, minimum=0, maximum=5),
    ),
    protected=("sex",),
)
CLASSES = ("0", "1")


def people(n: int = 300, seed: int = 0) -> Examples:
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 21, n), rng.integers(0, 6, n)]).astype(float)
    return Examples(rows, (rows[:, 1] + 2 * rows[:, 2] > 15).astype(int))


def trainer_for(path: Path, *, unsafe_formats: bool = False, **settings: Any) -> Trainer:
    model = open_model(path, SCHEMA, classes=CLASSES, unsafe_formats=unsafe_formats)
    chosen = RetrainSettings.from_json(settings)
    return make_trainer(
        path, path.name, model, Binding(SCHEMA, CLASSES, 1, None), chosen, unsafe_formats=unsafe_formats
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same question in four formats."""
    folder = tmp_path_factory.mktemp("models")
    data = people()
    tree = DecisionTreeClassifier(random_state=0).fit(data.rows, data.labels)
    skops.io.dump(tree, folder / "tree.skops")
    (folder / "tree.pkl").write_bytes(pickle.dumps(tree))
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(3, 4)), rng.normal(size=(4, 1))]
    biases = [rng.normal(size=4), rng.normal(size=1)]
    write_onnx(network_of_mlp(weights, biases), folder / "network.onnx")
    return {path.suffix: path for path in folder.iterdir()}


def accuracy(trainer: Trainer) -> float:
    model = trainer.train(Job(people(), people(80, 1), 3)).model
    test = people(200, 2)
    return float((model.decide(model.scores(test.rows)) == test.labels).mean())


def test_an_estimator_is_trained_afresh(files: dict[str, Path]) -> None:
    trainer = trainer_for(files[".skops"])
    assert (trainer.kind, trainer.suffix) == ("DecisionTreeClassifier, afresh", ".skops")
    assert not trainer.has_weights
    assert accuracy(trainer) > 0.9


def test_an_estimator_has_no_weights_to_begin_from(files: dict[str, Path]) -> None:
    with pytest.raises(ModelError, match="from its own weights, but this is 'DecisionTreeClassifier'"):
        trainer_for(files[".skops"], begin="weights")


def test_a_pickle_is_trained_only_where_unsafe_formats_are_allowed_and_leaves_as_skops(files: dict[str, Path]) -> None:
    with pytest.raises(ModelError, match="Pickle and joblib files run code"):
        trainer_for(files[".pkl"])
    trainer = trainer_for(files[".pkl"], unsafe_formats=True)
    assert trainer.suffix == ".skops"
    assert accuracy(trainer) > 0.9


def test_a_file_without_training_names_what_may_be_trained_instead(files: dict[str, Path]) -> None:
    with pytest.raises(ModelError) as caught:
        trainer_for(files[".onnx"])
    said = str(caught.value)
    assert "format 'ONNX' holds decisions only" in said
    assert all(f"'{name}'" in said for name in ("network", "forest", "tree", "linear", "mlp"))


def test_the_same_network_is_not_offered_for_what_is_no_network(tmp_path: Path) -> None:
    """A forest in an ONNX file decides as a forest: there is no network to rebuild."""
    node = onnx.helper.make_node(
        "TreeEnsembleClassifier",
        ["x"],
        ["label", "scores"],
        domain="ai.onnx.ml",
        nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2],
        nodes_featureids=[1, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_values=[9.5, 0.0, 0.0],
        nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0],
        class_treeids=[0, 0, 0, 0],
        class_nodeids=[1, 1, 2, 2],
        class_ids=[0, 1, 0, 1],
        class_weights=[1.0, 0.0, 0.0, 1.0],
        classlabels_int64s=[0, 1],
        post_transform="NONE",
    )
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        "tree",
        [value("x", onnx.TensorProto.FLOAT, [None, 3])],
        [value("label", onnx.TensorProto.INT64, [None]), value("scores", onnx.TensorProto.FLOAT, [None, 2])],
    )
    sets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=sets, ir_version=8), tmp_path / "tree.onnx")
    with pytest.raises(ModelError) as caught:
        trainer_for(tmp_path / "tree.onnx")
    assert "'network'" not in str(caught.value)
    assert "'forest'" in str(caught.value)
    with pytest.raises(ModelError, match="this model is another kind"):
        trainer_for(tmp_path / "tree.onnx", surrogate="network")


@pytest.mark.parametrize(
    ("surrogate", "kind"),
    [
        ("forest", "RandomForestClassifier, afresh"),
        ("tree", "DecisionTreeClassifier, afresh"),
        ("linear", "pipeline of LogisticRegression, afresh"),
        ("mlp", "pipeline of MLPClassifier, afresh"),
    ],
)
def test_a_surrogate_is_trained_when_it_is_named(files: dict[str, Path], surrogate: str, kind: str) -> None:
    trainer = trainer_for(files[".onnx"], surrogate=surrogate)
    assert trainer.kind == kind
    assert trainer.suffix == ".skops"
    assert accuracy(trainer) > 0.85


def test_a_surrogate_takes_rows_of_categories_as_codes() -> None:
    sample = find_sample("census_income")
    chosen = sample.model("census_income_dense")
    schema = sample.schema_for(chosen)
    model = open_model(chosen.path, schema, classes=chosen.classes)
    binding = Binding(schema, chosen.classes, 1, None)
    trainer = make_trainer(
        chosen.path,
        chosen.path.name,
        model,
        binding,
        RetrainSettings.from_json({"surrogate": "tree"}),
        unsafe_formats=False,
    )
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(c.low, c.high + 1, 400) for c in schema.inputs]).astype(float)
    labels = model.decide(model.scores(rows))
    trained = trainer.train(Job(Examples(rows, labels), Examples(rows, labels), 0)).model
    assert (trained.decide(trained.scores(rows)) == labels).mean() > 0.85
    assert trained.classes == chosen.classes


TOWNS = Schema(
    (
        Column("sex", Kind.CATEGORICAL, codes=("f", "m"), labels=("f", "m")),
        Column("town", Kind.CATEGORICAL, codes=("a", "b", "c", "d"), labels=("a", "b", "c", "d")),
        Column("age", Kind.INTEGER, minimum=0, maximum=50),
    ),
    protected=("sex",),
)


def surrogate_of_towns(files: dict[str, Path], surrogate: str, model_input: ModelInput) -> Trainer:
    model = open_model(files[".onnx"], SCHEMA, classes=CLASSES)
    binding = Binding(replace(TOWNS, model_input=model_input), CLASSES, 1, None)
    return make_surrogate(model, binding, RetrainSettings.from_json({"surrogate": surrogate}))


@pytest.mark.parametrize(
    ("surrogate", "model_input", "n_inputs"),
    [
        ("linear", ModelInput.AUTO, 7),
        ("mlp", ModelInput.AUTO, 7),
        ("tree", ModelInput.AUTO, 3),
        ("tree", ModelInput.ONE_HOT, 7),
        ("tree", ModelInput.CODES, 3),
    ],
)
def test_codes_are_no_amounts_to_a_surrogate(
    files: dict[str, Path], surrogate: str, model_input: ModelInput, n_inputs: int
) -> None:
    """Towns b and d decide, a and c do not: a line through the codes cannot say that (it gets 75 % right)."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 2, 400), rng.integers(0, 4, 400), rng.integers(0, 51, 400)]).astype(float)
    labels = (30 * np.isin(rows[:, 1], (1, 3)) + rows[:, 2] > 40).astype(int)
    trainer = surrogate_of_towns(files, surrogate, model_input)
    trained = trainer.train(Job(Examples(rows, labels), Examples(rows, labels), 0))
    assert trained.model.encoder.encode(rows[:1]).shape == (1, n_inputs)
    assert (trained.model.decide(trained.model.scores(rows)) == labels).mean() > 0.9
    assert trained.content()


def test_a_surrogate_takes_no_texts(files: dict[str, Path]) -> None:
    with pytest.raises(ModelError, match="takes labels, and those of 'sex' are text"):
        surrogate_of_towns(files, "tree", ModelInput.LABELS)
