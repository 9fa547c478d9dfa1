"""The tree of groups as an icicle, and the same groups as a table and as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairness_engine.domain import Domain
from fairness_engine.explanation.conditions import sentence
from fairness_engine.table import export_text
from pages.components import theme, wording
from pages.components.charts import shortened

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from fairness_engine.explanation.where import Node, Where

SHARE, PART, PAIRS = "Share, %", "Of all, %", "Pairs found"
_LIGHT_NEUTRAL, _DARK_NEUTRAL = "#EDEFF2", "#2B323A"
"""A share of nothing."""
_LABELS = 3
"""Labels of a set that a box of the picture names."""


def tree_chart(found: Where, domain: Domain, rows: str) -> Figure:
    """Groups from left to right, each cut into its parts: height by rows, colour by share, a hatch above everybody's share.

    Args:
        found: the groups.
        domain: names and labels.
        rows: what the shares are of, in words.
    """
    from plotly.graph_objects import Figure  # costs half a second: only when something is drawn

    nodes, flagged = found.nodes, set(found.flagged)
    shares = [100 * (node.share or 0.0) for node in nodes]
    boxes = {
        "type": "icicle",
        "ids": [str(i) for i in range(len(nodes))],
        "parents": ["" if node.parent < 0 else str(node.parent) for node in nodes],
        "labels": [_step(found, i, domain) for i in range(len(nodes))],
        "text": [_box_text(node, is_flagged=i in flagged) for i, node in enumerate(nodes)],
        "values": [node.n for node in nodes],
        "branchvalues": "total",
        "sort": False,
        "tiling": {"orientation": "h", "pad": 2},
        "pathbar": {"visible": False},
        "texttemplate": "%{label}<br>%{text}",
        "customdata": [shortened(sentence(node.conditions, domain), 160) for node in nodes],
        "hovertemplate": "%{customdata}<br>%{text}<extra></extra>",
        "textfont": {"size": 14},
        "insidetextfont": {"family": theme.FONT},
        "marker": _marker(shares, [i in flagged for i in range(len(nodes))]),
    }
    layout = theme.chart_layout(f"Where the model discriminates, by share of {rows}", "", "", height=520)
    layout["margin"] = {**layout["margin"], "t": 56}
    layout["uniformtext"] = {"minsize": 10, "mode": "hide"}
    return Figure(data=[boxes], layout=layout)


def _marker(shares: Sequence[float], is_flagged: Sequence[bool]) -> dict[str, Any]:
    """Neutral at no share, vermilion at the largest; the hatch says the same without colour."""
    return {
        "colors": list(shares),
        "colorscale": [[0, _DARK_NEUTRAL if theme.is_dark() else _LIGHT_NEUTRAL], [1, theme.DISCRIMINATORY.colour]],
        "cmin": 0,
        "cmax": max(*shares, 1e-9),
        "showscale": True,
        "colorbar": {"title": {"text": "Share, %"}, "thickness": 14, "outlinewidth": 0},
        "line": {"color": theme.paper(), "width": 2},
        "pattern": {
            "shape": [theme.DISCRIMINATORY.pattern if flagged else "" for flagged in is_flagged],
            "fillmode": "overlay",
            "fgcolor": theme.paper(),
            "fgopacity": 0.35,
            "size": 9,
            "solidity": 0.12,
        },
    }


def _step(found: Where, position: int, domain: Domain) -> str:
    """What sets a group apart from the group that it is part of."""
    node = found.nodes[position]
    if node.parent < 0:
        return "Everybody"
    known = set(found.nodes[node.parent].conditions)
    new = [condition for condition in node.conditions if condition not in known]
    return shortened(sentence(new, domain, _LABELS), 46)


def _box_text(node: Node, *, is_flagged: bool) -> str:
    mark = f"{theme.DISCRIMINATORY.symbol} " if is_flagged else ""
    if node.share is None:
        return "no row"
    return f"{mark}{wording.share(node.share)} of {wording.counted(node.n, 'row')}"


def clicked_leaf(found: Where, points: Sequence[Mapping[str, Any]]) -> int | None:
    """The leaf that was clicked in the picture; ``None`` for a group with parts, or nothing."""
    for point in points:
        text = str(point.get("id", ""))
        if text.isdigit() and int(text) < len(found.nodes) and found.nodes[int(text)].is_leaf:
            return int(text)
    return None


def group_table(found: Where, domain: Domain, n_pairs: Mapping[int, int] | None, *, most: int = 6) -> pd.DataFrame:
    """One line a group, the largest share first; shares in percent.

    Args:
        found: the groups.
        domain: names and labels.
        n_pairs: pairs of a run by leaf; ``None`` without a run.
        most: labels of a set that are named.
    """
    nodes = [found.nodes[i] for i in found.leaves]
    flagged, n_hits = set(found.flagged), max(found.root.n_hits, 1)
    table = pd.DataFrame(
        {
            "Group": [
                f"{theme.DISCRIMINATORY.symbol} {k + 1}" if found.leaves[k] in flagged else f"{k + 1}"
                for k in range(len(nodes))
            ],
            "Conditions": [sentence(node.conditions, domain, most) for node in nodes],
            "Rows": [node.n for node in nodes],
            "Discriminatory": [node.n_hits for node in nodes],
            SHARE: [None if node.share is None else 100 * node.share for node in nodes],
            "Low, %": [100 * node.interval[0] for node in nodes],
            "High, %": [100 * node.interval[1] for node in nodes],
            PART: [100 * node.n_hits / n_hits for node in nodes],
        }
    )
    if n_pairs is not None:
        table[PAIRS] = [n_pairs.get(i, 0) for i in found.leaves]
    return table


def groups_csv(found: Where, domain: Domain, n_pairs: Mapping[int, int] | None) -> bytes:
    """The groups as a file: every label named, and what the shares are of in each line."""
    table = group_table(found, domain, n_pairs, most=10_000)
    table["Group"] = range(1, len(table) + 1)
    table["Conditions"] = [export_text(text) for text in table["Conditions"]]
    table.insert(2, "Share of", found.distribution.value)
    return table.to_csv(index=False).encode()
