"""Rule sets in words, for standard output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairness_engine.rules.settings import Source
from fairness_engine.rules.words import share_text
from fairness_engine.runs.records import RunRecord
from fairness_engine.runs.rules_check import RulesCheck

_HOW = {
    "exact": "Every neighbour of every row was evaluated, so these scores are exact",
    "rows": "Scores are of the rows themselves",
}


def rules_text(result: Mapping[str, Any]) -> str:
    """The result of the command ``rules`` in words."""
    end = result["stop_reason"] or result["state"]
    if not result["n_rule_sets"]:
        return f"No rule set was scored; {end}. Run {result['run_id']}."
    lines = [_heading(result)]
    lines += [_line(rule_set) for rule_set in result["rule_sets"]]
    lines += [
        _how(result),
        f"{result['evaluations']:,} evaluations in {result['seconds']:.1f} s; {end}. Run {result['run_id']}.",
    ]
    return "\n".join(lines)


def _heading(result: Mapping[str, Any]) -> str:
    settings = result["settings"]
    whose = f"the column '{result['column']}'" if result["source"] == Source.LABELS.value else "the model"
    n_folded = result["n_rule_sets"] - result["n_shown"]
    text = (
        f"{result['n_rule_sets']:,} rule sets hold {share_text(settings['support'])} of the {result['rows']:,} rows or more, "
        f"by what {whose} decides"
    )
    if n_folded:
        text += f"; {n_folded:,} of them are nearly the same people as one with fewer rules and are folded under it"
    return f"{text}. The {result['n_listed']:,} with the highest scores:"


def _line(rule_set: Mapping[str, Any]) -> str:
    text = f"{rule_set['rank']:>6}. {rule_set['text']}; score {_points(rule_set)}; {rule_set['rows']:,} rows ({share_text(rule_set['support'])})"
    if rule_set["n_folded"]:
        text += f"; {rule_set['n_folded']:,} more like it"
    if rule_set["folded_under"] is not None:
        text += f"; nearly the same people as {rule_set['folded_under']}"
    return text


def _points(rule_set: Mapping[str, Any]) -> str:
    score, low, high = (100 * rule_set[name] for name in ("score", "low", "high"))
    return f"{score:.1f} points" if low == high else f"{score:.1f} points ({low:.1f} to {high:.1f})"


def _how(result: Mapping[str, Any]) -> str:
    """What the scores rest on, and what the intervals mean."""
    settings, sampled = result["settings"], {rule_set["sampled"] for rule_set in result["rule_sets"]}
    joint = f"the intervals hold for all {result['n_rule_sets']:,} rule sets together with {share_text(settings['confidence'])} confidence"
    if sampled == {"exact"}:
        return f"{_HOW['exact']} for this data and these neighbours."
    if sampled == {"rows"}:
        return f"{_HOW['rows']}; {joint}, if the rows are a random sample of the people meant."
    least = min(min(rule_set["n_inside"], rule_set["n_outside"]) for rule_set in result["rule_sets"])
    worst = max(rule_set["error"] for rule_set in result["rule_sets"])
    return (
        f"Scores are of samples, {least:,} or more inside and outside, the highest on fresh ones; each is off by at most "
        f"{100 * worst:.1f} points (the paper's error), and {joint}."
    )


def rules_check_text(run: RunRecord, check: RulesCheck) -> str:
    """What a second look at a run's rule sets found."""
    n, n_samples = len(check.rule_sets), sum(each.n for each in check.rule_sets)
    if run.config.settings["source"] == Source.LABELS.value:
        text = (
            f"The {n:,} rule sets with the highest scores counted again in the rows: {check.n_contradictions:,} differ."
        )
    else:
        text = (
            f"The {n:,} rule sets with the highest scores scored again, one by one, on {n_samples:,} fresh samples: "
            f"{check.n_contradictions:,} contradict their intervals."
        )
    wrong = [each for each in check.rule_sets if not each.holds][:10]
    lines = [
        f"rule set {each.rank}: stored {each.score:.4f} ({each.low:.4f} to {each.high:.4f}), now {each.again:.4f}"
        for each in wrong
    ]
    return "\n".join([text, *lines])
