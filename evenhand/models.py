"""What opens a model for a review: a file, a fitted classifier, or a function of a data frame."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.data import Data
from fairness_engine.errors import FitError, ModelError

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.arrays import FloatArray
    from fairness_engine.data.schema import Schema
    from fairness_engine.models.model import Model

Opener = Callable[..., "Model"]
_MAX_SHOWN = 6
_MAX_REASON = 160
_TAKE_IN = "Take it in with read_data(..., kinds={'its name': 'categorical'}), or another kind."


def opener_of(model: Any, data: Data) -> Opener | None:
    """What binds a model to a schema, as ``model_process.session.open_table`` takes it; ``None`` without a model.

    Raises:
        ModelError: it is none of the three.
    """
    from fairness_engine.models.open import open_estimator, open_model

    if model is None:
        return None
    if isinstance(model, str | os.PathLike):
        path = Path(model)
        if not path.exists():
            raise ModelError(f"The model must be a file, but there is none at '{path}'.")
        return partial(open_model, path)
    if hasattr(model, "predict") and hasattr(model, "get_params"):
        missing = _left_out(data).intersection(map(str, getattr(model, "feature_names_in_", ())))
        if missing:
            raise FitError(f"The model takes the column '{min(missing)}', which is left out. {_TAKE_IN}")
        return partial(open_estimator, model)
    if callable(model):
        return partial(_open_function, model, data)
    raise ModelError(
        f"The model must be a file, a function or a fitted scikit-learn classifier, got {type(model).__name__}."
    )


def _left_out(data: Data) -> set[str]:
    """Columns of the table that no model is given."""
    return set(data.table.columns) - set(data.schema.names) - {data.label or ""}


def _open_function(function: Callable[[pd.DataFrame], Any], data: Data, schema: Schema, **own: Any) -> Model:
    """A function bound to a schema: it is given data frames as the caller's own, and may return decisions or scores."""
    from fairness_engine.data.schema import ModelInput
    from fairness_engine.models.callable_model import open_callable

    wrapped = _Function(function, data, schema, own["classes"])
    return open_callable(wrapped, replace(schema, model_input=ModelInput.LABELS), **own)


class _Function:
    """A function whose frames look as the caller's, and whose decisions are made scores.

    Args:
        function: from a frame of ``n_rows`` to decisions ``(n_rows,)``, or to scores ``(n_rows,)`` of class 1 or
            ``(n_rows, n_classes)``.
        data, schema: what its rows are.
        classes: the data's outcomes; ``None`` without a label.
    """

    def __init__(
        self, function: Callable[[pd.DataFrame], Any], data: Data, schema: Schema, classes: tuple[str, ...] | None
    ) -> None:
        self._function = function
        self._restore = _Restored(data.frame, schema)
        self._classes = classes
        self._by_text = _outcomes(schema, classes)
        self._label = schema.label
        self._left_out = _left_out(data)
        owner = getattr(function, "__self__", None)
        self._own = getattr(owner, "classes_", None)  # of predict_proba of a fitted classifier

    def __call__(self, frame: pd.DataFrame) -> Any:
        """Scores ``(n_rows, k)``, whose shape ``open_callable`` looks at.

        Raises:
            FitError: the function fails, or returns neither scores nor outcomes.
        """
        given = self._restore(frame)
        try:
            result = self._function(given)
        except Exception as error:
            columns = ", ".join(map(str, given.columns))
            said = str(error).split("\n")[0][:_MAX_REASON]
            missing = sorted(name for name in self._left_out if name in said)
            hint = f" '{missing[0]}' is left out. {_TAKE_IN}" if missing else f" It was given the columns {columns}."
            raise FitError(
                f"The function must decide every row, but it raised {type(error).__name__}: {said}.{hint}"
            ) from error
        answers = np.asarray(result)
        if answers.ndim == 2 and answers.shape[1] == 1:
            answers = answers[:, 0]
        if answers.ndim != 1:
            return self._in_order(answers)
        return self._of_decisions(answers) if self._are_decisions(answers) else answers

    def _in_order(self, scores: Any) -> Any:
        """Scores of each class in the data's order, where the function's owner says which class is which."""
        if self._own is None or self._classes is None or scores.ndim != 2:
            return scores
        places = [self._by_text.get(_key(name)) for name in self._own]
        if sorted(map(str, places)) != sorted(map(str, range(len(self._classes)))):
            return scores
        return scores[:, np.argsort(np.array(places))]

    def _are_decisions(self, answers: Any) -> bool:
        """Whether answers are outcomes: no numbers, whole ones, or numbers that are outcomes and no probabilities."""
        if answers.dtype.kind != "f":
            return True
        known = np.unique(answers)
        return bool(((known < 0) | (known > 1)).any()) and all(_key(value) in self._by_text for value in known.tolist())

    def _of_decisions(self, answers: Any) -> FloatArray:
        """Outcomes, or numbers of classes from 0 on, as scores of 0 and 1."""
        from fairness_engine.models.sklearn.voting import as_label_scores

        distinct, places = np.unique(answers.astype(str), return_inverse=True)
        found = [self._by_text.get(_key(text)) for text in distinct.tolist()]
        n_classes = len(self._classes) if self._classes is not None else 2
        wrong = distinct[found.index(None)] if None in found else ""
        if None in found:
            found = [_number(text, n_classes) for text in distinct.tolist()]
        if None in found:
            known = ", ".join((self._classes or ("0", "1"))[:_MAX_SHOWN])
            whose = f"outcomes of '{self._label}' ({known})" if self._classes else "0 or 1, since the data has no label"
            raise FitError(f"The function must return scores or {whose}, got '{wrong}'.")
        return as_label_scores(np.array(found, dtype=np.int64)[places], n_classes)


class _Restored:
    """Makes the engine's frames look as a data frame that was given: its own values and types.

    Without one, columns of "True" and "False" become truth values, as pandas reads them.

    Args:
        frame: that was given, or ``None``.
        schema: of the engine's frames.
    """

    def __init__(self, frame: pd.DataFrame | None, schema: Schema) -> None:
        import pandas as pd

        self._values: dict[str, Mapping[Any, Any]] = {}
        self._types: dict[str, Any] = {}
        self._names: dict[str, Any] = {}
        given = {} if frame is None else {str(name).strip(): name for name in frame.columns}
        for column in schema.inputs:
            known: Sequence[Any] = (True, False) if set(column.codes) <= {"True", "False"} else ()
            if frame is not None and column.name in given:
                series = frame[given[column.name]]
                known = series.dropna().unique().tolist() if column.codes else ()
                if series.dtype != object and not isinstance(series.dtype, pd.StringDtype):  # texts are texts already
                    self._types[column.name] = series.dtype
                if given[column.name] != column.name:
                    self._names[column.name] = given[column.name]
            own = {_key(value): value for value in known}
            values = {code: own.get(_key(code), code) for code in column.codes}
            if any(type(code) is not type(value) or code != value for code, value in values.items()):
                self._values[column.name] = values

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A frame of the same rows."""
        for name, values in self._values.items():
            frame[name] = frame[name].map(values)
        types = {name: kind for name, kind in self._types.items() if frame[name].dtype != kind}
        frame = frame.astype(types) if types else frame
        return frame.rename(columns=self._names) if self._names else frame


def _outcomes(schema: Schema, classes: tuple[str, ...] | None) -> dict[str, int]:
    """The class of an outcome, by what people read and by what the file holds; the file's word counts first."""
    if classes is None:
        return {"0": 0, "1": 1, "false": 0, "true": 1}
    column = next((each for each in schema.columns if each.name == schema.label), None)
    codes = {} if column is None else dict(zip(column.labels, column.codes, strict=True))
    by_label = {_key(name): place for place, name in enumerate(classes)}
    return by_label | {_key(codes[name]): place for place, name in enumerate(classes) if name in codes}


def _key(value: Any) -> str:
    """An outcome or category for comparison."""
    from fairness_engine.models.inputs.spelling import normal

    return normal(value).casefold()


def _number(text: str, n_classes: int) -> int | None:
    """The number of a class that a text is; truth values are those of class 0 and 1."""
    known = {"false": 0, "true": 1} | {str(place): place for place in range(n_classes)}
    return known.get(_key(text))
