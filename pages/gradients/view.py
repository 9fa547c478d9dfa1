"""The parts of the Gradients page: the question to the model's process, and what its answer means in words."""

from __future__ import annotations

import itertools

import numpy as np
import streamlit as st

from fairness_engine.measures.gradient_agreement import ALIKE, Agreement, AtSize, GradientCheck, Picture
from pages.gradients import charts
from pages.gradients.charts import size_text
from pages.shared.app import frame, wording

_DEFAULT = 1.0


def explain_absence(kind: str) -> None:
    """Why there is nothing to compare, and what can be done."""
    st.info(
        f"This model ({wording.markdown(kind)}) has no gradient to compare with: its score is no smooth function of "
        "the attributes, "
        "or it does not take every attribute as one number.  \n"
        "MAFT works all the same, for it needs scores only: start it on the Plan page. To see this view, use a neural "
        "network that "
        "takes each column as one number, saved with Keras or as ONNX.",
        icon=":material/info:",
    )


def show(check: GradientCheck) -> None:
    """The answer in a sentence, the charts with their tables, and what else there is to say."""
    first, *others = sentences(check)
    with st.container(key="answer"):
        st.markdown(first)
    if check.n_flat == check.n_people:
        for sentence in others:
            st.markdown(sentence)
        return
    with frame.wrapping("gradients", is_wide=True):
        left, right = st.columns(2, gap="large")
    with left:
        note = "A cosine of 1 is the same direction, 0 a right angle."
        frame.chart_with_table(charts.cosine_chart(check), lambda: charts.cosine_table(check), "cosines", note)
    with right:
        note = "In the arithmetic of a search; the table has the exact one too."
        frame.chart_with_table(charts.share_chart(check), lambda: charts.share_table(check), "shares", note)
    for sentence in others:
        st.markdown(sentence)
    with frame.wrapping("gradient_use", is_wide=True):
        left, right = st.columns(2, gap="large")
    with left:
        note = (
            "Cosine between what the estimated and what the true slopes of a pair lead to; the table has the quartiles."
        )
        frame.chart_with_table(charts.use_chart(check), lambda: charts.use_table(check), "use", note)
    if check.picture is not None:
        with right:
            frame.chart_with_table(
                charts.picture_chart(check.picture),
                lambda: charts.picture_table(check.picture),
                "picture",
                _picture_note(check.picture),
            )
    if not any(entry.n_found for entry in check.sizes):
        st.caption("There was no time to search with the sizes: the model is slow.")
        return
    note = "Median of the searches with each size, and the range of them. Each begins with the same rows of the data."
    frame.chart_with_table(charts.found_chart(check), lambda: charts.found_table(check), "found", note)


def sentences(check: GradientCheck) -> list[str]:
    """What the answer means, in markdown; the most important first."""
    people = wording.counted(check.n_people, "row")
    if check.n_flat == check.n_people:
        return [
            f"At all {people} of your data the model is flat: no attribute that may vary changes its score, so no "
            "gradient leads anywhere. Use AEQUITAS or the data scan."
        ]
    said = [_pointing(entry) for entry in check.sizes if entry.h == _DEFAULT]
    said += [text for entry in check.sizes if entry.h == _DEFAULT for text in _used(check, entry)]
    if check.n_flat:
        said.append(
            f"At {wording.share(check.n_flat / check.n_people)} of the {people} the model is flat, and they are left "
            "out of the shares."
        )
    said += [*_too_small(check), *_best(check)]
    if not check.is_complete:
        said.append("Time ran out before every size was tried: the model is slow.")
    return said


def _pointing(entry: AtSize) -> str:
    alike = wording.share(entry.fast.alike_share or 0.0)
    signs = wording.share(entry.fast.sign_share or 0.0)
    middle = "" if entry.fast.quartiles is None else f"; the median cosine is {entry.fast.quartiles[1]:.2f}"
    return (
        f"**At h = {size_text(entry.h)} the estimated gradient points the same way as the true one for {alike} of "
        f"people** (a cosine above {ALIKE:g}{middle}), and {signs} of all slopes have the right sign."
    )


def _used(check: GradientCheck, entry: AtSize) -> list[str]:
    """What the two phases of a search make of the slopes of pairs."""
    parts = []
    if entry.guidance.directions is not None:
        parts.append(
            "the directions in which the global phase moves people have a median cosine of "
            f"{entry.guidance.directions[1]:.2f} to those of true slopes"
        )
    if entry.guidance.probabilities is not None:
        parts.append(
            "the probabilities with which the local phase chooses an attribute one of "
            f"{entry.guidance.probabilities[1]:.2f}"
        )
    if not parts:
        return []
    return [f"Of {wording.counted(check.n_pairs, 'pair')}, {', and '.join(parts)}."]


def _picture_note(picture: Picture) -> str:
    """How the picture is read."""
    both = wording.share(sum(picture.shares))
    return (
        "Each line joins a person's true gradient to the estimate, both at length 1: the shorter, the better. The "
        f"two principal components hold {both} "
        f"of the spread of the true ones. {wording.counted(len(picture.true), 'person', 'people')} of your data."
    )


def _too_small(check: GradientCheck) -> list[str]:
    """From which size downwards a search sees no slope, though there is one."""
    lost = _lost(check)
    if not lost:
        return []
    where = " and below" if len(lost) > 1 else ", the smallest that was tried"
    return [
        f"At h = {size_text(lost[-1].h)}{where}, a search hardly sees a slope: its arithmetic rounds so small a "
        "change away."
    ]


def _lost(check: GradientCheck) -> list[AtSize]:
    """The smallest sizes, as far as slopes are not seen; none where no size sees any."""
    lost = list(itertools.takewhile(lambda entry: _is_lost(entry.fast), check.sizes))
    return [] if len(lost) == len(check.sizes) else lost


def _is_lost(agreement: Agreement) -> bool:
    """Whether most estimates are zero, or point anywhere."""
    is_zero = agreement.zero_share is not None and agreement.zero_share > 0.5
    return is_zero or (agreement.quartiles is not None and agreement.quartiles[1] < 0.5)


def _best(check: GradientCheck) -> list[str]:
    """Which size found the most people, beside the default one."""
    medians = {entry.h: float(np.median(entry.n_found)) for entry in check.sizes if entry.n_found}
    if not medians:
        return []
    best = max(medians, key=lambda h: (medians[h], h == _DEFAULT))
    if medians[best] == 0:
        return [
            f"MAFT found nobody within {wording.count(check.search_evaluations)} rows evaluated, whatever the size: a "
            "larger budget may."
        ]
    text = (
        f"MAFT found the most with h = {size_text(best)}: {wording.count(medians[best])} individuals in the median "
        "search"
    )
    if best != _DEFAULT and _DEFAULT in medians:
        text += f"; with its default, h = {size_text(_DEFAULT)}, {wording.count(medians[_DEFAULT])}"
        found = {entry.h: entry.n_found for entry in check.sizes}
        if min(found[best]) <= max(found[_DEFAULT]):
            text += ". The searches with either overlap, so that may be chance"
    if any(entry.h == best for entry in _lost(check)):
        text += (
            ". At that size hardly a slope is seen, so hardly anybody is led to the boundary, and every attribute is "
            "tried nearly alike: that this finds most says that slopes help little on this model"
        )
    return [text + f". Each search evaluated at most {wording.count(check.search_evaluations)} rows."]
