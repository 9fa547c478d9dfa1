"""Boxes of a model through linked attributes: role by role, each by the assessor of the people that it is spelled as.

Where the roles of a box are not spelled in several ways, its people are what its rows say, and the model's own assessor
decides. Where a box holds one role that is (a spouse), all variants of its people are known together with what spells
it: Husband for the one, Wife for the other. Such a box is a box of the other columns, with the linked column among
those that tell variants apart. A box that mixes roles is split between them and nothing is claimed of it before. Not in
paper 004 (FairQuant).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.certification.assessor import Assessed, Assessor, Certificates
from fairness_engine.certification.partition.lattice import Lattice
from fairness_engine.models.encoders.linked import of_people, spelling_of
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain

_OPEN = -1
"""The case of a digit that is spelled in one way."""


class _CaseDomain(Domain):
    """A domain in which linked columns are protected: the variants are those of the domain, each with its spelling.

    Args:
        domain: of the rows of roles.
        columns: the linked columns that have one role here ``(n_linked,)``.
        spellings: what each variant holds in them ``(n_variants, n_linked)``.
    """

    def __init__(self, domain: Domain, columns: tuple[int, ...], spellings: FloatArray) -> None:
        self._variants = np.ascontiguousarray(np.concatenate([domain.variant_values, spellings], axis=1))
        names = tuple(domain.schema.inputs[column].name for column in columns)
        taken = [domain.schema.inputs[column].name for column in (*domain.protected, *domain.free)]
        limits = {name: ends for name, ends in domain.scope.limits.items() if name not in names}
        scope = replace(domain.scope, protected=(*domain.scope.protected, *names), limits=limits, bins={}, excluded=())
        super().__init__(domain.schema, scope, taken)

    def _variant_values(self) -> FloatArray:
        return self._variants


@dataclass(frozen=True)
class _Part:
    """The boxes in which some linked columns have one role each.

    Args:
        assessor: of the other columns.
        kept: positions of these in the whole space ``(D',)``.
    """

    assessor: Assessor
    kept: IntArray


class LinkedAssessor:
    """Decides boxes of rows of roles.

    Args:
        model: that answers about rows of roles; see ``models.encoders.linked``.
        space: of the domain of such rows.
        make: the assessor of the model for rows of people, over a part of the space.
    """

    is_exact = False

    def __init__(self, model: Model, space: Lattice, make: Callable[[Model, Lattice], Assessor]) -> None:
        spelling = spelling_of(model)
        assert spelling is not None, "a model through links"
        self.space = space
        self._people = of_people(model)
        self._make = make
        self.plain = make(self._people, space)
        """Of the boxes without a role that is spelled in several ways; what the model is made of it tells for all."""
        self.kind = self.plain.kind
        names = []
        self._columns: list[int] = []
        self._spellings: list[dict[int, FloatArray]] = []
        self._case_of: list[IntArray] = []
        self._ends: list[IntArray] = []
        for column, cases in spelling.cases():
            places = np.flatnonzero(space.columns == column)
            if not len(places):
                continue
            position = int(places[0])
            names.append(space.domain.schema.inputs[column].name)
            first = round(space.domain.low[column] - space.domain.schema.inputs[column].low)
            protected, low = spelling.protected_of(column)
            held = space.domain.variant_values[:, space.domain.protected.tolist().index(protected)]
            who = np.rint(held - low).astype(np.int64)
            known = {role - first: ways[who] for role, ways in cases.items()}
            case_of = np.full(int(space.n_digits[position]), _OPEN, np.int64)
            for digit in known:
                if 0 <= digit < len(case_of):
                    case_of[digit] = digit
            self._columns.append(position)
            self._spellings.append(known)
            self._case_of.append(case_of)
            self._ends.append(_run_ends(case_of))
        self.method = f"{self.plain.method}, role by role of {' and '.join(names)}"
        self._parts: dict[tuple[int, ...], _Part] = {}
        self._lock = threading.Lock()

    # --- boxes ------------------------------------------------------------------------------------

    def assess(self, low: IntArray, high: IntArray) -> Assessed:
        """Boxes of one role each by their assessors; others are split where their roles part."""
        n = len(low)
        certified, falsified = np.zeros((2, n))
        column = np.full(n, -1, np.int64)
        cut = np.full(n, -1, np.int64)
        key, is_mixed = self._keys(low, high)
        for place, (position, ends) in enumerate(zip(self._columns, self._ends, strict=True)):
            of = np.flatnonzero(is_mixed[:, place] & (column < 0))
            column[of] = position
            cut[of] = ends[low[of, position]]
        whole = np.flatnonzero(~is_mixed.any(axis=1))
        for case, chosen in _groups(key, whole):
            part = self._part(case)
            box = low[np.ix_(chosen, part.kept)], high[np.ix_(chosen, part.kept)]
            found = part.assessor.assess(*box)
            certified[chosen] = found.certified
            falsified[chosen] = found.falsified
            if not self.space.is_uniform:  # what a part weighs is of its own columns
                inside = part.assessor.space.weigh(*box)
                scale = self.space.weigh(low[chosen], high[chosen]), np.where(inside > 0, inside, 1.0)
                certified[chosen], falsified[chosen] = (
                    scale[0] * (each / scale[1]) for each in (found.certified, found.falsified)
                )
            is_split = found.column >= 0
            column[chosen[is_split]] = part.kept[found.column[is_split]]
            if found.cut is not None:
                cut[chosen[is_split]] = found.cut[is_split]
        # a cut that no part named is the middle, as where there is none
        middle = np.flatnonzero((column >= 0) & (cut < 0))
        at = column[middle]
        cut[middle] = (low[middle, at] + high[middle, at]) // 2
        return Assessed(certified, falsified, column, cut)

    def explain(self, low: IntArray, high: IntArray) -> Certificates:
        """As the parts explain their boxes; nothing is claimed of a box that mixes roles."""
        n = len(low)
        d = len(self.space.columns)
        key, is_mixed = self._keys(low, high)
        own = self.plain.explain(low[:0], high[:0])
        coefficients = np.zeros((n, 3, own.coefficients.shape[2]))
        thresholds = np.tile([np.inf, -np.inf, np.inf, -np.inf], (n, 1))
        bounds = np.tile([-np.inf, np.inf], (n, self.space.domain.n_variants, 1))
        blame = np.zeros((n, d))
        n_unstable = np.zeros(n, np.int64)
        for place, at in enumerate(self._columns):
            blame[is_mixed[:, place], at] = 1.0
        bounds[is_mixed.any(axis=1)] = np.nan
        for case, chosen in _groups(key, np.flatnonzero(~is_mixed.any(axis=1))):
            part = self._part(case)
            told = part.assessor.explain(low[np.ix_(chosen, part.kept)], high[np.ix_(chosen, part.kept)])
            if own.coefficients.shape[2]:
                coefficients[chosen] = _placed(told, own.starts, part.kept)
            thresholds[chosen] = told.thresholds
            bounds[chosen] = told.bounds
            blame[np.ix_(chosen, part.kept)] = told.blame
            n_unstable[chosen] = told.n_unstable
        return Certificates(coefficients, own.starts, thresholds, bounds, blame, n_unstable)

    def _keys(self, low: IntArray, high: IntArray) -> tuple[IntArray, BoolArray]:
        """The case of each linked column of boxes, and whether they mix several ``(n, n_linked)`` each."""
        key = np.stack([of[low[:, at]] for at, of in zip(self._columns, self._case_of, strict=True)], axis=1)
        last = np.stack([ends[low[:, at]] for at, ends in zip(self._columns, self._ends, strict=True)], axis=1)
        return key, high[:, self._columns] > last

    def _part(self, case: tuple[int, ...]) -> _Part:
        """The part in which linked columns have these roles, made when it is first asked for."""
        if all(digit == _OPEN for digit in case):
            return _Part(self.plain, np.arange(len(self.space.columns)))
        with self._lock:
            if case not in self._parts:
                self._parts[case] = self._make_part(case)
            return self._parts[case]

    def _make_part(self, case: tuple[int, ...]) -> _Part:
        fixed = [place for place, digit in enumerate(case) if digit != _OPEN]
        at = [self._columns[place] for place in fixed]
        columns = tuple(int(self.space.columns[position]) for position in at)
        spellings = np.stack([self._spellings[place][case[place]] for place in fixed], axis=1)
        domain = _CaseDomain(self.space.domain, columns, spellings)
        kept = np.setdiff1d(np.arange(len(self.space.columns)), at)
        space = Lattice(
            domain,
            self.space.columns[kept],
            self.space.n_digits[kept],
            self.space.is_cell[kept],
            tuple(self.space.masses[position] for position in kept),
        )
        return _Part(self._make(self._people, space), kept)


def _run_ends(case_of: IntArray) -> IntArray:
    """The last digit up to which each digit's case goes on ``(n_digits,)``."""
    ends = np.arange(len(case_of))
    for digit in range(len(case_of) - 2, -1, -1):
        if case_of[digit] == case_of[digit + 1]:
            ends[digit] = ends[digit + 1]
    return ends


def _groups(key: IntArray, whole: IntArray) -> list[tuple[tuple[int, ...], IntArray]]:
    """The boxes of each case, by their positions."""
    if not len(whole):
        return []
    cases, which = np.unique(key[whole], axis=0, return_inverse=True)
    return [(tuple(case), whole[which.ravel() == i]) for i, case in enumerate(cases.tolist())]


def _placed(told: Certificates, starts: IntArray, kept: IntArray) -> FloatArray:
    """The coefficients of a part's certificates at the places of the whole space; 0 where a column is fixed."""
    out = np.zeros((len(told.coefficients), 3, int(starts[-1])))
    for own, position in enumerate(kept.tolist()):
        begin, end = told.starts[own : own + 2]
        to = slice(int(starts[position]), int(starts[position + 1]))
        part = told.coefficients[:, :, begin:end]
        n_places = to.stop - to.start
        assert part.shape[2] in (1, n_places), "a column adds the same to the sums in every role"
        out[:, :, to] = part if part.shape[2] == n_places else part * np.arange(n_places)
    return out
