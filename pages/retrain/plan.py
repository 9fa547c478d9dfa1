"""From what a reader chose on the Retrain page to the runs that are started; no widgets here."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairness_engine.errors import SettingError
from fairness_engine.oracle.budget import Budget
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.retraining.settings import BASELINES, Begin, RetrainSettings, Strategy
from pages.shared.app import wording
from pages.shared.people.case_basket import CaseChoice, takes_cases

if TYPE_CHECKING:
    from fairness_engine.retraining.trainable import Trainable
    from fairness_engine.store.records import Review
    from fairness_engine.store.run_config import RunConfig

TRAINED = tuple(strategy for strategy in STRATEGIES if strategy not in BASELINES)
"""Strategies that train the model's own kind again."""


@dataclass(frozen=True)
class Effort:
    """A budget with a name.

    Args:
        max_seconds: of one strategy; no round begins after.
        settings: that go with it.
    """

    name: str
    max_seconds: float
    settings: Mapping[str, int]


EFFORTS = (
    Effort("Quick", 60.0, {"max_rounds": 4, "max_epochs": 15, "n_cases": 2_000, "n_draws": 5_000}),
    Effort("Standard", 300.0, {"max_rounds": 8, "max_epochs": 20, "n_cases": 5_000, "n_draws": 20_000}),
    Effort("Thorough", 1_800.0, {"max_rounds": 20, "max_epochs": 50, "n_cases": 20_000, "n_draws": 50_000}),
)
_SECONDS_AROUND = 30.0
"""What a retraining takes beside its rounds: a process, the model's library, the data, and measuring before and
after.
"""


@dataclass(frozen=True)
class Wanted:
    """What a reader asked for.

    Args:
        strategies: one run each, in the order of the form.
        settings: of all of them, by name in ``RetrainSettings``.
        cases: what those learn from that take cases.
        max_seconds: of each.
        seed: the same for all.
        is_of_texts: texts are retrained, in which terms are swapped.
    """

    strategies: Sequence[Strategy]
    settings: Mapping[str, Any] = field(default_factory=dict)
    cases: CaseChoice = field(default_factory=CaseChoice)
    max_seconds: float = 300.0
    seed: int = 0
    is_of_texts: bool = False

    @property
    def tolerance(self) -> float:
        """How much accuracy may fall, as a share."""
        return float(self.settings.get("tolerance", RetrainSettings.tolerance))


def problems(can: Trainable, wanted: Wanted) -> list[str]:
    """Why this cannot be started yet, a sentence each."""
    found = []
    if not wanted.strategies:
        found.append("Choose at least one strategy.")
    if can.reason is not None and not wanted.settings.get("surrogate"):
        found.append("Choose at the top, under “Train instead”, what is trained in place of this model.")
    if wanted.cases.problem:
        found.append(wanted.cases.problem)
    held_out = wanted.settings.get("test_share", 0.2) + wanted.settings.get("validation_share", 0.15)
    if held_out > _MOST_HELD_OUT:
        found.append("More than two thirds of the rows would be held out. Leave more to train on.")
    return found


_MOST_HELD_OUT = 0.67


def make_configs(review: Review, wanted: Wanted) -> list[RunConfig]:
    """The runs of a form, one a strategy; several share a comparison.

    Raises:
        SettingError: the review is not complete, or a value is out of its range.
    """
    from fairness_engine.runs import kinds

    if review.schema is None or review.scope is None or review.data_id is None or review.model_id is None:
        raise SettingError("A retraining needs data, a model and a scope. Complete the review first.")
    comparison = secrets.token_hex(6) if len(wanted.strategies) > 1 else None
    return [
        kinds.RETRAIN.config(
            review.data_id,
            review.model_id,
            review.schema,
            review.scope,
            settings=_settings(strategy, wanted).to_json(),
            budget=Budget(None, wanted.max_seconds),
            seed=wanted.seed,
            comparison=comparison,
        )
        for strategy in wanted.strategies
    ]


def _settings(strategy: Strategy, wanted: Wanted) -> RetrainSettings:
    """Of one strategy; one that takes no cases is given none."""
    given = dict(wanted.settings)
    if takes_cases(strategy):
        given |= {"cases": wanted.cases.cases, "technique": wanted.cases.technique}
    return RetrainSettings(strategy=strategy, **given)


# --- in words -----------------------------------------------------------------------------------


def points(share: float) -> str:
    """A share of accuracy in points: ``1 point``, ``0.25 points``."""
    text = f"{100 * share:.3g}"
    return f"{text} point" if text == "1" else f"{text} points"


def tolerance_text(tolerance: float, whom: str = "people") -> str:
    """What a tolerance means, in a sentence."""
    if tolerance <= 0:
        return "The new model must be right at least as often as the reference, or it is not kept."
    n = wording.number(round(1_000 * tolerance, 1))
    return (
        f"Of 1{wording.THIN_SPACE}000 {whom}, at most {n} more may be decided against their recorded outcome. A model "
        "beyond that is not kept."
    )


def time_text(wanted: Wanted, n_at_once: int) -> str:
    """How long it may take, in a sentence."""
    n = len(wanted.strategies)
    each = wanted.max_seconds + _SECONDS_AROUND
    text = f"At most about {wording.duration(each)}"
    if n > 1:
        text += f" each, {n_at_once} at once, {wording.duration(math.ceil(n / n_at_once) * each)} in all"
    return f"{text}; sooner when a strategy has nothing more to try."


def summary(can: Trainable, wanted: Wanted, n_at_once: int) -> str:
    """What will happen once it is started, one paragraph, not escaped."""
    titles = [f"“{STRATEGIES[strategy].title}”" for strategy in wanted.strategies]
    about, n_train, n_validation, n_test = _parts(can, wanted)
    sentences = [
        f"{_what(can, wanted)} is trained on {about}{wording.counted(n_train, 'row')} by {wording.listed(titles)}."
    ]
    if wanted.cases.text:
        left_out = " People of the test rows are left out of them." if wanted.cases.cases else ""
        sentences.append(f"Cases: {wanted.cases.text}.{left_out}")
    if wanted.is_of_texts:
        sentences.append("Texts that differ in terms alone are all trained on, or none of them is.")
    no_search = "" if wanted.is_of_texts else ", and no search starts there"
    sentences += [
        f"{about.capitalize()}{wording.counted(n_validation, 'other row')} choose the best model, one that is within "
        f"the tolerance of {points(wanted.tolerance)} and discriminates less.",
        f"{about.capitalize()}{wording.counted(n_test, 'test row')} measure before and after: nothing is trained on "
        f"them{no_search}.",
        *_after(wanted),
        "Your model stays as it is: the new one is a second file, and nothing changes until you keep it.",
        time_text(wanted, n_at_once),
    ]
    return " ".join(sentences)


_HELD_OUT = ("validation_share", "test_share")


def _parts(can: Trainable, wanted: Wanted) -> tuple[str, int, int, int]:
    """Rows to train on, to choose by and to test with, and ``about `` before them where other shares than the usual
    ones are held out: rows that stay together move the numbers a little."""
    shares = [float(wanted.settings.get(name, getattr(RetrainSettings, name))) for name in _HELD_OUT]
    if shares == [getattr(RetrainSettings, name) for name in _HELD_OUT]:
        return "", can.n_train, can.n_validation, can.n_test
    n_rows = can.n_train + can.n_validation + can.n_test
    n_validation, n_test = (round(share * n_rows) for share in shares)
    return "about ", n_rows - n_validation - n_test, n_validation, n_test


def _after(wanted: Wanted) -> list[str]:
    """What follows once a model is kept."""
    seconds = float(wanted.settings.get("measure_seconds", RetrainSettings.measure_seconds))
    if not seconds:
        return []
    if wanted.is_of_texts:
        return ["Then the terms are compared in both models, with equal settings for both, while you read the result."]
    at_most = wording.duration(2 * (seconds * (1 + _RULES_TIMES) + _SECONDS_AROUND))
    return [
        "Then both models are searched by another technique, certified, and compared by groups, with equal settings "
        f"for both: about {at_most} more, while you read the result."
    ]


_RULES_TIMES = 3
"""Rule sets that follow take this many times the seconds of a certification."""


def _what(can: Trainable, wanted: Wanted) -> str:
    surrogate = wanted.settings.get("surrogate")
    if can.reason is not None:
        return (
            f"{RetrainSettings.info('surrogate').name_of(surrogate)}, instead of your model,"
            if surrogate
            else "What you choose"
        )
    kind = can.kind.split(",", maxsplit=1)[0]
    if can.has_weights:
        begin = "afresh" if wanted.settings.get("begin") == Begin.AFRESH else "from its own weights"
        return f"A copy of your model ({kind}, {begin})"
    return f"A new model of the same kind ({kind})"
