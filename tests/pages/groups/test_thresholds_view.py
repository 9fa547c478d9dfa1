"""Another decision threshold on the Groups page: words, the chart and its tables; the section with a real model, what
it stores and what it does not, and where it is not there.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

import group_cases
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import RunError
from fairness_engine.groups.figures.report import Bounded
from fairness_engine.groups.figures.thresholds import ThresholdCounts
from fairness_engine.store.records import Review
from fairness_engine.store.store import RunStore
from pages.groups.thresholds import charts, phrases
from pages.shared.app import session, theme
from pages.shared.review import questions

GROUPS = "pages/groups/page.py"
SCHEMA = Schema((Column("sex", Kind.CATEGORICAL, codes=("f", "m"), labels=("Women", "Men")),), protected=("sex",))
NAMES = ["Women", "Men"]
THRESHOLDS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
WOMEN = [[800, 200], [400, 180], [160, 140], [40, 60], [0, 0]]
MEN = [[600, 400], [400, 380], [220, 340], [60, 200], [0, 0]]
"""Favoured of 800 and 200 women whose label is not, and is, favourable, at each threshold; of 600 and 400 men."""


def by_sex(**changes: Any) -> ThresholdCounts:
    """1,000 women and 1,000 men; at 0.5 women 30 %, men 56 %; at 0.25 women 58 %, men 78 %."""
    favourable = np.array([[women, men, [0, 0]] for women, men in zip(WOMEN, MEN, strict=True)])
    n = np.array([[800, 200], [600, 400], [0, 0]])
    values = (("Women", "Men"), THRESHOLDS, n, favourable, 2, 2, 4_321, True, 0, 0, 0)
    return replace(ThresholdCounts("sex", *values), **changes)


# --- words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "text"),
    [(0.5, "0.5"), (1.0, "1"), (0.0, "0"), (-1.25, "−1.25"), (0.00012, "0.00012"), (2e-12, "2e−12"), (17.0, "17")],
)
def test_a_threshold_is_written_in_full(threshold: float, text: str) -> None:
    assert phrases.threshold_text(threshold) == text


def test_no_two_thresholds_read_alike() -> None:
    near = [0.1, float(np.nextafter(0.1, 1)), 0.1000001]
    assert len({phrases.threshold_text(each) for each in near}) == 3


def test_what_a_threshold_changes_is_said_with_its_cost() -> None:
    """At 0.25 240 + 180 + 40 + 40 rows more; of these 80 recorded so."""
    counts = by_sex()
    assert phrases.cost_sentence(counts, counts.cost(1), ">50K") == (
        "Against the present threshold 0.5, 500 rows (25.0 %) would get “>50K” and none would lose it. 80 of these "
        "decisions would then be what the data recorded, 420 no longer: accuracy −17.0 points (−19.1 to −14.9)."
    )
    assert "500 rows (25.0 %) would lose “>50K” and none would get it." in phrases.cost_sentence(
        counts, counts.cost(3), ">50K"
    )
    assert phrases.cost_sentence(counts, counts.cost(2), ">50K") == "As decided now, at 0.5: no decision changes."
    unlabelled = by_sex(has_labels=False)
    assert phrases.cost_sentence(unlabelled, unlabelled.cost(1), "yes").endswith("none would lose it.")


def test_changes_have_a_sign_unless_they_read_as_none() -> None:
    assert phrases.change_text(Bounded(-0.018, -0.021, -0.015)) == "−1.8 points (−2.1 to −1.5)"
    assert phrases.change_text(Bounded(0.0002, -0.0003, 0.0006)) == "+0.02 points (−0.03 to +0.06)"
    assert phrases.points_text(0.0001) == "0.0"
    assert phrases.signed(-3, "3") == "−3"


def test_where_four_fifths_are_reached_is_called_a_convention() -> None:
    nearer = by_sex()
    nearer.favourable[1, 0] = [500, 180]  # women 68 %, men 78 %
    text = phrases.found_sentence(nearer)
    assert text.startswith(
        "With the fewest decisions changed, every group compared reaches four fifths (0.8, a convention) at 0.25: 600 "
        "decisions changed, 73.0 % favourable in all, accuracy −22.0 points ("
    )
    assert text.endswith(").")
    equal = by_sex()
    equal.favourable[:, 1] = equal.favourable[:, 0]
    assert phrases.found_sentence(equal) == (
        "At the present threshold every group compared reaches four fifths (0.8, a convention) of the most favoured "
        "already."
    )
    never = by_sex(favourable=by_sex().favourable[2:], thresholds=THRESHOLDS[2:], present=0, own=0)
    assert phrases.found_sentence(never) == (
        "No threshold that is offered lets every group compared reach four fifths (0.8, a convention) of the most "
        "favoured."
    )


def test_which_thresholds_are_offered() -> None:
    assert phrases.offered(by_sex()) == (
        "The rows have 4\u202f321 different scores. 5 thresholds are offered, at equal parts of the rows and at equal "
        "steps of the score."
    )
    assert phrases.offered(by_sex(n_scores=4, own=1)) == (
        "The rows have 4 different scores: every decision that a threshold can make of them is offered. The model's "
        "own threshold is 0.25."
    )


def test_no_sentence_calls_anybody_fair() -> None:
    counts = by_sex()
    texts = [*phrases.MEANING, phrases.found_sentence(counts), phrases.cost_sentence(counts, counts.cost(1), "x")]
    assert not any(word in text.lower() for text in texts for word in ("fair ", "fairness", "bias", "compliant"))


# --- chart and tables ---------------------------------------------------------------------------


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theme, "is_dark", lambda: False)


@pytest.mark.usefixtures("light")
def test_a_curve_a_group_and_the_accuracy_below() -> None:
    counts = by_sex()
    figure = charts.threshold_chart(counts, charts.curves(counts, NAMES), 1, ">50K", ">50K")
    women, men, accuracy, dots = figure.data
    assert (women.name, list(women.y)) == ("Women", pytest.approx([100, 58, 30, 10, 0]))
    assert (men.name, list(men.x)) == ("Men", THRESHOLDS.tolist())
    assert {trace.line.shape for trace in (women, men, accuracy)} == {"hv"}
    assert women.line.dash != men.line.dash
    assert accuracy.yaxis == "y2"
    assert accuracy.y[2] == pytest.approx(100 * (800 - 160 + 140 + 600 - 220 + 340) / 2000)
    assert (list(dots.x), list(dots.y)) == ([0.25, 0.25], pytest.approx([58, 78]))
    assert [line.x0 for line in figure.layout.shapes] == [0.5, 0.25]
    assert [note.text for note in figure.layout.annotations] == ["now 0.5", "◆ 0.25"]


@pytest.mark.usefixtures("light")
def test_at_the_present_threshold_there_is_one_line_and_without_labels_no_accuracy() -> None:
    counts = by_sex(has_labels=False)
    figure = charts.threshold_chart(counts, charts.curves(counts, NAMES), 2, ">50K", ">50K")
    assert [line.x0 for line in figure.layout.shapes] == [0.5]
    assert len(figure.data) == 3
    assert "yaxis2" not in figure.layout


@pytest.mark.usefixtures("light")
def test_of_many_groups_the_largest_are_drawn_and_the_tables_have_all() -> None:
    n = np.array([[10 * (i + 1), 0] for i in range(9)] + [[0, 0]])
    favourable = np.stack([n, n // 2, n * 0])
    many = by_sex(
        labels=tuple("ABCDEFGHI"), n=n, favourable=favourable, thresholds=np.array([0.0, 0.5, 1.0]), present=1, own=1
    )
    assert charts.drawn(many) == [3, 4, 5, 6, 7, 8]
    names = list(many.labels)
    assert len([trace for trace in charts.curves(many, names) if "name" in trace]) == charts.MAX_DRAWN
    assert len(charts.rates_frame(many, many.table(1), many.table(0), 0, names)) == 9
    assert len([name for name in charts.curves_frame(many, names).columns if len(name) == 4]) == 9


def test_the_tables_have_both_thresholds_side_by_side() -> None:
    counts = by_sex()
    frame = charts.rates_frame(counts, counts.table(2), counts.table(1), 1, NAMES)
    assert frame["Now, %"].tolist() == pytest.approx([30, 56])
    assert frame["Then, %"].tolist() == pytest.approx([58, 78])
    assert frame["Changed"].tolist() == ["+280", "+220"]
    assert frame["Impact ratio now"].tolist() == [pytest.approx(30 / 56), 1]
    assert frame["Interval"][0] == "54.9 to 61.1"
    lost = charts.rates_frame(counts, counts.table(2), counts.table(3), 3, NAMES)
    assert lost["Changed"].tolist() == ["−200", "−300"]
    odds = charts.odds_frame(counts.table(2), counts.table(1), NAMES)
    assert odds["True now, %"].tolist() == pytest.approx([70, 85])
    assert odds["False then, %"].tolist() == pytest.approx([50, 100 * 400 / 600])


def test_the_file_has_every_count_and_is_safe() -> None:
    counts = by_sex(attribute="=sex")
    read = pd.read_csv(io.StringIO(charts.curves_csv(counts, ["=1+1", "Men"]).decode()))
    assert len(read) == 10
    assert set(read["group"]) == {"'=1+1", "Men"}
    assert set(read["attribute"]) == {"'=sex"}
    line = read[(read["group"] == "Men") & (read["threshold"] == 0.25)].iloc[0]
    assert (line["rows"], line["favourable"], line["true_positives"], line["false_positives"]) == (1000, 780, 380, 400)
    assert read[read["is_present"]]["threshold"].tolist() == [0.5, 0.5]


# --- the section --------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def ended(workspace: Path) -> Iterator[None]:
    """Processes that answer questions are stopped after each test."""
    yield
    session.evaluator().close()


def metrics_of(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def button(app: AppTest, key: str) -> Any:
    return app.button(key=f"threshold_{key}")


def opened(open_app: OpenApp, review: Review) -> AppTest:
    app = open_app(GROUPS, review=review.id, view="Threshold")
    assert said.errors_of(app) == []
    return app


def test_moving_the_slider_changes_figures_and_nothing_else(open_app: OpenApp, store: RunStore) -> None:
    review = group_cases.review_of(store)
    app = opened(open_app, review)
    (slider,) = app.select_slider
    (typed,) = app.number_input
    assert (slider.value, typed.value) == ("0.5", 0.5)
    assert metrics_of(app)["Decisions changed"] == "0"
    assert button(app, "save").disabled
    assert button(app, "back").disabled
    asked = session.evaluator().n_open
    slider.set_value(slider.options[3]).run()
    (slider,) = app.select_slider
    (typed,) = app.number_input
    assert phrases.threshold_text(typed.value) == slider.value
    assert metrics_of(app)["Decisions changed"].startswith("+")
    assert "and none would lose it" in said.text_of(app)
    typed.set_value(0.5001).run()
    assert app.select_slider[0].value == "0.5"
    assert metrics_of(app)["Decisions changed"] == "0"
    assert session.evaluator().n_open == asked
    assert store.review(review.id) == review


def test_figures_by_another_attribute_and_in_ranges(open_app: OpenApp, store: RunStore) -> None:
    review = group_cases.review_of(store)
    app = opened(open_app, review)
    assert app.selectbox(key=f"threshold_attribute_{review.id}").value == "age"
    rates = app.dataframe[0].value
    assert len(rates) > 2
    app.selectbox(key=f"threshold_attribute_{review.id}").set_value("sex").run()
    assert said.errors_of(app) == []
    assert sorted(app.dataframe[0].value["Group"]) == ["female", "male"]
    assert "4\u202f000 rows of the data" in said.text_of(app)


def test_four_fifths_are_found_and_left_again(open_app: OpenApp, store: RunStore) -> None:
    app = opened(open_app, group_cases.review_of(store))
    assert float(metrics_of(app)["Impact ratio"]) < 0.8
    assert "reaches four fifths (0.8, a convention) at" in said.text_of(app)
    button(app, "find").click().run()
    assert float(metrics_of(app)["Impact ratio"]) >= 0.8
    assert button(app, "find").disabled
    button(app, "back").click().run()
    assert app.select_slider[0].value == "0.5"


def test_a_threshold_is_used_like_one_of_the_scope_page(open_app: OpenApp, store: RunStore) -> None:
    review = group_cases.review_of(store)
    app = opened(open_app, review)
    app.number_input[0].set_value(0.3).run()
    chosen = app.select_slider[0].value
    button(app, "save").click().run()
    assert said.errors_of(app) == []
    saved = store.review(review.id)
    assert saved.scope is not None
    assert review.scope is not None
    assert saved.scope == replace(review.scope, threshold=float(chosen))
    assert replace(saved, scope=review.scope, revision=review.revision, changed=review.changed) == review
    assert f"Saved: the decision threshold of the review is {chosen}." in said.text_of(app)
    assert app.select_slider[0].value == chosen
    assert button(app, "save").disabled
    assert "The model's own threshold is 0.5." in said.text_of(app)
    app.number_input[0].set_value(0.5).run()
    button(app, "save").click().run()
    assert store.review(review.id).scope == review.scope  # the model's own again, so that earlier runs are of it


def test_what_becomes_of_earlier_runs_is_said_before(open_app: OpenApp, workspace: Path) -> None:
    review = group_cases.grouped_runs(workspace).review
    app = opened(open_app, review)
    assert "They stay readable" not in said.text_of(app)
    app.number_input[0].set_value(0.3).run()
    assert (
        "2 runs were made at the present threshold. They stay readable and belong to the old scope; new runs use the "
        "new threshold."
    ) in said.text_of(app)
    button(app, "save").click().run()
    app.number_input[0].set_value(0.1).run()
    assert "They stay readable" not in said.text_of(app)


def test_a_review_that_another_tab_changed_is_not_saved_over(open_app: OpenApp, store: RunStore) -> None:
    review = group_cases.review_of(store)
    app = opened(open_app, review)
    app.number_input[0].set_value(0.3).run()
    assert review.scope is not None
    store.save_review(replace(review, scope=replace(review.scope, score_gap=0.25)))
    button(app, "save").click().run()
    kept = store.review(review.id).scope
    assert kept is not None
    assert (kept.threshold, kept.score_gap) == (None, 0.25)
    (error,) = said.errors_of(app)
    assert "Nothing was saved: this review was changed in another tab at " in error
    chosen = float(app.select_slider[0].value)
    app.button(key="save_anyway").click().run()
    assert said.errors_of(app) == []
    kept = store.review(review.id).scope
    assert kept is not None
    assert (kept.threshold, kept.score_gap) == (chosen, 0.25)


def test_a_constant_model_has_nothing_to_move(open_app: OpenApp, store: RunStore, monkeypatch: Any) -> None:
    monkeypatch.setattr(questions, "ask", lambda *_: by_sex(n_scores=1))
    app = opened(open_app, group_cases.review_of(store))
    assert not app.select_slider
    assert [info.value for info in app.info] == [
        "The model gives all rows the same score, so that no threshold parts them."
    ]


def test_what_cannot_be_answered_is_said_with_a_way_out(open_app: OpenApp, store: RunStore, monkeypatch: Any) -> None:
    def refuse(*_: Any) -> None:
        raise RunError("The model's process has gone. Ask again.")

    monkeypatch.setattr(questions, "ask", refuse)
    app = open_app(GROUPS, review=group_cases.review_of(store).id, view="Threshold")
    assert said.errors_of(app) == ["The model's process has gone. Ask again."]
    assert "Change the scope" in said.links_of(app)


@pytest.mark.parametrize(
    "changes",
    [
        {"model_id": None, "fit": {"source": "labels", "predictions": ""}},
        {"fit": {"favourable": 1, "output": {"kind": "label"}, "rows_per_second": 1.0, "uses_protected": {}}},
        {"fit": {"favourable": 1, "n_classes": 3, "rows_per_second": 1.0, "uses_protected": {}}},
    ],
    ids=["labels alone", "a model that gives decisions", "three classes"],
)
def test_without_a_threshold_the_section_is_not_there(
    open_app: OpenApp, store: RunStore, changes: dict[str, Any]
) -> None:
    app = open_app(GROUPS, review=group_cases.review_of(store, **changes).id)
    assert said.errors_of(app) == []
    labels = [tab.label for tab in app.tabs]
    assert "Group figures" in labels
    assert "Threshold" not in labels
