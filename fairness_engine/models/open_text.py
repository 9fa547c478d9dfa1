"""Opens models that take a string: only the process that may hold an uploaded model calls this."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairness_engine.data.schema import Schema
from fairness_engine.errors import FitError, ModelError, SettingError
from fairness_engine.models.classes import match_classes
from fairness_engine.models.fit.probing import refuse_random
from fairness_engine.models.formats import FileFormat, detect_format
from fairness_engine.models.model import Predictor, decide
from fairness_engine.models.sklearn.voting import Rearranged
from fairness_engine.models.text_model import TextModel, score_texts

_TRIAL = ("The weather was fine.", "I did not like it at all!", "a", "Ünïcode, too: 北京 🙂")


def open_text_model(
    path: Path,
    schema: Schema,
    *,
    classes: tuple[str, ...] | None = None,
    favourable: int = 1,
    threshold: float | None = None,
    unsafe_formats: bool = False,
    name: str | None = None,
) -> TextModel:
    """Open a model file that takes strings, and try it on a few.

    Args:
        path: the file.
        schema: says which codes the label's column holds.
        classes: the data's outcomes, in its order; the model's classes are matched to them by name, else by position.
        favourable: index in ``classes`` of the outcome that is good for the person.
        threshold: two classes only: above it the decision is class 1; ``None`` takes 0.5, or 0 for logits.
        unsafe_formats: read pickle and joblib files, which run code on load.
        name: the file's name as uploaded, for its suffix; ``None`` takes the path's.

    Raises:
        ModelError: the file is damaged, refused or of no known format.
        FitError: the model takes no strings, fails on them, or answers them at random.
        SettingError: the favourable class is none of the model's.
    """
    file_format = detect_format(path, name or path.name)
    read = _read(path, file_format, unsafe_formats)
    return _bound(*read, schema, classes, favourable, threshold, file_format.value)


def fitted_text_model(
    estimator: Any, schema: Schema, classes: tuple[str, ...], favourable: int, threshold: float | None
) -> TextModel:
    """A fitted pipeline of scikit-learn, bound as ``open_text_model`` binds the one in a file.

    Raises:
        FitError, ModelError: as ``open_text_model``.
    """
    return _bound(*_of_estimator(estimator, ()), schema, classes, favourable, threshold, FileFormat.SKOPS.value)


def _bound(
    predictor: Predictor,
    own: tuple[str, ...] | None,
    notes: tuple[str, ...],
    schema: Schema,
    classes: tuple[str, ...] | None,
    favourable: int,
    threshold: float | None,
    file_format: str,
) -> TextModel:
    match = match_classes(predictor.n_scores if predictor.n_scores > 1 else 2, own, classes, schema)
    if match.order is not None:
        predictor = Rearranged(predictor, match.order)
    if not 0 <= favourable < len(match.classes):
        raise SettingError(f"The favourable class must be one of the model's {len(match.classes)}, got {favourable}.")
    default = predictor.output.middle
    chosen = default if threshold is None else threshold
    model = TextModel(predictor, chosen, match.classes, favourable, file_format, (*notes, *match.notes))
    refuse_random(score_texts(model, _TRIAL), score_texts(model, _TRIAL))
    return model


def _read(
    path: Path, file_format: FileFormat, unsafe_formats: bool
) -> tuple[Predictor, tuple[str, ...] | None, tuple[str, ...]]:
    """A predictor, what it calls its classes, and notes."""
    if file_format in (FileFormat.KERAS, FileFormat.KERAS_H5):
        from fairness_engine.models.keras.text import KerasText

        return KerasText(path), None, ()
    if file_format is FileFormat.SKOPS:
        from fairness_engine.models.sklearn.files import read_skops

        estimator, notes = read_skops(path)
    elif file_format is FileFormat.PICKLE:
        from fairness_engine.models.sklearn.files import read_pickle

        estimator, notes = read_pickle(path, unsafe_formats)
    else:
        raise FitError(
            "A model for texts must be a scikit-learn pipeline (.skops) or a Keras model (.keras), got the format "
            f"{file_format}. Save it as one of these."
        )
    return _of_estimator(estimator, notes)


def _of_estimator(estimator: Any, notes: tuple[str, ...]) -> tuple[Predictor, tuple[str, ...], tuple[str, ...]]:
    from fairness_engine.models.sklearn.estimator import file_reader, prepare_estimator, reads_text
    from fairness_engine.models.sklearn.native_parts import damage_told

    estimator = prepare_estimator(estimator)
    with damage_told():
        reads_words = reads_text(estimator)
        reader = file_reader(estimator)
        classes = tuple(str(each) for each in estimator.classes_)
    if not reads_words:
        raise FitError(
            f"A model for texts must take one string a row, but this '{type(estimator).__name__}' takes a row of a "
            "table. Choose the review's columns, or a pipeline that begins with a vectorizer of texts."
        )
    if reader is not None:
        raise ModelError(
            f"The model's '{reader}' takes names of files (input other than 'content'), which is refused. Make it with "
            "input='content' and fit it again."
        )
    predictor = _by_own_decisions(estimator)
    predictor.kind = " and ".join(type(step).__name__ for _, step in getattr(estimator, "steps", ((None, estimator),)))
    return predictor, classes, notes


def _by_own_decisions(estimator: Any) -> Predictor:
    """The estimator's own scores, by the first method whose decisions on the trial texts are those of ``predict``."""
    from fairness_engine.models.sklearn.estimator import EstimatorPredictor, ask, class_indices

    texts = list(_TRIAL)
    try:
        expected = class_indices(estimator, ask(estimator, "predict", texts))
        for method in EstimatorPredictor(estimator).methods():
            predictor = EstimatorPredictor(estimator, method)
            middle = predictor.output.middle
            if bool((decide(predictor.predict(texts), middle) == expected).all()):
                return predictor
    except Exception:  # noqa: BLE001 - a model may raise anything; the trial says what
        return EstimatorPredictor(estimator)
    return EstimatorPredictor(estimator, "predict")
