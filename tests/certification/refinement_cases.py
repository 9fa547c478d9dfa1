"""Assessors that know the truth of a space, and prove as much of it as a test wants."""

from __future__ import annotations

import itertools

import numpy as np

from fairness_engine.certification.assessor import Assessed, Certificates
from fairness_engine.certification.networks.assessor import NetworkAssessor
from fairness_engine.certification.partition.enumeration import BoxEnumerator
from fairness_engine.certification.partition.lattice import Lattice, Weights, make_lattice
from fairness_engine.certification.partition.refinement import Refinement
from fairness_engine.certification.relu_network import read_network
from fairness_engine.certification.settings import Mode
from fairness_engine.certification.thread_pool import ThreadPool
from fairness_engine.clock import Clock
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain, Scope
from handmade import (
    FunctionPredictor,
    all_individuals,
    function_model,
    network_model,
    small_domain,
    small_network,
)


def unfair_table(model: Model, space: Lattice) -> np.ndarray:
    """Whether each individual is decided differently for two variants, an axis a column, by scores of everybody."""
    domain = space.domain
    rows = all_individuals(domain)
    decisions = model.decide(model.scores(domain.variants(rows).reshape(-1, domain.n_columns)))
    by_row = decisions.reshape(len(rows), -1)
    table = np.zeros(tuple(space.n_digits), dtype=bool)
    table[tuple(space.digits(rows).T)] = by_row.min(axis=1) != by_row.max(axis=1)
    return table


def mass_table(space: Lattice) -> np.ndarray:
    """The weight of each individual, an axis a column."""
    table = np.ones(())
    for mass in space.masses:
        table = table[..., None] * mass
    return table


class KnowingAssessor:
    """Decides a box whole where everybody in it is alike; of another box it proves a part of what is true.

    Args:
        space, is_unfair: from ``unfair_table``.
        part: the share of what is true of a mixed box that is proved, 0 to 1.
        cut: ``None`` to split in the middle, or how far from the box's low end.
    """

    kind = "knowing"
    method = "by knowing"
    is_exact = False

    def __init__(self, space: Lattice, is_unfair: np.ndarray, part: float = 0.0, cut: int | None = None) -> None:
        self.space = space
        self._is_unfair = is_unfair
        self._masses = mass_table(space)
        self._part = part
        self._cut = cut
        self.n_assessed = 0

    def assess(self, low: np.ndarray, high: np.ndarray) -> Assessed:
        self.n_assessed += len(low)
        certified = np.zeros(len(low))
        falsified = np.zeros(len(low))
        column = (high - low).argmax(axis=1)
        for b, box in enumerate(boxes_as_slices(low, high)):
            unfair = self._is_unfair[box]
            masses = self._masses[box]
            part = 1.0 if unfair.all() or not unfair.any() else self._part
            certified[b] = part * masses[~unfair].sum()
            falsified[b] = part * masses[unfair].sum()
            if part == 1.0:
                column[b] = -1
        cut = None if self._cut is None else low[np.arange(len(low)), column] + self._cut
        return Assessed(certified, falsified, column, cut)

    def explain(self, low: np.ndarray, high: np.ndarray) -> Certificates:
        n, d = low.shape
        thresholds = np.tile([np.inf, -np.inf, np.inf, -np.inf], (n, 1))
        for b, box in enumerate(boxes_as_slices(low, high)):
            if not self._is_unfair[box].any():
                thresholds[b, 0] = -np.inf
            elif self._is_unfair[box].all():
                thresholds[b, 2:] = -np.inf, np.inf
        starts = np.zeros(d + 1, np.int64)
        return Certificates(
            np.empty((n, 3, 0)), starts, thresholds, np.full((n, 2, 2), np.nan), np.zeros((n, d)), np.zeros(n, np.int64)
        )


class OpenAssessor:
    """Proves nothing and splits the widest column; as fast as a box can be."""

    kind = "open"
    method = "not at all"
    is_exact = False

    def __init__(self, space: Lattice) -> None:
        self.space = space

    def assess(self, low: np.ndarray, high: np.ndarray) -> Assessed:
        width = high - low
        return Assessed(
            np.zeros(len(low)), np.zeros(len(low)), np.where(width.max(axis=1) > 0, width.argmax(axis=1), -1)
        )

    def explain(self, low: np.ndarray, high: np.ndarray) -> Certificates:
        n, d = low.shape
        thresholds = np.tile([np.inf, -np.inf, np.inf, -np.inf], (n, 1))
        starts = np.zeros(d + 1, np.int64)
        return Certificates(
            np.empty((n, 3, 0)), starts, thresholds, np.full((n, 2, 2), np.nan), np.ones((n, d)), np.zeros(n, np.int64)
        )


def boxes_as_slices(low: np.ndarray, high: np.ndarray) -> list[tuple[slice, ...]]:
    """Boxes as indices of a table with an axis a column."""
    return [tuple(slice(a, b + 1) for a, b in zip(*ends, strict=True)) for ends in zip(low, high, strict=True)]


def everybody(space: Lattice) -> np.ndarray:
    """Digits of every individual ``(n, D)``."""
    return np.array(list(itertools.product(*(range(n) for n in space.n_digits))), dtype=np.int64)


def weighted_space(domain: Domain, seed: int = 0) -> Lattice:
    """A space weighed by rows of the data whose values are far from equally frequent."""
    rng = np.random.default_rng(seed)
    rows = domain.sample(400, rng)
    rows[::2] = rows[0]
    return make_lattice(domain, Weights.DATA, rows)


def large_domain(is_continuous: bool = False) -> Domain:
    """Three numbers of 500 values, one of them continuous if wanted, and sex."""
    columns = [Column(name, Kind.INTEGER, minimum=0, maximum=499) for name in ("one", "two", "three")]
    if is_continuous:
        columns[1] = Column("two", Kind.REAL, minimum=0.0, maximum=1.0)
    sex = Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M"))
    return Domain(Schema((sex, *columns), label="y", protected=("sex",)), Scope(("sex",)))


def threshold_model() -> Model:
    """Decides by the first number, a little stricter for one sex."""
    return function_model(lambda rows: (rows[:, 1] + 10 * rows[:, 0] > 250).astype(float))


def small_case(weights: Weights = Weights.UNIFORM) -> tuple[Model, Lattice, np.ndarray]:
    """A model of ``small_domain`` whose unfair individuals lie scattered, its space, and the truth."""
    domain = small_domain()

    def score(rows: np.ndarray) -> np.ndarray:
        wave = np.sin(rows[:, 1] + 0.7 * rows[:, 2]) + np.cos(0.9 * rows[:, 3]) + rows[:, 4] - 0.3
        return 1 / (1 + np.exp(-(wave + 0.4 * rows[:, 0])))

    model = function_model(score)
    space = make_lattice(domain) if weights is Weights.UNIFORM else weighted_space(domain)
    return model, space, unfair_table(model, space)


def points_of(model: Model, space: Lattice) -> BoxEnumerator:
    assert isinstance(model.predictor, FunctionPredictor)
    return BoxEnumerator(model, space.domain, space)


def in_a_minute() -> Clock:
    return Clock(60)


def network_refined(n_boxes: int, weights: Weights = Weights.UNIFORM, seed: int = 0) -> Refinement:
    domain = small_domain()
    model = network_model(domain, small_network(domain, seed=seed))
    space = make_lattice(domain) if weights is Weights.UNIFORM else weighted_space(domain)
    assessor = NetworkAssessor(read_network(model, space), space, Mode.COUNTING)
    refinement = Refinement(assessor, BoxEnumerator(model, domain, space), threads=ThreadPool(1))
    while refinement.step(max_boxes=n_boxes):
        pass
    return refinement
