"""Opens a model file: the format is told by its content, the name's suffix only decides what content cannot.

Everything is refused that could run code or read other files. Only the process that may hold an uploaded model calls this.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from fairness_engine.models.dense import DenseNetwork
from fairness_engine.models.encoding import CodesEncoder, FoldedEncoder, choose_encoder, sample_rows
from fairness_engine.models.model import Encoder, Model, Output, Predictor, measure_rounding
from fairness_engine.schema import Schema

MAX_MODEL_BYTES = 200_000_000
_HEAD_BYTES = 4096
_ROUNDING_ROWS = 10_000


class FileFormat(StrEnum):
    """The formats of model files, in the words of a screen."""

    KERAS = "Keras (.keras)"
    KERAS_H5 = "Keras (.h5)"


def open_model(
    path: Path,
    schema: Schema,
    *,
    classes: tuple[str, ...] | None = None,
    favourable: int = 1,
    threshold: float | None = None,
    unsafe_formats: bool = False,
    name: str | None = None,
) -> Model:
    """Open a model file and bind it to a schema.

    Args:
        path: the file.
        schema: what a row is.
        classes: what the label's column holds for class 0, 1, ...; ``None`` takes the model's own, or "0", "1", ...
        favourable: index in ``classes`` of the outcome that is good for the person.
        threshold: two classes only: above it the decision is class 1; ``None`` takes 0.5, or 0 for logits.
        unsafe_formats: read pickle and joblib files, which run code on load.
        name: the file's name as uploaded, for its suffix; ``None`` takes the path's.

    Raises:
        ModelError: the file is damaged, refused or not of a known format.
        FitError: the model's inputs cannot be made from the schema's columns.
    """
    from fairness_engine.models.keras_file import read_keras

    network = read_keras(path)
    encoder = choose_encoder(schema, network.n_inputs, network.feature_names)
    return bind(
        network,
        encoder,
        schema,
        classes=classes,
        favourable=favourable,
        threshold=threshold,
        file_format=FileFormat.KERAS,
    )


def bind(
    predictor: Predictor,
    encoder: Encoder,
    schema: Schema,
    *,
    classes: tuple[str, ...] | None = None,
    favourable: int = 1,
    threshold: float | None = None,
    file_format: str = "",
    notes: tuple[str, ...] = (),
) -> Model:
    """A model of a predictor and an encoder; a plain shift of codes is folded into a network's first layer."""
    affine = encoder.affine() if isinstance(encoder, CodesEncoder) and not encoder.is_identity else None
    if affine is not None and isinstance(predictor, DenseNetwork):
        predictor, encoder = predictor.with_affine_inputs(*affine), FoldedEncoder(encoder)
    n_classes = 2 if predictor.n_scores == 1 else predictor.n_scores
    if threshold is None:
        threshold = 0.0 if predictor.output is Output.LOGIT else 0.5
    model = Model(
        predictor,
        encoder,
        threshold,
        classes or tuple(str(i) for i in range(n_classes)),
        favourable,
        format=file_format,
        notes=notes,
    )
    rows = sample_rows(schema, _ROUNDING_ROWS, np.random.default_rng(0))
    return replace(model, rounding=measure_rounding(model, rows))
