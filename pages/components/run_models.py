"""Of which model a run is: since a retrained model can be kept, a review's runs may be of a model that it no longer has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.components import run_words, state, wording

if TYPE_CHECKING:
    from fairness_engine.runs.records import Review, RunRecord

BEFORE, RETRAINED, ANOTHER = "of the model before", "of a retrained model", "of another model"


def model_note(review: Review | None, run: RunRecord) -> str:
    """Of which model a run is, where it is not the review's: ``of the model before``; empty for the review's own, or for none."""
    from fairness_engine.runs.adopting import lineage

    asked = run.config.model_id
    if review is None or not asked or not review.model_id or asked == review.model_id:
        return ""
    store = state.store()
    if asked in lineage(store, review.model_id):
        return BEFORE
    return RETRAINED if store.version_of_model(asked) else ANOTHER


def title_of(review: Review | None, run: RunRecord, title: str | None = None) -> str:
    """A run's name with the model it is of, where that is not the review's, not escaped: ``Random, of the model before``.

    Args:
        review: the open one.
        run: of it.
        title: another name than the usual one.
    """
    title = run_words.run_title(run.config) if title is None else title
    note = model_note(review, run)
    return f"{title}, {note}" if note else title


def standing_html(review: Review | None, run: RunRecord) -> str:
    """Of which model a run is, as markdown to put behind its name; empty for the review's own."""
    note = model_note(review, run)
    return f" · :orange-badge[{wording.markdown(note)}]" if note else ""
