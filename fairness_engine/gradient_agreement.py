"""What a comparison of estimated and true gradients says, and how the app reads it from the model's process.

Kept apart from ``gradient_check.py``, which computes it: the app's process loads no search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fairness_engine.errors import ProcessError

SIZES = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""The perturbation sizes h that are tried, in units of a column."""
ALIKE = 0.9
"""Above this cosine (26 degrees) two gradients are said to point the same way."""
N_SEEDS = 3
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

    quartiles: tuple[float, float, float] | None
    alike_share: float | None
    sign_share: float | None
    zero_share: float | None


@dataclass(frozen=True)
class AtSize:
    """Everything measured with one perturbation size.

    Args:
        h: the size, in units of a column.
        exact: the difference quotient of float64 scores, as the paper's mathematics has it.
        fast: of the scores that a search is guided by (float32 for a dense network).
        n_found: individuals that MAFT found with this size, one number a seed; empty when time ran out.
    """

    h: float
    exact: Agreement
    fast: Agreement
    n_found: tuple[int, ...] = ()


@dataclass(frozen=True)
class GradientCheck:
    """The answer.

    Args:
        n_people: rows of the data that were looked at.
        n_flat: of them, those whose true gradient is exactly zero.
        n_attributes: columns that the gradients have: not protected, and free to move.
        search_evaluations: budget of each search.
        sizes: by ascending ``h``.
        is_complete: False when time ran out first.
    """

    n_people: int
    n_flat: int
    n_attributes: int
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
            raise ProcessError(
                "The model's process broke its protocol: it sent a comparison of gradients that cannot be."
            ) from None


# --- reading an answer --------------------------------------------------------------------------


def _read_check(content: Mapping[str, Any]) -> GradientCheck:
    sizes = tuple(_read_size(entry) for entry in _listed(content["sizes"], len(SIZES)))
    if not sizes or [entry.h for entry in sizes] != sorted({entry.h for entry in sizes}):
        raise ValueError("sizes")
    names = ("n_people", "n_flat", "n_attributes", "search_evaluations")
    counts = {name: _count(content[name]) for name in names}
    if counts["n_flat"] > counts["n_people"]:
        raise ValueError("n_flat")
    return GradientCheck(**counts, sizes=sizes, is_complete=content["is_complete"] is True)


def _read_size(content: Mapping[str, Any]) -> AtSize:
    if content["h"] not in SIZES:
        raise ValueError("h")
    found = tuple(_count(n) for n in _listed(content["n_found"], N_SEEDS))
    return AtSize(float(content["h"]), _read_agreement(content["exact"]), _read_agreement(content["fast"]), found)


def _read_agreement(content: Mapping[str, Any]) -> Agreement:
    quartiles = content["quartiles"]
    if quartiles is not None:
        low, middle, high = (_within(value, -1.0) for value in _listed(quartiles, 3))
        if not low <= middle <= high:
            raise ValueError("quartiles")
        quartiles = (low, middle, high)
    names = ("alike_share", "sign_share", "zero_share")
    shares = {name: None if content[name] is None else _within(content[name], 0.0) for name in names}
    return Agreement(quartiles, **shares)


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
