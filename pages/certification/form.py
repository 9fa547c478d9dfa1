"""How to certify: seconds, settings and seed, and the run that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.certification.settings import WAY, CertifySettings
from fairness_engine.errors import SettingError
from fairness_engine.model_process.questions import WhyNotCertifiable
from fairness_engine.oracle.budget import Budget
from pages.shared import fields
from pages.shared.app import navigation, session, wording
from pages.shared.fields import SettingsForm
from pages.shared.members import controls
from pages.shared.people import cohorts
from pages.shared.review import questions
from pages.shared.runs.certification_phrases import WHAT_IT_GIVES

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord
    from fairness_engine.store.run_config import RunConfig

EFFORTS = {"Quick, 10 s": 10.0, "Standard, 60 s": 60.0, "Thorough, 600 s": 600.0}
_OWN = "Own"
BOX_SECONDS = 60.0


@dataclass(frozen=True)
class Wanted:
    """What a reader asked for; the settings are by their names in ``CertifySettings``."""

    max_seconds: float
    settings: Mapping[str, Any]
    seed: int


def ask() -> Wanted:
    """The widgets of the form."""
    time, seed = st.columns([3, 1], vertical_alignment="top")
    with time:
        max_seconds = _seconds_field()
    with seed:
        number = fields.seed_field("certify_seed", hint="Of the samples only: nothing that is proved depends on it.")
    form = SettingsForm(CertifySettings, "certify")
    settings = form.draw(WAY, lambda: st.columns(2)) | form.draw_advanced()
    return Wanted(max_seconds, settings, number)


def _seconds_field() -> float:
    effort = st.segmented_control(
        "Time",
        [*EFFORTS, _OWN],
        default=list(EFFORTS)[1],
        required=True,
        key="certify_effort",
        help="Of proving: it ends sooner when everything is decided. Opening the model, sampling what is undecided "
        "and storing come on top, some 5 to 30 seconds. Stopping keeps what was proved.",
        persist_state="session",
    )
    if effort != _OWN:
        return EFFORTS[effort]
    seconds = st.number_input(
        "Seconds", 1.0, 604_800.0, 120.0, step=10.0, key="certify_seconds", persist_state="session"
    )
    return float(seconds or BOX_SECONDS)


def make_config(review: Review, wanted: Wanted) -> RunConfig:
    """The run of a form.

    Raises:
        SettingError: the review has no scope yet, or a value is out of its range.
    """
    from fairness_engine.runs import kinds

    if review.schema is None or review.scope is None or review.data_id is None or review.model_id is None:
        raise SettingError("A certification needs data, a model and a scope. Complete the review first.")
    return kinds.CERTIFY.config(
        review.data_id,
        review.model_id,
        review.schema,
        review.scope,
        settings=CertifySettings.from_json(wanted.settings).to_json(),
        budget=Budget(None, wanted.max_seconds),
        seed=wanted.seed,
    )


def box_config(run: RunRecord, limits: Mapping[str, tuple[float, float]]) -> RunConfig:
    """The same certification of one box alone, for another minute."""
    scope = replace(run.config.scope, limits={**run.config.scope.limits, **limits})
    return replace(run.config, scope=scope, budget=Budget(None, BOX_SECONDS), comparison=None)


def draw_first(review: Review) -> None:
    """What a certification gives and the form; for a model that cannot be certified the reason, and what to do
    instead.
    """
    names = wording.listed(list(review.scope.protected) if review.scope else [])
    st.markdown(wording.markdown(WHAT_IT_GIVES.format(names=names)))
    held = questions.of_review(review, "A certification needs")
    reason = questions.ask(held, WhyNotCertifiable(), "Reading whether this model can be certified …")
    if reason is None:
        draw(review, "Certify")
        return
    st.info(wording.markdown(reason), icon=":material/info:")
    st.markdown(
        "A search finds pairs, and an estimate says how common they are, with an interval: both work with any model."
    )
    session.link_to(navigation.PLAN, "Plan a search or an estimate")
    session.link_to(navigation.SCOPE, "Change the scope")


def draw(review: Review, label: str) -> None:
    """The form and its button; a certification that was started is the open one."""
    with st.container(border=True, key="certify_form"):
        wanted = ask()
        asked = cohorts.offer_narrowing(review, "certify")
        if controls.button(label, type="primary", key="certify_start", icon=":material/verified:"):
            session.set_run(session.start_runs(review, [make_config(asked, wanted)])[0])
            st.rerun(scope="app")
    st.caption(
        f"{wording.counted(wanted.max_seconds, 'second')} at most. The run goes on when you leave; its counterexamples "
        "become pairs on the Pairs page."
    )
