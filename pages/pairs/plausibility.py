"""Could the people of a pair exist? The nearest person in the data, values that never occur together, the user's
constraints.
"""

from __future__ import annotations

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


def draw(run: RunRecord, domain: Domain, person: FloatArray, pair: Pairs) -> None:
    """Draw what is known of one person of a pair; the other one shares all that is judged.

    Args:
        run: found the pair.
        domain: of the run.
        person: a row of the engine ``(n_columns,)``, as it is shown.
        pair: as the run stored it, for when the model's process cannot answer.
    """
    st.markdown("**Could they exist?**")
    try:
        known = questions.ask(run.config, Plausible(person), "Looking for the nearest person in the data …")
    except EvenhandError:  # the card has said why the model's process cannot answer
        st.markdown(stored_sentence(pair))
        return
    st.markdown(verdict(domain, known, person))
    for line in unseen_lines(domain, known):
        st.markdown(line)
    st.caption(constraint_sentence(domain, known))


def stored_sentence(pair: Pairs) -> str:
    """What the run stored of a pair."""
    distance = float(pair.distance[0])
    n_unseen = int(pair.n_unseen[0])
    if np.isnan(distance):
        return "This was not measured."
    unseen = wording.counted(n_unseen, "pair of values never occurs", "pairs of values never occur")
    return f"Distance to the data {wording.share(distance)}; {unseen} together in it."


def verdict(domain: Domain, known: PersonAssessed, person: FloatArray) -> str:
    """How far the nearest person is, and in what they differ, in markdown."""
    if known.distance == 0:
        return "✓ Yes: protected attributes aside, this person is in the data."
    away = wording.share(known.distance)
    if known.distance > known.limit:
        opening = (
            f"Hardly: {away} from the nearest person in the data, further than 99 % of real people are from each other "
            f"({wording.share(known.limit)})."
        )
    else:
        opening = (
            f"{away} from the nearest person in the data; 99 % of real people have somebody within "
            f"{wording.share(known.limit)}."
        )
        opening = ("✓ Yes: " if known.is_plausible else "Near the data, but see below: ") + opening
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
    """One line for each two values that never occur together, in markdown."""
    inputs = domain.schema.inputs
    lines = []
    for pair in known.unseen[:_MOST_UNSEEN]:
        first = inputs[pair.first]
        second = inputs[pair.second]
        values = f"{first.name} = {first.text(pair.first_value)} and {second.name} = {second.text(pair.second_value)}"
        expected = f"{wording.count(pair.n_expected)} would be expected"
        lines.append(f"≠ {wording.markdown(values)} never occur together in the data; {expected}.")
    if len(known.unseen) > _MOST_UNSEEN:
        lines.append(f"{wording.count(len(known.unseen) - _MOST_UNSEEN)} more such pairs of values.")
    return lines


def constraint_sentence(domain: Domain, known: PersonAssessed) -> str:
    """Whether the review's own constraints hold: ranges, and attributes that must not vary."""
    ranges = (
        "All values lie in the ranges of the review."
        if known.is_in_range
        else "A value lies outside the ranges of the review."
    )
    if not domain.scope.fixed:
        return ranges
    names = wording.markdown(wording.listed(domain.scope.fixed))
    holds = "as in a row of the data" if known.is_fixed_seen else "unlike in any row of the data"
    return f"{ranges} Not varied: {names}, {holds}."
