"""Compiled loops over specialised trees: making them, and deciding boxes by the leaves that boxes reach.

numba compiles them once and caches them beside this file (or in ``NUMBA_CACHE_DIR``); loops over boxes release the GIL.
"""

from __future__ import annotations

import numpy as np
from numba import njit

UNDECIDED = 0
CERTIFIED = 1
FALSIFIED = 2
SETTLED = 3
"""What is known of a box; settled: every tree is in one leaf for every variant, so that any individual's decisions are
everybody's.
"""
BLIND = 0
TOUCHED = 1
"""The first two nodes, and the first two leaves, of every graph."""

_COLUMN = 0
_MAY_FIRST = 1
_MAY_LAST = 2
_SURE_FIRST = 3
_SURE_LAST = 4
_LEFT = 5
_RIGHT = 6
_LEAF = -1

N_LEVELS = 3
"""Nodes with two sides that are measured one by one, in levels from the top; deeper ones only as far as they widen a
range.
"""
N_FEW_VERSIONS = 8
"""Versions of a tree from which on everything is measured one by one, so that versions share it."""
LEAST_GAIN = 0.01
"""What a split counts for that takes nothing from a range, as a share of the range."""
N_QUEUE = 128
"""Nodes a tree that are looked at for proposals; those of cells too narrow to split propose nothing."""
DEPTH_DISCOUNT = 0.5
"""What a node's proposal counts for, against the node above it."""
EXACT = 1
ALIKE = 2
"""Which leaves become one: those of equal values; those that decide alike."""

# --- making -------------------------------------------------------------------------------------


@njit(cache=True)
def specialise(roots, ends, splits, pieces, n_digits, variants, leaves, capacity):  # type: ignore[no-untyped-def]
    """The graph of all versions of all trees; see ``specialised_trees.TreeBoxes``.

    Args:
        roots, ends: of each tree ``(n_trees,)``.
        splits: feature, limit, left and right child of each node (a leaf is its own child), and the free column that
            its input depends on, -1 where the variant settles it.
        pieces: begin of each node's intervals of digits that go right, and these intervals.
        n_digits: of each column.
        variants: inputs of each variant ``(K, n_inputs)``.
        leaves: their values ``(n_nodes, n_sums)``; below, above: see ``Ensemble``; and which become one.
        capacity: how many nodes there is room for.

    Returns:
        nodes, least and greatest sums, roots ``(n_trees, K)``, guards ``(n_trees,)``; no nodes where there was not room
        enough.
    """
    feature, limit, left, right, owner = splits
    piece_starts, intervals = pieces
    values = leaves[0]
    k = len(variants)
    n_sums = values.shape[1]
    graph = (
        np.zeros((capacity, 8), np.int32),
        np.zeros((capacity, n_sums)),
        np.zeros((capacity, n_sums)),
        np.zeros(1, np.int64),
    )
    for number in (BLIND, TOUCHED):
        _add_leaf(graph, number + np.zeros(n_sums), number + np.zeros(n_sums))
    tree_roots = np.empty((len(roots), k), np.int64)
    guards = np.empty(len(roots), np.int64)
    for t in range(len(roots)):
        start = roots[t]
        n = ends[t] - start
        made = np.empty((n, k), np.int32)
        is_same = np.zeros(n, np.bool_)
        guard = np.zeros(n, np.int32)
        for i in range(n - 1, -1, -1):
            node = start + i
            own = intervals[piece_starts[node] : piece_starts[node + 1]]
            if graph[3][0] + (k + 1) * (len(own) + 1) > capacity:
                return graph[0][:0], graph[1], graph[2], tree_roots, guards
            a = left[node] - start
            b = right[node] - start
            if a == i:
                made[i, 0] = _add_leaf(graph, values[node], values[node])
                is_same[i] = True
            elif owner[node] < 0:
                _settle(i, a, b, variants[:, feature[node]], limit[node], made, is_same, guard)
            else:
                _split(i, a, b, graph, owner[node], own, n_digits, leaves, made, is_same, guard)
        guards[t] = guard[0]
        for v in range(k):
            tree_roots[t, v] = made[0, 0 if is_same[0] else v]
    n = graph[3][0]
    return graph[0][:n].copy(), graph[1][:n].copy(), graph[2][:n].copy(), tree_roots, guards


@njit(cache=True)
def _settle(i, left, right, values, limit, made, is_same, guard):  # type: ignore[no-untyped-def]
    """A node whose side each variant settles: its versions are those of its children."""
    k = len(values)
    n_right = 0
    for v in range(k):
        child = right if values[v] > limit else left
        n_right += values[v] > limit
        made[i, v] = made[child, 0 if is_same[child] else v]
    is_same[i] = _is_constant(made[i])
    guard[i] = TOUCHED
    if is_same[i]:
        guard[i] = BLIND
    elif n_right in (0, k):
        guard[i] = guard[right if n_right else left]


@njit(cache=True)
def _is_constant(values):  # type: ignore[no-untyped-def]
    differ = 0
    for value in values:
        differ += value != values[0]
    return differ == 0


@njit(cache=True)
def _split(i, left, right, graph, column, own, n_digits, leaves, made, is_same, guard):  # type: ignore[no-untyped-def]
    """A node that free digits decide: one version for every pair of its children's."""
    if is_same[left] and is_same[right]:
        made[i, 0] = _add_split(graph, column, own, n_digits, made[left, 0], made[right, 0], leaves)
        is_same[i] = True
        return
    for v in range(made.shape[1]):
        a = made[left, 0 if is_same[left] else v]
        b = made[right, 0 if is_same[right] else v]
        made[i, v] = -1
        for u in range(v - 1, -1, -1):
            if made[left, 0 if is_same[left] else u] == a and made[right, 0 if is_same[right] else u] == b:
                made[i, v] = made[i, u]
                break
        if made[i, v] < 0:
            made[i, v] = _add_split(graph, column, own, n_digits, a, b, leaves)
    is_same[i] = _is_constant(made[i])
    if not is_same[i]:
        guard[i] = _add_split(graph, column, own, n_digits, guard[left], guard[right], leaves)


@njit(cache=True)
def _add_leaf(graph, low, high):  # type: ignore[no-untyped-def]
    nodes, span_low, span_high, count = graph
    node = count[0]
    nodes[node, _COLUMN] = _LEAF
    for s in range(len(low)):
        span_low[node, s] = low[s]
        span_high[node, s] = high[s]
    count[0] += 1
    return node


@njit(cache=True)
def _add_split(graph, column, own, n_digits, left, right, leaves):  # type: ignore[no-untyped-def]
    """The node that sends intervals of digits to the right: a chain of nodes, one an interval; less where sides are
    equal.
    """
    nodes, span_low, span_high, _ = graph
    node = left
    for j in range(len(own) - 1, -1, -1):
        if node == right or own[j, 1] < own[j, 0] or own[j, 0] >= n_digits[column]:
            continue
        if own[j, 2] <= 0 and own[j, 3] >= n_digits[column] - 1:
            node = right
            continue
        both = node > TOUCHED and right > TOUCHED and nodes[node, _COLUMN] == nodes[right, _COLUMN] == _LEAF
        made = _add_leaf(graph, span_low[node], span_high[node])
        n_apart = 0
        for s in range(span_low.shape[1]):
            n_apart += span_low[right, s] != span_high[made, s] or span_high[right, s] != span_low[made, s]
            span_low[made, s] = min(span_low[made, s], span_low[right, s])
            span_high[made, s] = max(span_high[made, s], span_high[right, s])
        is_alike = leaves[3] == ALIKE and (span_high[made, 0] <= leaves[1][0] or span_low[made, 0] > leaves[2][0])
        if not (both and (is_alike or (leaves[3] == EXACT and n_apart == 0))):
            nodes[made, _COLUMN] = column
            nodes[made, _LEFT] = node
            nodes[made, _RIGHT] = right
            for i in range(4):
                nodes[made, _MAY_FIRST + i] = own[j, i]
        node = made
    return node


# --- deciding -----------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _descend(nodes, node, low, high):  # type: ignore[no-untyped-def]
    """The first node from ``node`` on with two sides in the box, or a leaf."""
    while True:
        column = nodes[node, _COLUMN]
        if column < 0:
            return node
        begin = low[column]
        end = high[column]
        may_right = end >= nodes[node, _MAY_FIRST] and begin <= nodes[node, _MAY_LAST]
        may_left = begin < nodes[node, _SURE_FIRST] or end > nodes[node, _SURE_LAST]
        if may_left and may_right:
            return node
        node = nodes[node, _RIGHT] if may_right else nodes[node, _LEFT]


@njit(cache=True, nogil=True)
def _reach(nodes, spans, node, low, high, scratch, mark, depth):  # type: ignore[no-untyped-def]
    """Set the range of a node with two sides: of the leaves that the box reaches; what cannot widen the range is not
    walked.

    Args:
        depth: how much of the stack is in use.
    """
    seen, kids, node_low, node_high, stack = scratch
    span_low, span_high = spans
    n_sums = span_low.shape[1]
    for s in range(n_sums):
        node_low[node, s] = np.inf
        node_high[node, s] = -np.inf
    stack[depth] = nodes[node, _LEFT]
    stack[depth + 1] = nodes[node, _RIGHT]
    top = depth + 2
    while top > depth:
        top -= 1
        at = _descend(nodes, stack[top], low, high)
        is_inside = True
        for s in range(n_sums):
            is_inside &= span_low[at, s] >= node_low[node, s] and span_high[at, s] <= node_high[node, s]
        if is_inside:
            continue
        if nodes[at, _COLUMN] < 0 or seen[at] == mark:
            for s in range(n_sums):
                node_low[node, s] = min(node_low[node, s], node_low[at, s])
                node_high[node, s] = max(node_high[node, s], node_high[at, s])
            continue
        stack[top] = nodes[at, _LEFT]
        stack[top + 1] = nodes[at, _RIGHT]
        top += 2
    kids[node, 0] = _LEAF
    seen[node] = mark


@njit(cache=True, nogil=True)
def _measure(nodes, spans, root, low, high, scratch, mark, n_levels):  # type: ignore[no-untyped-def]
    """Where a tree stands in a box: its first node with two sides, measured, or its leaf.

    Args:
        n_levels: nodes with two sides that are less than so many levels deep are measured too.
    """
    seen, kids, node_low, node_high, stack = scratch
    top = _descend(nodes, root, low, high)
    if nodes[top, _COLUMN] < 0 or seen[top] == mark:
        return top
    stack[0] = top
    depth = np.int64(1)
    while depth:
        node = stack[depth - 1]
        if depth > n_levels:
            _reach(nodes, spans, node, low, high, scratch, mark, depth)
            depth -= 1
            continue
        if seen[node] != -mark:
            seen[node] = -mark
            kids[node, 0] = _descend(nodes, nodes[node, _LEFT], low, high)
            kids[node, 1] = _descend(nodes, nodes[node, _RIGHT], low, high)
        waits = _LEAF
        for side in range(2):
            if nodes[kids[node, side], _COLUMN] >= 0 and seen[kids[node, side]] != mark:
                waits = kids[node, side]
        if waits >= 0:
            stack[depth] = waits
            depth += 1
            continue
        for s in range(node_low.shape[1]):
            node_low[node, s] = min(node_low[kids[node, 0], s], node_low[kids[node, 1], s])
            node_high[node, s] = max(node_high[kids[node, 0], s], node_high[kids[node, 1], s])
        seen[node] = mark
        depth -= 1
    return top


@njit(cache=True, nogil=True)
def make_scratch(nodes, spans):  # type: ignore[no-untyped-def]
    """Memory of one thread: marks, children, ranges of every node (leaves have theirs for good), a stack."""
    n = len(nodes)
    stack = np.empty(2 * n + 2, np.int32)
    return np.zeros(n, np.int64), np.empty((n, 2), np.int32), spans[0].copy(), spans[1].copy(), stack


@njit(cache=True, nogil=True)
def assess_boxes(low, high, trees, spans, sums, scratch, mark, n_proposals, out, details):  # type: ignore[no-untyped-def]
    """Decide boxes, and say where to split those that stay undecided.

    Args:
        low, high: digits ``(n, D)``.
        trees: nodes, shared, versions, version_starts, version_of, guards; see ``TreeBoxes``.
        spans: least and greatest sums of every node ``(n_nodes, n_sums)`` each.
        sums: start, below, above, first, second, number of classes; see ``Ensemble``.
        scratch: from ``make_scratch``; mark: greater than in any call before.
        n_proposals: nodes a tree that propose where to split.
        out: verdict, column, cut ``(n,)`` each; column -1 where no split helps.
        details: out as well: bounds of every sum of every variant ``(n, K, n_sums, 2)``, or of no boxes where nobody
            asks (boxes are then not walked further than their verdict needs); what splits of each column leave open
            ``(n, D)``; trees that are not in one leaf ``(n,)``.
    """
    nodes, shared, versions, _, version_of, guards = trees
    verdict, column, cut = out
    bounds, blame, n_open = details
    k = version_of.shape[1]
    n_touched = len(guards)
    n_sums = len(sums[0])
    variant_low = np.empty((k, n_sums))
    variant_high = np.empty((k, n_sums))
    tops = np.empty(len(shared) + len(versions), np.int32)
    share = np.empty(len(shared) + len(versions))
    is_touched = np.empty(n_touched, np.bool_)
    top_of = np.empty(len(versions), np.int32)
    for b in range(len(low)):
        mark += 1
        any_touched = False
        for t in range(n_touched):
            guard = _measure(nodes, spans, guards[t], low[b], high[b], scratch, mark, np.int64(0))
            is_touched[t] = scratch[3][guard, 0] > 0
            any_touched |= is_touched[t]
        column[b] = -1
        cut[b] = 0
        if not any_touched:
            verdict[b] = CERTIFIED
            if not len(bounds):
                continue
        n_tops, n_open[b] = _place(low[b], high[b], trees, spans, is_touched, scratch, mark, tops, share, top_of)
        _add_up(version_of, sums[0], is_touched, scratch, tops[:n_tops], share, top_of, variant_low, variant_high)
        if any_touched:
            verdict[b] = _decide(variant_low, variant_high, sums)
            if verdict[b] == UNDECIDED and n_open[b] == 0:
                verdict[b] = SETTLED
        if verdict[b] == UNDECIDED or len(bounds):
            column[b], cut[b] = _choose(
                nodes, low[b], high[b], scratch, mark, tops[:n_tops], share, n_proposals, blame[b]
            )
        if len(bounds):
            for v in range(k):
                for s in range(n_sums):
                    bounds[b, v, s, 0] = variant_low[v, s]
                    bounds[b, v, s, 1] = variant_high[v, s]


@njit(cache=True, nogil=True)
def _place(low, high, trees, spans, is_touched, scratch, mark, tops, share, top_of):  # type: ignore[no-untyped-def]
    """Walk every tree, those that the box's protected splits do not reach in one version only.

    Returns:
        how many walks there were: where each ended is in ``tops``, which part of its tree's versions it was in
        ``share`` (1: the only one), where each version of a touched tree ended in ``top_of``; and how many trees are
        not in one leaf.
    """
    nodes, shared, versions, version_starts = trees[:4]
    n_tops = n_open = 0
    for root in shared:
        tops[n_tops] = _measure(nodes, spans, root, low, high, scratch, mark, np.int64(N_LEVELS))
        share[n_tops] = 1.0
        n_open += nodes[tops[n_tops], _COLUMN] >= 0
        n_tops += 1
    for t in range(len(is_touched)):
        first = version_starts[t]
        last = version_starts[t + 1]
        if not is_touched[t]:
            last = first + 1
        is_open = False
        n_levels = np.int64(N_LEVELS) if last - first <= N_FEW_VERSIONS else np.int64(len(nodes))
        for j in range(first, last):
            top = _measure(nodes, spans, versions[j], low, high, scratch, mark, n_levels)
            top_of[j] = tops[n_tops] = top
            share[n_tops] = 1.0 / (last - first)
            is_open |= nodes[top, _COLUMN] >= 0
            n_tops += 1
        n_open += is_open
    return n_tops, n_open


@njit(cache=True, nogil=True)
def _add_up(version_of, start, is_touched, scratch, tops, share, top_of, variant_low, variant_high):  # type: ignore[no-untyped-def]
    """Bounds ``(K, n_sums)`` of the sums of every variant."""
    node_low = scratch[2]
    node_high = scratch[3]
    for s in range(len(start)):
        begin = end = start[s]
        for i in range(len(tops)):
            if share[i] == 1.0:
                begin += node_low[tops[i], s]
                end += node_high[tops[i], s]
        for v in range(len(variant_low)):
            variant_low[v, s] = begin
            variant_high[v, s] = end
            for t in range(len(is_touched)):
                if is_touched[t]:
                    top = top_of[version_of[t, v]]
                    variant_low[v, s] += node_low[top, s]
                    variant_high[v, s] += node_high[top, s]


@njit(cache=True, nogil=True)
def _decide(variant_low, variant_high, sums):  # type: ignore[no-untyped-def]
    """What bounds of the sums of every variant ``(K, n_sums)`` prove."""
    _, below, above, first, second, n_classes = sums
    may_win = np.ones(n_classes, np.bool_)
    must_win = np.ones(n_classes, np.bool_)
    any_wins = np.zeros(n_classes, np.bool_)
    any_loses = np.zeros(n_classes, np.bool_)
    all_decided = True
    n_winners = 0
    for v in range(len(variant_low)):
        for c in range(n_classes):
            may_win[c] = must_win[c] = True
        for s in range(len(below)):
            is_first = variant_low[v, s] > above[s]
            is_second = variant_high[v, s] <= below[s]
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


@njit(cache=True, nogil=True)
def _cut_of(nodes, node, begin, end):  # type: ignore[no-untyped-def]
    """The last digit of the left part that sets a node's two sides apart; ``end`` where a box is too narrow."""
    for j in range(4):
        place = nodes[node, _MAY_FIRST + j] - (j % 2 == 0)  # the digit before the first, or the last itself
        if begin <= place < end:
            return np.int64(place)
    return end


@njit(cache=True, nogil=True)
def _saving(nodes, node, width, scratch, mark):  # type: ignore[no-untyped-def]
    """How much narrower the range below a node is on one side of it, in the mean of both sides that were measured."""
    seen, kids, node_low, node_high = scratch[:4]
    saving = 0.0
    for side in range(2):
        kid = kids[node, side]
        if nodes[kid, _COLUMN] < 0 or seen[kid] == mark:
            saving += 0.5 * width
            for s in range(node_low.shape[1]):
                saving -= 0.5 * (node_high[kid, s] - node_low[kid, s])
    return saving


@njit(cache=True, nogil=True)
def _choose(nodes, low, high, scratch, mark, tops, share, n_proposals, blame):  # type: ignore[no-untyped-def]
    """Where to split a box: column and last digit of the left part, -1 where no split helps.

    The nodes with two sides at the top of every tree propose their thresholds, for the width that these take from the
    range below them.

    Args:
        blame: out ``(D,)``: widths proposed by column.
    """
    seen, kids, node_low, node_high = scratch[:4]
    keys = np.empty(len(tops) * n_proposals, np.int64)
    gains = np.empty(len(tops) * n_proposals)
    queue = np.empty(N_QUEUE, np.int32)
    widths = np.empty(N_QUEUE)
    parts = np.empty(N_QUEUE)
    n = 0
    for i in range(len(blame)):
        blame[i] = 0.0
    for i in range(len(tops)):
        queue[0] = tops[i]
        widths[0] = 0.0
        parts[0] = share[i]
        at = 0
        n_queued = 1
        n_most = n + n_proposals
        while at < n_queued and n < n_most:
            node = queue[at]
            width = widths[at]
            part = parts[at]
            at += 1
            column = nodes[node, _COLUMN]
            if column < 0:
                continue
            if seen[node] == mark:
                width = 0.0
                for s in range(node_low.shape[1]):
                    width += node_high[node, s] - node_low[node, s]
            if seen[node] != mark or kids[node, 0] < 0:
                kids[node, 0] = _descend(nodes, nodes[node, _LEFT], low, high)
                kids[node, 1] = _descend(nodes, nodes[node, _RIGHT], low, high)
            gain = LEAST_GAIN * width + _saving(nodes, node, width, scratch, mark)
            cut = _cut_of(nodes, node, low[column], high[column])
            if cut < high[column]:
                keys[n] = (np.int64(column) << 32) + cut
                gains[n] = part * gain
                blame[column] += part * gain
                n += 1
            for side in range(2):
                if n_queued < N_QUEUE:
                    queue[n_queued] = kids[node, side]
                    widths[n_queued] = width
                    parts[n_queued] = part * DEPTH_DISCOUNT
                    n_queued += 1
    return _best(keys[:n], gains[:n], low, high)


@njit(cache=True, nogil=True)
def _best(keys, gains, low, high):  # type: ignore[no-untyped-def]
    """The proposal, column times 2**32 plus cut, that settles the most; -1 and 0 of none.

    A threshold settles its own proposal on both parts, and another of its column on the part that the other one does
    not cross.
    """
    _sort(keys, gains)
    best_column = -1
    best_cut = 0
    best = -1.0
    i = 0
    n = len(keys)
    while i < n:
        column = keys[i] >> 32
        j = i
        total = 0.0
        while j < n and keys[j] >> 32 == column:
            total += gains[j]
            j += 1
        before = 0.0
        while i < j:
            key = keys[i]
            own = 0.0
            while i < j and keys[i] == key:
                own += gains[i]
                i += 1
            cut = key & 0xFFFFFFFF
            left = (cut - low[column] + 1) / (high[column] - low[column] + 1)
            score = own + left * (total - before - own) + (1 - left) * before
            if score > best:
                best_column = column
                best_cut = cut
                best = score
            before += own
    return best_column, best_cut


@njit(cache=True, nogil=True)
def _sort(keys, gains):  # type: ignore[no-untyped-def]
    """Sort by key, in place (Shell's method: numba's own sort takes seconds to compile)."""
    gap = 1
    while gap < len(keys):
        gap = 3 * gap + 1
    while gap > 1:
        gap //= 3
        for i in range(gap, len(keys)):
            key = keys[i]
            gain = gains[i]
            j = i
            while j >= gap and keys[j - gap] > key:
                keys[j] = keys[j - gap]
                gains[j] = gains[j - gap]
                j -= gap
            keys[j] = key
            gains[j] = gain


# --- beforehand ---------------------------------------------------------------------------------


def warm_up() -> None:
    """Compile every loop, or load it from the cache: one tree of two leaves, split along the one column."""
    one = np.zeros(1, np.int64)
    two = np.zeros(3, np.int64)
    leaves = (np.array([[0.0], [-1.0], [1.0]]), np.zeros(1), np.zeros(1), ALIKE)
    pieces = np.array([[1, 1, 1, 1]], np.int32)
    nodes, span_low, span_high, roots, guards = specialise(
        one, one + 3, (two, np.zeros(3), np.array([1, 1, 2]), np.array([2, 1, 2]), two),
        (np.array([0, 1, 1, 1]), pieces), np.array([2]), np.zeros((2, 1)), leaves, 64,
    )  # fmt: skip
    trees = (nodes, roots[:, 0], roots[0, :0], one, np.empty((0, 2), np.int64), guards[:0])
    sums = (np.zeros(1), np.zeros(1), np.zeros(1), one + 1, one, 2)
    scratch = make_scratch(nodes, (span_low, span_high))
    low = np.zeros((1, 1), np.int64)
    high = np.ones((1, 1), np.int64)
    verdict = np.zeros(1, np.int8)
    column = np.zeros(1, np.int64)
    cut = np.zeros(1, np.int64)
    details = np.empty((1, 2, 1, 2)), np.zeros((1, 1)), np.zeros(1, np.int64)
    assess_boxes(low, high, trees, (span_low, span_high), sums, scratch, 0, 1, (verdict, column, cut), details)
