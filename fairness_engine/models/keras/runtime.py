"""Keras models that are more than a chain of dense layers, evaluated by Keras itself.

The description was judged before (``config.refuse_unsafe``); Keras is imported here only, in the process that may
hold an uploaded model, and loads with ``safe_mode``.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import FitError, ModelError
from fairness_engine.models.formats import TAKES_TEXTS, read_members
from fairness_engine.models.inputs.typed import InputSpec, Takes
from fairness_engine.models.keras.config import without_training
from fairness_engine.models.keras.file import is_keras_member, parse_config
from fairness_engine.models.keras.hdf5 import open_hdf5, read_text
from fairness_engine.models.model import Output
from fairness_engine.models.sklearn.voting import settle


class KerasScores(ABC):
    """A predictor that asks a loaded Keras classifier of one outcome, thousands of inputs a call.

    Two outputs are one score: the share of class 1, or the difference where they are no shares.

    Args:
        model: loaded by Keras.
        at_once: inputs in a call at most.

    Raises:
        ModelError: it has several outputs.
    """

    def __init__(self, model: Any, at_once: int) -> None:
        self._model = model
        self._at_once = at_once
        if len(model.outputs) != 1:
            raise ModelError(
                f"A classifier of one outcome must have one output, but it has {len(model.outputs)} outputs. Save it "
                "with the one to assess."
            )
        n_outputs = int(np.prod([n or 1 for n in model.outputs[0].shape[1:]]))
        self.n_scores = 1 if n_outputs == 2 else n_outputs
        self.output = Output.PROBABILITY if _ends_in_shares(model) else Output.LOGIT
        self._is_difference = n_outputs == 2 and self.output is Output.LOGIT

    @property
    def _layers(self) -> str:
        """The sorts of layers, each once, for people."""
        kinds = dict.fromkeys(type(layer).__name__ for layer in self._model.layers)
        return ", ".join(kind for kind in kinds if kind != "InputLayer")

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_inputs, n_scores)``."""
        blocks = [self._block(inputs[i : i + self._at_once]) for i in range(0, len(inputs), self._at_once)]
        if not blocks:
            return np.empty((0, self.n_scores))
        scores = np.concatenate(blocks)
        if self._is_difference:
            return scores[:, 1:] - scores[:, :1]
        return settle(scores) if scores.shape[1] == 2 else scores

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """Scores less the threshold; several classes: the scores."""
        scores = self.predict(inputs)
        return scores - threshold if self.n_scores == 1 else scores

    @abstractmethod
    def _block(self, inputs: Any) -> FloatArray:
        """What Keras gives for some inputs ``(n_inputs, n_outputs)``."""


def _ends_in_shares(model: Any) -> bool:
    """Whether the last layer gives probabilities; a nested model is asked for its own last layer."""
    last = model.layers[-1]
    while hasattr(last, "layers") and last.layers:
        last = last.layers[-1]
    name = last.get_config().get("activation")
    if isinstance(name, dict):
        name = name.get("config") if isinstance(name.get("config"), str) else name.get("class_name", "").lower()
    return name in ("sigmoid", "softmax") or type(last).__name__ == "Softmax"


_ON_THE_WAY = ("Reshape", "Flatten", "Identity", "Dropout", "RepeatVector", "Permute")
"""Layers that hand values on as they are."""


def input_specs(model: Any) -> tuple[InputSpec, ...]:
    """Specs of all inputs of a model, in its order; ``None`` as a length of a shape counts as 1."""
    return tuple(_spec(model, i) for i in range(len(model.inputs)))


def _spec(model: Any, place: int) -> InputSpec:
    value = model.inputs[place]
    dtype = str(value.dtype)
    takes = Takes.TEXT if dtype == "string" else Takes.WHOLE if "int" in dtype or dtype == "bool" else Takes.NUMBER
    known: tuple[Any, ...] | None = None
    n_codes: int | None = None
    for layer in _readers(model, value):
        kind = type(layer).__name__
        if kind in ("StringLookup", "IntegerLookup"):
            known = tuple(_plain(word) for word in layer.get_vocabulary(include_special_tokens=False))
        elif kind == "Embedding":
            n_codes = int(layer.input_dim)
        elif kind == "CategoryEncoding" and layer.num_tokens:
            n_codes = int(layer.num_tokens)
    width = int(np.prod([length or 1 for length in value.shape[1:]]))
    return InputSpec(str(value.name), takes, width, known, n_codes)


def _readers(model: Any, value: Any) -> Iterator[Any]:
    """The layers that take a tensor of the model, also those inside nested models and behind layers that only hand it
    on.
    """
    graph = getattr(model, "_functional", None) or model  # of a Sequential model
    for operation in getattr(graph, "operations", ()):
        for node in operation._inbound_nodes:
            for place, taken in enumerate(node.input_tensors):
                if taken is not value:
                    continue
                if hasattr(operation, "layers") and hasattr(operation, "inputs"):
                    yield from _readers(operation, operation.inputs[place])
                elif type(operation).__name__ in _ON_THE_WAY:
                    yield from _readers(model, node.outputs[0])
                else:
                    yield operation


def _plain(word: Any) -> Any:
    return word.item() if hasattr(word, "item") else word


_ROWS_AT_ONCE = 8192
_PROBE_WIDTH = 4
"""Numbers in the row that a model which takes any number of them is tried with."""


class KerasRuntime(KerasScores):
    """A predictor that asks Keras, thousands of rows a call.

    Args:
        path: a ``.keras`` archive or legacy ``.h5`` file whose description was judged.

    Attributes:
        specs: what each of several inputs takes; ``None`` for a model that takes one matrix of numbers.
        rounding: scores change by less than this with the number of rows in a call.

    Raises:
        ModelError: Keras does not accept the file, or it takes something else than rows of a table.
    """

    rounding = 1e-6

    def __init__(self, path: Path) -> None:
        model = load_keras(path)
        inputs = model.inputs
        specs = input_specs(model)
        if len(inputs) == 1 and specs[0].takes is Takes.TEXT and specs[0].width == 1:
            raise FitError(TAKES_TEXTS)
        is_typed = len(inputs) > 1 or specs[0].takes is Takes.TEXT
        self.specs = specs if is_typed else None
        self._dtype = str(inputs[0].dtype)
        self._tail = None if is_typed else tuple(inputs[0].shape[1:])
        self.n_inputs: int | None = sum(s.width for s in specs) if self._tail is None else _n_inputs(self._tail)
        super().__init__(model, _ROWS_AT_ONCE)
        self.kind = f"Keras model ({self._layers})"

    @property
    def score_gradients(self) -> Callable[[Any, IntArray | None], FloatArray]:
        """Derivatives of a score by the inputs: ``(inputs (n_rows, n_inputs), classes (n_rows,)) -> (n_rows,
        n_inputs)``.

        ``classes`` says whose score, by row, where there are several; one score is that of class 1.

        Raises:
            AttributeError: no path leads from the scores back to the inputs, so that ``hasattr`` tells: several inputs,
                text, whole numbers, or a layer that looks its input up (embedding, discretisation).
        """
        if not self._is_differentiable:
            raise AttributeError("The scores of this model cannot be derived by its inputs.")
        return self._score_gradients

    @cached_property
    def _is_differentiable(self) -> bool:
        """Whether one row has a gradient: Keras does not say it of a model beforehand."""
        if self._tail is None or not self._dtype.startswith(("float", "bfloat")):
            return False
        try:
            return self._gradient(np.zeros((1, self.n_inputs or _PROBE_WIDTH)), np.zeros(1, dtype=np.int64)) is not None
        except Exception:  # noqa: BLE001 - a layer without a gradient fails in a way of its own
            return False

    def _score_gradients(self, inputs: Any, classes: IntArray | None = None) -> FloatArray:
        chosen = np.zeros(len(inputs), dtype=np.int64) if classes is None else classes
        gradients = np.empty((len(inputs), np.shape(inputs)[1]))
        for start in range(0, len(inputs), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            gradients[part] = self._gradient(inputs[part], chosen[part])
        return gradients

    def _gradient(self, inputs: Any, classes: IntArray) -> FloatArray | None:
        """Derivatives ``(n_rows, n_inputs)`` by back-propagation; ``None`` where no path leads back to the inputs."""
        import tensorflow as tf

        values = tf.constant(network_inputs(self._model, inputs))
        with tf.GradientTape() as tape:
            tape.watch(values)
            outputs = tf.reshape(self._model(values, training=False), (len(inputs), -1))
            if self._is_difference:
                wanted = outputs[:, 1] - outputs[:, 0]
            elif self.n_scores == 1:
                wanted = outputs[:, -1]  # of one output, or the share of class 1 of two
            else:
                wanted = tf.gather(outputs, classes, axis=1, batch_dims=1)
        found = tape.gradient(wanted, values)  # of the sum; a row's score depends on its own inputs only
        return None if found is None else np.asarray(found, dtype=np.float64).reshape(len(inputs), -1)

    def _block(self, inputs: Any) -> FloatArray:
        import tensorflow as tf

        values = tf.nest.map_structure(tf.convert_to_tensor, network_inputs(self._model, inputs))
        return np.asarray(self._evaluate(values), dtype=np.float64).reshape(len(inputs), -1)

    @cached_property
    def _evaluate(self) -> Any:
        """The model as one graph for any number of rows: layer by layer, a model of ten inputs takes a tenth of a
        second for any few.
        """
        import tensorflow as tf

        specs = {value.name: tf.TensorSpec((None, *value.shape[1:]), value.dtype) for value in self._model.inputs}
        signature = specs if self.specs is not None else next(iter(specs.values()))
        return tf.function(lambda values: self._model(values, training=False), input_signature=[signature])


def network_inputs(network: Any, inputs: Any) -> Any:
    """What a network of Keras is called with, for rows of its inputs.

    Args:
        network: as loaded.
        inputs: ``(n_rows, n_inputs)``; a DataFrame of all their values for a network of several inputs, or of words; a
            list of texts for one that takes a string a row.
    """
    if isinstance(inputs, list):
        import tensorflow as tf

        values = tf.constant(inputs, shape=(len(inputs),), dtype=tf.string)
        return values if len(network.inputs[0].shape) == 1 else values[:, None]
    if len(network.inputs) > 1 or str(network.inputs[0].dtype) == "string":
        starts = np.cumsum([0, *(int(np.prod([n or 1 for n in value.shape[1:]])) for value in network.inputs)])
        spans = itertools.pairwise(starts)
        return {
            value.name: _of_frame(inputs.iloc[:, a:b], value)
            for value, (a, b) in zip(network.inputs, spans, strict=True)
        }
    only = network.inputs[0]
    shape = tuple(only.shape[1:])
    tail = [length or (1 if i < len(shape) - 1 else -1) for i, length in enumerate(shape)]
    if shape[-1] == 1 and None in shape[:-1]:
        tail = [-1, 1]
    return np.ascontiguousarray(inputs, dtype=str(only.dtype)).reshape(len(inputs), *tail)


def load_keras(path: Path) -> Any:
    """A Keras file whose description was judged, loaded in safe mode and uncompiled, nested models too.

    Raises:
        ModelError: weights are missing or damaged, or Keras does not accept the file.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    with path.open("rb") as file:
        is_archive = file.read(2) == b"PK"
    with tempfile.TemporaryDirectory() as folder:
        named = Path(folder) / ("model.keras" if is_archive else "model.h5")  # Keras tells the formats by the suffix
        if is_archive:
            _write_archive(named, read_members(path, is_keras_member))
        else:
            _write_legacy(named, path)
        try:
            import keras

            return keras.models.load_model(named, compile=False, safe_mode=True)
        except Exception as error:  # noqa: BLE001 - Keras raises anything on a file it cannot read
            reason = (str(error).splitlines() or [""])[0][:160]
            raise ModelError(
                f"Keras cannot load the model ({type(error).__name__}: {reason}). Save it again with Keras 3 as .keras."
            ) from None


def _write_archive(target: Path, members: dict[str, bytes]) -> None:
    """What was judged, and nothing else of the file: a description without training, and checked weights."""
    config = without_training(parse_config(members.get("config.json")))
    if "model.weights.h5" not in members:
        raise ModelError("The model file must hold 'model.weights.h5' beside its description. Save the model again.")
    with open_hdf5(members["model.weights.h5"]):
        pass  # opening it checks it
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, json.dumps(config) if name == "config.json" else content)


def _write_legacy(target: Path, path: Path) -> None:
    with open_hdf5(path) as file:
        config = parse_config(read_text(file, "model_config"))
    shutil.copyfile(path, target)
    judged = without_training(config)
    if judged != config:
        import h5py

        with h5py.File(target, "r+") as file:
            file.attrs["model_config"] = json.dumps(judged)


def _n_inputs(tail: tuple[int | None, ...]) -> int | None:
    """Numbers in a row; ``None`` when the model takes any number of them."""
    known = [length for length in tail if length is not None]
    if None in tail and (not known or known[-1] == 1):
        return None
    return int(np.prod(known))


def _of_frame(columns: Any, value: Any) -> Any:
    """The columns of a frame that one input takes, in its dtype and shape."""
    shape = (len(columns), *(length or 1 for length in value.shape[1:]))
    dtype = str(value.dtype)
    if dtype == "string":
        import tensorflow as tf

        return tf.constant(columns.to_numpy(dtype=object).reshape(shape).tolist(), shape=shape, dtype=tf.string)
    from keras import ops

    return ops.convert_to_tensor(np.ascontiguousarray(columns.to_numpy()).astype(dtype).reshape(shape))
