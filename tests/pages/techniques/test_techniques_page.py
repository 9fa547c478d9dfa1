"""The Techniques page: every technique of the registry, in its family, with its own three answers, source and
settings.
"""

from __future__ import annotations

import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

from fairness_engine.certification.settings import CertifySettings
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.settings import settings_of
from pages.shared.runs.technique_families import known_families
from pages.techniques.notes import (
    CERTIFICATION,
    NOTES,
    PROOF_WORDS,
    RETRAIN_WORDS,
    RETRAINING,
    RULE_WORDS,
    TESTSGD,
    THEMIS_LINE,
    Note,
)

PARTS = (*(family.title for family in known_families()), "Proofs", "Groups", "Retraining", "Words")


def open_part(open_app: OpenApp, part: str) -> AppTest:
    """The page with one of its parts open."""
    app = open_app("pages/techniques/page.py")
    app.session_state["of"] = part
    app.run()
    assert said.errors_of(app) == []
    assert [tab.label for tab in app.tabs] == list(PARTS)
    return app


def test_every_technique_answers_what_when_and_what_not(open_app: OpenApp) -> None:
    for family in known_families():
        text = said.text_of(open_part(open_app, family.title))
        assert family.use_when in text
        for name in family.techniques:
            technique = TECHNIQUES[name]
            for answer in (NOTES[name].does, NOTES[name].use_when, NOTES[name].cannot_say, technique.summary):
                assert answer in text, name
            assert f"Source: {technique.reference}" in text
        assert "none found within the budget" in text
    assert sorted(name for family in known_families() for name in family.techniques) == sorted(TECHNIQUES)


def test_every_setting_is_listed_with_its_default(open_app: OpenApp) -> None:
    tables = [
        element.value
        for part in PARTS
        for element in open_part(open_app, part).markdown
        if element.value.startswith("| Setting |")
    ]
    listed = [[line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]] for table in tables]
    expected = [
        [info.label for info in settings_of(TECHNIQUES[name])]
        for family in known_families()
        for name in family.techniques
        if settings_of(TECHNIQUES[name])
    ]
    expected += [[info.label for info in settings_of(kind)] for kind in (CertifySettings, RuleSettings)]
    assert [[label.replace("\\", "") for label in labels] for labels in listed] == expected


def test_certification_says_what_is_proved_and_what_is_not(open_app: OpenApp) -> None:
    text = said.text_of(open_part(open_app, "Proofs"))
    for answer in (CERTIFICATION.does, CERTIFICATION.use_when, CERTIFICATION.cannot_say, *PROOF_WORDS.values()):
        assert answer in text


def test_rule_sets_say_what_they_compare_and_what_they_do_not(open_app: OpenApp) -> None:
    text = said.text_of(open_part(open_app, "Groups"))
    for answer in (TESTSGD.does, TESTSGD.use_when, TESTSGD.cannot_say, *RULE_WORDS.values(), THEMIS_LINE):
        assert answer in text


def test_retraining_says_what_it_does_and_what_not_and_lists_every_strategy(open_app: OpenApp) -> None:
    text = said.text_of(open_part(open_app, "Retraining"))
    for answer in (RETRAINING.does, RETRAINING.use_when, RETRAINING.cannot_say, *RETRAIN_WORDS.values()):
        assert answer in text
    for info in STRATEGIES.values():
        assert info.summary in text


@pytest.mark.parametrize(
    ("stage", "words"),
    [("maft", NOTES["maft"]), ("certification", CERTIFICATION), ("testsgd", TESTSGD), ("retraining", RETRAINING)],
)
def test_below_a_stage_stand_the_notes_of_its_technique(open_app: OpenApp, stage: str, words: Note) -> None:
    app = open_app("pages/techniques/page.py")
    app.session_state["stage"] = stage
    app.run()
    assert said.errors_of(app) == []
    assert words.does in said.text_of(app)
