"""The model as the engine sees it: encoded rows in, scores out.

A *predictor* is what one file format yields: it takes the model's own inputs (codes, one-hot columns, labels).
``Model`` binds a predictor to a schema: it turns rows of the engine into the predictor's inputs and scores
into decisions. Everything above this package talks to ``Model`` alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import EvenhandError, FitError, ModelError

_ROUNDING_SAFETY = 8.0
_LEAST_ROUNDING = 1e-6
_MOST_PASSES = 30


class Output(StrEnum):
    """What the numbers are that a model gives."""

    PROBABILITY = "probability"
    LOGIT = "logit"
    LABEL = "label"

    @property
    def middle(self) -> float:
        """Of two classes: the score above which a model decides for class 1 where nobody says otherwise."""
        return 0.0 if self is Output.LOGIT else 0.5


class Predictor(Protocol):
    """What one file format yields. ``inputs`` are the model's own: a float matrix, or a DataFrame of labels."""

    kind: str
    n_inputs: int | None
    n_scores: int
    output: Output

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_rows, n_scores)``: one column, the score of class 1, for two classes; else one a class."""
        ...

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """A monotone transform of the scores with the threshold at 0, ``(n_rows, n_scores)``.

        Only where the sign, or the order, matters: a network may leave out its last sigmoid and work in float32.
        """
        ...


class Encoder(Protocol):
    """Turns rows of the engine into a predictor's inputs.

    Attributes:
        names: what the model's own inputs are called, in its order.
        columns: names of the schema's columns that they are made of, where inputs are called otherwise (one-hot);
            optional.
        matches: what each input is taken for and how that is known (``inputs.names.InputMatch``); optional.
        notes: what a user should know of it, one sentence each; optional.
        block_rows: how many rows to encode at once; ``None`` when ``encode`` hands the rows on as they are.
    """

    names: tuple[str, ...]
    block_rows: int | None

    def encode(self, rows: FloatArray) -> Any:
        """``(n_rows, n_columns)`` rows of the engine -> the predictor's inputs."""
        ...

    def plain(self, rows: FloatArray) -> Any:
        """The inputs as the model's author would give them, a matrix or a DataFrame of ``names``; for screens."""
        ...


@dataclass(frozen=True)
class Model:
    """A predictor bound to a schema.

    Args:
        predictor: scores of the model's own inputs.
        encoder: from rows of the engine to those inputs.
        threshold: two classes only: the decision is class 1 when the score is greater.
        classes: what the label's column holds for class 0, 1, ...; for messages and screens.
        favourable: the class that is good for the person.
        rounding: margins within this distance of 0 are too near the threshold for the arithmetic in use;
            such a row is decided by its scores.
        format: of the file, in words.
        notes: what a user should know of how the model was read, one sentence each.
        own_threshold: where the file decides without another threshold; ``None`` where it does not say.
        names_classes: the file says what its classes are called.
        incomplete: what answers rows with missing cells, with the checks of the model's own environment
            (``incomplete.py``); ``None`` where no such row can be given to the model.
        reread: the same file bound to another schema, for a look at some scores: its encoder gives the file's own
            inputs, nothing is checked; ``None`` for a model that is not of a file.
    """

    predictor: Predictor
    encoder: Encoder
    threshold: float = 0.5
    classes: tuple[str, ...] = ("0", "1")
    favourable: int = 1
    rounding: float = 0.0
    format: str = ""
    notes: tuple[str, ...] = ()
    own_threshold: float | None = None
    names_classes: bool = False
    reread: Callable[[Any], Model] | None = None
    incomplete: Predictor | None = None

    @property
    def of_incomplete(self) -> Model | None:
        """The model as it answers rows with missing cells; ``None`` where it takes none."""
        if self.incomplete is None:
            return None
        original: Encoder = getattr(self.encoder, "original", self.encoder)
        return replace(self, predictor=self.incomplete, encoder=original, incomplete=None)

    @property
    def is_binary(self) -> bool:
        """True when one score decides between two classes."""
        return self.predictor.n_scores == 1

    @property
    def threshold_of_file(self) -> float:
        """The threshold where nobody sets another."""
        return self.predictor.output.middle if self.own_threshold is None else self.own_threshold

    @property
    def breadth(self) -> int:
        """How many times as large as usual a batch may be: those that other processes share in are to be large."""
        return 1

    def taken(self, columns: Sequence[str]) -> frozenset[str]:
        """Which columns of a schema the model takes; all, where its inputs are not called as columns are."""
        named = frozenset(columns) & frozenset(getattr(self.encoder, "columns", self.encoder.names))
        return named or frozenset(columns)

    def scores(self, rows: FloatArray) -> FloatArray:
        """Scores of rows of the engine, ``(n_rows, n_scores)``."""
        return self._by_block(rows, self.predictor.predict)

    def margins(self, rows: FloatArray) -> FloatArray:
        """Monotone transform of the scores with the threshold at 0, ``(n_rows, n_scores)``."""
        return self._by_block(rows, lambda inputs: self.predictor.margins(inputs, self.threshold))

    def variant_margins(self, rows: FloatArray, columns: IntArray, values: FloatArray) -> FloatArray:
        """Margins of every variant of every row, ``(n_rows * n_variants, n_scores)``, the variants of a row together.

        Args:
            rows: ``(n_rows, n_columns)``.
            columns: the protected columns ``(n_protected,)``.
            values: what each variant holds in them ``(n_variants, n_protected)``.
        """
        shared = getattr(self.predictor, "variant_margins", None)
        if shared is not None and self.encoder.block_rows is None:
            margins: FloatArray = shared(self.encoder.encode(rows), columns, values, self.threshold)
            return margins
        variants = np.repeat(rows, len(values), axis=0)
        variants.reshape(len(rows), len(values), -1)[:, :, columns] = values
        return self.margins(variants)

    def fast_scores(self, rows: FloatArray) -> FloatArray:
        """Scores ``(n_rows, n_scores)`` in the arithmetic of ``margins``; for a search's guidance, not for verdicts."""
        return self._by_block(rows, getattr(self.predictor, "fast_scores", self.predictor.predict))

    def nearby_scores(self, rows: FloatArray, columns: IntArray, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``fast_scores`` of rows, and of each row with one column moved.

        Args:
            rows: ``(n_rows, n_columns)``.
            columns: which columns move ``(n_moves,)``.
            steps: by how much ``(n_rows, n_moves)``; a moved value must be one that the model can take.

        Returns:
            ``(n_rows, n_scores)`` and ``(n_rows, n_moves, n_scores)``.
        """
        shared = getattr(self.predictor, "nearby_scores", None)
        if shared is not None and self.encoder.block_rows is None:
            nearby: tuple[FloatArray, FloatArray] = shared(self.encoder.encode(rows), columns, steps)
            return nearby
        n_each = len(columns) + 1
        near = np.repeat(rows[:, None, :], n_each, axis=1)
        near[:, np.arange(1, n_each), columns] += steps
        scores = self.fast_scores(near.reshape(len(rows) * n_each, -1)).reshape(len(rows), n_each, -1)
        return scores[:, 0], scores[:, 1:]

    @property
    def has_gradient(self) -> bool:
        """True when scores can be derived by the columns: a network that takes each column as one number."""
        return hasattr(self.predictor, "score_gradients") and hasattr(self.encoder, "chain")

    def gradients(self, rows: FloatArray, classes: IntArray | None = None) -> FloatArray:
        """True derivatives of a score by the columns ``(n_rows, n_columns)``; see ``has_gradient``.

        Args:
            rows: ``(n_rows, n_columns)``.
            classes: for more than two classes: whose score, by row ``(n_rows,)``; two classes have one score, of class
                1.

        Raises:
            ModelError: the model has no gradient.
        """
        if not self.has_gradient:
            raise ModelError(
                "This technique needs a network that takes every column as one number, got another kind of model. "
                "Choose MAFT, which estimates gradients for any model."
            )
        chain: Callable[[FloatArray, FloatArray], FloatArray] = getattr(self.encoder, "chain")  # noqa: B009 - optional
        gradient: Callable[..., FloatArray] = getattr(self.predictor, "score_gradients")  # noqa: B009 - optional
        return chain(rows, gradient(self.encoder.encode(rows), classes))

    @property
    def shares_variants(self) -> bool:
        """True when the variants of a row are evaluated together, and their margins give their scores."""
        return hasattr(self.predictor, "scores_of") and self.encoder.block_rows is None

    def scores_of(self, margins: FloatArray) -> FloatArray:
        """The scores that margins ``(n_rows, n_scores)`` belong to; for models that share variants."""
        convert: Callable[[FloatArray, float], FloatArray] = getattr(self.predictor, "scores_of")  # noqa: B009 - optional
        return convert(margins, self.threshold)

    def exact_margins(self, rows: FloatArray) -> FloatArray:
        """As ``margins``, in the predictor's full precision: ``(n_rows, n_scores)``."""
        exact = getattr(self.predictor, "exact_margins", self.predictor.margins)
        return self._by_block(rows, lambda inputs: exact(inputs, self.threshold))

    def _by_block(self, rows: FloatArray, evaluate: Callable[[Any], FloatArray]) -> FloatArray:
        """Encoded inputs can be many times as wide as rows: they are made and used a block at a time.

        Raises:
            FitError: the model raises an error, which is the cause of this one.
        """
        size = self.encoder.block_rows
        try:
            if size is None or len(rows) <= size:
                return evaluate(self.encoder.encode(rows))
            blocks = (rows[start : start + size] for start in range(0, len(rows), size))
            return np.concatenate([evaluate(self.encoder.encode(block)) for block in blocks])
        except (EvenhandError, MemoryError):
            raise
        except Exception as error:  # a model may raise anything
            raise FitError(
                f"The model fails on rows of the data ({reason_of(error)}). Check that the columns are those it was "
                "trained on, in its order ('order' of 'layout' in the schema file)."
            ) from error

    def decide(self, scores: FloatArray) -> IntArray:
        """Classes ``(n_rows,)`` of scores ``(n_rows, n_scores)``: above the threshold, or the largest score."""
        return decide(scores, self.threshold)

    def favourable_scores(self, scores: FloatArray) -> FloatArray:
        """What scores ``(n_rows, n_scores)`` say of the favourable outcome ``(n_rows,)``."""
        if scores.shape[1] > 1:
            return scores[:, self.favourable]
        only = scores[:, 0]
        return of_class_zero(only, self.predictor.output) if self.favourable == 0 else only


def decide(scores: FloatArray, threshold: float) -> IntArray:
    """Classes ``(n_rows,)``: one column is compared with the threshold (strictly), several by their largest."""
    if scores.shape[1] == 1:
        return np.asarray(scores[:, 0] > threshold, dtype=np.int64)
    best: NDArray[np.int64] = scores.argmax(axis=1)
    return best


def of_class_zero(scores: FloatArray, output: Output) -> FloatArray:
    """What a score of class 1 says of the other class, in the same unit: 1 less a probability or a label, a logit with
    the other sign.
    """
    return -scores if output is Output.LOGIT else 1.0 - scores


def measure_rows_per_second(model: Model, rows: FloatArray, max_seconds: float = 0.5) -> float:
    """How many rows a second the model decides: the best of several passes over ``rows``.

    Args:
        rows: rows of the engine, at least one; a few thousand give a fair figure.
        max_seconds: no further pass after this long; one is always made, and no more than tell how fast it is at best.
    """
    best = 0.0
    started = time.perf_counter()
    for _ in range(_MOST_PASSES):
        before = time.perf_counter()
        model.margins(rows)
        ended = time.perf_counter()
        best = max(best, len(rows) / max(ended - before, 1e-9))
        if ended - started >= max_seconds:
            break
    return best


def measure_rounding(model: Model, rows: FloatArray) -> float:
    """How far the margins' fast arithmetic may be off, from its differences to the exact one over ``rows``.

    Returns:
        what a predictor with one arithmetic says itself, 0 when it says nothing; else eight times the largest
        difference, at least 1e-6.
    """
    if not hasattr(model.predictor, "exact_margins"):
        return float(getattr(model.predictor, "rounding", 0.0))
    exact = model.exact_margins(rows)
    with np.errstate(invalid="ignore"):  # at a threshold of 0 or 1 every margin of a logit is infinite
        difference = np.abs(model.margins(rows) - exact)
    finite = difference[np.isfinite(difference)]
    return max(_LEAST_ROUNDING, _ROUNDING_SAFETY * float(finite.max(initial=0.0)))


def reason_of(error: Exception) -> str:
    """What an error of a library says, for a message: its kind and the beginning of its first line."""
    first = (str(error).splitlines() or [""])[0][:100]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


class _Nobody:
    """A predictor and an encoder that refuse to be asked."""

    kind = "no model"
    n_inputs: int | None = None
    n_scores = 1
    output = Output.LABEL
    names: tuple[str, ...] = ()
    block_rows: int | None = None

    def _refuse(self, *_: Any) -> NoReturn:
        raise ModelError("This needs a model, and the review has none. Add one under Model.")

    predict = margins = encode = plain = _refuse


def no_model(classes: tuple[str, ...], favourable: int | None) -> Model:
    """What stands for a model that is not there; it knows the outcomes of the data's label.

    Whoever asks it for a score gets a ``ModelError`` that says so.
    """
    nobody = _Nobody()
    return Model(nobody, nobody, classes=classes, favourable=1 if favourable is None else favourable, format="none")


def is_there(model: Model) -> bool:
    """Whether this is a model, and not the place of one."""
    return not isinstance(model.predictor, _Nobody)
