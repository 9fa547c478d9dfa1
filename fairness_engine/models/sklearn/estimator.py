"""Fitted scikit-learn estimators as predictors.

Families that scikit-learn evaluates slowly on large batches are evaluated here, with its decisions exactly; every
other estimator is asked itself. ``open.py`` compares both on sampled rows before the faster one is used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import ModelError
from fairness_engine.models.classes import check_class_count
from fairness_engine.models.dense.chain import DenseChain
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.encoders.tabulated import Scaling
from fairness_engine.models.model import Output, Predictor
from fairness_engine.models.sklearn.bending import SCALERS
from fairness_engine.models.sklearn.native_parts import all_parts, check_native_parts
from fairness_engine.models.sklearn.support_vectors import SupportVectors
from fairness_engine.models.sklearn.voting import HardVote, SoftVote, Transformed, as_label_scores, settle
from fairness_engine.models.trees.trees import BoostedTrees, Forest

_FRAME_STEPS = ("ColumnTransformer", "OneHotEncoder", "OrdinalEncoder", "TargetEncoder", "FunctionTransformer")
_VECTORIZERS = ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer")
_SKLEARN_ACTIVATIONS = {
    "identity": Activation.LINEAR,
    "logistic": Activation.SIGMOID,
    "tanh": Activation.TANH,
    "relu": Activation.RELU,
    "softmax": Activation.SOFTMAX,
}


def prepare_estimator(estimator: Any) -> Any:
    """The estimator to evaluate: the best one of a parameter search, looked through, told to work in this process
    alone.

    Raises:
        ModelError: it is no fitted classifier of one outcome with at least two classes, or a part of it is damaged.
    """
    estimator = unfrozen(getattr(estimator, "best_estimator_", estimator))
    name = type(estimator).__name__
    if not hasattr(estimator, "predict") or not hasattr(estimator, "get_params"):
        raise ModelError(
            f"The model file must hold a scikit-learn classifier, got '{name[:60]}'. Save the fitted classifier."
        )
    try:
        classes = estimator.classes_
        n_classes = 0 if isinstance(classes, list) else len(classes)
    except Exception:  # noqa: BLE001 - a damaged estimator fails in any way
        raise ModelError(
            f"The model must be a fitted classifier, got '{name[:60]}', which knows no classes. Fit a classifier and "
            "save it."
        ) from None
    if n_classes < 2:
        raise ModelError(
            f"The model must decide one outcome between two or more classes, got the classes {str(classes)[:120]}."
        )
    check_class_count(n_classes)
    check_native_parts(estimator)
    try:
        n_jobs = {key: None for key in estimator.get_params() if key == "n_jobs" or key.endswith("__n_jobs")}
        return estimator.set_params(**n_jobs)
    except Exception as error:  # noqa: BLE001 - a damaged estimator may lack any of its settings
        raise ModelError(
            f"The model must have all its settings, but some of '{name[:60]}' are missing or damaged "
            f"({str(error)[:120]}). Save it again."
        ) from None


def unfrozen(estimator: Any) -> Any:
    """What ``FrozenEstimator`` keeps from being fitted again; another estimator itself."""
    while type(estimator).__name__ == "FrozenEstimator":
        estimator = estimator.estimator
    return estimator


def takes_frame(estimator: Any) -> bool:
    """Whether the estimator must be given a DataFrame: a step of it picks columns by name or encodes labels."""
    for step in _parts(estimator):
        if type(step).__name__ in _FRAME_STEPS:
            return True
        is_histograms = type(step).__name__ == "HistGradientBoostingClassifier" and hasattr(step, "_predictors")
        if is_histograms and step.is_categorical_ is not None:  # what is inside of others may not be fitted
            return True
    return False


def reads_text(estimator: Any) -> bool:
    """Whether the estimator takes a list of texts instead of a table: what it begins with, or all that it joins,
    does.
    """
    if type(estimator).__name__ in _VECTORIZERS:
        return True
    steps: list[Any] = list(getattr(estimator, "steps", ()))
    if steps:
        return reads_text(steps[0][1])
    joined = [part for _, part in getattr(estimator, "transformer_list", ())]
    if type(estimator).__name__ in ("VotingClassifier", "StackingClassifier"):
        joined = list(estimator.estimators_)
    elif type(estimator).__name__ == "CalibratedClassifierCV":
        joined = [calibrated.estimator for calibrated in estimator.calibrated_classifiers_]
    parts = [part for part in joined if not isinstance(part, str)]
    return bool(parts) and all(reads_text(part) for part in parts)


def file_reader(estimator: Any) -> str | None:
    """The first part of the estimator that would read the files that texts name; ``None`` when there is none."""
    for part in all_parts(estimator):
        if type(part).__name__ in _VECTORIZERS and part.input != "content":
            return type(part).__name__
    return None


def input_names(estimator: Any) -> tuple[str, ...] | None:
    """What the estimator calls its inputs, in its order."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name).encode(errors="replace").decode() for name in names)


def compile_estimator(estimator: Any) -> Predictor:
    """The fastest predictor that decides as the estimator does; ``EstimatorPredictor`` when there is no faster one."""
    compiler = _COMPILERS.get(type(estimator).__name__)
    is_known = type(estimator).__module__.startswith(("sklearn.", "fairness_engine.models."))
    predictor = compiler(estimator) if compiler is not None and is_known else None
    return predictor if predictor is not None else EstimatorPredictor(estimator)


class EstimatorPredictor:
    """An estimator asked itself: by ``predict_proba``, ``decision_function`` or ``predict``.

    Args:
        estimator: fitted classifier.
        method: which of the three; ``None`` takes the first that the estimator has and that decides as ``predict`` does
            for its family.
        is_checked: let the estimator check its inputs, so that one that takes no missing cells refuses them.
        reason: why it is asked itself, where it is of a family that could have been read.
    """

    feature_names: tuple[str, ...] | None = None

    def __init__(
        self, estimator: Any, method: str | None = None, *, is_checked: bool = False, reason: str = ""
    ) -> None:
        self.estimator = estimator
        self.reason = reason
        self._is_checked = is_checked
        self.kind = type(estimator).__name__
        self.n_inputs: int | None = getattr(estimator, "n_features_in_", None)
        self._n_classes = len(estimator.classes_)
        self.n_scores = 1 if self._n_classes == 2 else self._n_classes
        self.method = method or self.methods()[0]
        outputs = {"predict_proba": Output.PROBABILITY, "decision_function": Output.LOGIT, "predict": Output.LABEL}
        self.output = outputs[self.method]

    def methods(self) -> list[str]:
        """The methods to try in turn; Platt's probabilities of an SVC contradict its decisions, and so do scores that
        are compared with a threshold of the estimator's own.
        """
        methods = [name for name in ("predict_proba", "decision_function") if hasattr(self.estimator, name)]
        if type(self.estimator).__name__ in ("FixedThresholdClassifier", "TunedThresholdClassifierCV"):
            methods = []
        elif type(self.estimator).__name__ in ("SVC", "NuSVC"):
            methods = ["decision_function"] if self._n_classes == 2 else []
        return [*methods, "predict"]

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_rows, n_scores)``."""
        result = ask(self.estimator, self.method, inputs, is_checked=self._is_checked)
        if self.method == "predict":
            return as_label_scores(class_indices(self.estimator, result), self._n_classes)
        if self.method == "predict_proba":
            return settle(np.asarray(result, dtype=np.float64))
        scores = np.asarray(result, dtype=np.float64)
        return scores[:, None] if scores.ndim == 1 else scores

    def probabilities(self, inputs: Any) -> FloatArray:
        """Class probabilities ``(n_rows, n_classes)``."""
        return np.asarray(ask(self.estimator, "predict_proba", inputs), dtype=np.float64)

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """Scores less the threshold; several classes: the scores."""
        scores = self.predict(inputs)
        return scores - threshold if self.n_scores == 1 else scores


def ask(estimator: Any, method: str, inputs: Any, *, is_checked: bool = False) -> Any:
    """Call a method of an estimator without its checks of the numbers, unless asked for, and without warnings about
    names.
    """
    import sklearn

    with sklearn.config_context(assume_finite=not is_checked), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(estimator, method)(inputs)


def class_indices(estimator: Any, labels: Any) -> IntArray:
    """Index in ``estimator.classes_`` of each label ``(n_rows,)``."""
    labels = np.asarray(labels)
    result: IntArray = np.zeros(len(labels), dtype=np.int64)
    for i, known in enumerate(estimator.classes_):
        result[labels == known] = i
    return result


def _parts(estimator: Any) -> Iterator[Any]:
    yield estimator
    steps = [step for name in ("steps", "transformer_list") for _, step in getattr(estimator, name, ())]
    if type(estimator).__name__ in ("VotingClassifier", "StackingClassifier"):
        steps += list(getattr(estimator, "estimators_", ()))
    steps += [calibrated.estimator for calibrated in getattr(estimator, "calibrated_classifiers_", ())]
    for step in [*steps, getattr(estimator, "estimator", None)]:
        if step is not None and not isinstance(step, str):
            yield from _parts(step)


# --- one function a family ----------------------------------------------------------------


def _compile_tree(estimator: Any) -> Predictor | None:
    return Forest([estimator.tree_], int(estimator.n_features_in_), len(estimator.classes_), "decision tree")


def _compile_forest(estimator: Any) -> Predictor | None:
    trees = [member.tree_ for member in estimator.estimators_]
    kind = f"forest of {len(trees)} trees"
    return Forest(trees, int(estimator.n_features_in_), len(estimator.classes_), kind)


def _compile_boosting(estimator: Any) -> Predictor | None:
    has_constant_start = estimator.init is None or estimator.init == "zero"
    return BoostedTrees(estimator) if has_constant_start else None


def _compile_mlp(estimator: Any) -> Predictor | None:
    chain = DenseChain(int(estimator.n_features_in_))
    activations = [estimator.activation] * (len(estimator.coefs_) - 1) + [estimator.out_activation_]
    for weights, biases, activation in zip(estimator.coefs_, estimator.intercepts_, activations, strict=True):
        chain.multiply(np.asarray(weights, dtype=np.float64), np.asarray(biases, dtype=np.float64))
        chain.activate(_SKLEARN_ACTIVATIONS[activation])
    return chain.finish(kind="multi-layer perceptron")


def _compile_linear(estimator: Any) -> Predictor | None:
    name = type(estimator).__name__
    if not isinstance(estimator.coef_, np.ndarray):
        return None  # made sparse
    weights = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64)).T
    n_outputs = weights.shape[1]
    biases = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), (n_outputs,)).copy()
    is_logistic = name in ("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis")
    if n_outputs > 1 and is_logistic and getattr(estimator, "solver", "") == "liblinear":
        return None  # one against the rest, normalised: not a softmax
    chain = DenseChain(weights.shape[0])
    chain.multiply(weights, biases)
    if is_logistic:
        chain.activate(Activation.SIGMOID if n_outputs == 1 else Activation.SOFTMAX)
    return chain.finish(kind=f"linear model ({name})")


def _compile_svc(estimator: Any) -> Predictor | None:
    is_known = estimator.kernel in ("rbf", "poly", "sigmoid", "linear") and len(estimator.classes_) == 2
    return SupportVectors(estimator) if is_known and isinstance(estimator.support_vectors_, np.ndarray) else None


def _compile_vote(estimator: Any) -> Predictor | None:
    members = [compile_estimator(member) for member in estimator.estimators_]
    n_classes = len(estimator.classes_)
    if estimator.voting == "hard":
        return HardVote(members, estimator._weights_not_none, n_classes)
    for i, member in enumerate(estimator.estimators_):
        if members[i].output is not Output.PROBABILITY:  # e.g. an SVC with Platt's probabilities
            members[i] = EstimatorPredictor(member, "predict_proba")
    return SoftVote(members, estimator._weights_not_none, n_classes)


def _compile_pipeline(estimator: Any) -> Predictor | None:
    steps = [step for _, step in estimator.steps[:-1] if step is not None and step != "passthrough"]
    final = compile_estimator(estimator.steps[-1][1])
    if not steps:
        return final
    if isinstance(final, DenseNetwork) and all(type(step).__name__ in SCALERS for step in steps):
        folded = _fold_scalers(steps, final)
        if folded is not None:
            return folded
    return Transformed(_transformer(estimator[:-1]), final, getattr(estimator, "n_features_in_", None))


def _compile_frozen(estimator: Any) -> Predictor | None:
    return compile_estimator(unfrozen(estimator))


def _transformer(pipeline: Any) -> Callable[[Any], FloatArray]:
    def transform(inputs: Any) -> FloatArray:
        result = ask(pipeline, "transform", inputs)
        dense = result.toarray() if hasattr(result, "toarray") else result
        return np.asarray(dense, dtype=np.float64)

    return transform


def _fold_scalers(steps: list[Any], network: DenseNetwork) -> DenseNetwork | None:
    """The network with the scalers' factors in its first layer; ``None`` when one also clips."""
    for scaler in reversed(steps):
        if getattr(scaler, "clip", False):
            return None
        network = network.with_affine_inputs(*_scaling(scaler))
    return network


def _scaling(scaler: Any) -> tuple[FloatArray, FloatArray]:
    """``(factor, shift)`` of a fitted scaler, one value a column each."""
    n = int(scaler.n_features_in_)
    scale = getattr(scaler, "scale_", None)
    factor = np.ones(n) if scale is None else np.asarray(scale, dtype=np.float64)
    if type(scaler).__name__ == "MinMaxScaler":
        return factor, np.asarray(scaler.min_, dtype=np.float64)
    centre = getattr(scaler, "mean_" if type(scaler).__name__ == "StandardScaler" else "center_", None)
    if centre is not None and not getattr(scaler, "with_mean", True):
        centre = None  # StandardScaler learns the mean even where it does not use it
    return 1 / factor, -(np.zeros(n) if centre is None else np.asarray(centre, dtype=np.float64)) / factor


def scalings(estimator: Any) -> list[Scaling]:
    """What the fitted scalers in an estimator do to a number, of every column they know, each in its own order of
    operations.
    """
    found = []
    for part in all_parts(estimator):
        if type(part).__name__ not in SCALERS or not hasattr(part, "n_features_in_"):  # of a template to be fitted
            continue
        factor = getattr(part, "scale_", None)
        shift = np.zeros(int(part.n_features_in_))
        factor = np.ones(len(shift)) if factor is None else np.asarray(factor, dtype=np.float64)
        is_quotient = type(part).__name__ != "MinMaxScaler"
        if not is_quotient:
            shift = np.asarray(part.min_, dtype=np.float64)
        elif getattr(part, "with_mean", getattr(part, "with_centering", False)):
            shift = np.asarray(getattr(part, "mean_", getattr(part, "center_", shift)), dtype=np.float64)
        found += [Scaling(float(s), float(f), is_quotient) for s, f in zip(shift, factor, strict=True) if f]
    return found


_COMPILERS: dict[str, Callable[[Any], Predictor | None]] = {
    "DecisionTreeClassifier": _compile_tree,
    "ExtraTreeClassifier": _compile_tree,
    "RandomForestClassifier": _compile_forest,
    "ExtraTreesClassifier": _compile_forest,
    "GradientBoostingClassifier": _compile_boosting,
    "MLPClassifier": _compile_mlp,
    "LogisticRegression": _compile_linear,
    "LogisticRegressionCV": _compile_linear,
    "LinearDiscriminantAnalysis": _compile_linear,
    "LinearSVC": _compile_linear,
    "FairLinearSVC": _compile_linear,
    "SGDClassifier": _compile_linear,
    "RidgeClassifier": _compile_linear,
    "Perceptron": _compile_linear,
    "PassiveAggressiveClassifier": _compile_linear,
    "SVC": _compile_svc,
    "NuSVC": _compile_svc,
    "VotingClassifier": _compile_vote,
    "Pipeline": _compile_pipeline,
    "FrozenEstimator": _compile_frozen,
}
