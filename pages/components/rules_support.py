"""What the least size of a group does to the result: how many rule sets there are, and the highest score among them.

All from the rule sets of one run. Reference: paper 001 (TestSGD), Table 6, for every value of theta at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairness_engine.events import FloatArray
from fairness_engine.rules.scored import RuleResult
from fairness_engine.rules.words import group_text
from pages.components import layout, theme, wording
from pages.components.kept import kept
from pages.components.rules_words import capitalised, noun_of, score_text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from fairness_engine.runs.records import RunRecord

_MAX_STEPS = 200
_LOG_RATIO = 30
"""Numbers of rule sets that differ by more are drawn on a logarithmic axis."""
_LEVELS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
_LEAST_SPAN = 0.005
"""Between the run's support and its largest group; with less there is nothing to see."""


def draw(run: RunRecord, result: RuleResult) -> None:
    """The curve and its table; nothing where all groups are of one size."""
    support = float(run.config.settings["support"])
    if float(_shares(result).max()) - support < _LEAST_SPAN:
        return
    figure = kept("rules_support", (run.id, theme.is_dark()), lambda: support_chart(result, support))
    table = kept("rules_support_table", run.id, lambda: support_table(result, support))
    layout.chart_with_table(
        figure,
        table,
        "rules_support_chart",
        "From the rule sets of this run: those whose group is at least that large, and not nearly everybody.",
    )


def _shares(result: RuleResult) -> FloatArray:
    """The share of the rows in each group; 0 for one that is nearly everybody, which is left out so."""
    return np.where(result.scored.is_rest != 0, 0.0, result.scored.n_rows / result.n_rows)


def support_steps(result: RuleResult, support: float) -> pd.DataFrame:
    """How many rule sets there are and the highest score among them, by the least support: from the run's own rule sets.

    Returns:
        Columns ``support`` (0 to 1, ascending), ``n`` and ``position`` (of the highest score).
    """
    share = _shares(result)
    order = np.argsort(-share, kind="stable")
    best = np.minimum.accumulate(order)
    levels = np.unique(np.concatenate([[support], np.linspace(support, float(share.max()), _MAX_STEPS)]))
    n = np.searchsorted(-share[order], -(levels - 1e-9), side="right")
    return pd.DataFrame({"support": levels, "n": n, "position": best[np.maximum(n - 1, 0)]})[n > 0]


def support_chart(result: RuleResult, support: float) -> Figure:
    """Number of rule sets, and the highest score, against the least support (Table 6 of the paper, for every value at once).

    Args:
        result: of the run.
        support: of the run.
    """
    from plotly.graph_objects import Figure

    steps = support_steps(result, support)
    x = (100 * steps["support"]).tolist()
    scores = (100 * result.scored.score[steps["position"].to_numpy()]).tolist()
    layout = theme.chart_layout(
        "Rule sets, and the highest score, by the least size of a group",
        f"Least share of the {noun_of(result)}s, %",
        "Rule sets",
        420,
    )
    n = steps["n"]
    is_log = n.max() > _LOG_RATIO * n.min()
    layout["yaxis"] |= {"domain": [0.56, 1.0], "fixedrange": True, "rangemode": "tozero"}
    layout["yaxis"] |= {"type": "log", "dtick": 1} if is_log else {}
    layout["yaxis2"] = layout["yaxis"] | {
        "title": {"text": "Highest score, points"},
        "domain": [0.0, 0.44],
        "type": "linear",
        "rangemode": "tozero",
        "dtick": None,
    }
    layout["xaxis"] |= {"anchor": "y2", "fixedrange": True}
    layout |= {"hovermode": "x unified", "showlegend": False, "separators": ".\u202f"}
    curves = [
        _step(x, steps["n"].tolist(), "y", "%{y:,d} rule sets", theme.LINE_DASHES[0]),
        _step(x, scores, "y2", "highest score %{y:.1f} points", theme.LINE_DASHES[1]),
    ]
    return Figure(data=curves, layout=layout)


def _step(x: list[float], y: list[float], axis: str, template: str, dash: str) -> dict[str, Any]:
    line = {"color": theme.PLAIN.colour, "width": 3, "dash": dash, "shape": "vh"}
    same = {"type": "scatter", "mode": "lines", "line": line, "yaxis": axis}
    return {**same, "x": x, "y": y, "hovertemplate": f"{template}<extra></extra>"}


def support_table(result: RuleResult, support: float) -> pd.DataFrame:
    """The curve at round values of the support, with the rule set of the highest score at each."""
    levels = sorted({support, *(level for level in _LEVELS if level > support)})
    share = _shares(result)
    lines = []
    for level in levels:
        found = np.flatnonzero(share >= level - 1e-9)
        if len(found):
            top = int(found[0])
            lines.append(
                [wording.share(level), len(found), capitalised(group_text(result, top)), score_text(result, top)]
            )
    return pd.DataFrame(lines, columns=["At least", "Rule sets", "Highest score", "Score"])
