"""From what a reader chose on the Plan page to the runs that are started; no widgets here."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairness_engine.errors import InputError, SettingError
from fairness_engine.measures.exact_count import can_count, n_rows_to_count
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Distribution, Domain
from fairness_engine.runs import kinds
from fairness_engine.search import requirements
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.search.techniques.data_scan import DATA_SCAN, scan_budget
from fairness_engine.settings import settings_of
from fairness_engine.store.environment import cluster_address, max_at_work
from fairness_engine.store.records import Review
from fairness_engine.store.run_config import RunConfig
from pages.shared.app import wording
from pages.shared.app.kept import kept
from pages.shared.review import dataset

STRATEGY = "strategy"
"""The setting of which several values may run side by side."""
N_DRAWN = 20_000
"""People drawn for an estimate when nobody says how many."""
_SECONDS_TO_OPEN_THERE = 8.0
_WORTH_SHARING_SECONDS = 20.0
_FAST_ROWS_PER_SECOND = 100_000
"""Of a model that is too fast: a forest of 120,000 rows a second gained 10 % by two processes (docs/cluster.md)."""
_OVERHEAD = 1.25
"""By how much more is worked where blocks are sent to others, about."""
_SECONDS_TO_OPEN = 1.5
"""What a run costs before its first row: a process, the model's library, the data."""


@dataclass(frozen=True)
class Effort:
    """A budget with a name."""

    name: str
    max_evaluations: int
    max_seconds: float

    @property
    def budget(self) -> Budget:
        """The limits as the engine takes them."""
        return Budget(self.max_evaluations, self.max_seconds)


EFFORTS = (Effort("Quick", 50_000, 60), Effort("Standard", 500_000, 600), Effort("Thorough", 5_000_000, 3600))


@dataclass(frozen=True)
class Choice:
    """A technique as the page offers it; ``reason`` says why it is not possible here, ``notes`` what to know of it."""

    technique: type[Any]
    reason: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlannedRun:
    """One search to start: a technique and the settings that differ from its defaults."""

    technique: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Everything that Start needs.

    Args:
        searches: run once with each seed, all with the same budget.
        budget: of each search.
        seed: of each run; the first of several.
        distributions: an estimate of each, with ``n_samples`` draws.
        n_seeds: each search runs with the seeds ``seed`` to ``seed + n_seeds - 1``.
        max_starts: how many rows of the data a search may start from, the same for all; ``None`` is every row.
        is_counted: all discriminatory individuals of the domain are counted too.
    """

    searches: Sequence[PlannedRun]
    budget: Budget
    seed: int
    distributions: Sequence[Distribution] = ()
    n_samples: int = N_DRAWN
    n_seeds: int = 1
    max_starts: int | None = None
    is_counted: bool = False

    @property
    def n_runs(self) -> int:
        """Runs that will be started."""
        return len(self.searches) * self.n_seeds + len(self.distributions) + self.is_counted


def choices(review: Review) -> list[Choice]:
    """All techniques, each with the reason when this review's model cannot be searched with it."""
    return [
        Choice(technique, why_not(technique, review), notes_of(technique, review)) for technique in TECHNIQUES.values()
    ]


def why_not(technique: type[Any], review: Review) -> str | None:
    """Why a technique cannot work here, in a sentence or two; ``None`` when it can.

    What the fit card does not tell, one of an earlier version above all, is allowed here and refused by the run itself.
    """
    return requirements.why_not(technique, review.fit or {}, _protected(review))


def notes_of(technique: type[Any], review: Review) -> tuple[str, ...]:
    """What to know before a technique is started here, a sentence or two each."""
    return requirements.notes_of(technique, review.fit or {}, _protected(review))


def _protected(review: Review) -> tuple[str, ...]:
    """Attributes that must have an effect by themselves; none where others that the model takes go with them."""
    if review.scope is None:
        return ()
    not_taken = (review.fit or {}).get("not_taken") or ()
    return () if any(link.column not in not_taken for link in review.scope.links) else review.scope.protected


_FEW_ROWS = 1_000
"""Of the data: fewer say little of who could exist."""


def proposed_settings(review: Review) -> dict[str, Any]:
    """Settings of a search that the page proposes, by name; a technique without one is planned as it comes."""
    return {"only_plausible": True} if len(dataset.dataset_of(review).rows) >= _FEW_ROWS else {}


def is_countable(review: Review) -> bool:
    """Whether all individuals of the review's domain can be gone through; never without values to compare."""
    if review.scope is None or review.schema is None:
        return False
    try:
        return can_count(Domain(review.schema, review.scope))
    except InputError:
        return False


def count_work(domain: Domain, rows_per_second: float | None) -> tuple[float, float | None]:
    """What an exact count costs: rows, and seconds when the model's speed is known."""
    n_rows = n_rows_to_count(domain)
    return n_rows, expected_seconds(n_rows, rows_per_second)


def runs_text(plan: Plan) -> str:
    """How many runs a comparison makes and how they go through the queue."""

    parts = (
        f"{wording.counted(len(plan.searches), 'search', 'searches')} with {wording.counted(plan.n_seeds, 'seed')} each"
    )
    if plan.is_counted:
        parts += ", and an exact count"
    queue = f"{max_at_work()} work at a time; the others wait and start by themselves, also when nobody looks."
    return f"**{wording.counted(plan.n_runs, 'run')}**: {parts}. {queue}"


def strategies_of(technique: type[Any]) -> tuple[str, ...]:
    """The values of a technique's strategy; empty when it has none."""
    return next((info.choices for info in settings_of(technique) if info.name == STRATEGY), ())


def expected_seconds(evaluations: float, rows_per_second: float | None) -> float | None:
    """How long that many rows take with this model; ``None`` when its speed is not known."""
    if not rows_per_second or rows_per_second <= 0:
        return None
    return _SECONDS_TO_OPEN + evaluations / rows_per_second


def expected_text(plan: Plan, domain: Domain, rows_per_second: float | None) -> str:
    """How long a plan will take, in words; nothing when the model's speed is not known.

    Args:
        domain: of the review.
        rows_per_second: what the model was measured to evaluate.
    """

    limit = plan.budget.max_seconds
    work = plan.budget.max_evaluations
    each = expected_seconds(work, rows_per_second) if work else limit
    estimate = expected_seconds(plan.n_samples * domain.n_variants, rows_per_second)
    if each is None or estimate is None:
        return "" if limit is None else f"At most {wording.duration(limit)} a search."
    search = min(each, limit) if limit else each
    total = len(plan.searches) * plan.n_seeds * search + len(plan.distributions) * estimate
    if plan.is_counted:
        total += expected_seconds(n_rows_to_count(domain), rows_per_second) or 0.0
    at_once = min(max_at_work(), max(1, plan.n_runs))
    about = "All of it takes about" if plan.n_runs > 1 else "About"
    return f"{about} {wording.duration(max(1.0, total / at_once))} with this model."


def cluster_text(plan: Plan, rows_per_second: float | None) -> str:
    """What a cluster would make of a plan, in words; nothing where there is none, or the speed is not known.

    Args:
        plan, rows_per_second: as in ``expected_text``.
    """
    address = cluster_address()
    work = plan.budget.max_evaluations
    if not address or not work or not rows_per_second:
        return ""
    seconds = work / rows_per_second
    n_alike = len(plan.searches) * plan.n_seeds
    if seconds < _WORTH_SHARING_SECONDS:
        return (
            f"The cluster would not help: a search takes {wording.duration(max(1.0, seconds))} here, and about "
            "as long to begin there."
        )
    if rows_per_second > _FAST_ROWS_PER_SECOND:
        return "The cluster would hardly help: this model decides rows about as fast as they can be sent."
    n_processes = [int(address)] if address.isdigit() else [2, 20]
    times = (
        f"{wording.duration(_SECONDS_TO_OPEN_THERE + _OVERHEAD * n_alike * seconds / n)} "
        f"on {wording.counted(n, 'process', 'processes')}"
        for n in n_processes
    )
    return f"With the cluster about {' or '.join(times)}."


def estimate_seconds(domain: Domain, rows_per_second: float | None) -> float | None:
    """How long an estimate of ``N_DRAWN`` people takes; ``None`` when the model's speed is not known."""
    return expected_seconds(N_DRAWN * domain.n_variants, rows_per_second)


def whole_data(review: Review, searches: Sequence[PlannedRun]) -> Budget | None:
    """What testing every person of the data within the scope takes, where a scan of the data is all that is planned."""
    if review.schema is None or review.scope is None or [search.technique for search in searches] != [DATA_SCAN]:
        return None
    domain = Domain(review.schema, review.scope)
    rows = dataset.dataset_of(review).rows
    n_inside = kept(
        "people_inside",
        (review.data_id, review.schema, review.scope),
        lambda: int(np.count_nonzero(domain.contains(rows))),
    )
    return scan_budget(n_inside, domain)


def proof_text(max_seconds: float) -> str:
    """How long a certification works and what it gives meanwhile, in words."""
    return (
        f"At most {_span(max_seconds)}; it ends sooner when everything is decided. What is certified and falsified "
        "only grows, so it can be stopped at any time, and a longer run proves more."
    )


def budget_text(budget: Budget) -> str:
    """The limits of a budget in words."""
    parts = []
    if budget.max_evaluations:
        parts.append(f"{wording.counted(budget.max_evaluations, 'row')} evaluated")
    if budget.max_seconds:
        parts.append(_span(budget.max_seconds))
    if budget.max_found:
        parts.append(f"{wording.count(budget.max_found)} found")
    return " or ".join(parts) + (", whichever comes first" if len(parts) > 1 else "")


def _span(seconds: float) -> str:
    """A limit in words, without an empty ``0 s`` behind whole minutes and hours."""
    if seconds % 3600 == 0:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 60:.0f} min" if seconds % 60 == 0 else wording.duration(seconds)


def make_configs(review: Review, plan: Plan) -> list[RunConfig]:
    """The runs of a plan in the order of the queue: every search with the first seed, with the next; estimates; the
    count.

    More than one share a comparison.

    Raises:
        SettingError: nothing was chosen, or a setting is out of its range.
    """
    if review.schema is None or review.scope is None or review.data_id is None or review.model_id is None:
        raise SettingError("A run needs a data set, a model and a scope. Complete the steps before this one.")
    if not plan.n_runs:
        raise SettingError("Choose at least one technique, or an estimate.")
    for search in plan.searches:
        TECHNIQUES[search.technique].from_json(search.settings)
    same: dict[str, Any] = {
        "data_id": review.data_id,
        "model_id": review.model_id,
        "schema": review.schema,
        "scope": review.scope,
        "comparison": secrets.token_hex(6) if plan.n_runs > 1 else None,
    }
    domain = Domain(review.schema, review.scope)
    return [*_searches(plan, same), *_estimates(plan, same, domain), *_count(plan, same, domain)]


def _count(plan: Plan, same: Mapping[str, Any], domain: Domain) -> list[RunConfig]:
    if not plan.is_counted:
        return []
    whole = Budget(int(n_rows_to_count(domain)))
    return [kinds.COUNT.config(budget=whole, seed=plan.seed, **same)]


def _searches(plan: Plan, same: Mapping[str, Any]) -> list[RunConfig]:
    """Seed by seed, so that every technique has something to show before the last run has ended."""
    return [
        kinds.SEARCH.config(
            technique=search.technique,
            settings=dict(search.settings),
            budget=plan.budget,
            seed=seed,
            # the scan's people are the data, all of them, and not a place to start from
            max_starts=None if search.technique == DATA_SCAN else plan.max_starts,
            **same,
        )
        for seed in range(plan.seed, plan.seed + plan.n_seeds)
        for search in plan.searches
    ]


def _estimates(plan: Plan, same: Mapping[str, Any], domain: Domain) -> list[RunConfig]:
    draws = {"budget": Budget(plan.n_samples * domain.n_variants), "n_samples": plan.n_samples, "seed": plan.seed}
    return [kinds.ESTIMATE.config(distribution=name, **draws, **same) for name in plan.distributions]
