"""Files of models that are not opened are recognised by what is in them, and the refusal has the lines that convert
them.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import f_classif
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier
from small_models import numbers_schema

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import ModelError
from fairness_engine.model_process.protocol import failure, raise_failure
from fairness_engine.models import formats
from fairness_engine.models.formats import detect_format, filled, recipe_for_type
from fairness_engine.models.open import open_model

XGBOOST_BINARY = b"{L\x00\x00\x00\x00\x00\x00\x00\x07learner{L\x00\x00\x00\x00\x00\x00\x00\nattributes"
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": ["import sklearn"]}], "nbformat": 4}).encode()


@pytest.mark.parametrize(
    ("name", "content", "says", "recipe"),
    [
        ("model.json", b'{"learner":{"attributes":{}', "model of XGBoost", 'model.load_model("model.json")'),
        ("model.ubj", XGBOOST_BINARY, "model of XGBoost", "convert_xgboost"),
        ("blob", XGBOOST_BINARY, "model of XGBoost", "convert_xgboost"),
        ("credit.model", b"\x00\x01\x02", "model of XGBoost", 'load_model("credit.model")'),
        ("model.txt", b"tree\nversion=v4\nnum_class=1\n", "model of LightGBM", "convert_lightgbm"),
        ("model.txt", b"tree\r\nversion=v3\r\n", "model of LightGBM", 'model_file="model.txt"'),
        ("model.cbm", b"CBM1\x08Q\x00\x00", "model of CatBoost", 'format="onnx"'),
        ("model.xml", b'<?xml version="1.0"?>\n<PMML xmlns="http://dmg.org/PMML-4_4">', "PMML file", "skops.io.dump"),
        ("train.py", b"import sklearn\n", "code that makes a model", "skops.io.dump(model"),
        ("train.ipynb", NOTEBOOK, "code that makes a model", 'model.save("model.keras")'),
        ("net.pt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9", "PyTorch file", "torch.onnx.export"),
        ("net.safetensors", b"\x10\x00\x00\x00\x00\x00\x00\x00{}", "PyTorch file", "torch.onnx.export"),
        ("saved_model.pb", b"\x08\x01\x12", "TensorFlow SavedModel", "tf_keras.models.load_model"),
        ("net.tflite", b"\x1c\x00\x00\x00TFL3", "TensorFlow Lite", "model.save"),
        ("model.rds", b"\x1f\x8b\x08\x00", "file of R", 'readRDS("model.rds")'),
        ("model.RData", b"RDX3\nX\n", "file of R", "write.csv"),
    ],
)  # fmt: skip
def test_files_of_other_libraries_are_known_and_come_with_lines_of_code(
    tmp_path: Path, name: str, content: bytes, says: str, recipe: str
) -> None:
    (tmp_path / "upload").write_bytes(content)
    with pytest.raises(ModelError, match=says) as caught:
        detect_format(tmp_path / "upload", name)
    assert recipe in caught.value.recipe
    assert 2 <= len(caught.value.recipe.splitlines()) <= 9
    with pytest.raises(ModelError) as again:  # as it comes from the model's process
        raise_failure(failure(caught.value))
    assert again.value.recipe == caught.value.recipe


@pytest.mark.parametrize(
    ("member", "says", "recipe"),
    [
        ("credit/saved_model.pb", "TensorFlow SavedModel", 'load_model("m")'),
        ("archive/data.pkl", "PyTorch file", "torch.onnx.export"),
        ("model.ini", "MOJO file of H2O", "convert_h2o"),
    ],
)
def test_archives_of_other_libraries(tmp_path: Path, member: str, says: str, recipe: str) -> None:
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.writestr(member, b"x")
    with pytest.raises(ModelError, match=says) as caught:
        detect_format(tmp_path / "m.zip", "m.zip")
    assert recipe in caught.value.recipe


def test_a_folder_of_tensorflow_is_known(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01")
    with pytest.raises(ModelError, match="TensorFlow SavedModel"):
        detect_format(tmp_path, tmp_path.name)


def test_an_archive_of_its_own_suffix_that_holds_code_is_still_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "m.keras", "w") as archive:
        archive.writestr("m/saved_model.pb", b"x")
    with pytest.raises(ModelError, match="SavedModel"):
        detect_format(tmp_path / "m.keras", "m.keras")


@pytest.mark.thorough
def test_the_recipe_for_a_pickle_makes_a_file_that_opens(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 10, (200, 4)).astype(float)
    tree = DecisionTreeClassifier(max_depth=3).fit(rows, rows[:, 0] > 4)
    joblib.dump(tree, tmp_path / "tree.joblib")
    with pytest.raises(
        ModelError, match=r"start the app with --allow-unsafe-models, or give the command --unsafe-formats"
    ) as caught:
        open_model(tmp_path / "tree.joblib", numbers_schema())
    subprocess.run([sys.executable, "-c", caught.value.recipe], cwd=tmp_path, check=True)
    model = open_model(tmp_path / "model.skops", numbers_schema())
    assert (model.decide(model.scores(rows)) == tree.predict(rows)).all()


JOBS = ("clerk", "judge", "nurse")


class Foreign:
    """A type that no skops file is trusted with."""


def test_an_object_of_another_library_in_a_skops_file_has_its_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Foreign, "__module__", "xgboost.sklearn")
    skops.io.dump(Foreign(), tmp_path / "m.skops")
    with pytest.raises(ModelError, match=r"or convert it to \.onnx") as caught:
        open_model(tmp_path / "m.skops", numbers_schema())
    assert 'model.save_model("model.json")' in caught.value.recipe
    assert 'model.load_model("model.json")' in caught.value.recipe
    assert recipe_for_type("somebody.Else") == ""


@pytest.mark.parametrize("function", [f_classif, DecisionTreeClassifier, np.maximum])
def test_a_call_that_a_skops_file_prepares_is_refused_but_for_the_one_of_scikit_learn(
    tmp_path: Path, function: Any
) -> None:
    prepared = FunctionTransformer(functools.partial(function, 1))
    skops.io.dump(make_pipeline(prepared, DecisionTreeClassifier()), tmp_path / "m.skops")
    with pytest.raises(ModelError, match=rf"prepares a call of '\S*{function.__name__}', .* is refused\. Build"):
        open_model(tmp_path / "m.skops", numbers_schema())


@pytest.mark.parametrize("is_pipeline", [False, True])
def test_boosting_on_histograms_with_categories_opens_and_decides_as_its_file(
    tmp_path: Path, is_pipeline: bool
) -> None:
    rng = np.random.default_rng(0)
    schema = Schema(
        (
            Column("sex", Kind.CATEGORICAL, codes=("f", "m"), labels=("f", "m")),
            Column("job", Kind.CATEGORICAL, codes=JOBS, labels=JOBS),
            Column("age", Kind.INTEGER, minimum=18, maximum=69),
        )
    )
    data = pd.DataFrame({"sex": rng.choice(["f", "m"], 500), "job": rng.choice(["clerk", "judge", "nurse"], 500)})
    data["age"] = rng.integers(18, 70, 500)
    labels = ((data["job"] == "judge") ^ (data["sex"] == "f") & (data["age"] > 40)).to_numpy()
    if is_pipeline:
        numbered = ColumnTransformer([("n", OrdinalEncoder(), ["sex", "job"])], remainder="passthrough")
        fitted = make_pipeline(numbered, HistGradientBoostingClassifier(max_iter=9, categorical_features=[0, 1]))
        fitted.fit(data, labels)
    else:
        data = data.astype({"sex": "category", "job": "category"})
        fitted = HistGradientBoostingClassifier(max_iter=9, categorical_features="from_dtype").fit(data, labels)
    skops.io.dump(fitted, tmp_path / "m.skops")
    model = open_model(tmp_path / "m.skops", schema)
    rows = np.stack([data["sex"] == "m", data["job"].map({"clerk": 0, "judge": 1, "nurse": 2}), data["age"]], axis=1)
    rows = rows.astype(np.float64)
    assert np.array_equal(model.decide(model.scores(rows)), fitted.predict(data).astype(int))
    assert np.ptp(fitted.predict(data).astype(int))


def test_recipes_are_code_and_names_of_files_cannot_add_to_it() -> None:
    for name, recipe in vars(formats).items():
        if name.endswith("_RECIPE") and name != "R_RECIPE":
            compile(recipe, name, "exec")
            assert all(len(line) <= 121 for line in recipe.splitlines()), name
    hostile = filled(formats.PICKLE_RECIPE, 'a"); import os\n("b\\')
    assert 'joblib.load("a); import os(b")' in hostile


@pytest.mark.thorough
def test_the_command_line_prints_the_lines_under_the_sentence(root: Path, tmp_path: Path) -> None:
    (tmp_path / "model.cbm").write_bytes(b"CBM1\x08Q")
    data = root / "sample_data" / "credit.csv"
    command = [sys.executable, "-m", "fairness_engine", "inspect", "--data", data, "--model", tmp_path / "model.cbm"]
    done = subprocess.run(
        [*command, "--workspace", tmp_path / "w"], check=False, capture_output=True, text=True, cwd=root
    )
    assert done.returncode == 2
    sentence, empty, *recipe = done.stderr.strip().splitlines()
    assert sentence.startswith("This is a model of CatBoost")
    assert empty == ""
    assert recipe[-1] == 'model.save_model("model.onnx", format="onnx")'
    assert done.stdout == ""
