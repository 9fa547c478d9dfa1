"""A certification that ended: what is proved in words and as shares, the boxes behind it, files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from fairness_engine.certification.partition.phrases import box_sentence
from fairness_engine.runs.kinds import Results
from fairness_engine.runs.writers.proofs import stored_tree_file
from pages.certification import box_card, boxes, live, single_box, tree
from pages.certification.partition_map import AreaOf, partition_map
from pages.certification.tree import ReadTree
from pages.shared import exports
from pages.shared.app import frame, navigation, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.charts import certification_charts, share_bar
from pages.shared.runs import certification_phrases, certification_runs, of_kind
from pages.shared.runs.certification_phrases import Shares
from pages.shared.runs.results import results_of

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord

_AREAS = {AreaOf.DOMAIN: "Size of domain", AreaOf.PEOPLE: "The data's people"}
_MAP_PIXELS = 470


def draw_boxes(review: Review, run: RunRecord, read: ReadTree, alone: Sequence[single_box.Alone]) -> None:
    """Map, table and card: a click in here leaves the rest of the page alone.

    Args:
        review, run, read: what is shown.
        alone: boxes that were certified on their own, as they stood when the page was drawn.
    """
    st.header("The boxes behind it", anchor=False)
    if where := where_falsified(read):
        st.markdown(f"{theme.DISCRIMINATORY.symbol} {wording.markdown(where)}")
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="box_controls"):
        area = _area_field(read)
        verdict, within = boxes.filter_form(read)
    listed = boxes.ranked(read, verdict, within, by_people=area is AreaOf.PEOPLE)
    slot = boxes.slot_of(read)
    if slot not in st.session_state:
        st.session_state[slot] = (0, 0)
    with frame.wrapping("box_places", is_wide=True):
        left, right = st.columns(2)
    with left:
        _map(read, area, slot)
    with right:
        boxes.draw(read, listed, verdict)
    box = st.session_state[slot][0]
    if box == 0 and len(read.tree) > 1:
        st.info(
            "Choose a box in the map or in the table: what is proved of it, why it is undecided, and a counterexample "
            "appear here."
        )
        return
    box_card.draw(review, run, read, box, alone)


def where_falsified(read: ReadTree) -> str:
    """In which box most of what is falsified lies; empty where there is none, or where it lies all over the domain."""
    if not read.tree.falsified[0]:
        return ""
    low, high, part = kept("certify_where", read.run_id, lambda: tree.where_most_lies(read, "falsified"))
    size = float(np.prod((high - low + 1) / read.tree.n_digits))
    if size == 1:
        return ""
    where = box_sentence(read.columns, low, high)
    of_all = f"about {wording.share(size)} of all individuals do"
    falsified = "All" if part == 1 else f"{wording.bounded_share(part)} of the"
    return f"{falsified} individuals that are falsified lie where {where}; {of_all}."


def _map(read: ReadTree, area: AreaOf, slot: str) -> None:
    """The map; a box chosen in it is shown by the table too, which is drawn anew for it."""
    box, generation = st.session_state[slot]
    picked = partition_map(
        read.tree,
        read.columns,
        weight=area,
        selected=box or None,
        height=_MAP_PIXELS,
        key=f"map_{read.run_id}",
    )
    if (picked or 0) != box:
        st.session_state[slot] = (picked or 0, generation + 1)


def _area_field(read: ReadTree) -> AreaOf:
    chosen = st.segmented_control(
        "Boxes by",
        list(_AREAS),
        default=AreaOf.DOMAIN,
        required=True,
        format_func=_AREAS.__getitem__,
        key=f"boxes_by_{read.run_id}",
        help=wording.explain("box"),
    )
    return AreaOf(chosen)


_LEVELS = {
    certification_phrases.PROVED: "border:1px solid currentColor;font-weight:600",
    certification_phrases.ESTIMATED: "border:1px dashed currentColor;font-style:italic",
    certification_phrases.OPEN: "border:1px dotted currentColor",
}
STYLE = f"""
<style>
.eh-claims {{display:flex;flex-direction:column;gap:0.55rem;font-size:1.06rem;line-height:1.4}}
.eh-claim {{display:grid;grid-template-columns:1.4rem 6.4rem 1fr;gap:0.6rem;align-items:baseline}}
.eh-claim b {{font-size:1.14rem}}
.eh-level {{border-radius:0.9rem;padding:0.05rem 0.6rem;font-size:0.85rem;text-align:center;opacity:0.9}}
.st-key-certify_summary {{min-height: 27rem}}
@media screen and (max-width: 900px) {{.eh-claim {{grid-template-columns:1.4rem 1fr}} .eh-claim
    > :last-child {{grid-column:1 / -1}}}}
</style>
{share_bar.STYLE}
{box_card.STYLE}
"""


def draw(review: Review, run: RunRecord, runs: Sequence[RunRecord]) -> None:
    """Everything about one certification that does not work any more."""
    results = results_of(run)
    _standing(run)
    shares = certification_runs.shares_of(run)
    if shares is None:
        return
    result = results.certification
    with frame.wrapping("certify_charts", is_wide=True):
        left, right = st.columns([6, 5], gap="medium")
    with left:
        if result:
            protected = wording.changing(run.config.scope)
            people = certification_phrases.people_claims(result.data_rows) if result.data_rows else []
            st.html(claims_html([*people, *certification_phrases.claims(result, protected, run.extent)]))
            for note in results.notes.notes:
                st.caption(f":material/info: {wording.markdown(note)}")
            st.caption(wording.markdown(certification_phrases.method_note(result, run.seconds)))
        _files(run)
    charts = right.container(key="certify_summary")  # filled last: their library takes longer than the map does
    read = tree.load(session.store(), run)
    if read is not None and (len(read.tree) > 1 or shares.undecided > 0):  # one decided box says nothing more
        alone = single_box.of_tree(read, run, runs)
        frame.alone(draw_boxes)(review, run, read, alone)
        is_working = any(each.run.is_active for each in alone)
        if alone:
            follow = frame.alone(single_box.draw, run_every=1.0 if is_working else None)
            follow(review, run, read, alone, is_followed=is_working)
    with charts:
        _charts(run, shares, results)


def _standing(run: RunRecord) -> None:
    title = certification_phrases.run_title(run.config)
    of_kind.say_standing(
        run, title, is_empty=not run.evaluations, place=navigation.PLAN, label="Search for pairs instead"
    )


def claims_html(claims: Sequence[certification_phrases.Claim]) -> str:
    """The headline: a line a claim, its symbol, its level of evidence, its words; everything escaped."""
    lines = []
    for claim in claims:
        text = wording.escaped(claim.text)
        head, space, rest = text.partition(" % ")
        words = f"<b>{head} %</b> {rest}" if space and len(head) <= 12 else text
        lines.append(
            '<div class="eh-claim"><span '
            f'style="color:{claim.meaning.colour};font-weight:700">{claim.meaning.symbol}</span>'
            f'<span class="eh-level" style="{_LEVELS[claim.level]}">{claim.level}</span><span>{words}</span></div>'
        )
    return f'<div class="eh-claims">{"".join(lines)}</div>'


def _charts(run: RunRecord, shares: Shares, results: Results) -> None:
    rows: dict[str, Shares] = {}
    people = results.certification.data_rows if results.certification else None
    if people and people.n:
        rows["Data's people"] = Shares.of_people(people)
    rows["Individuals"] = shares
    figure = kept(
        "certify_shares",
        (run.id, shares, theme.is_dark()),
        lambda: certification_charts.shares_chart(rows, "Proved and undecided"),
    )
    frame.chart_with_table(
        figure,
        lambda: certification_charts.shares_table(rows),
        "certify_shares_chart",
        said=certification_charts.shares_text(rows),
    )
    live.draw_curve(run, results)


def _files(run: RunRecord) -> None:
    store = session.store()
    facts = exports.facts_of(session.current_review(), (run.id,))
    file = stored_tree_file(store, run.id)
    with st.container(horizontal=True, vertical_alignment="center", key="certify_files"):
        exports.offer_file(
            "Result as JSON",
            lambda: result_json(run, store.results(run.id), facts()),
            f"evenhand-certification-{run.id[:8]}.json",
            "certify_json",
        )
        if file is not None:
            exports.offer_file(
                "Partition tree",
                file.read_bytes,
                f"evenhand-tree-{run.id[:8]}.npz",
                "certify_tree_file",
                "All boxes with their certificates, as NumPy arrays: an auditor can check them without this program.",
            )
        if run.n_found:
            query = session.address_of(run=run.id, pair="1")
            label = f"See the {wording.counted(run.n_found, 'counterexample')} as pairs"
            session.page_link(navigation.PAIRS, label, query)


def result_json(run: RunRecord, results: Mapping[str, Any], facts: Mapping[str, Any]) -> bytes:
    """What was asked and what came out, for a file, and what it was made of (``exports.facts_of``)."""
    content = {
        "provenance": dict(facts),
        "run_id": run.id,
        "state": run.state.value,
        "stop_reason": run.stop_reason.value if run.stop_reason else None,
        "seconds": run.seconds,
        "boxes": run.evaluations,
        "settings": dict(run.config.settings),
        "max_seconds": run.config.budget.max_seconds,
        "seed": run.config.seed,
        "scope": run.config.scope.to_json(),
        "versions": dict(run.config.versions),
        "certification": results.get("certification"),
        "proved": results.get("proved"),
        "trace": results.get("trace"),
    }
    return json.dumps(content, indent=1, ensure_ascii=False).encode()
