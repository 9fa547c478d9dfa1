"""A model's process that misbehaves; the model file's text says how. Started in the place of the real one."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import pack_array
from fairness_engine.data.schema import Schema
from fairness_engine.errors import StopReason
from fairness_engine.events import PairsFound, PairsMeasured, Progress, ResultReady, Stopped, to_line
from fairness_engine.oracle.domain import Ranges, Scope
from fairness_engine.pairs import Pairs

parser = argparse.ArgumentParser()
parser.add_argument("--scratch")
parser.add_argument("--readable", action="append", type=Path)
parser.add_argument("--compiled")
parser.add_argument("--parent")
parser.add_argument("--warm")
options = parser.parse_args()
if options.warm:
    sys.exit(1)
MODE = options.readable[1].read_text()
SCHEMA = Schema.read(Path(__file__).resolve().parents[2] / "sample_data" / "census_income.schema.json")
SOMEBODY = Ranges(SCHEMA, Scope(("sex",))).low
N_COLUMNS = len(SOMEBODY)
PROTECTED = 6  # sex


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def pairs(n: int, **changes: Any) -> str:
    first = np.repeat(SOMEBODY[None], n, axis=0)
    first[:, 0] += np.arange(n)  # years: each is somebody else
    second = first.copy()
    second[:, PROTECTED] += 1
    values = {
        **{"first": first, "second": second, "score_first": np.zeros(n), "score_second": np.ones(n)},
        **{"decision_first": np.zeros(n, np.int64), "decision_second": np.ones(n, np.int64)},
        "evaluation": np.arange(n, dtype=np.int64),
    }
    return to_line(PairsFound(Pairs(**{**values, **changes})))


def stopped(**changes: Any) -> str:
    return to_line(
        Stopped(
            **{**{"reason": StopReason.FOUND, "evaluations": 2, "seconds": 0.1, "n_tried": 1, "n_found": 1}, **changes}
        )
    )


def bad_pair(column: int, value: float) -> str:
    second = SOMEBODY[None].copy()
    second[0, column] = value
    return pairs(1, second=second)


def person(column: int, value: float) -> dict[str, Any]:
    """Both people of a pair with another value in one column."""
    first, second = np.repeat(SOMEBODY[None, None], 2, axis=0)
    second[0, PROTECTED] += 1
    first[0, column] = second[0, column] = value
    return {"first": first, "second": second}


STRANGE_PAIRS: dict[str, dict[str, Any]] = {
    "category 99": person(1, 99.0),
    "category -3": person(1, -3.0),
    "half a category": person(1, 0.5),
    "beyond every range": person(0, 1e300),
    "one person": {"second": SOMEBODY[None]},
    "treated alike": {"decision_second": np.zeros(1, np.int64)},
    "no class": {"decision_second": np.full(1, -1)},
    "a class too many": {"decision_second": np.full(1, 2**40)},
}


def misbehave() -> None:
    if MODE.startswith("proof: "):
        from lying_proofs import misbehave_in_proofs

        misbehave_in_proofs(MODE.removeprefix("proof: "), say)
        return
    if MODE.startswith("rules: "):
        from lying_rules import misbehave_in_rules

        misbehave_in_rules(MODE.removeprefix("rules: "), say)
        return
    if MODE.startswith("retrain: "):
        from lying_retraining import misbehave_in_retraining

        misbehave_in_retraining(MODE.removeprefix("retrain: "), say)
        return
    if MODE == "no event":
        say("hello there")
    elif MODE == "a list":
        say("[1, 2]")
    elif MODE == "deep":
        say("[" * 100_000)
    elif MODE == "unknown event":
        say('{"event": "Surprise"}')
    elif MODE == "no text":
        sys.stdout.buffer.write(b"\xff\xfe\n")
        sys.stdout.flush()
    elif MODE == "endless line":
        while True:
            sys.stdout.write("x" * 1_000_000)
    elif MODE == "silent":
        time.sleep(60)
    elif MODE == "talks for ever":
        while True:
            say(json.dumps({"phase": "still at it"}))
            time.sleep(0.01)
    elif MODE == "segmentation fault":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif MODE == "leaves":
        sys.exit(7)
    elif MODE == "closes":
        os.close(1)
        time.sleep(60)
    elif MODE == "differs elsewhere":
        say(bad_pair(0, 1.0))
    elif MODE in STRANGE_PAIRS:
        say(pairs(1, **STRANGE_PAIRS[MODE]))
    elif MODE == "no end":
        say(pairs(1))
    elif MODE == "counts other pairs":
        say(pairs(2))
        say(stopped(n_found=1))
    elif MODE == "groups of different lengths":
        say('{"event": "GroupScored", "score": 0.5, "shares": [0.5], "counts": [1, 2], "groups": ["a"]}')
    elif MODE == "compressed":
        packed = pack_array(np.zeros((200_000, N_COLUMNS)), can_compress=True)
        say(json.dumps({**json.loads(pairs(1)), "first": packed}))
    elif MODE == "many phases":
        for number in range(20_000):
            say(json.dumps({"phase": f"phase {number}"}))
        say(stopped(n_found=0))
    elif MODE == "deep folders":
        for _ in range(4_000):
            Path("d").mkdir()
            os.chdir("d")
        say(stopped(n_found=0))
    elif MODE == "not a number":
        say(bad_pair(PROTECTED, float("nan")))
    elif MODE == "measured and not":
        say(pairs(1, distance=np.full((1, 2), 0.5)))
    elif MODE == "one person measured":
        say(pairs(1, distance=np.array([[0.5, np.nan]]), n_unseen=np.array([[0, -1]])))
    elif MODE == "measures nothing sent":
        say(to_line(PairsMeasured(np.zeros((2, 2)), np.zeros((2, 2), np.int64))))
    elif MODE == "measures too far":
        say(pairs(1))
        say(to_line(PairsMeasured(np.full((1, 2), 1.5), np.zeros((1, 2), np.int64))))
    elif MODE == "further than far":
        say(pairs(1, distance=np.full((1, 2), 1.5), n_unseen=np.zeros((1, 2), np.int64)))
    elif MODE == "too few columns":
        say(pairs(1, first=np.zeros((1, 2)), second=np.zeros((1, 2))))
    elif MODE == "text as a number":
        say(to_line(Progress("many", 0.1, 1, 1)))  # a lie
    elif MODE == "negative":
        say(to_line(Progress(-1, 0.1, 1, 1)))
    elif MODE == "phase of numbers":
        say(to_line(Progress(1, 0.1, 1, 1, 5)))  # a lie
    elif MODE == "impossible share":
        say(
            '{"event": "ShareEstimated", "share": 2.0, "low": 0, "high": 1, "n_hits": 1, "n": 1, "distribution": '
            '"uniform"}'
        )
    elif MODE == "unknown result":
        say(to_line(ResultReady("verdict", {"n": 1})))
    elif MODE == "endless result":
        say(to_line(ResultReady("split", {"ranks": list(range(200_000))})))
        say(stopped(n_found=0))
    elif MODE == "infinite result":
        say(to_line(ResultReady("diversity", {"share": float("inf")})))
    elif MODE == "impossible scan":
        say(to_line(ResultReady("scan", {"n_tested": 3, "n_people": 2})))
    elif MODE == "after the end":
        say(stopped(n_found=0))
        say(to_line(Progress(1, 0.1, 1, 1)))
    elif MODE == "failed":
        say('{"event": "Failed", "message": "The network does not know what to do."}')
    elif MODE == "unknown error":
        say('{"reply": 2, "error": "Exception", "message": "<b>no</b>"}')
    elif MODE == "input error":
        say('{"reply": 2, "error": "ModelError", "message": "The model refuses row 3."}')
    elif MODE == "wrong reply":
        say('{"reply": 99}')
        time.sleep(60)
    elif MODE == "talks and dies":
        say(pairs(3))
        say(to_line(Progress(6, 0.1, 3, 3, "searching")))
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGKILL)
    elif MODE == "much before its end":  # no lie: what it said before a cancel was heard is still to be read
        say(pairs(2))
        for i in range(6):
            time.sleep(0.3)
            say(to_line(Progress(10 + i, 0.1, 5, 2)))
        say(stopped(reason=StopReason.CANCELLED, evaluations=20, n_tried=10, n_found=2))
    elif MODE == "ignores cancel":
        say(pairs(2))
        time.sleep(10**6)


if MODE == "no greeting":
    say("{}")
say(json.dumps({"hello": {"memory": True, "files": "yes", "<script>": True}}))
if MODE == "deaf":
    time.sleep(60)
for text in sys.stdin:
    request = json.loads(text)
    if request["do"] == "cancel":
        continue
    if request["do"] != "open" or MODE.startswith("open: "):
        MODE = MODE.removeprefix("open: ")
        misbehave()
    say(json.dumps({"reply": request["id"]}))
