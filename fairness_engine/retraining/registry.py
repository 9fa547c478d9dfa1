"""All strategies by name, with what a screen says of them. Importing this is cheap."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from fairness_engine.retraining.settings import Strategy

if TYPE_CHECKING:
    from fairness_engine.models.model import Model
    from fairness_engine.retraining.evaluation.worst_rule_set import Groups
    from fairness_engine.retraining.strategy import RoundContext, Rounds


@dataclass(frozen=True)
class StrategyInfo:
    """What a strategy is called and when to use it.

    Args:
        title: for screens.
        summary: when to use it, one line.
        reference: paper and algorithm, or the library.
        limit: what a reader of its model card must know.
        module: in ``strategies``; its function ``rounds`` is the strategy.
        technique: the search that finds its cases when none is named; empty where it needs none.
    """

    title: str
    summary: str
    reference: str
    limit: str
    module: str
    technique: str = ""


STRATEGIES: dict[Strategy, StrategyInfo] = {
    Strategy.VARIANTS: StrategyInfo(
        "All variants",
        "Shows the model every training row with every protected value. The strongest for most models.",
        "Evenhand's own",
        "A row's variants get the row's outcome, as if the protected attributes had no bearing on it; "
        "people without data are labelled by a vote.",
        "all_variants",
    ),
    Strategy.AEQUITAS: StrategyInfo(
        "AEQUITAS",
        "Adds growing portions of discriminatory individuals while the estimate falls.",
        "Udeshi et al. 2018, Algorithm 5",
        "Added people have no known outcome: their labels are a vote, and the model learns that vote.",
        "aequitas",
        "aequitas",
    ),
    Strategy.MAJORITY: StrategyInfo(
        "Majority labels",
        "Adds a share of the individuals found, each labelled by a majority, as ADF and EIDIG do.",
        "Zhang et al. 2020 (ADF); Zhang et al. 2021 (EIDIG)",
        "Added people have no known outcome: their labels are a vote, and the model learns that vote.",
        "majority_labels",
        "directed",
    ),
    Strategy.RULES: StrategyInfo(
        "Worst group",
        "Adds samples of the worst rule set with the opposite label, until its score is low.",
        "Zhang et al. 2023 (TestSGD), Table 7",
        "One group is corrected. Another group, or the same one from the other side, may be the worst "
        "afterwards: see the new search.",
        "worst_group",
    ),
    Strategy.REWEIGH: StrategyInfo(
        "Reweighing",
        "Weighs rows so that outcome and group are independent. A baseline for group figures.",
        "Kamiran and Calders 2012",
        "Weights even out how often groups get an outcome in the data; a pair of people may still be "
        "decided differently.",
        "reweighing",
    ),
    Strategy.THRESHOLD: StrategyInfo(
        "Thresholds by group",
        "Keeps the model and decides each group by its own threshold. A baseline; it needs the protected attribute to "
        "decide.",
        "fairlearn, ThresholdOptimizer",
        "Each group has a threshold of its own, so the protected attribute decides directly, and "
        "pairs near a threshold are decided differently by design. The library's own decision is drawn by chance; here "
        "its probability is cut at 0.5.",
        "thresholds",
    ),
    Strategy.REDUCTION: StrategyInfo(
        "Exponentiated gradient",
        "Trains a weighted set of models under demographic parity. A baseline for group figures.",
        "fairlearn, ExponentiatedGradient",
        "The library's own decision is drawn by chance among the models; here they vote by their weights.",
        "exponentiated_gradient",
    ),
    Strategy.WITHOUT: StrategyInfo(
        "Without the protected attributes",
        "Trains without them, so that no decision can depend on them directly. A baseline; proxies may remain.",
        "baseline",
        "The model does not take the protected attributes. Columns that go along with them may stand in for them.",
        "without_protected",
    ),
}


def rounds_of(context: RoundContext) -> Rounds:
    """The rounds of the strategy that the settings name."""
    start: Callable[[RoundContext], Rounds] = _module(context.settings.strategy).rounds
    return start(context)


def objective_of(strategy: Strategy, groups: Groups) -> Callable[[Model], float] | None:
    """What a strategy makes small, where that is not the share of discriminatory individuals: its module's
    ``objective``.
    """
    make = getattr(_module(strategy), "objective", None)
    return None if make is None else make(groups)


def _module(strategy: Strategy) -> ModuleType:
    return importlib.import_module(f"fairness_engine.retraining.strategies.{STRATEGIES[strategy].module}")
