"""Compiled evaluation of dense networks: the same to the bit on every machine.

Libraries of linear algebra pick their kernel by processor and by shape, and each adds up in another order, so that a
score depends in its last bits on the machine and on the rows beside it. Here a block of rows lies across the lanes of
the vector registers and every row adds up by itself: input after input, a product and a sum, each rounded (no fused
multiply-add, which some processors lack). Exponentials are polynomials of the same operations.

numba compiles the loops once and caches them beside this file (or in ``NUMBA_CACHE_DIR``); they release the GIL.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from fairness_engine.models.dense.layers import EXPONENTIAL, POWER, TILE, Activation, number_of

BLOCK_BYTES = 64
"""Of the values of one unit for a block of rows: sixteen rows in float32, eight in float64."""

LINEAR, RELU, RELU6, LEAKY_RELU, ELU, SELU, TANH, SIGMOID, SILU, SOFTPLUS, SOFTSIGN, _ = map(number_of, Activation)
SELU_SCALE = 1.0507009873554805
SELU_ALPHA = 1.6732632423543772

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.6931471803691238
_LN2_LOW = 1.9082149292705877e-10
_LEAST_EXP = -708.0
_MOST_EXP = 709.0
_ROUNDER = 6755399441055744.0
"""1.5 times 2 to the 52: a number added to it is rounded to a whole one, which stands in its last bits."""
_EXPONENT_BIAS = np.int64(1023)
_FRACTION_BITS = np.int64(52)
_F2, _F3, _F4, _F5, _F6, _F7, _F8, _F9, _F10, _F11, _F12, _F13 = (1.0 / math.factorial(k) for k in range(2, 14))
_SMALL = 0.35
_O1, _O2, _O3, _O4, _O5, _O6, _O7, _O8, _O9, _O10, _O11, _O12, _O13, _O14, _O15, _O16 = (
    2.0 / (2 * k + 1) for k in range(1, 17)
)
"""Of ``log((1 + t) / (1 - t)) = 2 t + 2 t^3 / 3 + ...``."""


# --- elementary functions of correctly rounded operations alone ---------------------------------


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _series(x):  # type: ignore[no-untyped-def]
    """``(exp(x) - 1) / x`` of small numbers."""
    high = _F7 + x * (_F8 + x * (_F9 + x * (_F10 + x * (_F11 + x * (_F12 + x * _F13)))))
    return 1.0 + x * (_F2 + x * (_F3 + x * (_F4 + x * (_F5 + x * (_F6 + x * high)))))


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def exponential(x):  # type: ignore[no-untyped-def]
    """``exp(x)`` to about a unit in the last place; 0 below -708, infinity above 709. Without a branch, so that lanes
    go together.
    """
    bounded = min(max(x, _LEAST_EXP), _MOST_EXP)
    shifted = bounded * _LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    rest = (bounded - k * _LN2_HIGH) - k * _LN2_LOW
    bits = np.float64(shifted).view(np.int64) + _EXPONENT_BIAS
    power = np.int64(bits << _FRACTION_BITS).view(np.float64)
    value = (1.0 + rest * _series(rest)) * power
    value = 0.0 if x < _LEAST_EXP else value
    return value if x <= _MOST_EXP else x + math.inf  # infinity, or not a number


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def exponential_less_one(x):  # type: ignore[no-untyped-def]
    """``exp(x) - 1``, also where that is tiny."""
    small = min(max(x, -_SMALL), _SMALL)
    near = small * _series(small)
    far = exponential(x) - 1.0
    return near if abs(x) < _SMALL else far


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def logistic(x):  # type: ignore[no-untyped-def]
    """``1 / (1 + exp(-x))``."""
    return 1.0 / (1.0 + exponential(-x))


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def hyperbolic_tangent(x):  # type: ignore[no-untyped-def]
    """``tanh(x)``."""
    less = exponential_less_one(-2.0 * abs(x))
    value = -less / (2.0 + less)
    return -value if x < 0 else value


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def softplus(x):  # type: ignore[no-untyped-def]
    """``log(1 + exp(x))``."""
    power = exponential(-abs(x))
    t = power / (2.0 + power)
    s = t * t
    high = _O9 + s * (_O10 + s * (_O11 + s * (_O12 + s * (_O13 + s * (_O14 + s * (_O15 + s * _O16))))))
    value = _O1 + s * (_O2 + s * (_O3 + s * (_O4 + s * (_O5 + s * (_O6 + s * (_O7 + s * (_O8 + s * high)))))))
    return (2.0 + s * value) * t + max(x, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def activate(values, activation, slope):  # type: ignore[no-untyped-def]  # noqa: PLR0912 - a loop each, so that lanes go together
    """Apply an activation in place to values ``(n,)``, curved ones in float64 whatever they are stored in."""
    if activation == RELU:
        for k in range(len(values)):
            values[k] = max(values[k], 0)
    elif activation == RELU6:
        for k in range(len(values)):
            values[k] = min(max(values[k], 0), 6)
    elif activation == LEAKY_RELU:
        for k in range(len(values)):
            values[k] = values[k] * slope if values[k] < 0 else values[k]
    elif activation == ELU:
        for k in range(len(values)):
            values[k] = slope * exponential_less_one(np.float64(values[k])) if values[k] < 0 else values[k]
    elif activation == SELU:
        for k in range(len(values)):
            x = np.float64(values[k])
            values[k] = SELU_SCALE * (SELU_ALPHA * exponential_less_one(x) if x <= 0 else x)
    elif activation == TANH:
        for k in range(len(values)):
            values[k] = hyperbolic_tangent(np.float64(values[k]))
    elif activation == SIGMOID:
        for k in range(len(values)):
            values[k] = logistic(np.float64(values[k]))
    elif activation == SILU:
        for k in range(len(values)):
            values[k] = values[k] * logistic(np.float64(values[k]))
    elif activation == SOFTPLUS:
        for k in range(len(values)):
            values[k] = softplus(np.float64(values[k]))
    elif activation == SOFTSIGN:
        for k in range(len(values)):
            values[k] = values[k] / (1.0 + abs(np.float64(values[k])))
    elif activation == EXPONENTIAL:
        for k in range(len(values)):
            values[k] = exponential(np.float64(values[k]))
    elif activation == POWER:
        for k in range(len(values)):
            x = values[k]
            product = 1.0
            for _ in range(int(slope)):
                product *= x
            values[k] = product


@njit(cache=True, nogil=True, error_model="numpy")
def slopes(sums, values, activation, slope):  # type: ignore[no-untyped-def]
    """Derivatives of an activation: in place of its arguments ``sums (n,)``, with ``values (n,)`` its results."""
    for k in range(len(sums)):
        x = sums[k]
        y = values[k]
        if activation == LINEAR:
            d = 1.0
        elif activation == RELU:
            d = 1.0 if x > 0 else 0.0
        elif activation == RELU6:
            d = 1.0 if 0 < x < 6 else 0.0
        elif activation == LEAKY_RELU:
            d = 1.0 if x > 0 else slope
        elif activation == ELU:
            d = 1.0 if x > 0 else y + slope
        elif activation == SELU:
            d = SELU_SCALE if x > 0 else y + SELU_SCALE * SELU_ALPHA
        elif activation == TANH:
            d = 1.0 - y * y
        elif activation == SIGMOID:
            d = y * (1.0 - y)
        elif activation == SILU:
            share = logistic(x)
            d = share + y * (1.0 - share)
        elif activation == SOFTPLUS:
            d = logistic(x)
        else:
            d = (1.0 - abs(y)) * (1.0 - abs(y))
        sums[k] = d


@njit(cache=True, nogil=True, error_model="numpy")
def softmax(values):  # type: ignore[no-untyped-def]
    """Shares of ``exp(x)`` along the last axis of ``(n_rows, n)``, in place."""
    for row in values:
        most = row[0]
        for value in row:
            most = max(most, value)
        total = 0.0
        for j in range(len(row)):
            row[j] = exponential(row[j] - most)
            total += row[j]
        for j in range(len(row)):
            row[j] /= total


# --- sums -----------------------------------------------------------------------------------------


@intrinsic
def _tile_sums(_, x, weights, biases, out, weights_at, biases_at, out_at, n_inputs):  # type: ignore[no-untyped-def]  # noqa: ARG001 - numbers
    """Weighted sums of ``TILE`` units for a block of rows, in registers.

    The arrays are flat and of one type, ``n_inputs`` is 1 or more:
    ``out[out_at + t * block + r] = biases[biases_at + t] + sum_i weights[weights_at + i * TILE + t] * x[i * block +
    r]``, added up from the bias and the first input on, where ``block`` is ``BLOCK_BYTES`` over the size of a number.
    """
    numbers = types.intp
    signature = types.void(x, weights, biases, out, numbers, numbers, numbers, numbers)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = zip(signature.args[:4], args[:4], strict=True)
        data = [context.make_array(kind)(context, builder, value=array).data for kind, array in arrays]
        weights_at, biases_at, out_at, n_inputs = args[4:]
        scalar = context.get_data_type(signature.args[0].dtype)
        index = context.get_value_type(numbers)
        size = 4 if isinstance(scalar, ir.FloatType) else 8
        block = BLOCK_BYTES // size
        vector = ir.VectorType(scalar, block)
        lane = ir.IntType(32)

        def number_at(array: int, place: Any, shift: int = 0) -> Any:
            value = builder.load(builder.gep(data[array], [builder.add(place, index(shift))]))
            first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, lane(0))
            zeros = ir.Constant(ir.VectorType(lane, block), [0] * block)
            return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)

        def vector_at(array: int, place: Any) -> Any:
            return builder.bitcast(builder.gep(data[array], [place]), vector.as_pointer())

        begin = [number_at(2, biases_at, t) for t in range(TILE)]
        before = builder.block
        loop = builder.append_basic_block("sum")
        after = builder.append_basic_block("summed")
        builder.branch(loop)
        builder.position_at_end(loop)
        i = builder.phi(index)
        sums = [builder.phi(vector) for _ in range(TILE)]
        values = builder.load(vector_at(0, builder.mul(i, index(block))), align=size)
        place = builder.add(weights_at, builder.mul(i, index(TILE)))
        added = [builder.fadd(sums[t], builder.fmul(number_at(1, place, t), values)) for t in range(TILE)]
        following = builder.add(i, index(1))
        for phi, first, repeated in zip((i, *sums), (index(0), *begin), (following, *added), strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(repeated, loop)
        builder.cbranch(builder.icmp_signed("<", following, n_inputs), loop, after)
        builder.position_at_end(after)
        for t in range(TILE):
            builder.store(added[t], vector_at(3, builder.add(out_at, index(t * block))), align=size)
        return context.get_dummy_value()

    return signature, generate


@njit(cache=True, nogil=True, inline="always")
def _layer(x, out, net, which, block):  # type: ignore[no-untyped-def]
    """The sums of one layer for a block of rows: from ``x`` to ``out``."""
    widths, weights, biases, weights_at, biases_at = net[:5]
    n_inputs = widths[which]
    for unit in range(0, widths[which + 1], TILE):
        at = weights_at[which] + unit * n_inputs
        _tile_sums(x, weights, biases, out, at, biases_at[which] + unit, unit * block, n_inputs)  # type: ignore[call-arg]


@njit(cache=True, nogil=True, inline="always")
def _load(inputs, begin, x, block):  # type: ignore[no-untyped-def]
    """Put a block of rows across the lanes, with zeros for those that are not there; how many are."""
    n = min(block, len(inputs) - begin)
    for r in range(n):
        for i in range(inputs.shape[1]):
            x[i * block + r] = inputs[begin + r, i]
    for r in range(n, block):
        for i in range(inputs.shape[1]):
            x[i * block + r] = 0
    return n


@njit(cache=True, nogil=True, inline="always")
def _rest(x, other, net, block):  # type: ignore[no-untyped-def]
    """The layers after the first, from the first one's sums in ``x``; what enters the last activation, and the other
    buffer.
    """
    widths = net[0]
    activations = net[5]
    factors = net[6]
    for which in range(1, len(widths) - 1):
        activate(x[: widths[which] * block], activations[which - 1], factors[which - 1])
        _layer(x, other, net, which, block)
        x, other = other, x
    return x, other


@njit(cache=True, nogil=True, error_model="numpy")
def forward(inputs, net, out):  # type: ignore[no-untyped-def]
    """What enters the last activation.

    Args:
        inputs: ``(n_rows, n_inputs)``.
        net: a ``Net``'s arrays.
        out: float64 ``(n_rows, n_outputs)``, filled.
    """
    widths = net[0]
    weights = net[1]
    block = BLOCK_BYTES // weights.itemsize
    x = np.zeros(net[7] * block, weights.dtype)
    other = np.zeros(net[7] * block, weights.dtype)
    for begin in range(0, len(inputs), block):
        n = _load(inputs, begin, x, block)
        _layer(x, other, net, 0, block)
        x, other = _rest(other, x, net, block)
        for r in range(n):
            for j in range(widths[-1]):
                out[begin + r, j] = x[j * block + r]


@njit(cache=True, nogil=True, error_model="numpy")
def forward_shifted(inputs, shifts, steps, net, out):  # type: ignore[no-untyped-def]
    """What enters the last activation, of people who share all of the first layer's sums but a shift.

    Args:
        inputs: what they share ``(n_rows, n_inputs)``.
        shifts: of each person of a row, in the first layer's sums ``(n_each, n_units)``.
        steps: of each row, what its people's shifts are multiplied by ``(n_rows, n_each)``; without rows: 1.
        net: a ``Net``'s arrays, the weights of its first layer being those of what is shared.
        out: float64 ``(n_rows, n_each, n_outputs)``, filled.
    """
    widths = net[0]
    weights = net[1]
    block = BLOCK_BYTES // weights.itemsize
    n_units = widths[1]
    is_stepped = len(steps) > 0
    x = np.zeros(net[7] * block, weights.dtype)
    other = np.zeros(net[7] * block, weights.dtype)
    shared = np.zeros(net[7] * block, weights.dtype)
    step = np.ones(block, weights.dtype)
    for begin in range(0, len(inputs), block):
        n = _load(inputs, begin, x, block)
        _layer(x, shared, net, 0, block)
        for person in range(len(shifts)):
            if is_stepped:
                for r in range(n):
                    step[r] = steps[begin + r, person]
                for j in range(n_units):
                    shift = shifts[person, j]
                    for r in range(block):
                        x[j * block + r] = shared[j * block + r] + step[r] * shift
            else:
                for j in range(n_units):
                    shift = shifts[person, j]
                    for r in range(block):
                        x[j * block + r] = shared[j * block + r] + shift
            x, other = _rest(x, other, net, block)
            for r in range(n):
                for j in range(widths[-1]):
                    out[begin + r, person, j] = x[j * block + r]


@njit(cache=True, nogil=True, error_model="numpy")
def backward(inputs, outputs, net, turned, logits, gradients):  # type: ignore[no-untyped-def]
    """Derivatives of what enters the last activation, by the inputs.

    Args:
        inputs: float64 ``(n_rows, n_inputs)``.
        outputs: of which outputs ``(n_chosen,)``.
        net: a ``Net``'s arrays, in float64.
        turned: those of the same layers, each from its outputs to its inputs, without biases.
        logits: float64 ``(n_rows, n_outputs)``, filled.
        gradients: float64 ``(n_chosen, n_rows, n_inputs)``, filled.
    """
    widths = net[0]
    weights = net[1]
    activations = net[5]
    factors = net[6]
    block = BLOCK_BYTES // weights.itemsize
    n_layers = len(widths) - 1
    width = net[7] * block
    values = np.zeros((n_layers + 1, width))
    sums = np.zeros((n_layers + 1, width))
    x = np.zeros(width)
    other = np.zeros(width)
    for begin in range(0, len(inputs), block):
        n = _load(inputs, begin, values[0], block)
        for which in range(n_layers):
            _layer(values[which], sums[which + 1], net, which, block)
            end = widths[which + 1] * block
            values[which + 1, :end] = sums[which + 1, :end]
            if which < n_layers - 1:
                activate(values[which + 1, :end], activations[which], factors[which])
                slopes(sums[which + 1, :end], values[which + 1, :end], activations[which], factors[which])
        for r in range(n):
            for j in range(widths[-1]):
                logits[begin + r, j] = values[n_layers, j * block + r]
        for chosen in range(len(outputs)):
            x[:] = 0.0
            x[outputs[chosen] * block : (outputs[chosen] + 1) * block] = 1.0
            for which in range(n_layers - 1, -1, -1):
                _layer(x, other, turned, n_layers - 1 - which, block)
                x, other = other, x
                if which:
                    for k in range(widths[which] * block):
                        x[k] *= sums[which, k]
            for r in range(n):
                for i in range(inputs.shape[1]):
                    gradients[chosen, begin + r, i] = x[i * block + r]


def warm_up() -> None:
    """Compile or load every loop once: a network of one unit."""
    rows = np.zeros((1, 1))
    one = np.zeros(1)
    seven = 7 * np.ones(TILE)
    for dtype in (np.float32, np.float64):
        weights = seven.astype(dtype)
        places = np.zeros(1, np.int64)
        net = (np.ones(2, np.int64), weights, weights, places, places, places[:0], one[:0], TILE)
        forward(rows, net, np.zeros((1, 1)))
        activate(weights, LINEAR, 0.0)
        if dtype is np.float32:
            forward_shifted(rows, weights[:1, None], np.zeros((1, 1), dtype), net, np.zeros((1, 1, 1)))
        else:
            backward(rows, places, net, net, np.zeros((1, 1)), np.zeros((1, 1, 1)))
    slopes(one, one, LINEAR, 0.0)
    softmax(rows)
