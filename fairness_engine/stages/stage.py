"""A stage: a technique at work on a small model, step by step, as a picture that can be replayed.

Everything drawn was recorded from the technique itself (``search.recording``); a stage only says where it lies on the
plane and what it means. The browser draws it (``pages/shared/player``), and reads the sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.models.model import Model
from fairness_engine.stages.registry import STAGES
from fairness_engine.stages.small_models import AGE, HIGHEST_INCOME, INCOME, OLDEST, YOUNGEST, SmallModel


class Dot(StrEnum):
    """What became of a person."""

    TESTED = "tested"
    FOUND = "found"
    FELT = "felt"
    """The model was asked, and nobody was tested."""


class Line(StrEnum):
    """What an arrow stands for."""

    HIT = "hit"
    MISS = "miss"
    ESTIMATED = "estimated"
    TRUE = "true"


class Area(StrEnum):
    """What a rectangle stands for."""

    CERTIFIED = "certified"
    FALSIFIED = "falsified"
    UNDECIDED = "undecided"
    NEXT = "next"
    TREE = "tree"
    GROUP = "group"


@dataclass(frozen=True)
class PanelLine:
    """A line beside the picture.

    Args:
        label: what it is of.
        text: what it says.
        share: drawn as a bar, 0 to 1; ``None`` for no bar.
        is_marked: it is what the sentence speaks of.
    """

    label: str
    text: str
    share: float | None = None
    is_marked: bool = False


@dataclass
class StageStep:
    """One step, as it is drawn.

    Args:
        says: what happened, in a sentence or two.
        phase: of the technique, a word or two.
        dots: people ``(plane, income, age, kind)``; they stay in the steps after.
        arrows: ``(plane, income, age, income, age, kind)``, of this step only.
        areas: ``(plane, income from, to, age from, to, kind)``, ends included, of this step only.
        decides: what the model of this step decides, as ``decisions_text``; empty where the picture does not show it.
        cloud: people whose decisions are looked at in this step only ``(plane, income, age, is_granted)``.
        standing: people who are looked at now ``(plane, income, age)``.
        waiting: people whom nobody has asked about yet, of this step only ``(plane, income, age)``; ``True`` for
            everybody.
        panel_title, panel: what stands beside the picture.
        figures: what is counted so far, by name.
    """

    says: str
    phase: str = ""
    dots: list[tuple[int, int, int, str]] = field(default_factory=list)
    arrows: list[tuple[int, float, float, float, float, str]] = field(default_factory=list)
    areas: list[tuple[int, int, int, int, int, str]] = field(default_factory=list)
    decides: list[str] = field(default_factory=list)
    cloud: list[tuple[int, int, int, int]] = field(default_factory=list)
    standing: list[tuple[int, int, int]] = field(default_factory=list)
    waiting: list[tuple[int, int, int]] | bool = False
    panel_title: str = ""
    panel: list[PanelLine] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; what is empty is left out."""
        content = {
            "says": self.says,
            "phase": self.phase,
            "dots": self.dots,
            "arrows": self.arrows,
            "areas": self.areas,
            "decides": self.decides,
            "cloud": self.cloud,
            "standing": self.standing,
            "waiting": self.waiting,
            "panel_title": self.panel_title,
            "panel": [[line.label, line.text, line.share, line.is_marked] for line in self.panel],
            "figures": self.figures,
        }
        return {name: value for name, value in content.items() if value}


@dataclass(frozen=True)
class Stage:
    """A technique on a small model.

    Args:
        name: of the technique, as ``registry.STAGES`` has it.
        small: the model.
        idea: what the technique does, in two or three sentences.
        departs: what is set differently from a real run, and why.
        steps: in order.
        planes: names of the planes, where they are others than the model's.
        decides: what is decided on them, as ``decisions_text``; with ``planes``.
    """

    name: str
    small: SmallModel
    idea: str
    departs: str
    steps: Sequence[StageStep]
    planes: tuple[str, ...] = ()
    decides: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As the browser reads it."""
        return {
            "name": self.name,
            "title": STAGES[self.name],
            "model": self.small.name,
            "rule": self.small.rule,
            "truth_text": self.small.truth,
            "idea": self.idea,
            "departs": self.departs,
            "planes": list(self.planes or self.small.planes),
            "axes": [["income", 0, HIGHEST_INCOME], ["age", YOUNGEST, OLDEST]],
            "truth": list(self.decides) or decisions_text(self.small),
            "steps": [step.to_json() for step in self.steps],
        }


def decisions_text(small: SmallModel, model: Model | None = None) -> list[str]:
    """Who gets the loan, a text a plane, a letter a person by age, then income: ``0`` nobody, ``1`` women and men,
    ``m`` men only, ``w`` women only. By another model than the small one, if given.
    """
    women, men = small.granted(model)
    letters = np.where(women == men, np.where(women == 1, "1", "0"), np.where(men == 1, "m", "w"))
    return ["".join(plane.ravel()) for plane in letters]


def dots(small: SmallModel, rows: FloatArray, kinds: Iterable[str]) -> list[tuple[int, int, int, str]]:
    """People ``(n, n_columns)`` on their planes."""
    return [
        (small.plane_of(row), round(row[INCOME]), round(row[AGE]), str(kind))
        for row, kind in zip(rows, kinds, strict=True)
    ]


def verdict_dots(small: SmallModel, rows: FloatArray, is_found: BoolArray) -> list[tuple[int, int, int, str]]:
    """People who were tested ``(n, n_columns)``, by what became of them ``(n,)``."""
    return dots(small, rows, [Dot.FOUND if found else Dot.TESTED for found in is_found])


def standing(small: SmallModel, rows: FloatArray) -> list[tuple[int, int, int]]:
    """People who are looked at now."""
    return [(small.plane_of(row), round(row[INCOME]), round(row[AGE])) for row in rows]


def arrows(
    small: SmallModel, origins: FloatArray, ends: FloatArray, kinds: Iterable[str]
) -> list[tuple[int, float, float, float, float, str]]:
    """Moves that stay on a plane; those to another plane end where they are on theirs."""
    made = []
    for origin, end, kind in zip(origins, ends, kinds, strict=True):
        plane = small.plane_of(end)
        begin = origin if small.plane_of(origin) == plane else end
        made.append(
            (plane, _place(begin[INCOME]), _place(begin[AGE]), _place(end[INCOME]), _place(end[AGE]), str(kind))
        )
    return made


def _place(value: float) -> float:
    """A place on the plane, to a hundredth."""
    rounded = round(float(value), 2)
    return int(rounded) if rounded.is_integer() else rounded


def counted(n: int, one: str, several: str = "") -> str:
    """``1 person``, ``3 people``."""
    return f"{spaced(n)} {one if n == 1 else several or one + 's'}"


def spaced(n: int) -> str:
    """``12 500``, by narrow spaces."""
    return f"{n:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def people(n: int) -> str:
    """``1 person``, ``3 people``."""
    return counted(n, "person", "people")


def figures(evaluations: int, n_tried: int, n_found: int) -> dict[str, str]:
    """What a search counts."""
    shown = {"Rows evaluated": evaluations, "People tested": n_tried, "Found": n_found}
    return {name: spaced(value) for name, value in shown.items()}
