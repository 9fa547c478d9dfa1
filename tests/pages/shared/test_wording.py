"""Numbers, dates and text as every page writes them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.shared.app import wording


@pytest.mark.parametrize(
    ("share", "text"),
    [
        ((0.0068, 0.0061, 0.0076), "0.68 % (0.61-0.76)"),
        ((0.12,), "12 %"),
        ((0.0683,), "6.8 %"),
        ((0.996,), "99.60 %"),
        ((0.367, 0.365, 0.368), "36.7 % (36.5-36.8)"),
        ((0.0, 0.0, 0.003), "below 0.30 %"),
        ((1.0, 0.99, 1.0), "100 % (99-100)"),
        ((1.0,), "100 %"),
        ((1 - 1e-9,), "above 99.9999 %"),
        ((1 - 6e-7,), "99.9999 %"),
        ((1e-9,), "below 0.0001 %"),
        ((0.0,), "0 %"),
    ],
)
def test_shares(share: tuple[float, ...], text: str) -> None:
    assert wording.share(*share) == text


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_any_share_is_written_without_an_exponent(a: float, b: float, c: float) -> None:
    low, value, high = sorted((a, b, c))
    for text in (wording.share(value), wording.share(value, low, high)):
        assert "e" not in text.removeprefix("below").removeprefix("above")
        assert "%" in text


def test_zero_hits_are_never_written_as_zero() -> None:
    assert not wording.share(0.0, 0.0, 0.01).startswith("0")


def test_counts_of_the_engine_are_spaced_and_what_is_quoted_stays() -> None:
    thin = wording.THIN_SPACE
    assert (
        wording.spaced("The data's 12,345 rows, of 1,234,567.")
        == f"The data's 12{thin}345 rows, of 1{thin}234{thin}567."
    )
    assert wording.spaced("'age' holds '1,234', not 1,234") == f"'age' holds '1,234', not 1{thin}234"
    assert wording.spaced("1,23 and 4,5678 and a,b") == "1,23 and 4,5678 and a,b"


def test_counts_have_thin_spaces_that_do_not_break() -> None:
    assert wording.count(1234567) == "1\u202f234\u202f567"
    assert wording.counted(1, "row") == "1 row"
    assert wording.counted(2, "person", "people") == "2 people"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.0 s"), (0.03, "under 0.1 s"), (0.44, "0.4 s"), (12.4, "12 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert wording.duration(seconds) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [(12_000, "12\u202f000"), (3.4e6, "3.4 million"), (5e18, "about 10¹⁸"), (math.inf, "endlessly many")],
)
def test_magnitudes(n: float, text: str) -> None:
    assert wording.magnitude(n) == text


def test_moments_are_written_one_way_whatever_they_come_as() -> None:
    moment = datetime(2026, 11, 20, 12, 45, tzinfo=UTC)
    written = {wording.when(moment), wording.when(moment.timestamp()), wording.when(moment.isoformat())}
    assert len(written) == 1
    assert "Nov 2026, " in written.pop()


def test_lists_in_sentences() -> None:
    assert wording.listed([]) == ""
    assert wording.listed(["a"]) == "a"
    assert wording.listed(("a", "b", "c")) == "a, b and c"
    assert wording.listed([str(i) for i in range(9)], most=3) == "0, 1 and 7 more"


def test_text_of_others_cannot_become_markup() -> None:
    hostile = "<img src=x onerror=alert(1)> **b** [l](javascript:x) :red[r] $x$ `c`\n# h"
    for character in "<>*[]():$`#":
        assert f"\\{character}" in wording.markdown(hostile)
    assert "\n" not in wording.markdown(hostile)
    for address in ("http://a.b", "HTTPS://a.b", "www.a.b", "me@a.b"):
        shown = wording.markdown(address).replace("\\", "")
        assert address not in shown
        assert shown.replace("\u2060", "") == address
    assert wording.markdown("https and www") == "https and www"
    assert wording.escaped('<a href="x">&') == "&lt;a href=&quot;x&quot;&gt;&amp;"
