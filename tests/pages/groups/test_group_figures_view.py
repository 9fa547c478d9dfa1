"""Group figures on the Groups page: verdicts in words, charts and their table, the file; the section with a real model
and without.
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
from fairness_engine.groups.figures.report import Bounded, FigureVerdict, GroupRates, GroupReport, GroupTable, Rate
from fairness_engine.store.store import RunStore
from pages.groups.figures import charts, phrases, view
from pages.shared.app import session, theme
from pages.shared.review import questions

GROUPS = "pages/groups/page.py"
SCHEMA = Schema(
    (
        Column("sex", Kind.CATEGORICAL, codes=("f", "m"), labels=("Women", "Men")),
        Column("race", Kind.CATEGORICAL, codes=("a", "b", "c"), labels=("A", "B", "C")),
        Column("age", Kind.INTEGER, minimum=18, maximum=77),
    ),
    protected=("sex", "race"),
)


def rate(n_hits: int, n: int) -> Rate:
    share = n_hits / n if n else 0.5
    return Rate(n_hits, n, max(0.0, share - 0.05), min(1.0, share + 0.05))


def group(label: str, n_hits: int, n: int, impact: Bounded | None, **changes: Any) -> GroupRates:
    return replace(GroupRates((label,), True, rate(n_hits, n), impact), **changes)


def by_sex(impact: Bounded | None, **changes: Any) -> GroupTable:
    """Women 200 of 1,000, men 400 of 1,000."""
    women = group("Women", 200, 1000, impact)
    men = group("Men", 400, 1000, impact and Bounded(1, 1, 1))
    table = GroupTable(("sex",), (women, men), 0, Bounded(0.2, 0.1, 0.3), Bounded(0.5, 0.4, 0.6), None)
    return replace(table, **changes)


FLAGGED = Bounded(0.5, 0.4, 0.6)
OPEN = Bounded(0.75, 0.66, 0.86)
PASSED = Bounded(0.95, 0.88, 1.0)


# --- words --------------------------------------------------------------------------------------


def test_each_verdict_says_why() -> None:
    def said_of(table: GroupTable) -> str:
        return phrases.verdict_sentence(table, SCHEMA)

    assert said_of(by_sex(FLAGGED)) == (
        "Women: 20 % favourable, impact ratio 0.50 (0.40 to 0.60) against Men. All of that interval lies below four "
        "fifths."
    )
    assert said_of(by_sex(OPEN)) == (
        "The rows do not settle whether every group reaches four fifths of the most favoured: the lowest impact ratio "
        "is 0.75 (0.66 to 0.86), Women against Men."
    )
    assert said_of(by_sex(PASSED)) == (
        "Every group compared reaches four fifths of the rate of the most favoured: the lowest impact ratio is 0.95 "
        "(0.88 to 1.00), Women against Men."
    )
    nobody = by_sex(None, groups=(group("Women", 0, 1000, None), group("Men", 0, 1000, None)))
    assert said_of(nobody) == "Nobody in these groups gets the favourable outcome: there is nothing to compare."
    alone = by_sex(None, groups=(group("Men", 400, 1000, None),))
    assert said_of(alone) == "Fewer than two groups have 2 % of the rows: there is nobody to compare with."


def test_a_small_group_is_said_to_be_left_out_and_is_no_flag() -> None:
    small = group("C", 0, 90, Bounded(0, 0, 0.2), is_compared=False)
    table = GroupTable(
        ("race",), (group("A", 400, 5000, PASSED), group("B", 405, 5000, PASSED), small), 0, None, None, None
    )
    assert table.verdict is FigureVerdict.PASS
    assert phrases.verdict_sentence(table, SCHEMA).startswith("Every group compared reaches four fifths")
    (note,) = phrases.notes(table, SCHEMA)
    assert note == (
        "Under 2 % of the rows: C (90 rows). It is left out: no measure for others, and no part of a verdict (a "
        "convention too). All of the interval lies below four fifths all the same: C 0.00 (0.00 to 0.20)."
    )
    assert phrases.meaning_of(table, small).name == "left out"
    assert charts.figures_frame(table, SCHEMA)["Verdict"].tolist()[-1] == "□ left out, under 2 %"


def test_of_a_small_group_that_may_fare_alike_nothing_more_is_said() -> None:
    small = group("C", 1, 9, Bounded(0.2, 0, 1.0), is_compared=False)
    table = GroupTable(("race",), (group("A", 400, 5000, PASSED), group("B", 405, 5000, PASSED), small), 0, *[None] * 3)
    (note,) = phrases.notes(table, SCHEMA)
    assert note.endswith("(a convention too).")


def test_unknown_rows_and_odds_are_noted() -> None:
    notes = phrases.notes(by_sex(OPEN, n_unknown=37, odds_difference=Bounded(0.12, 0.02, 0.2)), SCHEMA)
    assert (
        notes[0] == "37 rows of the file have no known sex and are left out: the groups may look different with them."
    )
    assert notes[1].startswith("Equalised odds difference 0.12 (0.02 to 0.20)")


def test_the_surest_flag_is_named_and_not_the_most_extreme() -> None:
    sure = group("A", 100, 1000, Bounded(0.25, 0.2, 0.3))
    wide = group("B", 0, 60, Bounded(0, 0, 0.7))
    small = group("D", 0, 30, Bounded(0, 0, 0.1), is_compared=False)
    groups = (sure, wide, group("C", 400, 1000, Bounded(1, 1, 1)))
    text = phrases.verdict_sentence(GroupTable(("race",), groups, 0, None, None, None), SCHEMA)
    assert text.startswith("A: 10 % favourable, impact ratio 0.25 (0.20 to 0.30) against C.")
    assert text.endswith("2 of 3 groups are flagged.")
    with_small = phrases.verdict_sentence(GroupTable(("race",), (*groups, small), 0, None, None, None), SCHEMA)
    assert with_small == text.replace("3 groups are", "3 groups that are compared are")


def test_labels_without_equalised_odds_say_why() -> None:
    women = group("Women", 200, 1000, OPEN, true_positive=rate(200, 1000), false_positive=rate(0, 0))
    (note,) = phrases.notes(by_sex(OPEN, groups=(women, by_sex(OPEN).groups[1])), SCHEMA)
    assert note.startswith("No equalised odds: a group compared has no row of one of the recorded outcomes")


def test_no_sentence_calls_anybody_fair() -> None:
    tables = [by_sex(impact) for impact in (FLAGGED, OPEN, PASSED, None)]
    texts = [phrases.verdict_sentence(table, SCHEMA) for table in tables if table.verdict]
    assert not any("fair" in text.lower() for text in (*texts, *phrases.MEANING_OF_VERDICTS))


def test_a_range_says_of_what_in_an_intersection() -> None:
    table = GroupTable(("sex", "age"), (group("x", 1, 2, None, labels=("Women", "18 to 29")),), 0, None, None, None)
    assert phrases.group_name(table, table.groups[0], SCHEMA) == "Women, age 18 to 29"


def test_what_the_figures_are_of() -> None:
    report = GroupReport((by_sex(OPEN),), 2000, 3, "vote")
    assert phrases.rows_sentence(report, ">50K") == (
        "2\u202f000 rows of the data; favourable is “>50K”, as column “vote” has it. 3 rows are left out: outside the "
        "limits of the scope, or without a decision."
    )


def test_the_card_escapes_what_a_file_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theme, "is_dark", lambda: False)
    schema = Schema(
        (Column("<i>sex</i>", Kind.CATEGORICAL, codes=("f", "m"), labels=("<b>f</b>", "m")),), protected=("<i>sex</i>",)
    )
    table = by_sex(
        FLAGGED, attributes=("<i>sex</i>",), groups=(group("<b>f</b>", 1, 10, FLAGGED), group("m", 9, 10, PASSED))
    )
    html = view.verdict_html(table, schema)
    assert "<i>" not in html
    assert "<b>" not in html
    assert "⚑ Flag" in html


# --- charts and tables --------------------------------------------------------------------------


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theme, "is_dark", lambda: False)


@pytest.mark.usefixtures("light")
def test_every_group_is_one_dot_marked_by_its_verdict() -> None:
    figure = charts.rates_chart(by_sex(FLAGGED), SCHEMA, ">50K")
    marked = {trace.name: list(trace.x) for trace in figure.data if len(trace.x)}
    assert marked == {"◇ highest rate": [40.0], "⚑ flag": [20.0]}
    (line,) = figure.layout.shapes
    assert line.x0 == pytest.approx(32)
    assert "four fifths of the rate of Men" in figure.layout.annotations[0].text
    assert list(figure.layout.yaxis.ticktext) == ["Men", "Women"]


@pytest.mark.usefixtures("light")
def test_ranges_keep_their_order_and_others_go_by_rate() -> None:
    ages = (group("18 to 29", 10, 100, OPEN), group("30 to 39", 30, 100, PASSED), group("40 to 49", 20, 100, OPEN))
    table = GroupTable(("age",), ages, 0, None, None, None)
    assert [each.labels[0] for each in charts.drawn(table, SCHEMA)] == [
        "18 to 29",
        "30 to 39",
        "40 to 49",
    ]
    races = replace(table, attributes=("race",))
    assert [each.labels[0] for each in charts.drawn(races, SCHEMA)] == [
        "30 to 39",
        "40 to 49",
        "18 to 29",
    ]


def test_of_many_groups_both_ends_are_drawn_and_the_table_has_all() -> None:
    many = tuple(group(f"group {i}", i, 100, OPEN) for i in range(1, 51))
    table = GroupTable(("race",), many, 0, None, None, None)
    drawn = charts.drawn(table, SCHEMA)
    assert len(drawn) == charts.MAX_DRAWN
    assert {drawn[0].labels[0], drawn[-1].labels[0]} == {"group 50", "group 1"}
    assert len(charts.figures_frame(table, SCHEMA)) == 50


@pytest.mark.usefixtures("light")
def test_rates_of_nobody_are_not_drawn() -> None:
    women = group("Women", 200, 1000, FLAGGED, true_positive=rate(200, 1000), false_positive=rate(0, 0))
    men = group("Men", 400, 1000, PASSED, true_positive=rate(300, 500), false_positive=rate(100, 500))
    true, false = charts.odds_chart(by_sex(FLAGGED, groups=(women, men)), SCHEMA).data
    assert (len(true.x), len(false.x)) == (2, 1)
    frame = charts.figures_frame(by_sex(FLAGGED, groups=(women, men)), SCHEMA)
    assert frame["False positive, interval"].tolist() == ["15.0 to 25.0", "no row"]


def test_the_file_has_every_number_and_is_safe() -> None:
    table = by_sex(FLAGGED, groups=(group("=1+1", 200, 1000, FLAGGED), group("Men", 400, 1000, PASSED)))
    content = charts.figures_csv((table, by_sex(None)), SCHEMA)
    read = pd.read_csv(io.StringIO(content.decode()))
    assert read["group"].tolist() == ["Men", "'=1+1", "Men", "Women"]
    assert read["rows"].tolist() == [1000] * 4
    assert read["impact_ratio"].tolist()[:2] == [0.95, 0.5]
    assert np.isnan(read["impact_ratio"][3])
    assert read["verdict"].tolist()[:2] == ["pass", "flag"]
    assert read["is_highest"].tolist() == [True, False, True, False]


# --- with a model, and without ------------------------------------------------------------------


@pytest.fixture(autouse=True)
def ended(workspace: Path) -> Iterator[None]:
    """Processes that answer questions are stopped after each test."""
    yield
    session.evaluator().close()


def verdicts_of(app: AppTest) -> list[str]:
    bodies = (str(element.proto.body) for element in app.main.get("html"))
    return [body for body in bodies if '<div class="eh-verdict">' in body]


def test_a_model_is_compared_by_its_attributes_and_together(open_app: OpenApp, store: RunStore) -> None:
    review = group_cases.review_of(store)
    app = open_app(GROUPS, review=review.id, view="Group figures")
    assert said.errors_of(app) == []
    assert len(verdicts_of(app)) == 4  # every protected attribute, and all three together
    assert "4\u202f000 rows of the data" in said.text_of(app)
    assert "by the model's decision on each row as it stands" in said.text_of(app)
    assert "Equalised odds difference" in said.text_of(app)
    app.multiselect(key=f"figures_attributes_{review.id}").set_value(["job"]).run()
    assert len(verdicts_of(app)) == 1
    app.multiselect(key=f"figures_attributes_{review.id}").set_value([]).run()
    assert [info.value for info in app.info] == ["Choose an attribute: the figures compare its groups."]


def test_a_link_to_figures_opens_the_table_that_it_is_about(open_app: OpenApp, store: RunStore) -> None:
    """A finding of one attribute by the label opened the model's table of all three."""
    review = group_cases.review_of(store)
    app = open_app(GROUPS, review=review.id, view="Group figures", by="job", decides="labels")
    assert said.errors_of(app) == []
    assert len(verdicts_of(app)) == 1
    assert not app.warning
    assert f"as column “{review.schema.label}” has it" in said.text_of(app)
    app.multiselect(key=f"figures_attributes_{review.id}_1").set_value(["sex", "job"]).run()
    assert len(verdicts_of(app)) == 3, "what is chosen afterwards stands"
    assert app.run().multiselect(key=f"figures_attributes_{review.id}_1").value == ["sex", "job"]
    unknown = open_app(GROUPS, review=review.id, view="Group figures", by="nobody")
    assert len(verdicts_of(unknown)) == 4, "a name that there is none of: as without a link"


def test_the_label_can_be_looked_at_beside_a_model(open_app: OpenApp, store: RunStore) -> None:
    review = group_cases.review_of(store)
    app = open_app(GROUPS, review=review.id, view="Group figures")
    app.button_group(key=f"figures_source_{review.id}").set_value("labels").run()
    assert said.errors_of(app) == []
    assert f"as column “{review.schema.label}” has it" in said.text_of(app)
    assert "Equalised odds" not in said.text_of(app)


def test_a_review_without_a_model_has_figures_of_its_label(open_app: OpenApp, store: RunStore) -> None:
    review = group_cases.review_of(store, model_id=None, fit={"source": "labels", "predictions": ""})
    app = open_app(GROUPS, review=review.id, view="Group figures")
    assert said.errors_of(app) == []
    assert len(verdicts_of(app)) == 4
    assert not any(button.key == f"figures_source_{review.id}" for button in app.get("button_group"))


def test_what_cannot_be_answered_is_said_with_a_way_out(open_app: OpenApp, store: RunStore, monkeypatch: Any) -> None:
    def refuse(*_: Any) -> None:
        raise RunError("The model's process has gone. Ask again.")

    monkeypatch.setattr(questions, "ask", refuse)
    app = open_app(GROUPS, review=group_cases.review_of(store).id, view="Group figures")
    assert said.errors_of(app) == ["The model's process has gone. Ask again."]
    assert "Change the scope" in said.links_of(app)
