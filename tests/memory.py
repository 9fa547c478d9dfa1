"""What something takes of memory: how a test tells that it does not read what it should refuse."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def takes_at_most(n_bytes: int) -> Iterator[None]:
    """What is done meanwhile allocates no more at once, of Python's and NumPy's memory."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= n_bytes, f"{peak:,} bytes"
