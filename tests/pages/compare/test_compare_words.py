"""What a comparison says of itself: honest about overlapping ranges, single seeds, nothing found and what was
counted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairness_engine.runs.comparison import Compared, Comparison, Curve, Spread
from pages.compare import charts, phrases
from pages.compare import table as compare_table

N_ROWS = 1000.0


def spread(*values: float) -> Spread:
    return Spread(float(np.median(values)), min(values), max(values), len(values))


def compared(label: str, technique: str, *found: float, n_runs: int | None = None, reach: float = N_ROWS) -> Compared:
    """A technique whose runs found these numbers, evenly over the rows evaluated."""
    x = np.linspace(0.0, reach, 11)
    ends = (float(np.median(found)), min(found), max(found))
    curve = Curve(x, *(end * x / reach for end in ends), n_runs=np.full(len(x), len(found)))
    return Compared(
        label=label,
        technique=technique,
        settings={},
        run_ids=tuple(f"{label}-{seed}" for seed in range(len(found))),
        n_done=len(found),
        n_runs=n_runs or len(found),
        n_found=spread(*found),
        per_1000_rows=spread(*(1000 * n / reach for n in found)),
        per_second=spread(*found),
        success_rate=spread(*(n / 1000 for n in found)),
        diversity=None,
        plausible_share=None,
        plausible_per_1000_rows=None,
        median_distance=None,
        naturalness=None,
        share_of_all=None,
        by_evaluations=curve,
        by_seconds=curve,
    )


def comparison(*techniques: Compared, n_exact: int | None = None) -> Comparison:
    return Comparison(techniques, n_exact, None)


RANDOM = compared("Random", "random", 28, 29, 30)


def test_ranges_that_stand_apart_are_said() -> None:
    first, *others = phrases.conclusions(comparison(RANDOM, compared("Directed", "directed", 100, 104, 110)))
    assert first == (
        "For the same 1\u202f000 rows evaluated, Directed found 3.6 times as many as Random: 104 (100 to 110) against "
        "29 (28 to 30). The ranges over 3 seeds do not overlap. Were both techniques equally good, chance would part "
        "them like this once in 10 comparisons."
    )
    assert others == []


@pytest.mark.parametrize(("n_seeds", "once_in"), [(2, 3), (3, 10), (4, 35)])
def test_how_often_luck_parts_ranges_is_exact(n_seeds: int, once_in: int) -> None:
    """Of all orders in which the runs of two equals can come, those in which one technique's runs all come first."""
    from itertools import combinations

    orders = list(combinations(range(2 * n_seeds), n_seeds))
    parted = [first for first in orders if max(first) == n_seeds - 1 or min(first) == n_seeds]
    assert len(orders) == once_in * len(parted)
    one = compared("Random", "random", *range(1, 1 + n_seeds))
    other = compared("MAFT", "maft", *range(50, 50 + n_seeds))
    assert f"once in {once_in} comparisons." in phrases.conclusions(comparison(one, other))[0]


def test_ranges_that_overlap_are_always_said() -> None:
    (only,) = phrases.conclusions(comparison(RANDOM, compared("MAFT", "maft", 30, 40, 50)))
    assert "The ranges over 3 seeds overlap, so luck may explain it." in only


def test_one_seed_proves_nothing() -> None:
    techniques = compared("Random", "random", 10), compared("MAFT", "maft", 50), compared("SG", "sg", 20)
    first, second = phrases.conclusions(comparison(*techniques))
    assert first.endswith("There is one seed only, so luck may explain it.")
    assert second.startswith("Between MAFT and SG this comparison does not decide")
    assert "one seed only" in second


def test_a_search_that_does_not_beat_luck_is_told_so() -> None:
    (only,) = phrases.conclusions(comparison(RANDOM, compared("SG", "sg", 10, 11, 12)))
    assert "SG found no more than Random: 11 (10 to 12) against 29 (28 to 30)." in only


def test_where_luck_finds_nothing_there_is_no_ratio() -> None:
    (only,) = phrases.conclusions(comparison(compared("Random", "random", 0, 0), compared("SG", "sg", 5, 7)))
    assert "SG found 6 (5 to 7) where Random found nothing." in only
    assert "times" not in only


def test_nothing_found_is_no_proof() -> None:
    (only,) = phrases.conclusions(comparison(compared("Random", "random", 0, 0), compared("SG", "sg", 0, 0)))
    assert only.endswith("This does not show that there is nothing.")


def test_only_rows_that_both_have_evaluated_are_compared() -> None:
    short = compared("SG", "sg", 50, 52, reach=500.0)
    first = phrases.conclusions(comparison(RANDOM, short))[0]
    assert first.startswith("For the same 500 rows evaluated, SG found 3.5 times as many as Random: 51 (50 to 52)")


def test_rows_that_only_some_seeds_have_evaluated_are_left_out() -> None:
    uneven = compared("SG", "sg", 50, 60)
    curve = replace(uneven.by_evaluations, n_runs=np.where(uneven.by_evaluations.x > 500, 1, 2))
    first = phrases.conclusions(comparison(RANDOM, replace(uneven, by_evaluations=curve)))[0]
    assert first.startswith("For the same 500 rows evaluated, ")


def test_the_two_best_are_set_against_each_other() -> None:
    apart = comparison(RANDOM, compared("A", "maft", 100, 101), compared("B", "directed", 200, 201))
    assert phrases.conclusions(apart)[1].startswith("B is ahead of the next, A, with every seed")
    close = comparison(RANDOM, compared("A", "maft", 100, 210), compared("B", "directed", 200, 201))
    assert "does not decide" in phrases.conclusions(close)[1]
    assert "their ranges over 2 seeds overlap" in phrases.conclusions(close)[1]


def test_the_one_that_leads_early_and_falls_behind_is_not_called_worse() -> None:
    early = compared("Early", "sg", 300, 310, reach=500.0)
    late = compared("Late", "maft", 400, 420)
    second = phrases.conclusions(comparison(RANDOM, early, late))[1]
    assert second.startswith("Early found more at first, 305 (300 to 310) against 205 (200 to 210) after 500 rows")


def test_what_was_counted_is_said() -> None:
    found = replace(compared("Directed", "directed", 975), share_of_all=spread(0.81))
    assert phrases.conclusions(comparison(found, n_exact=1204)) == [
        "Directed found 81 % of all 1\u202f204 that exist (counted exactly)."
    ]
    nothing = phrases.conclusions(comparison(found, n_exact=0))
    assert nothing == ["Every individual of the domain was gone through: no pair exists in it."]


def test_unfinished_runs_are_said() -> None:
    assert phrases.unfinished(comparison(RANDOM)) == ""
    running = compared("MAFT", "maft", 10, n_runs=5)
    assert phrases.unfinished(comparison(RANDOM, running)).startswith("Not all runs have ended")


def test_runs_that_have_said_nothing_yet_are_left_out() -> None:
    empty = Curve(*(np.empty(0) for _ in range(4)), n_runs=np.empty(0, dtype=int))
    silent = replace(compared("MAFT", "maft", 10), n_found=None, by_evaluations=empty, by_seconds=empty)
    assert phrases.conclusions(comparison(RANDOM, silent)) == []
    assert not charts.found_curves([silent], "evaluations").data


# --- chart --------------------------------------------------------------------------------------


def test_a_line_and_a_band_a_technique_and_names_at_the_ends() -> None:
    both = [RANDOM, compared("Directed", "directed", 100, 104, 110)]
    figure = charts.found_curves(both, "evaluations")
    band, line = figure.data[2:]
    assert line.y[-1] == 104
    assert (max(band.y), line.name) == (110, "Directed")
    assert list(line.customdata[-1]) == [100.0, 110.0]
    texts = [annotation.text for annotation in figure.layout.annotations]
    assert [text.split("</span> ")[1] for text in texts] == ["Random", "Directed"]
    assert figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text


def test_logarithmic_axes_leave_out_what_they_cannot_show() -> None:
    figure = charts.found_curves([compared("A", "maft", 0, 4, 8)], "seconds", is_log=True)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    band, line = figure.data
    assert np.nanmin(line.y) > 0
    assert min(band.x) > 0
    assert min(band.y) > 0


def test_every_technique_has_a_look_of_its_own() -> None:
    from fairness_engine.search.registry import TECHNIQUES

    assert set(TECHNIQUES) <= set(charts.LOOKS)
    looks = charts.LOOKS.values()
    for part in ("light", "dark", "symbol", "glyph"):
        assert len({getattr(look, part) for look in looks}) == len(looks), part


def test_strategies_of_one_technique_differ_by_dash_and_symbol() -> None:
    first, second, third = charts.looks_of(["aequitas", "aequitas", "aequitas"])
    assert len({first.dash, second.dash, third.dash}) == 3
    assert first.symbol != second.symbol


@pytest.mark.parametrize("wanted", [[0.5, 0.5, 0.5], [0.99, 1.0, 0.98], [0.0, 0.01, 0.9], [0.3], []])
def test_names_keep_their_distance_and_their_order(wanted: list[float]) -> None:
    places = np.array(charts.apart(wanted, 0.05))
    in_order = places[np.argsort(wanted, kind="stable")]
    assert (np.diff(in_order) >= 0.05 - 1e-9).all()
    assert all(place <= 1 + 1e-9 for place in places)


# --- table --------------------------------------------------------------------------------------


def test_names_in_the_table_cannot_become_markup() -> None:
    shown = compare_table.html(comparison(compared("<b>x</b>", "maft", 1, 2)))
    assert "<b>x" not in shown
    assert "&lt;b&gt;x&lt;/b&gt;" in shown


def test_the_files_hold_the_figures_and_every_point() -> None:
    import io

    import pandas as pd

    both = comparison(RANDOM, compared("Directed", "directed", 100, 104, 110), n_exact=1204)
    table = pd.read_csv(io.BytesIO(compare_table.table_csv(both)))
    assert table["n_found_median"].tolist() == [29.0, 104.0]
    assert table["n_found_min"].tolist() == [28.0, 100.0]
    assert table["exact_count"].tolist() == [1204, 1204]
    curves = pd.read_csv(io.BytesIO(compare_table.curves_csv(both)))
    assert len(curves) == 2 * 2 * 11
    assert set(curves["axis"]) == {"evaluations", "seconds"}
