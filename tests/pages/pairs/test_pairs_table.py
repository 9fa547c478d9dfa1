"""Pairs as a table: what changed, human labels, filters, CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pair_cases
import pytest

from fairness_engine.pairs import Pairs
from pages.pairs.export import pairs_csv
from pages.pairs.plausible_filter import PlausibleOnly, implausible, reason
from pages.shared.pairs.filters import PairFilter, matching
from pages.shared.pairs.table import change_texts, pair_frame


def test_a_single_protected_attribute_is_not_named_in_the_change() -> None:
    pairs = pair_cases.pairs()
    assert change_texts(pair_cases.domain("sex"), pairs)[0] == "Female → Male"


def test_several_protected_attributes_are_named_and_only_those_that_differ() -> None:
    texts = change_texts(pair_cases.domain(), pair_cases.pairs())
    assert texts.tolist() == [
        "sex: Female → Male",
        "race: Asian → White",
        "sex: Female → Male, race: Black → White",
    ]


def test_the_table_speaks_in_labels_and_keeps_the_runs_numbering() -> None:
    frame = pair_frame(pair_cases.domain(), pair_cases.pairs(), pair_cases.NAMES, np.array([2, 0]))
    assert frame["Pair"].tolist() == [3, 1]
    assert frame["First"].tolist() == ["○ refused", "○ refused"]
    assert frame["Second"].tolist() == ["● granted", "● granted"]
    assert frame["job"].tolist() == ["nurse", pair_cases.HOSTILE]
    assert frame["age"].tolist() == [52, 30]
    assert frame["age"].dtype.kind == "i"
    assert frame["Score gap"].tolist() == pytest.approx([0.3, 0.5])
    assert "sex" not in frame, "protected attributes stand in the change"


def test_a_column_that_is_named_like_one_of_ours_is_kept() -> None:
    from fairness_engine.oracle.domain import Domain, Scope

    schema = pair_cases.schema()
    columns = (*schema.columns[:3], replace(schema.columns[3], name="Change"), schema.columns[4])
    domain = Domain(replace(schema, columns=columns), Scope(("sex", "race")))
    frame = pair_frame(domain, pair_cases.pairs(), pair_cases.NAMES, np.arange(3))
    assert frame["Change"].tolist()[0] == "sex: Female → Male"
    assert frame["Change "].tolist() == [30, 41, 52]


def test_no_pairs_make_an_empty_table() -> None:
    frame = pair_frame(pair_cases.domain(), pair_cases.pairs(), pair_cases.NAMES, np.array([], dtype=np.int64))
    assert len(frame) == 0
    assert list(frame)[:2] == ["Pair", "Change"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (PairFilter(), [0, 1, 2]),
        (PairFilter(differs=("sex",)), [0, 2]),
        (PairFilter(differs=("race",)), [1, 2]),
        (PairFilter(differs=("sex", "race")), [0, 1, 2]),
        (PairFilter(nothing_but=("sex",)), [0]),
        (PairFilter(nothing_but=("race",)), [1]),
        (PairFilter(nothing_but=("sex", "race")), [0, 1, 2]),
        (PairFilter(nothing_but=("no such attribute",)), [0, 1, 2]),
        (PairFilter(differs=("sex",), nothing_but=("race",)), []),
        (PairFilter(min_gap=0.29), [0, 2]),
        (PairFilter(values={"race": (0.0,)}), [1]),
        (PairFilter(values={"race": (2.0,)}), [0, 1, 2]),
        (PairFilter(ranges={"age": (40.0, 60.0)}), [1, 2]),
        (PairFilter(words="NURSE"), [2]),
        (PairFilter(words="41"), [1]),
        (PairFilter(words="4"), []),
        (PairFilter(words="female black"), [2]),
        (PairFilter(words="female -> male"), [0, 2]),
        (PairFilter(words="male → female"), []),
        (PairFilter(values={"no such attribute": (1.0,)}), [0, 1, 2]),
        (PairFilter(differs=("no such attribute",)), [0, 1, 2]),
        (PairFilter(words="nurse", min_gap=0.4), []),
    ],
)
def test_filters_keep_the_pairs_that_pass_all_conditions(wanted: PairFilter, expected: list[int]) -> None:
    assert matching(pair_cases.domain(), pair_cases.pairs(), wanted).tolist() == expected


def test_the_number_of_conditions_is_counted() -> None:
    assert PairFilter().n_active == 0
    assert PairFilter(words="  ").n_active == 0
    assert PairFilter(("sex",), 0.1, {"race": (0.0,)}, {"age": (1, 2)}, "x", ("sex",)).n_active == 6


def measured() -> Pairs:
    """The three pairs: both near; the second person far; near, the first person with unseen pairs of values."""
    distance = np.array([[0.1, 0.05], [0.1, 0.3], [0.2, 0.2]])
    return replace(pair_cases.pairs(), distance=distance, n_unseen=np.array([[0, 0], [0, 0], [2, 0]]))


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (PlausibleOnly(0.2, 0.2), [1, 2]),
        (PlausibleOnly(0.2, 0.2, hides_unseen=False), [1]),
        (PlausibleOnly(0.05, 0.2), [0, 1, 2]),
        (PlausibleOnly(1.0, 0.2), [2]),
    ],
)
def test_implausible_is_too_far_or_with_values_that_never_occur_together(
    only: PlausibleOnly, expected: list[int]
) -> None:
    assert np.flatnonzero(implausible(measured(), only)).tolist() == expected


def test_a_pair_that_was_not_measured_is_never_implausible() -> None:
    assert not implausible(pair_cases.pairs(), PlausibleOnly(0.0, 0.0)).any()


def test_the_reason_names_the_limits_that_are_set() -> None:
    assert reason(PlausibleOnly(0.2, 0.2)) == (
        "a person further from the data than 99 % of real people are from each other, or with values that practically "
        "never occur together"
    )
    assert reason(PlausibleOnly(0.25, 0.2, hides_unseen=False)) == "a person further than 25 % from the data"


def test_the_table_tells_the_distance_in_percent_and_leaves_a_gap_where_there_is_none() -> None:
    pairs = measured()
    pairs.distance[1] = np.nan
    frame = pair_frame(pair_cases.domain(), pairs, pair_cases.NAMES, np.arange(3))
    assert frame["Distance to the data"].tolist() == pytest.approx([10, np.nan, 20], nan_ok=True)


def test_the_file_carries_the_plausibility() -> None:
    pairs = measured()
    pairs.distance[0] = np.nan
    pairs.n_unseen[0] = -1
    lines = read(pairs_csv(pair_cases.domain(), pairs, np.array([0, 2])))
    assert [line[-2:] for line in lines] == [["distance", "n_unseen"], ["", ""], ["", ""], ["0.2", "2"], ["0.2", "0"]]
    lines = read(pairs_csv(pair_cases.domain(), pairs, np.arange(3), limit=0.25))
    assert [line[-4] for line in lines] == ["is_plausible", "", "", "true", "false", "false", "true"]


def read(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8"))))


def test_the_file_has_one_line_a_person_in_the_models_codes() -> None:
    lines = read(pairs_csv(pair_cases.domain(), pair_cases.pairs(), np.array([0, 2])))
    assert lines[0] == [
        "pair",
        "side",
        "sex",
        "race",
        "job",
        "age",
        "wealth",
        "score",
        "decision",
        "is_plausible",
        "severity",
        "distance",
        "n_unseen",
    ]
    assert [line[:2] for line in lines[1:]] == [["1", "a"], ["1", "b"], ["3", "a"], ["3", "b"]]
    assert lines[3] == ["3", "a", "0", "1", "nurse", "52", "0.75", "0.3", "0", "", "0.3", "", ""]
    assert lines[4] == ["3", "b", "1", "2", "nurse", "52", "0.75", "0.6", "1", "", "0.3", "", ""]


def test_the_file_may_speak_in_labels() -> None:
    lines = read(pairs_csv(pair_cases.domain(), pair_cases.pairs(), np.array([2]), pair_cases.NAMES))
    assert lines[1] == ["3", "a", "Female", "Black", "nurse", "52", "0.75", "0.3", "refused", "", "0.3", "", ""]


def test_formulas_are_neutralised_in_the_file() -> None:
    lines = read(pairs_csv(pair_cases.domain(), pair_cases.pairs(), np.array([1])))
    assert lines[1][4] == "'" + pair_cases.FORMULA
