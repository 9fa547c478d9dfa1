"""What the JSON says of a retraining: both models by the same names, and what changed between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairness_engine.command_line.certification import certified_fields
from fairness_engine.command_line.outcome import run_fields
from fairness_engine.command_line.rules_json import rules_fields
from fairness_engine.mitigation.settings import RetrainSettings
from fairness_engine.runs.records import RunRecord, RunState
from fairness_engine.runs.store import RunStore

SIDE_KEYS = (
    *("accuracy", "estimate", "certified", "worst_rule_set"),
    *(
        "accuracy_low",
        "accuracy_high",
        "f1",
        "auc",
        "estimate_of_rows",
        "falsified",
        "undecided",
        "top_score",
        "n_found",
    ),
)
RETRAIN_KEYS = (
    *(
        "chance",
        "before",
        "after",
        "iterations",
        "improved",
        "raised",
        "verdict",
        "why",
        "strategy",
        "settings",
        "tolerance",
        "changes",
    ),
    *("control", "rounds", "round", "n_added", "n_cases", "pairs", "measured", "notes", "out_model", "card"),
)
_IMPROVED = "improved"
_NOT_MEASURED = "not measured"


def retrain_fields(store: RunStore, run: RunRecord) -> dict[str, Any]:
    """What the JSON says of a retraining; what is not available is null.

    Args:
        store: with the run and the runs that measured both models, as far as they ended.
        run: a retraining.
    """
    results = store.results(run.id)
    told: Mapping[str, Any] = results.get("retrained") or {}
    verdict = told.get("verdict")
    training = results.get("training") or {}
    measured = results.get("measured")
    is_of_texts = bool(run.config.text_column)
    return {
        **run_fields(run, store),
        "chance": told.get("chance") or None,
        "before": _side(store, results, "before", is_of_texts=is_of_texts),
        "after": _side(store, results, "after", is_of_texts=is_of_texts),
        "iterations": told.get("n_rounds", len(training.get("rounds", ()))),
        "improved": None if verdict in (None, _NOT_MEASURED) else verdict == _IMPROVED,
        "raised": told.get("is_raised"),
        "verdict": verdict,
        "why": told.get("why"),
        "strategy": str(run.config.settings["strategy"]),
        "settings": dict(run.config.settings),
        "tolerance": RetrainSettings.from_json(run.config.settings).tolerance,
        "changes": results.get("changes"),
        "control": results.get("control"),
        "rounds": training.get("rounds", []),
        "round": told.get("round"),
        "n_added": told.get("n_added"),
        "n_cases": told.get("n_cases"),
        "pairs": None,
        "measured": measured,
        "notes": [*(results.get("notes") or {}).get("notes", ()), *told.get("notes", ())],
        "out_model": None,
        "card": (results.get("card") or {}).get("text"),
    }


def _side(store: RunStore, results: Mapping[str, Any], side: str, *, is_of_texts: bool) -> dict[str, Any]:
    """One of both models."""
    found: dict[str, Any] = dict.fromkeys(SIDE_KEYS)
    figures = results.get(side)
    if figures is not None:
        quality = figures["quality"]
        found |= {name: quality[name] for name in ("accuracy", "f1", "auc")}
        found |= {f"accuracy_{end}": quality["accuracy"][end] for end in ("low", "high")}
        found["accuracy"] = quality["accuracy"]["value"]
        found["estimate"] = {**figures["uniform"], "distribution": "swaps" if is_of_texts else "uniform"}
        found["estimate_of_rows"] = {**figures["data"], "distribution": "data"}
    worst = results.get("worst_rule_set") or {}
    if worst.get(side) is not None:
        found["worst_rule_set"] = {"rules": worst["rules"], "group": worst["group"], **worst[side]}
    return found | _measured(store, (results.get("measured") or {}).get(side) or {})


def _measured(store: RunStore, run_ids: Mapping[str, str | None]) -> dict[str, Any]:
    """What the runs that followed say of a model."""
    ended: dict[str, RunRecord] = {}
    for name, run_id in run_ids.items():
        run = store.run(run_id) if run_id else None
        if run is not None and run.state is RunState.FINISHED:
            ended[name] = run
    found: dict[str, Any] = {}
    if "certify" in ended:
        proved = certified_fields(store, ended["certify"])
        found |= {name: proved[name] for name in ("certified", "falsified", "undecided")}
    if "search" in ended:
        found["n_found"] = ended["search"].n_found
    if "rules" in ended:
        found["top_score"] = rules_fields(store, ended["rules"], 1)["top_score"]
    return found
