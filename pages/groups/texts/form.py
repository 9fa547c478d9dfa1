"""How to compare groups in texts: categories of terms, least size, error, limits and seed, and the run that they
make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.errors import SettingError
from fairness_engine.groups.rule_sets.settings import USUAL_ATTRIBUTES, Part, RuleSettings, When
from fairness_engine.oracle.budget import Budget
from pages.shared import fields
from pages.shared.app import session, wording
from pages.shared.fields import SettingsForm
from pages.shared.members import controls
from pages.shared.review import kind
from pages.shared.runs import rule_runs
from pages.shared.texts import counts as text_data
from pages.shared.texts import terms as text_terms

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, ReviewTerms, RunRecord
    from fairness_engine.store.run_config import RunConfig

MAX_SECONDS = 120.0
_OF_TEXTS = {
    "support": {
        "label": "Least share of the texts",
        "hint": "The support: a category, or several together, that fewer texts speak of is not compared.",
    },
    "max_attributes": {
        "label": "Categories in a group, at most",
        "hint": "“Muslim” is a group of one category, “elderly” and “Muslim” in one text of two.",
    },
    "error": {
        "hint": "At 95 % confidence, for one score as in the paper. Exact decides every text with every term.",
    },
}
"""What settings of rule sets say of texts."""


def draw_first(review: Review) -> None:
    """What it gives, and the form."""
    st.markdown(
        "Every text that speaks of a person's identity is written again with each other term of the same category in "
        "that place, and the model decides all of them. A term that gets the favourable outcome more rarely, or more "
        "often, than the others in the same texts stands at the top, with the sentences that show it."
    )
    draw(review, None, "Compare the terms")


def draw(review: Review, shown: RunRecord | None, label: str) -> None:
    """The form and its button; a run that was started is the open one.

    Args:
        review: of the run to start, of texts.
        shown: the run on the page, whose settings are proposed again.
        label: of the button.
    """
    terms = text_terms.terms_of(review)
    held = dict(shown.config.settings) if shown is not None else {}
    shares = shares_of(review, terms)
    with st.container(border=True, key="text_form"):
        settings, max_seconds, seed = _ask(review, terms, held, first_support(shares))
        is_ready = bool(settings["terms"])
        for line in support_notes({name: shares.get(name, 0.0) for name in settings["terms"]}, settings["support"]):
            st.caption(wording.markdown(line))
        if controls.button(label, type="primary", key="rules_start", icon=":material/groups:", disabled=not is_ready):
            rule_runs.open_run(session.start_runs(review, [make_config(review, settings, max_seconds, seed)])[0])
            st.rerun(scope="app")
    st.caption(
        "The run goes on when you leave; stopping it keeps what is scored. Each different text is decided once only."
    )


def shares_of(review: Review, terms: ReviewTerms) -> dict[str, float]:
    """Share of the texts that hold a term, by category.

    Raises:
        DataError: the review's texts cannot be read.
    """
    column = kind.column_of(review)
    assert column is not None, "asked for reviews of texts"
    n_texts = len(text_data.texts_of(review, column))
    counts = text_data.counts_of(review, column, terms)
    return {name: n / n_texts for name, n in counts.by_category.items()}


def first_support(shares: dict[str, float]) -> float:
    """The paper's least share, or the first smaller one that some category reaches."""
    largest = max(shares.values(), default=0.0)
    return next((support for support in (0.05, 0.02, 0.01, 0.005, 0.002) if support <= largest), 0.001)


def support_notes(shares: dict[str, float], support: float) -> list[str]:
    """Which categories are held by too few texts, not escaped; empty when all are compared."""
    few = [f"{name} ({wording.share(share)})" for name, share in shares.items() if share < support]
    if not few:
        return []
    if len(few) == len(shares):
        return [f"No category is held by that many texts: {wording.listed(few)}. Ask for a smaller least share."]
    return [f"Held by fewer texts and left out: {wording.listed(few)}."]


def _ask(review: Review, terms: ReviewTerms, held: dict[str, Any], first: float) -> tuple[dict[str, Any], float, int]:
    """The widgets: settings by their names in ``RuleSettings``, seconds and seed; ``first`` is the least share proposed
    to this review.
    """
    chosen = ask_categories(terms, "rules_categories")
    form = SettingsForm(
        RuleSettings,
        "text",
        {"support": first, **held, "max_attributes": held.get("max_attributes") or USUAL_ATTRIBUTES},
        {When.A_MODEL_DECIDES},
        _OF_TEXTS,
        keys={"support": f"text_support_{review.id}", "max_attributes": "text_most"},
    )
    settings = form.draw(Part.SIZES, lambda: [*st.columns(2), st.container()]) | form.draw_advanced()
    left, right = st.columns(2)
    seconds = left.number_input(
        "Most seconds", 1.0, 604_800.0, MAX_SECONDS, step=10.0, format="%g", key="text_seconds", persist_state="session"
    )
    with right:
        seed = fields.seed_field("text_seed")
    settings["terms"] = {name: list(words) for name, words in terms.terms if name in chosen}
    return settings, float(seconds or MAX_SECONDS), seed


def ask_categories(terms: ReviewTerms, key: str) -> list[str]:
    """Which categories of terms are compared; at least one is needed."""
    names = dict(terms.terms)
    chosen: list[str] = st.multiselect(
        "Categories of terms to compare",
        list(names),
        [name for name in names if name in terms.compared],
        format_func=lambda name: f"{name} ({len(names[name])} terms)",
        placeholder="Choose at least one",
        help="A term is only put in the place of another of its own category. The Data page shows the terms and takes "
        "other ones.",
        key=key,
    )
    if not chosen:
        st.caption("Choose at least one category.")
    return chosen


def make_config(review: Review, settings: dict[str, Any], max_seconds: float, seed: int) -> RunConfig:
    """The run of a form, or of a teaching demo.

    Args:
        review: of texts.
        settings: by their names in ``RuleSettings``; the column is added.
        max_seconds: limit of time.
        seed: 0 or more.

    Raises:
        SettingError: the review is not complete, or a value is out of its range.
    """
    from fairness_engine.runs import kinds

    column = kind.column_of(review)
    if not (review.data_id and review.model_id and review.schema and review.scope and column):
        raise SettingError(
            "Comparing terms needs texts, a model that takes them and a scope. Complete the review first."
        )
    return kinds.RULES.config(
        review.data_id,
        review.model_id,
        review.schema,
        review.scope,
        settings={**settings, "text_column": column},
        budget=Budget(None, max_seconds),
        seed=seed,
    )
