"""The stages of SG and of SG with shared trees: a person explained by a tree, a condition broken, a new person solved
for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.search.recording import PeopleTested, RecordedStep
from fairness_engine.search.techniques.sg.constraints import Predicate
from fairness_engine.search.techniques.sg.search import Origin, Undirected
from fairness_engine.search.techniques.sg.sg import Sg, Solved
from fairness_engine.search.techniques.sg.sg_shared import SgShared
from fairness_engine.search.techniques.sg.trees import Explained, LearnedTree
from fairness_engine.stages.searches import begun, capitalised, ended, first_step, found_text, n_found_of, recorded
from fairness_engine.stages.small_models import AGE, INCOME, PAYMENTS, SmallModel
from fairness_engine.stages.stage import (
    Area,
    Line,
    PanelLine,
    Stage,
    StageStep,
    arrows,
    counted,
    figures,
    people,
    standing,
    verdict_dots,
)

_MOST_STEPS = 40
_CLOUD = 240


def sg_stage(small: SmallModel) -> Stage:
    """One person at a time, as the paper prints it."""
    technique = Sg(wave=1, undirected=Undirected.LAST)
    steps = [
        first_step(
            "SG takes people of the data, one after the other. Whoever is decided differently as a woman and as a man "
            "is explained, and the explanation is turned against the model.",
            small,
        )
    ]
    starts = _Starts()
    for step in recorded(technique, small, 40_000):
        if step.phase == "testing start rows":
            starts.take(step)
            if not n_found_of(step)[1]:
                continue
            steps.append(starts.drawn(small, step))
        else:
            steps += _solved_step(small, step)
        steps += _explained_steps(small, step)
        if len(steps) > _MOST_STEPS:
            break
    return Stage(
        Sg.name,
        small,
        "Explains a person by a small decision tree that is grown on how the model decides people drawn around them. "
        "Then it turns one condition of the explanation round, keeps the others, and lets a solver name a person for "
        "whom all of that holds.",
        "One person at a time, as printed; 32 in a real run. A neighbourhood holds 240 people here, 5,000 in a real "
        "run. Start rows that were not found stand together in one step.",
        ended(small, steps[: _MOST_STEPS + 1]),
    )


@dataclass
class _Starts:
    """Start rows that were tested one after the other, until one is found."""

    taken: list[PeopleTested] = field(default_factory=list)

    def take(self, step: RecordedStep) -> None:
        """Another one."""
        self.taken += step.tested()

    def drawn(self, small: SmallModel, step: RecordedStep) -> StageStep:
        """All of them in one step."""
        n = len(self.taken)
        others = "" if n == 1 else f" The {people(n - 1)} before {'was' if n == 2 else 'were'} decided alike."
        drawn = StageStep(
            f"{counted(n, 'start row')} of the data {'is' if n == 1 else 'are'} tested, one after the other; the last "
            f"is found.{others}",
            step.phase,
            # the explanation, which is paid in the same step, comes next
            figures=figures(step.evaluations - step.n_felt, step.n_tried, step.n_found),
        )
        for tested in self.taken:
            drawn.dots += verdict_dots(small, tested.rows, tested.is_found)
        drawn.standing = standing(small, self.taken[-1].rows)
        self.taken = []
        return drawn


def _explained_steps(small: SmallModel, step: RecordedStep) -> Iterator[StageStep]:
    """The explanations of people in a step."""
    for moment in step.moments:
        if not isinstance(moment, Explained):
            continue
        path = moment.path
        yield StageStep(
            f"The explanation. {people(len(moment.neighbours))} drawn around this one, near ones counting more, were "
            f"decided by the model: filled circles get the loan, rings do not. A tree tells them apart, and "
            f"{counted(len(path), 'condition')} lead to this person. The bar of a condition is its confidence: the "
            "share of these people who follow the path so far.",
            "explaining",
            cloud=_cloud(small, moment.neighbours, moment.labels),
            areas=_areas(small, path.predicates, moment.person),
            standing=standing(small, moment.person[None]),
            panel_title="The way to this person",
            panel=[
                PanelLine(f"{i + 1}", predicate_text(small, predicate), round(float(confidence), 4))
                for i, (predicate, confidence) in enumerate(zip(path.predicates, path.confidences, strict=True))
            ],
            figures=figures(step.evaluations, step.n_tried, step.n_found),
        )


def _solved_step(small: SmallModel, step: RecordedStep) -> Iterator[StageStep]:
    """Conditions with one negated, their solution, and what became of it."""
    solved = [moment for moment in step.moments if isinstance(moment, Solved)]
    if not solved:
        if step.tested():
            n_tested, n_found = n_found_of(step)
            yield begun(small, step, f"{capitalised(found_text(n_tested, n_found))}.")
        return
    last = solved[-1]
    n_empty = sum(each.row is None for each in solved)
    n_tested, n_found = n_found_of(step)
    generated = last.generated
    before = generated.path.predicates[generated.negated]
    kept = "all others are kept" if generated.rank is Origin.DIRECTED else "those before it are kept"
    empty = (
        f" Nobody fulfils the conditions of the {counted(n_empty, 'set')} before, so they are left out."
        if n_empty
        else ""
    )
    says = (
        f"“{predicate_text(small, before)}” is turned into “{predicate_text(small, before.negated())}”; {kept}. The "
        f"solver names a person for whom all of it holds, within the frame: {found_text(n_tested, n_found)}.{empty}"
    )
    drawn = begun(small, step, says)
    drawn.areas = _areas(small, generated.predicates, generated.person)
    if last.row is not None:
        # a person who is known already is not tested again
        kind = Line.HIT if small.is_treated_differently(last.row) else Line.MISS
        drawn.arrows = arrows(small, generated.person[None], last.row[None], [kind])
        drawn.standing = standing(small, last.row[None])
    negated = before.negated()
    drawn.panel_title = "What must hold"
    drawn.panel = [
        PanelLine(f"{i + 1}", predicate_text(small, predicate), is_marked=predicate == negated)
        for i, predicate in enumerate(generated.predicates)
    ]
    yield drawn


def sg_shared_stage(small: SmallModel) -> Stage:
    """A few trees for everybody."""
    technique = SgShared(wave=16, n_samples=240, n_trees=2)
    steps = [
        first_step(
            "SG with shared trees tests people of the data. Instead of one tree a person it grows a few for everybody.",
            small,
        )
    ]
    sources = {
        "directed search": "One condition of the way to a person found is turned round, all others kept, and a person "
        "is drawn from where that holds: ",
        "undirected search": "The first conditions of a person's way are kept, the next is turned round: ",
        "testing start rows": "People of the data: ",
    }
    for step in recorded(technique, small, 4_800):
        n_tested, n_found = n_found_of(step)
        if n_tested:
            drawn = begun(small, step, f"{sources.get(step.phase, '')}{found_text(n_tested, n_found)}.")
            drawn.figures = figures(step.evaluations - step.n_felt, step.n_tried, step.n_found)  # a tree comes next
            steps.append(drawn)
        steps += [_learned_step(small, step, each) for each in step.moments if isinstance(each, LearnedTree)]
        if len(steps) > _MOST_STEPS:
            break
    return Stage(
        SgShared.name,
        small,
        "Does what SG does with a few decision trees for everybody: conditions are cheap then, and coarser than a "
        "person's own.",
        "16 people a wave, 2 trees of 240 people; thousands in a real run.",
        ended(small, steps[: _MOST_STEPS + 1]),
    )


def _learned_step(small: SmallModel, step: RecordedStep, learned: LearnedTree) -> StageStep:
    """A tree, as the rectangles that it cuts the plane into."""
    domain = small.domain
    low, high = learned.tree.leaf_boxes(domain.low, domain.high)
    return StageStep(
        f"A tree is learned on {counted(len(learned.rows), 'person', 'people')} that the model decided: filled circles "
        f"get the loan, rings do not. It cuts the plane into {counted(len(low), 'rectangle')}: sets of conditions.",
        "learning a tree",
        cloud=_cloud(small, learned.rows, learned.labels),
        areas=[area for one, other in zip(low, high, strict=True) for area in _box_areas(small, one, other)],
        figures=figures(step.evaluations, step.n_tried, step.n_found),
    )


def predicate_text(small: SmallModel, predicate: Predicate) -> str:
    """``age is 29 or less``, ``sex is women``."""
    column = small.domain.schema.inputs[predicate.column]
    whole = math.floor(predicate.threshold)
    if column.labels:
        return f"{column.name} is {column.labels[whole if predicate.is_below else whole + 1]}"
    return f"{column.name} is {f'{whole} or less' if predicate.is_below else f'{whole + 1} or more'}"


def _areas(
    small: SmallModel, predicates: Sequence[Predicate], person: FloatArray
) -> list[tuple[int, int, int, int, int, str]]:
    """Where conditions hold; attributes without one keep the person's value on the number of planes, and any on a
    plane.
    """
    low = small.domain.low.copy()
    high = small.domain.high.copy()
    named = {predicate.column for predicate in predicates}
    if len(small.planes) > 1 and PAYMENTS not in named:
        low[PAYMENTS] = high[PAYMENTS] = person[PAYMENTS]
    for predicate in predicates:
        column = predicate.column
        if predicate.is_below:
            high[column] = min(high[column], math.floor(predicate.threshold))
        else:
            low[column] = max(low[column], math.floor(predicate.threshold) + 1)
    return list(_box_areas(small, low, high))


def _box_areas(small: SmallModel, low: FloatArray, high: FloatArray) -> Iterator[tuple[int, int, int, int, int, str]]:
    """A box on each plane that it reaches."""
    first, last = (0, 0) if len(small.planes) == 1 else (math.ceil(low[PAYMENTS]), math.floor(high[PAYMENTS]))
    for plane in range(first, last + 1):
        sides = [math.ceil(low[INCOME]), math.floor(high[INCOME]), math.ceil(low[AGE]), math.floor(high[AGE])]
        if sides[0] <= sides[1] and sides[2] <= sides[3]:
            yield (plane, sides[0], sides[1], sides[2], sides[3], str(Area.TREE))


def _cloud(small: SmallModel, rows: FloatArray, labels: IntArray) -> list[tuple[int, int, int, int]]:
    """People and their decisions, each place of the plane once."""
    places = {
        (small.plane_of(row), round(row[INCOME]), round(row[AGE])): int(label)
        for row, label in zip(rows[:_CLOUD], labels[:_CLOUD].tolist(), strict=True)
    }
    return [(*place, label) for place, label in places.items()]
