"""Trains scikit-learn estimators again: a clone of the one in the file, fitted on other rows."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.errors import DataError, ModelError, SearchStopped
from fairness_engine.models.classes import codes_of_outcomes, match_classes
from fairness_engine.models.model import Encoder
from fairness_engine.models.sklearn.estimator import prepare_estimator
from fairness_engine.retraining.trainers.sklearn_file import content_of, without_leftovers
from fairness_engine.retraining.trainers.trainer import Binding, Epoch, Examples, Job

_DEFAULT_FOLDS = 5
_FOLDED = ("CalibratedClassifierCV", "StackingClassifier", "GridSearchCV", "RandomizedSearchCV", "LogisticRegressionCV")
_NEVER_FITTED = ("FrozenEstimator",)


def cloned(estimator: Any) -> Any:
    """An unfitted copy.

    Raises:
        ModelError: scikit-learn cannot make one.
    """
    from sklearn.base import clone

    try:
        return clone(estimator)
    except Exception as error:  # noqa: BLE001 - a class may raise anything when it is built anew
        raise ModelError(
            f"The estimator must be one that scikit-learn can clone, but '{type(estimator).__name__}' cannot be "
            f"({type(error).__name__}). Name a surrogate instead: 'forest', 'tree', 'linear' or 'mlp'."
        ) from None


def check_parts(estimator: Any) -> None:
    """Refuse what a new ``fit`` would leave as it is.

    Raises:
        ModelError: a part of it is frozen.
    """
    for part in parts_of(estimator):
        if type(part).__name__ in _NEVER_FITTED or getattr(part, "cv", None) == "prefit":
            raise ModelError(
                f"Every part of an estimator must be fitted again to be retrained, but '{type(part).__name__}' keeps "
                "what it was fitted to before. Name a surrogate instead: 'forest', 'tree', 'linear' or 'mlp'."
            )


def check_folds(estimator: Any, labels: IntArray, classes: Sequence[str]) -> None:
    """Refuse fewer rows of an outcome than a part of the estimator has folds.

    Args:
        labels: of the rows to train on ``(n_rows,)``.
        classes: what the outcomes are called.

    Raises:
        DataError: there are fewer, or none of an outcome.
    """
    counts = np.bincount(labels, minlength=len(classes))
    rarest = int(counts.argmin())
    if not counts[rarest]:
        raise DataError(
            f"The training rows must hold every outcome, but none is '{classes[rarest]}'. Add rows of it, or hold "
            "fewer rows out."
        )
    for part in parts_of(estimator):
        n_folds = _n_folds(part)
        if n_folds > counts[rarest]:
            raise DataError(
                f"'{type(part).__name__}' has {n_folds} folds and needs as many training rows of every outcome, got "
                f"{counts[rarest]} of '{classes[rarest]}'. Add rows of it, or train an estimator of fewer folds."
            )


def parts_of(estimator: Any) -> Iterator[Any]:
    """The estimator, and all that is fitted within it."""
    yield estimator
    for value in estimator.get_params(deep=True).values():
        if hasattr(value, "get_params") and hasattr(value, "fit"):
            yield value


def _n_folds(part: Any) -> int:
    """How many folds a part makes of the rows; 0 where it makes none."""
    if type(part).__name__ not in _FOLDED:
        return 0
    folds = getattr(part, "cv", None)
    if folds is None:
        return _DEFAULT_FOLDS
    if isinstance(folds, int):
        return folds
    return int(getattr(folds, "n_splits", 0) or 0)


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

    As many rows as are given, in proportion to their weights. What a row is due beyond whole repetitions adds up along
    the rows, so that neighbours that weigh a part each, such as a person's variants, are there as often as together
    they should.
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
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:110].rstrip(".")
            raise ModelError(
                f"The estimator must be one that can be fitted on the training rows, but '{type(estimator).__name__}' "
                f"refuses them: {reason}. Change its settings, or name a surrogate: 'forest', 'tree', 'linear', 'mlp'."
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
    """Some trees at a time; each tree draws its chance from the seed and its number, so the forest is the same as grown
    at once.
    """
    n_trees = int(forest.n_estimators)
    warm = forest.warm_start
    bounds = np.unique(np.linspace(0, n_trees, min(_N_PARTS, n_trees) + 1).astype(int))[1:]
    forest.set_params(warm_start=True)
    for n in bounds.tolist():
        job.clock.check()
        forest.set_params(n_estimators=n).fit(inputs, targets, **weights)
    forest.set_params(warm_start=warm)


class _Watch:
    """Tells of every epoch, or of every tree of boosting."""

    def __init__(self, estimator: Any, last: Any, job: Job, inputs: Any, targets: Any) -> None:
        self._estimator = estimator
        self._last = last
        self._job = job
        self._inputs = inputs
        self._targets = targets
        self._transformed: Any = None

    def after_epoch(self) -> None:
        """For a network, in the middle of its ``fit``."""
        self._job.clock.check()
        last = self._last
        accuracy = float((last.predict(self._validation()) == self._targets).mean())
        self._job.report(Epoch(int(last.n_iter_), int(last.max_iter), float(last.loss_), None, accuracy))

    def after_tree(self, i: int, boosting: Any, _: Any) -> bool:
        """For boosting: its ``monitor``. It is told of ten times, and asked after every tree."""
        self._job.clock.check()
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


class EstimatorTrainer:
    """Clones an estimator and fits it.

    Args:
        estimator: as prepared when the model was opened, or a new one.
        encoder: from rows of the engine to what it takes.
        own_classes: what it calls its classes; ``None``, for a new estimator, takes what the label's column holds.
        binding: how it belongs to the data.

    Raises:
        ModelError: it cannot be cloned, or a part of it is never fitted again.
    """

    suffix = ".skops"
    has_weights = False

    def __init__(self, estimator: Any, encoder: Encoder, own_classes: Any, binding: Binding) -> None:
        steps = getattr(estimator, "steps", None)
        name = f"pipeline of {type(steps[-1][1]).__name__}" if steps else type(estimator).__name__
        self.kind = f"{name}, afresh"
        self.estimator = estimator
        self.encoder = encoder
        self.own_classes = own_classes
        self._binding = binding
        self._classes = np.asarray(codes_of_outcomes(binding.schema, binding.classes) or binding.classes)
        self._order = None
        if own_classes is not None:
            self._classes = np.asarray(own_classes)
            named = tuple(str(name) for name in self._classes)
            self._order = match_classes(len(named), named, binding.classes, binding.schema).order
        cloned(estimator)
        check_parts(estimator)
        self._weights_name = weights_name(estimator)

    @property
    def takes_weights(self) -> bool:
        """Whether rows can count more or less: always, since rows are repeated where ``fit`` takes no weights."""
        return True

    def train(self, job: Job) -> TrainedEstimator:
        """Fit once; see ``Trainer``. Networks of scikit-learn, boosting and forests can be cancelled on the way.

        Raises:
            SearchStopped: cancelled.
            ModelError: the estimator refuses the rows.
            DataError: fewer rows of an outcome than folds.
        """
        job.clock.check()
        estimator = self._new(job.seed)
        examples, weights = self._weighed(job.examples, job.seed)
        check_folds(estimator, examples.labels, self._binding.classes)
        validation = self.encoder.encode(job.validation.rows), self._targets(job.validation.labels)
        targets = self._targets(examples.labels)
        was_told = fit(estimator, self.encoder.encode(examples.rows), targets, weights, job, validation)
        job.clock.check()
        trained = TrainedEstimator(prepare_estimator(without_leftovers(estimator)), self._binding)
        if not was_told:
            decided = trained.model.decide(trained.model.scores(job.validation.rows))
            job.report(Epoch(1, 1, _loss(estimator), None, float((decided == job.validation.labels).mean())))
        return trained

    def _new(self, seed: int) -> Any:
        """A clone, every part of which draws its chance from the seed."""
        estimator = cloned(self.estimator)
        names = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
        return estimator.set_params(**dict.fromkeys(names, seed % 2**32))

    def _weighed(self, examples: Examples, seed: int) -> tuple[Examples, dict[str, Any]]:
        """The rows and the argument that weighs them; repeated rows where ``fit`` takes no weights."""
        if examples.weights is None:
            return examples, {}
        if self._weights_name is not None:
            return examples, {self._weights_name: examples.weights}
        taken = repetitions(examples.weights, np.random.default_rng(seed))
        return Examples(examples.rows[taken], examples.labels[taken]), {}

    def _targets(self, labels: IntArray) -> Any:
        return self._classes[np.asarray(self._order)[labels] if self._order is not None else labels]


def _loss(estimator: Any) -> float | None:
    """What the estimator says it minimised, where it says it."""
    loss = getattr(estimator, "loss_", None)
    return float(loss) if isinstance(loss, int | float | np.floating) else None


class TrainedEstimator:
    """A fitted estimator; see ``Trained``."""

    def __init__(self, estimator: Any, binding: Binding) -> None:
        if len(estimator.classes_) != len(binding.classes):
            raise ModelError(
                f"The trained estimator must decide between the data's {len(binding.classes)} outcomes, but knows "
                f"{len(estimator.classes_)}. Give more rows of the rare ones."
            )
        self.estimator = estimator
        self.model = binding.of_fitted(estimator)
        self._binding = binding

    def content(self) -> bytes:
        """The ``.skops`` archive; it was opened again, and decides as the estimator does.

        Raises:
            ModelError: it holds what a model file may not, or decides otherwise.
        """
        return content_of(self.estimator, self.model, self._binding)
