"""What a retraining is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from fairness_engine.errors import SettingError
from fairness_engine.groups.identity_terms.terms import Terms, check_terms
from fairness_engine.settings import check_number, check_whole, refuse_unknown, take_choice


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


@dataclass(frozen=True)
class RetrainSettings:
    """How to retrain; the limit of seconds is the run's budget.

    Args:
        strategy: see ``Strategy``.
        tolerance: how much accuracy may fall, as a share: 0.01 is one point. 0 to 1.
        labels: who labels added people.
        technique: name in ``search.registry`` of the search that finds cases; empty chooses by the strategy and the
            model.
        cases: pairs of earlier runs to use instead of a search.
        n_cases: how many individuals a search is to find at most.
        max_rounds: models trained at most, beside the control.
        begin: see ``Begin``.
        max_epochs: of one training of a network.
        patience: epochs without a better loss on the validation rows after which training ends.
        learning_rate: of a network.
        batch_rows: rows of one step of a network.
        test_share, validation_share: shares of the rows that are held out, together at most nine tenths; no search
            starts from them, and no model is trained on them.
        reference: see ``Reference``.
        surrogate: see ``Surrogate``.
        n_draws: individuals drawn for each estimate.
        support: the least share of rows of a rule set, for the worst one.
        rule_set: a rule set to look at instead of the worst: what strategy ``rules`` works on, and what is scored
            before and after.
        measure_seconds: of each certification that follows a retraining, one a model; searches and rule sets that
            follow have limits of their own (``runs.remeasure``). 0 starts none of them.
        terms: of texts: identity terms by category; empty takes those of the rule set that was picked, else the
            project's own list.

    Raises:
        SettingError: a value out of its range.
    """

    strategy: Strategy = Strategy.VARIANTS
    tolerance: float = 0.01
    labels: Labels = Labels.VARIANTS
    technique: str = ""
    cases: tuple[CasesOfRun, ...] = ()
    n_cases: int = 5_000
    max_rounds: int = 8
    begin: Begin = Begin.AUTO
    max_epochs: int = 20
    patience: int = 5
    learning_rate: float = 0.001
    batch_rows: int = 256
    test_share: float = 0.2
    validation_share: float = 0.15
    reference: Reference = Reference.MODEL
    surrogate: Surrogate = Surrogate.NONE
    n_draws: int = 20_000
    support: float = 0.05
    rule_set: RuleSetOfRun | None = None
    measure_seconds: float = 20.0
    terms: Terms = ()

    def __post_init__(self) -> None:
        for name, kind in _CHOICES.items():
            take_choice(self, name, kind)
        for name, (low, high) in _WHOLE.items():
            check_whole(self, name, low, high)
        for name, (least, most) in _NUMBERS.items():
            check_number(self, name, least, most)
        held_out = self.test_share + self.validation_share
        if held_out > _MOST_HELD_OUT:
            raise SettingError(
                "The settings 'test_share' and 'validation_share' must leave a tenth of the rows to train on, got "
                f"{held_out:g} together. Hold fewer rows out."
            )
        if not isinstance(self.technique, str):
            raise SettingError(f"The setting 'technique' must be a name, got {self.technique!r}.")
        if self.terms:
            object.__setattr__(self, "terms", check_terms(self.terms))

    @property
    def is_baseline(self) -> bool:
        """Whether the strategy is one of the baselines."""
        return self.strategy in BASELINES

    def to_json(self) -> dict[str, Any]:
        """Plain values; ``from_json`` reads them back."""
        content = {name: str(value) if isinstance(value, StrEnum) else value for name, value in asdict(self).items()}
        content["cases"] = [[one.run_id, list(one.indices)] for one in self.cases]
        content["rule_set"] = None if self.rule_set is None else [self.rule_set.run_id, self.rule_set.position]
        content["terms"] = {category: list(words) for category, words in self.terms}
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RetrainSettings:
        """Read settings; what is not named keeps its default.

        Raises:
            SettingError: a name that there is none of, or a value out of its range.
        """
        refuse_unknown(cls, content, "A retraining has")
        values = dict(content)
        try:
            cases = tuple(
                CasesOfRun(str(run_id), tuple(map(int, indices))) for run_id, indices in values.get("cases", ())
            )
        except (TypeError, ValueError):
            raise SettingError("The setting 'cases' must list runs and positions of their pairs.") from None
        if isinstance(terms := values.get("terms"), Mapping):
            values["terms"] = tuple((str(category), tuple(words)) for category, words in terms.items())
        return cls(**{**values, "cases": cases, "rule_set": _rule_set(values.get("rule_set"))})


def _rule_set(said: Any) -> RuleSetOfRun | None:
    """Read ``[run, position]``, or ``None``."""
    if said is None or isinstance(said, RuleSetOfRun):
        return said
    is_pair = isinstance(said, list | tuple) and len(said) == 2
    if not is_pair or not isinstance(said[1], int) or isinstance(said[1], bool) or said[1] < 0:
        raise SettingError(
            f"The setting 'rule_set' must be a run and the position of one of its rule sets from 0 on, got {said!r}."
        )
    return RuleSetOfRun(str(said[0]), said[1])


_CHOICES: dict[str, type[StrEnum]] = {
    "strategy": Strategy,
    "labels": Labels,
    "begin": Begin,
    "reference": Reference,
    "surrogate": Surrogate,
}
_WHOLE = {
    "n_cases": (10, 1_000_000),
    "max_rounds": (1, 50),
    "max_epochs": (1, 1_000),
    "patience": (1, 1_000),
    "batch_rows": (8, 65_536),
    "n_draws": (500, 1_000_000),
}
_MOST_HELD_OUT = 0.9 + 1e-9
_NUMBERS = {
    "tolerance": (0.0, 1.0),
    "learning_rate": (1e-6, 1.0),
    "test_share": (0.05, 0.5),
    "validation_share": (0.05, 0.5),
    "support": (0.001, 0.5),
    "measure_seconds": (0.0, 3_600.0),
}


SELECT_STREAM, MEASURE_STREAM, TRAIN_STREAM, CASES_STREAM, RULES_STREAM = range(1, 6)
"""Streams of a run's seed: what chooses a model is not what measures it."""
