"""The Retrain page: who can use it, the form and what it starts, watching, and how other pages treat a retraining."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import said
from retrain_steps import TRAINING, round_of, run_at_work
from said import OpenApp
from streamlit.testing.v1 import AppTest

import run_cases
from fairness_engine.codec import decode
from fairness_engine.errors import ProcessError
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.retraining.results import Training
from fairness_engine.retraining.settings import BASELINES, CasesOfRun, Reference, RetrainSettings, Strategy, Surrogate
from fairness_engine.retraining.trainable import Trainable
from fairness_engine.runs import kinds
from fairness_engine.store.records import Review, RunRecord, RunState
from fairness_engine.store.store import RunStore
from pages.retrain import live, plan
from pages.retrain import rounds as retrain_rounds
from pages.retrain.plan import Wanted
from pages.retrain.rounds import Rounds
from pages.shared.app import closed, navigation, session
from pages.shared.people import case_basket
from pages.shared.people.case_basket import CaseChoice
from pages.shared.runs import phrases
from pages.start.reviews import run_title

RETRAIN, PAIRS, RUN, COMPARE = (
    place.path for place in (navigation.RETRAIN, navigation.PAIRS, navigation.RUN, navigation.COMPARE)
)
CAN = Trainable(kind="Keras network, from its own weights", has_weights=True, n_train=700, n_validation=100, n_test=200)


@pytest.fixture
def asked() -> Iterator[None]:
    """The model's process is asked something and stopped afterwards."""
    yield
    session.evaluator().close()


def retrainings(store: RunStore, review: Review) -> list[RunRecord]:
    return [run for run in store.runs(review.id) if kinds.RETRAIN.has(run.config)]


def at_retrain(app: AppTest) -> AppTest:
    """The page that a button of another one led to: the test harness goes back to the first at the next click."""
    assert app.title[0].value == "Retrain"
    app.switch_page(RETRAIN)
    return app.run()


# --- who cannot use it --------------------------------------------------------------------------


def test_without_a_label_the_page_leads_to_the_data(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    assert review.schema is not None
    schema = replace(review.schema, label=None, favourable=None)
    review = store.save_review(replace(review, schema=schema))
    app = open_app(RETRAIN, review=review.id)
    assert said.errors_of(app) == []
    assert "the data has no label column" in said.text_of(app)
    assert said.links_of(app) == ["Go to Groups", "Choose the label under Data"]


def test_who_can_retrain(store: RunStore) -> None:
    review = run_cases.review_of(store)
    assert closed.why_closed(navigation.RETRAIN, review, frozenset) is None
    without = closed.why_closed(navigation.RETRAIN, replace(review, model_id=None, fit={"source": "labels"}), frozenset)
    assert without is not None
    assert without.text.startswith("Retraining asks a model, and this review has none")
    assert without.remedy is navigation.MODEL
    assert review.schema is not None
    label = replace(review.schema, label=None, favourable=None)
    assert closed.why_closed(navigation.RETRAIN, replace(review, schema=label), lambda: {"retrain"}) is None
    assert closed.why_closed(navigation.RETRAIN, replace(review, schema=label), lambda: {"search"}) is not None


def test_a_review_without_a_scope_is_sent_there(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(RETRAIN, review=run_cases.review_of(store, scope=None).id)
    assert said.links_of(app) == ["Go to Scope"]


# --- the form -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("asked")
def test_two_strategies_become_two_runs_of_one_seed(open_app: OpenApp, store: RunStore, started: list[str]) -> None:
    review = run_cases.review_of(store, model="census_income_forest")
    app = open_app(RETRAIN, review=review.id)
    assert said.errors_of(app) == []
    assert {box.key for box in app.checkbox} == {f"retrain_use_{one.value}" for one in Strategy}
    assert [box.key for box in app.checkbox if box.value] == ["retrain_use_variants"]
    assert "Of 1\u202f000 people, at most 10 more" in said.text_of(app)
    assert not [radio for radio in app.radio if radio.key in ("retrain_begin", "retrain_surrogate", "retrain_cases")]
    app.checkbox(key="retrain_use_variants").uncheck().run()
    assert [box.value for box in app.warning] == ["Choose at least one strategy\\."]
    assert app.button(key="retrain_start").disabled
    app.checkbox(key="retrain_use_aequitas").check()
    app.checkbox(key="retrain_use_reweigh").check()
    app.slider(key="retrain_tolerance").set_value(2.5)
    app.radio(key="retrain_reference").set_value("control")
    app.segmented_control(key="retrain_effort").set_value("Quick, 1 min")
    app.number_input(key="retrain_seed").set_value(7).run()
    assert "“Reweighing” learns from the rows of the data instead, not from cases." in said.text_of(app)
    assert "at most 25 more" in said.text_of(app)
    assert app.button(key="retrain_start").label == "Retrain by 2 strategies side by side"
    app.button(key="retrain_start").click().run()
    assert said.errors_of(app) == []
    assert started
    second, first = retrainings(store, review)
    assert first.config.comparison is not None
    assert first.config.comparison == second.config.comparison
    assert [run.config.settings["strategy"] for run in (first, second)] == ["aequitas", "reweigh"]
    for run in (first, second):
        settings = RetrainSettings.from_json(run.config.settings)
        assert (run.config.seed, run.config.budget) == (7, Budget(None, 60.0))
        assert (settings.tolerance, settings.reference, settings.max_rounds) == (0.025, "control", 4)
    assert app.query_params["run"] == first.id
    assert "0 of 2 strategies have ended" in [bar.proto.text for bar in app.get("progress")]


@pytest.mark.usefixtures("asked")
def test_no_surrogate_is_chosen_for_the_reader(open_app: OpenApp, store: RunStore, started: list[str]) -> None:
    review = run_cases.review_of(store, model="census_income_dense")
    app = open_app(RETRAIN, review=review.id)
    assert said.errors_of(app) == []
    assert "a file of format 'ONNX' holds decisions only" in said.text_of(app)
    assert app.radio(key="retrain_surrogate").value is None
    assert app.radio(key="retrain_surrogate").options[:2] == ["The same network, in Keras", "Random forest"]
    assert "Choose at the top, under “Train instead”, what is trained" in said.text_of(app)
    assert app.button(key="retrain_start").disabled
    app.radio(key="retrain_surrogate").set_value(Surrogate.FOREST).run()
    assert "Random forest, instead of your model, is trained on" in said.text_of(app)
    app.button(key="retrain_start").click().run()
    (run,) = retrainings(store, review)
    assert started
    assert run.config.settings["surrogate"] == "forest"


@pytest.mark.usefixtures("asked")
def test_data_that_cannot_train_is_told_before_anything_starts(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store, model="census_income_forest")
    lines = store.file(review.data_id or "").path.read_text().splitlines()
    rich = [line for line in lines[1:] if line.endswith(">50K")][:4]
    poor = [line for line in lines[1:] if line.endswith("<=50K")][:200]
    data = store.add_file("\n".join([lines[0], *rich, *poor]).encode(), "few.csv", "data")
    store.save_review(replace(review, data_id=data.id))
    app = open_app(RETRAIN, review=review.id)
    assert said.errors_of(app) == []
    assert "needs at least 5 rows of every outcome" in said.text_of(app)
    assert said.links_of(app) == ["Go to Data"]
    assert not [button for button in app.button if button.key == "retrain_start"]


# --- cases --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("asked")
def test_the_pairs_that_are_listed_or_pinned_become_cases(
    open_app: OpenApp, workspace: Path, started: list[str]
) -> None:
    finished = run_cases.finished_runs(workspace)
    store = RunStore(workspace)
    review = finished.review
    run = finished.searches[-1]
    store.set_pin(review.id, run.id, 3, "")
    store.set_pin(review.id, run.id, 1, "")
    app = open_app(PAIRS, review=review.id, run=run.id)
    app.button(key="retrain_with_listed").click().run()
    app = at_retrain(app)
    assert said.errors_of(app) == []
    cases = app.radio(key="retrain_cases")
    assert cases.value == "listed"
    assert cases.options == ["Find them anew", "Pinned pairs (2)", "What the Pairs page lists", "All pairs of a run"]
    _, positions = app.session_state["retrain_listed"]
    assert 0 < len(positions) < run.n_found
    app.button(key="retrain_start").click().run()
    assert said.errors_of(app) == []
    assert started
    (made,) = retrainings(store, review)
    assert made.config.settings["strategy"] == "majority"
    assert RetrainSettings.from_json(made.config.settings).cases == (CasesOfRun(run.id, tuple(map(int, positions))),)
    assert "retrain_asked" not in app.session_state
    app = open_app(PAIRS, review=review.id, run=run.id)  # another visitor; the model's process is the same
    app.toggle(key="only_pinned").set_value(True).run()
    app.button(key="retrain_with_listed").click().run()
    app = at_retrain(app)
    assert app.radio(key="retrain_cases").value == "pins"
    assert "2 cases alone will hardly move a model" in said.text_of(app)
    assert "Cases: 2 pinned pairs." in said.text_of(app)
    app.button(key="retrain_start").click().run()
    made, _ = retrainings(store, review)
    assert RetrainSettings.from_json(made.config.settings).cases == (CasesOfRun(run.id, (1, 3)),)


def test_pairs_of_another_model_or_question_are_no_cases(workspace: Path) -> None:
    finished = run_cases.finished_runs(workspace)
    review = finished.review
    run = finished.searches[-1]
    assert case_basket.can_give(run, review)
    assert not case_basket.can_give(finished.estimate, review)
    assert not case_basket.can_give(run, replace(review, model_id="other"))
    assert not case_basket.can_give(run, replace(review, scope=Scope(("sex",))))


# --- what is started ----------------------------------------------------------------------------


def test_strategies_that_take_no_cases_are_given_none(store: RunStore) -> None:
    review = run_cases.review_of(store)
    cases = CaseChoice((CasesOfRun("r", (1,)),), "aequitas", 1, "1 pair")
    wanted = Wanted([Strategy.MAJORITY, Strategy.WITHOUT], {"tolerance": 0.02}, cases, 30.0, 3)
    majority, without = (RetrainSettings.from_json(config.settings) for config in plan.make_configs(review, wanted))
    assert (majority.cases, majority.technique) == (cases.cases, "aequitas")
    assert (without.cases, without.technique) == ((), "")
    assert plan.make_configs(review, replace(wanted, strategies=[Strategy.MAJORITY]))[0].comparison is None


def test_what_keeps_a_form_from_starting() -> None:
    settings = {"tolerance": 0.01}
    assert plan.problems(CAN, Wanted([Strategy.VARIANTS], settings)) == []
    assert plan.problems(CAN, Wanted([], settings)) == ["Choose at least one strategy."]
    cannot = replace(CAN, reason="It holds decisions only.")
    assert len(plan.problems(cannot, Wanted([Strategy.VARIANTS], settings))) == 1
    assert plan.problems(cannot, Wanted([Strategy.VARIANTS], {**settings, "surrogate": "tree"})) == []
    waits = Wanted([Strategy.MAJORITY], settings, CaseChoice(problem="This run is at work still."))
    assert plan.problems(CAN, waits) == ["This run is at work still."]
    held_out = {**settings, "test_share": 0.5, "validation_share": 0.4}
    assert "More than two thirds" in plan.problems(CAN, Wanted([Strategy.VARIANTS], held_out))[0]


def test_what_will_happen_is_said_in_words() -> None:
    wanted = Wanted([Strategy.MAJORITY], {"tolerance": 0.01}, CaseChoice((CasesOfRun("r"),), n=9, text="9 pairs"), 60.0)
    text = plan.summary(CAN, wanted, 2)
    assert (
        "A copy of your model (Keras network, from its own weights) is trained on 700 rows by “Majority labels”."
        in text
    )
    assert "Cases: 9 pairs. People of the test rows are left out of them." in text
    assert "within the tolerance of 1 point" in text
    assert "At most about 1 min 30 s;" in text
    afresh = replace(wanted, settings={"tolerance": 0.0, "begin": "afresh"}, strategies=list(BASELINES))
    text = plan.summary(CAN, afresh, 2)
    assert "(Keras network, afresh)" in text
    assert "At most about 1 min 30 s each, 2 at once, 3 min 0 s in all;" in text
    more = replace(wanted, settings={"tolerance": 0.01, "test_share": 0.4})
    assert "is trained on about 450 rows by" in plan.summary(CAN, more, 2)
    assert "About 400 test rows measure before and after" in plan.summary(CAN, more, 2)
    assert plan.tolerance_text(0.0).startswith("The new model must be right at least as often")
    assert "at most 2.5 more" in plan.tolerance_text(0.0025)


# --- at work ------------------------------------------------------------------------------------


def test_rounds_are_shown_as_they_come_and_a_stop_is_passed_on(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    run_id = run_at_work(store, review, TRAINING, budget=Budget(None, 60.0))
    app = open_app(RETRAIN, run=run_id)
    assert said.errors_of(app) == []
    assert [bar.proto.text.replace("\\", "") for bar in app.get("progress")] == [
        "Round 6: training on 24\u202f257 rows · at most 48 s for rounds"
    ]
    lines = app.dataframe[0].value
    assert lines["Standing"].tolist()[:3] == ["◀ before", "✓ within the tolerance", "◆ best so far"]
    assert lines["Standing"].tolist()[3:] == [
        "✕ beyond the tolerance",
        "✕ too inaccurate on the test rows",
        "control: no cases",
    ]
    assert len(app.get("plotly_chart")) == 3, "rounds, loss, accuracy"
    app.button(key="retrain_stop").click().run()
    assert said.errors_of(app) == []
    assert store.run(run_id).is_cancel_requested
    assert app.button(key="retrain_stop").disabled


def test_before_the_first_round_the_page_says_what_is_coming(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(RETRAIN, run=run_at_work(store, run_cases.review_of(store)))
    assert said.errors_of(app) == []
    assert "The first round appears once the model as it is was measured" in said.text_of(app)


def test_several_strategies_are_followed_together_and_chosen_afterwards(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    names = ("variants", "aequitas")
    ids = [run_at_work(store, review, TRAINING, settings={"strategy": name}, comparison="two") for name in names]
    store.finish(run_at_work(store, review), RunState.CANCELLED)
    app = open_app(RETRAIN, run=ids[1])
    assert said.errors_of(app) == []
    table = app.dataframe[0].value
    assert table["Strategy"].tolist() == ["All variants", "AEQUITAS"]
    assert table["Best: discriminatory"].tolist() == ["10 %", "10 %"]
    assert "Retrainings of this review" in said.text_of(app)
    for run_id in ids:
        store.finish(run_id, RunState.FINISHED)
    app = open_app(RETRAIN, run=ids[1])
    assert said.errors_of(app) == []
    shown = app.segmented_control(key=f"retrain_shown_{ids[0]}")
    assert shown.options == ["Side by side", "All variants", "AEQUITAS"]
    shown.set_value(ids[1]).run()
    assert said.errors_of(app) == []


def test_the_legend_names_what_only_the_second_strategy_has() -> None:
    rounds = [one for one in TRAINING["rounds"] if not one["is_control"] and not one["is_best"]]
    first = Rounds.of(
        "Retraining: X", decode(Training, {**TRAINING, "rounds": rounds}), RetrainSettings(tolerance=0.02)
    )
    second = Rounds.of("Retraining: Y", decode(Training, TRAINING), RetrainSettings(tolerance=0.02))
    named = [
        trace.name for trace in retrain_rounds.rounds_chart([first, second, second], "data").data if trace.showlegend
    ]
    assert named == ["□ control: no cases", "◆ best so far"]
    assert (first.n_rounds, second.n_rounds) == (3, 4), "the control is no round"


def test_a_control_that_is_trained_first_is_no_round() -> None:
    control = [one for one in TRAINING["rounds"] if one["is_control"]]
    proposed = [one for one in TRAINING["rounds"] if not one["is_control"]]
    told = Rounds.of(
        "X",
        decode(Training, {**TRAINING, "rounds": [*control, *proposed]}),
        RetrainSettings(reference=Reference.CONTROL),
    )
    assert retrain_rounds.rounds_table(told)["Round"].tolist() == ["–", "–", "1", "2", "3", "4"]
    assert list(retrain_rounds.rounds_chart([told], "data").data[0].text) == ["1", "2", "3", "4"]
    assert retrain_rounds.epochs_table(told)["Round"].tolist() == ["–", "–", "1"]
    left = retrain_rounds.rounds_table(told)[retrain_rounds.LEFT].tolist()
    assert left[0] == "100 %", "what it counts from"


def test_the_chart_of_rounds_marks_the_best_the_tolerance_and_what_was_before() -> None:
    told = Rounds.of("Retraining: X", decode(Training, TRAINING), RetrainSettings(tolerance=0.02))
    figure = retrain_rounds.rounds_chart([told], "uniform")
    traces = {trace.name: trace for trace in figure.data}
    assert list(traces["rounds"].x) == [20.0, 12.0, 1.0, 2.0]
    assert list(traces["rounds"].marker.symbol) == ["circle", "circle", "circle-open", "circle"]
    assert list(traces["◆ best so far"].x) == [12.0]
    assert list(traces["□ control: no cases"].y) == [pytest.approx(93.8)]
    assert list(traces["◀ before"].y) == [94.0]
    assert figure.layout.shapes[0].y0 == pytest.approx(92.0)
    alone = replace(told, reference={})
    assert not retrain_rounds.rounds_chart([alone], "data").layout.shapes, "no tolerance without what it counts from"
    control = Rounds.of("X", decode(Training, TRAINING), RetrainSettings(tolerance=0.02, reference=Reference.CONTROL))
    assert retrain_rounds.rounds_table(control)["What is different"][0] == "the control's accuracy, the model's shares"
    both = retrain_rounds.rounds_chart_table([told, replace(told, name="Retraining: Y")])
    assert both["Strategy"].tolist() == ["Retraining: X"] * 6 + ["Retraining: Y"] * 6


def test_epochs_of_a_network_have_charts_and_one_fit_has_none() -> None:
    told = Rounds.of("X", decode(Training, TRAINING), RetrainSettings(tolerance=0.0))
    assert retrain_rounds.has_epochs(told)
    loss = retrain_rounds.epochs_chart(told, "loss")
    assert [list(trace.y) for trace in loss.data] == [[0.5, 0.4, 0.3], [0.4, 0.35, None]]
    assert [shape.x0 for shape in loss.layout.shapes] == [2.5], "the second round begins"
    assert list(retrain_rounds.epochs_chart(told, "accuracy").data[0].y) == [90.0, 92.0, None]
    assert len(retrain_rounds.epochs_table(told)) == 3
    assert not retrain_rounds.has_epochs(replace(told, epochs=[(1, 1, None, None, 0.9), (2, 1, None, None, 0.9)]))


# --- on other pages -----------------------------------------------------------------------------


def test_a_retraining_on_pages_of_runs(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    run_id = run_at_work(store, review, TRAINING, settings={"strategy": "rules"})
    app = open_app(RUN, run=run_id)
    assert said.errors_of(app) == []
    assert "**Retraining: Worst group**" in said.text_of(app)
    assert "Follow it on the Retrain page" in said.links_of(app)
    store.finish(run_id, RunState.CANCELLED)
    run = store.run(run_id)
    assert phrases.ending(run).endswith("The original is as it was.")
    assert run_title(run) == "retraining"
    app = open_app(PAIRS, run=run_id)
    assert said.errors_of(app) == []
    assert said.links_of(app) == ["Go to Plan"], "it has no pairs"
    app = open_app(COMPARE, run=run_id)
    assert said.errors_of(app) == []
    assert "This review has no comparison yet" in said.text_of(app)


def test_runs_that_measure_a_retraining_compare_no_techniques(open_app: OpenApp, workspace: Path) -> None:
    finished = run_cases.finished_runs(workspace)
    store = RunStore(workspace)
    review = finished.review
    retraining = run_at_work(store, review)
    ids = [store.create_run(run_cases.config_of(review, comparison=retraining), review.id) for _ in "ab"]
    for run_id in ids:
        assert store.claim(run_id, "nowhere", 1, "1"), "a run that waits would be started by the page"
    for run_id in (retraining, *ids):
        assert store.finish(run_id, RunState.FINISHED)
    app = open_app(COMPARE, review=review.id, run=ids[0])
    assert said.errors_of(app) == []
    assert app.query_params["comparison"] == "one"
    app = open_app(RUN, run=ids[0])
    assert said.errors_of(app) == []
    assert "Compare these runs" not in said.links_of(app)


def test_the_best_round_so_far_is_the_one_that_is_called_so() -> None:
    rounds = [round_of(0.93, 0.2), round_of(0.925, 0.1, is_best=True), round_of(0.924, 0.3)]
    told = Rounds.of("X", decode(Training, {"rounds": rounds}), RetrainSettings(tolerance=0.0))
    assert told.best == 1
    assert told.least_accuracy is None
    assert retrain_rounds.standing_text(told, 0) == "✓ within the tolerance"
    assert Rounds.of("X", None, RetrainSettings()).best is None
    assert live.standing_table([], []).empty


# --- what the model's process says --------------------------------------------------------------


def test_what_is_said_of_a_model_is_read_back() -> None:
    can = replace(CAN, reason="It holds decisions only.", surrogates=(Surrogate.NETWORK, Surrogate.TREE))
    assert Trainable.from_json(can.to_json()) == can


@pytest.mark.parametrize(
    "change",
    [
        {"n_train": -1},
        {"n_train": True},
        {"has_weights": 1},
        {"kind": "x" * 3_000},
        {"reason": 3},
        {"surrogates": ["ours"]},
        {"surrogates": "tree"},
        {"more": 1},
    ],
)
def test_what_cannot_be_said_of_a_model_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ProcessError, match="what it said of a retraining cannot be read"):
        Trainable.from_json(CAN.to_json() | change)
