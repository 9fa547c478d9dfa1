"""Results that can be, and that cannot."""

from __future__ import annotations

from typing import Any

from fairness_engine.runs.kinds import typed


def is_possible(name: str, content: Any) -> bool:
    """Whether a result can be what it says."""
    try:
        typed(name, content)
    except ValueError:
        return False
    return True
