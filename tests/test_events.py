from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from fairness_engine.arrays import pack_array, unpack_array
from fairness_engine.errors import ProcessError, StopReason
from fairness_engine.events import (
    Failed,
    GroupScored,
    PairsFound,
    PairsMeasured,
    Progress,
    ResultReady,
    RulesScored,
    SharesProved,
    Stopped,
    TreeReady,
    from_line,
    to_line,
)
from fairness_engine.pairs import Pairs


def some_pairs(n: int = 3) -> Pairs:
    rows = np.arange(n * 4, dtype=float).reshape(n, 4) / 3
    numbers = np.linspace(0, 1, n)
    codes = np.arange(n)
    return Pairs(rows, rows + 1, numbers, numbers, codes, codes, codes)


def test_pairs_keep_every_bit() -> None:
    back = from_line(to_line(PairsFound(some_pairs())))
    assert isinstance(back, PairsFound)
    assert (back.pairs.first == some_pairs().first).all()
    assert back.pairs.evaluation.dtype == np.int64


def test_pairs_that_were_not_measured_say_so_and_measured_ones_keep_their_figures() -> None:
    pairs = some_pairs()
    assert np.isnan(pairs.distance).all()
    assert (pairs.n_unseen == -1).all()
    measured = replace(
        pairs, distance=np.array([[0.0, 1], [0.1, 1], [0.2, 1]]), n_unseen=np.array([[0, 5], [1, 5], [2, 5]])
    )
    both = Pairs.concatenate([measured[1:], pairs[:1]], 4)
    assert both.distance[:2].tolist() == [[0.1, 1], [0.2, 1]]
    assert np.isnan(both.distance[2]).all()
    assert both.n_unseen.tolist() == [[1, 5], [2, 5], [-1, -1]]
    assert both.is_measured.tolist() == [True, True, False]
    assert both.is_plausible(0.5).tolist() == [[False, False]] * 3
    assert measured.is_plausible(1.0).tolist() == [[True, False], [False, False], [False, False]]
    assert measured.plausible_texts(1.0) == (["true", "false", "false"], ["false"] * 3)
    assert both.plausible_texts(1.0)[0][2] == ""
    older = replace(pairs, distance=measured.distance * [1, np.nan], n_unseen=np.array([[0, -1]] * 3))
    assert older.plausible_texts(1.0) == ([""] * 3, [""] * 3), "what both share says nothing of either"
    back = from_line(to_line(PairsFound(measured)))
    assert isinstance(back, PairsFound)
    assert (back.pairs.distance == measured.distance).all()


def test_measures_keep_every_bit() -> None:
    measured = PairsMeasured(np.array([[1 / 3, 0.5], [np.nan, np.nan]]), np.array([[2, 0], [-1, -1]]))
    back = from_line(to_line(measured))
    assert isinstance(back, PairsMeasured)
    assert np.array_equal(back.distance, measured.distance, equal_nan=True)
    assert back.n_unseen.tolist() == [[2, 0], [-1, -1]]


@pytest.mark.parametrize(
    "event",
    [
        Progress(1, 0.5, 2, 3, "local"),
        Stopped(StopReason.FOUND, 1, 0.5, 2, 3, 4),
        Failed("sorry"),
        GroupScored(0.1, (0.2, 0.3), (2, 3), ("F", "M")),
        ResultReady("split", {"seed": [3, 1]}),
        SharesProved(0.5, 0.25, 1e-12, 3, 1),
    ],
)
def test_events_are_equal_after_their_line(event: object) -> None:
    assert from_line(to_line(event)) == event


@pytest.mark.parametrize(
    "line",
    [
        "",
        "hello",
        "[]",
        "{}",
        '{"event":"Unknown"}',
        '{"event":"Progress"}',
        '{"event":"Progress","evaluations":1,"seconds":1,"n_tried":1,"n_found":1,"extra":1}',
        '{"event":"Stopped","reason":"bored","evaluations":1,"seconds":1,"n_tried":1,"n_found":1}',
        '{"event":"PairsFound"}',
        '{"event":"SharesProved","seconds":1}',
        '{"event":"TreeReady"}',
        '{"event":"TreeReady","arrays":{},"certificates":{}}',
        '{"event":"TreeReady","arrays":{},"certificates":{},"space":[]}',
        '{"event":"TreeReady","arrays":[],"certificates":{},"space":{}}',
        '{"event":"TreeReady","arrays":{"column":3},"certificates":{},"space":{}}',
    ],
)
def test_a_line_that_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(ProcessError):
        from_line(line)


def test_trees_keep_every_bit() -> None:
    arrays = {"column": np.array([0, -1, -1]), "weight": np.array([1.0, 1 / 3, 2 / 3])}
    certificates = {"thresholds": np.array([[np.inf, -np.inf, 0.1, np.nextafter(0.1, 1)]]), "leaf": np.array([1])}
    back = from_line(to_line(TreeReady(arrays, certificates, {"columns": ["age"], "low": [0.1]})))
    assert isinstance(back, TreeReady)
    assert back.space == {"columns": ["age"], "low": [0.1]}
    for sent, got in ((arrays, back.arrays), (certificates, back.certificates)):
        assert list(sent) == list(got)
        assert all(np.array_equal(sent[name], got[name]) and sent[name].dtype == got[name].dtype for name in sent)


def test_arrays_that_lie_about_themselves_are_refused() -> None:
    good = json.loads(to_line(PairsFound(some_pairs())))
    lies = [
        {"first": {**good["first"], "shape": [10**9, 4]}},
        {"first": {**good["first"], "shape": [-1, 4]}},
        {"first": {**good["first"], "shape": "34"}},
        {"first": {**good["first"], "dtype": "object"}},
        {"first": {**good["first"], "base64": "%%%"}},
        {"second": pack_array(np.zeros((2, 4)))},
        {"score_first": pack_array(np.zeros(2))},
        {"first": pack_array(np.zeros(3)), "second": pack_array(np.zeros(3))},
    ]
    for lie in lies:
        with pytest.raises(ProcessError):
            from_line(json.dumps({**good, **lie}))


def test_large_arrays_of_rule_sets_are_compressed_on_their_way() -> None:
    arrays = {"rules": np.arange(300_000).reshape(-1, 3), "low": np.linspace(0, 1, 200_000), "head": np.arange(5)}
    line = to_line(RulesScored(arrays, {"n_rows": 7}))
    assert len(line) < 8 * (300_000 + 200_000)
    back = from_line(line)
    assert isinstance(back, RulesScored)
    assert back.space == {"n_rows": 7}
    for name, sent in arrays.items():
        assert np.array_equal(back.arrays[name], sent)
        assert back.arrays[name].dtype == sent.dtype


@pytest.mark.thorough
def test_few_bytes_cannot_stand_for_many() -> None:
    packed = pack_array(np.zeros(200_000), can_compress=True)
    assert packed["zlib"]
    assert len(packed["base64"]) < 10_000
    lies = [{"shape": [199_999]}, {"shape": [200_001]}, {"shape": [1_000_000_000]}, {"base64": "AAAA"}, {"base64": "%"}]
    lies += [{"base64": packed["base64"][:-8]}]
    for lie in lies:
        with pytest.raises(ValueError, match=r"size|zlib|base64"):
            unpack_array({**packed, **lie}, can_be_compressed=True)
    with pytest.raises(ValueError, match="compressed"):
        unpack_array(packed)
    many = {str(i): {**pack_array(np.zeros(10**7), can_compress=True)} for i in range(7)}
    with pytest.raises(ProcessError):
        from_line(json.dumps({"event": "RulesScored", "arrays": many, "space": {}}))


def test_packing_keeps_shape_dtype_and_empty_arrays() -> None:
    for array in (np.zeros((0, 3)), np.arange(5), np.array([[True]]), np.ones((2, 3, 4), dtype=np.float32)):
        assert unpack_array(pack_array(array)).shape == array.shape


def test_pairs_concatenate_and_index() -> None:
    both = Pairs.concatenate([some_pairs(2), some_pairs(3)], 4)
    assert len(both) == 5
    assert len(both[1:3]) == 2
    assert len(Pairs.concatenate([], 4)) == 0
