"""Recording a stage: the technique is run, and what it did is drawn and written as it is kept."""

from __future__ import annotations

import json

from fairness_engine.stages import groups, proof, searches, slopes, trees
from fairness_engine.stages.small_models import SMALL_MODELS
from fairness_engine.stages.stage import Stage

_MAKERS = {
    "random": searches.random_stage,
    "data-scan": searches.data_scan_stage,
    "aequitas": searches.aequitas_stage,
    "directed": searches.directed_stage,
    "maft": slopes.maft_stage,
    "maft-plus": slopes.maft_plus_stage,
    "eidig": slopes.eidig_stage,
    "adf": slopes.adf_stage,
    "sg": trees.sg_stage,
    "sg-shared": trees.sg_shared_stage,
    "certification": proof.proof_stage,
    "testsgd": groups.groups_stage,
}


def record(stage: str, model: str) -> Stage:
    """Run the technique and draw what it did; the same every time.

    Args:
        stage, model: names of ``registry.STAGES`` and ``registry.MODELS``.
    """
    return _MAKERS[stage](SMALL_MODELS[model]())


def to_text(stage: Stage) -> str:
    """As a recording is kept: a line a step, so that a change of one is seen as such."""
    content = stage.to_json()
    steps = content.pop("steps")
    head = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    lines = [json.dumps(step, ensure_ascii=False, separators=(",", ":")) for step in steps]
    return head[:-1] + ',"steps":[\n' + ",\n".join(lines) + "\n]}\n"
