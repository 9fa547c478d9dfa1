"""The stages of the searches that follow slopes: MAFT and MAFT+ estimate them, ADF and EIDIG take the true ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.search.recording import Felt
from fairness_engine.search.techniques.gradient.adf import Adf
from fairness_engine.search.techniques.gradient.eidig import Eidig
from fairness_engine.search.techniques.gradient.maft import Maft, MaftPlus
from fairness_engine.search.techniques.gradient.search import GradientSearch, TakenSlopes
from fairness_engine.stages.searches import begun, capitalised, ended, first_step, found_text, n_found_of, recorded
from fairness_engine.stages.small_models import AGE, INCOME, SEXES, SmallModel
from fairness_engine.stages.stage import Dot, Line, PanelLine, Stage, StageStep, dots, people, standing

_N_STARTS = 8
_N_WALKED = 24
_ARROW = 6.0
"""How long the longest arrow of a step is, in units of the axes."""


_IDEAS: dict[type[GradientSearch], str] = {
    Maft: "Goes from people of the data to where the decision is close, and then walks around each person found. It "
    "sees nothing of the model but scores: to feel the slope it changes one attribute at a time by a little and asks "
    "again.",
    MaftPlus: "Does what MAFT does, and wastes nothing: the people whom it asks about to feel a slope are people too, "
    "so they count as tested, as a woman and as a man. Slopes are taken once at each place.",
    Eidig: "Does what MAFT does, with the exact slope of the score, which it reads from inside the network: one look "
    "instead of a probe an attribute.",
    Adf: "The first of the gradient searches. It follows the slope of the loss, read from inside the network, and "
    "takes it anew after every person found.",
}


def slopes_stage(kind: type[GradientSearch], small: SmallModel) -> Stage:
    """Descent of a few people of the data, then walks around those found; slopes felt, or read from the network."""
    technique = kind(n_starts=_N_STARTS, n_steps=_N_WALKED, n_rounds=1, n_clusters=2)
    is_estimated = isinstance(technique, Maft)
    sees = "feels the slope of the score" if is_estimated else "reads the slope of the score from the network"
    steps = [
        first_step(
            f"{_N_STARTS} people of the data will set out. {technique.title} {sees} for each, as a woman and as a man, "
            "and moves the person towards the boundary between the two decisions.",
            small,
        )
    ]
    for step in recorded(technique, small):
        n_tested, n_found = n_found_of(step)
        taken = [moment for moment in step.moments if isinstance(moment, TakenSlopes)]
        if not n_tested and not taken:
            continue
        if step.phase == "global search":
            says = _descent_text(taken, n_tested, n_found, is_first=len(steps) == 1)
        else:
            says = _walk_text(taken, n_tested, n_found, technique)
        drawn = begun(small, step, says)
        for moment in step.moments:
            if isinstance(moment, Felt) and not isinstance(technique, MaftPlus):
                drawn.dots = dots(small, moment.rows, [Dot.FELT] * len(moment.rows)) + drawn.dots
        for slopes in taken:
            _draw_slopes(small, drawn, slopes, is_estimated=is_estimated)
        if not taken:
            drawn.standing = [at for tested in step.tested() for at in standing(small, tested.rows)]
        steps.append(drawn)
    return Stage(
        technique.name,
        small,
        _IDEAS[kind],
        f"{_N_STARTS} start rows and {_N_WALKED} moves around each person found; a thousand moves in a real run. Steps "
        "in which only known people were met are left out.",
        ended(small, steps),
    )


def _descent_text(taken: Sequence[TakenSlopes], n_tested: int, n_found: int, *, is_first: bool) -> str:
    tested = capitalised(found_text(n_tested, n_found))
    if is_first:
        return f"{tested}: those who set out, where they are. The others will move."
    if not taken:
        return f"{tested}."
    n = sum(len(slopes.rows) for slopes in taken)
    return (
        "An arrow points to where the model becomes less sure of its decision. Where that is so for the woman and for "
        f"the man alike, {'the person moves' if n == 1 else 'the people move'} by 1, in each attribute for itself. "
        f"{tested}."
    )


def _walk_text(taken: Sequence[TakenSlopes], n_tested: int, n_found: int, technique: GradientSearch) -> str:
    walked = "from the people found, one attribute is moved by 1 at a time, a flat one more often than a steep one"
    begin = ""
    if taken:
        n = sum(len(slopes.rows) for slopes in taken)
        begin = f"Slopes are taken at {people(n)}: where an attribute is flat, a move keeps both decisions. Then "
    where = "stays where it was" if isinstance(technique, MaftPlus) else "goes back to its start"
    missed = f"; after a miss a walk {where}" if n_found < n_tested else ""
    return f"{capitalised(f'{begin}{walked}')}. {capitalised(found_text(n_tested, n_found))}{missed}."


def _draw_slopes(small: SmallModel, drawn: StageStep, slopes: TakenSlopes, *, is_estimated: bool) -> None:
    """The slopes of both people of each pair as arrows, downhill, beside the true ones; one person's in figures."""
    sides = ((slopes.own, slopes.here), (slopes.other, slopes.there))
    true = [_true_slopes(small, slopes.rows, variants) for variants, _ in sides]
    largest = max(float(np.abs(each).max(initial=0.0)) for each in (*true, slopes.here, slopes.there)) or 1.0
    scale = _ARROW / largest
    drawn.standing = standing(small, slopes.rows)
    for (_, taken), exact in zip(sides, true, strict=True):
        if is_estimated:
            drawn.arrows += _slope_arrows(small, slopes.rows, taken, scale, Line.ESTIMATED)
        drawn.arrows += _slope_arrows(small, slopes.rows, exact, scale, Line.TRUE)
    names = [small.domain.schema.inputs[i].name for i in small.domain.movable.tolist()]
    drawn.panel_title = _where(small, slopes.rows[0])
    for (variants, taken), exact in zip(sides, true, strict=True):
        sex = SEXES[int(small.domain.variant_values[variants[0], 0])]
        for name, one, right in zip(names, taken[0].tolist(), exact[0].tolist(), strict=True):
            estimated = f"{one:+z.3f}, true {right:+z.3f}" if is_estimated else f"{right:+z.3f}"
            drawn.panel.append(PanelLine(f"{name}, as {'a woman' if sex == 'women' else 'a man'}", estimated))


def _true_slopes(small: SmallModel, rows: FloatArray, variants: IntArray) -> FloatArray:
    """The exact slopes of the score of the predicted class of some variants ``(n_rows, n_movable)``."""
    as_variant = rows.copy()
    as_variant[:, small.domain.protected] = small.domain.variant_values[variants]
    classes = np.ones(len(rows), dtype=np.int64)
    exact = small.model.gradients(as_variant, classes)[:, small.domain.movable]
    decided = small.model.decide(small.model.scores(as_variant))
    return np.asarray(np.where(decided == 1, 1.0, -1.0)[:, None] * exact)


def _slope_arrows(
    small: SmallModel, rows: FloatArray, slopes: FloatArray, scale: float, kind: Line
) -> list[tuple[int, float, float, float, float, str]]:
    """Downhill from each person, on the person's plane."""
    places = {column: place for place, column in enumerate(small.domain.movable.tolist())}
    made: list[tuple[int, float, float, float, float, str]] = []
    for row, slope in zip(rows, slopes, strict=True):
        income = float(row[INCOME])
        age = float(row[AGE])
        end = round(float(income - scale * slope[places[INCOME]]), 2)
        end_age = round(float(age - scale * slope[places[AGE]]), 2)
        made.append((small.plane_of(row), round(income), round(age), end, end_age, str(kind)))
    return made


def _where(small: SmallModel, row: FloatArray) -> str:
    """The first person whose slopes were taken, in words."""
    text = f"Slopes at age {row[AGE]:.0f}, income {row[INCOME]:.0f}"
    return text if len(small.planes) == 1 else f"{text}, {small.planes[small.plane_of(row)]}"
