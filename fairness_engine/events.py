"""What a run says while it works, and how one event becomes one line of JSON.

The process that holds the model writes these lines; the worker reads them and stores what they say. Arrays
travel as base64 of their bytes with dtype and shape, never as pickle; ``from_line`` checks sizes and shapes,
because the other side may have been handed a hostile model.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any, get_args

from fairness_engine.arrays import MAX_INFLATED_BYTES, FloatArray, IntArray, pack_array, unpack_array
from fairness_engine.codec import Amount, Count, Proportion, Text, Word, decode, read_object
from fairness_engine.errors import StopReason, breach
from fairness_engine.pairs import Pairs


@dataclass(frozen=True)
class Step:
    """A technique finished one step; the driver uses it to report and does not pass it on."""

    phase: Text


@dataclass(frozen=True)
class Progress:
    """Where a search stands: evaluations are rows passed to the model; tried and found count individuals
    that differ in a column that is not protected."""

    evaluations: Count
    seconds: Amount
    n_tried: Count
    n_found: Count
    phase: Text = ""


@dataclass(frozen=True)
class PairsFound:
    """New pairs, each replayed through the model before it was reported."""

    pairs: Pairs


@dataclass(frozen=True)
class PairsMeasured:
    """The plausibility of the next pairs, in the order they were found: they are told of first and measured later.

    Args:
        distance, n_unseen: as in ``Pairs``, ``(n_pairs, 2)`` each.
    """

    distance: FloatArray
    n_unseen: IntArray


@dataclass(frozen=True)
class PeopleSampled:
    """A sample of whom a search has tested so far; a later one replaces it.

    Args:
        arrays: by name, as ``oracle.tested.TestedPeople`` has them.
        phases: what the technique called its steps.
    """

    arrays: dict[str, FloatArray | IntArray]
    phases: tuple[str, ...]


@dataclass(frozen=True)
class ShareEstimated:
    """The share of discriminatory individuals after ``n`` draws, with its 95 % interval.

    ``distribution`` says what was drawn: ``uniform`` over the domain, the ``data`` rows, or ``perturbed`` ones.
    """

    share: Proportion
    low: Proportion
    high: Proportion
    n_hits: Count
    n: Count
    distribution: Word


@dataclass(frozen=True)
class GroupScored:
    """THEMIS's group score: largest less smallest favourable share over the combinations of protected values."""

    score: Proportion
    shares: tuple[Proportion, ...]
    counts: tuple[Count, ...]
    groups: tuple[Text, ...]


@dataclass(frozen=True)
class SharesProved:
    """What is proved of a domain so far: shares of all individuals, from below; the rest is undecided.

    ``n_boxes`` were assessed, ``n_open`` of them can still be split.
    """

    seconds: Amount
    certified: Amount
    falsified: Amount
    n_boxes: Count
    n_open: Count


@dataclass(frozen=True)
class TreeReady:
    """The partition tree of a certification.

    Args:
        arrays: by name, as ``certification.partition.partition_tree.PartitionTree`` has them.
        certificates: what was proved of its largest leaves, as
            ``certification.partition.certificates.LeafCertificates`` has it.
        space: what the digits stand for, as ``certification.partition.validation.space_to_json`` has it; plain JSON.
    """

    arrays: dict[str, FloatArray | IntArray]
    certificates: dict[str, FloatArray | IntArray]
    space: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RulesScored:
    """Scored rule sets, the highest score first.

    Args:
        arrays: by name, as ``groups.rule_sets.result.RuleResult.to_arrays`` has them.
        space: as ``groups.rule_sets.result.RuleResult.to_json`` has it.
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
    index: Count
    n_parts: Count
    suffix: Word
    version: Count


@dataclass(frozen=True)
class ResultReady:
    """A result of a run beside its pairs: ``plausibility``, ``diversity``, ``count``, ``split``, ``certification``;
    plain JSON.
    """

    name: Word
    content: dict[str, Any]


@dataclass(frozen=True)
class Stopped:
    """The one last event of a run that ended as it should."""

    reason: StopReason
    evaluations: Count
    seconds: Amount
    n_tried: Count
    n_found: Count
    n_rejected: Count = 0


@dataclass(frozen=True)
class Failed:
    """The one last event of a run that could not go on; ``message`` is for the person at the screen."""

    message: str


Event = (
    Step
    | Progress
    | PairsFound
    | PairsMeasured
    | PeopleSampled
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
    elif isinstance(event, PeopleSampled):
        packed = {name: pack_array(array) for name, array in event.arrays.items()}
        body = {"arrays": packed, "phases": event.phases}
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
    """Read one line back, every number within its range.

    Raises:
        ProcessError: the line is not an event; what was wrong with it is in the message.
    """
    try:
        body = read_object(line)
        cls = _EVENTS.get(body.pop("event"))
        if cls is None:
            raise ValueError("there is none of that name")
        if cls is PairsFound:
            return PairsFound(_read_pairs(body))
        if cls is PairsMeasured:
            return PairsMeasured(unpack_array(body["distance"]), unpack_array(body["n_unseen"]))
        if cls is PeopleSampled:
            return PeopleSampled(_read_arrays(body["arrays"]), decode(tuple[Text, ...], body["phases"]))
        if cls is TreeReady:
            arrays, certificates = (_read_arrays(body[part]) for part in _TREE_ARRAYS)
            return TreeReady(arrays, certificates, _read_space(body["space"]))
        if cls is RulesScored:
            return RulesScored(_read_arrays(body["arrays"], can_be_compressed=True), _read_space(body["space"]))
        if cls is ModelPart:
            body["content"] = base64.b64decode(body["content"], validate=True)
        if not set(body) <= {each.name for each in fields(cls)}:
            raise ValueError("it says more than such an event")
        event: Event = decode(cls, body)
        return event
    except ValueError as error:
        raise breach(f"it sent a line that is no event ({error})") from None
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError):
        raise breach("it sent a line that is no event (a part is missing, or is another)") from None


def _read_pairs(body: dict[str, Any]) -> Pairs:
    pairs = Pairs(**{each.name: unpack_array(body[each.name]) for each in fields(Pairs)})
    n = len(pairs.first)
    if pairs.first.ndim != 2 or pairs.first.shape != pairs.second.shape:
        raise ValueError("rows of pairs")
    shapes = dict.fromkeys(("distance", "n_unseen"), (n, 2))
    if any(getattr(pairs, each.name).shape != shapes.get(each.name, (n,)) for each in fields(Pairs)[2:]):
        raise ValueError("columns of pairs")
    return pairs


def _read_arrays(packed: Any, *, can_be_compressed: bool = False) -> dict[str, FloatArray | IntArray]:
    arrays: dict[str, FloatArray | IntArray] = {}
    n_bytes = 0
    for name, array in packed.items():
        arrays[str(name)] = found = unpack_array(array, can_be_compressed=can_be_compressed)
        n_bytes += found.nbytes
        if n_bytes > MAX_INFLATED_BYTES:
            raise ValueError("size")
    return arrays


def _read_space(space: Any) -> dict[str, Any]:
    if not isinstance(space, dict):
        raise TypeError("space")
    return space
