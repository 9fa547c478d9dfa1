"""The discriminatory individuals that a retraining learns from: picked by a person, or found from the training rows
alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.clock import Clock
from fairness_engine.events import PairsFound, Progress
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.pairs import Pairs
from fairness_engine.retraining.evaluation.split import Split, same_people
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.retraining.settings import RetrainSettings

if TYPE_CHECKING:
    from fairness_engine.retraining.subject import RetrainingTask

_MAX_SECONDS = 60.0
_MAX_EVALUATIONS = 20_000_000
_FALLBACK = "directed"
"""For models without a gradient, where a technique needs one."""


class NoCases:
    """Of a retraining that learns from no cases."""

    def __init__(self) -> None:
        self.used = Pairs.empty(0)
        self.facts: dict[str, Any] = {"n_cases": 0, "n_of_test_people": 0, "technique": ""}


class CaseFinder:
    """Finds cases, and remembers which were used.

    Args:
        subject, parts, settings: what is retrained.
        rng: seeds the searches.
        clock, say: of the run.

    Attributes:
        used: every pair handed out for the original model.
        facts: for the result: how many cases against the original there were, how many of test people were left out,
            and the technique of the last search.
        evaluations: rows passed to models by searches.
    """

    def __init__(
        self,
        subject: RetrainingTask,
        parts: Split,
        settings: RetrainSettings,
        rng: np.random.Generator,
        clock: Clock,
        say: Callable[[str], None],
    ) -> None:
        self._subject = subject
        self._parts = parts
        self._settings = settings
        self._rng = rng
        self._clock = clock
        self._say = say
        self.used = Pairs.empty(subject.domain.n_columns)
        self.facts: dict[str, Any] = {"n_cases": 0, "n_of_test_people": 0, "technique": ""}
        self.evaluations = 0

    def find(self, model: Model) -> Pairs:
        """Cases against a model, one of each person, without people who are among the test rows: the picked ones when
        it is the original and a person picked some, else those of a search.
        """
        is_original = model is self._subject.model
        picked = self._subject.picked
        found = self._search(model) if not is_original or picked is None else self._one_each(picked)
        test_rows = self._subject.dataset.rows[self._parts.test]
        is_of_test = same_people(found.first, test_rows, self._subject.domain.free)
        pairs = found[~is_of_test]
        if is_original:
            self.used = pairs
            self.facts |= {"n_cases": len(pairs), "n_of_test_people": int(is_of_test.sum())}
        return pairs

    def _one_each(self, picked: Pairs) -> Pairs:
        """The first pair of every person: two runs may have found the same."""
        _, first = np.unique(picked.first[:, self._subject.domain.free], axis=0, return_index=True)
        return picked[np.sort(first)]

    def _search(self, model: Model) -> Pairs:
        from fairness_engine.oracle import kernels
        from fairness_engine.search.driver import run_search
        from fairness_engine.search.registry import technique_named

        name = self._settings.technique or STRATEGIES[self._settings.strategy].technique or _FALLBACK
        technique = technique_named(name)
        if technique.needs_gradient and not model.has_gradient:
            technique = technique_named(_FALLBACK)
        self.facts["technique"] = technique.name
        self._say(f"searching for cases ({technique.title})")
        kernels.warm_up()
        technique.warm_up()
        starts = self._subject.dataset.rows[self._parts.train]
        budget = Budget(_MAX_EVALUATIONS, _MAX_SECONDS, self._settings.n_cases)
        seed = int(self._rng.integers(2**62))
        found = []
        spent = 0
        for event in run_search(technique(), model, self._subject.domain, starts, budget, seed, self._clock):
            if isinstance(event, PairsFound):
                found.append(event.pairs)
            elif isinstance(event, Progress):
                spent = event.evaluations
        self.evaluations += spent
        return Pairs.concatenate(found, self._subject.domain.n_columns)
