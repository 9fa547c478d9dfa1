"""What scikit-learn's compiled code follows without looking: checked once, before an estimator is asked for anything.

Trees, neighbours, support vectors and sparse matrices are walked natively by the numbers in the file. A child, a place
or a width that is none would read, or write, outside their arrays; a child before its parent would be walked for ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
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
    for inner in _inner(part):
        _visit(inner, seen, on_the_way)
    on_the_way.discard(id(part))
    for kind in type(part).__mro__:
        learned, check = _CHECKS.get(kind.__name__, ("", None))
        if check is not None and hasattr(part, learned):
            check(part)


def _inner(part: Any) -> Iterator[Any]:
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
    """Nearest neighbours without a tree: rows of the width of a row, a class each."""
    rows = estimator._fit_X
    labels = np.asarray(getattr(estimator, "_y", np.zeros(rows.shape[0])))
    if rows.ndim != 2 or rows.shape[1] != estimator.n_features_in_ or len(labels) != rows.shape[0]:
        raise _refusal(
            f"The neighbours in the model must be rows of {estimator.n_features_in_} numbers with a class each, got "
            f"{len(labels)} classes for a table of shape {rows.shape}"
        )


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
    **dict.fromkeys(_COLUMN_TREES, ("data", _check_column_tree)),
    **dict.fromkeys(_VECTORIZERS, ("vocabulary_", _check_vocabulary)),
}
"""By the name of the class, or of one that it derives from: what a part has that is fitted, and what looks at it. Where
that is missing the part is one to be copied, or Python says so before anything compiled is called.
"""
