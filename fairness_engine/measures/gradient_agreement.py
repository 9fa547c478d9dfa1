"""What a comparison of estimated and true gradients says, and how the app reads it from the model's process.

Kept apart from ``gradient_accuracy.py``, which computes it: the app's process loads no search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fairness_engine.errors import breach

SIZES = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""The perturbation sizes h that are tried, in units of a column."""
ALIKE = 0.9
"""Above this cosine (26 degrees) two gradients are said to point the same way."""
N_SEEDS = 3
PICTURED = 1.0
"""The size whose estimates are drawn in two principal components: the search's default."""
MAX_PICTURED = 150
"""People drawn: more would hide one another."""
_FARTHEST = 2.0
"""No two directions, which have length 1, are further apart."""
Quartiles = tuple[float, float, float]
"""Lower quartile, median, upper quartile."""
Points = tuple[tuple[float, float], ...]
_MAX_COUNT = 2**53


@dataclass(frozen=True)
class Agreement:
    """How estimated gradients of one size compare with the true ones; shares of people, ``None`` where there is nobody.

    Args:
        quartiles: of the cosine, over people for whom neither gradient is zero: lower, median, upper.
        alike_share: of people with a true gradient: those whose cosine exceeds ``ALIKE``.
        sign_share: of the attributes with a true slope, over all people: those whose estimated slope has its sign.
        zero_share: of people with a true gradient: those whose estimate is exactly zero.
    """

    quartiles: Quartiles | None
    alike_share: float | None
    sign_share: float | None
    zero_share: float | None


@dataclass(frozen=True)
class Guidance:
    """What a search makes of estimated slopes beside what it would make of the true ones; ``None`` where there is
    nobody.

    Args:
        directions: quartiles of the cosine between the directions of the global phase (for each attribute the sign of
            both slopes of a pair, 0 where they differ), over pairs that are not yet discriminatory and have a true
            direction; no direction at all counts as 0 (RQ3.2).
        probabilities: quartiles of the cosine between the probabilities with which the local phase chooses an
            attribute, over all pairs (RQ3.3).
    """

    directions: Quartiles | None
    probabilities: Quartiles | None


@dataclass(frozen=True)
class Picture:
    """Directions of gradients, each of length 1, in the first two principal components of the true ones.

    Args:
        shares: of the spread of the true directions, along either component, 0 to 1, the larger first.
        true, estimated: of the same people, the same order ``(x, y)``, at most ``MAX_PICTURED``.
    """

    shares: tuple[float, float]
    true: Points
    estimated: Points


@dataclass(frozen=True)
class AtSize:
    """Everything measured with one perturbation size.

    Args:
        h: the size, in units of a column.
        exact: the difference quotient of float64 scores, as the paper's mathematics has it.
        fast: of the scores that a search is guided by (float32 for a dense network).
        guidance: what the two phases of a search make of the latter.
        n_found: individuals that MAFT found with this size, one number a seed; empty when time ran out.
    """

    h: float
    exact: Agreement
    fast: Agreement
    guidance: Guidance
    n_found: tuple[int, ...] = ()


@dataclass(frozen=True)
class GradientCheck:
    """The answer.

    Args:
        n_people: rows of the data that were looked at.
        n_flat: of them, those whose true gradient is exactly zero.
        n_attributes: columns that the gradients have: not protected, and free to move.
        n_pairs: of the people, those who were paired with the variant whose score is furthest away.
        n_discriminatory: of the pairs, those that are decided differently already; the global phase has no use for
            them.
        picture: with ``PICTURED``; ``None`` with fewer than two attributes or three people.
        search_evaluations: budget of each search.
        sizes: by ascending ``h``.
        is_complete: False when time ran out first.
    """

    n_people: int
    n_flat: int
    n_attributes: int
    n_pairs: int
    n_discriminatory: int
    picture: Picture | None
    search_evaluations: int
    sizes: tuple[AtSize, ...]
    is_complete: bool

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and text; ``from_json`` reads it back to an equal answer."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Any) -> GradientCheck:
        """Read an answer of the model's process, which may have been handed a hostile model.

        Raises:
            ProcessError: it says what cannot be.
        """
        try:
            return _read_check(content)
        except (KeyError, TypeError, ValueError):
            raise breach("it sent a comparison of gradients that cannot be") from None


# --- reading an answer --------------------------------------------------------------------------


def _read_check(content: Mapping[str, Any]) -> GradientCheck:
    sizes = tuple(_read_size(entry) for entry in _listed(content["sizes"], len(SIZES)))
    if not sizes or [entry.h for entry in sizes] != sorted({entry.h for entry in sizes}):
        raise ValueError("sizes")
    names = ("n_people", "n_flat", "n_attributes", "n_pairs", "n_discriminatory", "search_evaluations")
    counts = {name: _count(content[name]) for name in names}
    if max(counts["n_flat"], counts["n_pairs"]) > counts["n_people"] or counts["n_discriminatory"] > counts["n_pairs"]:
        raise ValueError("counts")
    picture = None if content["picture"] is None else _read_picture(content["picture"])
    return GradientCheck(**counts, picture=picture, sizes=sizes, is_complete=content["is_complete"] is True)


def _read_picture(content: Mapping[str, Any]) -> Picture:
    first, second = (_within(share, 0.0) for share in _listed(content["shares"], 2))
    true, estimated = (tuple(_read_point(p) for p in _listed(content[name], MAX_PICTURED)) for name in _SIDES)
    if second > first or len(true) != len(estimated):
        raise ValueError("picture")
    return Picture((first, second), true, estimated)


_SIDES = ("true", "estimated")


def _read_point(content: Any) -> tuple[float, float]:
    x, y = (_within(value / _FARTHEST, -1.0) * _FARTHEST for value in _listed(content, 2))
    return x, y


def _read_size(content: Mapping[str, Any]) -> AtSize:
    if content["h"] not in SIZES:
        raise ValueError("h")
    found = tuple(_count(n) for n in _listed(content["n_found"], N_SEEDS))
    exact, fast = (_read_agreement(content[name]) for name in ("exact", "fast"))
    guidance = Guidance(*(_read_quartiles(content["guidance"][name]) for name in ("directions", "probabilities")))
    return AtSize(float(content["h"]), exact, fast, guidance, found)


def _read_agreement(content: Mapping[str, Any]) -> Agreement:
    names = ("alike_share", "sign_share", "zero_share")
    shares = {name: None if content[name] is None else _within(content[name], 0.0) for name in names}
    return Agreement(_read_quartiles(content["quartiles"]), **shares)


def _read_quartiles(content: Any) -> Quartiles | None:
    if content is None:
        return None
    low, middle, high = (_within(value, -1.0) for value in _listed(content, 3))
    if not low <= middle <= high:
        raise ValueError("quartiles")
    return low, middle, high


def _listed(values: Any, n_most: int) -> list[Any] | tuple[Any, ...]:
    if not isinstance(values, list | tuple) or len(values) > n_most:
        raise ValueError("list")
    return values


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MAX_COUNT:
        raise ValueError("count")
    return value


def _within(value: Any, low: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= 1.0:
        raise ValueError("share")
    return float(value)
