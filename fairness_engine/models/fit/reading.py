"""Is a model given what it was trained on, and is its class 1 the outcome that it is taken for?

A file that names neither its inputs nor its classes can be read in many ways, and each gives numbers that look like
scores. What tells them apart: scores that the model gave in its own environment (*known answers*), which prove the
reading or refute it; and the data's labels, on which a model that is read rightly does well. Every usual order and
scaling of the inputs is tried on them (``input_ways.py``), inputs are exchanged, and a plain linear fit says what the
columns can tell at all. What labels cannot tell (the means that a training scaled by, the numbers that it gave to
categories of text) is not confirmed without known answers.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.dataset import Dataset
from fairness_engine.data.missing import WHERE_SAID
from fairness_engine.data.schema import Kind, Layout
from fairness_engine.errors import cut
from fairness_engine.models.encoders.one_hot import OneHotEncoder, one_hot_features
from fairness_engine.models.fit.answer_forms import Compared, as_scores, fitted_codes, fitted_scaling, nearest_form
from fairness_engine.models.fit.incomplete import incomplete_scores, is_answered
from fairness_engine.models.fit.input_ways import (
    PLAIN,
    Way,
    by_position,
    guessed_codes,
    is_by_data,
    number_inputs,
    ways_of,
)
from fairness_engine.models.fit.known_answers import KnownAnswers
from fairness_engine.models.fit.probing import n_differing, random_in_words
from fairness_engine.models.fit.reading_state import KnownBy, Reading, State
from fairness_engine.models.fit.roc import Outcomes, comparable
from fairness_engine.models.inputs.names import input_matches
from fairness_engine.models.model import Model, Output, decide

MAX_ROWS = 4_000
"""Rows of the data that orders are judged on."""
_SECONDS = 3.0
"""Of the processor, so that what is found does not depend on what else the machine does."""
_SURE = 5.0
"""How many standard errors a difference must be to be said: thousands of orders are looked at."""
_FAR = 0.02
"""Difference of two AUCs from which an order fits far better."""
_NEAR_GUESSING = 4.0
_LEAST_OF_REFERENCE = 0.5
"""Of what a linear fit to the same columns gains over guessing, a model that is read rightly keeps more than this
part.
"""
_MAX_FEATURES = 400
_RIDGE = 1.0
_N_SHOWN = 5
_FAST = 100_000.0
"""Rows a second from which a model is tried in all orders before each run."""
_LEAST_GAIN = 0.003
_SURE_OF_EXCHANGE = 5.0
"""AUC, and standard errors: on published networks and the samples no two inputs gain 4 errors in each other's place; in
a wrong order some gain 10.
"""
_N_EXCHANGED = 600
"""Pairs of inputs that are exchanged at most."""
_N_GLANCED = 1_000
_ABOUT_0_AND_1 = 0.99
"""Of the scores, those within -0.5 to 1.5."""
_NEARLY = 0.03
"""Half of the known answers differ by less than this: the inputs are those, but for where their scaling was learned."""


def assess_reading(
    model: Model,
    dataset: Dataset,
    rows_per_second: float,
    rng: np.random.Generator,
    answers: KnownAnswers | None = None,
) -> Reading:
    """Judge how a model is read.

    Args:
        model: bound to ``dataset.schema``.
        dataset: its rows and labels.
        rows_per_second: how fast the model is; a slow one is tried in fewer ways.
        rng: draws the rows.
        answers: of the model in its own environment; ``None`` when nobody brought any.
    """
    judge = _Judge(model, dataset, rows_per_second, rng, is_brief=False)
    return judge.against_answers(answers) if answers is not None and len(answers.rows) else judge.against_labels()


def assess_briefly(
    model: Model,
    dataset: Dataset,
    rows_per_second: float,
    rng: np.random.Generator,
    known: Reading | None = None,
) -> tuple[Reading, bool]:
    """Judge how a model is read at the beginning of a run: no inputs are exchanged, a slow model is not tried in other
    orders, and whether it answers twice alike is said.

    Args:
        model, dataset, rows_per_second, rng: see ``assess_reading``.
        known: what was found before of a model that answered twice alike; it is asked twice again, and no more.

    Returns:
        the reading, and whether the model answers twice alike.
    """
    judge = _Judge(model, dataset, rows_per_second, rng, is_brief=True)
    found = judge.against_labels() if known is None else known
    n_others = n_differing(judge.scores, model.scores(judge.rows))
    if not n_others:
        return found, True
    state = State.REFUSED if found.state is State.REFUSED else State.UNCONFIRMED
    return replace(found, state=state, advice=(random_in_words(n_others, len(judge.rows)), *found.advice)), False


class _Judge:
    def __init__(
        self, model: Model, dataset: Dataset, rows_per_second: float, rng: np.random.Generator, *, is_brief: bool
    ) -> None:
        self.is_brief = is_brief
        self.is_slow = rows_per_second < _FAST
        self.model = model
        self.dataset = dataset
        self.schema = dataset.schema
        self.ends = time.process_time() + _SECONDS
        has_labels = dataset.labels is not None and len(dataset.classes) == len(model.classes)
        n_most = int(min(MAX_ROWS // 2 if is_brief else MAX_ROWS, max(200, rows_per_second * _SECONDS / 40)))
        chosen = np.arange(len(dataset.rows))
        if len(chosen) > n_most:
            chosen = np.sort(rng.choice(chosen, n_most, replace=False))
        self.rng = rng
        self.rows = dataset.rows[chosen]
        self.labels = dataset.labels[chosen] if has_labels and dataset.labels is not None else None
        self.scores = model.scores(self.rows)
        self.outcomes = None if self.labels is None else Outcomes(self.labels, self.scores.shape[1])
        self.positive = model.classes[1] if model.is_binary else None
        self.other = model.classes[0]
        self.nameless = frozenset() if model.reread is None else by_position(model, self.schema)

    # --- who says what --------------------------------------------------------------------

    @property
    def positive_by(self) -> KnownBy:
        if self.model.names_classes:
            return KnownBy.FILE
        return KnownBy.PERSON if self.schema.positive is not None else KnownBy.NOBODY

    @property
    def inputs_by(self) -> KnownBy:
        if not self.nameless:
            return KnownBy.FILE
        return KnownBy.NOBODY if self.schema.layout.is_plain else KnownBy.PERSON

    @cached_property
    def guessed(self) -> tuple[str, ...]:
        """The columns of texts that the model takes as numbers which nobody has said."""
        return () if self.model.reread is None else guessed_codes(self.model, self.dataset)

    # --- by the labels --------------------------------------------------------------------

    def against_labels(self) -> Reading:
        facts = self._facts()
        if self.outcomes is None:
            said = (
                "Nothing in the data tells whether the model is read rightly: it has no label with the model's "
                "outcomes. Bring known answers, scores that the model gave in its own environment."
            )
            return Reading(State.UNCONFIRMED, **facts, advice=(said,))
        area = facts["auc"]
        if area is None:
            said = (
                "Nothing tells whether the model is read rightly: all rows have one outcome, or some have no score. "
                "Bring known answers."
            )
            return Reading(State.UNCONFIRMED, **facts, advice=(said,))
        reference = self._reference(self.outcomes)
        error = self.outcomes.standard_error(self._told(self.scores))
        ways, better = self._ways(self.outcomes)
        advice: list[str] = []
        if better:
            advice.append(self._on_better(better, area))
        elif self.positive is None and self._is_guessing(self.outcomes.labels, facts["accuracy"]):
            advice.append(
                f"The model is right on {100 * facts['accuracy']:.1f} % of the rows, no more than by giving the same "
                "decisions to anybody: check the order and the scaling of its inputs, the codes of categories and the "
                "order of its classes, or bring known answers."
            )
        elif self.positive is not None and area < 0.5 - _NEAR_GUESSING * error:
            better, said = self._on_inverted(facts, ways)
            advice.append(said)
        elif area < 0.5 + _NEAR_GUESSING * error:
            advice.append(
                f"On {self._rows_in_words()} the model is not clearly better than guessing (AUC {area:.2f}): "
                "check the order and the scaling of its inputs, the codes of categories and the label, or bring known "
                "answers."
            )
        elif reference is not None and area - 0.5 < _LEAST_OF_REFERENCE * (reference - 0.5):
            advice.append(
                f"The model reaches AUC {area:.2f}, a plain linear fit to the same columns {reference:.2f} on rows "
                "that it did not see: a model that is read rightly is seldom so much weaker. Check the order and the "
                "scaling of its inputs, or bring known answers."
            )
        elif (share := self._as_shares()) is not None:
            advice.append(
                "The model's output is taken for a logit, and decisions above 0 are right on "
                f"{100 * facts['accuracy']:.0f} % of the rows; above 0.5 they would be on {100 * share:.0f} %: it "
                "looks as if it had been trained to give 0 and 1. If so, set the decision threshold 0.5 under Scope "
                "(--threshold 0.5), or bring known decisions."
            )
        elif self.positive is not None and self._is_mostly_wrong(facts["accuracy"]):
            advice.append(
                f"The model is right on {100 * facts['accuracy']:.0f} % of the rows only, though its scores tell the "
                f"outcomes apart (AUC {area:.2f}): check which outcome its class 1 is, the decision threshold, and the "
                "order and the scaling of its inputs, or bring known answers."
            )
        if self.positive is None and not better:
            better, on_classes = self._on_class_order()
            advice += on_classes
        if not advice:
            advice += [*self._on_exchanged(self.outcomes), *self._on_guesses()]
        advice += getattr(getattr(self.model.encoder, "original", self.model.encoder), "doubts", ())
        state = State.UNCONFIRMED if advice else State.PLAUSIBLE
        return Reading(state, **facts, reference_auc=reference, ways=ways, better=better, advice=tuple(advice))

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "positive": self.positive,
            "positive_by": self.positive_by,
            "inputs_by": self.inputs_by,
            "guessed": self.guessed,
        }
        if self.outcomes is None:
            return facts
        accuracy = float((self.model.decide(self.scores) == self.labels).mean())
        area = self.outcomes.auc(self._told(self.scores))
        facts |= {"accuracy": accuracy, "auc": area}
        if self.positive is not None:
            facts |= {"auc_reversed": None if area is None else 1 - area, "accuracy_reversed": 1 - accuracy}
        return facts

    def _told(self, scores: FloatArray) -> FloatArray:
        return comparable(scores, self.model.predictor.output)

    def _is_guessing(self, labels: IntArray, accuracy: float) -> bool:
        """Whether decisions are right no more often than if they were given out by chance, as many of each."""
        n_classes = len(self.model.classes)
        decided = np.bincount(self.model.decide(self.scores), minlength=n_classes)
        by_chance = float(decided @ np.bincount(labels, minlength=n_classes)) / len(labels) ** 2
        return accuracy <= by_chance + _NEAR_GUESSING * math.sqrt(by_chance * (1 - by_chance) / len(labels))

    def _rows_in_words(self) -> str:
        n_all = len(self.dataset.rows)
        drawn = f", drawn from {n_all:,}," if len(self.rows) < n_all else ""
        return f"these {len(self.rows):,} rows{drawn}"

    def _is_mostly_wrong(self, accuracy: float) -> bool:
        """Whether decisions between two outcomes are wrong on clearly more than half of the rows."""
        return accuracy < 0.5 - _NEAR_GUESSING * 0.5 / math.sqrt(len(self.rows))

    def _as_shares(self) -> float | None:
        """Share of rows that a file's logits decide rightly above 0.5, where they lie about 0 and 1, as those of a
        regression on outcomes do, and are right there on clearly more rows than above 0; ``None`` otherwise.
        """
        if self.outcomes is None or self.positive is None or self.model.predictor.output is not Output.LOGIT:
            return None
        if self.model.threshold != Output.LOGIT.middle or self.model.own_threshold is not None:
            return None
        scores = self.scores[:, 0]
        if np.mean(np.abs(scores - 0.5) <= 1.0) < _ABOUT_0_AND_1:
            return None
        right = decide(self.scores, 0.5) == self.labels
        gain = right.astype(float) - (self.model.decide(self.scores) == self.labels)
        is_clear = gain.mean() > max(_FAR, _SURE * gain.std() / math.sqrt(len(gain)))
        return float(right.mean()) if is_clear else None

    def _on_class_order(self) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Where the file does not name more than two classes: every two must fit the labels clearly better than in each
        other's place. The order that fits best, and what to say.
        """
        if self.positive_by is KnownBy.FILE or self.outcomes is None:
            return {}, ()
        decided = self.model.decide(self.scores)
        for one, other in itertools.combinations(range(len(self.model.classes)), 2):
            exchanged = np.where(decided == one, other, np.where(decided == other, one, decided))
            gain = (decided == self.outcomes.labels).astype(float) - (exchanged == self.outcomes.labels)
            if gain.mean() > _NEAR_GUESSING * gain.std() / math.sqrt(len(gain)) and (gain != 0).any():
                continue
            names = f"'{cut(self.model.classes[one])}' and '{cut(self.model.classes[other])}'"
            _, classes = self._turned(self.outcomes, self._told(self.scores))
            best = f"; they would fit best as {_listed(classes)}" if classes else ""
            return {"classes": classes} if classes else {}, (
                f"The file does not name its classes, and the labels do not show that {names} are not in each other's "
                f"place{best}. Put the label's outcomes in the order of the model's classes (Model page, or "
                "'categories' of the label in the schema file), or bring known decisions.",
            )
        return {}, ()

    def _on_inverted(self, facts: Mapping[str, Any], ways: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
        """How to read scores that are higher where the other outcome is, and what to say of it: in another order, where
        one fits as well without the outcomes exchanged; never so that it is right less often.
        """
        taken = cut(str(self.positive), 30)
        other = cut(self.other, 30)
        upright = next((way for way in ways if way["auc"] >= facts["auc_reversed"]), None)
        if upright is not None:
            return dict(upright), self._on_better(upright, facts["auc"])
        if self.positive_by is not KnownBy.FILE and facts["accuracy_reversed"] < facts["accuracy"]:
            return {}, (
                f"The scores are higher where the outcome is '{other}' than where it is '{taken}' (AUC "
                f"{facts['auc']:.2f}), yet decisions taken so would be right on {100 * facts['accuracy_reversed']:.0f} "
                f"% of the rows instead of {100 * facts['accuracy']:.0f} %: check the order and the scaling of its "
                "inputs, or bring known answers."
            )
        better = {"positive": self.other}
        if self.positive_by is KnownBy.FILE:
            return better, (
                f"The model's file says that class 1 is '{taken}', but its score for it is lower where the "
                f"label says so (AUC {facts['auc']:.2f}): check that the label is the one that the model predicts."
            )
        return better, (
            f"Class 1 is taken for '{taken}', which fits the labels badly (AUC {facts['auc']:.2f}, accuracy "
            f"{100 * facts['accuracy']:.0f} %); as '{other}' it would be AUC {facts['auc_reversed']:.2f}, "
            f"accuracy {100 * facts['accuracy_reversed']:.0f} %. Say that the model's score is that of '{other}' "
            "(Model page, or --positive)."
        )

    def _on_guesses(self) -> list[str]:
        """What the reading takes for granted and labels cannot tell."""
        if self.model.reread is None:
            return []
        advice = []
        if self.guessed:
            more = f" and {len(self.guessed) - 1} more" if len(self.guessed) > 1 else ""
            advice.append(
                f"The model takes the categories of '{self.guessed[0]}'{more} as numbers, and nothing says which "
                "number each had in training: they are guessed. Bring known answers, or say that they are right "
                "(below on the Model page, or 'codes' of 'layout' in the schema file)."
            )
        if is_by_data(self.model, self.dataset):
            advice.append(
                "The inputs are scaled by the data's own rows, and the training may have scaled by others: the scores "
                "may be a little off. Bring known answers, from which the scaling follows, or put its means and "
                "deviations in (Model page, 'scaling' of 'layout' in the schema file)."
            )
        return advice

    # --- other orders ---------------------------------------------------------------------

    def _ways(self, outcomes: Outcomes) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
        """What every usual way would give, the best first; and the best where it fits far better than the present
        one.
        """
        if self.model.reread is None or (self.is_brief and self.is_slow):
            return (), {}
        if self.model.predictor.output is Output.LABEL:
            return (), {}  # other ways are tried by scores, which tell more than decisions
        present, _ = self._turned(outcomes, self._told(self.scores))
        tried = []
        for way in ways_of(self.model, self.dataset):
            with suppress(Exception):  # a pipeline cannot take texts for numbers
                scores = self._told(self.model.reread(way.schema).scores(self.rows))
                area = outcomes.auc(scores)
                if area is None:
                    continue
                turned, classes = self._turned(outcomes, scores)
                fit = area if classes is None else outcomes.auc(turned) or 0.5
                tried.append((fit, area, way, turned, classes))
            if time.process_time() > self.ends:
                break
        tried.sort(key=lambda each: -each[0])
        shown = tuple({**_as_better(way), "auc": area} for _, area, way, *_ in tried[:_N_SHOWN])
        others = [each for each in tried if not self._is_present(each[2], each[4])]
        if not others:
            return shown, {}
        fit, _, way, turned, classes = others[0]
        gain, error = outcomes.difference(present, turned)
        if gain < _FAR or gain < _SURE * error:
            return shown, {}
        better = {**_as_better(way), "auc": fit}
        if classes is None:
            return shown, better
        return shown, better | ({"positive": self.other} if self.positive is not None else {"classes": classes})

    def _is_present(self, way: Way, classes: list[str] | None) -> bool:
        """Whether a way is how the model is read already."""
        told = (way.schema.layout, way.schema.model_input)
        return classes is None and told == (self.schema.layout, self.schema.model_input)

    def _turned(self, outcomes: Outcomes, scores: FloatArray) -> tuple[FloatArray, list[str] | None]:
        """Scores with the classes in the order that fits the labels best, and that order, where nobody says which it is
        and another fits better than the present one.
        """
        area = outcomes.auc(scores)
        if self.positive_by is not KnownBy.NOBODY or area is None:
            return scores, None
        if self.positive is not None:
            return (-scores, [*self.model.classes[::-1]]) if area < 0.5 else (scores, None)
        columns = outcomes.best_order(scores)
        if (outcomes.auc(scores[:, columns]) or 0.0) < area + _FAR:
            return scores, None
        return scores[:, columns], [self.model.classes[outcome] for outcome in np.argsort(columns)]

    def _on_better(self, better: Mapping[str, Any], area: float) -> str:
        how = better["order"] if better["scaling"] == PLAIN else f"{better['order']}, {better['scaling']}"
        said = (
            f"With its inputs {_put_in(how)} the model would fit the labels far better: AUC {better['auc']:.2f} "
            f"instead of {area:.2f}"
        )
        if "positive" in better:
            said += f", with '{cut(str(better['positive']))}' as class 1"
        where = "'layout' of the schema file"
        if "classes" in better:
            said += f", with its classes in the order {_listed(better['classes'])}"
            where = "'layout' and the label's 'categories' of the schema file"
        return f"{said}. Read it so (Model page, or {where}), if that is how it was trained."

    def _on_exchanged(self, outcomes: Outcomes) -> list[str]:
        """Where two inputs without names would fit better in each other's place, their order is wrong: training does
        not leave that.

        Of the protected ones only categories of one column are exchanged: a model that was made to treat people alike
        may fit the labels better with another input in their place, but only one that was made to favour fits them
        better with men and women exchanged.
        """
        if self.model.reread is None or self.is_brief:
            return []
        read = self.model.reread(self.schema)
        inputs = read.encoder.plain(self.rows)
        present = self._told(self.scores)
        names = read.encoder.names
        worst = 0.0
        found = ""
        matrix = inputs.to_numpy() if hasattr(inputs, "to_numpy") else inputs
        made_of = {match.name: match.column for match in input_matches(read.encoder)}
        judged = [i for i, name in enumerate(names) if name in self.nameless]
        numbers = number_inputs(read.encoder, self.schema)
        pairs = [
            (one, other)
            for one, other in itertools.combinations(judged, 2)
            if self._are_alike(inputs, names, (one, other))
            and self._may_tell(made_of[names[one]], made_of[names[other]])
        ]
        order = self.rng.permutation(len(pairs))
        every = max(1, len(self.rows) // _N_GLANCED)  # most exchanges are far worse, as fewer rows show
        few = inputs[::every]
        of_few = outcomes.part(slice(None, None, every))
        before = of_few.auc(present[::every]) or 0.5
        of_numbers = np.array([all(names[i] in numbers for i in pairs[k]) for k in order], dtype=bool)
        of_protected = np.array([made_of[names[pairs[k][0]]] in self.schema.protected for k in order], dtype=bool)
        is_first = of_numbers | of_protected
        for k in [*order[is_first], *order[~is_first]][:_N_EXCHANGED]:
            if time.process_time() > self.ends:
                break
            one, other = pairs[k]
            if (matrix[:, one] == matrix[:, other]).all():
                continue
            glance = self._told(read.predictor.predict(_exchanged(few, one, other)))
            if (of_few.auc(glance) or 0.0) < before + _LEAST_GAIN / 3:
                continue
            scores = self._told(read.predictor.predict(_exchanged(inputs, one, other)))
            gain, error = outcomes.difference(present, scores)
            if gain > max(worst, _LEAST_GAIN, _SURE_OF_EXCHANGE * error):
                worst = gain
                found = f"'{names[one]}' and '{names[other]}'"
        if not found:
            return []
        return [
            f"The model would fit the labels better with {found} in each other's place (AUC {worst:.3f} higher): the "
            "order of its inputs is likely another. Put them in order on the Model page, or bring known answers."
        ]

    def _may_tell(self, one: str, other: str) -> bool:
        """Whether exchanging inputs that are made of these columns says anything of their order."""
        return one == other or (one not in self.schema.protected and other not in self.schema.protected)

    @staticmethod
    def _are_alike(inputs: Any, names: Sequence[str], pair: tuple[int, int]) -> bool:
        """Whether two inputs can stand in each other's place: texts and numbers cannot."""
        if not hasattr(inputs, "dtypes"):
            return True
        one, other = (inputs[names[i]].dtype for i in pair)
        return bool(one == other and one.kind in "iuf")

    def _reference(self, outcomes: Outcomes) -> float | None:
        """AUC of a linear fit by least squares to half of the rows, on the other half."""
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
        learned = inputs[is_learned]
        normal = learned.T @ learned + _RIDGE * np.eye(learned.shape[1])
        scores = np.zeros((len(inputs), outcomes.n_scores))
        for column, is_it in outcomes.sides:
            weights = np.linalg.solve(normal, learned.T @ (is_it[is_learned] - 0.5))
            scores[:, column] = inputs @ weights
        scores = scores[~is_learned]
        others = outcomes.part(~is_learned)
        if self.model.predictor.output is Output.LABEL:  # compared with a model that gives no finer scores
            share = float((others.labels == 1).mean())
            least = np.quantile(scores, 1 - share) if outcomes.n_scores == 1 else scores.max(axis=1, keepdims=True)
            scores = (scores > least if outcomes.n_scores == 1 else scores == least).astype(np.float64)
        return others.auc(scores)

    # --- by known answers -----------------------------------------------------------------

    def against_answers(self, answers: KnownAnswers) -> Reading:
        facts = self._facts()
        places, is_there = _places_of(answers.rows, self.dataset.kept)
        rows = self.dataset.rows[places]
        given = answers.scores[is_there]
        classes = answers.classes[is_there]
        numbers = answers.rows[is_there] + 1
        if not len(rows):
            said = (
                "None of the known answers is of a row that can be used: the rows that it names have missing or "
                "unknown cells. Bring answers for others."
            )
            return Reading(State.UNCONFIRMED, **facts, n_compared=0, advice=(said,))
        compared = Compared(self.model, self.model.scores(rows), given, classes, answers.tolerance)
        facts |= {"n_compared": len(rows), "max_difference": compared.max_difference}
        if compared.is_same:
            return self._on_incomplete(self._answers_agree(facts, rows, numbers, compared), answers)
        first = int(np.argmax(compared.differs))
        facts |= {"row": int(numbers[first]), **compared.at(first)}
        advice, better = self._way_of_answers(rows, given, answers.tolerance)
        if compared.is_turned and self.positive_by is not KnownBy.FILE:
            advice = [
                f"Every known decision is the other one: class 1 is taken for '{self.positive}'. Say that the model's "
                f"score is that of '{cut(self.other, 30)}' (Model page, or --positive)."
            ]
            better = {"positive": self.other}
        said = (
            f"The model is not read as in its own environment: in row {facts['row']} it answered "
            f"{_shown(facts['given'])} there and "
            f"{_shown(facts['got'])} here, {int(compared.differs.sum()):,} of {len(rows):,} answers differ."
        )
        rest = (
            []
            if advice
            else ["Check the order and scaling of its inputs, the codes of categories, the threshold and the file."]
        )
        return Reading(State.REFUSED, **facts, better=better, advice=(said, *advice, *rest))

    def _answers_agree(self, facts: dict[str, Any], rows: FloatArray, numbers: IntArray, compared: Compared) -> Reading:
        """The numbers are right; whose numbers they are is said by the file or a known decision, else by the labels,
        else by a person.
        """
        if self.positive_by is KnownBy.FILE or compared.has_decisions:
            return Reading(State.CONFIRMED, **facts)
        if self.positive is None:
            better, advice = self._on_class_order()
            return Reading(State.UNCONFIRMED if advice else State.CONFIRMED, **facts, better=better, advice=advice)
        is_said = self.positive_by is KnownBy.PERSON
        side = self._side(self.scores)
        if side > 0 or (not side and is_said and not compared.is_of_other):
            return Reading(State.CONFIRMED, **facts)
        if not side:
            said = (
                f"The known answers agree, but nothing shows whether they are scores of '{self.positive}' or of "
                f"'{self.other}': the labels do not tell. Say which "
                "outcome class 1 is (Model page, or --positive), or bring known decisions."
            )
            return Reading(State.UNCONFIRMED, **facts, advice=(said,))
        said = (
            f"The known answers agree, but as scores of '{self.other}': class 1 is taken for '{self.positive}', which "
            "the labels contradict (AUC "
            f"{facts['auc']:.2f}). Say that the model's score is that of '{self.other}' (Model page, or --positive)"
        )
        better = {"positive": self.other}
        if is_said:  # who is sure of it can go on
            return Reading(
                State.UNCONFIRMED,
                **facts,
                better=better,
                advice=(f"{said}, or bring known decisions, which prove it.",),
            )
        decided = self.model.decide(self.model.scores(rows))
        facts |= {
            "row": int(numbers[0]),
            "given": self.model.classes[1 - int(decided[0])],
            "got": self.model.classes[int(decided[0])],
        }
        return Reading(State.REFUSED, **facts, better=better, advice=(f"{said}.",))

    def _on_incomplete(self, agreed: Reading, answers: KnownAnswers) -> Reading:
        """What known answers for rows with missing cells add to those for complete rows, which all agree. Searches and
        proofs are of complete rows: the others are no reason to doubt these, but for a word.
        """
        more = self.dataset.incomplete
        if more is None or self.model.of_incomplete is None:
            return agreed
        places, is_there = _places_of(answers.rows, more.kept)
        scores = incomplete_scores(self.model, more.rows[places])
        is_told = is_answered(scores)
        chosen = np.flatnonzero(is_there)[is_told]
        if not len(chosen):
            return agreed
        given = as_scores(answers.scores, self.model.predictor.output)  # by all of them: whether they are logits
        compared = Compared(self.model, scores[is_told], given[chosen], answers.classes[chosen], answers.tolerance)
        if compared.is_same:
            known = [each for each in (agreed.max_difference, compared.max_difference) if each is not None]
            n_compared = (agreed.n_compared or 0) + len(chosen)
            return replace(agreed, n_compared=n_compared, max_difference=max(known, default=None))
        first = int(np.argmax(compared.differs))
        there, here = (_shown(answer) for answer in compared.at(first).values())
        said = (
            "The known answers agree where rows are complete, but not where cells are missing: in row "
            f"{answers.rows[chosen[first]] + 1} the model answered {there} in its own environment and {here} here, "
            f"{int(compared.differs.sum()):,} of {len(chosen):,} such answers differ. Figures of groups count these "
            f"rows: complete the cells, or say what is a value after all ({WHERE_SAID})."
        )
        return replace(agreed, advice=(*agreed.advice, said))

    def _side(self, scores: FloatArray) -> int:
        """1 where the labels show that scores are those of class 1, -1 of the other, 0 where they do not tell."""
        if self.outcomes is None:
            return 0
        area = self.outcomes.auc(scores)
        error = self.outcomes.standard_error(scores)
        if area is None or abs(area - 0.5) < _NEAR_GUESSING * error:
            return 0
        return 1 if area > 0.5 else -1

    def _way_of_answers(
        self, rows: FloatArray, given: FloatArray, tolerance: float
    ) -> tuple[list[str], dict[str, Any]]:
        """The usual way in which the model does give the known answers, if one does; or nearly does."""
        is_known = np.isfinite(given)
        if self.model.reread is None or not is_known.any():
            return [], {}
        rows = rows[is_known][:MAX_ROWS]
        given = given[is_known][:MAX_ROWS]
        tried = []
        for way in ways_of(self.model, self.dataset):
            with suppress(Exception):  # a pipeline cannot take texts for numbers
                gaps = nearest_form(self.model, way, rows, given)[1]
                tried.append((float(np.median(gaps)), float(gaps.max()), way))
        tried.sort(key=lambda each: each[:2])
        if not tried:
            return [], {}
        median, largest, way = tried[0]
        if not largest <= tolerance:
            fitted = fitted_codes(self.model, way, rows, given, tolerance) if way.scaling == PLAIN else None
            if fitted is None and median <= _NEARLY and way.scaling != PLAIN:
                fitted = fitted_scaling(self.model, way, rows, given, tolerance)
            if fitted is None and (way.scaling == PLAIN or median > _NEARLY):
                return [], {}
            if fitted is None:
                said = (
                    f"With its inputs {_put_in(way.in_words())} it nearly gives the known answers (largest difference "
                    f"{largest:.2g}): it was likely scaled by other rows. "
                    "Put their means and deviations into 'layout' of the schema file."
                )
                return [said], {}
            way = fitted
        better = _as_better(way)
        said = f"With its inputs {_put_in(way.in_words())} it gives all known answers"
        is_open = self.positive is not None and self.positive_by is not KnownBy.FILE
        if is_open and self._side(self.model.reread(way.schema).scores(self.rows)) < 0:
            better |= {"positive": self.other}
            said += f", as scores of '{self.other}'"
        return [f"{said}. Read it so (Model page, or 'layout' of the schema file)."], better


def _places_of(rows: IntArray, kept: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
    """Where rows of the table stand among those that were kept, and which of them do ``(n_rows,)``."""
    places = np.minimum(np.searchsorted(kept, rows), len(kept) - 1)
    is_there = np.asarray(kept[places] == rows, dtype=bool)
    return places[is_there], is_there


def _as_better(way: Way) -> dict[str, Any]:
    return {
        "order": way.order,
        "scaling": way.scaling,
        "layout": way.schema.layout.to_json(),
        "model_input": way.schema.model_input.value,
    }


def _exchanged(inputs: Any, one: int, other: int) -> Any:
    """Inputs with two of them in each other's place, a matrix or a frame."""
    exchanged = inputs.copy()
    if hasattr(inputs, "iloc"):
        exchanged.isetitem(one, inputs.iloc[:, other])
        exchanged.isetitem(other, inputs.iloc[:, one])
    else:
        exchanged[:, [one, other]] = inputs[:, [other, one]]
    return exchanged


def _listed(classes: Sequence[str]) -> str:
    """Classes by name, the first ones of many."""
    more = f" and {len(classes) - _N_SHOWN} more" if len(classes) > _N_SHOWN else ""
    return ", ".join(f"'{cut(name, 30)}'" for name in classes[:_N_SHOWN]) + more


def _put_in(how: str) -> str:
    """A way in words, in the middle of a sentence."""
    return f"{how}," if "," in how else how


def _shown(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else f"{value:.6g}"
