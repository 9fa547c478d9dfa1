"""A run of proxies from its rows to its events: planted tables, the sample data, links, ends before the end, and what
cannot be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairness_engine.arrays import FloatArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.codec import decode, encode
from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.links.link import Link
from fairness_engine.data.recorded import Source
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.errors import FitError, SettingError, StopReason
from fairness_engine.events import Event, Progress, ResultReady, Stopped
from fairness_engine.measures.proxies import holding, learners
from fairness_engine.measures.proxies.driver import STOPPED, DecidedRows, check_proxies, run_proxies
from fairness_engine.measures.proxies.results import MAX_COLUMNS, Measure, Proxies, ShapShares
from fairness_engine.measures.proxies.settings import ProxySettings
from fairness_engine.oracle.domain import Ranges, Scope
from proxy_cases import CARRIERS, NOISE, SCHEMA, planted
from result_lies import is_possible

pytestmark = pytest.mark.thorough

NO_MODEL = "A column of the data decides."


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer folds and fewer trees than the product's."""
    monkeypatch.setattr(holding, "N_FOLDS", 2)
    monkeypatch.setattr(holding, "N_SPLITS", 2)
    monkeypatch.setattr(learners, "_OF_FEW_ROWS", {"max_iter": 15, "max_leaf_nodes": 8, "early_stopping": False})
    monkeypatch.setattr(learners, "_BOOSTING", {"max_iter": 15, "max_leaf_nodes": 8, "early_stopping": False})


def decided(n: int, seed: int, **planting: Any) -> DecidedRows:
    """A planted table and its outcomes."""
    table = planted(n, seed, noise=0.5, **planting)
    return DecidedRows(table.rows, table.rows, table.favourable, why_not_explained=NO_MODEL)


def events(
    rows: DecidedRows, *protected: str, seed: int = 0, clock: Clock = NO_LIMIT, links: tuple[Link, ...] = ()
) -> list[Event]:
    """The events of a run."""
    return list(run_proxies(rows, SCHEMA, Scope(protected, links=links), seed, clock))


def found(told: list[Event]) -> Proxies:
    """The one result of a run."""
    (result,) = [event for event in told if isinstance(event, ResultReady)]
    assert result.name == "proxies"
    return decode(Proxies, result.content)


# --- what is found ------------------------------------------------------------------------------


@pytest.mark.usefixtures("quick")
def test_a_run_tells_each_attribute_and_ends() -> None:
    told = events(decided(500, 1), "sex", "age")
    proxies = found(told)
    assert [each.protected for each in proxies.attributes] == ["sex", "age"]
    assert [each.measure for each in proxies.attributes] == [Measure.AUC, Measure.R2]
    sex, age = proxies.attributes
    assert set(sex.strongest) == set(CARRIERS)
    assert age.strongest == []
    assert (proxies.n_rows, sex.n_rows, sex.n_held_out, sex.n_left_out) == (500, 500, 250, 0)
    assert 20 <= proxies.n_incomplete <= 40
    assert (proxies.shap, proxies.why_no_shap) == (None, NO_MODEL)
    last = told[-1]
    assert isinstance(last, Stopped)
    assert (last.reason, last.n_tried, last.n_found) == (StopReason.EXHAUSTED, 16, 2)
    phases = [event.phase for event in told if isinstance(event, Progress)]
    assert phases[:3] == ["telling sex by each column", "telling sex by all columns", "holding what tells sex"]


@pytest.mark.usefixtures("quick")
def test_figures_depend_on_the_seed_and_not_on_what_else_is_protected() -> None:
    rows = decided(400, 2)
    both = found(events(rows, "sex", "age", seed=5))
    assert both == found(events(rows, "sex", "age", seed=5))
    alone = found(events(rows, "age", seed=5)).attributes[0]
    assert [one.tells for one in alone.columns] == [one.tells for one in both.attributes[1].columns]
    assert [one.held for one in alone.differences] == [one.held for one in both.attributes[1].differences]
    assert found(events(rows, "sex", seed=6)).attributes[0] != both.attributes[0]


@pytest.mark.usefixtures("quick")
def test_a_linked_column_is_named_and_held_as_the_role_it_stands_for() -> None:
    """*job* 0 and 1 are one role, which women and men spell differently: it tells all, and is no surprise."""
    rows = planted(600, 3, strength=0.4, noise=0.5).rows
    job = SCHEMA.index("job")
    rows[:, job] = np.where(rows[:, job] < 2, rows[:, 0], rows[:, job])
    link = Link("sex", "job", ("F", "M"), (("job 00", "job 01"),))
    scope = Scope(("sex",), links=(link,))
    roles = Ranges(SCHEMA, scope).roles(rows)
    table = replace(decided(600, 3, strength=0.4), people=rows, roles=roles)
    (sex,) = found(events(table, "sex", links=(link,))).attributes
    first = sex.columns[0]
    assert (first.column, first.is_linked, first.is_clear) == ("job", True, True)
    assert "job" not in sex.strongest
    unlinked = found(events(replace(table, roles=rows), "sex")).attributes[0]
    assert unlinked.strongest[0] == "job"
    assert sex.together.value < unlinked.together.value - 0.02
    (held,), (open_,) = sex.differences, unlinked.differences
    assert held.overlap > open_.overlap + 0.05


SAMPLES = {
    ("census_income", "sex"): {"hours_per_week", "occupation"},
    ("census_income", "race"): {"education_years"},
    ("credit", "age"): {"employment_years", "housing"},
    ("credit", "sex"): set(),
    ("recidivism", "race"): {"earlier_offences"},
}
"""What ``docs/sample-data.md`` says acts on what."""


def sample_rows(name: str) -> tuple[FloatArray, DecidedRows, Schema]:
    """A sample's rows and labels."""
    sample = find_sample(name)
    schema = Schema.read(sample.schema)
    dataset = make_dataset(read_table(sample.data), schema)
    favourable = np.asarray(dataset.labels == dataset.favourable_class)
    return dataset.rows, DecidedRows(dataset.rows, dataset.rows, favourable, why_not_explained=NO_MODEL), schema


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("sample", "protected"), SAMPLES)
def test_the_proxies_of_the_samples_come_out_on_top(sample: str, protected: str) -> None:
    _, rows, schema = sample_rows(sample)
    named = SAMPLES[sample, protected]
    for seed in range(3):
        (each,) = found(list(run_proxies(rows, schema, Scope((protected,)), seed))).attributes
        assert {one.column for one in each.columns[: len(named)]} == named
        assert named <= {one.column for one in each.columns if one.is_clear}
        if not named:
            assert each.strongest == []


def test_of_a_sample_whose_label_ignores_sex_nothing_is_left_and_of_age_what_was_planted() -> None:
    _, rows, schema = sample_rows("credit")
    sex, age = found(list(run_proxies(rows, schema, Scope(("sex", "age")), 1))).attributes
    (one,) = sex.differences
    assert one.held is not None
    assert one.held.low < 0 < one.held.high
    young = age.differences[0]
    assert young.group == "19 to 25"
    assert young.held is not None
    assert young.raw.high < young.held.low  # employment and housing carry a part of it
    assert young.held.high < -0.1  # and the planted rule the rest


# --- ends before the end ------------------------------------------------------------------------


class Stops:
    """A clock that cancels after so many looks at it."""

    def __init__(self, n_looks: int) -> None:
        self.n_left = n_looks

    def __call__(self) -> bool:
        self.n_left -= 1
        return self.n_left < 0


@pytest.mark.usefixtures("quick")
def test_what_is_done_when_a_run_is_stopped_is_kept() -> None:
    rows = decided(300, 4)
    looks = Stops(10**9)
    events(rows, "sex", "age", clock=Clock(is_cancelled=looks))
    n_looks = 10**9 - looks.n_left
    told = events(rows, "sex", "age", clock=Clock(is_cancelled=Stops(n_looks - 1)))
    assert [each.protected for each in found(told).attributes] == ["sex"]
    assert told[-1].reason is StopReason.CANCELLED
    assert told[-1].n_tried == 8
    told = events(rows, "sex", "age", clock=Clock(is_cancelled=Stops(3)))
    assert [event for event in told if isinstance(event, ResultReady)] == []
    assert (told[-1].reason, told[-1].n_tried) == (StopReason.CANCELLED, 0)


Explain = Callable[[Callable[[int], None]], ShapShares]


def explained(explain: Explain, clock: Clock = NO_LIMIT) -> tuple[Proxies, Stopped, list[Event]]:
    """A run on a model whose explanation is this."""
    reports: list[Event] = []
    rows = replace(decided(300, 5), evaluations=300, explain=explain, why_not_explained="")
    told = list(run_proxies(rows, SCHEMA, Scope(("sex",)), 0, clock, reports.append))
    assert isinstance(told[-1], Stopped)
    return found(told), told[-1], reports


@pytest.mark.usefixtures("quick")
def test_a_model_is_explained_at_last() -> None:
    shares = dict.fromkeys(SCHEMA.names, 1 / len(SCHEMA.names))

    def explain(told: Callable[[int], None]) -> ShapShares:
        told(50)
        told(70)
        return ShapShares(shares, 20, 100, 3)

    proxies, stopped, reports = explained(explain)
    assert proxies.shap is not None
    assert (proxies.shap.shares, proxies.why_no_shap) == (shares, "")
    assert stopped.evaluations == 370
    assert [(event.evaluations, event.n_tried) for event in reports] == [(350, 8), (370, 8)]


@pytest.mark.usefixtures("quick")
def test_a_model_that_cannot_be_explained_leaves_the_rest_what_it_is() -> None:
    def fails(_: Callable[[int], None]) -> ShapShares:
        raise FitError("It gives no number.")

    proxies, stopped, _ = explained(fails)
    assert (proxies.shap, proxies.why_no_shap) == (None, "It gives no number.")
    assert stopped.reason is StopReason.EXHAUSTED
    is_over: list[bool] = []
    clock = Clock(is_cancelled=lambda: bool(is_over))

    def takes_too_long(_: Callable[[int], None]) -> ShapShares:
        is_over.append(True)
        clock.check()
        raise AssertionError

    proxies, stopped, _ = explained(takes_too_long, clock)
    assert (proxies.shap, proxies.why_no_shap) == (None, STOPPED)
    assert stopped.reason is StopReason.CANCELLED
    assert len(proxies.attributes) == 1


# --- what cannot be -----------------------------------------------------------------------------


def numbers(n: int) -> Schema:
    columns = tuple(Column(f"c{i}", Kind.REAL, minimum=0.0, maximum=1.0) for i in range(n))
    return Schema(columns, protected=("c0",))


def test_no_other_column_and_too_many_are_said() -> None:
    with pytest.raises(SettingError, match="another column that tells 'c0', and the data has no other input"):
        check_proxies(numbers(1), Scope(("c0",)))
    with pytest.raises(SettingError, match=r"at most 4,000 columns, counted once for each protected .* got 4,002"):
        check_proxies(numbers(MAX_COLUMNS // 2 + 2), Scope(("c0", "c1")))
    check_proxies(numbers(2), Scope(("c0",)))


def test_an_attribute_of_one_value_and_one_of_too_few_rows_are_said() -> None:
    rows = decided(300, 6)
    rows.people[:, 0] = 1
    with pytest.raises(SettingError, match="'sex' has one value only in these rows"):
        events(rows, "sex")
    with pytest.raises(SettingError, match="'race' must have at least 30 rows each"):
        events(decided(45, 6), "race")


def test_settings_out_of_range_are_refused() -> None:
    assert ProxySettings.from_json(ProxySettings(n_rows=500).to_json()) == ProxySettings(n_rows=500)
    for wrong in ({"n_rows": 10}, {"n_explained": -1}, {"source": "nobody"}, {"predictions": "score"}):
        with pytest.raises(SettingError):
            ProxySettings.from_json(wrong)
    assert ProxySettings(source=Source.LABELS, predictions="score").predictions == "score"


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    """A result as it is stored."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(holding, "N_FOLDS", 2)
        patch.setattr(holding, "N_SPLITS", 2)
        proxies = found(events(decided(300, 7), "sex"))
    shares = {name: (1.0 if name == "hours" else 0.0) for name in SCHEMA.names}
    shown: dict[str, Any] = encode(replace(proxies, shap=ShapShares(shares, 10, 100, 1), why_no_shap=""))
    return shown


def test_a_result_that_can_be_is_taken(content: dict[str, Any]) -> None:
    assert is_possible("proxies", content)


LIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no attribute": lambda c: c.update(attributes=[]),
    "a figure outside its interval": lambda c: c["attributes"][0]["together"].update(low=0.99, value=0.6),
    "an area beyond one": lambda c: c["attributes"][0]["together"].update(high=1.2),
    "columns out of order": lambda c: c["attributes"][0]["columns"].reverse(),
    "a column twice": lambda c: c["attributes"][0]["columns"].__setitem__(1, c["attributes"][0]["columns"][0]),
    "the attribute among its proxies": lambda c: c["attributes"][0]["columns"][-1].update(column="sex"),
    "others for the strongest": lambda c: c["attributes"][0].update(strongest=list(NOISE[:2])),
    "a linked surprise": lambda c: c["attributes"][0]["columns"][0].update(is_linked=True),
    "a difference beyond one": lambda c: c["attributes"][0]["differences"][0]["raw"].update(low=-1.5),
    "nothing left and no reason": lambda c: c["attributes"][0]["differences"][0].update(held=None),
    "more people than rows": lambda c: c["attributes"][0]["differences"][0].update(n_group=10**6),
    "more rows than there are": lambda c: c["attributes"][0].update(n_rows=10**6),
    "more incomplete ones than rows": lambda c: c.update(n_incomplete=10**6),
    "shares that are none": lambda c: c["shap"]["shares"].update(place=0.5),
    "shares and a reason for none": lambda c: c.update(why_no_shap="No time."),
    "no shares and no reason": lambda c: c.update(shap=None),
    "a measure of its own": lambda c: c["attributes"][0].update(measure="gini"),
    "true as a figure": lambda c: c["attributes"][0]["together"].update(value=True),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_result_that_cannot_be_is_refused(content: dict[str, Any], lie: str) -> None:
    told = decode(dict[str, Any], encode(content))
    LIES[lie](told)
    assert not is_possible("proxies", told)
