"""Several classes: every claim about a box holds for everybody in it, and exhausted certifications equal the exact
count.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from certification.networks import everybody, random_boxes
from fairness_engine.certification.assessor import Certificates
from fairness_engine.certification.assessors import make_assessor
from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.networks.assessor import ClassesAssessor
from fairness_engine.certification.partition.lattice import Lattice, Weights, make_lattice
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

JOB = Column("job", Kind.CATEGORICAL, codes=(1, 2, 4, 40), labels=("clerk", "nurse", "judge", "none"))
RACE = Column("race", Kind.CATEGORICAL, codes=(0, 3, 1), labels=("a", "b", "c"))
AGE = Column("age", Kind.INTEGER, minimum=0, maximum=11)
HOURS = Column("hours", Kind.INTEGER, minimum=0, maximum=8)
WEALTH = Column("wealth", Kind.REAL, minimum=0.0, maximum=1.0, step=0.25)
HEIGHT = Column("height", Kind.REAL, minimum=1.1, maximum=2.3)
SCHEMA = Schema((RACE, JOB, AGE, HOURS, WEALTH), label="y", protected=("race",))


def model_of(*hidden: int, n_classes: int = 3, seed: int = 0, schema: Schema = SCHEMA) -> Model:
    """Random weights over the columns of a schema, each in -1..1; every class is common, and the first column
    matters.
    """
    rng = np.random.default_rng(seed)
    widths = (len(schema.inputs), *hidden, n_classes)
    layers = [
        Layer(
            2 * rng.normal(size=pair) / np.sqrt(pair[0]),
            rng.normal(size=pair[1]),
            Activation.RELU if i < len(hidden) else Activation.SOFTMAX,
        )
        for i, pair in enumerate(pairwise(widths))
    ]
    layers[0].weights[0] *= 0.7
    scale = np.array([2 / max(column.codes or (column.high - column.low,)) for column in schema.inputs])
    low = np.array([0 if column.codes else column.low for column in schema.inputs])
    network = DenseNetwork(layers).with_affine_inputs(scale, -scale * low - 1)
    model = bind(network, CodesEncoder(schema), schema)
    rows = Domain(schema, Scope((schema.names[0],))).sample(2000, rng)
    last = network.layers[-1]
    biases = last.biases - np.median(network.logits(model.encoder.encode(rows)), axis=0)
    return bind(DenseNetwork([*network.layers[:-1], replace(last, biases=biases)]), CodesEncoder(schema), schema)


def space_of(model: Model, protected: tuple[str, ...] = ("race",), schema: Schema = SCHEMA, **scope: object) -> Lattice:
    return make_lattice(Domain(schema, Scope(protected, **scope), model.taken(schema.names)))


def decisions(model: Model, space: Lattice, digits: np.ndarray) -> np.ndarray:
    """Classes of all variants ``(n, n_variants)``."""
    rows = space.domain.variants(space.rows(digits)).reshape(-1, space.domain.n_columns)
    return model.decide(model.scores(rows)).reshape(len(digits), -1)


HIDDEN = [(), (8,), (7, 6), (5, 5, 5, 5)]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("hidden", HIDDEN, ids=str)
def test_every_claim_about_a_box_holds_for_everybody_in_it(hidden: tuple[int, ...], seed: int, mode: Mode) -> None:
    model = model_of(*hidden, seed=seed, n_classes=3 + seed)
    space = space_of(model)
    assessor = make_assessor(model, space, mode)
    rng = np.random.default_rng(seed)
    low, high = random_boxes(tuple(space.n_digits), 400, rng)
    high = np.minimum(high, low + rng.integers(0, 4, size=low.shape))
    found = assessor.assess(low, high)
    told = assessor.explain(low, high)
    weights = space.weigh(low, high)
    n_claims = np.zeros(2)
    n_partly = 0
    for b in range(len(low)):
        digits = everybody(low[b], high[b])
        classes = decisions(model, space, digits)
        is_unfair = classes.min(axis=1) != classes.max(axis=1)
        alike, differ = claims(told, b, digits)
        assert not (alike & is_unfair).any()
        assert not (differ & ~is_unfair).any()
        assert found.certified[b] <= alike.sum() + 1e-9
        assert found.falsified[b] <= differ.sum() + 1e-9
        n_partly += 0 < found.certified[b] + found.falsified[b] < weights[b]
        n_claims += found.certified[b] > 0, found.falsified[b] > 0
        is_open = found.certified[b] + found.falsified[b] < weights[b]
        assert (found.column[b] >= 0) == is_open
        if found.column[b] >= 0:
            assert high[b, found.column[b]] > low[b, found.column[b]]
    assert (n_claims > 0).all()
    assert (
        n_partly == 0 if mode is Mode.CLASSIC else n_partly > 0 or not hidden
    )  # without hidden layers all may be decided


def claims(told: Certificates, box: int, digits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Who of a box is said to be decided alike, and differently ``(n,)`` each, by its certificate alone."""
    starts = told.starts
    forms = told.coefficients[box]
    sums = np.zeros((len(digits), 3))
    for i in range(digits.shape[1]):
        is_table = starts[i + 1] - starts[i] > 1
        place = starts[i] + (digits[:, i] if is_table else np.zeros(len(digits), int))
        sums += forms[:, place].T * (1 if is_table else digits[:, i, None])
    above, below, begin, end = told.thresholds[box]
    return (sums[:, 0] > above) | (sums[:, 1] < below), (sums[:, 2] > begin) & (sums[:, 2] < end)


@pytest.mark.parametrize("hidden", HIDDEN, ids=str)
def test_a_box_of_one_individual_is_decided_as_the_model_decides(hidden: tuple[int, ...]) -> None:
    model = model_of(*hidden, n_classes=4)
    space = space_of(model, ("race", "wealth"))
    assessor = ClassesAssessor(read_network(model, space), space)
    digits = space.draw(*[np.repeat(ends, 500, axis=0) for ends in space.whole()], np.random.default_rng(1))
    found = assessor.assess(digits, digits)
    classes = decisions(model, space, digits)
    is_unfair = classes.min(axis=1) != classes.max(axis=1)
    assert (found.falsified == is_unfair).all()
    assert (found.certified == ~is_unfair).all()
    assert 0 < is_unfair.mean() < 1


def certified(model: Model, domain: Domain, **settings: object) -> tuple[dict[str, object], Stopped]:
    events = list(run_certification(model, domain, np.empty((0, domain.n_columns)), CertifySettings(**settings), 0))
    return next(e.content for e in events if isinstance(e, ResultReady)), events[-1]


@pytest.mark.parametrize("protected", [("race",), ("race", "hours"), ("job", "wealth")])
@pytest.mark.parametrize("hidden", [(), (8,), (6, 5)], ids=str)
def test_an_exhausted_certification_is_the_exact_count(hidden: tuple[int, ...], protected: tuple[str, ...]) -> None:
    model = model_of(*hidden, seed=7)
    domain = Domain(SCHEMA, Scope(protected), model.taken(SCHEMA.names))
    share = next(e.content["share"] for e in run_exact(model, domain) if isinstance(e, ResultReady))
    result, stopped = certified(model, domain)
    assert stopped.reason is StopReason.EXHAUSTED
    assert result["falsified"] == pytest.approx(share, abs=1e-12)
    assert result["undecided"] == pytest.approx(0, abs=1e-12)
    assert share > 0.1


def test_ties_go_to_the_first_class_and_are_not_claimed_by_bounds() -> None:
    layers = [Layer(np.zeros((5, 3)), np.array([1.0, 1.0, 0.5]), Activation.SOFTMAX)]
    layers[0].weights[0] = [1.0, 1.0, 0.0]  # race moves both of the first two
    model = bind(DenseNetwork(layers), CodesEncoder(SCHEMA), SCHEMA)
    space = space_of(model)
    assessor = ClassesAssessor(read_network(model, space), space)
    found = assessor.assess(*space.whole())
    assert (found.certified[0], found.falsified[0]) == (0, 0)
    assert (decisions(model, space, space.whole()[0]) == 0).all()


def test_protected_values_that_reach_no_active_neuron_certify_whatever_the_class() -> None:
    model = model_of(8, seed=3)
    network = read_network(model, space := space_of(model))
    shifts = network.shifts.copy()
    shifts[:, 1:] = shifts[0, 1:]
    blocked = network.first.copy()
    # the only neuron that race moves is never active
    blocked[:, 0] = 0.0
    shifts[:, 0] = [-1.0, -5.0, -0.1]
    dead = ReluNetwork(blocked, network.starts, network.reach, shifts, network.weights, network.biases, network.slopes)
    found = ClassesAssessor(dead, space).assess(*space.whole())
    assert found.certified.tolist() == [space.total]
    shifts[2, 0] = 0.1
    found = ClassesAssessor(dead, space).assess(*space.whole())
    assert found.certified.tolist() == [0.0]


def test_blind_models_are_certified_at_once() -> None:
    for hidden in ((), (6,)):
        model = model_of(*hidden)
        model.predictor.layers[0].weights[0] = 0.0
        model = bind(DenseNetwork(model.predictor.layers), CodesEncoder(SCHEMA), SCHEMA)
        space = space_of(model)
        found = make_assessor(model, space, Mode.COUNTING).assess(*space.whole())
        assert found.certified.tolist() == [space.total]


def test_leaky_and_deep_networks_have_sound_bounds() -> None:
    rng = np.random.default_rng(5)
    layers = [Layer(rng.normal(size=(5, 6)) / 3, rng.normal(size=6), Activation.LEAKY_RELU, 0.2)]
    layers += [
        Layer(np.eye(6) + rng.normal(size=(6, 6)) / 20, rng.normal(size=6) / 20, Activation.RELU) for _ in range(49)
    ]
    layers += [Layer(rng.normal(size=(6, 3)), rng.normal(size=3), Activation.LINEAR)]
    model = bind(
        DenseNetwork(layers).with_affine_inputs(np.array([1, 0.05, 0.1, 0.1, 1.0]), np.zeros(5)),
        CodesEncoder(SCHEMA),
        SCHEMA,
    )
    space = space_of(model)
    assessor = make_assessor(model, space, Mode.COUNTING)
    assert assessor.kind == "ReLU network of 50 hidden layers and 3 classes"
    low, high = random_boxes(tuple(space.n_digits), 200, rng)
    high = np.minimum(high, low + 1)
    found = assessor.assess(low, high)
    assert (found.certified > 0).any()
    for b in range(len(low)):
        classes = decisions(model, space, everybody(low[b], high[b]))
        is_unfair = classes.min(axis=1) != classes.max(axis=1)
        assert found.falsified[b] <= is_unfair.sum()
        assert found.certified[b] <= (~is_unfair).sum()


def test_claims_about_cells_hold_for_every_number_in_them() -> None:
    schema = Schema((RACE, JOB, HEIGHT, AGE), label="y", protected=("race",))
    model = model_of(6, schema=schema, seed=2)
    space = space_of(model, schema=schema)
    assessor = make_assessor(model, space, Mode.COUNTING)
    rng = np.random.default_rng(0)
    low = space.draw(*[np.repeat(ends, 300, axis=0) for ends in space.whole()], rng)
    high = low.copy()
    high[:, 1] = np.minimum(low[:, 1] + rng.integers(0, 3000, len(low)), space.n_digits[1] - 1)
    found = assessor.assess(low, high)
    assert (found.certified > 0).any()
    assert (found.falsified > 0).any()
    is_whole = found.certified + found.falsified == space.weigh(low, high)
    assert 10 < is_whole.sum() < len(low)
    for b in np.flatnonzero(is_whole & ((found.certified == 0) | (found.falsified == 0))):
        rows = np.repeat(space.rows(low[b : b + 1]), 50, axis=0)
        ends = space.steps[1] * np.array([low[b, 1], high[b, 1] + 1]) + 1.1
        rows[:, 2] = np.linspace(*ends, 50)
        variants = space.domain.variants(rows).reshape(-1, space.domain.n_columns)
        classes = model.decide(model.scores(variants)).reshape(50, -1)
        is_unfair = classes.min(axis=1) != classes.max(axis=1)
        assert is_unfair.all() if found.falsified[b] else not is_unfair.any()


def test_boxes_are_blamed_and_bounded_as_they_were_decided() -> None:
    model = model_of(7, 6)
    space = space_of(model, ("race", "hours"))
    assessor = make_assessor(model, space, Mode.CLASSIC)
    low, high = random_boxes(tuple(space.n_digits), 200, np.random.default_rng(2))
    found = assessor.assess(low, high)
    told = assessor.explain(low, high)
    assert ((told.thresholds[:, :2] == [-np.inf, np.inf]).all(axis=1) == (found.certified > 0)).all()
    assert ((told.thresholds[:, 2:] == [-np.inf, np.inf]).all(axis=1) == (found.falsified > 0)).all()
    assert told.bounds.shape == (200, 27, 2)
    assert np.isnan(told.bounds).all()
    assert (told.blame >= 0).all()
    assert 0 < told.n_unstable.max() <= 13
    is_open = found.column >= 0
    assert is_open.any()
    assert (
        told.blame[is_open, found.column[is_open]] == np.where(high > low, told.blame, -1)[is_open].max(axis=1)
    ).all()


def test_boxes_are_decided_one_like_many_and_weigh_by_the_data() -> None:
    model = model_of(6)
    rows = Domain(SCHEMA, Scope(("race",))).sample(30, np.random.default_rng(0))
    space = make_lattice(Domain(SCHEMA, Scope(("race",))), Weights.DATA, rows)
    assessor = make_assessor(model, space, Mode.COUNTING)
    low, high = random_boxes(tuple(space.n_digits), 50, np.random.default_rng(3))
    high = np.minimum(high, low + 2)
    many = assessor.assess(low, high)
    for b in range(50):
        one = assessor.assess(low[b : b + 1], high[b : b + 1])
        assert (one.certified[0], one.falsified[0], one.column[0]) == (
            many.certified[b],
            many.falsified[b],
            many.column[b],
        )
    assert (many.column[space.weigh(low, high) == 0] == -1).all()
