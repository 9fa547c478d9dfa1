"""The model as it is, with a threshold of its own for each group: ``ThresholdOptimizer`` of fairlearn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.models.model import Model, Output
from fairness_engine.retraining.evaluation.protected_groups import ProtectedGroups, group_numbers, large_groups
from fairness_engine.retraining.strategy import Proposal, RoundContext, Rounds, need_two_outcomes

NO_FILE = (
    "There is no file of it: the library decides by chance between two thresholds a group, which no model format "
    "holds; here its probability is cut at 0.5."
)
_LEAST_ROWS = 10
_SLACKS = (0.0, 0.02, 0.05, 0.1, 0.2)
"""By how much selection rates of groups may differ; tried in turn until accuracy stays within the tolerance."""
_BLOCK_ROWS = 1 << 14


def rounds(context: RoundContext) -> Rounds:
    """Thresholds that make selection rates equal at the highest accuracy, from the scores of the training rows.

    Groups are the intersections of the scope's protected attributes that have rows of both outcomes; everybody else is
    decided by the model's own threshold.

    Reference: Hardt, Price and Srebro (2016), as fairlearn has it, with demographic parity. Departure: its randomised
        decision is
    replaced by its probability cut at 0.5, since a person's decision must not be drawn.

    Raises:
        SettingError: more than two outcomes.
    """
    need_two_outcomes(context, "Thresholds by group")
    training = context.training
    groups = ProtectedGroups(context.dataset.schema, context.domain.scope.protected)
    known, number = large_groups(groups.codes(training.rows), training.labels, _LEAST_ROWS)
    if len(known) < 2:
        return
    scores = context.model.scores(training.rows)[:, 0]
    here = number > 0
    for slack in _SLACKS[: context.settings.max_rounds]:
        chance = _fitted(scores[here], training.labels[here], number[here], slack)
        model = _with_thresholds(context.model, groups, known, chance)
        allowed = "equal" if slack == 0 else f"within {100 * slack:g} points of each other"
        title = f"a threshold for each of {len(known):,} groups, selection rates {allowed}"
        standing = yield Proposal(title, made=WithoutFile(model), facts={"n_groups": len(known), "slack": slack})
        if standing.is_within:
            return


@dataclass(frozen=True)
class WithoutFile:
    """A model that no file can hold; see ``Trained``."""

    model: Model
    no_file: str = NO_FILE

    def content(self) -> bytes:
        """Nothing."""
        return b""


Chance = Callable[[FloatArray, IntArray], FloatArray]
"""From scores ``(n_rows,)`` and numbers of groups ``(n_rows,)`` to the probability of class 1 ``(n_rows,)``."""


def _fitted(scores: FloatArray, labels: IntArray, number: IntArray, slack: float) -> Chance:
    """fairlearn's thresholds for the groups."""
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """Stands for an estimator whose scores are known."""

        def fit(self, inputs: Any, labels: Any) -> Given:  # noqa: ARG002 - of the contract of estimators
            return self

        def __sklearn_is_fitted__(self) -> bool:
            return True

        def predict(self, inputs: Any) -> FloatArray:
            return np.asarray(inputs, dtype=np.float64)[:, 0]

    optimizer = ThresholdOptimizer(
        estimator=Given(), constraints="demographic_parity", prefit=True, predict_method="predict", tol=slack or None
    )
    optimizer.fit(scores[:, None], labels, sensitive_features=number)

    def chance(scores: FloatArray, number: IntArray) -> FloatArray:
        # what ``predict`` draws from; the library has no public name for it
        found: FloatArray = optimizer._pmf_predict(scores[:, None], sensitive_features=number)[:, 1]
        return found

    return chance


class ByGroup:
    """A predictor of rows of the engine: the probability of class 1 under thresholds by group."""

    kind = "thresholds by group"
    n_inputs: int | None = None
    n_scores = 1
    output = Output.PROBABILITY

    def __init__(self, model: Model, groups: ProtectedGroups, known: IntArray, chance: Chance) -> None:
        self._model = model
        self._groups = groups
        self._known = known
        self._chance = chance

    def predict(self, inputs: FloatArray) -> FloatArray:
        """``(n_rows, n_columns)`` -> ``(n_rows, 1)``; of a person of no known group 0 or 1, as the model decides."""
        own = self._model.scores(inputs)
        number = group_numbers(self._groups.codes(inputs), self._known)
        found = self._model.decide(own).astype(np.float64)
        here = number > 0
        if here.any():
            found[here] = self._chance(own[here, 0], number[here])
        return found[:, None]

    def margins(self, inputs: FloatArray, threshold: float) -> FloatArray:
        """Scores less the threshold."""
        return self.predict(inputs) - threshold


class _AllColumns:
    """Hands rows of the engine on as they are."""

    block_rows: int | None = _BLOCK_ROWS

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def encode(self, rows: FloatArray) -> FloatArray:
        return rows

    plain = encode


def _with_thresholds(model: Model, groups: ProtectedGroups, known: IntArray, chance: Chance) -> Model:
    return Model(
        ByGroup(model, groups, known, chance),
        _AllColumns(groups.schema.names),
        0.5,
        model.classes,
        model.favourable,
        format="thresholds by group",
    )
