"""One way to write every number, share, span of time and date, in the app, in reports and in findings.

Shares have two significant digits and their interval, counts have thin spaces.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime

THIN_SPACE = "\u202f"
"""Narrow, and does not break the line."""
_THOUSANDS = re.compile(r"(?<!\w)'[^']*'(?!\w)|(?<=\d),(?=\d{3}(?!\d))")
"""What is quoted of a file, and commas of counts."""
_MAX_DECIMALS = 4
_LEAST_SHARE = 10.0 ** -(_MAX_DECIMALS + 2)
"""Of 1; what is smaller cannot be written with so many decimals of a percentage."""
_OPEN_DECIMALS = 2
"""Decimals that a small undecided share adds to those that are proved."""
_LEAST_SECONDS = 0.05
"""Below it one decimal says nothing."""
_ROUNDING = 1e-6
"""What sums of shares are off by in floating point, in units of the last decimal that is written."""


def count(n: float) -> str:
    """A count with thin spaces: ``1 234 567``."""
    return f"{round(n):,}".replace(",", THIN_SPACE)


def spaced(text: str) -> str:
    """A text of the engine, whose counts have commas, with thin spaces instead; what it quotes stays as it is."""
    return _THOUSANDS.sub(lambda found: THIN_SPACE if found[0] == "," else found[0], text)


def counted(n: float, one: str, many: str | None = None) -> str:
    """A count with its noun: ``1 row``, ``3 rows``."""
    return f"{count(n)} {one if round(n) == 1 else many or one + 's'}"


def number(value: float) -> str:
    """A number as people write it: at most four significant digits, no exponent for everyday sizes."""
    if value == round(value) and abs(value) < 1e15:
        return count(value)
    if abs(value) >= 1000:
        return count(value)
    return f"{value:.4g}"


def share(value: float, low: float | None = None, high: float | None = None) -> str:
    """A share with its interval, all in 0..1: ``0.68 % (0.61-0.76)``; a zero is written as its upper bound. What is
    next to nothing, or next to all, is written as a bound.
    """
    if low is None or high is None:
        if 0 < value < _LEAST_SHARE / 2 or 1 - _LEAST_SHARE / 2 < value < 1:
            return bounded_share(value)
        return f"{_percent(value, _decimals(value))} %"
    if value == 0:
        return f"below {_percent(high, _decimals(high))} %"
    decimals = max(_decimals(value), _decimals_of_width(high - low))
    return f"{_percent(value, decimals)} % ({_percent(low, decimals)}-{_percent(high, decimals)})"


def proved_shares(certified: float, falsified: float, undecided: float) -> tuple[str, str, str]:
    """Three shares of one whole: what is proved rounded down, what is open rounded up, so that they add up as written.

    Where nothing is open the two that are left are rounded to the nearest, with a decimal more where they need it.

    Args:
        certified, falsified, undecided: 0 to 1, together 1.
    """
    parts = (certified, falsified, undecided)
    if any(0 < part < _LEAST_SHARE for part in parts):
        return bounded_share(certified), bounded_share(falsified), bounded_share(undecided, is_upper=True)
    decimals = max(_decimals(certified), _decimals(falsified), min(_OPEN_DECIMALS, _decimals(undecided)))
    proved, scale = _rounded_down(parts[:2], decimals)
    if undecided == 0 and sum(proved) < scale:
        decimals = min(_MAX_DECIMALS, decimals + 1)
        scale = 10 ** (decimals + 2)
        n_falsified = round(falsified * scale)
        proved = [scale - n_falsified, n_falsified]
    rest = scale - sum(proved) if undecided else 0
    first, second, third = (f"{_percent(n / scale, decimals)} %" if n else "0 %" for n in (*proved, rest))
    return first, second, third


def _rounded_down(parts: Sequence[float], decimals: int) -> tuple[list[int], int]:
    """Shares in units of the last decimal of a percentage, and how many of these are the whole."""
    scale = 10 ** (decimals + 2)
    return [math.floor(part * scale + _ROUNDING) for part in parts], scale


def bounded_share(value: float, *, is_upper: bool = False) -> str:
    """A share that is a bound, rounded so that it claims no more than it is: ``82 %``, ``above 99.9999 %``, ``below
    0.0001 %``.

    Args:
        value: 0 to 1.
        is_upper: the true share is at most this, and it is rounded up; otherwise it is at least this, and it is rounded
            down.
    """
    if 0 < value < _LEAST_SHARE:
        return f"below {_percent(_LEAST_SHARE, _MAX_DECIMALS)} %"
    if 1 - _LEAST_SHARE < value < 1:
        return f"above {_percent(1 - _LEAST_SHARE, _MAX_DECIMALS)} %"
    decimals = _decimals(value)
    steps = value * 10.0 ** (decimals + 2)
    whole = math.ceil(steps - _ROUNDING) if is_upper else math.floor(steps + _ROUNDING)
    return f"{_percent(whole / 10.0 ** (decimals + 2), decimals)} %"


def _decimals(value: float) -> int:
    """Decimals of a percentage that give two significant digits, counted from the nearer of 0 and 100 %."""
    percent = 100 * min(abs(value), abs(1 - value))
    if percent <= 0:
        return 0
    return min(_MAX_DECIMALS, max(0, 1 - math.floor(math.log10(percent))))


def _decimals_of_width(width: float) -> int:
    """Decimals at which both ends of an interval still differ."""
    return 0 if width <= 0 else min(_MAX_DECIMALS, max(0, math.ceil(-math.log10(100 * width))))


def _percent(value: float, decimals: int) -> str:
    return f"{100 * value:.{decimals}f}"


def duration(seconds: float) -> str:
    """A time span: ``under 0.1 s``, ``0.4 s``, ``12 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if 0 < seconds < _LEAST_SECONDS:
        return "under 0.1 s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def when(moment: datetime | float | str) -> str:
    """A moment in local time: ``20 Nov 2026, 12:45``."""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    elif not isinstance(moment, datetime):
        moment = datetime.fromtimestamp(moment, UTC)
    local = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone()
    return f"{local.day} {local:%b %Y, %H:%M}"


def size(n_bytes: float) -> str:
    """A file's size: ``4.1 MB``."""
    for unit in ("bytes", "KB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" or n_bytes >= 100 else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"


def magnitude(n: float) -> str:
    """A huge count in words: ``12 000``, ``3.4 million``, ``about 10^18``, ``endlessly many``."""
    if math.isinf(n):
        return "endlessly many"
    for limit, word in ((1e6, ""), (1e9, "million"), (1e12, "billion"), (1e15, "trillion")):
        if n < limit:
            return count(n) if not word else f"{n / limit * 1000:.3g} {word}"
    return f"about 10{_superscript(math.floor(math.log10(n)))}"


def _superscript(n: int) -> str:
    return str(n).translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))


def listed(names: list[str] | tuple[str, ...], most: int = 6) -> str:
    """Names in a sentence: ``a, b and c``; ``a, b and 7 more``."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
