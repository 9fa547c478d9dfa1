"""Two reviews side by side: what both have, before and after, with the difference and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.errors import EvenhandError, RunError
from fairness_engine.findings.two_reviews.change import BASES, Basis, Measure, Row, Topic, Verdict
from fairness_engine.findings.two_reviews.compare import TwoReviews, compare_reviews, with_model
from fairness_engine.findings.two_reviews.people import PeopleFound, fates_of
from fairness_engine.oracle.domain import Domain
from fairness_engine.runs.adoption import lineage
from fairness_engine.runs.pair_fates import MAX_PAIRS, Fates
from fairness_engine.telling.wording import bounded_share
from pages.findings import cards
from pages.shared import tables
from pages.shared.app import frame, navigation, session, wording
from pages.shared.app.kept import kept, shared
from pages.shared.pairs.table import DISTANCE, FOUND_AT, pair_frame
from pages.shared.people.decisions import decisions_of
from pages.shared.written_figures import Figure, Unit, points

if TYPE_CHECKING:
    from fairness_engine.store.records import Review

_PARAMETER = "with"
_CHOOSE = "choose"
_N_EXAMPLES = 10
_MARKS = {
    Verdict.BETTER: "↗",
    Verdict.WORSE: "↘",
    Verdict.HIGHER: "▲",
    Verdict.LOWER: "▼",
    Verdict.EQUAL: "=",
    Verdict.UNSETTLED: "?",
}
_STYLE = """
<style>
.eh-two {width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 0.2rem 0;}
.eh-two th, .eh-two td {border: none; border-bottom: 1px solid rgba(128, 136, 148, 0.35); padding: 0.4rem 0.45rem;
  text-align: left; vertical-align: top; line-height: 1.3;}
.eh-two thead th {font-size: 0.88rem; font-weight: 600;}
.eh-two tbody th {font-weight: 600; max-width: 24rem; overflow-wrap: anywhere;}
.eh-two small {display: block; opacity: 0.8; font-size: 0.82rem; font-weight: 400;}
.eh-two td {white-space: nowrap;}
.eh-two-scroll {overflow-x: auto;}
.eh-better {color: light-dark(#00705A, #3CC79C); font-weight: 600;}
.eh-worse {color: light-dark(#A84300, #FF8A4C); font-weight: 600;}
</style>
"""


@dataclass(frozen=True)
class Other:
    """What the open review can be compared with.

    Args:
        key: in the address.
        review: with the model that is meant.
        label: in the list.
    """

    key: str
    review: Review
    label: str


def link(review: Review) -> None:
    """The way here, from the findings."""
    session.page_link(
        navigation.FINDINGS,
        "Compare with another review",
        {"review": review.id, _PARAMETER: _CHOOSE},
        icon=":material/compare_arrows:",
    )


def is_asked() -> bool:
    """Whether the address asks for the comparison."""
    return _PARAMETER in st.query_params


def draw(review: Review) -> None:
    """Choose the other review, and put the two side by side.

    Args:
        review: the open one.
    """
    st.html(_STYLE)
    session.page_link(
        navigation.FINDINGS,
        "Back to the findings",
        {"review": review.id},
        icon=":material/arrow_back:",
    )
    st.header("Compared with another review", anchor=False)
    others = offered(review)
    if not others:
        st.info("There is no other review yet, and this one has no other model. Make one on Start, or retrain.")
        return
    other = _choose(others)
    if other is None:
        return
    before, after = _in_order(review, other.review)
    if st.toggle("Swap before and after", key=f"swap_reviews_{other.key}"):
        before, after = after, before
    st.markdown(f"**Before**: {wording.markdown(_name(before))}  \n**After**: {wording.markdown(_name(after))}")
    _draw_found(before, after, read(before, after))


# --- which --------------------------------------------------------------------------------------


def offered(review: Review) -> list[Other]:
    """Other models of this review, other reviews that may be listed to this browser, and the one that the address
    names, where whoever has its link may open it.
    """
    store = session.store()
    versions = store.versions(review.id)
    models = dict.fromkeys(model for each in versions for model in (each.parent_id, each.model_id))
    found = []
    for model_id in models:
        if model_id != review.model_id:
            own = with_model(review, model_id)
            found.append(Other(f"{review.id}.{model_id}", own, f"This review with the model {_file(model_id)}"))
    if session.lists_reviews():
        for other in store.reviews(session.owner()):
            if other.id != review.id and other.schema is not None and other.scope is not None:
                found.append(Other(other.id, other, f"{_name(other)}, {wording.when(other.changed)}"))
    asked = st.query_params.get(_PARAMETER, "")
    if asked not in {one.key for one in found} and asked not in ("", _CHOOSE, review.id):
        found += _linked(asked)
    return found


def _linked(review_id: str) -> list[Other]:
    try:
        other = session.store().review(review_id)
    except RunError:
        return []
    return [Other(other.id, other, _name(other))] if session.may_open(other) and other.scope is not None else []


def _choose(others: list[Other]) -> Other | None:
    keys = [other.key for other in others]
    asked = st.query_params.get(_PARAMETER)
    if asked not in (*keys, _CHOOSE):
        st.warning("This link names a review that is not here: it was deleted, or is somebody else's.")
    at = st.selectbox(
        "The other review",
        range(len(others)),
        keys.index(asked) if asked in keys else None,
        format_func=lambda i: others[i].label,
        key=f"compare_with_{len(others)}",
        placeholder="Choose a review",
    )
    st.query_params[_PARAMETER] = _CHOOSE if at is None else keys[at]
    return None if at is None else others[at]


def _in_order(review: Review, other: Review) -> tuple[Review, Review]:
    """The model that the other was made of is before it; else the older review is."""
    store = session.store()
    if review.model_id and other.model_id and review.model_id in lineage(store, other.model_id):
        return review, other
    if review.model_id and other.model_id and other.model_id in lineage(store, review.model_id):
        return other, review
    return (other, review) if other.created <= review.created else (review, other)


def _name(review: Review) -> str:
    files = [_file(file_id) for file_id in (review.data_id, review.model_id) if file_id]
    return f"{review.name} ({', '.join(files)})"


def _file(file_id: str) -> str:
    try:
        return session.store().file(file_id).name
    except RunError:
        return "missing file"


# --- what both have -----------------------------------------------------------------------------


def read(before: Review, after: Review) -> TwoReviews:
    """The comparison, as the runs of both stand."""
    stand = [
        (review.id, review.model_id, review.revision, *((run.id, run.state.value) for run in session.runs(review.id)))
        for review in (before, after)
    ]
    return kept("two_reviews", tuple(stand), lambda: compare_reviews(session.store(), before, after))


def _draw_found(before: Review, after: Review, found: TwoReviews) -> None:
    for note in found.notes:
        st.info(wording.markdown(note))
    if found.is_empty:
        st.markdown("**Nothing to compare yet**: no run of one asks what a run of the other asks.")
    first = found.of(Topic.RETRAINING, Topic.ACCURACY, Topic.SHARE)
    if found.retraining_id:
        query = {"review": session.store().run(found.retraining_id).review_id or "", "run": found.retraining_id}
        session.page_link(navigation.RETRAIN, "See the retraining", query)
    if first:
        st.header("Accuracy and shares", anchor=False)
        _draw_rows(first)
    if found.people:
        st.header("People: fixed and new", anchor=False)
        frame.alone(_draw_people)(before, after, found.people)
    for title, topics in (("Groups", (Topic.GROUPS, Topic.RULES)), ("Proofs", (Topic.PROOFS,))):
        rows = found.of(*topics)
        if rows:
            st.header(title, anchor=False)
            _draw_rows(rows)
    if found.rows:
        st.caption(
            "A verdict is from the interval alone, and each interval is of its own line: of many lines, about one in "
            "twenty may be settled by chance."
        )
    if found.missing:
        with st.container(border=True, key="not_compared"):
            st.header("Not compared", anchor=False)
            lines = [f"- {wording.markdown(one.what)}: {wording.markdown(one.why)}" for one in found.missing]
            st.markdown("\n".join(lines))


def _draw_rows(rows: list[Row]) -> None:
    st.html(table_html(rows))
    bases = dict.fromkeys(row.change.basis for row in rows)
    st.markdown("\n".join(f"- :gray[{wording.markdown(f'{_BASIS[basis]}: {BASES[basis]}')}]" for basis in bases))


_BASIS = {
    Basis.EXACT: "Exact",
    Basis.PAIRED: "Paired",
    Basis.SAME_ROWS: "Same rows",
    Basis.INDEPENDENT: "Independent",
    Basis.PROVED: "Proved",
}


def table_html(rows: list[Row]) -> str:
    """One line a figure; everything escaped."""
    heads = ("What", "Before", "After", "Difference (95 % interval)", "Verdict")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    lines = "".join(_line_html(row) for row in rows)
    return (
        f'<div class="eh-two-scroll"><table class="eh-two"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody>'
        "</table></div>"
    )


def _line_html(row: Row) -> str:
    note = f"<small>{wording.escaped(row.note)}</small>" if row.note else ""
    what = f'<th scope="row">{wording.escaped(row.what)} {cards.level_badge(row.level)}{note}</th>'
    before, after = figure_texts(row)
    cells = (_cell(before, _n(row.n_before)), _cell(after, _n(row.n_after)), _cell(change_text(row), _how(row)))
    return f"<tr>{what}{''.join(cells)}<td>{_verdict_html(row.verdict)}</td></tr>"


def _cell(text: str, small: str) -> str:
    return f"<td>{wording.escaped(text)}{f'<small>{wording.escaped(small)}</small>' if small else ''}</td>"


def _n(n: int) -> str:
    return f"of {wording.count(n)}" if n else ""


def _how(row: Row) -> str:
    return _BASIS[row.change.basis].lower()


def _verdict_html(verdict: Verdict) -> str:
    if verdict is Verdict.NONE:
        return wording.DASH
    return f'<span class="eh-{verdict.value.split()[0]}">{_MARKS[verdict]} {verdict.value}</span>'


_UNITS = {Measure.SHARE: Unit.SHARE, Measure.RATIO: Unit.PLAIN, Measure.DIFFERENCE: Unit.POINTS}


def figure_texts(row: Row) -> tuple[str, str]:
    """Both figures with their intervals, as they are written."""
    texts = []
    for figure in (row.before, row.after):
        if row.topic is Topic.PROOFS:
            low, high = bounded_share(figure.low), bounded_share(figure.high, is_upper=True)
            texts.append(bounded_share(figure.value) if figure.low == figure.high else f"{low} to {high}")
        elif figure.low == figure.high and row.measure is Measure.SHARE:
            texts.append(f"{Figure(figure.value, figure.low, figure.high).short}, exact")
        else:
            texts.append(Figure(figure.value, figure.low, figure.high, _UNITS[row.measure]).text)
    return texts[0], texts[1]


def change_text(row: Row) -> str:
    """The difference with its interval: ``−4.2 points (−5.9 to −2.6)``."""
    change = row.change
    if row.measure is Measure.RATIO:
        value, low, high = map(_signed, (change.value, change.low, change.high))
        return f"{value} ({low} to {high})"
    if change.low == change.high:
        return "0" if change.value == 0 else f"{points(change.value)} points"
    if change.basis is Basis.PROVED:
        return f"{points(change.low)} to {points(change.high)} points"
    return f"{points(change.value)} points ({points(change.low)} to {points(change.high)})"


def _signed(change: float) -> str:
    """A change of a ratio with a real sign: ``+0.016``, ``0``."""
    text = f"{abs(change):.3f}"
    return "0" if float(text) == 0 else f"{'+' if change > 0 else '−'}{text}"


# --- people -------------------------------------------------------------------------------------


def _draw_people(before: Review, after: Review, people: tuple[PeopleFound, ...]) -> None:
    """Each search of both, by what became of the people it found."""
    for found in people:
        st.markdown(f"**{wording.markdown(found.what)}**")
        if found.why_unknown:
            st.caption(wording.markdown(found.why_unknown))
            continue
        try:
            with st.spinner("Telling who is fixed and who is new …"):
                fates = _fates(found)
        except EvenhandError as error:
            frame.say(error)
            continue
        st.markdown(fates_text(fates))
        if found.is_everybody:
            st.caption("Both models were asked about everybody of the data.")
        else:
            most = f" The first {wording.count(MAX_PAIRS)} of each were." if max(found.n_found) > MAX_PAIRS else ""
            text = f"Each model was asked about the people found with the other one: these are no shares.{most}"
            st.caption(wording.markdown(text))
        _draw_examples(before, found, 0, np.flatnonzero(~fates.is_still), "Fixed")
        _draw_examples(after, found, 1, np.flatnonzero(fates.is_new), "New")


@shared
def _fates(found: PeopleFound) -> Fates:
    return fates_of(session.store(), found, None if found.is_known else session.evaluator())


def fates_text(fates: Fates) -> str:
    """The counts of a search, as lines."""
    lines = (
        ("✔ Fixed", fates.n_fixed, fates.n_before, "found before, decided alike after"),
        ("● Still there", fates.n_still, fates.n_before, "found before, and still discriminated against after"),
        ("✚ New", fates.n_new, fates.n_after, "found after, decided alike before"),
    )
    return "\n".join(
        f"- **{name}: {wording.count(n)}** of {wording.count(n_all)}: {said}" for name, n, n_all, said in lines
    )


def _draw_examples(review: Review, found: PeopleFound, side: int, positions: np.ndarray, title: str) -> None:
    if not len(positions):
        return
    run_id = found.run_ids[side]
    shown = positions[:_N_EXAMPLES]
    with st.expander(f"{title}: {wording.count(len(shown))} of {wording.count(len(positions))}"):
        store = session.store()
        config = store.run(run_id).config
        pairs = store.pairs(run_id, int(shown[-1]) + 1)
        table = pair_frame(Domain(config.schema, config.scope), pairs, decisions_of(review), shown)
        tables.show(table.drop(columns=[DISTANCE, FOUND_AT]), key=f"examples_{title}_{run_id}")
        session.page_link(navigation.PAIRS, "All pairs of this search", {"review": review.id, "run": run_id})
