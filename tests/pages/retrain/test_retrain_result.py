"""The result of a retraining: before and after on one page, several strategies, keep or discard, and every way without
a new model.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import said
from retrain_steps import REFERENCE, TRAINING, round_of, run_at_work
from said import OpenApp
from streamlit.testing.v1 import AppTest

import retrained_runs
import run_cases
from fairness_engine.codec import decode
from fairness_engine.measures.results import Share
from fairness_engine.retraining.results import WorstRuleSet
from fairness_engine.runs.kinds import FollowUpRuns, of_stored
from fairness_engine.store.alive import host_name, process_start_time
from fairness_engine.store.records import FileRole, Review, RunState, Version, VersionState
from fairness_engine.store.store import RunStore
from pages.retrain import charts, comparison, follow_ups, groups, phrases, result
from pages.retrain import rules as retrain_rules
from pages.retrain import versions as retrain_versions
from pages.retrain.charts import Moved, Point
from pages.retrain.phrases import Figure, Line, Unit
from pages.shared.app import navigation, wording
from pages.shared.app import session as state
from pages.shared.runs import models
from retrained_runs import Retrained

RETRAIN = navigation.RETRAIN.path


@pytest.fixture
def retrained(workspace: Path) -> Iterator[Retrained]:
    """A workspace with two strategies that ended; the model's processes are stopped afterwards."""
    yield retrained_runs.retrained_runs(workspace)
    state.evaluator().close()


def open_result(open_app: OpenApp, retrained: Retrained, name: str) -> AppTest:
    """The page with one of the strategies in full."""
    run = retrained.variants if name == "variants" else retrained.threshold
    app = open_app(RETRAIN, review=retrained.review.id, run=run.id)
    app.segmented_control(key=f"retrain_shown_{retrained.variants.id}").set_value(run.id).run()
    assert said.errors_of(app) == []
    return app


def show(app: AppTest, part: str) -> AppTest:
    """Open one part of a result."""
    app.session_state[result.PART] = part
    app.run()
    assert said.errors_of(app) == []
    return app


def measured(share: float, n: int) -> dict[str, Any]:
    low, high = (0.0, 3.8 / n) if not share else (share - 1.0 / n**0.5, share + 1.0 / n**0.5)
    return {"share": share, "low": max(0.0, low), "high": high, "n": n, "n_hits": round(share * n)}


def entry_of(retrained: Retrained, name: str, before: float, after: float, n: int, **changes: Any) -> comparison.Entry:
    said = phrases.Headline(phrases.IMPROVED, "Better", "Because.")
    figure = {"value": 0.7, "low": 0.6, "high": 0.8}
    quality = {"quality": {"n": 900, "accuracy": figure, "f1": figure}, "data": measured(0.5, 900)}
    results = {
        which: {**quality, "uniform": measured(share, n)} for which, share in (("before", before), ("after", after))
    }
    if changes:
        none = {"value": 0.0, "low": 0.0, "high": 0.0, "n_gained": 0, "n_lost": 0, "n": 900}
        results["changes"] = {"groups": [], "n_cases": 0, "n_fixed": 0, "accuracy": none, "data": none, **changes}
    return comparison.Entry(name, retrained.variants, of_stored(results), said, None)


@pytest.mark.thorough
def test_a_change_is_of_the_same_draws_and_says_from_what_it_is(retrained: Retrained) -> None:
    few = entry_of(retrained, "Few", 0.170, 0.100, 500)
    paired = {"value": -0.187, "low": -0.20, "high": -0.17, "n_gained": 0, "n_lost": 935, "n": 5000}
    many = entry_of(retrained, "Many", 0.187, 0.0, 5000, uniform=paired)
    html = comparison.table_html([few, many])
    original, line_of_few, line_of_many = html.split("<tr>")[2:]
    assert "18.7 %" in original, "the measure of most draws stands for the original"
    assert "17.0 %" not in original
    assert "−7.0 points" in line_of_few
    assert "from 17.0 %, 500 draws" in line_of_few
    assert "&lt; 0.076 %" in line_of_many
    assert "−18.7 points" in line_of_many
    assert "from" not in line_of_many
    assert "500 to 5\u202f000 draws" in comparison.draws_text([few, many])
    assert comparison.draws_text([few]) == " and draws."
    csv = pd.read_csv(io.BytesIO(comparison.comparison_csv([few, many])))
    assert csv["uniform_value"].tolist() == [0.187, 0.100, 0.0]


@pytest.mark.thorough
def test_no_change_is_formed_of_different_draws(retrained: Retrained) -> None:
    entry = entry_of(retrained, "One", 0.170, 0.100, 500)
    assert entry.results.after is not None
    after = replace(entry.results.after, uniform=decode(Share, measured(0.0, 5000)))
    entry = replace(entry, results=replace(entry.results, after=after))
    (line,) = comparison.table_html([entry]).split("<tr>")[3:]
    assert "points" not in line.split("</td>")[1]
    assert [one.change for one in phrases.share_lines(entry.results)] == ["", "0"]


def test_nothing_seen_is_written_as_its_bound_everywhere() -> None:
    none = Figure.of(decode(Share, measured(0.0, 5000)))
    assert none is not None
    assert none.short == "below 0.076 %"
    assert none.text == "below 0.076 %"


def html_of(app: AppTest) -> str:
    """All HTML of the page itself."""
    return "\n".join(str(element.proto.body) for element in app.main.get("html"))


def frame(app: AppTest, *columns: str) -> pd.DataFrame:
    """The first table of the page that has these columns."""
    found: pd.DataFrame = next(table.value for table in app.dataframe if set(columns) <= set(table.value.columns))
    return found


# --- one result ---------------------------------------------------------------------------------


@pytest.mark.thorough
def test_an_improvement_is_read_from_top_to_bottom(open_app: OpenApp, retrained: Retrained, store: RunStore) -> None:
    app = open_result(open_app, retrained, "variants")
    text = said.text_of(app)
    page = html_of(app)
    results = store.results(retrained.variants.id)
    assert "</span> Improved" in page
    assert "looks inflated" in text
    numbers = frame(app, "Figure", phrases.BEFORE)
    shares = [f"Discriminatory, {name}" for name in ("all individuals", "held-out people")]
    assert numbers["Figure"].tolist() == ["Accuracy", "F1", "AUC", *shares]
    before, after = (Figure.of(decode(Share, results[which]["data"])) for which in ("before", "after"))
    assert before is not None
    assert after is not None
    assert numbers.iloc[4][[phrases.BEFORE, phrases.AFTER]].tolist() == [before.text, after.text]
    assert phrases.CONTROL in numbers.columns
    said.unfold(show(app, "Groups"), "retrain_moved_chart_table", "retrain_rates_chart_table")
    moved = frame(app, "Groups by", "People")
    counts = {tuple(group["labels"]): group["n_worse"] for group in results["changes"]["groups"]}
    assert dict(zip(moved["Group"], moved[f"{charts.WORSE.symbol} Worse"], strict=True)) == {
        labels[0]: n for labels, n in counts.items()
    }
    assert "Four fifths (a convention)" in frame(app, "Groups by", "Figure")["Figure"].tolist()


@pytest.mark.thorough
def test_both_models_are_measured_by_runs_that_the_page_shows(
    open_app: OpenApp, retrained: Retrained, store: RunStore
) -> None:
    app = show(open_result(open_app, retrained, "variants"), "Pairs")
    text = said.text_of(app)
    page = html_of(app)
    measured = store.results(retrained.variants.id)["measured"]
    searches = [store.run(measured[side]["search"]) for side in ("before", "after")]
    assert searches[0].n_found > searches[1].n_found
    assert f"searched anew by Directed with the same settings and the fresh seed {measured['seed']}" in text
    assert "Fixed" in page
    assert "found in the new model; the model before decided these people alike" in page
    links = said.links_of(app)
    assert "All pairs of the model before" in links or "All pairs of the model after" in links
    proved = frame(show(app, "Proofs"), "Difference, points")
    assert proved[""].tolist() == ["✓ certified", "▲ falsified", "? undecided"]
    assert "Boxes and table of the model before" in said.links_of(app)
    show(app, "Rule sets")
    assert "All rule sets of the model after" in said.links_of(app)
    assert "Worst rule set of the model before" in said.text_of(app)


@pytest.mark.thorough
def test_a_baseline_without_a_file_says_so_and_offers_nothing_to_keep(
    open_app: OpenApp, retrained: Retrained, store: RunStore
) -> None:
    app = open_result(open_app, retrained, "threshold")
    told = store.results(retrained.threshold.id)["retrained"]
    assert told["verdict"] == "worse"
    assert "</span> Worse" in html_of(app)
    assert "Nothing has to be undone" in html_of(app)
    assert told["no_file"] in said.text_of(app)
    assert not [button for button in app.button if button.key == "retrain_keep_it"]
    assert [button.proto.label for button in app.main.get("download_button")] == ["Model card (Markdown)"]


@pytest.mark.thorough
def test_a_result_that_was_never_measured_by_others_offers_it(
    open_app: OpenApp, retrained: Retrained, store: RunStore, started: list[str]
) -> None:
    store.set_result(retrained.variants.id, "measured", None)
    app = open_result(open_app, retrained, "variants")
    assert "not measured by another technique yet" in said.text_of(app)
    app.button(key="retrain_measure").click().run()
    assert said.errors_of(app) == []
    assert started
    measured = store.results(retrained.variants.id)["measured"]
    assert all(measured["after"].values())


@pytest.mark.thorough
def test_runs_at_work_and_impossible_ones_are_said(retrained: Retrained, store: RunStore) -> None:
    measured = store.results(retrained.variants.id)["measured"]
    working = store.create_run(store.run(measured["after"]["search"]).config, retrained.review.id)
    assert store.claim(working, host_name(), os.getpid(), str(process_start_time(os.getpid())))  # as a worker
    told = {
        "before": {**measured["before"], "certify": None},
        "after": {**measured["after"], "certify": None, "search": working},
        "reasons": {"certify": "A support vector machine cannot be certified."},
    }
    found = follow_ups.measured_of(decode(FollowUpRuns, told))
    assert found.is_at_work
    assert found.of_kind["search"].both is None
    assert "▶ after: running" in follow_ups.working_text(found.of_kind["search"])
    assert found.of_kind["certify"].reason == "A support vector machine cannot be certified."
    assert found.of_kind["rules"].both is not None
    assert store.finish(working, RunState.CRASHED, message="It broke.")
    broken = follow_ups.measured_of(decode(FollowUpRuns, told)).of_kind["search"]
    assert broken.both is None
    assert [run.id for run in broken.broken] == [working]
    assert follow_ups.measured_of(None).of_kind["search"] == follow_ups.FollowUps("search")


# --- keep, discard, go back ---------------------------------------------------------------------


@pytest.mark.thorough
def test_a_model_that_discriminates_more_is_kept_by_whoever_says_so_only(
    open_app: OpenApp, retrained: Retrained, store: RunStore
) -> None:
    told = store.results(retrained.variants.id)["retrained"]
    chance = "The model is no better than chance on the test rows: AUC 0.51 (0.48 to 0.54), where guessing gives 0.50."
    store.set_result(retrained.variants.id, "retrained", {**told, "is_raised": True, "chance": chance})
    app = open_result(open_app, retrained, "variants")
    assert any("no better than chance" in warning.value for warning in app.warning)
    assert app.button(key="retrain_keep_it").disabled
    app.checkbox(key="retrain_keep_anyway").check().run()
    app.button(key="retrain_keep_it").click().run()
    assert said.errors_of(app) == []
    assert "Kept. The review goes on with the new model." in said.text_of(app)


def draw_chosen_version(review_id: str, run_id: str) -> None:
    """What stands under the table of versions when a line is chosen: a script of its own, since the table takes no
    click here.
    """
    from pages.retrain import versions as retrain_versions
    from pages.shared.app import session as state

    version = state.store().version(run_id)
    assert version is not None
    retrain_versions._draw_chosen(state.store().review(review_id), retrain_versions.Model(version.model_id, 1, version))


@pytest.mark.thorough
@pytest.mark.parametrize("is_raised", [True, False])
def test_the_versions_are_no_way_around_that(retrained: Retrained, store: RunStore, is_raised: bool) -> None:
    told = store.results(retrained.variants.id)["retrained"]
    store.set_result(retrained.variants.id, "retrained", {**told, "is_raised": is_raised})
    app = AppTest.from_function(draw_chosen_version, args=(retrained.review.id, retrained.variants.id)).run(timeout=60)
    assert not app.exception
    assert app.button(key="version_go_on").disabled is is_raised
    if is_raised:
        assert not app.checkbox(key="version_keep_anyway").check().run().button(key="version_go_on").disabled


@pytest.mark.thorough
def test_keeping_lets_the_review_go_on_and_old_runs_say_of_which_model_they_are(
    open_app: OpenApp, retrained: Retrained, store: RunStore
) -> None:
    version = store.version(retrained.variants.id)
    assert version is not None
    app = open_result(open_app, retrained, "variants")
    app.button(key="retrain_keep_it").click().run()
    assert said.errors_of(app) == []
    assert "Kept. The review goes on with the new model." in said.text_of(app)
    review = store.review(retrained.review.id)
    assert review.model_id == version.model_id
    assert review.fit is not None
    assert review.fit["accuracy"] != (retrained.review.fit or {}).get("accuracy")
    assert store.versions(review.id)[0].state is VersionState.KEPT
    assert store.file(version.parent_id).path.exists()
    note = f"Made from {store.file(version.parent_id).name} by retraining (All variants)"
    assert note in said.text_of(open_app(navigation.MODEL.path, review=review.id))
    measured = store.results(retrained.variants.id)["measured"]
    for place, kind in ((navigation.PAIRS, "search"), (navigation.CERTIFY, "certify"), (navigation.GROUPS, "rules")):
        old = open_app(place.path, review=review.id, run=measured["before"][kind])
        shown = said.text_of(old) + "".join(option for box in old.selectbox for option in box.options)
        assert said.errors_of(old) == []
        assert models.BEFORE in shown, place.title
        new = open_app(place.path, review=review.id, run=measured["after"][kind])
        assert f"orange-badge[{models.BEFORE}]" not in said.text_of(new), place.title


@pytest.mark.thorough
def test_going_back_and_discarding_delete_nothing(open_app: OpenApp, retrained: Retrained, store: RunStore) -> None:
    version = store.version(retrained.variants.id)
    assert version is not None
    app = open_result(open_app, retrained, "variants")
    app.button(key="retrain_discard_it").click().run()
    assert store.versions(retrained.review.id)[0].state is VersionState.DISCARDED
    assert store.review(retrained.review.id).model_id == version.parent_id
    app.button(key="retrain_keep_it").click().run()
    assert store.review(retrained.review.id).model_id == version.model_id
    app.button(key="retrain_back").click().run()
    assert said.errors_of(app) == []
    review = store.review(retrained.review.id)
    assert review.model_id == version.parent_id
    assert review.fit is not None
    assert store.file(version.model_id).path.exists()


def test_versions_stand_under_the_model_that_they_were_made_of() -> None:
    def version(run_id: str, model_id: str, parent_id: str) -> Version:
        return Version(run_id, model_id, parent_id, VersionState.NEW, created)

    created = pd.Timestamp("2026-11-22", tz="UTC").to_pydatetime()
    versions = [version("1", "a1", "a"), version("2", "a2", "a"), version("3", "a11", "a1"), version("4", "a1", "a")]
    found = [(one.model_id, one.depth) for one in retrain_versions.tree_of(versions, "other")]
    assert found == [("a", 0), ("a1", 1), ("a11", 2), ("a2", 1), ("a1", 1), ("other", 0)]


# --- without a new model ------------------------------------------------------------------------


def ended(store: RunStore, review: Review, training: dict[str, Any], state: RunState, **results: Any) -> str:
    """A retraining that ended in some way, with what it left."""
    run_id = run_at_work(store, review, training)
    for name, content in results.items():
        store.set_result(run_id, name, content)
    store.finish(run_id, state)
    return run_id


BEFORE = {
    "quality": {
        "n": 200,
        "accuracy": {"value": 0.94, "low": 0.9, "high": 0.97},
        "f1": {"value": 0.9, "low": 0.86, "high": 0.94},
        "auc": None,
    },
    "uniform": {"n_hits": 300, "n": 1000, "share": 0.3, "low": 0.27, "high": 0.33},
    "data": {"n_hits": 50, "n": 200, "share": 0.25, "low": 0.2, "high": 0.31},
}


def without_after(told: dict[str, Any]) -> dict[str, Any]:
    """Results of a retraining that kept no model."""
    same = {
        "strategy": "variants",
        "has_model": False,
        "has_after": False,
        "round": 0,
        "n_rounds": 3,
        "tolerance": 0.02,
        "notes": [],
    }
    return {"before": BEFORE, "retrained": {**same, **told}}


WAYS = {
    "beyond the tolerance": (
        {"rounds": [round_of(0.8, 0.01)], "epochs": []},
        RunState.FINISHED,
        without_after({"verdict": "no improvement", "why": "None of them stayed within the tolerance."}),
        ("No improvement", "None of them stayed within the tolerance.", "Allow a larger tolerance"),
    ),
    "vetoed": (
        {"rounds": [round_of(0.93, 0.01, is_vetoed=True)], "epochs": []},
        RunState.FINISHED,
        without_after(
            {"verdict": "no improvement", "n_vetoed": 1, "why": "1 trained model lost more on the test rows."}
        ),
        ("No improvement", "lost more on the test rows", "Allow a larger tolerance"),
    ),
    "an inflated accuracy": (
        {"rounds": [round_of(0.8, 0.01)], "epochs": []},
        RunState.FINISHED,
        without_after(
            {
                "verdict": "no improvement",
                "why": "None held.",
                "is_inflated": True,
                "reference": "model",
                "notes": ["It looks inflated."],
            }
        ),
        ("No improvement", "let the tolerance count from a control model", "It looks inflated"),
    ),
    "nothing found": (
        {"rounds": [], "epochs": []},
        RunState.FINISHED,
        without_after(
            {"verdict": "no improvement", "why": "Nothing was found to learn from, so no model was trained."}
        ),
        ("No improvement", "Nothing was found to learn from", "Look for cases with a larger budget"),
    ),
    "stopped": (
        {"rounds": [round_of(0.8, 0.01)], "epochs": []},
        RunState.CANCELLED,
        {"before": BEFORE},
        ("Stopped without a new model", "You stopped it after 1 round", "Retrain again with more time"),
    ),
    "failed": ({"rounds": [], "epochs": []}, RunState.FAILED, {}, ("No result", "Read what is said above")),
    "crashed": ({"rounds": [], "epochs": []}, RunState.CRASHED, {}, ("No result", "ended before the run did")),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_without_a_new_model_is_said_with_what_to_do_next(
    open_app: OpenApp, store: RunStore, way: str
) -> None:
    training, stand, results, words = WAYS[way]
    review = run_cases.review_of(store)
    run_id = ended(store, review, training, stand, **results)
    app = open_app(RETRAIN, review=review.id, run=run_id)
    assert said.errors_of(app) == []
    page = f"{html_of(app)}\n{said.text_of(app)}"
    assert [text for text in words if text not in page] == []
    assert not [button for button in app.button if button.key == "retrain_keep_it"]
    if "before" in results:
        assert "The model as it is" in said.text_of(app)


BROKEN = "The model's process ended by itself (status 7)."


def test_the_reason_stands_beside_a_retraining_that_crashed_after_its_model_was_measured(
    open_app: OpenApp, store: RunStore
) -> None:
    review = run_cases.review_of(store)
    runs = []
    for strategy in ("variants", "rules"):
        told = measured_results(0.3, 0.1)
        run_id = run_at_work(store, review, TRAINING, settings={"strategy": strategy}, comparison="both")
        for name, content in told.items():
            store.set_result(run_id, name, content)
        store.finish(run_id, RunState.CRASHED, message=BROKEN)
        runs.append(run_id)
    app = open_app(RETRAIN, review=review.id, run=runs[0])
    assert [error for error in said.errors_of(app) if f"All variants: {BROKEN}" in error]
    app.segmented_control(key=f"retrain_shown_{runs[0]}").set_value(runs[1]).run()
    assert "</span> No verdict" in html_of(app)
    assert [error for error in said.errors_of(app) if error.startswith(BROKEN)]


def test_a_model_that_was_stopped_before_it_was_measured_can_be_kept_or_discarded(
    open_app: OpenApp, store: RunStore
) -> None:
    review = run_cases.review_of(store)
    assert review.model_id is not None
    run_id = ended(store, review, TRAINING, RunState.CANCELLED, before=BEFORE)
    file = store.add_file(b"new", "new.keras", FileRole.MODEL)
    store.set_version(run_id, file.id, review.model_id)
    app = open_app(RETRAIN, review=review.id, run=run_id)
    assert "A new model, not measured" in html_of(app)
    assert "stopped after it had a new model" in html_of(app)
    app.button(key="retrain_keep_it").click().run()
    assert len(said.errors_of(app)) == 1, "its file is no model, which is said, and nothing changes"
    assert store.review(review.id).model_id == review.model_id
    app.button(key="retrain_discard_it").click().run()
    assert store.versions(review.id)[0].state is VersionState.DISCARDED
    state.evaluator().close()


def measured_results(before: float, after: float, data: tuple[float, float] = (0.2, 0.2)) -> dict[str, Any]:
    """Figures with intervals of two points to either side."""

    def share(value: float) -> dict[str, float]:
        return {"share": value, "low": value - 0.02, "high": value + 0.02, "n": 1000, "n_hits": round(1000 * value)}

    def one(uniform: float, rows: float) -> dict[str, Any]:
        return {"uniform": share(uniform), "data": share(rows), "quality": BEFORE["quality"]}

    return {"before": one(before, data[0]), "after": one(after, data[1])}


# --- several strategies -------------------------------------------------------------------------


@pytest.mark.thorough
def test_strategies_stand_side_by_side_and_go_into_a_file(
    open_app: OpenApp, retrained: Retrained, store: RunStore
) -> None:
    app = open_app(RETRAIN, review=retrained.review.id, run=retrained.variants.id)
    assert said.errors_of(app) == []
    assert "1 of 2 strategies improved the model" in said.text_of(app)
    page = html_of(app)
    assert "All variants<small>" in page
    assert "baseline · " in page
    assert "↘ worse" in page
    entries = comparison.entries_of([retrained.variants, retrained.threshold])
    table = pd.read_csv(io.BytesIO(comparison.comparison_csv(entries)))
    assert table["strategy"].tolist() == [comparison.ORIGINAL, "All variants", "Thresholds by group"]
    results = store.results(retrained.variants.id)
    assert table["data_value"].tolist()[:2] == [results[which]["data"]["share"] for which in ("before", "after")]
    assert table["certified"].notna().tolist() == [True, True, False]


def test_a_strategy_that_kept_no_model_shows_what_its_best_one_would_have_cost(
    open_app: OpenApp, store: RunStore
) -> None:
    review = run_cases.review_of(store)
    runs = []
    for strategy, model, results in (
        ("without", round_of(0.89, 0.0), without_after({"verdict": "no improvement", "why": "It lost more."})),
        ("variants", TRAINING["rounds"][1], measured_results(0.3, 0.1)),
    ):
        training = {**TRAINING, "rounds": [model]}
        run_id = run_at_work(store, review, training, settings={"strategy": strategy}, comparison="both")
        for name, content in results.items():
            store.set_result(run_id, name, content)
        store.finish(run_id, RunState.FINISHED)
        runs.append(run_id)
    app = open_app(RETRAIN, review=review.id, run=runs[0])
    lines = html_of(app).split("<tr>")
    (rejected,) = [line for line in lines if "Without the protected attributes<small>" in line]
    (kept,) = [line for line in lines if "All variants<small>" in line]
    lost = 100 * (REFERENCE["accuracy"] - 0.89)
    notes = f"<small>\N{MINUS SIGN}{lost:.1f} points</small><small>beyond the tolerance</small>"
    assert f'<td class="eh-rejected">{wording.share(0.89)}{notes}' in rejected
    assert '<td class="eh-rejected">0 %<small>' in rejected
    assert "eh-rejected" not in kept
    assert "In italics: the best model of a strategy that kept none" in said.text_of(app)


def point(name: str, accuracy: float, share: float) -> Point:
    return Point(name, Figure(accuracy, accuracy - 0.01, accuracy + 0.01), Figure(share, share - 0.01, share + 0.01))


def test_the_front_has_the_models_that_no_other_beats() -> None:
    points = [
        point("original", 0.94, 0.3),
        point("good", 0.92, 0.1),
        point("bad", 0.9, 0.2),
        point("least", 0.85, 0.05),
    ]
    marked = charts.with_front(points)
    assert [one.name for one in marked if one.is_on_front] == ["original", "good", "least"]
    front = charts.pareto_chart(marked, "Held-out people").data[0]
    assert np.allclose(front.x, [5, 10, 30])
    assert front.line.shape == "hv"
    assert charts.pareto_table(marked, "Held-out people")["On the front"].tolist() == ["yes", "yes", "", "yes"]


# --- charts and words ---------------------------------------------------------------------------


def test_the_dumbbells_show_what_their_table_says() -> None:
    lines = [
        Line("Accuracy", Figure(0.94, 0.92, 0.96), Figure(0.9, 0.88, 0.92), change="−4.0"),
        Line("AUC", Figure(0.98, 0.97, 0.99, Unit.PLAIN), None),
    ]
    chart = charts.dumbbells(lines, "Title", "Axis")
    marks = {trace.name: list(trace.x) for trace in chart.data if trace.name}
    assert marks == {phrases.BEFORE: [94.0, 98.0], phrases.AFTER: [90.0]}
    assert [note.text for note in chart.layout.annotations] == ["<b>Accuracy</b>  94.0 % → 90.0 %", "<b>AUC</b>  0.980"]
    table = phrases.table(lines, "Figure")
    assert table.columns.tolist() == ["Figure", phrases.BEFORE, phrases.AFTER, "Change, points"]
    assert table.iloc[0].tolist() == ["Accuracy", "94.0 % (92.0-96.0)", "90.0 % (88.0-92.0)", "−4.0"]


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Figure(0.9391, 0.9225, 0.9523), "93.9 % (92.2-95.2)"),
        (Figure(0.00041, 0.0002, 0.0008), "0.041 % (0.020-0.080)"),
        (Figure(0.0, 0.0, 0.0038), "below 0.38 %"),
        (Figure(0.276, 0.241, 0.3, Unit.POINTS), "27.6 points (24.1-30.0)"),
        (Figure(0.276, 0.276, 0.276, Unit.POINTS), "27.6 points, counted"),
        (Figure(0.9834, 0.976, 0.9886, Unit.PLAIN), "0.983 (0.976-0.989)"),
    ],
)
def test_figures_are_written_with_their_interval(figure: Figure, text: str) -> None:
    assert figure.text == text


def test_changes_are_points_with_a_sign() -> None:
    assert [phrases.points(value) for value in (0.031, -0.042, 0.0004, 0.0)] == ["+3.1", "−4.2", "+0.04", "0"]


def test_bars_of_those_decided_differently_go_both_ways() -> None:
    chart = charts.moved_bars([Moved("Female", 200, 20, 0), Moved("Male", 100, 1, 30)])
    worse, better = chart.data
    assert (list(worse.x), list(better.x)) == ([0, -30.0], [10.0, 1.0])
    assert list(worse.text) == ["", "▼ 30"]
    many = [Moved(str(i), 100, i, 0) for i in range(30)]
    shown = groups.drawn(many)
    assert [one.n_better for one in shown] == list(range(10, 30))


def test_the_worst_rule_set_and_that_of_a_new_search_are_two_lines_when_they_differ() -> None:
    score = {"score": 0.27, "low": 0.19, "high": 0.35, "inside": 0.16, "outside": 0.43}
    rules = [{"column": "sex", "values": ["Female"]}]
    worst = {"rules": rules, "group": "women", "before": score, "after": {**score, "score": 0.2}}
    same = decode(WorstRuleSet, {**worst, "worst_after": {"rules": rules, "group": "women", **score}})
    other = decode(WorstRuleSet, {**worst, "worst_after": {"rules": [], "group": "men", **score}})
    assert [line.name for line in retrain_rules.worst_lines(same)] == ["Women"]
    assert [line.name for line in retrain_rules.worst_lines(other)] == ["Women", "Men"]
    assert "the same group as the worst" in retrain_rules.worst_texts(same)[1]
    assert "Men: 16 % favourable, everyone else 43 %, 27.0 points (19.0-35.0)" in retrain_rules.worst_texts(other)[1]


def test_texts_of_a_run_are_escaped_in_the_headline() -> None:
    from pages.retrain.result import headline_html

    html = headline_html(phrases.Headline(phrases.WORSE, "Worse", "<b>-3 points</b> 4 %", ("<i>",)))
    assert "<b>" not in html
    assert "<i>" not in html
    assert "−3 points" in html
