"""Could the people of a pair exist? The person in the data nearest to each, values that practically never occur
together, the user's constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.arrays import FloatArray
from fairness_engine.errors import EvenhandError
from fairness_engine.model_process.questions import Plausible
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs
from pages.shared.app import wording
from pages.shared.review import questions

if TYPE_CHECKING:
    from fairness_engine.measures.plausibility.plausibility import PersonAssessed
    from fairness_engine.store.records import RunRecord

_MOST_UNSEEN = 5
_NEVER_OCCUR = "pairs of values practically never occur"


def draw(run: RunRecord, domain: Domain, people: FloatArray, pair: Pairs) -> None:
    """Draw what is known of the two people of a pair.

    Args:
        run: found the pair.
        domain: of the run.
        people: rows of the engine ``(2, n_columns)``, as they are shown.
        pair: as the run stored it, for when the model's process cannot answer.
    """
    st.markdown("**Could they exist?**")
    try:
        known = questions.ask(run.config, Plausible(people), "Looking for the nearest people in the data …")
    except EvenhandError:  # the card has said why the model's process cannot answer
        st.markdown(stored_sentence(pair))
        return
    for side, assessed, person in zip("AB", known, people, strict=True):
        st.markdown(f"**{side}** {verdict(domain, assessed, person)}")
        for line in unseen_lines(domain, assessed):
            st.markdown(line)
    st.caption(constraint_sentence(domain, known))


def stored_sentence(pair: Pairs) -> str:
    """What the run stored of a pair."""
    if not pair.is_measured[0]:
        return "This was not measured."
    if np.isnan(pair.distance[0, 1]):
        return "An earlier version measured what both people share, not the two people. Run it again."
    sides = []
    for side, distance, n_unseen in zip("AB", pair.distance[0].tolist(), pair.n_unseen[0].tolist(), strict=True):
        unseen = wording.counted(n_unseen, "pair of values practically never occurs", _NEVER_OCCUR)
        sides.append(f"**{side}** is {wording.share(distance)} from the data; {unseen} together in it.")
    return " ".join(sides)


def verdict(domain: Domain, known: PersonAssessed, person: FloatArray) -> str:
    """How far the nearest person is, and in what they differ, in markdown."""
    if known.distance == 0:
        return "is in the data, but see below." if known.unseen else "✓ is in the data."
    away = wording.share(known.distance)
    if known.distance > known.limit:
        opening = (
            f"hardly: {away} from the nearest person in the data, further than 99 % of real people are from each other "
            f"({wording.share(known.limit)})."
        )
    else:
        opening = (
            f"{away} from the nearest person in the data; 99 % of real people have somebody within "
            f"{wording.share(known.limit)}."
        )
        opening = ("✓ could: " if known.is_plausible else "is near the data, but see below: ") + opening
    return f"{opening} That person has {differences(domain, known, person)}."


def differences(domain: Domain, known: PersonAssessed, person: FloatArray) -> str:
    """The attributes in which the nearest person differs, with their values: ``age 41 instead of 37``."""
    parts = []
    for index in known.differs:
        column = domain.schema.inputs[index]
        value = float(person[index])
        other = float(known.neighbour[index])
        parts.append(f"{column.name} {column.text(other)} instead of {column.text(value)}")
    return wording.markdown(wording.listed(parts, 8))


def unseen_lines(domain: Domain, known: PersonAssessed) -> list[str]:
    """One line for each two values that practically never occur together, in markdown."""
    inputs = domain.schema.inputs
    lines = []
    for pair in known.unseen[:_MOST_UNSEEN]:
        values = " and ".join(each.text(inputs[each.column]) for each in (pair.first, pair.second))
        who = f"No more than {wording.count(pair.n_seen)}" if pair.n_seen else "None"
        expected = f"by chance {wording.count(pair.n_expected)} would"
        lines.append(f"≠ {who} of {wording.count(known.n_rows)} people has {wording.markdown(values)}; {expected}.")
    if len(known.unseen) > _MOST_UNSEEN:
        lines.append(f"{wording.count(len(known.unseen) - _MOST_UNSEEN)} more such pairs of values.")
    return lines


def constraint_sentence(domain: Domain, known: Sequence[PersonAssessed]) -> str:
    """Whether the review's own constraints hold for people: ranges, and attributes that must not vary."""
    ranges = (
        "All values lie in the ranges of the review."
        if all(person.is_in_range for person in known)
        else "A value lies outside the ranges of the review."
    )
    if not domain.scope.fixed:
        return ranges
    names = wording.markdown(wording.listed(domain.scope.fixed))
    holds = (
        "as in a row of the data" if all(person.is_fixed_seen for person in known) else "unlike in any row of the data"
    )
    return f"{ranges} Not varied: {names}, {holds}."
