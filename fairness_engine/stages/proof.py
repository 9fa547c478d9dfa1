"""The stage of FairQuant: boxes cut one by one, which attribute is cut and why, and what the bounds decide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.assessors import make_assessor
from fairness_engine.certification.box_inspection.inspector import BoxInspector
from fairness_engine.certification.fairquant.rule import FairQuantRule
from fairness_engine.certification.partition.enumeration import BoxEnumerator
from fairness_engine.certification.partition.lattice import make_lattice
from fairness_engine.certification.partition.refinement import Refinement
from fairness_engine.certification.settings import CertifySettings, Mode
from fairness_engine.stages.small_models import AGE, INCOME, PAYMENTS, SEXES, SmallModel
from fairness_engine.stages.stage import Area, PanelLine, Stage, StageStep, counted

_ONE_BY_ONE = 24
_N_LAST = 8
"""Cuts that are shown one by one, and steps in which the rest is."""
_ROUNDING = 1e-9
_SIDES = {INCOME: ("on the left", "on the right"), AGE: ("below", "above"), PAYMENTS: ("with fewer", "with more")}
"""What the two parts of a cut box are called, by the column that was cut."""
_SETTINGS = CertifySettings(mode=Mode.CLASSIC)


@dataclass(frozen=True)
class _Cut:
    """A box that was cut.

    Args:
        box, parts: numbers of boxes, in order of creation.
        column: which was cut, of the space.
        at: the last digit of the lower part.
    """

    box: int
    parts: tuple[int, int]
    column: int
    at: int


class _Partition:
    """What a refinement did, cut by cut."""

    def __init__(self, small: SmallModel) -> None:
        space = make_lattice(small.domain, _SETTINGS.weights, small.people)
        assessor = make_assessor(small.model, space, _SETTINGS.mode)
        points = BoxEnumerator(small.model, small.domain, space)
        self.rule = FairQuantRule(_SETTINGS, points, getattr(assessor, "network", None), 0)
        refinement = Refinement(assessor, points, self.rule)
        while refinement.step():
            pass
        nodes = refinement.nodes
        parents, self.depth = refinement.parents()
        self.small = small
        self.space = space
        self.low, self.high = refinement.boxes(np.arange(len(nodes.child)), parents)
        self.weight: FloatArray = nodes.weight.copy()
        self.certified: FloatArray = nodes.certified.copy()
        self.falsified: FloatArray = nodes.falsified.copy()
        split = np.flatnonzero(nodes.child >= 0)
        order = split[np.argsort(nodes.child[split], kind="stable")]
        self.cuts = [
            _Cut(box, (int(nodes.child[box]), int(nodes.child[box]) + 1), int(nodes.column[box]), int(nodes.cut[box]))
            for box in order.tolist()
        ]
        refinement.threads.close()

    def verdict(self, box: int) -> Area:
        """What is proved of a box as a whole."""
        if self.certified[box] >= self.weight[box]:
            return Area.CERTIFIED
        return Area.FALSIFIED if self.falsified[box] >= self.weight[box] else Area.UNDECIDED

    def areas(self, boxes: list[int], marked: int = -1) -> list[tuple[int, int, int, int, int, str]]:
        """Boxes on their planes; the one that is cut next is drawn above the others."""
        drawn = [area for box in boxes for area in self._box_areas(box, self.verdict(box))]
        return drawn + (self._box_areas(marked, Area.NEXT) if marked >= 0 else [])

    def _box_areas(self, box: int, kind: Area) -> list[tuple[int, int, int, int, int, str]]:
        rows = self.space.rows(np.stack([self.low[box], self.high[box]]))
        planes = range(1)
        if len(self.small.planes) > 1:
            planes = range(int(rows[0, PAYMENTS]), int(rows[1, PAYMENTS]) + 1)
        sides = (int(rows[0, INCOME]), int(rows[1, INCOME]), int(rows[0, AGE]), int(rows[1, AGE]))
        return [(plane, *sides, str(kind)) for plane in planes]

    def name(self, column: int) -> str:
        """Of a column of the space."""
        return self.small.domain.schema.inputs[int(self.space.columns[column])].name

    def text(self, box: int) -> str:
        """A box in words."""
        rows = self.space.rows(np.stack([self.low[box], self.high[box]]))
        whole = self.space.rows(np.concatenate(self.space.whole()))
        parts = [
            f"{self.name(i)} {_range(rows[0, column], rows[1, column])}"
            for i, column in enumerate(self.space.columns.tolist())
            if (rows[:, column] != whole[:, column]).any()
        ]
        return ", ".join(parts) or "everybody"

    def value(self, column: int, digit: int) -> float:
        """What a digit stands for."""
        digits: IntArray = np.zeros((1, len(self.space.columns)), np.int64)
        digits[0, column] = digit
        return float(self.space.rows(digits)[0, int(self.space.columns[column])])


def proof_stage(small: SmallModel) -> Stage:
    """Every cut of the paper's own way, and what it decides."""
    partition = _Partition(small)
    inspector = BoxInspector(small.model, small.domain, small.people, _SETTINGS)
    leaves = [0]
    steps = [_first(partition, inspector)]
    for number, cut in enumerate(partition.cuts[:_ONE_BY_ONE], start=1):
        leaves.remove(cut.box)
        leaves += cut.parts
        steps.append(_cut_step(partition, inspector, cut, leaves, number))
    rest = partition.cuts[_ONE_BY_ONE:]
    done = _ONE_BY_ONE
    for part in np.array_split(np.arange(len(rest)), min(_N_LAST, max(1, len(rest)))):
        for at in part.tolist():
            leaves.remove(rest[at].box)
            leaves += rest[at].parts
        done += len(part)
        if len(part):
            steps.append(_later_step(partition, leaves, len(part), done, is_last=done == len(partition.cuts)))
    return Stage(
        "certification",
        small,
        "Looks at boxes of people instead of single ones. It bounds the score of everybody in a box, as women and as "
        "men. Where the bounds leave no doubt, all are certified or all are falsified at once; where they do, the box "
        "is cut in two, along the attribute that moves the score most.",
        "The published way, whole boxes. A real run cuts the boxes with the most undecided people first, 32 a round or "
        "more; here they are shown one by one.",
        steps,
    )


def _first(partition: _Partition, inspector: BoxInspector) -> StageStep:
    """The whole plane as one box."""
    step = StageStep(
        "A model decides on loans: whoever scores more than 0.5 gets one. At first everybody is in one box. Its bounds "
        "leave room for scores on either side, for women and for men: nothing is proved. “Certified” will mean that "
        "all in a box are decided alike as women and as men, “falsified” that all are decided differently.",
        "before",
        areas=partition.areas([0]),
        figures=_figures(partition, [0], 0),
    )
    step.panel_title = "Scores of everybody, threshold 0.5"
    step.panel = [*_bounds_of(partition, inspector, 0), *_smears_of(partition, 0)]
    return step


def _cut_step(partition: _Partition, inspector: BoxInspector, cut: _Cut, leaves: list[int], number: int) -> StageStep:
    """One cut: which box, which attribute and why, and what became of the parts."""
    verdicts = [partition.verdict(part) for part in cut.parts]
    name = partition.name(cut.column)
    sides = _SIDES[int(partition.space.columns[cut.column])]
    value = partition.value(cut.column, cut.at)
    outcome = (
        f"Both parts are {verdicts[0]}."
        if verdicts[0] is verdicts[1]
        else f"The part {sides[0]} is {verdicts[0]}, that {sides[1]} {verdicts[1]}."
    )
    says = (
        f"Cut {number}: {name} moves the score most in the box of {partition.text(cut.box)}, so that is cut between "
        f"{name} {value:.0f} and {value + 1:.0f}. {outcome}"
    )
    step = StageStep(
        says,
        f"cut {number}",
        areas=partition.areas(leaves, cut.box),
        figures=_figures(partition, leaves, number),
    )
    step.panel_title = "Scores of the two parts, threshold 0.5"
    for part, side in zip(cut.parts, sides, strict=True):
        step.panel += _bounds_of(partition, inspector, part, f"{side}, ")
    step.panel += _smears_of(partition, cut.box, cut.column)
    return step


def _bounds_of(partition: _Partition, inspector: BoxInspector, box: int, where: str = "") -> list[PanelLine]:
    """Between what the scores of everybody in a box lie, as women and as men."""
    bounds = inspector.inspect(partition.low[box], partition.high[box]).score_bounds
    return [
        PanelLine(f"{where}{sex}", f"{low:.3f} to {high:.3f}")
        for sex, (low, high) in zip(SEXES, bounds.tolist(), strict=True)
    ]


def _smears_of(partition: _Partition, box: int, cut: int = -1) -> list[PanelLine]:
    """How much of what may move the score in a box each attribute may; the one that is cut is marked."""
    smears = partition.rule.smears(partition.low[box : box + 1], partition.high[box : box + 1])[1][0]
    shares = smears / max(float(smears.sum()), _ROUNDING)
    return [
        PanelLine(f"moved by {partition.name(i)}", f"{100 * share:.0f} %", round(share, 4), i == cut)
        for i, share in enumerate(shares.tolist())
    ]


def _later_step(partition: _Partition, leaves: list[int], n: int, done: int, *, is_last: bool) -> StageStep:
    """Many cuts in one step."""
    shares = _shares(partition, leaves)
    end = (
        f"It is done: of everybody {_percent(shares[0])} are certified and {_percent(shares[1])} falsified"
        + (", and nobody stays undecided." if shares[2] < _ROUNDING else f"; {_percent(shares[2])} stay undecided.")
        if is_last
        else "The boxes along the two boundaries grow small, and the colours grow towards them from both sides."
    )
    return StageStep(
        f"{counted(n, 'more cut')}. {end}",
        f"cut {done}",
        areas=partition.areas(leaves),
        figures=_figures(partition, leaves, done),
    )


def _shares(partition: _Partition, leaves: list[int]) -> tuple[float, float, float]:
    total = float(partition.weight[0])
    certified = float(sum(partition.weight[box] for box in leaves if partition.verdict(box) is Area.CERTIFIED)) / total
    falsified = float(sum(partition.weight[box] for box in leaves if partition.verdict(box) is Area.FALSIFIED)) / total
    return certified, falsified, max(0.0, 1 - certified - falsified)


def _figures(partition: _Partition, leaves: list[int], n_cuts: int) -> dict[str, str]:
    certified, falsified, undecided = _shares(partition, leaves)
    return {
        "Cuts": str(n_cuts),
        "Certified": _percent(certified),
        "Falsified": _percent(falsified),
        "Undecided": _percent(undecided),
    }


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _range(low: float, high: float) -> str:
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"
