"""Where a model discriminates: a shallow tree over the attributes that are not protected, measured on rows it did not
see.

AEQUITAS names this as missing (paper 000, section 8). Rows are drawn, each is tested with all its variants, a tree is
learnt on one half of them, and the share of every leaf is measured on the other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.clock import Batches, Clock, WorkingTime
from fairness_engine.codec import MAX_COUNT, MAX_NUMBER
from fairness_engine.errors import SearchStopped, SettingError, breach
from fairness_engine.explanation.where_tree import Condition, all_hold
from fairness_engine.intervals import share_interval
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Distribution, Domain
from fairness_engine.pairs import Pairs

MAX_DEPTH = 6
N_EXAMPLES = 3
"""Pairs shown for a leaf."""
_MAX_ROWS = 40_000
_MIN_ROWS = 4_000
"""Rows that many variants may not push below, for as long as ``_MAX_EVALUATIONS`` and the seconds allow."""
_EVALUATIONS = 200_000
_MAX_EVALUATIONS = 4_000_000
_FEWEST_ROWS = 20
_MAX_NODES = 2 ** (MAX_DEPTH + 1)
_COUNTED = ("n_learnt", "n_learnt_hits", "n", "n_hits")
_MAX_BATCH_ROWS = 4096


@dataclass(frozen=True)
class WhereSettings:
    """How to look.

    Args:
        distribution: what the rows are drawn from: ``data`` (without replacement) or ``uniform`` over the domain.
        max_depth: questions in a row at most, 1 to 6.
        max_seconds: for testing the rows; what the machine does meanwhile for others counts little.
        seed: of the draws; 0 or more.
    """

    distribution: Distribution = Distribution.DATA
    max_depth: int = 4
    max_seconds: float = 4.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.distribution not in (Distribution.DATA, Distribution.UNIFORM):
            raise SettingError(f"Rows must be drawn from data or uniform, got '{self.distribution}'.")
        if not 1 <= self.max_depth <= MAX_DEPTH:
            raise SettingError(f"The depth must be 1 to {MAX_DEPTH}, got {self.max_depth}.")


@dataclass(frozen=True)
class Node:
    """A group of people: the root has no conditions, a leaf no groups below it.

    Args:
        parent: position of the group it is part of; -1 for the root.
        conditions: what its people have in common, one condition a column.
        is_leaf: whether it is split no further.
        n_learnt, n_learnt_hits: rows of the half that the tree was learnt on, and the discriminatory ones among them.
        n, n_hits: the same of the other half; every share that is shown is of this one.
    """

    parent: int
    conditions: tuple[Condition, ...]
    is_leaf: bool
    n_learnt: int
    n_learnt_hits: int
    n: int
    n_hits: int

    @property
    def share(self) -> float | None:
        """Share of its rows that are discriminatory; ``None`` without a row."""
        return self.n_hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the share."""
        return share_interval(self.n_hits, self.n)


@dataclass(frozen=True)
class Where:
    """Where a model discriminates.

    Args:
        distribution: what the rows were drawn from; every share is of this one.
        nodes: groups, a group before its parts; the first is everybody.
        evaluations: rows passed to the model.
        seconds: spent.
        n_wanted: rows that would have been tested had time allowed.
        examples: discriminatory pairs, up to three a leaf; each was replayed.
    """

    distribution: Distribution
    nodes: tuple[Node, ...]
    evaluations: int
    seconds: float
    n_wanted: int
    examples: Pairs

    @property
    def root(self) -> Node:
        """Everybody."""
        return self.nodes[0]

    @property
    def leaves(self) -> list[int]:
        """Positions of the leaves among ``nodes``, the largest share first; those without a row last."""
        found = [i for i, node in enumerate(self.nodes) if node.is_leaf]
        return sorted(found, key=lambda i: (-(self.nodes[i].share or 0.0), -self.nodes[i].n, i))

    @property
    def flagged(self) -> list[int]:
        """Leaves whose whole interval lies above everybody's share."""
        return [i for i in self.leaves if self.nodes[i].interval[0] > (self.root.share or 0.0) and self.nodes[i].n_hits]

    @property
    def coverage(self) -> tuple[float, float]:
        """The shares of discriminatory rows, and of all rows, that lie in flagged leaves."""
        inside = [self.nodes[i] for i in self.flagged]
        hits = sum(node.n_hits for node in inside)
        rows = sum(node.n for node in inside)
        return hits / max(self.root.n_hits, 1), rows / max(self.root.n, 1)

    @property
    def accuracy(self) -> tuple[float, float]:
        """How often the leaves, and one answer for everybody, say rightly of the other half whether a row is
        discriminatory.
        """
        return _accuracy([self.nodes[i] for i in self.leaves]), _accuracy([self.root])


def _accuracy(groups: Sequence[Node]) -> float:
    right = sum(g.n_hits if 2 * g.n_learnt_hits > g.n_learnt else g.n - g.n_hits for g in groups)
    return right / max(sum(g.n for g in groups), 1)


def leaf_of(nodes: Sequence[Node], rows: FloatArray) -> IntArray:
    """The position of each row's leaf among ``nodes`` ``(n_rows,)``."""
    found = np.full(len(rows), -1, dtype=np.int64)
    for i, node in enumerate(nodes):
        if node.is_leaf:
            found[all_hold(node.conditions, rows)] = i
    return found


def find_where(model: Model, domain: Domain, data_rows: FloatArray, settings: WhereSettings) -> Where:
    """Draw rows, test them, and say in which groups the discriminatory ones lie.

    Half of the rows, by the seed, choose the groups; the shares are counted on the other half, so a group that only
    looks bad by chance does not look bad in the answer. A tree of one leaf means that no attribute tells where.

    Args:
        model, domain: what is assessed, and where.
        data_rows: rows of the data ``(n_rows, n_columns)``; those outside the domain are left out.
        settings: how to look.

    Raises:
        SettingError: no row of the data lies in the domain, or the model is too slow for a few rows.
    """
    from fairness_engine.explanation.where_tree import learn_groups  # brings scikit-learn; pages need the shapes alone

    started = time.perf_counter()
    rng = np.random.default_rng(np.random.SeedSequence(settings.seed))
    wanted = _draw(domain, data_rows, settings.distribution, rng)
    rows, verdicts, evaluations = _test(model, domain, wanted, settings.max_seconds)
    learnt = slice(0, None, 2)
    other = slice(1, None, 2)
    groups = learn_groups(domain, rows[learnt], verdicts[learnt], settings.max_depth)
    nodes = tuple(
        Node(
            group.parent,
            group.conditions,
            group.is_leaf,
            *_counts(group.conditions, rows[learnt], verdicts[learnt]),
            *_counts(group.conditions, rows[other], verdicts[other]),
        )
        for group in groups
    )
    examples, n_more = _examples(model, domain, nodes, rows[verdicts])
    seconds = time.perf_counter() - started
    return Where(settings.distribution, nodes, evaluations + n_more, seconds, len(wanted), examples)


def _counts(conditions: tuple[Condition, ...], rows: FloatArray, verdicts: BoolArray) -> tuple[int, int]:
    inside = all_hold(conditions, rows)
    return int(inside.sum()), int(verdicts[inside].sum())


def _draw(domain: Domain, data_rows: FloatArray, distribution: Distribution, rng: np.random.Generator) -> FloatArray:
    """The rows to test, in random order; how many depends on the number of variants."""
    most = max(_EVALUATIONS, min(_MAX_EVALUATIONS, _MIN_ROWS * domain.n_variants))
    n = max(_FEWEST_ROWS, min(_MAX_ROWS, most // domain.n_variants))
    inside = data_rows[domain.contains(data_rows)] if len(data_rows) else data_rows
    if distribution is Distribution.UNIFORM:
        return domain.sample(n, rng, inside)
    if len(inside) < _FEWEST_ROWS:
        raise SettingError(
            f"At least {_FEWEST_ROWS} rows of the data must lie in the ranges of the scope, got {len(inside)}. "
            "Widen the limits, or draw uniformly."
        )
    return inside[rng.permutation(len(inside))[:n]]


def _test(model: Model, domain: Domain, wanted: FloatArray, max_seconds: float) -> tuple[FloatArray, BoolArray, int]:
    """The rows that there was time for, which of them are discriminatory, and the evaluations spent."""
    from fairness_engine.oracle.oracle import Oracle  # brings numba; pages need the shapes alone

    first = Oracle(model, domain, Budget(domain.n_variants))
    first.test(wanted[:1])  # what a first call costs once, such as compiling, takes nothing from the time
    clock = Clock(max_seconds, now=WorkingTime())
    oracle = Oracle(model, domain, Budget(len(wanted) * domain.n_variants), clock=clock)
    verdicts: list[BoolArray] = []
    with suppress(SearchStopped):  # what was tested until then is what there is
        for part in Batches(oracle.clock, _FEWEST_ROWS, _MAX_BATCH_ROWS).over(len(wanted)):
            verdicts.append(oracle.test(wanted[part]))
    known = np.concatenate(verdicts) if verdicts else np.zeros(0, dtype=bool)
    if len(known) < _FEWEST_ROWS:
        raise SettingError(
            f"The model must decide {_FEWEST_ROWS * domain.n_variants:,} rows within {max_seconds:g} s for this "
            "answer, and is slower. Choose fewer variants under Scope, or run a search."
        )
    return wanted[: len(known)], known, first.evaluations + oracle.evaluations


def _examples(model: Model, domain: Domain, nodes: Sequence[Node], rows: FloatArray) -> tuple[Pairs, int]:
    """A few pairs of every leaf, replayed, and the evaluations spent on them."""
    from fairness_engine.oracle.oracle import Oracle

    leaves = leaf_of(nodes, rows)
    chosen = [np.flatnonzero(leaves == i)[:N_EXAMPLES] for i in np.unique(leaves).tolist()]
    if not chosen:
        return Pairs.concatenate([], domain.n_columns), 0
    picked = rows[np.concatenate(chosen)]
    oracle = Oracle(model, domain, Budget(len(picked) * domain.n_variants))
    oracle.probe(picked)
    return oracle.take_found(), oracle.evaluations


def where_to_json(where: Where) -> dict[str, Any]:
    """Everything but the examples, which travel as pairs do."""
    return {
        "distribution": where.distribution.value,
        "nodes": [_node_to_json(node) for node in where.nodes],
        "evaluations": where.evaluations,
        "seconds": where.seconds,
        "n_wanted": where.n_wanted,
    }


def where_from_json(content: Any, domain: Domain, examples: Pairs) -> Where:
    """Read what ``where_to_json`` wrote.

    Raises:
        ProcessError: it is nothing of the kind.
    """
    try:
        nodes = tuple(_node_from_json(node, domain) for node in content["nodes"][:_MAX_NODES])
        seconds = float(content["seconds"])
        counts = (_count(content["evaluations"]), _count(content["n_wanted"]))
        found = Where(Distribution(content["distribution"]), nodes, counts[0], seconds, counts[1], examples)
    except (KeyError, TypeError, ValueError, OverflowError, IndexError):
        raise breach("it sent no tree of groups") from None
    if not 0 <= seconds < MAX_NUMBER or not _is_tree(nodes):
        raise breach("it sent groups that make no tree")
    return found


def _node_to_json(node: Node) -> dict[str, Any]:
    return {
        "parent": node.parent,
        "is_leaf": node.is_leaf,
        "counts": [node.n_learnt, node.n_learnt_hits, node.n, node.n_hits],
        "conditions": [_condition_to_json(condition) for condition in node.conditions],
    }


def _condition_to_json(condition: Condition) -> dict[str, Any]:
    if condition.positions:
        return {"column": condition.column, "positions": list(condition.positions)}
    return {"column": condition.column, "low": condition.low, "high": condition.high}


def _node_from_json(content: Any, domain: Domain) -> Node:
    n_learnt, n_learnt_hits, n, n_hits = (_count(number) for number in content["counts"])
    if n_learnt_hits > n_learnt or n_hits > n:
        raise ValueError("counts")
    conditions = tuple(_condition_from_json(condition, domain) for condition in content["conditions"])
    parent = content["parent"] if content["parent"] == -1 else _count(content["parent"])
    columns = [condition.column for condition in conditions]
    if len(set(columns)) != len(columns):
        raise ValueError("conditions")
    return Node(parent, conditions, content["is_leaf"] is True, n_learnt, n_learnt_hits, n, n_hits)


def _condition_from_json(content: Any, domain: Domain) -> Condition:
    index = _count(content["column"])
    column = domain.schema.inputs[index]
    if column.codes:
        positions = tuple(_count(position) for position in content["positions"])
        if not positions or max(positions) >= len(column.codes) or len(set(positions)) != len(positions):
            raise ValueError("positions")
        return Condition(index, positions=positions)
    low = float(content["low"])
    high = float(content["high"])
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError("range")
    return Condition(index, low, high)


def _count(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < MAX_COUNT:
        raise ValueError("count")
    return number


def _is_tree(nodes: tuple[Node, ...]) -> bool:
    """One root, first; every other group part of an earlier one that is split, whose parts are all of it."""
    if not 0 < len(nodes) < _MAX_NODES or nodes[0].parent != -1 or nodes[0].conditions:
        return False
    if not all(0 <= node.parent < i and not nodes[node.parent].is_leaf for i, node in enumerate(nodes) if i):
        return False
    for at, node in enumerate(nodes):
        parts = [each for each in nodes if each.parent == at]
        counts = [tuple(getattr(each, name) for name in _COUNTED) for each in (node, *parts)]
        if node.is_leaf == bool(parts) or (parts and counts[0] != tuple(map(sum, zip(*counts[1:], strict=True)))):
            return False
    return True
