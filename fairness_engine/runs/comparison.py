"""Searches side by side: runs that differ in their seed only are one line, with medians and ranges over the seeds."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.domain import Domain
from fairness_engine.errors import InputError
from fairness_engine.events import FloatArray
from fairness_engine.runs.config import RunConfig, RunKind
from fairness_engine.runs.curves import Curve, Spread, common_grid, found_curve, spread_of
from fairness_engine.runs.records import RunRecord, RunState
from fairness_engine.search.registry import technique_named
from fairness_engine.search.technique import make_technique, settings_of

if TYPE_CHECKING:
    from fairness_engine.runs.store import RunStore


@dataclass(frozen=True)
class Compared:
    """One technique with one choice of settings.

    Spreads are over the runs that finished; while none has, over the others as they stand. ``None``: no run has the figure.

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
        plausible_share: of the pairs whose plausibility was measured.
        median_distance: of a run's pairs to the nearest real row.
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
    median_distance: Spread | None
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
    results: Mapping[str, Any]
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
    told = [_told(store, run) for run in ordered if run.config.kind is RunKind.SEARCH]
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
    results, progress = store.results(run.id), store.progress(run.id)
    evaluations, seconds, found = (progress[name].to_numpy(float) for name in ("evaluations", "seconds", "n_found"))
    discovery = results.get("discovery")
    if discovery is None:
        return _Told(run, results, evaluations, found, seconds, found)
    fine = np.array(discovery["evaluations"], dtype=float), np.array(discovery["n_found"], dtype=float)
    return _Told(run, results, *fine, seconds, found)


def _size(store: RunStore, runs: Sequence[RunRecord]) -> tuple[int | None, float | None]:
    """How many discriminatory individuals, and how many individuals there are."""
    for run in runs:
        if run.config.kind is RunKind.COUNT and run.state is RunState.FINISHED:
            count = store.results(run.id).get("count")
            if count is not None:
                return int(count["n_discriminatory"]), float(count["n_individuals"])
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
        return asdict(make_technique(technique_named(config.technique), config.settings))
    except InputError:
        return dict(config.settings)


# --- labels -------------------------------------------------------------------------------


def _labels(names: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """A label each: the title, the settings in which a technique differs from its namesakes, and a number where that is not enough."""
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
        per_1000_rows=spread(lambda each: _ratio(1000 * each.run.n_found, each.run.evaluations)),
        per_second=spread(lambda each: _ratio(each.run.n_found, each.run.seconds)),
        success_rate=spread(lambda each: _ratio(each.run.n_found, each.run.n_tried)),
        diversity=spread(lambda each: each.results.get("diversity", {}).get("per_1000")),
        plausible_share=spread(_plausible_share),
        median_distance=spread(lambda each: each.results.get("plausibility", {}).get("median_distance")),
        share_of_all=spread(lambda each: _ratio(each.run.n_found, n_exact)),
        by_evaluations=found_curve([(each.evaluations, each.found_by_evaluations) for each in group], by_evaluations),
        by_seconds=found_curve([(each.seconds, each.found_by_seconds) for each in group], by_seconds),
    )


def _plausible_share(told: _Told) -> float | None:
    found = told.results.get("plausibility", {})
    implausible = _ratio(found.get("n_implausible", 0), found.get("n_measured", 0))
    return None if implausible is None else 1.0 - implausible


def _ratio(part: float, whole: float | None) -> float | None:
    return part / whole if whole else None


__all__ = ["Compared", "Comparison", "Curve", "Spread", "summarise"]
