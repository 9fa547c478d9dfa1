"""Which assessor a model gets, and why another model cannot be certified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairness_engine.certification.assessor import Assessor
from fairness_engine.certification.forests.assessor import TreeAssessor
from fairness_engine.certification.forests.ensemble import is_tree_model
from fairness_engine.certification.linear.assessor import LinearAssessor
from fairness_engine.certification.linked import LinkedAssessor
from fairness_engine.certification.networks.assessor import ClassesAssessor, NetworkAssessor
from fairness_engine.certification.partition.lattice import Lattice
from fairness_engine.certification.relu_network import read_network, why_not
from fairness_engine.certification.settings import Mode
from fairness_engine.certification.voting import VotesAssessor
from fairness_engine.errors import ModelError, SettingError
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.encoders.linked import of_people, spelling_of
from fairness_engine.models.model import Model, Output, Predictor
from fairness_engine.models.sklearn.voting import HardVote, Rearranged, Transformed
from fairness_engine.oracle.domain import Domain

_ELSE = "Search for pairs or estimate the share instead."
_REASONS = {
    "HardVote": (
        "its members, or votes between more than two classes, cannot be",
        "Certify its members one by one, or search for pairs instead.",
    ),
    "SoftVote": (
        "proofs are not made for means of several models",
        "Certify its members one by one, or search for pairs instead.",
    ),
    "SupportVectors": ("its score is no sum over the columns and no network of ReLUs", _ELSE),
    "KerasRuntime": (
        "it is more than a chain of dense layers",
        "Save it as a Sequential model of Dense layers, or search for pairs instead.",
    ),
    "OnnxRuntime": (
        "it is more than a chain of dense layers",
        "Export a chain of Gemm and Relu, or search for pairs instead.",
    ),
    "FunctionPredictor": ("what a function computes cannot be read", _ELSE),
}
"""By the class of the predictor: why, and what to do."""


def make_assessor(model: Model, space: Lattice, mode: Mode) -> Assessor:
    """What proves and refutes boxes for models of this kind.

    Raises:
        ModelError: models of its kind cannot be certified; the sentence says why and what to do.
        SettingError: the scope asks for what no proof is made for.
    """
    if space.domain.scope.score_gap > 0:
        raise SettingError(
            "A proof is about decisions, but the scope counts scores that differ by more than "
            f"{space.domain.scope.score_gap:g}. Set the score gap to 0 under Scope."
        )
    spelling = spelling_of(model)
    if spelling is not None and not np.isin(spelling.columns, space.columns).any():
        return make_assessor(of_people(model), space, mode)  # what is linked is not taken
    if spelling is not None:
        return LinkedAssessor(model, space, lambda people, part: make_assessor(people, part, mode))
    if isinstance(model.predictor, DenseNetwork):
        return _network_assessor(model, space, mode)
    if is_tree_model(model):
        return TreeAssessor(model, space)
    if isinstance(model.predictor, HardVote) and _are_provable(model):
        members = [make_assessor(member, space, mode) for member in _members(model)]
        return VotesAssessor(members, model.predictor.weights, space)
    raise ModelError(_why_not(model.predictor))


def _members(model: Model) -> list[Model]:
    """The members of a vote as models of their own, each with its own threshold."""
    assert isinstance(model.predictor, HardVote)
    middles = {True: 0.0, False: 0.5}
    return [
        replace(model, predictor=member, threshold=middles[member.output is Output.LOGIT])
        for member in model.predictor.members
    ]


def _are_provable(vote: Model) -> bool:
    """Whether all members are models that proofs are made for, and the score, 0 or 1, is compared with something
    between.
    """
    members = _members(vote)
    known = all(isinstance(member.predictor, DenseNetwork) or is_tree_model(member) for member in members)
    return vote.is_binary and 0 <= vote.threshold < 1 and known and all(member.is_binary for member in members)


def ignores_protected(model: Model, domain: Domain) -> bool:
    """True when the model takes none of the protected attributes: all variants of everybody are decided alike.

    Encoders take every column by itself, so those whose inputs are the same for all variants of one row are so for
    everybody.
    """
    spelling = spelling_of(model)
    changing = [] if spelling is None else [domain.schema.inputs[column].name for column in spelling.columns]
    if not model.taken(domain.schema.names).intersection((*domain.scope.protected, *changing)):
        return True
    if spelling is not None:
        return False
    row = domain.low[None, :]
    inputs = model.encoder.encode(domain.variants(row)[0])
    values = inputs.to_numpy(dtype=object) if hasattr(inputs, "to_numpy") else np.asarray(inputs)
    return bool((values == values[:1]).all())


def _network_assessor(model: Model, space: Lattice, mode: Mode) -> Assessor:
    network = read_network(model, space)
    if network.n_outputs > 1:
        return ClassesAssessor(network, space, mode)
    if not network.widths:
        return LinearAssessor(network, space)
    return NetworkAssessor(network, space, mode)


def _why_not(predictor: Predictor) -> str:
    """Why no proof is made for a model, and what to do."""
    if isinstance(predictor, Rearranged):
        return _why_not(predictor.inner)
    if isinstance(predictor, DenseNetwork) and (reason := why_not(predictor)) is not None:
        return f"This network cannot be certified. {reason}"
    if isinstance(predictor, Transformed):
        reason = "its transformations do not take every column by itself, or depend on a number in steps or curves"
        remedy = "Scale numbers and one-hot encode categories, each column by itself, or search for pairs instead."
    elif any(isinstance(member, Transformed) for member in getattr(predictor, "members", ())):
        reason = "each of its members has transformations of its own"
        remedy = "Put one set of them before the vote, whose members then take what it gives, or search for pairs."
    elif reason := getattr(predictor, "reason", ""):
        remedy = _ELSE
    else:
        unknown = "proofs are made for dense ReLU networks, trees and forests, and linear models", _ELSE
        reason, remedy = _REASONS.get(type(predictor).__name__, unknown)
    return f"This model ('{predictor.kind}') cannot be certified: {reason}. {remedy}"
