"""What follows a retraining: both models are searched, certified and scored by rule sets, alike, on draws that no round
has seen.

The runs are ordinary ones: they wait in the queue like any other, and each is shown, verified and cancelled by itself.
Their text ``comparison`` is the retraining's id. A run on the original that was asked for before, with an equal
configuration, is used again, so that several strategies side by side share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairness_engine.codec import encode
from fairness_engine.errors import EvenhandError
from fairness_engine.oracle.budget import Budget
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.runs import kinds
from fairness_engine.runs.kinds import FollowUpRuns, results_of
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.run_config import RunConfig, installed_versions
from fairness_engine.store.store import RunStore

EVALUATIONS_A_SECOND = 10_000
"""Of a search, for each second that a certification gets: fewer people are asked about where less is asked for
altogether.
"""
_TIMES = 3
"""A search and the rule sets may take so many times the seconds of a certification; both mostly end by themselves."""
_UNLIMITED = 2**62
_SEED_STREAM = 6
"""The stream of the retraining's seed that seeds what follows it."""
_TECHNIQUES = ("directed", "aequitas", "random")
"""In order of preference; all of them work without a gradient, so that a surrogate of another kind is searched
alike.
"""
_LOST = (RunState.CANCELLED, RunState.CRASHED, RunState.FAILED)

NOT_OF_TEXTS = (
    "Searches and proofs are about rows of a table, and the model takes texts: its terms are compared instead."
)

WhyNot = Callable[[RunConfig], str | None]
"""A certification to a sentence why it cannot be made; ``None`` when it can."""


def start_measuring(store: RunStore, run_id: str, why_not_certifiable: WhyNot) -> FollowUpRuns | None:
    """Put the runs that measure both models of a retraining in the queue, and note them as its result ``measured``.

    Args:
        store: where the retraining is; nothing of it is changed but the result.
        run_id: of the retraining.
        why_not_certifiable: asked for both models.

    Returns:
        the result; ``None`` when no model was made, or none is to be measured.

    Raises:
        RunError: there is no such run.
    """
    run = store.run(run_id)
    version = store.version(run_id)
    settings = kinds.RETRAIN.settings(run.config)
    if version is None or settings.measure_seconds <= 0:
        return None
    technique = "" if run.config.text_column else other_technique(_used(store, run))
    followed = FollowUpRuns({}, {}, {}, technique, fresh_seed(run.config.seed))
    for name, config in _configs(run, settings, technique, followed.seed, _terms(store, settings)).items():
        sides = {"before": config, "after": replace(config, model_id=version.model_id)}
        reasons = {side: _why_not(one, why_not_certifiable) for side, one in sides.items()}
        for side, one in sides.items():
            followed.of(side)[name] = _run_of(store, run, one) if reasons[side] is None else None
        followed.reasons[name] = _said(reasons)
    for name in ("search", "certify") if run.config.text_column else ():
        followed.reasons[name] = NOT_OF_TEXTS
        followed.before[name] = None
        followed.after[name] = None
    store.set_result(run_id, "measured", encode(followed))
    return followed


def other_technique(used: set[str]) -> str:
    """The first technique that did not make the cases; data scan is none of them, since it meets no new people."""
    return next((name for name in _TECHNIQUES if name not in used), _TECHNIQUES[-1])


def fresh_seed(seed: int) -> int:
    """A seed of its own for what measures, derived from a retraining's: never the same one, below 2^31."""
    streams = np.random.SeedSequence(seed, spawn_key=(_SEED_STREAM,)).generate_state(2)
    first, second = (int(state) >> 1 for state in streams)
    return first if first != seed else second ^ 1


def _used(store: RunStore, run: RunRecord) -> set[str]:
    """Names of the techniques that the cases may be from."""
    settings = kinds.RETRAIN.settings(run.config)
    retrained = results_of(store, run.id).retrained
    picked = {store.run(cases.run_id).config.technique for cases in settings.cases}
    return {
        retrained.technique if retrained else "",
        settings.technique,
        STRATEGIES[settings.strategy].technique,
        *picked,
    }


def _terms(store: RunStore, settings: RetrainSettings) -> Mapping[str, Any]:
    """The terms that a retraining swaps: its own, else those of the run of the rule set that was picked; empty for the
    project's own list.
    """
    terms: Mapping[str, Any] = settings.to_json()["terms"]
    if terms or settings.rule_set is None:
        return terms
    picked: Mapping[str, Any] = kinds.RULES.settings(store.run(settings.rule_set.run_id).config).to_json()["terms"]
    return picked


def _configs(
    run: RunRecord, settings: RetrainSettings, technique: str, seed: int, terms: Mapping[str, Any]
) -> dict[str, RunConfig]:
    """What is asked of the original; of the new model the same."""
    seconds = settings.measure_seconds
    same = (run.config.data_id, run.config.model_id, run.config.schema, run.config.scope)
    own: dict[str, Any] = {"seed": seed, "comparison": run.id, "versions": installed_versions()}
    own["data_query"] = run.config.data_query
    longer = _TIMES * seconds
    budget = Budget(_UNLIMITED, longer)
    column = run.config.text_column
    if column:
        asked = {"support": settings.support, "text_column": column, "terms": terms}
        return {"rules": kinds.RULES.config(*same, settings=asked, budget=budget, **own)}
    return {
        "search": kinds.SEARCH.config(
            *same,
            technique=technique,
            budget=Budget(round(EVALUATIONS_A_SECOND * seconds), longer),
            **own,
        ),
        "certify": kinds.CERTIFY.config(*same, budget=Budget(None, seconds), **own),
        "rules": kinds.RULES.config(*same, budget=budget, **own),
    }


def _run_of(store: RunStore, run: RunRecord, config: RunConfig) -> str:
    """A run with this configuration: one that is there already, whoever asked for it, else a new one in the queue."""
    wanted = replace(config, comparison=None)
    for other in store.runs(run.review_id):
        is_lost = other.state in _LOST or other.is_cancel_requested
        if not is_lost and other.config.kind == config.kind and replace(other.config, comparison=None) == wanted:
            return other.id
    return store.create_run(config, run.review_id, run.person)


def _why_not(config: RunConfig, why_not_certifiable: WhyNot) -> str | None:
    """Why a run of this configuration is left out, in a sentence; ``None`` when it is not."""
    if not kinds.CERTIFY.has(config):
        return None
    try:
        return why_not_certifiable(config)
    except EvenhandError as error:
        return str(error)


def _said(reasons: Mapping[str, str | None]) -> str:
    """One text of both models' reasons; empty when there are none."""
    given = list(_distinct(reason for reason in reasons.values() if reason is not None))
    if len(given) == 1 and None in reasons.values():
        which = "original" if reasons["before"] is not None else "new model"
        return f"The {which} is left out: {given[0]}"
    return " ".join(given)


def _distinct(texts: Iterator[str]) -> Iterator[str]:
    yield from dict.fromkeys(texts)
