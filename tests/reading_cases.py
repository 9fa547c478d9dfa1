"""People with an outcome, and one-hot networks of it whose files name nothing, in the orders and scalings that their
authors chose.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.data.dataset import Dataset

N_ROWS = 3_000


def people_csv(n: int = N_ROWS) -> bytes:
    """Ids, two numbers, two categories, and an outcome that depends on all of them."""
    rng = np.random.default_rng(8)
    sex = rng.choice(["m", "w", "d"], n, p=(0.5, 0.45, 0.05))
    age = rng.integers(18, 80, n)
    months = rng.integers(6, 90, n)
    job = rng.choice(["bank", "care", "craft", "none"], n)
    merit = 0.05 * (age - 48) - 0.04 * (months - 48) + 1.5 * (job == "bank") - 1.2 * (sex == "w")
    good = merit + rng.logistic(0, 0.6, n) > 0
    lines = ["id,sex,age,job,months,granted"]
    for i in range(n):
        lines.append(f"C{i},{sex[i]},{age[i]},{job[i]},{months[i]},{'ja' if good[i] else 'nein'}")
    return "\n".join(lines).encode()


ORDERS = {
    "the schema's": "sex_d sex_m sex_w age job_bank job_care job_craft job_none months",
    "numbers first": "age months sex_d sex_m sex_w job_bank job_care job_craft job_none",
    "alphabetical": "age job_bank job_care job_craft job_none months sex_d sex_m sex_w",
    "shuffled": "job_none months sex_w sex_d job_care age job_bank sex_m job_craft",
    "without first": "sex_m sex_w age job_care job_craft job_none months",
}
"""The inputs of one-hot networks, as their authors put them in order."""


class Net:
    """A small network on one-hot inputs, trained by scikit-learn, written as the text of a ``.nnet`` file: no name of
    anything in it.
    """

    def __init__(self, dataset: Dataset, order: str, *, scaling: str = "", of: str = "ja") -> None:
        from sklearn.linear_model import LogisticRegression

        self.names = ORDERS[order].split()
        values = self.inputs(dataset)
        self.shift = np.zeros(values.shape[1])
        self.scale = np.ones(values.shape[1])
        if scaling:
            self.shift = values.mean(axis=0)
            self.scale = values.std(axis=0)
        if scaling == "numbers":
            is_number = np.array(["_" not in name for name in self.names])
            self.shift = np.where(is_number, self.shift, 0)
            self.scale = np.where(is_number, self.scale, 1)
        wanted = np.array(dataset.classes)[dataset.labels] == of
        fitted = LogisticRegression(max_iter=2_000).fit((values - self.shift) / self.scale, wanted)
        self.weights = fitted.coef_[0]
        self.bias = float(fitted.intercept_[0])

    def inputs(self, dataset: Dataset) -> Any:
        columns = []
        for name in self.names:
            column, _, category = name.partition("_")
            values = dataset.rows[:, dataset.schema.index(column)]
            if category:
                values = values == dataset.schema.column(column).labels.index(category)
            columns.append(values.astype(float))
        return np.column_stack(columns)

    def answers(self, dataset: Dataset) -> Any:
        """Logits in its author's environment."""
        return (self.inputs(dataset) - self.shift) / self.scale @ self.weights + self.bias

    def write(self, path: Path) -> Path:
        n = len(self.names)
        ends = "0," * n
        lines = [f"1,{n},1,{n},", f"{n},1,", "0", ends, ends, ends, ends]
        path.write_text("\n".join([*lines, ",".join(map(repr, self.weights.tolist())) + ",", f"{self.bias!r},"]) + "\n")
        return path
