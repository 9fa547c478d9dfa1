"""Opens an exported model as a user would, three times, and says what came of it: read right, stopped with a reason, or
silently wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from fairness_engine.data.corrections import change_label
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.schema import Layout, ModelInput, Schema
from fairness_engine.data.table import Table, read_table
from fairness_engine.errors import InputError
from fairness_engine.models.dense.activations import sigmoid
from fairness_engine.models.fit.known_answers import answers_in_file
from fairness_engine.models.fit.reading import assess_reading
from fairness_engine.models.fit.reading_state import Reading, State
from fairness_engine.models.model import Model, Output
from fairness_engine.models.open import open_model
from loan_cases import write_messy_csv
from models.export_bank import LABELS, Bank, Case, written_labels

CLOSE = 1e-4
RIGHT = "right"
STOPPED = "stopped"
WRONG = "SILENTLY WRONG"
_SPEED = 2e5


@dataclass(frozen=True)
class Outcome:
    """What came of one opening.

    Args:
        verdict: RIGHT, STOPPED or WRONG.
        state: of the reading, or ``refused to open``.
        said: the first sentence of advice, or the error.
        auc: of the reading.
        off: largest difference to the truth, over the rows that can be used; ``None`` when the model was not opened.
        reading: ``None`` when the model was not opened.
    """

    verdict: str
    state: str
    said: str
    auc: float | None = None
    off: float | None = None
    reading: Reading | None = None


class Judge:
    """The messy file with its outcomes written in each way, and what the engine makes of models on it."""

    def __init__(self, bank: Bank, folder: Path) -> None:
        self.bank = bank
        self.folder = folder
        self.table = cache(self._table)

    def _table(self, labels: str) -> tuple[Table, Schema]:
        path = self.folder / f"{labels.replace('/', ' ')}.csv"
        write_messy_csv(self.bank.frame.assign(bewilligt=written_labels(self.bank.frame, labels)), path)
        table = read_table(path.read_bytes(), path.name)
        schema = change_label(table, infer_schema(table), "bewilligt")
        return table, schema.with_protected(("Geschlecht",))

    def as_it_is(self, case: Case) -> Outcome:
        """Opened with nothing said."""
        return self._judge(case, *self.table(case.labels))

    def as_proposed(self, case: Case, first: Outcome) -> Outcome | None:
        """Opened as the first reading proposes; ``None`` where it proposes nothing."""
        if first.reading is None or not first.reading.better:
            return None
        table, schema = self.table(case.labels)
        return self._judge(case, table, applied(schema, first.reading))

    def with_answers(self, case: Case, form: str) -> tuple[Outcome, Outcome | None]:
        """Opened with known answers in one form, and then as that reading proposes."""
        table, schema = self.table(case.labels)
        path = self.folder / f"{case.name.replace('/', ' ')}, {form}.csv"
        scores = case.forms()[form]
        lines = [
            f"{key};{score:.8f}".replace(".", ",")
            for key, score in zip(self.bank.frame["Antrags-ID"], scores, strict=True)
        ]
        path.write_text("\n".join(["Antrags-ID;score", *lines]))
        answers = answers_in_file(read_table(path.read_bytes(), path.name), table, schema)
        first = self._judge(case, table, schema, answers)
        if first.reading is None or not first.reading.better:
            return first, None
        return first, self._judge(case, table, applied(schema, first.reading), answers)

    def _judge(self, case: Case, table: Table, schema: Schema, answers: Any = None) -> Outcome:
        dataset = make_dataset(table, schema)
        try:
            model = open_model(case.path, dataset.schema, classes=dataset.classes, favourable=0)
            reading = assess_reading(model, dataset, _SPEED, np.random.default_rng(0), answers)
        except InputError as error:
            return Outcome(STOPPED if str(error).count(".") else WRONG, "not opened", str(error))
        off = float(np.abs(scores_of_ja(model, dataset, case) - case.truth[dataset.kept]).max())
        is_stopped = reading.state in (State.UNCONFIRMED, State.REFUSED)
        if is_stopped and not reading.advice:
            return Outcome(WRONG, reading.state.value, "stopped without a word", reading.auc, off, reading)
        verdict = RIGHT if off <= CLOSE else STOPPED if is_stopped else WRONG
        return Outcome(verdict, reading.state.value, " ".join(reading.advice), reading.auc, off, reading)


def applied(schema: Schema, reading: Reading) -> Schema:
    """The schema with what a reading proposes, as the page's button changes it."""
    better = reading.better
    if "layout" in better:
        layout = Layout.from_json(better["layout"])
        schema = replace(schema, layout=layout, model_input=ModelInput(better["model_input"]))
    return replace(schema, positive=better["positive"]) if "positive" in better else schema


def scores_of_ja(model: Model, dataset: Dataset, case: Case) -> Any:
    """The probability of 'ja' of every row that can be used, as the model is read."""
    scores = model.scores(dataset.rows)
    place = model.classes.index(LABELS[case.labels][0])
    if not model.is_binary:
        return (softmax(scores, axis=1) if model.predictor.output is Output.LOGIT else scores)[:, place]
    values = sigmoid(scores[:, 0]) if model.predictor.output is Output.LOGIT else scores[:, 0]
    return values if place == 1 else 1 - values
