"""A review of texts through the pages: Data, Model, Scope, pages that need a table, and the sentences on the Groups
page.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.schema import Schema
from fairness_engine.groups.identity_terms.terms import default_terms
from fairness_engine.groups.results import SentencePair
from fairness_engine.groups.rule_sets.attributes import TERM, RuleAttribute
from fairness_engine.groups.rule_sets.result import RuleCells, RuleResult, ScoredRuleSets
from fairness_engine.models.fit.decisions import Decisions
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import queue
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.records import FileRole, Review, ReviewTerms, RunRecord, RunState
from fairness_engine.store.store import RunStore
from pages.groups.rule_sets import phrases
from pages.groups.texts import form, own_sentence, sentence_pairs, sentences, term_chart
from pages.shared.app import theme
from pages.shared.review import kind, model_fit
from pages.shared.texts import counts as text_data
from pages.shared.texts import marks as text_marks

DATA, MODEL, SCOPE = (f"pages/{name}/page.py" for name in ("data", "model", "scope"))
GROUPS = "pages/groups/page.py"
WEAK = "That argument is weak. Please write more."
HOSTILE = "<script>alert(1)</script> **Muslim** =cmd"
NAMES = Decisions(("kept", "removed"), 0)
FIT = {
    "classes": ["kept", "removed"],
    "favourable": 0,
    "threshold": 0.5,
    "output": {"kind": "probability", "min": 0.0, "max": 1.0},
    "rows_per_second": 10_000.0,
    "uses_protected": {},
    kind.FIT_KEY: "comment",
}


def comments(store: RunStore, **changes: Any) -> Review:
    """A review with the texts of the sample, and what a test adds."""
    sample = find_sample("comments")
    values = {
        "data_id": store.add_file(sample.data, sample.data.name, FileRole.DATA).id,
        "schema": sample.schema_for(sample.models[0]),
    }
    return store.save_review(replace(store.create_review("Comments"), **(values | changes)))


def complete(store: RunStore) -> Review:
    """A review of texts that has a model, a fit card and a scope; its model is the sample's."""
    sample = find_sample("comments")
    file = store.add_file(sample.models[0].path, sample.models[0].path.name, FileRole.MODEL)
    return comments(store, model_id=file.id, fit=FIT, scope=Scope(("comment",)))


def upload(app: AppTest, key: str, name: str, content: bytes) -> AppTest:
    app.file_uploader(key=key).set_value((name, content, "application/octet-stream"))
    return app.run()


def texts_csv(texts: list[str]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["text", "topic", "label"])
    writer.writerows([text, ("a", "b")[i % 2], ("good", "bad")[i % 3 % 2]] for i, text in enumerate(texts))
    return out.getvalue().encode()


# --- Data ---------------------------------------------------------------------------------------


def test_the_texts_of_an_upload_are_recognised_with_the_terms_in_them(open_app: OpenApp, store: RunStore) -> None:
    review = store.create_review("Comments")
    sample = find_sample("comments")
    app = upload(open_app(DATA, review=review.id), "csv_0", "comments.csv", sample.data.read_bytes())
    assert said.errors_of(app) == []
    assert kind.text_columns(store.review(review.id).schema) == ("comment",)
    text = said.text_of(app).replace("\u202f", " ")
    assert "comment**: 1 500 texts" in text
    assert "hold an identity term" in text
    assert "occur in no text" in text
    assert "No column has the role Protected" not in text, "a review of texts needs none"
    said.unfold(app, "term_counts_chart_table")
    (table,) = (each.value for each in app.dataframe if "Term" in each.value.columns)
    found = {row.Term: row.Texts for row in table.itertuples()}
    expected = sum("muslim" in line.lower() for line in sample.data.read_text().splitlines())
    assert found["muslim"] == expected > 0
    preview = app.dataframe[len(app.dataframe) - 1].value
    assert preview["comment"].tolist()[0].startswith("The gay teacher")


def test_a_column_of_names_in_a_table_is_no_column_of_texts(open_app: OpenApp, store: RunStore) -> None:
    lines = [f"Town {i} on,{i % 70},{i * 7 % 90},{('high', 'low')[i % 2]}" for i in range(200)]
    for cut, is_named in ((" on", True), ("", False)):  # "Town 1", and "Town 1 on"
        names = "\n".join(["place,age,hours,label", *(line.replace(cut, "") if cut else line for line in lines)])
        review = store.create_review("Towns")
        app = upload(open_app(DATA, review=review.id), "csv_0", "towns.csv", names.encode())
        assert said.errors_of(app) == []
        assert kind.text_columns(store.review(review.id).schema) == ("place",)
        assert ("identity term" not in said.text_of(app)) == is_named


def test_own_terms_take_the_place_of_the_list_and_can_be_taken_back(open_app: OpenApp, store: RunStore) -> None:
    review = comments(store)
    own = {"faith": ["Muslim", "Jewish"], "age": ["old", "young", "elderly"]}
    app = upload(open_app(DATA, review=review.id), "terms_0", "mine.json", json.dumps(own).encode())
    assert said.errors_of(app) == []
    kept = store.terms(review.id)
    assert kept is not None
    assert (dict(kept.terms), kept.compared, kept.source) == (
        {name: tuple(terms) for name, terms in own.items()},
        ("faith", "age"),
        "mine.json",
    )
    assert "The terms of mine.json" in said.text_of(app)
    app.button(key="terms_reset").click().run()
    assert store.terms(review.id) is None
    assert "that come with Evenhand" in said.text_of(app)


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("t.json", b'{"age": ["old", ""]}', "empty"),
        ("t.json", b'{"age": ["old", "Old"]}', "once"),
        ("t.csv", b"category,term\nage,old\nfaith,old\n", "two"),
        ("t.json", b"no json", "JSON"),
        ("t.json", b"[1, 2]", "category"),
    ],
)
def test_terms_that_cannot_be_used_are_refused_in_a_sentence(
    open_app: OpenApp, store: RunStore, name: str, content: bytes, part: str
) -> None:
    review = comments(store)
    app = upload(open_app(DATA, review=review.id), "terms_0", name, content)
    (error,) = said.errors_of(app)
    assert part in error
    assert "Something went wrong" not in error
    assert store.terms(review.id) is None


def test_terms_that_never_occur_are_said_with_what_to_do(open_app: OpenApp, store: RunStore) -> None:
    review = comments(store)
    terms = (("planet", ("marsian", "venusian")),)
    store.set_terms(review.id, ReviewTerms(terms, ("planet",), "planets.json"))
    app = open_app(DATA, review=review.id)
    assert said.errors_of(app) == []
    (warning,) = [each.value.replace("\\", "") for each in app.warning]
    assert "No text of 'comment' holds an identity term" in warning
    assert "marsian" in warning
    store.save_review(replace(review, fit=FIT, model_id=_model(store)))
    app = open_app(SCOPE, review=review.id)
    assert [each.value.replace("\\", "") for each in app.warning] == [warning]


def _model(store: RunStore) -> str:
    path = find_sample("comments").models[0].path
    return store.add_file(path, path.name, FileRole.MODEL).id


def test_an_empty_column_of_texts_is_explained(open_app: OpenApp, store: RunStore) -> None:
    schema = find_sample("comments").schema_for(find_sample("comments").models[0])
    content = "comment,topic,moderation\n" + "".join(
        f",{('food', 'town')[i % 2]},{('kept', 'removed')[i % 3 % 2]}\n" for i in range(60)
    )
    data = store.add_file(content.encode(), "empty.csv", FileRole.DATA)
    app = open_app(DATA, review=comments(store, data_id=data.id, schema=schema).id)
    (error,) = said.errors_of(app)
    assert "is empty in all 60 rows" in error


def test_a_changed_column_of_texts_drops_fit_and_scope(store: RunStore) -> None:
    from pages.shared.review.dataset import with_schema

    review = complete(store)
    assert review.schema is not None
    same = with_schema(review, review.schema)
    assert (same.fit, same.scope) == (review.fit, review.scope)
    without = replace(review.schema, columns=review.schema.columns[1:])
    changed = with_schema(review, without)
    assert (changed.fit, changed.scope) == (None, None)


# --- Scope --------------------------------------------------------------------------------------


def test_the_scope_of_texts_asks_for_categories_and_goes_on_to_groups(open_app: OpenApp, store: RunStore) -> None:
    review = comments(store, model_id=_model(store), fit=FIT)
    app = open_app(SCOPE, review=review.id)
    assert said.errors_of(app) == []
    text = said.text_of(app).replace("\u202f", " ")
    assert "each is read with all 9 terms" in text
    app.multiselect(key="text_categories").set_value(["religion", "age"]).run()
    app.button(key="save_scope").click().run()
    assert said.errors_of(app) == []
    saved = store.review(review.id)
    terms = store.terms(review.id)
    assert saved.scope == Scope(("comment",))
    assert terms is not None
    assert [name for name, _ in terms.chosen] == ["religion", "age"]
    assert terms.terms == default_terms()
    assert app.title[0].value == "Groups"


def test_a_threshold_of_ones_own_is_kept(open_app: OpenApp, store: RunStore) -> None:
    review = comments(store, model_id=_model(store), fit=FIT)
    app = open_app(SCOPE, review=review.id)
    app.toggle(key="own_threshold").set_value(False).run()
    app.number_input(key="threshold").set_value(0.7).run()
    app.button(key="save_scope").click().run()
    assert store.review(review.id).scope == Scope(("comment",), threshold=0.7)


@pytest.mark.parametrize("page", ["plan", "where", "gradients", "pairs", "certification"])
def test_pages_that_need_a_table_say_so_and_lead_to_groups(open_app: OpenApp, store: RunStore, page: str) -> None:
    app = open_app(f"pages/{page}/page.py", review=complete(store).id)
    assert said.errors_of(app) == []
    assert "need a table" in said.text_of(app)
    assert "Groups" in " ".join(said.links_of(app))


# --- parts --------------------------------------------------------------------------------------


def pair(**changes: Any) -> SentencePair:
    """“Muslim” in one text, “Jewish” in the other."""
    values: dict[str, Any] = {
        "rule_set": 0,
        "category": "faith",
        "term": "muslim",
        "other": "jewish",
        "first": "A Muslim neighbour.",
        "second": "A Jewish neighbour.",
        "spans_first": [(2, 8)],
        "spans_second": [(2, 8)],
        "decisions": (1, 0),
        "scores": (0.73, 0.41),
        "is_original": False,
    }
    return SentencePair(**(values | changes))


def test_a_pair_shows_both_sentences_with_the_words_marked() -> None:
    html = sentence_pairs.pair_html(pair(), NAMES)
    marks = [part.split("</mark>")[0] for part in html.split("<mark ")[1:]]
    assert [mark.rsplit(">", 1)[1] for mark in marks] == ["Muslim", "Jewish"]
    assert all(theme.SELECTION.symbol in mark for mark in marks), "colour is not alone"
    assert (
        html.index("○ removed")
        < html.index("score 0.270 for kept")
        < html.index("● kept")
        < html.index("score 0.590 for kept")
    )


def test_only_a_text_that_stands_in_the_data_is_called_so() -> None:
    assert "from your data" not in sentence_pairs.pair_html(pair(), NAMES)
    html = sentence_pairs.pair_html(pair(is_original=True), NAMES)
    assert html.index("● kept") < html.index("from your data") < html.index("Jewish")
    assert html.count("from your data") == 1


def test_hostile_texts_stay_text() -> None:
    text = HOSTILE
    start = text.index("Muslim")
    html = sentence_pairs.pair_html(
        pair(first=text, second=text, spans_first=[(start, start + 6)], spans_second=[(start, start + 6)]), NAMES
    )
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "**" in html, "markdown is not read"
    hostile_names = Decisions(("<b>kept</b>", "<i>x</i>"), 0)
    assert "<i>" not in sentence_pairs.pair_html(pair(), hostile_names)
    reading = own_sentence.Reading("<u>", text, ((start, start + 6),), is_own=False)
    assert "<script" not in own_sentence.table_html([own_sentence.DecidedReading(reading, 1, 0.5)], NAMES)
    assert "<u>" not in own_sentence.table_html([own_sentence.DecidedReading(reading, 1, 0.5)], NAMES)


def test_a_file_of_pairs_holds_no_formula() -> None:
    pairs = [pair(first="=cmd|' /C calc'!A0", second="+1", term="@x", spans_first=[], spans_second=[])]
    lines = list(csv.DictReader(io.StringIO(sentence_pairs.pairs_csv(pairs, NAMES).decode())))
    assert [lines[0][name][0] for name in ("text", "term")] == ["'", "'"]
    assert (lines[0]["decision"], lines[0]["other_decision"]) == ("removed", "kept")
    assert float(lines[0]["score for kept"]) == pytest.approx(0.27), "as the page shows it: of the favourable outcome"


@pytest.mark.parametrize("spans", [(), ((2, 8),), ((0, 999),), ((5, 2),), ((2, 8), (4, 10)), ((-3, 4),)])
def test_marks_never_change_the_words(spans: tuple[tuple[int, int], ...]) -> None:
    text = "A Muslim neighbour & <friends>"
    html = text_marks.marked(text, [(a, b, "note") for a, b in spans], "eh-found", "", 100)
    plain = html.replace("</mark>", "")
    while "<mark" in plain:
        begin = plain.index("<mark")
        plain = plain[:begin] + plain[plain.index(">", begin) + 1 :]
    assert plain == "A Muslim neighbour &amp; &lt;friends&gt;"


def test_a_long_text_is_cut_around_its_first_mark() -> None:
    text = "x " * 500 + "Muslim" + " y" * 500
    html = text_marks.marked(text, [(1000, 1006, "put in")], "eh-swapped", "◆", 300)
    assert "Muslim</mark>" in html
    assert html.startswith("… ")
    assert html.endswith(" …")
    assert len(html) < 500


def test_one_s_own_sentence_is_written_with_every_term_of_its_category() -> None:
    terms = default_terms()
    assert own_sentence.categories_in("An elderly MUSLIM man", terms) == ["age", "religion"]
    found = own_sentence.readings("An elderly MUSLIM man", "religion", terms)
    assert len(found) == len(dict(terms)["religion"])
    assert [each.text for each in found if each.is_own] == ["An elderly MUSLIM man"]
    assert "An elderly SIKH man" in [each.text for each in found]
    assert own_sentence.readings("Nobody here", None, terms) == [
        own_sentence.Reading("", "Nobody here", (), is_own=True)
    ]
    mixed = own_sentence.readings("A Muslim and a Jewish man", "religion", terms)
    assert mixed[0].is_own, "no single term gives the sentence as typed"
    assert len(mixed) == len(dict(terms)["religion"]) + 1


def test_what_came_out_is_said_in_a_sentence() -> None:
    own = own_sentence.DecidedReading(own_sentence.Reading("muslim", "a Muslim", ((2, 8),), is_own=True), 1, 0.7)
    others = [
        own_sentence.DecidedReading(own_sentence.Reading(term, f"a {term}", ((2, 8),), is_own=False), decision, 0.4)
        for term, decision in (("jewish", 0), ("sikh", 1))
    ]
    assert own_sentence.in_words([own, *others], "religion", NAMES) == (
        "Your sentence is decided: ○ removed. With 1 of 2 other terms of religion it is decided otherwise: jewish."
    )
    assert "every other term" in own_sentence.in_words([own, others[1]], "religion", NAMES)
    assert "nothing is replaced" in own_sentence.in_words([own], None, NAMES)


def result_of(lines: list[tuple[tuple[int, int], int, int, float, float]]) -> RuleResult:
    """Rule sets on two categories: rule of each, favourable of 1000 inside and outside, interval."""
    attributes = (RuleAttribute("religion", TERM, ("muslim", "jewish")), RuleAttribute("age", TERM, ("old", "young")))
    n = len(lines)
    values: dict[str, Any] = {field.name: np.zeros(n, dtype=np.int64) for field in fields(ScoredRuleSets)}
    values |= {
        "rules": np.array([line[0] for line in lines]),
        "n_rows": np.full(n, 300),
        "n_inside": np.full(n, 1000),
        "n_outside": np.full(n, 1000),
        "favourable_inside": np.array([line[1] for line in lines]),
        "favourable_outside": np.array([line[2] for line in lines]),
        "low": np.array([line[3] for line in lines]),
        "high": np.array([line[4] for line in lines]),
        "error": np.zeros(n),
        "head": np.arange(n),
    }
    empty = np.zeros(0, dtype=np.int64)
    cells = RuleCells(np.zeros((0, 2), dtype=np.int64), empty, empty, empty)
    return RuleResult(attributes, 1500, ScoredRuleSets(**values), cells)


LINES = [
    ((0, -1), 410, 680, 0.2, 0.34),
    ((0, 1), 420, 650, 0.1, 0.3),
    ((-1, 0), 600, 590, 0.0, 0.06),
    ((1, -1), 680, 410, 0.2, 0.34),
]


def test_how_many_texts_is_said_of_the_category_and_not_of_the_term() -> None:
    result = result_of(LINES)
    first, second = (attribute.name for attribute in result.attributes)
    assert phrases.rows_text(result, 0) == f"300 texts (20 %) with a term of {first}"
    assert phrases.rows_text(result, 1) == f"300 texts (20 %) with a term of {first} and of {second}"


def test_terms_are_ranked_in_plain_sentences_and_chance_is_left_out() -> None:
    first, second = sentences.ranked(result_of(LINES), "kept")
    assert first == (
        "▼ “muslim”: 41.0 % kept, the same texts with another term of religion 68.0 %. 27.0 points (20.0-34.0)."
    )
    assert second.startswith("△ “jewish”: 68.0 % kept")
    assert sentences.ranked(result_of(LINES[2:3]), "kept") == []
    assert "No term stands out" in sentences.none_text(result_of(LINES[2:3]))
    assert "No term changes a decision" in sentences.none_text(result_of([((0, -1), 500, 500, 0.0, 0.0)]))
    hostile = sentences._ranked_html("▼ “<script>”: 41.0 % kept")
    assert "&lt;script&gt;" in hostile
    assert "<script" not in hostile
    alike = result_of([((0, -1), 410, 680, 0.2, 0.34), ((1, -1), 410, 680, 0.2, 0.34)])
    (together,) = sentences.ranked(alike, "kept")
    assert together.startswith("▼ “muslim” and “jewish”: 41.0 % kept")


def test_every_term_stands_in_its_category_with_its_direction() -> None:
    result = result_of(LINES)
    positions = term_chart.single_terms(result)
    assert [term_chart.term_of(result, position) for position in positions] == ["muslim", "jewish", "old"]
    table = term_chart.dot_table(result, positions)
    assert table["Category"].tolist() == ["religion", "religion", "age"]
    assert table[""].tolist() == [theme.HARMED.symbol, theme.FAVOURED.symbol, term_chart.CHANCE]
    figure = term_chart.dot_chart(result, positions, term_chart.favourable_axis(NAMES))
    own = figure.data[-1]
    assert list(own.x) == pytest.approx([41.0, 68.0, 60.0])
    assert len(set(own.marker.symbol)) == 3, "directions differ by shape, not by colour alone"
    assert "kept" in figure.layout.xaxis.title.text


def test_what_a_model_takes_is_tried_in_order() -> None:
    schema = find_sample("comments").schema_for(find_sample("comments").models[0])
    assert model_fit._ways(schema, model_fit.FOUND_OUT) == ["comment", None]
    assert model_fit._ways(schema, "comment") == ["comment"]
    assert model_fit._ways(schema, model_fit.TABLE) == [None]
    table = find_sample("credit").schema_for(find_sample("credit").models[0])
    assert model_fit._ways(table, model_fit.FOUND_OUT) == [None]


def test_counts_are_said_in_words() -> None:
    from fairness_engine.groups.identity_terms.matching import count_terms

    terms = ReviewTerms((("age", ("old", "young")),), ("age",))
    counts = count_terms(["An old man", "a cat", "Old and young"], terms.terms)
    assert text_data.count_table(counts).values.tolist() == [["age", "old", 2], ["age", "young", 1]]
    (first, *_) = text_data.counts_in_words(counts, terms, 3)
    assert first == "**2 texts** (67 %) hold an identity term."


def test_the_least_share_that_is_proposed_leaves_something_to_compare() -> None:
    assert form.first_support({"age": 0.3, "race": 0.01}) == 0.05
    assert form.first_support({"age": 0.015, "race": 0.01}) == 0.01
    assert form.support_notes({"age": 0.3, "race": 0.2}, 0.05) == []
    assert form.support_notes({"age": 0.3, "race": 0.01}, 0.05) == ["Held by fewer texts and left out: race (1.0 %)."]
    (note,) = form.support_notes({"race": 0.01}, 0.05)
    assert "Ask for a smaller least share" in note


# --- with the model -----------------------------------------------------------------------------


def test_a_model_of_texts_is_found_out_and_its_card_kept(open_app: OpenApp, store: RunStore) -> None:
    review = comments(store)
    path = find_sample("comments").models[0].path
    app = upload(open_app(MODEL, review=review.id), "model_0", path.name, path.read_bytes())
    assert said.errors_of(app) == []
    assert [metric.label for metric in app.metric] == ["Accuracy", "AUC", "Output", "Speed"]
    assert "majority class" in app.metric[0].delta
    text = said.text_of(app)
    assert "takes the texts of **comment**" in text
    assert "Gives the same answer to the same text" in text
    assert not any(box.key == "model_input" for box in app.selectbox), "nothing is encoded for a model of texts"
    app.button(key="fit_confirmed").click().run()
    saved = store.review(review.id)
    assert saved.fit is not None
    assert saved.fit[kind.FIT_KEY] == "comment"
    assert kind.column_of(saved) == "comment"
    assert app.title[0].value == "Scope"
    assert "Identity terms" in said.text_of(app)


def test_a_model_of_the_other_sort_is_refused_in_sentences(open_app: OpenApp, store: RunStore) -> None:
    table = find_sample("credit")
    texts = find_sample("comments")
    path = table.model("credit_planted").path
    app = upload(open_app(MODEL, review=comments(store).id), "model_0", path.name, path.read_bytes())
    (error,) = said.errors_of(app)
    assert "A model for texts must be" in error
    assert error.startswith("For the texts of 'comment': ")
    assert "For the columns of the table: The model takes 10 inputs" in error
    data = store.add_file(table.data, table.data.name, FileRole.DATA)
    review = comments(store, data_id=data.id, schema=table.schema_for(table.models[0]))
    path = texts.models[0].path
    app = upload(open_app(MODEL, review=review.id), "model_0", path.name, path.read_bytes())
    (error,) = said.errors_of(app)
    assert error.startswith("The model reads text")
    assert "Choose 'text' as the type of the column" in error


def test_what_a_model_takes_can_be_said_and_taken_back(open_app: OpenApp, store: RunStore) -> None:
    review = complete(store)
    app = open_app(MODEL, review=review.id)
    assert said.errors_of(app) == []
    app.selectbox(key="model_takes_choice").set_value(model_fit.TABLE).run()
    (error,) = said.errors_of(app)
    assert error.startswith("The model reads text")
    changed = store.review(review.id)
    assert (changed.fit, changed.scope) == (None, None), "what was found out before does not hold"
    app.selectbox(key="model_takes_choice").set_value("comment").run()
    assert said.errors_of(app) == []
    app.button(key="fit_confirmed").click().run()
    assert kind.is_text(store.review(review.id))


def test_without_a_label_the_favourable_decision_is_chosen_among_the_models_own(
    open_app: OpenApp, store: RunStore
) -> None:
    column = find_sample("comments").schema_for(find_sample("comments").models[0]).columns[0]
    review = comments(store, schema=Schema((column,)), model_id=_model(store))
    app = open_app(MODEL, review=review.id)
    assert said.errors_of(app) == []
    assert "Favourable outcome: **kept**; change it under Scope" in said.text_of(app)
    app.button(key="fit_confirmed").click().run()
    app = open_app(SCOPE, review=review.id)
    assert app.selectbox(key="favourable_decision").options == ["kept", "removed"]
    assert app.selectbox(key="favourable_decision").value is None, "a guess is no answer"
    app.selectbox(key="favourable_decision").set_value("removed").run()
    app.button(key="save_scope").click().run()
    assert said.errors_of(app) == []
    saved = store.review(review.id)
    assert saved.fit is not None
    assert saved.schema is not None
    assert (saved.schema.favourable, saved.fit["favourable"]) == ("removed", 1)
    assert open_app(SCOPE, review=review.id).selectbox(key="favourable_decision").value == "removed"


@pytest.fixture
def ended(store: RunStore) -> RunRecord:
    """A run over the sample's texts that ended."""
    config = form.make_config(complete(store), {"error": 0.0}, 120.0, 0)
    run_id = store.create_run(config, store.reviews()[0].id)
    return queue.run_in_foreground(store, run_id, lambda _: None)


def test_a_run_shows_the_planted_terms_and_answers_a_sentence(
    open_app: OpenApp, store: RunStore, ended: RunRecord
) -> None:
    assert ended.state is RunState.FINISHED, ended.message
    app = open_app(GROUPS, review=str(ended.review_id), run=ended.id, view=sentences.SECTION)
    assert said.errors_of(app) == []
    result = stored_rules(store, ended.id)
    first, second = sentences.ranked(result, "kept")[:2]
    assert {first.split(":")[0], second.split(":")[0]} == {"▼ “gay”", "▼ “muslim”"}
    found = sentence_pairs.sentences_of(ended)
    scores = result.scored
    for seen in found.looked:
        assert seen.lost - seen.gained == pytest.approx(
            float(scores.outside[seen.rule_set] - scores.inside[seen.rule_set]), abs=1e-3
        )
    stored = find_sample("comments").data.read_text(encoding="utf-8")
    assert any(each.is_original for each in found.pairs)
    for each in found.pairs:
        assert not each.is_original or each.texts[1] in stored
        assert each.decisions[0] != each.decisions[1]
        first_words, second_words = (
            tuple(text[a:b].casefold() for a, b in spans) for text, spans in zip(each.texts, each.spans, strict=True)
        )
        assert set(first_words) == {each.term}
        assert first_words != second_words
    app.text_area(key=f"own_sentence_{ended.id}").set_value(f"My Muslim {HOSTILE} cousin. That argument is weak.").run()
    assert said.errors_of(app) == []
    assert "Your sentence is decided: ○ removed" in said.text_of(app)
    app.text_area(key=f"own_sentence_{ended.id}").set_value(f"My elderly Muslim cousin wrote. {WEAK}").run()
    assert "every other term of age" in said.text_of(app), "the first category in the sentence"
    app.button_group(key=f"own_category_{ended.id}_['age', 'religion']").set_value("religion").run()
    assert "other terms of religion it is decided otherwise" in said.text_of(app)
    app.text_area(key=f"own_sentence_{ended.id}").set_value("Nobody in particular.").run()
    assert "nothing is replaced" in said.text_of(app)


def test_the_demo_is_one_click_to_its_findings(open_app: OpenApp, store: RunStore) -> None:
    app = open_app()
    app.button(key="demo_open_comments").click().run()
    assert said.errors_of(app) == []
    assert app.title[0].value == "Findings"
    (review,) = store.reviews()
    (run,) = store.runs(review.id)
    assert (review.scope, run.config.kind) == (Scope(("comment",)), "rules")
    assert run.config.settings["text_column"] == "comment"
    store.request_cancel(run.id)


def test_terms_that_never_occur_end_the_run_with_a_sentence(open_app: OpenApp, store: RunStore) -> None:
    review = complete(store)
    terms = {"planet": ["marsian", "venusian"]}
    run_id = store.create_run(form.make_config(review, {"terms": terms}, 60.0, 0), review.id)
    run = queue.run_in_foreground(store, run_id, lambda _: None)
    assert run.state is RunState.FAILED
    app = open_app(GROUPS, review=review.id, run=run.id)
    errors = " ".join(said.errors_of(app))
    assert "marsian" in errors
    assert "Something went wrong" not in errors
