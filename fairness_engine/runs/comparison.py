"""Searches side by side: runs that differ in their seed only are one line, with medians and ranges over the seeds."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import InputError
from fairness_engine.oracle.domain import Domain
from fairness_engine.runs import kinds
from fairness_engine.runs.kinds import Results, results_of
from fairness_engine.search.registry import technique_named
from fairness_engine.settings import settings_of
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.run_config import RunConfig

if TYPE_CHECKING:
    from fairness_engine.store.store import RunStore

_N_EVEN_POINTS = 101
_N_EARLY_POINTS = 61
"""Points of a curve's grid: evenly spaced, and closer together near the beginning, for a logarithmic axis."""


@dataclass(frozen=True)
class Spread:
    """A figure over the seeds.

    Args:
        median, low, high: of the runs that have it; the range is the whole one.
        n: how many runs that is.
    """

    median: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Curve:
    """Individuals found so far, over the seeds; ``(n_points,)`` each.

    Args:
        x: evaluations or seconds, ascending from 0. The same grid for all lines of a comparison, cut where the line
            ends.
        median, low, high: over the runs that have come at least as far as ``x``.
        n_runs: how many runs that is.
    """

    x: FloatArray
    median: FloatArray
    low: FloatArray
    high: FloatArray
    n_runs: IntArray


def spread_of(values: Iterable[float | None]) -> Spread | None:
    """Median and range of the values that are there; ``None`` when none is."""
    there = [float(value) for value in values if value is not None]
    if not there:
        return None
    return Spread(float(np.median(there)), min(there), max(there), len(there))


def common_grid(reached: Iterable[FloatArray], *, whole: bool) -> FloatArray:
    """Where all curves are read, from 0 to the furthest that any run has come."""
    top = max((float(x[-1]) for x in reached if len(x)), default=0.0)
    if top <= 0:
        return np.zeros(1)
    early = np.geomspace(min(1.0 if whole else 0.1, top), top, _N_EARLY_POINTS)
    points = np.concatenate([np.linspace(0.0, top, _N_EVEN_POINTS), early])
    return np.unique(np.minimum(np.rint(points), top) if whole else points)


def found_curve(steps: Sequence[tuple[FloatArray, FloatArray]], grid: FloatArray) -> Curve:
    """Median and range at each point of the grid over the runs that have come that far; nothing is continued beyond.

    The last point is where the furthest run ends, and gathers the ends of all that passed the grid's point before:
    searches of one budget end a few rows apart, and what they found last would be lost.

    Args:
        steps: of each run where it was heard of, ascending, and what it had found there ``(n_steps,)``.
        grid: ascending from 0.
    """
    known = [(x, found) for x, found in steps if len(x)]
    if not known:
        nothing = np.empty(0)
        return Curve(nothing, nothing, nothing, nothing, np.empty(0, dtype=np.int64))
    reach = np.array([x[-1] for x, _ in known])
    points = grid[(grid < reach.max()) | (grid == 0)]
    rows = np.array([_found_at(x, found, points) for x, found in known])
    if reach.max() > points[-1]:
        ends = [found[-1] if x[-1] >= points[-1] else np.nan for x, found in known]
        points = np.append(points, reach.max())
        rows = np.column_stack([rows, ends])
    n_runs = np.count_nonzero(np.isfinite(rows), axis=0)
    return Curve(points, np.nanmedian(rows, axis=0), np.nanmin(rows, axis=0), np.nanmax(rows, axis=0), n_runs)


def _found_at(x: FloatArray, found: FloatArray, points: FloatArray) -> FloatArray:
    """How many a run is known to have found at each point: the last it said; NaN beyond where it has been."""
    last = np.searchsorted(x, points, side="right") - 1
    values = np.where(last >= 0, found[np.maximum(last, 0)], 0.0)
    return np.where(points <= x[-1], values, np.nan)


@dataclass(frozen=True)
class Compared:
    """One technique with one choice of settings.

    Spreads are over the runs that finished; while none has, over the others as they stand. ``None``: no run has the
    figure.

    Args:
        label: unique in the comparison: the technique's title, and the settings in which it differs from its namesakes.
        technique: its name in the registry.
        settings: all of them, by name.
        run_ids: its runs, the oldest first.
        n_done: how many of its ``n_runs`` runs have ended.
        n_found: individuals found.
        per_1000_rows: the same by 1,000 rows evaluated.
        per_second: the same by second.
        success_rate: individuals found by individuals tried.
        diversity: leaves of the surrogate tree that 1,000 finds lie in (see ``diversity``).
        plausible_share: pairs of two plausible people, of those that were measured.
        plausible_per_1000_rows: ``per_1000_rows`` times that share.
        median_distance: to the nearest real row, of the person of each pair who is further away.
        naturalness: how much the people found look like the data as a whole (see ``naturalness``).
        share_of_all: of the discriminatory individuals there are, where they were counted.
        by_evaluations, by_seconds: how the finds came in.
    """

    label: str
    technique: str
    settings: Mapping[str, Any]
    run_ids: tuple[str, ...]
    n_done: int
    n_runs: int
    n_found: Spread | None
    per_1000_rows: Spread | None
    per_second: Spread | None
    success_rate: Spread | None
    diversity: Spread | None
    plausible_share: Spread | None
    plausible_per_1000_rows: Spread | None
    median_distance: Spread | None
    naturalness: Spread | None
    share_of_all: Spread | None
    by_evaluations: Curve
    by_seconds: Curve


@dataclass(frozen=True)
class Comparison:
    """Searches of one question on one budget.

    Args:
        techniques: one a technique and choice of settings, in the order in which they were first asked for.
        n_exact: how many discriminatory individuals there are, when a finished count is among the runs.
        n_individuals: how many individuals there are; ``None`` when they cannot be numbered.
    """

    techniques: tuple[Compared, ...]
    n_exact: int | None
    n_individuals: float | None


@dataclass(frozen=True)
class _Told:
    """What a run has told so far: its record, its results, and its finds as steps ``(n_steps,)``."""

    run: RunRecord
    results: Results
    evaluations: FloatArray
    found_by_evaluations: FloatArray
    seconds: FloatArray
    found_by_seconds: FloatArray


def summarise(store: RunStore, runs: Sequence[RunRecord]) -> Comparison:
    """Put the searches among some runs side by side.

    Args:
        store: where the runs are.
        runs: of one question (data, model, scope). An exact count among them gives ``n_exact``; estimates are left out.
    """
    ordered = sorted(runs, key=lambda run: (run.created, run.id))
    told = [_told(store, run) for run in ordered if kinds.SEARCH.has(run.config)]
    n_exact, n_individuals = _size(store, ordered)
    groups: dict[str, list[_Told]] = {}
    for each in told:
        groups.setdefault(_identity(each.run.config), []).append(each)
    settings = [_settings(group[0].run.config) for group in groups.values()]
    labels = _labels([group[0].run.config.technique for group in groups.values()], settings)
    by_evaluations = common_grid((each.evaluations for each in told), whole=True)
    by_seconds = common_grid((each.seconds for each in told), whole=False)
    compared = [
        _compared(label, chosen, group, n_exact, by_evaluations, by_seconds)
        for label, chosen, group in zip(labels, settings, groups.values(), strict=True)
    ]
    return Comparison(tuple(compared), n_exact, n_individuals)


def _told(store: RunStore, run: RunRecord) -> _Told:
    results = results_of(store, run.id)
    progress = store.progress(run.id)
    evaluations, seconds, found = (progress[name].to_numpy(float) for name in ("evaluations", "seconds", "n_found"))
    discovery = results.discovery
    if discovery is None:
        return _Told(run, results, evaluations, found, seconds, found)
    fine = np.array(discovery.evaluations, dtype=float), np.array(discovery.n_found, dtype=float)
    return _Told(run, results, *fine, seconds, found)


def _size(store: RunStore, runs: Sequence[RunRecord]) -> tuple[int | None, float | None]:
    """How many discriminatory individuals, and how many individuals there are."""
    for run in runs:
        if kinds.COUNT.has(run.config) and run.state is RunState.FINISHED:
            count = results_of(store, run.id).count
            if count is not None:
                return count.n_discriminatory, float(count.n_individuals)
    if not runs:
        return None, None
    n_individuals = Domain(runs[0].config.schema, runs[0].config.scope).n_individuals
    return None, n_individuals if math.isfinite(n_individuals) else None


def _identity(config: RunConfig) -> str:
    """Equal for runs that differ in their seed only."""
    content = config.to_json() | {"settings": _settings(config)}
    return json.dumps(
        {name: value for name, value in content.items() if name not in ("seed", "versions")}, sort_keys=True
    )


def _settings(config: RunConfig) -> dict[str, Any]:
    """All settings of a search, defaults included; as stored when this version does not know them."""
    try:
        return technique_named(config.technique).from_json(config.settings).to_json()
    except InputError:
        return dict(config.settings)


# --- labels -------------------------------------------------------------------------------


def _labels(names: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """A label each: the title, the settings in which a technique differs from its namesakes, and a number where that is
    not enough.
    """
    labels: list[str] = []
    for name, chosen in zip(names, settings, strict=True):
        namesakes = [other for other_name, other in zip(names, settings, strict=True) if other_name == name]
        differing = [key for key in chosen if any(other.get(key) != chosen[key] for other in namesakes)]
        label = ", ".join([_title(name), *(_setting_text(name, key, chosen[key]) for key in differing)])
        n_before = sum(other == label or other.startswith(f"{label} (") for other in labels)
        labels.append(f"{label} ({n_before + 1})" if n_before else label)
    return labels


def _title(name: str) -> str:
    try:
        return str(technique_named(name).title)
    except InputError:
        return name


def _setting_text(technique: str, name: str, value: Any) -> str:
    """A setting in a few words: its value where that says enough."""
    if isinstance(value, str):
        return value
    label = name.replace("_", " ")
    with contextlib.suppress(InputError):
        label = next((i.label for i in settings_of(technique_named(technique)) if i.name == name), label)
    label = label[:1].lower() + label[1:]
    if isinstance(value, bool):
        return label if value else f"no {label}"
    return f"{label} {value:,}" if isinstance(value, int) else f"{label} {value:g}"


# --- figures ------------------------------------------------------------------------------


def _compared(
    label: str,
    settings: Mapping[str, Any],
    group: Sequence[_Told],
    n_exact: int | None,
    by_evaluations: FloatArray,
    by_seconds: FloatArray,
) -> Compared:
    finished = [each for each in group if each.run.state is RunState.FINISHED]
    counted = finished or [each for each in group if each.run.evaluations]

    def spread(figure: Callable[[_Told], float | None]) -> Spread | None:
        return spread_of(figure(each) for each in counted)

    return Compared(
        label=label,
        technique=group[0].run.config.technique,
        settings=settings,
        run_ids=tuple(each.run.id for each in group),
        n_done=sum(each.run.state.is_final for each in group),
        n_runs=len(group),
        n_found=spread(lambda each: each.run.n_found),
        per_1000_rows=spread(lambda each: each.run.found_by(each.run.evaluations / 1000)),
        per_second=spread(lambda each: each.run.found_by(each.run.seconds)),
        success_rate=spread(lambda each: each.run.found_by(each.run.n_tried)),
        diversity=spread(lambda each: None if each.results.diversity is None else each.results.diversity.per_1000),
        plausible_share=spread(_plausible_share),
        plausible_per_1000_rows=spread(
            lambda each: _times(each.run.found_by(each.run.evaluations / 1000), _plausible_share(each))
        ),
        median_distance=spread(
            lambda each: None if each.results.plausibility is None else each.results.plausibility.median_distance
        ),
        naturalness=spread(lambda each: None if each.results.plausibility is None else each.results.plausibility.atn),
        share_of_all=spread(lambda each: _ratio(each.run.n_found, n_exact)),
        by_evaluations=found_curve([(each.evaluations, each.found_by_evaluations) for each in group], by_evaluations),
        by_seconds=found_curve([(each.seconds, each.found_by_seconds) for each in group], by_seconds),
    )


def _plausible_share(told: _Told) -> float | None:
    found = told.results.plausibility
    return None if found is None or found.n_plausible is None else _ratio(found.n_plausible, found.n_measured)


def _times(figure: float | None, share: float | None) -> float | None:
    return None if figure is None or share is None else figure * share


def _ratio(part: float, whole: float | None) -> float | None:
    return part / whole if whole else None
