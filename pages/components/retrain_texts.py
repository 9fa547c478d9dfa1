"""What a retraining is called where texts are retrained instead of people: the same figures, of sentences and the terms in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pages.components import retrain_numbers, retrain_rounds

if TYPE_CHECKING:
    from fairness_engine.runs.config import RunConfig

SHARES = {"uniform": "Random swaps of a term", "data": "Held-out texts with a term"}
"""Of what the two shares are whose decision changes with a term, of a model before and after."""
_ROUNDS = {"data": "The data's texts with a term", "uniform": "Random swaps of a term"}
"""The same of the rounds, on texts that choose among models."""
HELP = (
    "Accuracy: share of decisions that equal the recorded outcome. F1: how well the favourable outcome is found, missed and wrongly given ones "
    "counted alike. AUC: how well scores put texts in order, 0.5 as chance, 1 perfect. Decided by its term: decided differently when nothing but "
    "an identity term is swapped for another of its category."
)


def shares_of(config: RunConfig) -> Mapping[str, str]:
    """Of whom the two shares of discrimination are, before and after."""
    return SHARES if config.text_column else retrain_numbers.SHARES


def rounds_of(config: RunConfig) -> Mapping[str, str]:
    """The same of the rounds."""
    return _ROUNDS if config.text_column else retrain_rounds.SHARES
