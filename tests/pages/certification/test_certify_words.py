"""A certification in words: proved, estimated and open are kept apart, and no figure claims more than it is."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partition_trees
import run_cases
from fairness_engine.certification.partition.phrases import box_limits
from fairness_engine.certification.results import Certification, DataRows, UndecidedShare
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds
from fairness_engine.store.records import RunRecord
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from pages.certification import box_card, boxes, comparison, single_box
from pages.certification import result as certify_view
from pages.certification import tree as certify_tree
from pages.certification.single_box import Alone
from pages.certification.tree import ReadTree
from pages.shared.app import theme, wording
from pages.shared.charts import certification_charts, share_bar
from pages.shared.runs import certification_phrases
from pages.shared.runs.certification_phrases import ESTIMATED, OPEN, PROVED, Claim, Shares

SPACE = "\u202f"


def result(**changes: Any) -> Certification:
    """With what is neither certified nor falsified undecided."""
    estimate = UndecidedShare(0.12, 0.11, 0.13, 20_000, 2400)
    values: dict[str, Any] = {
        "n_individuals": 7.86e14,
        "certified": 0.8231,
        "falsified": 0.0312,
        "estimate": estimate,
        "boxes": 51_200,
        "n_open": 0,
        "n_leaves": 25_600,
        "depth": 0,
        "n_counterexamples": 0,
        "seconds": 12.0,
        "mode": "prove",
        "is_by_construction": False,
        "kind": "ReLU network of 2 hidden layers",
        "method": "symbolic bounds, individuals counted",
        "weights": "uniform",
    }
    values |= changes
    values["undecided"] = max(0.0, 1 - values["certified"] - values["falsified"])
    return Certification(**values)


EXTENT = "within the budget"


def said(**changes: Any) -> list[tuple[str, str]]:
    claims = certification_phrases.claims(result(**changes), "sex", EXTENT)
    return [(claim.level, claim.text) for claim in claims]


def test_the_headline_keeps_proved_open_and_estimated_apart() -> None:
    assert said() == [
        (PROVED, "82.3 % of 786 trillion individuals get the same decision whatever their sex."),
        (PROVED, "3.1 % of them get another decision when nothing but their sex changes."),
        (OPEN, "14.6 % are undecided: neither is proved of them."),
        (
            ESTIMATED,
            f"12 % (11-13) of the undecided are discriminated against, by a sample of 20{SPACE}000 individuals, not "
            "by proof.",
        ),
    ]


def test_nothing_undecided_is_coloured_as_a_pass() -> None:
    open_claims = [claim for claim in certification_phrases.claims(result(), "sex", EXTENT) if claim.level != PROVED]
    assert {claim.meaning for claim in open_claims} == {theme.UNDECIDED}
    html = certify_view.claims_html(open_claims)
    assert theme.UNDECIDED.light in html
    assert theme.CERTIFIED.light not in html
    assert "Proved" not in html


def test_none_falsified_is_no_proof_that_there_are_none() -> None:
    levels = dict(reversed(pair) for pair in said(falsified=0.0))
    text = "None were falsified within the budget; this does not show that there are none."
    assert levels[text] == OPEN
    stopped = certification_phrases.claims(result(falsified=0.0), "sex", "before it was stopped")
    assert "None were falsified before it was stopped; this does not show that there are none." in [
        claim.text for claim in stopped
    ]


def test_of_too_little_nothing_is_estimated() -> None:
    assert said(estimate=UndecidedShare(1.0, 0.0, 1.0, 1_000_000, 98_089))[-1] == (
        ESTIMATED,
        "Too little is undecided to estimate how many of it are discriminated against.",
    )


def test_a_domain_decided_whole_says_all_and_nothing_more() -> None:
    assert said(certified=1.0, falsified=0.0, estimate=None) == [
        (PROVED, "All 786 trillion individuals get the same decision whatever their sex.")
    ]
    nearly = said(certified=1 - 1e-9, falsified=0.0, estimate=None)
    assert nearly[0] == (
        PROVED,
        "above 99.9999 % of 786 trillion individuals get the same decision whatever their sex.",
    )
    assert nearly[-1] == (OPEN, "below 0.0001 % are undecided: neither is proved of them.")


def test_nothing_certified_is_said() -> None:
    assert said(certified=0.0)[0] == (
        PROVED,
        "Of 786 trillion individuals, none are certified within the budget.",
    )


def test_by_construction_and_weights_and_continuous_domains() -> None:
    assert said(is_by_construction=True, certified=1.0, falsified=0.0) == [
        (
            PROVED,
            "All 786 trillion individuals get the same decision whatever their sex, by construction: the model does "
            "not take sex.",
        )
    ]
    assert "individuals of the domain get" in said(n_individuals=None)[0][1]
    assert "weighted by how common their values are in the data" in said(weights="data")[0][1]


def test_the_datas_people_by_what_is_proved_of_them() -> None:
    claims = certification_phrases.people_claims(DataRows(n=48_842, certified=38_585, falsified=0, undecided=10_257))
    assert [(claim.level, claim.text) for claim in claims] == [
        ("Proved", f"79 % of the 48{SPACE}842 people of your data (38{SPACE}585) are decided alike."),
        ("Open", f"21 % of the 48{SPACE}842 people of your data (10{SPACE}257) are undecided."),
    ]
    both = certification_phrases.people_claims(DataRows(n=100, certified=47, falsified=53, undecided=0))
    assert both[0].text == "53 % of the 100 people of your data (53) are discriminated against.", (
        "the gravest comes first"
    )
    (every,) = certification_phrases.people_claims(DataRows(n=7, certified=0, falsified=7, undecided=0))
    assert every.text == "All 7 people of your data are discriminated against."
    (none,) = certification_phrases.people_claims(DataRows(n=0, certified=0, falsified=0, undecided=0))
    assert none.text.startswith("No row")


@given(st.floats(0, 1), st.floats(0, 1))
def test_written_shares_claim_no_more_than_is_proved(certified: float, rest: float) -> None:
    shares = Shares.of(certified, rest * (1 - certified))
    for value, text, is_upper in zip(
        (shares.certified, shares.falsified, shares.undecided), shares.texts, (False, False, True), strict=True
    ):
        number = float(text.removesuffix(" %").removeprefix("below ").removeprefix("above "))
        slack = 1e-6 * max(1.0, number)
        if text == "100 %":
            assert value >= 1 - 2e-12
        elif "below" in text or "above" in text:
            assert (100 * value <= number) == ("below" in text)
        elif shares.undecided == 0:  # no bound: what is known is rounded to the nearest, so that the two add up
            decimals = len(text.removesuffix(" %").partition(".")[2])
            assert abs(number - 100 * value) <= 0.5 * 10.0**-decimals + slack
            assert number < 100
        elif is_upper:
            assert number >= 100 * value - slack
        else:
            assert number <= 100 * value + slack
        assert "e" not in text.removeprefix("below").removeprefix("above")


@pytest.mark.parametrize(
    ("value", "is_upper", "text"),
    [
        (0.826, False, "82 %"),
        (0.826, True, "83 %"),
        (0.249999999999, False, "25 %"),
        (0.99987, False, "99.987 %"),
        (0.9999999, False, "above 99.9999 %"),
        (0.00000004, True, "below 0.0001 %"),
        (0.0, True, "0 %"),
        (1.0, False, "100 %"),
    ],
)
def test_bounds_are_rounded_to_the_safe_side(value: float, is_upper: bool, text: str) -> None:
    assert wording.bounded_share(value, is_upper=is_upper) == text


@pytest.mark.parametrize("seed", range(20))
def test_what_is_proved_and_what_is_open_add_up_as_they_are_written(seed: int) -> None:
    """81 % + 18 % + 0.0066 % were written, which is 99 %."""
    rng = np.random.default_rng(seed)
    proved = float(rng.random())
    open_part = 10.0 ** -float(rng.uniform(0.5, 5.5))
    parts = (proved * (1 - open_part), (1 - proved) * (1 - open_part), open_part)
    written = [Decimal(text.removesuffix(" %")) for text in wording.proved_shares(*parts)]
    assert sum(written) == 100
    assert written[0] <= Decimal(100 * parts[0] + 1e-6)
    assert written[1] <= Decimal(100 * parts[1] + 1e-6)
    assert written[2] >= Decimal(100 * parts[2] - 1e-6)


def test_where_nothing_is_open_the_two_add_up() -> None:
    assert wording.proved_shares(0.325, 0.675, 0.0) == ("32.5 %", "67.5 %", "0 %")
    assert wording.proved_shares(0.5641025, 0.4358975, 0.0) == ("56.4 %", "43.6 %", "0 %")
    assert wording.proved_shares(1 / 3, 2 / 3, 0.0) == ("33.3 %", "66.7 %", "0 %")
    assert wording.proved_shares(0.99998766, 0.00001234, 0.0) == ("99.9988 %", "0.0012 %", "0 %")
    assert wording.proved_shares(1.0, 0.0, 0.0) == ("100 %", "0 %", "0 %")
    assert wording.proved_shares(0.0, 0.0, 1.0) == ("0 %", "0 %", "100 %")
    assert wording.proved_shares(0.9999999, 0.0, 1e-7) == ("above 99.9999 %", "0 %", "below 0.0001 %")


def test_hostile_words_stay_words() -> None:
    claim = Claim(theme.CERTIFIED, PROVED, "5 % of <img src=x onerror=alert(1)>")
    assert "<img" not in certify_view.claims_html([claim])


# --- the boxes ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def read() -> ReadTree:
    return ReadTree("r1", partition_trees.split_tree(600, seed=4), partition_trees.columns())


def test_a_box_is_the_one_of_the_tree(read: ReadTree) -> None:
    low, high = read.tree.boxes()
    for i in range(len(read.tree)):
        found = read.box(i)
        assert (found[0] == low[i]).all()
        assert (found[1] == high[i]).all()


def test_every_box_is_found_again_by_its_limits(read: ReadTree) -> None:
    for i in range(1, len(read.tree)):
        assert certify_tree.find_box(read, box_limits(read.columns, *read.box(i))) == i
    assert certify_tree.find_box(read, {}) == 0
    assert certify_tree.find_box(read, {"age": (20.0, 21.0), "job": (2.0, 2.0)}) is None


@pytest.mark.parametrize("verdict", list(certify_tree.VERDICTS))
@pytest.mark.parametrize("by_people", [False, True])
def test_the_table_has_the_largest_boxes_and_only_those_asked_for(
    read: ReadTree, verdict: str, by_people: bool
) -> None:
    listed = certify_tree.largest(read, verdict, by_people=by_people, within={0: (3, 10), 1: (2, 2)})
    low, high = read.tree.boxes()
    part = getattr(read.tree, verdict)
    people = read.tree.n_people
    expected = [
        i
        for i in np.flatnonzero(read.tree.is_leaf).tolist()
        if part[i] > 1e-9 * read.tree.weight[i] and low[i, 0] <= 10 and high[i, 0] >= 3 and low[i, 1] <= 2 <= high[i, 1]
        if not by_people or people[i] > 0
    ]
    assert sorted(listed.boxes.tolist()) == expected
    assert listed.n_all == len(expected) > 0
    keys = [(people[i], part[i]) if by_people else (part[i],) for i in listed.boxes.tolist()]
    assert keys == sorted(keys, reverse=True)


def test_of_very_many_boxes_a_thousand_are_listed() -> None:
    many = ReadTree("r2", partition_trees.split_tree(4000, seed=1), partition_trees.columns())
    listed = certify_tree.largest(many, "certified", by_people=False, within={})
    assert len(listed.boxes) == certify_tree.MAX_LISTED < listed.n_all
    assert f"the 1{SPACE}000 largest are listed" in boxes.note(listed, "certified")
    table = boxes.box_table(many, listed)
    assert len(table) == certify_tree.MAX_LISTED
    assert (table["Certified, %"].diff().dropna() <= 0).all()


def test_the_file_of_boxes_has_both_ends_and_no_formula() -> None:
    hostile = ReadTree(
        "r3", partition_trees.split_tree(40, seed=2), partition_trees.columns(labels=("=1+1", *"abcdefg"))
    )
    listed = certify_tree.largest(hostile, "undecided", by_people=False, within={})
    lines = boxes.boxes_csv(hostile, listed).decode().splitlines()
    assert lines[0].startswith("Box,")
    assert '"age, from","age, to"' in lines[0]
    assert len(lines) == len(listed.boxes) + 1
    assert not [cell for line in lines for cell in line.split(",") if cell.startswith(("=", "@"))]


def test_symbols_name_what_a_box_holds_the_largest_part_first(read: ReadTree) -> None:
    for i in read.leaves.tolist():
        parts = {theme_.symbol: getattr(read.tree, name)[i] for name, theme_ in certify_tree.VERDICTS.items()}
        marks = read.marks(i)
        assert all(parts[mark] > 0 for mark in marks)
        assert [parts[mark] for mark in marks] == sorted((parts[mark] for mark in marks), reverse=True)


# --- boxes on their own -------------------------------------------------------------------------


@pytest.fixture
def run(store: RunStore) -> RunRecord:
    review = run_cases.review_of(store)
    config = run_cases.config_of(review, "", kind=kinds.CERTIFY.name, budget=Budget(None, 10.0))
    return store.run(store.create_run(config, review.id))


def alone(run: RunRecord, box: int, certified: float, falsified: float) -> Alone:
    return Alone(box, run, Shares.of(certified, falsified))


def test_a_box_decided_alone_adds_its_part_to_the_whole(read: ReadTree, run: RunRecord) -> None:
    tree = read.tree
    box = int(certify_tree.largest(read, "undecided", by_people=False, within={}).boxes[0])
    after = single_box.whole_with(read, [alone(run, box, 1.0, 0.0)])
    assert after.certified == pytest.approx(tree.certified[0] + tree.weight[box] - tree.certified[box])
    assert after.falsified == pytest.approx(tree.falsified[0])


def test_what_is_proved_already_is_never_taken_back(read: ReadTree, run: RunRecord) -> None:
    box = int(read.leaves[np.argmax(read.tree.certified[read.leaves])])
    after = single_box.whole_with(read, [alone(run, box, 0.0, 0.0), Alone(box, run, None)])
    assert (after.certified, after.falsified) == pytest.approx((read.tree.certified[0], read.tree.falsified[0]))


def test_a_box_in_a_box_counts_once(read: ReadTree, run: RunRecord) -> None:
    tree = read.tree
    inner = int(certify_tree.largest(read, "undecided", by_people=False, within={}).boxes[0])
    outer = int(read.parents[inner])
    both = single_box.whole_with(read, [alone(run, outer, 1.0, 0.0), alone(run, inner, 1.0, 0.0)])
    one = single_box.whole_with(read, [alone(run, outer, 1.0, 0.0)])
    assert both == one
    better_inside = single_box.whole_with(read, [alone(run, outer, 0.0, 0.0), alone(run, inner, 1.0, 0.0)])
    assert better_inside.certified == pytest.approx(tree.certified[0] + tree.weight[inner] - tree.certified[inner])


# --- two side by side ---------------------------------------------------------------------------


def config_of(run: RunRecord, **changes: Any) -> RunRecord:
    return replace(run, config=replace(run.config, **changes))


def test_settings_that_differ_are_named_and_what_it_means(run: RunRecord) -> None:
    classic = config_of(run, settings={"mode": "classic"})
    assert comparison.differences(run, classic)[0] == "Mode"
    assert "not the model's alone" in comparison.settings_note(comparison.differences(run, classic))
    weighed = config_of(run, settings={"weights": "data"})
    assert comparison.differences(run, weighed) == ["Weights"]
    assert "not shares of the same thing" in comparison.settings_note(["Weights"])
    other = config_of(run, model_id="another")
    assert comparison.settings_note(comparison.differences(run, other)).startswith("Two models")
    assert comparison.differences(run, run) == []
    table = comparison.settings_table(run, weighed)
    assert table[table[""] == "≠"]["Setting"].tolist() == ["Weights"]


def test_differences_are_points_with_their_sign() -> None:
    first = Shares(0.5, 0.1, 0.4)
    second = Shares(0.75, 0.1, 0.15)
    table = comparison.difference_table(first, second)
    assert table["Difference, points"].tolist() == ["+25", "0", "−25"]
    assert [comparison.points_text(x) for x in (1e-6, 0.0123, -99.99)] == ["less than 0.0001", "+0.012", "−99"]


def test_a_title_says_mode_weights_and_limits(run: RunRecord) -> None:
    assert certification_phrases.run_title(run.config) == "Counting, all individuals"
    scope = Scope(("sex",), limits={"age": (30.0, 40.0), "workclass": (0.0, 0.0)})
    limited: RunConfig = replace(run.config, scope=scope, settings={"mode": "classic", "weights": "data"})
    assert certification_phrases.run_title(limited).startswith("Classic, the data's people; age 30-40, workclass = ")


# --- charts -------------------------------------------------------------------------------------


def test_the_shares_are_told_by_pattern_symbol_and_text() -> None:
    figure = certification_charts.shares_chart({"All individuals": Shares(0.8231, 0.0312, 0.1457)}, "Shares")
    assert [bar.name for bar in figure.data] == ["✓ certified", "? undecided", "▲ falsified"]
    assert [bar.marker.pattern.shape for bar in figure.data] == ["", ".", "/"]
    assert [bar.text[0] for bar in figure.data] == ["<b>✓ 82.3 %</b>", "<b>? 14.6 %</b>", ""]
    assert sum(bar.x[0] for bar in figure.data) == pytest.approx(100)
    table = certification_charts.shares_table({"All individuals": Shares(0.8231, 0.0312, 0.1457)})
    assert table.iloc[0].tolist() == ["All individuals", "82.3 %", "3.1 %", "14.6 %"]


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_live_bar_is_as_wide_as_its_parts_and_names_all_three(certified: float, rest: float) -> None:
    shares = Shares.of(certified, rest * (1 - certified))
    html = share_bar.bar_html(shares)
    widths = [float(width) for width in re.findall(r"width:([0-9.]+)%", html)]
    assert sum(widths) == pytest.approx(100, abs=0.001)
    for meaning, name, text in zip("✓▲?", ("certified", "falsified", "undecided"), shares.texts, strict=True):
        assert f"{meaning} {name} <b>{text}</b>" in html


def test_the_curve_begins_with_nothing_proved_and_keeps_its_end() -> None:
    trace = [[0.1 * i, i / 2000, i / 4000, 1 - i / 2000 - i / 4000, 10 * i] for i in range(1, 1001)]
    for is_log in (False, True):
        figure = certification_charts.anytime_chart(trace, is_log=is_log)
        assert [area.y[0] for area in figure.data] == [0, 100, 0]
        assert figure.data[0].y[-1] == pytest.approx(50)
        assert min(figure.data[0].x) > 0 or not is_log
        assert len(figure.data[0].x) <= 400
    assert certification_charts.anytime_table(trace)["Boxes"].iloc[-1] == 10_000


def test_bounds_say_on_which_side_every_value_lies() -> None:
    bounds = np.array([[0.5, 2.0], [-3.0, -1.0], [-1.0, 0.25], [-1.0, 0.0]])
    labels = ["Female", "Male", "Other", "None"]
    table = box_card.bounds_table(bounds, labels, 0.0)
    assert table["So it is"].tolist() == [
        "always above the threshold",
        "never above the threshold",
        "may lie on both sides",
        "never above the threshold",
    ]
    (bars,) = box_card.bounds_chart(bounds, labels, 0.0, "Margin").data
    assert list(bars.base) == bounds[:, 0].tolist()
    assert list(bars.marker.pattern.shape) == ["", "", ".", ""]
    many = box_card.bounds_chart(np.tile(bounds, (20, 1)), [str(i) for i in range(80)], 0.0, "Margin")
    assert many.data[0].orientation is None, "many values stand side by side"


def test_blame_is_largest_first_and_makes_the_whole() -> None:
    table = box_card.blame_table({"age": 1.0, "job": 3.0, "sex": 0.0})
    assert table["Attribute"].tolist() == ["job", "age"]
    assert table["Part, %"].tolist() == [75, 25]
