"""scikit-learn models in the skops format, loaded with this project's own fixed list of trusted types.

A skops file names the types it is made of, and loading imports them. What is not on the list below or among skops's own
harmless types is refused by name; the file is never asked what it would like to be trusted.
"""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.errors import ModelError
from fairness_engine.models.formats import (
    DAMAGE,
    MAX_UNPACKED_BYTES,
    PICKLE_RECIPE,
    filled,
    read_members,
    recipe_for_type,
)

TRUSTED_TYPES = (
    "builtins.object",
    "fairness_engine.models.fair_svm.FairLinearSVC",
    "functools.partial",
    "numpy.clip",
    "numpy.dtype",
    "numpy.nan_to_num",
    "numpy.round",
    "scipy._lib.array_api_compat.numpy._aliases.asarray",
    "scipy.interpolate._bsplines.BSpline",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.feature_selection._univariate_selection.chi2",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.impute._iterative.IterativeImputer",
    "sklearn.impute._iterative._ImputerTriplet",
    "sklearn.metrics._classification.accuracy_score",
    "sklearn.metrics._classification.balanced_accuracy_score",
    "sklearn.metrics._classification.brier_score_loss",
    "sklearn.metrics._classification.f1_score",
    "sklearn.metrics._classification.jaccard_score",
    "sklearn.metrics._classification.log_loss",
    "sklearn.metrics._classification.matthews_corrcoef",
    "sklearn.metrics._classification.precision_score",
    "sklearn.metrics._classification.recall_score",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.metrics._dist_metrics.ManhattanDistance64",
    "sklearn.metrics._dist_metrics.MinkowskiDistance64",
    "sklearn.metrics._ranking.average_precision_score",
    "sklearn.metrics._ranking.roc_auc_score",
    "sklearn.metrics._scorer._CurveScorer",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.multiclass._ConstantPredictor",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
    "sklearn.utils.validation.check_array",
)
"""Fitted parts of estimators that hold numbers, functions that only compute, and this project's own estimator.

A ``partial`` is one of ``check_array`` alone, as boosting on histograms keeps it; see ``_PARTIAL_OF``.
"""
_PARTIAL_OF = ("sklearn.utils.validation", "check_array")


def read_skops(path: Path) -> tuple[Any, tuple[str, ...]]:
    """The object in a skops file, and notes for the user.

    Raises:
        ModelError: damaged, or it names types that are not trusted.
    """
    members = read_members(path, lambda name: name == "schema.json" or name.endswith((".npy", ".npz", ".bin")))
    _check_schema(members.get("schema.json"))
    for name, content in members.items():
        if name.endswith((".npy", ".npz")):  # a member of plain bytes declares nothing
            _check_arrays(name, content)
    return _load(path.read_bytes())


def _load(content: bytes) -> tuple[Any, tuple[str, ...]]:
    import skops.io
    from skops.io.exceptions import UntrustedTypesFoundException

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator = skops.io.loads(content, trusted=list(TRUSTED_TYPES))
    except UntrustedTypesFoundException:
        unknown = sorted(set(skops.io.get_untrusted_types(data=content)) - set(TRUSTED_TYPES)) or ["a type"]
        is_own = unknown[0].startswith("sklearn.")
        why = "a part of scikit-learn that is not read" if is_own else "not a known part of scikit-learn"
        instead = "its other" if is_own else "scikit-learn's own"
        raise ModelError(
            f"The model file names '{unknown[0][:100]}', which is {why}, and is refused. Build the model from "
            f"{instead} classes and save it again, or convert it to .onnx.",
            recipe=next(filter(None, map(recipe_for_type, unknown)), ""),
        ) from None
    except Exception as error:  # noqa: BLE001 - a damaged file fails inside skops in any way
        raise ModelError(
            f"The model must be a whole skops file, but it is damaged ({type(error).__name__}). Save or upload it "
            "again."
        ) from None
    return estimator, version_notes(caught)


def version_notes(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """One sentence when the file was saved by another version of scikit-learn."""
    for warning in caught:
        saved = getattr(warning.message, "original_sklearn_version", None)
        if saved is not None:
            here = getattr(warning.message, "current_sklearn_version", "another version")
            return (
                f"The model was saved with scikit-learn {saved} and is read with {here}: compare the accuracy with "
                "what you know of the model.",
            )
    return ()


def _check_schema(content: bytes | None) -> None:
    try:
        schema = json.loads(content or b"")
    except (ValueError, RecursionError):
        schema = None
    if not isinstance(schema, dict) or "__class__" not in schema:
        raise ModelError(
            "A skops file must describe its object in 'schema.json', but it is damaged. Save the model again."
        )
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            if node.get("__loader__") == "PartialNode":
                _check_partial(node)


def _check_partial(node: dict[str, Any]) -> None:
    content = node.get("content")
    function = content.get("func") if isinstance(content, dict) else None
    named = (function.get("__module__"), function.get("__class__")) if isinstance(function, dict) else ("", "nothing")
    if named != _PARTIAL_OF:
        raise ModelError(
            f"The model file prepares a call of '{'.'.join(map(str, named))[:100]}', which is not a known part of "
            "scikit-learn, and is refused. Build the model from scikit-learn's own classes and save it again, or "
            "convert it to .onnx."
        )


def _check_arrays(name: str, content: bytes) -> None:
    """Refuse arrays of objects, and headers that declare more numbers than the file holds."""
    if name.endswith(".npz"):
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                inner = archive.infolist()
                if sum(info.file_size for info in inner) > MAX_UNPACKED_BYTES:
                    raise ModelError("An array of the model file unpacks to more than is allowed. Use a smaller model.")
                for info in inner:
                    _check_arrays(info.filename, archive.read(info))
        except DAMAGE:
            raise ModelError(f"'{name[:80]}' of the model file is damaged. Save the model again.") from None
        return
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
    except Exception:  # noqa: BLE001 - headers are read as Python, which fails in many ways
        raise ModelError(f"'{name[:80]}' of the model file is no array of numbers. Save the model again.") from None
    n_values = 1
    for length in shape:
        n_values *= int(length)
    if dtype.hasobject or n_values * dtype.itemsize > len(content) or min(shape, default=0) < 0:
        raise ModelError(
            f"'{name[:80]}' of the model file declares more numbers than it holds and is refused. Save it again."
        )


REFUSAL = (
    "Pickle and joblib files run code of their author on load and are refused. Save the model as .skops, .onnx or "
    ".keras; or, for files you trust, start the app with --allow-unsafe-models, or give the command --unsafe-formats."
)


def read_pickle(path: Path, unsafe_formats: bool, name: str = "model.pkl") -> tuple[Any, tuple[str, ...]]:
    """The object in a pickle or joblib file, and notes for the user.

    Args:
        path: the file.
        unsafe_formats: the operator allows files that run code on load.
        name: as uploaded.

    Raises:
        ModelError: not allowed, or it cannot be loaded.
    """
    if not unsafe_formats:
        raise ModelError(REFUSAL, recipe=filled(PICKLE_RECIPE, name))
    import joblib  # type: ignore[import-untyped]  # joblib ships no types

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator = joblib.load(path)
    except Exception as error:  # noqa: BLE001 - the file's own code may raise anything
        raise ModelError(
            f"The file could not be loaded ({type(error).__name__}: {str(error)[:120]}). It may be damaged, or need a "
            "library that is not installed."
        ) from None
    note = "The file's format can run code of its author on load; it was read because the operator switched that on."
    return estimator, (note, *version_notes(caught))
