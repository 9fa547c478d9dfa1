"""Trained without the protected attributes: the model does not take them, or takes them with no weight."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import ModelError
from fairness_engine.models.encoders.linked import spelling_of
from fairness_engine.models.model import Model
from fairness_engine.retraining.strategy import Proposal, RoundContext, Rounds
from fairness_engine.retraining.trainers.dropped_columns import OtherInputs, without_inputs
from fairness_engine.retraining.trainers.sklearn import EstimatorTrainer
from fairness_engine.retraining.trainers.trainer import Binding, Examples, Trained


def rounds(context: RoundContext) -> Rounds:
    """One round: no decision of the model that it makes depends on a protected attribute of the scope, or on what is
    linked to one, directly, whatever the others are.

    An estimator of scikit-learn is fitted on the other columns alone and carries their names, so that Evenhand, and
    anybody who opens the file, sees what it takes. A network is trained with every protected attribute held at the
    value that most training rows have; then what that value adds to the first layer goes into its biases, and the
    weights of these inputs become 0.

    Raises:
        ModelError: nothing is left to take, or the network does not begin with a dense layer with biases.
    """
    names = _names(context)
    is_estimator = isinstance(context.trainer, EstimatorTrainer)
    trained = (
        _estimator(context, context.trainer) if isinstance(context.trainer, EstimatorTrainer) else _network(context)
    )
    how = "not among the inputs" if is_estimator else "held at one value, their weights 0"
    yield Proposal(f"trained without {', '.join(names)}: {how}", made=trained, facts={"n_columns": len(names)})


def _binding(context: RoundContext) -> Binding:
    threshold = context.domain.scope.threshold
    spelling = spelling_of(context.model)
    return Binding(
        context.dataset.schema, context.dataset.classes, context.model.favourable, threshold, spelling=spelling
    )


def _columns(context: RoundContext) -> IntArray:
    """The protected columns, and those linked to them."""
    spelling = spelling_of(context.model)
    return np.array([*context.domain.protected, *(() if spelling is None else spelling.columns)], dtype=np.int64)


def _names(context: RoundContext) -> tuple[str, ...]:
    return tuple(context.dataset.schema.names[column] for column in _columns(context))


def _estimator(context: RoundContext, trainer: EstimatorTrainer) -> Trained:
    inputs = OtherInputs(trainer.encoder, _names(context))
    estimator = without_inputs(trainer.estimator, inputs)
    return context.train(
        context.training, None, EstimatorTrainer(estimator, inputs, trainer.own_classes, _binding(context))
    )


def _network(context: RoundContext) -> Trained:
    training = context.training
    validation = context.validation
    columns = _columns(context)
    values = np.array([_most_frequent(training.rows[:, column]) for column in columns])
    examples, held = (_held(one, columns, values) for one in (training, validation))
    trained = context.train(examples, held)
    content = _folded(context, trained.content(), columns, values)
    from fairness_engine.retraining.trainers.keras import reopened

    return _Folded(reopened(content, context.trainer.suffix, _binding(context)), content)


def _most_frequent(values: FloatArray) -> float:
    found, counts = np.unique(values, return_counts=True)
    return float(found[counts.argmax()])


def _held(examples: Examples, columns: IntArray, values: FloatArray) -> Examples:
    rows = examples.rows.copy()
    rows[:, columns] = values
    return Examples(rows, examples.labels, examples.weights)


@dataclass(frozen=True)
class _Folded:
    """A network whose file was changed after the training; see ``Trained``."""

    model: Model
    archive: bytes

    def content(self) -> bytes:
        """The ``.keras`` archive."""
        return self.archive


def _folded(context: RoundContext, archive: bytes, columns: IntArray, values: FloatArray) -> bytes:
    """The archive with what the held values add in the biases of the first layer, and no weight on the inputs that they
    make.

    Raises:
        ModelError: the network does not begin with a dense layer with biases.
    """
    from fairness_engine.models.keras.runtime import load_keras
    from fairness_engine.retraining.trainers.keras import archive_of, first_dense

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        path.write_bytes(archive)
        network = load_keras(path)
    layer = first_dense(network) if len(network.inputs) == 1 else None
    encoder: Any = getattr(context.trainer, "encoder", None)
    if layer is None or encoder is None or not layer.use_bias:
        raise ModelError(
            "A network can be trained without its protected inputs when it begins with a dense layer that has biases, "
            "but this one does not. Name the surrogate 'mlp' to train another kind of model."
        )
    inputs, constant = _inputs_of(encoder, context, columns, values)
    weights, biases = (np.asarray(array, dtype=np.float64) for array in layer.get_weights())
    biases = biases + constant[inputs] @ weights[inputs]
    weights[inputs] = 0.0
    layer.set_weights([weights, biases])
    return archive_of(network)


def _inputs_of(
    encoder: Any, context: RoundContext, columns: IntArray, values: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Which of the network's inputs the protected columns make, and all inputs ``(n_inputs,)`` of a person with the
    held values.
    """
    ranges = context.dataset.schema
    base = context.training.rows[:1].copy()
    base[:, columns] = values
    constant = np.asarray(encoder.encode(base), dtype=np.float64)[0]
    touched = np.zeros(len(constant), dtype=bool)
    for column in columns.tolist():
        known = ranges.inputs[column]
        tried = np.unique(context.dataset.rows[:, column])
        spread = (
            np.linspace(known.low, known.high, known.n_values) if known.n_values else np.array([known.low, known.high])
        )
        moved = np.repeat(base, len(tried) + len(spread), axis=0)
        moved[:, column] = np.concatenate([tried, spread])
        touched |= (np.asarray(encoder.encode(moved), dtype=np.float64) != constant).any(axis=0)
    return np.flatnonzero(touched), constant
