"""The picture and the table of SHAP values: both people of a pair, and the difference between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairness_engine.domain import Domain
from fairness_engine.events import FloatArray, IntArray
from pages.components import theme
from pages.components.charts import shortened
from pages.components.decisions import score_text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from fairness_engine.explanation.shap_values import PairValues

MAX_SHOWN = 10
"""Attributes that are drawn one by one; of more, the rest is summed."""


def signed(value: float, digits: int) -> str:
    """A number with its sign, a real minus: ``+0.12``, ``−0.30``; what rounds to nothing has none."""
    if abs(value) < 0.5 * 10.0**-digits:
        return score_text(0.0, digits)
    return f"{'+' if value > 0 else ''}{score_text(value, digits)}"


def shown_order(found: PairValues) -> IntArray:
    """Attributes by the size of their difference, largest first ``(n_columns,)``; equal ones by the size of their values."""
    sizes = np.abs(found.contributions).max(axis=0)
    return np.lexsort((-sizes, -np.round(np.abs(found.difference), 12)))


def shap_table(found: PairValues, domain: Domain, people: FloatArray) -> pd.DataFrame:
    """One line an attribute, the largest difference first, and the sums."""
    columns, order = domain.schema.inputs, shown_order(found).tolist()
    sums = [*found.contributions.sum(axis=1).tolist(), float(found.difference.sum())]
    return pd.DataFrame(
        {
            "Attribute": [*(columns[i].name for i in order), "Sum"],
            "Person A has": [*(columns[i].text(float(people[0, i])) for i in order), ""],
            "Person B has": [*(columns[i].text(float(people[1, i])) for i in order), ""],
            "SHAP value of A": [*found.contributions[0, order].tolist(), sums[0]],
            "SHAP value of B": [*found.contributions[1, order].tolist(), sums[1]],
            "Difference, B less A": [*found.difference[order].tolist(), sums[2]],
        }
    )


def shap_chart(found: PairValues, domain: Domain, people: FloatArray, target: str) -> Figure:
    """Two marks an attribute, one for each person, and beside them the difference as a bar."""
    from plotly.graph_objects import Figure  # costs half a second: only when something is drawn

    order = shown_order(found).tolist()
    single = order if len(order) <= MAX_SHOWN + 1 else order[:MAX_SHOWN]
    others = order[len(single) :]
    groups = [[i] for i in single] + ([others] if others else [])
    labels = [_label(domain, people, i) for i in single] + ([f"{len(others)} others together"] if others else [])
    values = np.array([found.contributions[:, group].sum(axis=1) for group in groups]).T
    is_own = [len(group) == 1 and bool(people[0, group[0]] != people[1, group[0]]) for group in groups]
    traces = [*_marks(values), *_bars(values[1] - values[0], is_own)]
    layout = _layout(labels, target)
    layout["xaxis2"]["range"] = _room_for_text(values[1] - values[0])
    return Figure(data=traces, layout=layout)


def _label(domain: Domain, people: FloatArray, index: int) -> str:
    column = domain.schema.inputs[index]
    first, second = (column.text(float(person[index])) for person in people)
    return shortened(f"{column.name}: {first}" if first == second else f"{column.name}: {first} → {second}", 46)


def _marks(values: FloatArray) -> list[dict[str, Any]]:
    """The two people: a line between them, a filled circle for A and an open diamond for B."""
    places = list(range(values.shape[1]))
    ends = [[a, b, None] for a, b in values.T.tolist()]
    between = {
        "type": "scatter",
        "mode": "lines",
        "x": [value for pair in ends for value in pair],
        "y": [place for i in places for place in (i, i, None)],
        "line": {"color": theme.faint(), "width": 3},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    looks = (("Person A", "circle", theme.PLAIN.colour), ("Person B", "diamond-open", theme.ink()))
    people = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": row.tolist(),
            "y": places,
            "marker": {
                "symbol": symbol,
                "size": 11 if symbol == "circle" else 14,
                "color": colour,
                "line": {"width": 2},
            },
            "hovertemplate": f"{name}: %{{x:+.4f}}<extra></extra>",
        }
        for (name, symbol, colour), row in zip(looks, values, strict=True)
    ]
    return [between, *people]


def _bars(difference: FloatArray, is_own: list[bool]) -> list[dict[str, Any]]:
    """The difference: hatched vermilion where the two differ, plain blue where they are equal."""
    looks = (
        (True, "Differs between the two", theme.DISCRIMINATORY),
        (False, "Equal for both, counts differently", theme.PLAIN),
    )
    bars = []
    for wanted, name, meaning in looks:
        places = [i for i, own in enumerate(is_own) if own is wanted]
        if not places:
            continue
        values = difference[places]
        bars.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": name,
                "x": values.tolist(),
                "y": places,
                "xaxis": "x2",
                "width": 0.62,
                "text": [signed(value, 3) for value in values.tolist()],
                "textposition": "outside",
                "cliponaxis": False,
                "marker": {
                    "color": meaning.colour,
                    "pattern": {
                        "shape": meaning.pattern,
                        "bgcolor": meaning.colour,
                        "fgcolor": theme.paper(),
                        "fillmode": "overlay",
                        "size": 6,
                        "solidity": 0.2,
                    },
                },
                "hovertemplate": "%{x:+.4f}<extra></extra>",
            }
        )
    return bars


def _room_for_text(difference: FloatArray) -> list[float]:
    """The axis of the bars, with room for a number beyond each end."""
    low, high = min(0.0, float(difference.min())), max(0.0, float(difference.max()))
    room = 0.3 * max(high - low, 1e-9)
    return [low - room if low < 0 else 0.0, high + room if high > 0 else 0.0]


def _layout(labels: list[str], target: str) -> dict[str, Any]:
    goal = shortened(target, 24)
    layout = theme.chart_layout("", "", "", height=150 + 30 * len(labels))
    axis = {
        **layout["xaxis"],
        "zeroline": True,
        "zerolinecolor": theme.ink(),
        "zerolinewidth": 1,
        "tickformat": ".2~f",
    }
    layout["xaxis"] = {**axis, "title": {"text": f"SHAP value: adds to the score for “{goal}”"}, "domain": [0, 0.56]}
    layout["xaxis2"] = {**axis, "title": {"text": "Difference of score, B less A"}, "domain": [0.64, 0.96], "nticks": 4}
    ticks = {"tickmode": "array", "tickvals": list(range(len(labels))), "ticktext": labels}
    layout["yaxis"] |= {"autorange": "reversed", **ticks}
    layout["yaxis"]["title"] = {"text": ""}
    layout["legend"] = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    layout["margin"] = {**layout["margin"], "t": 64}
    layout["title"] |= {
        "text": "Attributes by how differently they count for the two",
        "y": 0.98,
        "yref": "container",
        "yanchor": "top",
    }
    layout["uniformtext"] = {"minsize": 11, "mode": "show"}
    return layout
