"""What is refused of an ONNX graph, and what onnxruntime would follow without looking: judged before it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.errors import ModelError

_DOMAINS = ("", "ai.onnx", "ai.onnx.ml")
_LOOPS = ("Loop", "SequenceMap")
_RANDOM = (
    *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
    *("Multinomial", "Bernoulli"),
)
_TRIED_ROWS = 8
_MAX_STEPS = 1_000_000
"""Of a ``Scan``, which goes through an array step by step: some 0.6 s."""


def refuse_unsafe(model: Any) -> None:
    """Go through a whole model, branches and bodies too.

    Args:
        model: an ``onnx.ModelProto``.

    Raises:
        ModelError: it keeps data elsewhere, loops, draws at random, uses operators of its own, or one of its operators
            is made of arrays that do not fit one another.
    """
    if len(model.functions):
        raise ModelError(
            "The ONNX file defines operators of its own and is refused. Export it with standard operators only."
        )
    nodes = list(_nodes(model.graph))
    constants = {tensor.name: tensor for graph in _graphs(model.graph) for tensor in graph.initializer}
    for node in nodes:
        if node.domain not in _DOMAINS:
            raise ModelError(
                f"The ONNX file uses the operator '{node.op_type[:60]}' of '{node.domain[:60]}' and is refused. Export "
                "it with standard operators only."
            )
        if node.op_type in _LOOPS:
            raise ModelError(
                f"The ONNX file has a loop ('{node.op_type}'), which may never end, and is refused. Export a model "
                "without loops."
            )
        if node.op_type in _RANDOM or _drops_out(node, constants, nodes):
            raise ModelError(
                f"The ONNX file draws at random ('{node.op_type}'), so no decision of it could be confirmed, and is "
                "refused. Export it for inference, without dropout and sampling."
            )
    for tensor in _tensors(model.graph):
        if len(tensor.external_data) or tensor.data_location == 1:
            raise ModelError(
                "The ONNX file keeps weights in another file and is refused. Export it as one file, without external "
                "data."
            )
    judged = [node for node in nodes if node.op_type in _ARRAYS]
    if not judged and not any(node.op_type == "Scan" for node in nodes):
        return
    shapes = _shapes(model)
    for node in judged:
        _check_arrays(node, shapes)
    _check_scans(model.graph, shapes, 1)


# --- what a graph is made of --------------------------------------------------------------


def _graphs(graph: Any) -> Iterator[Any]:
    """A graph and those inside it: branches, bodies."""
    yield graph
    for node in graph.node:
        for inner in _inner(node):
            yield from _graphs(inner)


def _inner(node: Any) -> Iterator[Any]:
    for attribute in node.attribute:
        yield from [attribute.g, *attribute.graphs]


def _nodes(graph: Any) -> Iterator[Any]:
    for each in _graphs(graph):
        yield from each.node


def _tensors(graph: Any) -> Iterator[Any]:
    """All arrays at any depth; of sparse ones both of their parts."""
    for each in _graphs(graph):
        yield from each.initializer
        sparse = list(each.sparse_initializer)
        for node in each.node:
            for attribute in node.attribute:
                yield from [attribute.t, *attribute.tensors]
                sparse += [attribute.sparse_tensor, *attribute.sparse_tensors]
        for array in sparse:
            yield from (array.values, array.indices)


def _shapes(model: Any) -> dict[str, tuple[int | None, ...]]:
    """The shapes of values for a few rows, by name, as far as they can be known without a run."""
    import onnx

    few = onnx.ModelProto()
    few.CopyFrom(model)
    constants = {tensor.name for tensor in few.graph.initializer}
    for value in few.graph.input:
        dims = value.type.tensor_type.shape.dim
        if value.name not in constants and len(dims) and not dims[0].dim_value:
            dims[0].dim_value = _TRIED_ROWS
    try:
        few = onnx.shape_inference.infer_shapes(few, data_prop=True)
    except Exception:  # noqa: BLE001 - what cannot be known of a damaged graph stays unknown
        return {}
    shapes: dict[str, tuple[int | None, ...]] = {}
    for graph in _graphs(few.graph):
        for value in (*graph.input, *graph.output, *graph.value_info):
            kind = value.type.tensor_type
            if kind.HasField("shape"):
                shapes[value.name] = tuple(d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim)
        shapes |= {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    return shapes


# --- chance and steps ---------------------------------------------------------------------


def _drops_out(node: Any, constants: Mapping[str, Any], nodes: list[Any]) -> bool:
    """Whether a ``Dropout`` is as in training: its third input is true, or no constant."""
    import onnx

    if node.op_type != "Dropout" or len(node.input) < 3 or not node.input[2]:
        return False
    tensor = constants.get(node.input[2])
    for other in nodes:
        if other.op_type == "Constant" and node.input[2] in other.output and other.attribute:
            tensor = other.attribute[0].t
    try:
        return tensor is None or bool(np.any(onnx.numpy_helper.to_array(tensor)))
    except Exception:  # noqa: BLE001 - onnx raises anything on an array it cannot read
        return True


def _check_scans(graph: Any, shapes: Mapping[str, tuple[int | None, ...]], n_steps: int) -> None:
    """Refuse what goes through an array of unknown length step by step, or takes too many steps with those around."""
    for node in graph.node:
        n_inside = n_steps
        if node.op_type == "Scan":
            counts = [attribute.i for attribute in node.attribute if attribute.name == "num_scan_inputs"]
            scanned = list(node.input)[-max(1, counts[0] if counts else 1) :]
            lengths = [length for name in scanned for length in shapes.get(name, (None,))]
            n_inside = n_steps * max((_MAX_STEPS + 1 if n is None else n for n in lengths), default=1)
            if n_inside > _MAX_STEPS:
                how_many = "an unknown number of" if None in lengths else f"{n_inside:,}"
                raise ModelError(
                    f"The ONNX file has a Scan of {how_many} steps, which may last for ever; at most {_MAX_STEPS:,} "
                    "are taken. Export it without loops over arrays."
                )
        for inner in _inner(node):
            _check_scans(inner, shapes, n_inside)


# --- operators made of arrays -------------------------------------------------------------


class _Arrays:
    """The attributes of an operator as arrays; an empty one where there is none."""

    def __init__(self, node: Any) -> None:
        self._held = {attribute.name: attribute for attribute in node.attribute}

    def ints(self, name: str) -> IntArray:
        held = self._held.get(name)
        return np.array(() if held is None else held.ints, dtype=np.int64)

    def size(self, *names: str) -> int:
        """Of the first of some attributes that holds anything: a list of numbers or words, or a tensor."""
        for name in names:
            held = self._held.get(name)
            n = 0 if held is None else len(held.ints) or len(held.floats) or len(held.strings) or _n_values(held.t)
            if n:
                return n
        return 0

    def words(self, name: str) -> list[bytes]:
        held = self._held.get(name)
        return [] if held is None else list(held.strings)

    def number(self, name: str) -> int:
        held = self._held.get(name)
        return 0 if held is None else int(held.i)


def _n_values(tensor: Any) -> int:
    return int(np.prod(list(tensor.dims), dtype=np.int64)) if len(tensor.dims) else 0


def _check_arrays(node: Any, shapes: Mapping[str, tuple[int | None, ...]]) -> None:
    shape = shapes.get(node.input[0], ()) if node.input else ()
    width = shape[-1] if len(shape) == 2 else None
    if not _ARRAYS[node.op_type](_Arrays(node), width):
        raise ModelError(
            f"The arrays of a '{node.op_type}' in the ONNX file must fit one another and its inputs, but some point "
            "outside or are too short: the model is damaged and is refused. Export it again."
        )


def _are_trees(held: _Arrays, width: int | None) -> bool:
    """Whether every node is there once, leads to others of its tree and never back, and asks an input that there is."""
    trees = held.ints("nodes_treeids")
    own = held.ints("nodes_nodeids")
    features = held.ints("nodes_featureids")
    children = (held.ints("nodes_truenodeids"), held.ints("nodes_falsenodeids"))
    is_leaf = np.array([mode == b"LEAF" for mode in held.words("nodes_modes")], dtype=bool)
    n = len(own)
    lengths = {len(trees), len(features), len(is_leaf), len(children[0]), len(children[1])}
    lengths.add(held.size("nodes_values", "nodes_values_as_tensor"))
    if not n or lengths != {n} or held.size("nodes_missing_value_tracks_true") not in (0, n):
        return False
    places = {pair: i for i, pair in enumerate(zip(trees.tolist(), own.tolist(), strict=True))}
    if len(places) != n:
        return False
    after = []
    for child in children:
        pairs = zip(trees.tolist(), child.tolist(), strict=True)
        after.append(np.array([-1 if leaf else places.get(p, n) for p, leaf in zip(pairs, is_leaf, strict=True)]))
    _, roots = np.unique(trees, return_index=True)
    if any((child >= n).any() for child in after) or not _lead_to_an_end(roots, after[0], after[1]):
        return False
    asked = features[~is_leaf]
    if (asked < 0).any() or (width is not None and (asked >= width).any()):
        return False
    for kind, n_most in (
        ("class", max(2, held.size("classlabels_strings", "classlabels_int64s"))),
        ("target", max(1, held.number("n_targets"))),
    ):
        ids = held.ints(f"{kind}_ids")
        ends = zip(held.ints(f"{kind}_treeids").tolist(), held.ints(f"{kind}_nodeids").tolist(), strict=False)
        sizes = {len(ids), held.size(f"{kind}_treeids"), held.size(f"{kind}_nodeids")}
        sizes.add(held.size(f"{kind}_weights", f"{kind}_weights_as_tensor"))
        if len(sizes) > 1 or (ids < 0).any() or (ids >= n_most).any() or any(pair not in places for pair in ends):
            return False
    return True


def _lead_to_an_end(roots: IntArray, first: IntArray, second: IntArray) -> bool:
    """Whether a walk from the roots meets no more nodes than there are; -1 ends it."""
    n_met = 0
    front = roots
    while len(front):
        n_met += len(front)
        if n_met > len(first):
            return False
        following = np.concatenate([first[front], second[front]])
        front = following[following >= 0]
    return True


def _are_joined_trees(held: _Arrays, width: int | None) -> bool:
    """The same for ``TreeEnsemble``, whose nodes and leaves are two lists."""
    features = held.ints("nodes_featureids")
    n = len(features)
    n_leaves = held.size("leaf_weights")
    roots = held.ints("tree_roots")
    targets = held.ints("leaf_targetids")
    after = []
    for way in ("true", "false"):
        places = held.ints(f"nodes_{way}nodeids")
        is_leaf = held.ints(f"nodes_{way}leafs")
        if len(places) != n or len(is_leaf) != n or (places < 0).any():
            return False
        if (places >= np.where(is_leaf != 0, n_leaves, n)).any():
            return False
        after.append(np.where(is_leaf != 0, -1, places))
    return bool(
        n
        and len(roots)
        and ((roots >= 0) & (roots < n)).all()
        and held.size("nodes_splits") == held.size("nodes_modes") == n
        and len(targets) == n_leaves
        and ((targets >= 0) & (targets < max(1, held.number("n_targets")))).all()
        and (features >= 0).all()
        and (width is None or (features < width).all())
        and _lead_to_an_end(roots, after[0], after[1])
    )


def _are_support_vectors(held: _Arrays, width: int | None) -> bool:
    """Whether a machine has as many vectors, coefficients and offsets as its classes need; without vectors it is a
    linear model.
    """
    counts = held.ints("vectors_per_class")
    n_vectors = int(counts.sum()) if (counts >= 0).all() and (counts < 2**40).all() else -1
    n_classes = held.size("classlabels_strings", "classlabels_ints")
    n_numbers = held.size("support_vectors")
    n_coefficients = held.size("coefficients")
    if held.size("kernel_params") not in (0, 3) or n_classes < 2:
        return False
    if not n_numbers:
        return not len(counts) and n_coefficients % n_classes == 0
    n_pairs = n_classes * (n_classes - 1) // 2
    sizes = {held.size("prob_a"), held.size("prob_b")}
    return (
        len(counts) == n_classes
        and n_vectors > 0
        and n_numbers % n_vectors == 0
        and width in (None, n_numbers // n_vectors)
        and n_coefficients == (n_classes - 1) * n_vectors
        and held.size("rho") == n_pairs
        and sizes in ({0}, {n_pairs})
    )


def _is_support_regressor(held: _Arrays, width: int | None) -> bool:
    n_vectors = held.number("n_supports")
    n_numbers = held.size("support_vectors")
    if held.size("kernel_params") not in (0, 3) or n_vectors < 0 or not held.size("rho"):
        return False
    if not n_vectors:
        return width in (None, held.size("coefficients"))
    return (
        n_numbers % n_vectors == 0
        and width in (None, n_numbers // n_vectors)
        and held.size("coefficients") == n_vectors
    )


def _is_linear(held: _Arrays, width: int | None) -> bool:
    n_coefficients = held.size("coefficients")
    n_classes = held.size("classlabels_strings", "classlabels_ints") or max(1, held.number("targets"))
    n_rows = {n_classes, 1} if n_classes == 2 else {n_classes}
    return any(n and n_coefficients % n == 0 and width in (None, n_coefficients // n) for n in n_rows) and held.size(
        "intercepts"
    ) in (0, *n_rows)


_ARRAYS: dict[str, Callable[[_Arrays, int | None], bool]] = {
    "TreeEnsembleClassifier": _are_trees,
    "TreeEnsembleRegressor": _are_trees,
    "TreeEnsemble": _are_joined_trees,
    "SVMClassifier": _are_support_vectors,
    "SVMRegressor": _is_support_regressor,
    "LinearClassifier": _is_linear,
    "LinearRegressor": _is_linear,
}
"""By operator: whether its arrays, ``(attributes, width of its input where that is known)``, fit one another."""
