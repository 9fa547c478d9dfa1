"""The three shares as one bar of HTML: at once on the screen, where a chart would take its library half a second to
draw.
"""

from __future__ import annotations

from pages.shared.app import theme, wording
from pages.shared.runs.certification_phrases import Shares

STYLE = """
<style>
.eh-bar {display:flex;height:3.1rem;border-radius:0.4rem;overflow:hidden;margin:0.3rem 0 0.5rem 0}
.eh-bar > div
    {display:flex;align-items:center;justify-content:center;font-weight:650;white-space:nowrap;overflow:hidden;
  transition:width 0.6s}
.eh-bar-names {display:flex;flex-wrap:wrap;gap:0.3rem 1.6rem}
.eh-bar-names span > i {display:inline-block;width:1.6rem;height:0.8rem;margin-right:0.45rem}
@media (prefers-reduced-motion: reduce) {.eh-bar > div {transition:none}}
</style>
"""
_ROOM = 0.09
"""Parts narrower than this share have no room for a text inside; their share stands under the bar."""


def bar_html(shares: Shares) -> str:
    """Certified, undecided, falsified from left to right, and under the bar each with symbol, name and share."""
    certified, falsified, undecided = shares.texts
    parts = (
        (theme.CERTIFIED, "certified", shares.certified, certified),
        (theme.UNDECIDED, "undecided", shares.undecided, undecided),
        (theme.DISCRIMINATORY, "falsified", shares.falsified, falsified),
    )
    areas = "".join(
        f'<div style="width:{100 * share:.4f}%;color:{theme.on_bar()};background:{_ground(meaning)}">'
        f"{f'{meaning.symbol} {wording.escaped(text)}' if share >= _ROOM else ''}</div>"
        for meaning, _, share, text in parts
    )
    names = "".join(
        f'<span><i style="background:{_ground(meaning)}"></i>{meaning.symbol} {name} '
        f"<b>{wording.escaped(text)}</b></span>"
        for meaning, name, _, text in parts
    )
    said = ", ".join(f"{text} {name}" for _, name, _, text in parts)
    return (
        f'<div class="eh-bar" role="img" aria-label="{wording.escaped(said)}">{areas}</div>'
        f'<div class="eh-bar-names" aria-hidden="true">{names}</div>'
    )


def _ground(meaning: theme.Meaning) -> str:
    """The meaning's colour under its pattern: solid, hatched or dotted."""
    mark = "rgba(20,23,27,.35)" if theme.is_dark() else "rgba(255,255,255,.38)"
    if meaning is theme.DISCRIMINATORY:
        return f"repeating-linear-gradient(135deg, {mark} 0 2px, transparent 2px 9px), {meaning.colour}"
    if meaning is theme.UNDECIDED:
        return f"radial-gradient({mark} 1.3px, transparent 1.5px) 0 0 / 8px 8px, {meaning.colour}"
    return meaning.colour
