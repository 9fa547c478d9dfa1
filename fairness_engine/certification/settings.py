"""What a certification is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fairness_engine.certification.partition.lattice import Weights
from fairness_engine.settings import NOT_ASKED, Settings, setting

WAY = "way"
"""The part of the form that asks how it is done."""


class Mode(StrEnum):
    """How a box is decided.

    ``COUNTING``: the individuals of a box on the decided side of a linear bound are counted. ``CLASSIC``: a box is
    decided whole or not at all, and refinement ends by depth, as in paper 004 (Algorithms 1-4).
    """

    COUNTING = "counting"
    CLASSIC = "classic"


@dataclass(frozen=True)
class CertifySettings(Settings):
    """How to certify; the limit of seconds is the run's budget."""

    whose = "A certification"

    mode: Mode = setting(
        Mode.COUNTING,
        "How a box is decided: by counting, or whole or not at all (classic).",
        label="How boxes are decided",
        names={
            Mode.COUNTING: (
                "Counting",
                "Counts, inside each box, the individuals on the decided side of a straight line. Decides more in the "
                "same time.",
            ),
            Mode.CLASSIC: (
                "Classic",
                "The paper's way: a box is decided whole or not at all, to a limited depth. For comparison with "
                "published figures.",
            ),
        },
        part=WAY,
        option="--mode",
    )
    weights: Weights = setting(
        Weights.UNIFORM,
        "What a share is a share of: individuals alike (uniform), or as common as their values are in the data.",
        label="What a share is a share of",
        names={
            Weights.UNIFORM: ("All individuals", "Every individual of the domain counts alike, however rare."),
            Weights.DATA: (
                "The data's people",
                "An individual counts as often as its values occur in the data, each attribute by itself.",
            ),
        },
        part=WAY,
        option="--weights",
    )
    max_boxes: int = setting(
        0,
        "Refinement ends after so many boxes were assessed; 0 for no limit.",
        label="Most boxes",
        minimum=0,
        part=NOT_ASKED,
        option="--max-boxes N",
    )
    target: float = setting(
        0.0,
        "Refinement ends when the undecided share is at most this.",
        minimum=0.0,
        maximum=1.0,
        part=NOT_ASKED,
        option="--target T",
    )
    check_depth: int = setting(
        15,
        "Classic only: from this depth on a box is sampled for a counterexample, and left when one is found.",
        label="Sampled from depth",
        minimum=0,
        part=NOT_ASKED,
    )
    max_depth: int = setting(
        20, "Classic only: boxes of this depth are not split.", label="Greatest depth", minimum=1, part=NOT_ASKED
    )
    n_samples: int = setting(
        20_000,
        "How many undecided individuals are drawn for the estimate; 0 for none.",
        label="Samples",
        minimum=0,
        part=NOT_ASKED,
    )
