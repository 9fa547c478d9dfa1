"""Keras networks are trained again: every kind that the app opens, by the seed alone, and never half."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairness_engine.clock import Clock
from fairness_engine.data.schema import Column, Kind, ModelInput, Schema
from fairness_engine.errors import ModelError, SearchStopped
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.trainers.keras import InputScaling, KerasTrainer, rate_left, rows_of_step
from fairness_engine.retraining.trainers.trainer import Binding, Epoch, Examples, Job
from tests.models.small_models import numbers_schema

pytestmark = pytest.mark.thorough

N_ROWS = 600
SETTINGS = RetrainSettings(max_epochs=12, patience=12, learning_rate=0.02, batch_rows=32)
CLASSES = ("no", "yes")


def schema_of(classes: tuple[str, ...] = CLASSES, codes: tuple[int, ...] = (0, 1), **changes: Any) -> Schema:
    """Four columns of numbers, and an outcome whose codes say which output of a network is which."""
    plain = numbers_schema()
    outcome = Column("outcome", Kind.CATEGORICAL, codes=codes, labels=classes)
    return replace(plain, columns=(*plain.columns, outcome), label="outcome", **changes)


def examples(n_classes: int = 2, n: int = N_ROWS, seed: int = 0) -> Examples:
    """Rows of 0..9, and an outcome that is learnt easily."""
    rows = np.random.default_rng(seed).integers(0, 10, size=(n, 4)).astype(float)
    value = rows[:, 1] + rows[:, 2] - rows[:, 3]
    return Examples(rows, np.digitize(value, np.linspace(0, 9, n_classes + 1)[1:-1]).astype(np.int64))


def network_of(*layers: Any, shape: tuple[int | None, ...] = (4,)) -> Any:
    import keras

    keras.utils.set_random_seed(1)
    return keras.Sequential([keras.Input(shape), *layers])


def dense(units: int, activation: str = "linear", **more: Any) -> Any:
    import keras

    return keras.layers.Dense(units, activation=activation, **more)


def trainer_of(
    network: Any,
    folder: Path,
    schema: Schema,
    classes: tuple[str, ...] = CLASSES,
    *,
    suffix: str = ".keras",
    **more: Any,
) -> tuple[KerasTrainer, Model]:
    """The network as a file that was uploaded, and its trainer."""
    path = folder / f"network{suffix}"
    network.save(path)
    return _opened(path, schema, classes, **more)


def _opened(
    path: Path, schema: Schema, classes: tuple[str, ...] = CLASSES, *, afresh: bool = False, **settings: Any
) -> tuple[KerasTrainer, Model]:
    model = open_model(path, schema, classes=classes, favourable=1)
    binding = Binding(schema, classes, 1, None)
    return KerasTrainer.of_file(path, model, binding, replace(SETTINGS, **settings), afresh=afresh), model


def accuracy(model: Model, known: Examples) -> float:
    return float((model.decide(model.scores(known.rows)) == known.labels).mean())


def job(n_classes: int = 2, seed: int = 3, **more: Any) -> Job:
    return Job(examples(n_classes), examples(n_classes, 200, seed=1), seed, **more)


ENDINGS = {
    "one sigmoid": (2, (1, "sigmoid")),
    "one logit": (2, (1, "linear")),
    "two shares": (2, (2, "softmax")),
    "two logits": (2, (2, "linear")),
    "three shares": (3, (3, "softmax")),
}


@pytest.mark.parametrize(
    ("ending", "codes"),
    [("one sigmoid", "in order"), ("three shares", "in order"), *((one, "turned") for one in ENDINGS)],
)
def test_every_output_learns_the_data_s_classes(ending: str, codes: str, tmp_path: Path) -> None:
    """The file's output i stands for the code i, wherever the data has that outcome: 'turned' data lists them the other
    way round.
    """
    n_classes, (units, activation) = ENDINGS[ending]
    classes = ("no", "yes", "perhaps")[:n_classes]
    numbers = tuple(range(n_classes)) if codes == "in order" else tuple(reversed(range(n_classes)))
    schema = schema_of(classes, numbers)
    trainer, before = trainer_of(network_of(dense(12, "relu"), dense(units, activation)), tmp_path, schema, classes)
    epochs: list[Epoch] = []
    trained = trainer.train(job(n_classes, report=epochs.append))
    held = examples(n_classes, 1000, seed=2)
    assert accuracy(before, held) < 0.75
    assert accuracy(trained.model, held) > 0.9
    assert max(one.validation_accuracy or 0 for one in epochs) > 0.9, (
        "what is told while it trains is of the data's classes too"
    )
    path = tmp_path / "again.keras"
    path.write_bytes(trained.content())
    again = open_model(path, schema, classes=classes, favourable=1)
    assert np.array_equal(again.scores(held.rows), trained.model.scores(held.rows))


def test_dropout_and_batch_normalisation_work_while_training_only(tmp_path: Path) -> None:
    import keras

    layers = [dense(16, "relu"), keras.layers.BatchNormalization(), keras.layers.Dropout(0.3), dense(1, "sigmoid")]
    trainer, _ = trainer_of(network_of(*layers), tmp_path, schema_of())
    trained = trainer.train(job())
    assert accuracy(trained.model, examples(n=1000, seed=2)) > 0.9
    path = tmp_path / "again.keras"
    path.write_bytes(trained.content())
    network = keras.models.load_model(path, compile=False)
    moving = network.layers[1].get_weights()[2]
    assert np.abs(moving).max() > 0.01, "the statistics were gathered while training"
    asked = network(examples(n=50).rows.astype(np.float32), training=False).numpy()
    assert trained.model.scores(examples(n=50).rows) == pytest.approx(asked, abs=1e-5)


def test_shapes_of_three_axes_are_trained_as_they_are_opened(tmp_path: Path) -> None:
    network = network_of(dense(12, "relu"), dense(1, "sigmoid"), shape=(None, 4))
    trainer, _ = trainer_of(network, tmp_path, schema_of(), suffix=".h5")
    trained = trainer.train(job())
    assert accuracy(trained.model, examples(n=1000, seed=2)) > 0.9


def test_the_peers_networks_of_three_axes_are_trained(shared: Path) -> None:
    schema = Schema.read(shared / "data" / "peer" / "german__maft_eidig.schema.json")
    trainer, before = _opened(
        shared / "models" / "maft" / "german_model.h5", schema, ("0", "1"), max_epochs=3, learning_rate=0.001
    )
    rows = Domain(schema, Scope(("PersonStatusSex",))).sample(400, np.random.default_rng(0))
    known = Examples(rows, before.decide(before.scores(rows)))
    trained = trainer.train(Job(known, known, 0))
    assert accuracy(trained.model, known) > 0.95


def test_a_network_of_several_inputs_is_trained(tmp_path: Path) -> None:
    import keras

    columns = [keras.Input((1,), name=name) for name in "abcd"]
    hidden = dense(12, "relu")(keras.layers.Concatenate()(columns))
    trainer, _ = trainer_of(keras.Model(columns, dense(1, "sigmoid")(hidden)), tmp_path, schema_of())
    assert accuracy(trainer.train(job()).model, examples(n=1000, seed=2)) > 0.9


def test_one_hot_columns_are_trained(tmp_path: Path) -> None:
    schema = schema_of(model_input=ModelInput.ONE_HOT)
    outcome = schema.columns[-1]
    numbers = schema.columns[:-1]
    letters = replace(numbers[0], kind=Kind.CATEGORICAL, codes=tuple(range(10)), labels=tuple("pqrstuvwxy"))
    schema = replace(schema, columns=(replace(letters, minimum=None, maximum=None), *numbers[1:], outcome))
    network = network_of(dense(12, "relu"), dense(1, "sigmoid"), shape=(13,))
    trainer, _ = trainer_of(network, tmp_path, schema)
    assert accuracy(trainer.train(job()).model, examples(n=1000, seed=2)) > 0.9


def test_weights_count(tmp_path: Path) -> None:
    """Every row is there with both outcomes: the one that weighs more is learnt."""
    trainer, _ = trainer_of(network_of(dense(12, "relu"), dense(1, "sigmoid")), tmp_path, schema_of())
    known = examples()
    weights = np.r_[np.full(len(known), 0.2), np.full(len(known), 1.8)]
    both = Examples(np.r_[known.rows, known.rows], np.r_[known.labels, 1 - known.labels], weights)
    held = examples(n=1000, seed=2)
    trained = trainer.train(Job(both, Examples(held.rows, 1 - held.labels), 0))
    assert accuracy(trained.model, held) < 0.1


# --- where it begins, and chance -----------------------------------------------------------------


def test_the_seed_decides_and_nothing_is_left_of_the_round_before(tmp_path: Path) -> None:
    import keras

    network = network_of(dense(8, "relu"), keras.layers.Dropout(0.2), dense(1, "sigmoid"))
    trainer, _ = trainer_of(network, tmp_path, schema_of(), max_epochs=2)
    first, other, again = (trainer.train(job(seed=seed)).content() for seed in (5, 6, 5))
    assert first == again
    assert first != other
    new, _ = _opened(tmp_path / "network.keras", schema_of(), max_epochs=2)
    assert new.train(job(seed=5)).content() == first


def test_from_its_weights_or_afresh(tmp_path: Path) -> None:
    """A step of next to nothing leaves a network where it began: at its own weights, or at new ones by the seed."""
    network = network_of(dense(8, "relu"), dense(1, "sigmoid"))
    tiny = {"learning_rate": 1e-6, "max_epochs": 1}
    rows = examples().rows
    trainer, before = trainer_of(network, tmp_path, schema_of(), **tiny)
    own = trainer.train(job()).model.scores(rows)
    assert own == pytest.approx(before.scores(rows), abs=1e-3)
    afresh, _ = _opened(tmp_path / "network.keras", schema_of(), afresh=True, **tiny)
    new, newer = (afresh.train(job(seed=seed)).model.scores(rows) for seed in (1, 2))
    assert np.abs(new - before.scores(rows)).max() > 0.05
    assert np.abs(new - newer).max() > 0.05


def test_afresh_keeps_what_is_not_trained(tmp_path: Path) -> None:
    import keras

    adapted = keras.layers.Normalization()
    adapted.adapt(examples().rows)
    network = network_of(adapted, dense(12, "relu"), dense(1, "sigmoid"))
    trainer, _ = trainer_of(network, tmp_path, schema_of(), afresh=True)
    path = tmp_path / "again.keras"
    path.write_bytes(trainer.train(job()).content())
    again = keras.models.load_model(path, compile=False)
    for now, then in zip(again.layers[0].get_weights(), adapted.get_weights(), strict=True):
        assert np.array_equal(now, then)


@pytest.mark.parametrize("afresh", [False, True], ids=["from its own weights", "afresh"])
def test_a_normalisation_is_trained_behind_as_it_was_adapted(afresh: bool, tmp_path: Path) -> None:
    """What the training sees of a network is what its file gives: a clone of the layer normalised by nothing, whatever
    weights it had.
    """
    import keras

    stretch = np.array([1.0, 1e3, 1.0, 1.0])
    known = Examples(examples().rows * stretch, examples().labels)
    held = Examples(examples(n=1000, seed=2).rows * stretch, examples(n=1000, seed=2).labels)
    schema = schema_of()
    schema = replace(
        schema, columns=(schema.columns[0], replace(schema.columns[1], maximum=9_000), *schema.columns[2:])
    )
    adapted = keras.layers.Normalization()
    adapted.adapt(known.rows)
    network = network_of(adapted, dense(12, "relu"), dense(1, "sigmoid"))
    trainer, _ = trainer_of(network, tmp_path, schema, afresh=afresh)
    told: list[Epoch] = []
    trained = trainer.train(Job(known, held, 0, report=told.append))
    best = min(told, key=lambda epoch: epoch.validation_loss or np.inf)
    assert accuracy(trained.model, held) == pytest.approx(best.validation_accuracy, abs=1e-3)
    assert accuracy(trained.model, held) > 0.9


def test_small_weights_on_large_inputs_survive(tmp_path: Path) -> None:
    """A column of tens of thousands, its standardisation folded into weights of 1e-5: the first steps must not wipe
    them out.
    """
    schema = schema_of()
    large = replace(schema.columns[1], maximum=90_000)
    schema = replace(schema, columns=(schema.columns[0], large, *schema.columns[2:]))
    stretch = np.array([1.0, 1e4, 1.0, 1.0])
    known = examples()
    held = examples(n=1000, seed=2)
    plain, _ = trainer_of(network_of(dense(12, "relu"), dense(1, "sigmoid")), tmp_path, schema_of())
    path = tmp_path / "good.keras"
    path.write_bytes(plain.train(job()).content())
    import keras

    folded = keras.models.load_model(path, compile=False)
    weights, biases = folded.layers[0].get_weights()
    folded.layers[0].set_weights([weights / stretch[:, None], biases])
    trainer, _ = trainer_of(folded, tmp_path, schema, max_epochs=1, learning_rate=0.001)
    wide = Examples(known.rows * stretch, known.labels)
    trained = trainer.train(Job(wide, Examples(held.rows * stretch, held.labels), 0))
    assert accuracy(trained.model, Examples(held.rows * stretch, held.labels)) > 0.9


def test_scaling_leaves_the_function_alone() -> None:
    network = network_of(dense(5, "tanh"), dense(1))
    rows = examples(n=50).rows.astype(np.float32) * np.array([1, 100, 0, 1], dtype=np.float32)
    before = network(rows).numpy()
    scaling = InputScaling.of(network, rows, rows)
    scaling.take(network)
    assert network(np.asarray(scaling.scaled(rows), dtype=np.float32)).numpy() == pytest.approx(
        before, rel=1e-4, abs=1e-4
    )
    scaling.give_back(network)
    assert network(rows).numpy() == pytest.approx(before, rel=1e-4, abs=1e-4)


def test_a_network_sure_of_itself_still_learns(tmp_path: Path) -> None:
    """Shares of exactly 0 and 1 in float32 have no slope; the loss is taken before the last activation."""
    network = network_of(dense(12, "relu"), dense(1, "sigmoid"))
    weights = network.get_weights()
    network.set_weights([*weights[:-1], np.full(1, 200.0)])
    trainer, _ = trainer_of(network, tmp_path, schema_of(), learning_rate=1.0)
    assert accuracy(trainer.train(job()).model, examples(n=1000, seed=2)) > 0.7


# --- ends -----------------------------------------------------------------------------------------


def _asks(n: int) -> Callable[[], bool]:
    """Says yes from the n-th time on."""
    asked = iter(range(10**6))
    return lambda: next(asked) >= n


@pytest.mark.parametrize("n_asked", [0, 2, 5])
def test_a_cancelled_training_gives_nothing(n_asked: int, tmp_path: Path) -> None:
    trainer, _ = trainer_of(network_of(dense(4, "relu"), dense(1, "sigmoid")), tmp_path, schema_of())
    with pytest.raises(SearchStopped):
        trainer.train(job(clock=Clock(is_cancelled=_asks(n_asked))))


def test_it_ends_early_and_keeps_the_best_epoch(tmp_path: Path) -> None:
    """The rows that tell when to end say the opposite of what is learnt: the first epoch is the best one."""
    network = network_of(dense(12, "relu"), dense(1, "sigmoid"))
    opposite = Examples(examples(n=200).rows, 1 - examples(n=200).labels)
    trainer, _ = trainer_of(network, tmp_path, schema_of(), patience=2)
    epochs: list[Epoch] = []
    trained = trainer.train(job(stopping=opposite, report=epochs.append))
    assert [one.epoch for one in epochs] == [1, 2, 3]
    scores = trained.model.scores(opposite.rows)[:, 0]
    loss = -np.log(np.where(opposite.labels == 1, scores, 1 - scores)).mean()
    assert loss == pytest.approx(epochs[0].validation_loss, abs=1e-3)
    assert epochs[0].validation_accuracy == pytest.approx(accuracy(trained.model, job().validation))


def test_no_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    trainer, _ = trainer_of(network_of(dense(4, "relu"), dense(1, "sigmoid")), tmp_path, schema_of(), max_epochs=1)
    trainer.train(job())
    assert list(scratch.iterdir()) == []


def test_nothing_to_train_is_refused(tmp_path: Path) -> None:
    network = network_of(dense(1, "sigmoid", trainable=False))
    with pytest.raises(ModelError, match="all of this one's are frozen"):
        trainer_of(network, tmp_path, schema_of())


def test_steps_and_rates() -> None:
    assert rows_of_step(600, 256) == 30
    assert rows_of_step(50, 256) == 8
    assert rows_of_step(30_000, 256) == 256
    assert rows_of_step(512_000, 256) == 1000
    rates = [rate_left(epoch, 20) for epoch in range(20)]
    assert rates[0] == 1.0
    assert rates == sorted(rates, reverse=True)
    assert 0.05 < rates[-1] < 0.2
