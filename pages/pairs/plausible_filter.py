"""Which pairs the list leaves out as implausible: the switch, what counts, and the sentence that says how many."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import streamlit as st

from fairness_engine.arrays import IntArray
from fairness_engine.measures.plausibility import SEED
from fairness_engine.measures.results import PlausibleCounts
from fairness_engine.pairs import Pairs
from pages.shared.app import wording

_SLIDER_STEP = 0.5


@dataclass(frozen=True)
class PlausibleOnly:
    """What counts as implausible.

    Args:
        limit: a larger distance to the data.
        learned_limit: the limit that the data itself suggests.
        hides_unseen: values that practically never occur together in the data.
    """

    limit: float
    learned_limit: float
    hides_unseen: bool = True


def implausible(pairs: Pairs, only: PlausibleOnly) -> np.ndarray:
    """Which pairs have an implausible person ``(n_pairs,)``; one that was not measured is not."""
    is_far = (pairs.distance > only.limit).any(axis=1)  # false for NaN
    return np.asarray(is_far | (pairs.n_unseen > 0).any(axis=1) if only.hides_unseen else is_far)


def form(review_id: str, pairs: Pairs, result: PlausibleCounts | None) -> tuple[PlausibleOnly | None, bool]:
    """Draw the switch and what it goes by; what is chosen is kept for the review while the browser is open.

    Args:
        review_id: whose choice it is.
        pairs: all pairs of the run.
        result: the run's result ``plausibility``, when there is one.

    Returns:
        What counts as implausible, ``None`` while nothing is measured; and whether implausible pairs are left out.
    """
    if result is None or not pairs.is_measured.any():
        return None, False
    st.session_state.setdefault(_switch(review_id), True)  # no default of the widget's own: the button sets it, too
    is_on = st.toggle(
        "Plausible only",
        key=_switch(review_id),
        help="Leaves out pairs with a person who is unlike anybody in the data. A search invents people; some could "
        "not exist.",
        persist_state="session",
    )
    with st.popover("What counts", icon=":material/tune:"):
        only = _choice(review_id, pairs, result.limit)
        st.caption(_about(result))
    return only, is_on


def _choice(review_id: str, pairs: Pairs, learned: float) -> PlausibleOnly:
    """The widgets that say what is implausible."""
    default = round(100 * learned, 1)
    furthest = 100 * max(float(np.nanmax(pairs.distance)), learned)
    percent = st.slider(
        "Largest distance to the data",
        0.0,
        math.ceil(furthest / _SLIDER_STEP) * _SLIDER_STEP,
        default,
        _SLIDER_STEP,
        format="%.1f %%",
        key=f"plausible_{review_id}_distance_{default}",
        help=wording.explain("distance to the data"),
        persist_state="session",
    )
    hides_unseen = st.toggle(
        "Leave out values that practically never occur together",
        True,
        key=f"plausible_{review_id}_unseen",
        help="Such as “Husband” and “Never married”, or “Female” and “Husband”: no row of the data has both though 10 "
        "or more would by chance, or less than a hundredth of what chance would bring.",
        persist_state="session",
    )
    return PlausibleOnly(learned if percent == default else percent / 100, learned, hides_unseen)


def _about(result: PlausibleCounts) -> str:
    """Where the limit comes from."""
    n = result.n_reference
    n_different = result.n_different
    text = (
        f"At {wording.share(result.limit)}, 99 % of the "
        f"{wording.counted(n_different, 'different person', 'different people')} "
        "in the data have somebody else that near."
    )
    if n < n_different:
        text += (
            f" Distances are measured to {wording.count(n)} of them, drawn at random with seed {SEED}, so they are "
            "upper bounds."
        )
    return text


def say_hidden(review_id: str, n: int, n_hidden: int, only: PlausibleOnly, *, is_on: bool) -> None:
    """One sentence with the number of implausible pairs, and a button to see them or not."""
    if not n_hidden:
        return
    verb = "is" if n_hidden == 1 else "are"
    where = "hidden as implausible" if is_on else "implausible and listed"
    with st.container(horizontal=True, vertical_alignment="center", key="implausible"):
        st.markdown(f"{wording.count(n_hidden)} of {wording.counted(n, 'pair')} {verb} {where}: {reason(only)}.")
        label = ("Show it" if is_on else "Hide it") if n_hidden == 1 else "Show them" if is_on else "Hide them"
        st.button(label, key="show_implausible", on_click=_set_switch, args=(review_id, not is_on))


def reason(only: PlausibleOnly) -> str:
    """What implausible means at these limits, in words."""
    if only.limit == only.learned_limit:
        far = "further from the data than 99 % of real people are from each other"
    else:
        far = f"further than {wording.share(only.limit)} from the data"
    return f"a person {far}" + (", or with values that practically never occur together" if only.hides_unseen else "")


def say_unmeasured(pairs: Pairs, positions: IntArray, *, is_active: bool) -> None:
    """How many of the listed pairs were not measured; they are listed with the others."""
    n = int((~pairs.is_measured[positions]).sum())
    if n:
        was = "was" if n == 1 else "were"
        when = "not measured yet" if is_active else "not measured"
        rest = "it is listed" if n == 1 else "they are listed"
        st.caption(f"{wording.counted(n, 'pair')} {was} {when}; {rest} with the others.")


def _switch(review_id: str) -> str:
    return f"plausible_{review_id}"


def _set_switch(review_id: str, is_on: bool) -> None:
    st.session_state[_switch(review_id)] = is_on
