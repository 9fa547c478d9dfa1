"""Small collections of texts, models of them, and what a run on them gives, for the tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.clock import Clock
from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import read_table
from fairness_engine.data.texts import Texts, make_texts
from fairness_engine.events import Event, Progress, ResultReady, RulesScored, Stopped
from fairness_engine.groups.identity_terms.driver import AssessedTexts, run_text_rules
from fairness_engine.groups.identity_terms.terms import Terms, check_terms
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.models.model import Output
from fairness_engine.models.open_text import open_text_model
from fairness_engine.models.text_model import TextModel

TERMS: Terms = check_terms({"kind": ["red", "blue", "dark green"], "size": ["big", "small", "tiny", "huge"]}.items())


class Points:
    """A predictor that gives a text the points of its words, and of its letters; class 1 above 0."""

    kind = "points"
    n_inputs = 1
    n_scores = 1
    output = Output.LOGIT

    def __init__(self, points: dict[str, float], noise: float = 1.0) -> None:
        self._points = points
        self._noise = noise
        self._known: dict[str, float] = {}
        self.n_decided = 0

    def predict(self, inputs: Any) -> FloatArray:
        self.n_decided += len(inputs)
        self._known |= {text: self._of(text) for text in inputs if text not in self._known}
        return np.array([[self._known[text]] for text in inputs])

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        return self.predict(inputs) - threshold

    def _of(self, text: str) -> float:
        words = text.lower().rstrip(".").split()
        return sum(self._points.get(word, 0.0) for word in words) + self._noise * (len(words[-1]) % 7 - 3)


def points_model(points: dict[str, float], noise: float = 1.0) -> TextModel:
    """Favourable is class 1."""
    return TextModel(Points(points, noise), threshold=0.0)


def made_texts(n: int, seed: int) -> list[str]:
    """Texts of which many hold a kind, many a size, some both or none; few are the same."""
    rng = np.random.default_rng(seed)
    kinds = ["red", "Blue", "dark green", "", ""]
    sizes = ["big", "SMALL", "tiny", "huge", "", ""]
    parts = zip(rng.choice(kinds, n), rng.choice(sizes, n), rng.integers(10**6, size=n), strict=True)
    return [" ".join(f"The {size} {kind} ball number {'x' * int(i % 11)}{i}.".split()) for kind, size, i in parts]


@dataclass(frozen=True)
class Ran:
    """What a run on texts left."""

    events: tuple[Event, ...]

    @property
    def result(self) -> RuleResult:
        (event,) = (event for event in self.events if isinstance(event, RulesScored))
        return RuleResult.from_parts(event.arrays, event.space)

    def content(self, name: str) -> dict[str, Any]:
        (found,) = (event.content for event in self.events if isinstance(event, ResultReady) and event.name == name)
        return found

    @property
    def stopped(self) -> Stopped:
        assert isinstance(self.events[-1], Stopped)
        return self.events[-1]

    @property
    def phases(self) -> list[str]:
        return [event.phase for event in self.events if isinstance(event, Progress)]

    def lines(self) -> dict[tuple[str, ...], int]:
        """Position of every rule set by its terms."""
        scored = self.result.scored
        attributes = self.result.attributes
        return {
            tuple(attributes[i].labels[rule] for i, rule in enumerate(line) if rule >= 0): position
            for position, line in enumerate(scored.rules.tolist())
        }


def run_texts(
    texts: Sequence[str],
    model: TextModel,
    *,
    seed: int = 0,
    max_seconds: float = float("inf"),
    is_cancelled: Callable[[], bool] = lambda: False,
    has_sentences: bool = True,
    **settings: Any,
) -> Ran:
    """Run with these settings; the terms are ``TERMS`` unless others are named. Without sentences it ends once all is
    scored.
    """
    asked = RuleSettings(**{"text_column": "said", "terms": TERMS} | settings)
    events = run_text_rules(AssessedTexts(texts, model), asked, seed, Clock(max_seconds, is_cancelled))
    if has_sentences:
        return Ran(tuple(events))
    scored = next(event for event in events if isinstance(event, RulesScored))
    return Ran((scored,))


def comments() -> tuple[Texts, TextModel]:
    """The sample of comments and its linear model."""
    sample = find_sample("comments")
    schema = Schema.read(sample.schema)
    texts = make_texts(read_table(sample.data), schema, "comment")
    path = sample.data.parent.parent / "sample_models" / "comments_linear.skops"
    model = open_text_model(path, schema, classes=texts.classes, favourable=texts.favourable_class or 0)
    return texts, model
