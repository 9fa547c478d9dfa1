"""Exports without a name of anything: dense layers as .h5, .nnet and ONNX, their inputs in every order, scaling and
coding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from models.export_bank import (
    CATEGORIES,
    COLUMNS,
    NUMBERS,
    UNDER_REVIEW,
    Bank,
    Case,
    Layers,
    Maker,
    coded,
    file_of,
    logits,
    rearranged,
    shares,
    turned,
    two_outputs,
    written_labels,
)
from models.small_models import write_legacy_h5

ALPHABETICAL = ("ja", "nein", UNDER_REVIEW)


def write_layers(path: Path, layers: Layers) -> Path:
    """A file of dense layers, in the format of its suffix; .nnet ends in a logit, the others in a sigmoid or
    softmax.
    """
    n_outputs = layers[-1][0].shape[1]
    last = Activation.SIGMOID if n_outputs == 1 else Activation.SOFTMAX
    if path.suffix == ".h5":
        made = [
            Layer(np.asarray(w), np.asarray(b), last if i == len(layers) - 1 else Activation.RELU)
            for i, (w, b) in enumerate(layers)
        ]
        write_legacy_h5(path, DenseNetwork(made))
    elif path.suffix == ".nnet":
        widths = [layers[0][0].shape[0], *(w.shape[1] for w, _ in layers)]
        ends = "0," * widths[0]
        lines = [f"{len(layers)},{widths[0]},{widths[-1]},{max(widths)},", ",".join(map(str, widths)) + ",", "0"]
        lines += [ends] * 4
        for weights, bias in layers:
            lines += [",".join(map(repr, unit.tolist())) + "," for unit in np.asarray(weights).T]
            lines += [f"{value!r}," for value in np.asarray(bias).tolist()]
        path.write_text("\n".join(lines) + "\n")
    else:
        _write_onnx(path, layers)
    return path


def _write_onnx(path: Path, layers: Layers) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes = []
    tensors = []
    at = "x"
    for i, (weights, bias) in enumerate(layers):
        tensors += [numpy_helper.from_array(np.asarray(weights, np.float32), f"w{i}")]
        tensors += [numpy_helper.from_array(np.asarray(bias, np.float32), f"b{i}")]
        nodes.append(helper.make_node("Gemm", [at, f"w{i}", f"b{i}"], [f"z{i}"]))
        at = "p" if i == len(layers) - 1 else f"a{i}"
        nodes.append(helper.make_node("Sigmoid" if at == "p" else "Relu", [f"z{i}"], [at]))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width])
        for name, width in (("x", layers[0][0].shape[0]), ("p", 1))
    ]
    graph = helper.make_graph(nodes, "net", [ends[0]], [ends[1]], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


@dataclass(frozen=True)
class Bare:
    """A one-hot model without names.

    Args:
        order: of the inputs, see ``Bank.orders``.
        scaling: ``standard`` or ``minmax`` outside the model, by the training rows; empty for none.
        is_all: every input is scaled, not the numbers alone.
        of_all_rows: scaled by all rows instead.
        class_1: the outcome that 1 was in training.
        labels: which of ``LABELS`` the data has.
        kind: ``logistic`` or ``network``.
        suffix: of the file.
        n_outputs: 2 for a softmax; -2 for one whose first output is 'ja'.
        drops_first: the first category of each column has no input.
    """

    order: str
    scaling: str = ""
    is_all: bool = False
    of_all_rows: bool = False
    class_1: str = "ja"
    labels: str = "ja/nein"
    kind: str = "logistic"
    suffix: str = ".h5"
    n_outputs: int = 1
    drops_first: bool = False

    def make(self, name: str, bank: Bank, folder: Path) -> Case:
        dropped = bank.first_categories() if self.drops_first else set()
        names = [each for each in bank.orders(self.order) if each not in dropped]
        table = bank.inputs[names]
        of = np.ones(len(table), dtype=bool) if self.of_all_rows else None
        shift, scale = bank.scaler(table, self.scaling, is_all=self.is_all, of=of)
        layers = rearranged(bank, getattr(bank, self.kind), names, shift, scale)
        truth = shares(logits(layers, (table.to_numpy() - shift) / scale)[:, 0])
        if self.n_outputs != 1:
            layers = two_outputs(layers, first_is_ja=self.n_outputs < 0)
        elif self.class_1 == "nein":
            layers = turned(layers)
        path = write_layers(file_of(folder, name, self.suffix), layers)
        return Case(name, path, truth, self.labels, "nein" if self.n_outputs < 0 else self.class_1)


def bare_codes(name: str, bank: Bank, folder: Path, codes: str, order: Sequence[str] = COLUMNS) -> Case:
    """A network of one number a column."""
    table = coded(bank, codes)[list(order)]
    layers = bank.fit(table, "network", is_all=True)
    truth = shares(logits(layers, table.to_numpy())[:, 0])
    return Case(name, write_layers(file_of(folder, name, ".h5"), layers), truth)


def changed(name: str, bank: Bank, folder: Path, change: str) -> Case:
    """A one-hot model without names, numbers first, of a table that is not quite the data's."""
    table = bank.inputs[bank.orders("numbers first")].copy()
    if change == "income as a logarithm":
        table["Einkommen"] = np.log1p(table["Einkommen"])
    elif change == "without PLZ":
        table = table[[each for each in table.columns if not each.startswith("PLZ_")]]
    elif change == "a constant instead of Alter":
        table["Alter"] = 1.0
    elif change == "PLZ as a number":
        table = table[[each for each in table.columns if not each.startswith("PLZ_")]]
        table.insert(1, "PLZ", bank.frame["PLZ"].astype(float))
    elif change == "a category more":
        table["Geschlecht_x"] = 0.0
    elif change == "Alter and Laufzeit exchanged":
        names = list(table.columns)
        one = names.index("Alter")
        other = names.index("Laufzeit (Monate)")
        names[one], names[other] = names[other], names[one]
        table = table[names]
    layers = bank.fit(table, is_all=change.startswith("PLZ"))
    if change.startswith("a constant"):  # half of the bias, as training from random weights leaves it
        layers[0][0][list(table.columns).index("Alter")] = layers[0][1] / 2
        layers = [(layers[0][0], layers[0][1] / 2)]
    truth = shares(logits(layers, table.to_numpy())[:, 0])
    hidden = change == "Alter and Laufzeit exchanged"
    return Case(name, write_layers(file_of(folder, name, ".h5"), layers), truth, is_hidden=hidden)


def seldom(name: str, bank: Bank, folder: Path) -> Case:
    """Probabilities far from 0.5: hardly anybody is above it, in the right order."""
    layers = [(bank.logistic[0][0], bank.logistic[0][1] - 6.0)]
    truth = shares(logits(layers, bank.inputs.to_numpy())[:, 0])
    return Case(name, write_layers(file_of(folder, name, ".h5"), layers), truth)


def three_classes(
    name: str,
    bank: Bank,
    folder: Path,
    order: Sequence[str],
    columns: str = "as the file",
    scaling: str = "",
    suffix: str = ".h5",
) -> Case:
    """A softmax of three outcomes, one of them 'prüfen', in an order of its own; the data's is the alphabet's.

    Args:
        columns: the order of the inputs, see ``Bank.orders``.
        scaling, suffix: as ``Bare`` has them.
    """
    from sklearn.linear_model import LogisticRegression

    shift, scale = bank.scaler(bank.inputs, "standard")
    values = (bank.inputs.to_numpy() - shift) / scale
    outcomes = written_labels(bank.frame, "three").to_numpy()
    fitted = LogisticRegression(max_iter=400).fit(values[bank.is_train], outcomes[bank.is_train])
    own = [list(fitted.classes_).index(each) for each in order]
    weights = fitted.coef_.T[:, own]
    bias = fitted.intercept_[own]
    layers = [(weights / scale[:, None], bias - (shift / scale) @ weights)]
    names = bank.orders(columns)
    layers = rearranged(bank, layers, names, *bank.scaler(bank.inputs[names], scaling))
    scores = fitted.predict_proba(values)
    truth = scores[:, list(fitted.classes_).index("ja")]
    path = write_layers(file_of(folder, name, suffix), layers)
    return Case(name, path, truth, "three", answers={"probability of the decision": scores.max(axis=1)})


def _bare(**how: Any) -> Maker:
    return lambda name, bank, folder: Bare(**how).make(name, bank, folder)


FILES_WITHOUT_NAMES: dict[str, Maker] = {
    "one-hot, as the file": _bare(order="as the file"),
    "one-hot, as the file, 1 was nein": _bare(order="as the file", class_1="nein"),
    "one-hot, as the file, network": _bare(order="as the file", kind="network"),
    "one-hot, as the file, .nnet": _bare(order="as the file", suffix=".nnet"),
    "get_dummies": _bare(order="numbers first"),
    "get_dummies, 1 was nein": _bare(order="numbers first", class_1="nein"),
    "get_dummies, network": _bare(order="numbers first", kind="network"),
    "get_dummies, .nnet": _bare(order="numbers first", kind="network", suffix=".nnet"),
    "get_dummies, ONNX": _bare(order="numbers first", kind="network", suffix=".onnx"),
    "get_dummies, drop_first": _bare(order="numbers first", drops_first=True),
    "one-hot, as the file, drop_first": _bare(order="as the file", drops_first=True),
    "get_dummies, numbers standardised": _bare(order="numbers first", scaling="standard"),
    "get_dummies, numbers standardised, network": _bare(order="numbers first", scaling="standard", kind="network"),
    "get_dummies, all standardised": _bare(order="numbers first", scaling="standard", is_all=True),
    "get_dummies, numbers 0 to 1": _bare(order="numbers first", scaling="minmax"),
    "get_dummies, standardised by all rows": _bare(order="numbers first", scaling="standard", of_all_rows=True),
    "ColumnTransformer": _bare(order="categories first"),
    "ColumnTransformer, standardised, 1 was nein": _bare(
        order="categories first", scaling="standard", class_1="nein", kind="network"
    ),
    "alphabetical": _bare(order="alphabetical"),
    "shuffled": _bare(order="shuffled"),
    "shuffled, 1 was nein, network": _bare(order="shuffled", class_1="nein", kind="network"),
    "data 0/1, 1 is ja": _bare(order="numbers first", labels="1 is ja"),
    "data 0/1, 1 is nein": _bare(order="numbers first", labels="1 is nein", class_1="nein"),
    "data 0/1, 1 is ja, model of nein": _bare(order="as the file", labels="1 is ja", class_1="nein"),
    "good/bad, 1 was good": _bare(order="numbers first", labels="good/bad"),
    "good/bad, 1 was bad": _bare(order="as the file", labels="good/bad", class_1="nein"),
    "softmax, nein before ja": _bare(order="numbers first", n_outputs=2),
    "softmax, ja before nein": _bare(order="as the file", n_outputs=-2),
    "codes, sorted": partial(bare_codes, codes="sorted"),
    "codes, sorted, numbers first": partial(bare_codes, codes="sorted", order=(*NUMBERS, *CATEGORIES)),
    "codes, by appearance": partial(bare_codes, codes="by appearance"),
    "codes, by how many": partial(bare_codes, codes="by how many"),
    "income as a logarithm": partial(changed, change="income as a logarithm"),
    "without PLZ": partial(changed, change="without PLZ"),
    "a constant instead of Alter": partial(changed, change="a constant instead of Alter"),
    "PLZ as a number": partial(changed, change="PLZ as a number"),
    "a category more": partial(changed, change="a category more"),
    "Alter and Laufzeit exchanged": partial(changed, change="Alter and Laufzeit exchanged"),
    "probabilities far below 0.5": seldom,
    "three classes, alphabetical": partial(three_classes, order=ALPHABETICAL),
    "three classes, another order": partial(three_classes, order=("ja", UNDER_REVIEW, "nein")),
    "three classes, rotated": partial(three_classes, order=("nein", UNDER_REVIEW, "ja")),
    "three classes, rotated, get_dummies": partial(
        three_classes, order=("nein", UNDER_REVIEW, "ja"), columns="numbers first"
    ),
    "three classes, get_dummies": partial(three_classes, order=ALPHABETICAL, columns="numbers first"),
    "three classes, get_dummies, numbers standardised": partial(
        three_classes, order=ALPHABETICAL, columns="numbers first", scaling="standard"
    ),
    "three classes, ColumnTransformer, numbers 0 to 1": partial(
        three_classes, order=ALPHABETICAL, columns="categories first", scaling="minmax"
    ),
    "three classes, get_dummies, .nnet": partial(
        three_classes, order=ALPHABETICAL, columns="numbers first", suffix=".nnet"
    ),
    "three classes, shuffled": partial(three_classes, order=ALPHABETICAL, columns="shuffled"),
}
