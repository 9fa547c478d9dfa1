"""The certifications of a review: which one is shown, a list to choose another, what follows another one's box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fairness_engine.runs.kinds import CERTIFY
from pages.shared.app import theme, wording
from pages.shared.runs import certification_phrases, of_kind
from pages.shared.runs.certification_phrases import Shares
from pages.shared.runs.figures import elapsed
from pages.shared.runs.results import results_of
from pages.shared.runs.run_list import Listing

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord
    from fairness_engine.store.run_config import RunConfig


def certifications(review: Review) -> list[RunRecord]:
    """The certifications of a review, the newest first."""
    return of_kind.runs_of(review, CERTIFY)


def asks_the_same(run: RunConfig, other: RunConfig) -> bool:
    """Whether two certifications speak of the same model, question and weights, limits aside."""
    return (
        (run.data_id, run.model_id, run.schema) == (other.data_id, other.model_id, other.schema)
        and replace(run.scope, limits={}) == replace(other.scope, limits={})
        and CERTIFY.settings(run).weights is CERTIFY.settings(other).weights
    )


def shares_of(run: RunRecord) -> Shares | None:
    """What a run has proved, at its end or so far; ``None`` before the first report."""
    results = results_of(run)
    found = results.certification or results.proved
    return Shares.of(found.certified, found.falsified) if found else None


def _columns(runs: Sequence[RunRecord]) -> dict[str, list[str]]:
    shares = [shares_of(run) for run in runs]
    texts = [(wording.DASH,) * 3 if part is None else part.texts for part in shares]
    return {
        f"{theme.CERTIFIED.symbol} Certified": [text[0] for text in texts],
        f"{theme.DISCRIMINATORY.symbol} Falsified": [text[1] for text in texts],
        f"{theme.UNDECIDED.symbol} Undecided": [text[2] for text in texts],
        "Boxes": [wording.count(run.evaluations) for run in runs],
        "In all": [wording.duration(elapsed(run)) for run in runs],
    }


CERTIFICATIONS = Listing(
    "certifications",
    "Certifications of this review",
    "Certification",
    _columns,
    certification_phrases.run_title,
    "Proving took",
)
