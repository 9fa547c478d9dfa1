"""What a model's process says of a retraining of the census, small and possible."""

from __future__ import annotations

from typing import Any

from fairness_engine.events import ModelPart


def interval(value: float, low: float, high: float) -> dict[str, float]:
    return {"value": value, "low": low, "high": high}


def share(n_hits: int, n: int, low: float, high: float) -> dict[str, Any]:
    return {"n_hits": n_hits, "n": n, "share": n_hits / n if n else 0.0, "low": low, "high": high}


def figures(**changes: Any) -> dict[str, Any]:
    """``before``, ``after`` and ``control``."""
    quality = {"n": 1000, "accuracy": interval(0.9, 0.88, 0.92), "f1": interval(0.8, 0.7, 0.9), "auc": None}
    return {"quality": quality, "uniform": share(20, 200, 0.06, 0.15), "data": share(3, 40, 0.02, 0.2), **changes}


def a_round(**changes: Any) -> dict[str, Any]:
    """One row of ``training``."""
    values = {"title": "a quarter", "n_added": 10, "facts": {"portion": 0.25}, "objective": 0.5}
    shares = {"accuracy": 0.9, "uniform": 0.1, "data": 0.0}
    claims = {"is_within": True, "is_best": True, "is_vetoed": False, "is_control": False}
    return {**values, **shares, **claims, **changes}


def training(**changes: Any) -> dict[str, Any]:
    reference = {"accuracy": 0.9, "uniform": 0.2, "data": 0.1, "tolerance": 0.01}
    return {"rounds": [a_round()], "epochs": [[1, 1, 0.7, None, None]], "reference": reference, **changes}


def changes(**changed: Any) -> dict[str, Any]:
    group = {"names": ["sex"], "labels": ["Female"], "n": 10, "n_before": 4, "n_after": 5, "n_better": 2, "n_worse": 1}
    paired = {**interval(-0.01, -0.03, 0.01), "n_gained": 1, "n_lost": 2, "n": 100}
    return {
        "groups": [group],
        "n_cases": 5,
        "n_fixed": 4,
        "figures": {},
        **dict.fromkeys(("accuracy", "uniform", "data"), paired),
        **changed,
    }


def group(**changed: Any) -> dict[str, Any]:
    """``changes`` with one group that may lie."""
    content = changes()
    return {**content, "groups": [{**content["groups"][0], **changed}]}


def worst_rule_set(**changed: Any) -> dict[str, Any]:
    score = {"score": 0.2, "inside": 0.3, "outside": 0.5, "low": 0.1, "high": 0.3, "n_inside": 40, "n_outside": 60}
    rules = {"rules": [{"column": "sex", "values": ["Female"]}], "group": "women", "text": "women: 30 %"}
    sides = {"before": score, "after": None, "worst_after": {**rules, **score}}
    return {**rules, "reason": "", "is_picked": False, **sides, **changed}


def retrained(**changed: Any) -> dict[str, Any]:
    content = {"strategy": "variants", "kind": "a tree", "tolerance": 0.01, "has_model": True, "verdict": "improved"}
    counts = {"n_rounds": 1, "n_train": 60, "n_validation": 20, "n_test": 20, "round": 1, "n_added": 10, "n_cases": 0}
    return {**content, **counts, "why": "It fell.", "notes": ["Looks inflated."], "is_inflated": True, **changed}


def part(content: bytes = b"model", index: int = 0, n_parts: int = 1, **changed: Any) -> ModelPart:
    values = {"content": content, "index": index, "n_parts": n_parts, "suffix": ".skops", "version": 1, **changed}
    return ModelPart(**values)
