"""Two reviews on the Findings page: chosen from those that may be listed, put side by side, and said where nothing can
be.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import said
from said import OpenApp

from fairness_engine.findings.finding import Evidence
from fairness_engine.findings.two_reviews.change import Topic
from fairness_engine.findings.two_reviews.compare import compare_reviews, with_model
from fairness_engine.runs import kinds
from fairness_engine.runs.adoption import keep_version
from fairness_engine.store.store import RunStore
from findings_cases import assess, review_of
from pages.findings.two_reviews import change_text, figure_texts
from pages.retrain import phrases
from retrained_runs import retrained_runs
from two_reviews_cases import both_assessed

PAGE = "pages/findings/page.py"


def test_the_findings_lead_to_the_comparison_and_back(open_app: OpenApp, workspace: Path) -> None:
    _, first, second = both_assessed(workspace)
    app = open_app(PAGE, review=first.id)
    assert "Compare with another review" in said.links_of(app)
    app = open_app(PAGE, review=first.id, **{"with": "choose"})
    assert said.errors_of(app) == []
    assert "Back to the findings" in said.links_of(app)
    (choice,) = app.selectbox
    assert len(choice.options) == 1
    assert second.name in choice.options[0]
    choice.select_index(0).run()
    assert second.id in app.query_params["with"]
    assert "Accuracy and shares" in said.text_of(app)


def test_two_candidates_side_by_side_in_words(open_app: OpenApp, workspace: Path) -> None:
    store, first, second = both_assessed(workspace)
    found = compare_reviews(store, first, second)
    app = open_app(PAGE, review=second.id, **{"with": first.id})
    assert said.errors_of(app) == []
    html = said.html_of(app)
    for row in found.rows:
        assert row.what in html
        assert change_text(row) in html
    text = said.text_of(app)
    assert "↘ worse" in html
    assert "? not settled" in html
    for name in ("Fixed: 237 of 1", "Still there: 913", "New: 346", "Proofs", "Groups"):
        assert name in text.replace("**", "")
    assert "Not compared" not in text
    assert text.index("Before") < text.index("After")
    app.toggle(key=f"swap_reviews_{first.id}").set_value(True).run()
    assert "↗ better" in said.html_of(app)
    assert "Fixed: 346" in said.text_of(app)


@pytest.mark.thorough
def test_before_and_after_a_retraining_reads_as_the_retrain_page_does(open_app: OpenApp, workspace: Path) -> None:
    made = retrained_runs(workspace)
    store = RunStore(workspace)
    version = store.version(made.variants.id)
    assert version is not None
    review = keep_version(store, made.review.id, made.variants.id, made.review.fit)
    before = with_model(review, version.parent_id)
    results = kinds.results_of(store, made.variants.id)
    rows = compare_reviews(store, before, review).of(Topic.RETRAINING)[:3]
    lines = [phrases.quality_lines(results)[0], *phrases.share_lines(results)]
    app = open_app(PAGE, review=review.id, **{"with": f"{review.id}.{version.parent_id}"})
    assert said.errors_of(app) == []
    html = said.html_of(app)
    for row, line in zip(rows, lines, strict=True):
        assert line.before is not None and line.after is not None  # noqa: PT018
        assert figure_texts(row) == (line.before.text, line.after.text)
        assert change_text(row).replace(" points", "") == line.change
        assert f">{line.before.text}<" in html
        assert f">{change_text(row)}<" in html
    assert "See the retraining" in said.links_of(app)
    assert "as Retrain shows them" in said.text_of(app)


def test_somebody_elses_review_is_not_offered_nor_opened_by_its_link(open_app: OpenApp, workspace: Path) -> None:
    store, first, second = both_assessed(workspace)
    theirs = store.create_review("Secret", owner="somebody@example.org")
    theirs = store.save_review(replace(theirs, data_id=first.data_id, schema=first.schema, scope=first.scope))
    app = open_app(PAGE, review=first.id, **{"with": theirs.id})
    assert said.errors_of(app) == []
    assert "somebody else's" in said.text_of(app)
    assert all("Secret" not in option for option in app.selectbox[0].options)
    assert second.name in app.selectbox[0].options[0]


@pytest.mark.thorough
def test_empty_cases_say_what_is_missing(open_app: OpenApp, workspace: Path) -> None:
    store = RunStore(workspace)
    first = assess(store, review_of(store, "recidivism_planted"), (Evidence.SHARE,))
    app = open_app(PAGE, review=first.id, **{"with": "choose"})
    assert "There is no other review yet" in said.text_of(app)
    second = review_of(store, "recidivism_mlp")
    app = open_app(PAGE, review=first.id, **{"with": second.id})
    text = said.text_of(app)
    assert "The second review has no run that has ended yet" in text
    assert "Nothing to compare yet" in text
    assert "Only the first review has a run of it." in text
    of_sex = assess(store, review_of(store, "recidivism_mlp", ("sex",)), (Evidence.SHARE,))
    app = open_app(PAGE, review=first.id, **{"with": of_sex.id})
    assert "The first compares race and sex, the second sex." in said.text_of(app)
