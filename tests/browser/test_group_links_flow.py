"""A group's people followed from page to page, in a real browser."""

from __future__ import annotations

import re
from dataclasses import replace

from driver import AppPage, AppServer, OpenPage
from playwright.sync_api import expect

from fairness_engine.data.catalogue import find_sample
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds, queue
from fairness_engine.store.records import FileRole, Review
from fairness_engine.store.store import RunStore

SAMPLE = find_sample("credit")


def searched_review(server: AppServer) -> tuple[Review, str]:
    """The credit sample with a search and a run of rule sets; the run's id."""
    store = RunStore(server.workspace)
    model = SAMPLE.models[0]
    schema = SAMPLE.schema_for(model)
    data = store.add_file(SAMPLE.data, SAMPLE.data.name, FileRole.DATA)
    file = store.add_file(model.path, model.path.name, FileRole.MODEL)
    fit = {"classes": list(model.classes), "favourable": 1, "uses_protected": dict.fromkeys(model.protected, True)}
    review = replace(store.create_review("Credit"), data_id=data.id, model_id=file.id, schema=schema, fit=fit)
    review = store.save_review(replace(review, scope=Scope(model.protected)))
    same = {"data_id": data.id, "model_id": file.id, "schema": schema, "scope": Scope(model.protected)}
    search = kinds.SEARCH.config(technique="data-scan", budget=Budget(20_000), **same)
    rules = kinds.RULES.config(settings={"edges": "round", "error": 0.1}, **same)
    runs = [
        queue.run_in_foreground(store, store.create_run(each, review.id), lambda _: None) for each in (search, rules)
    ]
    store.close()
    return review, runs[1].id


def test_a_group_is_followed_to_its_rows_and_pairs(app: AppPage, app_server: AppServer, open_page: OpenPage) -> None:
    review, run_id = searched_review(app_server)
    app.goto("groups", review=review.id, run=run_id, rule="1")
    app.click_text("Its rows and pairs")
    expect(app.page.get_by_text("The people of this group")).to_be_visible()
    expect(app.page.get_by_text("stored pair").first).to_be_visible()
    app.wait_until_at_rest()
    app.screenshot("group-people-light")
    assert app.download_table("rows as CSV").startswith("row,")
    app.click_link("See them on the Data page")
    app.expect_text("Rows of a group")
    assert f"group={run_id}%3A1" in app.query() or f"group={run_id}:1" in app.query()
    app.screenshot("group-rows-light")
    dark = open_page(app_server, theme="dark")
    dark.goto("pairs", review=review.id, group=f"{run_id}:1")
    dark.expect_text("match the filters")
    dark.screenshot("group-pairs-dark")
    dark.page.get_by_role("button", name=re.compile("^Group: ")).or_(
        dark.page.locator(".st-key-group_chip button")
    ).first.click()
    dark.wait_until_at_rest()
    assert "group=" not in dark.query()
    for page in (app, dark):
        page.expect_no_exception()
