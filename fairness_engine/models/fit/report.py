"""The fit card: does the model belong to the data? Facts first, then warnings with a remedy each.

Accuracy alone proves nothing about the order of the columns, so three rows are shown as the model receives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.codec import encode
from fairness_engine.data.dataset import Dataset
from fairness_engine.data.schema import Kind, Schema
from fairness_engine.errors import ModelError, cut
from fairness_engine.models.classes import some_classes
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.fit.incomplete import incomplete_scores, is_answered
from fairness_engine.models.fit.known_answers import KnownAnswers
from fairness_engine.models.fit.probing import random_in_words, score
from fairness_engine.models.fit.reading import assess_reading
from fairness_engine.models.fit.roc import Outcomes, comparable
from fairness_engine.models.inputs.names import input_matches
from fairness_engine.models.model import Model, Output, measure_rows_per_second
from fairness_engine.telling import wording

_SLOW_ROWS_PER_SECOND = 2_000
_CONSTANT_SHARE = 0.999


def fit_warnings(card: FitCard, n_differing: int, n_nan: int) -> list[str]:
    """All warnings that a card calls for, the gravest first.

    Args:
        card: without warnings.
        n_differing: rows on which two evaluations disagreed.
        n_nan: rows for which the model gave no number.
    """
    return [*_on_output(card, n_differing, n_nan), *_on_accuracy(card), *_on_use(card)]


def _on_output(card: FitCard, n_differing: int, n_nan: int) -> list[str]:
    sentences = []
    if n_nan:
        sentences.append(
            f"The model gives no number (NaN) for {n_nan:,} of {card.n_rows:,} rows: such rows are never reported as "
            "found. Check the ranges of the columns, or retrain the model."
        )
    if n_differing:
        sentences.append(random_in_words(n_differing, card.n_rows))
    low = card.output["min"]
    high = card.output["max"]
    if low is None:
        return sentences
    if card.n_classes == 2 and low == high:
        sentences.append(
            f"The model gives every row the same score ({low:.4g}): among people like these there is nothing to find. "
            "Check that its inputs are scaled and ordered as in its training."
        )
    elif card.output["kind"] == Output.LOGIT:
        sentences.append(
            f"The outputs range {_written(low)} to {_written(high)}: they are scores, not probabilities, and the "
            f"threshold is {card.threshold if card.threshold is not None else 0:g}. Correct it under Scope if the "
            "model means another."
        )
    elif card.output["kind"] == Output.PROBABILITY and (low < -1e-9 or high > 1 + 1e-9):
        sentences.append(
            f"The outputs range {_written(low)} to {_written(high)} and are no probabilities. Set the decision "
            "threshold under Scope."
        )
    if card.output["kind"] == Output.LABEL:
        sentences.append(
            "The model gives labels without scores, so there is no threshold or score gap to set, and searches that "
            "follow slopes see little. Use a version of it that gives probabilities, if there is one."
        )
    if card.n_classes > 2:
        sentences.append(
            f"The model decides between {card.n_classes} classes ({some_classes(card.classes)}). Of them "
            f"'{cut(card.classes[card.favourable])}' is taken for the favourable one, until another is said (under "
            "Scope, or by --favourable); a pair counts when the two people get different classes."
        )
    return sentences


def _on_accuracy(card: FitCard) -> list[str]:
    sentences = []
    largest = max(card.class_shares, key=lambda name: card.class_shares[name])
    if card.class_shares[largest] >= _CONSTANT_SHARE and card.output["min"] != card.output["max"]:
        sentences.append(
            f"Nearly every row of the data is decided '{cut(largest)}' ({100 * card.class_shares[largest]:.1f} %). "
            "Check the order of the columns and the threshold."
        )
    is_doubted = bool(card.reading.get("advice"))  # the reading says the same, with what to do
    accuracy = card.accuracy
    commonest = card.majority_share
    if not is_doubted and accuracy is not None and commonest is not None and accuracy <= commonest:
        sentences.append(
            f"The model is right on {100 * accuracy:.1f} % of the rows, no more than always saying the commonest "
            f"outcome ({100 * commonest:.1f} %). Check the threshold and the label."
        )
    return sentences


def _on_use(card: FitCard) -> list[str]:
    sentences = [
        f"No score changes with '{name}': the model does not use it, so a search would find nothing by construction. "
        "Look at groups instead."
        for name, is_used in card.uses_protected.items()
        if not is_used
    ]
    if card.rows_per_second < _SLOW_ROWS_PER_SECOND:
        seconds = 100_000 / max(card.rows_per_second, 1e-9)
        sentences.append(
            f"The model is slow: about {card.rows_per_second:,.0f} rows a second, so 100,000 evaluations take "
            f"{wording.duration(seconds)}. Choose a small budget, or convert the model to ONNX."
        )
    return sentences


def _written(score: float) -> str:
    """A score in three significant digits, without an exponent for everyday sizes."""
    return f"{score:,.0f}" if 1000 <= abs(score) < 1e9 else f"{score:.3g}"


_MAX_ROWS = 20_000
_N_SHOWN = 3
_N_VARIED = 1_000
_MAX_VALUES = 60
"""Values of a protected column that are tried to see whether the model takes it at all."""
_SPEED_ROWS = 16_384
_TRIAL_ROWS = 64
_SECONDS_FOR_SPEED = 0.3


@dataclass(frozen=True)
class FitCard:
    """What a user should see of a model before trusting any result.

    Args:
        format, kind: of the file and of the model, in words.
        n_inputs, layers: of the model's own inputs; units of each layer of a network, the inputs first.
        n_classes, classes, favourable: the outcomes and the index of the one that is good for the person.
        threshold: two classes: above it the decision is class 1; ``None`` for more.
        n_rows: rows of the data that were evaluated.
        accuracy, majority_share: shares of rows; ``None`` without labels.
        auc: of the score of class 1, of more than two outcomes the mean of each against the others; ``None`` without
            labels, or with one outcome.
        output: ``{"min", "max", "kind"}`` of the scores.
        class_shares: share of rows decided for each class.
        uses_protected: does any decision or score change with the column, by its name.
        not_taken: columns of the schema that are not among the model's inputs.
        is_deterministic: two evaluations of the same rows agree.
        has_gradient: scores can be derived by the columns, which some techniques need.
        reading: how far it is confirmed that the model is read rightly, as ``codec.encode`` gives it.
        sample_rows: three rows: ``labels`` as people read them, ``received`` as the model gets them,
            ``score`` of class 1 (of the decided class when there are more than two), ``decision``.
        warnings: one sentence each, with a remedy.
        rows_per_second: how many rows the model decides.
        inputs: of every input of the model, in its order: its ``name``, the ``column`` and ``category`` it is taken
            for, and ``how`` that is known (``inputs.names.InputMatch``).
        n_incomplete, n_answered: rows with a missing cell beside the complete ones, and how many of them the model
            answers; these count in ``n_rows``, the accuracy and its companions.
    """

    format: str
    kind: str
    n_inputs: int
    layers: tuple[int, ...]
    n_classes: int
    classes: tuple[str, ...]
    favourable: int
    threshold: float | None
    n_rows: int
    accuracy: float | None
    majority_share: float | None
    auc: float | None
    output: Mapping[str, Any]
    class_shares: Mapping[str, float]
    uses_protected: Mapping[str, bool]
    not_taken: tuple[str, ...]
    is_deterministic: bool
    sample_rows: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]
    rows_per_second: float
    has_gradient: bool = False
    inputs: tuple[Mapping[str, Any], ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    n_incomplete: int = 0
    n_answered: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and text; ``from_json`` reads it back to an equal card."""
        content = asdict(self)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in content.items()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> FitCard:
        """Read a card back; one that was made before the last fields were there is read too.

        Raises:
            ModelError: it is none.
        """
        names = {each.name for each in fields(cls)}
        needed = {each.name for each in fields(cls) if each.default is MISSING and each.default_factory is MISSING}
        if not isinstance(content, Mapping) or not needed <= set(content) <= names:
            raise ModelError("A fit card must hold its own fields, got others. Assess the model again.")
        values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in content.items()}
        return cls(**values)


def assess_fit(
    model: Model, dataset: Dataset, rng: np.random.Generator, answers: KnownAnswers | None = None
) -> FitCard:
    """Evaluate the model on the data and on uniform rows, and say what was seen.

    Args:
        model: bound to ``dataset.schema``.
        dataset: up to 20,000 of its rows are used.
        rng: draws those rows and the uniform ones.
        answers: of the model in its own environment.

    Raises:
        FitError: the model fails on rows of the data.
    """
    schema = dataset.schema
    is_finite = np.isfinite(dataset.rows).all(axis=1)
    chosen = np.flatnonzero(is_finite)
    speed = _speed(model, schema, rng)
    n_most = int(min(_MAX_ROWS, max(_TRIAL_ROWS, speed * 5)))  # a slow model is judged on what it does in seconds
    if len(chosen) > n_most:
        chosen = np.sort(rng.choice(chosen, size=n_most, replace=False))
    rows = dataset.rows[chosen]
    scores = score(model, rows, schema)
    again = model.scores(rows)
    n_differing = int((~np.isclose(scores, again, rtol=0, atol=1e-9, equal_nan=True)).any(axis=1).sum())
    partly = _answers_of_incomplete(model, dataset, len(rows) / max(1, len(dataset.rows)), rng)
    every = np.concatenate([scores, partly.scores])
    labels = None if dataset.labels is None else dataset.labels[chosen]
    if labels is not None and partly.labels is not None:
        labels = np.concatenate([labels, partly.labels])
    decisions = model.decide(every)
    is_comparable = labels is not None and len(labels) > 0 and len(dataset.classes) == len(model.classes)
    uses = _uses_protected(model, schema, rows, rng)
    taken = model.taken(schema.names)
    area = None
    if is_comparable and labels is not None:
        area = Outcomes(labels, every.shape[1]).auc(comparable(every, model.predictor.output))
    card = FitCard(
        format=str(model.format),
        kind=model.predictor.kind,
        n_inputs=len(model.encoder.names),
        layers=tuple(getattr(model.predictor, "widths", ())),
        n_classes=len(model.classes),
        classes=model.classes,
        favourable=model.favourable,
        threshold=model.threshold if model.is_binary else None,
        n_rows=len(every),
        accuracy=float((decisions == labels).mean()) if is_comparable else None,
        majority_share=_majority_share(labels),
        auc=area,
        output=_output(every, model.predictor.output.value),
        class_shares=_class_shares(decisions, model.classes),
        uses_protected=uses,
        not_taken=tuple(name for name in schema.names if name not in taken),
        is_deterministic=n_differing == 0,
        sample_rows=_shown_rows(model, schema, rows[:_N_SHOWN], scores[:_N_SHOWN], decisions[:_N_SHOWN]),
        warnings=(),
        rows_per_second=speed,
        has_gradient=model.has_gradient,
        inputs=tuple(asdict(match) for match in input_matches(model.encoder)),
        reading=encode(assess_reading(model, dataset, speed, rng, answers)),
        n_incomplete=0 if dataset.incomplete is None else len(dataset.incomplete),
        n_answered=partly.n_answered,
    )
    n_nan = int(np.isnan(scores).any(axis=1).sum())
    doubts = card.reading["advice"] if is_comparable else ()
    notes = (*model.notes, *doubts, *fit_warnings(card, n_differing, n_nan))
    return replace(card, warnings=notes)


@dataclass(frozen=True)
class _Partly:
    """Answers to incomplete rows: scores and labels of those drawn ``(n, ...)``, and how many of all have an answer."""

    scores: FloatArray
    labels: IntArray | None
    n_answered: int


def _answers_of_incomplete(model: Model, dataset: Dataset, share: float, rng: np.random.Generator) -> _Partly:
    """The model on the same share of the incomplete rows as of the complete ones; rows that it does not take are left
    out.
    """
    more = dataset.incomplete
    if more is None or model.incomplete is None:
        return _Partly(np.empty((0, model.predictor.n_scores)), np.empty(0, dtype=np.int64), 0)
    chosen = np.arange(len(more))
    if share < 1:
        n = min(len(more), max(1, round(share * len(more))))
        chosen = np.sort(rng.choice(len(more), size=n, replace=False))
    scores = incomplete_scores(model, more.rows[chosen])
    answered = is_answered(scores)
    labels = None if more.labels is None else more.labels[chosen][answered]
    n_answered = len(more) if answered.all() else round(len(more) * float(answered.mean()))
    return _Partly(scores[answered], labels, n_answered)


def _speed(model: Model, schema: Schema, rng: np.random.Generator) -> float:
    """Rows a second; a model too slow for many rows is timed on few."""
    rows = sample_rows(schema, _SPEED_ROWS, rng)
    trial = measure_rows_per_second(model, rows[:_TRIAL_ROWS], 0.0)
    n_affordable = int(trial * _SECONDS_FOR_SPEED)
    if n_affordable <= _TRIAL_ROWS:
        return trial
    return measure_rows_per_second(model, rows[:n_affordable], _SECONDS_FOR_SPEED)


def _uses_protected(model: Model, schema: Schema, rows: FloatArray, rng: np.random.Generator) -> dict[str, bool]:
    """Whether the scores of data and uniform rows change when a protected column takes its other values."""
    n_data = min(_N_VARIED, len(rows))
    base = np.concatenate([rows[:n_data], sample_rows(schema, _N_VARIED, rng)])
    before = model.scores(base)
    uses = {}
    for name in schema.protected:
        column = schema.column(name)
        index = schema.index(name)
        n_values = min(column.n_values or _MAX_VALUES, _MAX_VALUES)
        values = np.linspace(column.low, column.high, n_values)
        varied = base.copy()
        uses[name] = False
        for value in values if column.kind is Kind.REAL else np.unique(np.rint(values)):
            varied[:, index] = value
            if not np.allclose(model.scores(varied), before, rtol=0, atol=1e-12, equal_nan=True):
                uses[name] = True
                break
    return uses


def _majority_share(labels: IntArray | None) -> float | None:
    return None if labels is None or not len(labels) else float(np.bincount(labels).max() / len(labels))


def _output(scores: FloatArray, kind: str) -> dict[str, Any]:
    finite = scores[np.isfinite(scores)]
    lowest, highest = (float(finite.min()), float(finite.max())) if len(finite) else (None, None)
    return {"min": lowest, "max": highest, "kind": kind}


def _class_shares(decisions: IntArray, classes: tuple[str, ...]) -> dict[str, float]:
    counts = np.bincount(decisions, minlength=len(classes))
    return {name: float(counts[i] / max(1, len(decisions))) for i, name in enumerate(classes)}


def _shown_rows(
    model: Model, schema: Schema, rows: FloatArray, scores: FloatArray, decisions: IntArray
) -> tuple[dict[str, Any], ...]:
    received = model.encoder.plain(rows)
    table = received.to_numpy(dtype=object) if hasattr(received, "to_numpy") else received
    return tuple(
        {
            "labels": {column.name: column.text(row[i]) for i, column in enumerate(schema.inputs)},
            "received": {name: _plain_value(value) for name, value in zip(model.encoder.names, line, strict=True)},
            "score": float(values[0] if model.is_binary else values.max()),
            "decision": model.classes[int(decision)],
        }
        for row, line, values, decision in zip(rows, table, scores, decisions, strict=True)
    )


def _plain_value(value: Any) -> int | float | str | bool:
    if isinstance(value, str | bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    number = float(value)
    return int(number) if number.is_integer() else number
