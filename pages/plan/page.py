"""Plan: one search, a comparison of several, a proof, or rule sets; a budget and seeds; start the runs."""

import streamlit as st

from fairness_engine.model_process.questions import WhyNotCertifiable
from fairness_engine.search.registry import BASELINES
from pages.certification import form as certify_form
from pages.groups.rule_sets import form as rules_form
from pages.plan import form as plan_form
from pages.shared import fields
from pages.shared.app import entry, frame, navigation, session, wording
from pages.shared.members import controls
from pages.shared.people import cohorts
from pages.shared.review import planning, questions
from pages.shared.runs import certification_phrases, comparison_choice


def main() -> None:
    """Draw the form and, on Start, launch its runs and go where they can be followed."""
    frame.heading(
        navigation.PLAN.title,
        "How to look, and how much work to spend: for pairs, for the better technique, for a proof, for groups.",
    )
    review = entry.require(navigation.PLAN)
    mode = plan_form.mode_form()
    review = cohorts.offer_narrowing(review, "plan")
    if mode == plan_form.PROVE:
        _proof(review)
    elif mode == plan_form.GROUPS:
        _groups(review)
    else:
        _searches(review, is_comparison=mode == plan_form.COMPARE)


def _searches(review, *, is_comparison) -> None:
    from fairness_engine.oracle.domain import Domain

    domain = Domain(review.schema, review.scope)
    speed = (review.fit or {}).get("rows_per_second")
    st.header("Techniques" if is_comparison else "Technique", anchor=False)
    plan = _comparison(review, domain, speed) if is_comparison else _one_search(review, domain, speed)
    is_here = plan_form.is_here_field()
    _summary(plan, domain, speed, is_comparison, is_here)
    if controls.button(_start_label(plan), type="primary", disabled=not plan.n_runs, key="start"):
        _start(review, plan, is_comparison, is_here)


def _proof(review) -> None:
    st.header("Certification", anchor=False)
    st.markdown(
        wording.markdown(certification_phrases.WHAT_IT_GIVES.format(names=wording.listed(review.scope.protected)))
    )
    held = questions.of_review(review, "A certification needs")
    reason = questions.ask(held, WhyNotCertifiable(), "Reading whether this model can be certified …")
    if reason is not None:
        st.caption(f":gray[**{navigation.CERTIFY.title}**: not possible here. {wording.markdown(reason)}]")
        st.button("Start", type="primary", disabled=True, key="start")
        return
    wanted = certify_form.ask()
    is_here = plan_form.is_here_field()
    st.markdown(planning.proof_text(wanted.max_seconds))
    if controls.button("Start", type="primary", key="start"):
        configs = [certify_form.make_config(review, wanted)]
        session.set_run(session.start_runs(review, configs, is_here=is_here)[0])
        session.go_to(navigation.CERTIFY)


def _groups(review) -> None:
    st.header("Rule sets", anchor=False)
    wanted = rules_form.ask(review)
    st.markdown(wording.markdown(rules_form.expected_text(review, wanted)))
    if controls.button("Start", type="primary", disabled=not wanted.protected, key="start"):
        session.set_run(session.start_runs(review, [rules_form.make_config(review, wanted)])[0])
        session.go_to(navigation.GROUPS)


def _one_search(review, domain, speed):
    searches = plan_form.technique_form(planning.choices(review), planning.proposed_settings(review))
    st.header("Budget and seed", anchor=False)
    left, right = st.columns([3, 1])
    with left:
        budget = plan_form.budget_form(planning.whole_data(review, searches))
    with right:
        seed = fields.seed_field("seed")
    is_told = all(search.technique in BASELINES for search in searches)
    distributions, n_samples = plan_form.estimate_form(planning.estimate_seconds(domain, speed), is_told=is_told)
    return planning.Plan(searches, budget, seed, distributions, n_samples)


def _comparison(review, domain, speed):
    searches = plan_form.comparison_form(planning.choices(review))
    st.header("Budget and seeds", anchor=False)
    budget = plan_form.budget_form()
    places = st.columns(3)
    with places[0]:
        n_seeds = plan_form.n_seeds_field()
    with places[1]:
        seed = fields.seed_field("seed", "First seed")
    with places[2]:
        max_starts = plan_form.max_starts_field()
    is_countable = bool(searches) and planning.is_countable(review)
    is_counted = is_countable and plan_form.count_field(*planning.count_work(domain, speed))
    return planning.Plan(searches, budget, seed, n_seeds=n_seeds, max_starts=max_starts, is_counted=is_counted)


def _summary(plan, domain, speed, is_comparison, is_here) -> None:
    if not plan.n_runs:
        technique = "technique beside the baselines" if is_comparison else "technique, or an estimate"
        st.info(f"Choose at least one {technique}.")
        return
    counted = f"{planning.runs_text(plan)}  \n" if is_comparison else ""
    st.markdown(
        f"{counted}Each search: {planning.budget_text(plan.budget)}. {planning.expected_text(plan, domain, speed)} "
        f"{'' if is_here else planning.cluster_text(plan, speed)}  \n"
        f"Every individual is tested with {wording.count(domain.n_variants)} combinations of protected values: "
        + ("all but those that the scope leaves out." if domain.scope.excluded else "all there are in the scope.")
    )


def _start_label(plan) -> str:
    return "Start" if plan.n_runs < 2 else f"Start {plan.n_runs} runs side by side"


def _start(review, plan, is_comparison, is_here) -> None:
    configs = planning.make_configs(review, plan)
    session.set_run(session.start_runs(review, configs, is_here=is_here)[0])
    if is_comparison:
        comparison_choice.go_to(configs[0].comparison)
    session.go_to(navigation.RUN)


main()
