"""Trains Keras networks again, with Keras: only in the process that may hold an uploaded model."""

from __future__ import annotations

import io
import json
import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import ModelError
from fairness_engine.models.classes import match_classes
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.keras.file import is_all_trained
from fairness_engine.models.keras.runtime import load_keras, network_inputs
from fairness_engine.models.model import Encoder, Model
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.trainers.keras_loop import Batch, Loop, Pace
from fairness_engine.retraining.trainers.trainer import Binding, Epoch, Examples, Job

_NEUTRAL = ("InputLayer", "Flatten", "Reshape")
"""Layers that hand a row on as it is."""
_LEAST_OF_EXAMPLES = 0.1
"""A column that hardly varies in the data is scaled by at least this share of its spread in what is trained on."""


@dataclass(frozen=True)
class InputScaling:
    """Mean and scale of each input ``(n_inputs,)``; ``None`` where a network cannot be unfolded: nothing is scaled
    then.
    """

    mean: FloatArray | None = None
    scale: FloatArray | None = None

    @classmethod
    def of(cls, network: Any, data: Any, examples: Any) -> InputScaling:
        """For a network whose first layer is dense with biases.

        Args:
            network: of Keras.
            data: inputs of people as they are ``(n_rows, n_inputs)``.
            examples: inputs that are trained on, people from all over the domain among them.
        """
        layer = first_dense(network) if len(network.inputs) == 1 and isinstance(data, np.ndarray) else None
        if layer is None or layer.kernel.shape[0] != data.shape[1]:
            return cls()
        spread = np.maximum(data.std(axis=0), _LEAST_OF_EXAMPLES * examples.std(axis=0))
        return cls(data.mean(axis=0), np.where(spread > 0, spread, 1.0))

    def scaled(self, inputs: Any) -> Any:
        """Inputs ``(n_rows, n_inputs)`` as the unfolded network takes them."""
        return inputs if self.mean is None else (inputs - self.mean) / self.scale

    def take(self, network: Any) -> None:
        """Unfold the first layer of a network that takes raw inputs, in place."""
        if self.mean is not None and self.scale is not None:
            layer = first_dense(network)
            weights, biases = (np.asarray(array, dtype=np.float64) for array in layer.get_weights())
            layer.set_weights([weights * self.scale[:, None], biases + self.mean @ weights])

    def give_back(self, network: Any) -> None:
        """Fold it again, in place: the network takes raw inputs."""
        if self.mean is not None and self.scale is not None:
            layer = first_dense(network)
            weights, biases = (np.asarray(array, dtype=np.float64) for array in layer.get_weights())
            folded = weights / self.scale[:, None]
            layer.set_weights([folded, biases - self.mean @ folded])


def first_dense(network: Any) -> Any:
    """The layer that takes the inputs as they are, if it is a plain dense one with biases, used once and trained; else
    ``None``.
    """
    layers = [layer for layer in network.layers if type(layer).__name__ not in _NEUTRAL]
    first = layers[0] if layers else None
    is_plain = first is not None and type(first).__name__ == "Dense" and first.use_bias and first.trainable
    if not is_plain or getattr(first, "quantization_mode", None) or getattr(first, "lora_enabled", False):
        return None
    return first if is_chain(network) and not _is_restrained(first) else None


def is_chain(network: Any) -> bool:
    """Whether every layer takes the output of the one before alone."""
    if (
        type(network).__name__ == "Sequential"
    ):  # built layer by layer, each layer has a node for every layer that followed
        return len({id(layer) for layer in network.layers}) == len(network.layers)
    return all(len(layer._inbound_nodes) == 1 and len(_parents(layer)) <= 1 for layer in network.layers)


def _parents(layer: Any) -> list[Any]:
    return [parent for node in layer._inbound_nodes for parent in node.parent_nodes]


def _is_restrained(layer: Any) -> bool:
    """A penalty or a limit on the weights is meant for those in the file."""
    parts = ("kernel_regularizer", "bias_regularizer", "activity_regularizer", "kernel_constraint", "bias_constraint")
    return any(getattr(layer, part, None) is not None for part in parts)


_SAVED = (1980, 1, 1, 0, 0, 0)
"""The date in the archive: a file's bytes are to depend on what it holds alone."""


def archive_of(network: Any) -> bytes:
    """The ``.keras`` archive of a network, without the date of its making."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        network.save(path)
        return _without_date(path)


def _without_date(path: Path) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist()):
            data = old.read(name)
            if name == "metadata.json":
                known = json.loads(data)
                known.pop("date_saved", None)
                data = json.dumps(known, sort_keys=True).encode()
            new.writestr(zipfile.ZipInfo(name, _SAVED), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()


def reopened(content: bytes, suffix: str, binding: Binding) -> Model:
    """The model of a file's bytes, as the review opens it.

    Args:
        content: of the file.
        suffix: of its name, with the dot.
        binding: how it belongs to the data.
    """
    handle, path = tempfile.mkstemp(suffix=suffix)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        return binding.open(Path(path))
    finally:
        Path(path).unlink(missing_ok=True)


_ROWS_AT_ONCE = 1 << 16
_LEAST_STEPS = 20
_MOST_STEPS = 512
_LEAST_BATCH = 8
"""Steps an epoch: of few rows a step takes fewer of them than was asked, of very many more."""
_LAST_RATE = 0.05
"""What is left of the learning rate in the last epoch."""


def _load_trained(path: Path) -> Any:
    """A network of which something can be trained.

    Raises:
        ModelError: nothing of it can.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of how the file was written, years ago
        network = load_keras(path)
    if not network.trainable_variables:
        raise ModelError(
            "A network needs weights that can be trained, but all of this one's are frozen. Set 'trainable' and save "
            "it again, or name a surrogate, for example 'mlp'."
        )
    return network


class KerasTrainer:
    """Trains a network of Keras from its own weights, or afresh.

    The rate falls along a quarter of a cosine; training ends early when the loss on the validation rows has not fallen
    for ``settings.patience`` epochs, and the weights of the best epoch stay.

    Args:
        load: gives the network as loaded by Keras, once it is trained: Keras itself takes seconds to be loaded.
        model: the same, bound to the data.
        binding: how it belongs to the data.
        settings: how to train.
        afresh: from new weights by the seed, instead of the network's own.
        encoder: from rows of the engine to the network's inputs; ``None`` takes the model's.
    """

    suffix = ".keras"
    has_weights = True
    takes_weights: bool = True

    def __init__(
        self,
        load: Callable[[], Any],
        model: Model,
        binding: Binding,
        settings: RetrainSettings,
        *,
        afresh: bool,
        encoder: Encoder | None = None,
    ) -> None:
        self.kind = "Keras network, afresh" if afresh else "Keras network, from its own weights"
        self._load = load
        self._binding = binding
        self._settings = settings
        self._afresh = afresh
        own: Encoder = getattr(model.encoder, "original", model.encoder)
        self._encoder = own if encoder is None else encoder
        self._n_scores = model.predictor.n_scores
        self._model = model
        self._order = match_classes(max(2, self._n_scores), None, binding.classes, binding.schema).order
        self._is_share = str(model.predictor.output) == "probability"
        self._loop: Loop | None = None

    @classmethod
    def of_file(
        cls, path: Path, model: Model, binding: Binding, settings: RetrainSettings, *, afresh: bool
    ) -> KerasTrainer:
        """For a model file of Keras, whose description was judged when the model was opened.

        Raises:
            ModelError: nothing of the network can be trained.
        """
        load = partial(_load_trained, path)
        if isinstance(model.predictor, DenseNetwork) and is_all_trained(path):
            return cls(load, model, binding, settings, afresh=afresh)
        network = load()
        return cls(lambda: network, model, binding, settings, afresh=afresh)

    @cached_property
    def _network(self) -> Any:
        return self._load()

    @property
    def encoder(self) -> Encoder:
        """From rows of the engine to the network's inputs."""
        return self._encoder

    def train(self, job: Job) -> TrainedKeras:
        """Train once; see ``Trainer``."""
        job.clock.check()
        scaling = InputScaling.of(self._network, self._encoded(job.validation.rows), self._encoded(job.examples.rows))
        loop = self._begin(job.seed, scaling)
        best = self._epochs(loop, job, scaling)
        loop.begin(best)
        scaling.give_back(loop.network)
        content = archive_of(loop.network)
        return TrainedKeras(reopened(content, self.suffix, self._binding), content)

    def _begin(self, seed: int, scaling: InputScaling) -> Loop:
        """The loop with the weights that a training begins from: its chance is the seed's alone."""
        import keras

        keras.utils.set_random_seed(seed % 2**32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fresh = keras.models.clone_model(self._network)
        _keep_words(self._network, fresh)
        if self._afresh:
            _keep_what_is_not_trained(self._network, fresh)
        else:
            fresh.set_weights(self._network.get_weights())
            scaling.take(fresh)
        _settle_normalisations(fresh)
        state = [variable.numpy() for variable in fresh.variables]
        if self._loop is None:
            self._loop = Loop(fresh, is_share=self._is_share)
        self._loop.begin(state)
        return self._loop

    def _epochs(self, loop: Loop, job: Job, scaling: InputScaling) -> list[Any]:
        """Train until it ends early; returns the variables of the best epoch."""
        settings = self._settings
        rng = np.random.default_rng(job.seed)
        train = self._batch(job.examples, scaling)
        held = self._batch(job.validation, scaling)
        stopping = held if job.stopping is None else self._batch(job.stopping, scaling)
        batch_rows = rows_of_step(len(train), settings.batch_rows)
        best: list[Any] = []
        best_loss = np.inf
        n_worse = 0
        for epoch in range(settings.max_epochs):
            pace = Pace(settings.learning_rate * rate_left(epoch, settings.max_epochs), batch_rows)
            loss = loop.epoch(train, rng.permutation(len(train)), pace, job.clock)
            held_loss, outputs = loop.losses(stopping)
            if stopping is not held:
                outputs = loop.losses(held)[1]
            accuracy = float((self._decided(outputs) == job.validation.labels).mean())
            job.report(Epoch(epoch + 1, settings.max_epochs, loss, held_loss, accuracy))
            n_worse += 1
            if held_loss < best_loss or not best:
                best_loss = held_loss
                n_worse = 0
                best = [one.numpy() for one in loop.network.variables]
            if n_worse >= settings.patience or job.clock.is_over:
                break
        job.clock.check()
        return best

    # --- what the network takes and gives -------------------------------------------------------

    def _encoded(self, rows: FloatArray) -> Any:
        return self._encoder.encode(rows)

    def _batch(self, examples: Examples, scaling: InputScaling) -> Batch:
        """Rows as tensors, encoded a block at a time: one-hot columns in float64 would take many times as much
        memory.
        """
        import tensorflow as tf

        blocks = []
        for start in range(0, len(examples), _ROWS_AT_ONCE):
            encoded = scaling.scaled(self._encoded(examples.rows[start : start + _ROWS_AT_ONCE]))
            blocks.append(network_inputs(self._network, encoded))
        inputs = tf.nest.map_structure(lambda *parts: tf.concat(parts, axis=0), *blocks)
        weights = np.ones(len(examples)) if examples.weights is None else examples.weights
        targets = tf.constant(self._targets(examples.labels))
        return Batch(inputs, targets, tf.constant(weights, dtype=tf.float32))

    def _targets(self, labels: IntArray) -> Any:
        own = np.asarray(self._order)[labels] if self._order is not None else labels
        return own.astype(np.float32).reshape(-1, *([1] * len(self._network.outputs[0].shape[1:])))

    def _decided(self, outputs: FloatArray) -> IntArray:
        """Classes of the data ``(n_rows,)`` of what the network gives ``(n_rows, n_outputs)``."""
        scores = outputs
        if self._n_scores == 1:
            scores = outputs[:, -1:] if self._is_share or outputs.shape[1] == 1 else outputs[:, 1:] - outputs[:, :1]
        if self._order is not None:
            mirrored = 1 - scores if self._is_share else -scores
            scores = mirrored if self._n_scores == 1 else scores[:, list(self._order)]
        return self._model.decide(scores)


@dataclass(frozen=True)
class TrainedKeras:
    """A trained network; see ``Trained``.

    Args:
        model: opened again from its own bytes, so that what is measured is what the file holds.
        archive: the bytes of its ``.keras`` file.
    """

    model: Model
    archive: bytes

    def content(self) -> bytes:
        """The ``.keras`` archive."""
        return self.archive


def rows_of_step(n_rows: int, asked: int) -> int:
    """Rows of one step, when so many were asked for."""
    return max(_LEAST_BATCH, min(asked, n_rows // _LEAST_STEPS), -(-n_rows // _MOST_STEPS))


def rate_left(epoch: int, n_epochs: int) -> float:
    """The share of the learning rate that is left in an epoch, from 0 on: a quarter of a cosine down to
    ``_LAST_RATE``.
    """
    return float(_LAST_RATE + (1 - _LAST_RATE) * np.cos(0.5 * np.pi * epoch / n_epochs))


def _keep_what_is_not_trained(before: Any, after: Any) -> None:
    """Layers with nothing to train (a normalisation that was adapted to the data, a frozen embedding) keep what they
    hold.
    """
    for old, new in zip(_flat(before), _flat(after), strict=True):
        if old.weights and not old.trainable_variables:
            new.set_weights(old.get_weights())


def _settle_normalisations(network: Any) -> None:
    """A layer that normalises by what it was adapted to computes by constants, which no setting of weights renews."""
    import keras

    for layer in _flat(network):
        if isinstance(layer, keras.layers.Normalization):
            layer.finalize_state()


def _keep_words(before: Any, after: Any) -> None:
    """Layers that look words up keep those that they know: a clone of them knows none."""
    for old, new in zip(_flat(before), _flat(after), strict=True):
        if hasattr(old, "save_assets") and hasattr(new, "load_assets"):
            with tempfile.TemporaryDirectory() as folder:
                old.save_assets(folder)
                new.load_assets(folder)
            weights: dict[str, Any] = {}
            old.save_own_variables(weights)
            new.load_own_variables(weights)


def _flat(network: Any) -> Sequence[Any]:
    layers: list[Any] = []
    for layer in network.layers:
        layers += _flat(layer) if hasattr(layer, "layers") else [layer]
    return layers
