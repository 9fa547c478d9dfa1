"""Linear models: sums counted exactly as enumeration counts them, proofs that the exact count confirms."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certification.networks import everybody, random_boxes
from fairness_engine.certification.assessors import make_assessor
from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.linear import sums as linear_sums
from fairness_engine.certification.linear.assessor import LinearAssessor
from fairness_engine.certification.linear.sums import ColumnSums, distribute, is_enumerable
from fairness_engine.certification.partition.lattice import N_CELLS, Lattice, Weights, make_lattice
from fairness_engine.certification.relu_network import ReluNetwork, read_network
from fairness_engine.certification.settings import CertifySettings, Mode
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import StopReason
from fairness_engine.events import ResultReady, Stopped
from fairness_engine.measures.exact_count import run_exact
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.model import Model
from fairness_engine.models.open import bind
from fairness_engine.oracle.domain import Domain, Scope

RACE = Column("race", Kind.CATEGORICAL, codes=(0, 3, 1), labels=("a", "b", "c"))
JOB = Column("job", Kind.CATEGORICAL, codes=(1, 2, 4, 40), labels=("clerk", "nurse", "judge", "none"))
AGE = Column("age", Kind.INTEGER, minimum=0, maximum=11)
HOURS = Column("hours", Kind.INTEGER, minimum=0, maximum=8)
WEALTH = Column("wealth", Kind.REAL, minimum=0.0, maximum=1.0, step=0.25)
HEIGHT = Column("height", Kind.REAL, minimum=1.1, maximum=2.3)
SCHEMA = Schema((RACE, JOB, AGE, HOURS, WEALTH), label="y", protected=("race",))

# --- sums ---------------------------------------------------------------------------------------------

numbers = st.floats(-10, 10).map(lambda value: round(value, 3))


@st.composite
def columns(draw: st.DrawFn, max_columns: int = 5, max_values: int = 6) -> list[ColumnSums]:
    found = []
    for _ in range(draw(st.integers(0, max_columns))):
        values = draw(st.lists(numbers, min_size=1, max_size=max_values))
        weighs = draw(st.booleans())
        weights = draw(st.lists(st.floats(0.01, 3), min_size=len(values), max_size=len(values))) if weighs else []
        found.append(ColumnSums(np.array(values), np.array(weights)))
    return found


def enumerated(parts: list[ColumnSums]) -> tuple[np.ndarray, np.ndarray]:
    """Every sum and its weight, one after the other."""
    sums = []
    weights = []
    for chosen in itertools.product(*(range(len(part)) for part in parts)):
        sums.append(sum(part.values[i] for part, i in zip(parts, chosen, strict=True)))
        weights.append(np.prod([part.full_weights[i] for part, i in zip(parts, chosen, strict=True)]))
    return np.array(sums), np.array(weights)


@given(columns(), st.tuples(numbers, numbers).map(sorted))
def test_weights_between_two_limits_are_those_of_enumeration(parts: list[ColumnSums], limits: list[float]) -> None:
    # no sum of three decimals lies there
    low = limits[0] * 2 + 1e-4
    high = limits[1] * 2 + 1e-4
    found = distribute(parts)
    sums, weights = enumerated(parts)
    assert found.error == 0
    for begin, end in ((low, high), (-np.inf, high), (low, np.inf), (-np.inf, np.inf)):
        expected = weights[(sums > begin) & (sums <= end)].sum()
        assert found.weigh(begin, end) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(columns(max_columns=6, max_values=5), numbers)
@settings(deadline=None)
def test_grids_never_count_more_and_miss_little(parts: list[ColumnSums], limit: float) -> None:
    sums, weights = enumerated(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_sums, "_MAX_SUMS", 3)
        patch.setattr(linear_sums, "_N_BINS", 1 << 10)
        found = distribute(parts)
    for begin, end in ((limit, np.inf), (-np.inf, limit), (-limit, limit)):
        counted = found.weigh(begin, end)
        assert counted <= weights[(sums > begin) & (sums <= end)].sum() * (1 + 1e-9) + 1e-12
        reach = 2 * found.error + 1e-12
        surely = weights[(sums > begin + reach) & (sums <= end - reach)].sum()
        assert counted >= surely * (1 - 1e-9) - 1e-12
    assert found.error <= 6 * 120 / (1 << 10)


def test_half_open_intervals_part_the_whole() -> None:
    found = distribute([ColumnSums(np.arange(5.0), np.empty(0)), ColumnSums(np.arange(7.0), np.empty(0))])
    assert found.weigh(-np.inf, 4.0) == 15
    assert found.weigh(4.0, 8.0) == 17
    assert found.weigh(8.0, np.inf) == 3
    assert found.weigh(3.0, 3.0) == found.weigh(5.0, 2.0) == 0


def test_columns_of_many_values_are_convolved_from_below() -> None:
    rng = np.random.default_rng(0)
    left = rng.random(3000)
    right = rng.random(2000) * (rng.random(2000) < 0.7)
    found = linear_sums._convolved(left, right)
    exact = np.convolve(left, right)
    assert (found <= exact).all()
    assert np.abs(found - exact).max() <= 1e-9
    few = np.zeros(500)
    few[[3, 400]] = 2.0, 0.5
    assert np.allclose(linear_sums._convolved(left, few), np.convolve(left, few), rtol=1e-14)
    assert np.allclose(linear_sums._convolved(few[:10], left), np.convolve(left, few[:10]), rtol=1e-14)


def test_what_is_enumerated_is_bounded() -> None:
    assert is_enumerable([])
    assert is_enumerable([100] * 6)
    assert is_enumerable([7] * 14)
    assert is_enumerable([2000] * 4)
    assert is_enumerable([1] * 500 + [1000, 1000, 1000, 1000])
    assert not is_enumerable([N_CELLS] * 3)
    assert not is_enumerable([10] * 20)


# --- boxes --------------------------------------------------------------------------------------------


def model_of(seed: int = 0, schema: Schema = SCHEMA, **options: object) -> Model:
    """A logistic regression of random weights, about half of the people above the threshold, the first column of some
    weight.
    """
    rng = np.random.default_rng(seed)
    scale = np.array([2 / max(column.codes or (column.high - column.low,)) for column in schema.inputs])
    weights = rng.normal(size=(len(schema.inputs), 1)) * scale[:, None]
    rows = Domain(schema, Scope((schema.names[0],))).sample(500, rng)
    encoder = CodesEncoder(schema)
    bias = -np.median(encoder.encode(rows) @ weights, axis=0)
    return bind(DenseNetwork([Layer(weights, bias, Activation.SIGMOID)]), encoder, schema, **options)


def case_of(
    model: Model, schema: Schema = SCHEMA, protected: tuple[str, ...] = ("race",), **scope: object
) -> tuple[LinearAssessor, Lattice]:
    space = make_lattice(Domain(schema, Scope(protected, **scope), model.taken(schema.names)))
    assessor = make_assessor(model, space, Mode.COUNTING)
    assert isinstance(assessor, LinearAssessor)
    return assessor, space


def unfair(model: Model, space: Lattice, digits: np.ndarray) -> np.ndarray:
    rows = space.domain.variants(space.rows(digits)).reshape(-1, space.domain.n_columns)
    classes = model.decide(model.scores(rows)).reshape(len(digits), -1)
    return classes.min(axis=1) != classes.max(axis=1)


@pytest.mark.parametrize("threshold", [None, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_boxes_are_counted_as_the_model_decides(seed: int, threshold: float | None) -> None:
    model = model_of(seed, threshold=threshold)
    assessor, space = case_of(model)
    assert assessor.is_exact
    low, high = random_boxes(tuple(space.n_digits), 60, np.random.default_rng(seed))
    found = assessor.assess(low, high)
    for b in range(len(low)):
        is_unfair = unfair(model, space, everybody(low[b], high[b]))
        assert found.falsified[b] == is_unfair.sum()
        assert found.certified[b] == (~is_unfair).sum()
    assert (found.column == -1).all()
    assert (found.falsified > 0).any()


@pytest.mark.parametrize("seed", range(3))
def test_weights_of_the_data_are_summed(seed: int) -> None:
    model = model_of(seed)
    domain = Domain(SCHEMA, Scope(("race", "wealth")))
    space = make_lattice(domain, Weights.DATA, domain.sample(40, np.random.default_rng(seed)))
    assessor = make_assessor(model, space, Mode.COUNTING)
    low, high = random_boxes(tuple(space.n_digits), 40, np.random.default_rng(seed + 1))
    found = assessor.assess(low, high)
    for b in range(len(low)):
        digits = everybody(low[b], high[b])
        masses = np.prod([mass[digits[:, i]] for i, mass in enumerate(space.masses)], axis=0)
        is_unfair = unfair(model, space, digits)
        assert found.falsified[b] == pytest.approx(masses[is_unfair].sum(), abs=1e-12)
        assert found.certified[b] == pytest.approx(masses[~is_unfair].sum(), abs=1e-12)
    assert (found.falsified > 0).any()


def test_certificates_are_the_models_own_form_and_hold_for_everybody() -> None:
    model = model_of(2)
    assessor, space = case_of(model, protected=("race", "hours"))
    low, high = random_boxes(tuple(space.n_digits), 30, np.random.default_rng(0))
    told = assessor.explain(low, high)
    found = assessor.assess(low, high)
    n_held = 0
    for b in range(len(low)):
        digits = everybody(low[b], high[b])
        starts = told.starts
        form = told.coefficients[b]
        assert (form == form[0]).all()
        sums = sum(
            form[0, starts[i]] * digits[:, i] if starts[i + 1] - starts[i] == 1 else form[0, starts[i] + digits[:, i]]
            for i in range(digits.shape[1])
        )
        above, below, begin, end = told.thresholds[b]
        rows = space.domain.variants(space.rows(digits)).reshape(-1, space.domain.n_columns)
        classes = model.decide(model.scores(rows)).reshape(len(digits), -1)
        margins = model.exact_margins(rows).reshape(len(digits), -1)
        assert (classes[sums > above] == 1).all()
        assert (classes[sums < below] == 0).all()
        is_between = (sums > begin) & (sums < end)
        assert unfair(model, space, digits)[is_between].all()
        assert is_between.sum() == found.falsified[b]
        assert (sums > above).sum() + (sums < below).sum() == found.certified[b]
        assert told.bounds.shape == (30, 27, 2)
        assert (told.bounds[b, :, 0] <= margins.min(axis=0)).all()
        assert (told.bounds[b, :, 1] >= margins.max(axis=0)).all()
        assert told.bounds[b] == pytest.approx(np.stack([margins.min(axis=0), margins.max(axis=0)], axis=1), abs=1e-6)
        n_held += len(digits)
    assert n_held > 1000
    assert (told.n_unstable == 0).all()


def exhausted(
    model: Model, domain: Domain, rows: np.ndarray | None = None, **chosen: object
) -> tuple[dict[str, object], Stopped]:
    none = np.empty((0, domain.n_columns))
    events = list(run_certification(model, domain, none if rows is None else rows, CertifySettings(**chosen), 0))
    return next(e.content for e in events if isinstance(e, ResultReady)), events[-1]


@pytest.mark.parametrize("protected", [("race",), ("race", "age"), ("wealth", "job")])
@pytest.mark.parametrize("seed", range(2))
def test_a_certification_is_the_exact_count(seed: int, protected: tuple[str, ...]) -> None:
    model = model_of(seed)
    domain = Domain(SCHEMA, Scope(protected), model.taken(SCHEMA.names))
    share = next(e.content["share"] for e in run_exact(model, domain) if isinstance(e, ResultReady))
    result, stopped = exhausted(model, domain)
    assert stopped.reason is StopReason.EXHAUSTED
    assert result["falsified"] == pytest.approx(share, abs=1e-12)
    assert result["undecided"] == pytest.approx(0, abs=1e-12)
    assert result["boxes"] == 1
    assert result["kind"] == "linear model"
    assert share > 0.05


def test_sums_on_the_threshold_itself_are_evaluated() -> None:
    """Whole numbers: a third of the people sit on the threshold of one variant, which is class 0."""
    layer = Layer(np.array([[1.0], [0.0], [1.0], [-1.0], [4.0]]), np.array([-3.0]), Activation.LINEAR)
    model = bind(DenseNetwork([layer]), CodesEncoder(SCHEMA), SCHEMA)
    domain = Domain(SCHEMA, Scope(("race",)))
    assessor, space = case_of(model)
    found = assessor.assess(*space.whole())
    assert found.certified[0] + found.falsified[0] < 0.9 * space.total
    assert found.column[0] >= 0
    share = next(e.content["share"] for e in run_exact(model, domain) if isinstance(e, ResultReady))
    result, _ = exhausted(model, domain)
    assert result["falsified"] == pytest.approx(share, abs=1e-12)
    assert result["undecided"] == 0


def test_large_spaces_are_counted_in_one_box() -> None:
    wide = tuple(Column(f"x{i}", Kind.INTEGER, minimum=0, maximum=99) for i in range(6))
    schema = Schema((RACE, *wide), label="y", protected=("race",))
    model = model_of(1, schema)
    assessor, space = case_of(model, schema)
    assert assessor.is_exact
    found = assessor.assess(*space.whole())
    assert found.column.tolist() == [-1]
    assert space.total == 1e12
    assert 1 - (found.certified[0] + found.falsified[0]) / space.total < 1e-8
    digits = space.draw(*[np.repeat(ends, 200_000, axis=0) for ends in space.whole()], np.random.default_rng(0))
    share = unfair(model, space, digits).mean()
    assert found.falsified[0] / space.total == pytest.approx(share, abs=5 * np.sqrt(share / 200_000))
    assert share > 0.01


@pytest.mark.thorough
def test_larger_ones_on_a_grid_and_refined() -> None:
    wide = tuple(Column(f"x{i}", Kind.INTEGER, minimum=0, maximum=99) for i in range(14))
    schema = Schema((RACE, *wide), label="y", protected=("race",))
    model = model_of(1, schema)
    assessor, space = case_of(model, schema)
    assert not assessor.is_exact
    low, high = space.whole()
    found = assessor.assess(low, high)
    undecided = 1 - (found.certified[0] + found.falsified[0]) / space.total
    assert 0 < undecided < 1e-4
    assert found.column[0] == np.abs(assessor.network.first[:, 0]).argmax()
    digits = space.draw(*[np.repeat(ends, 200_000, axis=0) for ends in (low, high)], np.random.default_rng(0))
    share = unfair(model, space, digits).mean()
    error = 2e-3
    assert found.falsified[0] / space.total - error <= share <= found.falsified[0] / space.total + undecided + error
    refined = [
        e
        for e in run_certification(
            model, space.domain, np.empty((0, 15)), CertifySettings(max_boxes=3, n_samples=1_000), 0
        )
        if isinstance(e, ResultReady)
    ]
    assert refined[0].content["undecided"] < undecided
    assert (
        refined[0].content["falsified"] - error
        <= share
        <= refined[0].content["falsified"] + refined[0].content["undecided"] + error
    )


def test_continuous_columns_are_decided_but_for_half_a_cell() -> None:
    schema = Schema((RACE, HEIGHT, AGE, replace(HEIGHT, name="weight")), label="y", protected=("race",))
    model = model_of(5, schema)
    assessor, space = case_of(model, schema)
    assert not assessor.is_exact
    low, high = space.whole()
    found = assessor.assess(low, high)
    undecided = 1 - (found.certified[0] + found.falsified[0]) / space.total
    assert 0 < undecided < 1e-3
    assert found.column.tolist() == [-1]  # finer boxes have cells as wide
    rng = np.random.default_rng(0)
    rows = space.domain.sample(200_000, rng)
    classes = model.decide(model.scores(space.domain.variants(rows).reshape(-1, 4))).reshape(len(rows), -1)
    share = (classes.min(axis=1) != classes.max(axis=1)).mean()
    assert found.falsified[0] / space.total == pytest.approx(share, abs=5 * np.sqrt(share / 200_000))
    assert share > 0.01
    told = assessor.explain(low, high)
    digits = space.digits(rows)
    sums = digits.astype(float) @ told.coefficients[0, 0]
    assert (classes[sums > told.thresholds[0, 0]] == 1).all()
    assert (classes[sums < told.thresholds[0, 1]] == 0).all()
    is_between = (sums > told.thresholds[0, 2]) & (sums < told.thresholds[0, 3])
    assert (classes[is_between].min(axis=1) < classes[is_between].max(axis=1)).all()
    assert is_between.mean() == pytest.approx(share, abs=1e-3)


def test_a_model_without_weight_on_the_protected_value_is_certified_whole() -> None:
    layer = Layer(np.array([[0.0], [0.3], [1.0], [-1.0], [4.0]]), np.array([-3.0]), Activation.SIGMOID)
    model = bind(DenseNetwork([layer]), CodesEncoder(SCHEMA), SCHEMA)
    assessor, space = case_of(model)
    found = assessor.assess(*space.whole())
    assert (found.certified.tolist(), found.falsified.tolist(), found.column.tolist()) == ([space.total], [0], [-1])
    told = assessor.explain(*space.whole())
    assert told.thresholds.tolist() == [[-np.inf, np.inf, np.inf, -np.inf]]
    assert told.bounds.shape == (1, 3, 2)


def test_one_individual_and_one_value() -> None:
    schema = Schema((RACE, AGE), label="y", protected=("race",))
    model = model_of(0, schema)
    for chosen in ({"protected": ("race", "age")}, {"limits": {"age": (4, 4)}}):
        assessor, space = case_of(model, schema, **chosen)
        assert space.total == 1
        found = assessor.assess(*space.whole())
        is_unfair = unfair(model, space, space.whole()[0])
        assert (found.falsified[0], found.certified[0]) == (is_unfair[0], not is_unfair[0])


def test_boxes_of_no_weight_are_left_alone() -> None:
    domain = Domain(SCHEMA, Scope(("race",)))
    space = make_lattice(domain, Weights.DATA, np.array([[0, 0, 5, 5, 0.5]]))
    assessor = make_assessor(model_of(1), space, Mode.COUNTING)
    low, high = space.whole()
    high[0, 1] = 4
    found = assessor.assess(low, high)
    assert (found.certified[0], found.falsified[0], found.column[0]) == (0, 0, -1)


def test_slack_grows_with_what_cancels_out() -> None:
    """A year times a weight and a bias that takes it back: rounding is relative to both."""
    network = ReluNetwork(
        np.ones((1, 1)), np.array([0, 1]), np.zeros(1), np.array([[0.5], [-0.5]]), (), (), (), magnitude=1e13
    )
    year = Column("year", Kind.INTEGER, minimum=0, maximum=0)
    space = make_lattice(Domain(Schema((RACE, year), label="y", protected=("race",)), Scope(("race",))))
    assert LinearAssessor(network, space).assess(*space.whole()).falsified.tolist() == [0]
    assert LinearAssessor(replace(network, magnitude=1.0), space).assess(*space.whole()).falsified.tolist() == [1]


@pytest.mark.thorough
@pytest.mark.shared
def test_published_data_sets_are_settled_in_one_box(shared_linear: tuple[Model, Domain, np.ndarray]) -> None:
    model, domain, rows = shared_linear
    for weights in Weights:
        space = make_lattice(domain, weights, rows)
        assessor = LinearAssessor(read_network(model, space), space)
        found = assessor.assess(*space.whole())
        assert 1 - (found.certified[0] + found.falsified[0]) / space.total < 1e-4


@pytest.fixture(params=["adult", "german"])
def shared_linear(request: pytest.FixtureRequest, shared: Path) -> tuple[Model, Domain, np.ndarray]:
    """A logistic regression fitted to the decisions of a rule on published data."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    from fairness_engine.data.dataset import make_dataset
    from fairness_engine.data.table import read_table

    folder = shared / "data" / "peer"
    schema = Schema.read(folder / f"{request.param}__fairify_fairquant.schema.json").with_protected(("age",))
    file = folder / f"{request.param}__fairify_fairquant.csv"
    rows = make_dataset(read_table(file, name=file.name), schema).rows
    scaler = StandardScaler().fit(rows)
    signal = scaler.transform(rows) @ np.random.default_rng(0).normal(size=rows.shape[1])
    fitted = LogisticRegression().fit(scaler.transform(rows), signal > np.median(signal))
    weights = (fitted.coef_[0] / scaler.scale_)[:, None]
    bias = fitted.intercept_ - scaler.mean_ @ weights
    model = bind(DenseNetwork([Layer(weights, bias, Activation.SIGMOID)]), CodesEncoder(schema), schema)
    return model, Domain(schema, Scope(("age",))), rows
