"""THEMIS's two sub-groups beside the rule sets: the finest groups with the highest and the lowest favourable share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairness_engine.rules.scored import RuleResult


def draw(result: RuleResult, summary: Mapping[str, Any]) -> None:
    """The two sub-groups and their difference; nothing where the run has none."""
    if not summary.get("themis"):
        return
