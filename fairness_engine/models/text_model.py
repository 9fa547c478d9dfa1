"""Models that take a string: scikit-learn pipelines that begin with a vectorizer, Keras networks that begin with TextVectorization.

Only the process that may hold an uploaded model calls this. What a table's model needs beyond scores (an encoder, variants,
gradients) has no meaning here, so a text model is a type of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.errors import EvenhandError, FitError, ModelError, SettingError
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.models.classes import match_classes
from fairness_engine.models.composite import Rearranged
from fairness_engine.models.formats import FileFormat, detect_format
from fairness_engine.models.model import Output, Predictor, decide
from fairness_engine.schema import Schema

_TRIAL = ("The weather was fine.", "I did not like it at all!", "a", "Ünïcode, too: 北京 🙂")


@dataclass(frozen=True)
class TextModel:
    """A predictor of texts, bound to the outcomes of a data set.

    Args:
        predictor: scores of a list of strings.
        threshold: two classes only: the decision is class 1 when the score is greater.
        classes: what the label's column holds for class 0, 1, ...
        favourable: index of the class that is good for the person.
        format: of the file, in words.
        notes: what a user should know of how the model was read, one sentence each.
    """

    predictor: Predictor
    threshold: float = 0.5
    classes: tuple[str, ...] = ("0", "1")
    favourable: int = 1
    format: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_binary(self) -> bool:
        """True when one score decides between two classes."""
        return self.predictor.n_scores == 1

    def scores(self, texts: Sequence[str]) -> FloatArray:
        """Scores of texts, ``(n_texts, n_scores)``."""
        return self.predictor.predict(list(texts))

    def margins(self, texts: Sequence[str]) -> FloatArray:
        """Scores with the threshold at 0, ``(n_texts, n_scores)``; several classes: the scores."""
        return self.predictor.margins(list(texts), self.threshold)

    def decide(self, scores: FloatArray) -> IntArray:
        """Classes ``(n_texts,)`` of scores ``(n_texts, n_scores)``."""
        return decide(scores, self.threshold)

    def is_favourable(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each text gets the favourable outcome ``(n_texts,)``."""
        return np.asarray(self.decide(self.scores(texts)) == self.favourable)


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
        FitError: the model takes no strings, or fails on them.
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
    default = 0.0 if predictor.output is Output.LOGIT else 0.5
    chosen = default if threshold is None else threshold
    model = TextModel(predictor, chosen, match.classes, favourable, file_format, (*notes, *match.notes))
    score_texts(model, _TRIAL)
    return model


def score_texts(model: TextModel, texts: Sequence[str]) -> FloatArray:
    """Scores ``(n_texts, n_scores)``, checked.

    Raises:
        FitError: the model raises an error, or returns something else than one line of numbers a text.
    """
    try:
        scores = np.asarray(model.scores(texts))
    except EvenhandError:
        raise
    except Exception as error:  # noqa: BLE001 - a model may raise anything
        reason = (str(error).splitlines() or [""])[0][:160]
        raise FitError(
            f"The model fails on texts ({type(error).__name__}: {reason}). Check that it takes one string a row."
        ) from None
    if scores.shape != (len(texts), model.predictor.n_scores) or scores.dtype.kind != "f":
        raise FitError(
            f"The model must return one line of {model.predictor.n_scores} scores a text, got an array of shape {scores.shape} for "
            f"{len(texts)} texts. Check that it is a classifier of single texts."
        )
    return scores


def _read(
    path: Path, file_format: FileFormat, unsafe_formats: bool
) -> tuple[Predictor, tuple[str, ...] | None, tuple[str, ...]]:
    """A predictor, what it calls its classes, and notes."""
    if file_format in (FileFormat.KERAS, FileFormat.KERAS_H5):
        from fairness_engine.models.keras_text import KerasText

        return KerasText(path), None, ()
    if file_format is FileFormat.SKOPS:
        from fairness_engine.models.skops_file import read_skops

        estimator, notes = read_skops(path)
    elif file_format is FileFormat.PICKLE:
        from fairness_engine.models.pickle_file import read_pickle

        estimator, notes = read_pickle(path, unsafe_formats)
    else:
        raise FitError(
            f"A model for texts must be a scikit-learn pipeline (.skops) or a Keras model (.keras), got the format {file_format}. "
            "Save it as one of these."
        )
    return _of_estimator(estimator, notes)


def _of_estimator(estimator: Any, notes: tuple[str, ...]) -> tuple[Predictor, tuple[str, ...], tuple[str, ...]]:
    from fairness_engine.models.sklearn_model import file_reader, prepare_estimator, reads_text

    estimator = prepare_estimator(estimator)
    if not reads_text(estimator):
        raise FitError(
            f"A model for texts must take one string a row, but this '{type(estimator).__name__}' takes a row of a table. Choose the "
            "review's columns, or a pipeline that begins with a vectorizer of texts."
        )
    reader = file_reader(estimator)
    if reader is not None:
        raise ModelError(
            f"The model's '{reader}' takes names of files (input other than 'content'), which is refused. Make it with "
            "input='content' and fit it again."
        )
    predictor = _by_own_decisions(estimator)
    predictor.kind = " and ".join(type(step).__name__ for _, step in getattr(estimator, "steps", ((None, estimator),)))
    return predictor, tuple(str(each) for each in estimator.classes_), notes


def _by_own_decisions(estimator: Any) -> Predictor:
    """The estimator's own scores, by the first method whose decisions on the trial texts are those of ``predict``."""
    from fairness_engine.models.sklearn_model import EstimatorPredictor, ask, class_indices

    texts = list(_TRIAL)
    try:
        expected = class_indices(estimator, ask(estimator, "predict", texts))
        for method in EstimatorPredictor(estimator).methods():
            predictor = EstimatorPredictor(estimator, method)
            middle = 0.0 if predictor.output is Output.LOGIT else 0.5
            if bool((decide(predictor.predict(texts), middle) == expected).all()):
                return predictor
    except Exception:  # noqa: BLE001 - a model may raise anything; the trial says what
        return EstimatorPredictor(estimator)
    return EstimatorPredictor(estimator, "predict")
