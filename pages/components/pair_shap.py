"""What carried a decision: SHAP values of both people of a pair and their difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.domain import Domain
from fairness_engine.errors import EvenhandError
from fairness_engine.events import FloatArray
from pages.components import layout, questions, wording
from pages.components.decisions import Decisions, score_digits, score_text
from pages.components.reruns import rerun_fragment
from pages.components.shap_chart import shap_chart, shap_table, signed

if TYPE_CHECKING:
    from fairness_engine.explanation.shap_values import PairValues
    from fairness_engine.runs.records import RunRecord

_FAST_SECONDS = 1.0
"""A model that answered so fast is asked for the next pair without a click."""
_LEAST_PART = 0.1
"""Part of the whole difference below which a single attribute is not named in the sentence."""


def draw(run: RunRecord, domain: Domain, people: FloatArray, names: Decisions) -> None:
    """The chart of two people, once it was asked for.

    Args:
        run: whose model decides.
        domain: of the run.
        people: person A and person B, rows of the engine ``(2, n_columns)``.
        names: what the decisions are called.
    """
    st.markdown("**What carried the decision**")
    found = questions.explained(run, people) or _ask(run, people)
    if found is None:
        return
    st.markdown(wording.markdown(shap_sentence(found, domain, people, names)))
    note = method_note(found, _target(names))
    layout.chart_with_table(
        shap_chart(found, domain, people, _target(names)), shap_table(found, domain, people), "shap", note
    )


def _ask(run: RunRecord, people: FloatArray) -> PairValues | None:
    """The explanation, when a click asks for it or the model is known to be fast."""
    fast_runs: set[str] = st.session_state.setdefault("shap_fast_runs", set())
    is_asked = run.id not in fast_runs and st.button(
        "Explain with SHAP",
        key="explain",
        icon=":material/query_stats:",
        help="Shares the scores of the two out among the attributes. Asks the model many thousand times.",
    )
    if not is_asked and run.id not in fast_runs:
        return None
    try:
        with st.spinner("Asking the model with and without every attribute …"):
            found = questions.explain(run, people)
    except EvenhandError as error:
        fast_runs.discard(run.id)
        layout.say(error)
        return None
    if found.seconds <= _FAST_SECONDS:
        fast_runs.add(run.id)
    if is_asked:
        rerun_fragment()  # the answer is remembered: drawn without the button
    return found


def _target(names: Decisions) -> str:
    """What the explained score speaks for."""
    return names.name(names.favourable if names.favourable is not None else 1)


# --- words --------------------------------------------------------------------------------------


def shap_sentence(found: PairValues, domain: Domain, people: FloatArray, names: Decisions) -> str:
    """What carried the difference, in plain words, not escaped. Says only sums that hold.

    Attributes that are equal for both have a difference where the model combines them with one that is not.
    """
    digits = score_digits(found.scores.tolist())
    total = float(found.scores[1] - found.scores[0])
    order = "lower" if total < 0 else "higher"
    before, after = (score_text(score, digits) for score in found.scores.tolist())
    amount = score_text(abs(total), digits)
    lead = f"The score for “{_target(names)}” is {before} for person A and {after} for person B, {amount} {order}."
    differing = np.flatnonzero(people[0] != people[1])
    columns = domain.schema.inputs
    own = wording.listed([columns[i].name for i in differing.tolist()])
    direct = float(found.difference[differing].sum())
    rest = float(found.difference.sum()) - direct
    verb = "carries" if len(differing) == 1 else "carry"
    if abs(rest) < 0.5 * 10.0**-digits:
        return f"{lead} {own} {verb} all of it." if len(differing) else lead
    text = f"{lead} Of this difference {own} {verb} {signed(direct, digits)}; "
    text += f"attributes that are equal for both, and count differently for the two, {signed(rest, digits)}"
    return f"{text}{_largest_equal(found, domain, people, digits)}."


def _largest_equal(found: PairValues, domain: Domain, people: FloatArray, digits: int) -> str:
    """The equal attribute that counts most differently, when it matters."""
    equal = np.flatnonzero(people[0] == people[1])
    index = int(equal[np.abs(found.difference[equal]).argmax()])
    part = float(found.difference[index])
    if abs(part) < _LEAST_PART * abs(float(found.difference.sum())):
        return ""
    column = domain.schema.inputs[index]
    return f", most of all {column.name} {column.text(float(people[0, index]))} with {signed(part, digits)}"


def method_note(found: PairValues, target: str) -> str:
    """How the values came about and what they are of, as markdown."""
    how = (
        "Exact SHAP values: every combination of attributes was tried."
        if found.is_exact
        else f"SHAP values from {wording.count(found.n_permutations)} random orders of the attributes, each also reversed: estimates."
    )
    return (
        f"{how} An attribute that is left out takes the values of {wording.counted(found.n_background, 'row')} of the data, whose "
        f"mean score for “{wording.markdown(target)}” is {score_text(found.base)}; the values of a person sum to the person's score less this mean. "
        "They tell what the model uses, not what causes an outcome."
    )
