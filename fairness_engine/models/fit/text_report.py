"""The fit card of a model of texts: the same facts as for a table, and what has no meaning for texts left empty."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.texts import UNKNOWN, Texts
from fairness_engine.models.fit.report import FitCard
from fairness_engine.models.fit.roc import Outcomes, comparable
from fairness_engine.models.model import Output
from fairness_engine.models.text_model import TextModel, score_texts

_MAX_TEXTS = 5_000
_TRIAL_TEXTS = 32
_SECONDS = 5.0
"""A slow model is judged on as many texts as it decides in this time."""
_N_SHOWN = 3
_SLOW_TEXTS_PER_SECOND = 500
_INVERTED_AUC = 0.45
_CONSTANT_SHARE = 0.999


def assess_text_fit(model: TextModel, texts: Texts, rng: np.random.Generator) -> FitCard:
    """Evaluate the model on texts of the data, and say what was seen.

    Args:
        model: opened with the data's outcomes.
        texts: up to 5,000 of them are used.
        rng: draws those.

    Returns:
        a card whose ``n_inputs`` is 1 (a string), with no layers and no protected columns; ``rows_per_second`` counts
        texts.

    Raises:
        FitError: the model fails on a text.
    """
    speed = _speed(model, texts.texts[:_TRIAL_TEXTS])
    n = int(min(len(texts), _MAX_TEXTS, max(_TRIAL_TEXTS, speed * _SECONDS)))
    chosen = np.sort(rng.choice(len(texts), size=n, replace=False))
    sample = [texts.texts[i] for i in chosen.tolist()]
    started = time.perf_counter()
    scores = score_texts(model, sample)
    speed = max(speed, n / max(time.perf_counter() - started, 1e-9))
    again = score_texts(model, sample[::-1])[::-1]
    decisions = model.decide(scores)
    labels = None if texts.labels is None else texts.labels[chosen]
    has_labels = labels is not None and bool((labels != UNKNOWN).any())
    finite = scores[np.isfinite(scores)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (None, None)
    counts = np.bincount(decisions, minlength=len(model.classes))
    accuracy, majority_share, area = _accuracy(model, texts, scores, decisions, labels if has_labels else None)
    card = FitCard(
        format=model.format,
        kind=model.predictor.kind,
        n_inputs=1,
        layers=(),
        n_classes=len(model.classes),
        classes=model.classes,
        favourable=model.favourable,
        threshold=model.threshold if model.is_binary else None,
        n_rows=n,
        accuracy=accuracy,
        majority_share=majority_share,
        auc=area,
        output={"min": low, "max": high, "kind": model.predictor.output.value},
        class_shares={name: float(counts[i] / n) for i, name in enumerate(model.classes)},
        uses_protected={},
        not_taken=(),
        is_deterministic=bool(np.allclose(scores, again, rtol=0, atol=1e-5, equal_nan=True)),
        sample_rows=tuple(
            {
                "labels": {texts.column: text},
                "received": {texts.column: text},
                "score": float(line[0] if model.is_binary else line.max()),
                "decision": model.classes[int(decision)],
            }
            for text, line, decision in zip(sample[:_N_SHOWN], scores, decisions, strict=False)
        ),
        warnings=(),
        rows_per_second=speed,
    )
    return replace(card, warnings=(*model.notes, *_warnings(card, int(np.isnan(scores).any(axis=1).sum()))))


def _accuracy(
    model: TextModel, texts: Texts, scores: FloatArray, decisions: IntArray, labels: IntArray | None
) -> tuple[float | None, float | None, float | None]:
    """Accuracy, the commonest outcome's share and the AUC over the texts whose outcome is known."""
    if labels is None:
        return None, None, None
    is_known = labels != UNKNOWN
    known = labels[is_known]
    commonest = float(np.bincount(known).max() / len(known))
    if len(texts.classes) != len(model.classes):
        return None, commonest, None
    area = Outcomes(known, scores.shape[1]).auc(comparable(scores[is_known], model.predictor.output))
    return float((decisions[is_known] == known).mean()), commonest, area


def _speed(model: TextModel, texts: tuple[str, ...]) -> float:
    """Texts a second, of a second call: the first of a network builds its graph."""
    score_texts(model, texts)
    before = time.perf_counter()
    score_texts(model, texts)
    return len(texts) / max(time.perf_counter() - before, 1e-9)


def _warnings(card: FitCard, n_nan: int) -> list[str]:
    """What was seen and what to do about it, one sentence each."""
    said = []
    low = card.output["min"]
    high = card.output["max"]
    if n_nan:
        said.append(f"The model gives no number (NaN) for {n_nan:,} of {card.n_rows:,} texts. Retrain the model.")
    if not card.is_deterministic:
        said.append(
            "The model is random: two runs on the same texts differ, so what is found may not hold. Switch dropout "
            "off and save the model again."
        )
    if low is not None and low == high and card.n_classes == 2:
        said.append(
            f"The model gives every text the same score ({low:.4g}): among texts like these there is nothing to find. "
            "Check that it takes this column's language and words."
        )
    elif max(card.class_shares.values()) >= _CONSTANT_SHARE:
        largest = max(card.class_shares, key=lambda name: card.class_shares[name])
        said.append(
            f"Nearly every text is decided '{largest}'. Check the threshold, and that this is the right column."
        )
    if card.output["kind"] == Output.LABEL:
        said.append(
            "The model gives labels without scores, so there is no threshold to set. Use a version that gives "
            "probabilities."
        )
    if len(card.classes) == 2 and card.auc is not None and card.auc < _INVERTED_AUC:
        said.append(
            f"The outputs look inverted (AUC {card.auc:.2f}, below 0.5): is the favourable label right? Exchange the "
            "outcomes."
        )
    elif card.accuracy is not None and card.majority_share is not None and card.accuracy <= card.majority_share:
        said.append(
            f"The model is right on {100 * card.accuracy:.1f} % of the texts, no more than always saying the commonest "
            f"outcome ({100 * card.majority_share:.1f} %). Check the text column and the label."
        )
    if card.rows_per_second < _SLOW_TEXTS_PER_SECOND:
        said.append(
            f"The model is slow: about {card.rows_per_second:,.0f} texts a second. Set a limit of seconds for the run, "
            "or ask for fewer terms."
        )
    return said
