"""What scikit-learn's compiled code follows without looking: checked once, before an estimator is asked for anything.

Trees, neighbours, support vectors and sparse matrices are walked natively by the numbers in the file. A child, a place
or a width that is none would read, or write, outside their arrays; a child before its parent would be walked for ever.
What encoders, imputers and scalers learned is looked at too, so that they meet nothing that no fit makes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.errors import EvenhandError, ModelError

_OWN_MODULES = ("sklearn.", "fairness_engine.models.")
_LEAF = -1
_N_BITSET_WORDS = 8
"""Of 32 bits each: the 256 categories that boosting on histograms tells apart."""
_COLUMN_TREES = ("KDTree", "BallTree", "KDTree64", "BallTree64", "KDTree32", "BallTree32")
_VECTORIZERS = ("CountVectorizer", "TfidfVectorizer", "DictVectorizer")


@contextmanager
def damage_told() -> Iterator[None]:
    """Whatever the parts of an estimator raise while they are looked at is one sentence.

    Raises:
        ModelError: a part is missing or of another kind.
    """
    try:
        yield
    except (EvenhandError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - a damaged part may lack anything, or hold anything in its place
        raise ModelError(
            f"The fitted parts of the model contradict one another ({type(error).__name__}: {str(error)[:100]}). Save "
            "it again."
        ) from None


def check_native_parts(estimator: Any) -> None:
    """Look at every part of an estimator, at any depth: pipelines, ensembles, votes, column transformers.

    Args:
        estimator: fitted; nothing of it is called before what it is made of was looked at.

    Raises:
        ModelError: an array of a part points outside itself or does not fit the others.
    """
    try:
        _visit(estimator, set(), set())
    except EvenhandError:
        raise
    except RecursionError:
        raise ModelError("The parts of the model are nested deeper than any real one; it is refused.") from None
    except Exception as error:  # noqa: BLE001 - a damaged part may lack anything, or hold anything in its place
        raise _refusal(f"A fitted part of the model is missing or of another kind ({str(error)[:120]})") from None


def _visit(part: Any, seen: set[int], on_the_way: set[int]) -> None:
    """Check what a part is made of, then the part."""
    if id(part) in on_the_way and hasattr(part, "get_params"):
        raise _refusal("A part of the model contains itself")
    if id(part) in seen:
        return
    seen.add(id(part))
    on_the_way.add(id(part))
    for inner in inner_parts(part):
        _visit(inner, seen, on_the_way)
    on_the_way.discard(id(part))
    for kind in type(part).__mro__:
        learned, check = _CHECKS.get(kind.__name__, ("", None))
        if check is not None and hasattr(part, learned):
            check(part)


def inner_parts(part: Any) -> Iterator[Any]:
    """What may hold compiled structures; arrays of numbers, words and functions hold none."""
    if isinstance(part, Mapping):
        yield from part.values()
    elif isinstance(part, list | tuple | set):
        yield from part
    elif isinstance(part, np.ndarray):
        if part.dtype.hasobject and part.dtype.names is None:
            yield from (value for value in part.ravel() if not isinstance(value, str))
    elif isinstance(part, functools.partial):
        yield from (*part.args, *part.keywords.values())
    elif not isinstance(part, type) and (hasattr(part, "get_params") or type(part).__module__.startswith(_OWN_MODULES)):
        yield from getattr(part, "__dict__", {}).values()


def all_parts(estimator: Any) -> Iterator[Any]:
    """An estimator and everything in it that may hold compiled structures, at any depth, each once."""
    waiting = [estimator]
    seen: set[int] = set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        waiting.extend(inner_parts(part))


def _refusal(what: str) -> ModelError:
    return ModelError(f"{what}: the model is damaged and is refused. Save it again.")


# --- trees --------------------------------------------------------------------------------


def _check_tree(tree: Any) -> None:
    """``sklearn.tree._tree.Tree``: as many nodes as it says, children behind their parents, known features."""
    is_sized = 0 < tree.node_count <= tree.capacity  # its arrays are as long as node_count says, whatever is there
    if not is_sized or not _leads_forward(
        tree.children_left, tree.children_right, tree.children_left == _LEAF, tree.feature, tree.n_features
    ):
        raise _refusal("A tree of the model points outside itself")
    if tree.n_outputs < 1 or tree.max_n_classes < 1:
        raise _refusal("A tree of the model has leaves without a value")


def _check_tree_owner(estimator: Any) -> None:
    if type(estimator.tree_).__name__ == "Tree" and estimator.tree_.n_features != estimator.n_features_in_:
        raise _refusal(
            f"A tree of the model takes {estimator.tree_.n_features} inputs, but its estimator "
            f"{estimator.n_features_in_}"
        )


def _leads_forward(left: Any, right: Any, is_leaf: Any, feature: Any, n_features: int) -> bool:
    """Whether every node but a leaf has both children behind itself and compares an input that there is."""
    own = np.arange(len(left), dtype=np.int64)
    inner = np.asarray(~is_leaf, dtype=bool)
    places = own[inner]
    children = (np.asarray(left)[inner].astype(np.int64), np.asarray(right)[inner].astype(np.int64))
    compared = np.asarray(feature)[inner].astype(np.int64)
    return bool(
        len(own) > 0
        and all(((child > places) & (child < len(own))).all() for child in children)
        and ((compared >= 0) & (compared < n_features)).all()
    )


def _check_boosting(estimator: Any) -> None:
    """``GradientBoosting*``: stages add to a table of one column for each tree of a stage, unlooked at."""
    stages = estimator.estimators_
    n_values = int(estimator.n_trees_per_iteration_)
    is_table = isinstance(stages, np.ndarray) and stages.ndim == 2 and stages.size > 0 and stages.shape[1] == n_values
    if not is_table:
        raise _refusal(f"Gradient boosting must have {n_values} trees in each of its stages")
    n_features = int(estimator.n_features_in_)
    if any(member.tree_.n_features != n_features for member in stages.ravel()):
        raise _refusal(f"A tree of the gradient boosting does not take its {n_features} inputs")
    start = np.asarray(estimator._raw_predict_init(np.zeros((1, n_features))))
    if start.shape != (1, n_values):
        raise _refusal(f"Gradient boosting must begin with {n_values} values a row, got {start.shape[-1]}")


def _check_histogram_boosting(estimator: Any) -> None:
    """``HistGradientBoosting*``: every node of every predictor, and the sets of categories it asks."""
    width = _histogram_width(estimator)
    is_categorical = np.zeros(width, dtype=bool)
    mapper = estimator._bin_mapper
    if mapper.is_categorical_ is not None:
        is_categorical = np.asarray(mapper.is_categorical_, dtype=bool)
    if is_categorical.shape != (width,):
        raise _refusal(f"Boosting on histograms takes {width} inputs, but says of {is_categorical.size} what they are")
    for stage in estimator._predictors:
        for predictor in stage:
            _check_histogram_tree(predictor, is_categorical)


def _check_histogram_tree(predictor: Any, is_categorical: Any) -> None:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"] != 0
    if not _leads_forward(nodes["left"], nodes["right"], is_leaf, nodes["feature_idx"], len(is_categorical)):
        raise _refusal("A tree of the model points outside itself")
    by_category = nodes[~is_leaf & (nodes["is_categorical"] != 0)]
    sets = np.asarray(predictor.raw_left_cat_bitsets)
    is_known = (
        is_categorical[by_category["feature_idx"].astype(np.int64)].all()
        and (by_category["bitset_idx"].astype(np.int64) < len(sets)).all()
        and sets.shape[1:] == (_N_BITSET_WORDS,)
    )
    if len(by_category) and not is_known:
        raise _refusal("A tree of the model asks for categories that it does not know")


def _histogram_width(estimator: Any) -> int:
    """Columns that reach the trees: all inputs, or what its own two steps make of them."""
    preprocessor = getattr(estimator, "_preprocessor", None)
    if preprocessor is None:
        return int(estimator.n_features_in_)
    width = 0
    for _, step, columns in preprocessor.transformers_:
        if isinstance(step, str) and step == "drop":
            continue
        mask = np.asarray(columns)
        passes_all = type(step).__name__ == "OrdinalEncoder" or (
            type(step).__name__ == "FunctionTransformer"
            and getattr(getattr(step.func, "func", step.func), "__name__", "check_array") == "check_array"
        )
        if mask.dtype != np.bool_ or not passes_all:
            raise _refusal("The categories of boosting on histograms must be numbered by its own encoder")
        width += int(mask.sum())
    return width


# --- neighbours ---------------------------------------------------------------------------


def _check_column_tree(tree: Any) -> None:
    """``KDTree`` and ``BallTree``: nodes that halve the places of the rows, one after the other."""
    data, places, nodes, bounds, leaf_size, n_levels, n_nodes, *_, metric, weights = tree.__getstate__()
    n_rows, n_columns = data.shape
    n_centres = 2 if type(tree).__name__.startswith("KD") else 1
    is_sound = (
        n_rows > 0
        and leaf_size >= 1
        and 1 <= n_levels < 64
        and n_nodes == 2**n_levels - 1 == len(nodes)
        and bounds.shape == (n_centres, n_nodes, n_columns)
        and _are_places(places, n_rows)
        and len(places) == n_rows
        and (weights is None or np.shape(weights) == (n_rows,))
    )
    if is_sound:
        starts = np.asarray(nodes["idx_start"], dtype=np.int64)
        ends = np.asarray(nodes["idx_end"], dtype=np.int64)
        is_leaf = np.asarray(nodes["is_leaf"]) != 0
        is_last = 2 * np.arange(n_nodes) + 1 >= n_nodes
        is_sound = bool(((starts >= 0) & (starts <= ends) & (ends <= n_rows)).all() and is_leaf[is_last].all())
    if not is_sound:
        raise _refusal("The tree of neighbours in the model points outside itself")
    metric._validate_data(data)


def _check_neighbours(estimator: Any) -> None:
    """Nearest neighbours: rows of the width of a row, as many as are asked for, each of a class that there is."""
    rows = estimator._fit_X
    n_rows = rows.shape[0]
    labels = np.asarray(getattr(estimator, "_y", np.zeros(n_rows)))
    if rows.ndim != 2 or rows.shape[1] != estimator.n_features_in_ or len(labels) != n_rows:
        raise _refusal(
            f"The neighbours in the model must be rows of {estimator.n_features_in_} numbers with a class each, got "
            f"{len(labels)} classes for a table of shape {str(rows.shape)[:40]}"
        )
    tree = estimator._tree
    n_asked = getattr(estimator, "n_neighbors", None)
    if estimator.n_samples_fit_ != n_rows or (tree is not None and np.shape(tree.data) != rows.shape):
        raise _refusal(f"The tree of neighbours in the model is not of its {n_rows} rows")
    if n_asked is not None and not 1 <= n_asked <= n_rows:
        raise _refusal(f"The model asks for {str(n_asked)[:20]} neighbours, but has {n_rows}")
    if hasattr(estimator, "classes_"):
        classes = estimator.classes_ if isinstance(estimator.classes_, list) else [estimator.classes_]
        columns = labels.reshape(n_rows, -1).T
        if len(columns) != len(classes) or not all(map(_are_places, columns, map(len, classes))):
            raise _refusal("Some neighbours in the model are of a class that there is not")


# --- support vectors ----------------------------------------------------------------------


def _check_support_vectors(estimator: Any) -> None:
    """``SVC`` and its kin: as many places, coefficients and offsets as there are vectors and pairs of classes."""
    vectors = estimator.support_vectors_
    counts = np.asarray(estimator._n_support, dtype=np.int64)
    is_classifier = estimator._impl in ("c_svc", "nu_svc")
    n_classes = len(counts) if is_classifier else 2
    n_pairs = n_classes * (n_classes - 1) // 2
    n_vectors = len(estimator.support_)
    n_rows, n_columns = (int(length) for length in estimator.shape_fit_)
    is_precomputed = estimator.kernel == "precomputed" or callable(estimator.kernel)
    is_sparse = hasattr(vectors, "indptr")
    wanted = (n_classes - 1) * n_vectors
    chances = (estimator._probA, estimator._probB)
    is_sound = (
        n_classes >= 2
        and (not is_classifier or n_classes == len(estimator.classes_))
        and bool((counts >= 0).all())
        and int(counts.sum() if is_classifier else counts[:1].sum()) == n_vectors
        and is_sparse == bool(estimator._sparse)
        and (vectors.shape == (n_vectors, n_columns) or (is_precomputed and not is_sparse and vectors.size == 0))
        and (callable(estimator.kernel) or n_columns == estimator.n_features_in_)
        and _are_places(estimator.support_, n_rows)
        and all(
            _n_stored(held) == wanted and held.shape == (n_classes - 1, n_vectors)
            for held in (estimator.dual_coef_, estimator._dual_coef_)
        )
        and all(np.size(held) == n_pairs for held in (estimator.intercept_, estimator._intercept_))
        and all(np.size(held) in ((0, n_pairs) if is_classifier else (0, 1)) for held in chances)
        and np.size(chances[0]) == np.size(chances[1])
    )
    if not is_sound:
        raise _refusal("The support vectors of the model do not fit their coefficients and classes")


def _n_stored(values: Any) -> int:
    """Numbers in an array, or kept of a sparse one: of a machine all of them are kept."""
    return int(values.data.size) if hasattr(values, "indptr") else int(values.size)


# --- encoders, imputers, scalers ----------------------------------------------------------


def _check_columns(part: Any) -> None:
    """What was learned of every column: as much of it as there are columns, and numbers where numbers are meant."""
    n_columns = int(part.n_features_in_)
    for name in _BY_COLUMN[type(part).__name__]:
        learned = getattr(part, name, None)
        if learned is None:
            continue
        if isinstance(learned, np.ndarray):
            is_sound = learned.ndim >= 1 and learned.shape[-1] == n_columns and learned.dtype.kind in "biufO"
        else:
            is_sound = isinstance(learned, list) and len(learned) == n_columns
        if not is_sound:
            raise _refusal(
                f"'{name}' of '{type(part).__name__}' in the model must hold one value for each of its {n_columns} "
                f"columns, got {_described(learned)}"
            )


def _check_categories(encoder: Any) -> None:
    """Encoders: a list of categories a column, and what belongs to it."""
    _check_columns(encoder)
    categories = encoder.categories_
    encodings = getattr(encoder, "encodings_", None)
    dropped = getattr(encoder, "drop_idx_", None)
    is_sound = all(isinstance(each, np.ndarray) and each.ndim == 1 for each in categories)
    if encodings is not None:  # several classes have an encoding each
        is_sound = is_sound and bool(categories) and len(encodings) % len(categories) == 0
        n_each = max(1, len(encodings) // max(1, len(categories)))
        is_sound = is_sound and all(
            np.shape(each) == np.shape(categories[i // n_each]) for i, each in enumerate(encodings)
        )
    if dropped is not None:
        pairs = zip(dropped, categories, strict=True)
        is_sound = is_sound and all(place is None or 0 <= place < len(each) for place, each in pairs)
    if not is_sound:
        raise _refusal(f"The categories of '{type(encoder).__name__}' in the model are no lists that fit one another")


def _check_bins(part: Any) -> None:
    """``KBinsDiscretizer``: edges in order, one more than bins."""
    _check_columns(part)
    edges = [np.asarray(each, dtype=np.float64) for each in part.bin_edges_]
    if not all(
        each.ndim == 1 and len(each) == n + 1 and (np.diff(each) >= 0).all()
        for each, n in zip(edges, part.n_bins_, strict=True)
    ):
        raise _refusal("The bins of 'KBinsDiscretizer' in the model must lie between edges in order")


def _check_near_imputer(part: Any) -> None:
    """``KNNImputer``: which cells of its rows are missing."""
    _check_columns(part)
    if np.shape(part._fit_X) != np.shape(part._mask_fit_X) or np.asarray(part._mask_fit_X).dtype != np.bool_:
        raise _refusal("The rows of 'KNNImputer' in the model and what is missing in them must be of one shape")


def _check_spline(part: Any) -> None:
    """``scipy``'s ``BSpline``: knots in order, enough of them for its degree, and coefficients for all."""
    held = vars(part)
    knots = held.get("_t", held.get("t"))
    coefficients = held.get("_c", held.get("c"))
    degree = part.k
    is_sound = (
        isinstance(degree, int)
        and not isinstance(degree, bool)
        and degree >= 0
        and all(isinstance(each, np.ndarray) and each.dtype == np.float64 for each in (knots, coefficients))
        and knots.ndim == 1
        and len(knots) >= 2 * degree + 2
        and bool(np.isfinite(knots).all() and (np.diff(knots) >= 0).all() and knots[degree] < knots[-degree - 1])
        and coefficients.ndim >= 1
        and len(coefficients) >= len(knots) - degree - 1
        and part.axis == 0
    )
    if not is_sound:
        raise _refusal("The knots of 'BSpline' in the model do not fit its degree and coefficients")


def _check_hashing(part: Any) -> None:
    """Places are remainders by the number of features."""
    n = part.n_features
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n < 2**31:
        raise _refusal(f"'n_features' of '{type(part).__name__}' must be from 1 to 2,147,483,647, got {str(n)[:20]}")


def _described(value: Any) -> str:
    """Its shape or length."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {str(value.shape)[:40]} and type {str(value.dtype)[:20]}"
    return f"{len(value)} values" if isinstance(value, list) else f"a '{type(value).__name__[:20]}'"


_BY_COLUMN = {
    "OneHotEncoder": ("categories_", "drop_idx_", "_drop_idx_after_grouping", "_n_features_outs"),
    "OrdinalEncoder": ("categories_",),
    "TargetEncoder": ("categories_",),
    "KBinsDiscretizer": ("bin_edges_", "n_bins_"),
    "SimpleImputer": ("statistics_",),
    "KNNImputer": ("_fit_X", "_mask_fit_X", "_valid_mask"),
    "StandardScaler": ("mean_", "scale_", "var_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_"),
    "MaxAbsScaler": ("scale_",),
    "RobustScaler": ("center_", "scale_"),
    "QuantileTransformer": ("quantiles_",),
    "PowerTransformer": ("lambdas_",),
}
"""What each learns of every column, along the last axis of an array."""


# --- sparse matrices and vocabularies -----------------------------------------------------


def _check_sparse(matrix: Any) -> None:
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise _refusal(f"A sparse matrix of the model points outside itself ({str(error)[:80]})") from None


def _check_vocabulary(vectorizer: Any) -> None:
    """Words become columns by the numbers beside them."""
    vocabulary = getattr(vectorizer, "vocabulary_", {})
    places = np.array([int(place) for place in vocabulary.values()], dtype=np.int64)
    if len(places) and not _are_places(places, len(places)):
        raise _refusal(f"The vocabulary of the model must number its {len(places)} words from 0")


def _are_places(values: Any, length: int) -> bool:
    """Whether all are positions in an array of that length."""
    array: IntArray = np.asarray(values)
    return bool(array.ndim == 1 and array.dtype.kind in "iu" and ((array >= 0) & (array < length)).all())


_CHECKS: dict[str, tuple[str, Callable[[Any], None]]] = {
    "Tree": ("node_count", _check_tree),
    "BaseDecisionTree": ("tree_", _check_tree_owner),
    "BaseGradientBoosting": ("estimators_", _check_boosting),
    "BaseHistGradientBoosting": ("_predictors", _check_histogram_boosting),
    "NeighborsBase": ("_fit_X", _check_neighbours),
    "BaseLibSVM": ("support_vectors_", _check_support_vectors),
    "_cs_matrix": ("indptr", _check_sparse),
    **dict.fromkeys(_BY_COLUMN, ("n_features_in_", _check_columns)),
    **dict.fromkeys(("OneHotEncoder", "OrdinalEncoder", "TargetEncoder"), ("categories_", _check_categories)),
    "KBinsDiscretizer": ("bin_edges_", _check_bins),
    "BSpline": ("k", _check_spline),
    "KNNImputer": ("_fit_X", _check_near_imputer),
    **dict.fromkeys(("HashingVectorizer", "FeatureHasher"), ("n_features", _check_hashing)),
    **dict.fromkeys(_COLUMN_TREES, ("data", _check_column_tree)),
    **dict.fromkeys(_VECTORIZERS, ("vocabulary_", _check_vocabulary)),
}
"""By the name of the class, or of one that it derives from: what a part has that is fitted, and what looks at it. Where
that is missing the part is one to be copied, or Python says so before anything compiled is called.
"""
