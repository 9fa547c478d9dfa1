"""The Model page on whether the model is read rightly: the verdict, class 1, known answers, another order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.schema import Layout
from fairness_engine.data.table import read_table
from fairness_engine.store.records import AnswersSource, FileRole, Review
from fairness_engine.store.store import RunStore
from reading_cases import ORDERS, Net, people_csv

MODEL = "pages/model/page.py"
DATASET: list[Dataset] = []


def dataset() -> Dataset:
    """The people, with what a schema inferred says of them; made once."""
    if not DATASET:
        table = read_table(people_csv(), "people.csv")
        DATASET.append(make_dataset(table, replace(infer_schema(table), favourable="ja").with_protected(("sex",))))
    return DATASET[0]


@pytest.fixture
def review(store: RunStore) -> Review:
    """A review with the people's data, without a model."""
    data = store.add_file(people_csv(), "people.csv", FileRole.DATA)
    empty = store.create_review("People")
    return store.save_review(replace(empty, data_id=data.id, schema=dataset().schema))


def with_net(store: RunStore, review: Review, net: Net, folder: Path) -> Review:
    model = store.add_file(net.write(folder / "net.nnet"), "net.nnet", FileRole.MODEL)
    return store.save_review(replace(store.review(review.id), model_id=model.id))


def with_answers(store: RunStore, review: Review, net: Net, change: float = 0.0) -> None:
    scores = net.answers(dataset())
    scores[9] += change
    lines = [f"C{row},{score!r}" for row, score in zip(dataset().kept.tolist(), scores.tolist(), strict=True)]
    file = store.add_file("\n".join(["id,score", *lines]).encode(), "answers.csv", FileRole.OTHER)
    store.set_answers(review.id, AnswersSource(file_id=file.id))


def everything(app: AppTest) -> str:
    return " ".join([said.text_of(app), *(each.value for each in (*app.warning, *app.error, *app.success, *app.info))])


def test_a_network_in_another_order_is_read_anew_by_one_click(
    open_app: OpenApp, store: RunStore, review: Review, tmp_path: Path
) -> None:
    """Numbers first, of 'ja': the schema's order and the second outcome would be taken, and fit badly together."""
    net = Net(dataset(), "numbers first")
    app = open_app(MODEL, review=with_net(store, review, net, tmp_path).id)
    assert "Reading not confirmed" in everything(app)
    assert "numbers first, then categories" in everything(app)
    assert app.button(key="fit_confirmed").disabled, "nobody said that they know better"
    app.button(key="read_better").click().run()
    assert said.errors_of(app) == []
    assert "Reading plausible" in everything(app)
    schema = store.review(review.id).schema
    assert schema is not None
    assert schema.positive == "ja"
    assert schema.layout.order == tuple(ORDERS["numbers first"].split())
    app.button(key="fit_confirmed").click().run()
    assert app.title[0].value == "Scope"
    fit = store.review(review.id).fit
    assert fit is not None
    assert (fit["reading"]["state"], fit["reading"]["positive_by"]) == ("plausible", "person")


@pytest.mark.thorough
def test_scaling_by_the_datas_own_rows_stays_not_confirmed(
    open_app: OpenApp, store: RunStore, review: Review, tmp_path: Path
) -> None:
    """Its means are near those of the training, and seldom equal: known answers would say them."""
    net = Net(dataset(), "numbers first", scaling="numbers")
    app = open_app(MODEL, review=with_net(store, review, net, tmp_path).id)
    app.button(key="read_better").click().run()
    assert said.errors_of(app) == []
    assert "Reading not confirmed" in everything(app)
    assert "scaled by the data" in everything(app)
    assert app.button(key="fit_confirmed").disabled


@pytest.mark.thorough
def test_class_1_is_a_switch_with_both_consequences(
    open_app: OpenApp, store: RunStore, review: Review, tmp_path: Path
) -> None:
    app = open_app(MODEL, review=with_net(store, review, Net(dataset(), "the schema's"), tmp_path).id)
    switch = app.radio(key="positive_nein")
    assert switch.options == ["ja", "nein"]
    assert "Reading not confirmed" in everything(app)
    switch.set_value("ja").run()
    assert "Reading plausible" in everything(app)
    changed = store.review(review.id).schema
    assert changed is not None
    assert changed.positive == "ja"
    assert changed.favourable == "ja", "which outcome is good for the person is another question"


def test_what_nothing_confirms_is_gone_on_with_only_by_who_says_to_know_it(
    open_app: OpenApp, store: RunStore, review: Review, tmp_path: Path
) -> None:
    app = open_app(MODEL, review=with_net(store, review, Net(dataset(), "shuffled"), tmp_path).id)
    assert app.button(key="fit_confirmed").disabled
    app.checkbox(key="fit_known").check().run()
    app.button(key="fit_confirmed").click().run()
    fit = store.review(review.id).fit
    assert fit is not None
    assert fit["reading"]["state"] == "unconfirmed"


def test_known_answers_confirm_and_contradict(
    open_app: OpenApp, store: RunStore, review: Review, tmp_path: Path
) -> None:
    net = Net(dataset(), "the schema's")
    review = with_net(store, review, net, tmp_path)
    assert review.schema is not None
    review = store.save_review(replace(review, schema=replace(review.schema, positive="ja")))
    with_answers(store, review, net)
    app = open_app(MODEL, review=review.id)
    assert said.errors_of(app) == []
    assert "Reading confirmed by known answers" in everything(app)
    assert "3 000 known answers" in everything(app).replace("\u202f", " ").replace("\u2009", " ")
    with_answers(store, review, net, change=0.1)
    app = open_app(MODEL, review=review.id)
    assert "contradicted by known answers" in everything(app)
    assert "in row 10 it answered" in everything(app)
    assert app.button(key="fit_confirmed").disabled
    app.button(key="answers_away").click().run()
    assert "Reading plausible" in everything(app)
    assert store.answers(review.id) is None


def test_answers_of_others_are_refused_and_those_before_stay(
    open_app: OpenApp, store: RunStore, review: Review, tmp_path: Path
) -> None:
    net = Net(dataset(), "the schema's")
    review = with_net(store, review, net, tmp_path)
    with_answers(store, review, net)
    before = store.answers(review.id)
    app = open_app(MODEL, review=review.id)
    app.file_uploader(key="answers_0").set_value(("other.csv", b"id,score\nX1,0.5\nX2,0.1\n", "text/csv")).run()
    (error,) = said.errors_of(app)[-1:]
    assert "which no row has" in error
    assert store.answers(review.id) == before


@pytest.mark.thorough
def test_a_model_in_an_order_of_its_owner(store: RunStore, review: Review, open_app: OpenApp, tmp_path: Path) -> None:
    """What the table of order and scaling makes: the layout that is kept is read as the network's author reads it."""
    from pages.model import reading

    net = Net(dataset(), "shuffled", scaling="all")
    names = ORDERS["the schema's"].split()
    table = reading._order_table(names, dataset().schema)
    table["Place"] = [net.names.index(name) + 1 for name in names]
    table["Mean or smallest"] = [float(net.shift[net.names.index(name)]) for name in names]
    table["Deviation or range"] = [float(net.scale[net.names.index(name)]) for name in names]
    layout = reading._layout_of(table, names)
    assert layout.order == tuple(net.names)
    np.testing.assert_allclose([layout.scaling[name][0] for name in net.names], net.shift)
    review = with_net(store, review, net, tmp_path)
    assert review.schema is not None
    said_so = replace(review.schema, positive="ja", layout=layout)
    store.save_review(replace(store.review(review.id), schema=said_so))
    with_answers(store, review, net)
    assert "Reading confirmed by known answers" in everything(open_app(MODEL, review=review.id))


def test_every_page_and_the_list_of_reviews_say_how_far_the_reading_is_confirmed(
    open_app: OpenApp, store: RunStore, review: Review, tmp_path: Path
) -> None:
    net = Net(dataset(), "the schema's")
    review = with_net(store, review, net, tmp_path)
    assert review.schema is not None
    store.save_review(replace(review, schema=replace(review.schema, positive="ja")))
    with_answers(store, review, net)
    app = open_app(MODEL, review=review.id)
    assert "not accepted yet" in said.head_of_menu(app), "nobody pressed the button yet"
    app.button(key="fit_confirmed").click().run()
    assert "confirmed by known answers" in said.head_of_menu(app)
    start = open_app("pages/start/page.py")
    assert any("reading confirmed by known answers" in each.value for each in start.markdown)


@pytest.mark.thorough
def test_numbers_of_categories_are_said_to_be_right(open_app: OpenApp, store: RunStore, tmp_path: Path) -> None:
    """The sample's own schema file says them; one that was inferred does not, and nothing but its owner can know
    them.
    """
    sample = find_sample("credit")
    data = store.add_file(sample.data, sample.data.name, FileRole.DATA)
    model = store.add_file(sample.models[0].path, sample.models[0].path.name, FileRole.MODEL)
    said_so = sample.schema_for(sample.models[0])
    review = replace(store.create_review("Credit"), data_id=data.id, model_id=model.id, schema=said_so)
    assert "Reading plausible" in everything(open_app(MODEL, review=store.save_review(review).id))
    bare = replace(store.review(review.id), schema=replace(said_so, layout=Layout()))
    app = open_app(MODEL, review=store.save_review(bare).id)
    assert "nothing says which number each had in training" in everything(app)
    assert app.button(key="fit_confirmed").disabled
    app.button(key="numbers_right").click().run()
    assert "Reading plausible" in everything(app)
    changed = store.review(review.id).schema
    assert changed is not None
    assert changed.layout.codes["housing"] == changed.column("housing").labels
    assert changed.layout.codes_guessed is False


@pytest.mark.thorough
def test_numbers_that_were_taken_from_the_data_can_be_said_to_be_right(
    open_app: OpenApp, store: RunStore, tmp_path: Path
) -> None:
    """Those that the model is given are shown and said, not those of the schema's order."""
    sample = find_sample("credit")
    data = store.add_file(sample.data, sample.data.name, FileRole.DATA)
    model = store.add_file(sample.models[0].path, sample.models[0].path.name, FileRole.MODEL)
    said_so = sample.schema_for(sample.models[0])
    guess = {name: own[::-1] for name, own in said_so.layout.codes.items()}
    schema = replace(said_so, layout=Layout(codes=guess, codes_guessed=True))
    review = replace(store.create_review("Credit"), data_id=data.id, model_id=model.id, schema=schema)
    app = open_app(MODEL, review=store.save_review(review).id)
    shown = ", ".join(f"{number} {label}" for number, label in enumerate(guess["housing"]))
    assert any("**housing**" in each.value and shown in each.value for each in app.markdown)
    app.button(key="numbers_right").click().run()
    changed = store.review(review.id).schema
    assert changed is not None
    assert changed.layout == Layout(codes=guess, codes_guessed=False)
    assert not any(each.key == "numbers_right" for each in app.button)


GRADES = ("low", "middle", "high")


def graded_csv() -> tuple[bytes, np.ndarray, np.ndarray]:
    """Three outcomes that depend on two numbers, which are given back with them."""
    rng = np.random.default_rng(3)
    inputs = rng.integers(0, 40, (1_500, 2))
    merit = inputs @ [1.0, 0.6] + rng.normal(0, 3, len(inputs))
    grades = np.digitize(merit, [22, 40])
    sexes = rng.choice(["m", "w"], len(inputs))
    lines = [
        f"{one},{other},{sex},{GRADES[grade]}"
        for (one, other), sex, grade in zip(inputs.tolist(), sexes, grades, strict=True)
    ]
    return "\n".join(["size,years,sex,grade", *lines]).encode(), inputs, grades


def graded_net(inputs: np.ndarray, grades: np.ndarray, order: list[int]) -> bytes:
    """A ``.nnet`` file of three scores without names, those of the grades in this order; it looks at no sex."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(max_iter=3_000).fit(inputs, grades)
    n = inputs.shape[1] + 2  # and sex in two columns
    weights = np.concatenate([fitted.coef_[order], np.zeros((3, 2))], axis=1)
    ends = "0," * n
    lines = [f"1,{n},3,{n},", f"{n},3,", "0", ends, ends, ends, ends]
    lines += [",".join(map(repr, row)) + "," for row in weights.tolist()]
    lines += [f"{bias!r}," for bias in fitted.intercept_[order].tolist()]
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["the order that fits is taken", "a person says it"])
def test_scores_of_three_outcomes_are_put_in_the_models_own_order(open_app: OpenApp, store: RunStore, way: str) -> None:
    table, inputs, grades = graded_csv()
    data = store.add_file(table, "grades.csv", FileRole.DATA)
    own = ["low", "middle", "high"]  # the data's are the alphabet's
    model = store.add_file(graded_net(inputs, grades, [GRADES.index(name) for name in own]), "g.nnet", FileRole.MODEL)
    schema = infer_schema(read_table(table, "grades.csv"))
    empty = store.create_review("Grades")
    schema = replace(schema, label="grade", favourable="high").with_protected(("sex",))
    review = store.save_review(replace(empty, data_id=data.id, model_id=model.id, schema=schema))
    app = open_app(MODEL, review=review.id)
    assert "Reading not confirmed" in everything(app)
    assert "'low', 'middle', 'high'" in everything(app)
    if way == "a person says it":
        app.multiselect(key="classes_high|low|middle").set_value(own).run()
        app.button(key="classes_use").click().run()
    else:
        assert app.button(key="read_better").label.endswith("its classes are low, middle, high")
        app.button(key="read_better").click().run()
    assert said.errors_of(app) == []
    assert "Reading plausible" in everything(app)
    changed = store.review(review.id).schema
    assert changed is not None
    assert next(column for column in changed.columns if column.name == "grade").labels == GRADES
    assert changed.favourable == "high"
    app.button(key="fit_confirmed").click().run()
    assert app.title[0].value == "Scope"
