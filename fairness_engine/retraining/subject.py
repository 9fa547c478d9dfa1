"""What is retrained, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from fairness_engine.certification.assessors import ignores_protected
from fairness_engine.data.dataset import Dataset
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.encoders.linked import spelling_of
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs
from fairness_engine.retraining.evaluation.rule_group import RuleGroup

if TYPE_CHECKING:
    from fairness_engine.retraining.trainers.trainer import Trainer


@dataclass(frozen=True)
class Origin:
    """Where a model came from, for its card; what is not known is empty.

    Args:
        model_name: of the file.
        model_hash: SHA-256 of the file.
        data_name: of the file of the data; its hash is the dataset's own.
    """

    model_name: str = ""
    model_hash: str = ""
    data_name: str = ""


class Retrainable(Protocol):
    """What any retraining is of: rows of a table (``RetrainingTask``), or texts (``texts.subject.TextSubject``)."""

    @property
    def model(self) -> Model:
        """As given, bound to the data."""
        ...

    @property
    def dataset(self) -> Dataset:
        """The data."""
        ...

    @property
    def trainer(self) -> Trainer:
        """Makes models of the same kind (or of a surrogate's)."""
        ...

    @property
    def source(self) -> Origin:
        """Where the model came from."""
        ...

    @property
    def protected_names(self) -> tuple[str, ...]:
        """Protected attributes, or categories of terms."""
        ...

    @property
    def variants_text(self) -> str:
        """What is exchanged of whom, and what goes with it, in a few words: ``8 variants a person``."""
        ...

    @property
    def is_picked(self) -> bool:
        """Whether a person picked the cases."""
        ...


@dataclass(frozen=True)
class RetrainingTask:
    """A model with the data, the scope, and what trains more of its kind.

    Args:
        model: as given, bound to the data.
        domain, dataset: the scope and the data.
        trainer: makes models of the same kind (or of a surrogate's).
        picked: pairs that a person picked as cases; ``None`` for those of a search.
        group: the rule set that a person picked; ``None`` for the worst.
        source: where the model came from.
        linked: what goes with a protected attribute, in words.
    """

    model: Model
    domain: Domain
    dataset: Dataset
    trainer: Trainer
    picked: Pairs | None = None
    group: RuleGroup | None = None
    source: Origin = field(default_factory=Origin)
    linked: tuple[str, ...] = ()

    @property
    def protected_names(self) -> tuple[str, ...]:
        """See ``Retrainable``."""
        return self.domain.scope.protected

    @property
    def variants_text(self) -> str:
        """See ``Retrainable``."""
        return "; ".join((f"{self.domain.n_variants:,} variants a person", *self.linked))

    @property
    def is_picked(self) -> bool:
        """See ``Retrainable``."""
        return self.picked is not None

    @property
    def people(self) -> Dataset:
        """The data as the file has it; ``dataset`` holds rows of roles where the scope has links. What is held out is
        drawn from these, so that it is the same with links and without.
        """
        spelling = spelling_of(self.model)
        return self.dataset if spelling is None else replace(self.dataset, rows=spelling.spelled(self.dataset.rows))

    @property
    def ignores_protected(self) -> bool:
        """No decision can depend on a protected attribute of the scope directly: none is an input, or none has an
        effect.
        """
        return ignores_protected(self.model, self.domain) or self._has_no_weight

    @property
    def _has_no_weight(self) -> bool:
        """The model is a dense network of the columns as they are, whose first layer has no weight on any protected
        one.
        """
        network = self.model.predictor
        if not isinstance(network, DenseNetwork) or self.model.encoder.block_rows is not None:
            return False
        weights = network.layers[0].weights
        return len(weights) == self.domain.n_columns and not weights[self.domain.protected].any()
