"""The command ``rules``: which groups are treated differently, without anybody naming one."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.audit.rule_sets import RulesCheck
from fairness_engine.cli.commands.search import run_one
from fairness_engine.cli.output import Outcome, counted, outcome_of, run_fields, say
from fairness_engine.cli.parser import named_terms, read_settings, text_scope
from fairness_engine.cli.request import Request, assess, guessed_favourable, read_scope
from fairness_engine.data.recorded import Source
from fairness_engine.errors import ModelError, RunError, SettingError
from fairness_engine.groups.results import RuleSummary, Themis
from fairness_engine.groups.rule_sets.attributes import RuleAttribute
from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.groups.rule_sets.phrases import sentence, share_text
from fairness_engine.groups.rule_sets.result import RuleResult, Stage
from fairness_engine.groups.rule_sets.settings import USUAL_ATTRIBUTES, RuleSettings
from fairness_engine.oracle.budget import Budget
from fairness_engine.runs import kinds
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.records import RunRecord
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

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
RULES_PARTS = {"themis": Themis, "summary": RuleSummary}
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
        result = stored_rules(store, run.id)
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
    settings = kinds.RULES.settings(run.config)
    summary = found.get("rules")
    is_of_column = settings.source is Source.LABELS
    return {
        "source": settings.source.value,
        "column": (settings.predictions or run.config.schema.label) if is_of_column else None,
        "settings": settings.to_json(),
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
        line = scored.rules[position]
        head = int(scored.head[position])
        found.append(
            {
                **result.rule_set_json(position),
                "rules": [result.attributes[i].exact_rule(int(rule)) for i, rule in enumerate(line) if rule != NO_RULE],
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


def _attribute_json(attribute: RuleAttribute) -> Mapping[str, Any]:
    values = list(attribute.labels)
    return {"column": attribute.name, "kind": attribute.kind, "values": values, "n_rules": attribute.n_rules}


_MOST_SHOWN = 10


def rules_text(result: Mapping[str, Any]) -> str:
    """The result of the command ``rules`` in words."""
    end = result["stop_reason"] or result["state"]
    if not result["n_rule_sets"]:
        return f"No rule set was scored; {end}. Run {result['run_id']}."
    spent = f"{result['evaluations']:,} evaluations in {result['seconds']:.1f} s"
    lines = [_heading(result), *(_line(rule_set, _people(result)) for rule_set in result["rule_sets"])]
    lines += [_how(result), *result["notes"]]
    return "\n".join([*lines, f"{spent}; {end}. Run {result['run_id']}."])


def _heading(result: Mapping[str, Any]) -> str:
    settings = result["settings"]
    n = result["n_rule_sets"]
    least = share_text(settings["support"])
    whose = f"the column '{result['column']}'" if result["source"] == Source.LABELS.value else "the model"
    text = (
        f"{counted(n, 'rule set holds', 'rule sets hold')} {least} of the {result['rows']:,} {_people(result)} or "
        f"more, by what {whose} decides."
    )
    if result["n_folded"]:
        text += (
            f" {counted(result['n_folded'], 'is', 'are')} nearly the same {_people(result)} as another, or nearly "
            "all that are not of it, and folded under it."
        )
    if result["n_rests"]:
        text += (
            f" {counted(result['n_rests'], 'holds', 'hold')} nearly everybody, which says something of the few outside."
        )
    most = RuleSettings.from_json(settings).most_attributes(len(result["attributes"]))
    reached = (result["summary"] or {}).get("max_attributes", most)
    if reached < most:
        unasked = reached >= USUAL_ATTRIBUTES and not settings["max_attributes"]
        why = "--max-attributes asks for them" if unasked else "they would be too many"
        text += f" Those on more than {counted(reached, 'attribute', 'attributes')} were left out: {why}."
    return f"{text} The highest scores:"


def _people(result: Mapping[str, Any]) -> str:
    """What groups are made of."""
    return "texts" if result["settings"]["text_column"] else "rows"


def _line(rule_set: Mapping[str, Any], people: str) -> str:
    size = f"{rule_set['rows']:,} {people} ({share_text(rule_set['support'])})"
    text = f"{rule_set['rank']:>6}. {rule_set['text']}; score {_points(rule_set)}; {size}"
    if rule_set["n_folded"]:
        text += f"; {rule_set['n_folded']:,} more like it"
    if rule_set["folded_under"] is not None:
        text += f"; folded under {rule_set['folded_under']}"
    if rule_set["is_rest"]:
        text += f": nearly everybody, so this speaks of the {share_text(1 - rule_set['support'])} outside"
    return text


def _points(rule_set: Mapping[str, Any]) -> str:
    score, low, high = (100 * rule_set[name] for name in ("score", "low", "high"))
    return f"{score:.1f} points" if low == high else f"{score:.1f} points ({low:.1f} to {high:.1f})"


def _how(result: Mapping[str, Any]) -> str:
    """What the scores rest on, and what the intervals mean."""
    settings = result["settings"]
    listed = result["rule_sets"]
    sampled = {rule_set["sampled"] for rule_set in listed}
    confidence = share_text(settings["confidence"])
    whose = (
        f"intervals hold for all {result['n_rule_sets']:,} rule sets together"
        if result["n_rule_sets"] > 1
        else "interval holds"
    )
    joint = f"the {whose} with {confidence} confidence"
    if sampled == {"exact"}:
        what = (
            "Every text was decided with every term"
            if settings["text_column"]
            else "Every neighbour of every row was decided"
        )
        return f"{what}: these scores are exact for this data."
    if sampled == {"rows"}:
        return f"Scores are of the rows themselves; {joint}, if the rows are a random sample of the people meant."
    least = min(min(rule_set["n_inside"], rule_set["n_outside"]) for rule_set in listed)
    worst = max(rule_set["error"] for rule_set in listed)
    return (
        f"Scores are of samples, {least:,} or more inside and outside, of error {100 * worst:.1f} points at most (as "
        f"the paper counts it); {joint}."
    )


def rules_check_text(run: RunRecord, check: RulesCheck) -> str:
    """What a second look at a run's rule sets found."""
    n = len(check.rule_sets)
    n_samples = sum(each.n for each in check.rule_sets)
    if kinds.RULES.settings(run.config).source is Source.LABELS:
        text = (
            f"the {n:,} rule sets with the highest scores counted again in the rows: {check.n_contradictions:,} differ"
        )
    else:
        text = (
            f"the {n:,} rule sets with the highest scores scored again, one by one, on {n_samples:,} fresh samples: "
            f"{check.n_contradictions:,} contradict their intervals"
        )
    wrong = [each for each in check.rule_sets if not each.holds][:_MOST_SHOWN]
    lines = [
        f"rule set {each.rank}: stored {each.score:.4f} ({each.low:.4f} to {each.high:.4f}), now {each.again:.4f}"
        for each in wrong
    ]
    return "\n".join([text, *lines])


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
    config = _config(assessed, options, settings)
    for note in (*_without_effect(options, settings), *guessed_favourable(assessed.schema, options)):
        say(f"Note: {note}")
    run = run_one(assessed, config, options)
    result = {
        **run_fields(run, assessed.store),
        **rules_fields(assessed.store, run, options.top, with_folded=options.folded),
    }
    return outcome_of(run, result, rules_text(result))


def _settings(options: argparse.Namespace) -> RuleSettings:
    """The settings that the options describe.

    Raises:
        SettingError: one out of its range, or two that exclude one another.
    """
    if options.model and options.predictions:
        raise SettingError(
            "--predictions compares a column of the table without a model. Leave --model out, or --predictions."
        )
    source = Source.MODEL if options.model or options.text_column else Source.LABELS
    return read_settings(
        options, RuleSettings, source=source, text_column=options.text_column, terms=named_terms(options)
    )


def _config(assessed: Request, options: argparse.Namespace, settings: RuleSettings) -> RunConfig:
    """The run that the options describe.

    Raises:
        InputError: a scope that cannot be; texts without a model.
    """
    schema = assessed.schema
    if not settings.text_column:
        scope = read_scope(options, schema, needs_variants=False)
    elif assessed.model is None:
        raise ModelError("Terms are swapped in texts, which only a model can decide anew: name it with --model.")
    else:
        schema, scope = text_scope(options, schema)
    model_id = assessed.model.id if assessed.model is not None else ""
    own = {"budget": Budget(_UNLIMITED, options.max_seconds), "seed": options.seed, "settings": settings.to_json()}
    own["data_query"] = assessed.data_query
    return kinds.RULES.config(assessed.data.id, model_id, schema, scope, **own)


def _without_effect(options: argparse.Namespace, settings: RuleSettings) -> list[str]:
    """Options that were given and change nothing here, a sentence each."""
    said = []
    if options.values or options.gap:
        said.append("--values and --gap have no effect on rule sets: --bins cuts numbers, and decisions are compared.")
    if settings.text_column and (options.limit or options.fixed):
        said.append("--limit and --fixed have no effect on texts.")
    return said
