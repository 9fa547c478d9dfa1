"""The benchmarks beside Fairify and beside a learned linear group: what they ask is judged by brute force on small
spaces.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from benchmarks.fairify import AGREES, Standing, is_replayed, refine_box
from benchmarks.fairify_query import Verdict, ask, box_limits, ranges_of
from benchmarks.rules_linear import AUDITORS, sample_of, score, swept, walked
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.model import Model
from fairness_engine.models.open import bind
from fairness_engine.oracle.domain import Domain, Scope

N_NETWORKS = 24
SCHEMA = Schema(
    columns=(
        Column("group", Kind.INTEGER, minimum=0, maximum=2),
        *(Column(name, Kind.INTEGER, minimum=0, maximum=4) for name in ("a", "b", "c")),
    ),
    protected=("group",),
)


def small_network(seed: int) -> Model:
    """Two hidden layers of three, in whole quarters, which a solver is quick with; the group changes little, so that
    all answers come up.
    """
    rng = np.random.default_rng(seed)
    weights = [rng.integers(-6, 7, shape) / 4 for shape in ((4, 3), (3, 3), (3, 1))]
    weights[0][0] = rng.integers(-1, 2, 3) / 4
    layers = [Layer(weight, rng.integers(-6, 7, weight.shape[1]) / 4, Activation.RELU) for weight in weights[:2]]
    layers.append(Layer(weights[2], rng.integers(-8, 9, 1) / 4, Activation.SIGMOID))
    return bind(DenseNetwork(tuple(layers)), CodesEncoder(SCHEMA), SCHEMA)


def has_pair(model: Model, domain: Domain) -> bool:
    people = itertools.product(*(np.arange(domain.low[i], domain.high[i] + 1) for i in domain.free))
    rows = np.array([(0, *person) for person in people], dtype=float)
    decided = np.stack([model.decide(model.scores(np.c_[np.full(len(rows), g), rows[:, 1:]])) for g in range(3)])
    return bool((decided.min(axis=0) != decided.max(axis=0)).any())


def test_both_answers_are_those_of_going_through_everybody() -> None:
    said: Counter[tuple[Verdict, bool]] = Counter()
    whole = Domain(SCHEMA, Scope(("group",)))
    parts = ranges_of(whole, 3)
    assert parts == {name: [(0.0, 2.0), (3.0, 4.0)] for name in ("a", "b", "c")}
    for seed in range(N_NETWORKS):
        domain = Domain(SCHEMA, Scope(("group",), limits=box_limits(parts, seed % 8)))
        model = small_network(seed)
        answer = ask(model, domain, 10.0)
        refined = refine_box(model, domain, 10.0, 0)
        truth = has_pair(model, domain)
        assert answer.verdict == (Verdict.SAT if truth else Verdict.UNSAT), seed
        assert refined.standing == (Standing.PAIR_FOUND if truth else Standing.CERTIFIED), seed
        assert refined.standing in AGREES[answer.verdict]
        for pair in (answer.witness, refined.witness):
            assert (pair is not None) == truth
            assert pair is None or is_replayed(model, domain, pair)
        said[answer.verdict, bool(answer.n_dead and answer.n_linear)] += 1
    assert {verdict for verdict, _ in said} == {Verdict.SAT, Verdict.UNSAT}
    assert said[Verdict.SAT, True] + said[Verdict.UNSAT, True] > 0, "no neuron was left out, so that was not tested"


def test_boxes_of_a_partition_hold_everybody_once() -> None:
    whole = Domain(SCHEMA, Scope(("group",)))
    parts = ranges_of(whole, 2)
    rows = np.array([(0.0, *person) for person in itertools.product(range(5), repeat=3)])
    boxes = [Domain(SCHEMA, Scope(("group",), limits=box_limits(parts, number))) for number in range(27)]
    assert (np.sum([box.contains(rows) for box in boxes], axis=0) == 1).all()


@pytest.mark.parametrize("seed", range(3))
def test_linear_groups_are_as_high_as_every_direction_tried(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = np.c_[rng.integers(0, 2, 400), rng.integers(0, 6, 400)].astype(float)
    drawn = rng.integers(5, 20, 400)
    favourable = rng.binomial(drawn, 0.2 + 0.5 * ((2 * features[:, 0] + features[:, 1]) > 4))
    sample = sample_of(features, drawn, favourable)

    def of(name: str) -> float:
        group = AUDITORS[name](sample, 0.05)
        return score(group.holds(features), drawn, favourable)

    best = 0.0
    for angle in np.linspace(0, np.pi, 61):
        values = features @ np.array([np.cos(angle), np.sin(angle)])
        for cut in np.unique(values):
            is_in = values > cut
            if 0.05 <= is_in.mean() <= 0.95:
                best = max(best, score(is_in, drawn, favourable))
    assert of("regression") - 1e-9 <= best
    assert of("threshold swept") <= of("weights walked") + 1e-9
    assert of("weights walked") == pytest.approx(best, abs=1e-9)
    for group in (swept(sample, 0.05), walked(sample, 0.05)):
        assert 0.05 <= group.holds(features).mean() <= 0.95
