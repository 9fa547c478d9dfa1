"""Pictures of the report: inline SVG, readable in black and white."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from fairness_engine.groups.figures.report import FOUR_FIFTHS, Rate
from fairness_engine.telling.wording import share

_WIDTH = 720
_NAMES = 330
_VALUES = 58
_RIGHT = 24
_LINE = 17
_BAR = 11
_TOP = 8
_TOP_WITH_WORDS = 24
MAX_BARS = 24
_LONGEST_NAME = 42
_FOUR_FIFTHS = "four fifths of the highest that is compared (a convention)"


def rate_bars(groups: Sequence[tuple[str, Rate]], what: str, best: float | None = None) -> str:
    """A bar a group with its 95 % interval, on a scale from 0 to 100 %; the line is four fifths of the best rate.

    Args:
        groups: name and rate of each; of many those with the highest and the lowest rates are drawn.
        what: the rate is called.
        best: the highest rate of a group that is large enough; ``None`` where a preset does not speak of four fifths.
    """
    drawn = _drawn(groups)
    top = _TOP_WITH_WORDS if best else _TOP
    bottom = top + _LINE * len(drawn)
    is_cut = len(drawn) < len(groups)
    height = bottom + (40 if is_cut else 20)
    scale = _WIDTH - _NAMES - _RIGHT
    parts = [_open(height, f"{what} by group with 95 % intervals", size=11)]
    for i, (name, rate) in enumerate(drawn):
        y = top + _LINE * i
        end = _NAMES + scale * rate.share
        low, high = _NAMES + scale * rate.low, _NAMES + scale * rate.high
        middle = y + _BAR / 2
        parts.append(
            f'<text x="{_NAMES - _VALUES}" y="{y + 10}" text-anchor="end">{escape(_cut(name))}'
            f"<title>{escape(name)}</title></text>"
            f'<text x="{_NAMES - 8}" y="{y + 10}" text-anchor="end" font-weight="600">{share(rate.share)}</text>'
            f'<rect x="{_NAMES}" y="{y}" width="{max(0.5, end - _NAMES):.1f}" height="{_BAR}" fill="#c9d6e2"/>'
            f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 4}v8M{high:.1f} {middle - 4}v8" '
            'stroke="#000" stroke-width="1.2"/>'
        )
    if best:
        x = _NAMES + scale * FOUR_FIFTHS * best
        parts.append(
            f'<path d="M{x:.1f} {top - 4}V{bottom}" stroke="#000" stroke-width="1.5" stroke-dasharray="5 4"/>'
            f'<text x="{x:.1f}" y="{top - 10}" text-anchor="middle">{_FOUR_FIFTHS}</text>'
        )
    parts.append(f'<path d="M{_NAMES} {top - 4}V{bottom}" stroke="#000"/>')
    for percent in (0, 25, 50, 75, 100):
        x = _NAMES + scale * percent / 100
        parts.append(
            f'<path d="M{x:.1f} {bottom}v3" stroke="#000"/>'
            f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle" font-size="9.5">{percent} %</text>'
        )
    if is_cut:
        text = f"{len(drawn)} of {len(groups)} groups: the highest and the lowest"
        parts.append(f'<text x="{_NAMES}" y="{bottom + 32}">{text}</text>')
    return "".join([*parts, "</svg>"])


def proof_bar(certified: float, falsified: float, undecided: float, texts: Sequence[str]) -> str:
    """What is proved: alike, otherwise, open; told apart by pattern and by words."""
    fills = ("#ffffff", "url(#eh-hatch)", "url(#eh-dots)")
    names = ("proved alike", "proved otherwise", "open")
    parts = [_open(92, "Shares of individuals by what is proved"), _PATTERNS]
    x = 0.0
    for share_of, fill in zip((certified, falsified, undecided), fills, strict=True):
        width = _WIDTH * share_of
        if share_of > 0:
            parts.append(f'<rect x="{x:.1f}" y="4" width="{width:.1f}" height="34" fill="{fill}" stroke="#000"/>')
        x += width
    x = 0.0
    for fill, name, text in zip(fills, names, texts, strict=True):
        parts.append(
            f'<rect x="{x:.0f}" y="54" width="22" height="16" fill="{fill}" stroke="#000"/>'
            f'<text x="{x + 30:.0f}" y="67">{escape(name)}: {escape(text)}</text>'
        )
        x += _WIDTH / 3
    return "".join([*parts, "</svg>"])


_PATTERNS = (
    '<defs><pattern id="eh-hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="7" height="7" fill="#fff"/><path d="M0 0V7" stroke="#000" stroke-width="3"/></pattern>'
    '<pattern id="eh-dots" width="7" height="7" patternUnits="userSpaceOnUse"><rect width="7" height="7" fill="#fff"/>'
    '<circle cx="3" cy="3" r="1.3"/></pattern></defs>'
)


def _open(height: float, title: str, size: int = 13) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" xmlns="http://www.w3.org/2000/svg" font-size="{size}" '
        f'font-family="inherit"><title>{escape(title)}</title>'
    )


def _drawn(groups: Sequence[tuple[str, Rate]]) -> list[tuple[str, Rate]]:
    if len(groups) <= MAX_BARS:
        return list(groups)
    order = sorted(groups, key=lambda group: -group[1].share)
    return [*order[: MAX_BARS // 2], *order[-MAX_BARS // 2 :]]


def _cut(name: str) -> str:
    """A name that fits: of a long one both ends, for groups differ at either."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:26].rstrip()} … {name[-13:].lstrip()}"
