"""Work of unknown length, done a part at a time until its time is up."""

from __future__ import annotations

import time
from collections.abc import Iterator

_GROWTH = 4
_SHARE_OF_REST = 0.5


def paced(n_items: int, deadline: float, first: int = 4) -> Iterator[slice]:
    """Parts of ``range(n_items)``, from the first on: small ones, then as large as half of the time left allows.

    Args:
        n_items: how many there are.
        deadline: no part is begun after it, in ``time.perf_counter`` seconds.
        first: items of the first part, whose length in seconds is not known.
    """
    begin, size = 0, first
    while begin < n_items and (started := time.perf_counter()) < deadline:
        end = min(begin + size, n_items)
        yield slice(begin, end)
        now = time.perf_counter()
        seconds_each = max(now - started, 1e-9) / (end - begin)
        affordable = (deadline - now) * _SHARE_OF_REST / seconds_each
        begin, size = end, int(max(1, min(_GROWTH * size, affordable)))
