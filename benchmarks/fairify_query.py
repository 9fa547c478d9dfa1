"""Fairify's question about one box, asked of z3: is there anybody in it whom two protected values decide differently?

Fairify (Biswas and Rajan, ICSE 2023) cuts the domain into boxes beforehand, leaves out neurons that can never be active
in a box, and asks an SMT solver for one discriminatory pair in each. Written here from what papers say of it: its
partition, its pruning by bounds (sound), its question. Left out is its heuristic pruning, which changes the network, so
that its answers hold of another one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
import z3

from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain

_SLACK = 1e-9
"""Bounds are widened by this share of the sum of their terms, far more than float64 rounds."""


class Verdict(StrEnum):
    """What a solver said of a box."""

    SAT = "SAT"
    UNSAT = "UNSAT"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Answer:
    """What was said of a box, and by what.

    Args:
        verdict: of the solver.
        witness: for ``SAT``: the discriminatory pair ``(2, n_columns)``.
        n_dead, n_linear, n_neurons: neurons of both networks that are never active in the box, always active, and all.
        seconds: bounds, encoding and solving.
    """

    verdict: Verdict
    witness: np.ndarray | None
    n_dead: int
    n_linear: int
    n_neurons: int
    seconds: float


def ranges_of(domain: Domain, most: int) -> dict[str, list[tuple[float, float]]]:
    """The parts of every column that has more than ``most`` values: ``most`` values each, the last one what is left."""
    parts = {}
    for column in domain.free.tolist():
        low = domain.low[column]
        high = domain.high[column]
        n = int(domain.n_values[column])
        if n > most:
            begins = [low + most * i for i in range(math.ceil(n / most))]
            name = domain.schema.inputs[column].name
            parts[name] = [(float(begin), float(min(begin + most - 1, high))) for begin in begins]
    return parts


def box_limits(parts: dict[str, list[tuple[float, float]]], number: int) -> dict[str, tuple[float, float]]:
    """The limits of one box of the partition, numbered from 0, in the order of a product."""
    places = np.unravel_index(number, [len(ranges) for ranges in parts.values()])
    return {name: ranges[int(place)] for (name, ranges), place in zip(parts.items(), places, strict=True)}


def ask(model: Model, domain: Domain, max_seconds: float) -> Answer:
    """Ask z3 for a discriminatory pair in a domain of whole numbers.

    Args:
        model: a ReLU network of one output that takes the columns as they are.
        domain: the box; every two of its variants are compared.
        max_seconds: z3's limit, for each two variants.
    """
    started = time.perf_counter()
    network = model.predictor
    assert isinstance(network, DenseNetwork)
    row = domain.low[None, :]
    assert np.array_equal(np.asarray(model.encoder.encode(row)), row), "the network must take the columns as they are"
    variants = domain.variants(row)[0]
    people = _people(domain)
    limits = [z3.And(x >= int(domain.low[i]), x <= int(domain.high[i])) for i, x in people.items()]
    pruned = [_Pruned(network.layers, *_corners(domain, variant)) for variant in variants]
    counts = tuple(sum(getattr(each, name) for each in pruned) for name in ("n_dead", "n_linear", "n_neurons"))
    logits = [each.logit(_inputs(people, variant)) for each, variant in zip(pruned, variants, strict=True)]
    verdict = Verdict.UNSAT
    for a in range(len(variants)):
        for b in range(a):
            solver = z3.Solver()
            solver.set("timeout", max(1, round(1000 * max_seconds)))
            solver.add(*limits, (logits[a] > 0) != (logits[b] > 0))
            said = solver.check()
            if said == z3.sat:
                values = solver.model()
                pair = variants[[a, b]].copy()
                for column, x in people.items():
                    pair[:, column] = values.eval(x, model_completion=True).as_long()
                return Answer(Verdict.SAT, pair, *counts, time.perf_counter() - started)
            if said != z3.unsat:
                verdict = Verdict.UNKNOWN
    return Answer(verdict, None, *counts, time.perf_counter() - started)


def _people(domain: Domain) -> dict[int, Any]:
    """An unknown whole number for every column that may move."""
    assert (domain.unit[domain.free] == 1).all(), "columns must be whole numbers or categories"
    return {column: z3.Int(f"x{column}") for column in domain.free.tolist()}


def _corners(domain: Domain, variant: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low = variant.copy()
    high = variant.copy()
    low[domain.free] = domain.low[domain.free]
    high[domain.free] = domain.high[domain.free]
    return low, high


def _inputs(people: dict[int, Any], variant: np.ndarray) -> list[Any]:
    return [people.get(i, z3.IntVal(int(value))) for i, value in enumerate(variant.tolist())]


class _Pruned:
    """A network over a box: neurons that are never active left out, those that always are without their ReLU.

    Args:
        layers: of the whole network.
        low, high: the box ``(n_inputs,)``, with one protected value.
    """

    def __init__(self, layers: Sequence[Layer], low: np.ndarray, high: np.ndarray) -> None:
        self._layers: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.n_dead = self.n_linear = self.n_neurons = 0
        for layer in layers[:-1]:
            assert layer.activation is Activation.RELU, "hidden layers must be ReLUs"
            least, most = _bounds(layer, low, high)
            state = np.where(most <= 0, _DEAD, np.where(least >= 0, _LINEAR, _EITHER))
            self._layers.append((layer.weights, layer.biases, state))
            self.n_dead += int((state == _DEAD).sum())
            self.n_linear += int((state == _LINEAR).sum())
            self.n_neurons += len(state)
            low = np.maximum(least, 0.0)
            high = np.maximum(most, 0.0)
        assert layers[-1].weights.shape[1] == 1, "there must be one output"
        self._layers.append((layers[-1].weights, layers[-1].biases, np.array([_LINEAR])))

    def logit(self, inputs: list[Any]) -> Any:
        """The output before its sigmoid, exactly: weights are the fractions that they are in the file."""
        values = inputs
        for weights, biases, states in self._layers:
            sums = (
                None if state == _DEAD else _sum(values, weights[:, j].tolist(), float(biases[j]))
                for j, state in enumerate(states)
            )
            values = [
                total if total is None or state == _LINEAR else z3.If(total > 0, total, z3.RealVal(0))
                for total, state in zip(sums, states, strict=True)
            ]
        return values[0]


_DEAD = 0
_LINEAR = 1
_EITHER = 2


def _bounds(layer: Layer, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the sums that a layer makes of a box, ``(n_out,)`` each."""
    up = np.maximum(layer.weights, 0.0)
    down = np.minimum(layer.weights, 0.0)
    slack = _SLACK * (np.maximum(np.abs(low), np.abs(high)) @ np.abs(layer.weights) + np.abs(layer.biases))
    return low @ up + high @ down + layer.biases - slack, high @ up + low @ down + layer.biases + slack


def _sum(values: list[Any], weights: list[float], bias: float) -> Any:
    terms = [_number(weight) * value for value, weight in zip(values, weights, strict=True) if value is not None]
    return z3.Sum([*terms, _number(bias)])


def _number(value: float) -> Any:
    fraction = Fraction(value)
    return z3.Q(fraction.numerator, fraction.denominator)
