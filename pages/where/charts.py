"""The tree of groups as boxes in boxes, and the same groups as a table and as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairness_engine.data.table import export_text
from fairness_engine.explanation.where_tree import sentence
from fairness_engine.oracle.domain import Domain
from pages.shared.app import theme, wording
from pages.shared.charts import kit

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from fairness_engine.explanation.where import Node, Where

SHARE = "Share, %"
INTERVAL = "95 % interval, %"
PART = "Of all, %"
PAIRS = "Pairs found"
_LIGHT_NEUTRAL = "#EDEFF2"
_DARK_NEUTRAL = "#2B323A"
"""A share of nothing."""
_LABELS = 3
"""Labels of a set that a box of the picture names."""


def tree_chart(found: Where, domain: Domain, rows: str, chosen: int) -> Figure:
    """Groups from left to right, each cut into its parts: height by rows, colour by share, a hatch above everybody's
    share.

    Drawn as bars: a click on a bar selects it and leaves the picture as it is, where Plotly's own icicle would zoom.

    Args:
        found: the groups.
        domain: names and labels.
        rows: what the shares are of, in words, not escaped.
        chosen: position of the leaf that is shown close up; it is framed.
    """
    boxes = _boxes(found)
    largest = max(*((node.share or 0.0) for node in found.nodes), 1e-9)
    colours = [_mixed((node.share or 0.0) / largest) for node in found.nodes]
    flagged = set(found.flagged)
    bars = kit.bars(
        [(box.left + box.right) / 2 for box in boxes],
        [node.n for node in found.nodes],
        hover="%{customdata}<br>%{hovertext}",
        colour=colours,
        hatch={
            "shape": [theme.DISCRIMINATORY.pattern if i in flagged else "" for i in range(len(boxes))],
            "fillmode": "overlay",
            "fgopacity": 0.4,
            "size": 10,
            "solidity": 0.1,
        },
        marker={"line": {"color": theme.paper(), "width": 2}},
        orientation="v",
        width=[box.right - box.left for box in boxes],
        base=[box.top for box in boxes],
        text=[f"{_step(found, i, domain)}<br>{_box_text(found, i)}" for i in range(len(boxes))],
        textposition="inside",
        insidetextanchor="middle",
        insidetextfont={"color": [theme.ink_on(colour) for colour in colours]},
        customdata=[kit.shortened(sentence(node.conditions, domain), 160) for node in found.nodes],
        hovertext=[_box_text(found, i) for i in range(len(boxes))],
    )
    bare = {"showgrid": False, "zeroline": False, "fixedrange": True}
    box = boxes[chosen]
    return kit.chart(
        f"Where the model discriminates, among {wording.escaped(rows)}",
        [bars],
        kit.axis(**bare, showticklabels=False, showline=False),
        kit.axis("Rows", **bare, autorange="reversed", tickformat=",.0f"),
        480,
        shapes=[kit.selected(box.left, box.right, box.top, box.top + found.nodes[chosen].n)],
        uniformtext={"minsize": 11, "mode": "hide"},
        bargap=0,
        dragmode=False,
    )


@dataclass(frozen=True)
class _Box:
    """Where a group is drawn: columns from left to right, rows from the top."""

    left: int
    right: int
    top: int


def _boxes(found: Where) -> list[_Box]:
    """A box for each group, its parts to its right; a group without parts reaches the right end."""
    depths = [0] * len(found.nodes)
    for i, node in enumerate(found.nodes):
        depths[i] = 0 if node.parent < 0 else depths[node.parent] + 1
    next_top = [0] * len(found.nodes)
    boxes = []
    for i, node in enumerate(found.nodes):
        top = 0 if node.parent < 0 else next_top[node.parent]
        if node.parent >= 0:
            next_top[node.parent] += node.n
        next_top[i] = top
        boxes.append(_Box(depths[i], max(depths) + 1 if node.is_leaf else depths[i] + 1, top))
    return boxes


def _mixed(strength: float) -> str:
    """A colour between neutral, at 0, and vermilion, at 1."""
    ends = (_DARK_NEUTRAL if theme.is_dark() else _LIGHT_NEUTRAL, theme.DISCRIMINATORY.colour)
    neutral, full = ([int(end[i : i + 2], 16) for i in (1, 3, 5)] for end in ends)
    return "#" + "".join(f"{round(a + strength * (b - a)):02x}" for a, b in zip(neutral, full, strict=True))


def _step(found: Where, position: int, domain: Domain) -> str:
    """What sets a group apart from the group that it is part of."""
    node = found.nodes[position]
    if node.parent < 0:
        return "Everybody"
    known = set(found.nodes[node.parent].conditions)
    new = [condition for condition in node.conditions if condition not in known]
    return kit.shortened(sentence(new, domain, _LABELS), 46)


def _box_text(found: Where, position: int) -> str:
    node = found.nodes[position]
    if not node.n_hits:
        return f"none of {wording.counted(node.n, 'row')}"
    mark = f"{theme.DISCRIMINATORY.symbol} " if position in found.flagged else ""
    return f"{mark}{wording.share(node.n_hits / node.n)} of {wording.counted(node.n, 'row')}"


def clicked_leaf(found: Where, points: Sequence[Mapping[str, Any]]) -> int | None:
    """The leaf that was clicked in the picture; ``None`` for a group with parts, or nothing."""
    for point in points:
        position = point.get("point_index")
        if isinstance(position, int) and 0 <= position < len(found.nodes) and found.nodes[position].is_leaf:
            return position
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
    flagged = set(found.flagged)
    n_hits = max(found.root.n_hits, 1)
    table = pd.DataFrame(
        {
            "Group": [
                f"{theme.DISCRIMINATORY.symbol} {k + 1}" if found.leaves[k] in flagged else f"{k + 1}"
                for k in range(len(nodes))
            ],
            "Conditions": [sentence(node.conditions, domain, most) for node in nodes],
            SHARE: [None if node.share is None else 100 * node.share for node in nodes],
            INTERVAL: [_interval_text(node) for node in nodes],
            "Rows": [node.n for node in nodes],
            PART: [100 * node.n_hits / n_hits for node in nodes],
        }
    )
    if n_pairs is not None:
        table[PAIRS] = [n_pairs.get(i, 0) for i in found.leaves]
    return table


def _interval_text(node: Node) -> str:
    low, high = (100 * end for end in node.interval)
    if not node.n_hits:
        return f"below {high:.2g}"
    return f"above {low:.3g}" if node.n_hits == node.n else f"{low:.1f}-{high:.1f}"


def groups_csv(found: Where, domain: Domain, n_pairs: Mapping[int, int] | None, within: str = "") -> bytes:
    """The groups as a file: every label named, and what the shares are of in each line.

    Args:
        found, domain, n_pairs: as ``group_table`` takes them.
        within: the name of the group whose people alone were looked at.
    """
    table = group_table(found, domain, n_pairs, most=10_000)
    table["Group"] = range(1, len(table) + 1)
    table["Conditions"] = [export_text(text) for text in table["Conditions"]]
    nodes = [found.nodes[i] for i in found.leaves]
    of = f"{found.distribution.value}, in the group {within}" if within else found.distribution.value
    table.insert(2, "Share of", export_text(of))
    table[INTERVAL] = [100 * node.interval[0] for node in nodes]
    table = table.rename(columns={INTERVAL: "Low, %"})
    table.insert(list(table).index("Low, %") + 1, "High, %", [100 * node.interval[1] for node in nodes])
    table.insert(list(table).index("Rows") + 1, "Discriminatory", [node.n_hits for node in nodes])
    return table.to_csv(index=False).encode()
