"""Which trainer a model file calls for, or why there is none and what may be trained instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairness_engine.data.schema import ModelInput, Schema
from fairness_engine.errors import ModelError
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.encoders.encoders import CodesEncoder, choose_encoder
from fairness_engine.models.encoders.linked import linked_encoder
from fairness_engine.models.encoders.one_hot import is_text, one_hot_features
from fairness_engine.models.formats import FileFormat, detect_format
from fairness_engine.models.model import Encoder, Model
from fairness_engine.retraining.settings import Begin, RetrainSettings, Surrogate
from fairness_engine.retraining.trainers.trainer import Binding, Trainer

_SEED = 0
_MOST_INPUTS = 500
"""One-hot columns that a surrogate is given, at most: beyond, categories are codes, as they are for trees."""


def make_surrogate(model: Model, binding: Binding, settings: RetrainSettings) -> Trainer:
    """The trainer of the surrogate that the settings name.

    Raises:
        ModelError: the same network is asked for, and the model is none; the schema says that models take texts.
    """
    if settings.surrogate is Surrogate.NETWORK:
        from fairness_engine.retraining.trainers.same_network import network_trainer

        return network_trainer(model, binding, settings)
    from fairness_engine.retraining.trainers.sklearn import EstimatorTrainer

    return EstimatorTrainer(
        _surrogate_estimator(settings.surrogate),
        linked_encoder(_encoder(binding.schema, settings.surrogate), binding.spelling),
        None,
        binding,
    )


def _encoder(schema: Schema, surrogate: Surrogate) -> Encoder:
    """What a surrogate takes, so that its file is opened alike: the codes of categories are no amounts to a linear
    model or a network, so these get one-hot columns, unless the schema says that models take codes.

    Raises:
        ModelError: the schema says that models take texts.
    """
    texts = [column.name for column in schema.inputs if is_text(column)]
    if schema.model_input is ModelInput.LABELS and texts:
        raise ModelError(
            "A surrogate takes codes or one-hot columns, but the schema says that a model takes labels, and those of "
            f"'{texts[0]}' are text. Set how the model takes a row (model_input of the schema) to 'auto' or 'one-hot'."
        )
    n_inputs = len(one_hot_features(schema))
    has_amounts = surrogate in (Surrogate.LINEAR, Surrogate.MLP) and n_inputs <= _MOST_INPUTS
    if schema.model_input is ModelInput.ONE_HOT or (schema.model_input is ModelInput.AUTO and has_amounts):
        return choose_encoder(schema, n_inputs)
    if schema.layout.order:
        return choose_encoder(schema, len(schema.inputs))  # as its file will be opened
    return CodesEncoder(schema)


def _surrogate_estimator(surrogate: Surrogate) -> Any:
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


def make_trainer(
    path: Path, name: str, model: Model, binding: Binding, settings: RetrainSettings, *, unsafe_formats: bool
) -> Trainer:
    """What trains the model again, or the surrogate that the settings name.

    Args:
        path, name: the model's file, and what it was called.
        model: the same, bound to the data.
        binding, settings: how it belongs to the data, and how to train.
        unsafe_formats: read pickle files, which run code on load.

    Raises:
        ModelError: it cannot be trained, and no surrogate is named; the sentence names those there are.
    """
    if settings.surrogate is not Surrogate.NONE:
        return make_surrogate(model, binding, settings)
    file_format = detect_format(path, name)
    if file_format in (FileFormat.KERAS, FileFormat.KERAS_H5):
        from fairness_engine.retraining.trainers.keras import KerasTrainer

        return KerasTrainer.of_file(path, model, binding, settings, afresh=settings.begin is Begin.AFRESH)
    estimator = _estimator(path, file_format, unsafe_formats)
    if estimator is None:
        same = "'network' (the same network in Keras), " if isinstance(model.predictor, DenseNetwork) else ""
        raise ModelError(
            "A model must be a Keras network or a scikit-learn estimator to be trained again, but a file of format "
            f"'{file_format}' holds "
            f"decisions only. Name a surrogate to train instead: {same}'forest', 'tree', 'linear' or 'mlp'."
        )
    if settings.begin is Begin.WEIGHTS:
        raise ModelError(
            f"Only a network of Keras can be trained from its own weights, but this is '{type(estimator).__name__}'. "
            "Train it afresh."
        )
    from fairness_engine.retraining.trainers.sklearn import EstimatorTrainer

    encoder = getattr(model.encoder, "original", model.encoder)
    return EstimatorTrainer(estimator, encoder, estimator.classes_, binding)


def _estimator(path: Path, file_format: FileFormat, unsafe_formats: bool) -> Any:
    from fairness_engine.models.sklearn.estimator import prepare_estimator

    if file_format is FileFormat.SKOPS:
        from fairness_engine.models.sklearn.files import read_skops

        return prepare_estimator(read_skops(path)[0])
    if file_format is FileFormat.PICKLE:
        from fairness_engine.models.sklearn.files import read_pickle

        return prepare_estimator(read_pickle(path, unsafe_formats)[0])
    return None
