"""A whole assessment: one run of each kind of evidence, with limits that a person waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairness_engine.data.recorded import Source
from fairness_engine.errors import InputError
from fairness_engine.findings.finding import Evidence
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Distribution
from fairness_engine.runs import kinds
from fairness_engine.runs.kinds import RunKind
from fairness_engine.search.techniques.data_scan import DATA_SCAN
from fairness_engine.store.records import Review, ReviewTerms
from fairness_engine.store.run_config import RunConfig

SEARCHED_WITH = "directed"
_UNLIMITED = 2**62


@dataclass(frozen=True)
class Limits:
    """How much is looked at.

    Args:
        max_evaluations: of a search beyond the data.
        max_seconds: of each run; most end by themselves long before.
        proof_seconds, max_boxes: of a certification, which goes on for as long as it may; no limit of boxes is 0.
        n_samples: of an estimate.
    """

    max_evaluations: int = 200_000
    max_seconds: float = 60.0
    proof_seconds: float = 10.0
    max_boxes: int = 0
    n_samples: int = 20_000


def assessment_runs(
    review: Review,
    wanted: Sequence[Evidence],
    seed: int = 0,
    limits: Limits | None = None,
    labels: tuple[Source, str] | None = None,
    terms: ReviewTerms | None = None,
) -> list[RunConfig]:
    """The runs that give the evidence that is wanted; what a review cannot have is left out.

    Args:
        review: with data and scope, and a model where ``labels`` is not given.
        wanted: which evidence.
        seed: of each.
        limits: of each.
        labels: without a model, whose decisions are compared: the source and the name of a column.
        terms: of a review of texts, where they are not the project's own list.
    """
    limits = limits or Limits()
    source, predictions = labels or (Source.MODEL, "")
    decides = {"source": source.value, "predictions": predictions}
    assert review.data_id is not None, "asked of a review with data"
    assert review.schema is not None and review.scope is not None, "asked of a review with a scope"  # noqa: PT018
    column = next((name for name in review.scope.protected if review.schema.is_text(name)), None)
    of_texts = {} if terms is None else {"terms": {name: list(words) for name, words in terms.chosen}}
    rules = {"edges": "round", **decides} if column is None else {"text_column": column, **of_texts}
    timed = {"budget": Budget(_UNLIMITED, limits.max_seconds)}
    asked: dict[Evidence, tuple[RunKind[Any], dict[str, Any]]] = {
        Evidence.SCAN: (kinds.SEARCH, {"technique": DATA_SCAN, **timed}),
        Evidence.SEARCH: (
            kinds.SEARCH,
            {"technique": SEARCHED_WITH, "budget": Budget(limits.max_evaluations, limits.max_seconds)},
        ),
        Evidence.SHARE: (
            kinds.ESTIMATE,
            {"distribution": Distribution.DATA, "n_samples": limits.n_samples, **timed},
        ),
        Evidence.RULES: (kinds.RULES, {"settings": rules, **timed}),
        Evidence.PROOF: (
            kinds.CERTIFY,
            {"settings": {"max_boxes": limits.max_boxes}, "budget": Budget(_UNLIMITED, limits.proof_seconds)},
        ),
        Evidence.FIGURES: (kinds.FIGURES, {"settings": decides, **timed}),
        Evidence.PROXIES: (kinds.PROXIES, {"settings": decides, **timed}),
    }
    made = []
    for evidence in wanted:
        kind, own = asked[evidence]
        try:
            made.append(
                kind.config(review.data_id, review.model_id or "", review.schema, review.scope, seed=seed, **own)
            )
        except InputError:  # of this review it cannot be had, and the page says why where it is asked for by itself
            continue
    return made
