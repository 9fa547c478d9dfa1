"""Boxes of networks, against everybody in them and against the plain assessor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from certification.networks import Shape, everybody, margins, random_boxes, random_network, space_of
from certification.plain_assessor import PlainAssessor
from fairness_engine.certification.assessor import Certificates
from fairness_engine.certification.networks.assessor import NetworkAssessor
from fairness_engine.certification.networks.workspace_kernels import MAX_ERRORS
from fairness_engine.certification.settings import Mode

SHAPES = {
    "one layer": Shape(),
    "narrow and deep": Shape(widths=(5,) * 50),
    "three layers": Shape(widths=(8, 6, 5)),
    "a layer of one neuron": Shape(widths=(6, 1, 4)),
    "leaky": Shape(widths=(8, 6), slope=0.2),
    "tables": Shape(digits=(5, 4, 6), tables=(0, 2), widths=(7, 5)),
    "nothing but tables": Shape(digits=(5, 4), tables=(0, 1)),
    "thirty variants": Shape(n_variants=30, widths=(9, 7)),
    "variants on a line": Shape(n_variants=30, n_lines=1, widths=(9, 7, 5)),
    "variants on lines": Shape(n_variants=36, n_lines=3, widths=(8, 6), slope=0.1, blend=0.5),
    "a line and tables": Shape(digits=(5, 4, 6), tables=(1,), n_variants=9, n_lines=1, widths=(7, 5), blend=0.3),
    "cells": Shape(reach=0.5, widths=(6, 4)),
    "one column": Shape(digits=(40,), widths=(8,)),
    "nearly fair": Shape(widths=(10, 6), blend=0.05),
    "blind": Shape(widths=(10, 6), blend=0.0),
    "linear": Shape(widths=(3,), slope=1.0),
}
N_BOXES = 30


def _case(name: str, seed: int, mode: Mode = Mode.COUNTING) -> tuple[NetworkAssessor, np.ndarray, np.ndarray]:
    shape = SHAPES[name]
    rng = np.random.default_rng(seed)
    network = random_network(shape, rng)
    space = space_of(shape.digits)
    middle = np.median(margins(network, everybody(*(ends[0] for ends in space.whole()))))
    network = replace(network, biases=(*network.biases[:-1], network.biases[-1] - middle))
    return NetworkAssessor(network, space, mode), *random_boxes(shape.digits, N_BOXES, rng)


def _sums(certificates: Certificates, box: int, form: int, points: np.ndarray) -> np.ndarray:
    line = certificates.coefficients[box, form]
    starts = certificates.starts
    total = np.zeros(len(points))
    for i, start in enumerate(starts[:-1]):
        total += line[start] * points[:, i] if starts[i + 1] - start == 1 else line[start + points[:, i]]
    return total


def _claims(certificates: Certificates, box: int, points: np.ndarray) -> np.ndarray:
    """Whether each point is claimed to be class 1, class 0, decided differently ``(3, n)``."""
    sides = certificates.thresholds[box]
    ups, downs, both = (_sums(certificates, box, form, points) for form in range(3))
    return np.array([ups > sides[0], downs < sides[1], (both > sides[2]) & (both < sides[3])])


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("mode", Mode)
def test_nothing_is_claimed_that_is_not_so(name: str, mode: Mode) -> None:
    n_decided = 0
    for seed in range(3):
        assessor, low, high = _case(name, seed, mode)
        found = assessor.assess(low, high)
        certificates = assessor.explain(low, high)
        is_whole = found.certified == assessor.space.weigh(low, high)
        for b in range(N_BOXES):
            points = everybody(low[b], high[b])
            sums = np.stack([margins(assessor.network, points, offset) for offset in (0.0, -1.0, 0.37, 1.0)])
            ups = (sums > 0).all(axis=(0, 2))
            downs = (sums <= 0).all(axis=(0, 2))
            is_split = ((sums > 0).any(axis=2) & (sums <= 0).any(axis=2)).all(axis=0)
            is_alike = np.stack([(sums[o] > 0).all(axis=1) | (sums[o] <= 0).all(axis=1) for o in range(4)]).all(axis=0)
            assert found.certified[b] <= is_alike.sum()
            assert found.falsified[b] <= is_split.sum()
            claims = _claims(certificates, b, points)
            assert not (claims[0] & ~ups).any()
            assert not (claims[1] & ~downs).any()
            assert not (claims[2] & ~is_split).any()
            if not assessor.network.is_blind and not is_whole[b]:
                assert claims[0].sum() + claims[1].sum() >= found.certified[b]
            assert claims[2].sum() >= found.falsified[b]
            assert (certificates.bounds[b, :, 0] <= sums.min(axis=(0, 1))).all()
            assert (certificates.bounds[b, :, 1] >= sums.max(axis=(0, 1))).all()
            n_decided += found.certified[b] + found.falsified[b]
    assert n_decided > 0


def test_wide_networks_fold_their_errors_and_stay_sound() -> None:
    shape = Shape(digits=(6, 5), widths=(900, 900, 40), blend=0.1)
    rng = np.random.default_rng(0)
    assessor = NetworkAssessor(random_network(shape, rng), space_of(shape.digits), Mode.COUNTING)
    low, high = random_boxes(shape.digits, 6, rng)
    certificates = assessor.explain(low, high)
    assert certificates.n_unstable[0] > MAX_ERRORS
    for b in range(6):
        sums = margins(assessor.network, everybody(low[b], high[b]))
        assert (certificates.bounds[b, :, 0] <= sums.min(axis=0)).all()
        assert (certificates.bounds[b, :, 1] >= sums.max(axis=0)).all()


@pytest.mark.parametrize("name", SHAPES)
def test_bounds_are_narrower_than_plain_ones(name: str) -> None:
    """With one hidden layer no bound is looser; with more, slopes differ, and what counts is the whole.

    Bounds of variants on a line are mixed of its ends', and may be a little looser.
    """
    assessor, low, high = _case(name, 5)
    bounds = assessor.explain(low, high).bounds
    plain = PlainAssessor(assessor.network, assessor.space, Mode.COUNTING).explain(low, high).bounds
    widths = np.diff(bounds, axis=2)
    plain_widths = np.diff(plain, axis=2)
    assert widths.sum() <= plain_widths.sum() * (1.05 if SHAPES[name].n_lines else 1 + 1e-6)
    if len(assessor.network.widths) == 1:
        assert (widths <= plain_widths + 1e-6 * (1 + plain_widths)).all()


@pytest.mark.parametrize("name", SHAPES)
def test_a_box_is_decided_by_itself(name: str) -> None:
    assessor, low, high = _case(name, 9)
    together = assessor.assess(low, high)
    for b in range(0, N_BOXES, 5):
        alone = assessor.assess(low[b : b + 1], high[b : b + 1])
        assert alone.certified[0] == together.certified[b]
        assert alone.falsified[0] == together.falsified[b]
        assert alone.column[0] == together.column[b]


@pytest.mark.parametrize("name", SHAPES)
def test_undecided_boxes_have_a_column_to_split(name: str) -> None:
    assessor, low, high = _case(name, 3)
    found = assessor.assess(low, high)
    lines = np.flatnonzero(found.column >= 0)
    assert (high[lines, found.column[lines]] > low[lines, found.column[lines]]).all()
    is_open = found.certified + found.falsified < assessor.space.weigh(low, high)
    assert (found.column[is_open & (high > low).any(axis=1)] >= 0).all()


def test_counting_decides_more_than_whole_boxes() -> None:
    assessor, low, high = _case("nearly fair", 1)
    whole = NetworkAssessor(assessor.network, assessor.space, Mode.CLASSIC).assess(low, high)
    counted = assessor.assess(low, high)
    assert (counted.certified >= whole.certified).all()
    assert counted.certified.sum() > 1.5 * whole.certified.sum()


def test_masses_weigh_what_is_counted() -> None:
    shape = SHAPES["tables"]
    rng = np.random.default_rng(4)
    network = random_network(shape, rng)
    masses = tuple(rng.multinomial(40, np.ones(n) / n) / 40 for n in shape.digits)
    assessor = NetworkAssessor(network, space_of(shape.digits, masses), Mode.COUNTING)
    low, high = random_boxes(shape.digits, N_BOXES, rng)
    found = assessor.assess(low, high)
    for b in range(N_BOXES):
        points = everybody(low[b], high[b])
        weights = np.prod([masses[i][points[:, i]] for i in range(len(masses))], axis=0)
        is_up = margins(network, points) > 0
        is_alike = is_up.all(axis=1) | ~is_up.any(axis=1)
        assert found.certified[b] <= weights[is_alike].sum() * (1 + 1e-12)
        assert found.falsified[b] <= weights[~is_alike].sum() * (1 + 1e-12)
    assert found.certified.sum() > 0


def test_who_has_no_say_is_certified_whole() -> None:
    """Protected values that reach no neuron: every box is certified, whatever its decisions."""
    assessor, low, high = _case("blind", 2)
    found = assessor.assess(low, high)
    np.testing.assert_array_equal(found.certified, assessor.space.weigh(low, high))
    assert (found.column == -1).all()
