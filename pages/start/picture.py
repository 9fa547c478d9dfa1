"""The small picture on a demo's card: of a hundred people of two groups, how many get the favourable outcome."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from pages.shared.app import theme, wording
from pages.shared.teaching.lessons import of_100

if TYPE_CHECKING:
    from pages.shared.app.theme import Meaning

_PER_LINE = 50
_N_LINES = 2
_PITCH = 6
_DOT = 4.8
_REST = ("#C9CFD6", "#4A535E")
"""Colours on light and on dark."""

STYLE = """
<style>
.eh-hundred {margin: 0 0 0.45rem 0; font-size: 0.92rem; line-height: 1.25;}
.eh-hundred img {display: block; width: 100%; margin-top: 0.15rem;}
</style>
"""


def two_groups(names: tuple[str, str], counts: tuple[tuple[int, int], tuple[int, int]]) -> str:
    """A hundred dots a group, the first being the one in which something is planted; in HTML.

    Args:
        names: of the groups, not escaped.
        counts: how many are in each, and how many of these get the favourable outcome.
    """
    shares = [of_100(n_favourable, n) for n, n_favourable in counts]
    meanings = (theme.HARMED if shares[0] < shares[1] else theme.PLAIN, theme.PLAIN)
    return "".join(
        f'<div class="eh-hundred">{meaning.symbol} <b>{n} of 100</b> {wording.escaped(name)}'
        f'<img alt="" src="data:image/svg+xml;base64,{_encoded(drawn(n, meaning))}"></div>'
        for n, name, meaning in zip(shares, names, meanings, strict=True)
    )


def _encoded(svg: str) -> str:
    return base64.b64encode(svg.encode()).decode()


def drawn(n: int, meaning: Meaning) -> str:
    """A hundred dots as SVG, the first ``n`` of them in a colour. It knows light from dark by itself: a picture is told
    how the page around it is.
    """
    style = (
        f"#rest{{stroke:{_REST[0]}}}#some{{stroke:{meaning.light}}}@media(prefers-color-scheme:dark)"
        f"{{#rest{{stroke:{_REST[1]}}}#some{{stroke:{meaning.dark}}}}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_PER_LINE * _PITCH} {_N_LINES * _PITCH}" fill="none" '
        f'stroke-linecap="round" stroke-width="{_DOT}" stroke-dasharray="0 {_PITCH}"><style>{style}</style>'
        f'<path id="rest" d="{_dots(n, 100)}"/><path id="some" d="{_dots(0, n)}"/></svg>'
    )


def _dots(first: int, last: int) -> str:
    """Lines through the middles of dots ``first`` to ``last``, counted down each column and then to the right, so that
    the length tells the share; the dashes make dots of a line.
    """
    lines = []
    for line in range(_N_LINES):
        start, end = ((number - line + _N_LINES - 1) // _N_LINES for number in (first, last))
        if start < end:
            x = (start + 0.5) * _PITCH
            lines.append(f"M{x:g} {(line + 0.5) * _PITCH:g}h{(end - start - 1) * _PITCH + 0.01:g}")
    return "".join(lines)
