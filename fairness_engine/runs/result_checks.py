"""What a result of the model's process must look like before it is stored: pages read its numbers without another look."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

_MAX_COUNT = 2**62
_MAX_POINTS = 2000
_SHARE_TOLERANCE = 1e-9


def is_possible(name: str, content: Mapping[str, Any]) -> bool:
    """Whether a result of this name can be what it says; of names without a form of their own anything can."""
    check = _CHECKS.get(name)
    return check is None or check(content)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_COUNT


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _are_figures(content: Mapping[str, Any]) -> bool:
    """Numbers of 0 or more, and nulls for what was not measured."""
    return all(value is None or _is_number(value) for value in content.values())


def _is_exact_count(content: Mapping[str, Any]) -> bool:
    found, n, share = _values(content, "n_discriminatory", "n_individuals", "share")
    if not (_is_count(found) and _is_count(n) and _is_number(share)):
        return False
    return bool(n > 0 and found <= n and abs(share - found / n) <= _SHARE_TOLERANCE)


def _is_discovery(content: Mapping[str, Any]) -> bool:
    evaluations, found = _values(content, "evaluations", "n_found")
    return _is_ascending(evaluations) and _is_ascending(found) and len(evaluations) == len(found)


def _is_split(content: Mapping[str, Any]) -> bool:
    """For each place that people came from, how many were tried and how many of them were found."""
    return all(
        isinstance(counts, Mapping) and _is_part(*_values(counts, "n_tried", "n_found")) for counts in content.values()
    )


def _is_part(whole: Any, part: Any) -> bool:
    return _is_count(whole) and _is_count(part) and bool(part <= whole)


def _values(content: Mapping[str, Any], *names: str) -> list[Any]:
    return [content.get(name) for name in names]


def _is_ascending(curve: Any) -> bool:
    is_curve = isinstance(curve, list) and 0 < len(curve) <= _MAX_POINTS and all(map(_is_count, curve))
    return is_curve and curve == sorted(curve)


_CHECKS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "count": _is_exact_count,
    "discovery": _is_discovery,
    "diversity": _are_figures,
    "plausibility": _are_figures,
    "split": _is_split,
}
