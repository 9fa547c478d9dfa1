"""``Where`` as JSON, and back with every number checked: it comes from the process that holds the model."""

from __future__ import annotations

import math
from typing import Any

from fairness_engine.domain import Domain
from fairness_engine.errors import ProcessError
from fairness_engine.estimate import Distribution
from fairness_engine.events import Pairs
from fairness_engine.explanation.conditions import Condition
from fairness_engine.explanation.where import MAX_DEPTH, Node, Where


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
        nodes = tuple(_node_from_json(node, domain) for node in content["nodes"])
        seconds = float(content["seconds"])
        counts = (_count(content["evaluations"]), _count(content["n_wanted"]))
        found = Where(Distribution(content["distribution"]), nodes, counts[0], seconds, counts[1], examples)
    except (KeyError, TypeError, ValueError, OverflowError, IndexError):
        raise ProcessError("The model's process broke its protocol: it sent no tree of groups.") from None
    if not math.isfinite(seconds) or not _is_tree(nodes):
        raise ProcessError("The model's process broke its protocol: it sent groups that make no tree.")
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
    parent = int(content["parent"])
    return Node(parent, conditions, content["is_leaf"] is True, n_learnt, n_learnt_hits, n, n_hits)


def _condition_from_json(content: Any, domain: Domain) -> Condition:
    index = _count(content["column"])
    column = domain.schema.inputs[index]
    if column.codes:
        positions = tuple(_count(position) for position in content["positions"])
        if not positions or max(positions) >= len(column.codes):
            raise ValueError("positions")
        return Condition(index, positions=positions)
    low, high = float(content["low"]), float(content["high"])
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError("range")
    return Condition(index, low, high)


def _count(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ValueError("count")
    return number


def _is_tree(nodes: tuple[Node, ...]) -> bool:
    """One root, first; every other group part of an earlier one that is split."""
    if not 0 < len(nodes) < 2 ** (MAX_DEPTH + 1) or nodes[0].parent != -1 or nodes[0].conditions:
        return False
    return all(0 <= node.parent < i and not nodes[node.parent].is_leaf for i, node in enumerate(nodes) if i)
