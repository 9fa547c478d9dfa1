"""The stage of a retraining: the same kind of model is trained again and again, and its boundaries move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairness_engine.codec import decode
from fairness_engine.data.dataset import Dataset
from fairness_engine.events import ResultReady
from fairness_engine.models.model import Model
from fairness_engine.retraining.driver import run_retraining
from fairness_engine.retraining.results import Round, Training
from fairness_engine.retraining.settings import Reference, RetrainSettings, Strategy, Surrogate
from fairness_engine.retraining.subject import RetrainingTask
from fairness_engine.retraining.trainers.factory import make_surrogate
from fairness_engine.retraining.trainers.trainer import Binding, Examples, Job, Trained, Trainer
from fairness_engine.stages.small_models import AGE, HIGHEST_INCOME, INCOME, OLDEST, SEXES, YOUNGEST, SmallModel
from fairness_engine.stages.stage import PanelLine, Stage, StageStep, decisions_text, people, spaced

_SEED = 1
_N_PEOPLE = 1_200
_WRONG_LABELS = 0.03
"""Of the people of the data, decided otherwise than by the rule: in life nothing follows a rule to the last."""
_CLASSES = ("refused", "granted")
_TOLERANCE = 0.02
_POINTS = 0.05
"""A difference that is seen in the figures."""
_MOST_SHOWN = 240
"""Examples that are drawn of a training."""


@dataclass(frozen=True)
class _Made:
    """A model that was trained in the run, and how the run speaks of it."""

    round: Round
    examples: Examples
    model: Model


class _RecordingTrainer:
    """A trainer that keeps what it is given, and what becomes of it."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self.kind = trainer.kind
        self.suffix = trainer.suffix
        self.has_weights = trainer.has_weights
        self.made: list[tuple[Examples, Model]] = []

    @property
    def takes_weights(self) -> bool:
        """See ``Trainer``."""
        return self._trainer.takes_weights

    def train(self, job: Job) -> Trained:
        """See ``Trainer``."""
        trained = self._trainer.train(job)
        self.made.append((job.examples, trained.model))
        return trained


def training_data(small: SmallModel) -> Dataset:
    """People of the past, and who of them got the loan: by the small model's rule, but for a few."""
    rng = np.random.default_rng(_SEED)
    age = rng.integers(YOUNGEST, OLDEST + 1, _N_PEOPLE)
    income = np.clip(np.rint(rng.normal(14 + 0.25 * (age - YOUNGEST), 9)), 0, HIGHEST_INCOME)
    rows = np.stack([rng.integers(0, len(SEXES), _N_PEOPLE), age, income], axis=1).astype(np.float64)
    labels = small.model.decide(small.model.scores(rows)).astype(np.int64)
    is_wrong = rng.random(_N_PEOPLE) < _WRONG_LABELS
    labels = np.where(is_wrong, 1 - labels, labels)
    return Dataset(small.domain.schema, rows, labels, _CLASSES, np.arange(_N_PEOPLE), 0, (), "", 1)


def made_by(small: SmallModel, strategy: Strategy) -> list[_Made]:
    """All models that a retraining trained: the control first, then round by round."""
    settings = RetrainSettings(
        strategy=strategy,
        surrogate=Surrogate.LINEAR,
        tolerance=_TOLERANCE,
        reference=Reference.CONTROL,
        measure_seconds=0,
    )
    binding = Binding(small.domain.schema, _CLASSES, 1, None)
    trainer = _RecordingTrainer(make_surrogate(small.model, binding, settings))
    task = RetrainingTask(small.model, small.domain, training_data(small), trainer)
    training = Training([], [])
    for event in run_retraining(task, settings, _SEED):
        if isinstance(event, ResultReady) and event.name == "training":
            training = decode(Training, event.content)
    return [_Made(one, *kept) for one, kept in zip(training.rounds, trainer.made, strict=True)]


def retraining_stage(small: SmallModel) -> Stage:
    """AEQUITAS's rounds, each with more cases; then all variants of everybody."""
    control, *rounds = made_by(small, Strategy.AEQUITAS)
    variants = next(made for made in made_by(small, Strategy.VARIANTS) if not made.round.is_control)
    lines = [("control", control), *((f"round {i + 1}", made) for i, made in enumerate(rounds)), ("variants", variants)]
    before = _share(small.model, small)
    steps = [
        _first_step(small, before),
        _step(
            small,
            lines,
            0,
            "control",
            "First the control: the same kind of model, with a straight boundary for each sex, is trained on "
            f"{people(len(control.examples))} of the past as they are. It learns their discrimination. Every model "
            "that follows is compared with it.",
        ),
    ]
    steps += _rounds_of_aequitas(small, lines, rounds, control)
    steps.append(
        _step(
            small,
            lines,
            len(lines) - 1,
            "all variants",
            "Another strategy: everybody of the past, and people drawn from the whole plane, are there as a woman and "
            f"as a man with one outcome. Sex now tells nothing. {_verdict(small, variants, control)}",
        )
    )
    steps[-1].says += " A real retraining keeps the best model within the tolerance."
    return Stage(
        "retraining",
        small,
        "As AEQUITAS does it: people who are decided differently are added to the people of the past, as a woman and "
        "as a man with one outcome for both, and a model is trained on all of them; with more of them each round.",
        "A straight boundary for each sex, so that it is seen how it moves; a real retraining trains the model's own "
        f"kind. {people(_N_PEOPLE)} of the past, {100 * _WRONG_LABELS:.0f} % of them decided against the rule.",
        steps,
    )


def _rounds_of_aequitas(
    small: SmallModel, lines: list[tuple[str, _Made]], rounds: list[_Made], control: _Made
) -> Iterator[StageStep]:
    for i, made in enumerate(rounds):
        n = people(made.round.n_added // 2)
        says = f"The same with {n}."
        if i == 0:
            says = (
                f"{n} whom the model decides differently are added to the people of the past, each as a woman and as a "
                "man, both with one outcome, that of their mean score. A model is trained anew on all of them."
            )
        yield _step(small, lines, i + 1, f"AEQUITAS, round {i + 1}", f"{says} {_verdict(small, made, control)}")


def _verdict(small: SmallModel, made: _Made, control: _Made) -> str:
    """What became of it, on rows that it was not trained on."""
    fell = 100 * (control.round.accuracy - made.round.accuracy)
    moved = "as often as the control"
    if abs(fell) >= _POINTS:
        moved = f"{abs(fell):.1f} points {'less' if fell > 0 else 'more'} often than the control"
    kept = "within the tolerance" if made.round.is_within else "beyond the tolerance"
    return (
        f"Now {_percent(_share(made.model, small))} are decided differently. On people held out it is right {moved}: "
        f"{kept}."
    )


def _first_step(small: SmallModel, before: float) -> StageStep:
    step = StageStep(
        "A model decides on loans. Blue is where both sexes get one, hatched where only one of them does: "
        f"{_percent(before)} of all people. A retraining trains models anew until fewer are decided differently and "
        "hardly anybody else's decision is worse.",
        "before",
        figures={"Decided differently": _percent(before)},
    )
    step.decides = decisions_text(small, small.model)
    return step


def _step(small: SmallModel, lines: list[tuple[str, _Made]], at: int, phase: str, says: str) -> StageStep:
    made = lines[at][1]
    share = _share(made.model, small)
    step = StageStep(says, phase)
    step.decides = decisions_text(small, made.model)
    step.cloud = _cloud(small, made, lines[0][1])
    step.figures = {
        "Examples": spaced(len(made.examples)),
        "Decided differently": _percent(share),
        "Right, held out": _percent(made.round.accuracy),
    }
    worst = max(_share(one.model, small) for _, one in lines)
    step.panel_title = "Decided differently"
    step.panel = [
        PanelLine(name, _percent(_share(one.model, small)), _share(one.model, small) / worst, i == at)
        for i, (name, one) in enumerate(lines[: at + 1])
    ]
    return step


def _cloud(small: SmallModel, made: _Made, control: _Made) -> list[tuple[int, int, int, int]]:
    """People who were added; of the control those of the past."""
    rows = made.examples.rows
    labels = made.examples.labels
    if made is not control and made.round.n_added < len(control.examples):
        rows = rows[-made.round.n_added :]
        labels = labels[-made.round.n_added :]
    step = max(1, len(rows) // _MOST_SHOWN)
    return [
        (small.plane_of(row), round(row[INCOME]), round(row[AGE]), int(label))
        for row, label in zip(rows[::step], labels[::step], strict=True)
    ]


def _share(model: Model, small: SmallModel) -> float:
    """Of everybody, those who are decided differently as women and as men."""
    women, men = small.granted(model)
    return float((women != men).mean())


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
