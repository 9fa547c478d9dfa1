"""Models that are trained beside one that cannot be trained; each is offered by name and never chosen silently."""

from __future__ import annotations

from typing import Any

from fairness_engine.errors import ModelError
from fairness_engine.mitigation.settings import RetrainSettings, Surrogate
from fairness_engine.mitigation.trainer import Binding, Trainer
from fairness_engine.models.encoding import CodesEncoder, choose_encoder
from fairness_engine.models.model import Encoder, Model
from fairness_engine.models.one_hot import is_text, one_hot_features
from fairness_engine.schema import ModelInput, Schema

_SEED = 0
_MOST_INPUTS = 500
"""One-hot columns that a surrogate is given, at most: beyond, categories are codes, as they are for trees."""


def make_surrogate(model: Model, binding: Binding, settings: RetrainSettings) -> Trainer:
    """The trainer of the surrogate that the settings name.

    Raises:
        ModelError: the same network is asked for, and the model is none; the schema says that models take texts.
    """
    if settings.surrogate is Surrogate.NETWORK:
        from fairness_engine.mitigation.same_network import network_trainer

        return network_trainer(model, binding, settings)
    from fairness_engine.mitigation.sklearn_trainer import EstimatorTrainer

    return EstimatorTrainer(_estimator(settings.surrogate), _encoder(binding.schema, settings.surrogate), None, binding)


def _encoder(schema: Schema, surrogate: Surrogate) -> Encoder:
    """What a surrogate takes, so that its file is opened alike: the codes of categories are no amounts to a linear model or a network,
    so these get one-hot columns, unless the schema says that models take codes.

    Raises:
        ModelError: the schema says that models take texts.
    """
    texts = [column.name for column in schema.inputs if is_text(column)]
    if schema.model_input is ModelInput.LABELS and texts:
        raise ModelError(
            f"A surrogate takes codes or one-hot columns, but the schema says that a model takes labels, and those of '{texts[0]}' are text. "
            "Set how the model takes a row (model_input of the schema) to 'auto' or 'one-hot'."
        )
    n_inputs = len(one_hot_features(schema))
    has_amounts = surrogate in (Surrogate.LINEAR, Surrogate.MLP) and n_inputs <= _MOST_INPUTS
    if schema.model_input is ModelInput.ONE_HOT or (schema.model_input is ModelInput.AUTO and has_amounts):
        return choose_encoder(schema, n_inputs)
    if schema.layout.order:
        return choose_encoder(schema, len(schema.inputs))  # as its file will be opened
    return CodesEncoder(schema)


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
