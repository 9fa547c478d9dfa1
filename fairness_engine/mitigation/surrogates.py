"""Models that are trained beside one that cannot be trained; each is offered by name and never chosen silently."""

from __future__ import annotations

from typing import Any

from fairness_engine.mitigation.settings import RetrainSettings, Surrogate
from fairness_engine.mitigation.trainer import Binding, Trainer
from fairness_engine.models.encoding import CodesEncoder
from fairness_engine.models.model import Model

_SEED = 0


def make_surrogate(model: Model, binding: Binding, settings: RetrainSettings) -> Trainer:
    """The trainer of the surrogate that the settings name.

    Raises:
        ModelError: the same network is asked for, and the model is none.
    """
    if settings.surrogate is Surrogate.NETWORK:
        from fairness_engine.mitigation.same_network import network_trainer

        return network_trainer(model, binding, settings)
    from fairness_engine.mitigation.sklearn_trainer import EstimatorTrainer

    return EstimatorTrainer(_estimator(settings.surrogate), CodesEncoder(binding.schema), None, binding)


def _estimator(surrogate: Surrogate) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    if surrogate is Surrogate.FOREST:
        return RandomForestClassifier(100, min_samples_leaf=3, random_state=_SEED)
    if surrogate is Surrogate.TREE:
        return DecisionTreeClassifier(min_samples_leaf=10, random_state=_SEED)
    linear = LogisticRegression(max_iter=1000, random_state=_SEED)
    network = MLPClassifier((64, 32), early_stopping=True, max_iter=300, random_state=_SEED)
    return Pipeline([("scale", StandardScaler()), ("model", linear if surrogate is Surrogate.LINEAR else network)])
