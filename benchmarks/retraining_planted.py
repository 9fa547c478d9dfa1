"""Every strategy on the samples' own models, whose discrimination was planted: what is left of it, and what it cost.

``python -m benchmarks.retraining --only planted``; needs no data but the project's own. The samples' outcomes
discriminate too, so that a model that stops is wrong about the people who suffer it: the column of ``without`` says
what ignoring the protected attributes costs.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from benchmarks.table import markdown
from fairness_engine.retraining.settings import Reference, RetrainSettings, Strategy
from retraining_cases import retrain, sample_subject

CASES = {
    "census, pipeline": ("census_income_pipeline.skops", "sex"),
    "census, MLP": ("census_income_mlp.skops", "sex"),
    "census, tree": ("census_income_tree.skops", "sex"),
    "census, network": ("census_income_network.keras", "sex"),
    "credit, network": ("credit_network.keras", "age"),
    "recidivism, MLP": ("recidivism_mlp.skops", "race", "sex"),
    "recidivism, tree": ("recidivism_planted.skops", "race", "sex"),
}
"""Model of the samples and the attributes of what was planted in its data."""
TOLERANCES = (0.02, 0.065)
SEED = 0
MAX_SECONDS = 300.0


@dataclass(frozen=True)
class Shares:
    """A figure before and after, each with its 95 % interval: value, low, high."""

    before: tuple[float, float, float]
    after: tuple[float, float, float]

    @property
    def is_apart(self) -> bool:
        """Whether it is lower by more than its intervals."""
        return self.after[2] < self.before[1]


@dataclass(frozen=True)
class Outcome:
    """What a strategy made of a model.

    Args:
        case, strategy, tolerance: which.
        uniform: discriminatory share of uniform individuals; ``None`` where no model was kept.
        group: score of the rule set that was worst before, on the test rows; ``None`` where no model was kept.
        change: of accuracy on the test rows, from the control.
        verdict: the run's own.
    """

    case: str
    strategy: Strategy
    tolerance: float
    uniform: Shares | None
    group: Shares | None
    change: float
    verdict: str


def measure(case: str, strategy: Strategy, tolerance: float) -> Outcome:
    """One retraining; the tolerance counts from the control, for the samples' models know the test rows."""
    settings = RetrainSettings(strategy=strategy, tolerance=tolerance, reference=Reference.CONTROL)
    found = retrain(sample_subject(*CASES[case]), settings, SEED, MAX_SECONDS)
    verdict = found.result("retrained")["verdict"]
    if "after" not in found.results:
        return Outcome(case, strategy, tolerance, None, None, 0.0, verdict)
    sides = [found.result(name) for name in ("before", "after")]
    uniform = Shares(*(tuple(one["uniform"][end] for end in ("share", "low", "high")) for one in sides))
    worst = found.result("worst_rule_set")
    group = Shares(*(tuple(worst[side][end] for end in ("score", "low", "high")) for side in ("before", "after")))
    control, after = (found.result(name)["quality"]["accuracy"]["value"] for name in ("control", "after"))
    return Outcome(case, strategy, tolerance, uniform, group, after - control, verdict)


def section(found: Sequence[Outcome] | None = None) -> str:
    """The tables in Markdown; ``None`` measures all, which takes about half an hour."""
    outcomes = list(found) if found is not None else list(measure_all())
    parts = []
    for tolerance in TOLERANCES:
        some = [one for one in outcomes if one.tolerance == tolerance]
        parts += [f"Tolerance {100 * tolerance:g} points. Discriminatory individuals, %:", _table(some, "uniform")]
        parts += ["Score of the group that was worst, points:", _table(some, "group")]
    return "\n\n".join([*parts, _NOTE])


def measure_all() -> list[Outcome]:
    """All of them, each printed when it is there."""
    found = []
    for tolerance in TOLERANCES:
        for case in CASES:
            for strategy in Strategy:
                found.append(measure(case, strategy, tolerance))
                print(json.dumps(asdict(found[-1])), file=sys.stderr, flush=True)
    return found


def _table(outcomes: Sequence[Outcome], figure: str) -> str:
    """A row a strategy, a column a model; the first row says where each model began."""
    by_place = {(one.case, one.strategy): one for one in outcomes}
    begin = ["before"]
    for case in CASES:
        shares = [getattr(by_place[case, strategy], figure) for strategy in Strategy]
        before = next((one.before for one in shares if one is not None), None)
        begin.append("" if before is None else _value(before))
    rows = [tuple(begin)]
    for strategy in Strategy:
        rows.append((f"`{strategy}`", *(_cell(by_place[case, strategy], figure) for case in CASES)))
    return markdown(("", *CASES), rows)


def _cell(one: Outcome, figure: str) -> str:
    shares: Shares | None = getattr(one, figure)
    if shares is None:
        return "none kept"
    mark = "✓ " if shares.is_apart else ""
    return f"{mark}{_value(shares.after)}, {100 * one.change:+.1f}"


def _value(figure: tuple[float, float, float]) -> str:
    return f"{100 * figure[0]:.1f} ({100 * figure[1]:.1f} to {100 * figure[2]:.1f})"


_NOTE = (
    "With 95 % intervals, of draws and rows that chose nothing; after the comma the accuracy on the test rows, in "
    "points from the control, the same kind of model trained on the training rows alone. ✓: the intervals before and "
    "after do not overlap. Planted are: women with a degree who work part time (census), people under 26 with long "
    "credits (credit), African-American men (recidivism). *None kept*: no model of the strategy was within the "
    "tolerance and better. Since the outcomes of the samples discriminate as well, `without` shows what accuracy a "
    "model without the protected attributes can have. Strategies of groups (`rules`, `reweigh`, `threshold`, "
    "`reduction`) bring groups nearer, and may leave more individuals behind; the runs' own verdicts say so."
)
