"""The surrogate 'network': a dense network of another format, rebuilt in Keras weight by weight, so that it can be
trained on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Schema
from fairness_engine.errors import ModelError
from fairness_engine.models.classes import match_classes
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.encoders import CodesEncoder, choose_encoder
from fairness_engine.models.encoders.linked import linked_encoder, of_people
from fairness_engine.models.encoders.one_hot import OneHotEncoder, one_hot_features
from fairness_engine.models.model import Encoder, Model
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.trainers.keras import KerasTrainer, archive_of, reopened
from fairness_engine.retraining.trainers.trainer import Binding

_OTHERS = "Choose 'forest', 'tree', 'linear' or 'mlp'."
_N_ROWS = 20_000
_LEAST_ALIKE = 0.999
"""Share of rows that both must decide alike; float32 moves those that lie next to the threshold."""


class FixedInputs:
    """An encoder that holds some inputs at 0: those that the original never took, so that training does not begin to
    use them.

    Args:
        encoder: of the whole row.
        is_taken: ``(n_inputs,)``.
    """

    def __init__(self, encoder: Encoder, is_taken: NDArray[np.bool_]) -> None:
        self._encoder = encoder
        self._is_taken = is_taken.astype(np.float64)
        self.names = encoder.names
        self.block_rows = encoder.block_rows

    def encode(self, rows: FloatArray) -> Any:
        """``(n_rows, n_columns)`` -> ``(n_rows, n_inputs)``."""
        return np.asarray(self._encoder.encode(rows)) * self._is_taken

    plain = encode


def network_trainer(model: Model, binding: Binding, settings: RetrainSettings) -> KerasTrainer:
    """A trainer of the same network in Keras: it begins from the original's weights.

    Raises:
        ModelError: the model is no dense network, or a file of Keras could not say what its inputs or classes are.
    """
    if not isinstance(model.predictor, DenseNetwork):
        raise ModelError(
            "The surrogate 'network' rebuilds a dense network, but this model is another kind "
            f"({model.predictor.kind}). {_OTHERS}"
        )
    network, encoder = _as_opened(of_people(model), model.predictor, binding.schema)
    built = same_network(_in_own_order(network, binding))
    again = reopened(archive_of(built), KerasTrainer.suffix, binding)
    _check_alike(model, again, binding.schema)
    return KerasTrainer(
        lambda: built, again, binding, settings, afresh=False, encoder=linked_encoder(encoder, binding.spelling)
    )


def same_network(network: DenseNetwork) -> Any:
    """A dense network rebuilt in Keras, weight by weight; it decides as the original does, up to float32.

    Raises:
        ModelError: an activation that Keras has no name for.
    """
    import keras

    layers: list[Any] = [keras.Input((network.n_inputs,))]
    for layer in network.layers:
        layers.append(
            keras.layers.Dense(layer.weights.shape[1], activation=_activation(str(layer.activation), layer.slope))
        )
    built = keras.Sequential(layers)
    built.set_weights([array for layer in network.layers for array in (layer.weights, layer.biases)])
    return built


def _activation(name: str, slope: float) -> Any:
    import keras

    if name == "leaky_relu":
        return keras.layers.LeakyReLU(negative_slope=slope)
    if name == "elu":
        return keras.layers.ELU(alpha=slope)
    if keras.activations.get(name) is None:
        raise ModelError(f"The network's activation '{name}' has no counterpart in Keras. Choose the surrogate 'mlp'.")
    return name


# --- its inputs and classes, as a file of Keras is opened ---------------------------------------


def _as_opened(model: Model, network: DenseNetwork, schema: Schema) -> tuple[DenseNetwork, Encoder]:
    """The network of all inputs that a file without names is given, in their order, and the encoder that makes them."""
    own: Any = getattr(model.encoder, "original", model.encoder)
    if model.encoder is not own and isinstance(own, CodesEncoder):
        affine = own.affine()
        assert affine is not None, "an encoding was folded because it is affine"
        scale, shift = affine
        network = network.with_affine_inputs(1 / scale, -shift / scale)
    n_inputs = len(one_hot_features(schema)) if isinstance(own, OneHotEncoder) else len(schema.inputs)
    whole_encoder = choose_encoder(schema, n_inputs)  # as the new file will be opened
    known = {key: i for i, key in enumerate(_made_of(whole_encoder))}
    wanted = _made_of(own)
    if len(set(wanted)) < len(wanted) or not set(wanted) <= set(known):
        raise ModelError(_inputs_refused())
    places = np.array([known[key] for key in wanted])
    whole = _with_inputs(network, n_inputs, places)
    return whole, FixedInputs(whole_encoder, np.isin(np.arange(n_inputs), places))


def _made_of(encoder: Any) -> list[tuple[int, int | None]]:
    """Column and category of every input, in order; the category is ``None`` where the column is one number.

    Raises:
        ModelError: the encoder takes rows in another way.
    """
    if isinstance(encoder, CodesEncoder):
        return [(int(column), None) for column in encoder.order]
    if isinstance(encoder, OneHotEncoder):
        return [(feature.column, feature.position) for feature in encoder.features]
    raise ModelError(_inputs_refused())


def _inputs_refused() -> str:
    return (
        "The surrogate 'network' needs a network that takes codes or one-hot columns, but this one takes something "
        f"else. {_OTHERS}"
    )


def _with_inputs(network: DenseNetwork, n_inputs: int, places: Any) -> DenseNetwork:
    """The network of more inputs, in another order: input ``j`` of the old one is input ``places[j]``."""
    first = network.layers[0]
    weights = np.zeros((n_inputs, first.weights.shape[1]))
    weights[places] = first.weights
    return DenseNetwork((Layer(weights, first.biases, first.activation, first.slope), *network.layers[1:]))


def _in_own_order(network: DenseNetwork, binding: Binding) -> DenseNetwork:
    """The classes in the order that puts them right when the file is opened: its outputs have no names."""
    n_classes = max(2, network.n_scores)
    order = match_classes(n_classes, None, binding.classes, binding.schema).order
    if order is None:
        return network
    turned = network.with_class_order([order.index(i) for i in range(n_classes)])
    if turned is None:
        raise ModelError(
            "The surrogate 'network' must put the classes into the data's order, but this output cannot be mirrored. "
            f"{_OTHERS}"
        )
    return turned


def _check_alike(model: Model, again: Model, schema: Schema) -> None:
    rows = sample_rows(schema, _N_ROWS, np.random.default_rng(0))
    decided = [one.decide(one.scores(rows)) for one in (model, again)]
    share = float((decided[0] == decided[1]).mean())
    if share < _LEAST_ALIKE:
        raise ModelError(
            "The surrogate 'network' must decide as the original does, but rebuilt in Keras it decides only "
            f"{100 * share:.1f} % of {_N_ROWS:,} rows alike. {_OTHERS}"
        )
