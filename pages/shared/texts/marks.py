"""Texts with words marked, as HTML in which everything of the user is escaped: by symbol and underline, not by colour
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pages.shared.app import theme, wording

if TYPE_CHECKING:
    from fairness_engine.groups.identity_terms.terms import Terms

Span = tuple[int, int, str]
"""Begin and end of a word in a text, and what is said when the pointer rests on it."""
_CONTEXT = 90
"""Characters kept on either side of a marked word where a text is too long to be shown whole."""


def examples(texts: Sequence[str], terms: Terms, n_wanted: int) -> list[tuple[str, list[Span]]]:
    """A few texts with the terms in them: those that hold one first."""
    from fairness_engine.groups.identity_terms.matching import TermFinder

    finder = TermFinder(terms)
    with_terms = []
    without = []
    for text in texts:
        spans = [(found.start, found.end, found.category) for found in finder.find(text)]
        (with_terms if spans else without).append((text, spans))
        if len(with_terms) == n_wanted:
            break
    return (with_terms + without)[:n_wanted]


def found_html(text: str, spans: Sequence[Span], most: int) -> str:
    """A text with the terms that were found in it underlined."""
    return marked(text, spans, "eh-found", "", most)


def swapped_html(text: str, spans: Sequence[Span], most: int) -> str:
    """A text with the words that were put into it marked by a symbol, a frame and a tint."""
    return marked(text, spans, "eh-swapped", theme.SELECTION.symbol, most)


def marked(text: str, spans: Sequence[Span], name: str, symbol: str, most: int) -> str:
    """A text with spans in a ``mark`` of a class; a long one is cut to what stands around its first spans.

    Args:
        spans: in order, without overlap, in characters; what lies outside the text is left out.
        name: of the class.
        symbol: before each marked word.
        most: characters that are shown at most, about.
    """
    kept = [(start, end, note) for start, end, note in sorted(spans) if 0 <= start < end <= len(text)]
    begin, stop = _window(text, kept, most)
    parts = ["… " if begin else ""]
    at = begin
    for start, end, note in kept:
        if start < at or end > stop:
            continue
        word = wording.escaped(text[start:end])
        sign = f'<span aria-hidden="true">{symbol}</span>' if symbol else ""
        parts += [
            wording.escaped(text[at:start]),
            f'<mark class="{name}" title="{wording.escaped(note)}">{sign}{word}</mark>',
        ]
        at = end
    return "".join([*parts, wording.escaped(text[at:stop]), " …" if stop < len(text) else ""])


def _window(text: str, spans: Sequence[Span], most: int) -> tuple[int, int]:
    """The part of a text that is shown: all of it, or what begins shortly before the first span."""
    if len(text) <= most:
        return 0, len(text)
    begin = max(0, spans[0][0] - _CONTEXT) if spans else 0
    begin = min(begin, len(text) - most)
    return begin, begin + most


def style() -> str:
    """The look of marks and lists in the reader's theme."""
    return f"""
<style>
.eh-list {{margin: 0 0 0.5rem 0; padding-left: 1.2rem}}
.eh-list li {{margin-bottom: 0.35rem; overflow-wrap: anywhere}}
mark.eh-found {{background: none; color: inherit; border-bottom: 2px dotted {theme.SELECTION.colour}; font-weight: 600}}
mark.eh-swapped {{background: {theme.tint(theme.SELECTION, 0.22)}; color: inherit; font-weight: 700;
    border-radius: 0.25rem;
  padding: 0 0.25rem; border-bottom: 2px solid {theme.SELECTION.colour}; white-space: nowrap}}
mark.eh-swapped span {{color: {theme.SELECTION.colour}; font-size: 0.75em; margin-right: 0.15rem}}
</style>
"""
