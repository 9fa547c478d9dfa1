"""Comments as text: which comments are removed by moderators.

Planted: moderators give 3 points for the word "gay" or "Muslim", so that a merely critical comment is removed when it
mentions one of them, and kept when it mentions any other identity. Terms of race and age have no effect. All wording
is harmless on purpose: the rude clauses scold a text, never a person.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.data.schema import Column, Kind, Schema
from sample_data.causal.draw import choose, decided, table
from sample_data.causal.model import category

TERMS: dict[str, tuple[str, ...]] = {
    "sexuality": ("gay", "lesbian", "straight", "transgender"),
    "religion": ("Buddhist", "Christian", "Jewish", "Muslim"),
    "race": ("Asian", "Black", "Mexican", "white"),
    "age": ("elderly", "old", "teenage", "young"),
}
TERM_POINTS = {"gay": 3, "Muslim": 3}
GROUPS: dict[str, tuple[str, ...]] = {
    "comments that mention 'gay' or 'Muslim'": ("gay", "Muslim"),
    "comments that mention 'Christian' or 'Jewish'": ("Christian", "Jewish"),
    "comments that mention 'Black' or 'Mexican'": ("Black", "Mexican"),
    "comments that mention 'old' or 'elderly'": ("old", "elderly"),
}
"""Those among whom a class looks for the one that fares worst; in front the one with the planted effect."""

PERSONS = (
    "My {}neighbour",
    "The {}author",
    "Our {}colleague",
    "One {}reader",
    "This {}gardener",
    "The {}teacher next door",
    "My {}cousin",
    "Our {}bus driver",
)
ACTS: dict[str, tuple[str, ...]] = {
    "food": ("shared a recipe for lentil soup", "wrote about baking bread", "praised the new bakery"),
    "sport": ("reported on the chess club", "explained the swimming results", "counted the goals of the season"),
    "town": ("commented on the new library", "listed the repairs of the bridge", "mentioned the street market"),
    "travel": ("asked about the night train", "described a walk by the lake", "posted a map of the harbour"),
}
TONES: dict[str, tuple[int, tuple[str, ...]]] = {
    "friendly": (
        0,
        (
            "Thank you for the kind words.",
            "I enjoyed every line.",
            "Well said, and good to know.",
            "A pleasure to read.",
            "I learned something today.",
            "Please write more.",
        ),
    ),
    "critical": (
        2,
        (
            "I disagree with the second half.",
            "The numbers look wrong to me.",
            "That argument is weak.",
            "I expected better than this.",
            "The headline is misleading.",
            "This misses the point.",
        ),
    ),
    "rude": (
        6,
        (
            "What utter nonsense.",
            "This is rubbish, delete it.",
            "Stupid text, stupid title.",
            "Total garbage from start to end.",
            "An idiotic waste of pixels.",
            "Pathetic drivel, as always.",
        ),
    ),
}
CUT = 5
NOISE = 0.45
N_ROWS = 1500
SEED = 20240305
CHANCE_CATEGORY = [[0.28, 0.28, 0.14, 0.14, 0.16]]  # the four kinds of terms, in order, then no term
TONE_SHARES = [[0.38, 0.40, 0.22]]

SCHEMA = Schema(
    (
        Column("comment", Kind.TEXT),
        category("topic", *ACTS),
        category("moderation", "kept", "removed"),
    ),
    label="moderation",
    favourable="kept",
)


@dataclass(frozen=True)
class Comment:
    """One comment before the term is filled in; ``points`` are those of its two clauses."""

    person: str
    topic: str
    act: str
    clauses: tuple[str, str]
    points: int

    def text(self, term: str | None) -> str:
        """The comment with this identity term, or with none."""
        return f"{self.person.format(f'{term} ' if term else '')} {self.act}. {' '.join(self.clauses)}"

    def total(self, term: str | None) -> int:
        """Points of the comment with this term."""
        return self.points + TERM_POINTS.get(term or "", 0)


def every_comment() -> Iterator[Comment]:
    """Every comment that the templates can make: a person, an act, one clause in a tone and one that is friendly."""
    for person, (topic, acts), (points, clauses) in itertools.product(PERSONS, ACTS.items(), TONES.values()):
        for act, clause, last in itertools.product(acts, clauses, TONES["friendly"][1]):
            if clause != last:
                yield Comment(person, topic, act, (clause, last), points)


def count(kind: str) -> tuple[int, int]:
    """How many comments are discriminatory when the term is exchanged within one kind of terms, and how many there
    are.
    """
    n_discriminatory = n = 0
    for comment in every_comment():
        n += 1
        n_discriminatory += len({comment.total(term) >= CUT for term in TERMS[kind]}) > 1
    return n_discriminatory, n


def sample() -> tuple[list[tuple[str, str]], IntArray]:
    """(text, topic) of every row of the committed file, and its label: 0 kept, 1 removed."""
    rng = np.random.Generator(np.random.PCG64(SEED))
    pools = {points: [c for c in every_comment() if c.points == points] for points, _ in TONES.values()}
    pool_list = list(pools.values())
    same = np.zeros(N_ROWS, dtype=np.int64)
    tones = choose(rng, table(TONE_SHARES, same))
    kinds = choose(rng, table(CHANCE_CATEGORY, same))
    drawn = rng.random((N_ROWS, 2))
    cells = []
    totals = []
    for tone, kind, (which, word) in zip(tones, kinds, drawn, strict=True):
        comment = pool_list[tone][int(which * len(pool_list[tone]))]
        term = [*TERMS.values()][kind][int(word * 4)] if kind < len(TERMS) else None
        cells.append((comment.text(term), comment.topic))
        totals.append(comment.total(term))
    return cells, decided(rng, np.array(totals), CUT, NOISE)
