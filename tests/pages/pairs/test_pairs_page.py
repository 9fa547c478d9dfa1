"""The Pairs page with real runs and the real model's process: table, filters, card, edit, simplify, pin, save."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import said
from said import OpenApp
from streamlit.elements.lib import policies
from streamlit.testing.v1 import AppTest

import run_cases
from fairness_engine.model_process.questions import Held, Plausible, Scores
from fairness_engine.oracle.domain import Domain
from fairness_engine.runs import queue
from fairness_engine.runs.writers.pairs_csv import write_pairs_csv
from fairness_engine.store.store import RunStore
from pages.pairs import severity
from pages.shared.app import session
from pages.shared.runs import models
from run_cases import Finished

PAIRS = "pages/pairs/page.py"


@pytest.fixture
def finished(workspace: Path) -> Iterator[Finished]:
    """A workspace with runs that ended; the model's process is stopped afterwards."""
    yield run_cases.finished_runs(workspace)
    session.evaluator().close()


def open_pairs(open_app: OpenApp, finished: Finished, *, shows_all: bool = True, **query: str) -> AppTest:
    """The page on the run that found most, all pairs; implausible ones are listed too, unless told otherwise."""
    app = open_app(PAIRS, **{"review": finished.review.id, "run": finished.searches[-1].id, **query})
    app.button_group(key=f"severity_{finished.review.id}").set_value(severity.ALL).run()
    if "pair" not in query:
        del app.query_params["pair"]
        app.run()
    if shows_all:
        app.button(key="show_implausible").click().run()
        if "pair" not in query:  # the first pair of the whole list, not of the plausible ones
            del app.query_params["pair"]
            app.run()
    return app


def card_of(app: AppTest) -> str:
    """The HTML of the pair card and of the flip matrix."""
    return "".join(str(element.proto.body) for element in app.main.get("html"))


def test_without_a_search_the_page_says_what_to_do(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(PAIRS, review=run_cases.review_of(store).id)
    assert said.errors_of(app) == []
    assert "This needs a run. Plan one first." in said.text_of(app)


def test_a_search_without_pairs_says_how_to_read_it(open_app: OpenApp, finished: Finished) -> None:
    app = open_app(PAIRS, run=finished.without_pairs.id)
    assert said.errors_of(app) == []
    assert "None found within the budget" in said.text_of(app)
    assert said.links_of(app) == ["Plan another search", "Change the scope"]


def test_the_table_lists_the_pairs_and_the_first_is_open(open_app: OpenApp, finished: Finished) -> None:
    app = open_pairs(open_app, finished)
    assert said.errors_of(app) == []
    n = finished.searches[-1].n_found
    assert len(app.dataframe[0].value) == n
    assert f"{n} pairs found." in said.text_of(app).replace("\u202f", "")
    assert app.header[0].value == "Pair 1"
    html = card_of(app)
    assert "Person A" in html
    assert "≠" in html
    assert "○ &lt;=50K" in html


def test_the_first_list_is_of_those_for_whom_it_matters_most(
    open_app: OpenApp, finished: Finished, workspace: Path
) -> None:
    run = finished.searches[-1]
    store = RunStore(workspace)
    told = store.results(run.id)["severity"]["top"]
    app = open_app(PAIRS, review=finished.review.id, run=run.id)
    assert said.errors_of(app) == []
    table = app.dataframe[0].value
    assert table["Pair"].tolist() == [one["pair"] for one in told]
    assert table[severity.UNLIKE].tolist() == [f"{one['variants_unlike']} of {one['n_variants']}" for one in told]
    assert table["Score gap"].tolist() == [one["gap"] for one in told]
    assert table[severity.ALIKE].tolist() == [one["similar_rows"] for one in told]
    assert app.header[0].value == f"Pair {told[0]['pair']}"
    assert f"The {len(told)} people for whom it matters most" in said.text_of(app)
    pairs = store.pairs(run.id)
    shown = pairs[table["Pair"].to_numpy() - 1]
    assert shown.is_plausible(store.results(run.id)["plausibility"]["limit"]).all()
    domain = Domain(run.config.schema, run.config.scope)
    scores, decisions = session.evaluator().ask(
        run.config, Scores(domain.variants(shown.first).reshape(-1, domain.n_columns))
    )
    by_person = decisions.reshape(len(shown), -1)
    most = np.array([np.bincount(own).max() for own in by_person])
    assert (by_person.shape[1] - most).tolist() == [one["variants_unlike"] for one in told]
    widest = np.ptp(scores[:, 0].reshape(len(shown), -1), axis=1)
    assert widest == pytest.approx([one["gap"] for one in told])
    app.button_group(key=f"severity_{finished.review.id}").set_value(severity.ALL).run()
    assert len(app.dataframe[0].value) > len(told)


@pytest.mark.thorough
def test_a_link_opens_its_pair_whatever_was_open_before(open_app: OpenApp, finished: Finished) -> None:
    first, second = finished.searches[0], finished.searches[-1]
    app = open_app(PAIRS, review=finished.review.id, run=first.id)
    severe = app.dataframe[0].value["Pair"].tolist()
    number = next(n for n in range(1, first.n_found) if n not in severe)
    for run, pair in ((second, 3), (first, number), (second, 5)):
        app.query_params = {"review": finished.review.id, "run": run.id, "pair": str(pair)}
        for _ in range(2):
            app.run()
            assert said.errors_of(app) == []
            assert app.header[0].value == f"Pair {pair}"
    app.query_params = {"review": finished.review.id, "run": first.id, "pair": str(number)}
    app.run()
    app.button_group(key=f"severity_{finished.review.id}").set_value(severity.MOST).run()
    assert app.header[0].value == f"Pair {severe[0]}", "another list begins with its first"


def is_implausible(workspace: Path, finished: Finished) -> np.ndarray:
    """Which pairs of the run that found most are too far from the data, or have unseen values."""
    store = RunStore(workspace)
    run = finished.searches[-1]
    pairs = store.pairs(run.id)
    limit = store.results(run.id)["plausibility"]["limit"]
    return np.asarray(((pairs.distance > limit) | (pairs.n_unseen > 0)).any(axis=1))


@pytest.mark.thorough
def test_pairs_of_the_reviews_model_are_opened_and_those_of_another_say_so(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    of_model = run_cases.run_of(store, review, "random")
    other = run_cases.review_of(store, model="census_income_tree")
    store.create_run(run_cases.config_of(other, "random"), review.id)
    newest = queue.run_in_foreground(store, store.runs(review.id)[0].id, lambda _: None)
    assert newest.n_found
    app = open_app("pages/pairs/page.py", review=review.id)
    assert app.query_params["run"] == of_model.id
    assert models.ANOTHER not in said.text_of(app)
    app = open_app("pages/pairs/page.py", review=review.id, run=newest.id)
    assert models.ANOTHER in said.text_of(app)


def test_implausible_pairs_are_hidden_at_first_and_counted(
    open_app: OpenApp, finished: Finished, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policies, "_shown_default_value_warning", False)  # Streamlit warns once a process
    hidden = is_implausible(workspace, finished)
    assert 0 < hidden.sum() < len(hidden), "the sample has both kinds"
    app = open_pairs(open_app, finished, shows_all=False)
    assert said.errors_of(app) == []
    assert app.dataframe[0].value["Pair"].tolist() == (np.flatnonzero(~hidden) + 1).tolist()
    assert (
        f"{hidden.sum()} of {len(hidden)} pairs are hidden as implausible: a person further from the data than 99 %"
        in plain(app)
    )
    app.button(key="show_implausible").click().run()
    assert len(app.dataframe[0].value) == len(hidden)
    assert f"{hidden.sum()} of {len(hidden)} pairs are implausible and listed" in plain(app)
    app.button(key="show_implausible").click().run()
    assert len(app.dataframe[0].value) == (~hidden).sum()
    assert not policies._shown_default_value_warning, "a switch that a button sets, too, has no default of its own"


def test_a_link_to_an_implausible_pair_opens_it(open_app: OpenApp, finished: Finished, workspace: Path) -> None:
    first = int(np.flatnonzero(is_implausible(workspace, finished))[0])
    app = open_pairs(open_app, finished, shows_all=False, pair=str(first + 1))
    assert app.header[0].value == f"Pair {first + 1}"
    assert f"Pair {first + 1} is open but not in the list, for it is implausible." in plain(app)
    assert "further than 99 % of real people are from each other" in plain(app)
    assert first + 1 not in app.dataframe[0].value["Pair"].tolist()


def test_a_pinned_pair_is_listed_however_implausible(open_app: OpenApp, finished: Finished, workspace: Path) -> None:
    first = int(np.flatnonzero(is_implausible(workspace, finished))[0])
    RunStore(workspace).set_pin(finished.review.id, finished.searches[-1].id, first, "")
    app = open_pairs(open_app, finished, shows_all=False)
    app.toggle(key="only_pinned").set_value(True).run()
    assert said.errors_of(app) == []
    assert app.dataframe[0].value["Pair"].tolist() == [first + 1]


def test_the_limits_can_be_moved_until_nothing_is_left(open_app: OpenApp, finished: Finished, workspace: Path) -> None:
    run = finished.searches[-1]
    distance = RunStore(workspace).pairs(run.id).distance.max(axis=1)
    app = open_pairs(open_app, finished, shows_all=False)
    app.toggle(key=f"plausible_{finished.review.id}_unseen").set_value(False)
    slider = next(slider for slider in app.slider if slider.label == "Largest distance to the data")
    slider.set_value(5.0).run()
    assert said.errors_of(app) == []
    assert len(app.dataframe[0].value) == (distance <= 0.05).sum()
    assert "hidden as implausible: a person further than 5.0 % from the data." in plain(app)
    slider = next(slider for slider in app.slider if slider.label == "Largest distance to the data")
    slider.set_value(0.0).run()
    if (distance > 0).all():
        assert "No plausible pair is left." in plain(app)
    else:
        assert len(app.dataframe[0].value) == (distance == 0).sum()


def test_pairs_of_an_earlier_version_are_all_listed(open_app: OpenApp, finished: Finished, workspace: Path) -> None:
    store = RunStore(workspace)
    run = finished.searches[-1]
    for part in store.parts(run.id):
        file = store.run_folder(run.id) / part.file
        measured = ["distance_a", "distance_b", "n_unseen_a", "n_unseen_b"]
        pq.write_table(pq.read_table(file).drop_columns(measured), file)
    app = open_pairs(open_app, finished, shows_all=False)
    assert said.errors_of(app) == []
    assert len(app.dataframe[0].value) == run.n_found
    assert f"{run.n_found} pairs were not measured; they are listed with the others." in plain(app)


def test_the_card_says_how_the_nearest_real_person_differs(
    open_app: OpenApp, finished: Finished, workspace: Path
) -> None:
    run = finished.searches[-1]
    config = run.config
    pair = RunStore(workspace).pairs(run.id, limit=1)
    key = (config.data_id, config.model_id, config.schema, config.scope)
    app = open_pairs(open_app, finished, pair="1")
    people = np.concatenate([pair.first, pair.second])
    both = session.evaluator().ask(Held(*key), Plausible(people))
    assert [known.distance for known in both] == pair.distance[0].tolist()
    assert max(known.distance for known in both) > 0
    for known, person in zip(both, people, strict=True):
        for index in known.differs:
            column = config.schema.inputs[index]
            before = column.text(person[index])
            after = column.text(known.neighbour[index])
            assert f"{column.name} {after} instead of {before}" in plain(app)
    assert "All values lie in the ranges of the review." in plain(app)


def plain(app: AppTest) -> str:
    """What the page says, with ordinary blanks in numbers."""
    return said.text_of(app).replace("\u202f", "")


def test_a_link_opens_its_pair_and_a_wrong_one_the_first(open_app: OpenApp, finished: Finished) -> None:
    assert open_pairs(open_app, finished, pair="3").header[0].value == "Pair 3"
    for wrong in ("0", "-1", "99999999999999999999999", "9" * 5_000, "abc", "²"):
        app = open_app(PAIRS, review=finished.review.id, run=finished.searches[-1].id, pair=wrong)
        assert said.errors_of(app) == [], wrong
        first = app.dataframe[0].value["Pair"].iloc[0]
        assert app.header[0].value == f"Pair {first}", wrong


def test_the_flip_matrix_holds_what_the_model_says_of_every_variant(
    open_app: OpenApp, finished: Finished, workspace: Path
) -> None:
    app = said.unfold(open_pairs(open_app, finished), "flips")
    frame = app.dataframe[-1].value
    assert len(frame) == 8
    run = finished.searches[-1]
    pair = RunStore(workspace).pairs(run.id, limit=1)
    marked = frame[frame["Person "] != ""].sort_values("Person ")
    assert marked["Score "].tolist() == pytest.approx([pair.score_first[0], pair.score_second[0]], abs=1e-9)
    assert marked["Decision "].tolist() == ["○ <=50K", "● >50K"]


def test_filters_narrow_the_table_and_are_kept_on_the_way_to_other_pages(open_app: OpenApp, finished: Finished) -> None:
    app = open_pairs(open_app, finished)
    n = len(app.dataframe[0].value)
    word = str(app.dataframe[0].value["occupation"].iloc[0])
    app.text_input[0].set_value(word.upper()).run()
    assert said.errors_of(app) == []
    narrowed = app.dataframe[0].value
    assert 0 < len(narrowed) < n
    assert set(narrowed["occupation"]) == {word}
    assert "match the filters" in said.text_of(app)
    app.switch_page("pages/run/page.py").run()
    app.switch_page(PAIRS).run()
    assert len(app.dataframe[0].value) == len(narrowed)
    app.button(key="clear_filters").click().run()
    assert len(app.dataframe[0].value) == n


def test_filters_that_leave_nothing_say_so(open_app: OpenApp, finished: Finished) -> None:
    app = open_pairs(open_app, finished)
    app.text_input[0].set_value("no such word").run()
    assert said.errors_of(app) == []
    assert "No pair matches the filters." in said.text_of(app)


def test_a_changed_value_shows_the_new_decision_at_once(open_app: OpenApp, finished: Finished, workspace: Path) -> None:
    app = open_pairs(open_app, finished)
    run = finished.searches[-1]
    pair = RunStore(workspace).pairs(run.id, limit=1)
    domain = Domain(run.config.schema, run.config.scope)
    index = domain.schema.index("hours_per_week")
    target = next(box for box in app.selectbox if box.label == "Change a value")
    target.set_value(next(option for option in _targets(domain) if option.column == index)).run()
    assert pair.first[0, index] != 40
    field = next(box for box in app.number_input if box.label == "New value of hours\\_per\\_week")
    field.set_value(40).run()
    assert said.errors_of(app) == []
    rows = np.concatenate([pair.first, pair.second])
    rows[:, index] = 40
    config = run.config
    key = (config.data_id, config.model_id, config.schema, config.scope)
    scores, decisions = session.evaluator().ask(Held(*key), Scores(rows))
    html = card_of(app)
    assert html.count("✎ 40") == 2
    for score in scores[:, 0]:
        assert f"score {score:.3f}" in html
    gone = decisions[0] == decisions[1]
    assert ("the pair is no longer discriminatory" in said.text_of(app)) == gone
    app.button(key="undo_edits").click().run()
    assert "✎" not in card_of(app)


def _targets(domain: Domain) -> list:
    from pages.pairs.edit import targets

    return targets(domain)


def test_simplify_shows_a_plainer_pair_that_still_holds(open_app: OpenApp, finished: Finished) -> None:
    app = open_pairs(open_app, finished)
    app.button(key="simplify").click().run()
    assert said.errors_of(app) == []
    text = said.text_of(app)
    assert "moved to a more ordinary value; the pair still holds" in text or "in its plainest form already" in text
    assert "the decision turns from" in text


def test_a_pin_keeps_its_note(open_app: OpenApp, finished: Finished, workspace: Path) -> None:
    run = finished.searches[-1]
    app = said.pop_up(open_pairs(open_app, finished, pair="2"), f"pin_{run.id}_1")
    app.text_area[0].set_value("For the <b>board</b>")
    app.button(key="pin_save").click().run()
    assert said.errors_of(app) == []
    (pin,) = RunStore(workspace).pins(finished.review.id)
    assert (pin.run_id, pin.pair_index, pin.note) == (run.id, 1, "For the <b>board</b>")
    app.toggle(key="only_pinned").set_value(True).run()
    assert app.dataframe[0].value["Pair"].tolist() == [2]
    app.button(key="pin_remove").click().run()
    assert RunStore(workspace).pins(finished.review.id) == []


def test_the_saved_file_is_the_command_lines_with_the_plausibility(
    finished: Finished, workspace: Path, tmp_path: Path
) -> None:
    from pages.pairs.export import pairs_csv

    store = RunStore(workspace)
    run = finished.searches[-1]
    write_pairs_csv(tmp_path / "pairs.csv", store, run.id, run.config.schema)
    pairs = store.pairs(run.id)
    limit = store.results(run.id)["plausibility"]["limit"]
    domain = Domain(run.config.schema, run.config.scope)
    made = pairs_csv(domain, pairs, np.arange(len(pairs)), limit=limit)
    lines = list(csv.reader(io.StringIO(made.decode())))
    assert lines[0][-4:] == ["is_plausible", "severity", "distance", "n_unseen"]
    assert [line[:-2] for line in lines] == list(csv.reader((tmp_path / "pairs.csv").open(encoding="utf-8")))
    assert [float(line[-2]) for line in lines[1:]] == pairs.distance.ravel().tolist()
    assert [float(line[-3]) for line in lines[1:]] == np.repeat(pairs.gaps, 2).tolist()
    assert {line[-4] for line in lines[1:]} == {"true", "false"}


def test_a_model_that_is_gone_leaves_the_card_readable(open_app: OpenApp, finished: Finished, workspace: Path) -> None:
    store = RunStore(workspace)
    store.file(finished.searches[-1].config.model_id).path.unlink()
    app = open_pairs(open_app, finished)
    assert len(said.errors_of(app)) == 1
    assert "Person A" in card_of(app)


def test_the_app_process_holds_no_model_library(open_app: OpenApp, finished: Finished) -> None:
    import subprocess
    import sys

    program = (
        "import sys\n"
        "from pages.pairs import browser, card_panel, export\n"
        "from pages.plan import form\n"
        "from pages.run import panel\n"
        "from pages.shared.charts import run_charts\n"
        "from pages.shared.review import planning\n"
        "from pages.shared.runs import run_list\n"
        "import fairness_engine.runs.queue, fairness_engine.model_process.pool\n"
        "heavy = {'tensorflow', 'keras', 'numba', 'sklearn', 'h5py', 'onnxruntime', 'skops'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
