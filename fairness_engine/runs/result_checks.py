"""What a result of the model's process must look like before it is stored: pages read its numbers without another look."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

_MAX_COUNT = 2**62
_MAX_POINTS = 2000
_MAX_WORDS = 500
_SHARE_TOLERANCE = 1e-9
_SUM_TOLERANCE = 1e-6


def is_possible(name: str, content: Mapping[str, Any]) -> bool:
    """Whether a result of this name can be what it says; of names without a form of their own anything can."""
    check = _CHECKS.get(name)
    return check is None or check(content)


def is_count(value: Any) -> bool:
    """Whether this is a whole number of 0 or more, and not absurd."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_COUNT


def is_number(value: Any) -> bool:
    """Whether this is a finite number of 0 or more."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _are_figures(content: Mapping[str, Any]) -> bool:
    """Numbers of 0 or more, and nulls for what was not measured."""
    return all(value is None or is_number(value) for value in content.values())


def _is_exact_count(content: Mapping[str, Any]) -> bool:
    found, n, share = _values(content, "n_discriminatory", "n_individuals", "share")
    if not (is_count(found) and is_count(n) and is_number(share)):
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
    return is_count(whole) and is_count(part) and bool(part <= whole)


def _values(content: Mapping[str, Any], *names: str) -> list[Any]:
    return [content.get(name) for name in names]


def _is_ascending(curve: Any) -> bool:
    is_curve = isinstance(curve, list) and 0 < len(curve) <= _MAX_POINTS and all(map(is_count, curve))
    return is_curve and curve == sorted(curve)


def _is_certification(content: Mapping[str, Any]) -> bool:
    """The last word of a certification; what is estimated beside it may be missing."""
    shares = _values(content, "certified", "falsified", "undecided")
    counts = _values(content, "boxes", "n_open", "depth", "n_leaves", "n_counterexamples")
    texts = _values(content, "mode", "weights", "kind", "method")
    claims = _values(content, "is_by_construction", "one_sided")
    n = content.get("n_individuals")
    return (
        all(map(is_number, (*shares, content.get("seconds"))))
        and abs(sum(shares) - 1) <= _SUM_TOLERANCE
        and (n is None or is_number(n))
        and all(map(is_count, counts))
        and all(isinstance(text, str) and len(text) <= _MAX_WORDS for text in texts)
        and all(isinstance(claim, bool) for claim in claims)
        and _is_estimate(content.get("estimate"))
        and _are_data_rows(content.get("data_rows"))
    )


def _is_estimate(content: Any) -> bool:
    """The share of the undecided that is unfair, with its interval; null where nothing was drawn."""
    if content is None:
        return True
    if not isinstance(content, Mapping):
        return False
    share, low, high = _values(content, "unfair_share_of_undecided", "low", "high")
    n, n_unfair = _values(content, "n", "n_unfair")
    return _is_part(n, n_unfair) and all(map(is_number, (share, low, high))) and bool(low <= share <= high <= 1)


def _are_data_rows(content: Any) -> bool:
    """How many rows of the data are proved to be what; null where that was not counted."""
    if content is None:
        return True
    if not isinstance(content, Mapping):
        return False
    n, *parts = _values(content, "n", "certified", "falsified", "undecided")
    return all(map(is_count, (n, *parts))) and bool(sum(parts) == n)


_CHECKS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "certification": _is_certification,
    "count": _is_exact_count,
    "discovery": _is_discovery,
    "diversity": _are_figures,
    "plausibility": _are_figures,
    "split": _is_split,
}
