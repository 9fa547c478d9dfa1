"""People who were found with one model and not with the other: fixed, and new."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.errors import RunError
from fairness_engine.findings.evidence import Evidence
from fairness_engine.findings.finding import Figure, Level
from fairness_engine.findings.people import is_scan
from fairness_engine.findings.two_reviews.change import Better, Change, Row, Topic
from fairness_engine.findings.two_reviews.lining_up import Both, name_of
from fairness_engine.intervals import share_interval
from fairness_engine.oracle.domain import Domain
from fairness_engine.runs.pair_fates import Fates, pair_fates
from fairness_engine.store.records import Review
from fairness_engine.store.store import RunStore
from fairness_engine.telling.wording import count

if TYPE_CHECKING:
    from fairness_engine.model_process.pool import Evaluator


@dataclass(frozen=True)
class PeopleFound:
    """Two searches of one question.

    Args:
        what: the search.
        run_ids: of the first review and of the second.
        n_found, n_tried: of each.
        is_everybody: both scanned the same data to its end, so that who was not found is not discriminated against.
        taken: the columns that tell people apart, where both models are known to take the same; else ``None``.
        why_unknown: why nobody can be told fixed or new; empty where they can.
    """

    what: str
    run_ids: tuple[str, str]
    n_found: tuple[int, int]
    n_tried: tuple[int, int]
    is_everybody: bool
    taken: tuple[str, ...] | None = None
    why_unknown: str = ""

    @property
    def is_known(self) -> bool:
        """Whether the runs themselves say who is fixed and who is new, without asking a model."""
        return self.is_everybody and self.taken is not None and not self.why_unknown

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def people_found(reviews: tuple[Review, Review], both: Both) -> PeopleFound:
    """What two searches of one question found."""
    runs = both[0].run, both[1].run
    is_everybody = all(is_scan(one) and _is_whole(one) for one in both)
    taken = _taken(reviews, both)
    configs = runs[0].config, runs[1].config
    is_askable = (configs[0].schema, configs[0].scope) == (configs[1].schema, configs[1].scope)
    why = ""
    if not is_askable and not (is_everybody and taken is not None):
        why = (
            "The two have other columns, limits or thresholds, so neither model can be asked about the other's people."
        )
    return PeopleFound(
        name_of(both[0]),
        (runs[0].id, runs[1].id),
        (runs[0].n_found, runs[1].n_found),
        (runs[0].n_tried, runs[1].n_tried),
        is_everybody,
        taken,
        why,
    )


def _is_whole(one: Evidence) -> bool:
    scan = one.results.scan
    return scan is not None and scan.n_tested == scan.n_people and not scan.n_not_drawn


def _taken(reviews: tuple[Review, Review], both: Both) -> tuple[str, ...] | None:
    """A person is told by the columns that a model takes, which its fit card says."""
    cards = [(review.fit or {}).get("not_taken") for review in reviews]
    if cards[0] is None or cards[1] is None or set(cards[0]) != set(cards[1]):
        return None
    return tuple(name for name in both[0].run.config.schema.names if name not in cards[0])


def fates_of(store: RunStore, people: PeopleFound, evaluator: Evaluator | None) -> Fates:
    """Who is fixed, still there and new.

    Two scans of everybody are compared person by person. Otherwise each model is asked about the other one's people:
    two searches never find the same.

    Args:
        store: has both runs.
        people: of two searches.
        evaluator: decides; may be ``None`` where ``people.is_known``.

    Raises:
        RunError: nobody can be told fixed or new.
        InputError: data or a model cannot be used.
        ProcessError: a model's process ended, or gave no answer in time.
    """
    if people.is_known:
        return scan_fates(store, people.run_ids, people.taken)
    if people.why_unknown:
        raise RunError(people.why_unknown)
    if evaluator is None:
        raise RunError("Who is fixed and who is new must be asked of both models, got none to ask. Open the app.")
    return pair_fates(store, evaluator, *people.run_ids)


def scan_row(store: RunStore, both: Both, people: PeopleFound) -> Row | None:
    """The share of the data's different people who are discriminated against, with the paired interval of its change:
    they stand for people like them. ``None`` where the runs do not say who changed.
    """
    n = people.n_tried[0]
    if not people.is_known or not n or people.n_tried[1] != n:
        return None
    fates = scan_fates(store, people.run_ids, people.taken)
    figures = [Figure(n_found / n, *share_interval(n_found, n)) for n_found in people.n_found]
    change = Change.paired(fates.n_new, fates.n_fixed, n)
    return Row(
        Topic.SHARE,
        Level.ESTIMATED,
        "Share of the data's different people, each tested",
        figures[0],
        figures[1],
        change,
        change.verdict(Better.LOWER),
        n,
        n,
        people.run_ids,
        f"When {both[0].nothing_but} changes. {count(fates.n_fixed)} are fixed, {count(fates.n_new)} are new. The "
        "intervals are for people like them.",
    )


def scan_fates(store: RunStore, run_ids: tuple[str, str], taken: Collection[str] | None = None) -> Fates:
    """The same of two scans of the same people that came to their end, from what they stored.

    Args:
        store, run_ids: of the first and of the second.
        taken: columns that the models take; ``None`` for all.
    """
    config = store.run(run_ids[0]).config
    domain = Domain(config.schema, config.scope, taken)
    first, second = (identities(domain, store.pairs(run_id).first) for run_id in run_ids)
    return Fates(_are_among(first, second), ~_are_among(second, first))


def identities(domain: Domain, rows: FloatArray) -> FloatArray:
    """What tells individuals apart ``(n_rows, n_free)``: equal for rows with equal ``Domain.keys``, and for no others.

    They are the digits that keys are made of, without what compiles the keys: pages have none of it.
    """
    inverse, _, _ = domain.key_weights
    digits = (domain.roles(rows)[:, domain.free] - domain.low[domain.free]) * inverse
    return np.asarray(np.floor(digits + 0.5), dtype=np.float64)


def _are_among(some: FloatArray, others: FloatArray) -> BoolArray:
    """Which rows ``(n, n_columns)`` are among others ``(n,)``."""
    known = {row.tobytes() for row in others + 0.0}  # one zero, not two
    return np.array([row.tobytes() in known for row in some + 0.0], dtype=bool)
