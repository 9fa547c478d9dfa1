"""The stages of the searches that need no slope and no tree: at random, over the data, AEQUITAS, Directed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fairness_engine.oracle.budget import Budget
from fairness_engine.search.recording import RecordedStep, Recording
from fairness_engine.search.technique import Technique
from fairness_engine.search.techniques.aequitas import Aequitas, Chances
from fairness_engine.search.techniques.data_scan import DataScan
from fairness_engine.search.techniques.directed.directed import Directed
from fairness_engine.search.techniques.random_search import RandomSearch
from fairness_engine.stages.small_models import SmallModel
from fairness_engine.stages.stage import (
    Line,
    PanelLine,
    Stage,
    StageStep,
    arrows,
    figures,
    people,
    standing,
    verdict_dots,
)

_SEED = 3


_EVALUATIONS = 2_400
"""As many as decide every person of the smaller model twice."""


def recorded(technique: Technique, small: SmallModel, evaluations: int = _EVALUATIONS) -> Iterator[RecordedStep]:
    """The steps of a technique on a small model and its data; those in which nothing happened are left out."""
    budget = Budget(max_evaluations=evaluations)
    for step in Recording(technique, small.model, small.domain, small.people, budget, _SEED).steps():
        if step.moments:
            yield step


def begun(small: SmallModel, step: RecordedStep, says: str) -> StageStep:
    """A step with the people who were tested in it, and the moves that led to them."""
    drawn = StageStep(says, step.phase, figures=figures(step.evaluations, step.n_tried, step.n_found))
    for tested in step.tested():
        drawn.dots += verdict_dots(small, tested.rows, tested.is_found)
        if tested.origins is not None:
            kinds = [Line.HIT if found else Line.MISS for found in tested.is_found]
            drawn.arrows += arrows(small, tested.origins, tested.rows, kinds)
    return drawn


def n_found_of(step: RecordedStep) -> tuple[int, int]:
    """How many people were tested in a step, and found."""
    tested = step.tested()
    return sum(len(each.rows) for each in tested), sum(int(each.is_found.sum()) for each in tested)


def found_text(n_tested: int, n_found: int) -> str:
    """``9 people are tested, 2 are found.``"""
    if not n_tested:
        return "nobody new is tested"
    verb = "is" if n_tested == 1 else "are"
    found = {0: "none is found", 1: "1 is found"}.get(n_found, f"{n_found} are found")
    return f"{people(n_tested)} {verb} tested, {found}"


def capitalised(text: str) -> str:
    """As a sentence begins."""
    return f"{text[0].upper()}{text[1:]}"


def first_step(says: str, data: SmallModel | None = None) -> StageStep:
    """Before anything happened: what it is about, who is there, and what comes.

    Args:
        says: what comes.
        data: whose people it starts from; without it from anybody.
    """
    who = "Every dot is a person"
    if data is not None:
        who = f"Every point of the plane is a person; the dots are where the {len(data.people)} of a data set lie. Each"
    about = (
        f"A model decides on loans. {who}{', who' if data is None else ''} is decided twice: as a woman and as a man, "
        "nothing else changed. Whoever is decided differently is found. "
    )
    return StageStep(
        f"{about}{says}",
        "before",
        waiting=True if data is None else sorted(set(standing(data, data.people))),
        figures=figures(0, 0, 0),
    )


def ended(small: SmallModel, steps: list[StageStep]) -> list[StageStep]:
    """The steps, the last of which says how much of what there is was found."""
    women, men = small.granted()
    n_all = int((women != men).sum())
    n_found = steps[-1].figures["Found"]
    steps[-1].says += f" Here the stage ends: of all {n_all} people who are decided differently it has found {n_found}."
    return steps


# --- at random, over the data --------------------------------------------------------------------------------------

_BATCH = 24
_MOST_BATCHES = 30


def random_stage(small: SmallModel) -> Stage:
    """Everybody alike, drawn at random."""
    steps = [first_step("Random search draws people from anywhere.")]
    for step in recorded(RandomSearch(batch=_BATCH), small):
        n_tested, n_found = n_found_of(step)
        drawn = begun(
            small,
            step,
            f"{capitalised(found_text(n_tested, n_found))}: drawn at random, wherever they lie. So far "
            f"{step.n_found} of {step.n_tried}, {100 * step.n_found / step.n_tried:.0f} %, an estimate for all.",
        )
        steps.append(drawn)
        if len(steps) > _MOST_BATCHES:
            break
    return Stage(
        RandomSearch.name,
        small,
        "Draws people evenly from the whole plane and decides each as a woman and as a man. It learns nothing from "
        "what it finds, so its share of people found is an honest estimate for everybody.",
        f"{_BATCH} people a step, 4,096 in a real run.",
        ended(small, steps),
    )


def data_scan_stage(small: SmallModel) -> Stage:
    """The people of the data, one after the other."""
    steps = [first_step("A data scan goes through these people, in random order.", small)]
    for step in recorded(DataScan(batch=12), small):
        n_tested, n_found = n_found_of(step)
        says = (
            f"{capitalised(found_text(n_tested, n_found))}: people of the data, so whoever is found exists but for the "
            f"sex. {step.n_found} of {step.n_tried} so far."
        )
        steps.append(begun(small, step, says))
    steps[-1].says += " The file is at its end, and so is the scan: of the empty places it says nothing."
    return Stage(
        DataScan.name,
        small,
        "Decides every person of the data as a woman and as a man. Whoever it finds is a real person, apart from the "
        "sex; of people who are not in the file it says nothing.",
        "12 people a step at most, 4,096 in a real run.",
        ended(small, steps),
    )


# --- AEQUITAS ------------------------------------------------------------------------------------------------------

_N_MOVES = 36
_LESSON = 0.05


def aequitas_stage(small: SmallModel) -> Stage:
    """Global search, then walkers that learn where to go."""
    n_starts = 40 if len(small.planes) == 1 else 90
    technique = Aequitas(
        n_starts=n_starts, n_steps=_N_MOVES, n_rounds=1, step_direction=_LESSON, step_attribute=_LESSON, n_walkers=8
    )
    names = [small.domain.schema.inputs[i].name for i in small.domain.movable.tolist()]
    steps = [
        first_step(
            f"AEQUITAS has two parts. First, the global search: {n_starts} people drawn at random. Then walkers, which "
            "set out from those who were found.",
        )
    ]
    before = None
    for step in recorded(technique, small):
        n_tested, n_found = n_found_of(step)
        if step.phase == "global search":
            says = f"The global search: {found_text(n_tested, n_found)}. From each of them a walker sets out."
            drawn = begun(small, step, says)
            drawn.standing = standing(small, np.concatenate([each.rows[each.is_found] for each in step.tested()]))
            steps.append(drawn)
            continue
        chances = next(moment for moment in step.moments if isinstance(moment, Chances))
        if not n_tested:
            before = chances
            continue
        drawn = begun(small, step, _walk_text(n_tested, n_found, before, chances, names))
        drawn.panel_title = "Where the walkers go next"
        drawn.panel = _chances_panel(chances, names)
        steps.append(drawn)
        before = chances
    return Stage(
        Aequitas.name,
        small,
        "People who are decided differently lie close together. So AEQUITAS draws some people at random, and from each "
        "one found a walker goes on in steps of 1, one attribute at a time. What was found on the way teaches it which "
        "attribute and which direction pay.",
        f"The lessons are {_LESSON / 0.001:.0f} times larger than in a real run, so that they can be seen in "
        f"{_N_MOVES} moves instead of thousands. Steps in which all walkers met known people are left out.",
        ended(small, steps),
    )


def _walk_text(n_tested: int, n_found: int, before: Chances | None, now: Chances, names: Sequence[str]) -> str:
    """What the walkers met, and what they learnt."""
    n_missed = n_tested - n_found
    parts = [f"Each walker moves one attribute by 1. {capitalised(found_text(n_tested, n_found))}"]
    if n_missed:
        parts.append("after a miss a walker stays where it was, or goes on all the same, by chance")
    text = "; ".join(parts) + "."
    if before is not None:
        change = now.down - before.down
        at = int(np.abs(change).argmax())
        if abs(change[at]) > 0.0:
            way = "down" if change[at] > 0 else "up"
            text += f" The lesson: {names[at]} rather {way}."
    return text


def _chances_panel(chances: Chances, names: Sequence[str]) -> list[PanelLine]:
    """The probabilities of the walk."""
    lines = []
    for name, share, down in zip(names, chances.attribute.tolist(), chances.down.tolist(), strict=True):
        lines.append(PanelLine(name, f"chosen {100 * share:.0f} %", round(share, 4)))
        lines.append(PanelLine(f"{name} up", f"{100 * (1 - down):.0f} %", round(1 - down, 4)))
    return lines


# --- Directed ------------------------------------------------------------------------------------------------------

_MOST_GROWN = 16
"""Steps: of so few people it learns little, and goes on to look at nearly everybody."""


class _SmallDirected(Directed):
    """Looks at a few people at a time, for the whole plane holds a thousand or two."""

    least_look = 40


def directed_stage(small: SmallModel) -> Stage:
    """Starts, and what grows from them."""
    technique = _SmallDirected(batch=8, n_choices=64, share_starts=0.1)
    steps = [
        first_step(
            "Directed first looks for starts: people of the data, then people drawn at random. Then it grows from "
            "those it found.",
            small,
        )
    ]
    for group in _joined(recorded(technique, small)):
        n_tested = sum(n_found_of(step)[0] for step in group)
        n_found = sum(n_found_of(step)[1] for step in group)
        if not n_tested:
            continue
        if group[0].phase == "looking for starts":
            starts = {0: "Nobody new can be grown from.", 1: "Others may grow from this one."}
            says = f"{capitalised(found_text(n_tested, n_found))}. {starts.get(n_found, 'Others may grow from each.')}"
        else:
            tested = capitalised(found_text(n_tested, n_found))
            says = (
                f"A child differs from a person found in one attribute. {tested}. How far each move shifted "
                "the scores is kept: the next children are those predicted to stay between the two boundaries."
            )
        parts = [begun(small, step, says) for step in group]
        drawn = parts[-1]
        drawn.dots = [dot for part in parts for dot in part.dots]
        drawn.arrows = [arrow for part in parts for arrow in part.arrows]
        steps.append(drawn)
        if len(steps) > _MOST_GROWN:
            break
    return Stage(
        Directed.name,
        small,
        "Finds some people who are decided differently and grows from them: each child differs from its parent in one "
        "attribute, by any amount. From the scores it learns how far a move of each kind carries, and asks the model "
        "about those children only who are predicted to be found.",
        "A few children a step, and up to four steps together; thousands of children in a real run.",
        ended(small, steps),
    )


_JOINED = 4


def _joined(steps: Iterator[RecordedStep]) -> Iterator[list[RecordedStep]]:
    """Up to four steps of growing in a row; each look for starts by itself."""
    group: list[RecordedStep] = []
    for step in steps:
        if group and (len(group) == _JOINED or step.phase != "growing" or group[0].phase != "growing"):
            yield group
            group = []
        group.append(step)
    if group:
        yield group
