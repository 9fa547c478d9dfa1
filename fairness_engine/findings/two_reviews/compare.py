"""Two reviews side by side: last month's model and this one's, two candidates, or a model before and after a
retraining.

Only runs that ask the same question are put together; of every other it is said why not.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from fairness_engine.findings.evidence import sort_runs
from fairness_engine.findings.two_reviews import figures, groups, people
from fairness_engine.findings.two_reviews.change import NotCompared, Row, Topic
from fairness_engine.findings.two_reviews.lining_up import LinedUp, lined_up
from fairness_engine.findings.two_reviews.people import PeopleFound
from fairness_engine.runs.kinds import CERTIFY, COUNT, ESTIMATE, FIGURES, RULES, SEARCH
from fairness_engine.store.records import Review
from fairness_engine.store.store import RunStore

_ORDER = list(Topic)


@dataclass(frozen=True)
class TwoReviews:
    """What two reviews say of each other.

    Args:
        rows: one a figure that both have, by topic.
        people: searches that both have.
        missing: evidence that one of them lacks, or that asks something else.
        notes: what holds of all of it, a sentence each.
        retraining_id: of the retraining that made the second model of the first; empty where there is none.
    """

    rows: tuple[Row, ...]
    people: tuple[PeopleFound, ...]
    missing: tuple[NotCompared, ...]
    notes: tuple[str, ...]
    retraining_id: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that both have."""
        return not (self.rows or self.people)

    def of(self, *topics: Topic) -> list[Row]:
        """The lines of some topics."""
        return [row for row in self.rows if row.topic in topics]

    def to_json(self) -> dict[str, Any]:
        """Plain lists, mappings, numbers and text."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "people": [found.to_json() for found in self.people],
            "missing": [asdict(one) for one in self.missing],
            "notes": list(self.notes),
            "retraining": self.retraining_id or None,
        }


def with_model(review: Review, model_id: str) -> Review:
    """A review as it was, or would be, with another model of it: what its runs on that model say is then current."""
    return review if model_id == review.model_id else replace(review, model_id=model_id, fit=None)


def compare_reviews(store: RunStore, before: Review, after: Review) -> TwoReviews:
    """Line up what both reviews have.

    Args:
        store: has both.
        before, after: reviews, of one owner; the same one with two of its models is two as well (``with_model``).
    """
    reviews = before, after
    known = sort_runs(store, before), sort_runs(store, after)
    kinds = (SEARCH, ESTIMATE, COUNT, CERTIFY, RULES, FIGURES)
    found: dict[str, LinedUp] = {kind.name: lined_up(*known, kind) for kind in kinds}
    both = {name: lined.both for name, lined in found.items()}
    group_rows, no_groups = groups.figure_rows(both[FIGURES.name])
    rule_rows, no_rules = groups.rule_rows(store, both[RULES.name])
    retraining_id = figures.retraining_of(store, before, after)
    found_people = [people.people_found(reviews, each) for each in both[SEARCH.name]]
    scans = [people.scan_row(store, *each) for each in zip(both[SEARCH.name], found_people, strict=True)]
    accuracy = figures.accuracy_row(reviews, both[FIGURES.name])
    rows = [
        *(figures.retraining_rows(store, retraining_id) if retraining_id else []),
        *([accuracy] if accuracy is not None else []),
        *(row for row in scans if row is not None),
        *figures.share_rows(both[ESTIMATE.name], both[COUNT.name]),
        *figures.proof_rows(both[CERTIFY.name]),
        *group_rows,
        *rule_rows,
    ]
    rows.sort(key=lambda row: _ORDER.index(row.topic))
    missing = [each for lined in found.values() for each in lined.missing]
    return TwoReviews(
        tuple(rows),
        tuple(sorted(found_people, key=lambda each: not each.is_everybody)),
        (*missing, *no_groups, *no_rules),
        tuple(_notes(store, before, after, retraining_id)),
        retraining_id,
    )


def _notes(store: RunStore, before: Review, after: Review, retraining_id: str) -> list[str]:
    notes = []
    if before.data_id != after.data_id:
        notes.append(
            "The two are of different data: what differs may come of the people as well as of the models, and nobody "
            "can be told to be the same person."
        )
    if before.model_id == after.model_id:
        notes.append("Both have the same model." if before.model_id else "Neither has a model.")
    scopes = before.scope, after.scope
    if scopes[0] is not None and scopes[1] is not None and scopes[0].threshold != scopes[1].threshold:
        names = ["the model's own" if scope.threshold is None else f"{scope.threshold:g}" for scope in scopes if scope]
        notes.append(f"They decide at different thresholds: {names[0]} and {names[1]}.")
    for review, which in ((before, "first"), (after, "second")):
        if not any(not run.is_active for run in store.runs(review.id)):
            notes.append(f"The {which} review has no run that has ended yet. Look at it first.")
    if retraining_id:
        notes.append("The second model is a retraining of the first: its figures stand first, as Retrain shows them.")
    return notes
