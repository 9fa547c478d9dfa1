"""What searches leave beside their pairs."""

from __future__ import annotations

from dataclasses import dataclass

from fairness_engine.codec import Count, hold


@dataclass(frozen=True)
class Tried:
    """Individuals who came from one place, and how many of them were found."""

    n_tried: Count
    n_found: Count

    def __post_init__(self) -> None:
        hold(self.n_found <= self.n_tried, "individuals found")


@dataclass(frozen=True)
class ScanCounts:
    """People of the data that a scan tested, and those that it left out.

    Args:
        n_tested, n_people: of the people handed to it.
        n_outside: rows outside the scope.
        n_not_drawn: rows beyond the limit of start rows.
        n_dropped: rows of the file that could not be read as people.
    """

    n_tested: Count
    n_people: Count
    n_outside: Count = 0
    n_not_drawn: Count = 0
    n_dropped: Count = 0

    def __post_init__(self) -> None:
        hold(self.n_tested <= self.n_people, "people tested")
