"""Opens a model file and binds it to a schema.

Everything is refused that could run code or read other files. Only the process that may hold an uploaded model calls
this.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.data.missing import WHERE_SAID
from fairness_engine.data.schema import Schema
from fairness_engine.errors import SettingError, cut
from fairness_engine.models.classes import match_classes
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.encoders import CodesEncoder, FoldedEncoder, choose_encoder
from fairness_engine.models.encoders.one_hot import is_text
from fairness_engine.models.fit.probing import probe
from fairness_engine.models.formats import FileFormat, detect_format
from fairness_engine.models.inputs.typed import TypedEncoder
from fairness_engine.models.model import Encoder, Model, Predictor, measure_rounding
from fairness_engine.models.sklearn.voting import Rearranged, other_threshold

_ROUNDING_ROWS = 10_000
_TRIED_ROWS = 256


@dataclass(frozen=True)
class _Read:
    """What a file yields: a predictor, or an estimator that becomes one when bound; names of its classes; notes."""

    predictor: Predictor | None = None
    estimator: Any = None
    classes: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def prepared(self) -> Any:
        """The estimator, its parts checked: once, however often it is bound."""
        from fairness_engine.models.sklearn.estimator import prepare_estimator

        return prepare_estimator(self.estimator)

    @cached_property
    def compiled(self) -> tuple[Predictor, float | None]:
        """Its fastest predictor, not compared with it, and a threshold of its own: for trials, of which there are
        many.
        """
        from fairness_engine.models.sklearn.estimator import compile_estimator
        from fairness_engine.models.sklearn.native_parts import damage_told
        from fairness_engine.models.sklearn.own_threshold import own_threshold

        own = own_threshold(self.prepared)
        with damage_told():
            predictor = compile_estimator(self.prepared if own is None else own.estimator)
        return predictor, own.threshold if own is not None and own.output is predictor.output else None


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
        classes: the data's outcomes, in its order; the model's classes are matched to them by name, else by position.
            ``None`` takes the model's own names, or "0", "1", ...
        favourable: index in ``classes`` of the outcome that is good for the person.
        threshold: two classes only: above it the decision is class 1; ``None`` takes 0.5, or 0 for logits.
        unsafe_formats: read pickle and joblib files, which run code on load.
        name: the file's name as uploaded, for its suffix; ``None`` takes the path's.

    Raises:
        ModelError: the file is damaged, refused or not of a known format.
        FitError: the model's inputs cannot be made from the schema's columns.
    """
    file_format = detect_format(path, name or path.name)
    read = _read(path, file_format, unsafe_formats, name or path.name)
    bound = partial(_bound, read, file_format, classes=classes, favourable=favourable, threshold=threshold)
    return replace(bound(schema), reread=partial(bound, is_trial=True))


def open_estimator(
    estimator: Any,
    schema: Schema,
    *,
    classes: tuple[str, ...] | None = None,
    favourable: int = 1,
    threshold: float | None = None,
) -> Model:
    """A model of a fitted scikit-learn classifier that somebody has in memory; it is copied.

    Args:
        estimator: with ``classes_``, ``predict`` and ``get_params``.

    Others, and what is raised, as in ``open_model``.
    """
    bound = partial(
        _bound,
        _Read(estimator=copy.deepcopy(estimator)),
        "scikit-learn, in memory",
        classes=classes,
        favourable=favourable,
        threshold=threshold,
    )
    return replace(bound(schema), reread=partial(bound, is_trial=True))


def _bound(
    read: _Read,
    file_format: str,
    schema: Schema,
    *,
    classes: tuple[str, ...] | None,
    favourable: int,
    threshold: float | None,
    is_trial: bool = False,
) -> Model:
    """What was read of a file, bound to a schema; for a trial without its checks, its encoder giving the file's own
    inputs.
    """
    notes = read.notes
    own = read.classes
    own_threshold: float | None = None
    incomplete: Predictor | None = None
    predictor = read.predictor
    if predictor is None:  # a file yields one or the other
        from fairness_engine.models.fit.incomplete import checked_predictor
        from fairness_engine.models.sklearn.binding import bind_classifier, encoder_of
        from fairness_engine.models.sklearn.native_parts import damage_told

        estimator = read.prepared
        if is_trial:
            encoder, more = encoder_of(estimator, schema)
            predictor, own_threshold = read.compiled
            notes = (*notes, *more)
        else:
            bound = bind_classifier(estimator, schema)
            predictor = bound.predictor
            encoder = bound.encoder
            own_threshold = bound.threshold
            notes = (*notes, *bound.notes)
            with damage_told():
                incomplete = checked_predictor(bound.asked, predictor, encoder, schema)
        with damage_told():
            own = tuple(str(name) for name in estimator.classes_)
    else:
        specs = getattr(predictor, "specs", None)  # of several inputs, each of its own type
        if specs is None:
            encoder = choose_encoder(schema, predictor.n_inputs, getattr(predictor, "feature_names", None))
        else:
            encoder = TypedEncoder(schema, specs)
        if hasattr(predictor, "try_out") and not is_trial:  # a file of ONNX does not say what it gives
            predictor.try_out(encoder.encode(sample_rows(schema, _TRIED_ROWS, np.random.default_rng(1))))
        notes = (*notes, *getattr(predictor, "notes", ()))
    return bind(
        predictor,
        encoder,
        schema,
        classes=classes,
        own_classes=own,
        favourable=favourable,
        threshold=threshold,
        own_threshold=own_threshold,
        file_format=file_format,
        notes=notes,
        incomplete=incomplete,
        is_trial=is_trial,
    )


def bind(
    predictor: Predictor,
    encoder: Encoder,
    schema: Schema,
    *,
    classes: tuple[str, ...] | None = None,
    own_classes: Sequence[object] | None = None,
    favourable: int = 1,
    threshold: float | None = None,
    own_threshold: float | None = None,
    file_format: str = "",
    notes: tuple[str, ...] = (),
    incomplete: Predictor | None = None,
    is_trial: bool = False,
) -> Model:
    """A model of a predictor and an encoder, tried on a few rows.

    A plain shift of codes is folded into a network's first layer, so that it costs nothing.

    Args:
        own_classes: what the predictor calls its classes; ``None`` when they are numbered.
        own_threshold: where the file decides, for its class 1; ``None`` at 0.5, or 0 for logits.
        incomplete: see ``Model``.
        is_trial: nothing is folded or tried.

    Others as in ``open_model``.

    Raises:
        FitError: the predictor fails on rows of the schema.
        SettingError: the favourable class is none of the model's.
    """
    match = match_classes(predictor.n_scores if predictor.n_scores > 1 else 2, own_classes, classes, schema)
    if match.order is not None:
        predictor = _rearrange(predictor, match.order, own_threshold)
        incomplete = None if incomplete is None else Rearranged(incomplete, match.order, own_threshold)
        own_threshold = None if own_threshold is None else other_threshold(own_threshold, predictor.output)
    can_fold = isinstance(encoder, CodesEncoder) and not encoder.is_identity and not is_trial
    affine = encoder.affine() if can_fold and isinstance(encoder, CodesEncoder) else None
    if affine is not None and isinstance(predictor, DenseNetwork):
        predictor = predictor.with_affine_inputs(*affine)
        encoder = FoldedEncoder(encoder)
    if not 0 <= favourable < len(match.classes):
        raise SettingError(f"The favourable class must be one of the model's {len(match.classes)}, got {favourable}.")
    default = predictor.output.middle if own_threshold is None else own_threshold
    model = Model(
        predictor,
        encoder,
        default if threshold is None else threshold,
        match.classes,
        favourable,
        own_threshold=own_threshold,
        format=file_format,
        notes=(
            *notes,
            *_threshold_notes(own_threshold),
            *match.notes,
            *getattr(encoder, "notes", ()),
            *_encoding_notes(encoder, schema),
        ),
        names_classes=match.is_named,
        incomplete=incomplete,
    )
    if is_trial:
        return model
    probe(model, schema)
    rows = sample_rows(schema, _ROUNDING_ROWS, np.random.default_rng(0))
    return replace(model, rounding=measure_rounding(model, rows))


def _read(path: Path, file_format: FileFormat, unsafe_formats: bool, name: str) -> _Read:
    if file_format in (FileFormat.KERAS, FileFormat.KERAS_H5):
        return _Read(_read_keras(path))
    if file_format is FileFormat.SKOPS:
        from fairness_engine.models.sklearn.files import read_skops

        estimator, notes = read_skops(path)
        return _Read(estimator=estimator, notes=notes)
    if file_format is FileFormat.PICKLE:
        from fairness_engine.models.sklearn.files import read_pickle

        estimator, notes = read_pickle(path, unsafe_formats, name)
        return _Read(estimator=estimator, notes=notes)
    if file_format is FileFormat.ONNX:
        from fairness_engine.models.onnx.file import read_onnx

        predictor, own = read_onnx(path)
        return _Read(predictor, classes=own)
    from fairness_engine.models.dense.nnet_file import read_nnet

    return _Read(read_nnet(path))


def _read_keras(path: Path) -> Predictor:
    from fairness_engine.models.keras.config import UnreadArchitectureError
    from fairness_engine.models.keras.file import read_keras

    try:
        network: Predictor = read_keras(path)
        return network
    except UnreadArchitectureError:
        from fairness_engine.models.keras.runtime import KerasRuntime

        return KerasRuntime(path)


def _rearrange(predictor: Predictor, order: tuple[int, ...], own_threshold: float | None) -> Predictor:
    if isinstance(predictor, DenseNetwork):
        network = predictor.with_class_order(order)
        if network is not None:
            return network
    return Rearranged(predictor, order, own_threshold)


def _threshold_notes(own_threshold: float | None) -> tuple[str, ...]:
    """Say where a file decides that has a threshold of its own."""
    if own_threshold is None:
        return ()
    return (
        f"The model decides at a threshold of its own, a score of {own_threshold:.6g}. It is used where no other is "
        "set (under Scope, or by --threshold).",
    )


def _encoding_notes(encoder: Encoder, schema: Schema) -> tuple[str, ...]:
    """Say when categories that are text in the file are passed as numbers of the engine's own making."""
    encoder = encoder.original if isinstance(encoder, FoldedEncoder) else encoder
    if not isinstance(encoder, CodesEncoder):
        return ()
    texts = [column for column in (schema.inputs[int(i)] for i in encoder.order) if is_text(column)]
    notes = []
    unsaid = [column for column in texts if column.name not in schema.layout.codes]
    if unsaid:
        first = unsaid[0]
        notes.append(
            "The model takes numbers, so categories are passed as 0, 1, 2, ... in the order of the schema "
            f"('{first.name}': '{first.labels[0]}' is 0, '{first.labels[-1]}' is {len(first.codes) - 1}). Check that "
            "the model was trained with this order."
        )
    spelled = next((column for column in texts if column.missing), None)
    if spelled is not None:
        text = next((each for each in schema.layout.codes.get(spelled.name, ()) if each in spelled.missing), None)
        if text is not None:
            notes.append(
                f"'{cut(text)}' of '{cut(spelled.name)}' has a number of the model's, but counts as a missing cell. "
                f"Say that it is a value ({WHERE_SAID}) to have these people in searches and proofs, too."
            )
        elif spelled in unsaid:
            notes.append(
                f"'{cut(spelled.missing[0])}' of '{cut(spelled.name)}' counts as a missing cell and has no number. If "
                "the model was trained with it as a category, the others have other numbers: say that it is a value "
                f"({WHERE_SAID})."
            )
    return tuple(notes)
