"""What a run says while it works, and how one event becomes one line of JSON.

The process that holds the model writes these lines; the worker reads them and stores what they say. Arrays
travel as base64 of their bytes with dtype and shape, never as pickle; ``from_line`` checks sizes and shapes,
because the other side may have been handed a hostile model.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import zlib
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from fairness_engine.errors import ProcessError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_ARRAY_DTYPES = {"float64": np.float64, "int64": np.int64}
MAX_LINE_BYTES = 256_000_000
_NUMBER_BYTES = 8
_COMPRESSED_FROM_BYTES = 1_000_000
_MAX_INFLATED_BYTES = 512_000_000
"""A few bytes can stand for any number of zeros."""
NOT_MEASURED = -1
"""``Pairs.n_unseen`` of a pair whose plausibility is not known."""


class StopReason(StrEnum):
    """Why a run ended."""

    EVALUATIONS = "evaluation budget spent"
    SECONDS = "time budget spent"
    FOUND = "enough found"
    EXHAUSTED = "every start and step done"
    CANCELLED = "cancelled"
    MEMORY = "memory for boxes spent"


@dataclass(frozen=True)
class Pairs:
    """Discriminatory pairs: two rows that differ in protected attributes only and get different decisions.

    Args:
        first, second: the two persons as rows of the engine, ``(n_pairs, n_columns)`` each.
        score_first, score_second: their scores ``(n_pairs,)``: score of class 1, or of the decided class when
            there are more than two.
        decision_first, decision_second: their classes ``(n_pairs,)``.
        evaluation: evaluations spent when the pair was found ``(n_pairs,)``; the order of discovery.
        distance: from the nearest real row ``(n_pairs,)``, 0 to 1; NaN where it was not measured (see ``plausibility``).
        n_unseen: pairs of values of the person that never occur together in the data though they should ``(n_pairs,)``;
            -1 where it was not measured.
    """

    first: FloatArray
    second: FloatArray
    score_first: FloatArray
    score_second: FloatArray
    decision_first: IntArray
    decision_second: IntArray
    evaluation: IntArray
    distance: FloatArray = field(default_factory=lambda: np.empty(0))
    n_unseen: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        """What was left out was not measured."""
        n = len(self.first)
        if n and not self.distance.size:
            object.__setattr__(self, "distance", np.full(n, np.nan))
        if n and not self.n_unseen.size:
            object.__setattr__(self, "n_unseen", np.full(n, NOT_MEASURED))

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, index: slice | NDArray[np.bool_] | IntArray) -> Pairs:
        return Pairs(*(getattr(self, each.name)[index] for each in fields(self)))

    @staticmethod
    def empty(n_columns: int) -> Pairs:
        """No pairs."""
        rows, numbers, codes = np.empty((0, n_columns)), np.empty(0), np.empty(0, np.int64)
        return Pairs(rows, rows, numbers, numbers, codes, codes, codes, numbers, codes)

    @staticmethod
    def concatenate(batches: list[Pairs], n_columns: int) -> Pairs:
        """All batches, in order."""
        if not batches:
            return Pairs.empty(n_columns)
        return Pairs(*(np.concatenate([getattr(b, each.name) for b in batches]) for each in fields(Pairs)))


@dataclass(frozen=True)
class Step:
    """A technique finished one step; the driver uses it to report and does not pass it on."""

    phase: str


@dataclass(frozen=True)
class Progress:
    """Where a search stands: evaluations are rows passed to the model; tried and found count individuals
    that differ in a column that is not protected."""

    evaluations: int
    seconds: float
    n_tried: int
    n_found: int
    phase: str = ""


@dataclass(frozen=True)
class PairsFound:
    """New pairs, each replayed through the model before it was reported."""

    pairs: Pairs


@dataclass(frozen=True)
class PairsMeasured:
    """The plausibility of the next pairs, in the order they were found: they are told of first and measured later.

    Args:
        distance, n_unseen: as in ``Pairs``, ``(n_pairs,)`` each.
    """

    distance: FloatArray
    n_unseen: IntArray


@dataclass(frozen=True)
class ShareEstimated:
    """The share of discriminatory individuals after ``n`` draws, with its 95 % interval.

    ``distribution`` says what was drawn: ``uniform`` over the domain, the ``data`` rows, or ``perturbed`` ones.
    """

    share: float
    low: float
    high: float
    n_hits: int
    n: int
    distribution: str


@dataclass(frozen=True)
class GroupScored:
    """THEMIS's group score: largest less smallest favourable share over the combinations of protected values."""

    score: float
    shares: tuple[float, ...]
    counts: tuple[int, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True)
class SharesProved:
    """What is proved of a domain so far: shares of all individuals, from below; the rest is undecided.

    ``n_boxes`` were assessed, ``n_open`` of them can still be split.
    """

    seconds: float
    certified: float
    falsified: float
    n_boxes: int
    n_open: int


@dataclass(frozen=True)
class TreeReady:
    """The partition tree of a certification.

    Args:
        arrays: by name, as ``certification.tree.PartitionTree`` has them.
        certificates: what was proved of its largest leaves, as ``certification.tree.LeafCertificates`` has it.
        space: what the digits stand for, as ``certification.space.Space.to_json`` has it; plain JSON.
    """

    arrays: dict[str, FloatArray | IntArray]
    certificates: dict[str, FloatArray | IntArray]
    space: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RulesScored:
    """Scored rule sets, the highest score first.

    Args:
        arrays: by name, as ``rules.scored.RuleResult.to_arrays`` has them.
        space: as ``rules.scored.RuleResult.to_json`` has it.
    """

    arrays: dict[str, FloatArray | IntArray]
    space: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelPart:
    """A part of the file of a retrained model.

    Args:
        content: its bytes.
        index, n_parts: which part, from 0 on, and of how many.
        suffix: of the file's name, with the dot.
        version: number of the round that made the model; a later one replaces an earlier one.
    """

    content: bytes
    index: int
    n_parts: int
    suffix: str
    version: int


@dataclass(frozen=True)
class ResultReady:
    """A result of a run beside its pairs: ``plausibility``, ``diversity``, ``count``, ``split``, ``certification``; plain JSON."""

    name: str
    content: dict[str, Any]


@dataclass(frozen=True)
class Stopped:
    """The one last event of a run that ended as it should."""

    reason: StopReason
    evaluations: int
    seconds: float
    n_tried: int
    n_found: int
    n_rejected: int = 0


@dataclass(frozen=True)
class Failed:
    """The one last event of a run that could not go on; ``message`` is for the person at the screen."""

    message: str


Event = (
    Step
    | Progress
    | PairsFound
    | PairsMeasured
    | ShareEstimated
    | SharesProved
    | TreeReady
    | RulesScored
    | ModelPart
    | GroupScored
    | ResultReady
    | Stopped
    | Failed
)
_TREE_ARRAYS = ("arrays", "certificates")
_EVENTS: dict[str, type[Any]] = {cls.__name__: cls for cls in get_args(Event)}


def to_line(event: Event) -> str:
    """One event as one line of JSON, without the line break."""
    if isinstance(event, PairsFound):
        body: dict[str, Any] = {f.name: pack_array(getattr(event.pairs, f.name)) for f in fields(Pairs)}
    elif isinstance(event, PairsMeasured):
        body = {f.name: pack_array(getattr(event, f.name)) for f in fields(PairsMeasured)}
    elif isinstance(event, TreeReady):
        parts = {name: getattr(event, name) for name in _TREE_ARRAYS}
        body = {part: {name: pack_array(array) for name, array in arrays.items()} for part, arrays in parts.items()}
        body["space"] = event.space
    elif isinstance(event, RulesScored):
        packed = {name: pack_array(array, can_compress=True) for name, array in event.arrays.items()}
        body = {"arrays": packed, "space": event.space}
    elif isinstance(event, ModelPart):
        body = {**vars(event), "content": base64.b64encode(event.content).decode("ascii")}
    else:
        body = asdict(event)
    return json.dumps({"event": type(event).__name__, **body}, separators=(",", ":"))


def from_line(line: str) -> Event:
    """Read one line back.

    Raises:
        ProcessError: the line is not an event; what was wrong with it is in the message.
    """
    try:
        body = json.loads(line)
        cls = _EVENTS[body.pop("event")]
        if cls is PairsFound:
            return PairsFound(_read_pairs(body))
        if cls is PairsMeasured:
            return PairsMeasured(unpack_array(body["distance"]), unpack_array(body["n_unseen"]))
        if cls is TreeReady:
            arrays, certificates = (_read_arrays(body[part]) for part in _TREE_ARRAYS)
            return TreeReady(arrays, certificates, _read_space(body["space"]))
        if cls is RulesScored:
            return RulesScored(_read_arrays(body["arrays"]), _read_space(body["space"]))
        if cls is ModelPart:
            body["content"] = base64.b64decode(body["content"], validate=True)
        if cls is Stopped:
            body["reason"] = StopReason(body["reason"])
        if cls is GroupScored:
            body = {key: tuple(value) if isinstance(value, list) else value for key, value in body.items()}
        event: Event = cls(**body)
        return event
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ProcessError(f"The model's process sent a line that is no event ({type(error).__name__}).") from None


def _read_pairs(body: dict[str, Any]) -> Pairs:
    pairs = Pairs(**{each.name: unpack_array(body[each.name]) for each in fields(Pairs)})
    n = len(pairs.first)
    if pairs.first.ndim != 2 or pairs.first.shape != pairs.second.shape:
        raise ValueError("rows of pairs")
    if any(getattr(pairs, each.name).shape != (n,) for each in fields(Pairs)[2:]):
        raise ValueError("columns of pairs")
    return pairs


def _read_arrays(packed: Any) -> dict[str, FloatArray | IntArray]:
    arrays: dict[str, FloatArray | IntArray] = {}
    n_bytes = 0
    for name, array in packed.items():
        arrays[str(name)] = found = unpack_array(array)
        n_bytes += found.nbytes
        if n_bytes > _MAX_INFLATED_BYTES:
            raise ValueError("size")
    return arrays


def _read_space(space: Any) -> dict[str, Any]:
    if not isinstance(space, dict):
        raise TypeError("space")
    return space


def pack_array(array: NDArray[Any], *, can_compress: bool = False) -> dict[str, Any]:
    """A float64 or int64 array as JSON: dtype, shape and base64 of its bytes in C order, compressed if it may be and is large."""
    data = np.ascontiguousarray(array, dtype=np.int64 if array.dtype.kind in "iub" else np.float64)
    raw = data.tobytes()
    how = {"zlib": True} if can_compress and len(raw) > _COMPRESSED_FROM_BYTES else {}
    if how:
        raw = zlib.compress(raw, level=1)
    shape = list(data.shape)
    return {"dtype": data.dtype.name, "shape": shape, "base64": base64.b64encode(raw).decode("ascii"), **how}


def unpack_array(packed: Any) -> NDArray[Any]:
    """The array of ``pack_array``; sizes are checked before anything is allocated.

    Raises:
        ValueError: it is not such an array.
    """
    shape = packed["shape"]
    if not isinstance(shape, list) or not all(isinstance(n, int) and 0 <= n < 2**31 for n in shape) or len(shape) > 3:
        raise ValueError("shape")
    try:
        raw = base64.b64decode(packed["base64"], validate=True)
    except binascii.Error as error:
        raise ValueError("base64") from error
    if "zlib" in packed:
        raw = _inflated(raw, _NUMBER_BYTES * math.prod(shape))
    return np.frombuffer(raw, dtype=_ARRAY_DTYPES[packed["dtype"]]).reshape(shape).copy()


def _inflated(raw: bytes, n_bytes: int) -> bytes:
    """Bytes that were compressed from ``n_bytes``, never more than those."""
    if n_bytes > _MAX_INFLATED_BYTES:
        raise ValueError("size")
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(raw, n_bytes + 1)
    except zlib.error as error:
        raise ValueError("zlib") from error
    if len(found) != n_bytes or not stream.eof:
        raise ValueError("size")
    return found
