"""EIDIG: the gradient search with the true gradient of the model's output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from fairness_engine.search.techniques.gradient.gradients import Gradients, MovableColumns, TrueSlopes
from fairness_engine.search.techniques.gradient.search import MomentumSearch

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle


@dataclass(frozen=True)
class Eidig(MomentumSearch):
    """MAFT's search with true gradients: of the score of the predicted class, with momentum, renewed after some
    successes.

    A gradient counts as one evaluation; it costs about three. Departures from the paper: see ``GradientSearch``.

    Reference: Zhang, Zhang and Zhang, "Efficient white-box fairness testing through gradient search" (ISSTA 2021), as
        MAFT's
    paper describes it (section 4.1 and Algorithms 3-4).
    """

    name: ClassVar[str] = "eidig"
    title: ClassVar[str] = "EIDIG"
    summary: ClassVar[str] = "Follows true gradients of the score. For networks that take every column as one number."
    reference: ClassVar[str] = "Zhang et al. 2021; Wang et al. 2024, Algorithms 3-4"
    needs_gradient: ClassVar[bool] = True

    def slopes(self, oracle: Oracle, terrain: MovableColumns) -> Gradients:
        """True ones, of the score."""
        return TrueSlopes(oracle, terrain)
