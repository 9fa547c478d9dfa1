"""Arrays that scikit-learn's compiled code follows without looking: each of them is refused before the model is asked.

Every case is a fitted estimator with one number changed, saved with skops and opened as any file is.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomTreesEmbedding,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, NuSVC
from sklearn.tree import DecisionTreeClassifier
from small_models import numbers_schema

from fairness_engine.errors import InputError, ModelError
from fairness_engine.models.open import open_estimator, open_model
from fairness_engine.models.sklearn.native_parts import check_native_parts
from fairness_engine.models.trees.trees import Forest

RNG = np.random.default_rng(5)
ROWS = RNG.integers(0, 10, (300, 4)).astype(np.float64)
LABELS = (ROWS[:, 0] + ROWS[:, 1] > ROWS[:, 2] + 5).astype(int)
THREE = LABELS + (ROWS[:, 3] > 6)
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
FOREST = RandomForestClassifier(3, max_depth=3, random_state=0)
KD = KNeighborsClassifier(3, algorithm="kd_tree", leaf_size=10)
BALL = KNeighborsClassifier(3, algorithm="ball_tree", leaf_size=10)
HISTOGRAMS = HistGradientBoostingClassifier(max_iter=3, random_state=0)


def of_tree(find: Callable[[Any], Any], **changes: Any) -> Callable[[Any], None]:
    """Change a field of a tree's first node, or its ``node_count``."""

    def change(estimator: Any) -> None:
        tree = find(estimator)
        state = tree.__getstate__()
        nodes = state["nodes"].copy()
        for name, value in changes.items():
            if name in state:
                state[name] = value
            else:
                nodes[name][0] = value
        # a tree that has room already keeps its count of nodes, so that of the file reaches it
        tree.__setstate__(state | {"nodes": nodes})

    return change


def of_histograms(**changes: int) -> Callable[[Any], None]:
    def change(estimator: Any) -> None:
        for name, value in changes.items():
            estimator._predictors[0][0].nodes[name][0] = value

    return change


STATE = ("data", "idx_array", "node_data", "node_bounds", "leaf_size", "n_levels", "n_nodes")


def of_neighbours(name: str, change_array: Callable[[Any], Any]) -> Callable[[Any], None]:
    def change(estimator: Any) -> None:
        state = list(estimator._tree.__getstate__())
        place = STATE.index(name)
        held = state[place]
        state[place] = change_array(held.copy() if isinstance(held, np.ndarray) else held)
        estimator._tree.__setstate__(tuple(state))

    return change


def first(value: int, field: str | None = None) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        (array if field is None else array[field])[0] = value
        return array

    return change


def having(**changes: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Change attributes of an estimator, each from what it was."""

    def change(estimator: Any) -> None:
        for name, new in changes.items():
            held = getattr(estimator, name)
            setattr(estimator, name, new(held.copy() if isinstance(held, np.ndarray) else held))

    return change


def own(estimator: Any) -> Any:
    return estimator.tree_


def of_first(estimator: Any) -> Any:
    member = np.asarray(estimator.estimators_, dtype=object).ravel()[0]
    return member.tree_


@pytest.mark.parametrize(
    ("estimator", "labels", "change", "says"),
    [
        (TREE, LABELS, of_tree(own, left_child=-5), "tree of the model points outside"),
        (TREE, LABELS, of_tree(own, left_child=10**6), "tree of the model points outside"),
        (TREE, LABELS, of_tree(own, right_child=0), "tree of the model points outside"),
        (TREE, LABELS, of_tree(own, feature=99), "tree of the model points outside"),
        (TREE, LABELS, of_tree(own, feature=-3), "tree of the model points outside"),
        (TREE, LABELS, having(n_features_in_=lambda _: 3), "takes 4 inputs, but its estimator 3"),
        (FOREST, THREE, of_tree(of_first, left_child=0), "tree of the model points outside"),
        (AdaBoostClassifier(TREE, n_estimators=3), LABELS, of_tree(of_first, right_child=-7), "points outside"),
        (BaggingClassifier(TREE, n_estimators=3), THREE, of_tree(of_first, feature=4), "points outside"),
        (GradientBoostingClassifier(n_estimators=3), LABELS, of_tree(of_first, left_child=-9), "points outside"),
        (
            GradientBoostingClassifier(n_estimators=3),
            LABELS,
            having(estimators_=lambda stages: np.repeat(stages, 5, axis=1)),
            "must have 1 trees in each of its stages",
        ),
        (
            GradientBoostingClassifier(n_estimators=3),
            LABELS,
            having(estimators_=lambda stages: np.repeat(stages, 5, axis=1), n_trees_per_iteration_=lambda _: 5),
            "must begin with 5 values a row, got 1",
        ),
        (HISTOGRAMS, LABELS, of_histograms(left=10**6), "tree of the model points outside"),
        (HISTOGRAMS, LABELS, of_histograms(right=0), "tree of the model points outside"),
        (HISTOGRAMS, THREE, of_histograms(feature_idx=77), "tree of the model points outside"),
        (HISTOGRAMS, LABELS, of_histograms(is_categorical=1, bitset_idx=900), "categories that it does not know"),
        (KD, LABELS, of_neighbours("idx_array", first(10**9)), "tree of neighbours in the model points outside"),
        (BALL, LABELS, of_neighbours("idx_array", first(-3)), "tree of neighbours in the model points outside"),
        (KD, LABELS, of_neighbours("node_data", first(10**7, "idx_end")), "tree of neighbours"),
        (BALL, LABELS, of_neighbours("node_data", lambda nodes: nodes[:2].copy()), "tree of neighbours"),
        (KD, LABELS, of_neighbours("node_bounds", lambda bounds: bounds[:, :1].copy()), "tree of neighbours"),
        (BALL, THREE, of_neighbours("n_nodes", lambda _: 10**6), "tree of neighbours"),
        (
            KNeighborsClassifier(3, algorithm="brute"),
            LABELS,
            having(_fit_X=lambda rows: np.ascontiguousarray(rows[:, :2])),
            "must be rows of 4 numbers with a class each, got 300 classes for a table of shape",
        ),
        (KNeighborsClassifier(3, algorithm="brute"), LABELS, having(_y=lambda y: y[:2]), "got 2 classes"),
        (SVC(), LABELS, having(dual_coef_=lambda a: a[:, :2], _dual_coef_=lambda a: a[:, :2]), "support vectors"),
        (SVC(), THREE, having(_n_support=lambda n: n + np.array([9**8, 0, -(9**8)], n.dtype)), "support vectors"),
        (SVC(), THREE, having(_intercept_=lambda a: a[:1]), "support vectors"),
        (SVC(), LABELS, having(support_=first(10**6)), "support vectors"),
        (NuSVC(nu=0.2), LABELS, having(support_vectors_=lambda a: np.ascontiguousarray(a[:, :1])), "support vectors"),
        (SVC(), LABELS, having(_probA=lambda _: np.zeros(50), _probB=lambda _: np.zeros(50)), "support vectors"),
    ],
)
def test_what_compiled_code_would_follow_outside_its_arrays_is_refused(
    tmp_path: Path, estimator: BaseEstimator, labels: np.ndarray, change: Callable[[Any], None], says: str
) -> None:
    fitted = clone(estimator).fit(ROWS, labels)
    skops.io.dump(fitted, tmp_path / "whole.skops")
    open_model(tmp_path / "whole.skops", numbers_schema())
    change(fitted)
    skops.io.dump(fitted, tmp_path / "poked.skops")
    with pytest.raises(ModelError, match=says) as caught:
        open_model(tmp_path / "poked.skops", numbers_schema())
    assert "is damaged and is refused. Save it again." in str(caught.value)
    assert len(str(caught.value)) <= 300


@pytest.mark.parametrize(
    ("estimator", "find"),
    [
        (make_pipeline(StandardScaler(), TREE), lambda e: e.steps[-1][1].tree_),
        (
            make_pipeline(ColumnTransformer([("all", StandardScaler(), [0, 1, 2, 3])]), FOREST),
            lambda e: e.steps[-1][1].estimators_[1].tree_,
        ),
        (VotingClassifier([("line", LogisticRegression()), ("tree", TREE)]), lambda e: e.estimators_[1].tree_),
        (
            StackingClassifier([("line", LogisticRegression())], final_estimator=TREE),
            lambda e: e.final_estimator_.tree_,
        ),
        (CalibratedClassifierCV(TREE, cv=2), lambda e: e.calibrated_classifiers_[0].estimator.tree_),
        (BaggingClassifier(FOREST, n_estimators=2), lambda e: e.estimators_[1].estimators_[2].tree_),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseEstimator) else "",
)
def test_a_tree_is_found_at_any_depth(tmp_path: Path, estimator: Any, find: Callable[[Any], Any]) -> None:
    fitted = clone(estimator).fit(ROWS, LABELS)
    check_native_parts(fitted)
    of_tree(find, left_child=-5)(fitted)
    skops.io.dump(fitted, tmp_path / "m.skops")
    with pytest.raises(ModelError, match="A tree of the model points outside itself"):
        open_model(tmp_path / "m.skops", numbers_schema())


def test_a_tree_that_says_more_nodes_than_it_has_is_refused() -> None:
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(ROWS, LABELS)
    of_tree(own, node_count=10**6)(fitted)
    with pytest.raises(ModelError, match="points outside itself"):
        check_native_parts(fitted)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda e: None, ""),
        (of_histograms(feature_idx=5), "points outside itself"),
        (lambda e: setattr(e._bin_mapper, "is_categorical_", np.zeros(4, np.uint8)), "categories that it does not"),
        (lambda e: setattr(e._bin_mapper, "is_categorical_", np.ones(2, np.uint8)), "takes 4 inputs, but says of 2"),
        (lambda e: setattr(e._preprocessor, "transformers_", e._preprocessor.transformers_[:1]), "takes 2 inputs"),
        (
            lambda e: setattr(e._preprocessor.transformers_[1][1], "func", np.sum),
            "must be numbered by its own encoder",
        ),
    ],
)
def test_boosting_on_categories_asks_for_known_ones_only(change: Callable[[Any], Any], says: str) -> None:
    fitted = HistGradientBoostingClassifier(max_iter=3, categorical_features=[0, 2], random_state=0).fit(ROWS, LABELS)
    change(fitted)
    if says:
        with pytest.raises(ModelError, match=says):
            check_native_parts(fitted)
    else:
        check_native_parts(fitted)


def test_sparse_matrices_and_vocabularies_stay_inside_themselves() -> None:
    texts = ["good one", "bad one", "good two", "bad two"]
    fitted = make_pipeline(CountVectorizer(), SVC()).fit(texts, [1, 0, 1, 0])
    check_native_parts(fitted)
    vectors = fitted.steps[1][1].support_vectors_
    vectors.indices[0] = 10**6
    with pytest.raises(ModelError, match="A sparse matrix of the model points outside itself"):
        check_native_parts(fitted)
    fitted = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [1, 0, 1, 0])
    fitted.steps[0][1].vocabulary_["good"] = 10**6
    with pytest.raises(ModelError, match="must number its 4 words from 0"):
        check_native_parts(fitted)


def test_what_is_whole_passes_and_its_unfitted_templates_too() -> None:
    for labels in (LABELS, THREE):
        for estimator in (
            BaggingClassifier(SVC(), n_estimators=2),
            GradientBoostingClassifier(n_estimators=3, init=LogisticRegression()),
            GradientBoostingClassifier(n_estimators=3, init="zero"),
            DecisionTreeClassifier(max_leaf_nodes=7, ccp_alpha=0.01),
            KNeighborsClassifier(algorithm="ball_tree", p=3),
            SVC(kernel="precomputed"),
        ):
            rows = ROWS @ ROWS.T if getattr(estimator, "kernel", "") == "precomputed" else ROWS
            check_native_parts(estimator.fit(rows, labels))
        check_native_parts(SVC().fit(sp.csr_matrix(ROWS), labels))


def test_a_part_that_is_missing_or_contains_itself_is_refused() -> None:
    fitted = SVC().fit(ROWS, LABELS)
    del fitted._n_support
    with pytest.raises(ModelError, match="missing or of another kind"):
        check_native_parts(fitted)
    boosting = GradientBoostingClassifier(n_estimators=3).fit(ROWS, LABELS)
    boosting.init_ = boosting
    with pytest.raises(ModelError, match="contains itself"):
        check_native_parts(boosting)


def test_an_estimator_in_memory_is_looked_at_too() -> None:
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(ROWS, LABELS)
    of_tree(own, left_child=-5)(fitted)
    with pytest.raises(ModelError, match="points outside itself"):
        open_estimator(fitted, numbers_schema())


def test_a_tree_of_fewer_classes_than_its_model_is_not_walked() -> None:
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(ROWS, LABELS)
    with pytest.raises(ModelError, match="must decide between its 9 classes"):
        Forest([fitted.tree_], 4, 9, "tree")


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (having(_y=first(10**6)), "are of a class that there is not"),
        (having(_y=first(-1)), "are of a class that there is not"),
        (having(_y=lambda y: y.astype(float)), "are of a class that there is not"),
        (having(n_neighbors=lambda _: 301), "asks for 301 neighbours, but has 300"),
        (having(n_neighbors=lambda _: 0), "asks for 0 neighbours, but has 300"),
        (having(n_samples_fit_=lambda _: 10**6), "is not of its 300 rows"),
    ],
)
def test_neighbours_are_rows_of_known_classes_and_no_more_are_asked_for(
    algorithm: str, change: Callable[[Any], None], says: str
) -> None:
    fitted = KNeighborsClassifier(3, algorithm=algorithm).fit(ROWS, LABELS)
    check_native_parts(fitted)
    change(fitted)
    with pytest.raises(ModelError, match=says):
        check_native_parts(fitted)


def cut_list(values: list[Any]) -> list[Any]:
    return values[:1]


@pytest.mark.parametrize(
    ("step", "change", "says"),
    [
        (OneHotEncoder(), having(categories_=cut_list), "'categories_' of 'OneHotEncoder' .* 4 columns, got 1 values"),
        (OneHotEncoder(), having(categories_=lambda _: "abcd"), "'categories_' of 'OneHotEncoder' .* got a 'str'"),
        (OneHotEncoder(), having(categories_=lambda c: [c[0][None], *c[1:]]), "no lists that fit one another"),
        (OneHotEncoder(drop="first"), having(drop_idx_=lambda d: d[:2]), "'drop_idx_' of 'OneHotEncoder'"),
        (OneHotEncoder(drop="first"), having(drop_idx_=lambda d: d + 99), "no lists that fit one another"),
        (OrdinalEncoder(), having(categories_=cut_list), "'categories_' of 'OrdinalEncoder'"),
        (TargetEncoder(cv=2), having(encodings_=lambda e: [each[:1] for each in e]), "no lists that fit one another"),
        (TargetEncoder(cv=2), having(encodings_=cut_list), "no lists that fit one another"),
        (KBinsDiscretizer(3), having(bin_edges_=lambda b: b[:2]), "'bin_edges_' of 'KBinsDiscretizer'"),
        (KBinsDiscretizer(3), having(n_bins_=lambda n: n + 9), "must lie between edges in order"),
        (
            KBinsDiscretizer(3),
            having(bin_edges_=lambda b: np.array([e[::-1] for e in b] + [0], object)[:4]),
            "in order",
        ),
        (SimpleImputer(), having(statistics_=lambda a: a[:2]), r"'statistics_' of 'SimpleImputer' .* shape \(2,\)"),
        (SimpleImputer(), having(statistics_=lambda a: a.astype(complex)), "'statistics_' .* type complex128"),
        (KNNImputer(), having(_mask_fit_X=lambda a: a[:2]), "what is missing in them must be of one shape"),
        (KNNImputer(), having(_fit_X=lambda a: a[:, :2]), "'_fit_X' of 'KNNImputer'"),
        (StandardScaler(), having(scale_=lambda a: a[:3]), "'scale_' of 'StandardScaler'"),
        (RobustScaler(), having(center_=lambda a: a.astype(str)), "'center_' of 'RobustScaler'"),
        (
            QuantileTransformer(n_quantiles=10),
            having(quantiles_=lambda a: a.T),
            "'quantiles_' of 'QuantileTransformer'",
        ),
    ],
)
def test_what_encoders_imputers_and_scalers_learned_fits_their_columns(
    step: Any, change: Callable[[Any], None], says: str
) -> None:
    fitted = make_pipeline(clone(step), LogisticRegression()).fit(ROWS, LABELS)
    check_native_parts(fitted)
    change(fitted.steps[0][1])
    with pytest.raises(ModelError, match=says) as caught:
        check_native_parts(fitted)
    assert len(str(caught.value)) <= 300


def test_encoders_of_several_classes_and_of_missing_cells_are_whole() -> None:
    some = np.where(RNG.random(ROWS.shape) < 0.1, np.nan, ROWS)
    for step in (
        TargetEncoder(cv=2),
        SimpleImputer(add_indicator=True),
        SimpleImputer(strategy="constant", fill_value=1.0),
        KNNImputer(add_indicator=True),
        OneHotEncoder(min_frequency=0.2, drop="if_binary"),
        OrdinalEncoder(max_categories=3),
        make_pipeline(SimpleImputer(), KBinsDiscretizer(4, strategy="kmeans")),
        make_pipeline(SimpleImputer(), PowerTransformer()),
        make_pipeline(SimpleImputer(), StandardScaler(with_mean=False)),
        ColumnTransformer([("words", OneHotEncoder(), [1])]),
    ):
        last = DecisionTreeClassifier(max_depth=2)
        check_native_parts(make_pipeline(step, last).fit(some.astype(object) if "drop" in str(step) else some, THREE))
    check_native_parts(make_pipeline(RandomTreesEmbedding(2), LogisticRegression()).fit(ROWS, THREE))


@pytest.mark.parametrize("n_features", [0, -4, 2**31, 2.5, True])
def test_hashed_words_need_a_number_of_places(n_features: Any) -> None:
    fitted = make_pipeline(HashingVectorizer(n_features=8), LogisticRegression()).fit(["a b", "c d"], [0, 1])
    check_native_parts(fitted)
    fitted.steps[0][1].n_features = n_features
    with pytest.raises(ModelError, match="must be from 1 to 2,147,483,647"):
        check_native_parts(fitted)


def test_an_estimator_of_too_many_classes_is_refused_before_it_is_asked() -> None:
    fitted = LogisticRegression().fit(ROWS, LABELS)
    fitted.classes_ = np.arange(100_000)
    with pytest.raises(ModelError, match="at most 1,000 classes, got 100,000"):
        open_estimator(fitted, numbers_schema())


@pytest.mark.parametrize(
    ("estimator", "change"),
    [
        (CalibratedClassifierCV(TREE, cv=2), having(calibrated_classifiers_=lambda _: 1.5)),
        (CalibratedClassifierCV(TREE, cv=2), having(calibrated_classifiers_=lambda _: [3])),
        (make_pipeline(StandardScaler(), TREE), having(steps=lambda steps: [(), steps[1]])),
        (make_pipeline(ColumnTransformer([("all", StandardScaler(), [0, 1, 2, 3])]), TREE), None),
        (HISTOGRAMS, lambda e: delattr(e, "is_categorical_")),
    ],
)
def test_parts_that_are_something_else_are_told_in_a_sentence(
    estimator: Any, change: Callable[[Any], None] | None
) -> None:
    fitted = clone(estimator).fit(ROWS, LABELS)
    if change is None:
        fitted.steps[0][1].transformers_ = [(1,)]
    else:
        change(fitted)
    with pytest.raises(InputError) as caught:
        open_estimator(fitted, numbers_schema())
    assert len(str(caught.value)) <= 300
