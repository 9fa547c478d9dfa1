"""What the Run page shows of one run, or of several side by side, while they work and after."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.cluster.kept_blocks import are_kept
from fairness_engine.errors import RunError
from fairness_engine.intervals import share_interval
from fairness_engine.models.fit.decisions import Decisions
from fairness_engine.runs.kinds import SEARCH, Results
from fairness_engine.search.techniques.data_scan import DATA_SCAN, scan_text
from pages.run import replay
from pages.shared import tables
from pages.shared.app import frame, navigation, session, theme, turns, wording
from pages.shared.app.kept import kept
from pages.shared.charts import run_charts, share_bar
from pages.shared.charts.run_charts import Curve
from pages.shared.pairs.card import Couple, couple_sentence, person_at, person_sentence
from pages.shared.people.decisions import decisions_of
from pages.shared.runs import certification_runs, comparison_choice, live, models, phrases
from pages.shared.runs.figures import comparison_table, speed, split_table, success_rate, what_is_left
from pages.shared.runs.kinds import DISTRIBUTIONS, view_of
from pages.shared.runs.results import results_of

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord
    from fairness_engine.store.store import RunStore

STYLE = """
<style>
.st-key-tiles [data-testid="stMetricValue"] {font-size: clamp(1.2rem, 1.9vw, 2.1rem);}
</style>
"""
"""Seven digits fit into a tile of a narrow window."""
MAX_SIDE_BY_SIDE = 6
"""Runs that one page can show and a reader can take in; a comparison over several seeds has its own page."""
_N_LATEST = 5
_FIRST_LOOKS_SECONDS = 0.25
_SECONDS_OF_FIRST_LOOKS = 5.0
_SECONDS_BETWEEN_GLANCES = 0.02
_LOOKS_TO_SEE = 2


def comparison_of(runs: list[RunRecord], run_id: str) -> list[RunRecord]:
    """The run and those it is compared with, in the order in which they were planned."""
    asked = next((run for run in runs if run.id == run_id), None)
    if asked is None:
        return []
    name = asked.config.comparison
    if any(run.id == name for run in runs):  # it measures a retraining, on one of two models
        return [asked]
    group = [run for run in runs if run is asked or (name is not None and run.config.comparison == name)]
    return sorted(group, key=lambda run: (run.created, run.id != run_id))


def shown_of(group: list[RunRecord], run_id: str) -> list[RunRecord]:
    """What the page draws of a group: all side by side, or of many runs the one asked for; Compare shows those
    together.
    """
    return group if len(group) <= MAX_SIDE_BY_SIDE else [run for run in group if run.id == run_id]


def link_to_comparison(together: list[RunRecord], shown: list[RunRecord]) -> None:
    """Where the runs of a comparison are shown together, with how far they are."""
    if sum(SEARCH.has(run.config) for run in together) < 2 or together[0].config.comparison is None:
        return
    text = "Compare these runs"
    if len(shown) < len(together):
        n_ended = sum(not run.is_active for run in together)
        text = f"One of {len(together)} runs of a comparison, {n_ended} of them ended: see it whole"
    comparison_choice.link_to(together[0].config.comparison, text)


def seconds_between_looks(runs: Sequence[RunRecord]) -> float | None:
    """How often runs are looked at: often while a reader waits for the first people, then once a second; ``None`` once
    all have ended, and were seen."""
    if any(_is_awaited(run) for run in runs):
        return _FIRST_LOOKS_SECONDS
    return 1.0 if any(run.is_active for run in runs) else None


def _is_awaited(run: RunRecord) -> bool:
    """Whether a search has just begun, and this browser has not seen anybody that it found."""
    is_young = time.time() - run.created.timestamp() < _SECONDS_OF_FIRST_LOOKS
    return SEARCH.has(run.config) and is_young and _looks().get(run.id, 0) < _LOOKS_TO_SEE


def _looks() -> dict[str, int]:
    """At how many looks at a search this browser was sent its first people, or its end."""
    looks: dict[str, int] = st.session_state.setdefault("looks_at_searches", {})
    return looks


def _note_sent(record: RunRecord) -> None:
    """Once the first people, or the end, were sent, they are seen with the next look; what had ended before, at once.

    What comes at the same moment, the browser draws together: it would load the library of charts first, for a second.
    """
    looks = _looks()
    if record.id not in looks and not record.is_active:
        looks[record.id] = _LOOKS_TO_SEE
    else:
        looks[record.id] = looks.get(record.id, 0) + (record.n_found > 0 or not record.is_active)


# --- drawing ------------------------------------------------------------------------------------


def draw(review: Review, run_ids: list[str]) -> None:
    """Draw the runs as they stand.

    Args:
        review: of the runs.
        run_ids: which runs.
    """
    store = session.store()
    records = [store.run(run_id) for run_id in run_ids]
    if any(record.is_active for record in records):
        session.start_waiting()
        records = [store.run(run_id) for run_id in run_ids]
    live.stop_button(records, "stop", "what was found")
    if not any(record.is_active for record in records):
        session.link_to(navigation.FINDINGS, "See what it comes to")
    if sum(SEARCH.has(record.config) for record in records) == 1:
        records = [_await_first(store, record) for record in records]
    searches = [record for record in records if SEARCH.has(record.config)]
    if len(searches) > 1:
        _draw_comparison(store, searches)
        replay.draw(store, searches)
    for record in records:
        if record not in searches:
            draw_one = _DRAWN_HERE.get(record.config.kind, _draw_elsewhere)
            draw_one(record)
        elif len(searches) == 1:
            _draw_search(store, review, record)
    for record in searches:
        _draw_split(record)
        _draw_groups(review, record)
        _note_sent(record)


def _draw_search(store: RunStore, review: Review, record: RunRecord) -> None:
    results = results_of(record)
    _standing(record)
    _say_scan(results)
    tiles = (
        ("Pairs found", wording.count(record.n_found), wording.explain("individual")),
        (phrases.rate_title(record), success_rate(record), phrases.rate_note(record)),
        ("Rows a second", speed(record), wording.explain("evaluation")),
        ("Rows evaluated", wording.count(record.evaluations), f"In {wording.duration(record.seconds)}."),
    )
    live.tiles("tiles", tiles)
    if plausible := phrases.plausible_pairs(record, results.plausibility):
        st.caption(plausible)
    for note in results.notes.notes:
        st.caption(f":material/info: {wording.markdown(note)}")
    with frame.wrapping("found", is_wide=True):
        left, right = st.columns(2, gap="large") if store.n_pairs(record.id) else (st.container(), st.container())
    with left:
        _draw_latest(store, review, record)
    if not _is_awaited(record):  # a browser that has not loaded the library of charts shows nothing while it does
        with right:
            _draw_curve(store, [record])
    replay.draw(store, [record])


def _await_first(store: RunStore, record: RunRecord) -> RunRecord:
    """A run as it stands; a search before its first people are found, as soon as they are, not with the next look."""
    end = time.monotonic() + _FIRST_LOOKS_SECONDS
    with turns.left():
        while record.is_active and not record.n_found and _is_awaited(record) and time.monotonic() < end:
            time.sleep(_SECONDS_BETWEEN_GLANCES)
            record = store.run(record.id)
    return record


def _say_scan(results: Results, title: str = "") -> None:
    """Whom a scan of the data tested, and whom not."""
    if results.scan is not None:
        st.markdown(wording.markdown(f"{title}{wording.spaced(scan_text(results.scan))}"))


def _standing(record: RunRecord) -> None:
    """State, what it does or how it ended, and the share of the budget that is spent."""
    title = f"**{wording.markdown(phrases.run_title(record.config))}**"
    note = models.standing_html(session.current_review(), record)
    with st.container(horizontal=True, vertical_alignment="center", key=f"standing_{record.id}"):
        st.markdown(f"{title}{note} · {phrases.state_text(record)} · seed {record.config.seed}", width="content")
        models.say_scope(record)
        ending = wording.markdown(phrases.ending(record)) if not record.is_active else ""
        if ending and record.n_found and record.state.value not in ("crashed", "failed"):
            st.caption(ending, width="content")
    models.say_settings(record.config)
    counts = results_of(record).cluster
    if counts is not None:
        st.caption(phrases.of_cluster(counts, are_kept=are_kept(session.store(), record)))
    if record.is_active:
        left = what_is_left(record)
        st.progress(left.done, text=f"{wording.markdown(phrases.activity(record))} · {left.text}")
        return
    text = wording.markdown(phrases.ending(record))
    if record.state.value in ("crashed", "failed"):
        st.error(text, icon=":material/error:")
    elif record.n_found == 0 and SEARCH.has(record.config):
        high = share_interval(0, record.n_tried)[1]
        st.info(wording.markdown(phrases.none_found(record, high)))


def _draw_curve(store: RunStore, records: list[RunRecord]) -> None:
    stand = tuple((record.id, record.state.value, record.evaluations) for record in records)
    curves = kept("curves", stand, lambda: _curves(store, records))
    if not any(len(curve.progress) for curve in curves):
        st.caption("The curve appears with the first rows evaluated.")
        return
    by = st.segmented_control(
        "Against",
        ["evaluations", "seconds"],
        default="evaluations",
        required=True,
        format_func=lambda name: "Seconds" if name == "seconds" else "Rows evaluated",
        key="curve_by",
        label_visibility="collapsed",
        persist_state="session",
    )
    key = (stand, by, theme.is_dark())
    figure = kept("growing", key, lambda: run_charts.growing_curve(curves, by))
    said = " ".join(f"{curve.name}: {curve.end_text()}." for curve in curves)
    frame.chart_with_table(figure, lambda: run_charts.growing_table(curves), "growing", said=said)


def _curves(store: RunStore, records: list[RunRecord]) -> list[Curve]:
    names = phrases.distinct_titles([record.config for record in records])
    return [Curve(name, store.progress(record.id)) for name, record in zip(names, records, strict=True)]


def _draw_latest(store: RunStore, review: Review, record: RunRecord) -> None:
    n = store.n_pairs(record.id)
    if not n:
        return
    st.header("Latest pairs", anchor=False)
    names = decisions_of(models.as_of(review, record))
    try:
        sentences = kept("latest", (record.id, n, names), lambda: latest_sentences(store, record, names, n))
    except RunError as error:
        sentences = [str(error)]
    st.markdown("\n".join(f"- {wording.markdown(sentence)}" for sentence in sentences))
    session.link_to(navigation.PAIRS, "See the pairs")


def latest_sentences(store: RunStore, record: RunRecord, names: Decisions, n_pairs: int) -> list[str]:
    """The pairs found last in plain words, the newest first."""
    from fairness_engine.oracle.domain import Domain

    pairs = store.pairs(record.id, limit=_N_LATEST, offset=max(0, n_pairs - _N_LATEST))
    domain = Domain(record.config.schema, record.config.scope)
    couples = [
        Couple(
            domain,
            person_at(pairs.first[i], pairs.score_first[i], pairs.decision_first[i]),
            person_at(pairs.second[i], pairs.score_second[i], pairs.decision_second[i]),
            names,
        )
        for i in reversed(range(len(pairs)))
    ]
    return [f"{couple_sentence(couple)} {person_sentence(couple)}" for couple in couples]


def _draw_comparison(store: RunStore, records: list[RunRecord]) -> None:
    models.say_scope(records[0], session.current_review())
    active = [record for record in records if record.is_active]
    if active:
        done = sum(what_is_left(record).done for record in records if record.is_active) + len(records) - len(active)
        st.progress(done / len(records), text=f"{len(records) - len(active)} of {len(records)} runs have ended")
    tables.show(comparison_table(records), key="comparison")
    for record in records:
        models.say_settings(record.config, phrases.run_title(record.config))
    for record in records:
        if record.config.technique == DATA_SCAN:
            _say_scan(results_of(record), f"{phrases.run_title(record.config)}: ")
        if record.state.value in ("crashed", "failed"):
            title = phrases.run_title(record.config)
            st.error(wording.markdown(f"{title}: {phrases.ending(record)}"), icon=":material/error:")
    _draw_curve(store, records)
    if any(record.n_found for record in records):
        session.link_to(navigation.PAIRS, "See the pairs")


def _draw_estimate(record: RunRecord) -> None:
    st.header("How often", anchor=False)
    _standing(record)
    results = results_of(record)
    share = results.share
    if share is None:
        return
    what = DISTRIBUTIONS[record.config.distribution.value]
    text = wording.share(share.share, share.low, share.high)
    drawn = f"{wording.counted(share.n, 'draw')}, {wording.count(share.n_hits)} of them discriminatory."
    if share.low == share.high:
        text = wording.share(share.share)
        drawn += " These are all there are, so nothing was left to chance and there is no interval."
    live.tile(f"Share of discriminatory individuals, {what}", text, drawn)
    if (plausible := results.plausible_share) is not None:
        st.caption(phrases.plausible_share(plausible))
    points = results.share_curve
    if len(points) > 1:
        name = f"settling_{record.id}"
        figure = kept(name, (len(points), points[-1], theme.is_dark()), lambda: run_charts.settling_curve(points, what))
        frame.chart_with_table(figure, lambda: run_charts.settling_table(points), name, said=f"{text}; {drawn}")


def _draw_count(record: RunRecord) -> None:
    st.header("How many exist", anchor=False)
    _standing(record)
    counted = results_of(record).count
    if counted is None:
        return
    everyone = wording.counted(counted.n_individuals, "individual")
    text = f"{wording.count(counted.n_discriminatory)} of {everyone}, {wording.share(counted.share)}"
    live.tile(
        "Discriminatory individuals, all gone through", text, "Every individual of the domain was decided; no draw."
    )
    if plausible := phrases.plausible_of_count(counted):
        st.caption(plausible)


_DRAWN_HERE = {"estimate": _draw_estimate, "count": _draw_count}
"""Kinds of runs whose results have no page of their own."""


def _draw_elsewhere(record: RunRecord) -> None:
    """Where a run stands whose results have a page of their own."""
    view = view_of(record.config)
    _standing(record)
    shares = certification_runs.shares_of(record)
    if shares is not None:
        st.html(f"{share_bar.STYLE}{share_bar.bar_html(shares)}")
    if so_far := view.so_far(record):
        st.markdown(so_far)
    if view.place is not None:
        follow = f"Follow it on the {view.place.title} page"
        session.link_to(view.place, follow if record.is_active else view.see)


def _draw_split(record: RunRecord) -> None:
    split = results_of(record).split if not record.is_active else None
    if not split:
        return
    st.header("Where the pairs came from", anchor=False)
    st.markdown(
        "Directed search starts from people who were found, undirected search from everybody tried; both negate one "
        "condition of the explanation."
    )
    tables.show(split_table(split), key=f"split_{record.id}")


def _draw_groups(review: Review, record: RunRecord) -> None:
    score = results_of(record).group_score if not record.is_active else None
    if score is None:
        return
    names = decisions_of(models.as_of(review, record))
    shares = dict(zip(score.groups, score.shares, strict=True))
    st.header("Group score", anchor=False)
    apart = f"{100 * score.score:.1f} percentage points"
    said = f"The largest and the smallest share of favourable decisions lie {apart} apart."
    st.markdown(
        f"{said.replace(apart, f'**{apart}**')} Every group is made of the same people drawn at random; only the "
        "protected values differ."
    )
    favourable = names.name(names.favourable or 0)
    key = (record.id, favourable, theme.is_dark())
    figure = kept(f"groups_{record.id}", key, lambda: run_charts.group_bars(shares, favourable))
    note = "" if len(shares) <= run_charts.MAX_GROUPS else f"The highest and the lowest of {len(shares)} groups."
    frame.chart_with_table(figure, lambda: run_charts.group_table(shares), f"groups_{record.id}", note, said=said)
