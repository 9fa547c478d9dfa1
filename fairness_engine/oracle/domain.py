"""The space a search moves in: the ranges of all columns and the variants of the protected attributes.

``Scope`` is what a review asks; ``Domain`` is a schema and a scope turned into arrays. A domain speaks of rows
of the engine (see ``schema.py``) and never of the file's codes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.links.link import Link
from fairness_engine.data.links.reading import joined, still_there
from fairness_engine.data.links.spelling import Spelling
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import SettingError
from fairness_engine.models.model import Output


class Distribution(StrEnum):
    """What an estimate draws from. A share is of one of these, and always said with it."""

    UNIFORM = "uniform"
    DATA = "data"
    PERTURBED = "perturbed"


KeyArray = NDArray[np.uint64]
Combination = tuple[float | None, ...]
"""Protected values, one an attribute; ``None`` stands for any."""

MAX_PRODUCT = 200_000
"""Combinations of protected values that are written down at most."""
_EXACT = 1e-9
"""Values of a lattice are products of its step: two are the same that agree to this share."""
_MAX_EXACT_KEYS = 2.0**63
_OFF_LATTICE = 1e-6
"""As a share of a step."""
_ROWS_AT_ONCE = 4_000
"""What is compared of so many rows stays near the processor."""
_CONTINUOUS_STEPS = 100.0
"""A move on a continuous column is 1/100 of its range (AEQUITAS moves by one unit; see docs/techniques.md)."""
_CONTINUOUS_DIGITS = 2.0**40
"""Two values of a continuous column are the same individual's when they agree to 2**-40 of its range."""


@dataclass(frozen=True)
class Scope:
    """What a review asks of a model.

    Args:
        protected: names of the protected attributes, at least one.
        threshold: two classes only: the decision is class 1 above it; ``None`` takes the model's own.
        score_gap: the papers' gamma. 0: a pair needs different decisions. Above 0: scores that differ by more.
        fixed: attributes that a technique must not vary; uniform rows take them from rows of the data.
        limits: narrower ranges by attribute, in values of the engine (positions for categories).
        bins: values to compare of a protected attribute, instead of every value of its range (positions for
            categories).
        max_variants: above this many combinations of protected values the user must choose which to compare.
        excluded: combinations of protected values that are not compared, such as those of nobody in the data: each one
            value an attribute, in the order of ``protected``, or ``None`` where any value counts; two values at least.
        links: columns that change with a protected attribute; see ``data.links``.
    """

    protected: tuple[str, ...]
    threshold: float | None = None
    score_gap: float = 0.0
    fixed: tuple[str, ...] = ()
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    bins: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    max_variants: int = 1000
    excluded: tuple[Combination, ...] = ()
    links: tuple[Link, ...] = ()

    def __post_init__(self) -> None:
        if not self.protected:
            raise SettingError("A search needs at least one protected attribute, got none. Choose one under Scope.")
        if len(set(self.protected)) != len(self.protected):
            twice = next(name for name in self.protected if self.protected.count(name) > 1)
            raise SettingError(f"Each protected attribute can be chosen once only, got '{twice}' twice.")
        both = sorted(set(self.protected) & set(self.fixed))
        if both:
            raise SettingError(f"'{both[0]}' cannot be protected and fixed at once: its variants are what is compared.")
        if not (math.isfinite(self.score_gap) and self.score_gap >= 0):
            raise SettingError(f"The score gap must be 0 or more, got {self.score_gap:g}. Set it under Scope (--gap).")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise SettingError(f"The decision threshold must be a finite number, got {self.threshold}.")
        for combination in self.excluded:
            n_values = sum(value is not None for value in combination)
            if len(combination) != len(self.protected) or n_values < 2:
                raise SettingError(
                    f"A combination that is left out must have two values or more of the {len(self.protected)} "
                    f"protected attributes, and a place for each, got {list(combination)}."
                )

    @property
    def changing(self) -> tuple[str, ...]:
        """Names of the columns in which the two people of a pair may differ: protected ones, and those linked to
        them.
        """
        return (*self.protected, *(link.column for link in self.links))

    def check_scores(self, output: Output, n_scores: int) -> None:
        """See that some score could pass the threshold and some could not, and that two could lie so far apart.

        Args:
            output: what the scores of the model are.
            n_scores: how many it gives a person.

        Raises:
            SettingError: everybody would be decided alike, or no two scores be told apart, by the setting alone.
        """
        if n_scores > 1 and self.threshold is not None:
            raise SettingError(
                f"The decision threshold must be left out for a model of {n_scores} classes, whose largest score "
                f"decides, got {self.threshold:g}: nothing would change. Leave it out under Scope (--threshold)."
            )
        if output is Output.LOGIT:
            return
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise SettingError(
                f"The decision threshold must lie within 0 to 1, as the model's scores do, got "
                f"{self.threshold:g}: all would be decided alike. Set it under Scope (--threshold)."
            )
        if output is Output.LABEL and self.threshold not in (None, output.middle):
            raise SettingError(
                f"The decision threshold must be left out for a model that gives decisions and no scores, got "
                f"{self.threshold:g}: nothing would change. Set it under Scope (--threshold)."
            )
        if self.score_gap >= 1:
            raise SettingError(
                f"The score gap must be below 1, as no two scores of the model lie further apart, got "
                f"{self.score_gap:g}: there would be no pair. Set it under Scope (--gap)."
            )

    def with_links_of(self, schema: Schema) -> Scope:
        """The same with those of the schema's links that belong to its protected attributes."""
        links = tuple(
            link for link in schema.links if link.protected in self.protected and link.column not in self.protected
        )
        return replace(self, links=links)

    def with_protected(self, protected: tuple[str, ...]) -> Scope:
        """The same question about other protected attributes: what it says of those that are not protected any more
        goes.
        """
        bins = {name: values for name, values in self.bins.items() if name in protected}
        fixed = tuple(name for name in self.fixed if name not in protected)
        excluded = []
        for combination in self.excluded:
            known = {name: value for name, value in zip(self.protected, combination, strict=True) if value is not None}
            if set(known) <= set(protected):
                excluded.append(tuple(known.get(name) for name in protected))
        links = tuple(link for link in self.links if link.protected in protected and link.column not in protected)
        return replace(self, protected=protected, bins=bins, fixed=fixed, excluded=tuple(excluded), links=links)

    def moved(self, old: Schema, new: Schema) -> Scope:
        """The same question in a corrected schema: positions follow their categories, and what names a category that is
        gone goes.
        """
        places = {name: _places(old, new, name) for name in {*self.protected, *self.limits, *self.bins}}

        def at(name: str, value: float) -> float:
            known = places[name]
            return value if known is None else known.get(value, math.nan)

        bins = {name: np.array([at(name, value) for value in values]) for name, values in self.bins.items()}
        kept = {name: tuple(np.sort(values[~np.isnan(values)]).tolist()) for name, values in bins.items()}
        limits = {name: (at(name, low), at(name, high)) for name, (low, high) in self.limits.items()}
        excluded = [
            tuple(
                None if value is None else at(name, value)
                for name, value in zip(self.protected, combination, strict=True)
            )
            for combination in self.excluded
        ]
        return replace(
            self,
            bins={name: values for name, values in kept.items() if values},
            limits={name: ends for name, ends in limits.items() if not any(map(math.isnan, ends))},
            excluded=tuple(
                each for each in excluded if not any(value is not None and math.isnan(value) for value in each)
            ),
            links=still_there(self.links, new),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and text; ``from_json`` reads it back to an equal scope."""
        content = asdict(self)
        content["limits"] = {name: list(limits) for name, limits in self.limits.items()}
        content["bins"] = {name: list(values) for name, values in self.bins.items()}
        content["excluded"] = [list(combination) for combination in self.excluded]
        del content["links"]
        if self.links:  # a scope without says what it said before there were any
            content["links"] = [link.to_json() for link in self.links]
        return {key: list(value) if isinstance(value, tuple) else value for key, value in content.items()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Scope:
        """Read what ``to_json`` wrote."""
        known = dict(content)
        for name in ("protected", "fixed"):
            known[name] = tuple(known.get(name, ()))
        known["limits"] = {name: (limits[0], limits[1]) for name, limits in known.get("limits", {}).items()}
        known["bins"] = {name: tuple(values) for name, values in known.get("bins", {}).items()}
        known["excluded"] = tuple(tuple(combination) for combination in known.get("excluded", ()))
        known["links"] = tuple(Link.from_json(link) for link in known.get("links", ()))
        return cls(**known)


class Ranges:
    """A schema and a scope as arrays: what rows may hold and what may move, with no variants to compare.

    Attributes:
        low, high: closed range of every column ``(n_columns,)``.
        unit: length of one move ``(n_columns,)``: 1, the column's step, or 1/100 of a continuous range.
        protected: indices of the protected columns.
        free: indices of the columns that tell individuals apart: the others, as far as the model takes them.
        movable: indices of the columns that a technique may vary (free and not fixed).
        fixed: indices of the columns that uniform rows take from rows of the data, jointly.
        spelling: what the scope's links make of rows; ``None`` without links.

    Raises:
        SchemaError: the scope names a column that is no input, or has a link that cannot be.
        SettingError: limits outside the domain, or links that do not fit the scope.
    """

    def __init__(self, schema: Schema, scope: Scope, taken: Collection[str] | None = None) -> None:
        """Turn a schema and a scope into arrays.

        Args:
            schema, scope: what was asked.
            taken: names of the columns that the model takes, ``None`` for all. Two people who differ in other columns
                only are the same individual to the model: counted apart, one discovery could be multiplied at will.
        """
        self.schema = schema.with_protected(scope.protected)
        self.scope = scope
        columns = schema.inputs
        self.n_columns = len(columns)
        ranges = [_range(column, scope.limits.get(column.name)) for column in columns]
        self.low = np.array([low for low, _ in ranges])
        self.high = np.array([high for _, high in ranges])
        self.step = np.array([_step(column) for column in columns])
        span = self.high - self.low
        self.unit = np.where(self.step > 0, self.step, span / _CONTINUOUS_STEPS)
        self.protected = np.array([schema.index(name) for name in scope.protected], dtype=np.int64)
        fixed = {schema.index(name) for name in scope.fixed}
        for name in (*scope.limits, *scope.bins):
            schema.index(name)
        others = [i for i in range(self.n_columns) if i not in self.protected]
        idle = {i for i in others if taken is not None and columns[i].name not in taken}
        self.free = np.array([i for i in others if i not in idle], dtype=np.int64)
        self.movable = np.array([i for i in self.free if i not in fixed and span[i] > 0], dtype=np.int64)
        self.fixed = np.array(sorted(fixed | idle), dtype=np.int64)
        self.spelling = _spelling(schema, scope)

    def spelled(self, rows: FloatArray) -> FloatArray:
        """People ``(n_rows, n_columns)`` of rows of roles; see ``data.links``. The same array without links."""
        return rows if self.spelling is None else self.spelling.spelled(rows)

    def roles(self, rows: FloatArray) -> FloatArray:
        """Rows of roles ``(n_rows, n_columns)`` of people; the same array without links."""
        return rows if self.spelling is None else self.spelling.roles(rows)

    def clip(self, rows: FloatArray) -> FloatArray:
        """The rows with every value moved into its range; a new array."""
        return np.clip(rows, self.low, self.high)

    def filled(self, rows: FloatArray) -> FloatArray:
        """Rows with something inside the ranges where a cell is missing (NaN) and nothing was said of its attribute
        ``(n_rows, n_columns)``.

        Who misses a cell that is limited lies outside; see ``contains``.
        """
        is_limited = np.array([name in self.scope.limits for name in self.schema.names], dtype=bool)
        return np.where(np.isnan(rows) & ~is_limited, self.low, rows)

    def contains(self, rows: FloatArray) -> NDArray[np.bool_]:
        """Whether each row lies in the ranges and on their lattice ``(n_rows,)``; a missing cell lies nowhere."""
        low = self.low[:, None]
        high = self.high[:, None]
        is_continuous = self.step[:, None] <= 0
        step = np.where(is_continuous, 1.0, self.step[:, None])
        inside = np.empty(len(rows), dtype=bool)
        with np.errstate(invalid="ignore", over="ignore"):  # of a number that is none
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                part = slice(start, start + _ROWS_AT_ONCE)
                values = np.ascontiguousarray(rows[part].T)
                places = (values - low) / step
                is_on_lattice = is_continuous | (np.abs(places - np.rint(places)) < _OFF_LATTICE)
                inside[part] = ((low <= values) & (values <= high) & is_on_lattice).all(axis=0)
        return inside


class Domain(Ranges):
    """The space ``I`` of the papers, and its protected variants.

    Attributes:
        variant_values: the combinations of protected values that are compared ``(n_variants, n_protected)``: the
            product of the values of each attribute, without those that the scope excludes. Nothing may take them for a
            whole product.

    Raises:
        SettingError: too many variants, or fewer than two.
    """

    def __init__(self, schema: Schema, scope: Scope, taken: Collection[str] | None = None) -> None:
        """As ``Ranges``, and the combinations of protected values."""
        super().__init__(schema, scope, taken)
        self.variant_values = self._variant_values()

    def _variant_values(self) -> FloatArray:
        scope = self.scope
        values = [compared_values(self.schema, scope, name) for name in scope.protected]
        n_variants = math.prod(len(v) for v in values)
        most = min(scope.max_variants, MAX_PRODUCT)
        every: FloatArray = np.empty((0, len(values)))
        if n_variants <= (MAX_PRODUCT if scope.excluded else most):
            every = np.stack([part.ravel() for part in np.meshgrid(*values, indexing="ij")], axis=1)
            every = np.ascontiguousarray(every[~self.is_excluded(every)])
            n_variants = len(every)
        if n_variants > most:
            parts = " x ".join(f"{name} {len(v)}" for name, v in zip(scope.protected, values, strict=True))
            raise SettingError(
                f"The protected attributes have {n_variants:,} combinations ({parts}), more than {most:,}. Compare "
                "evenly spaced values of a number, the commonest values of a category, or fewer attributes."
            )
        if n_variants < 2:
            why = " and the others are left out" if scope.excluded else ""
            raise SettingError(
                "The protected attributes need at least two values to compare, got one for "
                f"{', '.join(scope.protected)}{why}."
            )
        return every

    def is_excluded(self, values: FloatArray) -> NDArray[np.bool_]:
        """Which combinations of protected values ``(n, n_protected)`` the scope leaves out ``(n,)``."""
        is_out: NDArray[np.bool_] = np.zeros(len(values), dtype=bool)
        for combination in self.scope.excluded:
            known = [i for i, value in enumerate(combination) if value is not None]
            wanted = np.array([combination[i] for i in known], dtype=np.float64)
            are_near: NDArray[np.bool_] = np.abs(values[:, known] - wanted) <= _EXACT * (1.0 + np.abs(wanted))
            is_out |= are_near.all(axis=1)
        return is_out

    @property
    def n_variants(self) -> int:
        """How many combinations of protected values every row is tested with."""
        return len(self.variant_values)

    @cached_property
    def n_values(self) -> FloatArray:
        """How many values each column has ``(n_columns,)``; infinity for a continuous one."""
        counts = np.full(self.n_columns, np.inf)
        lattice = self.step > 0
        counts[lattice] = np.floor((self.high - self.low)[lattice] / self.step[lattice] + 1e-9) + 1
        counts[self.high == self.low] = 1
        return counts

    @property
    def n_individuals(self) -> float:
        """How many individuals (non-protected parts) there are; infinity with a continuous column."""
        return float(np.prod(self.n_values[self.free]))

    def variant_labels(self) -> tuple[str, ...]:
        """Human names of the variants, in the order of ``variant_values``."""
        columns = [self.schema.column(name) for name in self.scope.protected]
        return tuple(
            ", ".join(column.text(value) for column, value in zip(columns, values, strict=True))
            for values in self.variant_values
        )

    # --- rows -----------------------------------------------------------------------------

    def sample(self, n: int, rng: np.random.Generator, data_rows: FloatArray | None = None) -> FloatArray:
        """Uniform rows ``(n, n_columns)``; fixed columns are drawn, jointly, from rows of the data when given."""
        rows = rng.random((n, self.n_columns))
        lattice = self.step > 0
        rows *= np.where(lattice, self.n_values, 1.0)
        if lattice.all():  # a masked floor is many times slower
            np.floor(rows, out=rows)
        else:
            rows[:, lattice] = np.floor(rows[:, lattice])
        scale = np.where(lattice, self.step, self.high - self.low)
        if (scale != 1).any():
            rows *= scale
        rows += self.low
        if len(self.fixed) and data_rows is not None and len(data_rows):
            rows[:, self.fixed] = data_rows[rng.integers(len(data_rows), size=n)][:, self.fixed]
        return rows

    def variants(self, rows: FloatArray) -> FloatArray:
        """Every variant of every row, ``(n_rows, n_variants, n_columns)``."""
        out = np.repeat(self.roles(rows)[:, None, :], self.n_variants, axis=1)
        out[:, :, self.protected] = self.variant_values
        return self.spelled(out.reshape(-1, self.n_columns)).reshape(out.shape)

    def with_variant(self, rows: FloatArray, index: IntArray) -> FloatArray:
        """Each row with the protected values of one variant; ``index`` is ``(n_rows,)``; a new array."""
        out = self.roles(rows).copy()
        out[:, self.protected] = self.variant_values[index]
        return self.spelled(out)

    def are_variants(self, rows: FloatArray) -> NDArray[np.bool_]:
        """Whether the protected values of each row are a combination that is compared ``(n_rows,)``."""
        values = self.variant_values
        own = rows[:, None, self.protected]
        differing = (np.abs(own - values) > _EXACT * (1.0 + np.abs(values))).sum(axis=2)
        return np.asarray(differing.min(axis=1) == 0)

    def variants_holding(self, values: FloatArray) -> IntArray:
        """Indices of the variants that hold exactly these protected values ``(n, n_protected)``; -1 where there is
        none.
        """
        known, places, order = self._places
        asked = _places_of(values, known)
        at = np.minimum(np.searchsorted(places, asked), len(places) - 1)
        found: IntArray = np.where(places[at] == asked, order[at], -1)
        return found

    @cached_property
    def _places(self) -> tuple[list[FloatArray], IntArray, IntArray]:
        """The values of each protected attribute; where the variants stand on their grid, ascending; and which variants
        these are.
        """
        known = [np.unique(column) for column in self.variant_values.T]
        places = _places_of(self.variant_values, known)
        order: IntArray = np.argsort(places)
        return known, places[order], order

    # --- identity -------------------------------------------------------------------------

    @cached_property
    def key_weights(self) -> tuple[FloatArray, KeyArray, bool]:
        """How a row becomes a key: ``(inverse step, weight)`` of each free column, and whether keys are exact.

        The key is the mixed-radix number of the non-protected part where that fits in 63 bits; otherwise the digits
        are mixed to a 64-bit hash.
        """
        counts = self.n_values[self.free]
        span = (self.high - self.low)[self.free]
        steps = self.step[self.free]
        inverse = np.where(
            steps > 0, 1 / np.where(steps > 0, steps, 1), _CONTINUOUS_DIGITS / np.where(span > 0, span, 1)
        )
        is_exact = bool(np.prod(counts) < _MAX_EXACT_KEYS)
        weights = [1] if is_exact else []
        for count in counts[:-1] if is_exact else ():
            weights.append(weights[-1] * int(count))
        if not is_exact:
            weights = [_odd_constant(i) for i in range(len(counts))]
        return inverse, np.array(weights[: len(counts)], dtype=np.uint64), is_exact

    def keys(self, rows: FloatArray) -> KeyArray:
        """One number an individual ``(n_rows,)``: equal for rows with the same non-protected part.

        Exact when the domain has fewer than 2**63 individuals, else a 64-bit hash.
        """
        from fairness_engine.oracle.kernels import row_keys  # numba is loaded by searches only, never by the app

        rows = np.ascontiguousarray(self.roles(rows))
        keys: KeyArray = row_keys(rows, self.free, self.low, *self.key_weights)
        return keys

    def moved_keys(self, rows: FloatArray, columns: IntArray, values: FloatArray) -> KeyArray:
        """``keys`` of the rows with ``columns[i]`` set to ``values[i]``, ``(n_rows,)`` each, without copying them."""
        from fairness_engine.oracle.kernels import moved_keys  # numba is loaded by searches only, never by the app

        if self.spelling is not None:
            moved = rows.copy()
            moved[np.arange(len(rows)), columns] = values
            return self.keys(moved)
        rows = np.ascontiguousarray(rows)
        keys: KeyArray = moved_keys(rows, columns, values, self.free, self.low, *self.key_weights)
        return keys


def _spelling(schema: Schema, scope: Scope) -> Spelling | None:
    """What the links of a scope make of rows; ``None`` without links.

    Raises:
        SchemaError: a link that cannot be.
        SettingError: one that does not fit the scope.
    """
    if not scope.links:
        return None
    links = joined(scope.links, schema)
    names = [link.column for link in links]
    for link in links:
        if link.protected not in scope.protected:
            raise SettingError(
                f"A link belongs to a protected attribute, but '{link.protected}' of '{link.protected}:{link.column}' "
                "is not protected. Protect it, or remove the link."
            )
        if link.column in scope.protected:
            raise SettingError(
                f"'{link.column}' is protected itself, so all its values are compared and none can go with "
                f"'{link.protected}'. Remove the link, or do not protect '{link.column}'."
            )
        if names.count(link.column) > 1:
            raise SettingError(
                f"'{link.column}' can go with one protected attribute only, got {names.count(link.column)}. Remove "
                "the other link."
            )
    spelling = Spelling(schema, links)
    for column, cases in spelling.cases():
        name = schema.inputs[column].name
        ends = scope.limits.get(name)
        if ends is None:
            continue
        for spellings in cases.values():
            is_inside = (spellings >= ends[0]) & (spellings <= ends[1])
            if is_inside.any() and not is_inside.all():
                raise SettingError(
                    f"The limits of '{name}' must hold all values of a role or none, but a link turns what lies inside "
                    "into what lies outside. Widen the limits, or remove the link."
                )
    return spelling


def _places_of(values: FloatArray, known: list[FloatArray]) -> IntArray:
    """Places ``(n,)`` of values ``(n, n_protected)`` on the grid of the known ones; -1 off it."""
    places = np.zeros(len(values), dtype=np.int64)
    is_known = np.ones(len(values), dtype=bool)
    for column, own in zip(values.T, known, strict=True):
        digits = np.minimum(np.searchsorted(own, column), len(own) - 1)
        is_known &= own[digits] == column
        places = places * len(own) + digits
    return np.where(is_known, places, -1)


def _range(column: Column, limits: tuple[float, float] | None) -> tuple[float, float]:
    """The first and the last value of a column within the limits."""
    if limits is None:
        return column.low, column.high
    low = float(limits[0])
    high = float(limits[1])
    if low > high:
        raise SettingError(
            f"The limits of '{column.name}' must be the lower one, then the upper, got {low:g} to {high:g}."
        )
    if not (column.low <= low <= high <= column.high):
        raise SettingError(
            f"The limits of '{column.name}' must lie within {column.low:g} to {column.high:g}, got {low:g} to {high:g}."
        )
    step = _step(column)
    if not step:
        return low, high
    first = math.ceil((low - column.low) / step - _OFF_LATTICE)
    last = math.floor((high - column.low) / step + _OFF_LATTICE)
    if first > last:
        raise SettingError(
            f"The limits of '{column.name}' must hold a value of it, but none of {column.low:g} and steps of {step:g} "
            f"from there lies within {low:g} to {high:g}. Widen them."
        )
    ends = (column.low + step * first, column.low + step * last)
    near = _OFF_LATTICE * step
    return (
        low if abs(low - ends[0]) <= near else ends[0],
        high if abs(high - ends[1]) <= near else ends[1],
    )


def _step(column: Column) -> float:
    """Distance of neighbouring values; 0 for a continuous column."""
    if column.kind is Kind.REAL:
        return float(column.step or 0.0)
    return 1.0


def compared_values(schema: Schema, scope: Scope, name: str) -> list[float]:
    """The values of one protected attribute that are compared, ascending.

    Raises:
        SettingError: limits or values that cannot be, or a continuous number without values.
    """
    column = schema.column(name)
    low, high = _range(column, scope.limits.get(name))
    if name in scope.bins:
        return _chosen_values(column, sorted(set(scope.bins[name])), (low, high))
    if column.n_values is None:
        raise SettingError(
            f"'{column.name}' is continuous: choose the values to compare, for example {low:g} and {high:g}."
        )
    step = _step(column)
    n = math.floor((high - low) / step + 1e-9) + 1
    return [low + step * i for i in range(n)]


def _chosen_values(column: Column, values: list[float], limits: tuple[float, float]) -> list[float]:
    """Values to compare that a user chose, inside the range that is searched and on the column's lattice."""
    low, high = limits
    if not values or values[0] < low or values[-1] > high:
        raise SettingError(
            f"The values of '{column.name}' must lie within {_in_words(column, [low])} to {_in_words(column, [high])}, "
            f"got {_in_words(column, values)}."
        )
    step = _step(column)
    off = [value for value in values if step and abs((value - low) / step - round((value - low) / step)) > 1e-6]
    if off:
        raise SettingError(
            f"The values of '{column.name}' must be {low:g} and steps of {step:g} from there, got {off[0]:g}."
        )
    return values


def _in_words(column: Column, values: list[float]) -> str:
    """Some values, as people read them; what is no category stays a number."""
    is_known = column.kind is Kind.CATEGORICAL and all(value in range(len(column.labels)) for value in values)
    return ", ".join(column.text(value) if is_known else f"{value:g}" for value in values[:8]) or "none"


def _places(old: Schema, new: Schema, name: str) -> dict[float, float] | None:
    """The new position of every category that is still there; ``None`` where the values of a column stay as they
    are.
    """
    both = [column for schema in (old, new) for column in schema.columns if column.name == name]
    if len(both) < 2 or any(column.kind is not Kind.CATEGORICAL for column in both):
        return None
    known = {code: float(position) for position, code in enumerate(both[1].codes)}
    return {float(position): known[code] for position, code in enumerate(both[0].codes) if code in known}


def _odd_constant(index: int) -> int:
    """A fixed odd 64-bit constant a column, spread by the golden ratio."""
    mixed = ((index + 1) * 0x9E3779B97F4A7C15) % 2**64
    mixed = ((mixed ^ (mixed >> 31)) * 0xBF58476D1CE4E5B9) % 2**64
    return mixed | 1
