"""The Techniques page: every technique of the registry, in its family, with its own three answers, source and
settings.
"""

from __future__ import annotations

import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

from fairness_engine.certification.partition.phrases import describe_box
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.groups.rule_sets.phrases import group_text
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.settings import settings_of
from pages.shared.runs.technique_families import known_families
from pages.techniques.examples import proof, retraining, rule_sets
from pages.techniques.notes import (
    CERTIFICATION,
    NOTES,
    PROOF_WORDS,
    RETRAIN_WORDS,
    RETRAINING,
    RULE_WORDS,
    TESTSGD,
    THEMIS_LINE,
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


# --- the examples -------------------------------------------------------------------------------


def true_shares() -> tuple[float, float]:
    """The example's answer, everybody asked one by one."""
    everybody = [(income, years) for income in range(1, 21) for years in range(10)]
    hangs = [(income + years > 15) != (income + years + 3 > 15) for income, years in everybody]
    return 1 - sum(hangs) / len(everybody), sum(hangs) / len(everybody)


@pytest.mark.parametrize("is_counted", [False, True])
def test_the_example_proves_no_more_than_is_true_and_in_the_end_all_of_it(is_counted: bool) -> None:
    certified, falsified = true_shares()
    before = (0.0, 0.0)
    for n_splits in range(0, proof.MAX_SPLITS + 1, 4):
        tree = proof.example_tree(n_splits, is_counted=is_counted)
        tree.check()
        proved = float(tree.certified[0]), float(tree.falsified[0])
        assert before[0] <= proved[0] <= certified + 1e-12
        assert before[1] <= proved[1] <= falsified + 1e-12
        before = proved
    assert before == pytest.approx((certified, falsified))
    assert f"{round(200 * falsified)} of the 200 individuals, {100 * falsified:.0f} %" in proof.ANSWER


def test_counting_decides_the_example_in_one_box_and_classic_does_not() -> None:
    assert proof.example_tree(0, is_counted=True).undecided[0] == pytest.approx(0.0)
    assert proof.example_tree(0, is_counted=False).undecided[0] == 1.0


def map_of(app: AppTest) -> bytes:
    """What the browser is sent to draw the map: of the parts of a page the only one that comes as bytes."""
    (sent,) = [part.proto.bytes for part in app.get("bidi_component") if part.proto.bytes]
    return bytes(sent)


def test_boxes_of_the_example_are_told_in_words_and_drawn(open_app: OpenApp) -> None:
    app = open_part(open_app, "Proofs")
    assert said.errors_of(app) == []
    content = map_of(app)
    app.slider(key="example_splits").set_value(20).run()
    assert said.errors_of(app) == []
    assert map_of(app) != content
    tree = proof.example_tree(1, is_counted=False)
    assert describe_box(proof.columns(), *tree.box(1)) == ["income 1-10"]


def by_hand(sexes: tuple[str, ...], ages: tuple[int, ...]) -> tuple[float, float]:
    """The shares inside and outside a group of the sixty people, added up from the table as it is shown."""
    table = rule_sets.table()
    inside = [0, 0]
    outside = [0, 0]
    for line, sex in enumerate(table["Credit"]):
        for age in rule_sets.AGES:
            hits, n = (int(part) for part in table[f"{age} to {age + 9}"][line].split(" of "))
            side = inside if sex in sexes and age in ages else outside
            side[0] += hits
            side[1] += n
    return inside[0] / inside[1], outside[0] / outside[1]


def test_the_sixty_people_are_scored_as_one_does_by_hand() -> None:
    result = rule_sets.example_result(0.05)
    assert len(result.scored) == 2 + 5 + 10, "two sexes, five ranges of three ages, and both"
    for position in range(len(result.scored)):
        sexes = rule_sets.SEXES
        ages = rule_sets.AGES
        for rule in result.rule_set_json(position)["rules"]:
            if rule["column"] == "sex":
                sexes = tuple(rule["values"])
            else:
                ages = tuple(age for age in rule_sets.AGES if rule["low"] <= age <= rule["high"])
        inside, outside = by_hand(sexes, ages)
        assert result.scored.inside[position] == pytest.approx(inside)
        assert result.scored.outside[position] == pytest.approx(outside)
    scores = {group_text(result, i): 100 * result.scored.score[i] for i in range(len(result.scored))}
    assert scores["women aged 29 or under"] == pytest.approx(30), "as the answer says"
    assert scores["women"] == pytest.approx(10)
    assert scores["people aged 29 or under"] == pytest.approx(15)
    for number in ("2 of 10", "25 of 50", "30 points", "10 points", "15 between"):
        assert number in rule_sets.ANSWER


def highest_of(app: AppTest) -> list[tuple[str, str]]:
    """Group and score of the rule sets that the example lists."""
    shown = next(element.value for element in app.markdown if element.value.startswith("| Group |"))
    cells = [line.strip("| ").split(" | ") for line in shown.splitlines()[2:]]
    return [(line[0], line[-1]) for line in cells]


def test_a_larger_support_hides_the_small_group(open_app: OpenApp) -> None:
    app = open_part(open_app, "Groups")
    assert said.errors_of(app) == []
    groups = highest_of(app)
    assert groups[0][0] == "women aged 29 or under"
    assert groups[0][1] == "▼ 30.0 points harmed"
    app.slider(key="example_support").set_value(20).run()
    groups = highest_of(app)
    assert "women aged 29 or under" not in [group for group, _ in groups]
    assert "The ten women under 30 are fewer than that" in said.text_of(app)
    app.slider(key="example_support").set_value(rule_sets.MAX_PERCENT).run()
    groups = highest_of(app)
    assert [group for group, _ in groups] == ["people aged 30 or over", "women", "people aged 39 or under"]
    assert groups[0][1] == "△ 15.0 points favoured", "half of the difference is left to see"


# By hand: women 1-4 refused, 5-6 granted; men 1-2 refused, 3-6 granted. Each case adds its woman and its man twice.
# Granted, case 4: women's limit 4 is wrong about woman 4 alone (limit 5: about two added ones). Cases 4 and 3: limit 3,
# wrong about 3 and 4. Refused, case 3: men's limit 4 is wrong about man 3 alone. Cases 3 and 4: limit 5, wrong about
# men 3 and 4.
BY_HAND = {
    True: [((), (5, 3), 12, 4), ((4,), (4, 3), 11, 2), ((4, 3), (3, 3), 10, 0)],
    False: [((), (5, 3), 12, 4), ((3,), (5, 4), 11, 2), ((3, 4), (5, 5), 10, 0)],
}


@pytest.mark.parametrize("is_granted", [True, False])
def test_the_twelve_people_are_retrained_as_one_does_by_hand(is_granted: bool) -> None:
    made = retraining.rounds(is_granted=is_granted)
    assert [(one.incomes, one.limits, one.n_right, one.n_discriminatory) for one in made] == BY_HAND[is_granted]
    for tolerance, one in enumerate(made):
        assert retraining.chosen(made, tolerance) == one
    assert "limits 5 and 3, no mistake" in retraining.ANSWER
    assert "4 of the 12 people" in retraining.ANSWER


def rounds_shown(app: AppTest) -> list[str]:
    """What the example says of its rounds, one word or two each."""
    shown = next(element.value for element in app.markdown if element.value.startswith("| Cases |"))
    return [line.strip("| ").split(" | ")[-1].strip("*") for line in shown.splitlines()[2:]]


def test_label_and_tolerance_of_the_example_decide_who_gains_or_loses(open_app: OpenApp) -> None:
    app = open_part(open_app, "Retraining")
    assert said.errors_of(app) == []
    assert rounds_shown(app) == ["before", "\N{EN DASH}", "kept"]
    assert "2 women gain credit, and nobody else's decision changes" in said.text_of(app)
    app.slider(key="example_tolerance").set_value(1).run()
    assert rounds_shown(app) == ["before", "kept", "beyond the tolerance"]
    assert "1 woman gains credit" in said.text_of(app)
    app.segmented_control(key="example_label").set_value("Refused").run()
    assert "1 man loses credit" in said.text_of(app)
    app.slider(key="example_tolerance").set_value(0).run()
    assert rounds_shown(app) == ["before, kept", "beyond the tolerance", "beyond the tolerance"]
    assert "No improvement" in said.text_of(app)
