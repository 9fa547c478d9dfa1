"""The choices of a report, its preview and its files."""

from __future__ import annotations

import io
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.report.content import Author
from fairness_engine.report.making import BUNDLE, Wanted, figures_run, make_report, report_files, write_evidence
from fairness_engine.report.presets import Part, find_preset, preset_names
from pages.shared import exports
from pages.shared.app import frame, navigation, session, wording
from pages.shared.app.kept import kept
from pages.shared.members import controls

if TYPE_CHECKING:
    from fairness_engine.report.content import Report
    from fairness_engine.report.presets import Preset
    from fairness_engine.store.records import Review

_HEIGHT = 900
_FIELDS = (("prepared_by", "Prepared by"), ("organisation", "Organisation"), ("purpose", "Purpose of the model"))


def draw(review: Review) -> None:
    """Everything below the heading."""
    preset = _ask_preset()
    wanted = _ask_rest(preset)
    if not _has_groups(review, preset):
        return
    runs = session.runs(review.id)
    if not runs:
        st.info("Nothing was looked at yet: the report says so. Findings has one click for all of it.")
        session.link_to(navigation.FINDINGS, "Go to Findings")
    store = session.store()
    said = (len(store.decisions(review.id)), len(store.comments(review.id)))
    key = (*_stand(review), review.name, said, repr(wanted))
    report, html = kept("report", key, lambda: make_report(store, review, wanted, made=datetime.now(UTC)))
    _offer(report, html)
    st.iframe(html, height=_HEIGHT)


def _stand(review: Review) -> tuple[object, ...]:
    """Changes with the review and its runs."""
    runs = tuple((run.id, run.state.value, run.n_found) for run in session.runs(review.id))
    return (review.id, review.changed, runs)


def _ask_preset() -> Preset:
    presets = {name: find_preset(name) for name in preset_names()}
    with frame.wrapping("report_choices"):
        left, right = st.columns([3, 2])
    name = left.selectbox(
        "What it is for",
        list(presets),
        format_func=lambda name: presets[name].title,
        key="report_preset",
        persist_state="session",
    )
    preset = presets[str(name)]
    with right:
        if preset.law:
            st.caption(
                f"As of {preset.as_of}; {wording.markdown(preset.law)}. A person checks it before relying on it."
            )
        else:
            st.caption("Without a law: what was found, how sure it is, what was decided.")
    return preset


def _ask_rest(preset: Preset) -> Wanted:
    told = {}
    with st.expander("Who it is by, and people in it"):
        for place, (name, label) in zip(st.columns(len(_FIELDS)), _FIELDS, strict=True):
            told[name] = place.text_input(label, key=f"report_{name}", max_chars=300, persist_state="session")
        with_people = st.toggle(
            "Print people",
            value=True,
            key="report_people",
            persist_state="session",
            help="Pairs are invented by a search, but all values of one side may be a real person's.",
        )
    person = None
    if preset.has(Part.PERSON):
        person = _ask_person()
    author = Author(*(str(told[name] or "").strip() for name, _ in _FIELDS))
    return Wanted(preset, author, bool(with_people), person)


def _ask_person() -> tuple[str, int] | None:
    """Which pair a sheet is about: one that was pinned, or the one for whom it matters most."""
    review = session.current_review()
    pins = session.store().pins(review.id) if review is not None else []
    if not pins:
        st.caption("The sheet is about the pair for whom it matters most. Pin a pair under Pairs to choose another.")
        return None
    chosen = st.selectbox(
        "Pair",
        [None, *range(len(pins))],
        format_func=lambda i: "The one for whom it matters most" if i is None else _pin_text(pins[i]),
        key="report_person",
    )
    return None if chosen is None else (pins[chosen].run_id, pins[chosen].pair_index + 1)


def _pin_text(pin) -> str:
    note = f": {pin.note}" if pin.note else ""
    return f"Pair {wording.count(pin.pair_index + 1)} of run {pin.run_id[:8]}{note}"


def _has_groups(review: Review, preset: Preset) -> bool:
    """Whether the groups of the preset's tables are counted; else they are, by a run that is waited for."""
    key = (*_stand(review), preset.name)
    own = kept("report_groups", key, lambda: figures_run(session.store(), review, preset))
    if own is None:
        return True
    active = [run for run in session.runs(review.id) if run.is_active and run.config.kind == own.kind]
    if active:
        frame.alone(_follow, run_every=0.5)(active[0].id)
        return False
    failed = [run for run in session.runs(review.id) if run.config.kind == own.kind and run.config == own]
    if failed:
        st.warning(
            wording.markdown(
                f"The groups of this preset could not be counted: {failed[0].message or 'no reason told'}"
            ),
            icon=":material/error:",
        )
        return True
    if controls.off():
        st.caption(
            "A run counts the groups of this preset, and a reader starts none: a reviewer opens this page first."
        )
        return True
    if not session.can_start(review):
        return True
    session.start_runs(review, [own])
    st.rerun()
    return False


def _follow(run_id: str) -> None:
    store = session.store()
    session.start_waiting()
    if not store.run(run_id).is_active:
        session.forget_asked()
        st.rerun()
    st.markdown("Counting the groups that this report needs …")


def _offer(report: Report, html: str) -> None:
    name = "".join(letter if letter.isalnum() else "-" for letter in report.title)[:60].strip("-") or "review"
    with st.container(horizontal=True, key="report_files"):
        exports.offer_file(
            "Save the report (HTML)",
            html.encode(),
            f"{name}-{report.preset.name}.html",
            "report_html",
            "Open it in any browser; its print gives a PDF.",
        )
        exports.offer_file(
            "Report, tables and evidence (ZIP)",
            lambda: _zipped(report, html),
            f"{name}-{report.preset.name}.zip",
            "report_zip",
            "With a bundle that can be replayed: runs verify BUNDLE. Without people, it holds no data and no model.",
        )
    n_findings = wording.counted(len(report.cards), "finding")
    n_numbers = wording.counted(len(report.numbers), "number")
    size = wording.size(len(html.encode()))
    st.caption(f"{n_findings}, {n_numbers} in the annex, {size}. To get a PDF, open the file and print it.")


def _zipped(report: Report, html: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        files = report_files(report, html)
        for path, part in files.items():
            file.writestr(zipfile.ZipInfo(path), part)
        if report.runs:
            with tempfile.TemporaryDirectory(prefix="evenhand-report-") as folder:
                bundle = Path(folder) / BUNDLE
                for path in write_evidence(session.store(), bundle, report, files):
                    file.writestr(zipfile.ZipInfo(f"{BUNDLE}/{path}"), (bundle / path).read_bytes())
    return content.getvalue()
