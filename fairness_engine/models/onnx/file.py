"""ONNX models: chains of dense layers are read statically, all others are evaluated by onnxruntime."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.errors import FitError, ModelError
from fairness_engine.models.formats import TAKES_TEXTS
from fairness_engine.models.inputs.names import some
from fairness_engine.models.inputs.spelling import normal
from fairness_engine.models.inputs.typed import InputSpec, Takes
from fairness_engine.models.model import Output, Predictor
from fairness_engine.models.onnx.graph import Graph, known_values, parse_graph, read_chain
from fairness_engine.models.sklearn.voting import as_label_scores, settle

_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}
_TEXT = "tensor(string)"
_N_TRIED = 8
_TIE = 1e-5
"""Scores that differ by less may be decided either way: they are of 32 bits."""
_MAX_FIXED_ROWS = 100_000
_MAX_FIXED_NUMBERS = 20_000_000
"""In a call of a model that takes a fixed number of rows: fewer are filled up to it."""
_ROWS_AT_ONCE = 1 << 14


def read_onnx(path: Path) -> tuple[Predictor, tuple[str, ...] | None]:
    """Read an ONNX file.

    Returns:
        the predictor, and the names of its classes when the file carries them.

    Raises:
        ModelError: damaged or refused; the message says why.
    """
    graph = parse_graph(path.read_bytes())
    network = read_chain(graph)
    if network is not None and graph.decides_by_scores:
        return network, graph.classes
    return OnnxRuntime(graph), graph.classes


class OnnxRuntime:
    """A predictor that asks onnxruntime, on one thread.

    Args:
        graph: checked; one input of rank 2 with numbers, or several inputs, or words (then the predictor takes a
            DataFrame).

    Attributes:
        notes: what a user should know of how it is read, one sentence each.
        specs: what each of several inputs takes; ``None`` for a model that takes one matrix of numbers.
        rounding: scores change by less than this with the number of rows in a call.

    Raises:
        ModelError: onnxruntime does not accept the file, or it takes or gives something else than rows of numbers.
    """

    rounding = 1e-6

    def __init__(self, graph: Graph) -> None:
        import onnxruntime

        _check_fixed_rows(graph)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            content = graph.model.SerializeToString()
            # its fallback prints on standard output, where a run's events are written
            self._session = onnxruntime.InferenceSession(
                content, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
        except Exception as error:  # noqa: BLE001 - onnxruntime raises its own types for each fault
            reason = (str(error).splitlines() or [type(error).__name__])[0][:160]
            raise ModelError(f"onnxruntime does not accept the model: {reason}. Export it again.") from None
        self._inputs = self._session.get_inputs()
        self._scores = list(graph.by_class or (graph.scores,))
        self._classes = graph.classes or ()
        unknown = [value.type for value in self._inputs if value.type not in _DTYPES]
        if unknown:
            raise ModelError(
                f"The ONNX model takes inputs of type {unknown[0][:80]}, which no table gives. Export it for numbers."
            )
        is_typed = len(self._inputs) > 1 or self._inputs[0].type == _TEXT
        if is_typed and len(self._inputs) == 1 and (_width(self._inputs[0].shape) or 1) == 1:
            raise FitError(TAKES_TEXTS)
        self.specs = tuple(_spec(graph, value) for value in self._inputs) if is_typed else None
        self.n_inputs: int | None = (
            _width(self._inputs[0].shape) if self.specs is None else sum(s.width for s in self.specs)
        )
        batch = self._inputs[0].shape[0] if self._inputs[0].shape else None
        self._batch = batch if isinstance(batch, int) and batch > 0 else None
        self.kind = "ONNX model"
        self._is_label = graph.is_label
        self._label = graph.label
        self._decides_apart = graph.decides_apart
        self._is_turned = False
        self.notes: tuple[str, ...] = ()
        self.n_scores = max(1, len(self._classes) if len(self._classes) > 2 else 1)
        self.output = Output.PROBABILITY
        if self.specs is None:
            rows = np.zeros((_N_TRIED, self.n_inputs or 1))
            rows[_N_TRIED // 2 :] = 1.0
            self._tell_kind(self._evaluate(rows))

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_rows, n_scores)``."""
        scores = self._evaluate(inputs)
        return settle(scores) if scores.shape[1] == 2 else scores

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """Scores less the threshold; several classes: the scores."""
        scores = self.predict(inputs)
        return scores - threshold if self.n_scores == 1 else scores

    def try_out(self, inputs: Any) -> None:
        """Find out from a few rows how many scores the model gives, of which kind, and whether it decides by them."""
        scores = self._evaluate(inputs)
        self._tell_kind(scores)
        decided = self._decided(inputs) if self._label and not self._is_label else None
        if decided is not None and self._follow(decided, scores):
            self._tell_kind(self._evaluate(inputs))

    def _tell_kind(self, scores: FloatArray) -> None:
        self.n_scores = 1 if scores.shape[1] == 2 else scores.shape[1]
        is_share = bool((scores >= -1e-6).all() and (scores <= 1 + 1e-6).all())
        self.output = Output.LABEL if self._is_label else Output.PROBABILITY if is_share else Output.LOGIT

    def _decided(self, inputs: Any) -> FloatArray | None:
        """Decisions as scores of 0 and 1; ``None`` where the file's cannot be read."""
        beside = self._scores
        self._scores = [self._label]
        self._is_label = True
        try:
            return self._evaluate(inputs)
        except FitError:
            return None
        finally:
            self._scores = beside
            self._is_label = False

    def _follow(self, decided: FloatArray, scores: FloatArray) -> bool:
        """Turn the scores round where of two the smaller decides; where neither does, ask for the decisions alone.

        Returns:
            whether something changed.
        """
        sides = scores if scores.shape[1] > 1 else np.hstack([2 * self.output.middle - scores, scores])
        places = decided[:, 0].astype(np.int64) if decided.shape[1] == 1 else decided.argmax(axis=1)
        if places.max(initial=0) >= sides.shape[1]:
            return False
        own = sides[np.arange(len(sides)), places]
        is_largest = sides.max(axis=1) - own <= _TIE
        if is_largest.all() and not self._decides_apart:
            return False
        is_smallest = own - sides.min(axis=1) <= _TIE
        are_both = len(np.unique(places[~is_largest])) == 2
        if is_smallest.all() and are_both and not self._decides_apart and scores.shape[1] == 2:
            self._is_turned = not self._is_turned
            return True
        self._scores = [self._label]
        self._is_label = True
        self.notes = (
            "The model does not decide by the larger of its scores, so it is asked for its decisions alone, without "
            "scores.",
        )
        return True

    def _evaluate(self, inputs: Any) -> FloatArray:
        n = len(inputs)
        if n == 0:
            return np.empty((0, self.n_scores))
        size = self._batch or _ROWS_AT_ONCE
        return np.concatenate([self._block(inputs[start : start + size]) for start in range(0, n, size)])

    def _block(self, inputs: Any) -> FloatArray:
        """One call; a model of a fixed batch size gets the last rows repeated."""
        n = len(inputs)
        if self.specs is None:
            columns = [np.asarray(inputs)]
        else:
            ends = np.cumsum([spec.width for spec in self.specs])
            parts = [inputs.iloc[:, end - spec.width : end] for spec, end in zip(self.specs, ends, strict=True)]
            columns = [_cells(part, value) for part, value in zip(parts, self._inputs, strict=True)]
        if self._batch is not None and n < self._batch:
            columns = [np.concatenate([column, np.repeat(column[-1:], self._batch - n, axis=0)]) for column in columns]
        return self._call(columns)[:n]

    def _call(self, columns: list[Any]) -> FloatArray:
        feed = {
            value.name: column.astype(_DTYPES[value.type], copy=False)
            for value, column in zip(self._inputs, columns, strict=True)
        }
        try:
            results = [np.asarray(result) for result in self._session.run(self._scores, feed)]
        except Exception as error:  # noqa: BLE001 - onnxruntime raises its own types for each fault
            reason = (str(error).splitlines() or [type(error).__name__])[0][:160]
            raise FitError(
                f"The ONNX model fails on rows of the data: {reason}. Check that it takes such rows."
            ) from None
        result = _side_by_side(results, len(columns[0])) if len(results) > 1 else results[0]
        if self._is_label:
            return self._labels(result)
        if result.dtype.kind != "f" or result.ndim not in (1, 2):
            raise FitError(f"The ONNX model must return scores, got {result.dtype} of shape {result.shape}.")
        scores: FloatArray = result.reshape(len(result), -1).astype(np.float64)
        return scores[:, ::-1] if self._is_turned else scores

    def _labels(self, result: Any) -> FloatArray:
        """Labels as scores of 0 and 1; words, and numbers that are no places of classes, by the names of the
        classes.
        """
        labels = result.ravel()
        names = [normal(name) for name in self._classes]
        if labels.dtype.kind in "iub" and names in ([], [str(i) for i in range(len(names))]):
            n_classes = max(2, len(names))
            if labels.min(initial=0) < 0 or (not names and labels.max(initial=0) >= n_classes):
                raise FitError(
                    f"The ONNX model returns the labels {some(sorted({str(v) for v in labels}))} and no names of its "
                    "classes. Export it with its probabilities."
                )
            return as_label_scores(labels.astype(np.int64), n_classes)
        places = {name: i for i, name in enumerate(names)}
        found = [places.get(normal(label)) for label in labels]
        if None in found:
            raise FitError("The ONNX model returns labels as text and no scores. Export it with its probabilities.")
        return as_label_scores(np.array(found, dtype=np.int64), max(2, len(names)))


def _side_by_side(results: list[Any], n_rows: int) -> Any:
    """Outputs of one class each as scores ``(n_rows, n_classes)``.

    Raises:
        FitError: one of them is no score a row.
    """
    if any(result.shape not in ((n_rows,), (n_rows, 1)) for result in results):
        shapes = " and ".join(str(result.shape) for result in results[:4])
        raise FitError(f"Each output of the ONNX model must hold one score a row, {n_rows}, got shapes {shapes}.")
    return np.stack([result.ravel() for result in results], axis=1)


def _check_fixed_rows(graph: Graph) -> None:
    for value in graph.inputs:
        lengths = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        n_rows = lengths[0] if lengths else 0
        n_numbers = math.prod(max(1, length) for length in lengths)
        if n_rows > _MAX_FIXED_ROWS or n_numbers > _MAX_FIXED_NUMBERS:
            raise ModelError(
                f"The ONNX model takes a fixed number of rows, {n_rows:,} at once; at most {_MAX_FIXED_ROWS:,} of "
                f"{_MAX_FIXED_NUMBERS:,} numbers together can be given. Export it with a free first axis (in PyTorch "
                "dynamic_axes={'rows': {0: 'n'}})."
            )


def _spec(graph: Graph, value: Any) -> InputSpec:
    kind = _DTYPES[value.type]
    takes = Takes.TEXT if value.type == _TEXT else Takes.NUMBER if np.issubdtype(kind, np.floating) else Takes.WHOLE
    width = int(np.prod([length if isinstance(length, int) else 1 for length in value.shape[1:]]))
    return InputSpec(value.name, takes, width, known_values(graph.model, value.name))


def _cells(part: Any, value: Any) -> Any:
    """What one input takes of a frame ``(n_rows, width)``, in its own shape."""
    table = part.to_numpy(dtype=object) if value.type == _TEXT else part.to_numpy()
    return table.reshape(len(part), *(length if isinstance(length, int) else 1 for length in value.shape[1:]))


def _width(shape: list[Any]) -> int | None:
    if len(shape) != 2:
        raise ModelError(
            f"The ONNX model takes inputs of shape {str(shape)[:80]}, not rows of numbers. Export it for tables."
        )
    return shape[1] if isinstance(shape[1], int) else None
