"""What the results of a retraining must look like before they are stored: pages and the command line read them without
another look.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

from fairness_engine.retraining.settings import Strategy

MAX_ROUNDS = 100
MAX_EPOCHS = 2_000
_MAX_COUNT = 2**62
_MAX_WORDS = 5_000
_MAX_CARD = 60_000
_MAX_GROUPS = 2_000
_MAX_RULES = 100
_SHARE_TOLERANCE = 1e-9
_VERDICTS = ("improved", "no improvement", "worse", "not measured")
"""Those of ``retraining.evaluation.verdict``, whose module loads what a worker does without; a test compares the
two.
"""

Content = Mapping[str, Any]


def is_figures(content: Content) -> bool:
    """``before``, ``after`` and ``control``: how well a model decides, and how many it discriminates against."""
    return _is_quality(content.get("quality")) and _is_share(content.get("uniform")) and _is_share(content.get("data"))


def is_training(content: Content) -> bool:
    """``training``: rounds and the points of the curve, each of a round that was or is at work."""
    rounds, epochs, reference = _values(content, "rounds", "epochs", "reference")
    if not _is_list(rounds, MAX_ROUNDS, _is_round) or not _is_list(epochs, MAX_EPOCHS, _is_epoch):
        return False
    if sum(row["is_best"] for row in rounds) > 1 or any(epoch[0] > len(rounds) + 1 for epoch in epochs):
        return False
    return reference is None or (isinstance(reference, Mapping) and all(map(_is_in_one, reference.values())))


def is_changes(content: Content) -> bool:
    """``changes``: who got better and who worse, what became of the cases, and group figures."""
    is_cases = _is_part(content.get("n_cases"), content.get("n_fixed"))
    paired = [content[name] for name in ("accuracy", "uniform", "data") if name in content]
    is_report = isinstance(content.get("figures", {}), Mapping)
    return (
        is_cases
        and is_report
        and _is_list(content.get("groups"), _MAX_GROUPS, _is_group)
        and all(map(_is_paired, paired))
    )


def is_worst_rule_set(content: Content) -> bool:
    """``worst_rule_set``: one rule set before and after, and the worst of the new model."""
    scores = [content.get(name) for name in ("before", "after", "worst_after")]
    if not _is_rules(content) or not all(score is None or _is_score(score) for score in scores):
        return False
    worst = content.get("worst_after")
    change = content.get("change")
    return (worst is None or _is_rules(worst)) and (change is None or _is_paired(change))


def is_retrained(content: Content) -> bool:
    """``retrained``: what was done, and how it came out. What it says beside that are facts: numbers, texts and lists
    of texts.
    """
    counts = (
        "n_rounds",
        "n_train",
        "n_validation",
        "n_test",
        "n_cases",
        "n_of_test_people",
        "round",
        "n_added",
        "n_vetoed",
    )
    claims = [value for name, value in content.items() if name.startswith(("has_", "is_"))]
    return (
        content.get("strategy") in list(Strategy)
        and content.get("verdict") in _VERDICTS
        and all(_is_text(content.get(name, "")) for name in ("why", "kind", "technique", "no_file", "reference"))
        and _is_list(content.get("notes", []), MAX_ROUNDS, _is_text)
        and all(_is_count(content.get(name, 0)) for name in counts)
        and all(isinstance(claim, bool) for claim in claims)
        and isinstance(content.get("has_model"), bool)
        and _is_in_one(content.get("tolerance"))
        and all(map(_is_fact, content.values()))
    )


def is_card(content: Content) -> bool:
    """``card``: Markdown."""
    text = content.get("text")
    return isinstance(text, str) and 0 < len(text) <= _MAX_CARD


RETRAIN_CHECKS: dict[str, Callable[[Content], bool]] = {
    "before": is_figures,
    "after": is_figures,
    "control": is_figures,
    "training": is_training,
    "changes": is_changes,
    "worst_rule_set": is_worst_rule_set,
    "retrained": is_retrained,
    "card": is_card,
}


# --- parts ----------------------------------------------------------------------------------------


def _is_quality(content: Any) -> bool:
    if not isinstance(content, Mapping) or not _is_count(content.get("n")):
        return False
    auc = content.get("auc")
    figures = [content.get("accuracy"), content.get("f1"), *([] if auc is None else [auc])]
    return all(isinstance(one, Mapping) and _is_interval(one, 0.0, 1.0) for one in figures)


def _is_share(content: Any) -> bool:
    """Hits among draws, with the interval of their share; nothing drawn has the share 0 and says nothing."""
    if not isinstance(content, Mapping) or not _is_part(content.get("n"), content.get("n_hits")):
        return False
    n, n_hits, share = _values(content, "n", "n_hits", "share")
    is_right = _is_in_one(share) and abs(share - (n_hits / n if n else 0.0)) <= _SHARE_TOLERANCE
    return is_right and _is_interval({**content, "value": share}, 0.0, 1.0)


def _is_round(row: Any) -> bool:
    if not isinstance(row, Mapping) or not _is_text(row.get("title")) or not _is_count(row.get("n_added")):
        return False
    claims = [row.get("is_within"), row.get("is_best"), row.get("is_vetoed", False), row.get("is_control", False)]
    facts = row.get("facts", {})
    return (
        _is_text(row.get("no_file", ""))
        and all(_is_in_one(row.get(name)) for name in ("accuracy", "uniform", "data"))
        and _is_number(row.get("objective"))
        and all(isinstance(claim, bool) for claim in claims)
        and isinstance(facts, Mapping)
        and all(map(_is_fact, facts.values()))
    )


def _is_epoch(point: Any) -> bool:
    """Round, epoch, loss, loss and accuracy on the validation rows."""
    if not isinstance(point, list) or len(point) != 5 or not all(_is_count(n) and n > 0 for n in point[:2]):
        return False
    return all(value is None or _is_number(value) for value in point[2:4]) and (
        point[4] is None or _is_in_one(point[4])
    )


def _is_group(group: Any) -> bool:
    if not isinstance(group, Mapping):
        return False
    names = group.get("names")
    labels = group.get("labels")
    counts = _values(group, "n", "n_before", "n_after", "n_better", "n_worse")
    if not all(isinstance(texts, list) and _is_list(texts, _MAX_RULES, _is_text) for texts in (names, labels)):
        return False
    if len(list(names or ())) != len(list(labels or ())):
        return False
    if not all(map(_is_count, counts)):
        return False
    n, before, after, better, worse = counts
    return bool(
        max(before, after) <= n and worse <= before and better <= n - before and before + better - worse == after
    )


def _is_paired(content: Any) -> bool:
    """A change of a share of the same rows, -1 to 1, with the rows that came and went."""
    if not isinstance(content, Mapping) or not _is_interval(content, -1.0, 1.0):
        return False
    n, gained, lost = _values(content, "n", "n_gained", "n_lost")
    if not (_is_count(gained) and _is_count(lost)):
        return False
    if n is None:
        return True
    return (
        _is_part(n, gained + lost) and abs(content["value"] - ((gained - lost) / n if n else 0.0)) <= _SHARE_TOLERANCE
    )


def _is_rules(content: Any) -> bool:
    """Rules, and the words for them."""
    if not isinstance(content, Mapping):
        return False
    is_rules = _is_list(content.get("rules", []), _MAX_RULES, lambda rule: isinstance(rule, Mapping))
    return is_rules and all(_is_text(content.get(name, "")) for name in ("text", "group", "reason"))


def _is_score(content: Any) -> bool:
    """The favourable share inside, less that outside; of either sign."""
    if not isinstance(content, Mapping):
        return False
    score, inside, outside = _values(content, "score", "inside", "outside")
    if not (_is_number(score) and _is_in_one(inside) and _is_in_one(outside)):
        return False
    is_counted = all(_is_count(content.get(name, 0)) for name in ("n_inside", "n_outside"))
    return is_counted and _is_interval({**content, "value": score}, -1.0, 1.0)


def _is_interval(content: Content, least: float, most: float) -> bool:
    """``low <= value <= high`` within what can be, but for the last bits."""
    ends: tuple[Any, ...] = (least, *(content.get(name) for name in ("low", "value", "high")), most)
    if not all(map(_is_number, ends[1:-1])):
        return False
    return all(first <= second + _SHARE_TOLERANCE for first, second in itertools.pairwise(ends))


def _values(content: Content, *names: str) -> list[Any]:
    return [content.get(name) for name in names]


def _is_list(values: Any, most: int, check: Callable[[Any], bool]) -> bool:
    return isinstance(values, list) and len(values) <= most and all(map(check, values))


def _is_fact(value: Any) -> bool:
    if isinstance(value, list):
        return _is_list(value, MAX_ROUNDS, _is_fact)
    return value is None or isinstance(value, bool) or _is_number(value) or _is_text(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_WORDS


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_COUNT


def _is_part(whole: Any, part: Any) -> bool:
    return _is_count(whole) and _is_count(part) and bool(part <= whole)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_in_one(value: Any) -> bool:
    return _is_number(value) and bool(0 <= value <= 1)
