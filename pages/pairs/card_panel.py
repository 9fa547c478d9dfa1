"""The pair card: two people side by side, the flip matrix, edit, simplify and pin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.arrays import FloatArray
from fairness_engine.errors import EvenhandError
from fairness_engine.model_process.questions import Scores, Simplify
from fairness_engine.models.fit.decisions import Decisions
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs
from fairness_engine.runs.kinds import CERTIFY
from pages.pairs import edit, plausibility, shap
from pages.pairs.flip_matrix import Flips, flip_frame, flip_html, variant_of
from pages.shared import access
from pages.shared.app import frame, session, theme, wording
from pages.shared.app.reruns import rerun_fragment
from pages.shared.members import controls
from pages.shared.pairs.card import Couple, couple_html, couple_sentence, person_at
from pages.shared.people import case_ids
from pages.shared.review import questions
from pages.shared.review.questions import Answer

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord

STYLE = """
<style>
.st-key-pair_body {flex-wrap: wrap;}
.st-key-pair_body > * {flex: 1 1 26rem; min-width: min(26rem, 100%);}
</style>
"""
"""The two halves of the card stand side by side where both have room, else one above the other."""
_AS_FOUND = "As found"
_PLAINEST = "Plainest form"


def draw(review: Review, run: RunRecord, domain: Domain, pair: Pairs, position: int, names: Decisions) -> None:
    """Draw the card of one pair.

    Args:
        review: keeps the pins.
        run: found the pair.
        domain: of the run.
        pair: the one pair.
        position: its place among the run's pairs, from 0.
        names: what the decisions are called.
    """
    st.header(f"Pair {wording.count(position + 1)}", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center", key="pair_actions"):
        shown = _form(run, pair, position)
        _pin(review, run, position)
        found_at = wording.counted(int(pair.evaluation[0]), "row")
        is_proof = CERTIFY.has(run.config)
        st.caption("A counterexample of a certification." if is_proof else f"Found after {found_at} evaluated.")
    pair_key = f"{run.id}_{position}_{'plain' if shown is not pair else 'found'}"
    rows = np.concatenate([shown.first, shown.second])
    with st.container(horizontal=True, gap="medium", key="pair_body"):
        left = st.container(key="pair_left")
        right = st.container(key="pair_right")
    with right:
        edit.edit_form(domain, rows, pair_key)
    edits = edit.edits_of(pair_key)
    edited = edit.apply_edits(domain, rows, edits)
    card = left.container()
    ids = case_ids.index_under(review, run.config.data_id, run.config.schema, domain)
    cases = {} if ids is None else ids.by_side(edited)
    if not edits:
        _card(card, _couple(domain, pair, edited, _stored(shown), names, cases))
        if ids is not None and (alike := ids.of_both(edited)):
            left.caption(wording.markdown(alike))
    with right:
        answer = _answer(run, domain, edited)
    if answer is None:
        if edits:
            _card(card, _couple(domain, pair, rows, _stored(shown), names))
        left.markdown(plausibility.stored_sentence(pair))
        return
    if edits:
        _card(card, _couple(domain, pair, edited, answer, names, cases), is_edited=True)
    with left:
        plausibility.draw(run, domain, edited, pair)
    with right:
        _flips(domain, edited, answer, names)
    shap.draw(run, domain, edited, names)


def _pin(review: Review, run: RunRecord, position: int) -> None:
    """Keep the pair with a note."""
    store = session.store()
    held = next((pin for pin in store.pins(review.id) if (pin.run_id, pin.pair_index) == (run.id, position)), None)
    label = "Pinned" if held else "Pin"

    def ask() -> None:
        note = st.text_area(
            "Note",
            held.note if held else "",
            key=f"note_{run.id}_{position}",
            max_chars=2000,
            placeholder="Why it matters",
        )
        if controls.button("Save" if held else "Pin this pair", key="pin_save", type="primary"):
            store.set_pin(review.id, run.id, position, note)
            st.rerun(scope="app")
        if held and controls.button("Remove the pin", key="pin_remove"):
            store.remove_pin(review.id, run.id, position)
            st.rerun(scope="app")

    frame.popup(label, ask, f"pin_{run.id}_{position}", icon=":material/keep:")


def _form(run: RunRecord, pair: Pairs, position: int) -> Pairs:
    """The pair as found, or in its plainest form once the reader asked for it."""
    plain: dict[tuple[str, int], Pairs] = st.session_state.setdefault("plain_pairs", {})
    key = (run.id, position)
    if key not in plain:
        if st.button(
            "Simplify",
            key="simplify",
            icon=":material/compress:",
            help="Moves every attribute towards its most ordinary value for as long as the pair stays discriminatory.",
        ):
            _simplify(run, pair, plain, key)
        return pair
    chosen = st.segmented_control(
        "Form",
        [_AS_FOUND, _PLAINEST],
        default=_PLAINEST,
        required=True,
        key=f"form_{run.id}_{position}",
        label_visibility="collapsed",
    )
    is_changed = (plain[key].first != pair.first) | (plain[key].second != pair.second)
    n_changed = int(is_changed.any(axis=0).sum())
    said = f"{wording.counted(n_changed, 'attribute')} moved to a more ordinary value; the pair still holds."
    if n_changed == 0:
        said = "This pair is in its plainest form already."
    if n_changed == 0 or chosen == _PLAINEST:
        st.caption(said)
        access.announce(said, f"plainest {key}", "plainest")
    return plain[key] if chosen == _PLAINEST and n_changed else pair


def _simplify(run: RunRecord, pair: Pairs, plain: dict[tuple[str, int], Pairs], key: tuple[str, int]) -> None:
    try:
        plain[key] = questions.ask(run.config, Simplify(pair), "Looking for a plainer pair …")
    except EvenhandError as error:
        frame.say(error)
        return
    rerun_fragment()


# --- the two people -----------------------------------------------------------------------------


def _stored(pair: Pairs) -> Answer:
    """What the run stored of a pair, in the form of an answer about person A and person B."""
    return Answer(
        np.array([pair.score_first[0], pair.score_second[0]]),
        np.array([pair.decision_first[0], pair.decision_second[0]]),
    )


def _couple(
    domain: Domain,
    found: Pairs,
    rows: FloatArray,
    answer: Answer,
    names: Decisions,
    cases: Mapping[int, str] | None = None,
) -> Couple:
    people = [person_at(rows[i], answer.scores[i], answer.decisions[i]) for i in (0, 1)]
    originals = {0: found.first[0], 1: found.second[0]}
    return Couple(domain, people[0], people[1], names, originals, cases or {})


def _card(place: st.delta_generator.DeltaGenerator, couple: Couple, *, is_edited: bool = False) -> None:
    with place:
        sentence = wording.markdown(couple_sentence(couple))
        if couple.is_discriminatory:
            st.markdown(f"{theme.DISCRIMINATORY.symbol} {sentence}")
        else:
            st.info(f"With this change the pair is no longer discriminatory. {sentence}" if is_edited else sentence)
        st.html(couple_html(couple, theme.DISCRIMINATORY.colour, theme.SELECTION.colour))


# --- the flip matrix ----------------------------------------------------------------------------


def _answer(run: RunRecord, domain: Domain, people: FloatArray) -> Answer | None:
    """What the model says of the two people and then of all variants; ``None``, and a sentence, when it cannot."""
    rows = np.concatenate([people, domain.variants(people[:1])[0]])
    try:
        return Answer.of(questions.ask(run.config, Scores(rows), "Asking the model …"))
    except EvenhandError as error:
        frame.say(error)
        return None


def _flips(domain: Domain, people: FloatArray, answer: Answer, names: Decisions) -> None:
    """Person A with every combination of protected values, as a picture and as a table."""
    marks = (variant_of(domain, people[0]), variant_of(domain, people[1]))
    flips = Flips(domain, answer.scores[2:], answer.decisions[2:], marks, names)
    protected = wording.listed([domain.schema.inputs[i].name for i in domain.protected.tolist()])
    st.markdown(f"**The same person with every value of {wording.markdown(protected)}**")
    st.html(flip_html(flips, theme.SELECTION.colour))
    symbols = " · ".join(wording.markdown(names.text(decision)) for decision in np.unique(flips.decisions).tolist())
    scored = wording.markdown(names.scored())
    number = f"The number is the score for {scored}" if flips.shows_numbers else "Point at a cell for its score"
    st.caption(f"{symbols}. {number}; a stronger tint is a higher score for {scored}; A and B are the two people.")
    n = wording.count(domain.n_variants)
    score = st.column_config.NumberColumn(f"Score for {names.scored()}", format=f"%.{max(4, flips.digits)}f")
    frame.folded_table(
        lambda: flip_frame(flips),
        "flips",
        f"Show all {n} combinations as a table" if flips.n_hidden else "The same as a table",
        lambda _: {"Score ": score},
    )
