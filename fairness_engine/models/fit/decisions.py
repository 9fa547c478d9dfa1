"""What a model's decisions are called where people read of them, and its scores: pages and reports show the score for
the favourable outcome.

The engine's scores are of class 1, whichever that is; ``Decisions.shown`` is the one place where they are turned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.models.model import Output, of_class_zero

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fairness_engine.arrays import FloatArray
    from fairness_engine.data.schema import Column, Schema

FAVOURABLE = "●"
UNFAVOURABLE = "○"
_MIN_DIGITS = 3
_MAX_DIGITS = 8


@dataclass(frozen=True)
class Decisions:
    """Human names of the classes.

    Args:
        names: one name a class, in the model's order.
        favourable: the class that is good for the person; ``None`` when it is not known.
        output: what the model's scores are; says how the score of one class of two follows from that of the other.
    """

    names: tuple[str, ...]
    favourable: int | None = 1
    output: Output = Output.PROBABILITY

    def name(self, decision: int) -> str:
        """The name of a class; a class without a name is told by its number."""
        return self.names[decision] if 0 <= decision < len(self.names) else f"outcome {decision + 1}"

    def symbol(self, decision: int) -> str:
        """A filled dot for the favourable decision, an empty one for any other."""
        return FAVOURABLE if decision == self.favourable else UNFAVOURABLE

    def text(self, decision: int) -> str:
        """Symbol and name."""
        return f"{self.symbol(decision)} {self.name(decision)}"

    @property
    def is_binary(self) -> bool:
        """Whether one score decides between two classes; so it is where nobody named them."""
        return len(self.names) <= 2

    def shown(self, scores: ArrayLike) -> FloatArray:
        """Scores as they are shown, from the engine's: for the favourable outcome of two, of the decided class of
        more.
        """
        values = np.asarray(scores, dtype=np.float64)
        return of_class_zero(values, self.output) if self.is_binary and self.favourable == 0 else values

    def scored(self, decision: int | None = None) -> str:
        """The name of the outcome that a shown score speaks for; of more than two, that of ``decision``."""
        if self.is_binary:
            return self.name(0 if self.favourable == 0 else 1)
        return "the decided outcome" if decision is None else self.name(decision)

    def cut(self, threshold: float) -> str:
        """A threshold in words: ``0.4``, with the outcome whose score it cuts where scores are shown for the other."""
        of = f" on the score for “{self.name(1)}”" if self.is_binary and self.favourable == 0 else ""
        return f"{threshold:g}{of}"

    def score(self, score: float, decision: int, digits: int | None = None) -> str:
        """One score of the engine in words: ``0.413 for ja``."""
        shown = score_text(float(self.shown(score)), _MIN_DIGITS if digits is None else digits)
        return f"{shown} for {self.scored(decision)}"


def score_digits(scores: Iterable[float]) -> int:
    """How many decimals keep different scores apart: at least 3, at most 8."""
    ordered = sorted(set(scores))
    smallest = min((high - low for low, high in pairwise(ordered)), default=1.0)
    digits = _MIN_DIGITS
    while digits < _MAX_DIGITS and smallest < 10.0**-digits:
        digits += 1
    return digits


def score_text(score: float, digits: int = _MIN_DIGITS) -> str:
    """A score with a fixed number of decimals and a real minus sign."""
    return f"{score:.{digits}f}".replace("-", "−")


def decisions_under(fit: Mapping[str, Any], schema: Schema | None, *, has_model: bool = True) -> Decisions:
    """What the classes of a model are called, from its fit card, empty where there is none, and the label's column; by
    the latter alone without a model.
    """
    label = next((c for c in schema.columns if c.name == schema.label), None) if schema else None
    favourable = fit.get("favourable", 1)
    names = [str(name) for name in fit.get("classes") or fit.get("class_shares") or ()]
    if schema is not None and label is not None and (not has_model or not names):
        names, favourable = _by_label(label, schema)
    if label is not None and label.codes:
        by_code = {str(code): text for code, text in zip(label.codes, label.labels, strict=True)}
        names = [by_code.get(name, name) for name in names]
    if names and all(_is_code(name) for name in names):
        names = [f"{'favourable' if i == favourable else 'unfavourable'} ({name})" for i, name in enumerate(names)]
    return Decisions(tuple(names), favourable, _output(fit))


def has_threshold(fit: Mapping[str, Any]) -> bool:
    """Whether a model, by its fit card, has a score of two classes to cut."""
    return (fit.get("output") or {}).get("kind") != Output.LABEL and fit.get("n_classes", 2) == 2


def threshold_range(fit: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """The least and the largest threshold that there can be; ``None`` where there is none."""
    return (None, None) if (fit.get("output") or {}).get("kind") == Output.LOGIT else (0.0, 1.0)


def threshold_note(fit: Mapping[str, Any]) -> str:
    """What a threshold of one's own cuts, not escaped: the model's score as it is, which is that of class 1."""
    names = decisions_under(fit, None)
    text = f"Above it the model decides “{names.name(1)}”."
    if names.scored() == names.name(1):
        return text
    return (
        f"{text} It cuts the model's own score, for “{names.name(1)}”; results show the score for “{names.scored()}”."
    )


def _by_label(label: Column, schema: Schema) -> tuple[list[str], int | None]:
    """The classes as the label's column has them, class 1 last where the schema says which that is, and which is
    favourable.
    """
    from fairness_engine.data.label import favourable_class

    names = [str(code) for code in label.codes]
    favourable = favourable_class(label, schema.favourable)
    if schema.positive is not None and len(names) == 2 and names[0] == str(schema.positive):
        return names[::-1], None if favourable is None else 1 - favourable
    return names, favourable


def _output(fit: Mapping[str, Any]) -> Output:
    """What the scores are, as the fit card says; probabilities where there is none."""
    kind = (fit.get("output") or {}).get("kind")
    return Output(kind) if kind in set(Output) else Output.PROBABILITY


def _is_code(name: str) -> bool:
    """A bare number says nothing to a reader."""
    try:
        float(name)
    except ValueError:
        return False
    return True
