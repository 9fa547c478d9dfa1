"""Lines among variants: all are found, and what is mixed of their ends is the variant."""

from __future__ import annotations

import numpy as np
import pytest

from fairness_engine.certification.networks.variant_lines import find_lines

N_NEURONS = 6


def _grid(*sizes: int) -> np.ndarray:
    """Shifts of every combination of numbers with so many values."""
    rng = np.random.default_rng(len(sizes))
    places = np.stack(np.meshgrid(*(np.arange(n) for n in sizes), indexing="ij"), axis=-1).reshape(-1, len(sizes))
    return places @ rng.normal(size=(len(sizes), N_NEURONS)) + rng.normal(size=N_NEURONS)


@pytest.mark.parametrize("sizes", [(79,), (2, 40), (20, 30), (3, 4, 50)])
def test_every_variant_is_mixed_of_rows(sizes: tuple[int, ...]) -> None:
    shifts = _grid(*sizes)
    lines = find_lines(shifts)
    np.testing.assert_allclose(lines.mixtures @ shifts[lines.rows], shifts, atol=1e-11)
    np.testing.assert_allclose(lines.mixtures.sum(axis=1), 1.0)
    assert (lines.mixtures >= 0).all()
    assert ((lines.mixtures > 0).sum(axis=1) <= 2).all()


@pytest.mark.parametrize(("sizes", "n_lines"), [((79,), 1), ((2, 40), 2), ((20, 30), 20)])
def test_lines_are_those_of_the_longest_number(sizes: tuple[int, ...], n_lines: int) -> None:
    lines = find_lines(_grid(*sizes))
    assert lines.n_alone == 2 * n_lines
    assert len(lines.rows) == 4 * n_lines


def test_order_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    shifts = _grid(30)[rng.permutation(30)]
    lines = find_lines(shifts)
    assert len(lines.rows) == 4
    np.testing.assert_allclose(lines.mixtures @ shifts[lines.rows], shifts, atol=1e-11)


@pytest.mark.parametrize("k", [1, 2, 4, 30])
def test_variants_off_any_line_stay_by_themselves(k: int) -> None:
    lines = find_lines(np.random.default_rng(k).normal(size=(k, N_NEURONS)))
    assert lines.n_alone == k
    np.testing.assert_array_equal(lines.rows, np.arange(k))
    np.testing.assert_array_equal(lines.mixtures, np.eye(k))


def test_a_variant_beside_the_line_is_not_on_it() -> None:
    shifts = _grid(20)
    shifts[7] += 1e-9
    lines = find_lines(shifts)
    assert lines.mixtures[7].max() == 1.0
    assert 7 in lines.rows[: lines.n_alone]
