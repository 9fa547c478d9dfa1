"""From what a reader wants of groups to a run: its scope, its settings, what it costs; no widgets here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairness_engine.budget import Budget
from fairness_engine.domain import Ranges, Scope
from fairness_engine.errors import SettingError
from fairness_engine.rules.pool import most_samples, takes_everything
from fairness_engine.rules.settings import RuleSettings
from pages.components import outcome_source, state, wording

if TYPE_CHECKING:
    from fairness_engine.runs.config import RunConfig
    from fairness_engine.runs.records import Review

_FIT_ROWS = 20_000
"""A fit card looks at no more rows of the data."""


@dataclass(frozen=True)
class Wanted:
    """What a reader asked for; the settings are by their names in ``RuleSettings``."""

    protected: tuple[str, ...]
    settings: dict[str, Any]
    max_seconds: float
    seed: int


# --- what it costs ------------------------------------------------------------------------------


def expected_text(review: Review, wanted: Wanted) -> str:
    """How many rows the model will evaluate, about, and how long that takes with it."""
    if not wanted.protected:
        return "The run goes on when you leave."
    if outcome_source.is_without_model(review):
        return "No model is asked: the rows of the data are compared as they stand. It takes a moment."
    n_rows, is_all = expected_rows(review, wanted)
    speed = (review.fit or {}).get("rows_per_second")
    takes = f", {_seconds_text(n_rows / speed)} with this model" if speed else ""
    what = "every neighbour of every row of your data" if is_all else "samples that serve all groups at once"
    about = wording.magnitude(float(f"{n_rows:.2g}"))
    return f"About {about} rows evaluated ({what}){takes}. The run goes on when you leave; stopping it keeps what is scored."


def _seconds_text(seconds: float) -> str:
    return "less than a second" if seconds < 1 else f"about {wording.duration(seconds)}"


def expected_rows(review: Review, wanted: Wanted) -> tuple[float, bool]:
    """Rows that the model will evaluate, about, and whether these are all there are.

    A pool that serves the smallest group that counts, and as much again up to three times for the highest scores; where that is no
    less than everything, everything is evaluated (``rules.pool``).
    """
    assert review.schema is not None
    ranges = Ranges(review.schema, scope_of(review, wanted))
    known = (review.fit or {}).get("n_rows") or 0
    n_all = float(known * max(1, 2 * len(ranges.movable)))
    settings = RuleSettings.from_json(wanted.settings)
    if settings.error == 0 or (known < _FIT_ROWS and takes_everything(settings, n_all)):
        return n_all, True
    return float(most_samples(settings)), False


# --- the run ------------------------------------------------------------------------------------


def scope_of(review: Review, wanted: Wanted) -> Scope:
    """The review's scope with the chosen attributes as the protected ones."""
    if review.scope is None:
        raise SettingError("Groups need a scope. Complete the review first.")
    return review.scope.with_protected(wanted.protected)


def make_config(review: Review, wanted: Wanted) -> RunConfig:
    """The run of a form.

    Raises:
        SettingError: the review has no scope yet, or a value is out of its range.
    """
    from fairness_engine.runs.config import RunConfig, RunKind

    is_ready = review.model_id is not None or outcome_source.is_without_model(review)
    if review.schema is None or review.data_id is None or not is_ready:
        raise SettingError("Groups need data, a model or a column of outcomes, and a scope. Complete the review first.")
    return RunConfig(
        RunKind.RULES,
        review.data_id,
        review.model_id or "",
        review.schema,
        scope_of(review, wanted),
        settings={**wanted.settings, **outcome_source.rule_source(review)},
        budget=Budget(None, wanted.max_seconds),
        seed=wanted.seed,
    )


def start(review: Review, config: RunConfig) -> str:
    """Start a run of rule sets; returns its id."""
    from fairness_engine.runs.launch import start_queued

    state.check_unchanged()
    store = state.store()
    run_id = store.create_run(config, review.id)
    start_queued(store)
    return run_id
