"""Signing in, where the operator's settings are not whole."""

from __future__ import annotations

from typing import Any

import pytest
from said import OpenApp
from streamlit.testing.v1 import AppTest


def signs_in(app: AppTest) -> list[str]:
    return [button.label for button in app.sidebar.button if button.label.startswith("Sign in")]


@pytest.mark.parametrize(
    ("settings", "labels"),
    [
        ({}, []),
        ({"auth": {"redirect_uri": "http://127.0.0.1/oauth2callback"}}, []),
        ({"auth": {"client_id": "evenhand"}}, ["Sign in"]),
        (
            {"auth": {"north": {"client_id": "a"}, "south": {"client_id": "b"}}},
            ["Sign in with north", "Sign in with south"],
        ),
    ],
)
def test_each_provider_has_a_line(settings: dict[str, Any], labels: list[str], open_app: OpenApp) -> None:
    app = open_app()
    for name, value in settings.items():
        app.secrets[name] = value
    app.run()
    assert signs_in(app) == labels


def test_a_setting_that_lacks_is_a_sentence(open_app: OpenApp) -> None:
    app = open_app()
    app.secrets["auth"] = {"client_id": "evenhand"}
    app.run()
    (button,) = (each for each in app.sidebar.button if each.label == "Sign in")
    button.click().run()
    assert not app.exception
    (error,) = app.sidebar.error
    assert error.value.startswith("A sign-in needs the extra 'team' (pip install 'evenhand[team]') and a complete")
