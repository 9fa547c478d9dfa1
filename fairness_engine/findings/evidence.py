"""Which runs of a review speak of what it asks now, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from fairness_engine.errors import RunError
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs.kinds import KINDS, RETRAIN, Results, RunKind, results_of
from fairness_engine.store.records import Review, RunRecord, RunState
from fairness_engine.store.store import RunStore
from fairness_engine.telling.wording import listed

_LOST = (RunState.CRASHED, RunState.FAILED)


@dataclass(frozen=True)
class Evidence:
    """A run with what it left.

    Args:
        run: of the review.
        results: typed.
    """

    run: RunRecord
    results: Results

    @property
    def scope(self) -> Scope:
        """Of the run, which may be of other attributes than the review's."""
        return self.run.config.scope

    @property
    def protected(self) -> str:
        """What was exchanged, as in a sentence: ``sex and race``."""
        names = listed(list(self.scope.protected), most=4)
        linked = [link.column for link in self.scope.links]
        return f"{names} (and {listed(linked, most=4)} with it)" if linked else names

    @property
    def has_looked(self) -> bool:
        """Whether it looked at anything: one that was cancelled before says nothing of anybody."""
        run = self.run
        found = (getattr(self.results, name) for name in KINDS[run.config.kind].findings)
        return run.state is not RunState.CANCELLED or bool(run.n_tried or run.n_found) or any(found)

    @cached_property
    def nothing_but(self) -> str:
        """``nothing but sex``; of several attributes ``nothing but sex, race or both``."""
        names = list(self.scope.protected)
        if len(names) == 1:
            return f"nothing but {self.protected}"
        return f"nothing but {', '.join(names[:-1])} or {names[-1]}"

    @property
    def outcome(self) -> str:
        """What makes two people a pair: ``another decision``, or ``scores more than 0.1 apart``."""
        gap = self.scope.score_gap
        return f"scores more than {gap:g} apart" if gap > 0 else "another decision"

    @property
    def are_otherwise(self) -> str:
        """The same of people: ``are decided otherwise``, or ``get scores more than 0.1 apart``."""
        return f"get {self.outcome}" if self.scope.score_gap > 0 else "are decided otherwise"


@dataclass(frozen=True)
class Sorted:
    """The runs of a review.

    One that was cancelled before it looked at anything is in none of them.

    Args:
        current: that ended with something to say of what the review asks now, the newest first.
        active, broken, earlier: see ``Findings``.
    """

    current: tuple[Evidence, ...]
    active: tuple[RunRecord, ...]
    broken: tuple[RunRecord, ...]
    earlier: tuple[RunRecord, ...]

    def of(self, kind: RunKind) -> list[Evidence]:  # type: ignore[type-arg]
        """Those of one kind."""
        return [one for one in self.current if kind.has(one.run.config)]


NO_RUNS = Sorted((), (), (), ())
"""Of a review that nothing was looked at yet."""


def sort_runs(store: RunStore, review: Review, runs: Iterable[RunRecord] | None = None) -> Sorted:
    """Tell a review's runs apart.

    Args:
        store, review: whose.
        runs: of it; read from the store where none are given.
    """
    current: list[Evidence] = []
    active: list[RunRecord] = []
    broken: list[RunRecord] = []
    earlier: list[RunRecord] = []
    for run in store.runs(review.id) if runs is None else runs:
        if run.is_active:
            active.append(run)
        elif run.config.kind not in KINDS or not is_current(store, review, run):
            earlier.append(run)
        elif run.state in _LOST and not run.n_found:
            broken.append(run)
        else:
            try:
                one = Evidence(run, results_of(store, run.id))
            except RunError:
                broken.append(run)
                continue
            if one.has_looked:
                current.append(one)
    return Sorted(tuple(current), tuple(active), tuple(broken), tuple(earlier))


def is_current(store: RunStore, review: Review, run: RunRecord) -> bool:
    """Whether a run is of the review's data, model, columns and way of deciding; the attributes it compares may be
    others, which its card says. A retraining is, where the review's model came of it or went into it.
    """
    config = run.config
    if config.data_id != review.data_id or review.schema is None:
        return False
    if config.schema.as_model_sees != review.schema.as_model_sees:
        return False
    if RETRAIN.has(config):
        version = store.version(run.id)
        return review.model_id in {config.model_id, version.model_id if version is not None else ""}
    if config.model_id != (review.model_id or "") and config.model_id:
        return False
    return review.scope is None or _decides(config.scope) == _decides(review.scope)


def _decides(scope: Scope) -> tuple[object, ...]:
    """What of a scope says how a model decides."""
    whole = replace(scope, limits={})
    return whole.threshold, whole.score_gap
