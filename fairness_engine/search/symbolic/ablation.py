"""What the ablation of symbolic search varies: where start rows come from, and which searches run (paper 003, Tables 4 to 7)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Protocol

from fairness_engine.search.symbolic.split import Source
from fairness_engine.search.technique import setting


class Undirected(StrEnum):
    """When undirected constraint sets are taken."""

    LAST = "last"
    FIRST = "first"
    OFF = "off"


class Ablated(Protocol):
    """The settings that both symbolic techniques have."""

    @property
    def start_source(self) -> str: ...
    @property
    def is_directed(self) -> bool: ...
    @property
    def undirected(self) -> str: ...


def start_source_setting() -> Any:
    """``start_source``: a source of start rows."""
    return setting(
        Source.DATA.value,
        "Start rows are rows of the data, or as many uniform rows of the domain in their place.",
        label="Start rows",
        choices=(Source.DATA.value, Source.UNIFORM.value),
    )


def directed_setting() -> Any:
    """``is_directed``: whether directed search runs."""
    return setting(True, "Negate the predicates of discriminatory people, all others kept.", label="Directed search")


def undirected_setting() -> Any:
    """``undirected``: when undirected search has its turn."""
    return setting(
        Undirected.LAST.value,
        "After start rows as printed, before everything else, or not at all; without directed search too, no tree is grown.",
        label="Undirected search",
        choices=tuple(place.value for place in Undirected),
    )


def has_undirected(settings: Ablated) -> bool:
    """Whether undirected search runs."""
    return settings.undirected != Undirected.OFF
