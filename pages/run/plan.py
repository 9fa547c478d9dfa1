"""Plan: choose techniques, a budget and a seed; start the runs."""

import streamlit as st

from pages.components import layout, plan_form, planning, state, steps, wording


def main() -> None:
    """Draw the form and, on Start, launch its runs and go to the Run page."""
    layout.heading(
        steps.PLAN.title,
        "How to search, and how much work to spend. Several searches may run side by side, each on the same budget.",
    )
    review = state.require(steps.PLAN)
    st.subheader("Techniques", anchor=False)
    searches = plan_form.technique_form(planning.choices(review))
    st.subheader("Budget and seed", anchor=False)
    left, right = st.columns([3, 1])
    with left:
        budget = plan_form.budget_form()
    with right:
        seed = plan_form.seed_field()
    distributions, n_samples = plan_form.estimate_form()
    plan = planning.Plan(searches, budget, seed, distributions, n_samples)
    _summary(review, plan)
    if st.button(_start_label(plan), type="primary", disabled=not plan.n_runs, key="start"):
        _start(review, plan)


def _summary(review, plan) -> None:
    if not plan.n_runs:
        st.info("Choose at least one technique, or an estimate.")
        return
    from fairness_engine.domain import Domain

    domain = Domain(review.schema, review.scope)
    speed = (review.fit or {}).get("rows_per_second")
    st.markdown(
        f"Each search: {planning.budget_text(plan.budget)}. "
        f"{planning.expected_text(plan, domain.n_variants, speed)}  \n"
        f"Every individual is tested with all {wording.count(domain.n_variants)} combinations of protected values."
    )


def _start_label(plan) -> str:
    return "Start" if plan.n_runs < 2 else f"Start {plan.n_runs} runs side by side"


def _start(review, plan) -> None:
    from fairness_engine.runs.launch import launch

    store = state.store()
    run_ids = [store.create_run(config, review.id) for config in planning.make_configs(review, plan)]
    for run_id in run_ids:
        launch(store, run_id)
    state.set_run(run_ids[0])
    state.go_to(steps.RUN)


main()
