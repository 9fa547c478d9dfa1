"""A retraining in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairness_engine.command_line.certification import share_text

_NOTHING = "-"


def retrain_text(result: Mapping[str, Any]) -> str:
    """The verdict and its reason, both models side by side, and what became of the pairs."""
    verdict = result["verdict"] or result["state"]
    lines = [result["chance"]] if result["chance"] else []
    lines += [
        f"{verdict[0].upper()}{verdict[1:]}: {result['why']}"
        if result["why"]
        else f"{verdict[0].upper()}{verdict[1:]}."
    ]
    lines += _table(result["before"], result["after"])
    pairs = result["pairs"]
    if pairs is not None:
        lines.append(
            f"Found by another technique: of {pairs['n_before']:,} individuals of the original {pairs['n_fixed']:,} are fixed and "
            f"{pairs['n_still']:,} still there; of {pairs['n_after']:,} of the new model {pairs['n_new']:,} are new."
        )
    reasons = (result["measured"] or {}).get("reasons", {})
    lines += [f"Not measured ({name}): {reason}" for name, reason in reasons.items() if reason]
    return "\n".join([*lines, *(f"Note: {note}" for note in result["notes"]), _end(result)])


def _table(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Figures that at least one of both models has."""
    is_of_texts = (before.get("estimate") or {}).get("distribution") == "swaps"
    rows = [
        (
            _OF_TEXTS.get(title, title) if is_of_texts else title,
            *(_NOTHING if (value := _value(side, *path)) is None else read(value) for side in (before, after)),
        )
        for title, path, read in _ROWS
    ]
    rows = [row for row in rows if row[1:] != (_NOTHING, _NOTHING)]
    if not rows:
        return []
    lines = [("", "before", "after"), *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _interval(share: Mapping[str, Any]) -> str:
    return f"{share_text(share['share'])} ({share_text(share['low'])} to {share_text(share['high'])})"


def _score(worst: Mapping[str, Any]) -> str:
    return f"{100 * worst['score']:.1f} ({100 * worst['low']:.1f} to {100 * worst['high']:.1f})"


_ROWS = (
    ("accuracy", ("accuracy",), share_text),
    ("discriminatory individuals", ("estimate",), _interval),
    ("discriminatory test rows", ("estimate_of_rows",), _interval),
    ("worst rule set, points", ("worst_rule_set",), _score),
    ("certified", ("certified",), share_text),
    ("falsified", ("falsified",), share_text),
    ("highest rule set, points", ("top_score",), lambda score: f"{100 * score:.1f}"),
    ("individuals found by a search", ("n_found",), lambda n: f"{n:,}"),
)
"""What a line says, where the result has it, and how it is written."""


_OF_TEXTS = {
    "discriminatory individuals": "random swaps that change the decision",
    "discriminatory test rows": "test texts decided by their term",
}
"""What the two shares are called where texts are retrained."""


def _value(side: Mapping[str, Any], *path: str) -> Any:
    value: Any = side
    for part in path:
        value = None if value is None else value.get(part)
    return value


def _end(result: Mapping[str, Any]) -> str:
    n = result["iterations"]
    rounds = f"{n:,} round{'' if n == 1 else 's'} in {result['seconds']:.1f} s; {result['stop_reason'] or result['state']}. Run {result['run_id']}."
    if result["out_model"] is None:
        return rounds
    return f"{rounds}\nModel written to {result['out_model']}, its card beside it."
