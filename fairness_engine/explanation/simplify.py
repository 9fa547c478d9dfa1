"""The plainest form of a pair: as ordinary as it can be and still discriminatory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Kind
from fairness_engine.errors import RunError
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs

_MAX_ROUNDS = 200


def plain_row(domain: Domain, rows: FloatArray) -> FloatArray:
    """The most ordinary row ``(n_columns,)``: the commonest category, the median number, inside the domain."""
    if not len(rows):
        return np.asarray(domain.low.copy())
    plain = np.empty(domain.n_columns)
    for i, column in enumerate(domain.schema.inputs):
        values = rows[:, i]
        if column.kind is Kind.CATEGORICAL:
            found, counts = np.unique(values, return_counts=True)
            plain[i] = found[counts.argmax()]
        else:
            plain[i] = np.sort(values)[len(values) // 2]
    return domain.clip(plain)


def simplify_pair(model: Model, domain: Domain, pair: Pairs, plain: FloatArray) -> Pairs:
    """Move every attribute that is not protected as near to the plain row as the pair allows.

    Of several protected values that differ, only those stay different that are needed for the two decisions; a number
    that stays is brought as near as decides. Between the two greedy, as in delta debugging: each round tries every
    attribute that still differs at its plain value, all in one model call, and keeps the best change that leaves the
    two decisions different; when none holds, numbers try half of the way, then one unit. The result is minimal in this
    sense: no single attribute can be made plain, and no number moved a unit nearer.

    Args:
        model, domain: what the pair was found with.
        pair: one pair.
        plain: the row to move towards ``(n_columns,)``.

    Returns:
        One pair, replayed through the model; the pair itself if nothing can go.

    Raises:
        RunError: the pair is not discriminatory under this model and scope.
    """
    first = pair.first[0].copy()
    second = pair.second[0].copy()
    if not _holds(model, domain, first[None], second[None])[0]:
        raise RunError("This pair gets the same decision now: the model or the scope changed since it was found.")
    first, second = _fewest_protected(model, domain, first, second)
    for _ in range(_MAX_ROUNDS):
        changed = _best_change(model, domain, first, second, plain)
        if changed is None:
            break
        first, second = changed
    second = _nearest_number(model, domain, first, second)
    return _replayed(model, first, second, int(pair.evaluation[0]))


def _fewest_protected(
    model: Model, domain: Domain, first: FloatArray, second: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The pair with as few different protected values as still decide: each is made equal, either way, where that
    holds.
    """
    for column in domain.protected:
        if (first[domain.protected] != second[domain.protected]).sum() < 2:
            break
        if first[column] == second[column]:
            continue
        firsts = np.repeat(first[None], 2, 0)
        seconds = np.repeat(second[None], 2, 0)
        firsts[0, column] = second[column]
        seconds[1, column] = first[column]
        are_compared = domain.are_variants(firsts) & domain.are_variants(seconds)
        holds = np.flatnonzero(_holds(model, domain, firsts, seconds) & are_compared)
        if len(holds):
            first = firsts[holds[0]]
            second = seconds[holds[0]]
    return first, second


def _nearest_number(model: Model, domain: Domain, first: FloatArray, second: FloatArray) -> FloatArray:
    """The second person with the protected number that alone differs as near to the first's as the pair allows."""
    differing = [i for i in domain.protected.tolist() if first[i] != second[i]]
    if len(differing) != 1 or domain.schema.inputs[differing[0]].kind is Kind.CATEGORICAL:
        return second
    (column,) = differing
    compared = np.unique(domain.variant_values[:, domain.protected.tolist().index(column)])
    low, high = sorted((first[column], second[column]))
    between = compared[(compared > low) & (compared < high)]
    between = between[np.argsort(np.abs(between - first[column]), kind="stable")]
    seconds = np.repeat(second[None], len(between), 0)
    seconds[:, column] = between
    seconds = seconds[domain.variants_holding(seconds[:, domain.protected]) >= 0]
    if not len(seconds):
        return second
    holds = np.flatnonzero(_holds(model, domain, np.repeat(first[None], len(seconds), 0), seconds))
    nearest: FloatArray = seconds[holds[0]] if len(holds) else second
    return nearest


def _best_change(
    model: Model, domain: Domain, first: FloatArray, second: FloatArray, plain: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """The pair with one more attribute plain, or nearer to it; ``None`` when none holds."""
    differing = [i for i in domain.movable if first[i] != plain[i]]
    tries = (
        _plain_values(plain, differing),
        _halfway_values(domain, first, plain, differing),
        _unit_values(domain, first, plain, differing),
    )
    for values in tries:
        if not values:
            continue
        firsts = np.repeat(first[None], len(values), 0)
        seconds = np.repeat(second[None], len(values), 0)
        for k, (column, value) in enumerate(values):
            firsts[k, column] = seconds[k, column] = value
        holds = np.flatnonzero(_holds(model, domain, firsts, seconds))
        if len(holds):
            gaps = np.abs(model.scores(firsts[holds]) - model.scores(seconds[holds])).max(axis=1)
            best = holds[gaps.argmax()]
            return firsts[best], seconds[best]
    return None


def _plain_values(plain: FloatArray, differing: list[int]) -> list[tuple[int, float]]:
    return [(i, float(plain[i])) for i in differing]


def _halfway_values(
    domain: Domain, row: FloatArray, plain: FloatArray, differing: list[int]
) -> list[tuple[int, float]]:
    """Numbers half of the way to plain, on their lattice, where that is a move at all."""
    values = []
    for i in differing:
        if domain.schema.inputs[i].kind is Kind.CATEGORICAL:
            continue
        half = (row[i] + plain[i]) / 2
        if domain.step[i] > 0:
            half = domain.low[i] + np.rint((half - domain.low[i]) / domain.step[i]) * domain.step[i]
        is_nearer = abs(half - plain[i]) < abs(row[i] - plain[i]) - domain.unit[i] / 2
        if is_nearer:
            values.append((i, float(half)))
    return values


def _unit_values(domain: Domain, row: FloatArray, plain: FloatArray, differing: list[int]) -> list[tuple[int, float]]:
    """Numbers one unit nearer to plain."""
    numbers = [i for i in differing if domain.schema.inputs[i].kind is not Kind.CATEGORICAL]
    moved = [(i, float(row[i] + np.sign(plain[i] - row[i]) * domain.unit[i])) for i in numbers]
    return [(i, value) for i, value in moved if abs(value - plain[i]) < abs(row[i] - plain[i])]


def _holds(model: Model, domain: Domain, firsts: FloatArray, seconds: FloatArray) -> NDArray[np.bool_]:
    """Which pairs are discriminatory ``(n_pairs,)``."""
    scores_first = model.scores(firsts)
    scores_second = model.scores(seconds)
    if domain.scope.score_gap > 0:
        return np.asarray(np.abs(scores_first - scores_second).max(axis=1) > domain.scope.score_gap)
    return np.asarray(model.decide(scores_first) != model.decide(scores_second))


def _replayed(model: Model, first: FloatArray, second: FloatArray, evaluation: int) -> Pairs:
    rows = np.stack([first, second])
    scores = model.scores(rows)
    decisions = model.decide(scores)
    shown = scores[:, 0] if model.is_binary else scores.max(axis=1)
    spent = np.array([evaluation], dtype=np.int64)
    gaps = np.abs(scores[:1] - scores[1:]).max(axis=1)
    return Pairs(rows[:1], rows[1:], shown[:1], shown[1:], decisions[:1], decisions[1:], spent, gaps=gaps)
