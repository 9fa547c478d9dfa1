"""A weighted set of models under demographic parity: ``ExponentiatedGradient`` of fairlearn, deciding by a weighted
vote.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.errors import ModelError
from fairness_engine.models.encoders.linked import spelling_of
from fairness_engine.retraining.evaluation.protected_groups import ProtectedGroups, large_groups
from fairness_engine.retraining.evaluation.verdict import in_points
from fairness_engine.retraining.settings import Surrogate
from fairness_engine.retraining.strategy import Proposal, RoundContext, Rounds, need_two_outcomes
from fairness_engine.retraining.trainers.factory import make_surrogate
from fairness_engine.retraining.trainers.sklearn import EstimatorTrainer, TrainedEstimator, weights_name
from fairness_engine.retraining.trainers.trainer import Binding
from fairness_engine.retraining.trainers.voting import Member, Members, joined

_MAX_MODELS = 12
"""Trainings a round; the library's 50 take four times as long and change little."""
_SLACKS = (0.01, 0.03, 0.1, 0.3)
_LEAST_ROWS = 10
_LEAST_WEIGHT = 1e-3


def rounds(context: RoundContext) -> Rounds:
    """Each round allows selection rates of groups to differ more, until accuracy stays within the tolerance.

    Members are clones of the model's estimator. Where that takes no weights, or the model is a network (which would be
    trained dozens of times, and of which no file can hold a vote), they are logistic regressions on standardised
    columns: the round says so.

    Reference: Agarwal et al. (2018), as fairlearn has it, with demographic parity. Departure: its randomised decision
    is replaced by a vote of all members by their weights, since a person's decision must not be drawn: of their
    decisions or of their probabilities, whichever keeps groups closer together. What holds of the drawn decision need
    not hold of the vote; the round says what does.

    Raises:
        SettingError: more than two outcomes.
        ModelError: the estimator refuses the rows.
    """
    need_two_outcomes(context, "Exponentiated gradients")
    training = context.training
    groups = ProtectedGroups(context.dataset.schema, context.domain.scope.protected)
    known, number = large_groups(groups.codes(training.rows), training.labels, _LEAST_ROWS)
    if len(np.unique(number)) < 2:
        return
    spelling = spelling_of(context.model)
    binding = Binding(
        context.dataset.schema, context.dataset.classes, context.model.favourable, None, spelling=spelling
    )
    trainer, kind = _trainer(context, binding)
    for slack in _SLACKS[: context.settings.max_rounds]:
        within = f"selection rates within {in_points(slack)} of everybody's"
        context.say(f"training a set of models, {within}")
        seed = int(context.rng.integers(2**32))
        members = Members(trainer, binding, training.rows, context.clock, seed)
        trained, n, gap = _vote(members, binding, members.targets(training.labels), number, slack)
        facts = {"n_members": n, "n_groups": len(known), "slack": slack, "gap": gap}
        title = f"a vote of {n} models ({kind}) for {within}; as they vote, {in_points(gap)} on the training rows"
        standing = yield Proposal(title, made=trained, facts=facts)
        if standing.is_within:
            return


def _trainer(context: RoundContext, binding: Binding) -> tuple[EstimatorTrainer, str]:
    """Of the model's own estimator, or of logistic regressions; and what that is, in words."""
    own = context.trainer
    if isinstance(own, EstimatorTrainer) and weights_name(own.estimator) is not None:
        return own, type(own.estimator).__name__
    linear = make_surrogate(context.model, binding, replace(context.settings, surrogate=Surrogate.LINEAR))
    assert isinstance(linear, EstimatorTrainer), "a surrogate of scikit-learn"
    why = "it is a network" if not isinstance(own, EstimatorTrainer) else "it takes no weights"
    return linear, (
        f"logistic regressions instead of the model's own kind, since {why}; on one-hot columns in the schema's order"
    )


def _vote(
    members: Members, binding: Binding, targets: IntArray, number: IntArray, slack: float
) -> tuple[TrainedEstimator, int, float]:
    """The set for one allowance, how many members have a say, and how far a group's rate is from everybody's at most.

    Raises:
        SearchStopped: cancelled.
        ModelError: the estimator refuses the rows.
    """
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    gradient = ExponentiatedGradient(
        Member(members), DemographicParity(difference_bound=slack), eps=slack, max_iter=_MAX_MODELS
    )
    positions = np.arange(len(targets))[:, None]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the library's own use of pandas
            gradient.fit(positions, targets, sensitive_features=number)
    except (ValueError, TypeError, MemoryError) as error:
        reason = (str(error).splitlines() or [""])[0][:160]
        raise ModelError(
            f"The estimator must be one that can be fitted on weighed rows of the data, but it refuses them: {reason} "
            "Name a surrogate, for example 'linear'."
        ) from None
    weights = gradient.weights_
    chosen = [i for i in weights.index if weights[i] > _LEAST_WEIGHT]
    fitted = [_fitted(gradient.predictors_[i]) for i in chosen]
    shares = [float(weights[i]) for i in chosen]
    votes = [joined(members, fitted, shares, voting) for voting in ("hard", "soft")]
    gaps = [_gap(vote, members, number) for vote in votes if _can_vote(vote)]
    least = int(np.argmin(gaps))
    return TrainedEstimator(votes[least], binding), len(fitted), gaps[least]


def _can_vote(vote: Any) -> bool:
    return vote.voting == "hard" or all(hasattr(member, "predict_proba") for member in vote.estimators_)


def _gap(vote: Any, members: Members, number: IntArray) -> float:
    """How far the selection rate of a group is from that of all rows, at most."""
    is_second = np.asarray(vote.predict(members.inputs) == vote.classes_[1], dtype=np.float64)
    rates = np.bincount(number, is_second) / np.maximum(np.bincount(number), 1)
    return float(np.abs(rates - is_second.mean())[np.unique(number)].max())


def _fitted(predictor: object) -> object:
    """The estimator of a member; of the library's stand-in for labels that are all alike the place they have."""
    return predictor.estimator if isinstance(predictor, Member) else int(getattr(predictor, "constant"))  # noqa: B009
