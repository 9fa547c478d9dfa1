"""The techniques in the groups that a reader chooses from, each group with its one line of when to use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairness_engine.search.registry import BASELINES, TECHNIQUES


@dataclass(frozen=True)
class Family:
    """Techniques that need the same of a model."""

    key: str
    title: str
    use_when: str
    techniques: tuple[str, ...]


FAMILIES = (
    Family(
        "baselines",
        "Baselines",
        "The yardstick: what luck and your own data find for the same work.",
        BASELINES,
    ),
    Family(
        "black_box",
        "Black-box searches",
        "For any model: they ask for decisions or scores and look at nothing else.",
        ("aequitas", "sg", "sg-shared", "maft", "maft-plus", "directed"),
    ),
    Family(
        "white_box",
        "White-box searches",
        "For neural networks: they follow the true slope of the model's own arithmetic.",
        ("adf", "eidig"),
    ),
)


def known_families(techniques: Mapping[str, type[Any]] = TECHNIQUES) -> list[Family]:
    """The families with the techniques that exist here, in the order in which they are shown; none is left out."""
    placed = [name for family in FAMILIES for name in family.techniques]
    loose = tuple(name for name in techniques if name not in placed)
    families = [*FAMILIES, Family("other", "Other searches", "Techniques of this installation.", loose)]
    known = [
        Family(family.key, family.title, family.use_when, tuple(n for n in family.techniques if n in techniques))
        for family in families
    ]
    return [family for family in known if family.techniques]
