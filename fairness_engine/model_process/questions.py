"""The small questions that a page or a command asks of a model, each with its reply: one class a question.

``Evaluator.ask`` puts them; ``model_process.session`` and ``text_session`` answer them under the same name. A reply
comes from a process that may hold a hostile model: ``read`` believes none of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Required, TypedDict, TypeVar

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray, pack_array, unpack_array
from fairness_engine.codec import Amount, Class, Count, Number, Proportion, Text, Word, decode
from fairness_engine.data.schema import Schema
from fairness_engine.errors import RunError, breach
from fairness_engine.model_process.protocol import MAX_EVENT_BYTES, pack_pairs, unpack_pairs
from fairness_engine.model_process.starting.compiled_loops import Loops
from fairness_engine.models.fit.reading_state import Reading
from fairness_engine.oracle.domain import Distribution, Domain, Scope
from fairness_engine.oracle.possible_pairs import MAX_CLASSES, PossiblePairs
from fairness_engine.pairs import Pairs

if TYPE_CHECKING:
    from fairness_engine.certification.box_inspection.details import BoxDetails
    from fairness_engine.certification.settings import CertifySettings
    from fairness_engine.explanation.shap_values import PairValues
    from fairness_engine.explanation.where import Where
    from fairness_engine.groups.figures.report import FigureSettings, GroupReport
    from fairness_engine.groups.figures.thresholds import ThresholdCounts, ThresholdSettings
    from fairness_engine.measures.gradient_agreement import GradientCheck
    from fairness_engine.measures.plausibility.plausibility import PersonAssessed
    from fairness_engine.models.fit.known_answers import KnownAnswers
    from fairness_engine.models.fit.report import FitCard
    from fairness_engine.retraining.trainable import Trainable

MAX_TEXT_CHARACTERS = 1_000_000
"""Of all texts in one question."""
_MAX_REASON = 2_000
_BYTES_A_NUMBER = 11
"""Of an array as text."""

A = TypeVar("A")
First = TypeVar("First", FloatArray, IntArray)


class Target(Protocol):
    """What a question is asked of: a run's configuration, or a ``Held``."""

    @property
    def data_id(self) -> str: ...

    @property
    def model_id(self) -> str: ...

    @property
    def schema(self) -> Schema: ...

    @property
    def scope(self) -> Scope | None: ...


@dataclass(frozen=True)
class Held:
    """Data, a model (empty where a column of the data decides), columns and a scope (``None`` for what needs none)."""

    data_id: str
    model_id: str
    schema: Schema
    scope: Scope | None = None


def scope_of(target: Target) -> Scope:
    """The scope of a question that needs one.

    Raises:
        RunError: it has none.
    """
    if target.scope is None:
        raise RunError("This question needs a scope, got none. Choose the protected attributes first.")
    return target.scope


class Question(ABC, Generic[A]):
    """One kind of question.

    Attributes:
        name: of the request.
        seconds: how long an answer may take.
        loops: compiled loops that it takes beside those of models.
    """

    name: ClassVar[str]
    seconds: ClassVar[float] = 60.0
    loops: ClassVar[tuple[Loops, ...]] = ()

    def content(self) -> dict[str, Any]:
        """What the request says, as JSON."""
        return {}

    @abstractmethod
    def read(self, reply: dict[str, Any], target: Target) -> A:
        """The answer.

        Raises:
            ProcessError: the reply is none.
        """

    def answer(self, reply: dict[str, Any], target: Target) -> A:
        """What ``read`` gives, whatever the reply is.

        Raises:
            EvenhandError: the reply is none.
        """
        try:
            return self.read(reply, target)
        except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError):
            raise breach(f"its answer about '{self.name}' cannot be read") from None

    def parts(self, target: Target) -> Iterator[Question[A]]:
        """The same question in pieces that fit into a line each.

        Raises:
            RunError: it cannot be asked of this.
        """
        del target
        yield self

    def join(self, answers: list[A]) -> A:
        """The answer to the whole of the answers to its parts."""
        return answers[0]


# --- what a model says of rows and texts --------------------------------------------------------


@dataclass(frozen=True)
class _OfRows(Question[tuple[First, IntArray]]):
    """Rows of the engine ``(n_rows, n_columns)``; the answer is two arrays of as many rows."""

    rows: FloatArray

    def content(self) -> dict[str, Any]:
        return {"rows": pack_array(self.rows)}

    def parts(self, target: Target) -> Iterator[Any]:
        rows = np.atleast_2d(np.asarray(self.rows, dtype=np.float64))
        n_columns = len(target.schema.inputs)
        if rows.shape[1] != n_columns:
            raise RunError(f"Rows must have {n_columns} columns, got {rows.shape[1]}.")
        size = max(1, MAX_EVENT_BYTES // (_BYTES_A_NUMBER * n_columns))
        for start in range(0, max(len(rows), 1), size):
            yield type(self)(rows[start : start + size])

    def join(self, answers: list[tuple[First, IntArray]]) -> tuple[First, IntArray]:
        first, second = zip(*answers, strict=True)
        return np.concatenate(first), np.concatenate(second)


class Scores(_OfRows[FloatArray]):
    """Scores ``(n_rows, n_scores)`` and decisions ``(n_rows,)`` of rows."""

    name = "scores"

    def read(self, reply: dict[str, Any], _: Target) -> tuple[FloatArray, IntArray]:
        return _read_scores(reply, len(self.rows))


class Decisions(_OfRows[IntArray]):
    """The least and the greatest class that the variants of rows get, ``(n_rows,)`` each."""

    name = "decisions"
    seconds = 90.0

    def read(self, reply: dict[str, Any], _: Target) -> tuple[IntArray, IntArray]:
        least, most = (unpack_array(reply[name]) for name in ("least", "most"))
        if any(part.dtype != np.int64 or part.shape != (len(self.rows),) for part in (least, most)):
            raise breach("it sent decisions of the wrong shape")
        if not ((least >= 0) & (least <= most) & (most < MAX_CLASSES)).all():
            raise breach("it sent decisions that are no classes")
        return least, most


@dataclass(frozen=True)
class TextScores(Question[tuple[FloatArray, IntArray]]):
    """Scores ``(n_texts, n_scores)`` and decisions ``(n_texts,)`` that a model of texts gives."""

    name = "texts"
    texts: Sequence[str]

    def content(self) -> dict[str, Any]:
        return {"texts": list(self.texts)}

    def parts(self, _: Target) -> Iterator[TextScores]:
        if sum(map(len, self.texts)) > MAX_TEXT_CHARACTERS:
            raise RunError(
                f"A question may hold {MAX_TEXT_CHARACTERS:,} characters of text. Use shorter texts, or fewer."
            )
        yield self

    def read(self, reply: dict[str, Any], _: Target) -> tuple[FloatArray, IntArray]:
        return _read_scores(reply, len(self.texts))


def _read_scores(reply: dict[str, Any], n_rows: int) -> tuple[FloatArray, IntArray]:
    scores = unpack_array(reply["scores"])
    decisions = unpack_array(reply["decisions"])
    is_right = scores.ndim == 2 and scores.dtype == np.float64 and decisions.dtype == np.int64
    if not is_right or len(scores) != n_rows or decisions.shape != (n_rows,) or not np.isfinite(scores).all():
        raise breach("it sent scores of the wrong shape")
    n_classes = max(2, scores.shape[1])
    if not 0 < scores.shape[1] <= MAX_CLASSES or not ((decisions >= 0) & (decisions < n_classes)).all():
        raise breach("it sent decisions that are no classes")
    return scores, decisions


# --- about data and model -----------------------------------------------------------------------


class _Opened(TypedDict, total=False):
    """What was opened; ``favourable`` is a class, ``taken`` the columns that the model takes."""

    n_rows: Required[Count]
    n_dropped: Required[Count]
    problems: Required[list[str]]
    classes: Required[list[str]]
    threshold: Required[Number | None]
    is_binary: Required[bool]
    favourable: Required[Class | None]
    taken: list[str]


@dataclass(frozen=True)
class Summary(Question[dict[str, Any]]):
    """What was opened, as ``_Opened`` has it."""

    name = "summary"

    def read(self, reply: dict[str, Any], _: Target) -> dict[str, Any]:
        return dict(decode(_Opened, reply))


@dataclass(frozen=True)
class Fit(Question["FitCard"]):
    """Do the model and the data belong together? A scope is needed for texts only, to say which column the model takes.

    Args:
        answers: that the model gave in its own environment.
    """

    name = "fit"
    seconds = 180.0
    answers: KnownAnswers | None = None

    def content(self) -> dict[str, Any]:
        return {"answers": None if self.answers is None else self.answers.to_json()}

    def read(self, reply: dict[str, Any], _: Target) -> FitCard:
        from fairness_engine.models.fit.report import FitCard

        card = decode(_CardFields, reply["fit"])
        if card.get("reading"):
            decode(Reading, card["reading"])
        return FitCard.from_json(reply["fit"])


@dataclass(frozen=True)
class CanRetrain(Question["Trainable"]):
    """Can the model be retrained on the data, and what may be trained instead?"""

    name = "trainable"
    seconds = 180.0

    def read(self, reply: dict[str, Any], _: Target) -> Trainable:
        from fairness_engine.retraining.trainable import Trainable

        return Trainable.from_json(reply.get("trainable"))


@dataclass(frozen=True)
class WhyNotCertifiable(Question["str | None"]):
    """Why nothing can be proved of the model in this scope, in a sentence or two; ``None`` when it can be certified."""

    name = "certifiable"
    seconds = 180.0  # milliseconds, but for the first question of a new version, which may have to compile loops

    def read(self, reply: dict[str, Any], _: Target) -> str | None:
        reason = reply.get("reason")
        if reason is not None and not (isinstance(reason, str) and len(reason) <= _MAX_REASON):
            raise breach("it sent a reason that is none")
        return reason


@dataclass(frozen=True)
class CheckGradients(Question["GradientCheck"]):
    """How estimated gradients compare with the true ones, on rows of the data."""

    name = "gradients"
    seconds = 90.0

    def read(self, reply: dict[str, Any], _: Target) -> GradientCheck:
        from fairness_engine.measures.gradient_agreement import GradientCheck

        return GradientCheck.from_json(reply.get("gradients"))


class _Input(TypedDict):
    name: str
    column: str
    category: str | None
    how: str


class _ShownRow(TypedDict):
    labels: dict[str, str]
    received: dict[str, bool | int | float | str | None]
    score: float
    decision: str


class _ScoreRange(TypedDict):
    min: float | None
    max: float | None
    kind: Word


class _CardFields(TypedDict, total=False):
    """Types of the fields of a fit card; which of them there must be it says itself."""

    format: Text
    kind: Text
    n_inputs: Count
    layers: list[Count]
    n_classes: Count
    classes: list[str]
    favourable: Class
    threshold: float | None
    n_rows: Count
    accuracy: Proportion | None
    majority_share: Proportion | None
    auc: Proportion | None
    output: _ScoreRange
    class_shares: dict[str, Proportion]
    uses_protected: dict[str, bool]
    not_taken: list[str]
    is_deterministic: bool
    sample_rows: list[_ShownRow]
    warnings: list[Text]
    rows_per_second: Amount
    has_gradient: bool
    inputs: list[_Input]
    reading: dict[str, Any]
    n_incomplete: Count
    n_answered: Count


# --- about people, groups and boxes -------------------------------------------------------------


@dataclass(frozen=True)
class Plausible(Question["tuple[PersonAssessed, ...]"]):
    """Could these people exist? Rows of the engine ``(n_people, n_columns)``."""

    name = "plausible"
    rows: FloatArray

    def content(self) -> dict[str, Any]:
        return {"rows": pack_array(self.rows)}

    def read(self, reply: dict[str, Any], target: Target) -> tuple[PersonAssessed, ...]:
        from fairness_engine.measures.plausibility.plausibility import PersonAssessed

        inputs = target.schema.inputs
        people = tuple(PersonAssessed.from_json(each, len(inputs)) for each in reply["plausible"])
        if len(people) != len(self.rows):
            raise breach("it assessed other people")
        for person in people:
            ranges = [each for pair in person.unseen for each in (pair.first, pair.second)]
            named = [*enumerate(person.neighbour), *((each.column, each.low) for each in ranges)]
            named += [(each.column, each.high) for each in ranges]
            is_known = all(0 <= value < len(inputs[i].codes) for i, value in named if inputs[i].codes)
            if not is_known or person.distance > 1:
                raise breach("it sent a neighbour who cannot be")
        return people


@dataclass(frozen=True)
class Simplify(Question[Pairs]):
    """The plainest form of one pair that is still discriminatory."""

    name = "simplify"
    pair: Pairs

    def content(self) -> dict[str, Any]:
        return {"pair": pack_pairs(self.pair)}

    def read(self, reply: dict[str, Any], target: Target) -> Pairs:
        found = _pairs(reply.get("pair"), target)
        if len(found) != 1:
            raise breach(f"it sent {len(found)} pairs instead of one")
        return found


@dataclass(frozen=True)
class Shap(Question["PairValues"]):
    """SHAP values of both people of a pair, rows of the engine ``(2, n_columns)``."""

    name = "shap"
    seconds = 90.0
    people: FloatArray

    def content(self) -> dict[str, Any]:
        return {"people": pack_array(self.people)}

    def read(self, reply: dict[str, Any], target: Target) -> PairValues:
        from fairness_engine.explanation.shap_values import PairValues

        return PairValues.from_json(reply.get("shap"), len(target.schema.inputs))


@dataclass(frozen=True)
class FindWhere(Question["Where"]):
    """The groups in which the model discriminates, among rows of the data or uniform ones."""

    name = "where"
    seconds = 90.0
    distribution: Distribution
    max_depth: int

    def content(self) -> dict[str, Any]:
        return {"settings": {"distribution": self.distribution.value, "max_depth": self.max_depth}}

    def read(self, reply: dict[str, Any], target: Target) -> Where:
        from fairness_engine.explanation.where import where_from_json

        examples = _pairs(reply.get("examples"), target)
        found = where_from_json(reply.get("where"), Domain(target.schema, scope_of(target)), examples)
        if found.distribution is not self.distribution:
            raise breach("it sent groups of other rows")
        return found


@dataclass(frozen=True)
class GroupFigures(Question["GroupReport"]):
    """Selection rates, impact ratios and equalised odds of groups of the data's rows; the scope's limits hold."""

    name = "group_figures"
    seconds = 90.0
    settings: FigureSettings

    def content(self) -> dict[str, Any]:
        return {"settings": self.settings.to_json()}

    def read(self, reply: dict[str, Any], _: Target) -> GroupReport:
        from fairness_engine.groups.figures.report import report_from_json

        return report_from_json(reply.get("figures"), self.settings)


@dataclass(frozen=True)
class CountThresholds(Question["ThresholdCounts"]):
    """How many rows of each group get the favourable outcome at every decision threshold that is offered, so that
    moving it asks nothing more; the scope's limits hold.
    """

    name = "thresholds"
    seconds = 90.0
    settings: ThresholdSettings

    def content(self) -> dict[str, Any]:
        return {"settings": self.settings.to_json()}

    def read(self, reply: dict[str, Any], target: Target) -> ThresholdCounts:
        from fairness_engine.groups.figures.thresholds import counts_from_json

        return counts_from_json(reply.get("thresholds"), self.settings, target.schema, scope_of(target).threshold)


@dataclass(frozen=True)
class InspectBox(Question["BoxDetails"]):
    """What is known of one box of a certification, and why it is undecided.

    Args:
        settings: of the certification.
        low, high: digits ``(D,)`` each, both ends included, as ``PartitionTree.box`` gives them.
    """

    name = "box"
    seconds = 180.0
    loops = (Loops.CERTIFICATIONS,)
    settings: CertifySettings
    low: IntArray
    high: IntArray

    def content(self) -> dict[str, Any]:
        return {"settings": self.settings.to_json(), "low": pack_array(self.low), "high": pack_array(self.high)}

    def read(self, reply: dict[str, Any], target: Target) -> BoxDetails:
        from fairness_engine.certification.box_inspection.details import BoxDetails

        pairs = _pairs(reply.get("counterexample"), target)
        return BoxDetails.from_json(reply["box"], pairs, Domain(target.schema, scope_of(target)), len(self.low))


def _pairs(content: Any, target: Target) -> Pairs:
    """Pairs of the scope that is asked about."""
    pairs = unpack_pairs(content, len(target.schema.inputs))
    try:
        PossiblePairs(target.schema, scope_of(target)).check(pairs)
    except ValueError as error:
        raise breach(f"it sent {error}") from None
    return pairs
