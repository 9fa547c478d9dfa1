"""Lines of a model's process, damaged and turned into lies by chance, and whether what was stored of them can be."""

from __future__ import annotations

import base64
import copy
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fairness_engine.certification.box_inspection.details import BoxDetails
from fairness_engine.data.schema import Kind
from fairness_engine.explanation.shap_values import PairValues
from fairness_engine.explanation.where import Where
from fairness_engine.groups.figures.report import GroupReport
from fairness_engine.measures.plausibility.plausibility import PersonAssessed
from fairness_engine.models.fit.reading_state import card_in_words
from fairness_engine.models.fit.report import FitCard
from fairness_engine.pairs import Pairs
from fairness_engine.runs.kinds import Results, results_of
from fairness_engine.runs.writers.proofs import stored_tree, stored_tree_file
from fairness_engine.runs.writers.rule_sets import RULES_FILE, stored_rules
from fairness_engine.runs.writers.tested import read_tested, stored_tested_file
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

MAX_STORED_BYTES = 20_000_000
"""Of one altered stream: the streams themselves have less than one million."""
_STRANGE: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 0.5, 1.5, -0.0, 99, 2**31, 2**62, 2**63, -(2**70), 10**400, -(10**400)),
    *(1e308, -1e308, 1e-320, float("nan"), float("inf"), -float("inf")),
    *("", "0", "many", "nan", "<b>no</b>", "\ud800", "\x00", "a" * 100_000, "../../etc/passwd", "[x](javascript:x)"),
    *([], {}, [[]], [0], {"a": 1}, [None], {"base64": "", "shape": [0], "dtype": "int64"}),
)
_NAMES = ("event", "name", "content", "phase", "reply", "error", "message", "columns", "rules", "share", "n", "zlib")
_EVENTS = (
    *(
        "Step",
        "Progress",
        "PairsFound",
        "PairsMeasured",
        "PeopleSampled",
        "ShareEstimated",
        "SharesProved",
        "TreeReady",
        "RulesScored",
    ),
    *("ModelPart", "GroupScored", "ResultReady", "Stopped", "Failed", "ModelError", "EvenhandError", "Exception"),
)


def alter(rng: random.Random, lines: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    """A stream with one to three alterations.

    Args:
        rng: chance.
        lines: the stream, a line each.
        others: lines of other streams, to be mixed in.
    """
    altered = list(lines)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        change = rng.choices((_in_a_line, _of_lines, _in_bytes), (8, 3, 1))[0]
        change(rng, altered, others)
    return b"".join(line + b"\n" for line in altered)


def _of_lines(rng: random.Random, lines: list[bytes], others: Sequence[bytes]) -> None:
    at = rng.randrange(len(lines))
    match rng.randrange(8):
        case 0:
            del lines[at]
            lines.append(b"") if not lines else None
        case 1:
            lines.insert(at, lines[at])
        case 2:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            del lines[at + 1 :]
        case 4:
            lines[at] = rng.choice(others)
        case 5:
            lines.insert(at, rng.choice(others))
        case 6:
            lines[at:at] = [lines[at]] * rng.choice((2, 50))
        case 7:
            rng.shuffle(lines)


def _in_bytes(rng: random.Random, lines: list[bytes], _: Sequence[bytes]) -> None:
    at = rng.randrange(len(lines))
    line = bytearray(lines[at])
    match rng.randrange(5):
        case 0:
            del line[rng.randrange(len(line) + 1) :]
        case 1:
            for _ in range(rng.choice((1, 10))):
                if line:
                    line[rng.randrange(len(line))] = rng.choice((rng.randrange(32, 127), rng.randrange(256)))
        case 2:
            start = rng.randrange(len(line) + 1)
            del line[start : start + rng.randrange(1, 20)]
        case 3:
            deep = rng.choice((100, 900, 100_000))
            value = b"[" * deep + b"]" * deep
            line = bytearray(b'{"event":"ResultReady","name":"%s","content":{"a":%s}}' % (_a_name(rng, lines), value))
        case 4:
            line = bytearray(rng.choice((b"[]", b"5", b"null", b'"text"', b"{}", b"{]", b"\xff\xfe", b"[" * 100_000)))
    lines[at] = bytes(line).replace(b"\n", b" ")


def _a_name(rng: random.Random, lines: Sequence[bytes]) -> bytes:
    events = [json.loads(line) for line in lines if line.startswith(b'{"event":"ResultReady"') and _is_json(line)]
    names = [str(event.get("name")) for event in events]
    return rng.choice(names or ["notes"]).encode(errors="replace")


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _in_a_line(rng: random.Random, lines: list[bytes], others: Sequence[bytes]) -> None:
    """Another value somewhere in a line of JSON; in an array's bytes as often as in plain ones."""
    whole = [i for i, line in enumerate(lines) if b"[" * 50 not in line and _is_json(line)]
    if not whole:
        return
    at = rng.choice(whole)
    content = json.loads(lines[at])
    places = list(_places(content))
    arrays = [place for place in places if isinstance(place[0][place[1]], dict) and "base64" in place[0][place[1]]]
    if arrays and rng.random() < 0.6:
        holder, key = rng.choice(arrays)
        holder[key] = _altered_array(rng, holder[key], [other[0][other[1]] for other in arrays])
    elif places:
        holder, key = rng.choice(places)
        _alter_value(rng, holder, key, places)
    lines[at] = json.dumps(content, separators=(",", ":")).encode()


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a value: what holds it, and its name or position; of long lists the first and the last ones."""
    if isinstance(content, dict):
        keys: list[Any] = list(content)
    else:
        keys = list(range(len(content)))
        keys = keys if len(keys) <= 12 else keys[:6] + keys[-6:]
    for key in keys:
        yield content, key
        if isinstance(content[key], dict | list):
            yield from _places(content[key])


def _alter_value(rng: random.Random, holder: Any, key: Any, places: Sequence[tuple[Any, Any]]) -> None:
    value = holder[key]
    match rng.randrange(8):
        case 0 | 1:
            holder[key] = copy.deepcopy(rng.choice(_STRANGE))
        case 2:
            del holder[key]
        case 3:
            if isinstance(holder, dict):
                holder[rng.choice((*_NAMES, *holder))] = holder.pop(key)
            else:
                holder.insert(key, copy.deepcopy(value))
        case 4:
            holder[key] = _nearby(rng, value)
        case 5:
            other, name = rng.choice(places)
            holder[key] = copy.deepcopy(other[name])
        case 6:
            holder[key] = rng.choice(_EVENTS) if isinstance(value, str) else _nearby(rng, value)
        case 7:
            if isinstance(value, list):
                holder[key] = rng.choice(([], value[:-1], value * 2, value[::-1], value * 3_000))
            else:
                holder[key] = _nearby(rng, value)


def _nearby(rng: random.Random, value: Any) -> Any:
    """Another value of the same type, so that only what belongs together tells."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice((-1, 1, 2, 1000, -value, value, 10**9))
    if isinstance(value, float):
        return rng.choice((value + 1e-3, value * 0.5, value * 2, 1 - value, 0.0, 1.0, value + 1e-7))
    if isinstance(value, str):
        return rng.choice((value + "s", value[:-1], value.upper(), "sex", "age", "race"))
    if isinstance(value, list) and value:
        return rng.sample(value, len(value))
    if isinstance(value, dict) and value:
        return {name: value[name] for name in list(value)[:-1]}
    return value


def _altered_array(rng: random.Random, packed: dict[str, Any], others: Sequence[Any]) -> Any:
    try:
        array = np.frombuffer(base64.b64decode(packed["base64"]), dtype=packed["dtype"]).reshape(packed["shape"]).copy()
    except (KeyError, TypeError, ValueError):
        return copy.deepcopy(rng.choice(others))
    what = rng.randrange(12)
    if what < 6 and array.size:
        at = rng.randrange(array.size)
        flat = array.reshape(-1)
        if array.dtype == np.int64:
            near = int(flat[at]) % 2**60
            flat[at] = rng.choice((-1, 0, 1, 2, 99, 2**40, -(2**63), near + 1, near - 1))
        else:
            value = float(flat[at])
            flat[at] = rng.choice((np.nan, np.inf, -np.inf, -1.0, 0.5, 99.0, 1e308, value + 1, -value, value + 1e-9))
    elif what == 6:
        array = array[: len(array) // 2] if array.ndim else array
    elif what == 7:
        array = np.concatenate([array, array]) if array.ndim else array
    elif what == 8:
        array = array[::-1].copy() if array.ndim else array
    elif what == 9:
        return copy.deepcopy(rng.choice(others))
    elif what == 10:
        value = copy.deepcopy(rng.choice((*_STRANGE, "float64", "int64")))
        return {**packed, rng.choice(("dtype", "shape", "base64", "zlib")): value}
    elif what == 11:
        text = packed["base64"]
        cut = rng.randrange(len(text) + 1)
        return {**packed, "base64": text[:cut] + rng.choice(("", "=", "!", "\n", "AAAA")) + text[cut + 1 :]}
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
    return {"dtype": packed["dtype"], "shape": list(array.shape), "base64": data}


# --- what was stored ----------------------------------------------------------------------------


def problems(store: RunStore, run: RunRecord) -> list[str]:
    """What cannot be in what is stored of a run; read as pages and commands read it, and looked at by code of its
    own.
    """
    found = []
    if run.state not in (RunState.FINISHED, RunState.CRASHED, RunState.FAILED):
        found.append(f"the state is {run.state.value}")
    if (run.message is None) != (run.state is RunState.FINISHED) or len(run.message or "") > 300:
        found.append(f"the message is {run.message}")
    if "unexpected" in (run.message or "") or "\n" in (run.message or ""):
        found.append((store.run_folder(run.id) / "run.log").read_text()[-2_000:])
    n_bytes = sum(path.stat().st_size for path in store.run_folder(run.id).iterdir())
    content = store.results(run.id)
    n_bytes += len(json.dumps(content, allow_nan=False))
    json.dumps([content, run.message, run.phase], ensure_ascii=False).encode()  # as pages send it
    if n_bytes > MAX_STORED_BYTES:
        found.append(f"{n_bytes:,} bytes")
    results = results_of(store, run.id)
    found += _of_pairs(store, run)
    found += _of_progress(store, run)
    found += _of_results(run, results)
    if stored_tree_file(store, run.id) is not None:
        tree, _ = stored_tree(store, run.id)
        low, high = tree.boxes()
        if (low < 0).any() or (high >= tree.n_digits).any() or abs(tree.weight[tree.is_leaf].sum() - 1) > 1e-5:
            found.append("boxes")
        last = results.certification
        if last is not None and abs(last.certified - tree.certified[0]) > 1e-9:
            found.append("shares of the tree")
    if (store.run_folder(run.id) / RULES_FILE).is_file():
        rules = stored_rules(store, run.id)
        for position in range(len(rules.scored)):
            told = rules.rule_set_json(position)
            if not 0 <= told["low"] <= told["score"] + 1e-8 <= told["high"] + 2e-8 <= 1.1:
                found.append("scores")
        if results.rules is not None and results.rules.n_rule_sets != len(rules.scored):
            found.append("number of rule sets")
    tested = stored_tested_file(store, run.id)
    if tested is not None:
        people = read_tested(tested, run.config)  # raises what the page would say
        if people.totals[3] < people.is_found.sum():
            found.append("people to watch")
    version = store.version(run.id)
    if version is not None and not store.file(version.model_id).path.is_file():
        found.append("the model is gone")
    return found


def _of_pairs(store: RunStore, run: RunRecord) -> list[str]:
    pairs = store.pairs(run.id) if run.config.kind in ("search", "certify") else None
    if pairs is None or not len(pairs):
        return []
    config = run.config
    found = []
    who = [i for i, column in enumerate(config.schema.inputs) if column.name not in config.scope.protected]
    for rows in (pairs.first, pairs.second):
        for column, values in zip(config.schema.inputs, rows.T, strict=True):
            low, high = config.scope.limits.get(column.name, (column.low, column.high))
            is_whole = column.kind is Kind.REAL or (values == np.rint(values)).all()
            if not is_whole or values.min() < low or values.max() > high:
                found.append(f"somebody outside '{column.name}'")
            [column.text(value) for value in np.unique(values).tolist()]
    if (pairs.first[:, who] != pairs.second[:, who]).any() or (pairs.first == pairs.second).all(axis=1).any():
        found.append("who differs")
    if config.scope.score_gap == 0 and (pairs.decision_first == pairs.decision_second).any():
        found.append("decisions")
    if len(np.unique(pairs.first[:, who], axis=0)) != len(pairs):
        found.append("somebody twice")
    scores = np.stack([pairs.score_first, pairs.score_second])
    if not np.isfinite(scores).all():
        found.append("scores")
    measured = ~np.isnan(pairs.distance)
    if (
        not (measured == (pairs.n_unseen >= 0)).all()
        or not ((pairs.distance[measured] >= 0) & (pairs.distance[measured] <= 1)).all()
    ):
        found.append("distances")
    if len(pairs) != store.n_pairs(run.id) or len(pairs) != run.n_found:
        found.append(f"{len(pairs)} pairs, {run.n_found} counted")
    return found


def _of_progress(store: RunStore, run: RunRecord) -> list[str]:
    curve = store.progress(run.id)
    names = ["evaluations", "seconds", "n_found"]  # of rule sets, candidates count as tried on the way
    is_right = all(curve[name].is_monotonic_increasing for name in names) and all(
        not len(curve) or (curve[name].min() >= 0 and curve[name].max() <= getattr(run, name)) for name in names
    )
    return [] if is_right else ["the curve"]


def _of_results(run: RunRecord, results: Results) -> list[str]:
    found = []
    if results.share is not None:
        last = results.share_curve[-1]
        if (last[0], last[1]) != (results.share.n, results.share.share):
            found.append("the curve of shares")
        if run.state is RunState.FINISHED and (results.share.n, results.share.n_hits) != (run.n_tried, run.n_found):
            found.append("draws")
    count = results.count
    if count is not None and run.state is RunState.FINISHED and count.n_discriminatory != run.n_found:
        found.append("counted")
    certification = results.certification
    if certification is not None and run.state is RunState.FINISHED and certification.n_counterexamples != run.n_found:
        found.append("counterexamples")
    return found


# --- answers ------------------------------------------------------------------------------------


def alter_answer(rng: random.Random, line: bytes, others: Sequence[bytes]) -> bytes:
    """An answer to a question of a page with one to three alterations."""
    altered = [line]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        match rng.randrange(12):
            case 0:
                altered[0] = rng.choice(others)
            case 1:
                _in_bytes(rng, altered, others)
            case _:
                _in_a_line(rng, altered, others)
    return altered[0]


def answer_problems(config: RunConfig, answer: Any) -> list[str]:
    """What cannot be in an answer that was taken; read as pages read it."""
    inputs = config.schema.inputs
    match answer:
        case Where():
            texts = [c.text(inputs[c.column], (0.0, 1.0)) for node in answer.nodes for c in node.conditions]
            shares = (*answer.coverage, *answer.accuracy)
            leaves = [answer.nodes[at] for at in answer.leaves]
            is_right = all(0 <= share <= 1 for share in shares) and all(text for text in texts)
            is_right &= sum(leaf.n for leaf in leaves) == answer.root.n
            return [*([] if is_right else ["groups"]), *_of_people(config, answer.examples)]
        case BoxDetails():
            return _of_people(config, answer.counterexample)
        case Pairs():
            return _of_people(config, answer)
        case PersonAssessed():
            [column.text(value) for column, value in zip(inputs, answer.neighbour.tolist(), strict=True)]
            [(inputs[pair.first], inputs[pair.second]) for pair in answer.unseen]
            return [] if all(0 <= person.distance <= 1 for person in answer) else ["distance"]
        case GroupReport():
            rates = [group.selection.share for table in answer.tables for group in table.groups if group.n_rows]
            [(table.verdict, table.most_favoured) for table in answer.tables]
            return [] if all(0 <= rate <= 1 for rate in rates) else ["rates"]
        case FitCard():
            card_in_words(answer.to_json())
            [(f"{row['score']:.2f}", row["decision"], dict(row["labels"])) for row in answer.sample_rows]
            return [] if all(0 <= share <= 1 for share in answer.class_shares.values()) else ["shares"]
        case PairValues():
            return [] if np.isfinite(answer.difference).all() else ["contributions"]
        case (first, second) if isinstance(first, np.ndarray):
            return [] if len(first) == len(second) and np.isfinite(first).all() and (second >= 0).all() else ["rows"]
        case str():
            return [] if len(answer) <= 2_000 else ["length"]
        case _:
            return []


def _of_people(config: RunConfig, pairs: Pairs) -> list[str]:
    for rows in (pairs.first, pairs.second):
        for column, values in zip(config.schema.inputs, rows.T, strict=True):
            [column.text(value) for value in values.tolist()]
    return ["a person as a pair"] if (pairs.first == pairs.second).all(axis=1).any() else []
