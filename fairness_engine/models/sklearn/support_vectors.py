"""Support vector machines of two classes, evaluated many rows at a time by the compiled loops of dense networks.

libsvm evaluates one row after another. The kernels of a row and all support vectors are a layer of their products, and
the decision is a sum of those, so that a machine is a network of two layers; rows too near the boundary for its
rounding are decided by libsvm, so that decisions are scikit-learn's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.errors import FitError
from fairness_engine.models.dense.layers import EXPONENTIAL, POWER, Activation, Stack, number_of
from fairness_engine.models.model import Output

_NEAR = 1e-6
_LEAST = 1e-300
_ACTIVATIONS = {
    **{"rbf": EXPONENTIAL, "poly": POWER},
    **{"sigmoid": number_of(Activation.TANH), "linear": number_of(Activation.LINEAR)},
}


class SupportVectors:
    """A predictor: the signed distance from the boundary, class 1 above 0.

    Args:
        estimator: fitted ``SVC`` or ``NuSVC`` of two classes with kernel rbf, poly, sigmoid or linear.
    """

    output = Output.LOGIT
    n_scores = 1
    feature_names: tuple[str, ...] | None = None

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self.n_inputs: int | None = int(estimator.n_features_in_)
        self.kind = f"support vector machine ({estimator.kernel}, {len(estimator.support_vectors_)} support vectors)"
        vectors = np.asarray(estimator.support_vectors_, dtype=np.float64)
        self._has_distances = estimator.kernel == "rbf"
        # distances do not change with the origin, and small numbers lose fewer digits
        self._centre = vectors.mean(axis=0) if self._has_distances else np.zeros(self.n_inputs)
        vectors = vectors - self._centre
        gamma = float(estimator._gamma)
        weights, biases = _products(estimator, vectors, gamma)
        activation = _ACTIVATIONS[estimator.kernel]
        slope = float(estimator.degree)
        last = np.asarray(estimator.dual_coef_, dtype=np.float64).reshape(-1, 1)
        offset = np.asarray(estimator.intercept_, np.float64).reshape(1)
        self._arrays = Stack((weights, last), (biases, offset), (activation,), (slope,)).arrays

    def predict(self, inputs: Any) -> FloatArray:
        """Signed distances ``(n_rows, 1)``."""
        from fairness_engine.models.dense import kernels  # loads numba

        inputs = np.ascontiguousarray(inputs, dtype=np.float64)
        if inputs.ndim != 2 or inputs.shape[1] != self.n_inputs:
            raise FitError(f"The model takes {self.n_inputs} inputs a row, got an array of shape {inputs.shape}.")
        rows = inputs - self._centre
        if self._has_distances:
            squares = np.zeros(len(rows))
            for column in rows.T:
                squares += column * column
            rows = np.column_stack([rows, squares])
        scores: FloatArray = np.empty((len(rows), 1))
        kernels.forward(np.ascontiguousarray(rows), self._arrays, scores)
        near = np.flatnonzero(np.abs(scores[:, 0]) < _NEAR)
        if len(near):  # their side is libsvm's; the distance itself stays, for libsvm's last digits are the machine's
            is_one = self._estimator.decision_function(inputs[near]) > 0
            scores[near, 0] = np.where(is_one, np.maximum(scores[near, 0], _LEAST), np.minimum(scores[near, 0], 0.0))
        return scores

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """Scores less the threshold ``(n_rows, 1)``."""
        return self.predict(inputs) - threshold


def _products(estimator: Any, vectors: FloatArray, gamma: float) -> tuple[FloatArray, FloatArray]:
    """What a kernel is a function of, as weights and biases of rows; for distances rows have the sum of their squares
    beside them.
    """
    if estimator.kernel == "rbf":  # -gamma |x - v|^2
        weights = np.concatenate([2 * gamma * vectors.T, np.full((1, len(vectors)), -gamma)])
        return weights, -gamma * (vectors**2).sum(axis=1)
    if estimator.kernel == "linear":
        return np.ascontiguousarray(vectors.T), np.zeros(len(vectors))
    return gamma * vectors.T, np.full(len(vectors), float(estimator.coef0))
