"""What carried a decision: SHAP values of both people of a pair and their difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import EvenhandError
from fairness_engine.model_process.questions import Shap
from fairness_engine.models.fit.decisions import Decisions, score_digits, score_text
from fairness_engine.oracle.domain import Domain
from pages.shared.app import frame, theme, wording
from pages.shared.app.reruns import rerun_fragment
from pages.shared.charts import kit
from pages.shared.review import questions

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from fairness_engine.explanation.shap_values import PairValues
    from fairness_engine.store.records import RunRecord

MAX_SHOWN = 10
"""Attributes that are drawn one by one; of more, the rest is summed."""


def signed(value: float, digits: int) -> str:
    """A number with its sign, a real minus: ``+0.12``, ``−0.30``; what rounds to nothing has none."""
    if abs(value) < 0.5 * 10.0**-digits:
        return score_text(0.0, digits)
    return f"{'+' if value > 0 else ''}{score_text(value, digits)}"


def shown_order(found: PairValues) -> IntArray:
    """Attributes by the size of their difference, largest first ``(n_columns,)``; equal ones by the size of their
    values.
    """
    sizes = np.abs(found.contributions).max(axis=0)
    return np.lexsort((-sizes, -np.round(np.abs(found.difference), 12)))


def shap_table(found: PairValues, domain: Domain, people: FloatArray) -> pd.DataFrame:
    """One line an attribute, the largest difference first, and the sums."""
    columns = domain.schema.inputs
    order = shown_order(found).tolist()
    sums = [*found.contributions.sum(axis=1).tolist(), float(found.difference.sum())]
    return pd.DataFrame(
        {
            "Attribute": [*(columns[i].name for i in order), "Sum"],
            "Person A has": [*(columns[i].text(float(people[0, i])) for i in order), ""],
            "Person B has": [*(columns[i].text(float(people[1, i])) for i in order), ""],
            "SHAP value of A": [*found.contributions[0, order].tolist(), sums[0]],
            "SHAP value of B": [*found.contributions[1, order].tolist(), sums[1]],
            "Difference, B less A": [*found.difference[order].tolist(), sums[2]],
        }
    )


def shap_chart(found: PairValues, domain: Domain, people: FloatArray, target: str) -> Figure:
    """Two marks an attribute, one for each person, and beside them the difference as a bar."""
    order = shown_order(found).tolist()
    single = order if len(order) <= MAX_SHOWN + 1 else order[:MAX_SHOWN]
    others = order[len(single) :]
    groups = [[i] for i in single] + ([others] if others else [])
    labels = [_label(domain, people, i) for i in single] + ([f"{len(others)} others together"] if others else [])
    values = np.array([found.contributions[:, group].sum(axis=1) for group in groups]).T
    is_own = [len(group) == 1 and bool(people[0, group[0]] != people[1, group[0]]) for group in groups]
    difference = values[1] - values[0]
    zero = {"zeroline": True, "zerolinecolor": theme.ink(), "zerolinewidth": 1, "tickformat": ".2~f"}
    goal = kit.shortened(target, 24)
    return kit.chart(
        "Attributes by how differently they count for the two",
        [*_marks(values), *_bars(difference, is_own)],
        kit.axis(f"SHAP value: adds to the<br>score for “{goal}”", domain=[0, 0.56], nticks=5, **zero),
        kit.bare_rows(len(labels)),
        200 + 40 * len(labels),
        xaxis2=kit.axis(
            "Difference of<br>score, B less A",
            domain=[0.64, 0.96],
            nticks=4,
            range=_room_for_text(difference),
            **zero,
        ),
        annotations=[kit.name_above(label, place) for place, label in enumerate(labels)],
        uniformtext={"minsize": 11, "mode": "show"},
        **kit.legend_below(134),
    )


def _label(domain: Domain, people: FloatArray, index: int) -> str:
    column = domain.schema.inputs[index]
    first, second = (column.text(float(person[index])) for person in people)
    return kit.shortened(f"{column.name}: {first}" if first == second else f"{column.name}: {first} → {second}", 50)


def _marks(values: FloatArray) -> list[kit.Part]:
    """The two people: a line between them, a filled circle for A and an open diamond for B."""
    first, second = values.tolist()
    places = [i + kit.MARKS_BELOW for i in range(len(first))]
    ends = [((a, i), (b, i)) for i, a, b in zip(places, first, second, strict=True)]
    hover = "%{fullData.name}: %{x:+.4f}"
    return [
        kit.joins(ends, theme.faint(), 3),
        kit.marks(first, places, "Person A", hover, symbol="circle", colour=theme.PLAIN.colour),
        kit.marks(second, places, "Person B", hover, symbol="diamond-open", colour=theme.ink(), size=14),
    ]


def _bars(difference: FloatArray, is_own: list[bool]) -> list[kit.Part]:
    """The difference: hatched vermilion where the two differ, plain blue where they are equal."""
    looks = (
        (True, "Differs between the two", theme.DISCRIMINATORY),
        (False, "Equal for both, counts differently", theme.PLAIN),
    )
    bars = []
    for wanted, name, meaning in looks:
        rows = [i for i, own in enumerate(is_own) if own is wanted]
        values = difference[rows].tolist()
        bars.append(
            kit.bars(
                values,
                [i + kit.MARKS_BELOW for i in rows],
                name,
                "%{x:+.4f}",
                colour=meaning.colour,
                hatch=kit.hatch(meaning.pattern),
                xaxis="x2",
                width=0.42,
                text=[signed(value, 3) for value in values],
                textposition="outside",
            )
        )
    return bars


def _room_for_text(difference: FloatArray) -> list[float]:
    """The axis of the bars, with room for a number beyond each end."""
    low = min(0.0, float(difference.min()))
    high = max(0.0, float(difference.max()))
    room = 0.5 * max(high - low, 1e-9)
    return [low - room if low < 0 else 0.0, high + room if high > 0 else 0.0]


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
    found = questions.remembered(run.config, Shap(people)) or _ask(run, people)
    if found is None:
        return
    said = shap_sentence(found, domain, people, names)
    st.markdown(wording.markdown(said))
    note = method_note(found, _target(names))
    frame.chart_with_table(
        shap_chart(found, domain, people, _target(names)),
        lambda: shap_table(found, domain, people),
        "shap",
        note,
        said=said,
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
        found = questions.ask(run.config, Shap(people), "Asking the model with and without every attribute …")
    except EvenhandError as error:
        fast_runs.discard(run.id)
        frame.say(error)
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
        else f"SHAP values from {wording.count(found.n_permutations)} random orders of the attributes, each also "
        "reversed: estimates."
    )
    return (
        f"{how} An attribute that is left out takes the values of {wording.counted(found.n_background, 'row')} of the "
        f"data, whose mean score for “{wording.markdown(target)}” is {score_text(found.base)}; the values of a person "
        "sum to the person's score less this mean. They tell what the model uses, not what causes an outcome."
    )
