"""Which of a test's many cases are tried every day, and which with the thorough tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def the_first(n: int, cases: Iterable[Any]) -> list[Any]:
    """Cases for ``parametrize``, all of them but the first ``n`` being thorough."""
    return [case if at < n else pytest.param(case, marks=pytest.mark.thorough) for at, case in enumerate(cases)]
