"""Pairs: find one in the table, read it as a card, change it, keep it, save all."""

import numpy as np
import streamlit as st

from pages.pairs import browser, card_panel, export, group_pairs, pair_link, plausible_filter, severity
from pages.shared.app import entry, frame, navigation, session, wording
from pages.shared.pairs import filters as pair_filters
from pages.shared.people import case_basket, cohorts, group_link
from pages.shared.people.decisions import decisions_of
from pages.shared.runs import models, run_list
from pages.shared.runs.results import results_of


def main() -> None:
    """Draw the pairs of the run that the address names."""
    lead = "People who are treated differently because of a protected attribute alone."
    frame.heading(navigation.PAIRS.title, lead)
    review = entry.require(navigation.PAIRS)
    runs = [run for run in session.runs(review.id) if run_list.has_pairs(run)]
    if not runs:
        st.info(navigation.PLAN.invitation)
        session.link_to(navigation.PLAN, "Go to Plan")
        return
    run = run_list.choose_search(runs)
    st.html(card_panel.STYLE)
    domain, pairs = pair_filters.load(session.store(), run)
    if not len(pairs):
        run_list.say_nothing_found(run)
        return
    frame.alone(browse)(review, run, domain, pairs)


def browse(review, run, domain, pairs) -> None:
    """Filters, table and card: a click in here leaves the rest of the page alone."""
    store = session.store()
    names = decisions_of(models.as_of(review, run))
    wanted = pair_filters.filter_form(review.id, domain, pairs)
    pinned = sorted(
        pin.pair_index for pin in store.pins(review.id) if pin.run_id == run.id and pin.pair_index < len(pairs)
    )
    group = group_link.named(review)
    group_link.chip(review, group)
    chosen = cohorts.choose(review, "pairs")
    cohorts.offer_save(review, wanted.rules(domain.schema), "filters of Pairs", "pairs")
    groups = [each for each in (group, chosen) if each is not None]
    in_group = group_pairs.narrow(groups, domain.schema, pairs, np.arange(len(pairs)))
    link = pair_link.read(run.id, len(pairs))
    with frame.wrapping("pair"):
        left, right = st.columns([3, 5], gap="medium")
    with left, st.container(horizontal=True, vertical_alignment="center", key="pair_lists"):
        only_pinned = bool(pinned) and st.toggle(f"Pinned only ({len(pinned)})", key="only_pinned")
        is_whole = not (wanted.n_active or only_pinned or chosen or group_link.NAME in st.query_params)
        severe = severity.ask(review.id, results_of(run).severity, len(pairs), link) if is_whole else {}
    if severe:
        positions = matching = np.array(list(severe), dtype=np.int64)
        n_stored = store.n_pairs(run.id)
        with left, st.container(horizontal=True, vertical_alignment="center", key="pair_count"):
            st.markdown(severity.count_text(n_stored, len(severe)))
            export.draw(store, run, domain, pairs, positions, names, n_stored)
            case_basket.offer_listed(review, run, positions, only_pinned=False)
    else:
        among = pinned if only_pinned else None
        with left:
            positions, matching = _listed(review, run, domain, pairs, (wanted, among, in_group, names))
    asked = link.position(matching, positions)
    with left:
        position = browser.choose(run, domain, pairs, names, positions, asked, severe, link.n_followed)
    if position is None:
        return
    link.show(position)
    with right:
        if position not in positions:
            why = "it is implausible" if position in matching else "it does not match what is chosen above"
            st.caption(f"Pair {wording.count(position + 1)} is open but not in the list, for {why}.")
        frame.alone(card_panel.draw)(review, run, domain, pairs[position : position + 1], position, names)


def _listed(review, run, domain, pairs, asked):
    """The pairs that are listed, and those that match the filters whether or not they are plausible."""
    wanted, pinned, in_group, names = asked  # pinned: only these are listed
    only_pinned = pinned is not None
    store = session.store()
    with st.container(horizontal=True, vertical_alignment="center", key="pair_count"):
        text = st.empty()
        filtered = browser.positions_of(run.id, domain, pairs, wanted, pinned)
        matching = np.intersect1d(filtered, in_group, assume_unique=True) if len(in_group) < len(pairs) else filtered
        only, is_on = plausible_filter.form(review.id, pairs, results_of(run).plausibility)
        is_hidden = plausible_filter.implausible(pairs, only)[matching] if only else np.zeros(len(matching), bool)
        positions = matching[~is_hidden] if is_on and not only_pinned else matching
        n_stored = store.n_pairs(run.id)
        text.markdown(browser.count_text(run, n_stored, len(matching), len(positions), len(pairs)))
        export.draw(store, run, domain, pairs, positions, names, n_stored)
        case_basket.offer_listed(review, run, positions, only_pinned=only_pinned)
    if only and not only_pinned:
        plausible_filter.say_hidden(review.id, len(matching), int(is_hidden.sum()), only, is_on=is_on)
    if not only_pinned:
        plausible_filter.say_unmeasured(pairs, positions, is_active=run.is_active)
    if not len(positions):
        st.info(
            "No plausible pair is left. Show the implausible ones, or allow a larger distance under “What counts”."
            if len(matching)
            else "No pair matches the filters. Take one away, or clear them all."
        )
    return positions, matching


main()
