"""The sentences of the fit card: what was seen, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairness_engine.models.model import Output

if TYPE_CHECKING:
    from fairness_engine.models.fit import FitCard

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
            f"The model gives no number (NaN) for {n_nan:,} of {card.n_rows:,} rows: such rows are never reported as found. "
            "Check the ranges of the columns, or retrain the model."
        )
    if n_differing:
        sentences.append(
            f"The model is random: two runs differ on {n_differing:,} of {card.n_rows:,} rows, so pairs found may not "
            "hold. Switch dropout and sampling off and save the model again."
        )
    low, high = card.output["min"], card.output["max"]
    if low is None:
        return sentences
    if card.n_classes == 2 and low == high:
        sentences.append(
            f"The model gives every row the same score ({low:.4g}): nothing can be found. Check that its inputs are scaled and "
            "ordered as in its training."
        )
    elif card.output["kind"] == Output.LOGIT:
        sentences.append(
            f"The outputs range {_written(low)} to {_written(high)}: they are scores, not probabilities, and the threshold is "
            f"{card.threshold if card.threshold is not None else 0:g}. Correct it under Scope if the model means another."
        )
    elif card.output["kind"] == Output.PROBABILITY and (low < -1e-9 or high > 1 + 1e-9):
        sentences.append(
            f"The outputs range {_written(low)} to {_written(high)} and are no probabilities. Set the decision threshold under Scope."
        )
    if card.output["kind"] == Output.LABEL:
        sentences.append(
            "The model gives labels without scores, so there is no threshold or score gap to set, and searches that follow slopes see "
            "little. Use a version of it that gives probabilities, if there is one."
        )
    if card.n_classes > 2:
        sentences.append(
            f"The model decides between {card.n_classes} classes ({', '.join(card.classes[:6])}): choose which of them is "
            "favourable; a pair counts when the two persons get different classes."
        )
    return sentences


def _on_accuracy(card: FitCard) -> list[str]:
    sentences = []
    largest = max(card.class_shares, key=lambda name: card.class_shares[name])
    if card.class_shares[largest] >= _CONSTANT_SHARE and card.output["min"] != card.output["max"]:
        sentences.append(
            f"Nearly every row of the data is decided '{largest}' ({100 * card.class_shares[largest]:.1f} %). Check the order of "
            "the columns and the threshold."
        )
    is_doubted = bool(card.reading.get("advice"))  # the reading says the same, with what to do
    accuracy, commonest = card.accuracy, card.majority_share
    if not is_doubted and accuracy is not None and commonest is not None and accuracy <= commonest:
        sentences.append(
            f"The model is right on {100 * accuracy:.1f} % of the rows, no more than always saying the commonest outcome "
            f"({100 * commonest:.1f} %). Check the threshold and the label."
        )
    return sentences


def _on_use(card: FitCard) -> list[str]:
    sentences = [
        f"No score changes with '{name}': the model does not use it, so a search would find nothing by construction. Look at "
        "groups instead."
        for name, is_used in card.uses_protected.items()
        if not is_used
    ]
    if card.rows_per_second < _SLOW_ROWS_PER_SECOND:
        minutes = 100_000 / max(card.rows_per_second, 1e-9) / 60
        sentences.append(
            f"The model is slow: about {card.rows_per_second:,.0f} rows a second, so 100,000 evaluations take {minutes:,.0f} "
            "minutes. Choose a small budget, or convert the model to ONNX."
        )
    return sentences


def _written(score: float) -> str:
    """A score in three significant digits, without an exponent for everyday sizes."""
    return f"{score:,.0f}" if 1000 <= abs(score) < 1e9 else f"{score:.3g}"
