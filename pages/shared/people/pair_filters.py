"""Which pairs to look at: filters by attribute, by what differs, by score gap and by text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.data.schema import Column
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs
from pages.shared.people.pair_table import change_texts, differing, score_gaps


@dataclass(frozen=True)
class PairFilter:
    """What a reader wants to see; the default lets every pair through.

    Args:
        differs: names of protected attributes of which at least one must differ; empty for any.
        min_gap: smallest score gap.
        values: by attribute, the values (of the engine) of which one of the two people must have one.
        ranges: by attribute, the closed range in which one of the two people must lie.
        words: every word must occur in a label of the pair, whatever the case; ``Female -> Male`` asks for that change.
        nothing_but: names of protected attributes beside which none may differ; empty for any.
    """

    differs: tuple[str, ...] = ()
    min_gap: float = 0.0
    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    words: str = ""
    nothing_but: tuple[str, ...] = ()

    @property
    def n_active(self) -> int:
        """How many conditions are set."""
        return (
            bool(self.differs)
            + bool(self.nothing_but)
            + (self.min_gap > 0)
            + len(self.values)
            + len(self.ranges)
            + bool(self.words.strip())
        )


def matching(domain: Domain, pairs: Pairs, wanted: PairFilter) -> IntArray:
    """Positions of the pairs that pass all conditions, in the order of discovery.

    A condition on an attribute that this review does not have is left out: filters follow from run to run.
    """
    keep = np.ones(len(pairs), dtype=bool)
    by_name = differing(domain, pairs)
    asked = [by_name[name] for name in wanted.differs if name in by_name]
    if asked:
        keep &= np.logical_or.reduce(asked)
    others = [differs for name, differs in by_name.items() if name not in wanted.nothing_but]
    if others and len(others) < len(by_name):
        keep &= ~np.logical_or.reduce(others)
    if wanted.min_gap > 0:
        keep &= score_gaps(pairs) >= wanted.min_gap
    names = domain.schema.names
    for name, values in wanted.values.items():
        if name in names:
            index = names.index(name)
            keep &= np.isin(pairs.first[:, index], values) | np.isin(pairs.second[:, index], values)
    for name, limits in wanted.ranges.items():
        if name in names:
            keep &= _is_within(pairs, names.index(name), limits)
    phrase = wanted.words.casefold().replace("->", "→").strip()
    if "→" in phrase:
        return np.flatnonzero(keep & _changes_so(domain, pairs, phrase))
    for word in phrase.split():
        keep &= _has_word(domain, pairs, word)
    return np.flatnonzero(keep)


def _is_within(pairs: Pairs, index: int, limits: tuple[float, float]) -> np.ndarray:
    low, high = limits
    inside_first = (pairs.first[:, index] >= low) & (pairs.first[:, index] <= high)
    inside_second = (pairs.second[:, index] >= low) & (pairs.second[:, index] <= high)
    return np.asarray(inside_first | inside_second)


def _changes_so(domain: Domain, pairs: Pairs, phrase: str) -> np.ndarray:
    """Whether the change reads like the phrase, such as ``Female → Male``, blanks around the arrow aside."""
    phrase = "→".join(part.strip() for part in phrase.split("→"))
    distinct, positions = np.unique(change_texts(domain, pairs).astype(str), return_inverse=True)
    hits = [phrase in text.casefold().replace(" → ", "→") for text in distinct]
    return np.asarray(np.array(hits, dtype=bool)[positions])


def _has_word(domain: Domain, pairs: Pairs, word: str) -> np.ndarray:
    """Whether a word occurs in a label of either person."""
    has = np.zeros(len(pairs), dtype=bool)
    for index, column in enumerate(domain.schema.inputs):
        has |= _value_has(column, pairs.first[:, index], word) | _value_has(column, pairs.second[:, index], word)
    return has


def _value_has(column: Column, values: np.ndarray, word: str) -> np.ndarray:
    """Labels contain the word; a number must be it."""
    distinct, positions = np.unique(values, return_inverse=True)
    texts = [column.text(value).casefold() for value in distinct.tolist()]
    hits = [word in text if column.codes else word == text for text in texts]
    return np.asarray(np.array(hits, dtype=bool)[positions])
