"""One way to write every number, date and term on every page: numbers are those of ``fairness_engine.telling``, text of
the user is escaped before it enters markdown or HTML.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from fairness_engine.telling.wording import (
    THIN_SPACE,
    bounded_share,
    count,
    counted,
    duration,
    listed,
    magnitude,
    number,
    proved_shares,
    share,
    size,
    spaced,
    when,
)

if TYPE_CHECKING:
    from fairness_engine.oracle.domain import Scope

_JOINER = "\u2060"
"""Is not seen and takes no room."""
DASH = "\N{EN DASH}"

__all__ = [
    "DASH",
    "TERMS",
    "THIN_SPACE",
    "bounded_share",
    "changing",
    "count",
    "counted",
    "duration",
    "escaped",
    "explain",
    "listed",
    "magnitude",
    "markdown",
    "number",
    "proved_shares",
    "share",
    "size",
    "spaced",
    "when",
]

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&])")
_ADDRESSES = re.compile(r"(?i)(?<=http)(?=s?://)|(?<=www)(?=\.)|(?=@)")
"""Where text becomes a link by itself, escaped or not: an address of a page or of a person."""
_SPACES = re.compile(rf"[^\S{THIN_SPACE}]+")

TERMS = {
    "protected attribute": "A property that must not decide the outcome on its own, such as sex, race or age.",
    "variant": "The same person with another combination of protected values. Everything else stays equal.",
    "pair": "Two people who differ in protected attributes only and get different decisions from the model.",
    "individual": "One combination of all values that are not protected. It is counted once, however many pairs it "
    "gives.",
    "row": "One line of the data, or of the same form: a value for every column that the model takes.",
    "person": "Whoever a row is about. Two people with the same row are two people, but one individual.",
    "group": "People who share something: all women, or men aged 40 to 59. The data, or everybody who could exist.",
    "share": "How many of all, as a percentage. It says of all whom: of the data, of the individuals, of those tried.",
    "interval": "Where the true share lies, as far as a sample tells: of a hundred such intervals, about 95 hold it.",
    "proxy": "A column that tells a protected attribute, such as hours that go with sex. A model can lean on it.",
    "decision": "What the model says in the end: one of its classes.",
    "score": "The number behind a decision. Pages show it for the favourable outcome: the higher, the better for the "
    "person.",
    "decision threshold": "Above it the model decides for class 1, the outcome that its own score is of: it is set on "
    "that score.",
    "favourable outcome": "The outcome that is good for the person, such as credit granted.",
    "gap of a pair": (
        "How far the two people's scores lie apart; of three classes and more, the two scores of one class that lie "
        "furthest apart."
    ),
    "score gap": "How far two scores must lie apart to count. At 0, two decisions must differ.",
    "evaluation": "One row passed to the model. Every row counts, also those that only look around.",
    "budget": "When a search ends: evaluations, seconds, or enough found, whichever comes first.",
    "start row": "A row of your data from which a search sets out.",
    "rule set": "A group, said by a rule on each of its attributes: men, aged 40 to 59. Near-duplicates are rule sets "
    "of nearly the same people; they are folded under the plainest of them. A score is the difference of the two "
    "shares, in points of a percent.",
    "neighbour": "A row of the data with one attribute, not a protected one, moved by a step. Rule sets are scored on "
    "decisions about neighbours.",
    "impact ratio": "The share of a group that gets the favourable outcome, divided by that of the group with the "
    "highest. Below 0.8 the four-fifths rule speaks of adverse impact.",
    "point of a percent": "The unit of a difference of two shares: from 20 % to 24 % it is 4 points.",
    "technique": "A way to search for pairs. Which one finds most depends on the model, never on the person.",
    "seed": "A whole number that fixes every random draw. The same seed gives the same result.",
    "run": "One search or estimate, with its settings, its progress and what it found.",
    "review": "One data set, one model and one question about them. It keeps its runs and your notes.",
    "accuracy": "Share of the data's rows where the model's decision equals the recorded outcome.",
    "majority share": "Accuracy of always saying the most frequent outcome. A useful model does better.",
    "AUC": "Chance that a row with the favourable outcome gets the higher score; of more than two outcomes the mean of "
    "each against the others. 0.5 is guessing, 1 is perfect.",
    "domain": "All values a column may take in the search, whether or not they occur in your data.",
    "plausibility limits": "Narrower ranges for the search, so that it does not invent people who cannot exist.",
    "fixed attribute": "The search leaves these values as they are in rows of your data.",
    "distance to the data": "How unlike the nearest person in the data: the share of attributes that differ, numbers "
    "by how far. Of a pair, that of the person who is further away. 0 % is a person of the data.",
    "success rate": "Individuals found, as a share of the individuals tried.",
    "certified": "Proved: every one of these individuals gets the same decision, whatever the protected values.",
    "falsified": "Proved: every one of these individuals gets another decision when only protected values change.",
    "undecided": "Neither is proved yet. It is no pass: some of these individuals may be discriminated against.",
    "box": "All individuals whose values lie in a range for each attribute. Proofs are made box by box.",
}


def explain(term: str) -> str:
    """The plain meaning of a term, for a hover help."""
    return TERMS[term]


def changing(scope: Scope) -> str:
    """What is exchanged between the two people of a pair, in a sentence: ``sex (and relationship with it)``."""
    names = listed(list(scope.protected), most=4)
    linked = [link.column for link in scope.links]
    return f"{names} (and {listed(linked, most=4)} with it)" if linked else names


def markdown(text: object) -> str:
    """Text of a user or a file, safe inside markdown; the thin spaces of our numbers stay, and addresses are no links:
    nobody knows where they lead.
    """
    inert = _ADDRESSES.sub(_JOINER, _SPACES.sub(" ", str(text)).strip())
    return _MARKDOWN.sub(r"\\\1", inert)


def escaped(text: object) -> str:
    """Text of a user or a file, safe inside HTML, in attributes too."""
    return html.escape(str(text), quote=True)
