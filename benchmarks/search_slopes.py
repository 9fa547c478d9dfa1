"""MAFT's estimate of slopes three ways: one probe a call (the paper's Algorithm 1), one person a call (2), everybody in
one call (here).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.search_cases import CASES, Case
from benchmarks.table import markdown, medians
from fairness_engine.search.techniques.gradient.gradients import MovableColumns

N_PEOPLE = 1_000
REPEATS = 7
"""People whose slopes are taken, as many as in RQ3.1; and how often all ways are timed in turn."""
_H = 1.0
_NAMES = ("adult-sex", "german-sex", "heart-sex")
_FARTHEST = 1e-3
"""Most that two ways may differ in a slope, which float32 scores leave; scores are between 0 and 1."""


def slopes_part() -> str:
    """The section: seconds of each way on each network, and how many times the loop takes."""
    rows = [_row(CASES[name]()) for name in _NAMES]
    header = ("network", "people x attributes", *(f"{name}, s" for name in _WAYS))
    ratios = ("loop / one person a call", "loop / everybody in one call")
    return "\n\n".join(
        [
            "## MAFT's slopes, one by one and together",
            f"Slopes of {N_PEOPLE:,} rows of the data (all of a smaller table), h = 1, of the same scores in the same "
            f"process; medians of {REPEATS} rounds in which the three ways take turns. The loop is the paper's "
            "Algorithm 1, kept here only; the searches use the last. The three give the same slopes.",
            markdown([*header, *ratios], rows),
        ]
    )


def _row(case: Case) -> tuple[str, ...]:
    people = case.rows[case.domain.contains(case.rows)][:N_PEOPLE]
    ground = MovableColumns.of(case.domain)
    up = people[:, ground.columns] + _H * ground.unit <= ground.top
    steps = np.where(up, _H * ground.unit, -_H * ground.unit)
    slopes = [take(case, people, ground, steps) for take in _WAYS.values()]
    for other in slopes[1:]:
        if np.abs(other - slopes[0]).max() > _FARTHEST:
            raise SystemExit(f"{case.title}: two ways to the slopes differ by {np.abs(other - slopes[0]).max():.2g}.")

    def measure(_: int) -> tuple[float, ...]:
        seconds = []
        for take in _WAYS.values():
            started = time.perf_counter()
            take(case, people, ground, steps)
            seconds.append(time.perf_counter() - started)
        loop, person, everybody = seconds
        return (*seconds, loop / person, loop / everybody)

    *seconds, by_person, by_all = medians(measure, REPEATS)
    size = f"{len(people):,} x {len(ground.columns)}"
    line = (case.title, size, *(f"{value:.4f}" for value in seconds), f"{by_person:.1f} x", f"{by_all:.0f} x")
    print(line, flush=True)
    return line


def _one_probe_a_call(case: Case, people: np.ndarray, ground: MovableColumns, steps: np.ndarray) -> np.ndarray:
    """Algorithm 1: for each person the score, then for each attribute the score of its probe, one row a call."""
    slopes = np.empty(steps.shape)
    for i, person in enumerate(people):
        here = case.model.fast_scores(person[None])[0, 0]
        for j, column in enumerate(ground.columns):
            probe = person.copy()
            probe[column] += steps[i, j]
            slopes[i, j] = (case.model.fast_scores(probe[None])[0, 0] - here) / (steps[i, j] / ground.unit[j])
    return slopes


def _one_person_a_call(case: Case, people: np.ndarray, ground: MovableColumns, steps: np.ndarray) -> np.ndarray:
    """Algorithm 2: a person's probes in one call, the person in another."""
    slopes = np.empty(steps.shape)
    order = np.arange(len(ground.columns))
    for i, person in enumerate(people):
        probes = np.repeat(person[None], len(order), axis=0)
        probes[order, ground.columns] += steps[i]
        near = case.model.fast_scores(probes)[:, 0]
        here = case.model.fast_scores(person[None])[0, 0]
        slopes[i] = (near - here) / (steps[i] / ground.unit)
    return slopes


def _everybody_in_one_call(case: Case, people: np.ndarray, ground: MovableColumns, steps: np.ndarray) -> np.ndarray:
    """As a search takes them: probes of everybody, which differ from the people in one column, in one call."""
    here, near = case.model.nearby_scores(people, ground.columns, steps)
    return np.asarray((near[:, :, 0] - here) / (steps / ground.unit))


_WAYS: dict[str, Callable[[Case, np.ndarray, MovableColumns, np.ndarray], np.ndarray]] = {
    "one probe a call": _one_probe_a_call,
    "one person a call": _one_person_a_call,
    "everybody in one call": _everybody_in_one_call,
}
