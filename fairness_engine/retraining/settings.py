"""What a retraining is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fairness_engine.errors import SettingError
from fairness_engine.groups.identity_terms.terms import Terms, read_setting, write_setting
from fairness_engine.settings import NOT_ASKED, Settings, setting

SELECT_STREAM, MEASURE_STREAM, TRAIN_STREAM, CASES_STREAM, RULES_STREAM = range(1, 6)
"""Streams of a run's seed: what chooses a model is not what measures it."""


class Part(StrEnum):
    """Of the form; the network's is not asked for other models."""

    GOAL = "goal"
    WAY = "way"
    SURROGATE = "surrogate"
    ROUNDS = "rounds"
    NETWORK = "network"


class When(StrEnum):
    """What must be so of the model, or of a strategy that was chosen, for a form to ask."""

    MODEL_HAS_WEIGHTS = "the model has weights"
    ADDS_PEOPLE = "adds people"
    TAKES_CASES = "takes cases"
    TAKES_RULE_SET = "takes a rule set"


class Strategy(StrEnum):
    """How the data, or the decision, is changed. The first four train the model's own kind again; the others are
    baselines.
    """

    AEQUITAS = "aequitas"
    RULES = "rules"
    MAJORITY = "majority"
    VARIANTS = "variants"
    REWEIGH = "reweigh"
    THRESHOLD = "threshold"
    REDUCTION = "reduction"
    WITHOUT = "without"


BASELINES = (Strategy.REWEIGH, Strategy.THRESHOLD, Strategy.REDUCTION, Strategy.WITHOUT)
TEXT_STRATEGIES = (Strategy.VARIANTS, Strategy.RULES)
"""Those that there are for texts."""


class Labels(StrEnum):
    """Who labels an added person: the majority of the person's own variants, or of other classifiers trained on the
    same rows.
    """

    VARIANTS = "variants"
    COMMITTEE = "committee"


class Begin(StrEnum):
    """Where training begins: from the model's own weights (networks of Keras), or afresh. ``AUTO`` takes the weights
    where there are some.
    """

    AUTO = "auto"
    WEIGHTS = "weights"
    AFRESH = "afresh"


class Reference(StrEnum):
    """What the tolerance on accuracy counts from.

    ``MODEL``: the model as it was given. ``CONTROL``: the same kind trained on the same rows without any cases, for a
        model that may
    have seen the test rows in its own training.
    """

    MODEL = "model"
    CONTROL = "control"


class Surrogate(StrEnum):
    """What is trained instead of a model that cannot be trained; never chosen silently.

    ``NETWORK``: the same dense network rebuilt in Keras, weight by weight. The others are estimators of scikit-learn
        trained on
    the data.
    """

    NONE = ""
    NETWORK = "network"
    FOREST = "forest"
    TREE = "tree"
    LINEAR = "linear"
    MLP = "mlp"


@dataclass(frozen=True)
class CasesOfRun:
    """Pairs of a run that are to be used as cases.

    Args:
        run_id: of a search or a certification of the same data, model and scope.
        indices: positions in the order of discovery; empty for all.
    """

    run_id: str
    indices: tuple[int, ...] = ()


@dataclass(frozen=True)
class RuleSetOfRun:
    """A rule set of a run of rule sets.

    Args:
        run_id: of a run on data with the same columns.
        position: among all rule sets of the run, the highest score first, from 0.
    """

    run_id: str
    position: int


def _read_cases(value: Any) -> tuple[CasesOfRun, ...]:
    try:
        return tuple(
            one if isinstance(one, CasesOfRun) else CasesOfRun(str(one[0]), tuple(map(int, one[1]))) for one in value
        )
    except (TypeError, ValueError, IndexError):
        raise SettingError("The setting 'cases' must list runs and positions of their pairs.") from None


def _write_cases(cases: tuple[CasesOfRun, ...]) -> list[list[Any]]:
    return [[one.run_id, list(one.indices)] for one in cases]


def _read_rule_set(said: Any) -> RuleSetOfRun | None:
    """Read ``[run, position]``, or ``None``."""
    if said is None or isinstance(said, RuleSetOfRun):
        return said
    is_pair = isinstance(said, list | tuple) and len(said) == 2
    if not is_pair or not isinstance(said[1], int) or isinstance(said[1], bool) or said[1] < 0:
        raise SettingError(
            f"The setting 'rule_set' must be a run and the position of one of its rule sets from 0 on, got {said!r}."
        )
    return RuleSetOfRun(str(said[0]), said[1])


def _write_rule_set(rule_set: RuleSetOfRun | None) -> list[Any] | None:
    return None if rule_set is None else [rule_set.run_id, rule_set.position]


_MOST_HELD_OUT = 0.9 + 1e-9


@dataclass(frozen=True)
class RetrainSettings(Settings):
    """How to retrain; the limit of seconds is the run's budget.

    Raises:
        SettingError: a value out of its range, or more than nine tenths of the rows held out.
    """

    whose = "A retraining"

    strategy: Strategy = setting(Strategy.VARIANTS, "How the data, or the decision, is changed.", part=NOT_ASKED)
    tolerance: float = setting(
        0.01,
        "How much accuracy may fall, as a share: 0.01 is one point.",
        label="Tolerance: how much accuracy may fall",
        hint="Where the recorded outcomes discriminate themselves, every mitigation costs accuracy against them.",
        minimum=0.0,
        maximum=1.0,
        unit="in points",
        is_percent=True,
        is_slider=True,
        step=0.25,
        ends=(0.0, 15.0),
        part=Part.GOAL,
        option="--tolerance T",
    )
    reference: Reference = setting(
        Reference.MODEL,
        "What the tolerance counts from.",
        label="The tolerance counts from",
        names={
            Reference.MODEL: ("The model as it is", "For a model that was trained on none of the test rows."),
            Reference.CONTROL: (
                "A control model",
                "The same kind, trained on the same rows without cases: for a model that may have seen the test rows "
                "in its own training.",
            ),
        },
        part=Part.WAY,
        option="--reference",
    )
    labels: Labels = setting(
        Labels.VARIANTS,
        "Who labels added people.",
        label="Who labels people that are added",
        names={
            Labels.VARIANTS: (
                "Majority of the variants",
                "The outcome that the model gives to most variants of the person.",
            ),
            Labels.COMMITTEE: (
                "Committee of classifiers",
                "The majority of other classifiers trained on the same rows.",
            ),
        },
        part=Part.WAY,
        when=When.ADDS_PEOPLE,
        option="--labels",
    )
    begin: Begin = setting(
        Begin.AUTO,
        "Where training begins: from the model's own weights, or afresh.",
        label="Training begins",
        names={
            Begin.WEIGHTS: ("From its own weights", "It keeps what it has learned, and changes little."),
            Begin.AFRESH: ("Afresh", "New initial weights: it learns everything anew."),
        },
        part=Part.WAY,
        when=When.MODEL_HAS_WEIGHTS,
    )
    surrogate: Surrogate = setting(
        Surrogate.NONE,
        "What to train instead of a model that cannot be trained.",
        label="Train instead",
        names={
            Surrogate.NETWORK: (
                "The same network, in Keras",
                "Rebuilt weight by weight; it decides as the original.",
            ),
            Surrogate.FOREST: (
                "Random forest",
                "100 trees, trained on the data's rows: another model than yours.",
            ),
            Surrogate.TREE: ("Decision tree", "One tree, trained on the data's rows: another model than yours."),
            Surrogate.LINEAR: ("Logistic regression", "Trained on the data's rows: another model than yours."),
            Surrogate.MLP: ("Small network of scikit-learn", "Trained on the data's rows: another model than yours."),
        },
        part=Part.SURROGATE,
        option="--surrogate",
    )
    technique: str = setting(
        "",
        "Of the search that finds cases; empty chooses by the strategy and the model.",
        part=NOT_ASKED,
        option="--technique NAME",
    )
    cases: tuple[CasesOfRun, ...] = setting(
        (),
        "Pairs of earlier runs to use instead of a search.",
        reader=_read_cases,
        writer=_write_cases,
        part=NOT_ASKED,
    )
    rule_set: RuleSetOfRun | None = setting(
        None,
        "A rule set to look at instead of the worst: what the strategy rules works on, and what is scored before and "
        "after.",
        reader=_read_rule_set,
        writer=_write_rule_set,
        part=NOT_ASKED,
    )
    terms: Terms = setting(
        (),
        "Of texts: identity terms by category; empty takes those of the rule set that was picked, else the project's "
        "own list.",
        reader=read_setting,
        writer=write_setting,
        part=NOT_ASKED,
    )
    max_rounds: int = setting(
        8,
        "Models trained at most, beside the control.",
        label="Rounds, at most",
        minimum=1,
        maximum=50,
        part=Part.ROUNDS,
        option="--rounds N",
    )
    n_draws: int = setting(
        20_000,
        "People drawn to estimate how many are discriminated against. A slow model gets fewer.",
        label="Draws of an estimate",
        minimum=500,
        maximum=1_000_000,
        part=Part.ROUNDS,
    )
    n_cases: int = setting(
        5_000,
        "Individuals that a search for cases finds before it ends.",
        label="Cases, at most",
        minimum=10,
        maximum=1_000_000,
        part=Part.ROUNDS,
        when=When.TAKES_CASES,
    )
    support: float = setting(
        0.05,
        "The least share of rows of a rule set, for the worst one.",
        label="Least group",
        minimum=0.001,
        maximum=0.5,
        unit="% of the rows",
        is_percent=True,
        step=1.0,
        part=Part.ROUNDS,
        when=When.TAKES_RULE_SET,
    )
    max_epochs: int = setting(
        20,
        "Of one training of a network. It ends sooner once the validation rows tell that nothing is gained any more.",
        label="Epochs, at most",
        minimum=1,
        maximum=1_000,
        part=Part.NETWORK,
    )
    patience: int = setting(
        5,
        "Epochs without a lower loss on the validation rows after which training ends.",
        minimum=1,
        maximum=1_000,
        unit="epochs",
        part=Part.NETWORK,
    )
    batch_rows: int = setting(
        256,
        "Rows of one step of a network: the batch size.",
        label="Rows of a step",
        minimum=8,
        maximum=65_536,
        part=Part.NETWORK,
    )
    learning_rate: float = setting(0.001, "Of a network.", minimum=1e-6, maximum=1.0, step=0.0005, part=Part.NETWORK)
    test_share: float = setting(
        0.2,
        "Share of the rows that is held out to test: no search starts from them, and no model is trained on them.",
        label="Test rows",
        minimum=0.05,
        maximum=0.5,
        is_percent=True,
        step=5.0,
    )
    validation_share: float = setting(
        0.15,
        "Share of the rows that is held out to choose by.",
        label="Rows that choose",
        minimum=0.05,
        maximum=0.5,
        is_percent=True,
        step=5.0,
    )
    measure_seconds: float = setting(
        20.0,
        "Both models are certified for so long and searched, and their groups compared for three times as long. At 0 "
        "none of this follows.",
        label="Seconds of a certification after",
        minimum=0.0,
        maximum=3_600.0,
        step=10.0,
        option="--measure-seconds S",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        held_out = self.test_share + self.validation_share
        if held_out > _MOST_HELD_OUT:
            raise SettingError(
                "The settings 'test_share' and 'validation_share' must leave a tenth of the rows to train on, got "
                f"{held_out:g} together. Hold fewer rows out."
            )

    @property
    def is_baseline(self) -> bool:
        """Whether the strategy is one of the baselines."""
        return self.strategy in BASELINES
