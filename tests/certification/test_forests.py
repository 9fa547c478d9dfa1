"""Certification of trees: every box that is claimed is right for everybody in it, and at the end nothing is left open.

The judge is enumeration by the model's own decisions; the loop that splits boxes is written for these tests.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from fairness_engine.arrays import FloatArray
from fairness_engine.certification.assessors import make_assessor
from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.forests.assessor import TreeAssessor
from fairness_engine.certification.forests.ensemble import read_ensemble
from fairness_engine.certification.partition.lattice import Lattice, Weights, make_lattice
from fairness_engine.certification.settings import CertifySettings, Mode
from fairness_engine.data.schema import Column, Kind, ModelInput, Schema
from fairness_engine.errors import ModelError
from fairness_engine.events import ResultReady
from fairness_engine.measures.exact_count import decide_all, run_exact
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.encoders import LabelsEncoder, choose_encoder
from fairness_engine.models.model import Model
from fairness_engine.models.open import bind
from fairness_engine.models.sklearn.binding import bind_estimator
from fairness_engine.models.sklearn.estimator import prepare_estimator
from fairness_engine.oracle.domain import Domain, Scope

ESTIMATORS = {
    "tree": lambda seed: DecisionTreeClassifier(random_state=seed),
    "extra tree": lambda seed: ExtraTreeClassifier(max_depth=6, random_state=seed),
    "pure forest": lambda seed: RandomForestClassifier(4, bootstrap=False, max_features=2, random_state=seed),
    "forest": lambda seed: RandomForestClassifier(5, max_depth=4, random_state=seed),
    "extra trees": lambda seed: ExtraTreesClassifier(5, max_depth=5, random_state=seed),
    "boosting": lambda seed: GradientBoostingClassifier(n_estimators=6, random_state=seed),
    "histograms": lambda seed: HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5, random_state=seed),
    "vote": lambda seed: VotingClassifier(
        [("forest", RandomForestClassifier(3, random_state=seed)), ("tree", DecisionTreeClassifier(max_depth=3))],
        voting="soft",
        weights=[1, 2],
    ),
}


def small_schema(model_input: ModelInput = ModelInput.CODES) -> Schema:
    """Every kind of column; codes of jobs neither rise nor fall; 1,344 individuals by sex."""
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
        Column("age", Kind.INTEGER, minimum=20, maximum=25),
        Column("job", Kind.CATEGORICAL, codes=(3, 1, 7, 2), labels=("a", "b", "c", "d")),
        Column("wage", Kind.INTEGER, minimum=0, maximum=6),
        Column("share", Kind.REAL, minimum=0.0, maximum=1.75, step=0.25),
    )
    return Schema(columns=columns, label="y", favourable="1", protected=("sex",), model_input=model_input)


def outcomes(rows: FloatArray, n_classes: int, rng: np.random.Generator) -> Any:
    """Classes that depend on every column, two of them together, and on chance."""
    z = (rows - rows.mean(axis=0)) / (rows.std(axis=0) + 1e-9)
    sums = z @ rng.normal(size=rows.shape[1]) + z[:, 0] * z[:, -1] + 0.3 * rng.normal(size=len(rows))
    return np.digitize(sums, np.quantile(sums, np.arange(1, n_classes) / n_classes))


def fitted(
    estimator: Any,
    schema: Schema,
    seed: int,
    n_classes: int = 2,
    threshold: float | None = None,
    is_turned: bool = False,
) -> Model:
    """A model of an estimator fitted to outcomes of random rows; turned: its classes are in the other order in the
    data.
    """
    rng = np.random.default_rng(seed)
    rows = sample_rows(schema, 200, rng)
    width = 2 + 1 + 4 + 1 + 1 if schema.model_input is ModelInput.ONE_HOT else None
    estimator.fit(choose_encoder(schema, width).encode(rows), outcomes(rows, n_classes, rng))
    names = [str(i) for i in range(n_classes)]
    return bound(estimator, schema, tuple(names[::-1] if is_turned else names), threshold)


def bound(estimator: Any, schema: Schema, classes: tuple[str, ...], threshold: float | None = None) -> Model:
    predictor, encoder, _ = bind_estimator(prepare_estimator(estimator), schema)
    return bind(predictor, encoder, schema, classes=classes, own_classes=tuple(estimator.classes_), threshold=threshold)


def space_of(
    model: Model, schema: Schema, *protected: str, bins: dict[str, tuple[float, ...]] | None = None
) -> Lattice:
    scope = Scope(protected, bins=bins or {})
    return make_lattice(Domain(schema.with_protected(protected), scope, model.taken(schema.names)))


def refine(assessor: TreeAssessor, truth: Any = None) -> tuple[float, float, float, int]:
    """Split until nothing is open: certified, falsified and undecided weight, and how many boxes it took.

    Args:
        truth: which individuals are discriminatory, by digits; every claim is compared with it.
    """
    low, high = assessor.space.whole()
    certified = falsified = undecided = 0.0
    n_boxes = 0
    while len(low):
        found = assessor.assess(low, high)
        weights = assessor.space.weigh(low, high)
        n_boxes += len(low)
        certified = certified + found.certified.sum()
        falsified = falsified + found.falsified.sum()
        assert ((found.certified == 0) | (found.falsified == 0)).all()
        for b in np.flatnonzero(found.certified + found.falsified) if truth is not None else ():
            part = truth[tuple(slice(begin, end + 1) for begin, end in zip(low[b], high[b], strict=True))]
            assert not part.any() if found.certified[b] else part.all()
        is_open = found.column >= 0
        undecided += (weights - found.certified - found.falsified)[~is_open].sum()
        at = np.flatnonzero(is_open)
        lines = np.arange(int(is_open.sum()))
        assert found.cut is not None
        columns = found.column[at]
        cuts = found.cut[at]
        begin = low[at]
        end = high[at]
        assert ((cuts >= begin[lines, columns]) & (cuts < end[lines, columns])).all()
        left_high = end.copy()
        right_low = begin.copy()
        left_high[lines, columns] = cuts
        right_low[lines, columns] = cuts + 1
        low = np.concatenate([begin, right_low])
        high = np.concatenate([left_high, end])
    return certified, falsified, undecided, n_boxes


def truth_of(model: Model, space: Lattice) -> Any:
    verdicts = np.concatenate([block for block, _ in decide_all(model, space.domain)])
    return verdicts.reshape(tuple(space.n_digits))


def check_against_enumeration(model: Model, space: Lattice) -> TreeAssessor:
    assessor = TreeAssessor(model, space)
    truth = truth_of(model, space)
    certified, falsified, undecided, _ = refine(assessor, truth)
    assert (certified, falsified, undecided) == (truth.size - truth.sum(), truth.sum(), 0)
    return assessor


# --- against enumeration --------------------------------------------------------------------------


@pytest.mark.parametrize("model_input", [ModelInput.CODES, ModelInput.ONE_HOT])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_everything_is_decided_and_every_claim_is_true(name: str, n_classes: int, model_input: ModelInput) -> None:
    schema = small_schema(model_input)
    for seed, protected, is_turned in ((0, ("sex",), False), (1, ("age", "sex"), True), (2, ("wage",), False)):
        threshold = (None, 0.3, 0.75)[seed] if n_classes == 2 else None
        model = fitted(ESTIMATORS[name](seed), schema, seed, n_classes, threshold, is_turned)
        check_against_enumeration(model, space_of(model, schema, *protected))


def test_twelve_variants_share_the_trees_that_none_of_them_touches() -> None:
    schema = small_schema()
    model = fitted(ESTIMATORS["forest"](3), schema, 3)
    assessor = check_against_enumeration(model, space_of(model, schema, "age", "sex"))
    boxes = assessor.boxes
    assert boxes.version_of.shape[1] == 12
    assert boxes.n_trees == 5
    assert len(boxes.versions) < 12 * len(boxes.guards)  # variants that a tree does not tell apart have one version


def test_votes_that_tie_are_decided_as_the_forest_decides_them() -> None:
    schema = small_schema()
    model = fitted(ESTIMATORS["pure forest"](5), schema, 5)
    space = space_of(model, schema, "sex")
    every = space.domain.variants(space.rows(np.stack(np.unravel_index(np.arange(1344), space.n_digits), axis=1)))
    shares = model.predictor.probabilities(model.encoder.encode(every.reshape(-1, 5)))  # type: ignore[attr-defined]
    assert (shares[:, 0] == shares[:, 1]).any()  # two trees for each class
    ensemble = read_ensemble(model)
    assert (
        ensemble.below[0] == ensemble.above[0] == 2
    )  # votes: three of four are needed, and no rounding is allowed for
    check_against_enumeration(model, space)


def test_a_threshold_that_is_a_score_is_not_exceeded_by_it() -> None:
    schema = small_schema()
    for name in ("tree", "forest", "pure forest", "boosting"):
        plain = fitted(ESTIMATORS[name](7), schema, 7)
        space = space_of(plain, schema, "sex")
        scores = np.unique(plain.scores(space.domain.sample(500, np.random.default_rng(0))))
        for threshold in (float(scores[len(scores) // 2]), float(scores[-1]), float(scores[0]), 0.0, 1.0):
            model = fitted(ESTIMATORS[name](7), schema, 7, threshold=threshold)
            check_against_enumeration(model, space_of(model, schema, "sex"))


def test_leaves_of_other_types_than_the_rows_are_compared_as_the_library_does() -> None:
    """Inputs are rounded to float32 before they are compared: 0.1 is greater than a limit of 0.1, its rounding may not
    be.
    """
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M")),
        Column("x", Kind.REAL, minimum=0.0, maximum=1.0, step=0.1),
        Column("n", Kind.INTEGER, minimum=16_777_210, maximum=16_777_225),  # beyond 2**24 float32 skips odd numbers
    )
    schema = Schema(columns=columns, label="y", favourable="1", protected=("sex",), model_input=ModelInput.CODES)
    for seed in range(4):
        model = fitted(ESTIMATORS["tree"](seed), schema, seed)
        check_against_enumeration(model, space_of(model, schema, "sex"))


# --- pipelines ------------------------------------------------------------------------------------


def labelled_schema() -> Schema:
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
        Column(
            "job",
            Kind.CATEGORICAL,
            codes=("nurse", "clerk", "judge", "cook"),
            labels=("nurse", "clerk", "judge", "cook"),
        ),
        Column("town", Kind.CATEGORICAL, codes=tuple("abcdefg"), labels=tuple("abcdefg")),
    )
    return Schema(columns=columns, label="y", favourable="1", protected=("sex",), model_input=ModelInput.LABELS)


@pytest.mark.parametrize("encoder", [OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder()])
def test_pipelines_that_encode_each_column_by_itself(encoder: Any) -> None:
    schema = labelled_schema()
    rng = np.random.default_rng(11)
    rows = sample_rows(schema, 150, rng)
    for final in (DecisionTreeClassifier(random_state=0), RandomForestClassifier(6, max_depth=5, random_state=0)):
        pipeline = make_pipeline(encoder, final)
        pipeline.fit(choose_encoder(schema, None, None, True).encode(rows), outcomes(rows, 2, rng))
        model = bound(pipeline, schema, ("0", "1"))
        assert check_against_enumeration(model, space_of(model, schema, "sex")).ensemble.kind == model.predictor.kind


def loan_schema() -> Schema:
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
        Column("age", Kind.INTEGER, minimum=18, maximum=40),
        Column("job", Kind.CATEGORICAL, codes=("nurse", "clerk", "judge"), labels=("nurse", "clerk", "judge")),
        Column("income", Kind.REAL, minimum=312.5, maximum=9871.25),
    )
    return Schema(columns=columns, label="y", favourable="1", protected=("sex",), model_input=ModelInput.LABELS)


SCALERS = (StandardScaler(), MinMaxScaler((-1, 1)), RobustScaler(), MaxAbsScaler(), StandardScaler(with_mean=False))


@pytest.mark.parametrize("scaler", SCALERS, ids=lambda scaler: f"{type(scaler).__name__}-{scaler.get_params()}")
def test_boosting_on_histograms_behind_imputers_scalers_and_one_hot(scaler: Any) -> None:
    """Its limits are float64, so that a scaled continuous number must be right to the last bit: it is, for every usual
    scaler.
    """
    schema = loan_schema()
    rng = np.random.default_rng(7)
    rows = sample_rows(schema, 600, rng)
    steps = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), scaler), ["age", "income"]),
            ("labels", make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=False)),
                ["sex", "job"]),
        ]
    )  # fmt: skip
    final = HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=5)
    pipeline = make_pipeline(steps, final).fit(LabelsEncoder(schema).encode(rows), outcomes(rows, 2, rng))
    model = bound(pipeline, schema, ("0", "1"))
    space = space_of(model, schema, "sex")
    certified, falsified, undecided, _ = refine(TreeAssessor(model, space))
    assert undecided / space.total < 0.01
    assert min(certified, falsified) / space.total > 0.05

    assessor = TreeAssessor(model, space)
    scaled = pipeline[:-1].transform(LabelsEncoder(schema).encode(rows))
    income = 1  # of the features
    limits = np.concatenate(
        [tree.nodes["num_threshold"][tree.nodes["feature_idx"] == income] for (tree,) in final._predictors]
    )
    slope, offset = np.polyfit(scaled[:, income], rows[:, 3], 1)
    limits = limits[np.isfinite(limits)] * slope + offset
    near = np.concatenate(
        [limits, *(limits * (1 + k * 2.0**-52) for k in range(-4, 5)), rng.uniform(312.5, 9871.25, 2000)]
    )
    people = np.stack(
        [np.zeros(len(near)), rng.integers(18, 41, len(near)), rng.integers(0, 3, len(near)), near], axis=1
    )
    people = people[(near >= 312.5) & (near <= 9871.25)]
    digits = space.digits(people)
    found = assessor.assess(digits, digits)
    decided = pipeline.predict(LabelsEncoder(schema).encode(space.domain.variants(people).reshape(-1, 4))).reshape(
        -1, 2
    )
    is_unfair = decided[:, 0] != decided[:, 1]
    assert (found.certified > 0).any()
    assert (found.falsified > 0).any()
    assert not is_unfair[found.certified > 0].any()
    assert is_unfair[found.falsified > 0].all()


def test_curved_numbers_are_refused_for_what_they_are() -> None:
    schema = loan_schema()
    rng = np.random.default_rng(7)
    rows = sample_rows(schema, 200, rng)
    steps = ColumnTransformer([("n", PowerTransformer(), ["income"]), ("c", OrdinalEncoder(), ["sex"])])
    pipeline = make_pipeline(steps, HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5))
    pipeline.fit(LabelsEncoder(schema).encode(rows), outcomes(rows, 2, rng))
    model = bound(pipeline, schema, ("0", "1"))
    with pytest.raises(ModelError, match="or on a number in curves or steps"):
        make_assessor(model, space_of(model, schema, "sex"), Mode.COUNTING)


def test_inputs_of_several_columns_are_refused_by_name() -> None:
    schema = small_schema()
    rng = np.random.default_rng(0)
    rows = sample_rows(schema, 100, rng)
    pipeline = make_pipeline(PolynomialFeatures(2), DecisionTreeClassifier(max_depth=3))
    pipeline.fit(choose_encoder(schema, None).encode(rows), outcomes(rows, 2, rng))
    model = bound(pipeline, schema, ("0", "1"))
    with pytest.raises(ModelError, match="depends on several columns"):
        make_assessor(model, space_of(model, schema, "sex"), Mode.COUNTING)


def test_histograms_of_categories_are_refused_by_name() -> None:
    schema = continuous_schema()
    estimator = HistGradientBoostingClassifier(max_iter=3, categorical_features=[0])
    model = fitted(estimator, schema, 0)
    with pytest.raises(ModelError, match="sets of categories"):
        make_assessor(model, space_of(model, schema, "sex"), CertifySettings().mode)


# --- continuous columns and weights ----------------------------------------------------------------


def continuous_schema() -> Schema:
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M")),
        Column("age", Kind.INTEGER, minimum=20, maximum=29),
        Column("wealth", Kind.REAL, minimum=-1.0, maximum=3.0),
    )
    return Schema(columns=columns, label="y", favourable="1", protected=("sex",), model_input=ModelInput.CODES)


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "histograms"])
def test_continuous_columns_are_decided_but_for_cells_with_a_threshold(name: str) -> None:
    schema = continuous_schema()
    model = fitted(ESTIMATORS[name](1), schema, 1)
    space = space_of(model, schema, "sex")
    certified, falsified, undecided, _ = refine(TreeAssessor(model, space))
    assert certified + falsified + undecided == pytest.approx(space.total)
    assert undecided / space.total < 0.01
    people = space.domain.sample(20_000, np.random.default_rng(3))
    classes = model.decide(model.scores(space.domain.variants(people).reshape(-1, 3))).reshape(-1, 2)
    share = (classes[:, 0] != classes[:, 1]).mean()
    assert falsified / space.total - 0.02 < share < (falsified + undecided) / space.total + 0.02


def test_claims_hold_at_the_very_ends_of_cells() -> None:
    schema = continuous_schema()
    model = fitted(ESTIMATORS["tree"](4), schema, 4)
    space = space_of(model, schema, "sex")
    assessor = TreeAssessor(model, space)
    limits = np.unique(read_ensemble(model).nodes.limit[read_ensemble(model).nodes.feature == 2])
    limits = limits[np.isfinite(limits)]
    near = np.concatenate([limits, np.nextafter(limits, -9), np.nextafter(limits, 9), limits + 1e-12, limits - 1e-12])
    rows = np.array([[0.0, age, x] for age in range(20, 30) for x in near])
    digits = space.digits(rows)
    found = assessor.assess(digits, digits)
    classes = model.decide(model.scores(space.domain.variants(rows).reshape(-1, 3))).reshape(-1, 2)
    is_unfair = classes[:, 0] != classes[:, 1]
    assert not is_unfair[found.certified > 0].any()
    assert is_unfair[found.falsified > 0].all()


def test_weights_of_the_data_and_digits_that_weigh_nothing() -> None:
    schema = small_schema()
    model = fitted(ESTIMATORS["forest"](2), schema, 2)
    domain = space_of(model, schema, "sex").domain
    rows = domain.sample(30, np.random.default_rng(0))
    space = make_lattice(domain, Weights.DATA, rows)
    truth = truth_of(model, space)
    masses = (
        space.masses[0][:, None, None, None]
        * space.masses[1][:, None, None]
        * space.masses[2][:, None]
        * space.masses[3]
    )
    certified, falsified, undecided, _ = refine(TreeAssessor(model, space))
    assert undecided == pytest.approx(0, abs=1e-12)
    assert falsified == pytest.approx(float((masses * truth).sum()))
    assert certified == pytest.approx(float((masses * ~truth).sum()))


# --- few boxes, certificates -----------------------------------------------------------------------


def test_a_tree_without_protected_splits_is_one_box() -> None:
    schema = small_schema()
    rng = np.random.default_rng(0)
    rows = sample_rows(schema, 200, rng)
    rows[:, 0] = 0
    tree = DecisionTreeClassifier(random_state=0).fit(choose_encoder(schema, None).encode(rows), outcomes(rows, 2, rng))
    model = bound(tree, schema, ("0", "1"))
    assert refine(TreeAssessor(model, space_of(model, schema, "sex"))) == (1344, 0, 0, 1)


def test_a_tree_takes_about_as_many_boxes_as_it_has_nodes() -> None:
    schema = small_schema()
    for seed in range(5):
        tree = DecisionTreeClassifier(random_state=seed)
        model = fitted(tree, schema, seed)
        n_boxes = refine(TreeAssessor(model, space_of(model, schema, "sex")))[3]
        assert n_boxes <= 4 * tree.tree_.node_count


def test_certificates_say_what_was_assessed() -> None:
    schema = small_schema()
    for name, n_classes in (("tree", 2), ("forest", 2), ("boosting", 2), ("forest", 3)):
        model = fitted(ESTIMATORS[name](6), schema, 6, n_classes)
        space = space_of(model, schema, "wage")
        assessor = TreeAssessor(model, space)
        rng = np.random.default_rng(0)
        ends = rng.integers(0, space.n_digits, (2, 300, 4))
        low = ends.min(axis=0)
        high = ends.max(axis=0)
        low[:60] = high[:60]
        found = assessor.assess(low, high)
        why = assessor.explain(low, high)
        assert why.coefficients.shape == (300, 3, 0)
        holds = np.stack(
            [why.thresholds[:, 0] < 0, why.thresholds[:, 1] > 0, why.thresholds[:, 2] < why.thresholds[:, 3]]
        )
        assert ((found.certified > 0) == (holds[0] | holds[1])).all()
        assert ((found.falsified > 0) == holds[2]).all()
        is_open = (found.certified == 0) & (found.falsified == 0)
        assert is_open.any()
        assert (why.n_unstable[is_open] > 0).all()
        assert (why.blame[is_open].sum(axis=1) > 0).all()
        people = space.domain.variants(space.rows(rng.integers(low, high + 1))).reshape(-1, 5)
        if n_classes > 2:
            assert np.isnan(why.bounds).all()
            continue
        margins = (model.scores(people)[:, 0] - model.threshold).reshape(300, 7)
        assert (margins >= why.bounds[:, :, 0] - 1e-9).all()
        assert (margins <= why.bounds[:, :, 1] + 1e-9).all()


def test_the_same_box_has_the_same_answer_whatever_is_asked_with_it() -> None:
    schema = small_schema()
    model = fitted(ESTIMATORS["boosting"](8), schema, 8)
    space = space_of(model, schema, "age")
    rng = np.random.default_rng(1)
    ends = rng.integers(0, space.n_digits, (2, 50, 4))
    low = ends.min(axis=0)
    high = ends.max(axis=0)
    together = TreeAssessor(model, space).assess(low, high)
    assessor = TreeAssessor(model, space)
    for b in range(49, -1, -1):
        alone = assessor.assess(low[b : b + 1], high[b : b + 1])
        assert alone.certified[0] == together.certified[b]
        assert alone.falsified[0] == together.falsified[b]
        assert alone.cut is not None
        assert together.cut is not None
        assert (alone.column[0], alone.cut[0]) == (together.column[b], together.cut[b])


def test_threads_do_not_disturb_each_other() -> None:
    schema = small_schema()
    model = fitted(ESTIMATORS["extra trees"](9), schema, 9)
    space = space_of(model, schema, "sex")
    ends = np.random.default_rng(1).integers(0, space.n_digits, (2, 4000, 4))
    low = ends.min(axis=0)
    high = ends.max(axis=0)
    assessor = TreeAssessor(model, space)
    parts = [slice(begin, begin + 500) for begin in range(0, 4000, 500)]
    expected = assessor.assess(low, high)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda part: assessor.assess(low[part], high[part]), parts))
    assert (np.concatenate([f.certified for f in found]) == expected.certified).all()
    assert (np.concatenate([f.falsified for f in found]) == expected.falsified).all()
    assert (np.concatenate([f.column for f in found]) == expected.column).all()


@pytest.mark.parametrize("name", ["tree", "forest", "boosting"])
def test_a_whole_certification_is_the_exact_count(name: str) -> None:
    schema = small_schema()
    model = fitted(ESTIMATORS[name](1), schema, 1)
    domain = space_of(model, schema, "wage").domain
    rows = domain.sample(50, np.random.default_rng(0))
    results = [e for e in run_certification(model, domain, rows, CertifySettings(), 0) if isinstance(e, ResultReady)]
    counts = [e for e in run_exact(model, domain) if isinstance(e, ResultReady)]
    proved = next(e.content for e in results if e.name == "certification")
    assert proved["falsified"] == pytest.approx(counts[0].content["share"])
    assert proved["certified"] + proved["falsified"] == pytest.approx(1)
    assert proved["estimate"] is None
