"""Rule sets in words, for standard output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairness_engine.rules.settings import USUAL_ATTRIBUTES, RuleSettings, Source
from fairness_engine.rules.words import share_text
from fairness_engine.runs.records import RunRecord
from fairness_engine.runs.rules_check import RulesCheck

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
    settings, n = result["settings"], result["n_rule_sets"]
    least = share_text(settings["support"])
    whose = f"the column '{result['column']}'" if result["source"] == Source.LABELS.value else "the model"
    text = f"{_counted(n, 'rule set holds', 'rule sets hold')} {least} of the {result['rows']:,} {_people(result)} or more, by what {whose} decides."
    if result["n_folded"]:
        text += f" {_counted(result['n_folded'], 'is', 'are')} nearly the same {_people(result)} as another, and folded under it."
    if result["n_rests"]:
        text += f" {_counted(result['n_rests'], 'holds', 'hold')} nearly everybody, which says something of the few outside."
    most = RuleSettings.from_json(settings).most_attributes(len(result["attributes"]))
    reached = (result["summary"] or {}).get("max_attributes", most)
    if reached < most:
        unasked = reached >= USUAL_ATTRIBUTES and not settings["max_attributes"]
        why = "--max-attributes asks for them" if unasked else "they would be too many"
        text += f" Those on more than {_counted(reached, 'attribute', 'attributes')} were left out: {why}."
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
    settings, listed = result["settings"], result["rule_sets"]
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
        f"Scores are of samples, {least:,} or more inside and outside, of error {100 * worst:.1f} points at most (as the paper counts it); "
        f"{joint}."
    )


def _counted(n: int, one: str, several: str) -> str:
    return f"{n:,} {one if n == 1 else several}"


def rules_check_text(run: RunRecord, check: RulesCheck) -> str:
    """What a second look at a run's rule sets found."""
    n, n_samples = len(check.rule_sets), sum(each.n for each in check.rule_sets)
    if run.config.settings["source"] == Source.LABELS.value:
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
