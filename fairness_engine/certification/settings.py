"""What a certification is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fairness_engine.certification.partition.lattice import Weights
from fairness_engine.settings import Settings, setting

MAX_DEPTH = 100_000


class Mode(StrEnum):
    """How a box is decided.

    ``COUNTING``: the individuals of a box on the decided side of a linear bound are counted. ``CLASSIC``: a box is
        decided whole or
    not at all, and refinement ends by depth, as in paper 004 (Algorithms 1-4).
    """

    COUNTING = "counting"
    CLASSIC = "classic"


@dataclass(frozen=True)
class CertifySettings(Settings):
    """How to certify; the limit of seconds is the run's budget."""

    whose = "A certification"

    mode: Mode = setting(Mode.COUNTING, "How a box is decided: by counting, or whole or not at all (classic).")
    weights: Weights = setting(Weights.UNIFORM, "What a share is a share of: all individuals, or the data's people.")
    max_boxes: int = setting(0, "Refinement ends after so many boxes were assessed; 0 for no limit.", minimum=0)
    target: float = setting(0.0, "Refinement ends when the undecided share is at most this.", minimum=0.0, maximum=1.0)
    check_depth: int = setting(
        15,
        "Classic only: from this depth on a box is sampled for a counterexample, and left when one is found.",
        minimum=0,
    )
    max_depth: int = setting(20, "Classic only: boxes of this depth are not split.", minimum=1)
    n_samples: int = setting(
        20_000, "How many undecided individuals are drawn for the estimate; 0 for none.", minimum=0
    )
