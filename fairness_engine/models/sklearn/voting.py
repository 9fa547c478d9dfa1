"""Predictors made of predictors: votes, and a final estimator behind transformations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.models.model import Output, Predictor, decide

JUST_ABOVE_HALF = float(np.nextafter(0.5, 1.0))


def settle(probabilities: FloatArray) -> FloatArray:
    """Class probabilities ``(n_rows, n_classes)`` -> scores; of two classes the second, decided by the larger.

    A share of 0.49999999999999994 against 0.5 is a decision that "greater than 1/2" alone would miss.
    """
    if probabilities.shape[1] != 2:
        return probabilities
    return positive_score(probabilities[:, 1:], probabilities[:, 1:] > probabilities[:, :1])


def positive_score(scores: FloatArray, is_class_one: NDArray[np.bool_]) -> FloatArray:
    """Probabilities of class 1 ``(n_rows, 1)``, moved by one rounding step where they contradict the decision."""
    above = scores > 0.5
    if np.array_equal(above, is_class_one):
        return scores
    near = np.abs(scores - 0.5) < 1e-9
    scores = np.where(near & is_class_one & ~above, JUST_ABOVE_HALF, scores)
    return np.where(near & ~is_class_one & above, 0.5, scores)


def probabilities_of(predictor: Predictor, inputs: Any) -> FloatArray:
    """Class probabilities ``(n_rows, n_classes)`` of a predictor that gives probabilities."""
    direct: Callable[[Any], FloatArray] | None = getattr(predictor, "probabilities", None)
    if direct is not None:
        return direct(inputs)
    scores = predictor.predict(inputs)
    return np.concatenate([1 - scores, scores], axis=1) if predictor.n_scores == 1 else scores


def decisions_of(predictor: Predictor, inputs: Any) -> IntArray:
    """Classes ``(n_rows,)`` by the predictor's own threshold."""
    return decide(predictor.predict(inputs), predictor.output.middle)


class SoftVote:
    """The weighted mean of the members' class probabilities, as ``VotingClassifier(voting="soft")``."""

    output = Output.PROBABILITY
    feature_names: tuple[str, ...] | None = None

    def __init__(self, members: Sequence[Predictor], weights: Sequence[float] | None, n_classes: int) -> None:
        self.members = tuple(members)
        self.n_scores = 1 if n_classes == 2 else n_classes
        self.n_inputs = members[0].n_inputs
        self.kind = f"soft vote of {len(members)}: {', '.join(member.kind for member in members)}"
        self.weights = weights

    def probabilities(self, inputs: Any) -> FloatArray:
        """Mean probabilities ``(n_rows, n_classes)``."""
        parts = np.asarray([probabilities_of(member, inputs) for member in self.members])
        return np.asarray(np.average(parts, axis=0, weights=self.weights))

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_rows, n_scores)``."""
        return settle(self.probabilities(inputs))

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """Scores less the threshold; several classes: the scores."""
        scores = self.predict(inputs)
        return scores - threshold if self.n_scores == 1 else scores


class HardVote:
    """The class that most members decide for, as ``VotingClassifier(voting="hard")``; a score is 0 or 1."""

    output = Output.LABEL
    feature_names: tuple[str, ...] | None = None

    def __init__(self, members: Sequence[Predictor], weights: Sequence[float] | None, n_classes: int) -> None:
        self.members = tuple(members)
        self.n_scores = 1 if n_classes == 2 else n_classes
        self.n_inputs = members[0].n_inputs
        self.kind = f"hard vote of {len(members)}: {', '.join(member.kind for member in members)}"
        self.weights = np.ones(len(members)) if weights is None else np.asarray(weights, dtype=np.float64)
        self._n_classes = n_classes

    def predict(self, inputs: Any) -> FloatArray:
        """One column of the decision of two classes, else one column a class: 0 or 1."""
        votes = np.zeros((len(inputs), self._n_classes))
        lines = np.arange(len(inputs))
        for member, weight in zip(self.members, self.weights, strict=True):
            votes[lines, decisions_of(member, inputs)] += weight
        return as_label_scores(votes.argmax(axis=1), self._n_classes)

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """Scores less the threshold; several classes: the scores."""
        scores = self.predict(inputs)
        return scores - threshold if self.n_scores == 1 else scores


class Transformed:
    """A predictor behind transformations: the steps of a scikit-learn pipeline before the last.

    Args:
        transform: from the model's inputs to those of ``final``.
        final: the predictor of the last step.
        n_inputs: of the whole; ``None`` when unknown.
    """

    feature_names: tuple[str, ...] | None = None

    def __init__(self, transform: Callable[[Any], FloatArray], final: Predictor, n_inputs: int | None) -> None:
        self.transform = transform
        self.final = final
        self.n_inputs = n_inputs
        self.n_scores = final.n_scores
        self.output = final.output
        self.kind = final.kind

    def probabilities(self, inputs: Any) -> FloatArray:
        """Class probabilities ``(n_rows, n_classes)``."""
        return probabilities_of(self.final, self.transform(inputs))

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_rows, n_scores)``."""
        return self.final.predict(self.transform(inputs))

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """As the last step gives them."""
        return self.final.margins(self.transform(inputs), threshold)

    def exact_margins(self, inputs: Any, threshold: float) -> FloatArray:
        """As the last step gives them, in its full precision."""
        exact = getattr(self.final, "exact_margins", self.final.margins)
        result: FloatArray = exact(self.transform(inputs), threshold)
        return result


def other_threshold(threshold: float, output: Output) -> float:
    """The threshold of the other one of two classes, for scores of which it is class 1."""
    return 2 * output.middle - threshold


class Rearranged:
    """A predictor whose classes are put into another order, that of the data.

    Args:
        inner: the predictor.
        order: for every class of the result, the class of ``inner``.
        own_threshold: where ``inner`` decides between two classes; ``None`` in the middle.
    """

    def __init__(self, inner: Predictor, order: Sequence[int], own_threshold: float | None = None) -> None:
        self.inner = inner
        self.order = list(order)
        self._threshold = inner.output.middle if own_threshold is None else own_threshold
        self._other = self._threshold if own_threshold is None else other_threshold(own_threshold, inner.output)
        self.n_inputs = inner.n_inputs
        self.n_scores = inner.n_scores
        self.output = inner.output
        self.kind = inner.kind

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_rows, n_scores)`` in the new order."""
        return self.turned(self.inner.predict(inputs))

    def turned(self, scores: FloatArray) -> FloatArray:
        """Scores of ``inner`` in the new order; of two classes: those of the other class, its decisions kept."""
        if self.n_scores > 1:
            return scores[:, self.order]
        mirrored = 2 * self.output.middle - scores
        is_above = scores > self._threshold
        contradicts = (mirrored > self._other) == is_above
        nearest = np.where(is_above, self._other, np.nextafter(self._other, np.inf))
        return np.where(contradicts, nearest, mirrored)

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """Scores less the threshold; several classes: the scores in the new order."""
        if self.n_scores > 1:
            return self.inner.margins(inputs, threshold)[:, self.order]
        return self.predict(inputs) - threshold


def as_label_scores(classes: IntArray, n_classes: int) -> FloatArray:
    """Decisions ``(n_rows,)`` as scores of 0 and 1: one column of two classes, else one a class."""
    if n_classes == 2:
        return classes[:, None].astype(np.float64)
    scores: FloatArray = np.zeros((len(classes), n_classes))
    scores[np.arange(len(classes)), classes] = 1.0
    return scores
