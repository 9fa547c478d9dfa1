"""From a suggested link to the people for whom it matters most, as a user does it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from driver import AppPage, AppServer, OpenPage
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.data.inference import infer_schema
from fairness_engine.data.table import read_table
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import Fit, Held
from fairness_engine.store.records import FileRole, Review
from fairness_engine.store.store import RunStore


@pytest.fixture(scope="module")
def review(app_server: AppServer, tmp_path_factory: pytest.TempPathFactory) -> Review:
    """A review of couples that has all but its scope."""
    folder = tmp_path_factory.mktemp("couples")
    rng = np.random.default_rng(0)
    n = 3_000
    sex = rng.choice(["Female", "Male"], n)
    status = rng.choice(["Single", "Divorced"], n)
    status = np.where(rng.random(n) < 0.5, np.where(sex == "Female", "Wife", "Husband"), status)
    people = pd.DataFrame(
        {"sex": sex, "status": status, "age": rng.integers(18, 70, n), "hours": rng.integers(5, 60, n)}
    )
    score = people.hours - 20 + 8 * (sex == "Male") + 6 * (status == "Husband") + 0.2 * people.age
    people["hired"] = np.where(score > 25, "yes", "no")
    people.to_csv(folder / "people.csv", index=False)
    encoder = make_column_transformer((OneHotEncoder(), ["sex", "status"]), remainder="passthrough")
    model = make_pipeline(encoder, DecisionTreeClassifier(max_depth=7, random_state=0))
    skops.io.dump(model.fit(people.drop(columns="hired"), people.hired), folder / "tree.skops")
    store = RunStore(app_server.workspace)
    data = store.add_file(folder / "people.csv", "people.csv", FileRole.DATA)
    file = store.add_file(folder / "tree.skops", "tree.skops", FileRole.MODEL)
    schema = infer_schema(read_table(Path(folder / "people.csv")))
    schema = replace(schema, favourable="yes").with_protected(("sex",))
    evaluator = Evaluator(store)
    fit = evaluator.ask(Held(data.id, file.id, schema), Fit()).to_json()
    evaluator.close()
    empty = store.create_review("Couples")
    return store.save_review(replace(empty, data_id=data.id, model_id=file.id, schema=schema, fit=fit))


THEMES = ("light", "dark")


def seen_in_both_themes(app: AppPage, name: str, *said: str) -> None:
    """The page says it in the light and in the dark."""
    for theme in THEMES:
        app.look(theme=theme, width=1280, height=720)
        for text in said:
            app.expect_text(text)
        app.screenshot(f"links/{name}-{theme}")
        app.expect_no_exception()


def test_a_link_is_accepted_and_goes_with_every_page(
    app_server: AppServer, open_page: OpenPage, review: Review
) -> None:
    app: AppPage = open_page(app_server, width=1280, height=720)
    app.goto("scope", review=review.id)
    app.expect_text("0 people of")
    app.set_checked("status goes with sex")
    seen_in_both_themes(app, "scope", "What goes with a protected attribute")
    app.click_button("Save and go on")
    app.expect_text("How to look, and how much work to spend")
    app.page.get_by_text("Linked: status goes with sex").wait_for()
    app.click_text("Directed")
    app.expect_text("Only plausible people")
    app.click_button("Start 2 runs side by side", settle=False)  # an estimate is proposed with it
    app.expect_text("Directed · ✓ Finished")
    app.expect_text("Two people who could exist")
    app.expect_text("100 %")
    app.click_link("See the pairs")
    seen_in_both_themes(
        app, "pairs", "For whom it matters most", "people for whom it matters most, of", "Could they exist?"
    )
    app.click_text("All pairs")
    app.expect_text("pairs found.")
    app.expect_no_exception()
    store = RunStore(app_server.workspace)
    run = next(run for run in store.runs(review.id) if run.config.technique == "directed")
    pairs = store.pairs(run.id)
    status = run.config.schema.index("status")
    spouses = {float(run.config.schema.inputs[status].codes.index(name)) for name in ("Wife", "Husband")}
    changed = pairs.first[:, status] != pairs.second[:, status]
    assert changed.any()
    assert set(np.unique(pairs.first[changed, status])) <= spouses
