"""One box of a certification close up: its words, what is proved of it, bounds, a counterexample, why it is
undecided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from fairness_engine.arrays import FloatArray
from fairness_engine.certification.box_inspection.details import SEED, BoxDetails
from fairness_engine.certification.partition.phrases import box_limits, describe_box
from fairness_engine.data.links.spelling import role_schema
from fairness_engine.errors import EvenhandError
from fairness_engine.model_process.questions import InspectBox
from fairness_engine.models.fit.decisions import Decisions
from fairness_engine.models.model import Output
from fairness_engine.oracle.cohorts import rules_of_limits
from fairness_engine.oracle.domain import Domain
from fairness_engine.runs.kinds import CERTIFY
from pages.certification import single_box
from pages.certification.tree import ReadTree, shares_in
from pages.shared.app import frame, navigation, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.charts import kit
from pages.shared.pairs.card import Couple, couple_html, couple_sentence, person_at
from pages.shared.people import cohorts
from pages.shared.people.decisions import decisions_of
from pages.shared.review import questions
from pages.shared.runs.certification_phrases import Shares

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from fairness_engine.store.records import Review, RunRecord
    from fairness_engine.telling.rules import Rule

MAX_BARS = 16
"""Variants with a bar and a name each; more stand as thin bars side by side."""
_HARDLY = 0.005
"""Attributes with a smaller part are left out."""


def bounds_chart(bounds: FloatArray, labels: Sequence[str], threshold: float, axis: str) -> Figure:
    """A bar from the lower to the upper bound of every protected value, against the threshold.

    Args:
        bounds: ``(n_variants, 2)``.
        labels: of the variants.
        threshold: where the decision changes.
        axis: what is bounded, in words.
    """
    is_flat = len(labels) <= MAX_BARS
    sides = [side_of(low, high, threshold) for low, high in bounds.tolist()]
    names = [kit.shortened(label) for label in labels]
    widths = (bounds[:, 1] - bounds[:, 0]).tolist()
    x, y = (widths, names) if is_flat else (names, widths)
    bars = kit.bars(
        x,
        y,
        hover="%{customdata[0]:.4g} to %{customdata[1]:.4g}<br>%{customdata[2]}<extra>%{label}</extra>",
        colour=[(theme.UNDECIDED if side == 0 else theme.PLAIN).colour for side in sides],
        hatch=kit.hatch([theme.UNDECIDED.pattern if side == 0 else "" for side in sides]),
        orientation="h" if is_flat else None,
        base=bounds[:, 0].tolist(),
        customdata=[[low, high, SIDES[side]] for (low, high), side in zip(bounds.tolist(), sides, strict=True)],
    )
    title = "Bounds for every protected value"
    named = kit.axis(type="category", showgrid=False, autorange="reversed" if is_flat else None)
    measured = kit.axis(axis, zeroline=False)
    if is_flat:
        line = kit.reference_line(x=threshold, width=2)
        return kit.chart(title, [bars], measured, named, 132 + 30 * len(labels), shapes=[line], bargap=0.35)
    line = kit.reference_line(y=threshold, width=2)
    return kit.chart(title, [bars], named, measured, 360, shapes=[line], bargap=0.35)


SIDES = {1: "always above the threshold", -1: "never above the threshold", 0: "may lie on both sides"}


def side_of(low: float, high: float, threshold: float) -> int:
    """1: always above the threshold; -1: never; 0: bounds on both sides of it."""
    return 1 if low > threshold else -1 if high <= threshold else 0


def bounds_table(bounds: FloatArray, labels: Sequence[str], threshold: float) -> pd.DataFrame:
    """The bounds as a table, one line a protected value."""
    sides = [SIDES[side_of(low, high, threshold)] for low, high in bounds.tolist()]
    return pd.DataFrame(
        {"Protected value": labels, "At least": bounds[:, 0], "At most": bounds[:, 1], "So it is": sides}
    )


def blame_chart(blame: Mapping[str, float]) -> Figure:
    """How much each attribute contributes to what keeps a box undecided, in percent, largest first."""
    table = blame_table(blame)
    values = table["Part, %"].tolist()
    names = [kit.shortened(name) for name in table["Attribute"]]
    bars = kit.bars(
        values,
        range(len(table)),
        hover="%{customdata}: %{x:.3g} %",
        colour=theme.UNDECIDED.colour,
        hatch=kit.hatch(theme.UNDECIDED.pattern),
        text=[f"{value:.2g} %" for value in values],
        customdata=names,
    )
    x = kit.axis("Part, %", rangemode="tozero")
    return kit.chart("What keeps it undecided", [bars], x, kit.rows(names), 118 + 28 * len(table))


def blame_table(blame: Mapping[str, float], most: int = 8) -> pd.DataFrame:
    """The attributes that contribute, largest first, in percent of the whole; hardly any part is left out."""
    total = sum(blame.values()) or 1.0
    parts = [(name, value) for name, value in blame.items() if value > _HARDLY * total]
    ordered = sorted(parts, key=lambda item: -item[1])[:most]
    return pd.DataFrame({"Attribute": [n for n, _ in ordered], "Part, %": [100 * v / total for _, v in ordered]})


STYLE = """
<style>
.st-key-box_body {flex-wrap: wrap;}
.st-key-box_body > * {flex: 1 1 26rem; min-width: min(26rem, 100%);}
</style>
"""
"""The two halves of the card stand side by side where both have room, else one above the other."""
_MARGIN = "Margin"
_SCORE = "Score"
_EVEN_SCORE = 0.5
"""Where a probability tips when the model names no threshold of its own."""


def draw(review: Review, run: RunRecord, read: ReadTree, box: int, alone: Sequence[single_box.Alone]) -> None:
    """The card of one box.

    Args:
        review: names the decisions.
        run: the certification.
        read: its tree.
        box: which box of it.
        alone: boxes that were certified on their own.
    """
    st.header("Everybody" if box == 0 else "The chosen box", anchor=False)
    with st.container(key="chosen_box"):
        texts = describe_box(read.columns, *read.box(box))
        if texts:
            st.markdown(f"**{wording.markdown(', '.join(texts))}**")
        st.markdown(wording.markdown(_standing(read, box)))
        shares = single_box.shares_of_boxes(alone).get(box)
        if shares is not None:
            st.markdown(f"**Proved**, this box alone: {wording.markdown(shares.sentence)}.")
    single_box.offer(review, run, read, box, alone)
    cohorts.offer_save(review, _rules(run, read, box), "a box of a certification", "box")
    details = _details(run, read, box)
    if details is None:
        return
    with st.container(horizontal=True, gap="medium", key="box_body"):
        left = st.container(key="box_left")
        right = st.container(key="box_right")
    with left:
        _reasons(details)
        _blame(read, details)
    with right:
        _bounds(review, run, details)
    _counterexample(review, run, details)


def _rules(run: RunRecord, read: ReadTree, box: int) -> list[Rule]:
    """The people of a box, said by the ranges of the columns."""
    scope = run.config.scope
    limits = {**scope.limits, **box_limits(read.columns, *read.box(box))}
    return rules_of_limits(role_schema(run.config.schema, scope.links), limits)


def _standing(read: ReadTree, box: int) -> str:
    """What is proved of the box in one sentence, not escaped."""
    tree = read.tree
    weight, parts = shares_in(read, box)
    shares = Shares.of(parts[0], parts[1])
    people = wording.counted(int(tree.n_people[box]), "person of the data", "people of the data")
    text = f"{wording.bounded_share(weight)} of all individuals; {people}. Of this box: {shares.sentence}."
    if tree.n_merged[box]:
        text += (
            f" {wording.counted(int(tree.n_merged[box]), 'smaller box', 'smaller boxes')} in it were merged for "
            "storage."
        )
    return text


def _details(run: RunRecord, read: ReadTree, box: int) -> BoxDetails | None:
    """What the model's process says of the box; ``None``, and a sentence, when it cannot."""
    from fairness_engine.model_process.starting.compiled_loops import Loops, ready_loops

    low, high = read.box(box)
    is_ready = Loops.CERTIFICATIONS in ready_loops(session.workspace())
    text = (
        "Asking the model about this box …"
        if is_ready
        else "Getting ready, once after an installation: a minute or two …"
    )
    try:
        return questions.ask(run.config, InspectBox(CERTIFY.settings(run.config), low, high), text)
    except EvenhandError as error:
        frame.say(error)
        return None


def _reasons(details: BoxDetails) -> None:
    """Why it is undecided, in the words of the process that assessed it."""
    if details.reasons:
        is_open = details.undecided > 0
        st.markdown(f"{theme.UNDECIDED.symbol} **Why it is undecided**" if is_open else "**What decides it**")
        for reason in details.reasons:
            st.markdown(f"- {wording.markdown(wording.spaced(reason))}")
    if details.n_drawn and not details.is_evaluated:
        st.caption(
            f"What is said of {wording.counted(details.n_drawn, 'individual', 'individuals')} drawn from it (with seed "
            f"{SEED}) is a sample, not a proof."
        )


def _blame(read: ReadTree, details: BoxDetails) -> None:
    blame = {
        column.column.name: float(value) for column, value in zip(read.columns, details.blame.tolist(), strict=True)
    }
    if not any(value > 0 for value in blame.values()):
        return
    key = (read.run_id, tuple(blame.items()), theme.is_dark())
    figure = kept("box_blame", key, lambda: blame_chart(blame))
    frame.chart_with_table(figure, lambda: blame_table(blame, len(blame)), "box_blame_chart")


def _bounds(review: Review, run: RunRecord, details: BoxDetails) -> None:
    """Bounds of every protected value, as margins or as scores."""
    margins = details.bounds
    scores = details.score_bounds
    has_margins = not np.isnan(margins).any()
    has_scores = not np.isnan(scores).any()
    if not (has_margins or has_scores):
        return
    choices = [name for name, is_there in ((_MARGIN, has_margins), (_SCORE, has_scores)) if is_there]
    chosen = choices[0]
    if len(choices) > 1:
        chosen = st.segmented_control(
            "Bounds of", choices, default=_MARGIN, required=True, key="box_bounds_of", persist_state="session"
        )
    domain = kept("certify_domain", run.id, lambda: Domain(run.config.schema, run.config.scope))
    names = decisions_of(review)
    bounds = scores if chosen == _SCORE else margins
    threshold = 0.0 if chosen == _MARGIN else _threshold(review, run)
    bounds, threshold = shown_bounds(names, bounds, threshold, are_scores=chosen == _SCORE)
    above = names.scored()
    below = names.name(0) if above == names.name(1) else names.name(1)
    one, other = ("Right of", "left of") if domain.n_variants <= MAX_BARS else ("Above", "below")
    sides = wording.markdown(f"{one} the line “{above}”, {other} it “{below}”.")
    labels = domain.variant_labels()
    key = (run.id, bounds.tobytes(), threshold, theme.is_dark())
    figure = kept("box_bounds", key, lambda: bounds_chart(bounds, labels, threshold, f"{chosen} for {above}"))
    frame.chart_with_table(
        figure,
        lambda: bounds_table(bounds, labels, threshold),
        "box_bounds_chart",
        f"{sides} Solid: decided in the whole box. Dotted: the bounds lie on both sides of the line.",
    )


def shown_bounds(
    names: Decisions, bounds: FloatArray, threshold: float, *, are_scores: bool
) -> tuple[FloatArray, float]:
    """Bounds ``(n_variants, 2)`` of scores or margins of class 1, and the threshold, as pages show them; see
    ``Decisions.shown``.
    """
    told = names if are_scores else replace(names, output=Output.LOGIT)
    shown = told.shown(bounds)
    return np.sort(shown, axis=1), float(told.shown(threshold))


def _threshold(review: Review, run: RunRecord) -> float:
    """The score above which the decision is class 1."""
    own = (review.fit or {}).get("threshold")
    given = run.config.scope.threshold
    return float(given if given is not None else _EVEN_SCORE if own is None else own)


def _counterexample(review: Review, run: RunRecord, details: BoxDetails) -> None:
    pair = details.counterexample
    if not len(pair):
        return
    domain = kept("certify_domain", run.id, lambda: Domain(run.config.schema, run.config.scope))
    first = person_at(pair.first[0], pair.score_first[0], pair.decision_first[0])
    second = person_at(pair.second[0], pair.score_second[0], pair.decision_second[0])
    couple = Couple(domain, first, second, decisions_of(review))
    st.markdown(
        f"{theme.DISCRIMINATORY.symbol} **A counterexample in this box.** {wording.markdown(couple_sentence(couple))}"
    )
    st.html(couple_html(couple, theme.DISCRIMINATORY.colour, theme.SELECTION.colour))
    if run.n_found:
        query = session.address_of(run=run.id, pair="1")
        label = f"See the {wording.counted(run.n_found, 'pair')} of this certification"
        session.page_link(navigation.PAIRS, label, query)
