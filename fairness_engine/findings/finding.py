"""What a review found: cards, each with its level of evidence, and what was tried and found nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from fairness_engine.store.records import RunRecord

MAX_CARDS = 15
"""A person who reads the top of the page in a minute reads no more."""
MAX_KEY = 300
"""Characters of ``Finding.key``, as many as the store keeps."""


class Level(StrEnum):
    """How something is known. Levels are never blended: a card has one."""

    FOUND = "found"
    """People were found, and each was decided again."""
    ESTIMATED = "estimated"
    """A share with an interval."""
    RULE = "rule"
    """A group, with an interval that holds for all groups tried together."""
    PROVED = "proved"
    """True of every individual of a region, or of everybody."""


MEANINGS = {
    Level.FOUND: "These people exist in the space of the model: each pair was passed through the model again.",
    Level.ESTIMATED: "A share of a sample; the interval holds with 95 % confidence.",
    Level.RULE: "A group against everybody else; the intervals of all groups that were tried hold together.",
    Level.PROVED: "Decided for every single individual it speaks of, not for a sample.",
}


class Place(StrEnum):
    """Where the evidence of a card is shown."""

    PAIRS = "pairs"
    GROUPS = "groups"
    FIGURES = "figures"
    CERTIFICATION = "certification"
    RUN = "run"
    RETRAIN = "retrain"


OF_ANOTHER_SCOPE = "Of another scope"
"""How a sentence begins that is of another scope than the review's."""


@dataclass(frozen=True)
class Action:
    """What shows the evidence.

    Args:
        place: the page.
        run_id: of its run.
        number: of a pair or a rule set in the run, from 1; 0 for none.
        text: of the link.
        attributes, source: of the table of group figures, and whose decisions it counts.
    """

    place: Place
    run_id: str
    text: str
    number: int = 0
    attributes: tuple[str, ...] = ()
    source: str = ""


class Subject(StrEnum):
    """What a card is about; cards come in this order."""

    WHOM = "whom"
    GROUP = "group"
    PEOPLE = "people"
    SHARE = "share"
    PROOF = "proof"
    FIGURES = "figures"
    PROXY = "proxy"
    RETRAINED = "retrained"


@dataclass(frozen=True)
class Figure:
    """A number with its interval, 0 to 1 each; an exact one has itself at both ends."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Finding:
    """One card.

    Args:
        key: what it is about, whatever the run: decisions and comments belong to it.
        subject, level: see there.
        title: in a few words.
        sentence: all of it, with counts, interval and population.
        facts: further sentences: severity, plausibility, what holds of it.
        brief: what the answer says of it beside its title or its sentence; begins small, and ends with a full stop.
        n: people or rows that it rests on.
        population: whom it speaks of.
        figure: its share or difference; ``None`` where it has none.
        weight: the part of its population that is affected, 0 to 1; more come first among cards of one subject.
        run_ids: the evidence, the main one first.
        action: what shows it.
    """

    key: str
    subject: Subject
    level: Level
    title: str
    sentence: str
    n: int
    population: str
    run_ids: tuple[str, ...]
    action: Action
    figure: Figure | None = None
    facts: tuple[str, ...] = ()
    weight: float = 0.0
    brief: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", self.key[:MAX_KEY])  # the names of many columns may be longer


@dataclass(frozen=True)
class Tried:
    """What was tried and found nothing: how much, what that shows, and what it does not.

    Args:
        title: what was tried.
        said: how much.
        shows, does_not_show: a sentence each.
        run_ids: the evidence.
        level: of what it shows; ``None`` where it shows nothing.
        is_of_people: it looked for people who are decided otherwise, not at groups or columns.
    """

    title: str
    said: str
    shows: str
    does_not_show: str
    run_ids: tuple[str, ...]
    level: Level | None = None
    is_of_people: bool = False


class Evidence(StrEnum):
    """What a whole assessment looks at."""

    SCAN = "scan"
    SEARCH = "search"
    SHARE = "share"
    RULES = "rules"
    PROOF = "proof"
    FIGURES = "figures"
    PROXIES = "proxies"


@dataclass(frozen=True)
class Findings:
    """All that a review's runs say.

    Args:
        cards: at most ``MAX_CARDS``, in order.
        n_more: cards that did not fit.
        tried: what found nothing.
        missing: what nobody has looked at yet.
        active: runs that are at work.
        broken: runs that failed or crashed, whose result is missing here.
        earlier: runs of another model, other data or columns than the review's, of which nothing is said here.
    """

    cards: tuple[Finding, ...] = ()
    n_more: int = 0
    tried: tuple[Tried, ...] = ()
    missing: tuple[Evidence, ...] = ()
    active: tuple[RunRecord, ...] = ()
    broken: tuple[RunRecord, ...] = ()
    earlier: tuple[RunRecord, ...] = field(default_factory=tuple)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was looked at."""
        return not (self.cards or self.tried or self.active or self.broken)

    def card(self, key: str) -> Finding | None:
        """The card that is about something."""
        return next((card for card in self.cards if card.key == key), None)


LIMITS = (
    "A search, a sample or a rule shows what it found. What it did not find may still be there.",
    "A proof speaks of the domain of the review: the ranges of the columns, the protected values that are compared, "
    "and the threshold.",
    "Pairs differ in protected attributes only. Other columns can stand for them, and groups can fare differently "
    "without any such pair.",
    "Nothing here says whether a difference is lawful, or whether a model should be used.",
)
"""What holds of every card."""
