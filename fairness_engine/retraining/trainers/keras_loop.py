"""The training steps of a Keras network, traced once and used for every round: thousands of steps without a look at
Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.clock import Clock

_STEPS_AT_ONCE = 64
"""Steps between two looks at whether the training was cancelled."""
_ROWS_AT_ONCE = 8_192


@dataclass(frozen=True)
class Batch:
    """What a network is trained on, as tensors.

    Args:
        inputs: of all rows, as the network takes them: a tensor, or tensors by name.
        targets: ``(n_rows, ...)`` as many axes as the network's output.
        weights: ``(n_rows,)``.
    """

    inputs: Any
    targets: Any
    weights: Any

    def __len__(self) -> int:
        return int(self.targets.shape[0])


@dataclass(frozen=True)
class Pace:
    """How an epoch is gone through.

    Args:
        learning_rate: of the optimizer.
        batch_rows: rows of one step.
    """

    learning_rate: float
    batch_rows: int


class Loop:
    """Makes the steps of one network, whose weights are set anew for each training.

    A loop of its own instead of ``fit``: that one traces its steps again in every round (2 s), and takes 1.3 times as
    long an epoch.

    Args:
        network: to train, in place.
        is_share: it gives probabilities, not logits.
    """

    def __init__(self, network: Any, *, is_share: bool) -> None:
        import keras
        import tensorflow as tf

        self.network = network
        kind = (
            keras.losses.BinaryCrossentropy if _n_outputs(network) == 1 else keras.losses.SparseCategoricalCrossentropy
        )
        self._loss = kind(from_logits=not is_share, reduction="none")
        self._optimizer = keras.optimizers.Adam()
        self._optimizer.build(network.trainable_variables)
        self._steps = tf.function(self._make_steps, reduce_retracing=True)
        self._losses = tf.function(self._make_losses, reduce_retracing=True)

    def begin(self, state: list[Any]) -> None:
        """Set every variable of the network (those of its chance too), and forget what the optimizer has gathered.

        Args:
            state: values in the order of ``network.variables``.
        """
        for variable, value in zip(self.network.variables, state, strict=True):
            variable.assign(value)
        for variable in self._optimizer.variables:
            if variable is not self._optimizer.learning_rate and "learning_rate" not in variable.name:
                variable.assign(np.zeros(variable.shape, dtype=variable.dtype))

    def epoch(self, batch: Batch, order: IntArray, pace: Pace, clock: Clock) -> float:
        """Once through the rows in this order; returns the mean loss.

        Raises:
            SearchStopped: cancelled, or out of time, between two steps.
        """
        import tensorflow as tf

        self._optimizer.learning_rate.assign(pace.learning_rate)
        size = tf.constant(pace.batch_rows, dtype=tf.int32)
        total = 0.0
        rows_at_once = _STEPS_AT_ONCE * pace.batch_rows
        for start in range(0, len(order), rows_at_once):
            clock.check()
            part = tf.constant(order[start : start + rows_at_once], dtype=tf.int32)
            total += float(self._steps(batch.inputs, batch.targets, batch.weights, part, size))
        return total / max(1, len(order))

    def losses(self, batch: Batch) -> tuple[float, FloatArray]:
        """The mean loss, and what the network gives ``(n_rows, n_outputs)``, with nothing dropped out."""
        import tensorflow as tf

        losses = []
        outputs = []
        for start in range(0, len(batch), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            inputs = tf.nest.map_structure(lambda values, part=part: values[part], batch.inputs)
            loss, output = self._losses(inputs, batch.targets[part])
            losses.append(loss.numpy())
            outputs.append(output.numpy())
        loss = np.average(np.concatenate(losses), weights=batch.weights.numpy())
        return float(loss), np.concatenate(outputs).astype(np.float64)

    def _make_steps(self, inputs: Any, targets: Any, weights: Any, order: Any, size: Any) -> Any:
        import tensorflow as tf

        total = tf.constant(0.0)
        for start in tf.range(0, tf.shape(order)[0], size):
            rows = order[start : start + size]
            batch = tf.nest.map_structure(lambda values, rows=rows: tf.gather(values, rows), inputs)
            total += self._step(batch, tf.gather(targets, rows), tf.gather(weights, rows))
        return total

    def _step(self, inputs: Any, targets: Any, weights: Any) -> Any:
        import tensorflow as tf

        with tf.GradientTape() as tape:
            loss = weights * self._row_losses(targets, self.network(inputs, training=True))
            whole = tf.reduce_mean(loss) + sum(tf.cast(more, tf.float32) for more in self.network.losses)
        trained = self.network.trainable_variables
        self._optimizer.apply(tape.gradient(whole, [variable.value for variable in trained]), trained)
        return tf.reduce_sum(loss)

    def _make_losses(self, inputs: Any, targets: Any) -> tuple[Any, Any]:
        import tensorflow as tf

        output = self.network(inputs, training=False)
        return self._row_losses(targets, output), tf.reshape(output, (tf.shape(output)[0], -1))

    def _row_losses(self, targets: Any, output: Any) -> Any:
        import tensorflow as tf

        return tf.reshape(tf.cast(self._loss(targets, output), tf.float32), (-1,))


def _n_outputs(network: Any) -> int:
    return int(np.prod([n or 1 for n in network.outputs[0].shape[1:]]))
