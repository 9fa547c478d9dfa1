"""One person with every combination of protected values: what the model decides for each.

One attribute is drawn as a strip, two as a matrix, more as a list; every cell has the score as a number and the
decision as a symbol, so that nothing hangs on colour. Of a great many combinations the most different ones are listed.
``flip_frame`` is a table of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import groupby

import numpy as np
import pandas as pd

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Column
from fairness_engine.models.fit.decisions import Decisions, score_digits, score_text
from fairness_engine.oracle.domain import Domain
from pages.shared.app import theme, wording

_MAX_WIDE_CELLS = 14
"""Above this many columns a matrix shows symbols only; the number is in a cell's hint and in the table."""
_MAX_STRIP_CELLS = 24
_MAX_STRIPS = 3
_MAX_RUNS = 12
_MAX_CELLS = 400
"""Of a strip or a matrix; more combinations are listed."""
_MAX_LISTED = 24
_N_MOST_DIFFERENT = 12
"""Combinations of a list; of more, so many of the most different are listed."""
_MAX_TINT = 42
_HEAD = "font-weight:500;width:6.5em;overflow-wrap:break-word;line-height:1.2;vertical-align:bottom"
_NOT_COMPARED = (
    '<div title="not compared: left out of the scope" style="text-align:center;opacity:.6">\N{EN DASH}</div>'
)
_CELL = "text-align:center;border-radius:4px;font-variant-numeric:tabular-nums;white-space:nowrap;"


@dataclass(frozen=True)
class Flips:
    """The variants of one person and what the model said of each.

    Args:
        domain: the protected attributes and their values, in the order of ``domain.variant_values``.
        scores, decisions: ``(n_variants,)`` each.
        people: for person A and person B the position of their variant; -1 for one who is none of the variants.
        names: what the decisions are called.
    """

    domain: Domain
    scores: FloatArray
    decisions: IntArray
    people: tuple[int, int]
    names: Decisions

    @property
    def n_different(self) -> int:
        """How many distinct decisions there are; above 1 the person is treated by a protected attribute."""
        return len(np.unique(self.decisions))

    @property
    def shown(self) -> FloatArray:
        """Scores as pages show them ``(n_variants,)``; see ``Decisions.shown``."""
        return self.names.shown(self.scores)

    @property
    def digits(self) -> int:
        """Decimals that keep scores of different decisions apart."""
        order = np.argsort(self.scores, kind="stable")
        scores = self.scores[order]
        decisions = self.decisions[order]
        turns = np.flatnonzero(np.diff(decisions)).tolist()
        return max((score_digits(scores[i : i + 2].tolist()) for i in turns), default=3)

    @property
    def shows_numbers(self) -> bool:
        """Whether every cell has room for its score; else it is in the cell's hint and in the table."""
        values = self.domain.variant_values
        if self.is_list:
            return True
        if values.shape[1] == 1:
            return len(values) <= _MAX_STRIP_CELLS
        return max(len(np.unique(values[:, i])) for i in range(2)) <= _MAX_WIDE_CELLS

    @property
    def is_list(self) -> bool:
        """Whether the variants are listed, not drawn as a strip or a matrix."""
        return len(self.domain.protected) > 2 or len(self.scores) > _MAX_CELLS

    @property
    def n_hidden(self) -> int:
        """How many variants the picture leaves to the table."""
        return len(self.scores) - _N_MOST_DIFFERENT if self.is_list and len(self.scores) > _MAX_LISTED else 0

    @property
    def listed(self) -> IntArray:
        """The variants of a list: all by score, the highest first; of many the two people and the most different from
        person A.

        Those decided unlike come first, then the widest gap, then the fewest attributes that differ.
        """
        if not self.n_hidden:
            return np.argsort(-self.shown, kind="stable").astype(np.int64)
        a = self.people[0] if self.people[0] >= 0 else int(self.shown.argmax())
        distance = np.abs(self.shown - self.shown[a])
        is_same = self.decisions == self.decisions[a]
        n_differing = (self.domain.variant_values != self.domain.variant_values[a]).sum(axis=1)
        order = np.lexsort((n_differing, -distance, is_same)).tolist()
        own = [at for at in dict.fromkeys(self.people) if at >= 0]
        return np.array([*own, *(at for at in order if at not in own)][:_N_MOST_DIFFERENT], dtype=np.int64)

    def mark(self, position: int) -> str:
        """``A``, ``B``, ``A B`` or nothing: whose variant this is."""
        return " ".join(name for name, at in zip("AB", self.people, strict=True) if at == position)


def variant_of(domain: Domain, row: FloatArray) -> int:
    """Which variant a row ``(n_columns,)`` is; -1 when its protected values are not among those compared."""
    hits = np.flatnonzero((domain.variant_values == row[domain.protected]).all(axis=1))
    return int(hits[0]) if len(hits) else -1


def flip_frame(flips: Flips) -> pd.DataFrame:
    """The variants as a table: protected values, decision, score, and whose variant it is."""
    columns = [flips.domain.schema.inputs[i] for i in flips.domain.protected.tolist()]
    values = flips.domain.variant_values
    lines: dict[str, list[object]] = {
        column.name: [column.text(value) for value in values[:, i].tolist()] for i, column in enumerate(columns)
    }
    lines["Decision "] = [flips.names.text(decision) for decision in flips.decisions.tolist()]
    lines["Score "] = flips.shown.tolist()
    lines["Person "] = [flips.mark(i) for i in range(len(values))]
    return pd.DataFrame(lines)


def flip_html(flips: Flips, selected: str = theme.SELECTION.light) -> str:
    """The variants as a picture in HTML; every text in it is escaped.

    Args:
        flips: the variants.
        selected: colour ``#rrggbb`` of the frame around the pair's own two; they bear A and B too.
    """
    if flips.is_list:
        return _list(flips, selected)
    return _strip(flips, selected) if len(flips.domain.protected) == 1 else _matrix(flips, selected)


def _cells(flips: Flips, selected: str, *, with_number: bool, at: IntArray | None = None) -> list[str]:
    """One cell a variant, all unless some are named: symbol, number, whose it is, and a hint; the tint grows with the
    score.
    """
    scores = flips.shown
    low = float(scores.min())
    high = float(scores.max())
    digits = flips.digits
    labels = flips.domain.variant_labels()
    frame = f"outline:3px solid {selected};outline-offset:-2px;"
    cells = []
    for i in range(len(scores)) if at is None else at.tolist():
        score = float(scores[i])
        decision = int(flips.decisions[i])
        tint = 0 if high == low else round(_MAX_TINT * (score - low) / (high - low))
        style = f"{_CELL}background:rgba(86,110,160,{tint / 100:.2f});" + (frame if i in flips.people else "")
        number = f" {score_text(score, digits)}" if with_number else ""
        mark = f'<b style="font-size:.8em"> {flips.mark(i)}</b>' if flips.mark(i) else ""
        text = f"score {score_text(score, 4)} for {flips.names.scored(decision)}"
        hint = escape(f"{labels[i]}: {flips.names.name(decision)}, {text}", quote=True)
        padding = "4px 5px" if with_number else "4px 2px"
        cells.append(
            f'<div title="{hint}" style="{style}padding:{padding};">{flips.names.symbol(decision)}{number}{mark}</div>'
        )
    return cells


def _matrix(flips: Flips, selected: str) -> str:
    """Two protected attributes: the one with fewer values down, the other across."""
    protected = flips.domain.protected.tolist()
    down, across = [flips.domain.schema.inputs[i] for i in protected]
    places = [np.unique(flips.domain.variant_values[:, i], return_inverse=True) for i in range(2)]
    down_values, across_values = [values.tolist() for values, _ in places]
    shape = (len(down_values), len(across_values))
    is_wide = flips.shows_numbers
    if not is_wide and min(shape) <= _MAX_STRIPS:
        return _strips(flips, selected)
    cells = np.full(shape, _NOT_COMPARED, dtype=object)
    cells[places[0][1].ravel(), places[1][1].ravel()] = _cells(flips, selected, with_number=is_wide)
    if shape[0] > shape[1]:
        cells, down, across, down_values, across_values = cells.T, across, down, across_values, down_values
    style = _HEAD if is_wide else "font-weight:400;font-size:.72em;white-space:nowrap"
    head = "".join(f'<th style="{style}">{escape(across.text(value))}</th>' for value in across_values)
    body = "".join(
        f'<tr><th style="text-align:right;font-weight:500">{escape(down.text(value))}</th>'
        + "".join(f"<td>{cell}</td>" for cell in line)
        + "</tr>"
        for value, line in zip(down_values, cells, strict=True)
    )
    corner = f'<span style="opacity:.75;font-weight:400">{escape(down.name)} ↓<br>{escape(across.name)} →</span>'
    return _scrolled(
        f'<table class="eh-flips"><thead><tr><th>{corner}</th>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def _strip(flips: Flips, selected: str) -> str:
    """One protected attribute: a cell a value, wrapped where the line is full."""
    column = flips.domain.schema.inputs[int(flips.domain.protected[0])]
    values = flips.domain.variant_values[:, 0].tolist()
    cells = _cells(flips, selected, with_number=flips.shows_numbers)
    return _row_of_cells(flips, column, values, cells, np.arange(len(values)), is_short=flips.shows_numbers)


def _strips(flips: Flips, selected: str) -> str:
    """Two protected attributes of which one has many values: a strip for each value of the other."""
    down, across = sorted(range(2), key=lambda i: len(np.unique(flips.domain.variant_values[:, i])))
    columns = [flips.domain.schema.inputs[i] for i in flips.domain.protected.tolist()]
    cells = _cells(flips, selected, with_number=False)
    parts = []
    for value in np.unique(flips.domain.variant_values[:, down]).tolist():
        at = np.flatnonzero(flips.domain.variant_values[:, down] == value)
        name = f"{columns[down].name} {columns[down].text(value)}, by {columns[across].name}"
        values = flips.domain.variant_values[at, across].tolist()
        strip = _row_of_cells(flips, columns[across], values, [cells[i] for i in at], at, is_short=False)
        parts.append(f'<div style="margin:10px 0 4px 0;font-weight:500">{escape(name)}</div>{strip}')
    return "".join(parts)


def _row_of_cells(
    flips: Flips, column: Column, values: list[float], cells: list[str], at: IntArray, *, is_short: bool
) -> str:
    """Cells with their values above; small cells, and where the decision turns in words, when there are many."""
    width, size = ("3.6em", "0.9em") if is_short else ("1.9em", "0.72em")
    items = "".join(
        f'<div style="min-width:{width}"><div style="text-align:center;opacity:.75;font-size:{size}">'
        f"{escape(column.text(value))}</div>{cell}</div>"
        for value, cell in zip(values, cells, strict=True)
    )
    gap = "6px" if is_short else "2px"
    turns = "" if is_short or column.codes else _turns(flips, column, values, flips.decisions[at].tolist())
    return f'{turns}<div style="display:flex;flex-wrap:wrap;gap:{gap};font-size:0.9rem">{items}</div>'


def _turns(flips: Flips, column: Column, values: list[float], decisions: list[int]) -> str:
    """Which values get which decision, in runs: ``○ 10-22 · ● 23-82 · ○ 83-100``."""
    runs = []
    for decision, members in groupby(range(len(values)), key=lambda i: decisions[i]):
        ends = list(members)
        low = column.text(values[ends[0]])
        high = column.text(values[ends[-1]])
        runs.append(f"{flips.names.symbol(decision)} {low if low == high else f'{low}-{high}'}")
    shown = " · ".join(runs[:_MAX_RUNS]) + (f" and {len(runs) - _MAX_RUNS} more" if len(runs) > _MAX_RUNS else "")
    return f'<div style="margin-bottom:6px">{escape(column.name)}: {escape(shown)}</div>'


def _list(flips: Flips, selected: str) -> str:
    """More protected attributes, or a great many values: the variants in lines; of many the most different, and how
    many get which decision.
    """
    labels = flips.domain.variant_labels()
    at = flips.listed
    cells = _cells(flips, selected, with_number=True, at=at)
    lines = "".join(
        f"<tr><td>{escape(labels[i])}</td><td>{cell}</td>"
        f"<td>{escape(flips.names.name(int(flips.decisions[i])))}</td></tr>"
        for i, cell in zip(at.tolist(), cells, strict=True)
    )
    names = ", ".join(flips.domain.schema.inputs[i].name for i in flips.domain.protected.tolist())
    head = (
        f"<thead><tr><th>{escape(names)}</th><th>Score for "
        f"{escape(flips.names.scored())}</th><th>Decision</th></tr></thead>"
    )
    lead = f'<div style="margin-bottom:6px">{escape(_counts(flips))}</div>' if flips.n_hidden else ""
    table = f'<table class="eh-flips" style="border-spacing:6px 2px">{head}<tbody>{lines}</tbody></table>'
    return f"{lead}{_scrolled(table)}"


def _counts(flips: Flips) -> str:
    """How many combinations get which decision, and which are listed."""
    found, counts = np.unique(flips.decisions, return_counts=True)
    parts = [f"{wording.count(n)} {flips.names.text(int(one))}" for one, n in zip(found, counts.tolist(), strict=True)]
    return (
        f"Of {wording.count(len(flips.scores))} combinations: {', '.join(parts)}. Listed are A, B, and those most "
        "different from A; all are in the table below."
    )


def _scrolled(html: str) -> str:
    return f'<div style="overflow-x:auto;padding-bottom:4px;font-size:0.9rem">{html}</div>'
