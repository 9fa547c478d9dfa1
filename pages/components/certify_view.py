"""A certification that ended: what is proved in words and as shares, the boxes behind it, files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.components import (
    certify_alone,
    certify_bar,
    certify_card,
    certify_charts,
    certify_explore,
    certify_live,
    certify_runs,
    certify_tree,
    certify_words,
    exports,
    layout,
    runs_of_kind,
    state,
    steps,
    theme,
    wording,
)
from pages.components.certify_words import Shares
from pages.components.kept import kept

if TYPE_CHECKING:
    from fairness_engine.runs.records import Review, RunRecord

_LEVELS = {
    certify_words.PROVED: "border:1px solid currentColor;font-weight:600",
    certify_words.ESTIMATED: "border:1px dashed currentColor;font-style:italic",
    certify_words.OPEN: "border:1px dotted currentColor",
}
STYLE = f"""
<style>
.eh-claims {{display:flex;flex-direction:column;gap:0.55rem;font-size:1.14rem;line-height:1.45}}
.eh-claim {{display:grid;grid-template-columns:1.4rem 6.4rem 1fr;gap:0.6rem;align-items:baseline}}
.eh-claim b {{font-size:1.2rem}}
.eh-level {{border-radius:0.9rem;padding:0.05rem 0.6rem;font-size:0.85rem;text-align:center;opacity:0.9}}
.st-key-certify_summary {{min-height: 27rem}}
@media (max-width: 900px) {{.eh-claim {{grid-template-columns:1.4rem 1fr}} .eh-claim > :last-child {{grid-column:1 / -1}}}}
</style>
{certify_bar.STYLE}
{certify_card.STYLE}
"""


def draw(review: Review, run: RunRecord, runs: Sequence[RunRecord]) -> None:
    """Everything about one certification that does not work any more."""
    results = certify_runs.results_of(state.store(), run)
    _standing(run)
    shares = certify_runs.shares_of(state.store(), run)
    if shares is None:
        return
    result = results.get("certification")
    if result:
        protected = wording.listed(list(run.config.scope.protected), most=4)
        people = certify_words.people_claims(result["data_rows"]) if result.get("data_rows") else []
        st.html(claims_html([*people, *certify_words.claims(result, protected)]))
    charts = st.container(
        key="certify_summary"
    )  # filled last: their library takes the browser longer than the map does
    if result:
        st.caption(wording.markdown(certify_words.method_note(result, run.seconds)))
    _files(run, results)
    read = certify_tree.load(state.store(), run)
    if read is not None and (len(read.tree) > 1 or shares.undecided > 0):  # one decided box says nothing more
        alone = certify_alone.of_tree(state.store(), read, run, runs)
        st.fragment(layout.guarded(certify_explore.draw))(review, run, read, alone)
        is_working = any(each.run.is_active for each in alone)
        if alone:
            follow = st.fragment(layout.guarded(certify_alone.draw), run_every=1.0 if is_working else None)
            follow(review, run, read, alone, is_followed=is_working)
    with charts:
        _charts(run, shares, results)


def _standing(run: RunRecord) -> None:
    title = certify_words.run_title(run.config)
    runs_of_kind.say_standing(
        run, title, is_empty=not run.evaluations, place=steps.PLAN, label="Search for pairs instead"
    )


def claims_html(claims: Sequence[certify_words.Claim]) -> str:
    """The headline: a line a claim, its symbol, its level of evidence, its words; everything escaped."""
    lines = []
    for claim in claims:
        text = wording.escaped(claim.text)
        head, space, rest = text.partition(" % ")
        words = f"<b>{head} %</b> {rest}" if space and len(head) <= 12 else text
        lines.append(
            f'<div class="eh-claim"><span style="color:{claim.meaning.colour};font-weight:700">{claim.meaning.symbol}</span>'
            f'<span class="eh-level" style="{_LEVELS[claim.level]}">{claim.level}</span><span>{words}</span></div>'
        )
    return f'<div class="eh-claims">{"".join(lines)}</div>'


def _charts(run: RunRecord, shares: Shares, results: Mapping[str, Any]) -> None:
    rows: dict[str, Shares] = {}
    people = (results.get("certification") or {}).get("data_rows")
    if people and people["n"]:
        rows["Data's people"] = Shares.of_people(people)
    rows["Individuals"] = shares
    with layout.wrapping("certify_charts", is_wide=True):
        left, right = st.columns(2)
    with left:
        figure = kept(
            "certify_shares",
            (run.id, shares, theme.is_dark()),
            lambda: certify_charts.shares_chart(rows, "Proved and undecided"),
        )
        layout.chart_with_table(figure, certify_charts.shares_table(rows), "certify_shares_chart")
    with right:
        certify_live.draw_curve(run, dict(results))


def _files(run: RunRecord, results: Mapping[str, Any]) -> None:
    store = state.store()
    facts = exports.facts_of(state.current_review(), (run.id,))
    file = store.tree_file(run.id)
    with st.container(horizontal=True, vertical_alignment="center", key="certify_files"):
        st.download_button(
            "Result as JSON",
            lambda: result_json(run, results, facts()),
            f"evenhand-certification-{run.id[:8]}.json",
            "application/json",
            key="certify_json",
            icon=":material/download:",
            on_click="ignore",
        )
        if file is not None:
            st.download_button(
                "Partition tree",
                file.read_bytes,
                f"evenhand-tree-{run.id[:8]}.npz",
                "application/octet-stream",
                key="certify_tree_file",
                icon=":material/download:",
                on_click="ignore",
                help="All boxes with their certificates, as NumPy arrays: an auditor can check them without this program.",
            )
        if run.n_found:
            query = state.address_of(run=run.id, pair="1")
            label = f"See the {wording.counted(run.n_found, 'counterexample')} as pairs"
            st.page_link(steps.PAIRS.path, label=label, query_params=query, icon=":material/arrow_forward:")


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
