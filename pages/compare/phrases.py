"""What a comparison shows and what it does not, in plain sentences. Ranges that overlap are always said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.search.registry import BASELINES
from pages.shared.app import wording

if TYPE_CHECKING:
    from fairness_engine.runs.comparison import Compared, Comparison, Curve
    from pages.shared.runs.comparison_choice import Group

CAVEAT = (
    "More found means a better search for this model, scope and budget; it does not mean a worse model, and no number "
    "here is a share of people. An estimate gives that."
)


def standing(group: Group) -> str:
    """How far the runs of a comparison are."""
    n_runs = len(group.runs)
    n_active = len(group.active)
    if not n_active:
        return f"All {wording.counted(n_runs, 'run')} have ended."
    n_working = sum(run.state.value == "running" for run in group.active)
    return (
        f"{n_runs - n_active} of {wording.counted(n_runs, 'run')} have ended, {n_working} at work, "
        f"{n_active - n_working} waiting. Waiting runs start by themselves."
    )


def conclusions(comparison: Comparison) -> list[str]:
    """What can be said, the main thing first; not escaped. Nothing before there are figures."""
    shown = [compared for compared in comparison.techniques if _has_worked(compared)]
    luck = next((compared for compared in shown if compared.technique == "random"), None)
    searches = [compared for compared in shown if compared.technique not in BASELINES]
    searches.sort(key=lambda compared: compared.n_found.median if compared.n_found else 0.0, reverse=True)
    said: list[str] = []
    if searches and luck is not None:
        said.append(_against_luck(searches[0], luck))
    if len(searches) > 1:
        said.append(_against_next(searches[0], searches[1]))
    return said + _of_all(comparison)


def unfinished(comparison: Comparison) -> str:
    """What to keep in mind while runs are missing; empty once all have ended."""
    if all(compared.n_done == compared.n_runs for compared in comparison.techniques):
        return ""
    return "Not all runs have ended: these are the figures so far, and techniques can still change places."


def _has_worked(compared: Compared) -> bool:
    return bool(compared.n_found is not None and len(compared.by_evaluations.x) and compared.by_evaluations.x[-1] > 0)


def _same_rows(one: Compared, other: Compared) -> float:
    """How many rows all runs of both have evaluated that their figures are of."""
    return min(_reach_of_all(one), _reach_of_all(other))


def _reach_of_all(compared: Compared) -> float:
    curve = compared.by_evaluations
    there = curve.x[curve.n_runs >= _n_seeds(compared)]
    return float(there[-1] if len(there) else curve.x[0])


def _at(curve: Curve, x: float) -> tuple[float, float, float]:
    """Median, least and most found after ``x`` rows."""
    median, low, high = (float(np.interp(x, curve.x, y)) for y in (curve.median, curve.low, curve.high))
    return median, low, high


def _against_luck(best: Compared, luck: Compared) -> str:
    x = _same_rows(best, luck)
    found = _at(best.by_evaluations, x)
    by_luck = _at(luck.by_evaluations, x)
    rows = f"For the same {wording.counted(round(x), 'row')} evaluated, "
    if found[0] == by_luck[0] == 0:
        return f"{rows}neither {best.label} nor {luck.label} found anything. This does not show that there is nothing."
    if not by_luck[0]:
        said = f"{rows}{best.label} found {_range(found)} where {luck.label} found nothing."
    elif found[0] > by_luck[0]:
        times = _times(found[0] / by_luck[0])
        said = f"{rows}{best.label} found {times} as many as {luck.label}: {_range(found)} against {_range(by_luck)}."
    else:
        said = f"{rows}{best.label} found no more than {luck.label}: {_range(found)} against {_range(by_luck)}."
    return f"{said} {_luck_of(best, luck, found, by_luck)}"


def _against_next(best: Compared, second: Compared) -> str:
    x = _same_rows(best, second)
    found = _at(best.by_evaluations, x)
    by_second = _at(second.by_evaluations, x)
    rows = f"after {wording.counted(round(x), 'row')}"
    if _n_seeds(best, second) > 1 and found[1] > by_second[2]:
        return (
            f"{best.label} is ahead of the next, {second.label}, with every seed: {_range(found)} against "
            f"{_range(by_second)} {rows}."
        )
    if _n_seeds(best, second) > 1 and found[2] < by_second[1]:
        return (
            f"{second.label} found more at first, {_range(by_second)} against {_range(found)} {rows}, but less on the "
            "whole."
        )
    figures = f"{_range(found)} against {_range(by_second)} {rows}"
    return (
        f"Between {best.label} and {second.label} this comparison does not decide: {figures}, and "
        f"{_overlap(best, second)}."
    )


def _luck_of(best: Compared, other: Compared, found: Sequence[float], of_other: Sequence[float]) -> str:
    n_seeds = _n_seeds(best, other)
    if n_seeds < 2:
        return "There is one seed only, so luck may explain it."
    if found[1] > of_other[2] or of_other[1] > found[2]:
        once_in = math.comb(2 * n_seeds, n_seeds) // 2  # orders of the runs of two equals, by those that part them
        return (
            f"The ranges over {n_seeds} seeds do not overlap. Were both techniques equally good, chance would part "
            f"them like this once in {wording.count(once_in)} comparisons."
        )
    return f"The ranges over {n_seeds} seeds overlap, so luck may explain it."


def _overlap(best: Compared, second: Compared) -> str:
    n_seeds = _n_seeds(best, second)
    return "there is one seed only" if n_seeds < 2 else f"their ranges over {n_seeds} seeds overlap"


def _n_seeds(*techniques: Compared) -> int:
    """How many runs with something to show the poorer one has."""
    return min((compared.n_found.n if compared.n_found is not None else 0) for compared in techniques)


def _range(found: Sequence[float]) -> str:
    median, low, high = (wording.count(value) for value in found)
    return median if low == high else f"{median} ({low} to {high})"


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 10 else f"{wording.count(ratio)} times"


def _of_all(comparison: Comparison) -> list[str]:
    if comparison.n_exact is None:
        return []
    with_share = [compared for compared in comparison.techniques if compared.share_of_all is not None]
    all_that_exist = f"all {wording.count(comparison.n_exact)} that exist"
    if comparison.n_exact == 0:
        return ["Every individual of the domain was gone through: no pair exists in it."]
    if not with_share:
        return [f"Counted exactly: {wording.counted(comparison.n_exact, 'individual')} exist in the domain."]
    best = max(with_share, key=lambda compared: compared.share_of_all.median)
    return [f"{best.label} found {wording.share(best.share_of_all.median)} of {all_that_exist} (counted exactly)."]
