"""MAFT: a gradient search that estimates its slopes from scores, for any model (paper 002, Algorithms 2-4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from fairness_engine.search.gradient_search import GradientSearch
from fairness_engine.search.slopes import EstimatedSlopes, Slopes, Terrain
from fairness_engine.search.technique import setting

if TYPE_CHECKING:
    from fairness_engine.oracle import Oracle


@dataclass(frozen=True)
class Maft(GradientSearch):
    """Descend towards discriminatory people by estimated gradients, then walk around each along flat attributes.

    Slopes (Algorithm 2): the score of the predicted class where one attribute is moved by ``h``, less the score of the row
    itself, divided by the move. A row and its probes are evaluated together. Global (Algorithm 3) and local (Algorithm 4): see
    ``GradientSearch``, with momentum ``decay`` and slopes taken anew after ``update_interval`` successes in a row.

    Departs from the paper: a probe at the upper end of an attribute steps backwards, so that no probe leaves the domain;
    several classes use the score of the predicted one; a model that gives labels only is followed by its one-hot labels
    (section 4.3), whose slopes are mostly 0: then a start row does not move, and all attributes are equally likely.

    Reference: Wang et al., "MAFT: Efficient model-agnostic fairness testing for deep neural networks via zero-order
    gradient search" (ICSE 2024), section 3.
    """

    name: ClassVar[str] = "maft"
    title: ClassVar[str] = "MAFT"
    summary: ClassVar[str] = (
        "Follows estimated gradients of the score. For models that give scores; no access to their inside."
    )
    reference: ClassVar[str] = "Wang et al. 2024, Algorithms 2-4"
    estimates_gradient: ClassVar[bool] = True

    decay: float = setting(
        0.5, "How much of the slopes before is kept in the descent.", label="Momentum", minimum=0.0, maximum=1.0
    )
    update_interval: int = setting(
        5, "Successes in a row after which a chain takes its slopes anew.", minimum=1, maximum=1_000_000, unit="steps"
    )
    h: float = setting(
        1.0,
        "How far a probe moves an attribute, in units; parts of a unit where the model takes plain numbers.",
        label="Perturbation size",
        minimum=1e-10,
        maximum=1e6,
        unit="units",
    )

    @property
    def momentum(self) -> float:
        """The setting ``decay``."""
        return self.decay

    @property
    def interval(self) -> int:
        """The setting ``update_interval``."""
        return self.update_interval

    def slopes(self, oracle: Oracle, terrain: Terrain) -> Slopes:
        """Estimated ones, Algorithm 2."""
        return EstimatedSlopes(oracle, terrain, self.h)
