"""Charts of a run: axes have names, numbers are the run's, names of the user cannot become markup."""

from __future__ import annotations

import pandas as pd
import pytest

from pages.shared.charts import run_charts
from pages.shared.charts.run_charts import Curve


def progress(n: int = 5) -> pd.DataFrame:
    lines = [(100 * (i + 1), 0.5 * (i + 1), 10 * (i + 1), 3 * (i + 1), "searching") for i in range(n)]
    return pd.DataFrame(lines, columns=["evaluations", "seconds", "n_tried", "n_found", "phase"])


@pytest.mark.parametrize(("by", "last"), [("evaluations", 500), ("seconds", 2.5)])
def test_a_curve_begins_at_nothing_and_ends_where_the_run_did(by: str, last: float) -> None:
    figure = run_charts.growing_curve([Curve("Random", progress())], by)
    (trace,) = figure.data
    assert (trace.x[0], trace.y[0]) == (0, 0)
    assert (trace.x[-1], trace.y[-1]) == (last, 15)
    assert figure.layout.title.text
    assert figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text == "Pairs found"


def test_curves_differ_by_dash_and_marker_and_not_by_colour_alone() -> None:
    figure = run_charts.growing_curve([Curve(f"run {i}", progress()) for i in range(6)])
    looks = {(trace.line.dash, trace.marker.symbol) for trace in figure.data}
    assert len(looks) == 6
    assert figure.layout.showlegend


def test_a_long_run_is_drawn_with_few_points_that_keep_both_ends() -> None:
    (trace,) = run_charts.growing_curve([Curve("Random", progress(7000))]).data
    assert len(trace.x) <= 400
    assert trace.x[-1] == 700_000


def test_the_table_has_every_report() -> None:
    table = run_charts.growing_table([Curve("a", progress(3)), Curve("b", progress(2))])
    assert list(table) == ["Run", "Rows evaluated", "Seconds", "Individuals tried", "Individuals found"]
    assert table["Run"].tolist() == ["a", "a", "a", "b", "b"]
    assert "Run" not in run_charts.growing_table([Curve("a", progress(3))])


def test_the_band_holds_the_line() -> None:
    points = [[100, 0.1, 0.05, 0.18], [200, 0.12, 0.08, 0.17]]
    band, line = run_charts.settling_curve(points, "the data's rows").data
    assert list(line.y) == [10.0, 12.0]
    assert list(band.y) == [18.0, 17.0, 8.0, 5.0]
    assert run_charts.settling_table(points).iloc[-1].tolist() == pytest.approx([200, 12.0, 8.0, 17.0])


def test_group_names_cannot_become_markup_and_equal_ones_stay_apart() -> None:
    long = "a" * 60
    shares = {f"{long}1": 0.5, f"{long}2": 0.25, "<a href='x'>b</a>": 0.1}
    figure = run_charts.group_bars(shares, "<b>yes</b>")
    (bars,) = figure.data
    assert list(bars.x) == [50.0, 25.0, 10.0]
    assert len(set(bars.y)) == 3
    assert "<" not in "".join(figure.layout.yaxis.ticktext) + figure.layout.xaxis.title.text


def test_of_many_groups_both_ends_are_drawn() -> None:
    shares = {f"group {i}": i / 100 for i in range(100)}
    (bars,) = run_charts.group_bars(shares, "yes").data
    assert len(bars.x) == run_charts.MAX_GROUPS
    assert (bars.x[0], bars.x[-1]) == (99.0, 0.0)
    assert len(run_charts.group_table(shares)) == 100
