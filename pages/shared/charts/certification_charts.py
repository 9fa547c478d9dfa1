"""The charts of a certification: the three shares, and what was proved by when.

Each function returns a Plotly figure and has a twin that returns the same numbers as a table. Certified is solid,
falsified hatched, undecided dotted, each with its symbol: no meaning hangs on colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairness_engine.arrays import FloatArray
from pages.shared.app import theme
from pages.shared.charts import kit
from pages.shared.runs.certification_phrases import Shares

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PARTS = ((theme.CERTIFIED, "certified"), (theme.UNDECIDED, "undecided"), (theme.DISCRIMINATORY, "falsified"))
"""From left to right, and from below: what is open lies between what is proved, and shrinks from both sides."""
_MIN_SECONDS = 0.01
_HOVER = "%{y:.4g} %<extra>%{fullData.name}</extra>"
_WIDE = 0.11
"""Parts narrower than this share have no room for a text inside."""


def shares_chart(rows: Mapping[str, Shares], title: str) -> Figure:
    """One stacked bar a row: what is certified, undecided, falsified.

    Args:
        rows: by name, the first on top.
        title: of the chart.
    """
    names = [kit.shortened(row) for row in rows]
    return kit.chart(
        title,
        [_part_bars(names, list(rows.values()), *part) for part in PARTS],
        kit.axis("Share, %", range=[0, 100], fixedrange=True, tickvals=[0, 20, 40, 60, 80, 100]),
        kit.rows(names, fixedrange=True),
        128 + 52 * len(rows),
        barmode="stack",
        bargap=0.28,
        **kit.legend_above(r=24),
    )


def _part_bars(names: Sequence[str], rows: Sequence[Shares], meaning: theme.Meaning, name: str) -> kit.Part:
    texts = [dict(zip(("certified", "falsified", "undecided"), shares.texts, strict=True))[name] for shares in rows]
    values = [getattr(shares, name) for shares in rows]
    return kit.bars(
        [100 * value for value in values],
        range(len(rows)),
        f"{meaning.symbol} {name}",
        f"%{{customdata[0]}}: %{{customdata[1]}} {name}",
        colour=meaning.colour,
        hatch=kit.hatch(meaning.pattern),
        marker={"line": {"color": theme.paper(), "width": 1}},
        text=[
            f"<b>{meaning.symbol} {text}</b>" if value >= _WIDE else ""
            for text, value in zip(texts, values, strict=True)
        ],
        textposition="inside",
        insidetextanchor="middle",
        textfont={"size": 15},
        cliponaxis=True,  # shares that add up to the last bit more than 100 % would lose their texts
        customdata=list(zip(names, texts, strict=True)),
    )


def shares_text(rows: Mapping[str, Shares]) -> str:
    """The shares in a sentence a row."""
    words = ("{} certified", "{} falsified", "{} undecided")
    return " ".join(f"{name}: {', '.join(map(str.format, words, shares.texts))}." for name, shares in rows.items())


def shares_table(rows: Mapping[str, Shares]) -> pd.DataFrame:
    """The shares as a table, one line a row, as they are written."""
    lines = [[name, *shares.texts] for name, shares in rows.items()]
    names = [f"{meaning.symbol} {word}" for meaning, word in (PARTS[0], PARTS[2], PARTS[1])]
    return pd.DataFrame(lines, columns=["Of", *(name.capitalize() for name in names)])


# --- over time ----------------------------------------------------------------------------------


def anytime_chart(trace: Sequence[Sequence[float]], *, is_log: bool) -> Figure:
    """What was proved by when, stacked: certified from below, falsified from above, undecided between them.

    Args:
        trace: ``[seconds, certified, falsified, undecided, boxes]`` each, in order.
        is_log: seconds on a logarithmic axis.
    """
    points = _thinned(trace)
    places = {"certified": 1, "undecided": 3, "falsified": 2}
    areas = [
        kit.line(
            _seconds(points, is_log=is_log),
            100 * points[:, places[name]],
            f"{meaning.symbol} {name}",
            _HOVER,
            colour=meaning.colour,
            width=1.5,
            shape="hv",
            stackgroup="one",
            fillcolor=theme.tint(meaning, 0.75),
            fillpattern=kit.hatch(meaning.pattern, bgcolor=meaning.colour, fillmode="replace", fgopacity=0.3),
        )
        for meaning, name in PARTS
    ]
    return kit.chart(
        "What is proved by when",
        areas,
        _seconds_axis(is_log=is_log),
        kit.axis("Share of all individuals, %", range=[0, 100], fixedrange=True),
        340,
        hovermode="x unified",
        **kit.legend_above(r=24),
    )


def _seconds(points: FloatArray, *, is_log: bool) -> FloatArray:
    return np.maximum(points[:, 0], _MIN_SECONDS) if is_log else points[:, 0]


def _seconds_axis(*, is_log: bool) -> kit.Part:
    return kit.axis("Seconds", type="log" if is_log else "linear", hoverformat=",.3~g")


def _thinned(trace: Sequence[Sequence[float]]) -> FloatArray:
    """The trace from second 0 on, at most as many points as a screen shows, the last among them."""
    points = np.array([[0.0, 0.0, 0.0, 1.0, 0.0], *trace], dtype=np.float64)
    return np.asarray(points[kit.thinned(len(points))])


def anytime_table(trace: Sequence[Sequence[float]]) -> pd.DataFrame:
    """The anytime curve as a table, shares in percent."""
    points = _thinned(trace)
    shares = {
        f"{name.capitalize()}, %": 100 * points[:, at]
        for name, at in (("certified", 1), ("falsified", 2), ("undecided", 3))
    }
    return pd.DataFrame({"Seconds": points[:, 0], **shares, "Boxes": points[:, 4].astype(np.int64)})


def overlay_chart(traces: Mapping[str, Sequence[Sequence[float]]], *, is_log: bool) -> Figure:
    """The undecided shares of several certifications over time, lower is better; the first is before, the second after.

    Args:
        traces: by name, which bears the symbol.
        is_log: seconds on a logarithmic axis.
    """
    lines = []
    for i, ((name, trace), meaning) in enumerate(zip(traces.items(), (theme.BEFORE, theme.AFTER), strict=False)):
        points = _thinned(trace)
        seconds = _seconds(points, is_log=is_log)
        undecided = 100 * points[:, 3]
        look = {"colour": meaning.colour, "dash": kit.dash(i), "shape": "hv"}
        lines.append(kit.line(seconds, undecided, kit.shortened(name, 60), _HOVER, **look))
    return kit.chart(
        "Undecided over time",
        lines,
        _seconds_axis(is_log=is_log),
        kit.axis("Undecided share, %", rangemode="tozero"),
        hovermode="x unified",
        **kit.legend_above(),
    )


def overlay_table(traces: Mapping[str, Sequence[Sequence[float]]]) -> pd.DataFrame:
    """The curves as one table, a line a report."""
    parts = [anytime_table(trace).assign(Certification=name) for name, trace in traces.items()]
    table = pd.concat(parts, ignore_index=True)
    return table[["Certification", *[name for name in table.columns if name != "Certification"]]]
