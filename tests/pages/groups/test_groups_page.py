"""The Groups page with real runs: form, result in words, filters, the open rule set, pins, files; runs that ended
early.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

import group_cases
from fairness_engine.events import Progress
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.alive import host_name, process_start_time
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.store import RunStore
from group_cases import PLANTED, Grouped
from pages.groups.rule_sets import cards, charts, phrases, view
from pages.groups.rule_sets import table as rules_table
from pages.groups.rule_sets.cards import RuleFilter
from pages.shared.app import session

GROUPS = "pages/groups/page.py"


@pytest.fixture
def grouped(workspace: Path) -> Iterator[Grouped]:
    """A workspace with runs of rule sets that ended; the model's process is stopped afterwards."""
    yield group_cases.grouped_runs(workspace)
    session.evaluator().close()


def html_of(app: AppTest) -> str:
    """All HTML of the page but style sheets."""
    bodies = (str(element.proto.body) for element in app.main.get("html"))
    return "\n".join(body for body in bodies if not body.lstrip().startswith("<style"))


def cards_of(app: AppTest) -> list[str]:
    """The ranked cards, as HTML, in their order."""
    return [body for body in html_of(app).split('<div class="eh-rule">') if "eh-rule-rank" in body]


def result_of(workspace: Path, run: RunRecord) -> RuleResult:
    """What a run left, read without the page."""
    return stored_rules(RunStore(workspace), run.id)


# --- before a run -------------------------------------------------------------------------------


def test_a_review_without_a_scope_is_sent_there(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(GROUPS, review=group_cases.review_of(store, scope=None).id)
    assert said.errors_of(app) == []
    assert said.links_of(app) == ["Go to Scope"]


def test_the_form_starts_one_run_with_what_was_asked(open_app: OpenApp, store: RunStore, started: list[str]) -> None:
    review = group_cases.review_of(store)
    app = open_app(GROUPS, review=review.id)
    assert said.errors_of(app) == []
    assert "64\u202f000 rows evaluated (every neighbour of every row" in said.text_of(app)
    app.multiselect(key=f"rules_protected_{review.id}").set_value(["born_in", "age", "housing_loan"])
    app.number_input(key="rules_support").set_value(2.5)
    app.number_input(key="rules_most").set_value(2)
    app.segmented_control(key="rules_error").set_value("1 point")
    app.radio(key="rules_edges").set_value("equal")
    app.checkbox(key="rules_one_sided").check()
    app.number_input(key="rules_seed").set_value(7)
    app.button(key="rules_start").click().run()
    assert said.errors_of(app) == []
    (run,) = store.runs(review.id)
    assert started
    assert (run.config.kind, run.config.seed, run.config.budget.max_seconds) == ("rules", 7, 60.0)
    assert run.config.scope.protected == ("born_in", "age", "housing_loan")
    asked = {name: run.config.settings[name] for name in ("support", "error", "edges", "max_attributes", "one_sided")}
    assert asked == {"support": 0.025, "error": 0.01, "edges": "equal", "max_attributes": 2, "one_sided": True}
    assert app.query_params["run"] == run.id
    assert "◌ Waiting" in said.text_of(app)


def test_without_an_attribute_nothing_starts(open_app: OpenApp, store: RunStore) -> None:
    review = group_cases.review_of(store)
    app = open_app(GROUPS, review=review.id)
    app.multiselect(key=f"rules_protected_{review.id}").set_value([]).run()
    assert app.button(key="rules_start").disabled
    assert "Choose at least one attribute." in said.text_of(app)


def test_a_review_of_a_column_starts_a_run_without_a_model(
    open_app: OpenApp, store: RunStore, started: list[str]
) -> None:
    review = group_cases.review_of(store, model_id=None, fit={"source": "labels", "predictions": ""})
    app = open_app(GROUPS, review=review.id)
    assert said.errors_of(app) == []
    assert "No model is asked" in said.text_of(app)
    app.button(key="rules_start").click().run()
    assert said.errors_of(app) == []
    (run,) = store.runs(review.id)
    assert started
    assert (run.config.model_id, run.config.settings["source"]) == ("", "labels")


# --- while it works, and runs that ended early --------------------------------------------------


def test_a_run_at_work_says_what_it_does_and_can_be_stopped(open_app: OpenApp, store: RunStore) -> None:
    review = group_cases.review_of(store)
    run_id = store.create_run(group_cases.config_of(review), review.id)
    assert store.claim(run_id, host_name(), os.getpid(), str(process_start_time(os.getpid())))
    store.add_progress(run_id, Progress(80_000, 20.0, 766, 0, "drawing samples for all groups at once"))
    app = open_app(GROUPS, run=run_id)
    assert said.errors_of(app) == []
    shown = {metric.label: metric.value for metric in app.metric}
    assert (shown["Groups"], shown["Rows a second"]) == ("766", "4\u202f000")
    app.button(key="stop_rules").click().run()
    assert store.run(run_id).is_cancel_requested
    assert app.button(key="stop_rules").disabled
    store.finish(run_id, RunState.CANCELLED)


def test_a_run_that_failed_says_why_and_offers_the_form(open_app: OpenApp, store: RunStore) -> None:
    review = group_cases.review_of(store)
    run = group_cases.run_of(store, review, support=0.999)
    assert run.state is RunState.FAILED
    app = open_app(GROUPS, run=run.id)
    (error,) = said.errors_of(app)
    assert "largest" in error
    assert "Nothing was scored up to then." in error
    assert app.button(key="rules_start")
    session.evaluator().close()


def test_a_run_that_was_stopped_before_anything_was_scored(open_app: OpenApp, store: RunStore) -> None:
    review = group_cases.review_of(store)
    run_id = store.create_run(group_cases.config_of(review), review.id)
    store.request_cancel(run_id)
    app = open_app(GROUPS, run=run_id)
    assert said.errors_of(app) == []
    assert "You stopped it. Nothing was scored up to then." in said.text_of(app)
    assert not cards_of(app)


# --- the result ---------------------------------------------------------------------------------


def test_the_planted_group_stands_on_top(open_app: OpenApp, grouped: Grouped) -> None:
    app = open_app(GROUPS, run=grouped.exact.id)
    assert said.errors_of(app) == []
    first = cards_of(app)[0]
    assert PLANTED in first
    assert "▼ harmed" in first
    assert "<b>21.3 %</b> favourable, everyone else <b>53.0 %</b>" in first
    assert "31.7 points, counted" in first
    assert "This is the largest difference: 31.7 points, counted." in html_of(app)
    text = said.text_of(app)
    assert "766 rule sets of at least 5 % of the 4\u202f000 rows" in text
    assert "Exact: all 64\u202f000 neighbours of the rows were evaluated" in text
    assert "THEMIS" in text
    assert len(app.get("plotly_chart")) == 2


def test_a_sampled_run_says_its_error_and_what_may_be_chance(open_app: OpenApp, grouped: Grouped) -> None:
    app = open_app(GROUPS, run=grouped.sampled.id)
    assert said.errors_of(app) == []
    assert "intervals hold for all of them together with 95 % confidence" in said.text_of(app)
    app = open_app(GROUPS, run=grouped.sampled.id, rule="1")
    assert "It reaches down to 0: this difference may be chance." in said.text_of(app)


def test_the_headline_tells_a_difference_that_is_more_than_chance(grouped: Grouped, workspace: Path) -> None:
    result = result_of(workspace, grouped.exact)

    def with_lows(**lows: float) -> RuleResult:
        low = np.zeros_like(result.scored.low)
        for at, value in lows.items():
            low[int(at.removeprefix("at"))] = value
        own = np.arange(len(low), dtype=np.int64)
        return replace(result, scored=replace(result.scored, low=low, head=own, is_rest=np.zeros_like(own)))

    assert phrases.headline(with_lows(), 0).startswith("No group stands out")
    text = phrases.headline(with_lows(at5=0.01), 0)
    assert text.startswith(phrases.group_sentence(result, 5)), "the highest that is no chance, not the one on top"
    assert "the largest difference that is more than chance" in text
    text = phrases.headline(with_lows(at0=0.01, at5=0.01), 5)
    assert "once near-duplicates are folded" in text, "rank 1 stands in the table below, with a higher score"
    assert f"Rank 1 has {phrases.points(float(result.scored.score[0]))}, but is folded into" in text


def test_labels_alone_are_compared_without_a_model(open_app: OpenApp, grouped: Grouped) -> None:
    app = open_app(GROUPS, run=grouped.labels.id, rule="1")
    assert said.errors_of(app) == []
    assert "as “offer” has them; no model was asked" in said.text_of(app)
    assert "The data's own" not in said.text_of(app), "the labels are what was compared"


def test_a_review_of_a_column_says_why_a_group_has_no_pairs(open_app: OpenApp, store: RunStore) -> None:
    review = group_cases.review_of(store, model_id=None, fit={"source": "labels", "predictions": ""})
    run = group_cases.run_of(store, review, source="labels", max_attributes=1)
    app = open_app(GROUPS, run=run.id, rule="1")
    app.session_state[f"rule_people_{run.id}_0"] = True
    app.run()
    assert said.errors_of(app) == []
    assert "No pairs. Searches and proofs ask a model, and this review has none" in said.text_of(app)


def test_a_card_says_of_a_difference_that_may_be_none_that_it_may_be_chance(grouped: Grouped, workspace: Path) -> None:
    result = result_of(workspace, grouped.exact)
    low = result.scored.low.copy()
    low[1] = 0.0
    doubtful = replace(result, scored=replace(result.scored, low=low))
    assert "may be chance" in cards.card_html(doubtful, 1)
    assert "may be chance" not in cards.card_html(doubtful, 0)


def test_filters_narrow_what_is_listed(open_app: OpenApp, grouped: Grouped, workspace: Path) -> None:
    app = open_app(GROUPS, run=grouped.exact.id)
    key = f"rules_filter_{grouped.exact.id}"
    app.segmented_control(key=f"{key}_direction").set_value("favoured").run()
    assert all("△ favoured" in card for card in cards_of(app))
    app.segmented_control(key=f"{key}_direction").set_value("Both")
    app.slider(key=f"{key}_support").set_value(40.0).run()
    assert said.errors_of(app) == []
    result = result_of(workspace, grouped.exact)
    n = int(((result.scored.n_rows >= 0.4 * result.n_rows) & (result.scored.is_rest == 0)).sum())
    assert f"{n} of 766 rule sets match" in said.text_of(app)
    app.multiselect(key=f"{key}_attributes").set_value(["sex", "born_in"])
    app.selectbox(key=f"{key}_n").set_value(1).run()
    assert "No group matches the filters." in said.text_of(app)
    assert not cards_of(app)


def test_each_family_is_shown_once(grouped: Grouped, workspace: Path) -> None:
    result = result_of(workspace, grouped.exact)
    found = cards.families(result, cards.matching(result, RuleFilter(0.0, leaves_out_rest=False)))
    listed = [*found.shown.tolist(), *(other for like in found.families.values() for other in like.tolist())]
    assert sorted(listed) == list(range(len(result.scored))), "nothing is lost, nothing stands twice"
    assert (np.diff(found.shown) > 0).all(), "the largest difference first"
    heads = result.scored.head[found.shown]
    assert ((heads == found.shown) | (heads < 0)).all()


def test_what_is_folded_is_named_for_what_it_is(grouped: Grouped, workspace: Path) -> None:
    result = result_of(workspace, grouped.exact)
    harmed, favoured = (np.flatnonzero(result.scored.is_harmed == which) for which in (True, False))
    top = int(harmed[0])
    assert cards.like_title(result, top, harmed[1:2]) == "1 more that is nearly the same people"
    assert (
        cards.like_title(result, top, favoured[:2]) == "2 more that are nearly everyone else, seen from the other side"
    )
    both = np.concatenate([harmed[1:2], favoured[:1]])
    assert cards.like_title(result, top, both) == "2 more that are nearly the same people, or nearly everyone else"


def test_a_family_whose_head_is_filtered_out_is_shown_by_its_next(grouped: Grouped, workspace: Path) -> None:
    result = result_of(workspace, grouped.exact)
    members = np.flatnonzero((result.scored.head >= 0) & (result.scored.head != np.arange(len(result.scored))))
    head = int(result.scored.head[members[0]])
    like = np.flatnonzero(result.scored.head == head)
    found = cards.families(result, like[like != head])
    assert found.shown.tolist() == [int(like[like != head][0])]


# --- one rule set -------------------------------------------------------------------------------


def test_a_link_opens_its_rule_set_with_samples_and_labels(open_app: OpenApp, grouped: Grouped) -> None:
    app = open_app(GROUPS, run=grouped.exact.id, rule="1")
    assert said.errors_of(app) == []
    assert "Rule set 1" in said.text_of(app)
    sides = next(body for body in html_of(app).split("<table") if "eh-sides" in body)
    assert "<td>The group</td><td>21.3 %</td>" in sides
    data = pd.read_csv(Path("sample_data/marketing.csv"))
    assert "The data's own “offer” says of the same people" in said.text_of(app)
    planted = data[data.age.between(40, 59) & (data.sex == "male") & data.born_in.isin(["Africa", "Asia"])]
    assert f"{len(planted)} (" in sides.replace("\u202f", "")
    share = 100 * (planted.offer == "yes").mean()
    assert f"says of the same people: {share:.0f} %" in said.text_of(app)


def test_an_address_with_a_section_that_is_not_there(open_app: OpenApp, grouped: Grouped) -> None:
    app = open_app(GROUPS, run=grouped.exact.id, view="Nonsense")
    assert said.errors_of(app) == []
    assert PLANTED in cards_of(app)[0]


def test_a_link_to_a_rule_set_that_is_not_there_opens_none(open_app: OpenApp, grouped: Grouped) -> None:
    for rank in ("0", "767", "-1", "1e3", "²", ""):
        app = open_app(GROUPS, run=grouped.exact.id, rule=rank)
        assert said.errors_of(app) == []
        assert "Choose a group in the chart" in said.text_of(app)


def test_open_close_and_pin(open_app: OpenApp, grouped: Grouped, workspace: Path) -> None:
    app = open_app(GROUPS, run=grouped.exact.id)
    app.button(key=f"rule_open_{grouped.exact.id}_2").click().run()
    assert app.query_params["rule"] == "3"
    assert "Rule set 3" in said.text_of(app)
    said.pop_up(app, f"rule_pin_{grouped.exact.id}_2")
    app.text_area(key=f"rule_note_{grouped.exact.id}_2").set_value("ask legal")
    app.button(key="rule_pin_save").click().run()
    (pin,) = RunStore(workspace).rule_pins(grouped.review.id)
    assert (pin.run_id, pin.rule_index, pin.note) == (grouped.exact.id, 2, "ask legal")
    again = said.pop_up(open_app(GROUPS, run=grouped.exact.id, rule="3"), f"rule_pin_{grouped.exact.id}_2")
    assert again.text_area(key=f"rule_note_{grouped.exact.id}_2").value == "ask legal"
    again.toggle(key=f"rules_pinned_{grouped.exact.id}").set_value(True).run()
    (card,) = cards_of(again)
    assert '<span class="eh-rule-rank">3</span>' in card
    assert "1 of 766 rule sets match" in said.text_of(again)
    again.button(key="rule_pin_remove").click().run()
    assert RunStore(workspace).rule_pins(grouped.review.id) == []
    app.button(key="rule_close").click().run()
    assert "rule" not in app.query_params


# --- files, curve, words elsewhere --------------------------------------------------------------


def test_the_file_has_all_rule_sets_and_recomputes(grouped: Grouped, workspace: Path) -> None:
    result = result_of(workspace, grouped.exact)
    table = pd.read_csv(io.BytesIO(rules_table.rules_csv(result, np.arange(len(result.scored)))))
    assert len(table) == 766
    assert table["Group"][0] == PLANTED
    assert np.allclose((table["Favourable"] - table["Everyone else"]).abs(), table["Score"])
    assert np.allclose(table["Rows"] / result.n_rows, table["Share of the rows"])


def test_ranks_that_the_chart_leaves_out_stand_beside_the_group_that_they_are_like(
    grouped: Grouped, workspace: Path
) -> None:
    result = result_of(workspace, grouped.exact)
    ranked = cards.families(result, cards.matching(result, cards.RuleFilter(0.0)))
    drawn = charts.dot_chart(result, ranked.shown[:10], None, ranked.families)
    texts = [note.text for note in drawn.layout.annotations]
    n_told = 0
    for position, text in zip(ranked.shown[:10].tolist(), texts, strict=True):
        like = ranked.families.get(position, [])
        n_told += bool(len(like))
        assert text.startswith(f"<b>{position + 1}</b>")
        assert ("folded into it" in text) == bool(len(like))
        if 0 < len(like) <= 4:
            ranks = ", ".join(str(other + 1) for other in sorted(like))
            assert f">{len(like)} folded into it: {ranks}<" in text
        elif len(like) > 4:
            assert f">{len(like)} folded into it: {min(like) + 1}, " in text
            assert text.endswith(", …</span>")
    assert n_told


def test_a_name_that_a_spreadsheet_would_run_is_defused(grouped: Grouped, workspace: Path) -> None:
    result = result_of(workspace, grouped.exact)
    attributes = tuple(
        replace(each, name="=cmd", labels=tuple(f"={label}" for label in each.labels))
        if each.name == "born_in"
        else each
        for each in result.attributes
    )
    hostile = replace(result, attributes=attributes)
    table = pd.read_csv(io.BytesIO(rules_table.rules_csv(hostile, np.arange(20))))
    assert not table["Group"].str.startswith(("=", "+", "-", "@")).any()


def test_labels_of_a_file_are_only_text(grouped: Grouped, workspace: Path) -> None:
    result = result_of(workspace, grouped.exact)
    attributes = tuple(
        replace(each, labels=tuple(f"<script>{label}</script>" for label in each.labels))
        if each.name == "born_in"
        else each
        for each in result.attributes
    )
    hostile = replace(result, attributes=attributes)
    drawn = charts.dot_chart(hostile, np.arange(5), None).to_json()
    for text in (cards.card_html(hostile, 0), cards.like_title(hostile, 0, np.arange(1, 3)), drawn):
        assert "<script" not in text
    assert "&lt;script&gt;Africa" in cards.card_html(hostile, 0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("men, African-American", "Men, African-American"),
        ("not White", "Not White"),
        ("racePctWhite 0.7 or more", "racePctWhite 0.7 or more"),
        ("“gay”", "“gay”"),
    ],
)
def test_only_our_own_words_begin_with_a_capital(text: str, shown: str) -> None:
    assert phrases.capitalised(text) == shown


def test_orders_of_the_table(grouped: Grouped, workspace: Path) -> None:
    result = result_of(workspace, grouped.labels)
    everyone = np.arange(len(result.scored))
    scored = result.scored
    assert (np.diff(scored.low[rules_table.order(result, everyone, "low")]) <= 0).all()
    assert (np.diff(scored.n_rows[rules_table.order(result, everyone, "rows")]) <= 0).all()
    assert (np.diff(scored.inside[rules_table.order(result, everyone, "inside")]) >= 0).all()


def test_the_curve_of_the_support_agrees_with_counting(grouped: Grouped, workspace: Path) -> None:
    result = result_of(workspace, grouped.exact)
    share = np.where(result.scored.is_rest != 0, 0, result.scored.n_rows / result.n_rows)
    for line in view.support_steps(result, 0.05).itertuples():
        found = np.flatnonzero(share >= line.support - 1e-9)
        assert (len(found), found[0]) == (line.n, line.position)


def test_the_app_loads_nothing_heavy_for_it(open_app: OpenApp, grouped: Grouped) -> None:
    app = open_app(GROUPS, run=grouped.exact.id, rule="1")
    assert said.errors_of(app) == []
    pages = Path(sys.modules["pages.groups.rule_sets.view"].__file__ or "").parent
    drawn = [path for path in pages.glob("rules_*.py") if path.name != "rules_example.py"]
    sources = "\n".join(path.read_text(encoding="utf-8") for path in drawn)
    for heavy in ("rules.scores", "rules.run", "rules.top_up", "rules.scoring", "scipy", "numba"):
        assert f"import {heavy}" not in sources
        assert f"from fairness_engine.{heavy} import" not in sources


def test_other_pages_name_the_run_and_link_here(open_app: OpenApp, grouped: Grouped) -> None:
    app = open_app("pages/run/page.py", run=grouped.exact.id)
    assert said.errors_of(app) == []
    assert "Rule sets, groups of 5 % or more" in said.text_of(app)
    assert "766 rule sets scored" in said.text_of(app)
    assert "See the groups" in said.links_of(app)


def test_plan_starts_rule_sets_too(open_app: OpenApp, store: RunStore, started: list[str]) -> None:
    review = group_cases.review_of(store)
    app = open_app("pages/plan/page.py", review=review.id)
    app.segmented_control(key="plan_mode").set_value("Groups").run()
    app.button(key="start").click().run()
    assert said.errors_of(app) == []
    (run,) = store.runs(review.id)
    assert started
    assert run.config.kind == "rules"


def test_a_rule_set_is_taken_to_a_retraining(open_app: OpenApp, grouped: Grouped) -> None:
    app = open_app(GROUPS, run=grouped.exact.id, rule="1")
    app.button(key="retrain_for_group").click().run()
    assert said.errors_of(app) == []
    assert app.title[0].value == "Retrain"
    assert app.checkbox(key="retrain_use_rules").value
    assert not app.checkbox(key="retrain_use_variants").value
    assert app.radio(key="retrain_group").options[0].replace("\\", "").startswith("Rule set 1: ")
    assert app.radio(key="retrain_group").value == "picked"
    assert app.session_state["retrain_rule_set"][:2] == (grouped.exact.id, 0)
    session.evaluator().close()
