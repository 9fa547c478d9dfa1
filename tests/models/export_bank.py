"""One model of loan applications, exported in every way that its author might have: what the file holds, and what it
answers for each applicant.

The true answers are computed from the true values by NumPy, scikit-learn or Keras themselves, never by the engine.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from loan_cases import loan_frame

NUMBERS = ("Alter", "Einkommen", "Score", "Laufzeit (Monate)", "Kreditsumme")
CATEGORIES = ("Geschlecht", "Staatsangehörigkeit", "PLZ", "Wohneigentum", "Beschäftigung")
COLUMNS = (
    *("Geschlecht", "Alter", "Staatsangehörigkeit", "PLZ", "Wohneigentum"),
    *("Einkommen", "Score", "Laufzeit (Monate)", "Kreditsumme", "Beschäftigung"),
)
"""What the model is given, in the order of the file."""
LABELS = {
    "ja/nein": ("ja", "nein"),
    "1 is ja": ("1", "0"),
    "1 is nein": ("0", "1"),
    "good/bad": ("good", "bad"),
    "three": ("ja", "nein"),
}
"""How the data writes that an application was granted, and that it was not. In ``three`` some are under review
instead.
"""
UNDER_REVIEW = "prüfen"
Layers = list[tuple[Any, Any]]
"""Weights ``(n_inputs, n_units)`` and biases of each layer; ReLU between them, nothing after the last."""


@dataclass(frozen=True)
class Case:
    """A model's file, and what its author knows of it.

    Args:
        name: of the way in which it was exported.
        path: of the file.
        truth: the probability of 'ja' of every row of the frame ``(n_rows,)``.
        labels: which of ``LABELS`` the data has.
        class_1: the outcome that the author's 1 is, as people say it: 'ja' or 'nein'.
        answers: what the author may write down as known answers, by what it is.
        is_hidden: nothing but known answers can tell that it is read wrongly; the documentation says by how much.
    """

    name: str
    path: Path
    truth: Any
    labels: str = "ja/nein"
    class_1: str = "ja"
    answers: dict[str, Any] = field(default_factory=dict)
    is_hidden: bool = False

    def forms(self) -> dict[str, Any]:
        """Known answers in the forms in which environments give them: ``(n_rows,)`` each."""
        if self.answers:
            return self.answers
        of_class_1 = self.truth if self.class_1 == "ja" else 1 - self.truth
        inner = np.clip(of_class_1, 1e-12, 1 - 1e-12)
        logits = np.log(inner / (1 - inner))
        return {"probability of ja": self.truth, "probability of class 1": of_class_1, "logit of class 1": logits}


class Bank:
    """The applications, and one logistic model and one network that were trained on 70 % of them, as weights of raw
    inputs.

    Attributes:
        inputs: the numbers, and one column a category as ``column_category``, in the file's order.
    """

    def __init__(self, n_rows: int, seed: int = 0) -> None:
        self.frame = loan_frame(n_rows, seed)
        self.is_granted = (self.frame["bewilligt"] == "ja").to_numpy()
        self.is_train = np.random.default_rng(seed + 1).random(n_rows) < 0.7
        parts = []
        for name in COLUMNS:
            cells = self.frame[name]
            if name in NUMBERS:
                parts.append(cells.astype(float).rename(name))
            else:
                parts.append(pd.get_dummies(cells, prefix=name, dtype=float))
        self.inputs = pd.concat(parts, axis=1)

    def column_of(self, name: str) -> str:
        """The column that an input is made of."""
        return name if name in NUMBERS else name.partition("_")[0]

    def scaler(self, table: pd.DataFrame, how: str, *, is_all: bool = False, of: Any = None) -> tuple[Any, Any]:
        """``(shift, scale)`` of every input, learned on the training rows: ``how`` is standard, minmax or empty."""
        learned = table[self.is_train if of is None else of]
        shift = np.zeros(table.shape[1])
        scale = np.ones(table.shape[1])
        if how == "standard":
            shift = learned.mean().to_numpy()
            scale = learned.std(ddof=0).to_numpy()
        if how == "minmax":
            shift = learned.min().to_numpy()
            scale = (learned.max() - learned.min()).to_numpy()
        scale = np.where(scale > 0, scale, 1.0)
        if not is_all:
            is_number = np.array([name in NUMBERS for name in table.columns])
            shift = np.where(is_number, shift, 0)
            scale = np.where(is_number, scale, 1)
        return shift, scale

    def fit(self, table: pd.DataFrame, kind: str = "logistic", *, is_all: bool = False, target: Any = None) -> Layers:
        """A model of raw inputs: fitted to scaled ones, with the scaling taken into its first layer."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.neural_network import MLPClassifier

        shift, scale = self.scaler(table, "standard", is_all=is_all)
        values = ((table.to_numpy() - shift) / scale)[self.is_train]
        target = (self.is_granted if target is None else target)[self.is_train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind == "logistic":
                fitted = LogisticRegression(max_iter=400).fit(values, target)
                layers = [(fitted.coef_.T, fitted.intercept_)]
            else:
                net = MLPClassifier((8,), max_iter=30, random_state=0, alpha=1e-3, learning_rate_init=0.01)
                net.fit(values, target)
                layers = list(zip(net.coefs_, net.intercepts_, strict=True))
        weights, bias = layers[0]
        return [(weights / scale[:, None], bias - (shift / scale) @ weights), *layers[1:]]

    @cached_property
    def logistic(self) -> Layers:
        return self.fit(self.inputs)

    @cached_property
    def network(self) -> Layers:
        return self.fit(self.inputs, "network")

    def orders(self, order: str) -> list[str]:
        """The names of the one-hot inputs, in one of the usual orders."""
        names = list(self.inputs.columns)
        numbers = [name for name in names if name in NUMBERS]
        rest = [name for name in names if name not in NUMBERS]
        return {
            "as the file": names,
            "numbers first": numbers + rest,
            "categories first": rest + numbers,
            "alphabetical": sorted(names),
            "shuffled": list(np.random.default_rng(5).permutation(names)),
        }[order]

    def first_categories(self) -> set[str]:
        """What ``drop_first`` leaves out."""
        seen: dict[str, str] = {}
        for name in self.inputs.columns:
            if name not in NUMBERS:
                seen.setdefault(self.column_of(name), name)
        return set(seen.values())


def logits(layers: Layers, values: Any) -> Any:
    """What the last layer gives ``(n_rows, n_units)``, in double precision."""
    for i, (weights, bias) in enumerate(layers):
        values = values @ weights + bias
        if i < len(layers) - 1:
            values = np.maximum(values, 0)
    return values


def shares(values: Any) -> Any:
    """Logits as probabilities."""
    return 1 / (1 + np.exp(-values))


def rearranged(bank: Bank, layers: Layers, names: Sequence[str], shift: Any, scale: Any) -> Layers:
    """The same model for inputs of other names, order and scaling, as an author has it who prepared them so; dropped
    ones are told by the others.
    """
    weights, bias = layers[0]
    by_name = dict(zip(bank.inputs.columns, weights, strict=True))
    bias = np.array(bias, dtype=float)
    for gone in bank.first_categories() - set(names):
        bias = bias + by_name[gone]
        for name in names:
            if name not in NUMBERS and bank.column_of(name) == bank.column_of(gone):
                by_name[name] = by_name[name] - by_name[gone]
    own = np.array([by_name[name] for name in names])
    return [(own * np.asarray(scale)[:, None], bias + np.asarray(shift) @ own), *layers[1:]]


def turned(layers: Layers) -> Layers:
    """The same with the logit of the other outcome."""
    return [*layers[:-1], (-layers[-1][0], -layers[-1][1])]


def two_outputs(layers: Layers, *, first_is_ja: bool) -> Layers:
    """The same with an output for each outcome, for a softmax."""
    weights, bias = layers[-1]
    none = np.zeros_like(weights), np.zeros_like(bias)
    pair = ((weights, bias), none) if first_is_ja else (none, (weights, bias))
    return [*layers[:-1], (np.hstack([pair[0][0], pair[1][0]]), np.concatenate([pair[0][1], pair[1][1]]))]


def file_of(folder: Path, name: str, suffix: str) -> Path:
    """Where a case's model is written."""
    return folder / (name.replace("/", " ") + suffix)


def coded(bank: Bank, codes: str) -> pd.DataFrame:
    """One number a column: categories by their place in the alphabet, among first appearances, or by how many there
    are.
    """
    table = pd.DataFrame(index=bank.frame.index)
    for name in COLUMNS:
        cells = bank.frame[name]
        if name in NUMBERS:
            table[name] = cells.astype(float)
        elif codes == "by appearance":
            table[name] = pd.factorize(cells)[0].astype(float)
        else:
            known = sorted(cells.unique()) if codes == "sorted" else list(cells.value_counts().index)
            table[name] = cells.map({value: float(i) for i, value in enumerate(known)}).astype(float)
    return table


def written_labels(frame: pd.DataFrame, labels: str) -> pd.Series:
    """The outcomes as the data's file holds them."""
    granted, refused = LABELS[labels]
    cells = pd.Series(np.where(frame["bewilligt"] == "ja", granted, refused), index=frame.index, dtype=object)
    if labels == "three":
        cells[(frame["Score"] < 55) & (frame["Kreditsumme"] > 9_000)] = UNDER_REVIEW
    return cells


Maker = Callable[[str, Bank, Path], Case]
