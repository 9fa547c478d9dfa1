"""When a search ends."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from fairness_engine.errors import SettingError


@dataclass(frozen=True)
class Budget:
    """When a search ends: whichever comes first. ``None`` means no limit."""

    max_evaluations: int | None = 200_000
    max_seconds: float | None = None
    max_found: int | None = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise SettingError(f"{field.name} must be greater than 0, got {value}.")
        if self.max_evaluations is None and self.max_seconds is None and self.max_found is None:
            raise SettingError("A search needs a limit: give max_evaluations, max_seconds or max_found.")
