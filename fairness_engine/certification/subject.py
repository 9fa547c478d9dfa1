"""Which assessor a model gets, and why another model cannot be certified."""

from __future__ import annotations

from fairness_engine.certification.assessor import Assessor
from fairness_engine.certification.network import read_network
from fairness_engine.certification.network_assessor import NetworkAssessor
from fairness_engine.certification.settings import Mode
from fairness_engine.certification.space import Space
from fairness_engine.domain import Domain
from fairness_engine.errors import ModelError, SettingError
from fairness_engine.models.dense import DenseNetwork
from fairness_engine.models.model import Model


def make_assessor(model: Model, space: Space, mode: Mode) -> Assessor:
    """The assessor of a model.

    Raises:
        ModelError: models of its kind cannot be certified; the sentence says why and what to do.
        SettingError: the scope asks for what no proof is made for.
    """
    if space.domain.scope.score_gap > 0:
        raise SettingError(
            f"A proof is about decisions, but the scope counts scores that differ by more than {space.domain.scope.score_gap:g}. Set the "
            "score gap to 0 under Scope."
        )
    if isinstance(model.predictor, DenseNetwork):
        return NetworkAssessor(read_network(model, space), space, mode)
    raise ModelError(
        f"This model cannot be certified: proofs are made for dense ReLU networks, trees and forests, and linear models, and it is "
        f"'{model.predictor.kind}'. Search for pairs or estimate the share instead."
    )


def is_certified_by_construction(model: Model, domain: Domain) -> bool:
    """True when the model takes none of the protected attributes: all variants of everybody are decided alike."""
    return not model.taken(domain.schema.names).intersection(domain.scope.protected)
