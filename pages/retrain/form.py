"""How to retrain: strategies, cases, tolerance, budget, and what will happen, before anything starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from fairness_engine.model_process.questions import CanRetrain
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.retraining.settings import (
    BASELINES,
    TEXT_STRATEGIES,
    RetrainSettings,
    RuleSetOfRun,
    Strategy,
    Surrogate,
)
from pages.groups.texts import form
from pages.retrain import plan
from pages.retrain.plan import EFFORTS, Effort, Wanted
from pages.shared.app import navigation, session, wording
from pages.shared.people import case_basket
from pages.shared.people.case_basket import takes_cases
from pages.shared.review import kind, questions
from pages.shared.texts import terms as text_terms

if TYPE_CHECKING:
    from fairness_engine.retraining.trainable import Trainable
    from fairness_engine.store.records import Review

_EPOCH_HELP = "Training ends sooner once the validation rows tell that nothing is gained any more."


def ask_advanced(
    can: Trainable, strategies: Sequence[Strategy], effort: Effort, surrogate: Surrogate | None
) -> dict[str, Any]:
    """The widgets, by name of the setting; what does not apply here is not asked.

    Args:
        can: what is known of the model.
        strategies: that were chosen.
        effort: proposes rounds, epochs, cases and draws.
        surrogate: that was chosen instead of the model.
    """
    is_network = can.has_weights or surrogate is Surrogate.NETWORK
    with st.expander("Advanced settings", icon=":material/tune:"):
        settings = _search_fields(strategies, effort)
        if is_network:
            settings |= _network_fields(effort)
        settings |= _share_fields()
    return dict(effort.settings) | settings


def _search_fields(strategies: Sequence[Strategy], effort: Effort) -> dict[str, Any]:
    places = st.columns(3)
    found = {
        "max_rounds": _whole(places[0], "Rounds, at most", "max_rounds", (1, 50), effort, "Models that are trained."),
        "n_draws": _whole(
            places[1],
            "Draws of an estimate",
            "n_draws",
            (500, 1_000_000),
            effort,
            "People drawn to estimate how many are discriminated against. A slow model gets fewer.",
        ),
    }
    if any(takes_cases(strategy) for strategy in strategies):
        note = "Individuals that a search for cases finds before it ends."
        found["n_cases"] = _whole(places[2], "Cases, at most", "n_cases", (10, 1_000_000), effort, note)
    if Strategy.RULES in strategies:
        found["support"] = _percent(places[2], "Least group, % of the rows", "support", (0.1, 50.0), 1.0)
    return found


def _network_fields(effort: Effort) -> dict[str, Any]:
    places = st.columns(4)
    found = {
        "max_epochs": _whole(places[0], "Epochs, at most", "max_epochs", (1, 1_000), effort, _EPOCH_HELP),
        "patience": _whole(
            places[1],
            "Patience, epochs",
            "patience",
            (1, 1_000),
            effort,
            "Epochs without a lower loss on the validation rows after which training ends.",
        ),
        "batch_rows": _whole(places[2], "Rows of a step", "batch_rows", (8, 65_536), effort, "The batch size."),
    }
    rate = places[3].number_input(
        "Learning rate",
        1e-6,
        1.0,
        RetrainSettings.learning_rate,
        step=0.0005,
        format="%g",
        key="retrain_learning_rate",
        persist_state="session",
    )
    return found | {"learning_rate": float(rate or RetrainSettings.learning_rate)}


def _share_fields() -> dict[str, Any]:
    places = st.columns(3)
    return {
        "test_share": _percent(places[0], "Test rows, %", "test_share", (5.0, 50.0), 5.0),
        "validation_share": _percent(places[1], "Rows that choose, %", "validation_share", (5.0, 50.0), 5.0),
        "measure_seconds": float(
            places[2].number_input(
                "Seconds of a certification after",
                0.0,
                3_600.0,
                RetrainSettings.measure_seconds,
                step=10.0,
                format="%g",
                key="retrain_measure_seconds",
                help="Both models are certified for so long and searched, and their groups compared for three times "
                "as long. At 0 none of this follows.",
                persist_state="session",
            )
        ),
    }


def _whole(place: Any, label: str, name: str, limits: tuple[int, int], effort: Effort, note: str) -> int:
    """A whole number; another effort proposes another one."""
    proposed = effort.settings.get(name, getattr(RetrainSettings, name))
    key = f"retrain_{name}_{effort.name}" if name in effort.settings else f"retrain_{name}"
    value = place.number_input(label, *limits, proposed, key=key, help=note, persist_state="session")
    return int(value or proposed)


def _percent(place: Any, label: str, name: str, limits: tuple[float, float], step: float) -> float:
    key = f"retrain_{name}"
    proposed = 100 * getattr(RetrainSettings, name)
    st.session_state.setdefault(key, round(min(max(proposed, limits[0]), limits[1]), 6))
    value = place.number_input(label, *limits, step=step, format="%g", key=key, persist_state="session")
    return round(float(value or proposed) / 100, 6)


Chosen = TypeVar("Chosen")

WHAT_IT_GIVES = (
    "A retraining changes what the model learns from, and keeps a new model only when it is nearly as accurate and "
    "discriminates less. Before and after are measured alike, on rows held out from it, and “no improvement” or "
    "“worse” are said as plainly."
)
_OWN = "Own"
_MAX_EXACT = 2**53 - 1
"""Largest whole number that the browser holds exactly."""
_MOST_POINTS = 15.0
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
    from fairness_engine.runs.queue import max_at_work

    with st.spinner("Reading whether this model can be trained …"):
        can = questions.ask(questions.of_review(review, "A retraining needs"), CanRetrain())
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
        if st.button(
            _label(wanted),
            type="primary",
            key="retrain_start",
            icon=":material/model_training:",
            disabled=bool(found),
        ):
            session.set_run(plan.start(review, wanted)[0])
            case_basket.forget_asking()
            st.rerun(scope="app")


def _label(wanted: Wanted) -> str:
    n = len(wanted.strategies)
    return "Retrain" if n < 2 else f"Retrain by {n} strategies side by side"


# --- the widgets --------------------------------------------------------------------------------


def ask(review: Review, can: Trainable) -> Wanted:
    """The widgets of the form."""
    is_of_texts = kind.is_text(review)
    surrogate = _surrogate_field(can) if can.reason is not None else None
    strategies = _strategies_field(is_of_texts=is_of_texts)
    group = _group_field(review) if Strategy.RULES in strategies else {}
    cases = case_basket.ask(review, strategies)
    tolerance = _tolerance_field("texts" if is_of_texts else "people")
    settings: dict[str, Any] = {"tolerance": tolerance, **group}
    if is_of_texts and "rule_set" not in group:
        settings["terms"] = _terms_field(review)
    if surrogate is not None:
        settings["surrogate"] = surrogate
    left, right = st.columns(2)
    with left:
        settings["reference"] = _choice("The tolerance counts from", plan.REFERENCES, "retrain_reference")
    with right:
        if not is_of_texts and any(strategy not in BASELINES for strategy in strategies):
            settings["labels"] = _choice("Who labels people that are added", plan.LABELS, "retrain_labels")
        if can.has_weights:
            settings["begin"] = _choice("Training begins", plan.BEGINS, "retrain_begin")
    effort, max_seconds, seed = _budget_fields()
    settings |= ask_advanced(can, strategies, effort, surrogate)
    return Wanted(strategies, settings, cases, max_seconds, seed, is_of_texts=is_of_texts)


def _surrogate_field(can: Trainable) -> Any:
    """What is trained instead: nothing is chosen for the reader."""
    reason = (can.reason or "").split(" Name a surrogate", maxsplit=1)[0]
    st.info(wording.markdown(reason), icon=":material/info:")
    names = {one: plan.SURROGATES[one] for one in can.surrogates}
    return st.radio(
        "Train instead",
        list(names),
        index=None,
        format_func=lambda one: names[one][0],
        captions=[note for _, note in names.values()],
        key="retrain_surrogate",
        persist_state="session",
    )


def _terms_field(review: Review) -> Any:
    """The terms that are swapped, which can be exchanged here as on Groups; proposes a least share that some category
    reaches.
    """
    terms = text_terms.terms_of(review)
    text_terms.draw_own(review, terms)
    st.session_state.setdefault("retrain_support", 100 * form.first_support(form.shares_of(review, terms)))
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


def _tolerance_field(whom: str) -> float:
    percent = st.slider(
        "Tolerance: how much accuracy may fall, in points",
        0.0,
        _MOST_POINTS,
        1.0,
        0.25,
        format="%.2f",
        key="retrain_tolerance",
        help="Where the recorded outcomes discriminate themselves, every mitigation costs accuracy against them.",
        persist_state="session",
    )
    tolerance = round(float(percent) / 100, 6)
    st.caption(plan.tolerance_text(tolerance, whom))
    return tolerance


def _choice(label: str, names: Mapping[Chosen, tuple[str, str]], key: str) -> Chosen:
    return st.radio(
        label,
        list(names),
        format_func=lambda name: names[name][0],
        captions=[note for _, note in names.values()],
        key=key,
        persist_state="session",
    )


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
    number = seed.number_input(
        "Seed", 0, _MAX_EXACT, 0, key="retrain_seed", help=wording.explain("seed"), persist_state="session"
    )
    return effort, float(seconds or effort.max_seconds), int(number or 0)
