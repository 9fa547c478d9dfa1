"""The contract of a strategy: it proposes what to train on, is told how the model became, and proposes again or
ends.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.data.dataset import Dataset
from fairness_engine.errors import SettingError
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs
from fairness_engine.retraining.evaluation.split import Split
from fairness_engine.retraining.evaluation.worst_rule_set import Groups
from fairness_engine.retraining.labellers import Labeller
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.trainers.trainer import Examples, Trained, Trainer


class Train(Protocol):
    """Trains once, with the run's clock, seed and log."""

    def __call__(
        self, examples: Examples, validation: Examples | None = None, trainer: Trainer | None = None
    ) -> Trained:
        """Train a model on examples.

        Args:
            examples: what is trained on.
            validation: rows that tell when to end early; ``None`` for the validation rows.
            trainer: another one than the context's.

        Raises:
            SearchStopped: cancelled, or out of time.
            ModelError: the estimator refuses what it is given.
        """
        ...


@dataclass(frozen=True)
class RoundContext:
    """What a strategy works with.

    Args:
        model: the one to improve.
        domain, dataset, parts, settings: the scope, the data, its parts, and how to retrain.
        labeller: who labels added people.
        find_cases: searches a model for discriminatory individuals, from training rows only; pairs that were picked
            instead of a search are given for the original model.
        rng: the only source of chance.
        say: tells what is at work, in a few words.
        trainer: makes models of the same kind (or of a surrogate's).
        train: trains once as a round does, for a strategy that makes a model of several, or makes one otherwise.
        groups: the rule set that the retraining looks at.
        clock: of the run; asked by a strategy that trains by itself.
    """

    model: Model
    domain: Domain
    dataset: Dataset
    parts: Split
    settings: RetrainSettings
    labeller: Labeller
    find_cases: Callable[[Model], Pairs]
    rng: np.random.Generator
    say: Callable[[str], None]
    trainer: Trainer
    train: Train
    groups: Groups
    clock: Clock = NO_LIMIT

    @property
    def is_inside(self) -> NDArray[np.bool_]:
        """Which training rows lie inside the scope's ranges ``(n_rows,)``: only these have variants; the others stay as
        they are.
        """
        return self.domain.contains(self.dataset.rows[self.parts.train])

    @property
    def validation(self) -> Examples:
        """The rows that choose among models."""
        assert self.dataset.labels is not None, "checked when the rows were split"
        chosen = self.parts.validation
        return Examples(self.dataset.rows[chosen], self.dataset.labels[chosen])

    @property
    def training(self) -> Examples:
        """The rows of the data that models are trained on."""
        assert self.dataset.labels is not None, "checked when the rows were split"
        train = self.parts.train
        return Examples(self.dataset.rows[train], self.dataset.labels[train])


@dataclass(frozen=True)
class Proposal:
    """One model to make.

    Args:
        title: what is different from the rounds before, for a screen.
        examples: to train on; ``None`` where the model is made already.
        made: a model that needs no training of the model's own kind (baselines).
        n_added: rows beside those of the data.
        facts: numbers to keep with the round, by name.
        stopping: rows whose loss tells when to end a training early; the validation rows if ``None``.
    """

    title: str
    examples: Examples | None = None
    made: Trained | None = None
    n_added: int = 0
    facts: dict[str, float] = field(default_factory=dict)
    stopping: Examples | None = None


@dataclass(frozen=True)
class Validation:
    """How a proposed model became, on rows that choose among models.

    Args:
        model: the new one.
        accuracy: on the validation rows.
        uniform, data: shares of discriminatory individuals, of the domain and of the data's rows (all but the test
            rows).
        objective: what is to be small: 1 is as before, 0 nothing left.
        is_within: accuracy fell by no more than the tolerance: on the validation rows, and, as a strategy is told it,
            on the test rows, where these were asked.
    """

    model: Model
    accuracy: float
    uniform: float
    data: float
    objective: float
    is_within: bool


Rounds = Generator[Proposal, Validation, None]


def people_of(pairs: Pairs) -> FloatArray:
    """The persons of pairs ``(n_pairs, n_columns)``: of each the first; the other differs in protected values only."""
    return pairs.first


def need_two_outcomes(context: RoundContext, what: str) -> None:
    """Refuse data of several outcomes.

    Raises:
        SettingError: there are more than two.
    """
    if len(context.dataset.classes) != 2:
        raise SettingError(
            f"{what} need data of two outcomes, got {len(context.dataset.classes)}. Choose 'reweigh' or 'variants', "
            "which take any number."
        )
