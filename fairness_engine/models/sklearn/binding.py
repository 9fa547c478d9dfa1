"""Binds a scikit-learn estimator to a schema: the encoder it needs, and the fastest predictor that agrees with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.data.missing import WHERE_SAID
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import FitError, cut
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.encoders import LabelsEncoder, choose_encoder
from fairness_engine.models.encoders.tabulated import tabulate
from fairness_engine.models.formats import TAKES_TEXTS
from fairness_engine.models.inputs.spelling import (
    dropped_columns,
    filled_in,
    is_missing_value,
    known_categories,
    missing_value,
    normal,
    refusing_columns,
    spell,
    told_apart_by_blanks,
    unknown_numbers,
)
from fairness_engine.models.model import Encoder, Predictor, decide
from fairness_engine.models.sklearn.bending import bent_inputs
from fairness_engine.models.sklearn.estimator import (
    EstimatorPredictor,
    ask,
    class_indices,
    compile_estimator,
    input_names,
    reads_text,
    scalings,
    takes_frame,
)
from fairness_engine.models.sklearn.native_parts import all_parts, damage_told
from fairness_engine.models.sklearn.own_threshold import own_threshold
from fairness_engine.models.sklearn.support_vectors import SupportVectors
from fairness_engine.models.sklearn.voting import Transformed
from fairness_engine.models.trees.trees import BoostedTrees, Forest

_N_COMPARED = 1_000
_TIE = 1e-13
"""Of a sum of terms, relative to what they add up to without their signs: what another order of adding them may
change.
"""
_SMOOTH_KINDS = ("GaussianNB", "LogisticRegression", "QuadraticDiscriminantAnalysis")
"""Estimators asked themselves that compare no input with a threshold."""


@damage_told()
def encoder_of(estimator: Any, schema: Schema) -> tuple[Encoder, tuple[str, ...]]:
    """What gives the estimator's own inputs, and notes for the user; arguments and errors as ``bind_estimator``."""
    if reads_text(estimator):
        raise FitError(TAKES_TEXTS)
    n_inputs = getattr(estimator, "n_features_in_", None)
    names = input_names(estimator)
    if names is not None:  # what the model itself drops need not be there
        left_out = set(dropped_columns(estimator)) - {column.name for column in schema.inputs}
        names = tuple(name for name in names if name not in left_out)
    encoder = choose_encoder(schema, n_inputs, names, takes_frame(estimator))
    if isinstance(encoder, LabelsEncoder) and _takes_floats(estimator):
        encoder.give_floats()
    return encoder, respell(encoder, estimator, schema)


def _takes_floats(estimator: Any) -> bool:
    """Whether an imputer at any depth refuses whole numbers: pandas had read a column with missing cells as floats, and
    what is filled in is one.
    """
    return any(
        type(part).__name__ == "SimpleImputer"
        and part.strategy == "constant"
        and np.dtype(getattr(part, "_fit_dtype", object)).kind == "f"
        for part in all_parts(estimator)
    )


@dataclass(frozen=True)
class Bound:
    """A classifier bound to a schema.

    Args:
        predictor, encoder, notes: as ``bind_estimator`` gives them.
        threshold: of its own; ``None`` where it has none.
        asked: the estimator whose scores they are: what is inside of one with a threshold, else itself.
    """

    predictor: Predictor
    encoder: Encoder
    notes: tuple[str, ...]
    threshold: float | None
    asked: Any


def bind_classifier(estimator: Any, schema: Schema) -> Bound:
    """As ``bind_estimator``; a classifier with a threshold of its own is read as what is inside, deciding there, where
    that gives the same decisions.
    """
    own = own_threshold(estimator)
    if own is not None:
        bound = Bound(*bind_estimator(own.estimator, schema), own.threshold, own.estimator)
        if bound.predictor.output is own.output and _decides_as(estimator, bound, own.threshold, schema):
            return bound
    return Bound(*bind_estimator(estimator, schema), None, estimator)


def _decides_as(estimator: Any, bound: Bound, threshold: float, schema: Schema) -> bool:
    """Whether scores above a threshold are the estimator's own decisions, on drawn rows."""
    rows = sample_rows(schema, _N_COMPARED, np.random.default_rng(4))
    original: Encoder = getattr(bound.encoder, "original", bound.encoder)
    try:
        expected = class_indices(estimator, ask(estimator, "predict", original.encode(rows)))
        return np.array_equal(decide(bound.predictor.predict(bound.encoder.encode(rows)), threshold), expected)
    except Exception:  # noqa: BLE001 - a model may raise anything; the probe says what, and on which category
        return False


@damage_told()
def bind_estimator(estimator: Any, schema: Schema) -> tuple[Predictor, Encoder, tuple[str, ...]]:
    """A predictor, its encoder, and notes for the user.

    Args:
        estimator: from ``prepare_estimator``.
        schema: what a row is.

    Raises:
        FitError: the estimator's inputs cannot be made from the schema's columns.
        ModelError: its fitted parts contradict one another.
    """
    encoder, notes = encoder_of(estimator, schema)
    rows = sample_rows(schema, _N_COMPARED, np.random.default_rng(4))
    try:
        inputs = encoder.encode(rows)
        expected = class_indices(estimator, ask(estimator, "predict", inputs))
    except Exception:  # noqa: BLE001 - a model may raise anything; the probe says what, and on which category
        return EstimatorPredictor(estimator), encoder, notes
    if len(expected) != len(rows):
        raise FitError(
            f"The model must decide every row, but it gave {len(expected)} decisions for {len(rows)} rows. Check that "
            "it is a classifier of tables, not of text."
        )
    predictor = compile_estimator(estimator)
    if isinstance(predictor, EstimatorPredictor):
        return _ask_itself(estimator, inputs, expected), encoder, notes
    n_others, n_ties = _compare(predictor, inputs, expected)
    if n_others:
        kind = (
            f"read as a {predictor.kind}, it decides {n_others} of {len(rows):,} sampled rows differently than its "
            "file does itself"
        )
        return _ask_itself(estimator, inputs, expected, kind), encoder, notes
    if n_ties:
        notes += (
            f"On {n_ties} of {len(rows):,} sampled rows the model's sum is 0 but for the last digit. There the file "
            "itself is decided by how its library happens to add up; here sums are added in the order of the columns.",
        )
    if isinstance(predictor, Transformed):
        needs = np.float32 if isinstance(predictor.final, Forest | BoostedTrees) else np.float64
        is_smooth = isinstance(predictor.final, DenseNetwork | SupportVectors) or predictor.final.kind in _SMOOTH_KINDS
        bent = _bent_columns(estimator, encoder, schema)
        tabulated = tabulate(schema, encoder, predictor.transform, needs, is_smooth, scalings(estimator), bent)
        if tabulated is not None and _agrees(predictor.final, tabulated.encode(rows), expected):
            return predictor.final, tabulated, notes
    return predictor, encoder, notes


def _bent_columns(estimator: Any, encoder: Encoder, schema: Schema) -> frozenset[str]:
    """The columns that the steps before a pipeline's last do more to than scale."""
    columns: tuple[str, ...] = getattr(encoder, "columns", encoder.names)
    n_inputs = getattr(estimator, "n_features_in_", None)
    if n_inputs != len(columns):  # which input is of which column is not known here
        return frozenset(schema.names) if bent_inputs(estimator[:-1], [0] * (n_inputs or 0)) else frozenset()
    return frozenset(columns[place] for place in bent_inputs(estimator[:-1], range(len(columns))))


def _ask_itself(estimator: Any, inputs: Any, expected: IntArray, reason: str = "") -> Predictor:
    """The estimator's own scores, by the first method whose decisions are those of ``predict``."""
    for method in EstimatorPredictor(estimator).methods():
        predictor = EstimatorPredictor(estimator, method, reason=reason)
        if _agrees(predictor, inputs, expected):
            return predictor
    return EstimatorPredictor(estimator, "predict", reason=reason)


def _agrees(predictor: Predictor, inputs: Any, expected: IntArray) -> bool:
    return _compare(predictor, inputs, expected)[0] == 0


def _compare(predictor: Predictor, inputs: Any, expected: IntArray) -> tuple[int, int]:
    """How many rows are decided otherwise than expected, and how many more lie so near a tie that another order of a
    sum decides.
    """
    threshold = predictor.output.middle
    differ = np.flatnonzero(decide(predictor.predict(inputs), threshold) != expected)
    values = predictor.transform(inputs) if isinstance(predictor, Transformed) else inputs
    final = predictor.final if isinstance(predictor, Transformed) else predictor
    if not len(differ) or not isinstance(final, DenseNetwork) or final.n_scores > 1:
        return len(differ), 0
    sums = np.abs(final.exact_margins(values, threshold)[differ, 0])
    is_tie = sums <= _TIE * final.magnitudes(values)[differ, 0]
    return int((~is_tie).sum()), int(is_tie.sum())


def _respell_missing(encoder: LabelsEncoder, name: str, column: Column, known: Sequence[Any]) -> list[str]:
    """What a column's missing cells are passed as, where the model was trained with a spelling of them as a category;
    said in a sentence.
    """
    own = {normal(value): value for value in known if isinstance(value, str)}
    spellings = [text for text in (*column.missing, "") if text not in column.codes]
    found = [text for text in spellings if normal(text) in own] if column.kind is Kind.CATEGORICAL else []
    if not found:
        return []
    text = found[0]
    shown = f"'{cut(text)}'" if text else "the empty text"
    remedy = f"Say that {shown} is a value ({WHERE_SAID}) to have these people in searches and proofs, too."
    said = f"The model was trained with {shown} of '{cut(column.name)}' as a category, and the data's are read as"
    if len(found) > 1 or any(map(is_missing_value, known)):
        encoder.doubts += (f"{said} missing cells, as others are: the model may answer these rows otherwise. {remedy}",)
        return []
    encoder.respell_missing(name, own[normal(text)])
    return [f"{said} missing cells. The model is given {shown} for them. {remedy}"]


def respell(encoder: Encoder, estimator: Any, schema: Schema) -> tuple[str, ...]:
    """Pass categories as the model spells them, and say which it does not know.

    Raises:
        FitError: a column is of numbers that the model takes for categories, and it fails on those of its range that it
            was trained without.
    """
    if not isinstance(encoder, LabelsEncoder):
        return ()
    known = known_categories(estimator)
    refusing = refusing_columns(estimator)
    filled = filled_in(estimator)
    notes = []
    for name, column in zip(encoder.names, (schema.column(name) for name in encoder.columns), strict=True):
        own = known.get(name)
        unknown = unknown_numbers(column, own)
        if unknown:
            said = (
                f"The model takes the numbers of '{cut(column.name)}' for categories, and was trained without "
                f"{unknown}. Make the column categorical (its type on the Data page, or 'kind' in the schema file), or "
                "narrow its range."
            )
            if name in refusing:
                raise FitError(said)
            notes.append(said)
        missing_cell = missing_value(own or (), filled)
        if missing_cell is None:
            encoder.respell_missing(name, None)
        is_filled_in = (None if missing_cell is None else "nan") in filled
        values, missing = spell(column, own, missing_cell, is_filled_in=is_filled_in)
        if values != list(column.codes):
            encoder.respell(name, values)
        alike = told_apart_by_blanks(column, own or ())
        if alike:
            encoder.doubts += (
                f"The model knows '{cut(alike[0])}' of '{cut(column.name)}' with and without blanks at its ends, as "
                f"two categories. Cells are read without, so all are passed as '{cut(alike[0])}': rows with blanks "
                "there get another answer than in training. Give one of the two another name in the file, and retrain.",
            )
        notes += _respell_missing(encoder, name, column, own or ())
        if missing:
            notes.append(
                f"The model does not know {len(missing)} of the categories of '{column.name}', for example "
                f"'{missing[0]}': it was trained without them. Remove them from the column (Categories on the Data "
                "page, or the schema file), or retrain."
            )
    return tuple(notes)
