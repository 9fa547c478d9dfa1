"""Dense networks in NumPy: scores, margins, gradients, folding, speed."""

from __future__ import annotations

import numpy as np
import pytest
from small_models import random_network

from fairness_engine.errors import FitError, ModelError
from fairness_engine.models.dense.activations import apply_activation
from fairness_engine.models.dense.chain import DenseChain
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer, threshold_logit
from fairness_engine.models.model import Output

RNG = np.random.default_rng(1)
ROWS = RNG.normal(size=(5000, 6))


def by_hand(network: DenseNetwork, rows: np.ndarray) -> np.ndarray:
    """What enters the last activation, written as the formula says."""
    values = rows
    for layer in network.layers[:-1]:
        values = np.maximum(values @ layer.weights + layer.biases, 0)
    last = network.layers[-1]
    return values @ last.weights + last.biases


def test_one_sigmoid_gives_the_probability_of_class_one():
    network = random_network((6, 9, 5, 1))
    logits = by_hand(network, ROWS)
    assert np.allclose(network.predict(ROWS), 1 / (1 + np.exp(-logits)), atol=1e-12)
    assert np.allclose(network.logits(ROWS), logits, atol=1e-12)
    assert (network.n_scores, network.output) == (1, Output.PROBABILITY)
    assert network.widths == (6, 9, 5, 1)


def test_softmax_over_two_gives_one_score_and_over_three_gives_three():
    two = random_network((6, 9, 2), Activation.SOFTMAX)
    powers = np.exp(by_hand(two, ROWS))
    assert np.allclose(two.predict(ROWS)[:, 0], powers[:, 1] / powers.sum(axis=1), atol=1e-12)
    three = random_network((6, 9, 3), Activation.SOFTMAX)
    powers = np.exp(by_hand(three, ROWS))
    assert np.allclose(three.predict(ROWS), powers / powers.sum(axis=1, keepdims=True), atol=1e-12)
    assert (three.margins(ROWS, 0.5).argmax(axis=1) == powers.argmax(axis=1)).all()


def test_linear_outputs_are_logits_with_threshold_zero():
    one = random_network((6, 4, 1), Activation.LINEAR)
    assert one.output is Output.LOGIT
    assert np.allclose(one.predict(ROWS), by_hand(one, ROWS), atol=1e-12)
    two = random_network((6, 4, 2), Activation.LINEAR)
    logits = by_hand(two, ROWS)
    assert two.n_scores == 1
    assert np.allclose(two.predict(ROWS)[:, 0], logits[:, 1] - logits[:, 0], atol=1e-12)


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.93])
@pytest.mark.parametrize("widths", [(6, 9, 1), (6, 9, 2)])
def test_margins_have_the_sign_of_score_minus_threshold(threshold: float, widths: tuple[int, ...]):
    network = random_network(widths, Activation.SIGMOID if widths[-1] == 1 else Activation.SOFTMAX)
    scores = network.predict(ROWS)
    margins = network.margins(ROWS, threshold)
    exact = network.exact_margins(ROWS, threshold)
    assert margins.dtype == np.float64
    assert ((exact > 0) == (scores > threshold)).all()
    assert 0 < np.abs(margins - exact).max() < 1e-5


def test_thresholds_at_the_ends_decide_all_rows_alike():
    network = random_network((6, 3, 1))
    assert (network.margins(ROWS, 0.0) > 0).all()
    assert (network.margins(ROWS, 1.0) < 0).all()
    assert threshold_logit(0.5) == 0


def test_a_last_activation_that_is_no_probability_is_applied_before_the_comparison():
    layer = Layer(np.array([[1.0]]), np.array([0.0]), Activation.RELU)
    network = DenseNetwork([layer])
    rows = np.array([[-2.0], [0.0], [0.3], [0.7]])
    assert network.output is Output.LOGIT
    assert np.allclose(network.margins(rows, 0.5)[:, 0], [-0.5, -0.5, -0.2, 0.2])


@pytest.mark.parametrize("activation", [a for a in Activation if a is not Activation.SOFTMAX])
def test_gradients_agree_with_finite_differences(activation: Activation):
    rng = np.random.default_rng(3)
    layers = [
        Layer(rng.normal(size=(4, 7)), rng.normal(size=7), activation, 0.3),
        Layer(rng.normal(size=(7, 5)), rng.normal(size=5), activation, 0.3),
        Layer(rng.normal(size=(5, 1)), rng.normal(size=1), Activation.SIGMOID),
    ]
    network = DenseNetwork(layers)
    rows = rng.normal(size=(40, 4))
    gradients = network.gradients(rows)
    step = 1e-6
    for j in range(4):
        ahead = rows.copy()
        behind = rows.copy()
        ahead[:, j] += step
        behind[:, j] -= step
        slope = (network.logits(ahead) - network.logits(behind))[:, 0] / (2 * step)
        assert np.allclose(gradients[:, j], slope, rtol=1e-4, atol=1e-5)


def test_gradients_of_one_of_several_logits():
    network = random_network((6, 5, 3), Activation.SOFTMAX)
    step = np.zeros(6)
    step[2] = 1e-6
    slope = (network.logits(ROWS[:20] + step) - network.logits(ROWS[:20] - step))[:, 1] / 2e-6
    assert np.allclose(network.gradients(ROWS[:20], output=1)[:, 2], slope, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("activation", "slope", "expected"),
    [
        (Activation.RELU6, 0.0, [0, 0, 2, 6]),
        (Activation.LEAKY_RELU, 0.1, [-0.3, 0, 2, 7]),
        (Activation.ELU, 2.0, [2 * np.expm1(-3), 0, 2, 7]),
        (
            Activation.SELU,
            0.0,
            [1.0507009873554805 * 1.6732632423543772 * np.expm1(-3), 0, 2.101401974710961, 7.354906911488364],
        ),
        (Activation.SILU, 0.0, [x / (1 + np.exp(-x)) for x in (-3, 0, 2, 7)]),
        (Activation.SOFTPLUS, 0.0, [np.log1p(np.exp(x)) for x in (-3, 0, 2, 7)]),
        (Activation.SOFTSIGN, 0.0, [-0.75, 0, 2 / 3, 7 / 8]),
    ],
)
def test_activations_are_their_formulas(activation: Activation, slope: float, expected: list[float]):
    values = np.array([[-3.0, 0.0, 2.0, 7.0]])
    apply_activation(values, activation, slope)
    assert np.allclose(values[0], expected, atol=1e-12)


def test_an_affine_change_of_inputs_is_folded_into_the_first_layer():
    network = random_network((6, 9, 1))
    scale = RNG.normal(size=6)
    shift = RNG.normal(size=6)
    folded = network.with_affine_inputs(scale, shift)
    assert np.allclose(folded.predict(ROWS), network.predict(ROWS * scale + shift), atol=1e-12)


def test_classes_in_another_order():
    one = random_network((6, 4, 1))
    mirrored = one.with_class_order((1, 0))
    assert mirrored is not None
    assert np.allclose(mirrored.predict(ROWS), 1 - one.predict(ROWS), atol=1e-12)
    three = random_network((6, 4, 3), Activation.SOFTMAX)
    turned = three.with_class_order((2, 0, 1))
    assert turned is not None
    assert np.allclose(turned.predict(ROWS), three.predict(ROWS)[:, [2, 0, 1]], atol=1e-12)
    assert DenseNetwork([Layer(np.ones((1, 1)), np.zeros(1), Activation.RELU)]).with_class_order((1, 0)) is None


def test_float32_rows_and_single_rows_are_taken():
    network = random_network((6, 9, 1))
    assert np.allclose(network.margins(ROWS.astype(np.float32), 0.5), network.exact_margins(ROWS, 0.5), atol=1e-5)
    assert network.predict(ROWS[:1]).shape == (1, 1)
    assert network.predict(ROWS[:0]).shape == (0, 1)


def test_rows_of_another_width_are_refused_in_a_sentence():
    with pytest.raises(FitError, match="takes 6 inputs a row, got an array of shape"):
        random_network((6, 2, 1)).predict(ROWS[:, :5])


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], "at least one dense layer"),
        ([Layer(np.ones((2, 3)), np.zeros(2))], "must fit"),
        (
            [Layer(np.ones((2, 3)), np.zeros(3)), Layer(np.ones((4, 1)), np.zeros(1))],
            "takes 4 inputs, but the layer before has 3",
        ),
        ([Layer(np.full((2, 1), np.nan), np.zeros(1))], "not finite"),
        (
            [Layer(np.ones((2, 2)), np.zeros(2), Activation.SOFTMAX), Layer(np.ones((2, 1)), np.zeros(1))],
            "last activation",
        ),
    ],
)
def test_impossible_networks_are_refused(layers: list[Layer], message: str):
    with pytest.raises(ModelError, match=message):
        DenseNetwork(layers)


def test_a_chain_folds_scalings_before_between_and_after():
    rng = np.random.default_rng(5)
    weights = rng.normal(size=(3, 4))
    biases = rng.normal(size=4)
    factor = rng.normal(size=3)
    shift = rng.normal(size=3)
    after = rng.normal(size=4)
    offset = rng.normal(size=4)
    chain = DenseChain()
    chain.scale(factor, shift)
    chain.scale(2.0, 1.0)
    chain.multiply(weights, biases)
    chain.scale(after, offset)
    chain.activate(Activation.RELU)
    chain.scale(after, offset)
    chain.activate(Activation.TANH)
    chain.scale(after, 0.0)
    rows = rng.normal(size=(50, 3))
    hidden = np.maximum((((rows * factor + shift) * 2 + 1) @ weights + biases) * after + offset, 0)
    expected = np.tanh(hidden * after + offset) * after
    assert np.allclose(chain.finish().predict(rows), expected, atol=1e-12)


def test_a_chain_refuses_what_cannot_be():
    with pytest.raises(ModelError, match="matrix of weights"):
        DenseChain().multiply(np.ones(3))
    with pytest.raises(ModelError, match="must chain"):
        DenseChain(4).multiply(np.ones((3, 2)))
    with pytest.raises(ModelError, match="need 2 biases"):
        DenseChain().multiply(np.ones((3, 2)), np.ones(5))
    with pytest.raises(ModelError, match="how many inputs"):
        DenseChain().scale(2.0, 1.0)
    with pytest.raises(ModelError, match="how many inputs"):
        DenseChain().activate(Activation.RELU)
    with pytest.raises(ModelError, match="needs as many factors"):
        DenseChain(3).scale(np.ones(2), 0.0)
    with pytest.raises(ModelError, match="finite"):
        DenseChain(3).scale(np.full(3, np.inf), 0.0)


NETWORKS = {
    "sigmoid": random_network((6, 9, 5, 1)),
    "two shares": random_network((6, 9, 2), Activation.SOFTMAX),
    "three shares": random_network((6, 9, 3), Activation.SOFTMAX),
    "logit": random_network((6, 4, 1), Activation.LINEAR),
    "tanh": random_network((6, 4, 1), Activation.TANH),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_nearby_scores_are_those_of_the_moved_rows(name: str):
    network = NETWORKS[name]
    columns = np.array([0, 2, 5])
    steps = RNG.normal(size=(len(ROWS), 3))
    own, moved = network.nearby_scores(ROWS, columns, steps)
    assert np.allclose(own, network.predict(ROWS), atol=1e-5)
    for i, column in enumerate(columns):
        rows = ROWS.copy()
        rows[:, column] += steps[:, i]
        assert np.allclose(moved[:, i], network.predict(rows), atol=1e-5)
    one, near = network.nearby_scores(ROWS[7:8], columns, steps[7:8])  # a row does not depend on those beside it
    assert (one == own[7:8]).all()
    assert (near == moved[7:8]).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_margins_lead_back_to_their_scores(name: str):
    network = NETWORKS[name]
    for threshold in (0.2, 0.5):
        assert np.allclose(
            network.scores_of(network.margins(ROWS, threshold), threshold), network.predict(ROWS), atol=1e-5
        )
    assert np.allclose(network.fast_scores(ROWS), network.predict(ROWS), atol=1e-5)


@pytest.mark.parametrize("name", NETWORKS)
def test_score_gradients_agree_with_finite_differences(name: str):
    network = NETWORKS[name]
    rows = ROWS[:200]
    classes = RNG.integers(network.n_scores, size=len(rows))
    gradients = network.score_gradients(rows, classes)
    lines = np.arange(len(rows))
    h = 1e-6
    for j in range(6):
        ahead = rows.copy()
        behind = rows.copy()
        ahead[:, j] += h
        behind[:, j] -= h
        slope = (network.predict(ahead) - network.predict(behind))[lines, classes] / (2 * h)
        assert np.allclose(gradients[:, j], slope, rtol=1e-4, atol=1e-6)
