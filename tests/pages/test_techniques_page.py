"""The Techniques page: every technique of the registry, in its family, with its own three answers, source and settings."""

from __future__ import annotations

import said
from said import OpenApp

from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.search.technique import settings_of
from pages.components.technique_families import known_families
from pages.components.technique_notes import NOTES


def test_every_technique_answers_what_when_and_what_not(open_app: OpenApp) -> None:
    app = open_app("pages/learn/techniques.py")
    assert said.errors_of(app) == []
    text = said.text_of(app)
    for name, technique in TECHNIQUES.items():
        for answer in (NOTES[name].does, NOTES[name].use_when, NOTES[name].cannot_say, technique.summary):
            assert answer in text, name
        assert f"Source: {technique.reference}" in text
    headings = [heading.value for heading in app.subheader]
    assert headings == [*(family.title for family in known_families()), "Words used here"]


def test_every_setting_is_listed_with_its_default(open_app: OpenApp) -> None:
    app = open_app("pages/learn/techniques.py")
    tables = [element.value for element in app.markdown if element.value.startswith("| Setting |")]
    listed = [[line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]] for table in tables]
    expected = [
        [info.label for info in settings_of(TECHNIQUES[name])]
        for family in known_families()
        for name in family.techniques
        if settings_of(TECHNIQUES[name])
    ]
    assert [[label.replace("\\", "") for label in labels] for labels in listed] == expected
