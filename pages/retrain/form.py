"""How to retrain: strategies, cases, tolerance, budget, and what will happen, before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.model_process.questions import CanRetrain
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.retraining.settings import (
    BASELINES,
    TEXT_STRATEGIES,
    Part,
    RetrainSettings,
    RuleSetOfRun,
    Strategy,
    Surrogate,
    When,
)
from fairness_engine.settings import ADVANCED
from fairness_engine.store.environment import max_at_work
from pages.groups.texts import form as text_form
from pages.retrain import live, plan
from pages.retrain.plan import EFFORTS, Effort, Wanted
from pages.shared import fields
from pages.shared.app import navigation, session, wording
from pages.shared.fields import SettingsForm
from pages.shared.members import controls
from pages.shared.people import case_basket
from pages.shared.people.case_basket import takes_cases
from pages.shared.review import kind, questions
from pages.shared.texts import terms as text_terms

if TYPE_CHECKING:
    from fairness_engine.retraining.trainable import Trainable
    from fairness_engine.store.records import Review

WHAT_IT_GIVES = (
    "A retraining changes what the model learns from, and keeps a new model only when it is nearly as accurate and "
    "discriminates less. Before and after are measured alike, on rows held out from it, and “no improvement” or "
    "“worse” are said as plainly."
)
_OWN = "Own"
_GROUPS = (
    ("train", "Train the model again", "", plan.TRAINED),
    ("baselines", "Baselines", "For comparison in the same table: what users of other libraries know.", BASELINES),
)


def draw_first(review: Review) -> None:
    """What a retraining gives, and the form."""
    st.markdown(WHAT_IT_GIVES)
    draw(review)


def draw(review: Review) -> None:
    """The form and its button; for a model or data that cannot be retrained the reason, and what to do instead."""

    held = questions.of_review(review, "A retraining needs")
    can = questions.ask(held, CanRetrain(), "Reading whether this model can be trained …")
    if can.problem is not None:
        st.info(wording.markdown(can.problem), icon=":material/info:")
        session.link_to(navigation.DATA, "Go to Data")
        return
    with st.container(border=True, key="retrain_form"):
        wanted = ask(review, can)
        found = plan.problems(can, wanted)
        if found:
            st.warning(" ".join(map(wording.markdown, found)))
        else:
            st.markdown(f"**What will happen.** {wording.markdown(plan.summary(can, wanted, max_at_work()))}")
        if controls.button(
            _label(wanted),
            type="primary",
            key="retrain_start",
            icon=":material/model_training:",
            disabled=bool(found),
        ):
            session.set_run(session.start_runs(review, plan.make_configs(review, wanted))[0])
            live.show_alone(None)
            case_basket.forget_asking()
            st.rerun(scope="app")


def _label(wanted: Wanted) -> str:
    n = len(wanted.strategies)
    return "Retrain" if n < 2 else f"Retrain by {n} strategies side by side"


# --- the widgets --------------------------------------------------------------------------------


def ask(review: Review, can: Trainable) -> Wanted:
    """The widgets of the form."""
    is_of_texts = kind.is_text(review)
    settings = _surrogate_field(can) if can.reason is not None else {}
    strategies = _strategies_field(is_of_texts=is_of_texts)
    settings |= _group_field(review) if Strategy.RULES in strategies else {}
    cases = case_basket.ask(review, strategies)
    form = SettingsForm(RetrainSettings, "retrain", holds=_circumstances(can, strategies, is_of_texts=is_of_texts))
    settings |= form.draw(Part.GOAL)
    st.caption(plan.tolerance_text(settings["tolerance"], "texts" if is_of_texts else "people"))
    if is_of_texts and "rule_set" not in settings:
        settings["terms"] = _terms_field(review)
    left, right = st.columns(2)
    settings |= form.draw(Part.WAY, lambda: [left, right, right])
    effort, max_seconds, seed = _budget_fields()
    of_effort = {name: f"retrain_{name}_{effort.name}" for name in effort.settings}
    form = replace(form, values=effort.settings, keys=of_effort)
    with st.expander("Advanced settings", icon=":material/tune:"):
        places = st.columns(3)
        settings |= form.draw(Part.ROUNDS, lambda: [*places, places[2]])
        if can.has_weights or settings.get("surrogate") is Surrogate.NETWORK:
            settings |= form.draw(Part.NETWORK, lambda: st.columns(4))
        settings |= form.draw(ADVANCED, lambda: st.columns(3))
    return Wanted(strategies, {**effort.settings, **settings}, cases, max_seconds, seed, is_of_texts=is_of_texts)


def _circumstances(can: Trainable, strategies: Sequence[Strategy], *, is_of_texts: bool) -> set[When]:
    """What of the settings there is to ask."""
    holds = {
        When.MODEL_HAS_WEIGHTS: can.has_weights,
        When.ADDS_PEOPLE: not is_of_texts and any(strategy not in BASELINES for strategy in strategies),
        When.TAKES_CASES: any(takes_cases(strategy) for strategy in strategies),
        When.TAKES_RULE_SET: Strategy.RULES in strategies,
    }
    return {circumstance for circumstance, is_so in holds.items() if is_so}


def _surrogate_field(can: Trainable) -> dict[str, Any]:
    """What is trained instead: nothing is chosen for the reader."""
    reason = (can.reason or "").split(" Name a surrogate", maxsplit=1)[0]
    st.info(wording.markdown(reason), icon=":material/info:")
    names = RetrainSettings.info("surrogate").names
    possible = {"surrogate": {"names": {one: names[one] for one in can.surrogates}}}
    chosen = SettingsForm(RetrainSettings, "retrain", {"surrogate": None}, changes=possible).draw(Part.SURROGATE)
    return chosen if chosen["surrogate"] is not None else {}


def _terms_field(review: Review) -> Any:
    """The terms that are swapped, which can be exchanged here as on Groups; proposes a least share that some category
    reaches.
    """
    terms = text_terms.terms_of(review)
    text_terms.draw_own(review, terms)
    st.session_state.setdefault("retrain_support", 100 * text_form.first_support(text_form.shares_of(review, terms)))
    return terms.terms


def _strategies_field(*, is_of_texts: bool) -> list[Strategy]:
    """All strategies to tick, the baselines in a group of their own; in the order of the form. For texts those that
    there are.
    """
    st.markdown("**Strategies** — several may be chosen: one run each, compared in one table.")
    chosen = []
    for key, title, note, strategies in _GROUPS[:1] if is_of_texts else _GROUPS:
        with st.container(border=True, key=f"retrain_{key}"):
            st.markdown(f"**{title}**" + (f" — {note}" if note else ""))
            if is_of_texts:
                chosen += [
                    one for one in TEXT_STRATEGIES if _tick(one, proposed=Strategy.RULES, summary=_OF_TEXTS[one])
                ]
            else:
                chosen += [strategy for strategy in strategies if _tick(strategy)]
    return chosen


_OF_TEXTS = {
    Strategy.RULES: "Adds the sentences of the worst term, with that term and with others, all with one outcome, "
    "until its score is low.",
    Strategy.VARIANTS: "Shows the model every training text with other terms of the same category and the outcome of "
    "the text.",
}
"""What the strategies do with texts."""


def _tick(strategy: Strategy, proposed: Strategy = Strategy.VARIANTS, summary: str = "") -> bool:
    info = STRATEGIES[strategy]
    key = case_basket.strategy_key(strategy)
    st.session_state.setdefault(key, strategy is proposed)
    return st.checkbox(
        f"**{wording.markdown(info.title)}** — {wording.markdown(summary or info.summary)}",
        key=key,
        help=f"Source: {wording.markdown(info.reference)}",
        persist_state="session",
    )


def _group_field(review: Review) -> dict[str, Any]:
    """Which group the strategy for groups is about: the worst that it finds, or the one that a card on Groups sent
    here.
    """
    picked = case_basket.picked_rule_set(review)
    if picked is None:
        return {}
    run_id, position, text = picked
    names = {
        case_basket.PICKED: f"Rule set {wording.count(position + 1)}: {text}",
        case_basket.WORST: "The worst that is found among the training rows",
    }
    chosen = st.radio(
        "Group of “Worst group”",
        list(names),
        format_func=lambda name: wording.markdown(names[name]),
        key=case_basket.GROUP,
        persist_state="session",
    )
    return {"rule_set": RuleSetOfRun(run_id, position)} if chosen == case_basket.PICKED else {}


def _budget_fields() -> tuple[Effort, float, int]:
    """The effort, the seconds of each strategy, and the seed."""
    names = {f"{effort.name}, {wording.number(effort.max_seconds / 60)} min": effort for effort in EFFORTS}
    chosen = st.segmented_control(
        "Time of each strategy",
        [*names, _OWN],
        default=list(names)[1],
        required=True,
        key="retrain_effort",
        help="No round begins after it; what was best by then is the result. Stopping keeps that too.",
        persist_state="session",
    )
    seed, own = st.columns([1, 3])
    effort = names.get(str(chosen), EFFORTS[1])
    seconds = effort.max_seconds
    if chosen == _OWN:
        seconds = own.number_input(
            "Seconds",
            10.0,
            86_400.0,
            120.0,
            step=10.0,
            format="%g",
            key="retrain_seconds",
            persist_state="session",
            width=200,
        )
    with seed:
        number = fields.seed_field("retrain_seed")
    return effort, float(seconds or effort.max_seconds), number
