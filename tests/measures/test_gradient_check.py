"""Estimated against true gradients, on networks whose slopes are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import read_table
from fairness_engine.errors import ModelError, ProcessError, SettingError
from fairness_engine.measures import gradient_accuracy
from fairness_engine.measures.gradient_accuracy import check_gradients
from fairness_engine.measures.gradient_agreement import SIZES, Agreement, GradientCheck, Guidance
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Domain, Scope
from handmade import biased_score, function_model, linear_network, network_model, small_domain, small_network

ROWS = small_domain().sample(200, np.random.default_rng(3))


@pytest.fixture(autouse=True)
def small_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient_accuracy, "_SEARCH_EVALUATIONS", 1000)


def linear_model(*weights: float, bias: float = 0.0) -> Model:
    """A weighted sum itself is the score, without a sigmoid."""
    layer = Layer(np.array(weights)[:, None], np.array([bias]), Activation.LINEAR)
    return network_model(None, DenseNetwork([layer]))


def test_of_a_linear_model_every_estimate_is_the_gradient() -> None:
    check = check_gradients(linear_model(1, 2, -3, 0.5, 4, bias=20), small_domain(), ROWS)
    assert (check.n_people, check.n_flat, check.n_attributes, check.is_complete) == (200, 0, 4, True)
    assert [entry.h for entry in check.sizes] == list(SIZES)
    for entry in check.sizes:
        assert entry.exact.quartiles == pytest.approx((1, 1, 1), abs=1e-9 / min(1, entry.h))
        assert (entry.exact.alike_share, entry.exact.sign_share, entry.exact.zero_share) == (1, 1, 0)
        assert len(entry.n_found) == 3
        assert entry.guidance.probabilities == pytest.approx((1, 1, 1), abs=1e-6 / min(1, entry.h))


def test_without_a_sigmoid_half_the_cosine_is_that_of_two_slopes() -> None:
    """A kink: below 5 hours the score rises by 1 an hour, above it by 3; the other slope is 1 throughout."""
    hours = np.zeros((5, 3))
    hours[3, :2] = 1.0
    hours[4, 2] = 1.0
    kinked = DenseNetwork(
        [
            Layer(hours, np.array([0.0, -4.5, 0.0]), Activation.RELU),
            Layer(np.array([[1.0], [2.0], [1.0]]), np.array([0.0]), Activation.LINEAR),
        ]
    )
    domain = small_domain(fixed=("job", "age"))
    rows = small_domain().sample(4000, np.random.default_rng(1))
    rows = rows[(rows[:, 3] == 4) & (rows[:, 4] < 1)]
    check = check_gradients(network_model(None, kinked), domain, rows)
    by_size = {entry.h: entry.exact for entry in check.sizes}
    # per unit: hours 1, wealth 0.25; at h = 1 the estimate of hours is 1 * 0.5 + 3 * 0.5 = 2
    expected = (1 * 2 + 0.25**2) / np.hypot(1, 0.25) / np.hypot(2, 0.25)
    assert by_size[1.0].quartiles == pytest.approx((expected,) * 3)
    assert by_size[0.1].quartiles == pytest.approx((1, 1, 1))


def test_what_is_called_true_agrees_with_central_differences() -> None:
    for n_outputs in (1, 3):
        domain = small_domain()
        model = network_model(domain, small_network(domain, n_outputs))
        true = gradient_accuracy._true_gradients(model, domain, ROWS)
        classes = model.decide(model.scores(ROWS))
        chosen = np.zeros(len(ROWS), dtype=int) if n_outputs == 1 else classes
        sign = np.where(classes == 0, -1, 1) if n_outputs == 1 else np.ones(len(ROWS))
        near = np.zeros_like(true)
        for j, column in enumerate(domain.movable):
            step = np.zeros(5)
            step[column] = 1e-6 * domain.unit[column]
            up = model.scores(ROWS + step)
            down = model.scores(ROWS - step)
            near[:, j] = sign * (up - down)[np.arange(len(ROWS)), chosen] / 2e-6
        assert np.allclose(true, near, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_small_steps_agree_better_than_large_ones(n_outputs: int) -> None:
    domain = small_domain()
    check = check_gradients(network_model(domain, small_network(domain, n_outputs)), domain, ROWS)
    medians = {entry.h: entry.exact.quartiles[1] for entry in check.sizes if entry.exact.quartiles}
    assert medians[1e-4] == pytest.approx(1, abs=1e-3)
    assert medians[10.0] < medians[1.0] < medians[1e-2]


def test_the_arithmetic_of_a_search_sees_no_slope_in_a_step_that_is_too_small() -> None:
    domain = small_domain()
    check = check_gradients(network_model(domain), domain, ROWS)
    smallest = check.sizes[0]
    usual = check.sizes[-2]
    assert smallest.exact.zero_share == 0
    assert smallest.fast.zero_share is not None
    assert smallest.fast.zero_share > 0.5
    assert usual.fast.zero_share == 0


def test_people_without_a_slope_are_counted_and_compared_with_nobody() -> None:
    flat = check_gradients(network_model(None, linear_network(1, 0, 0, 0, 0)), small_domain(), ROWS)
    assert flat.n_flat == flat.n_people == 200
    assert flat.sizes[0].exact == Agreement(None, None, None, None)
    assert flat.sizes[-1].guidance == Guidance(None, pytest.approx((1, 1, 1)))  # every attribute is as likely
    assert flat.picture is None
    half = DenseNetwork(
        [
            Layer(np.array([[0.0], [0], [0], [1], [0]]), np.array([-4.5]), Activation.RELU),
            Layer(np.array([[1.0]]), np.array([-2.0]), Activation.LINEAR),
        ]
    )
    check = check_gradients(network_model(None, half), small_domain(), ROWS)
    assert check.n_flat == (ROWS[:, 3] < 4.5).sum()
    assert check.sizes[0].exact.alike_share == 1


@pytest.mark.parametrize("protected", [("sex",), ("sex", "job")])
def test_what_a_search_makes_of_slopes_is_compared_pair_by_pair(protected: tuple[str, ...]) -> None:
    """RQ3.2 and RQ3.3 written out: true slopes by central differences, estimates by one probe a call."""
    domain = small_domain(protected)
    model = network_model(domain, small_network(domain))
    check = check_gradients(model, domain, ROWS)
    people = ROWS[np.random.default_rng(0).permutation(len(ROWS))]
    directions = []
    probabilities = []
    n_discriminatory = 0
    for person in people:
        variants = domain.variants(person[None])[0]
        scores = model.scores(variants)[:, 0]
        own = int(np.flatnonzero((variants == person).all(axis=1))[0])
        other = max((k for k in range(len(variants)) if k != own), key=lambda k: (abs(scores[k] - scores[own]), -k))
        pair = variants[[own, other]]
        classes = model.decide(scores[[own, other], None])
        signs = np.where(classes == 0, -1, 1)[:, None]
        slopes = {}
        for way, step in (("true", 1e-6), ("estimated", 1.0)):
            slopes[way] = np.empty((2, len(domain.movable)))
            for j, column in enumerate(domain.movable):
                move = np.zeros(5)
                move[column] = step * domain.unit[column]
                is_up = pair[:, column] + move[column] <= domain.high[column]
                there = np.where(is_up[:, None], pair + move, pair - move)
                if way == "true":
                    difference = (model.scores(pair + move) - model.scores(pair - move))[:, 0] / (2 * step)
                else:
                    difference = (model.scores(there) - model.scores(pair))[:, 0] / np.where(is_up, step, -step)
                slopes[way][:, j] = difference
            slopes[way] *= signs
        chances = {way: 1 / (np.abs(s).sum(axis=0) + 1e-6) for way, s in slopes.items()}
        probabilities.append(cosine(chances["true"], chances["estimated"]))
        if classes[0] != classes[1]:
            n_discriminatory += 1
            continue
        ways = {way: np.where(np.sign(s[0]) == np.sign(s[1]), np.sign(s[0]), 0) for way, s in slopes.items()}
        if ways["true"].any():
            directions.append(cosine(ways["true"], ways["estimated"]) if ways["estimated"].any() else 0.0)
    assert (check.n_pairs, check.n_discriminatory) == (200, n_discriminatory)
    guidance = next(entry.guidance for entry in check.sizes if entry.h == 1)
    assert guidance.directions == pytest.approx(np.quantile(directions, [0.25, 0.5, 0.75]), abs=1e-3)
    assert guidance.probabilities == pytest.approx(np.quantile(probabilities, [0.25, 0.5, 0.75]), abs=1e-2)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def test_the_picture_has_directions_in_the_components_that_hold_most_of_the_spread() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(size=(400, 4)) * [5, 2, 0.3, 0.1]
    true[7] = 0
    estimated = 3 * true  # the same directions
    estimated[9] = 0
    picture = gradient_accuracy._picture(true, estimated)
    assert picture is not None
    assert picture.true == picture.estimated
    assert len(picture.true) == 150
    kept = np.delete(true, [7, 9], axis=0)
    unit = kept / np.linalg.norm(kept, axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(np.cov(unit.T))
    assert picture.shares == pytest.approx(values[::-1][:2] / values.sum())
    projected = (unit - unit.mean(axis=0)) @ vectors[:, ::-1][:, :2]
    assert np.abs(np.array(picture.true)) == pytest.approx(np.abs(projected[:150]), abs=1e-4)
    assert gradient_accuracy._picture(true[:, :1], true[:, :1]) is None
    assert gradient_accuracy._picture(true[:2], true[:2]) is None


def test_slopes_of_a_saturated_sigmoid_are_compared_all_the_same() -> None:
    steep = network_model(None, linear_network(1, 2, -3, 0.5, 4, bias=-300))
    true = gradient_accuracy._true_gradients(steep, small_domain(), ROWS)
    assert np.abs(true).max() < 1e-100
    cosines = gradient_accuracy._cosines(true, 2 * true)
    assert np.allclose(cosines, 1)


def test_rows_outside_the_limits_are_left_out_and_probes_stay_inside() -> None:
    asked: list[np.ndarray] = []

    class Listening(DenseNetwork):
        def predict(self, inputs: np.ndarray) -> np.ndarray:
            asked.append(inputs.copy())
            return super().predict(inputs)

    domain = small_domain(limits={"hours": (2.0, 4.0)})
    model = network_model(domain, Listening(small_network(domain).layers))
    asked.clear()
    check = check_gradients(model, domain, ROWS)
    rows = np.concatenate(asked)
    assert check.n_people == ((ROWS[:, 3] >= 2) & (ROWS[:, 3] <= 4)).sum()
    assert (rows >= domain.low).all()
    assert (rows <= domain.high).all()


def test_what_cannot_be_compared_is_said_in_a_sentence() -> None:
    with pytest.raises(ModelError, match="no true gradient to compare with"):
        check_gradients(function_model(biased_score), small_domain(), ROWS)
    with pytest.raises(SettingError, match="a row of the data"):
        check_gradients(network_model(), small_domain(), np.empty((0, 5)))
    with pytest.raises(SettingError, match="an attribute that may vary"):
        check_gradients(network_model(), small_domain(fixed=("job", "age", "hours", "wealth")), ROWS)


def test_when_time_runs_out_the_sizes_near_one_are_there() -> None:
    check = check_gradients(network_model(), small_domain(), ROWS, max_seconds=0.0)
    assert not check.is_complete
    assert [entry.h for entry in check.sizes] == [1.0]
    assert check.sizes[0].n_found == ()


def test_an_answer_survives_json_and_a_wrong_one_is_refused() -> None:
    check = check_gradients(network_model(), small_domain(), ROWS)
    content = json.loads(json.dumps(check.to_json(), allow_nan=False))
    assert GradientCheck.from_json(content) == check
    size = content["sizes"][0]

    def with_size(**changes: Any) -> dict[str, Any]:
        return {**content, "sizes": [{**size, **changes}]}

    wrong = [
        None,
        {},
        {**content, "sizes": []},
        {**content, "sizes": [size, size]},
        {**content, "n_people": -1},
        {**content, "n_people": True},
        {**content, "n_flat": 201},
        {**content, "n_pairs": 201},
        {**content, "n_discriminatory": 201},
        {**content, "picture": {**content["picture"], "shares": [0.1, 0.2]}},
        {**content, "picture": {**content["picture"], "true": content["picture"]["true"][1:]}},
        {**content, "picture": {**content["picture"], "estimated": [[0.0, 2.5]] * len(content["picture"]["true"])}},
        with_size(guidance={"directions": [0.1, 0.2, 1.2], "probabilities": None}),
        with_size(h=2.5),
        with_size(n_found=[1] * 4),
        with_size(n_found=["1"]),
        with_size(exact={**size["exact"], "quartiles": [0.5, 0.4, 0.9]}),
        with_size(exact={**size["exact"], "quartiles": [0.5, float("nan"), 0.9]}),
        with_size(fast={**size["fast"], "zero_share": 1.5}),
        with_size(fast={}),
    ]
    for answer in wrong:
        with pytest.raises(ProcessError, match="broke its protocol"):
            GradientCheck.from_json(answer)


@pytest.mark.thorough
@pytest.mark.shared
def test_on_a_published_network_the_paper_is_confirmed(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MAFT's section 4.2.3: average cosine above 0.8 at h = 1; section 4.2.1: below 1e-6 a search does worse."""
    monkeypatch.setattr(gradient_accuracy, "_SEARCH_EVALUATIONS", 50_000)
    schema = Schema.read(shared / "data/peer/adult__maft_eidig.schema.json")
    data = make_dataset(read_table(shared / "data/peer/adult__maft_eidig.csv"), schema)
    model = open_model(shared / "models/maft/adult_model.h5", data.schema, classes=data.classes)
    check = check_gradients(model, Domain(data.schema, Scope(("sex",))), data.rows, 120.0)
    by_size = {entry.h: entry for entry in check.sizes}
    assert by_size[1.0].fast.quartiles is not None
    assert by_size[1.0].fast.quartiles[1] > 0.85
    assert by_size[1.0].guidance.directions is not None
    assert by_size[1.0].guidance.probabilities is not None
    assert min(by_size[1.0].guidance.directions[1], by_size[1.0].guidance.probabilities[1]) > 0.85
    assert np.median(by_size[1e-8].n_found) < 0.7 * np.median(by_size[1.0].n_found)
