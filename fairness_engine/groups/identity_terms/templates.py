"""Texts seen as templates: what stays when the terms of some categories are swapped.

Texts that differ in those terms only are one template, so that the many sentences of a list of examples are swapped
once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fairness_engine.arrays import BoolArray, IntArray
from fairness_engine.groups.identity_terms.matching import Case, Swapped, TermFinder, write
from fairness_engine.groups.identity_terms.terms import Terms
from fairness_engine.groups.rule_sets.attributes import TERM, RuleAttribute

_Place = tuple[int, int, int, int, int]
"""First letter, end, category, term and case of a term in a text."""


class Template(NamedTuple):
    """A text with gaps.

    Args:
        pieces: what stands before, between and after the gaps; one more than there are gaps.
        gaps: of each gap, which of the categories swapped it belongs to, and its ``Case``.
    """

    pieces: tuple[str, ...]
    gaps: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Templates:
    """Different templates.

    Args:
        templates: in order of appearance.
        counts: how many texts have each ``(n_templates,)``.
        texts: the first text that has it ``(n_templates,)``.
    """

    templates: list[Template]
    counts: IntArray
    texts: IntArray

    def __len__(self) -> int:
        return len(self.templates)

    def __getitem__(self, part: slice) -> Templates:
        return Templates(self.templates[part], self.counts[part], self.texts[part])


class TextSpace:
    """The texts of a data set and the terms in them.

    Args:
        texts: not empty.
        terms: checked.

    Attributes:
        attributes: one a category, its values the terms.
        holds: whether a text holds a term of a category ``(n_texts, n_categories)``.
    """

    def __init__(self, texts: Sequence[str], terms: Terms) -> None:
        self.texts = texts
        self.attributes = tuple(RuleAttribute(category, TERM, words) for category, words in terms)
        self._forms = [[[write(term, case) for term in words] for case in Case] for _, words in terms]
        index = {(category, term): (i, j) for i, (category, words) in enumerate(terms) for j, term in enumerate(words)}
        finder = TermFinder(terms)
        own = [index[each] for each in finder.listed]
        self.places: list[tuple[_Place, ...]] = [
            tuple((start, end, *own[i], int(case)) for start, end, i, case in finder.places(text)) for text in texts
        ]
        self.holds: BoolArray = np.zeros((len(texts), len(terms)), dtype=bool)
        for i, places in enumerate(self.places):
            for place in places:
                self.holds[i, place[2]] = True

    @property
    def n_texts(self) -> int:
        """Texts of the data."""
        return len(self.texts)

    @cached_property
    def n_by_term(self) -> dict[str, dict[str, int]]:
        """How many texts hold each term, by category."""
        counts = [np.zeros(attribute.n_values, dtype=np.int64) for attribute in self.attributes]
        for places in self.places:
            for category, term in {place[2:4] for place in places}:
                counts[category][term] += 1
        return {
            attribute.name: dict(zip(attribute.labels, count.tolist(), strict=True))
            for attribute, count in zip(self.attributes, counts, strict=True)
        }

    def seeds(self, which: Sequence[int]) -> IntArray:
        """The texts that hold a term of each of some categories, ascending."""
        return np.flatnonzero(self.holds[:, list(which)].all(axis=1))

    def combinations(self, which: Sequence[int]) -> IntArray:
        """Every choice of a term of each of some categories ``(n_combinations, n_which)``."""
        values = [range(self.attributes[i].n_values) for i in which]
        return np.array(list(itertools.product(*values)), dtype=np.int64)

    def template(self, text: int, which: Sequence[int]) -> Template:
        """A text with the terms of some categories taken out."""
        whole = self.texts[text]
        done = 0
        pieces = []
        gaps = []
        for start, end, category, _, case in self.places[text]:
            if category in which:
                pieces.append(whole[done:start])
                gaps.append((which.index(category), case))
                done = end
        return Template((*pieces, whole[done:]), tuple(gaps))

    def templates(self, texts: IntArray, which: Sequence[int], most: float = math.inf) -> Templates | None:
        """The different templates of some texts.

        Args:
            texts, which: of whom, and the categories taken out.
            most: of templates; where there are more the answer is ``None``, without going through all texts.
        """
        found: dict[Template, int] = {}
        firsts: list[int] = []
        for text in texts.tolist():
            template = self.template(text, which)
            n = found.get(template, 0)
            found[template] = n + 1
            if not n:
                firsts.append(text)
                if len(firsts) > most:
                    return None
        counts = np.array(list(found.values()), dtype=np.int64)
        return Templates(list(found), counts, np.array(firsts, dtype=np.int64))

    def fill(self, template: Template, which: Sequence[int], combinations: IntArray) -> list[str]:
        """A template with the terms of each combination ``(n_combinations, n_which)`` put in."""
        words = [
            [self._forms[which[position]][case][term] for term in combinations[:, position].tolist()]
            for position, case in template.gaps
        ]
        parts = [
            part
            for piece, column in zip(template.pieces, words, strict=False)
            for part in (itertools.repeat(piece), column)
        ]
        return list(map("".join, zip(*parts, itertools.repeat(template.pieces[-1]), strict=False)))

    def filled(self, template: Template, which: Sequence[int], combination: IntArray) -> Swapped:
        """A template with one combination ``(n_which,)`` put in, and where."""
        parts = []
        spans = []
        length = 0
        for piece, (position, case) in zip(template.pieces, template.gaps, strict=False):
            word = self._forms[which[position]][case][int(combination[position])]
            length += len(piece)
            spans.append((length, length + len(word)))
            length += len(word)
            parts += [piece, word]
        return Swapped("".join([*parts, template.pieces[-1]]), tuple(spans))
