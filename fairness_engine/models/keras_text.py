"""Keras models that take one string a row: their own ``TextVectorization`` turns it into numbers, Keras evaluates them.

The description is judged as that of every Keras file (``keras_config.refuse_unsafe``: no code, no vocabulary in a file of this
computer, names of Keras only); the vocabulary travels inside the file.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.errors import FitError, ModelError
from fairness_engine.events import FloatArray
from fairness_engine.models.keras_config import UnreadArchitectureError
from fairness_engine.models.keras_file import read_keras
from fairness_engine.models.keras_runtime import ends_in_shares, load_keras
from fairness_engine.models.model import Output
from fairness_engine.models.ties import settle

_TEXTS_AT_ONCE = 4096


class KerasText:
    """A predictor of texts that asks Keras, thousands of them a call.

    Args:
        path: a ``.keras`` archive or legacy ``.h5`` file.

    Raises:
        ModelError: refused, damaged, or of several outputs.
        FitError: it takes something else than one string a row.
    """

    n_inputs: int | None = 1
    feature_names: tuple[str, ...] | None = None

    def __init__(self, path: Path) -> None:
        self._model = _judged(path)
        inputs, outputs = self._model.inputs, self._model.outputs
        shape = tuple(inputs[0].shape[1:])
        if len(inputs) != 1 or str(inputs[0].dtype) != "string" or shape not in ((), (1,), (None,)):
            raise FitError(
                "A model for texts must take one string a row, but this one takes a row of a table. Choose the review's columns, "
                "or a model that begins with TextVectorization."
            )
        if len(outputs) != 1:
            raise ModelError(f"The model has {len(outputs)} outputs; a classifier of one outcome has one.")
        self._is_flat = shape == ()
        n_outputs = int(np.prod([n or 1 for n in outputs[0].shape[1:]]))
        self.n_scores = 1 if n_outputs == 2 else n_outputs
        self.output = Output.PROBABILITY if ends_in_shares(self._model) else Output.LOGIT
        self._is_difference = n_outputs == 2 and self.output is Output.LOGIT
        kinds = dict.fromkeys(type(layer).__name__ for layer in self._model.layers)
        self.kind = f"Keras model of texts ({', '.join(kind for kind in kinds if kind != 'InputLayer')})"

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_texts, n_scores)`` of a list of strings."""
        blocks = [self._block(inputs[i : i + _TEXTS_AT_ONCE]) for i in range(0, len(inputs), _TEXTS_AT_ONCE)]
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

    def _block(self, texts: Any) -> FloatArray:
        import tensorflow as tf

        values = tf.constant(list(texts), dtype=tf.string)
        result = self._evaluate(values if self._is_flat else values[:, None])
        return np.asarray(result, dtype=np.float64).reshape(len(texts), -1)

    @cached_property
    def _evaluate(self) -> Any:
        """The model as one graph for any number of texts: layers that go word by word are many times slower without."""
        import tensorflow as tf

        tail = () if self._is_flat else (1,)
        signature = [tf.TensorSpec((None, *tail), tf.string)]
        return tf.function(lambda texts: self._model(texts, training=False), input_signature=signature)


def _judged(path: Path) -> Any:
    try:
        read_keras(path)  # judges the description before Keras sees the file
    except UnreadArchitectureError:
        return load_keras(path)
    raise FitError(
        "A model for texts must take one string a row, but this network takes a row of numbers. Choose a model that begins with "
        "TextVectorization."
    )
