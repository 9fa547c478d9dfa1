"""Two protected attributes as a heat map with its numbers written in.

Cells are bars, for a click on a heat map is not told to the server. Colour diverges from the share of everybody,
vermilion below and blue above, with ▼ and △ beside the number; cells of few rows are hatched, empty ones say so.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.groups.rule_sets.phrases import share_text
from pages.groups.two_attributes.cells import Cells
from pages.shared.app import theme, wording
from pages.shared.charts import kit

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_MAX_FULL = 8
_MAX_NUMBERS = 14
"""Columns up to which a cell has two lines of numbers, and one."""
_MAX_LEVEL = 8
_MAX_ONLY = 5
"""Letters of a name that fits above one of many columns, and columns up to which there is room for "only"."""
_LEAST_REACH = 5.0
"""Points from everybody's share at which the colour is full, at the least: small differences stay pale."""
_GAP = 0.96
_ALL_SEEN = {"marker": {"opacity": 1}}
"""What a click does not choose stays as it is."""
_CHANGED = 0.5
"""Points within which a share counts as everybody's."""


def matrix_chart(cells: Cells, names: tuple[str, ...], outcome: str, chosen: tuple[int, int] | None) -> Figure:
    """The cells as a picture.

    Args:
        cells: of two attributes.
        names: of the attributes, the one down first.
        outcome: what the favourable one is called.
        chosen: the cell that is framed.
    """
    n_down, n_across = cells.share.shape
    is_wide = shows_one_number(cells)
    across = ticks(cells.across, n_across)
    letters = max(len(line) for label in across["ticktext"] for line in label.split("<br>"))
    is_upright = is_wide and letters > _MAX_LEVEL  # long names of many columns stand on end
    room = 9 * letters if is_upright else 0
    across |= {"side": "top", "range": [-0.5, n_across - 0.5], "tickangle": -90 if is_upright else 0}
    title = f"Share with “{kit.shortened(outcome, 30)}” by {names[0]} (down) and {names[1]} (across)"
    return kit.chart(
        kit.shortened(title, 90),
        [_filled(cells), _empty(cells)],
        kit.axis(kit.shortened(names[1], 60), standoff=8, **across),
        _down(cells, names[0]),
        150 + (34 if is_wide else 52) * n_down + (30 + room if is_upright else 0),
        shapes=[] if chosen is None else [frame(*chosen)],
        barmode="overlay",
        margin={"t": 86 + room if is_upright else 110},
    )


def _down(cells: Cells, name: str) -> kit.Part:
    n = len(cells.down)
    return kit.axis(kit.shortened(name), standoff=14, **ticks(cells.down, 1), range=[n - 0.5, -0.5])


def shows_one_number(cells: Cells) -> bool:
    """Whether there are so many columns that a cell has no room for more."""
    return cells.share.shape[1] > _MAX_FULL


def ticks(labels: tuple[str, ...], n: int) -> kit.Part:
    """An axis with a label a value; narrow where there are several.

    Args:
        labels: of the values.
        n: how many share the width.
    """
    same = {"tickmode": "array", "tickvals": list(range(len(labels))), "fixedrange": True}
    same |= {"showgrid": False, "zeroline": False, "showline": False}
    if n == 1:
        return {**same, "ticktext": [kit.shortened(label, 24) for label in labels], "ticklabelstandoff": 4}
    width = max(8, 64 // n)
    return {**same, "ticktext": [_wrapped(label, width if n <= _MAX_FULL else 14) for label in labels]}


def _wrapped(label: str, width: int) -> str:
    """On two lines at most."""
    lines = textwrap.wrap(kit.shortened(label, 2 * width), width) or [""]
    return "<br>".join([lines[0], kit.shortened(" ".join(lines[1:]), width)] if len(lines) > 1 else lines)


def frame(i: int, j: int) -> kit.Part:
    """Around the chosen cell."""
    return kit.selected(j - 0.48, j + 0.48, i - 0.48, i + 0.48)


def reach(cells: Cells) -> float:
    """Points from everybody's share at which the colour is full: those of the furthest cell that has not too few
    rows.
    """
    gaps = 100 * np.abs(cells.share - cells.overall)
    told = gaps[~np.isnan(gaps) & ~cells.is_few]
    return max(_LEAST_REACH, float(told.max()) if len(told) else 0.0)


def _filled(cells: Cells) -> kit.Part:
    """The cells that have a share."""
    places = np.argwhere(cells.drawn > 0)
    points = [100 * float(cells.share[i, j] - cells.overall) for i, j in places]
    furthest = reach(cells)
    few = ["/" if cells.is_few[i, j] else "" for i, j in places]
    marker = {
        "colorscale": _scale(),
        "cmin": -furthest,
        "cmax": furthest,
        "colorbar": _colour_bar(furthest, "the mean" if cells.is_text else "everybody’s share"),
        "line": {"width": 0},
    }
    return _bars(
        places,
        cells,
        [cell_text(cells, i, j) for i, j in places.tolist()],
        13 if cells.share.shape[1] <= _MAX_FULL else 11.5,
        [_ink_on(one / furthest) for one in points],
        colour=points,
        hatch=kit.hatch(few, fgcolor=theme.ink(), fgopacity=0.28, size=9, solidity=0.12),
        marker=marker,
    )


def _empty(cells: Cells) -> kit.Part:
    """The cells that have none, in grey."""
    places = np.argwhere(cells.drawn == 0)
    texts = ["no row" if not cells.n_rows[i, j] else "no sample" for i, j in places]
    outline = {"line": {"width": 1, "color": theme.faint()}}
    return _bars(places, cells, texts, 11, theme.ink(), colour="rgba(128, 128, 128, 0.10)", marker=outline)


def _bars(
    places: np.ndarray, cells: Cells, texts: list[str], size: float, ink: str | list[str], **look: Any
) -> kit.Part:
    """Bars that fill the given cells."""
    return kit.bars(
        [_GAP] * len(places),
        [int(i) for i, _ in places],
        hover="%{hovertext}",
        base=[int(j) - _GAP / 2 for _, j in places],
        width=_GAP,
        text=texts,
        textfont={"size": size},
        textposition="inside",
        insidetextfont={"color": ink},
        insidetextanchor="middle",
        constraintext="none",
        customdata=[[int(i), int(j)] for i, j in places],
        hovertext=[hover_text(cells, int(i), int(j)) for i, j in places],
        unselected=_ALL_SEEN,
        selected=_ALL_SEEN,
        **look,
    )


def _ends() -> tuple[str, str, str]:
    """Vermilion, the paper, blue: told apart by people of every colour vision."""
    return theme.HARMED.colour, "#262C34" if theme.is_dark() else "#F4F5F7", theme.FAVOURED.colour


def _scale() -> list[list[object]]:
    return [[at, colour] for at, colour in zip((0.0, 0.5, 1.0), _ends(), strict=True)]


def _ink_on(strength: float) -> str:
    """Colour of text on a cell: the one of two that stands out more.

    Args:
        strength: of the cell's colour, -1 to 1.
    """
    low, middle, high = (_channels(colour) for colour in _ends())
    part = min(1.0, abs(strength))
    mixed = (1 - part) * middle + part * (low if strength < 0 else high)
    return theme.ink_on("#" + "".join(f"{round(255 * one):02x}" for one in mixed))


def _channels(colour: str) -> np.ndarray:
    """Red, green and blue, 0 to 1."""
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def _colour_bar(furthest: float, middle: str) -> kit.Part:
    ends = [-furthest, 0.0, furthest]
    return {
        "title": {"text": f"points from {middle}", "side": "right", "font": {"size": 12}},
        "tickvals": ends,
        "ticktext": [f"−{furthest:.0f}", "0", f"+{furthest:.0f}"],
        "thickness": 12,
        "len": 0.9,
        "outlinewidth": 0,
    }


def direction(cells: Cells, i: int, j: int) -> theme.Meaning | None:
    """Whether fewer or more than of everybody get the favourable outcome; ``None`` for as many."""
    points = 100 * float(cells.share[i, j] - cells.overall)
    if abs(points) < _CHANGED:
        return None
    return theme.HARMED if points < 0 else theme.FAVOURED


def cell_text(cells: Cells, i: int, j: int) -> str:
    """What is written in a cell: direction, share and rows; less where there are many columns."""
    n_across = cells.share.shape[1]
    percent = 100 * float(cells.share[i, j])
    if n_across > _MAX_NUMBERS:
        return ""
    if n_across > _MAX_FULL:
        return f"{percent:.0f}"
    meaning = direction(cells, i, j)
    first = f"{meaning.symbol + ' ' if meaning else ''}{share_text(percent / 100)}"
    n = int(cells.n_rows[i, j])
    rows = wording.counted(n, "text" if cells.is_text else "row")
    return f"{first}<br>{'only ' if cells.is_few[i, j] and n_across <= _MAX_ONLY else ''}{rows}"


def everybody(cells: Cells) -> str:
    """What a cell is held against."""
    return f"{'mean of all cells' if cells.is_text else 'everybody'} {share_text(cells.overall)}"


def hover_text(cells: Cells, i: int, j: int) -> str:
    """Everything that is known of a cell."""
    labels = [cells.down[i], *([cells.across[j]] if len(cells.attributes) > 1 else [])]
    lines = [f"<b>{kit.shortened(', '.join(labels), 90)}</b>"]
    n = int(cells.n_rows[i, j])
    if not n or not cells.drawn[i, j]:
        return f"{lines[0]}<br>{'No row of the data' if not n else 'No sample was drawn here'}"
    share = wording.share(float(cells.share[i, j]), *(cells.ends(i, j) or ()))
    lines.append(f"{share} favourable; {everybody(cells)}")
    if cells.is_text:
        lines.append(f"{wording.counted(int(cells.drawn[i, j]), 'text')} with these terms swapped in")
    else:
        few = ", under 2 %" if cells.is_few[i, j] else ""
        lines.append(f"{wording.counted(n, 'row')}, {wording.share(n / cells.n_all)} of all{few}")
        lines.append(f"{wording.counted(int(cells.drawn[i, j]), 'sample')}")
    return "<br>".join(lines)


def bar_chart(cells: Cells, name: str, outcome: str, chosen: tuple[int, int] | None) -> Figure:
    """A bar a value with its interval, and everybody's share as a line.

    Args:
        cells: of one attribute.
        name: of the attribute.
        outcome: what the favourable one is called.
        chosen: the value that is framed.
    """
    axis = f"Share with “{kit.shortened(outcome, 30)}”"
    shapes = [kit.reference_line(x=100 * cells.overall)]
    if chosen is not None:
        shapes.append(frame(*chosen) | {"x0": 0, "x1": 1, "xref": "paper"})
    title = kit.shortened(f"{axis} by {name}", 80)
    height = 150 + 40 * len(cells.down)
    return kit.chart(title, [_side_bars(cells)], f"{axis}, %", _down(cells, name), height, shapes=shapes)


def _side_bars(cells: Cells) -> kit.Part:
    places = [i for i in range(len(cells.down)) if cells.drawn[i, 0]]
    shares = [float(cells.share[i, 0]) for i in places]
    ends = [(share, *(cells.ends(i, 0) or (share, share))) for i, share in zip(places, shares, strict=True)]
    colours = [(direction(cells, i, 0) or theme.UNDECIDED).colour for i in places]
    return kit.bars(
        [100 * share for share in shares],
        places,
        hover="%{hovertext}",
        colour=colours,
        hatch=kit.hatch(["/" if cells.is_few[i, 0] else "" for i in places]),
        width=0.7,
        text=[cell_text(cells, i, 0).replace("<br>", " · ") for i in places],
        textposition="auto",
        insidetextanchor="start",
        constraintext="none",
        insidetextfont={"color": [theme.ink_on(colour) for colour in colours]},
        error_x=kit.intervals(ends, theme.ink(), scale=100, thickness=1.5),
        customdata=[[i, 0] for i in places],
        hovertext=[hover_text(cells, i, 0) for i in places],
    )
