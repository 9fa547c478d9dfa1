from __future__ import annotations

import itertools

import numpy as np
import pytest

from fairness_engine.models.dense import Activation, DenseNetwork, Layer
from fairness_engine.models.encoding import CodesEncoder
from fairness_engine.models.model import Model
from handmade import small_domain


def network(n_in: int, n_out: int, last: Activation, rng: np.random.Generator) -> DenseNetwork:
    widths = [n_in, 7, 5, n_out]
    layers = [
        Layer(rng.normal(size=(a, b)), rng.normal(size=b), last if b is widths[-1] and i == 2 else Activation.RELU)
        for i, (a, b) in enumerate(itertools.pairwise(widths))
    ]
    return DenseNetwork(layers)


@pytest.mark.parametrize(
    ("n_out", "last"),
    [(1, Activation.SIGMOID), (1, Activation.LINEAR), (2, Activation.SOFTMAX), (3, Activation.SOFTMAX)],
)
@pytest.mark.parametrize("protected", [("sex",), ("age", "sex"), ("job", "age")])
def test_shared_variants_are_the_margins_of_every_variant(
    n_out: int, last: Activation, protected: tuple[str, ...]
) -> None:
    rng = np.random.default_rng(5)
    domain = small_domain(protected)
    model = Model(network(5, n_out, last, rng), CodesEncoder(domain.schema), threshold=0.3)
    rows = domain.sample(3001, rng)
    shared = model.variant_margins(rows, domain.protected, domain.variant_values)
    plain = model.margins(domain.variants(rows).reshape(-1, 5))
    assert shared.shape == plain.shape
    assert np.abs(shared - plain).max() < 1e-4 * max(1, np.abs(plain).max())


def test_one_layer_is_enough() -> None:
    rng = np.random.default_rng(6)
    domain = small_domain()
    model = Model(
        DenseNetwork([Layer(rng.normal(size=(5, 1)), rng.normal(size=1), Activation.SIGMOID)]),
        CodesEncoder(domain.schema),
    )
    rows = domain.sample(100, rng)
    shared = model.variant_margins(rows, domain.protected, domain.variant_values)
    assert shared == pytest.approx(model.margins(domain.variants(rows).reshape(-1, 5)), abs=1e-4)
