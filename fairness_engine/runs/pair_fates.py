"""What became of discriminatory pairs between two models: fixed, still there, or new.

Two searches never find the same people, so lists of pairs cannot be compared. Instead each pair that one run found is
put to the other run's model: whom the original discriminates against and the new model does not, is *fixed*; whom the
new model discriminates against and the original did not, is *new*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.arrays import BoolArray
from fairness_engine.errors import RunError
from fairness_engine.model_process.questions import Decisions, Scores
from fairness_engine.pairs import Pairs

if TYPE_CHECKING:
    from fairness_engine.model_process.pool import Evaluator
    from fairness_engine.store.run_config import RunConfig
    from fairness_engine.store.runs import RunTable


MAX_PAIRS = 20_000
"""Pairs of a run that are looked at: the first ones, which are those that stay the same while it works."""


@dataclass(frozen=True)
class Fates:
    """What became of the pairs of two runs.

    Args:
        is_still: of each pair of the run on the original, whether the new model discriminates against its person
            ``(n_before,)``.
        is_new: of each pair of the run on the new model, whether the original did not ``(n_after,)``.
    """

    is_still: BoolArray
    is_new: BoolArray

    @property
    def n_before(self) -> int:
        """Pairs of the original that were looked at."""
        return len(self.is_still)

    @property
    def n_still(self) -> int:
        """Of these, whom the new model discriminates against too."""
        return int(self.is_still.sum())

    @property
    def n_fixed(self) -> int:
        """Of these, whom the new model decides alike."""
        return self.n_before - self.n_still

    @property
    def n_after(self) -> int:
        """Pairs of the new model that were looked at."""
        return len(self.is_new)

    @property
    def n_new(self) -> int:
        """Of these, whom the original decided alike."""
        return int(self.is_new.sum())

    @property
    def n_known(self) -> int:
        """Of these, whom the original discriminated against as well."""
        return self.n_after - self.n_new

    def to_json(self) -> dict[str, int]:
        """The counts."""
        names = ("n_before", "n_fixed", "n_still", "n_after", "n_new", "n_known")
        return {name: getattr(self, name) for name in names}


def pair_fates(store: RunTable, evaluator: Evaluator, before_run_id: str, after_run_id: str) -> Fates:
    """Put the pairs of each run to the other run's model.

    A person counts as discriminated against when any two of the person's variants are decided differently; in a scope
    with a gap of scores, when the scores of the pair's two people differ by more than the gap.

    Args:
        store: has both runs.
        evaluator: decides.
        before_run_id, after_run_id: runs with pairs on the same data and scope: of the original, and of the new model.

    Raises:
        RunError: there is no such run, or the two ask different questions.
        InputError: data or a model cannot be used.
        ProcessError: a model's process ended, or gave no answer in time.
    """
    before, after = (store.run(run_id).config for run_id in (before_run_id, after_run_id))
    if (before.data_id, before.schema, before.scope) != (after.data_id, after.schema, after.scope):
        raise RunError("Pairs can be compared between runs on the same data and scope, got others. Measure both again.")
    found, found_after = (store.pairs(run_id, MAX_PAIRS) for run_id in (before_run_id, after_run_id))
    return Fates(still_there(evaluator, after, found), ~still_there(evaluator, before, found_after))


def still_there(evaluator: Evaluator, config: RunConfig, pairs: Pairs) -> BoolArray:
    """Whether the model of a configuration discriminates against the people of pairs ``(n_pairs,)``.

    Raises:
        InputError: data or model cannot be used.
        ProcessError: the model's process ended, or gave no answer in time.
    """
    if not len(pairs):
        return np.zeros(0, dtype=bool)
    if config.scope.score_gap > 0:
        first, second = (evaluator.ask(config, Scores(people))[0] for people in (pairs.first, pairs.second))
        differ: BoolArray = np.abs(first - second).max(axis=1, initial=0.0) > config.scope.score_gap
        return differ
    least, most = evaluator.ask(config, Decisions(pairs.first))
    return np.asarray(least != most)
