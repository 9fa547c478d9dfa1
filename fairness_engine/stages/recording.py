"""Recording a stage: the technique is run, and what it did is drawn and written as it is kept.

Run it after a change of a technique or of what a stage says: ``python -m fairness_engine.stages.recording``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from fairness_engine.search.techniques.gradient.adf import Adf
from fairness_engine.search.techniques.gradient.eidig import Eidig
from fairness_engine.search.techniques.gradient.maft import Maft, MaftPlus
from fairness_engine.stages import groups, proof, retraining, searches, slopes, trees
from fairness_engine.stages.registry import STAGES, models_of, recording_path
from fairness_engine.stages.small_models import SMALL_MODELS, SmallModel
from fairness_engine.stages.stage import Stage

_MAKERS: dict[str, Callable[[SmallModel], Stage]] = {
    "random": searches.random_stage,
    "data-scan": searches.data_scan_stage,
    "aequitas": searches.aequitas_stage,
    "directed": searches.directed_stage,
    **{kind.name: partial(slopes.slopes_stage, kind) for kind in (Maft, MaftPlus, Adf, Eidig)},
    "sg": trees.sg_stage,
    "sg-shared": trees.sg_shared_stage,
    "certification": proof.proof_stage,
    "testsgd": groups.groups_stage,
    "retraining": retraining.retraining_stage,
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


def main() -> None:
    """Write every recording."""
    for stage in STAGES:
        for model in models_of(stage):
            recording_path(stage, model).write_text(to_text(record(stage, model)), encoding="utf-8")


if __name__ == "__main__":
    main()
