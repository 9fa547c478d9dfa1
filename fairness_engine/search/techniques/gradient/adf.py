"""ADF: the gradient search with the true gradient of the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from fairness_engine.search.techniques.gradient.gradients import Gradients, LossSlopes, MovableColumns
from fairness_engine.search.techniques.gradient.search import GradientSearch

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle


@dataclass(frozen=True)
class Adf(GradientSearch):
    """The search of MAFT and EIDIG as it began: gradients of the loss, no momentum, taken anew after every success.

    The loss is the cross-entropy of the predicted class, ``-log F``, so its gradient is ``-F' / F``: ascending it is
    descending the score of the predicted class, and only the local search weighs attributes differently from EIDIG. A
    score that is no probability is taken for the loss itself.

    Departs from the paper: back at the start after a miss, the probabilities there are used again; ADF takes the
    gradients anew, for another variant when there are more than two. Others: see ``GradientSearch``.

    Reference: Zhang et al., "White-box fairness testing through adversarial sampling" (ICSE 2020), as MAFT's paper
    describes it (section 4.1).
    """

    name: ClassVar[str] = "adf"
    title: ClassVar[str] = "ADF"
    summary: ClassVar[str] = "Follows true gradients of the loss, at every step. EIDIG is its faster successor."
    reference: ClassVar[str] = "Zhang et al. 2020"
    needs_gradient: ClassVar[bool] = True

    @property
    def momentum(self) -> float:
        """None."""
        return 0.0

    @property
    def interval(self) -> int:
        """Every success."""
        return 1

    def slopes(self, oracle: Oracle, terrain: MovableColumns) -> Gradients:
        """True ones, of the loss."""
        return LossSlopes(oracle, terrain)
