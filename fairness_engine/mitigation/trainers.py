"""Which trainer a model file calls for, or why there is none and what may be trained instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairness_engine.errors import ModelError
from fairness_engine.mitigation.settings import Begin, RetrainSettings, Surrogate
from fairness_engine.mitigation.trainer import Binding, Trainer
from fairness_engine.models.dense import DenseNetwork
from fairness_engine.models.formats import FileFormat, detect_format
from fairness_engine.models.model import Model


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
        from fairness_engine.mitigation.surrogates import make_surrogate

        return make_surrogate(model, binding, settings)
    file_format = detect_format(path, name)
    if file_format in (FileFormat.KERAS, FileFormat.KERAS_H5):
        from fairness_engine.mitigation.keras_trainer import KerasTrainer

        return KerasTrainer.of_file(path, model, binding, settings, afresh=settings.begin is Begin.AFRESH)
    estimator = _estimator(path, file_format, unsafe_formats)
    if estimator is None:
        same = "'network' (the same network in Keras), " if isinstance(model.predictor, DenseNetwork) else ""
        raise ModelError(
            f"A model must be a Keras network or a scikit-learn estimator to be trained again, but a file of format '{file_format}' holds "
            f"decisions only. Name a surrogate to train instead: {same}'forest', 'tree', 'linear' or 'mlp'."
        )
    if settings.begin is Begin.WEIGHTS:
        raise ModelError(
            f"Only a network of Keras can be trained from its own weights, but this is '{type(estimator).__name__}'. Train it afresh."
        )
    from fairness_engine.mitigation.sklearn_trainer import EstimatorTrainer

    encoder = getattr(model.encoder, "original", model.encoder)
    return EstimatorTrainer(estimator, encoder, estimator.classes_, binding)


def _estimator(path: Path, file_format: FileFormat, unsafe_formats: bool) -> Any:
    from fairness_engine.models.sklearn_model import prepare_estimator

    if file_format is FileFormat.SKOPS:
        from fairness_engine.models.skops_file import read_skops

        return prepare_estimator(read_skops(path)[0])
    if file_format is FileFormat.PICKLE:
        from fairness_engine.models.pickle_file import read_pickle

        return prepare_estimator(read_pickle(path, unsafe_formats)[0])
    return None
