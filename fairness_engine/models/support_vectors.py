"""Support vector machines of two classes, evaluated many rows at a time as matrix products.

libsvm evaluates one row after another. Here the kernel of a block of rows and all support vectors is one product; rows
too near the boundary for its rounding are handed to libsvm, so that decisions are scikit-learn's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairness_engine.errors import FitError
from fairness_engine.events import FloatArray
from fairness_engine.models.model import Output

_BLOCK_VALUES = 1 << 21
"""Kernel values of a block of rows: 16 MB."""
_NEAR = 1e-6


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
        self._centre = np.zeros(self.n_inputs)
        vectors = np.asarray(estimator.support_vectors_, dtype=np.float64)
        if estimator.kernel == "rbf":  # distances do not change, and small numbers lose fewer digits
            self._centre = vectors.mean(axis=0)
        self._vectors = np.ascontiguousarray((vectors - self._centre).T)  # (n_inputs, n_vectors)
        self._squares = (self._vectors**2).sum(axis=0)
        self._weights = np.asarray(estimator.dual_coef_, dtype=np.float64).ravel()
        self._offset = float(estimator.intercept_[0])
        self._gamma = float(estimator._gamma)
        self._block_rows = max(16, _BLOCK_VALUES // max(1, len(self._weights)))

    def predict(self, inputs: Any) -> FloatArray:
        """Signed distances ``(n_rows, 1)``."""
        inputs = np.ascontiguousarray(inputs, dtype=np.float64)
        if inputs.ndim != 2 or inputs.shape[1] != self.n_inputs:
            raise FitError(f"The model takes {self.n_inputs} inputs a row, got an array of shape {inputs.shape}.")
        blocks = range(0, len(inputs), self._block_rows)
        scores = np.concatenate(
            [np.empty(0), *(self._kernel(inputs[i : i + self._block_rows]) @ self._weights for i in blocks)]
        )
        scores += self._offset
        near = np.flatnonzero(np.abs(scores) < _NEAR)
        if len(near):
            scores[near] = self._estimator.decision_function(inputs[near])
        return scores[:, None]

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """Scores less the threshold ``(n_rows, 1)``."""
        return self.predict(inputs) - threshold

    def _kernel(self, inputs: FloatArray) -> FloatArray:
        """Kernel of rows and support vectors ``(n_rows, n_vectors)``, in place as far as it goes."""
        inputs = inputs - self._centre
        products: FloatArray = inputs @ self._vectors
        estimator = self._estimator
        if estimator.kernel == "rbf":
            products *= -2
            products += self._squares
            products += (inputs**2).sum(axis=1)[:, None]
            products *= -self._gamma
            np.exp(products, out=products)
        elif estimator.kernel != "linear":
            products *= self._gamma
            products += estimator.coef0
            if estimator.kernel == "sigmoid":
                np.tanh(products, out=products)
            else:
                np.power(products, estimator.degree, out=products)
        return products
