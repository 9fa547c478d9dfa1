"""What a certification is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from fairness_engine.certification.partition.lattice import Weights
from fairness_engine.settings import check_number, check_whole, refuse_unknown, take_choice

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
class CertifySettings:
    """How to certify; the limit of seconds is the run's budget.

    Args:
        mode: see ``Mode``.
        weights: what a share is a share of.
        max_boxes: refinement ends after so many boxes were assessed; 0 for no limit.
        target: refinement ends when the undecided share is at most this, 0 to 1.
        check_depth: classic only: from this depth on a box is sampled for a counterexample, and left when one is found.
        max_depth: classic only: boxes of this depth are not split.
        n_samples: how many undecided individuals are drawn for the estimate; 0 for none.

    Raises:
        SettingError: a value out of its range.
    """

    mode: Mode = Mode.COUNTING
    weights: Weights = Weights.UNIFORM
    max_boxes: int = 0
    target: float = 0.0
    check_depth: int = 15
    max_depth: int = 20
    n_samples: int = 20_000

    def __post_init__(self) -> None:
        take_choice(self, "mode", Mode)
        take_choice(self, "weights", Weights)
        for name, low in (("max_boxes", 0), ("check_depth", 0), ("max_depth", 1), ("n_samples", 0)):
            check_whole(self, name, low)
        check_number(self, "target", 0, 1)

    def to_json(self) -> dict[str, Any]:
        """Plain values; ``from_json`` reads them back."""
        return {name: str(value) if isinstance(value, StrEnum) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> CertifySettings:
        """Read settings; what is not named keeps its default.

        Raises:
            SettingError: a name that there is none of, or a value out of its range.
        """
        refuse_unknown(cls, content, "A certification has")
        return cls(**content)
