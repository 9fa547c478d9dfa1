"""Classifiers with a threshold of their own around another one: ``FixedThresholdClassifier`` and
``TunedThresholdClassifierCV``.

They are read as what is inside, deciding at that threshold: it has scores, and can be proved, where the whole gives
decisions alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.models.model import Output
from fairness_engine.models.sklearn.estimator import prepare_estimator

_OUTPUTS = {"predict_proba": Output.PROBABILITY, "decision_function": Output.LOGIT}


@dataclass(frozen=True)
class OwnThreshold:
    """What is inside of a classifier with a threshold, and how it decides.

    Args:
        estimator: the classifier inside, fitted.
        output: which of its answers is compared.
        threshold: the decision is class 1 when the score of class 1 is greater.
    """

    estimator: Any
    output: Output
    threshold: float


def own_threshold(estimator: Any) -> OwnThreshold | None:
    """How a classifier with a threshold decides; ``None`` for another, and for one that does not say it as scikit-learn
    does.
    """
    find = _FINDERS.get(type(estimator).__name__)
    if find is None or not type(estimator).__module__.startswith("sklearn."):
        return None
    try:
        inner = prepare_estimator(getattr(estimator, "estimator_", estimator.estimator))
        wanted = estimator.response_method
        methods = list(_OUTPUTS) if wanted == "auto" else [wanted]
        output = next(_OUTPUTS[method] for method in methods if hasattr(inner, method))
        threshold, positive = find(estimator, output)
        if positive is None or positive == estimator.classes_[1]:
            # Theirs decides for the class at the threshold, too.
            return OwnThreshold(inner, output, float(np.nextafter(threshold, -np.inf)))
        of_class_one = -threshold if output is Output.LOGIT else 1.0 - threshold
        return OwnThreshold(inner, output, float(of_class_one)) if positive == estimator.classes_[0] else None
    except Exception:  # noqa: BLE001 - a damaged estimator fails in any way, and is asked itself
        return None


def _of_fixed(estimator: Any, output: Output) -> tuple[float, Any]:
    threshold = output.middle if estimator.threshold == "auto" else float(estimator.threshold)
    return threshold, estimator.pos_label


def _of_tuned(estimator: Any, output: Output) -> tuple[float, Any]:  # noqa: ARG001 - one signature for both
    return float(estimator.best_threshold_), estimator._curve_scorer._get_pos_label()


_FINDERS = {"FixedThresholdClassifier": _of_fixed, "TunedThresholdClassifierCV": _of_tuned}
"""Each gives the score from which the decision is for the class that it calls positive, and that class."""
