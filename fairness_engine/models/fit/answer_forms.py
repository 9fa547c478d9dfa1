"""Known answers beside what a model gives here: the forms in which scores are written down, and the scaling of inputs
that answers determine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Column, Schema
from fairness_engine.models.dense.activations import sigmoid
from fairness_engine.models.encoders.domain_values import numeric_codes, positions_of
from fairness_engine.models.fit.input_ways import Way, number_inputs, plain_encoder
from fairness_engine.models.fit.roc import comparable
from fairness_engine.models.model import Model, Output

_N_FITTED = 400
"""Answers that a scaling is fitted to, or more where it has more numbers; all others judge it."""
_LEAST_PER_PARAMETER = 3
_MAX_ROUNDS = 15
_MAX_PARAMETERS = 400
_STEP = 1e-3
"""Far above the rounding of 32-bit networks."""
_MAX_SWEEPS = 6
_STAYS = 1e-6


@dataclass(frozen=True)
class AnswerForm:
    """Scores as they may have been written down.

    Args:
        values: ``(n_rows,)``.
        is_of_other: they are those of the outcome that class 1 is not taken for.
    """

    values: FloatArray
    is_of_other: bool


def forms_of(scores: FloatArray, decided: IntArray, output: Output) -> list[AnswerForm]:
    """A model's scores as they are, a logit as a probability, and the same for the other of two outcomes; of more than
    two those of the class that was decided.

    Args:
        scores: ``(n_rows, n_scores)``.
        decided: ``(n_rows,)``.
    """
    is_logit = output is Output.LOGIT
    if scores.shape[1] > 1:
        told = [scores, np.exp(comparable(scores, output))] if is_logit else [scores]
        return [AnswerForm(each[np.arange(len(each)), decided], False) for each in told]
    values = scores[:, 0]
    if is_logit:
        share = sigmoid(values)
        return [
            *(AnswerForm(values, False), AnswerForm(share, False)),
            *(AnswerForm(-values, True), AnswerForm(1 - share, True)),
        ]
    return [AnswerForm(values, False), AnswerForm(1 - values, True)]


def as_scores(given: FloatArray, output: Output) -> FloatArray:
    """Known answers as a model of probabilities gives them: where some are none, they are logits."""
    known = given[np.isfinite(given)]
    if output is Output.PROBABILITY and len(known) and (known.min() < -1e-6 or known.max() > 1 + 1e-6):
        return np.asarray(np.where(np.isfinite(given), sigmoid(np.nan_to_num(given)), np.nan), dtype=np.float64)
    return given


class Compared:
    """Known answers beside what the model gives here."""

    def __init__(
        self, model: Model, scores: FloatArray, given: FloatArray, classes: IntArray, tolerance: float
    ) -> None:
        self._model = model
        self._classes = classes
        self._decided = model.decide(scores)
        self._given = as_scores(given, model.predictor.output)
        has_score = np.isfinite(given)
        self._has_class = classes >= 0
        self.has_decisions = bool(self._has_class.any())
        forms = forms_of(scores, self._decided, model.predictor.output)
        gaps = [np.where(has_score, np.abs(form.values - self._given), 0.0) for form in forms]
        place = min(range(len(forms)), key=lambda i: float(np.quantile(gaps[i], 0.9)))
        self._form = forms[place]
        gap = gaps[place]
        self.differs = (gap > tolerance) | (self._has_class & (classes != self._decided))
        self.max_difference = float(gap.max(initial=0.0)) if has_score.any() else None

    @property
    def is_same(self) -> bool:
        return not self.differs.any()

    @property
    def is_of_other(self) -> bool:
        """The scores agree as those of the other outcome."""
        return self._form.is_of_other

    @property
    def is_turned(self) -> bool:
        """Every known decision is the other one."""
        known = self._has_class
        return bool(self._model.is_binary and known.any() and (self._classes != self._decided)[known].all())

    def at(self, i: int) -> dict[str, Any]:
        """The two answers for a row."""
        if np.isfinite(self._given[i]):
            return {"given": float(self._given[i]), "got": float(self._form.values[i])}
        names = self._model.classes
        return {"given": names[int(self._classes[i])], "got": names[int(self._decided[i])]}


def nearest_form(model: Model, way: Way, rows: FloatArray, given: FloatArray) -> tuple[int, FloatArray]:
    """The form of a model's scores, read in some way, that fits known answers best, and the differences to them
    ``(n_rows,)``.
    """
    gaps = _gaps(model, way.schema, rows, given)
    place = min(range(len(gaps)), key=lambda i: float(np.median(gaps[i])))
    return place, gaps[place]


def _gaps(model: Model, schema: Schema, rows: FloatArray, given: FloatArray) -> list[FloatArray]:
    """Differences ``(n_rows,)`` to known answers, one array a form."""
    assert model.reread is not None, "asked of a file"
    read = model.reread(schema)
    known = as_scores(given, read.predictor.output)
    scores = read.scores(rows)
    forms = forms_of(scores, read.decide(scores), read.predictor.output)
    return [np.abs(form.values - known) for form in forms]


def fitted_scaling(model: Model, way: Way, rows: FloatArray, given: FloatArray, tolerance: float) -> Way | None:
    """The way with the scaling of its inputs under which the model does give the known answers; ``None`` where there is
    none.

    Found by least squares from the way's own scaling on a part of the answers; all others must then be given too.

    Args:
        model: of a file.
        way: that nearly gives the answers.
        rows, given: of the answers ``(n_answers, n_columns)`` and ``(n_answers,)``.
        tolerance: by how much a score may differ.
    """
    from scipy.optimize import least_squares

    assert model.reread is not None, "asked of a file"
    pairs = way.schema.layout.scaling
    plain = replace(way.schema, layout=replace(way.schema.layout, scaling={}))
    encoder = plain_encoder(model, plain)
    names = [name for name in encoder.names if name in pairs]
    numbers = number_inputs(encoder, plain)
    n_parameters = 2 * len(names)
    n_fitted = min(max(_N_FITTED, _LEAST_PER_PARAMETER * n_parameters), len(rows) // 2)
    if not names or n_parameters > _MAX_PARAMETERS or n_fitted < _LEAST_PER_PARAMETER * n_parameters:
        return None
    predictor = model.reread(plain).predictor
    known = as_scores(given, predictor.output)
    inputs = encoder.plain(rows)
    start = np.array([pairs[name] for name in names])
    spread = np.where(np.isin(names, list(numbers)), 0.1, 0.05)

    def scaling(point: FloatArray) -> FloatArray:
        """``(n_names, 2)``: shifts and scales at a point of the search; the start is at ones, as its steps are in parts
        of a point.
        """
        moves = (point - 1).reshape(-1, 2) * spread[:, None]
        return np.column_stack([start[:, 0] + moves[:, 0] * start[:, 1], start[:, 1] * np.exp(moves[:, 1])])

    def answers(part: slice | NDArray[np.int64], point: FloatArray) -> list[FloatArray]:
        scores = predictor.predict(_scaled(inputs, encoder.names, names, scaling(point), part))
        return [form.values for form in forms_of(scores, model.decide(scores), predictor.output)]

    chosen = np.linspace(0, len(rows) - 1, n_fitted).astype(np.int64)
    origin = np.ones(n_parameters)
    form = int(np.argmin([np.median(np.abs(values - known[chosen])) for values in answers(chosen, origin)]))
    residual: Callable[[FloatArray], FloatArray] = lambda point: answers(chosen, point)[form] - known[chosen]  # noqa: E731
    found = least_squares(
        residual, origin, method="lm", diff_step=_STEP, x_scale=1.0, max_nfev=_MAX_ROUNDS * n_parameters
    ).x
    if not np.abs(answers(slice(None), found)[form] - known).max() <= tolerance:
        return None
    fitted = {name: (float(s), float(c)) for name, (s, c) in zip(names, scaling(found), strict=True)}
    return Way(
        way.order,
        f"{way.scaling}, by what the known answers say",
        replace(plain, layout=replace(plain.layout, scaling=fitted)),
    )


def fitted_codes(model: Model, way: Way, rows: FloatArray, given: FloatArray, tolerance: float) -> Way | None:
    """The way with the numbers for categories under which the model does give the known answers; ``None`` where there
    are none.

    Column after column, every category is given the number with which its rows fit best, until nothing changes; a
    spelling of missing cells may have had one, too.

    Args: as ``fitted_scaling``.
    """
    from scipy.optimize import linear_sum_assignment

    schema = way.schema
    columns = {name: schema.column(name) for name in getattr(plain_encoder(model, schema), "by_place", ())}
    numbers = {name: positions_of(np.asarray(numeric_codes(schema, column))) for name, column in columns.items()}
    n_numbers = {name: len(column.labels) + len(column.missing) for name, column in columns.items()}
    if not columns or any(numbers[name].max() >= n_numbers[name] for name in columns):
        return None

    def coded(own: Mapping[str, IntArray]) -> Schema:
        codes = {name: _in_order(column, own[name]) for name, column in columns.items()}
        return replace(schema, layout=replace(schema.layout, codes=codes, codes_guessed=False))

    form, _ = nearest_form(model, way, rows, given)
    for _ in range(_MAX_SWEEPS):
        before = dict(numbers)
        for name, column in columns.items():
            at = schema.index(name)
            n = len(column.labels)
            misfit = np.zeros((n, n_numbers[name]))  # of each category with each number
            moved = rows.copy()
            moved[:, at] = 0
            for number in range(misfit.shape[1]):
                tried = coded({**numbers, name: _first_at(number, numbers[name])})
                gap = np.minimum(_gaps(model, tried, moved, given)[form], 1.0)
                misfit[:, number] = np.bincount(positions_of(rows[:, at]), gap, n)
            misfit[np.arange(n), numbers[name]] -= _STAYS
            numbers[name] = linear_sum_assignment(misfit)[1]
        if all(np.array_equal(numbers[name], before[name]) for name in columns):
            break
    found = Way(f"{way.order}, categories numbered as the known answers say", way.scaling, coded(numbers))
    return found if nearest_form(model, found, rows, given)[1].max() <= tolerance else None


def _in_order(column: Column, numbers: IntArray) -> tuple[str, ...]:
    """A column's categories in the order of their numbers ``(n_categories,)``; one that none has is that of a missing
    cell.
    """
    own = dict(zip(numbers.tolist(), column.labels, strict=True))
    missing = iter(column.missing)
    return tuple(own[number] if number in own else next(missing) for number in range(max(own) + 1))


def _first_at(number: int, numbers: IntArray) -> IntArray:
    """Numbers of categories with this one for the first of them; who has it takes the first one's."""
    moved = numbers.copy()
    moved[numbers == number] = numbers[0]
    moved[0] = number
    return moved


def _scaled(inputs: Any, names: tuple[str, ...], which: list[str], scaling: FloatArray, part: Any) -> Any:
    """Inputs with some of them scaled, a matrix or a frame."""
    if hasattr(inputs, "to_csv"):
        frame = inputs.iloc[part].copy()
        for name, (shift, scale) in zip(which, scaling, strict=True):
            frame[name] = (frame[name].to_numpy(dtype=np.float64) - shift) / scale
        return frame
    matrix = np.array(inputs[part], dtype=np.float64)
    places = [names.index(name) for name in which]
    matrix[:, places] = (matrix[:, places] - scaling[:, 0]) / scaling[:, 1]
    return matrix
