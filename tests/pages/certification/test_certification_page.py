"""The Certification page with real runs: form, result in words, boxes, another minute, two side by side; and other
pages' words.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

import certify_cases
import run_cases
from certify_cases import Certified
from fairness_engine.certification.partition.phrases import box_limits, box_sentence
from fairness_engine.runs import queue
from fairness_engine.runs.writers.proofs import stored_tree
from fairness_engine.store.alive import host_name, process_start_time
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore
from findings_cases import assessed
from pages.certification import boxes as certify_boxes
from pages.certification import result as certify_view
from pages.certification import single_box
from pages.certification import tree as certify_tree
from pages.shared.app import session
from pages.shared.runs import certification_runs

CERTIFY = "pages/certification/page.py"


@pytest.fixture
def certified(workspace: Path) -> Iterator[Certified]:
    """A workspace with certifications that ended; the model's process is stopped afterwards."""
    yield certify_cases.certified_runs(workspace)
    session.evaluator().close()


def headline_of(app: AppTest) -> str:
    """The claims, as HTML."""
    return next(
        body
        for body in (str(e.proto.body) for e in app.main.get("html"))
        if "eh-claims" in body and "<style" not in body
    )


def read_of(certified: Certified, workspace: Path) -> certify_tree.ReadTree:
    """The tree behind the page, read without it."""
    from fairness_engine.certification.partition.phrases import box_columns

    run = certified.counting
    tree, more = stored_tree(RunStore(workspace), run.id)
    return certify_tree.ReadTree(run.id, tree, box_columns(run.config.schema, more, tree.n_digits))


def open_box(open_app: OpenApp, certified: Certified, box: int) -> AppTest:
    """The page with one box chosen, as a click in the map leaves it."""
    app = open_app(CERTIFY, run=certified.counting.id)
    app.session_state[f"certify_box_{certified.counting.id}"] = (box, 1)
    return app.run()


# --- before a run -------------------------------------------------------------------------------


def test_a_review_without_a_scope_is_sent_there(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(CERTIFY, review=run_cases.review_of(store, scope=None).id)
    assert said.errors_of(app) == []
    assert said.links_of(app) == ["Go to Scope"]


def test_the_form_starts_one_certification(open_app: OpenApp, store: RunStore, started: list[str]) -> None:
    review = run_cases.review_of(store, model=certify_cases.MODEL)
    app = open_app(CERTIFY, review=review.id)
    assert said.errors_of(app) == []
    assert "does not depend on sex and race" in said.text_of(app)
    app.segmented_control(key="certify_effort").set_value("Quick, 10 s").run()
    app.radio(key="certify_mode").set_value("classic")
    app.radio(key="certify_weights").set_value("data")
    app.number_input(key="certify_seed").set_value(7)
    app.button(key="certify_start").click().run()
    assert said.errors_of(app) == []
    (run,) = store.runs(review.id)
    assert started
    assert (run.config.kind, run.config.seed, run.config.budget.max_seconds) == ("certify", 7, 10.0)
    assert run.config.budget.max_evaluations is None
    assert (run.config.settings["mode"], run.config.settings["weights"]) == ("classic", "data")
    assert app.query_params["run"] == run.id
    assert "◌ Waiting" in said.text_of(app)
    session.evaluator().close()


def test_a_model_that_cannot_be_certified_is_told_before_anything_starts(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store, model="census_income_svm")
    app = open_app(CERTIFY, review=review.id)
    assert said.errors_of(app) == []
    (reason,) = [element.value for element in app.info]
    assert "cannot be certified" in reason.replace("\\", "")
    assert said.links_of(app) == ["Plan a search or an estimate", "Change the scope"]
    assert not [button for button in app.button if button.key == "certify_start"]
    session.evaluator().close()


# --- while it works -----------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_run_at_work_shows_shares_speed_and_time_to_go(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store, model=certify_cases.MODEL)
    run_id = store.create_run(certify_cases.config_of(review), review.id)
    assert store.claim(run_id, host_name(), os.getpid(), str(process_start_time(os.getpid())))
    from fairness_engine.events import Progress

    store.add_progress(run_id, Progress(80_000, 20.0, 80_000, 0, "certifying"))
    store.set_result(
        run_id, "proved", {"seconds": 20.0, "certified": 0.5, "falsified": 0.02, "n_boxes": 80_000, "n_open": 9}
    )
    store.set_result(run_id, "trace", [[1.0, 0.2, 0.0, 0.8, 2000], [20.0, 0.5, 0.02, 0.48, 80_000]])
    app = open_app(CERTIFY, run=run_id)
    assert said.errors_of(app) == []
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown["Boxes a second"] == "4\u202f000"
    assert shown["To go"] == "4 min 40 s"
    bar = next(body for body in (str(e.proto.body) for e in app.main.get("html")) if 'class="eh-bar"' in body)
    assert 'aria-label="50.0 % certified, 48.0 % undecided, 2.0 % falsified"' in bar
    assert len(app.get("plotly_chart")) == 1
    app.button(key="stop_certifying").click().run()
    assert store.run(run_id).is_cancel_requested
    assert app.button(key="stop_certifying").disabled
    store.finish(run_id, RunState.CANCELLED)


def test_a_crashed_run_keeps_what_it_proved(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store, model=certify_cases.MODEL)
    run_id = store.create_run(certify_cases.config_of(review), review.id)
    assert store.claim(run_id, host_name(), os.getpid(), str(process_start_time(os.getpid())))
    store.set_result(run_id, "proved", {"seconds": 2.0, "certified": 0.5, "falsified": 0.0, "n_boxes": 10, "n_open": 9})
    store.finish(
        run_id, RunState.CRASHED, message="The model's process got the signal SIGKILL.", counts={"evaluations": 10}
    )
    app = open_app(CERTIFY, run=run_id)
    (error,) = said.errors_of(app)
    assert error == "The model's process got the signal SIGKILL. What was proved up to then is kept. Run it again."
    said.unfold(app, "certify_shares_chart_table")
    assert app.dataframe[0].value.iloc[0].tolist() == ["Individuals", "50 %", "0 %", "50 %"]


# --- the result ---------------------------------------------------------------------------------


def test_a_link_to_a_run_opens_its_review_and_its_result(
    open_app: OpenApp, certified: Certified, store: RunStore
) -> None:
    app = open_app(CERTIFY, run=certified.counting.id)
    assert said.errors_of(app) == []
    assert app.query_params["review"] == certified.review.id
    html = headline_of(app)
    result = store.results(certified.counting.id)["certification"]
    assert "get the same decision whatever their sex" in html
    assert result["undecided"] > 0, "a network in so few boxes leaves something open"
    assert "are undecided: neither is proved of them." in html
    drawn = f"{result['estimate']['n']:,}".replace(",", "\u202f")
    assert f"by a sample of {drawn} individuals, not by proof." in html
    assert html.index(">Proved<") < html.index(">Open<") < html.index(">Estimated<")
    text = said.text_of(app)
    assert html.index("people of your data") < html.index("get the same decision"), "who was decided about comes first"
    assert "Shares that are proved are rounded down" in text
    shares = said.unfold(app, "certify_shares_chart_table").dataframe[0].value
    assert shares["Of"].tolist() == ["Data's people", "Individuals"]


def test_without_a_run_in_the_address_the_newest_is_shown(open_app: OpenApp, certified: Certified) -> None:
    app = open_app(CERTIFY, review=certified.review.id)
    assert app.query_params["run"] == certified.classic.id
    assert "Classic, all individuals" in said.text_of(app)
    listed = app.dataframe[-1].value
    assert listed["Certification"].tolist() == ["Classic, all individuals", "Counting, all individuals"]
    assert listed[" "].tolist() == ["◆ shown", ""]


def test_a_model_that_ignores_the_attribute_is_proved_for_everybody(open_app: OpenApp, certified: Certified) -> None:
    app = open_app(CERTIFY, run=certified.blind.id)
    assert said.errors_of(app) == []
    assert "get the same decision whatever their sex and race" in headline_of(app)
    assert ">All " in headline_of(app)
    assert "Open" not in headline_of(app)
    assert "The boxes behind it" not in [element.value for element in app.header]


@pytest.mark.parametrize(
    ("trace", "text"),
    [
        ([[0.1, 0.0, 0.0, 1.0, 1], [0.2, 0.8, 0.2, 0.0, 1]], "proved in one step, after 0.2 s"),
        ([[0.1, 0.0, 0.0, 1.0, 1], [0.2, 0.6, 0.2, 0.2, 5], [0.4, 0.8, 0.2, 0.0, 9]], ""),
        ([[0.1, 0.0, 0.0, 1.0, 1]], ""),
    ],
)
def test_one_step_of_a_proof_is_a_sentence_and_no_grey_chart(
    open_app: OpenApp, certified: Certified, store: RunStore, trace: list[list[float]], text: str
) -> None:
    run = certified.counting
    store.set_result(run.id, "trace", trace)
    app = open_app(CERTIFY, run=run.id)
    assert said.errors_of(app) == []
    steps = [caption.value for caption in app.caption if "one step" in caption.value]
    assert text in " ".join(steps)
    assert bool(steps) is bool(text)
    assert bool([toggle for toggle in app.toggle if toggle.key == "certify_log"]) is (len(trace) > 2)


def test_a_refused_run_says_why_and_what_to_do(open_app: OpenApp, certified: Certified) -> None:
    app = open_app(CERTIFY, run=certified.refused.id)
    (error,) = said.errors_of(app)
    assert "cannot be certified" in error
    assert "Nothing was proved up to then." in error
    assert "Search for pairs instead" in said.links_of(app)


def test_the_json_has_what_was_asked_and_what_came_out(certified: Certified, store: RunStore) -> None:
    run = store.run(certified.counting.id)
    content = json.loads(certify_view.result_json(run, store.results(run.id), {"run_id": run.id}))
    assert content["settings"]["mode"] == "counting"
    assert content["certification"]["certified"] + content["certification"]["falsified"] <= 1
    assert content["trace"][-1][1] == content["proved"]["certified"]


# --- the boxes ----------------------------------------------------------------------------------


def test_the_table_lists_the_largest_open_boxes_in_words(
    open_app: OpenApp, certified: Certified, workspace: Path
) -> None:
    app = open_app(CERTIFY, run=certified.counting.id)
    (table,) = [frame.value for frame in app.dataframe if "Box" in frame.value and "Whole box, %" in frame.value]
    read = read_of(certified, workspace)
    listed = certify_tree.largest(read, "undecided", by_people=False, within={})
    assert table["Box"].tolist() == [read.words(i) for i in listed.boxes.tolist()]
    assert all("?" in marks for marks in table["Verdict"])
    assert table["Undecided, %"].is_monotonic_decreasing
    assert "Choose a box in the map or in the table" in said.text_of(app)
    app.segmented_control(key=f"boxes_{certified.counting.id}_verdict").set_value("certified").run()
    (table,) = [frame.value for frame in app.dataframe if "Box" in frame.value and "Whole box, %" in frame.value]
    assert table["Certified, %"].is_monotonic_decreasing
    assert said.errors_of(app) == []


@pytest.mark.parametrize("verdict", ["falsified", "undecided", "certified"])
def test_where_most_of_a_verdict_lies_is_counted_box_by_box(
    certified: Certified, workspace: Path, verdict: str
) -> None:
    read = read_of(certified, workspace)
    low, high, share = certify_tree.where_most_lies(read, verdict)
    part = getattr(read.tree, verdict)
    inside = 0.0
    n_outside = 0
    for leaf in read.leaves.tolist():
        begin, end = read.box(leaf)
        if (begin >= low).all() and (end <= high).all():
            inside += part[leaf]
        elif part[leaf]:
            n_outside += 1
    assert share == pytest.approx(inside / part[read.leaves].sum())
    assert share >= 0.8
    assert (share == 1.0) == (n_outside == 0), "all of it, and no sum that comes near"
    size = np.prod((high - low + 1) / read.tree.n_digits)
    assert verdict != "falsified" or share > 2 * size, "far denser than the whole"


def test_the_page_says_where_what_is_falsified_lies(open_app: OpenApp, certified: Certified, workspace: Path) -> None:
    app = open_app(CERTIFY, run=certified.counting.id)
    (line,) = [element.value for element in app.markdown if "individuals that are falsified lie where" in element.value]
    read = read_of(certified, workspace)
    low, high, _ = certify_tree.where_most_lies(read, "falsified")
    limits = box_limits(read.columns, low, high)
    assert set(limits) >= {"education_years", "hours_per_week"}, "as the rule is planted"
    for name in limits:
        assert name in line.replace("\\", "")


def test_all_that_is_falsified_is_said_to_be_all(open_app: OpenApp, workspace: Path) -> None:
    """Shares of the boxes come near to one, and were written as 100.0000 %."""
    store, review = assessed(workspace, "census_income_planted")
    store.close()
    app = open_app(CERTIFY, review=review.id)
    (line,) = [element.value for element in app.markdown if "individuals that are falsified lie where" in element.value]
    assert line.startswith("▲ All individuals that are falsified lie where education")


def test_a_chosen_box_says_what_is_proved_of_it_and_why_it_is_open(
    open_app: OpenApp, certified: Certified, workspace: Path
) -> None:
    read = read_of(certified, workspace)
    box = int(certify_tree.largest(read, "undecided", by_people=False, within={}).boxes[0])
    app = open_box(open_app, certified, box)
    assert said.errors_of(app) == []
    text = said.text_of(app)
    assert box_sentence(read.columns, *read.box(box)) in text
    assert "Why it is undecided" in text
    assert "undecided." in text
    said.unfold(app, "box_bounds_chart_table")
    bounds = next(frame.value for frame in app.dataframe if "Protected value" in frame.value)
    assert bounds["Protected value"].tolist() == ["Female", "Male"]
    assert (bounds["At least"] <= bounds["At most"]).all()


def test_a_counterexample_is_two_people_with_different_decisions(
    open_app: OpenApp, certified: Certified, workspace: Path
) -> None:
    read = read_of(certified, workspace)
    boxes = certify_tree.largest(read, "falsified", by_people=False, within={}).boxes
    assert len(boxes), "the planted rule is found"
    app = open_box(open_app, certified, int(boxes[0]))
    html = "".join(str(element.proto.body) for element in app.main.get("html"))
    assert "Person A" in html
    assert "A counterexample in this box" in said.text_of(app)
    assert any(label.startswith("See the") for label in said.links_of(app))


def test_the_file_of_boxes_can_be_read_again(certified: Certified, workspace: Path) -> None:
    read = read_of(certified, workspace)
    listed = certify_tree.largest(read, "certified", by_people=False, within={})
    table = pd.read_csv(io.BytesIO(certify_boxes.boxes_csv(read, listed)))
    low, high = read.box(int(listed.boxes[0]))
    limits = box_limits(read.columns, low, high)
    first = table.iloc[0]
    for name, ends in limits.items():
        column = certified.review.schema.column(name)
        if not column.codes:
            assert (first[f"{name}, from"], first[f"{name}, to"]) == ends


# --- another minute -----------------------------------------------------------------------------


def test_another_minute_is_a_certification_of_the_box_shown_under_the_whole(
    open_app: OpenApp, certified: Certified, workspace: Path, store: RunStore, started: list[str]
) -> None:
    read = read_of(certified, workspace)
    box = int(certify_tree.largest(read, "undecided", by_people=False, within={}).boxes[0])
    app = open_box(open_app, certified, box)
    app.button(key="certify_box").click().run()
    assert said.errors_of(app) == []
    run = store.runs(certified.review.id)[0]
    assert started
    assert run.config.scope.limits == box_limits(read.columns, *read.box(box))
    assert run.config.budget.max_seconds == 60.0
    assert app.query_params["run"] == certified.counting.id, "the whole stays open"
    assert "Boxes on their own" in [element.value for element in app.header]
    assert "This box is being certified on its own" in said.text_of(app)


def test_what_a_box_adds_is_put_into_the_whole(
    open_app: OpenApp, certified: Certified, workspace: Path, store: RunStore
) -> None:
    read = read_of(certified, workspace)
    run = certified.counting
    box = int(certify_tree.largest(read, "undecided", by_people=False, within={}).boxes[0])
    limits = box_limits(read.columns, *read.box(box))
    scope = replace(run.config.scope, limits=limits)
    config = replace(certify_cases.config_of(certified.review, 20_000), scope=scope)
    ended = queue.run_in_foreground(store, store.create_run(config, certified.review.id), lambda _: None)
    assert ended.state is RunState.FINISHED, ended.message
    app = open_app(CERTIFY, run=run.id)
    assert said.errors_of(app) == []
    alone = single_box.of_tree(read, run, certification_runs.certifications(certified.review))
    assert [each.box for each in alone] == [box]
    after = single_box.whole_with(read, alone)
    assert after.undecided < read.tree.undecided[0]
    assert f"the whole with these boxes: ✓ {after.texts[0]} certified" in said.text_of(app)
    whole = open_app(CERTIFY, run=ended.id)
    assert said.errors_of(whole) == []
    assert box_sentence(read.columns, *read.box(box)) in said.text_of(whole)


# --- two side by side, and other pages ----------------------------------------------------------


def test_two_certifications_stand_side_by_side(open_app: OpenApp, certified: Certified) -> None:
    app = open_app(CERTIFY, **{"run": certified.classic.id, "with": certified.counting.id})
    assert said.errors_of(app) == []
    assert any("mode" in warning.value for warning in app.warning), "the settings differ"
    difference = next(frame.value for frame in app.dataframe if "Difference, points" in frame.value)
    assert difference[""].tolist() == ["✓ certified", "▲ falsified", "? undecided"]
    settings = next(frame.value for frame in app.dataframe if "Setting" in frame.value)
    assert "Mode" in settings[settings[""] == "≠"]["Setting"].tolist()


def test_a_model_of_another_review_can_stand_beside(open_app: OpenApp, certified: Certified) -> None:
    app = open_app(CERTIFY, run=certified.counting.id)
    app.toggle(key="certify_foreign").set_value(True).run()
    box = next(box for box in app.selectbox if str(box.key).startswith("certify_with_"))
    assert len(box.options) == 2, "the other one of this review, and the one of the other model that proved something"
    assert "Census, spring" in box.options[1]
    box.select_index(1).run()
    assert said.errors_of(app) == []
    assert app.query_params["with"] == certified.blind.id
    assert any("model" in warning.value for warning in app.warning)


def test_counterexamples_are_pairs_of_the_pairs_page(open_app: OpenApp, certified: Certified) -> None:
    assert certified.counting.n_found > 0
    app = open_app("pages/pairs/page.py", run=certified.counting.id)
    assert said.errors_of(app) == []
    assert "A counterexample of a certification." in said.text_of(app)
    assert "Person A" in "".join(str(element.proto.body) for element in app.main.get("html"))
    assert any("Certification, counting" in option for box in app.selectbox for option in box.options) or (
        "Certification, counting" in said.text_of(app)
    )


def test_the_run_page_speaks_of_boxes_and_leads_to_the_proof(open_app: OpenApp, certified: Certified) -> None:
    app = open_app("pages/run/page.py", run=certified.counting.id)
    assert said.errors_of(app) == []
    assert "See what is proved" in said.links_of(app)
    runs = app.dataframe[-1].value
    assert runs["Run"].tolist() == ["Certification, classic", "Certification, counting"]
    assert all(text.endswith("boxes") for text in runs["Rows evaluated"])


def test_the_start_page_lists_a_review_with_a_certification(open_app: OpenApp, certified: Certified) -> None:
    app = open_app()
    assert said.errors_of(app) == []
    table = app.dataframe[0].value
    assert ("certification", "✓ Finished") in set(zip(table["Last run"], table["State"], strict=True))
