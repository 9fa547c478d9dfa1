"""Could this person exist? The distance to the nearest real row, values that never occur together, and the user's
constraints.

A search invents people. What is shown of them must say how far they are from anybody in the data. A person is called
*implausible* who is further from the data than ``limit``, or has values that practically never occur together,
protected ones included; a pair is plausible when each of its two people is.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.measures.plausibility.naturalness import naturalness
from fairness_engine.measures.plausibility.nearest_rows import NearestRows
from fairness_engine.measures.plausibility.unseen_values import UnseenPair, UnseenValues
from fairness_engine.oracle.domain import Domain

_LIMIT_SHARE = 0.99
_LIMIT_SAMPLE = 5_000
"""People of the data whose distance to the next one sets the limit."""
_MOST_IN_KEYS = 64
_HASHED_ROWS = 1_000
_HASH_BYTES = 16


@dataclass(frozen=True)
class PersonAssessed:
    """What is known of one person.

    Args:
        distance: to the nearest person of the data, 0 to 1.
        limit: the distance above which a person is called implausible.
        neighbour: that nearest person, a row of the engine ``(n_columns,)``.
        differs: columns in which the two differ ``(n_different,)``.
        unseen: pairs of values that practically never occur together.
        n_rows: of the data.
        is_in_range: every value lies in the range that the review allows.
        is_fixed_seen: the values of the attributes that must not vary occur together in the data.
    """

    distance: float
    limit: float
    neighbour: FloatArray
    differs: tuple[int, ...]
    unseen: tuple[UnseenPair, ...]
    n_rows: int
    is_in_range: bool
    is_fixed_seen: bool

    @property
    def is_plausible(self) -> bool:
        """Near enough to the data, and no two values that practically never occur together."""
        return self.distance <= self.limit and not self.unseen

    def to_json(self) -> dict[str, Any]:
        """Plain lists and numbers; ``from_json`` reads it back."""
        return {
            "distance": self.distance,
            "limit": self.limit,
            "neighbour": self.neighbour.tolist(),
            "differs": list(self.differs),
            "unseen": [pair.to_json() for pair in self.unseen],
            "n_rows": self.n_rows,
            "is_in_range": self.is_in_range,
            "is_fixed_seen": self.is_fixed_seen,
        }

    @classmethod
    def from_json(cls, content: Any, n_columns: int) -> PersonAssessed:
        """Read what ``to_json`` wrote, for rows of so many columns; the other side may hold a hostile model.

        Raises:
            KeyError, ValueError, TypeError: it is nothing of the kind.
        """
        distance = float(content["distance"])
        limit = float(content["limit"])
        neighbour = np.array(content["neighbour"], dtype=np.float64)
        unseen = tuple(UnseenPair.from_json(pair) for pair in content["unseen"])
        differs = tuple(int(column) for column in content["differs"])
        n_rows = int(content["n_rows"])
        ranges = [each for pair in unseen for each in (pair.first, pair.second)]
        columns = [*differs, *(each.column for each in ranges)]
        counts = [n_rows, *(pair.n_seen for pair in unseen)]
        numbers = [distance, limit, *neighbour, *(pair.n_expected for pair in unseen)]
        numbers += [end for each in ranges for end in (each.low, each.high)]
        if neighbour.shape != (n_columns,) or not all(0 <= column < n_columns for column in columns):
            raise ValueError("columns of a person")
        if not all(0 <= count <= n_rows for count in counts):
            raise ValueError("rows of the data")
        if not np.isfinite(numbers).all() or distance < 0:
            raise ValueError("numbers of a person")
        holds = (content["is_in_range"] is True, content["is_fixed_seen"] is True)
        return cls(distance, limit, neighbour, differs, unseen, n_rows, *holds)


class Plausibility:
    """What a data set says about which people could exist.

    Attributes:
        limit: distance above which a person is called implausible. It is the 99th percentile of the distance of the
            different people of the data to the nearest other one: a person drawn as they were is further from the rest
            in one case in a hundred. Above 0 by construction, for different people are apart; 1 where the data has one
            person only.
        n_reference: people that distances are measured to.
        n_different: different people in the data; where ``n_reference`` is less, distances are upper bounds.
    """

    def __init__(self, rows: FloatArray, domain: Domain, rng: np.random.Generator) -> None:
        self._domain = domain
        self._rows = rows
        self._people_of: Callable[[FloatArray], FloatArray] = lambda given: given
        self._real = NearestRows(rows, domain, rng)
        self._unseen = UnseenValues(rows, domain)
        self._fixed_keys = np.unique(_combination_keys(rows, domain))
        self.n_reference = self._real.n
        self.n_different = self._real.n_different
        self.limit = self._find_limit(rng)

    @classmethod
    def learn(cls, rows: FloatArray, domain: Domain, rng: np.random.Generator) -> Plausibility:
        """Learn from all rows of a data set.

        Args:
            rows: rows of the engine ``(n_rows, n_columns)``, at least one; also those outside the limits of a search.
            domain: which columns tell individuals apart.
            rng: draws which rows are kept when there are too many.
        """
        return cls(rows, domain, rng)

    def of_rows(self, people_of: Callable[[FloatArray], FloatArray]) -> Plausibility:
        """The same, asked about rows that tell people in another way, ``(n_rows, n_columns)`` as well."""
        other = copy.copy(self)
        other._people_of = people_of
        return other

    def _find_limit(self, rng: np.random.Generator) -> float:
        if self.n_reference < 2:
            return 1.0
        people = self._rows[self._real.sample(_LIMIT_SAMPLE, rng)]
        distance, _ = self._real.nearest(people, skips_equal=True)
        return float(np.quantile(distance, _LIMIT_SHARE, method="higher"))

    def measure(self, rows: FloatArray) -> tuple[FloatArray, IntArray]:
        """Distance to the nearest person of the data and number of unseen pairs of values, ``(n_rows,)`` each.

        Args:
            rows: people ``(n_rows, n_columns)``.
        """
        people = self._people_of(rows)
        return self._real.nearest(people)[0], self._unseen.count(people)

    def are_plausible(self, rows: FloatArray) -> BoolArray:
        """Whether each person ``(n_rows, n_columns)`` is near enough to the data and has no unseen values
        ``(n_rows,)``.
        """
        people = self._people_of(rows)
        found = self._unseen.count(people) == 0
        some = np.flatnonzero(found)  # the distance takes longer
        found[some] = self._real.nearest(people[some])[0] <= self.limit
        return np.asarray(found)

    def plausible_variants(self, rows: FloatArray, chosen: IntArray | None = None) -> BoolArray:
        """Which variants of individuals ``(n_rows, n_columns)`` could exist ``(n_rows, n_variants)``, or which of those
        chosen ``(n_rows, n_chosen)``.
        """
        domain = self._domain
        own = self._people_of(rows)
        if chosen is None:
            people = domain.variants(own)
        else:
            people = np.stack([domain.with_variant(own, each) for each in chosen.T], axis=1)
        wanted = (self._unseen.count(people.reshape(-1, domain.n_columns)) == 0).reshape(people.shape[:2])
        changing = [domain.schema.index(name) for name in domain.scope.changing]
        return self._real.are_near(people, np.array(changing, dtype=np.int64), wanted, self.limit)

    def measure_pairs(self, first: FloatArray, second: FloatArray) -> tuple[FloatArray, IntArray]:
        """The same of both people of pairs, ``(n_pairs, 2)`` each.

        Args:
            first, second: people ``(n_pairs, n_columns)``.
        """
        people = np.stack([first, second], axis=1)  # side by side: whoever is near the one is near the other
        distance, n_unseen = self.measure(people.reshape(-1, people.shape[2]))
        return distance.reshape(-1, 2), n_unseen.reshape(-1, 2)

    def n_similar(self, people: FloatArray) -> IntArray:
        """How many people of the data are as near to one of each group as real people are to one another
        ``(n_groups,)``.

        Args:
            people: ``(n_groups, n_people, n_columns)``.
        """
        flat = self._people_of(people.reshape(-1, people.shape[2]))
        return self._real.n_within(self._rows, flat.reshape(people.shape), self.limit)

    def naturalness(self, people: FloatArray) -> float | None:
        """How much people ``(n_people, n_columns)`` look like the data as a whole; see ``naturalness``."""
        return naturalness(self._people_of(people), self._rows, self._domain.schema) if len(people) else None

    def breaks_constraints(self, rows: FloatArray) -> IntArray:
        """Positions of people outside the ranges, or with fixed values that nobody has together. None, if searches are
        right.
        """
        people = self._people_of(rows)
        is_fixed_seen = np.isin(_combination_keys(people, self._domain), self._fixed_keys)
        return np.flatnonzero(~(self._domain.contains(people) & is_fixed_seen))

    def assess(self, row: FloatArray) -> PersonAssessed:
        """Everything about one person ``(n_columns,)``."""
        distance, nearest = self._real.nearest(row[None])
        neighbour = self._rows[nearest[0]].copy()
        return PersonAssessed(
            float(distance[0]),
            self.limit,
            neighbour,
            tuple(np.flatnonzero(neighbour != row).tolist()),
            self._unseen.of(row),
            len(self._rows),
            bool(self._domain.contains(row[None])[0]),
            bool(np.isin(_combination_keys(row[None], self._domain), self._fixed_keys)[0]),
        )


def _combination_keys(rows: FloatArray, domain: Domain) -> np.ndarray[Any, np.dtype[np.void]]:
    """The values (or roles) of the fixed columns of every row as one thing that can be compared ``(n_rows,)``: of many
    columns a hash of them, since the values themselves would be a second table.
    """
    columns = domain.fixed
    if len(columns) > _MOST_IN_KEYS:
        hashes = bytearray()
        for start in range(0, len(rows), _HASHED_ROWS):
            part = domain.roles(rows[start : start + _HASHED_ROWS])[:, columns] + 0.0
            for row in np.ascontiguousarray(part):
                hashes += hashlib.blake2b(row.data, digest_size=_HASH_BYTES).digest()
        return np.frombuffer(hashes, dtype=f"V{_HASH_BYTES}")
    values = np.ascontiguousarray(domain.roles(rows)[:, columns] + 0.0)  # so that -0 is 0
    if not len(columns):
        return np.zeros(len(rows), dtype="V1")
    return values.view(f"V{8 * len(columns)}").ravel()
