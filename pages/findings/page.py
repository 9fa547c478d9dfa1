"""Findings: what all runs of a review say together, how sure it is, and what was decided."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.findings.finding import LIMITS
from fairness_engine.findings.gather import findings_of
from fairness_engine.findings.summary import answer
from pages.findings import cards, decide, two_reviews, wanted
from pages.shared.app import entry, frame, navigation, presenting, session, wording
from pages.shared.app.kept import kept
from pages.shared.runs import phrases

if TYPE_CHECKING:
    from fairness_engine.findings.finding import Findings, Tried
    from fairness_engine.store.records import Review, RunRecord

_ORDER_OF_GROUPS = (
    "Groups found by rules come by their difference times the share of people in them; the rule sets of a run, on the "
    "page Groups, by the difference alone."
)


def main() -> None:
    """Draw the cards, what found nothing, and what nobody has looked at."""
    frame.heading(navigation.FINDINGS.title, "What was found, how sure it is, and what was decided about it.")
    review = entry.require(navigation.FINDINGS)
    st.html(cards.STYLE)
    if two_reviews.is_asked():
        two_reviews.draw(review)
        return
    runs = session.runs(review.id)
    found = read(review, runs)
    st.caption(wording.markdown(_what_is_assessed(review, runs)))
    if found.active:
        frame.alone(_follow, run_every=1.0)(sorted(run.id for run in found.active))
    if presenting.is_on():
        _present(review, found)
        return
    _say_in_short(found)
    _draw_cards(review, found, range(len(found.cards)))
    if found.n_more:
        more = wording.counted(found.n_more, "finding")
        st.caption(f"{more} more of the same kinds: see the pages of the runs.")
    decide.draw_orphans(found, session.store().standing_decisions(review.id))
    _say_tried(found)
    wanted.draw(review, found)
    if found.cards or found.tried:
        with st.container(horizontal=True, key="findings_links"):
            session.link_to(navigation.REPORT, "Make the report")
            two_reviews.link(review)
    _say_rest(found)


def read(review: Review, runs: list[RunRecord]) -> Findings:
    """What the runs say, as they stand."""
    stand = tuple((run.id, run.state.value, run.n_found) for run in runs if not run.is_active)
    active = tuple(run.id for run in runs if run.is_active)
    key = (review.id, review.revision, review.changed, stand, active)
    return kept("findings", key, lambda: findings_of(session.store(), review, runs))


def _what_is_assessed(review: Review, runs: list[RunRecord]) -> str:
    """Data, model, attributes and runs in one line."""
    names = [session.store().file(file_id).name for file_id in (review.data_id, review.model_id) if file_id]
    if review.model_id is None:
        names.append("no model")
    scope = review.scope
    if scope is not None:
        names.append(f"{'compared: terms in' if review.is_of_texts else 'protected:'} {wording.changing(scope)}")
    n_ended = sum(not run.is_active for run in runs)
    return " · ".join([*names, wording.counted(n_ended, "run")])


def _follow(active: list[str]) -> None:
    """Runs at work, until one of them ends."""
    store = session.store()
    records = [store.run(run_id) for run_id in active]
    session.start_waiting()
    if any(not record.is_active for record in records) or not records:
        session.forget_asked()
        st.rerun()
    n_at_work = sum(record.state.value == "running" for record in records)
    with st.container(border=True, key="at_work"):
        st.markdown(f"**{wording.counted(len(records), 'run')} on the way**, {n_at_work} at work")
        for record in records:
            title = phrases.run_title(record.config)
            st.caption(f"{wording.markdown(title)}: {wording.markdown(phrases.activity(record))}")


def _say_in_short(found: Findings) -> None:
    """The answer, for whoever has a minute."""
    if found.is_empty:
        st.info("Nothing was looked at yet.")
        return
    with st.container(border=True, key="in_short"):
        lines = "".join(f"<li>{wording.escaped(sentence)}</li>" for sentence in answer(found))
        st.html(f'<div class="eh-short-title">In short</div><ul class="eh-short">{lines}</ul>')


def _present(review: Review, found: Findings) -> None:
    """The answer, then one card at a time."""
    at = presenting.step("finding", 1 + len(found.cards))
    if at == 0:
        _say_in_short(found)
    else:
        _draw_cards(review, found, [at - 1])


def _draw_cards(review: Review, found: Findings, shown: Iterable[int]) -> None:
    """Cards of findings, by their positions."""
    store = session.store()
    decisions = store.standing_decisions(review.id)
    comments = store.comments(review.id)
    for at in shown:
        card = found.cards[at]
        own = [comment for comment in comments if comment.finding == card.key]
        cards.draw(review, card, at + 1, decisions.get(card.key), own)


def _say_tried(found: Findings) -> None:
    if not found.tried:
        return
    nothing = "Nothing was found so far" if found.active else "Nothing was found"
    st.header("Looked at, and nothing found" if found.cards else nothing, anchor=False)
    st.caption("What was tried, how much of it, what that shows, and what it does not.")
    st.html("".join(map(_tried_html, found.tried)))


def _tried_html(tried: Tried) -> str:
    level = f"{cards.level_badge(tried.level)} " if tried.level is not None and tried.level != "found" else ""
    lines = (tried.said, f"Shows: {tried.shows}", f"Does not show: {tried.does_not_show}")
    said = "".join(f"<li>{wording.escaped(line)}</li>" for line in lines)
    return f'<div class="eh-tried">{level}<b>{wording.escaped(tried.title)}</b><ul>{said}</ul></div>'


def _say_rest(found: Findings) -> None:
    for run in found.broken:
        st.warning(wording.markdown(f"{phrases.run_title(run.config)}: {phrases.ending(run)}"), icon=":material/error:")
    if found.earlier:
        n = wording.counted(len(found.earlier), "run")
        st.caption(
            f"{n} of this review are of another model, of other data or columns, or of another threshold: nothing is "
            "said of them here. The Run page lists them."
        )
    with st.expander("What holds of every finding"):
        st.markdown("\n".join(f"- {text}" for text in (*LIMITS, _ORDER_OF_GROUPS)))
        st.markdown("\n".join(f"- **{level.value}**: {meaning}" for level, meaning in cards.MEANINGS.items()))


main()
