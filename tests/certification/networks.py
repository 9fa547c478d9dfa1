"""Random networks over small lattices, and their margins for everybody, computed one individual after the other."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from fairness_engine.certification.partition.lattice import Lattice
from fairness_engine.certification.relu_network import ReluNetwork
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.oracle.domain import Domain, Scope


@dataclass(frozen=True)
class Shape:
    """What a random network looks like.

    Args:
        digits: of every free column.
        tables: which columns have a place a digit.
        n_variants, widths, slope: of the network.
        n_lines: on how many lines the variants lie evenly, as those of a number and a category do; 0 for anywhere.
        reach: of the first column, in digits: half for cells.
        bias: how far the output is moved.
        blend: how strongly the protected values act.
    """

    digits: tuple[int, ...] = (7, 5, 4)
    tables: tuple[int, ...] = ()
    n_variants: int = 2
    n_lines: int = 0
    widths: tuple[int, ...] = (6,)
    slope: float = 0.0
    reach: float = 0.0
    bias: float = 0.0
    blend: float = 1.0


def random_network(shape: Shape, rng: np.random.Generator) -> ReluNetwork:
    """A network with weights of the size that training begins with."""
    places = [n if i in shape.tables else 1 for i, n in enumerate(shape.digits)]
    first = [
        rng.normal(size=(p, shape.widths[0])) / (1 if p > 1 else n / 3)
        for p, n in zip(places, shape.digits, strict=True)
    ]
    sizes = [*shape.widths, 1]
    return ReluNetwork(
        np.concatenate(first),
        np.concatenate([[0], np.cumsum(places)]).astype(np.int64),
        np.array([shape.reach, *[0.0] * (len(places) - 1)]),
        _shifts(shape, rng) * shape.blend + rng.normal(size=sizes[0]),
        tuple(_between(a, b, len(sizes), rng) for a, b in itertools.pairwise(sizes)),
        tuple(rng.normal(size=b) * 0.3 + (shape.bias if b == 1 else 0.0) for b in sizes[1:]),
        (shape.slope,) * len(shape.widths),
    )


def _shifts(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    if not shape.n_lines:
        return rng.normal(size=(shape.n_variants, shape.widths[0]))
    begins, steps = rng.normal(size=(2, shape.n_lines, 1, shape.widths[0]))
    places = np.linspace(-1, 1, shape.n_variants // shape.n_lines)[:, None]
    return np.concatenate(begins + steps * places)


def _between(n_in: int, n_out: int, n_layers: int, rng: np.random.Generator) -> np.ndarray:
    """Weights; in deep networks near the identity, so that what goes in still matters at the end."""
    weights = rng.normal(size=(n_in, n_out)) * np.sqrt(2 / n_in)
    return np.eye(n_in) + weights / n_layers if n_layers > 10 and n_in == n_out else weights


def space_of(digits: tuple[int, ...], masses: tuple[np.ndarray, ...] | None = None) -> Lattice:
    """A lattice with these digits; everybody counts alike where no masses are given."""
    columns = tuple(Column(f"c{i}", Kind.INTEGER, minimum=0, maximum=n - 1) for i, n in enumerate(digits))
    protected = Column("p", Kind.INTEGER, minimum=0, maximum=1)
    schema = Schema(columns=(*columns, protected), label="y", favourable=1, protected=("p",))
    domain = Domain(schema, Scope(("p",)))
    counts = np.array(digits, dtype=np.int64)
    ones = tuple(np.ones(n) for n in digits)
    return Lattice(
        domain, np.arange(len(digits)), counts, np.zeros(len(digits), bool), ones if masses is None else masses
    )


def everybody(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """All points of one box ``(n, D)``."""
    return np.array(list(itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True)))), dtype=np.int64)


def margins(network: ReluNetwork, points: np.ndarray, offset: float = 0.0) -> np.ndarray:
    """Last sums ``(n, K)``; a value lies ``offset`` times its reach from its digit's."""
    inputs = np.zeros((len(points), len(network.first)))
    for i, start in enumerate(network.starts[:-1]):
        if network.starts[i + 1] - start == 1:
            inputs[:, start] = points[:, i] + offset * network.reach[i]
        else:
            inputs[np.arange(len(points)), start + points[:, i]] = 1.0
    out = []
    for shift in network.shifts:
        z = inputs @ network.first + shift
        for weights, biases, slope in zip(network.weights, network.biases, network.slopes, strict=True):
            z = np.where(z > 0, z, slope * z) @ weights + biases
        out.append(z[:, 0])
    return np.stack(out, axis=1)


def random_boxes(digits: tuple[int, ...], n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The whole, and boxes inside it ``(n, D)`` each."""
    ends = np.sort(rng.integers(0, np.array(digits), size=(2, n, len(digits))), axis=0)
    ends[0, 0] = 0
    ends[1, 0] = np.array(digits) - 1
    return ends[0].astype(np.int64), ends[1].astype(np.int64)
