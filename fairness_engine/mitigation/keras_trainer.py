"""Trains Keras networks again, with Keras: only in the process that may hold an uploaded model."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.errors import ModelError, SearchStopped
from fairness_engine.events import FloatArray, IntArray, StopReason
from fairness_engine.mitigation.settings import RetrainSettings
from fairness_engine.mitigation.trainer import Binding, Epoch, Job
from fairness_engine.models.classes import match_classes
from fairness_engine.models.dense import DenseNetwork
from fairness_engine.models.keras_runtime import load_keras
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model

_STEPS_AT_ONCE = 32
"""Steps that TensorFlow makes between two looks at the callbacks."""


class KerasTrainer:
    """Trains a network of Keras from its own weights, or afresh.

    Args:
        network: as loaded by Keras.
        model: the same, bound to the data.
        binding: how it belongs to the data.
        settings: how to train.

    Raises:
        ModelError: a network that takes its columns as several inputs.
    """

    suffix = ".keras"
    has_weights = True
    takes_weights: bool = True

    def __init__(
        self, network: Any, model: Model, binding: Binding, settings: RetrainSettings, *, afresh: bool
    ) -> None:
        if len(network.inputs) != 1:
            raise ModelError(
                f"A network can be retrained when it takes a row as one input, but this one has {len(network.inputs)}. "
                "Choose the surrogate 'mlp', which is a new network, under Retrain."
            )
        self.kind = "Keras network, afresh" if afresh else "Keras network, from its own weights"
        self._network, self._binding, self._settings, self._afresh = network, binding, settings, afresh
        self._encoder = getattr(model.encoder, "original", model.encoder)
        self._shape = tuple(network.inputs[0].shape[1:])
        n_scores = model.predictor.n_scores
        self._n_outputs = int(np.prod([n or 1 for n in network.outputs[0].shape[1:]]))
        self._order = match_classes(n_scores if n_scores > 1 else 2, None, binding.classes, binding.schema).order
        self._is_share = str(model.predictor.output) == "probability"

    @classmethod
    def of_file(
        cls, path: Path, model: Model, binding: Binding, settings: RetrainSettings, *, afresh: bool
    ) -> KerasTrainer:
        """For a model file of Keras, whose description was judged when the model was opened."""
        return cls(load_keras(path), model, binding, settings, afresh=afresh)

    def train(self, job: Job) -> TrainedKeras:
        """Train once; see ``Trainer``."""
        import keras

        keras.utils.set_random_seed(job.seed % 2**32)
        network = keras.models.clone_model(self._network)
        if not self._afresh:
            network.set_weights(self._network.get_weights())
        loss = keras.losses.BinaryCrossentropy if self._n_outputs == 1 else keras.losses.SparseCategoricalCrossentropy
        network.compile(
            keras.optimizers.Adam(self._settings.learning_rate),
            loss(from_logits=not self._is_share),
            weighted_metrics=["accuracy"],
            steps_per_execution=_STEPS_AT_ONCE,
            jit_compile=False,
        )
        watch = _watcher(job, self._settings.max_epochs)
        early = keras.callbacks.EarlyStopping(
            monitor="val_loss", patience=self._settings.patience, restore_best_weights=True
        )
        network.fit(
            self._inputs(job.examples.rows),
            self._targets(job.examples.labels),
            sample_weight=job.examples.weights,
            validation_data=(self._inputs(job.validation.rows), self._targets(job.validation.labels)),
            epochs=self._settings.max_epochs,
            batch_size=self._settings.batch_rows,
            callbacks=[watch, early],
            verbose=0,
        )
        if job.is_cancelled():
            raise SearchStopped(StopReason.CANCELLED)
        return TrainedKeras(network, self._binding)

    def _inputs(self, rows: FloatArray) -> NDArray[np.float32]:
        encoded = np.asarray(self._encoder.encode(rows), dtype=np.float32)
        return encoded.reshape(len(rows), *(n or -1 for n in self._shape))

    def _targets(self, labels: IntArray) -> NDArray[np.float32]:
        own = np.asarray(self._order)[labels] if self._order is not None else labels
        return own.astype(np.float32).reshape(-1, *([1] * len(self._network.outputs[0].shape[1:])))


@dataclass(frozen=True)
class TrainedKeras:
    """A trained network; see ``Trained``."""

    network: Any
    binding: Binding

    @property
    def model(self) -> Model:
        """Opened again from its own bytes, so that what is measured is what the file holds."""
        return reopened(self.content(), ".keras", self.binding)

    def content(self) -> bytes:
        """The ``.keras`` archive."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.keras"
            self.network.save(path)
            return path.read_bytes()


def reopened(content: bytes, suffix: str, binding: Binding) -> Model:
    """The model of a file, as the review opens it."""
    handle, path = tempfile.mkstemp(suffix=suffix)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        return open_model(
            Path(path),
            binding.schema,
            classes=binding.classes,
            favourable=binding.favourable,
            threshold=binding.threshold,
        )
    finally:
        Path(path).unlink(missing_ok=True)


def _watcher(job: Job, n_epochs: int) -> Any:
    """Tells of every epoch, and ends a cancelled training between two steps."""
    import keras

    class Watch(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
            self.model.stop_training = self.model.stop_training or job.is_cancelled()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            said = logs or {}
            values = (said.get("loss"), said.get("val_loss"), said.get("val_accuracy"))
            job.report(Epoch(epoch + 1, n_epochs, *(None if value is None else float(value) for value in values)))

    return Watch()


def same_network(network: DenseNetwork) -> Any:
    """A dense network rebuilt in Keras, weight by weight; it decides as the original does, up to float32.

    Raises:
        ModelError: an activation that Keras has no name for.
    """
    import keras

    layers: list[Any] = [keras.Input((network.n_inputs,))]
    for layer in network.layers:
        layers.append(
            keras.layers.Dense(layer.weights.shape[1], activation=_activation(str(layer.activation), layer.slope))
        )
    built = keras.Sequential(layers)
    built.set_weights([array for layer in network.layers for array in (layer.weights, layer.biases)])
    return built


def _activation(name: str, slope: float) -> Any:
    import keras

    if name == "leaky_relu":
        return keras.layers.LeakyReLU(negative_slope=slope)
    if name == "elu":
        return keras.layers.ELU(alpha=slope)
    if keras.activations.get(name) is None:
        raise ModelError(f"The network's activation '{name}' has no counterpart in Keras. Choose the surrogate 'mlp'.")
    return name
