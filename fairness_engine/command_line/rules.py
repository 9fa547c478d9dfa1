"""The command ``rules``: which groups are treated differently, without anybody naming one."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairness_engine.budget import Budget
from fairness_engine.command_line.display import progress_text, say
from fairness_engine.command_line.outcome import Outcome, end_status, run_fields
from fairness_engine.command_line.request import assess
from fairness_engine.command_line.rules_text import rules_text
from fairness_engine.command_line.searches import make_config, run_one
from fairness_engine.errors import RunError, SettingError
from fairness_engine.events import IntArray
from fairness_engine.rules.attributes import RuleAttribute
from fairness_engine.rules.scored import RuleResult
from fairness_engine.rules.scores import Stage
from fairness_engine.rules.settings import RuleSettings, Source
from fairness_engine.rules.space import NO_RULE
from fairness_engine.rules.words import sentence
from fairness_engine.runs.config import RunKind
from fairness_engine.runs.records import RunRecord
from fairness_engine.runs.store import RunStore
from fairness_engine.schema import Kind

RULES_KEYS = (
    *("n_rule_sets", "rule_sets", "n_shown", "n_listed", "top_score", "top_low", "rows", "source", "column"),
    *("settings", "attributes", "summary"),
)
SAMPLED = {
    Stage.POOL: "shared",
    Stage.TOPPED_UP: "own",
    Stage.FRESH: "fresh",
    Stage.EXACT: "exact",
    Stage.ROWS: "rows",
}
"""How the samples of a score were drawn, as the JSON says it."""
_UNLIMITED = 2**62
"""A run of rule sets is limited by seconds alone; a budget wants one limit."""


def rules(options: argparse.Namespace) -> Outcome:
    """Score every group that is large enough.

    Raises:
        InputError: an option out of its range, no protected attribute, no group large enough, no outcome to compare.
        RunError: data and model cannot be used.
    """
    settings = _settings(options)
    assessed = assess(options)
    if options.values or options.gap:
        say(
            "Note: --values and --gap have no effect on rule sets: numbers are cut by --bins, and decisions are compared."
        )
    budget = Budget(_UNLIMITED, options.max_seconds)
    config = make_config(assessed, options, RunKind.RULES, budget=budget, settings=settings.to_json())

    def shown(run: RunRecord, *, has_bar: bool) -> str:
        return progress_text(run, has_bar=has_bar, counts=f"{run.evaluations:,} evaluations, {run.seconds:.1f} s")

    run = run_one(assessed, config, options, shown)
    result = {**run_fields(run), **rules_fields(assessed.store, run, options.top, with_folded=options.folded)}
    return Outcome(result, rules_text(result), end_status(run))


def _settings(options: argparse.Namespace) -> RuleSettings:
    """The settings that the options describe.

    Raises:
        SettingError: one out of its range, or predictions beside a model.
    """
    names = ("support", "error", "confidence", "least_samples", "bins", "edges", "max_attributes", "one_sided")
    given = {name: getattr(options, name) for name in names}
    if options.model and options.predictions:
        raise SettingError(
            "--predictions compares a column of the table without a model. Leave --model out, or --predictions."
        )
    source = Source.MODEL if options.model else Source.LABELS
    return RuleSettings.from_json({**given, "source": source.value, "predictions": options.predictions})


def rules_fields(store: RunStore, run: RunRecord, top: int, *, with_folded: bool = False) -> dict[str, Any]:
    """What the JSON says of rule sets; a run that ended before it had scored any has none.

    Args:
        top: how many are listed, the highest scores first; 0 for all.
        with_folded: list also those that are nearly the same people as one above them.
    """
    settings = run.config.settings
    is_of_column = settings["source"] == Source.LABELS.value
    fields = {
        "source": settings["source"],
        "column": (settings["predictions"] or run.config.schema.label) if is_of_column else None,
        "settings": dict(settings),
        "summary": store.results(run.id).get("rules"),
    }
    try:
        result = store.rules(run.id)
    except RunError:
        nothing = {"n_rule_sets": 0, "rule_sets": [], "n_shown": 0, "n_listed": 0, "top_score": None, "top_low": None}
        return {**nothing, "rows": None, "attributes": [], **fields}
    head = result.scored.head
    is_shown = (head == np.arange(len(head))) | (head < 0)
    positions = np.arange(len(head)) if with_folded else np.flatnonzero(is_shown)
    listed = positions[:top] if top else positions
    return {
        "n_rule_sets": len(head),
        "rule_sets": rule_sets_json(result, listed),
        "n_shown": int(is_shown.sum()),
        "n_listed": len(listed),
        "top_score": float(result.scored.score[0]),
        "top_low": float(result.scored.low.max()),
        "rows": result.n_rows,
        "attributes": [_attribute_json(attribute) for attribute in result.attributes],
        **fields,
    }


def rule_sets_json(result: RuleResult, positions: IntArray) -> list[dict[str, Any]]:
    """Some rule sets, each with its place among all.

    Args:
        result: of a run.
        positions: which, from 0.
    """
    scored = result.scored
    n_members = np.bincount(scored.head[scored.head >= 0], minlength=len(scored))
    is_harmed, stage = scored.is_harmed, scored.stage
    found = []
    for position in positions.tolist():
        line = scored.rules[position]
        head = int(scored.head[position])
        found.append(
            {
                **result.rule_set_json(position),
                "rules": [rule_json(result.attributes[i], int(rule)) for i, rule in enumerate(line) if rule != NO_RULE],
                "rows": int(scored.n_rows[position]),
                "direction": "harmed" if is_harmed[position] else "favoured",
                "error": float(scored.error[position]),
                "sampled": SAMPLED[Stage(int(stage[position]))],
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
    return {
        "column": attribute.name,
        "kind": attribute.kind,
        "values": list(attribute.labels),
        "n_rules": attribute.n_rules,
    }
