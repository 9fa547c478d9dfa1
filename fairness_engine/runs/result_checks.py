"""What a result of the model's process must look like before it is stored: pages read its numbers without another
look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from fairness_engine.models.fit.reading_state import State
from fairness_engine.runs.retrain_checks import RETRAIN_CHECKS

_MAX_COUNT = 2**62
_MAX_POINTS = 2000
_MAX_WORDS = 500
_MAX_RULES = 100
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


def _is_reading(content: Mapping[str, Any]) -> bool:
    """How far it is confirmed that the model is read rightly: see ``models/fit/reading.py``; only what pages and files
    say of it.
    """
    state, advice, area = _values(content, "state", "advice", "auc")
    is_area = area is None or (is_number(area) and area <= 1)
    sentences = advice if isinstance(advice, list) else [None]
    return (
        state in list(State)
        and is_area
        and all(isinstance(text, str) and len(text) <= _MAX_WORDS for text in sentences)
    )


def _is_scan(content: Mapping[str, Any]) -> bool:
    """How many people of the data a scan tested, and how many it left out, and why."""
    names = ("n_outside", "n_not_drawn", "n_dropped")
    return _is_part(*_values(content, "n_people", "n_tested")) and all(map(is_count, _values(content, *names)))


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


def _are_rules(content: Mapping[str, Any]) -> bool:
    """The figures of a run of rule sets; what it says beside them is for its own readers."""
    n, n_rows, n_shown = _values(content, "n_rule_sets", "n_rows", "n_shown")
    by_size = content.get("n_by_size", [])
    themis = content.get("themis")
    return (
        _is_part(n, n_shown)
        and is_count(n_rows)
        and isinstance(by_size, list)
        and all(map(is_count, by_size))
        and (not by_size or sum(by_size) == n)
        and all(is_count(content.get(name, 0)) for name in ("n_whole", "max_attributes", "n_neighbours"))
        and (themis is None or _is_themis(themis))
    )


def _is_themis(content: Any) -> bool:
    """The two sub-groups that are furthest apart."""
    if not isinstance(content, Mapping) or not _is_interval(*_values(content, "low", "score", "high")):
        return False
    groups = _values(content, "lowest", "highest")
    counts = _values(content, "least_rows", "n_groups")
    return all(map(is_count, counts)) and all(
        isinstance(group, Mapping) and _is_themis_group(group) for group in groups
    )


def _is_themis_group(content: Mapping[str, Any]) -> bool:
    rules, n_rows, n = _values(content, "rules", "n_rows", "n")
    is_interval = _is_interval(*_values(content, "low", "share", "high"))
    return is_interval and is_count(n_rows) and is_count(n) and isinstance(rules, list) and len(rules) <= _MAX_RULES


def _is_interval(low: Any, value: Any, high: Any) -> bool:
    """Three shares in order, but for the last bits."""
    if not all(map(is_number, (low, value, high))):
        return False
    return bool(low <= value + _SHARE_TOLERANCE and value <= high + _SHARE_TOLERANCE and high <= 1 + _SHARE_TOLERANCE)


def _are_notes(content: Mapping[str, Any]) -> bool:
    """Sentences."""
    notes = content.get("notes")
    return isinstance(notes, list) and all(isinstance(note, str) for note in notes)


def _are_sentences(content: Mapping[str, Any]) -> bool:
    """Pairs of texts that differ in terms, with the places of the swapped words, and what was seen of each rule set."""
    lists = pairs, looked = _values(content, "pairs", "looked")
    if not all(isinstance(each, list) and all(isinstance(part, Mapping) for part in each) for each in lists):
        return False
    counts = _values(content, "n_differing", "n_looked_at")
    return all(map(is_count, counts)) and all(map(_is_sentence_pair, pairs)) and all(map(_is_looked_at, looked))


def _is_looked_at(content: Mapping[str, Any]) -> bool:
    """How many texts of a rule set were looked at, in how many a term makes a difference, and in which direction."""
    shares = _values(content, "lost", "gained")
    is_part = _is_part(*_values(content, "n_looked_at", "n_differing"))
    return is_count(content.get("rule_set")) and is_part and all(is_number(share) and share <= 1 for share in shares)


def _is_sentence_pair(pair: Mapping[str, Any]) -> bool:
    texts = _values(pair, "category", "term", "other", "first", "second")
    decisions, scores = _values(pair, "decisions", "scores")
    return (
        is_count(pair.get("rule_set"))
        and all(isinstance(text, str) for text in texts)
        and all(_are_spans(pair.get(f"spans_{name}"), len(pair[name])) for name in ("first", "second"))
        and isinstance(pair.get("is_original"), bool)
        and _are_two(decisions, is_count)
        and _are_two(scores, lambda score: is_number(abs(score)))
    )


def _are_two(values: Any, check: Callable[[Any], bool]) -> bool:
    is_pair = isinstance(values, list) and len(values) == 2
    return is_pair and all(isinstance(value, int | float) and check(value) for value in values)


def _are_spans(spans: Any, n_characters: int) -> bool:
    """Places ``[start, end]`` in a text, in order, none over another."""
    if not isinstance(spans, list) or not all(_are_two(span, is_count) for span in spans):
        return False
    ends = [end for span in spans for end in span]
    return ends == sorted(ends) and all(start < end for start, end in spans) and max(ends, default=0) <= n_characters


_CHECKS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "certification": _is_certification,
    "count": _is_exact_count,
    "discovery": _is_discovery,
    "diversity": _are_figures,
    "notes": _are_notes,
    "plausibility": _are_figures,
    "reading": _is_reading,
    "rules": _are_rules,
    "scan": _is_scan,
    "sentences": _are_sentences,
    "split": _is_split,
    **RETRAIN_CHECKS,
}
