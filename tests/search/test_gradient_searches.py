"""MAFT, EIDIG and ADF: against literal row-at-a-time implementations, brute force and independent evaluations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import StopReason
from fairness_engine.events import Event, PairsFound, Stopped
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.model import Model
from fairness_engine.models.open import bind
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.start_rows import StartRows, nearest_variants
from fairness_engine.search.techniques.gradient import kernels
from fairness_engine.search.techniques.gradient.adf import Adf
from fairness_engine.search.techniques.gradient.eidig import Eidig
from fairness_engine.search.techniques.gradient.gradients import MovableColumns
from fairness_engine.search.techniques.gradient.maft import Maft, MaftPlus
from fairness_engine.search.techniques.gradient.search import GradientSearch
from handmade import biased_score, function_model, small_domain, true_keys
from models.small_models import random_network

pytestmark = pytest.mark.thorough

Gradient = Callable[[np.ndarray], np.ndarray]


def bumpy(rows: np.ndarray) -> np.ndarray:
    """A smooth score that leans on sex and, less, on job."""
    job = np.array([0.0, 0.7, -0.4])[rows[:, 1].astype(int)]
    age = rows[:, 2] - 24
    hours = rows[:, 3] - 4
    logit = (
        0.8 * age * rows[:, 4] - 0.5 * hours + 0.3 * np.sin(age) + job + (rows[:, 0] - 0.5) * (1 + 0.1 * hours**2) - 2
    )
    return 1 / (1 + np.exp(-logit))


def network_of(domain: Domain, n_outputs: int = 1, seed: int = 0, spread: float = 1.0) -> Model:
    """A random network over a domain's columns, with its decisions balanced over the domain's rows."""
    from fairness_engine.models.dense.layers import Activation

    last = Activation.SIGMOID if n_outputs == 1 else Activation.SOFTMAX
    span = np.where(domain.high > domain.low, domain.high - domain.low, 1.0)
    network = random_network((domain.n_columns, 12, 8, n_outputs), last, seed)
    network = network.with_affine_inputs(2 * spread / span, -spread * (2 * domain.low / span + 1))
    logits = network.logits(domain.sample(2000, np.random.default_rng(seed)))
    end = network.layers[-1]
    network = type(network)((*network.layers[:-1], replace(end, biases=end.biases - np.median(logits, axis=0))))
    classes = [str(i) for i in range(max(2, n_outputs))]
    return bind(network, CodesEncoder(domain.schema), domain.schema, classes=classes, favourable=1)


def found(
    technique: Any, model: Model, domain: Domain, rows: np.ndarray, seed: int = 0, budget: Budget | None = None
) -> tuple[Pairs, Stopped]:
    events: list[Event] = list(run_search(technique, model, domain, rows, budget or Budget(10**7), seed))
    pairs = Pairs.concatenate([e.pairs for e in events if isinstance(e, PairsFound)], domain.n_columns)
    last = events[-1]
    assert isinstance(last, Stopped)
    return pairs, last


def keys_of(domain: Domain, pairs: Pairs) -> list[int]:
    return [int(key) for key in domain.keys(pairs.first)]


# --- the papers' algorithms, one row at a time ---------------------------------------------


def remembered(function: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
    """The function of a row, computed once a row: the chains come back to where they were."""
    known: dict[bytes, Any] = {}

    def look_up(row: np.ndarray) -> Any:
        key = row.tobytes()
        if key not in known:
            known[key] = function(row)
        return known[key]

    return look_up


def own_class_score(model: Model, row: np.ndarray) -> Callable[[np.ndarray], float]:
    """The score of the class that is predicted for ``row``, up to a constant: what the papers call ``F_p``."""
    own = int(model.decide(model.scores(row[None]))[0])
    if model.is_binary:
        return lambda x: float(model.scores(x[None])[0, 0]) * (1 if own == 1 else -1)
    return lambda x: float(model.scores(x[None])[0, own])


def estimated_gradient(model: Model, domain: Domain, h: float = 1.0) -> Gradient:
    """Algorithm 2, backwards where a step forwards leaves the domain."""

    def compute(row: np.ndarray) -> np.ndarray:
        score = own_class_score(model, row)
        out = []
        for i in domain.movable:
            step = h * domain.unit[i]
            if row[i] + step > domain.high[i] + 1e-9:
                step = -step
            moved = row.copy()
            moved[i] += step
            out.append((score(moved) - score(row)) / step * domain.unit[i])
        return np.array(out)

    return compute


def output_gradient(model: Model, domain: Domain) -> Gradient:
    def compute(row: np.ndarray) -> np.ndarray:
        own = model.decide(model.scores(row[None]))
        sign = -1 if model.is_binary and own[0] == 0 else 1
        return sign * model.gradients(row[None], own)[0, domain.movable] * domain.unit[domain.movable]

    return compute


def loss_gradient(model: Model, domain: Domain) -> Gradient:
    """Minus the gradient of the cross-entropy of the predicted class."""
    slope = output_gradient(model, domain)

    def compute(row: np.ndarray) -> np.ndarray:
        score = model.scores(row[None])[0]
        share = max(score[0], 1 - score[0]) if model.is_binary else score.max()
        return slope(row) / share

    return compute


def literal(
    technique: GradientSearch, model: Model, domain: Domain, rows: np.ndarray, seed: int, gradient: Gradient
) -> Iterator[int]:
    """Algorithms 3 and 4 as printed, with the last iterate tested; yields the individuals found, in order."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    starts = StartRows(domain, rows, technique.n_clusters, rng)
    movable = domain.movable
    unit = domain.unit
    gradient = remembered(gradient)

    @remembered
    def variants(row: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        people = domain.variants(row[None])[0]
        scores = np.array([model.scores(person[None])[0] for person in people])
        return people, scores, np.array([model.decide(score[None])[0] for score in scores])

    def disagreeing(row: np.ndarray, own: int) -> list[int]:
        _, scores, decisions = variants(row)
        gap = domain.scope.score_gap
        if gap > 0:
            return [k for k in range(len(scores)) if np.abs(scores[k] - scores[own]).max() > gap]
        return [k for k in range(len(scores)) if decisions[k] != decisions[own]]

    @remembered
    def is_discriminatory(row: np.ndarray) -> bool:
        return any(disagreeing(row, k) for k in range(domain.n_variants))

    global_id: dict[int, tuple[np.ndarray, int]] = {}
    for _ in range(technique.n_starts):
        row = starts.take(1)[0]
        own = int(nearest_variants(domain, row[None])[0])
        trend_1 = trend_2 = np.zeros(len(movable))
        for iteration in range(technique.max_iter + 1):
            if is_discriminatory(row):
                yield int(domain.keys(row[None])[0])
                global_id.setdefault(int(domain.keys(row[None])[0]), (row.copy(), own))
                break
            if iteration == technique.max_iter:
                break
            people, scores, _ = variants(row)
            distances = [((scores[k] - scores[own]) ** 2).sum() if k != own else -1 for k in range(len(scores))]
            other = int(np.argmax(distances))
            trend_1 = technique.momentum * trend_1 + gradient(people[own])
            trend_2 = technique.momentum * trend_2 + gradient(people[other])
            for j, i in enumerate(movable):
                if np.sign(trend_1[j]) == np.sign(trend_2[j]):
                    moved = row[i] - np.sign(trend_1[j]) * technique.global_step * unit[i]
                    row[i] = min(max(moved, domain.low[i]), domain.high[i])
    for start, own in global_id.values():
        row = start.copy()
        suc_iter = technique.interval
        probability = first = np.empty(0)
        for _ in range(technique.n_steps):
            u_pair, u_attribute, u_direction = rng.random((1, 3))[0]
            if suc_iter >= technique.interval:
                people, scores, _ = variants(row)
                others = disagreeing(row, own)
                if others:
                    other = others[int(u_pair * len(others))]
                else:  # with a score gap only
                    other = int(np.argmax([((s - scores[own]) ** 2).sum() for s in scores]))
                weights = 1 / (np.abs(gradient(people[own])) + np.abs(gradient(people[other])) + 1e-6)
                probability = weights / weights.sum()
                first = first if len(first) else probability
                suc_iter = 0
            suc_iter += 1
            a = int(np.searchsorted(np.cumsum(probability)[:-1], u_attribute, side="right"))
            i = movable[a]
            direction = -1 if u_direction < 0.5 else 1
            row[i] = min(max(row[i] + direction * technique.local_step * unit[i], domain.low[i]), domain.high[i])
            if is_discriminatory(row):
                yield int(domain.keys(row[None])[0])
            else:
                row = start.copy()
                probability = first
                suc_iter = 0


def literal_plus(
    technique: MaftPlus, model: Model, domain: Domain, rows: np.ndarray, seed: int, gradient: Gradient
) -> Iterator[int]:
    """MAFT+ one row at a time: what is known of an individual decides, and is learnt from the probes of slopes too."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    starts = StartRows(domain, rows, technique.n_clusters, rng)
    movable = domain.movable
    unit = domain.unit
    gradient = remembered(gradient)
    known: dict[int, bool] = {}

    @remembered
    def variants(row: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        people = domain.variants(row[None])[0]
        scores = model.scores(people)
        return people, scores, model.decide(scores)

    def key(row: np.ndarray) -> int:
        return int(domain.keys(row[None])[0])

    def moved(row: np.ndarray, j: int, step: float) -> np.ndarray:
        out = row.copy()
        out[movable[j]] = min(max(row[movable[j]] + step, domain.low[movable[j]]), domain.high[movable[j]])
        return out

    def note(row: np.ndarray, own: int, other: int) -> bool:
        """Whether the two variants show the individual discriminatory, unless it is known; whether that is new."""
        decisions = variants(row)[2]
        is_new = key(row) not in known and decisions[own] != decisions[other]
        known.setdefault(key(row), bool(decisions[own] != decisions[other]))
        return is_new

    def probes(row: np.ndarray, own: int, other: int) -> Iterator[int]:
        for j, i in enumerate(movable):
            probe = moved(row, j, unit[i] if row[i] + unit[i] <= domain.high[i] + 1e-9 else -unit[i])
            if note(probe, own, other):
                yield key(probe)

    global_id: dict[int, tuple[np.ndarray, int]] = {}
    for _ in range(technique.n_starts):
        row = starts.take(1)[0]
        own = int(nearest_variants(domain, row[None])[0])
        trends = np.zeros((2, len(movable)))
        for iteration in range(technique.max_iter + 1):
            people, scores, decisions = variants(row)
            if len(set(decisions)) > 1:
                known[key(row)] = True
                yield key(row)
                global_id.setdefault(key(row), (row.copy(), own))
                break
            known[key(row)] = False
            if iteration == technique.max_iter:
                break
            distances = [((scores[k] - scores[own]) ** 2).sum() if k != own else -1 for k in range(len(scores))]
            other = int(np.argmax(distances))
            before = row.copy()
            yield from probes(row, own, other)
            trends = technique.decay * trends + np.stack([gradient(people[own]), gradient(people[other])])
            signs = np.sign(trends)
            for j, i in enumerate(movable):
                if signs[0, j] == signs[1, j]:
                    row = moved(row, j, -signs[0, j] * unit[i])
            if (row == before).all() and (signs == np.sign([gradient(people[own]), gradient(people[other])])).all():
                break
    places: set[int] = set()
    for start, own in global_id.values():
        row = start.copy()
        suc_iter = technique.update_interval
        other = -1
        probability = np.full(len(movable), 1 / len(movable))
        for _ in range(technique.n_steps):
            u_pair, u_attribute, u_direction = rng.random((1, 3))[0]
            people, _, decisions = variants(row)
            if other < 0:
                others = [k for k in range(len(decisions)) if decisions[k] != decisions[own]]
                other = others[int(u_pair * len(others))]
            if suc_iter >= technique.update_interval and key(row) not in places:
                places.add(key(row))
                yield from probes(row, own, other)
                weights = 1 / (np.abs(gradient(people[own])) + np.abs(gradient(people[other])) + 1e-6)
                probability = weights / weights.sum()
                suc_iter = 0
            suc_iter += 1
            j = int(np.searchsorted(np.cumsum(probability)[:-1], u_attribute, side="right"))
            candidate = moved(row, j, (-1 if u_direction < 0.5 else 1) * unit[movable[j]])
            if note(candidate, own, other):
                yield key(candidate)
            row = candidate if known[key(candidate)] else row


DOMAINS = {
    "two variants": small_domain,
    "six variants": lambda: small_domain(("sex", "job")),
    "bins": lambda: small_domain(("age",), bins={"age": (20.0, 23.0, 29.0)}),
    "score gap": lambda: small_domain(("sex", "job"), score_gap=0.25),
    "fixed and limits": lambda: small_domain(("job",), fixed=("age",), limits={"hours": (2.0, 7.0)}),
}
SETTINGS = {"n_starts": 25, "n_steps": 40, "n_chains": 1, "n_rounds": 1}


def check_is_literal(technique: GradientSearch, model: Model, domain: Domain, gradient: Gradient, seed: int) -> None:
    rows = domain.sample(200, np.random.default_rng(7))
    expected = list(dict.fromkeys(literal(technique, model, domain, rows, seed, gradient)))
    assert len(expected) > 20
    assert keys_of(domain, found(technique, model, domain, rows, seed)[0]) == expected


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("seed", [1, 2])
def test_one_chain_of_maft_is_the_papers_algorithm_draw_for_draw(name: str, seed: int) -> None:
    domain = DOMAINS[name]()
    model = function_model(bumpy)
    technique = Maft(**SETTINGS)
    check_is_literal(technique, model, domain, estimated_gradient(model, domain), seed)


@pytest.mark.parametrize(
    "settings", [{"decay": 0.0}, {"update_interval": 2}, {"max_iter": 2}, {"local_step": 2}, {"h": 2.0}]
)
def test_the_settings_of_maft_do_what_the_paper_says(settings: dict[str, Any]) -> None:
    domain = small_domain(("sex", "job"))
    model = function_model(bumpy)
    technique = Maft(**SETTINGS, **settings)
    check_is_literal(technique, model, domain, estimated_gradient(model, domain, technique.h), 3)


@pytest.mark.parametrize("name", ["two variants", "six variants", "bins", "fixed and limits"])
@pytest.mark.parametrize("update_interval", [1, 5])
def test_one_chain_of_maft_plus_is_its_description_draw_for_draw(name: str, update_interval: int) -> None:
    domain = DOMAINS[name]()
    model = function_model(bumpy)
    rows = domain.sample(200, np.random.default_rng(7))
    technique = MaftPlus(**SETTINGS, update_interval=update_interval)
    gradient = estimated_gradient(model, domain)
    expected = list(dict.fromkeys(literal_plus(technique, model, domain, rows, 6, gradient)))
    assert len(expected) > 40
    assert keys_of(domain, found(technique, model, domain, rows, 6)[0]) == expected


def test_maft_plus_finds_more_for_the_same_rows_evaluated() -> None:
    columns = [Column("group", Kind.CATEGORICAL, codes=(0, 1, 2), labels=("a", "b", "c"))]
    columns += [Column(f"x{i}", Kind.INTEGER, minimum=0, maximum=9) for i in range(8)]
    domain = Domain(Schema(columns=tuple(columns)), Scope(("group",)))
    model = network_of(domain, seed=4)
    rows = domain.sample(500, np.random.default_rng(0))
    plain, plus = (
        np.median([found(kind(), model, domain, rows, seed, Budget(100_000))[1].n_found for seed in range(3)])
        for kind in (Maft, MaftPlus)
    )
    assert plus > 1.5 * plain > 0


def test_maft_follows_the_predicted_class_of_several() -> None:
    def three(rows: np.ndarray) -> np.ndarray:
        logits = np.stack([bumpy(rows) * 4, 1 + 0.2 * rows[:, 3] * rows[:, 0], 3 - 0.3 * rows[:, 3]], axis=1)
        shares = np.exp(logits)
        return shares / shares.sum(axis=1, keepdims=True)

    domain = small_domain(("sex", "job"))
    model = function_model(three, 3)
    check_is_literal(Maft(**SETTINGS), model, domain, estimated_gradient(model, domain), 5)


@pytest.mark.parametrize("kind", [Eidig, Adf])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("name", ["two variants", "bins"])
def test_one_chain_of_the_others_is_maft_with_true_gradients(
    kind: type[GradientSearch], n_outputs: int, name: str
) -> None:
    domain = DOMAINS[name]()
    model = network_of(domain, n_outputs, seed=6)
    gradient = (output_gradient if kind is Eidig else loss_gradient)(model, domain)
    check_is_literal(kind(**SETTINGS), model, domain, gradient, 4)


# --- what holds whatever the batch -----------------------------------------------------------


@pytest.mark.parametrize("kind", [Maft, MaftPlus, Eidig, Adf])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_every_pair_is_confirmed_and_a_long_search_finds_everything(kind: type[GradientSearch], n_outputs: int) -> None:
    domain = small_domain(("sex", "job"))
    model = network_of(domain, n_outputs, seed=1)
    pairs, last = found(kind(n_starts=50, n_steps=50), model, domain, domain.sample(100, np.random.default_rng(0)))
    keys = keys_of(domain, pairs)
    assert len(keys) == len(set(keys)) > 10
    assert set(keys) == true_keys(model, domain)
    assert last.reason is StopReason.EXHAUSTED
    for rows, decisions in ((pairs.first, pairs.decision_first), (pairs.second, pairs.decision_second)):
        assert domain.contains(rows).all()
        assert (model.decide(model.scores(rows)) == decisions).all()
    assert (pairs.decision_first != pairs.decision_second).all()
    assert (pairs.first[:, domain.free] == pairs.second[:, domain.free]).all()


@pytest.mark.parametrize("kind", [Maft, MaftPlus, Eidig, Adf])
def test_how_many_chains_step_together_does_not_change_what_a_descent_finds(kind: type[GradientSearch]) -> None:
    domain = small_domain(("sex", "job"))
    model = network_of(domain, seed=2)
    rows = domain.sample(300, np.random.default_rng(1))
    alone, together = (
        found(kind(n_starts=200, n_steps=1, n_rounds=1, n_chains=n), model, domain, rows)[0] for n in (1, 200)
    )
    n_walked = 1 + len(alone)
    assert abs(len(alone) - len(together)) < 0.2 * n_walked
    assert len(set(keys_of(domain, alone)) & set(keys_of(domain, together))) > 0.5 * len(alone)


def test_a_probe_never_leaves_the_domain() -> None:
    domain = small_domain(limits={"age": (22.0, 25.0), "wealth": (0.25, 1.0)})
    asked = []

    def watched(rows: np.ndarray) -> np.ndarray:
        asked.append(rows.copy())
        return bumpy(rows)

    rows = domain.sample(100, np.random.default_rng(0))
    found(Maft(h=3.0), function_model(watched), domain, rows, budget=Budget(20_000))
    assert domain.contains(np.concatenate(asked)).all()


def continuous_domain() -> Domain:
    columns = [Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M"))]
    columns += [
        Column("pay", Kind.REAL, minimum=0.0, maximum=1e5),
        Column("rate", Kind.REAL, minimum=-1.0, maximum=1.0),
    ]
    return Domain(Schema(columns=tuple(columns)), Scope(("sex",)))


@pytest.mark.parametrize("kind", [Maft, MaftPlus, Eidig, Adf])
def test_continuous_columns_move_by_a_hundredth_of_their_range(kind: type[GradientSearch]) -> None:
    domain = continuous_domain()
    model = network_of(domain, seed=5)
    pairs, _ = found(kind(), model, domain, domain.sample(50, np.random.default_rng(0)), budget=Budget(20_000))
    assert len(pairs) > 100
    assert domain.contains(pairs.first).all()
    assert len(np.unique(pairs.first[:, 1])) > 10


@pytest.mark.parametrize("kind", [Maft, MaftPlus, Eidig, Adf])
def test_flat_models_and_small_domains_come_to_an_end(kind: type[GradientSearch]) -> None:
    empty = np.empty((0, 5))
    one_column = small_domain(fixed=("job", "age", "wealth"))
    nothing = small_domain(fixed=("job", "age", "hours", "wealth"))
    for domain in (small_domain(), one_column, nothing):
        for rows in (empty, domain.sample(5, np.random.default_rng(0))):
            model = network_of(domain, spread=0.0)  # the inputs are multiplied by 0: one score for everybody
            pairs, last = found(kind(n_steps=20), model, domain, rows, budget=Budget())
            assert len(pairs) == 0
            assert last.reason is StopReason.EXHAUSTED
    model = network_of(one_column, seed=1)
    rows = one_column.sample(5, np.random.default_rng(0))
    keys = keys_of(one_column, found(kind(n_steps=20), model, one_column, rows, budget=Budget(10**5))[0])
    assert set(keys) <= true_keys(model, one_column)


@pytest.mark.parametrize("kind", [Maft, MaftPlus, Eidig, Adf])
def test_a_column_whose_range_holds_one_value_is_left_alone(kind: type[GradientSearch]) -> None:
    schema = small_domain().schema
    wealth = replace(schema.column("wealth"), minimum=0.25, maximum=0.4)
    narrow = replace(schema, columns=tuple(wealth if one.name == "wealth" else one for one in schema.columns))
    domain = Domain(narrow, Scope(("sex",), limits={"hours": (2.0, 2.0)}))
    assert 4 in domain.movable
    assert 4 not in MovableColumns.of(domain).columns
    model = network_of(domain, seed=1)
    pairs, _ = found(
        kind(n_steps=50), model, domain, domain.sample(20, np.random.default_rng(0)), budget=Budget(20_000)
    )
    assert domain.contains(pairs.first).all()
    assert {int(key) for key in domain.keys(pairs.first)} <= true_keys(model, domain)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_slopes_that_are_no_numbers_leave_even_chances(value: float) -> None:
    cumulative = np.zeros((2, 4))
    kernels.weigh(np.full((1, 4), value), np.ones((1, 4)), 1e-6, cumulative, np.array([1]))
    assert cumulative.tolist() == [[0, 0, 0, 0], [0.25, 0.5, 0.75, 1]]


@pytest.mark.parametrize("kind", [Maft, MaftPlus])
def test_a_thousand_variants_of_a_row(kind: type[GradientSearch]) -> None:
    columns = [Column("age", Kind.INTEGER, minimum=0, maximum=999), Column("pay", Kind.INTEGER, minimum=0, maximum=119)]
    domain = Domain(Schema(columns=tuple(columns)), Scope(("age",)))
    model = function_model(lambda rows: np.where(rows[:, 0] > 10 * rows[:, 1], 0.9, 0.1))
    pairs, _ = found(kind(n_starts=20), model, domain, np.empty((0, 2)), budget=Budget(300_000))
    keys = set(keys_of(domain, pairs))
    assert 50 < len(keys) <= len(true_keys(model, domain)) == 100
    assert keys <= true_keys(model, domain)


def test_labels_alone_are_searched_with_even_chances() -> None:
    """Section 4.3: without probabilities the one-hot label is followed; where it is flat every attribute is as
    likely.
    """
    domain = small_domain()
    model = function_model(lambda rows: (biased_score(rows) > 0.5).astype(float))
    rows = domain.sample(30, np.random.default_rng(0))
    keys = keys_of(domain, found(Maft(n_steps=100), model, domain, rows, budget=Budget(10**6))[0])
    assert set(keys) == true_keys(model, domain)


def test_exactly_as_many_starts_and_steps_as_asked_for() -> None:
    domain = small_domain()
    model = function_model(bumpy)
    rows = domain.sample(100, np.random.default_rng(0))
    _, last = found(Maft(n_starts=7, n_steps=3, n_rounds=1, max_iter=1), model, domain, rows)
    assert last.reason is StopReason.EXHAUSTED
    assert 7 <= last.n_tried <= 7 * 2 + 7 * 3


def test_two_variants_pay_for_no_scores_that_the_probes_bring() -> None:
    """Of two variants the pair is known: a refresh costs two rows and their probes, a step two evaluations of a new
    row.
    """
    domain = small_domain()
    model = function_model(lambda rows: rows[:, 0])
    rows = domain.sample(1, np.random.default_rng(0))
    _, last = found(Maft(n_starts=1, n_steps=5, n_rounds=1), model, domain, rows)
    assert last.evaluations == 2 + 2 * (1 + len(domain.movable)) + 2 * (last.n_tried - 1)


# --- start rows ------------------------------------------------------------------------------


def test_start_rows_are_the_datas_rows_cluster_by_cluster_and_then_uniform() -> None:
    domain = small_domain()
    groups = [np.tile(corner, (5, 1)) for corner in ([0, 0, 20, 0, 0.0], [1, 2, 29, 9, 1.0])]
    rows = np.concatenate(groups)
    starts = StartRows(domain, rows, 2, np.random.default_rng(3))
    taken = starts.take(10)
    assert (np.sort(taken, axis=0) == np.sort(rows, axis=0)).all()
    turns = taken[:, 2].reshape(-1, 2)
    if len(np.unique(turns[0])) == 2:  # K-means told the two corners apart
        assert (turns != turns[:, ::-1]).all()
    further = starts.take(20)
    assert domain.contains(further).all()
    assert len(np.unique(further, axis=0)) > 2


def test_more_clusters_than_rows_and_no_rows_at_all() -> None:
    domain = small_domain()
    few = domain.sample(3, np.random.default_rng(0))
    taken = StartRows(domain, few, 4, np.random.default_rng(0)).take(3)
    assert {tuple(row) for row in taken} == {tuple(row) for row in few}
    assert domain.contains(StartRows(domain, few[:0], 4, np.random.default_rng(0)).take(5)).all()


def test_a_row_between_the_variants_begins_as_the_nearest() -> None:
    domain = small_domain(("sex", "age"), bins={"age": (20.0, 25.0, 29.0)})
    rows = np.array([[1, 0, 26, 0, 0.0], [0, 0, 28, 0, 0.0], [0, 0, 20, 0, 0.0]])
    nearest = domain.variant_values[nearest_variants(domain, rows)]
    assert nearest.tolist() == [[1, 25], [0, 29], [0, 20]]
