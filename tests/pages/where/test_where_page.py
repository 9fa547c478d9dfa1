"""The Where page: what it says, the picture, the table, the file, and the way to a group's pairs."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pair_cases
import pandas as pd
import pytest
import said
from said import OpenApp

import run_cases
from fairness_engine.errors import FitError
from fairness_engine.explanation.where import Node, Where, leaf_of
from fairness_engine.explanation.where_tree import Condition
from fairness_engine.oracle.domain import Distribution, Domain, Scope
from fairness_engine.pairs import Pairs
from fairness_engine.store.store import RunStore
from pages.shared.app import session
from pages.shared.pairs.filters import PairFilter, matching
from pages.where import charts, view
from run_cases import Finished

WHERE = "pages/where/page.py"
ROWS = view.rows_in_words(Distribution.DATA)
JOBS = 2
AGE = 3
WEALTH = 4


def node(parent: int, conditions: tuple[Condition, ...], counts: tuple[int, int], *, is_leaf: bool = True) -> Node:
    """Counts of the measured half; the learnt half had the same."""
    return Node(parent, conditions, is_leaf, *counts, *counts)


def groups() -> Where:
    """Everybody (300 rows, 66 discriminatory), split by job, the nurses by age."""
    hostile = Condition(JOBS, positions=(0, 1))
    nurse = Condition(JOBS, positions=(2,))
    nodes = (
        node(-1, (), (300, 66), is_leaf=False),
        node(0, (hostile,), (100, 0)),
        node(0, (nurse,), (200, 66), is_leaf=False),
        node(2, (nurse, Condition(AGE, 18, 45)), (120, 60)),
        node(2, (nurse, Condition(AGE, 46, 90)), (80, 6)),
    )
    return Where(Distribution.DATA, nodes, 1800, 0.3, 600, Pairs.concatenate([], 5))


def nobody(n_learnt_hits: int = 0) -> Where:
    root = Node(-1, (), True, 300, n_learnt_hits, 300, 0)
    return replace(groups(), nodes=(root,))


def test_the_summary_names_what_every_share_is_of() -> None:
    first, second = view.summary(groups(), pair_cases.domain(), ROWS)
    assert first == (
        "▲ For 22 % (17-27) of rows of the data the decision changes when nothing but sex and race changes."
    )
    assert second == (
        "1 group of 3 lies clearly above that: it holds 40 % of rows of the data and 90.9 % of the discriminatory "
        "ones. The largest share, 50 % (41-59), is where job is nurse and age at most 45."
    )


def test_groups_that_differ_by_chance_are_not_called_worse() -> None:
    whole = node(-1, (), (300, 66), is_leaf=False)
    first = Condition(AGE, 18, 45)
    second = Condition(AGE, 46, 90)
    found = replace(groups(), nodes=(whole, node(0, (first,), (150, 35)), node(0, (second,), (150, 31))))
    assert found.flagged == []
    assert "No group lies clearly above that." in view.summary(found, pair_cases.domain(), ROWS)[1]


def test_none_found_says_what_may_still_be() -> None:
    (text,) = view.summary(nobody(), pair_cases.domain(), ROWS)
    assert text == (
        "None found among 600 rows tested (rows of the data): for nobody the decision changes when nothing but sex "
        "and race changes. At 95 % confidence the share is below 0.61 %."
    )
    (few,) = view.summary(nobody(2), pair_cases.domain(), ROWS)
    assert few == "Too few to say where: 2 of 600 rows of the data tested are discriminatory."


def test_with_a_score_gap_it_is_the_score_that_moves() -> None:
    domain = Domain(pair_cases.schema(), Scope(("sex",), score_gap=0.1))
    assert "of rows of the data the score moves by more than 0.1 when" in view.summary(groups(), domain, ROWS)[0]
    assert (
        "for nobody the score moves by more than 0.1 when nothing but sex changes"
        in view.summary(nobody(), domain, ROWS)[0]
    )


def test_a_share_that_is_the_same_everywhere_is_said_so() -> None:
    root = node(-1, (), (300, 66))
    texts = view.summary(replace(groups(), nodes=(root,)), pair_cases.domain(), ROWS)
    assert texts[1].startswith("No condition on the other attributes tells for whom")


def test_the_note_says_how_and_what_there_was_no_time_for() -> None:
    note = view.method_note(groups(), ROWS)
    assert "learnt on 300 rows; all figures are of 300 others (rows of the data)" in note
    assert "right about 78 % of them, one answer for everybody about 78 %" in note
    assert "There was time" not in note
    assert "There was time for 600 of 40\u202f000 rows." in view.method_note(replace(groups(), n_wanted=40_000), ROWS)


def test_the_table_is_ranked_and_its_parts_make_the_whole() -> None:
    table = charts.group_table(groups(), pair_cases.domain(), {3: 7, 4: 1})
    assert table["Group"].tolist() == ["▲ 1", "2", "3"]
    assert table[charts.SHARE].tolist() == pytest.approx([50, 7.5, 0])
    assert table[charts.PART].sum() == pytest.approx(100)
    assert table[charts.PAIRS].tolist() == [7, 1, 0]
    assert table["Rows"].sum() == 300


def test_the_file_names_every_label_and_its_formulas_are_harmless() -> None:
    content = charts.groups_csv(groups(), pair_cases.domain(), None).decode()
    table = pd.read_csv(io.StringIO(content))
    assert table["Share of"].tolist() == ["data"] * 3
    assert table["Discriminatory"].tolist() == [60, 6, 0]
    assert (table["Low, %"] <= table["Share, %"]).all()
    assert (table["Share, %"] <= table["High, %"]).all()
    assert not [cell for cell in table["Conditions"] if cell.startswith(("=", "+", "-", "@"))]


def test_the_picture_lays_parts_inside_their_whole() -> None:
    found = groups()
    boxes = charts._boxes(found)
    for i, part in enumerate(found.nodes):
        if part.parent >= 0:
            whole = found.nodes[part.parent]
            assert boxes[part.parent].top <= boxes[i].top
            assert boxes[i].top + part.n <= boxes[part.parent].top + whole.n
            assert boxes[i].left == boxes[part.parent].right
    assert {boxes[i].right for i in found.leaves} == {3}, "groups without parts reach the right end"


def test_the_picture_tells_by_hatch_and_text_and_holds_no_markup() -> None:
    figure = charts.tree_chart(groups(), pair_cases.domain(), "rows of the data", 3)
    (bars,) = figure.data
    assert list(bars.marker.pattern.shape) == ["", "", "", "/", ""]
    assert bars.text[3] == "age at most 45<br>▲ 50 % of 120 rows"
    assert bars.text[1].endswith("<br>none of 100 rows")
    texts = "".join([*bars.text, *bars.customdata]).replace("<br>", "")
    assert "<" not in texts
    frame = figure.layout.shapes[0]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (2, 3, 100, 220)


@pytest.mark.parametrize(
    ("points", "expected"),
    [([], None), ([{"point_index": 3}], 3), ([{"point_index": 2}], None), ([{"point_index": 9}], None), ([{}], None)],
)
def test_only_a_group_without_parts_can_be_chosen(points: list[dict[str, int]], expected: int | None) -> None:
    assert charts.clicked_leaf(groups(), points) == expected


def test_a_groups_filter_lets_its_pairs_through_and_no_other() -> None:
    domain = pair_cases.domain()
    found = groups()
    rows = domain.sample(500, np.random.default_rng(0))
    zeros = np.zeros(500)
    ones = np.ones(500, np.int64)
    pairs = Pairs(rows, domain.with_variant(rows, ones), zeros, zeros, ones, ones, ones)
    leaves = leaf_of(found.nodes, rows)
    held = view.group_filter(domain, found.nodes[3])
    assert held == PairFilter(values={"job": (2.0,)}, ranges={"age": (18.0, 45.0)})
    for leaf in found.leaves:
        wanted = view.group_filter(domain, found.nodes[leaf])
        assert matching(domain, pairs, wanted).tolist() == np.flatnonzero(leaves == leaf).tolist()


# --- on the page --------------------------------------------------------------------------------


@pytest.fixture
def finished(workspace: Path) -> Iterator[Finished]:
    """A workspace with runs that ended; the model's process is stopped afterwards."""
    yield run_cases.finished_runs(workspace)
    session.evaluator().close()


def test_a_review_without_a_scope_is_sent_there(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(WHERE, review=run_cases.review_of(store, scope=None).id)
    assert said.errors_of(app) == []
    assert said.links_of(app) == ["Go to Scope"]


def test_the_planted_rule_is_found(open_app: OpenApp, finished: Finished) -> None:
    """The sample's model was made to refuse women with 16 or more years of education who work less than 40 hours."""
    app = open_app(WHERE, review=finished.review.id)
    assert said.errors_of(app) == []
    conditions = app.dataframe[0].value["Conditions"][0]
    assert "education_years at least 16" in conditions
    assert "hours_per_week at most 39" in conditions
    assert "For example:" in said.text_of(app)
    text = said.text_of(app).replace("\\", "")
    assert "Findings names the groups that hold most of those whom the data scan found: people with education" in text
    assert "See Findings" in said.links_of(app)


def test_groups_of_uniform_rows_are_not_set_beside_those_of_people(open_app: OpenApp, finished: Finished) -> None:
    app = open_app(WHERE, review=finished.review.id)
    app.segmented_control(key="where_distribution").set_value(Distribution.UNIFORM).run()
    assert said.errors_of(app) == []
    assert "the data scan found" not in said.text_of(app)


@pytest.mark.thorough
def test_show_these_pairs_sets_the_filters_of_the_pairs_page(open_app: OpenApp, finished: Finished) -> None:
    app = open_app(WHERE, review=finished.review.id, run=finished.searches[-1].id)
    n = int(app.dataframe[0].value[charts.PAIRS][0])
    assert 0 < n < finished.searches[-1].n_found
    app.button(key="where_pairs").click().run()
    assert said.errors_of(app) == []
    assert app.title[0].value == "Pairs"
    assert f"{n} match the filters" in said.text_of(app).replace("\u202f", "")
    held = app.session_state[f"pair_filter_{finished.review.id}"]
    assert set(held.ranges) >= {"education_years", "hours_per_week"}


def test_uniform_rows_give_shares_of_uniform_rows(open_app: OpenApp, finished: Finished) -> None:
    app = open_app(WHERE, review=finished.review.id)
    app.segmented_control(key="where_distribution").set_value(Distribution.UNIFORM).run()
    assert said.errors_of(app) == []
    text = said.text_of(app)
    assert "of uniform rows the decision changes" in text
    assert "of rows of the data" not in text


def test_a_model_without_discrimination_is_told_with_its_bound(open_app: OpenApp, finished: Finished) -> None:
    app = open_app(WHERE, review=str(finished.without_pairs.review_id))
    assert said.errors_of(app) == []
    assert "None found among 5 000 rows tested (rows of the data)".replace(" ", "") in said.text_of(app).replace(
        "\u202f", ""
    ).replace(" ", "")
    assert said.links_of(app) == ["Plan a search", "Change the scope"]
    assert not app.dataframe


def test_a_model_that_cannot_be_searched_is_refused_in_a_sentence(
    open_app: OpenApp, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Where:
        raise FitError("The model must take a protected attribute, but sex is not among its inputs.")

    monkeypatch.setattr(session.evaluator(), "ask", refuse)
    app = open_app(WHERE, review=finished.review.id)
    assert said.errors_of(app) == ["The model must take a protected attribute, but sex is not among its inputs."]
