"""The two people of a pair side by side, as HTML whose every text is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.models.fit.decisions import Decisions, score_digits, score_text
from fairness_engine.oracle.domain import Domain
from pages.shared.app import theme
from pages.shared.pairs.table import changing_columns

_MAX_WORD = 26
"""Letters of a word that is not broken: "Staatsangehörigkeit" has 19."""


@dataclass(frozen=True)
class Person:
    """One person of a pair: a row of the engine ``(n_columns,)``, its score and its decision."""

    row: FloatArray
    score: float
    decision: int


@dataclass(frozen=True)
class Couple:
    """A pair as the card shows it.

    Args:
        domain: columns and protected attributes.
        first, second: person A and person B.
        names: what the decisions are called.
        originals: rows as the search found them, where a value was changed since; by side (0, 1).
        cases: where a person stands in the data, in words; by side.
    """

    domain: Domain
    first: Person
    second: Person
    names: Decisions
    originals: Mapping[int, FloatArray] = field(default_factory=dict)
    cases: Mapping[int, str] = field(default_factory=dict)

    @property
    def is_discriminatory(self) -> bool:
        """Whether the two get different decisions or, where the review compares scores, scores too far apart."""
        gap = self.domain.scope.score_gap
        if gap > 0:
            return abs(self.first.score - self.second.score) > gap
        return self.first.decision != self.second.decision


def _order(domain: Domain) -> list[int]:
    """The columns of the card: what may differ first."""
    changing = changing_columns(domain)
    return [*changing, *(i for i in domain.free.tolist() if i not in changing)]


def couple_sentence(couple: Couple) -> str:
    """The pair in one sentence of plain words, not escaped."""
    order = _order(couple.domain)
    columns = couple.domain.schema.inputs
    a = couple.first.row
    b = couple.second.row
    differences = [
        (columns[i].name, columns[i].text(float(a[i])), columns[i].text(float(b[i]))) for i in order if a[i] != b[i]
    ]
    changed = (
        " and ".join(f"{name} is {after} instead of {before}" for name, before, after in differences)
        or "nothing differs"
    )
    before = couple.names.name(couple.first.decision)
    after = couple.names.name(couple.second.decision)
    if before != after:
        return f"When only {changed}, the decision turns from “{before}” to “{after}”."
    digits = score_digits([couple.first.score, couple.second.score])
    scores = [score_text(score, digits) for score in couple.names.shown([couple.first.score, couple.second.score])]
    moved = f"the score for “{couple.names.scored(couple.first.decision)}” moves from {scores[0]} to {scores[1]}"
    return f"When only {changed}, {moved} and the decision stays “{before}”."


def person_sentence(couple: Couple, most: int = 4) -> str:
    """What the two have in common, the first few attributes, not escaped: ``Both: age 37, job nurse and 5 more
    values.``
    """
    shared = [i for i in couple.domain.free.tolist() if couple.first.row[i] == couple.second.row[i]]
    columns = [(couple.domain.schema.inputs[i], float(couple.first.row[i])) for i in shared]
    names = [f"{column.name} {column.text(value)}" for column, value in columns]
    more = f" and {len(names) - most} more values" if len(names) > most else ""
    return f"Both: {', '.join(names[:most])}{more}." if names else ""


def couple_html(
    couple: Couple, different: str = theme.DISCRIMINATORY.light, edited: str = theme.SELECTION.light
) -> str:
    """The card: decisions and scores on top, then one line an attribute, protected ones first.

    Args:
        couple: the pair.
        different, edited: colours ``#rrggbb`` of what differs and of what was changed; each has a symbol too.
    """
    order = _order(couple.domain)
    lines = "".join(_line(couple, index, different, edited) for index in order)
    return (
        '<div style="overflow-x:auto"><table class="eh-pair" '
        'style="width:100%;border-collapse:collapse;font-size:0.95rem">'
        f"<thead>{_head(couple)}</thead><tbody>{lines}</tbody></table></div>"
    )


def _head(couple: Couple) -> str:
    digits = score_digits([couple.first.score, couple.second.score])
    cells = "".join(
        '<th style="text-align:left;vertical-align:top;padding:6px 10px;font-weight:400">'
        f'<div style="opacity:.75">Person {name}</div>'
        f'<div style="font-weight:600;font-size:1.1rem">{escape(couple.names.text(person.decision))}</div>'
        "<div>score "
        f"{escape(couple.names.score(person.score, person.decision, digits))}</div>{_case(couple, side)}</th>"
        for side, (name, person) in enumerate(zip("AB", (couple.first, couple.second), strict=True))
    )
    return f'<tr><th style="width:34%"></th>{cells}</tr>'


def _case(couple: Couple, side: int) -> str:
    text = couple.cases.get(side)
    return f'<div style="overflow-wrap:anywhere">{escape(text[0].upper() + text[1:])}</div>' if text else ""


def _line(couple: Couple, index: int, different: str, edited: str) -> str:
    column = couple.domain.schema.inputs[index]
    values = [float(person.row[index]) for person in (couple.first, couple.second)]
    differs = values[0] != values[1]
    tint = f"background:{different}22;" if differs else ""
    edge = f"border-left:4px solid {different if differs else 'transparent'};"
    mark = f'<span title="differs" style="color:{different};font-weight:700">≠&nbsp;</span>' if differs else ""
    spelling = couple.domain.spelling
    said = "protected" if index in couple.domain.protected else ""
    said = "linked" if spelling is not None and index in spelling.columns else said
    role = f' <span style="opacity:.7;font-size:.8em">{said}</span>' if said else ""
    cells = "".join(_value(couple, index, side, value, edited) for side, value in enumerate(values))
    return (
        f'<tr style="{tint}border-top:1px solid rgba(128,128,128,.25)">'
        f'<td style="padding:4px 10px;{edge}{_wrap(column.name)}">{mark}{escape(column.name)}{role}</td>{cells}</tr>'
    )


def _value(couple: Couple, index: int, side: int, value: float, edited: str) -> str:
    column = couple.domain.schema.inputs[index]
    original = couple.originals.get(side)
    text = escape(column.text(value))
    if original is not None and float(original[index]) != value:
        was = escape(column.text(float(original[index])))
        seen = f'<span style="color:{edited};font-weight:600">✎ {text}</span> <s style="opacity:.65">{was}</s>'
        text = f'<span class="evenhand-read">was {was}, now {text}</span><span aria-hidden="true">{seen}</span>'
    return f'<td style="padding:4px 10px;{_wrap(column.text(value))}">{text}</td>'


def _wrap(text: str) -> str:
    """Style of a cell: its words are broken only where one is so long that the table would not fit."""
    longest = max((len(word) for word in text.split()), default=0)
    return "overflow-wrap:anywhere" if longest > _MAX_WORD else ""


def person_at(row: FloatArray, score: float, decision: int) -> Person:
    """A person of the card from a row, its score and its decision."""
    return Person(np.asarray(row, dtype=np.float64), float(score), int(decision))
