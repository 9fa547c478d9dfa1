"""The Techniques page: every technique of the registry, in its family, with its own three answers, source and settings."""

from __future__ import annotations

import pytest
import said
from said import OpenApp

from fairness_engine.certification.settings import CertifySettings
from fairness_engine.certification.words import describe_box
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.search.technique import settings_of
from pages.components import proof_example
from pages.components.technique_families import known_families
from pages.components.technique_notes import CERTIFICATION, CERTIFY_SETTINGS, NOTES, PROOF_WORDS


def test_every_technique_answers_what_when_and_what_not(open_app: OpenApp) -> None:
    app = open_app("pages/learn/techniques.py")
    assert said.errors_of(app) == []
    text = said.text_of(app)
    for name, technique in TECHNIQUES.items():
        for answer in (NOTES[name].does, NOTES[name].use_when, NOTES[name].cannot_say, technique.summary):
            assert answer in text, name
        assert f"Source: {technique.reference}" in text
    headings = [heading.value for heading in app.subheader]
    assert headings == [*(family.title for family in known_families()), "Proofs", "Words used here"]


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
    expected.append([CERTIFY_SETTINGS[name][0] for name in CertifySettings().to_json()])
    assert [[label.replace("\\", "") for label in labels] for labels in listed] == expected


def test_certification_says_what_is_proved_and_what_is_not(open_app: OpenApp) -> None:
    text = said.text_of(open_app("pages/learn/techniques.py"))
    for answer in (CERTIFICATION.does, CERTIFICATION.use_when, CERTIFICATION.cannot_say, *PROOF_WORDS.values()):
        assert answer in text
    assert set(CERTIFY_SETTINGS) == set(CertifySettings().to_json()), "every setting is explained, and no other"


# --- the example --------------------------------------------------------------------------------


def true_shares() -> tuple[float, float]:
    """The example's answer, everybody asked one by one."""
    everybody = [(income, years) for income in range(1, 21) for years in range(10)]
    hangs = [(income + years > 15) != (income + years + 3 > 15) for income, years in everybody]
    return 1 - sum(hangs) / len(everybody), sum(hangs) / len(everybody)


@pytest.mark.parametrize("is_counted", [False, True])
def test_the_example_proves_no_more_than_is_true_and_in_the_end_all_of_it(is_counted: bool) -> None:
    certified, falsified = true_shares()
    before = (0.0, 0.0)
    for n_splits in range(0, proof_example.MAX_SPLITS + 1, 4):
        tree = proof_example.example_tree(n_splits, is_counted=is_counted)
        tree.check()
        proved = float(tree.certified[0]), float(tree.falsified[0])
        assert before[0] <= proved[0] <= certified + 1e-12
        assert before[1] <= proved[1] <= falsified + 1e-12
        before = proved
    assert before == pytest.approx((certified, falsified))
    assert f"{round(200 * falsified)} of the 200 individuals, {100 * falsified:.0f} %" in proof_example.ANSWER


def test_counting_decides_the_example_in_one_box_and_classic_does_not() -> None:
    assert proof_example.example_tree(0, is_counted=True).undecided[0] == pytest.approx(0.0)
    assert proof_example.example_tree(0, is_counted=False).undecided[0] == 1.0


def test_boxes_of_the_example_are_told_in_words_and_drawn(open_app: OpenApp) -> None:
    app = open_app("pages/learn/techniques.py")
    assert said.errors_of(app) == []
    content = app.get("bidi_component")[0].proto.bytes
    app.slider(key="example_splits").set_value(20).run()
    assert said.errors_of(app) == []
    assert app.get("bidi_component")[0].proto.bytes != content
    tree = proof_example.example_tree(1, is_counted=False)
    assert describe_box(proof_example.columns(), *tree.box(1)) == ["income 1-10"]
