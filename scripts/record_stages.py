"""Record the stages anew: run each technique on the small models and keep what it did.

Run it after a change of a technique or of what a stage says: ``python -m scripts.record_stages``.
"""

from __future__ import annotations

from fairness_engine.stages.recording import record, to_text
from fairness_engine.stages.registry import STAGES, models_of, recording_path


def main() -> None:
    """Write every recording."""
    for stage in STAGES:
        for model in models_of(stage):
            path = recording_path(stage, model)
            path.parent.mkdir(exist_ok=True)
            path.write_text(to_text(record(stage, model)), encoding="utf-8")


if __name__ == "__main__":
    main()
