"""Boxes in words: labels, never codes; both ends; what a box does not narrow is left out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairness_engine.certification.partition import phrases
from fairness_engine.certification.partition.lattice import make_lattice
from fairness_engine.certification.partition.phrases import BoxColumn
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import RunError
from fairness_engine.oracle.domain import Domain, Scope

ROOT = Path(__file__).resolve().parents[2]
JOBS = ("clerk", "driver", "judge", "nurse", "sales")


def schema() -> Schema:
    return Schema(
        (
            Column("sex", Kind.CATEGORICAL, codes=(7, 9), labels=("Female", "Male")),
            Column("age", Kind.INTEGER, minimum=17, maximum=90),
            Column("job", Kind.CATEGORICAL, codes=(3, 5, 7, 11, 13), labels=JOBS),
            Column("hours", Kind.REAL, minimum=0.0, maximum=80.0, step=0.5),
            Column("wealth", Kind.REAL, minimum=-1.0, maximum=1.0),
        ),
        protected=("sex",),
    )


def more_of(domain: Domain) -> tuple[dict[str, Any], np.ndarray]:
    """What a run writes beside its tree, from the space of the engine."""
    space = make_lattice(domain)
    columns = [domain.schema.inputs[i].name for i in space.columns.tolist()]
    low = domain.low[space.columns].tolist()
    return {
        "columns": columns,
        "low": low,
        "steps": space.steps.tolist(),
        "is_cell": space.is_cell.tolist(),
    }, space.n_digits


def columns_of(**scope: Any) -> tuple[BoxColumn, ...]:
    return phrases.box_columns(schema(), *more_of(Domain(schema(), Scope(("sex",), **scope))))


def box(low: list[int], high: list[int]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(low), np.array(high)


WHOLE = ([0, 0, 0, 0], [73, 4, 160, 65535])


def test_the_whole_is_everybody() -> None:
    assert phrases.describe_box(columns_of(), *box(*WHOLE)) == []
    assert phrases.box_sentence(columns_of(), *box(*WHOLE)) == "everybody"


def test_a_box_says_labels_and_both_ends() -> None:
    said = phrases.describe_box(columns_of(), *box([18, 0, 79, 32768], [35, 4, 80, 49151]))
    assert said == ["age 35-52", "hours 39.5-40", "wealth 0-0.5"]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 0, "job = clerk"),
        (3, 4, "job = nurse, sales (2 of 5)"),
        (0, 2, "job = clerk, driver, judge (3 of 5)"),
        (0, 3, "job not sales (4 of 5)"),
    ],
)
def test_categories_are_labels_with_their_number(low: int, high: int, expected: str) -> None:
    assert phrases.describe_box(columns_of(), *box([0, low, 0, 0], [73, high, 160, 65535])) == [expected]


def test_of_many_labels_the_first_are_named() -> None:
    names = tuple(f"c{i}" for i in range(11))
    column = BoxColumn(Column("city", Kind.CATEGORICAL, codes=tuple(range(11)), labels=names), 0, 1, False, 11)
    assert column.text(2, 7) == "city = c2, c3 and 4 more (6 of 11)"


def test_one_value_stands_alone_and_negative_ends_are_kept_apart() -> None:
    assert phrases.describe_box(columns_of(), *box([0, 0, 0, 0], [0, 4, 160, 65535])) == ["age 17"]
    assert phrases.describe_box(columns_of(), *box([0, 0, 0, 0], [73, 4, 160, 16383])) == ["wealth -1 to -0.5"]


def test_limits_of_the_scope_move_the_digits() -> None:
    narrowed = columns_of(limits={"age": (30.0, 50.0), "job": (1.0, 3.0)})
    assert phrases.describe_box(narrowed, *box([0, 0, 0, 0], [20, 2, 160, 65535])) == []
    assert phrases.describe_box(narrowed, *box([0, 0, 0, 0], [9, 0, 160, 65535])) == ["age 30-39", "job = driver"]


@st.composite
def boxes(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    ends = [sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n)))) for n in WHOLE[1]]
    return box([low for low, _ in ends], [high for _, high in ends])


@given(boxes())
def test_a_box_becomes_limits_and_comes_back(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    """The scope of "this box alone" is the box: the engine's own space agrees, digit by digit."""
    limits = phrases.box_limits(columns_of(), *drawn)
    low, high = phrases.box_digits(columns_of(), limits)
    assert (low.tolist(), high.tolist()) == (drawn[0].tolist(), drawn[1].tolist())
    whole = make_lattice(Domain(schema(), Scope(("sex",))))
    assert limits == {name: pytest.approx(ends) for name, ends in whole.limits(*drawn).items()}
    alone = make_lattice(Domain(schema(), Scope(("sex",), limits=limits)))
    assert alone.n_digits[:3].tolist() == (high - low + 1)[:3].tolist()


@given(boxes())
def test_ranges_say_what_they_hold(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    """Numbers in the words are the ends: exactly on a lattice, to a hundredth of the width on a continuous column."""
    columns = columns_of()
    for column, low, high in zip(columns, drawn[0].tolist(), drawn[1].tolist(), strict=True):
        if column.column.kind is Kind.CATEGORICAL:
            continue
        text = column.text(low, high).removeprefix(column.column.name + " ")
        numbers = [float(part) for part in re.split(r" to |(?<=\d)-", text)]
        begin, end = column.ends(low, high)
        slack = (end - begin) / 100 if column.is_cell else 1e-9
        assert [numbers[0], numbers[-1]] == pytest.approx([begin, end], abs=slack)
        assert "e" not in text


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(0, 65535), st.integers(0, 65535))
def test_any_continuous_range_has_two_different_ends(low: float, span: float, i: int, j: int) -> None:
    column = Column("x", Kind.REAL, minimum=low, maximum=low + span)
    first = min(i, j)
    last = max(i, j)
    held = BoxColumn(column, low, (column.high - column.low) / 65536, True, 65536)
    begin, end = held.ends(first, last)
    text = held.text(first, last).removeprefix("x ")
    assert len(text) <= 60
    if end > begin + 1e-9:
        numbers = re.split(r" to |(?<=\d)-", text)
        assert len(numbers) == 2
        assert float(numbers[0]) < float(numbers[1])


@given(st.floats(-1000, 1000).map(lambda x: round(x, 2)), st.sampled_from([0.01, 0.05, 0.1, 0.25, 0.5, 2.5]))
def test_neighbours_on_a_lattice_read_differently(low: float, step: float) -> None:
    column = Column("x", Kind.REAL, minimum=low, maximum=low + 100 * step, step=step)
    held = BoxColumn(column, low, step, False, 101)
    texts = [held.text(i, i) for i in range(101)]
    assert len(set(texts)) == 101
    assert max(map(len, texts)) <= len("x -1000.99")


@pytest.mark.parametrize(
    "change",
    [
        {"columns": ["age", "job", "hours", "nobody"]},
        {"columns": ["age", "job", "hours"]},
        {"low": [17, 0, 0, None]},
        {"low": [17, 3, 0, -1.0]},
        {"steps": [1, 1, 0.5, float("nan")]},
    ],
)
def test_a_tree_of_other_columns_is_refused(change: dict[str, Any]) -> None:
    more, n_digits = more_of(Domain(schema(), Scope(("sex",))))
    with pytest.raises(RunError, match="Certify again"):
        phrases.box_columns(schema(), more | change, n_digits)


def test_words_load_no_compiler() -> None:
    code = "import sys, fairness_engine.certification.partition.phrases; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
