"""Is a model given what it was trained on, and is its class 1 the outcome that it is taken for?

A file that names neither its inputs nor its classes can be read in many ways, and each gives numbers that look like scores. What tells them apart:
scores that the model gave in its own environment (*known answers*), which prove the reading or refute it; and the data's labels, on which a model that
is read rightly does well. Every usual order and scaling of the inputs is tried on them (``input_ways.py``), every two inputs are exchanged, and a plain
linear fit says what the columns can tell at all.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.dataset import Dataset
from fairness_engine.errors import ModelError
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.known_answers import KnownAnswers
from fairness_engine.models.activations import sigmoid
from fairness_engine.models.input_ways import PLAIN, Way, ways_of
from fairness_engine.models.model import Model, Output
from fairness_engine.models.one_hot import OneHotEncoder, one_hot_features
from fairness_engine.models.reading_state import KnownBy, State, state_in_words
from fairness_engine.models.roc import auc, difference, standard_error
from fairness_engine.schema import Kind, Layout, ModelInput

MAX_ROWS = 4_000
"""Rows of the data that orders are judged on."""
_SECONDS = 3.0
_SURE = 5.0
"""How many standard errors a difference must be to be said: thousands of orders are looked at."""
_FAR = 0.02
"""Difference of two AUCs from which an order fits far better."""
_NEAR_GUESSING = 4.0
_LEAST_OF_REFERENCE = 0.5
"""Of what a linear fit to the same columns gains over guessing, a model that is read rightly keeps more than this part."""
_MAX_FEATURES = 400
_RIDGE = 1.0
_N_SHOWN = 5
_FAST = 100_000.0
"""Rows a second from which a model is tried in all orders before each run."""
_LEAST_GAIN, _SURE_OF_EXCHANGE = 0.003, 6.0
"""AUC, and standard errors: on published networks and the samples no two inputs gain 4 errors in each other's place; in a wrong order some gain 10."""
_N_EXCHANGED = 600
"""Pairs of inputs that are exchanged at most."""
_NEARLY = 0.03
"""Half of the known answers differ by less than this: the inputs are those, but for where their scaling was learned."""


@dataclass(frozen=True)
class Reading:
    """What is known of how a model is read.

    Args:
        state: how far it is confirmed.
        positive: the outcome whose score the model's one score is; ``None`` for more than two.
        positive_by, inputs_by: who says which outcome that is, and in which order the inputs stand.
        auc, auc_reversed: of the score for ``positive``, and if it were that of the other outcome.
        accuracy, accuracy_reversed: share of rows, likewise.
        reference_auc: of a plain linear fit to the same columns, on rows that it did not see.
        max_difference: largest difference to a known answer, over ``n_compared`` rows.
        row: the first row of the table, counted from 1, whose answer differs; ``given`` and ``got`` are the two scores.
        ways: ``order``, ``scaling``, ``auc`` and ``layout`` of what was tried, the best first.
        better: ``layout``, ``model_input`` and ``positive`` of a reading that fits far better, as a schema file holds them.
        advice: one sentence each, what was seen and what to do.
    """

    state: State
    positive: str | None = None
    positive_by: KnownBy = KnownBy.NOBODY
    inputs_by: KnownBy = KnownBy.NOBODY
    auc: float | None = None
    auc_reversed: float | None = None
    accuracy: float | None = None
    accuracy_reversed: float | None = None
    reference_auc: float | None = None
    max_difference: float | None = None
    n_compared: int | None = None
    row: int | None = None
    given: float | str | None = None
    got: float | str | None = None
    ways: tuple[Mapping[str, Any], ...] = ()
    better: Mapping[str, Any] = field(default_factory=dict)
    advice: tuple[str, ...] = ()

    def in_words(self) -> str:
        """The state as reviews and exports say it."""
        return state_in_words(self.state, self.auc)

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and text; ``from_json`` reads it back."""
        content = asdict(self)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in content.items()}

    @classmethod
    def from_json(cls, content: Any) -> Reading:
        """Read a reading back.

        Raises:
            ModelError: it is none.
        """
        if not isinstance(content, Mapping) or not set(content) <= {each.name for each in fields(cls)}:
            raise ModelError("A reading must hold its own fields, got others. Assess the model again.")
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
        try:
            values |= {key: KnownBy(values.get(key, KnownBy.NOBODY)) for key in ("positive_by", "inputs_by")}
            values["state"] = State(values["state"])
            return cls(**values)
        except (KeyError, TypeError, ValueError):
            raise ModelError("A reading must have a state that is known. Assess the model again.") from None


def assess_reading(
    model: Model,
    dataset: Dataset,
    rows_per_second: float,
    rng: np.random.Generator,
    answers: KnownAnswers | None = None,
    *,
    is_brief: bool = False,
) -> Reading:
    """Judge how a model is read.

    Args:
        model: bound to ``dataset.schema``.
        dataset: its rows and labels.
        rows_per_second: how fast the model is; a slow one is tried in fewer ways.
        rng: draws the rows.
        answers: of the model in its own environment; ``None`` when nobody brought any.
        is_brief: for the beginning of a run: no inputs are exchanged, and a slow model is not tried in other orders.
    """
    judge = _Judge(model, dataset, rows_per_second, rng, is_brief)
    return judge.against_answers(answers) if answers is not None and len(answers.rows) else judge.against_labels()


class _Judge:
    def __init__(
        self, model: Model, dataset: Dataset, rows_per_second: float, rng: np.random.Generator, is_brief: bool
    ) -> None:
        self.is_brief, self.is_slow = is_brief, rows_per_second < _FAST
        self.model, self.dataset, self.schema = model, dataset, dataset.schema
        self.ends = time.perf_counter() + _SECONDS
        has_labels = dataset.labels is not None and len(dataset.classes) == len(model.classes)
        n_most = int(min(MAX_ROWS // 2 if is_brief else MAX_ROWS, max(200, rows_per_second * _SECONDS / 40)))
        chosen = np.arange(len(dataset.rows))
        if len(chosen) > n_most:
            chosen = np.sort(rng.choice(chosen, n_most, replace=False))
        self.rng = rng
        self.rows = dataset.rows[chosen]
        self.labels = dataset.labels[chosen] if has_labels and dataset.labels is not None else None
        self.scores = model.scores(self.rows)
        self.positive = model.classes[1] if model.is_binary else None
        self.other = model.classes[0]

    # --- who says what --------------------------------------------------------------------

    @property
    def positive_by(self) -> KnownBy:
        if self.model.names_classes:
            return KnownBy.FILE
        return KnownBy.PERSON if self.schema.positive is not None else KnownBy.NOBODY

    @property
    def inputs_by(self) -> KnownBy:
        if self.model.bare is None:
            return KnownBy.FILE
        return KnownBy.NOBODY if self.schema.layout.is_plain else KnownBy.PERSON

    # --- by the labels --------------------------------------------------------------------

    def against_labels(self) -> Reading:
        facts = self._facts()
        if self.labels is None:
            said = (
                "Nothing in the data tells whether the model is read rightly: it has no label with the model's outcomes. Bring known answers, scores that "
                "the model gave in its own environment."
            )
            return Reading(State.UNCONFIRMED, **facts, advice=(said,))
        if self.positive is None:
            return self._many_classes(facts)
        is_positive = self.labels == 1
        reference = self._reference()
        area, error = facts["auc"], standard_error(self.scores[:, 0], is_positive)
        if area is None:
            said = "Nothing tells whether the model is read rightly: all rows have one outcome, or some have no score. Bring known answers."
            return Reading(State.UNCONFIRMED, **facts, advice=(said,))
        ways, better = self._ways(is_positive)
        advice: list[str] = []
        if better:
            advice.append(self._on_better(better, area))
        elif area < 0.5 - _NEAR_GUESSING * error:
            better = {"positive": self.other}
            advice.append(self._on_inverted(facts))
        elif area < 0.5 + _NEAR_GUESSING * error:
            advice.append(
                f"The model tells the outcomes apart no better than guessing (AUC {area:.2f}): check the order and the scaling of its inputs, the codes of "
                "categories and the label, or bring known answers."
            )
        elif reference is not None and area - 0.5 < _LEAST_OF_REFERENCE * (reference - 0.5):
            advice.append(
                f"The model reaches AUC {area:.2f}, a plain linear fit to the same columns {reference:.2f} on rows that it did not see: a model that is read "
                "rightly is seldom so much weaker. Check the order and the scaling of its inputs, or bring known answers."
            )
        if not advice:
            advice += self._on_exchanged(is_positive)
        state = State.UNCONFIRMED if advice else State.PLAUSIBLE
        return Reading(state, **facts, reference_auc=reference, ways=ways, better=better, advice=tuple(advice))

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "positive": self.positive,
            "positive_by": self.positive_by,
            "inputs_by": self.inputs_by,
        }
        if self.labels is None:
            return facts
        accuracy = float((self.model.decide(self.scores) == self.labels).mean())
        facts["accuracy"] = accuracy
        if self.positive is not None:
            area = auc(self.scores[:, 0], self.labels == 1)
            facts |= {
                "auc": area,
                "auc_reversed": None if area is None else 1 - area,
                "accuracy_reversed": 1 - accuracy,
            }
        return facts

    def _many_classes(self, facts: dict[str, Any]) -> Reading:
        assert self.labels is not None, "asked with labels"
        commonest = float(np.bincount(self.labels).max() / len(self.labels))
        error = math.sqrt(commonest * (1 - commonest) / len(self.labels))
        if facts["accuracy"] > commonest + _NEAR_GUESSING * error:
            return Reading(State.PLAUSIBLE, **facts)
        said = (
            f"The model is right on {100 * facts['accuracy']:.1f} % of the rows, always saying the commonest outcome on {100 * commonest:.1f} %: check the "
            "order of its inputs and of its classes, or bring known answers."
        )
        return Reading(State.UNCONFIRMED, **facts, advice=(said,))

    def _on_inverted(self, facts: Mapping[str, Any]) -> str:
        if self.positive_by is KnownBy.FILE:
            return (
                f"The model's file says that class 1 is '{self.positive}', but its score for it is lower where the label says so (AUC {facts['auc']:.2f}): "
                "check that the label is the one that the model predicts."
            )
        return (
            f"Class 1 is taken for '{self.positive}', which fits the labels badly (AUC {facts['auc']:.2f}, accuracy {100 * facts['accuracy']:.0f} %); as "
            f"'{self.other}' it would be AUC {facts['auc_reversed']:.2f}, accuracy {100 * facts['accuracy_reversed']:.0f} %. Say that the model's score is "
            f"that of '{self.other}' (Model page, or --positive)."
        )

    # --- other orders ---------------------------------------------------------------------

    def _ways(self, is_positive: NDArray[np.bool_]) -> tuple[tuple[Mapping[str, Any], ...], dict[str, Any]]:
        """What every usual way would give, the best first; and the best where it fits far better than the present one."""
        if self.model.bare is None or not self.model.is_binary or (self.is_brief and self.is_slow):
            return (), {}
        sign = self._sign(is_positive)
        present = sign * self._bare_scores(self.model.encoder.plain(self.rows))
        is_free = self.positive_by is KnownBy.NOBODY
        tried = []
        for way in ways_of(self.schema, len(self.model.encoder.names), self.dataset.rows):
            scores = sign * self._bare_scores(way.inputs(self.rows))
            area = auc(scores, is_positive)
            if area is not None:
                tried.append((max(area, 1 - area) if is_free else area, area, way, scores))
            if time.perf_counter() > self.ends:
                break
        tried.sort(key=lambda each: -each[0])
        shown = tuple(
            {"order": way.order, "scaling": way.scaling, "auc": area, "layout": way.schema.layout.to_json()}
            for _, area, way, _ in tried[:_N_SHOWN]
        )
        if not tried:
            return shown, {}
        _, area, way, scores = tried[0]
        mine = auc(present, is_positive) or 0.5
        is_reversed = area < 0.5
        if is_free and mine < 0.5:
            present = -present
        gain, error = difference(present, -scores if is_reversed else scores, is_positive)
        if gain < _FAR or gain < _SURE * error:
            return shown, {}
        better = {
            "order": way.order,
            "scaling": way.scaling,
            "auc": 1 - area if is_reversed else area,
            "layout": way.schema.layout.to_json(),
            "model_input": ModelInput.AUTO.value,
        }
        return shown, better | ({"positive": self.other} if is_reversed else {})

    def _sign(self, is_positive: NDArray[np.bool_]) -> float:
        """-1 where the classes of the file were put into the other order for the data."""
        raw = auc(self._bare_scores(self.model.encoder.plain(self.rows)), is_positive)
        mine = auc(self.scores[:, 0], is_positive)
        if raw is None or mine is None or abs(raw - mine) <= abs(1 - raw - mine):
            return 1.0
        return -1.0

    def _bare_scores(self, inputs: FloatArray) -> FloatArray:
        assert self.model.bare is not None, "asked of a file without names"
        scores: FloatArray = self.model.bare.predict(np.asarray(inputs, dtype=np.float64))[:, 0]
        return scores

    def _on_better(self, better: Mapping[str, Any], area: float) -> str:
        how = better["order"] if better["scaling"] == PLAIN else f"{better['order']}, {better['scaling']}"
        said = f"With its inputs {how} the model would fit the labels far better: AUC {better['auc']:.2f} instead of {area:.2f}"
        if "positive" in better:
            said += f", with '{better['positive']}' as class 1"
        return f"{said}. Read it so (Model page, or 'layout' of the schema file), if that is how it was trained."

    def _on_exchanged(self, is_positive: NDArray[np.bool_]) -> list[str]:
        """Where two inputs without names would fit better in each other's place, their order is wrong: training does not leave that.

        Nothing is learned from the protected ones: a model that was made to treat people alike would fit the labels better otherwise.
        """
        if self.model.bare is None or not self.model.is_binary or self.is_brief:
            return []
        inputs = np.asarray(self.model.encoder.plain(self.rows), dtype=np.float64)
        sign = self._sign(is_positive)
        present = sign * self._bare_scores(inputs)
        names, worst, found = self.model.encoder.names, 0.0, ""
        made_of = [self._column_of(name) for name in names]
        judged = [i for i, column in enumerate(made_of) if column not in self.schema.protected]
        pairs = list(itertools.combinations(judged, 2))
        for i in self.rng.permutation(len(pairs))[:_N_EXCHANGED]:
            if time.perf_counter() > self.ends:
                break
            one, other = pairs[i]
            if (inputs[:, one] == inputs[:, other]).all():
                continue
            exchanged = inputs.copy()
            exchanged[:, [one, other]] = inputs[:, [other, one]]
            gain, error = difference(present, sign * self._bare_scores(exchanged), is_positive)
            if gain > max(worst, _LEAST_GAIN, _SURE_OF_EXCHANGE * error):
                worst, found = gain, f"'{names[one]}' and '{names[other]}'"
        if not found:
            return []
        return [
            f"The model would fit the labels better with {found} in each other's place (AUC {worst:.3f} higher): the order of its inputs is likely another. "
            "Put them in order on the Model page, or bring known answers."
        ]

    def _column_of(self, name: str) -> str:
        """The column that an input is made of, by the input's name."""
        if name in self.schema.names:
            return name
        features = getattr(getattr(self.model.encoder, "original", self.model.encoder), "features", ())
        return next((self.schema.inputs[each.column].name for each in features if each.name == name), name)

    def _reference(self) -> float | None:
        """AUC of a linear fit by least squares to half of the rows, on the other half."""
        if self.labels is None:
            return None
        taken = self.model.taken(self.schema.names)
        columns = [
            column
            for column in self.schema.inputs
            if column.name in taken and (column.kind is not Kind.CATEGORICAL or len(column.codes) <= _MAX_FEATURES // 2)
        ]
        features = [
            feature
            for feature in one_hot_features(self.schema)
            if any(self.schema.inputs[feature.column] is column for column in columns)
        ][:_MAX_FEATURES]
        if not features:
            return None
        encoder = OneHotEncoder(replace(self.schema, layout=Layout()), features)
        inputs = encoder.encode(self.rows)
        spread = inputs.std(axis=0)
        inputs = (inputs - inputs.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        inputs = np.column_stack([inputs, np.ones(len(inputs))])
        is_learned = np.arange(len(inputs)) % 2 == 0
        learned, target = inputs[is_learned], (self.labels == 1)[is_learned] - 0.5
        normal = learned.T @ learned + _RIDGE * np.eye(learned.shape[1])
        weights = np.linalg.solve(normal, learned.T @ target)
        scores = inputs[~is_learned] @ weights
        if self.model.predictor.output is Output.LABEL:  # compared with a model that gives no finer scores
            scores = (scores > np.quantile(scores, 1 - float((self.labels == 1).mean()))).astype(np.float64)
        return auc(scores, (self.labels == 1)[~is_learned])

    # --- by known answers -----------------------------------------------------------------

    def against_answers(self, answers: KnownAnswers) -> Reading:
        facts = self._facts()
        places = np.searchsorted(self.dataset.kept, answers.rows)
        places = np.minimum(places, len(self.dataset.kept) - 1)
        is_there = self.dataset.kept[places] == answers.rows
        rows = self.dataset.rows[places[is_there]]
        given, classes = answers.scores[is_there], answers.classes[is_there]
        numbers = answers.rows[is_there] + 1
        if not len(rows):
            said = "None of the known answers is of a row that can be used: the rows that it names have missing or unknown cells. Bring answers for others."
            return Reading(State.UNCONFIRMED, **facts, n_compared=0, advice=(said,))
        scores = self.model.scores(rows)
        compared = _Compared(self.model, scores, given, classes, answers.tolerance)
        facts |= {"n_compared": len(rows), "max_difference": compared.max_difference}
        if compared.is_same:
            return self._answers_agree(facts, rows, numbers, compared)
        first = int(np.argmax(compared.differs))
        facts |= {"row": int(numbers[first]), **compared.at(first)}
        advice, better = self._way_of_answers(rows, given, answers.tolerance)
        if compared.is_other_class and self.positive_by is not KnownBy.FILE:
            advice = [
                f"The known answers are the scores of '{self.other}', and class 1 is taken for '{self.positive}'. Say that the model's score is that of "
                f"'{self.other}' (Model page, or --positive)."
            ]
            better = {"positive": self.other}
        said = (
            f"The model is not read as in its own environment: in row {facts['row']} it answered {_shown(facts['given'])} there and "
            f"{_shown(facts['got'])} here, {int(compared.differs.sum()):,} of {len(rows):,} answers differ."
        )
        rest = [] if advice else ["Check the order and scaling of its inputs, the codes of categories and the file."]
        return Reading(State.REFUSED, **facts, better=better, advice=(said, *advice, *rest))

    def _answers_agree(
        self, facts: dict[str, Any], rows: FloatArray, numbers: IntArray, compared: _Compared
    ) -> Reading:
        """The numbers are right; whose numbers they are is said by the file, a person, a known decision, or else by the labels."""
        is_said = self.positive_by is not KnownBy.NOBODY or compared.has_decisions or self.positive is None
        if is_said or self.labels is None:
            if is_said:
                return Reading(State.CONFIRMED, **facts)
            said = (
                f"The known answers agree, but nothing says whose scores they are: class 1 is taken for '{self.positive}'. Say which outcome it is (Model "
                "page, or --positive)."
            )
            return Reading(State.UNCONFIRMED, **facts, advice=(said,))
        is_positive = self.labels == 1
        area, error = facts["auc"], standard_error(self.scores[:, 0], is_positive)
        if area is None or abs(area - 0.5) < _NEAR_GUESSING * error:
            said = (
                f"The known answers agree, but the labels do not tell whether they are scores of '{self.positive}' or of '{self.other}'. Say which outcome "
                "class 1 is (Model page, or --positive)."
            )
            return Reading(State.UNCONFIRMED, **facts, advice=(said,))
        if area > 0.5:
            return Reading(State.CONFIRMED, **facts)
        decided = self.model.decide(self.model.scores(rows))
        said = (
            f"The known answers agree, but as scores of '{self.other}': class 1 is taken for '{self.positive}', which the labels contradict (AUC "
            f"{area:.2f}). Say that the model's score is that of '{self.other}' (Model page, or --positive)."
        )
        facts |= {
            "row": int(numbers[0]),
            "given": self.model.classes[1 - int(decided[0])],
            "got": self.model.classes[int(decided[0])],
        }
        return Reading(State.REFUSED, **facts, better={"positive": self.other}, advice=(said,))

    def _way_of_answers(
        self, rows: FloatArray, given: FloatArray, tolerance: float
    ) -> tuple[list[str], dict[str, Any]]:
        """The usual way in which the model does give the known answers, if one does; or nearly does."""
        bare = self.model.bare
        is_known = np.isfinite(given)
        if bare is None or not self.model.is_binary or not is_known.any():
            return [], {}
        rows, given = rows[is_known][:MAX_ROWS], given[is_known][:MAX_ROWS]
        nearest: tuple[float, float, Way] | None = None
        for way in ways_of(self.schema, len(self.model.encoder.names), self.dataset.rows):
            for form in _forms(bare.predict(way.inputs(rows))[:, 0], bare.output):
                gaps = np.abs(form - given)
                if nearest is None or np.median(gaps) < nearest[0]:
                    nearest = float(np.median(gaps)), float(gaps.max()), way
        if nearest is None or nearest[0] > _NEARLY:
            return [], {}
        _, largest, way = nearest
        better = {
            "order": way.order,
            "scaling": way.scaling,
            "layout": way.schema.layout.to_json(),
            "model_input": ModelInput.AUTO.value,
        }
        if largest <= tolerance:
            said = f"With its inputs {way.in_words()} it gives all known answers."
            return [f"{said} Read it so (Model page, or 'layout' of the schema file)."], better
        if way.scaling == PLAIN:
            return [], {}
        said = (
            f"With its inputs {way.in_words()} it nearly gives the known answers (largest difference {largest:.2g}): it was likely scaled by other rows. Put "
            "their means and deviations into 'layout' of the schema file."
        )
        return [said], {}


class _Compared:
    """Known answers beside what the model gives here."""

    def __init__(
        self, model: Model, scores: FloatArray, given: FloatArray, classes: IntArray, tolerance: float
    ) -> None:
        self._model, self._given, self._classes = model, given, classes
        decided = model.decide(scores)
        self._decided = decided
        mine = scores[:, 0] if model.is_binary else scores[np.arange(len(scores)), decided]
        has_score, has_class = np.isfinite(given), classes >= 0
        self.has_decisions = bool(has_class.any())
        forms = _forms(mine, model.predictor.output)
        if model.is_binary and model.names_classes:  # of two named classes either may have been written down
            forms += [1 - form for form in forms if model.predictor.output is not Output.LOGIT]
        gaps = [np.where(has_score, np.abs(form - given), 0.0) for form in forms]
        self._form, gap = min(zip(forms, gaps, strict=True), key=lambda each: float(each[1].max(initial=0.0)))
        self.differs = (gap > tolerance) | (has_class & (classes != decided))
        self.max_difference = float(gap.max(initial=0.0)) if has_score.any() else None
        other = [np.where(has_score, np.abs(1 - form - given), 0.0) for form in _shares(mine, model.predictor.output)]
        self.is_other_class = model.is_binary and has_score.any() and any(gap.max() <= tolerance for gap in other)

    @property
    def is_same(self) -> bool:
        return not self.differs.any()

    def at(self, i: int) -> dict[str, Any]:
        """The two answers for a row."""
        if np.isfinite(self._given[i]):
            return {"given": float(self._given[i]), "got": float(self._form[i])}
        names = self._model.classes
        return {"given": names[int(self._classes[i])], "got": names[int(self._decided[i])]}


def _forms(scores: FloatArray, output: Output) -> list[FloatArray]:
    """The same scores as they may have been written down: as they are, or a logit as a probability."""
    return [scores, sigmoid(scores)] if output is Output.LOGIT else [scores]


def _shares(scores: FloatArray, output: Output) -> list[FloatArray]:
    return [sigmoid(scores)] if output is Output.LOGIT else [scores]


def _shown(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else f"{value:.6g}"
