"""Gradients of Keras models that are evaluated by Keras itself, against difference quotients; TensorFlow in a process
of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.thorough

PROGRAM = """
import json, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from pathlib import Path
import numpy as np
import keras
from keras import layers as L
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.errors import ModelError
from fairness_engine.models.encoders.encoders import choose_encoder
from fairness_engine.models.keras.runtime import KerasRuntime
from fairness_engine.models.open import bind, open_model
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.search.techniques.gradient.eidig import Eidig
from fairness_engine.search.driver import run_search

folder = Path(sys.argv[1])
keras.utils.set_random_seed(1)
start = keras.Input((4,), name="row")
wide = L.Dense(6, activation="tanh")(start)
joined = L.Concatenate()([wide, start])
several = {name: keras.Input((1,), name=name) for name in "abcd"}
MODELS = {
    "sigmoid": keras.Model(start, L.Dense(1, activation="sigmoid")(joined)),
    "linear": keras.Model(start, L.Dense(1)(joined)),
    "two shares": keras.Model(start, L.Dense(2, activation="softmax")(joined)),
    "two logits": keras.Model(start, L.Dense(2)(joined)),
    "three shares": keras.Model(start, L.Dense(3, activation="softmax")(joined)),
    "line of one column": keras.Sequential([keras.Input((4, 1)), L.Conv1D(3, 2), L.Flatten(), L.Dense(1,
    activation="sigmoid")]),
    "embedding": keras.Sequential([keras.Input((4,)), L.Embedding(10, 2), L.Flatten(), L.Dense(1,
    activation="sigmoid")]),
    "whole numbers": keras.Sequential([keras.Input((4,), dtype="int32"), L.Embedding(10, 2), L.Flatten(), L.Dense(1)]),
    "several inputs": keras.Model(list(several.values()), L.Dense(1)(L.Concatenate()(list(several.values())))),
}
rows = np.random.default_rng(0).integers(0, 4, (300, 4)).astype(float)
schema = Schema(columns=tuple(Column(n, Kind.INTEGER, minimum=0, maximum=3) for n in "abcd"), protected=("a",))
report = {}
for name, model in MODELS.items():
    path = folder / f"{name}.keras"
    model.save(path)
    read = KerasRuntime(path)
    facts = report[name] = {"has_gradient": hasattr(read, "score_gradients")}
    if not facts["has_gradient"]:
        bound = open_model(path, schema)
        facts["bound_has_gradient"] = bound.has_gradient
        try:
            bound.gradients(rows[:2])
        except ModelError as error:
            facts["message"] = str(error)
        continue
    classes = np.arange(len(rows)) % read.n_scores
    gradients = read.score_gradients(rows, classes)
    alone = np.concatenate([read.score_gradients(rows[i : i + 1], classes[i : i + 1]) for i in range(20)])
    facts["alone"] = float(np.abs(gradients[:20] - alone).max())
    h, errors = 1e-2, []
    for j in range(4):
        step = np.zeros(4)
        step[j] = h
        there, back = (read.predict(rows + sign * step)[np.arange(len(rows)), classes] for sign in (1, -1))
        errors.append(np.abs((there - back) / (2 * h) - gradients[:, j]).max())
    facts["error"], facts["size"] = float(max(errors)), float(np.abs(gradients).max())
    if name in ("sigmoid", "three shares"):
        bound = bind(read, choose_encoder(schema, read.n_inputs), schema)
        domain = Domain(schema, Scope(("a",)))
        scores = bound.scores(domain.variants(domain.sample(4000, np.random.default_rng(1))).reshape(-1, 4))
        if bound.is_binary:
            bound = bind(read, choose_encoder(schema, read.n_inputs), schema, threshold=float(np.median(scores)))
        last = list(run_search(Eidig(), bound, domain, rows, Budget(3000), 0))[-1]
        facts["found"] = last.n_found
print(json.dumps(report))
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, root: Path) -> dict[str, Any]:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path_factory.mktemp("keras"))]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    read: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return read


@pytest.mark.parametrize(
    "name", ["sigmoid", "linear", "two shares", "two logits", "three shares", "line of one column"]
)
def test_gradients_are_the_limits_of_difference_quotients(report: dict[str, Any], name: str) -> None:
    facts = report[name]
    assert facts["has_gradient"]
    assert facts["size"] > 0.02
    assert facts["error"] < 0.02 * facts["size"]
    assert facts["alone"] < 1e-5


@pytest.mark.parametrize("name", ["embedding", "whole numbers", "several inputs"])
def test_a_model_that_cannot_be_derived_says_so(report: dict[str, Any], name: str) -> None:
    assert report[name]["has_gradient"] is False
    assert report[name]["bound_has_gradient"] is False
    assert "Choose MAFT" in report[name]["message"]


@pytest.mark.parametrize("name", ["sigmoid", "three shares"])
def test_eidig_searches_such_a_model(report: dict[str, Any], name: str) -> None:
    assert report[name]["found"] > 10
