"""From what a reader chose on the Plan page to the runs that are started; no widgets here."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairness_engine.budget import Budget
from fairness_engine.domain import Domain
from fairness_engine.errors import SettingError
from fairness_engine.estimate import Distribution
from fairness_engine.runs.config import RunConfig, RunKind
from fairness_engine.runs.records import Review
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.search.technique import make_technique, settings_of
from pages.components import wording

STRATEGY = "strategy"
"""The setting of which several values may run side by side."""
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
    """A technique as the page offers it; ``reason`` says why it is not possible here."""

    technique: type[Any]
    reason: str | None = None


@dataclass(frozen=True)
class PlannedRun:
    """One search to start: a technique and the settings that differ from its defaults."""

    technique: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Everything that Start needs.

    Args:
        searches: one run each, all with the same budget and seed.
        budget: of each search.
        seed: of each run.
        distributions: an estimate of each, with ``n_samples`` draws.
    """

    searches: Sequence[PlannedRun]
    budget: Budget
    seed: int
    distributions: Sequence[Distribution] = ()
    n_samples: int = 20_000

    @property
    def n_runs(self) -> int:
        """Runs that will be started."""
        return len(self.searches) + len(self.distributions)


def choices(review: Review) -> list[Choice]:
    """All techniques, each with the reason when this review's model cannot be searched with it."""
    return [Choice(technique, why_not(technique, review)) for technique in TECHNIQUES.values()]


def why_not(technique: type[Any], review: Review) -> str | None:
    """Why a technique cannot work here, in one sentence; ``None`` when it can."""
    fit = review.fit or {}
    protected = review.scope.protected if review.scope else ()
    used = fit.get("uses_protected") or {}
    if protected and all(used.get(name) is False for name in protected):
        names = wording.listed(list(protected))
        return (
            f"The model does not take {names}, so a search would find nothing by construction. Look at groups instead."
        )
    output = (fit.get("output") or {}).get("kind")
    if getattr(technique, "needs_gradient", False) and output == "label":
        return "The model gives labels only, and this technique follows the slope of its scores."
    return None


def strategies_of(technique: type[Any]) -> tuple[str, ...]:
    """The values of a technique's strategy; empty when it has none."""
    return next((info.choices for info in settings_of(technique) if info.name == STRATEGY), ())


def expected_seconds(evaluations: float, rows_per_second: float | None) -> float | None:
    """How long that many rows take with this model; ``None`` when its speed is not known."""
    if not rows_per_second or rows_per_second <= 0:
        return None
    return _SECONDS_TO_OPEN + evaluations / rows_per_second


def expected_text(plan: Plan, n_variants: int, rows_per_second: float | None) -> str:
    """How long a plan will take, in words; nothing when the model's speed is not known."""
    limit = plan.budget.max_seconds
    work = plan.budget.max_evaluations
    each = expected_seconds(work, rows_per_second) if work else limit
    estimate = expected_seconds(plan.n_samples * n_variants, rows_per_second)
    if each is None or estimate is None:
        return "" if limit is None else f"At most {wording.duration(limit)} a search."
    search = min(each, limit) if limit else each
    from fairness_engine.runs.launch import max_at_work

    at_once = min(max_at_work(), max(1, plan.n_runs))
    total = len(plan.searches) * search + len(plan.distributions) * estimate
    return f"About {wording.duration(max(1.0, total / at_once))} with this model."


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
    """The runs of a plan; more than one share a comparison.

    Raises:
        SettingError: nothing was chosen, or a setting is out of its range.
    """
    if review.schema is None or review.scope is None or review.data_id is None or review.model_id is None:
        raise SettingError("A run needs a data set, a model and a scope. Complete the steps before this one.")
    if not plan.n_runs:
        raise SettingError("Choose at least one technique, or an estimate.")
    same: dict[str, Any] = {
        "data_id": review.data_id,
        "model_id": review.model_id,
        "schema": review.schema,
        "scope": review.scope,
        "seed": plan.seed,
        "comparison": secrets.token_hex(6) if plan.n_runs > 1 else None,
    }
    for search in plan.searches:
        make_technique(TECHNIQUES[search.technique], search.settings)
    searches = [
        RunConfig(
            RunKind.SEARCH, technique=search.technique, settings=dict(search.settings), budget=plan.budget, **same
        )
        for search in plan.searches
    ]
    whole = Budget(plan.n_samples * Domain(review.schema, review.scope).n_variants)
    estimates = [
        RunConfig(RunKind.ESTIMATE, budget=whole, distribution=distribution, n_samples=plan.n_samples, **same)
        for distribution in plan.distributions
    ]
    return searches + estimates
