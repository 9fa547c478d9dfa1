"""Compiled loops over specialised trees: making them, and deciding boxes by the leaves that boxes reach.

numba compiles them once and caches them beside this file (or in ``NUMBA_CACHE_DIR``); loops over boxes release the GIL.
"""

from __future__ import annotations

import numpy as np
from numba import njit

UNDECIDED, CERTIFIED, FALSIFIED, SETTLED = 0, 1, 2, 3
"""What is known of a box; settled: every tree is in one leaf for every variant, so that any individual's decisions are everybody's."""
BLIND, TOUCHED = 0, 1
"""The first two nodes, and the first two leaves, of every graph."""

_COLUMN, _MAY_FIRST, _MAY_LAST, _SURE_FIRST, _SURE_LAST, _LEFT, _RIGHT = 0, 1, 2, 3, 4, 5, 6
_LEAF = -1

N_PROPOSALS = 8
"""Nodes a tree that propose where to split."""
DEPTH_DISCOUNT = 0.5
EXACT, ALIKE = 1, 2
"""Which leaves become one: those of equal values; those that decide alike."""

# --- making -------------------------------------------------------------------------------------


@njit(cache=True)
def specialise(roots, ends, splits, pieces, n_digits, variants, leaves, capacity):  # type: ignore[no-untyped-def]
    """The graph of all versions of all trees; see ``tree_boxes.TreeBoxes``.

    Args:
        roots, ends: of each tree ``(n_trees,)``.
        splits: feature, limit, left and right child of each node (a leaf is its own child), and the free column that its input depends on,
            -1 where the variant settles it.
        pieces: begin of each node's intervals of digits that go right, and these intervals.
        n_digits: of each column.
        variants: inputs of each variant ``(K, n_inputs)``.
        leaves: their values ``(n_nodes, n_sums)``; below, above: see ``Ensemble``; and which become one.
        capacity: how many nodes, and leaves, there is room for.

    Returns:
        nodes, leaf_low, leaf_high, roots ``(n_trees, K)``, guards ``(n_trees,)``; no nodes where there was not room enough.
    """
    feature, limit, left, right, owner = splits
    piece_starts, intervals = pieces
    values = leaves[0]
    k, n_sums = len(variants), values.shape[1]
    graph = (
        np.zeros((capacity, 8), np.int32),
        np.zeros((capacity, n_sums)),
        np.zeros((capacity, n_sums)),
        np.zeros(2, np.int64),
    )
    for number in (BLIND, TOUCHED):
        _add_leaf(graph, np.full(n_sums, float(number)), np.full(n_sums, float(number)))
    tree_roots, guards = np.empty((len(roots), k), np.int64), np.empty(len(roots), np.int64)
    for t in range(len(roots)):
        start = roots[t]
        n = ends[t] - start
        made, is_same, guard = np.empty((n, k), np.int32), np.zeros(n, np.bool_), np.zeros(n, np.int32)
        for i in range(n - 1, -1, -1):
            node = start + i
            own = intervals[piece_starts[node] : piece_starts[node + 1]]
            if graph[3][0] + (k + 1) * (len(own) + 1) > capacity:
                return graph[0][:0], graph[1], graph[2], tree_roots, guards
            a, b = left[node] - start, right[node] - start
            if a == i:
                made[i, 0] = _add_leaf(graph, values[node], values[node])
                is_same[i] = True
            elif owner[node] < 0:
                _settle(i, a, b, variants[:, feature[node]] > limit[node], made, is_same, guard)
            else:
                _split(i, a, b, graph, owner[node], own, n_digits, leaves, made, is_same, guard)
        guards[t] = guard[0]
        for v in range(k):
            tree_roots[t, v] = made[0, 0 if is_same[0] else v]
    n_nodes = graph[3][0]
    n_leaves = graph[3][1]
    return graph[0][:n_nodes].copy(), graph[1][:n_leaves].copy(), graph[2][:n_leaves].copy(), tree_roots, guards


@njit(cache=True)
def _settle(i, left, right, goes_right, made, is_same, guard):  # type: ignore[no-untyped-def]
    """A node whose side each variant settles: its versions are those of its children."""
    k = len(goes_right)
    n_right = goes_right.sum()
    if n_right in (0, k):
        child = right if n_right else left
        made[i], is_same[i], guard[i] = made[child], is_same[child], guard[child]
        return
    for v in range(k):
        child = right if goes_right[v] else left
        made[i, v] = made[child, 0 if is_same[child] else v]
    is_same[i] = (made[i] == made[i, 0]).all()
    guard[i] = BLIND if is_same[i] else TOUCHED


@njit(cache=True)
def _split(i, left, right, graph, column, own, n_digits, leaves, made, is_same, guard):  # type: ignore[no-untyped-def]
    """A node that free digits decide: one version for every pair of its children's."""
    if is_same[left] and is_same[right]:
        made[i, 0] = _add_split(graph, column, own, n_digits, made[left, 0], made[right, 0], leaves)
        is_same[i] = True
        return
    for v in range(made.shape[1]):
        a, b = made[left, 0 if is_same[left] else v], made[right, 0 if is_same[right] else v]
        made[i, v] = -1
        for u in range(v - 1, -1, -1):
            if made[left, 0 if is_same[left] else u] == a and made[right, 0 if is_same[right] else u] == b:
                made[i, v] = made[i, u]
                break
        if made[i, v] < 0:
            made[i, v] = _add_split(graph, column, own, n_digits, a, b, leaves)
    is_same[i] = (made[i] == made[i, 0]).all()
    if not is_same[i]:
        guard[i] = _add_split(graph, column, own, n_digits, guard[left], guard[right], leaves)


@njit(cache=True)
def _add_leaf(graph, low, high):  # type: ignore[no-untyped-def]
    nodes, leaf_low, leaf_high, counts = graph
    node, leaf = counts
    nodes[node, _COLUMN], nodes[node, _LEFT], nodes[node, _RIGHT] = _LEAF, leaf, leaf
    leaf_low[leaf], leaf_high[leaf] = low, high
    counts += 1
    return node


@njit(cache=True)
def _add_split(graph, column, own, n_digits, left, right, leaves):  # type: ignore[no-untyped-def]
    """The node that sends intervals of digits to the right: a chain of nodes, one an interval; less where sides are equal."""
    nodes, leaf_low, leaf_high, counts = graph
    _, below, above, merges = leaves
    node = left
    for j in range(len(own) - 1, -1, -1):
        if node == right or own[j, 1] < own[j, 0] or own[j, 0] >= n_digits[column]:
            continue
        if own[j, 2] <= 0 and own[j, 3] >= n_digits[column] - 1:
            node = right
            continue
        if node > TOUCHED and right > TOUCHED and nodes[node, _COLUMN] == _LEAF and nodes[right, _COLUMN] == _LEAF:
            a, b = nodes[node, _LEFT], nodes[right, _LEFT]
            if merges == EXACT and (leaf_low[a] == leaf_low[b]).all():
                continue
            is_negative, is_positive = (
                max(leaf_high[a, 0], leaf_high[b, 0]) <= below[0],
                min(leaf_low[a, 0], leaf_low[b, 0]) > above[0],
            )
            if merges == ALIKE and (is_negative or is_positive):
                node = _add_leaf(graph, np.minimum(leaf_low[a], leaf_low[b]), np.maximum(leaf_high[a], leaf_high[b]))
                continue
        made = counts[0]
        nodes[made, _COLUMN], nodes[made, _LEFT], nodes[made, _RIGHT] = column, node, right
        nodes[made, _MAY_FIRST : _SURE_LAST + 1] = own[j]
        counts[0] += 1
        node = made
    return node


# --- deciding -----------------------------------------------------------------------------------


@njit(cache=True, nogil=True, inline="always")
def _descend(nodes, node, low, high):  # type: ignore[no-untyped-def]
    """The first node from ``node`` on with two sides in the box, or a leaf."""
    while True:
        column = nodes[node, _COLUMN]
        if column < 0:
            return node
        begin, end = low[column], high[column]
        may_right = end >= nodes[node, _MAY_FIRST] and begin <= nodes[node, _MAY_LAST]
        may_left = begin < nodes[node, _SURE_FIRST] or end > nodes[node, _SURE_LAST]
        if may_left and may_right:
            return node
        node = nodes[node, _RIGHT] if may_right else nodes[node, _LEFT]


@njit(cache=True, nogil=True)
def _measure(nodes, root, low, high, scratch, mark):  # type: ignore[no-untyped-def]
    """Where a tree stands in a box: its first node with two sides, measured, or its leaf."""
    seen, kids, node_low, node_high, stack = scratch
    top = _descend(nodes, root, low, high)
    if nodes[top, _COLUMN] < 0 or seen[top] == mark:
        return top
    stack[0], depth = top, 1
    while depth:
        node = stack[depth - 1]
        if seen[node] != -mark:
            seen[node] = -mark
            kids[node, 0] = _descend(nodes, nodes[node, _LEFT], low, high)
            kids[node, 1] = _descend(nodes, nodes[node, _RIGHT], low, high)
        one, other = kids[node, 0], kids[node, 1]
        if nodes[one, _COLUMN] >= 0 and seen[one] != mark:
            stack[depth] = one
            depth += 1
            continue
        if nodes[other, _COLUMN] >= 0 and seen[other] != mark:
            stack[depth] = other
            depth += 1
            continue
        for s in range(node_low.shape[1]):
            node_low[node, s] = min(node_low[one, s], node_low[other, s])
            node_high[node, s] = max(node_high[one, s], node_high[other, s])
        seen[node] = mark
        depth -= 1
    return top


@njit(cache=True, nogil=True)
def make_scratch(nodes, leaf_low, leaf_high):  # type: ignore[no-untyped-def]
    """Memory of one thread: marks, children, ranges of every node, a stack; leaves have their ranges for good."""
    n, n_sums = len(nodes), leaf_low.shape[1]
    node_low, node_high = np.empty((n, n_sums)), np.empty((n, n_sums))
    for i in range(n):
        if nodes[i, _COLUMN] < 0:
            node_low[i], node_high[i] = leaf_low[nodes[i, _LEFT]], leaf_high[nodes[i, _LEFT]]
    return np.zeros(n, np.int64), np.empty((n, 2), np.int32), node_low, node_high, np.empty(n, np.int32)


@njit(cache=True, nogil=True)
def assess_boxes(low, high, trees, sums, scratch, mark, verdict, column, cut, bounds, blame, n_open):  # type: ignore[no-untyped-def]
    """Decide boxes, and say where to split those that stay undecided.

    Args:
        low, high: digits ``(n, D)``.
        trees: nodes, shared, versions, version_starts, version_of, guards; see ``TreeBoxes``.
        sums: start, below, above, first, second, number of classes; see ``Ensemble``.
        scratch: from ``make_scratch``; mark: greater than in any call before.
        verdict, column, cut: out ``(n,)``; column -1 where no split helps.
        bounds: out, of every sum of every variant ``(n, K, n_sums, 2)``, or no boxes where nobody asks: boxes are not walked further
            than their verdict needs.
        blame, n_open: out ``(n, D)`` and ``(n,)``: what splits of each column leave open; trees that are not in one leaf.
    """
    nodes, shared, versions, _, version_of, guards = trees
    k, n_touched, n_sums = version_of.shape[1], len(guards), len(sums[0])
    variant_low, variant_high = np.empty((k, n_sums)), np.empty((k, n_sums))
    tops, share = np.empty(len(shared) + len(versions), np.int32), np.empty(len(shared) + len(versions))
    is_touched, top_of = np.empty(n_touched, np.bool_), np.empty(len(versions), np.int32)
    for b in range(len(low)):
        mark += 1
        any_touched = False
        for t in range(n_touched):
            guard = _measure(nodes, guards[t], low[b], high[b], scratch, mark)
            is_touched[t] = scratch[3][guard, 0] > 0
            any_touched |= is_touched[t]
        column[b], cut[b] = -1, 0
        if not any_touched:
            verdict[b] = CERTIFIED
            if not len(bounds):
                continue
        n_tops, n_open[b] = _place(low[b], high[b], trees, is_touched, scratch, mark, tops, share, top_of)
        _add_up(version_of, sums[0], is_touched, scratch, tops[:n_tops], share, top_of, variant_low, variant_high)
        if any_touched:
            verdict[b] = _decide(variant_low, variant_high, sums)
            if verdict[b] == UNDECIDED and n_open[b] == 0:
                verdict[b] = SETTLED
        if verdict[b] == UNDECIDED or len(bounds):
            column[b], cut[b] = _choose(nodes, low[b], high[b], scratch, tops[:n_tops], share, blame[b])
        if len(bounds):
            bounds[b, :, :, 0], bounds[b, :, :, 1] = variant_low, variant_high


@njit(cache=True, nogil=True)
def _place(low, high, trees, is_touched, scratch, mark, tops, share, top_of):  # type: ignore[no-untyped-def]
    """Walk every tree, those that the box's protected splits do not reach in one version only.

    Returns:
        how many walks there were: where each ended is in ``tops``, which part of its tree's versions it was in ``share`` (1: the only one),
        where each version of a touched tree ended in ``top_of``; and how many trees are not in one leaf.
    """
    nodes, shared, versions, version_starts = trees[:4]
    n_tops = n_open = 0
    for root in shared:
        tops[n_tops], share[n_tops] = _measure(nodes, root, low, high, scratch, mark), 1.0
        n_open += nodes[tops[n_tops], _COLUMN] >= 0
        n_tops += 1
    for t in range(len(is_touched)):
        first, last = version_starts[t], version_starts[t + 1]
        if not is_touched[t]:
            last = first + 1
        is_open = False
        for j in range(first, last):
            top = _measure(nodes, versions[j], low, high, scratch, mark)
            top_of[j] = tops[n_tops] = top
            share[n_tops] = 1.0 / (last - first)
            is_open |= nodes[top, _COLUMN] >= 0
            n_tops += 1
        n_open += is_open
    return n_tops, n_open


@njit(cache=True, nogil=True)
def _add_up(version_of, start, is_touched, scratch, tops, share, top_of, variant_low, variant_high):  # type: ignore[no-untyped-def]
    """Bounds ``(K, n_sums)`` of the sums of every variant."""
    node_low, node_high = scratch[2], scratch[3]
    for s in range(len(start)):
        begin = end = start[s]
        for i in range(len(tops)):
            if share[i] == 1.0:
                begin += node_low[tops[i], s]
                end += node_high[tops[i], s]
        for v in range(len(variant_low)):
            variant_low[v, s], variant_high[v, s] = begin, end
            for t in range(len(is_touched)):
                if is_touched[t]:
                    top = top_of[version_of[t, v]]
                    variant_low[v, s] += node_low[top, s]
                    variant_high[v, s] += node_high[top, s]


@njit(cache=True, nogil=True)
def _decide(variant_low, variant_high, sums):  # type: ignore[no-untyped-def]
    """What bounds of the sums of every variant ``(K, n_sums)`` prove."""
    _, below, above, first, second, n_classes = sums
    may_win, must_win = np.empty(n_classes, np.bool_), np.empty(n_classes, np.bool_)
    any_wins, any_loses, all_decided, n_winners = np.zeros(n_classes, np.bool_), np.zeros(n_classes, np.bool_), True, 0
    for v in range(len(variant_low)):
        may_win[:], must_win[:] = True, True
        for s in range(len(below)):
            is_first, is_second = variant_low[v, s] > above[s], variant_high[v, s] <= below[s]
            may_win[second[s]] &= not is_first
            may_win[first[s]] &= not is_second
            must_win[first[s]] &= is_first
            must_win[second[s]] &= is_second
        decided = False
        for c in range(n_classes):
            if must_win[c]:
                decided = True
                n_winners += not any_wins[c]
                any_wins[c] = True
            any_loses[c] |= not may_win[c]
        all_decided &= decided
    for c in range(n_classes):
        if any_wins[c] and any_loses[c]:
            return FALSIFIED
    return CERTIFIED if all_decided and n_winners == 1 else UNDECIDED


# --- splitting ----------------------------------------------------------------------------------


@njit(cache=True, nogil=True, inline="always")
def _cut_of(nodes, node, begin, end):  # type: ignore[no-untyped-def]
    """The last digit of the left part that sets a node's two sides apart; ``end`` where a box is too narrow."""
    for j in range(4):
        place = nodes[node, _MAY_FIRST + j] - (j % 2 == 0)  # the digit before the first, or the last itself
        if begin <= place < end:
            return np.int64(place)
    return end


@njit(cache=True, nogil=True)
def _choose(nodes, low, high, scratch, tops, share, blame):  # type: ignore[no-untyped-def]
    """Where to split a box: column and last digit of the left part, -1 where no split helps.

    Every node with two sides near the top of a tree proposes its own threshold, for the width that it takes from the tree's range. A
    threshold also settles the proposals of its column on the part of the box that they do not cross.

    Args:
        blame: out ``(D,)``: widths proposed by column.
    """
    kids, node_low, node_high = scratch[1], scratch[2], scratch[3]
    n_most = len(tops) * N_PROPOSALS
    keys, gains = np.empty(n_most, np.int64), np.empty(n_most)
    queue, parts = np.empty(N_PROPOSALS + 2, np.int32), np.empty(N_PROPOSALS + 2)
    n = 0
    blame[:] = 0.0
    for i in range(len(tops)):
        queue[0], parts[0] = tops[i], share[i]
        at, n_queued = 0, 1
        while at < n_queued and at < N_PROPOSALS:
            node, part = queue[at], parts[at]
            at += 1
            column = nodes[node, _COLUMN]
            if column < 0:
                continue
            gain = 0.0
            for s in range(node_low.shape[1]):
                gain += node_high[node, s] - node_low[node, s]
                for side in range(2):
                    gain -= 0.5 * (node_high[kids[node, side], s] - node_low[kids[node, side], s])
            cut = _cut_of(nodes, node, low[column], high[column])
            if cut < high[column]:
                keys[n], gains[n] = (np.int64(column) << 32) + cut, part * gain
                blame[column] += part * gain
                n += 1
            for side in range(2):
                if n_queued < len(queue):
                    queue[n_queued], parts[n_queued] = kids[node, side], part * DEPTH_DISCOUNT
                    n_queued += 1
    return _best(keys[:n], gains[:n], low, high)


@njit(cache=True, nogil=True)
def _best(keys, gains, low, high):  # type: ignore[no-untyped-def]
    """The proposal, column times 2**32 plus cut, that settles the most; -1 and 0 of none."""
    order = np.argsort(keys)
    best_column, best_cut, best = -1, 0, -1.0
    i, n = 0, len(keys)
    while i < n:
        column = keys[order[i]] >> 32
        j, total = i, 0.0
        while j < n and keys[order[j]] >> 32 == column:
            total += gains[order[j]]
            j += 1
        before = 0.0
        while i < j:
            key, own = keys[order[i]], 0.0
            while i < j and keys[order[i]] == key:
                own += gains[order[i]]
                i += 1
            cut = key & 0xFFFFFFFF
            left = (cut - low[column] + 1) / (high[column] - low[column] + 1)
            score = own + left * (total - before - own) + (1 - left) * before
            if score > best:
                best_column, best_cut, best = column, cut, score
            before += own
    return best_column, best_cut


# --- beforehand ---------------------------------------------------------------------------------


def warm_up() -> None:
    """Compile every loop, or load it from the cache: one tree of two leaves, split along the one column."""
    one, two = np.zeros(1, np.int64), np.zeros(3, np.int64)
    leaves = (np.array([[0.0], [-1.0], [1.0]]), np.zeros(1), np.zeros(1), ALIKE)
    pieces = np.array([[1, 1, 1, 1]], np.int32)
    nodes, leaf_low, leaf_high, roots, guards = specialise(
        one, one + 3, (two, np.zeros(3), np.array([1, 1, 2]), np.array([2, 1, 2]), two), (np.array([0, 1, 1, 1]), pieces),
        np.array([2]), np.zeros((2, 1)), leaves, 64,
    )  # fmt: skip
    trees = (nodes, roots[:, 0], roots[0, :0], one, np.empty((0, 2), np.int64), guards[:0])
    sums = (np.zeros(1), np.zeros(1), np.zeros(1), one + 1, one, 2)
    scratch = make_scratch(nodes, leaf_low, leaf_high)
    low, high = np.zeros((1, 1), np.int64), np.ones((1, 1), np.int64)
    verdict, column, cut = np.zeros(1, np.int8), np.zeros(1, np.int64), np.zeros(1, np.int64)
    bounds, blame, n_open = np.empty((1, 2, 1, 2)), np.zeros((1, 1)), np.zeros(1, np.int64)
    assess_boxes(low, high, trees, sums, scratch, 0, verdict, column, cut, bounds, blame, n_open)
