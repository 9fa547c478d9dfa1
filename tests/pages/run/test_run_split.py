"""Where the finds of a symbolic search came from: real runs in the sandboxed process, and what the page says of
them.
"""

from __future__ import annotations

import pytest
import said
from said import OpenApp

import run_cases
from fairness_engine.search.results import Tried
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore
from pages.shared.runs.figures import split_table


@pytest.mark.thorough
def test_only_a_symbolic_run_shows_where_its_pairs_came_from(open_app: OpenApp, store: RunStore) -> None:
    """One test, since a workspace of its own takes a while to prepare."""
    review = run_cases.review_of(store)
    for technique, places in (
        ("sg", ["the data's rows", "directed search"]),
        ("sg-shared", ["the data's rows"]),
        ("random", None),
    ):
        run = run_cases.run_of(store, review, technique)
        assert run.state is RunState.FINISHED, run.message
        app = open_app("pages/run/page.py", review=review.id, run=run.id)
        assert said.errors_of(app) == []
        assert ("Where the pairs came from" in said.text_of(app)) == (places is not None)
        split = store.results(run.id).get("split", {})
        assert sum(counts["n_tried"] for counts in split.values()) == (run.n_tried if places else 0)
        assert sum(counts["n_found"] for counts in split.values()) == (run.n_found if places else 0)
        tables = [element.value for element in app.dataframe if "From" in element.value.columns]
        assert [table["From"].tolist()[: len(places or [])] for table in tables] == ([places] if places else [])


def test_places_that_nobody_came_from_are_left_out() -> None:
    split = {
        "data": Tried(1200, 0),
        "uniform": Tried(0, 0),
        "directed": Tried(40, 10),
    }
    table = split_table(split)
    assert table["From"].tolist() == ["the data's rows", "directed search"]
    assert table["People tried"].tolist() == ["1\u202f200", "40"]
    assert table["Success rate"].tolist() == ["0 %", "25 %"]
