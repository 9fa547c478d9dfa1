"""Fields of forms: each setting as the widget that fits it, in percent where it is a share, asked where it applies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pytest
from streamlit.testing.v1 import AppTest

from fairness_engine.certification import settings as certification
from fairness_engine.errors import SettingError
from fairness_engine.groups.rule_sets import settings as rules
from fairness_engine.retraining import settings as retraining
from fairness_engine.settings import ADVANCED, NOT_ASKED, Settings, setting, settings_of


class Way(StrEnum):
    PLAIN = "plain"
    PAPER = "paper"


@dataclass(frozen=True)
class Made(Settings):
    whose = "A test"

    n_parts: int = setting(3, "Parts.", minimum=1, maximum=9, unit="parts")
    share: float = setting(0.05, "Of the rows.", above=0.0, below=1.0, is_percent=True, step=1.0)
    is_quick: bool = setting(False, "Skips a look.", label="Quick")
    way: Way = setting(Way.PLAIN, "How.", names={Way.PAPER: ("As printed", "Slow."), Way.PLAIN: ("Plain", "Fast.")})
    error: float = setting(0.1, "Off.", names={0.1: ("Rough", ""), 0.0: ("Exact", "")})
    order: str = setting("first", "Which.", choices=("first", "last"), when="there is an order")
    column: str = setting("", "Its name.", part=NOT_ASKED)


def made_page() -> None:
    import streamlit as st
    from test_fields import Made

    from pages.shared.fields import SettingsForm

    holds = {"there is an order"} if st.checkbox("ordered", key="ordered") else set()
    form = SettingsForm(Made, "made", {"share": 0.2}, holds, {"n_parts": {"label": "Pieces"}}, {"is_quick": "quick"})
    st.session_state["found"] = form.draw_advanced("More")


def test_each_setting_is_the_widget_that_fits_it() -> None:
    app = AppTest.from_function(made_page).run()
    assert not app.exception
    parts = app.number_input(key="made_n_parts")
    assert (parts.label, parts.value, parts.min, parts.max) == ("Pieces, parts", 3, 1, 9)
    share = app.number_input(key="made_share")
    assert (share.label, share.value, share.min, share.max) == ("Share, %", 20.0, 1.0, 99.0)
    assert app.radio(key="made_way").options == ["As printed", "Plain"]
    assert not app.selectbox, "there is no order to ask for"
    assert not app.text_input, "nor is a column, which the form asks otherwise"
    expected = {"n_parts": 3, "share": 0.2, "is_quick": False, "way": "plain", "error": 0.1, "order": "first"}
    assert app.session_state["found"] == expected


def test_what_is_chosen_comes_back_in_the_settings_own_units() -> None:
    app = AppTest.from_function(made_page).run()
    app.checkbox(key="ordered").check().run()
    app.number_input(key="made_share").set_value(2.5)
    app.toggle(key="quick").set_value(True)
    app.radio(key="made_way").set_value(Way.PAPER)
    app.segmented_control(key="made_error").set_value("Exact")
    app.selectbox(key="made_order").set_value("last")
    app.run()
    found = app.session_state["found"]
    assert found == {"n_parts": 3, "share": 0.025, "is_quick": True, "way": "paper", "error": 0.0, "order": "last"}
    assert Made.from_json(Made(**found).to_json()) == Made(**found)
    with pytest.raises(SettingError, match="above 0 and below 1"):
        Made(share=1.0)


@pytest.mark.parametrize(
    ("kind", "parts", "circumstances"),
    [
        (certification.CertifySettings, {certification.WAY}, set()),
        (rules.RuleSettings, set(rules.Part), set(rules.When)),
        (retraining.RetrainSettings, set(retraining.Part), set(retraining.When)),
    ],
)
def test_every_setting_is_in_a_part_that_its_form_draws(
    kind: type[Settings], parts: set[str], circumstances: set[str]
) -> None:
    """A part or a circumstance that no form knows would hide a setting without a word."""
    for info in settings_of(kind):
        assert info.part in {*parts, ADVANCED, NOT_ASKED}, info.name
        assert info.when in {*circumstances, ""}, info.name
        offered = [value for value in info.names if info.read(value) != value]
        assert offered == [], f"{info.name} offers what it refuses"
