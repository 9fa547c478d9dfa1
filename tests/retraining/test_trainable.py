"""The question whether a model can be retrained, put to the model's own process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import run_cases
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import CanRetrain
from fairness_engine.oracle.domain import Scope
from fairness_engine.retraining.settings import Surrogate
from fairness_engine.retraining.trainable import Trainable
from fairness_engine.store.records import FileRole, Review
from fairness_engine.store.store import RunStore
from tests.models.small_models import dense_config, random_network, write_legacy_h5


@pytest.fixture
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Evaluator, RunStore]]:
    """One that is closed at the end, and the store of its files."""
    store = RunStore(tmp_path_factory.mktemp("trainable"))
    held = Evaluator(store)
    yield held, store
    held.close()


def ask(evaluator: Evaluator, review: Review) -> Trainable:
    """Of a review that is complete."""
    assert review.data_id is not None
    assert review.model_id is not None
    assert review.schema is not None
    assert review.scope is not None
    return evaluator.ask(review, CanRetrain())


def test_an_estimator_can_be_fitted_again(evaluator: tuple[Evaluator, RunStore]) -> None:
    asked, store = evaluator
    review = run_cases.review_of(store, model="census_income_tree")
    can = ask(asked, review)
    assert (can.problem, can.reason, can.surrogates) == (None, None, ())
    assert can.kind.startswith("DecisionTreeClassifier")
    assert not can.has_weights
    assert can.takes_weights
    assert can.n_train + can.n_validation + can.n_test == 5_000
    assert review.schema is not None
    columns = tuple(column for column in review.schema.columns if column.name != review.schema.label)
    unlabelled = replace(review.schema, columns=columns, label=None, favourable=None).with_protected(("sex",))
    can = ask(asked, replace(review, schema=unlabelled, scope=Scope(("sex",))))
    assert "the data has no label" in (can.problem or "")
    assert can.n_train == 0


def test_a_file_that_holds_decisions_only_is_offered_surrogates(evaluator: tuple[Evaluator, RunStore]) -> None:
    asked, store = evaluator
    review = run_cases.review_of(store, model="census_income_dense")
    can = ask(asked, review)
    assert can.problem is None
    assert "holds decisions only" in (can.reason or "")
    assert can.surrogates == tuple(one for one in Surrogate if one), "the same network is among them"


def test_few_rows_are_a_problem_of_the_data(evaluator: tuple[Evaluator, RunStore]) -> None:
    asked, store = evaluator
    review = run_cases.review_of(store, model="census_income_tree")
    lines = store.file(review.data_id or "").path.read_text().splitlines()[:40]
    few = store.add_file("\n".join(lines).encode(), "few.csv", FileRole.DATA)
    assert "at least" in (ask(asked, replace(review, data_id=few.id)).problem or "")


@pytest.mark.thorough
@pytest.mark.parametrize("n_frozen", [0, 1, 2])
def test_keras_is_loaded_to_say_so_only_where_a_layer_is_frozen(tmp_path: Path, n_frozen: int) -> None:
    layers = [dense_config(3, 4, "relu", "dense_0"), dense_config(1, None, "sigmoid", "dense_1")]
    for layer in layers[:n_frozen]:
        config = layer["config"]
        assert isinstance(config, dict)
        config["trainable"] = False
    path = tmp_path / "network.h5"
    write_legacy_h5(path, random_network((4, 3, 1)), layers)
    asks = """
import sys
from pathlib import Path
from fairness_engine.errors import ModelError
from fairness_engine.models.open import open_model
from fairness_engine.retraining.settings import RetrainSettings, Strategy, Surrogate
from fairness_engine.retraining.trainable import libraries_of
from fairness_engine.retraining.trainers.factory import make_trainer
from fairness_engine.retraining.trainers.trainer import Binding
from tests.models.small_models import numbers_schema

path = Path(sys.argv[1])
schema = numbers_schema()
settings = RetrainSettings()
binding = Binding(schema, ("no", "yes"), 1, None)
model = open_model(path, schema, classes=binding.classes, favourable=1)
try:
    said = make_trainer(path, path.name, model, binding, settings, unsafe_formats=False).kind
except ModelError as error:
    said = str(error)
print("tensorflow" in sys.modules, said)
print(libraries_of(path, path.name, settings), libraries_of(path, path.name, RetrainSettings(surrogate=Surrogate.TREE)))
print(libraries_of(path, path.name, RetrainSettings(strategy=Strategy.THRESHOLD)))
"""
    done = subprocess.run(
        [sys.executable, "-c", asks, str(path)], check=True, capture_output=True, text=True, timeout=120
    )
    first, *others = done.stdout.splitlines()
    trains = "all of this one's are frozen" if n_frozen == len(layers) else "Keras network, from its own weights"
    assert first.startswith(str(n_frozen > 0))
    assert trains in first
    assert others == ["('tensorflow',) ()", "()"]
