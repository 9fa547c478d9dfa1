"""What all charts have in common: nothing without name or text by mistake, both ends of a curve, honest intervals."""

from __future__ import annotations

import numpy as np
import pytest

from pages.shared.app import theme
from pages.shared.charts import certification_charts, kit
from pages.shared.runs.certification_phrases import Shares


def test_a_chart_has_a_title_named_axes_and_only_traces_with_points() -> None:
    drawn = kit.line([0, 1], [2, 3], "found", "%{y}", colour=theme.PLAIN.colour)
    figure = kit.chart("Found", [drawn, kit.joins([], theme.faint())], "Rows", kit.axis("Pairs", range=[0, 5]))
    assert [trace.name for trace in figure.data] == ["found"]
    layout = figure.layout
    assert (layout.title.text, layout.xaxis.title.text, layout.yaxis.title.text) == ("Found", "Rows", "Pairs")
    assert not layout.showlegend
    assert kit.chart("Found", [drawn], "Rows", "Pairs", **kit.legend_above()).layout.showlegend


def test_a_chart_is_written_once_and_anew_when_it_says_something_else() -> None:
    figure = kit.chart("Found", [kit.bars([3.0], ["a"], colour="#000000")], "Rows", "Pairs")
    figure.say("a: 3")
    written = figure.to_dict()
    assert figure.to_dict() is written
    figure.say("a: 3")
    assert figure.to_dict() is written
    figure.say("a: three")
    assert figure.to_dict()["layout"]["meta"] == "a: three"
    assert kit.enlarged(figure, 2.0).to_dict()["layout"]["font"]["size"] == 2 * written["layout"]["font"]["size"]
    assert written["data"][0]["x"] == figure.to_dict()["data"][0]["x"], "nothing of it was changed meanwhile"


def test_a_trace_without_a_name_or_a_text_stays_out_of_legend_and_hover() -> None:
    silent = kit.line([0, 1], [2, 3], colour="#000000")
    assert silent["showlegend"] is False
    assert silent["hoverinfo"] == "skip"
    told = kit.marks([0], [1], "A", "%{x}", symbol="circle", colour="#000000")
    assert told["hovertemplate"] == "%{x}<extra></extra>"
    named = kit.marks([0], [1], "A", "%{x}<extra>A</extra>", symbol="x", colour="#000000")
    assert named["hovertemplate"] == "%{x}<extra>A</extra>"


def test_intervals_are_lengths_on_both_sides_and_never_negative() -> None:
    bars = kit.intervals([(0.5, 0.25, 0.75), (0.1, 0.2, 0.3)], "#000000", scale=100)
    assert bars["array"] == pytest.approx([25, 20])
    assert bars["arrayminus"] == pytest.approx([25, 0])
    assert kit.intervals([], "#000000")["array"] == []


@pytest.mark.parametrize("n", [1, 2, 400, 401, 7001])
def test_a_thinned_curve_keeps_both_ends(n: int) -> None:
    positions = kit.thinned(n)
    assert (positions[0], positions[-1]) == (0, n - 1)
    assert len(positions) == min(n, 400)
    assert (np.diff(positions) > 0).all()


def test_a_band_goes_there_along_the_upper_end_and_back_along_the_lower() -> None:
    band = kit.band([1, 2], [10, 20], [11, 22], "range", "#000000")
    assert band["x"].tolist() == [1, 2, 2, 1]
    assert band["y"].tolist() == [11, 22, 20, 10]
    assert band["mode"] == "lines", "few points would be drawn as marks"


def test_names_of_rows_cannot_become_markup_and_equal_ones_stay_apart() -> None:
    names = [kit.shortened(f"<b>{'a' * 60}{i}") for i in range(2)]
    axis = kit.rows(names)
    assert axis["tickvals"] == [0, 1]
    assert axis["ticktext"][0] == axis["ticktext"][1]
    assert "<" not in "".join(axis["ticktext"])


def test_a_name_of_parts_loses_the_middles_of_the_longest() -> None:
    names = [f"men, aged 29 or less, country of birth of the applicant not {land}" for land in ("Germany", "Turkey")]
    short = [kit.shortened_parts(name, 50) for name in names]
    assert short[0] == "men, aged 29 or less, country o…licant not Germany"
    assert short[0] != short[1]
    assert kit.shortened_parts(names[0], len(names[0])) == names[0]
    assert len(kit.shortened_parts(", ".join(["a long attribute"] * 20), 50)) == 50
    assert kit.shortened_parts("<b>", 50) == "‹b>"


def test_shares_that_add_up_to_the_last_bit_more_than_all_keep_their_texts() -> None:
    """A browser hides what stands beyond the axis, by whatever little, unless it is told to cut it off."""
    shares = Shares(78 / 5000, 0.0, 4922 / 5000, is_counted=True)
    figure = certification_charts.shares_chart({"Data's people": shares}, "Proved")
    assert [bar.cliponaxis for bar in figure.data] == [True] * 3
