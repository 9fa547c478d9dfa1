"""Two attributes at once: cells against counting by hand, words, picture, table, file; the section with a real run."""

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

import group_cases
from fairness_engine.groups.rule_sets.attributes import RuleAttribute
from fairness_engine.groups.rule_sets.result import RuleCells, RuleResult, ScoredRuleSets, Stage
from fairness_engine.intervals import share_interval
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.store import RunStore
from group_cases import Grouped
from pages.groups.two_attributes import cells as group_cells
from pages.groups.two_attributes import charts as group_matrix_chart
from pages.groups.two_attributes import phrases, view
from pages.shared.app import session, theme

GROUPS = "pages/groups/page.py"
SEX = RuleAttribute("sex", "categorical", ("Female", "Male"))
RACE = RuleAttribute("race", "categorical", ("A", "B", "C"))
AGE = RuleAttribute("age", "integer", ("18 to 29", "30 to 39"), (18.0, 30.0), (29.0, 39.0))
GENDER = RuleAttribute("gender", "term", ("he", "she"))
FAITH = RuleAttribute("faith", "term", ("jewish", "muslim", "sikh"))
CODES = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1), (1, 2, 0), (1, 2, 1)]
ROWS = [300, 100, 200, 250, 140, 9, 1]
DRAWN = [3000, 1000, 2000, 2500, 1400, 90, 0]
FAVOURABLE = [600, 400, 1000, 1500, 700, 9, 0]
"""Cells of sex, race and age; nobody is a woman of race C, and of the one older man of race C no sample was drawn."""


def scored(rules: list[list[int]], stage: int = 0, **changes: Any) -> ScoredRuleSets:
    """Rule sets with shares that do not matter, unless they are given."""
    n = len(rules)
    counts = {"n_rows": 100, "n_inside": 1000, "favourable_inside": 400, "n_outside": 1000, "favourable_outside": 500}
    arrays: dict[str, Any] = {name: np.full(n, number) for name, number in counts.items()}
    arrays |= {"low": np.zeros(n), "high": np.ones(n), "error": np.zeros(n), "stage": np.full(n, stage)}
    arrays |= {"is_rest": np.zeros(n, dtype=np.int64), "head": np.arange(n)} | changes
    return ScoredRuleSets(np.array(rules).reshape(n, -1), **arrays)


def people(stage: int = 0) -> RuleResult:
    """Rule sets on race; on sex and race; and on all three."""
    cells = RuleCells(*(np.array(each) for each in (CODES, ROWS, DRAWN, FAVOURABLE)))
    rules = [[-1, 1, -1], [0, 1, -1], [0, 0, 0], [0, 3, -1]]
    return RuleResult((SEX, RACE, AGE), sum(ROWS), scored(rules, stage), cells)


def texts() -> RuleResult:
    """Every pair of terms, and each term alone; no cells."""
    rules = [[i, j] for i in range(2) for j in range(3)] + [[i, -1] for i in range(2)]
    counts = {"n_rows": 50, "n_inside": 50, "n_outside": 250, "favourable_outside": 100}
    arrays: dict[str, Any] = {name: np.full(8, number) for name, number in counts.items()}
    favourable = np.array([10, 20, 30, 40, 50, 0, 25, 25])
    empty = RuleCells(np.empty((0, 2), np.int64), *(np.empty(0, np.int64) for _ in range(3)))
    return RuleResult((GENDER, FAITH), 60, scored(rules, favourable_inside=favourable, **arrays), empty)


# --- cells --------------------------------------------------------------------------------------


def test_cells_are_summed_over_the_other_attributes() -> None:
    cells = group_cells.cells_of(people(), 1, 0)
    assert (cells.down, cells.across) == (RACE.labels, SEX.labels)
    assert cells.n_rows.tolist() == [[400, 250], [200, 140], [0, 10]]
    assert cells.drawn.tolist() == [[4000, 2500], [2000, 1400], [0, 90]]
    assert cells.favourable.tolist() == [[1000, 1500], [1000, 700], [0, 9]]
    assert np.isnan(cells.share[2, 0])
    assert cells.share[0, 0] == 0.25
    assert cells.overall == pytest.approx(sum(FAVOURABLE) / sum(DRAWN))
    assert cells.is_few.tolist() == [[False, False], [False, False], [False, True]]


def test_either_attribute_may_run_down() -> None:
    one = group_cells.cells_of(people(), 1, 0)
    other = group_cells.cells_of(people(), 0, 1)
    assert np.array_equal(one.n_rows, other.n_rows.T)
    assert np.array_equal(one.favourable, other.favourable.T)


def test_a_third_attribute_leaves_rows_out_and_the_rest_together_is_all() -> None:
    young, old = (group_cells.cells_of(people(), 1, 0, {2: frozenset([value])}) for value in (0, 1))
    assert young.n_rows.tolist() == [[300, 250], [200, 0], [0, 9]]
    assert np.array_equal(young.n_rows + old.n_rows, group_cells.cells_of(people(), 1, 0).n_rows)
    assert young.overall == group_cells.cells_of(people(), 1, 0).overall


def test_one_attribute_alone() -> None:
    cells = group_cells.cells_of(people(), 0, None)
    assert cells.n_rows.tolist() == [[600], [400]]
    assert cells.favourable.tolist() == [[2000], [2209]]


def test_samples_have_intervals_and_what_is_exact_has_none() -> None:
    assert group_cells.cells_of(people(), 1, 0).ends(0, 0) == share_interval(1000, 4000)
    assert group_cells.cells_of(people(), 1, 0).ends(2, 0) is None
    exact = group_cells.cells_of(people(Stage.EXACT), 1, 0)
    assert exact.is_exact
    assert exact.ends(0, 0) is None
    of_rows = group_cells.cells_of(people(Stage.ROWS), 1, 0)
    assert of_rows.is_column
    assert of_rows.ends(0, 0) is not None


def test_terms_are_read_from_the_rule_sets_of_both_categories() -> None:
    cells = group_cells.cells_of(texts(), 1, 0)
    assert cells.is_text
    assert cells.favourable.tolist() == [[10, 40], [20, 50], [30, 0]]
    assert cells.drawn.tolist() == [[50, 50]] * 3
    assert cells.overall == 0.5
    assert not cells.is_few.any()
    assert cells.ends(0, 0) is None
    alone = group_cells.cells_of(texts(), 0, None)
    assert alone.favourable.tolist() == [[25], [25]]


def test_pairs_of_texts_are_those_that_were_scored_together() -> None:
    assert group_cells.pairs_with_cells(people()) == [(0, 1), (0, 2), (1, 2)]
    assert group_cells.pairs_with_cells(texts()) == [(0, 1)]
    alone = replace(texts(), scored=scored([[0, -1], [1, -1]]))
    assert group_cells.pairs_with_cells(alone) == []
    assert group_cells.first_pair(alone) is None
    assert [view.has_cells(result) for result in (people(), texts(), alone)] == [True, True, False]


def test_the_first_pair_is_that_of_the_highest_rule_set_that_has_one() -> None:
    assert group_cells.first_pair(people()) == (0, 1)
    assert group_cells.first_pair(replace(people(), scored=scored([[0, -1, -1], [-1, 0, 1]]))) == (1, 2)
    assert group_cells.first_pair(replace(people(), scored=scored([[0, -1, -1]]))) == (0, 1)


def test_a_cell_finds_its_rule_set() -> None:
    result = people()
    found = {
        values: group_cells.rule_set_of(result, {i: frozenset(some) for i, some in values})
        for values in (
            ((0, (0,)), (1, (1,))),
            ((0, (0,)), (1, (0,)), (2, (0,))),
            ((0, (0,)), (1, (0, 1))),
            ((0, (1,)), (1, (1,))),
        )
    }
    assert list(found.values()) == [1, 2, 3, None]
    one_sided = replace(result, attributes=(SEX, RACE, replace(AGE, labels=("1", "2", "3"), one_sided=True)))
    assert group_cells.rule_of(one_sided.attributes[2], frozenset([1])) is None


# --- words --------------------------------------------------------------------------------------


def test_the_summary_names_the_ends_and_leaves_out_cells_of_few() -> None:
    result = people()
    text = phrases.summary(result, group_cells.cells_of(result, 1, 0), {})
    assert text == (
        "Lowest: women, A, 25 % (24-26) favourable. Highest: men, A, 60 % (58-62). Everybody: 42.1 %. "
        "1 cell has under 2 % of the rows and is hatched: too few people to count here. 1 combination has no row."
    )


def test_the_summary_says_who_is_counted() -> None:
    result = people(Stage.EXACT)
    only = {2: frozenset([0])}
    text = phrases.summary(result, group_cells.cells_of(result, 1, 0, only), only)
    assert text.startswith(
        "Counted only: age 18 to 29. Lowest: women aged 29 or under, A, 20.0 % favourable. Highest: men"
    )


def test_cells_of_few_people_alone_are_not_ranked() -> None:
    result = people()
    only = {1: frozenset([2])}
    text = phrases.summary(result, group_cells.cells_of(result, 0, 2, only), only)
    assert text == "Counted only: race C. No cell has 2 % of the rows: every share here is of few people."


def test_a_cell_that_is_no_rule_set_says_why() -> None:
    result = people()
    cells = group_cells.cells_of(result, 1, 0)
    assert phrases.cell_sentence(result, cells, {}, 2, 1) == (
        "men, C: 10 % (5-18) favourable, everybody 42.1 %; 10 rows"
    )
    assert phrases.cell_sentence(result, cells, {}, 2, 0) == "women, C: no row of the data"
    assert phrases.why_not_scored(cells, 2, 0) == "Nobody in the data is like this."
    only = {2: frozenset([1])}
    assert phrases.cell_sentence(result, group_cells.cells_of(result, 1, 0, only), only, 2, 1).endswith(
        "no sample was drawn here"
    )


# --- picture and table --------------------------------------------------------------------------


def test_every_cell_is_drawn_once_with_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theme, "is_dark", lambda: False)
    cells = group_cells.cells_of(people(), 1, 0)
    filled, empty = group_matrix_chart.matrix_chart(cells, ("race", "sex"), ">50K", (0, 1)).data
    places = [tuple(place) for trace in (filled, empty) for place in trace.customdata]
    assert sorted(places) == [(i, j) for i in range(3) for j in range(2)]
    texts_of = dict(zip(map(tuple, filled.customdata), filled.text, strict=True))
    assert texts_of[(0, 0)] == "▼ 25.0 %<br>400 rows"
    assert texts_of[(0, 1)] == "△ 60.0 %<br>250 rows"
    assert texts_of[(2, 1)] == "▼ 10.0 %<br>only 10 rows"
    assert list(empty.text) == ["no row"]
    patterns = dict(zip(map(tuple, filled.customdata), filled.marker.pattern.shape, strict=True))
    assert [place for place, shape in patterns.items() if shape] == [(2, 1)]
    assert filled.marker.cmin == -filled.marker.cmax


def test_text_on_a_cell_can_be_read_in_both_themes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The contrast of the ink that is chosen is at least 4.5 : 1, as WCAG asks of text, whatever the strength of the
    colour.
    """

    def luminance(colour: np.ndarray) -> float:
        linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    def channels(colour: str) -> np.ndarray:
        return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255

    for dark in (False, True):
        monkeypatch.setattr(theme, "is_dark", lambda dark=dark: dark)
        low, middle, high = (channels(colour) for _, colour in group_matrix_chart._scale())
        for strength in np.linspace(-1, 1, 41).tolist():
            end = low if strength < 0 else high
            cell = luminance((1 - abs(strength)) * middle + abs(strength) * end)
            ink = luminance(channels(group_matrix_chart._ink_on(strength)))
            lighter = max(cell, ink)
            darker = min(cell, ink)
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (dark, strength)


def test_many_columns_show_less_and_the_hover_all() -> None:
    wide = RuleAttribute("job", "categorical", tuple(f"job {i}" for i in range(12)))
    codes = np.array([(0, i) for i in range(12)])
    cells = RuleCells(codes, np.full(12, 10), np.full(12, 100), np.arange(12))
    result = RuleResult((SEX, wide), 120, scored([[0, -1]]), cells)
    found = group_cells.cells_of(result, 0, 1)
    assert group_matrix_chart.cell_text(found, 0, 3) == "3"
    assert group_matrix_chart.hover_text(found, 0, 3).startswith(
        "<b>Female, job 3</b><br>3.0 % (0.6-8.5) favourable; everybody 5.5 %"
    )
    assert "10 rows, 8.3 % of all" in group_matrix_chart.hover_text(found, 0, 3)


def test_names_of_columns_fit_above_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few are wrapped, many stand on end where they are long, and nothing of the title is lost."""
    monkeypatch.setattr(theme, "is_dark", lambda: False)
    assert group_matrix_chart.ticks(("African-American", "Native American"), 6)["ticktext"] == [
        "African-<br>American",
        "Native<br>American",
    ]
    wide = RuleAttribute("job", "categorical", tuple(f"long name {i}" for i in range(12)))
    cells = RuleCells(np.array([(0, i) for i in range(12)]), np.full(12, 10), np.full(12, 100), np.arange(12))
    found = group_cells.cells_of(RuleResult((SEX, wide), 120, scored([[0, -1]]), cells), 0, 1)
    layout = group_matrix_chart.matrix_chart(found, ("sex", "job"), ">50K", None).layout
    assert layout.xaxis.tickangle == -90
    assert layout.title.text.endswith("by sex (down) and job (across)")


def test_labels_of_a_file_are_no_markup_in_the_hover() -> None:
    result = replace(people(), attributes=(replace(SEX, labels=("<b>x</b>", "Male")), RACE, AGE))
    assert "<b>x" not in group_matrix_chart.hover_text(group_cells.cells_of(result, 0, 1), 0, 0)


def test_one_attribute_is_bars_with_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theme, "is_dark", lambda: False)
    cells = group_cells.cells_of(people(), 0, None)
    (bars,) = view.picture_of(cells, ("sex",), ">50K", (0, 0)).data
    assert list(bars.x) == pytest.approx([100 * 2000 / 6000, 100 * 2209 / 3990])
    low, high = share_interval(2000, 6000)
    assert bars.error_x.array[0] == pytest.approx(100 * high - bars.x[0])
    assert bars.error_x.arrayminus[0] == pytest.approx(bars.x[0] - 100 * low)


def test_the_table_has_every_cell_and_the_file_is_safe() -> None:
    result = replace(people(), attributes=(replace(SEX, labels=("=1+1", "Male")), RACE, AGE))
    frame = view.matrix_frame(group_cells.cells_of(result, 1, 0), ("race", "sex"))
    assert len(frame) == 6
    assert frame["Rows"].sum() == sum(ROWS)
    assert frame["Favourable, %"].isna().sum() == 1
    assert frame["Under 2 %"].tolist() == ["", "", "", "", "", "yes"]
    read = pd.read_csv(io.StringIO(view.matrix_csv(frame).decode()))
    assert read["sex"].tolist()[0] == "'=1+1"
    exact = view.matrix_frame(group_cells.cells_of(people(Stage.EXACT), 1, 0), ("race", "sex"))
    assert "Low, %" not in exact.columns
    of_texts = view.matrix_frame(group_cells.cells_of(texts(), 1, 0), ("faith", "gender"))
    assert "Texts" in of_texts.columns
    assert "Under 2 %" not in of_texts.columns


# --- with a real run ----------------------------------------------------------------------------


@pytest.fixture
def grouped(workspace: Path) -> Iterator[Grouped]:
    yield group_cases.grouped_runs(workspace)
    session.evaluator().close()


@pytest.mark.thorough
def test_the_section_shows_the_pair_of_the_planted_group(open_app: OpenApp, grouped: Grouped) -> None:
    app = open_app(GROUPS, review=grouped.review.id, run=grouped.exact.id, view="Two attributes")
    assert said.errors_of(app) == []
    assert "Everybody:" in said.text_of(app)
    assert "of all neighbours of the rows" in said.text_of(app)
    (charts,) = app.get("plotly_chart")
    assert "by age (down) and sex (across)" in charts.proto.spec


def test_a_chosen_cell_opens_its_rule_set(open_app: OpenApp, grouped: Grouped, workspace: Path) -> None:
    result = stored_rules(RunStore(workspace), grouped.exact.id)
    app = open_app(GROUPS, review=grouped.review.id, run=grouped.exact.id, view="Two attributes")
    app.selectbox(key=f"matrix_pair_{grouped.exact.id}").set_value("sex and born in").run()
    names = [attribute.name for attribute in result.attributes]
    down = names.index("born_in")
    across = names.index("sex")
    key = f"matrix_{grouped.exact.id}_{down}_{across}_()"
    app.session_state[f"{key}_cell"] = (0, 0)
    app.run()
    assert said.errors_of(app) == []
    position = group_cells.rule_set_of(result, {down: frozenset([0]), across: frozenset([0])})
    assert position is not None
    app.button(key="matrix_open").click().run()
    assert app.query_params["rule"] in (str(position + 1), [str(position + 1)])
    assert app.session_state["view"] == "Rule sets"


def test_one_attribute_alone_has_a_section_too(open_app: OpenApp, store: RunStore) -> None:
    review = group_cases.review_of(
        store, scope=Scope(("age",)), model_id=None, fit={"source": "labels", "predictions": ""}
    )
    run = group_cases.run_of(store, review, source="labels")
    app = open_app(GROUPS, review=review.id, run=run.id, view="Two attributes")
    assert said.errors_of(app) == []
    assert "In a bar: the favourable share of the rows, with a 95 % interval" in said.text_of(app)
    assert len(app.get("plotly_chart")) == 1


def test_a_filter_counts_only_some_people(open_app: OpenApp, grouped: Grouped) -> None:
    app = open_app(GROUPS, review=grouped.review.id, run=grouped.exact.id, view="Two attributes")
    app.selectbox(key=f"matrix_pair_{grouped.exact.id}").set_value("sex and born in").run()
    (third,) = [box for box in app.selectbox if box.label == "Whom to count"]
    third.set_value("age").run()
    (values,) = [box for box in app.multiselect if box.label == "Only age"]
    values.set_value([2, 3]).run()
    assert said.errors_of(app) == []
    assert "Counted only: age" in said.text_of(app)
