"""EIDIG: the gradient search with the true gradient of the model's output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from fairness_engine.search.techniques.gradient.gradients import Gradients, MovableColumns, TrueSlopes
from fairness_engine.search.techniques.gradient.search import GradientSearch
from fairness_engine.settings import setting

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle


@dataclass(frozen=True)
class Eidig(GradientSearch):
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

    decay: float = setting(
        0.5, "How much of the gradient before is kept in the descent.", label="Momentum", minimum=0.0, maximum=1.0
    )
    update_interval: int = setting(
        5,
        "Successes in a row after which a chain takes its gradients anew.",
        minimum=1,
        maximum=1_000_000,
        unit="steps",
    )

    @property
    def momentum(self) -> float:
        """The setting ``decay``."""
        return self.decay

    @property
    def interval(self) -> int:
        """The setting ``update_interval``."""
        return self.update_interval

    def slopes(self, oracle: Oracle, terrain: MovableColumns) -> Gradients:
        """True ones, of the score."""
        return TrueSlopes(oracle, terrain)
