"""What Keras gives, as scores: for models of tables (``keras_runtime.py``) and of texts (``keras_text.py``) alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from fairness_engine.errors import ModelError
from fairness_engine.events import FloatArray
from fairness_engine.models.model import Output
from fairness_engine.models.ties import settle


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
        self._model, self._at_once = model, at_once
        if len(model.outputs) != 1:
            raise ModelError(
                f"A classifier of one outcome must have one output, but it has {len(model.outputs)} outputs. Save it with the one to assess."
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
