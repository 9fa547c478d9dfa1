"""The fit card of a model that takes texts: figures, decisions, three texts as the model reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.models.fit.decisions import Decisions, decisions_under
from pages.model import view
from pages.shared.app import frame, wording
from pages.shared.members import controls
from pages.shared.review import kind, model_fit

if TYPE_CHECKING:
    from fairness_engine.data.schema import Schema
    from fairness_engine.store.records import Review

_MAX_CHARACTERS = 600


def ask_takes(review: Review) -> None:
    """What the model takes, where the data holds texts beside, or instead of, a table's columns."""
    columns = kind.text_columns(review.schema)
    if not columns or review.schema is None:
        return
    names = {model_fit.FOUND_OUT: "Found out from the model", **{name: f"The texts of {name}" for name in columns}}
    if review.schema.inputs:
        names[model_fit.TABLE] = "The columns of the table"
    choices = list(names)
    known = model_fit.takes(review)
    wanted = st.selectbox(
        "What the model takes",
        choices,
        index=choices.index(known) if known in choices else 0,
        format_func=names.__getitem__,
        help="A model of texts takes one string a row; a model of a table takes the other columns.",
        key="model_takes_choice",
        disabled=controls.off(),
    )
    if wanted != known:
        model_fit.change_takes(review, wanted)
        st.rerun()


def show_card(card: Mapping[str, Any], schema: Schema | None) -> None:
    """Warnings first, then figures, what it decides on the data's texts, and three of them."""
    column = str(card[kind.FIT_KEY])
    for warning in card.get("warnings") or ():
        st.warning(wording.markdown(warning), icon=":material/warning:")
    described = view.describe({**card, "n_inputs": 0})
    st.markdown(f"**{wording.markdown(described)}**, takes the texts of **{wording.markdown(column)}**")
    with frame.wrapping("figures"):
        places = st.columns(4)
    for place, (label, value, note, term) in zip(places, _figures(card, schema), strict=True):
        place.metric(label, value, delta=note, delta_color="off", delta_arrow="off", help=term, border=True)
    with frame.wrapping("shares", is_wide=True):
        left, right = st.columns(2, gap="large")
    with left:
        view.show_shares(card, "texts")
    with right:
        _show_facts(card)
    show_texts(card, column, decisions_under(card, schema))


def _figures(card: Mapping[str, Any], schema: Schema | None) -> list[tuple[str, str, str | None, str]]:
    """The four figures on top, of texts instead of rows."""
    shown = view.figures(card, schema)
    helps = {
        "Speed": "How fast the model answers here. It decides how long it takes to compare groups.",
    }
    notes = {"Speed": "texts a second"}
    return [
        (label, value, notes.get(label, note), helps.get(label, text).replace("row", "text"))
        for label, value, note, text in shown
    ]


def _show_facts(card: Mapping[str, Any]) -> None:
    lines = []
    if "is_deterministic" in card:
        same = bool(card["is_deterministic"])
        mark = ":material/check:" if same else ":material/close:"
        lines.append(f"{mark} {'Gives' if same else 'Does not give'} the same answer to the same text")
    left_out = [wording.markdown(name) for name in card.get("not_taken") or ()]
    if left_out:
        lines.append(f":material/remove: Reads nothing else of the data: {wording.listed(left_out)} left out")
    classes = [str(name) for name in card.get("classes") or ()]
    if classes:
        favourable = wording.markdown(classes[int(card.get("favourable") or 0)])
        lines.append(f":material/thumb_up: Favourable outcome: **{favourable}**; change it under Scope")
    st.markdown("**What the model does**")
    st.markdown("  \n".join(lines))


def show_texts(card: Mapping[str, Any], column: str, names: Decisions) -> None:
    """Three texts, and what the model answered."""
    rows: Sequence[Mapping[str, Any]] = card.get("sample_rows") or ()
    if not rows:
        return
    st.header("Three texts as the model receives them", anchor=False)
    st.caption("Check that the decisions make sense: a model whose outcomes are swapped looks fine in every other way.")
    texts = (_text_html(row, column, view.answer_text(row, card, names)) for row in rows)
    st.html(f'<div class="eh-texts">{"".join(texts)}</div>{_STYLE}')


def _text_html(row: Mapping[str, Any], column: str, answer: str) -> str:
    text = str(row["received"].get(column, next(iter(row["received"].values()), "")))
    shown = text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS] + " …"
    decision, _, score = answer.rpartition(", ")
    return (
        f"<div><p>{wording.escaped(shown)}</p><p><b>{wording.escaped(decision)}</b>, {wording.escaped(score)}</p></div>"
    )


_STYLE = """
<style>
.eh-texts {display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: 1rem}
.eh-texts > div {border: 1px solid light-dark(#D5DAE0, #3A424C); border-radius: 0.5rem; padding: 0.8rem 1rem;
  display: flex; flex-direction: column; justify-content: space-between; overflow-wrap: anywhere}
.eh-texts p {margin: 0 0 0.4rem 0}
</style>
"""
