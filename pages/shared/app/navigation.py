"""The pages of the app, their order, and what each needs before it can be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pages.shared.review.kind import is_without_model

if TYPE_CHECKING:
    from fairness_engine.store.records import Review


@dataclass(frozen=True)
class Place:
    """One page.

    Args:
        title: in the menu and as the heading.
        path: the script, relative to ``app.py``.
        url: the last part of its address; empty for the first page.
        section: heading in the menu.
        is_step: part of the way from data to findings, so it shows done or next.
        invitation: said on pages that need this step and do not have it yet.
        icon: in the menu, of a page that is no step.
    """

    title: str
    path: str
    url: str
    section: str
    is_step: bool = False
    invitation: str = ""
    icon: str = ":material/menu_book:"


START = Place(
    "Start",
    "pages/start/page.py",
    "",
    "Prepare",
    invitation="Open a review first, or make a new one.",
    icon=":material/home:",
)
DATA = Place("Data", "pages/data/page.py", "data", "Prepare", True, "This needs a data set. Drop a CSV file first.")
MODEL = Place(
    "Model",
    "pages/model/page.py",
    "model",
    "Prepare",
    True,
    "This needs a model that fits the data. Drop a model file and confirm what it receives.",
)
SCOPE = Place(
    "Scope",
    "pages/scope/page.py",
    "scope",
    "Prepare",
    True,
    "This needs a scope: say which attributes are protected.",
)
PLAN = Place("Plan", "pages/plan/page.py", "plan", "Run", True, "This needs a run. Plan one first.")
RUN = Place("Run", "pages/run/page.py", "run", "Run", True, "This needs a run. Start one first.")
COMPARE = Place("Compare", "pages/compare/page.py", "compare", "Run", icon=":material/stacked_line_chart:")
FINDINGS = Place("Findings", "pages/findings/page.py", "findings", "Explore", True)
PAIRS = Place("Pairs", "pages/pairs/page.py", "pairs", "Explore", icon=":material/people:")
WHERE = Place("Where", "pages/where/page.py", "where", "Explore", icon=":material/account_tree:")
GROUPS = Place("Groups", "pages/groups/page.py", "groups", "Explore", icon=":material/groups:")
CERTIFY = Place("Certification", "pages/certification/page.py", "certification", "Explore", icon=":material/verified:")
GRADIENTS = Place("Gradients", "pages/gradients/page.py", "gradients", "Explore", icon=":material/north_east:")
RETRAIN = Place("Retrain", "pages/retrain/page.py", "retrain", "Act", icon=":material/model_training:")
REPORT = Place("Report", "pages/report/page.py", "report", "Act", icon=":material/description:")
TECHNIQUES = Place("Techniques", "pages/techniques/page.py", "techniques", "Learn")

PLACES = (
    START,
    DATA,
    MODEL,
    SCOPE,
    PLAN,
    RUN,
    COMPARE,
    FINDINGS,
    PAIRS,
    WHERE,
    GROUPS,
    CERTIFY,
    GRADIENTS,
    RETRAIN,
    *(REPORT, TECHNIQUES),
)

_IS_READY: dict[Place, Callable[[Review], bool]] = {
    DATA: lambda review: review.data_id is not None and review.schema is not None and not lacks_favourable(review),
    MODEL: lambda review: is_without_model(review) or (review.model_id is not None and review.fit is not None),
    SCOPE: lambda review: review.scope is not None,
}


_ASK_FAVOURABLE = "This needs to know which outcome is good for the person. Answer it on the Data page."


def lacks_favourable(review: Review) -> bool:
    """Whether a review's data has a label, and nobody said which of its outcomes is good for the person."""
    return review.schema is not None and review.schema.label is not None and review.schema.favourable is None


def invitation(place: Place, review: Review | None) -> str:
    """What is missing where a step is not done, in words."""
    return _ASK_FAVOURABLE if place is DATA and review is not None and lacks_favourable(review) else place.invitation


def is_done(place: Place, review: Review | None, *, has_runs: bool = False) -> bool:
    """Whether a review has what this step gives."""
    if review is None:
        return False
    if place in _IS_READY:
        return _IS_READY[place](review)
    return has_runs


def next_step(review: Review | None, *, has_runs: bool = False) -> Place:
    """The first step that is not done; the start without a review."""
    if review is None:
        return START
    return next(
        (place for place in PLACES if place.is_step and not is_done(place, review, has_runs=has_runs)), FINDINGS
    )


def missing_before(place: Place, review: Review | None) -> Place | None:
    """The first step before this one that is not done yet; a page that needs a run looks for it itself."""
    if review is None:
        return START
    needed = PLACES[: PLACES.index(place)]
    return next((step for step in needed if step in _IS_READY and not is_done(step, review)), None)
