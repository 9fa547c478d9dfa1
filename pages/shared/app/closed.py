"""Pages that the open review cannot use: which, why in a sentence, and where that can be changed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairness_engine.errors import EvenhandError
from fairness_engine.oracle.domain import Domain
from pages.shared.app import navigation, wording
from pages.shared.app.kept import kept
from pages.shared.review import kind
from pages.shared.review.kind import is_without_model
from pages.shared.runs.kinds import VIEWS

if TYPE_CHECKING:
    from fairness_engine.store.records import Review

_ASK_A_MODEL = (navigation.PLAN, navigation.WHERE, navigation.GRADIENTS)
_SHOW_RUNS = (navigation.RUN, navigation.COMPARE, navigation.PAIRS, navigation.CERTIFY, navigation.RETRAIN)
"""These stay open for runs from before, of a model that was taken away or of another scope."""
_WORK = {navigation.RETRAIN: "Retraining"}
"""What a page does to a model, in words, where it is neither a search nor a proof."""
Kinds = Callable[[], Collection[str]]
"""The kinds of the runs of a review; looked up only where it matters."""


@dataclass(frozen=True)
class Reason:
    """Why pages are closed.

    Args:
        text: one sentence, not escaped.
        remedy: the page where that can be changed; ``None`` when it cannot.
        remedy_label: of a link to it.
    """

    text: str
    remedy: navigation.Place | None = None
    remedy_label: str = ""


def why_closed(place: navigation.Place, review: Review | None, kinds: Kinds) -> Reason | None:
    """Why a review that is complete cannot use a page; ``None`` when it can. Groups is open to every review.

    Args:
        place: the page.
        review: the open one.
        kinds: of its runs, which can be looked at still.
    """
    if place not in (*_ASK_A_MODEL, *_SHOW_RUNS) or review is None:
        return None
    reason = _reason(review, place)
    if reason is None and place is navigation.RETRAIN:
        reason = _no_label(review)
    if reason is None or (place in _SHOW_RUNS and has_results(place, kinds())):
        return None
    return reason


def has_results(place: navigation.Place, kinds: Collection[str]) -> bool:
    """Whether a page shows runs, and a review has some for it: they stay readable whatever the review lacks by now.

    Args:
        kinds: of the review's runs.
    """
    if place in (navigation.FINDINGS, navigation.REPORT):
        return bool(kinds)
    own = {view.kind.name for view in VIEWS.values() if view.place is place}
    here = {view.kind.name for view in VIEWS.values() if view.place is None or view.kind.has_pairs}
    return not (own or here if place in _SHOW_RUNS else own).isdisjoint(kinds)


def next_place(review: Review | None, kinds: Kinds, *, has_runs: bool) -> navigation.Place:
    """Where to go on: the next step, or Groups where the review cannot use that."""
    following = navigation.next_step(review, has_runs=has_runs)
    return following if why_closed(following, review, kinds) is None else navigation.GROUPS


def _reason(review: Review, place: navigation.Place) -> Reason | None:
    """Why what a page asks a model cannot be done."""
    what = _WORK.get(place, "Searches and proofs")
    asks, needs = ("asks", "needs") if what in _WORK.values() else ("ask", "need")
    if is_without_model(review):
        return Reason(
            f"{what} {asks} a model, and this review has none: it looks at a column of the data.",
            navigation.MODEL,
            "Add a model",
        )
    if review.schema is None or review.scope is None:
        return None
    if kind.is_text(review):
        if place is navigation.RETRAIN:
            return None
        return Reason(f"{what} {needs} a table, and this review's model takes texts.")
    problem = kept("no_values", (review.schema, review.scope), lambda: why_no_variants(review))
    if problem is None:
        return None
    return Reason(f"{what} {needs} values to compare. {problem}", navigation.SCOPE, "Choose values under Scope")


def _no_label(review: Review) -> Reason | None:
    if review.schema is None or review.schema.label is not None:
        return None
    text = "Retraining needs the outcome of every person, and the data has no label column."
    return Reason(text, navigation.DATA, "Choose the label under Data")


def why_no_variants(review: Review) -> str | None:
    """Why the protected values of a review cannot be compared one by one, in a sentence; ``None`` when they can."""
    assert review.schema is not None, "asked with a scope, which needs one"
    assert review.scope is not None, "asked with a scope"
    try:
        Domain(review.schema, review.scope)
    except EvenhandError as error:
        return wording.spaced(str(error))
    return None
