"""The compiled product of small matrices."""

from __future__ import annotations

from numba import njit

from fairness_engine.certification.room_kernels import FAST


@njit(cache=True, nogil=True, fastmath=FAST)
def multiply(left, index, right, out):  # type: ignore[no-untyped-def]  # numba infers the types
    """``out[i, j] = sum_q left[i, q] * right[index[q], j]``, four ``q`` and two ``i`` at a time."""
    n_left, n_inner = left.shape
    n_right = out.shape[1]
    for i in range(n_left):
        line = out[i]
        for j in range(n_right):
            line[j] = 0.0
    for i in range(0, n_left - 1, 2):
        first, second = out[i], out[i + 1]
        q = 0
        while q + 4 <= n_inner:
            a0, a1, a2, a3 = left[i, q], left[i, q + 1], left[i, q + 2], left[i, q + 3]
            b0, b1, b2, b3 = left[i + 1, q], left[i + 1, q + 1], left[i + 1, q + 2], left[i + 1, q + 3]
            r0, r1, r2, r3 = right[index[q]], right[index[q + 1]], right[index[q + 2]], right[index[q + 3]]
            for j in range(n_right):
                first[j] += a0 * r0[j] + a1 * r1[j] + a2 * r2[j] + a3 * r3[j]
                second[j] += b0 * r0[j] + b1 * r1[j] + b2 * r2[j] + b3 * r3[j]
            q += 4
        while q < n_inner:
            a0, b0, r0 = left[i, q], left[i + 1, q], right[index[q]]
            for j in range(n_right):
                first[j] += a0 * r0[j]
                second[j] += b0 * r0[j]
            q += 1
    if n_left % 2:
        line = out[n_left - 1]
        for q in range(n_inner):
            a0, r0 = left[n_left - 1, q], right[index[q]]
            for j in range(n_right):
                line[j] += a0 * r0[j]
