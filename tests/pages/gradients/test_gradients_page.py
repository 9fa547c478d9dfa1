"""The Gradients page: when it is empty, what it asks, what its answer says and draws."""

from __future__ import annotations

from dataclasses import replace

import pytest
import said
from said import OpenApp

import run_cases
from fairness_engine.errors import ProcessError
from fairness_engine.measures.gradient_agreement import SIZES, Agreement, AtSize, GradientCheck, Guidance, Picture
from fairness_engine.model_process.questions import CheckGradients, Held
from fairness_engine.store.store import RunStore
from pages.gradients import charts, view
from pages.shared.app import wording

GRADIENTS = "pages/gradients/page.py"
EXACT = Agreement((0.8, 0.9, 0.99), 0.97, 0.95, 0.0)
BLIND = Agreement(None, 0.0, 0.01, 1.0)
USED = Guidance((0.7, 0.8, 0.95), (0.8, 0.92, 0.97))
PICTURE = Picture((0.6, 0.2), ((0.5, 0.1), (-0.5, 0.2), (0.0, -0.3)), ((0.4, 0.1), (-0.5, 0.3), (0.1, -0.3)))

TABLES = tuple(f"{chart}_table" for chart in ("cosines", "shares", "use", "picture", "found"))


def answer(**changes: object) -> GradientCheck:
    """Two sizes are too small for a search; the larger ones find more and more."""
    sizes = tuple(
        AtSize(h, EXACT, BLIND if h < 1e-6 else EXACT, USED, (10 * i, 10 * i + 2, 10 * i + 6))
        for i, h in enumerate(SIZES)
    )
    values = {"n_people": 1000, "n_flat": 0, "n_attributes": 8, "search_evaluations": 50_000, "is_complete": True}
    pairs = {"n_pairs": 900, "n_discriminatory": 30, "picture": PICTURE}
    return GradientCheck(**{**values, **pairs, "sizes": sizes, **changes})  # type: ignore[arg-type]


def sentences(check: GradientCheck) -> list[str]:
    """What the answer means, with plain spaces."""
    return [sentence.replace(wording.THIN_SPACE, " ") for sentence in view.sentences(check)]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What was asked of an evaluator that answers at once."""
    questions: list[tuple[object, ...]] = []

    class Evaluator:
        def ask(self, target: Held, question: CheckGradients) -> GradientCheck:
            assert question == CheckGradients()
            questions.append((target.data_id, target.model_id, target.schema, target.scope))
            return answer()

    monkeypatch.setattr("pages.shared.app.session.evaluator", Evaluator)
    return questions


def test_without_a_review_the_page_says_where_to_begin(open_app: OpenApp) -> None:
    app = open_app(GRADIENTS)
    assert said.errors_of(app) == []
    assert "Open a review first" in said.text_of(app)


def test_a_review_without_a_scope_is_led_there(open_app: OpenApp, store: RunStore) -> None:
    review = store.save_review(replace(run_cases.review_of(store), scope=None))
    assert said.links_of(open_app(GRADIENTS, review=review.id)) == ["Go to Scope"]


def test_a_model_without_a_gradient_is_explained_with_what_can_be_done(
    open_app: OpenApp, store: RunStore, asked: list[tuple[object, ...]]
) -> None:
    review = run_cases.review_of(store)
    fit = {**(review.fit or {}), "has_gradient": False, "kind": "forest of <b>10</b> trees"}
    store.save_review(replace(review, fit=fit))
    app = open_app(GRADIENTS, review=review.id)
    assert said.errors_of(app) == []
    text = said.text_of(app)
    assert "This model (forest of <b>10</b> trees) has no gradient to compare with" in text
    assert "MAFT works all the same" in text
    assert r"\<b\>" in app.info[0].value, "the kind is told as text, not as markup"
    assert [button for button in app.button if button.key == "compare_gradients"] == []
    assert asked == []


def test_the_question_is_asked_once_and_its_answer_remembered(
    open_app: OpenApp, store: RunStore, asked: list[tuple[object, ...]]
) -> None:
    review = run_cases.review_of(store)
    app = open_app(GRADIENTS, review=review.id)
    assert asked == [], "nothing is computed before it is wanted"
    app.button(key="compare_gradients").click().run()
    assert said.errors_of(app) == []
    assert asked == [(review.data_id, review.model_id, review.schema, review.scope)]
    text = said.text_of(app)
    assert "At h = 1 the estimated gradient points the same way as the true one for 97.0 % of people" in text
    assert "At h = 10⁻⁷ and below, a search hardly sees a slope" in text
    assert "MAFT found the most with h = 10: 92 individuals" in text
    assert "slopes help little" not in text
    assert "with its default, h = 1, 82" in text
    assert "Of 900 pairs, the directions in which the global phase moves people have a median cosine of 0.80" in text
    assert "the probabilities with which the local phase chooses an attribute one of 0.92" in text
    assert "The two principal components hold 80 % of the spread" in text
    assert len(app.get("plotly_chart")) == 5
    assert not len(app.dataframe), "tables are made when they are unfolded"
    said.unfold(app, *TABLES)
    assert len(app.dataframe) == 5, "each chart has a table"
    app.run()
    assert len(asked) == 1


def test_a_process_that_fails_is_a_sentence(
    open_app: OpenApp, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Evaluator:
        def ask(self, *_: object) -> GradientCheck:
            raise ProcessError("The model's process gave no answer within 90 s.")

    monkeypatch.setattr("pages.shared.app.session.evaluator", Evaluator)
    app = open_app(GRADIENTS, review=run_cases.review_of(store).id)
    app.button(key="compare_gradients").click().run()
    assert said.errors_of(app) == ["The model's process gave no answer within 90 s."]


@pytest.mark.thorough
def test_a_network_is_compared_in_its_own_process(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store, model="census_income_network")
    app = open_app(GRADIENTS, review=review.id)
    app.button(key="compare_gradients").click().run(timeout=120)
    assert said.errors_of(app) == []
    assert "the estimated gradient points the same way as the true one for" in said.text_of(app)
    assert len(app.get("plotly_chart")) == 5
    table = said.unfold(app, *TABLES).dataframe[0].value
    assert table["h"].tolist()[-1] == "10"
    assert table["Exact: median"].iloc[3] == pytest.approx(1, abs=1e-3)


def test_a_forest_whose_card_is_old_is_refused_by_its_own_process(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store, model="census_income_forest")
    app = open_app(GRADIENTS, review=review.id)
    app.button(key="compare_gradients").click().run(timeout=120)
    (error,) = said.errors_of(app)
    assert "no true gradient to compare with" in error


# --- the parts ----------------------------------------------------------------------------------


def test_a_flat_model_is_said_and_nothing_is_drawn() -> None:
    nobody = Agreement(None, None, None, None)
    check = answer(n_flat=1000, sizes=(AtSize(1.0, nobody, nobody, Guidance(None, None), (0, 0, 0)),))
    (sentence,) = sentences(check)
    assert "At all 1 000 rows of your data the model is flat" in sentence


def test_people_without_a_slope_and_time_that_ran_out_are_said() -> None:
    check = answer(n_flat=120, is_complete=False, sizes=(AtSize(1.0, EXACT, EXACT, USED),))
    text = "\n".join(sentences(check))
    assert "At 12 % of the 1 000 rows the model is flat" in text
    assert "Time ran out" in text
    assert "found" not in text


def test_a_size_that_is_too_large_is_not_called_too_small() -> None:
    astray = Agreement((-0.2, 0.1, 0.3), 0.0, 0.5, 0.0)
    check = answer(sizes=tuple(AtSize(h, EXACT, astray if h == 10 else EXACT, USED) for h in SIZES))
    assert not any("hardly sees" in sentence for sentence in sentences(check))
    check = answer(sizes=tuple(AtSize(h, astray, BLIND if h < 1e-5 else EXACT, USED) for h in SIZES))
    assert any("At h = 10⁻⁶ and below" in sentence for sentence in sentences(check))


def test_a_lead_that_may_be_luck_is_said_to_be() -> None:
    lead = {1e-8: (300, 320, 330), 1.0: (290, 295, 310)}
    check = answer(
        sizes=tuple(AtSize(h, EXACT, BLIND if h < 1e-7 else EXACT, USED, lead.get(h, (1, 2, 3))) for h in SIZES)
    )
    text = "\n".join(sentences(check))
    assert "At h = 10⁻⁸, the smallest that was tried, a search hardly sees a slope" in text
    assert "h = 1, 295. The searches with either overlap, so that may be chance." in text
    assert "that this finds most says that slopes help little on this model." in text
    assert not any("overlap" in sentence for sentence in sentences(answer())), (
        "the larger sizes found more with every seed"
    )


def test_searches_that_found_nobody_are_said() -> None:
    check = answer(sizes=tuple(AtSize(h, EXACT, EXACT, USED, (0, 0, 0)) for h in SIZES))
    assert "MAFT found nobody within 50 000 rows evaluated" in sentences(check)[-1]
    assert not any("hardly sees" in sentence for sentence in sentences(check))


def test_the_charts_hold_what_the_tables_hold() -> None:
    check = answer()
    found = charts.found_chart(check)
    table = charts.found_table(check)
    assert list(found.data[0].y) == table["Median"].tolist() == [10 * i + 2 for i in range(10)]
    assert list(found.data[0].error_y.array) == (table["Most"] - table["Median"]).tolist()
    band, exact, fast = charts.cosine_chart(check).data
    assert list(exact.x) == list(SIZES)
    assert list(fast.x) == [h for h in SIZES if h >= 1e-6], "nobody has an angle where every estimate is zero"
    assert max(band.y) == 0.99
    assert charts.cosine_table(check)["In a search: median"].isna().sum() == 2
    directions, probabilities = charts.use_chart(check).data
    assert (set(directions.y), set(probabilities.y)) == ({0.8}, {0.92})
    assert charts.use_table(check).iloc[0].tolist()[1:] == [0.7, 0.8, 0.95, 0.8, 0.92, 0.97]
    joined, true, estimated = charts.picture_chart(PICTURE).data
    assert list(zip(true.x, true.y, strict=True)) == list(PICTURE.true)
    assert list(zip(estimated.x, estimated.y, strict=True)) == list(PICTURE.estimated)
    assert list(joined.x)[:3] == [0.5, 0.4, None]
    assert charts.picture_table(PICTURE).to_numpy().tolist() == [
        [*a, *b] for a, b in zip(PICTURE.true, PICTURE.estimated, strict=True)
    ]
    shares = charts.share_table(check)
    assert shares.iloc[0].tolist()[1:4] == [0, 1, 100]


def test_sizes_are_written_as_people_write_them() -> None:
    assert [charts.size_text(h) for h in (1e-8, 1e-4, 1e-3, 0.1, 1.0, 10.0)] == [
        "10⁻⁸",
        "10⁻⁴",
        "0.001",
        "0.1",
        "1",
        "10",
    ]
