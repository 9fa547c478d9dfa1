"""The figures of paper 001 (TestSGD) that the benchmark of rule sets stands beside: Tables 3, 4, 5, 6 and 8.

Shares are of the paper's "True" outcome. Where it is the one that nobody wants (a high risk, much crime, a toxic text),
``flipped`` says so, and shares are turned round before they are shown: the score is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PaperGroup:
    """A rule set of the paper's Table 4.

    Args:
        words: what it says.
        inside, outside: shares in %.
        rules: the same as the command line says it, in the categories of the data here; empty for texts.
    """

    words: str
    inside: float
    outside: float
    rules: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class PaperFigures:
    """What the paper says of one data set.

    Args:
        accuracy: Table 3, in %.
        n_rule_sets, seconds: Table 5.
        top: Table 4, the three highest.
        flipped: whether the shares are of the outcome that is bad for the person.
        themis: Table 8: (group with the paper's outcome most often, least often, difference in %), or ``None`` where it
            has none.
    """

    accuracy: float
    n_rule_sets: int
    seconds: float
    top: tuple[PaperGroup, ...]
    flipped: bool = False
    themis: tuple[str, str, float] | None = None


def _ages(low: int, high: int) -> dict[str, Any]:
    return {"column": "age", "low": low, "high": high}


def _one_of(column: str, *values: str) -> dict[str, Any]:
    return {"column": column, "values": list(values)}


def _share(column: str, low: float, high: float) -> dict[str, Any]:
    return {"column": column, "low": low, "high": high}


_ASIAN = "Asian-Pac-Islander"
_AMERICAN = "Amer-Indian-Eskimo"
_MEN = _one_of("sex", "Male")

PAPER: dict[str, PaperFigures] = {
    "adult": PaperFigures(
        86.13,
        880,
        869.35,
        (
            PaperGroup(
                "men aged 40 to 79, White or Asian-Pac-Islander",
                *(29.9, 9.7),
                (_MEN, _ages(40, 79), _one_of("race", "White", _ASIAN)),
            ),
            PaperGroup(
                "men aged 40 to 69, White or Amer-Indian-Eskimo",
                *(28.9, 9.5),
                (_MEN, _ages(40, 69), _one_of("race", "White", _AMERICAN)),
            ),
            PaperGroup(
                "men aged 40 to 79, White, Asian-Pac-Islander or Amer-Indian-Eskimo",
                *(26.9, 8.5),
                (_MEN, _ages(40, 79), _one_of("race", "White", _ASIAN, _AMERICAN)),
            ),
        ),
        themis=("women aged 60 to 69, Asian-Pac-Islander", "men aged 10 to 19, White", 26.6),
    ),
    "bank_additional": PaperFigures(
        91.62,
        34,
        141.52,
        (
            PaperGroup("aged 10 to 89", 3.3, 41.5, (_ages(10, 89),)),
            PaperGroup("aged 10 to 69", 26.6, 3.8, (_ages(10, 69),)),
            PaperGroup("aged 10 to 59", 4.7, 25.2, (_ages(10, 59),)),
        ),
        themis=("aged 60 to 69", "aged 10 to 19", 8.4),
    ),
    "german": PaperFigures(
        100.0,
        53,
        104.85,
        (
            PaperGroup("women aged 60 to 69", 72.5, 50.6, (_one_of("sex", "female"), _ages(60, 69))),
            PaperGroup("women aged 60 to 79", 70.5, 48.7, (_one_of("sex", "female"), _ages(60, 79))),
            PaperGroup("men aged 40 to 79", 52.6, 47.1, (_one_of("sex", "male"), _ages(40, 79))),
        ),
        themis=("women aged 80 to 89", "men aged 10 to 19", 17.1),
    ),
    "compas": PaperFigures(
        78.99,
        1590,
        908.5,
        (
            PaperGroup(
                "men aged 40 or over, Hispanic or other",
                *(20.7, 83.1),
                (_MEN, _ages(40, 100), _one_of("race", "Hispanic", "Other")),
            ),
            PaperGroup(
                "men aged 40 to 59, Hispanic or other",
                *(20.3, 82.6),
                (_MEN, _ages(40, 59), _one_of("race", "Hispanic", "Other")),
            ),
            PaperGroup("men aged 50 to 59, Hispanic", 19.5, 81.8, (_MEN, _ages(50, 59), _one_of("race", "Hispanic"))),
        ),
        flipped=True,
        themis=("women aged 10 to 19, Native American", "men aged 60 to 69, other", 67.3),
    ),
    "law_school": PaperFigures(
        95.19,
        17,
        18.46,
        (
            PaperGroup(
                "men, Asian or Black", 84.5, 99.5, (_one_of("gender", "male"), _one_of("race", "asian", "black"))
            ),
            PaperGroup(
                "women, Asian or Black", 88.8, 99.9, (_one_of("gender", "female"), _one_of("race", "asian", "black"))
            ),
            PaperGroup("women, Black", 89.7, 99.9, (_one_of("gender", "female"), _one_of("race", "black"))),
        ),
        themis=("men, White", "women, Black", 13.5),
    ),
    "communities_crime": PaperFigures(
        92.52,
        13282,
        29150.01,
        (
            PaperGroup(
                "FemalePctDiv 0.4 or more, racePctWhite 0.8 or less",
                *(83.8, 23.2),
                (_share("FemalePctDiv", 0.4, 1.0), _share("racePctWhite", 0.0, 0.8)),
            ),
            PaperGroup(
                "FemalePctDiv 0.5 or more, racePctWhite 0.8 or less",
                *(87.0, 27.4),
                (_share("FemalePctDiv", 0.5, 1.0), _share("racePctWhite", 0.0, 0.8)),
            ),
            PaperGroup(
                "FemalePctDiv 0.5 or more, racePctWhite 0.6 or less",
                *(94.6, 35.1),
                (_share("FemalePctDiv", 0.5, 1.0), _share("racePctWhite", 0.0, 0.6)),
            ),
        ),
        flipped=True,
    ),
    "toxicity_madlibs": PaperFigures(
        93.89,
        732,
        34982.28,
        (
            PaperGroup("“gay” and “taoist”", 13.0, 6.5),
            PaperGroup("“gay” and “protestant”", 12.9, 7.5),
            PaperGroup("“gay” and “african american”", 12.5, 7.4),
        ),
        flipped=True,
    ),
    "imdb_sentences": PaperFigures(
        86.68,
        876,
        69125.16,
        (
            PaperGroup("“european” and “young”", 56.0, 49.4),
            PaperGroup("“white” and “older”", 59.1, 52.6),
            PaperGroup("“lgbtq”", 7.5, 14.0),
        ),
    ),
}

SUPPORTS: dict[str, dict[float, tuple[float, int, str, float]]] = {
    "law_school": {
        0.01: (46.71, 59, "men, Black", 16.3),
        0.05: (18.46, 17, "men, Asian or Black", 15.0),
        0.10: (17.83, 16, "men, Asian or White", 1.0),
        0.20: (17.83, 16, "men, Asian or White", 0.9),
        0.50: (6.28, 2, "men, other race", 0.3),
    },
    "compas": {
        0.01: (1175.79, 2063, "men, age >= 40, Hispanic or other", 62.4),
        0.05: (908.50, 1590, "men, age >= 40, Hispanic or other", 62.4),
        0.10: (676.74, 1180, "men, age >= 20, Hispanic or other", 43.9),
        0.20: (0.0, 0, "none", 0.0),
        0.50: (0.0, 0, "none", 0.0),
    },
}
"""Table 6, by support: seconds, rule sets, the highest rule set, its score in %."""


def shares(figures: PaperFigures, position: int) -> tuple[float, float]:
    """Favourable shares of one of the top rule sets, inside and outside, in %."""
    group = figures.top[position]
    return (100 - group.inside, 100 - group.outside) if figures.flipped else (group.inside, group.outside)
