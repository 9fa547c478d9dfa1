"""Keras models that take one string a row: their own ``TextVectorization`` turns it into numbers, Keras evaluates them.

The description is judged as that of every Keras file (``config.refuse_unsafe``: no code, no vocabulary in a file
of this computer, names of Keras only); the vocabulary travels inside the file.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.errors import FitError
from fairness_engine.models.keras.config import UnreadArchitectureError
from fairness_engine.models.keras.file import read_keras
from fairness_engine.models.keras.runtime import KerasScores, load_keras, network_inputs

_TEXTS_AT_ONCE = 4096


class KerasText(KerasScores):
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
        model = _judged(path)
        inputs = model.inputs
        shape = tuple(inputs[0].shape[1:])
        if len(inputs) != 1 or str(inputs[0].dtype) != "string" or shape not in ((), (1,), (None,)):
            raise FitError(
                "A model for texts must take one string a row, but this one takes a row of a table. Choose the "
                "review's columns, or a model that begins with TextVectorization."
            )
        super().__init__(model, _TEXTS_AT_ONCE)
        self._is_flat = shape == ()
        self.kind = f"Keras model of texts ({self._layers})"

    def _block(self, texts: Any) -> FloatArray:
        result = self._evaluate(network_inputs(self._model, list(texts)))
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
        "A model for texts must take one string a row, but this network takes a row of numbers. Choose a model that "
        "begins with TextVectorization."
    )
