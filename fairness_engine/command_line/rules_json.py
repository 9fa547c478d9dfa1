"""What the JSON says of rule sets: those of the contract, and how each was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairness_engine.errors import RunError
from fairness_engine.events import IntArray
from fairness_engine.rules.attributes import RuleAttribute
from fairness_engine.rules.scored import RuleResult, Stage
from fairness_engine.rules.settings import Source
from fairness_engine.rules.space import NO_RULE
from fairness_engine.rules.words import sentence
from fairness_engine.runs.records import RunRecord
from fairness_engine.runs.store import RunStore
from fairness_engine.schema import Kind

RULES_KEYS = (
    *(
        "n_rule_sets",
        "rule_sets",
        "n_shown",
        "n_folded",
        "n_rests",
        "top_score",
        "top_low",
        "rows",
        "source",
        "column",
        "settings",
    ),
    *("attributes", "themis", "sentences", "notes", "summary"),
)
_SAMPLED = {
    Stage.POOL: "shared",
    Stage.TOPPED_UP: "own",
    Stage.FRESH: "fresh",
    Stage.EXACT: "exact",
    Stage.ROWS: "rows",
}
"""How the samples of a score were drawn."""
_NOTHING = dict.fromkeys(("n_rule_sets", "n_shown", "n_folded", "n_rests"), 0) | {"top_score": None, "top_low": None}


def rules_fields(store: RunStore, run: RunRecord, top: int, *, with_folded: bool = False) -> dict[str, Any]:
    """What the JSON says of rule sets; a run that ended before it had scored any has none.

    Args:
        top: how many are listed, the highest scores first; 0 for all, whatever they are.
        with_folded: list also those that are nearly the same people as another.
    """
    told = _asked_and_found(run, store.results(run.id))
    try:
        result = store.rules(run.id)
    except RunError:
        return {**_NOTHING, "rule_sets": [], "rows": None, "attributes": [], **told}
    scored = result.scored
    is_own = (scored.head == np.arange(len(scored))) | (scored.head < 0)
    shown = np.flatnonzero(is_own)
    positions = shown if top and not with_folded else np.arange(len(scored))
    return {
        "n_rule_sets": len(scored),
        "rule_sets": rule_sets_json(result, positions[:top] if top else positions),
        "n_shown": len(shown),
        "n_folded": int((~is_own).sum()),
        "n_rests": int(scored.is_rest.sum()),
        "top_score": float(scored.score.max()),
        "top_low": float(scored.low.max()),
        "rows": result.n_rows,
        "attributes": [_attribute_json(attribute) for attribute in result.attributes],
        **told,
    }


def _asked_and_found(run: RunRecord, found: Mapping[str, Any]) -> dict[str, Any]:
    """What decides, the settings, and results of the run beside its rule sets."""
    settings, summary = run.config.settings, found.get("rules")
    is_of_column = settings["source"] == Source.LABELS.value
    return {
        "source": settings["source"],
        "column": (settings["predictions"] or run.config.schema.label) if is_of_column else None,
        "settings": dict(settings),
        "themis": (summary or {}).get("themis"),
        "sentences": found.get("sentences"),
        "notes": found.get("notes", {}).get("notes", []),
        "summary": summary and {name: value for name, value in summary.items() if name != "themis"},
    }


def rule_sets_json(result: RuleResult, positions: IntArray) -> list[dict[str, Any]]:
    """Some rule sets, each with its place among all.

    Args:
        result: of a run.
        positions: which, from 0.
    """
    scored = result.scored
    n_members = np.bincount(scored.head[scored.head >= 0], minlength=len(scored))
    found = []
    for position in positions.tolist():
        line, head = scored.rules[position], int(scored.head[position])
        found.append(
            {
                **result.rule_set_json(position),
                "rules": [rule_json(result.attributes[i], int(rule)) for i, rule in enumerate(line) if rule != NO_RULE],
                "rows": int(scored.n_rows[position]),
                "direction": "harmed" if scored.is_harmed[position] else "favoured",
                "error": float(scored.error[position]),
                "sampled": _SAMPLED[Stage(int(scored.stage[position]))],
                "is_rest": bool(scored.is_rest[position]),
                "rank": position + 1,
                "n_folded": max(0, int(n_members[position]) - 1),
                "folded_under": head + 1 if head not in (position, -1) else None,
                "text": sentence(result, position),
            }
        )
    return found


def rule_json(attribute: RuleAttribute, rule: int) -> dict[str, Any]:
    """A rule as the contract has it; of a continuous range also whether its upper end belongs to it."""
    found = attribute.rule_json(rule)
    if attribute.kind == Kind.REAL:
        found["includes_high"] = bool(attribute.values_of(rule)[-1] == attribute.n_values - 1)
    return found


def _attribute_json(attribute: RuleAttribute) -> Mapping[str, Any]:
    values = list(attribute.labels)
    return {"column": attribute.name, "kind": attribute.kind, "values": values, "n_rules": attribute.n_rules}
