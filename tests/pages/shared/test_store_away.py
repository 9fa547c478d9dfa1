"""The app on PostgreSQL, and while its server is away."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from said import OpenApp

from fairness_engine.store.environment import DATABASE_VARIABLE
from fairness_engine.store.store import RunStore
from own_cluster import PASSWORD, Cluster
from pages.shared.app import session
from run_cases import review_of


@pytest.mark.thorough
@pytest.mark.parametrize("page", ["pages/start/page.py", "pages/data/page.py", "pages/plan/page.py"])
def test_a_page_says_one_sentence_while_the_server_is_away_and_goes_on_when_it_is_back(
    workspace: Path, open_app: OpenApp, postgresql: Cluster, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    with postgresql.database() as url:
        monkeypatch.setenv(DATABASE_VARIABLE, url)
        with contextlib.closing(RunStore(workspace, url)) as store:
            review = review_of(store)
        app = open_app(page, review=review.id)
        whole = len(app.main)
        assert not app.exception
        assert not app.error
        postgresql.stop()
        try:
            app.run()
            assert not app.exception
            assert [error.value.count("must answer") for error in app.error] == [1]
            assert PASSWORD not in app.error[0].value
        finally:
            postgresql.start()
        app.run()
        assert not app.error
        assert len(app.main) == whole
        session._store(str(workspace), url).close()
