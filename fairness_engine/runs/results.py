"""What a run leaves beside pairs, trees and rule sets: results by name, each of a type.

They come from the model's process, which may lie: the worker stores only what can be read as its type, and whoever
reads a stored result gets its attributes. Fields that older versions did not write have defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, get_type_hints

from msgspec import Meta

from fairness_engine.certification.results import Certification, Proved
from fairness_engine.codec import Amount, Count, Proportion, Text, Word, decode, encode
from fairness_engine.errors import RunError
from fairness_engine.groups.results import RuleSummary, Sentences
from fairness_engine.measures.results import Discovery, Diversity, ExactCount, PlausibleCounts, Share
from fairness_engine.models.fit.reading_state import Reading
from fairness_engine.retraining.results import Card, Changes, Measured, Retrained, Training, WorstRuleSet
from fairness_engine.search.results import ScanCounts, Tried
from fairness_engine.store.store import RunStore

MAX_GROUPS = 10_000


@dataclass(frozen=True)
class Notes:
    """Sentences that a reader of a run's figures needs."""

    notes: list[str]


@dataclass(frozen=True)
class EstimatedShare(Share):
    """Of an estimate: what was drawn is ``uniform`` over the domain, the ``data`` rows, or ``perturbed`` ones."""

    distribution: Word = ""


@dataclass(frozen=True)
class GroupShares:
    """THEMIS's group score: largest less smallest favourable share over the combinations of protected values.

    Args:
        score: the difference.
        shares, counts, groups: of each combination its favourable share, its draws and its name.
    """

    score: Amount
    shares: list[Amount]
    counts: list[Count]
    groups: Annotated[list[str], Meta(max_length=MAX_GROUPS)]


@dataclass(frozen=True)
class FollowUpRuns:
    """The runs that measure both models of a retraining.

    Args:
        before, after: ids of the runs ``search``, ``certify`` and ``rules``; ``None`` where there is none.
        reasons: why not, by the same names.
        technique, seed: of them.
    """

    before: dict[str, str | None] = field(default_factory=dict)
    after: dict[str, str | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    technique: str = ""
    seed: int = 0

    def of(self, side: str) -> dict[str, str | None]:
        """The runs on the model ``before`` or ``after``."""
        return self.before if side == "before" else self.after


@dataclass(frozen=True)
class Results:
    """All that runs leave, by name; ``None`` for what this one did not.

    Args:
        split: individuals tried and found, by where they came from.
        share_curve: draws, share and the ends of its interval.
        trace: seconds, shares certified, falsified and undecided, and boxes.
        before, control, after: of a retraining, on the test rows.
        measured: the runs that followed it.
    """

    reading: Reading | None = None
    notes: Notes = field(default_factory=lambda: Notes([]))
    plausibility: PlausibleCounts | None = None
    discovery: Discovery | None = None
    diversity: Diversity | None = None
    split: dict[Text, Tried] | None = None
    scan: ScanCounts | None = None
    share: EstimatedShare | None = None
    share_curve: list[tuple[Count, Proportion, Proportion, Proportion]] = field(default_factory=list)
    group_score: GroupShares | None = None
    count: ExactCount | None = None
    proved: Proved | None = None
    trace: list[tuple[Amount, Amount, Amount, Amount, Count]] = field(default_factory=list)
    certification: Certification | None = None
    rules: RuleSummary | None = None
    sentences: Sentences | None = None
    before: Measured | None = None
    training: Training | None = None
    control: Measured | None = None
    after: Measured | None = None
    changes: Changes | None = None
    worst_rule_set: WorstRuleSet | None = None
    retrained: Retrained | None = None
    card: Card | None = None
    measured: FollowUpRuns | None = None


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Results, include_extras=True)


def checked(name: str, content: dict[str, Any]) -> dict[str, Any]:
    """A result as it is to be stored: with what its type knows, and nothing else.

    Raises:
        ValueError: it cannot be.
    """
    plain: dict[str, Any] = encode(decode(_types()[name], content))
    return plain


def of_stored(stored: dict[str, Any]) -> Results:
    """What ``RunStore.results`` holds, typed.

    Raises:
        RunError: a result is damaged.
    """
    values = {}
    for name, content in stored.items():
        if name in _types():
            try:
                values[name] = decode(_types()[name], content)
            except ValueError as error:
                raise RunError(
                    f"The result '{name}' of this run cannot be read: {error}. Verify the run, or run it again."
                ) from None
    return Results(**values)


def results_of(store: RunStore, run_id: str) -> Results:
    """What a run has left so far.

    Raises:
        RunError: a result is damaged.
    """
    return of_stored(store.results(run_id))
