"""One model exported in some seventy ways, read on a messy file of the same people: not one is silently misread.

``python -m benchmarks.reading`` judges all of them on 20,000 applications and keeps the table; here are those that
differ, on fewer.
"""

from __future__ import annotations

import pytest

from fairness_engine.models.fit.reading import State
from models.export_bank import Bank
from models.export_cases import ALL, NEVER_RIGHT, SLOW_OR_ALIKE
from models.export_judge import RIGHT, WRONG, Judge

pytestmark = pytest.mark.thorough

N_ROWS = 2_000
NAMES = [name for name in ALL if name not in SLOW_OR_ALIKE]


@pytest.fixture(scope="module")
def bank() -> Bank:
    return Bank(N_ROWS)


@pytest.fixture(scope="module")
def judge(bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return Judge(bank, tmp_path_factory.mktemp("exports"))


@pytest.mark.parametrize("name", NAMES)
def test_no_export_is_silently_misread(name: str, bank: Bank, judge: Judge) -> None:
    case = ALL[name](name, bank, judge.folder)
    plain = judge.as_it_is(case)
    proposed = judge.as_proposed(case, plain)
    forms = list(case.forms())
    form = forms[NAMES.index(name) % len(forms)]
    answered, mended = judge.with_answers(case, form)
    by_labels = [each for each in (plain, proposed) if each]
    by_answers = [each for each in (answered, mended) if each]
    wrong = [each for each in (*by_labels, *by_answers) if each.verdict == WRONG]
    if case.is_hidden:
        assert all(each.state == State.PLAUSIBLE for each in wrong)
        assert all(each.verdict != WRONG for each in by_answers)
    else:
        assert not wrong, wrong
    assert all(each.reading.row for each in by_answers if each.reading and each.state == State.REFUSED)
    last = by_answers[-1]
    if name in NEVER_RIGHT:
        assert all(each.state != State.CONFIRMED for each in by_answers)
    else:
        assert (last.verdict, last.state) == (RIGHT, State.CONFIRMED), last
    if any(each.verdict == RIGHT for each in by_labels):  # what is right can be confirmed
        assert last.state == State.CONFIRMED or name in NEVER_RIGHT, last


def test_every_export_is_of_another_kind() -> None:
    assert len(NAMES) >= 24
    assert set(ALL) >= NEVER_RIGHT | SLOW_OR_ALIKE


@pytest.mark.parametrize("name", ["three classes, rotated", "three classes, rotated, get_dummies"])
def test_the_order_of_classes_that_fits_is_named_beside_that_of_the_inputs(name: str, bank: Bank, judge: Judge) -> None:
    """A wrong order of the inputs was proposed to whoever had the classes in a wrong order."""
    opened = judge.as_it_is(ALL[name](name, bank, judge.folder))
    assert opened.reading is not None
    assert "'nein', 'prüfen', 'ja'" in opened.said
    assert opened.reading.better.get("order") == ("numbers first, then categories" if "get_dummies" in name else None)
