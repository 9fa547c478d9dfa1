"""What runs left, typed; see ``fairness_engine.runs.kinds``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairness_engine.runs import kinds
from pages.shared.app import session
from pages.shared.app.kept import kept

if TYPE_CHECKING:
    from fairness_engine.runs.kinds import Results
    from fairness_engine.store.records import RunRecord


def results_of(run: RunRecord) -> Results:
    """The results of a run, read again when it has something new; what is added after its end is not seen."""
    stand = (run.id, run.state.value, run.evaluations, run.seconds)
    return kept(f"results_{run.id}", stand, lambda: kinds.results_of(session.store(), run.id))


def results_now(run_id: str) -> Results:
    """The same as the store has them, asked once a rerun."""
    return session.once(("results", run_id), lambda: kinds.results_of(session.store(), run_id))
