"""Fits an estimator of scikit-learn as its own ``fit`` does, and tells where it stands wherever the estimator lets one look."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np

from fairness_engine.errors import ModelError, SearchStopped
from fairness_engine.events import IntArray, StopReason
from fairness_engine.mitigation.trainer import Epoch, Job

_N_PARTS = 10
"""A forest is grown in so many parts, between which it can be cancelled."""
_FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier")
_EPOCH_END = "_update_no_improvement_count"
"""What ``MLPClassifier`` calls at the end of every epoch."""


def weights_name(estimator: Any) -> str | None:
    """The parameter of ``fit`` that weighs rows; in a pipeline that of its last step. ``None`` where there is none.

    An ensemble of others takes weights when each of its members does.
    """
    steps = getattr(estimator, "steps", None)
    if steps:
        inner = weights_name(steps[-1][1])
        return None if inner is None else f"{steps[-1][0]}__{inner}"
    members = [one for _, one in getattr(estimator, "estimators", None) or () if not isinstance(one, str)]
    if members:
        last = getattr(estimator, "final_estimator", None)
        names = {weights_name(one) for one in (*members, *([] if last is None else [last]))}
        return "sample_weight" if names == {"sample_weight"} else None
    if getattr(estimator, "estimator", None) is not None and weights_name(estimator.estimator) != "sample_weight":
        return None  # what it is built of would be fitted without them
    try:
        names = set(inspect.signature(estimator.fit).parameters)
    except (TypeError, ValueError):
        return None
    return "sample_weight" if "sample_weight" in names else None


def repetitions(weights: Any, rng: np.random.Generator) -> IntArray:
    """Which rows to take how often, so that they count as weights say: positions ``(about n_rows,)``, ascending.

    As many rows as are given, in proportion to their weights. What a row is due beyond whole repetitions adds up along the
    rows, so that neighbours that weigh a part each, such as a person's variants, are there as often as together they should.
    """
    due = np.cumsum(np.asarray(weights, dtype=np.float64) * len(weights) / np.sum(weights))
    times = np.diff(np.floor(due + rng.random() * 0.999_999), prepend=0.0)
    return np.repeat(np.arange(len(due)), times.astype(np.int64))


def fit(estimator: Any, inputs: Any, targets: Any, weights: dict[str, Any], job: Job, validation: Any) -> bool:
    """Fit, report epochs, end when cancelled.

    Args:
        estimator: a clone; fitted afterwards.
        inputs, targets: what it takes.
        weights: the argument that weighs rows; empty for none.
        job: whom to tell, and when to end.
        validation: inputs of the validation rows with their targets.

    Returns:
        whether it was told of epochs.

    Raises:
        SearchStopped: cancelled.
        ModelError: it refuses the rows.
    """
    last = estimator.steps[-1][1] if getattr(estimator, "steps", None) else estimator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if _has_epochs(last):
                _fit_network(estimator, last, inputs, targets, weights, _Watch(estimator, last, job, *validation))
            elif type(last).__name__ == "GradientBoostingClassifier":
                prefix = "" if last is estimator else f"{estimator.steps[-1][0]}__"
                watch = _Watch(estimator, last, job, *validation)
                estimator.fit(inputs, targets, **weights, **{f"{prefix}monitor": watch.after_tree})
            elif type(last).__name__ in _FORESTS and last is estimator:
                _grow_forest(estimator, inputs, targets, weights, job)
            else:
                estimator.fit(inputs, targets, **weights)
        except SearchStopped:
            raise
        except Exception as error:  # noqa: BLE001 - an estimator may raise anything
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:160].rstrip(".")
            raise ModelError(
                f"The estimator must be one that can be fitted on the training rows, but '{type(estimator).__name__}' refuses them: {reason}. "
                "Change the estimator's settings, or choose a surrogate under Retrain."
            ) from None
    return _has_epochs(last) or type(last).__name__ == "GradientBoostingClassifier"


def _has_epochs(last: Any) -> bool:
    return type(last).__name__ == "MLPClassifier" and last.solver != "lbfgs" and hasattr(last, _EPOCH_END)


def _fit_network(estimator: Any, last: Any, inputs: Any, targets: Any, weights: dict[str, Any], watch: _Watch) -> None:
    """The network's own ``fit``, looked at after every epoch: its early stopping and its chance are untouched."""
    own = getattr(last, _EPOCH_END)

    def noted(*arguments: Any, **named: Any) -> Any:
        watch.after_epoch()
        return own(*arguments, **named)

    setattr(last, _EPOCH_END, noted)
    try:
        estimator.fit(inputs, targets, **weights)
    finally:
        delattr(last, _EPOCH_END)


def _grow_forest(forest: Any, inputs: Any, targets: Any, weights: dict[str, Any], job: Job) -> None:
    """Some trees at a time; each tree draws its chance from the seed and its number, so the forest is the same as grown at once."""
    n_trees, warm = int(forest.n_estimators), forest.warm_start
    bounds = np.unique(np.linspace(0, n_trees, min(_N_PARTS, n_trees) + 1).astype(int))[1:]
    forest.set_params(warm_start=True)
    for n in bounds.tolist():
        _end_if_cancelled(job)
        forest.set_params(n_estimators=n).fit(inputs, targets, **weights)
    forest.set_params(warm_start=warm)


def _end_if_cancelled(job: Job) -> None:
    if job.is_cancelled():
        raise SearchStopped(StopReason.CANCELLED)


class _Watch:
    """Tells of every epoch, or of every tree of boosting."""

    def __init__(self, estimator: Any, last: Any, job: Job, inputs: Any, targets: Any) -> None:
        self._estimator, self._last, self._job = estimator, last, job
        self._inputs, self._targets = inputs, targets
        self._transformed: Any = None

    def after_epoch(self) -> None:
        """For a network, in the middle of its ``fit``."""
        _end_if_cancelled(self._job)
        last = self._last
        accuracy = float((last.predict(self._validation()) == self._targets).mean())
        self._job.report(Epoch(int(last.n_iter_), int(last.max_iter), float(last.loss_), None, accuracy))

    def after_tree(self, i: int, boosting: Any, _: Any) -> bool:
        """For boosting: its ``monitor``. It is told of ten times, and asked after every tree."""
        _end_if_cancelled(self._job)
        n = int(boosting.n_estimators)
        if (i + 1) % max(1, n // _N_PARTS) == 0:
            self._job.report(Epoch(i + 1, n, float(boosting.train_score_[i])))
        return False

    def _validation(self) -> Any:
        """The validation rows as the last step takes them; the steps before it are fitted by now."""
        if self._transformed is None:
            is_whole = self._last is self._estimator or len(self._estimator.steps) == 1
            self._transformed = self._inputs if is_whole else self._estimator[:-1].transform(self._inputs)
        return self._transformed
