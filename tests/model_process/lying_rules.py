"""A model's process that misbehaves in a run of rule sets; see ``lying_child.py``."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import numpy as np

from fairness_engine.errors import StopReason
from fairness_engine.events import PairsFound, Progress, ResultReady, Stopped, to_line
from fairness_engine.pairs import Pairs
from rule_events import RULES_SUMMARY, rules_scored, whole

SEX = {"name": "sex", "kind": "categorical", "labels": ["Female", "Male"], "lows": [], "highs": [], "one_sided": False}
LIES = {
    "rules": rules_scored(),
    "rules without a head": rules_scored(without="head"),
    "rules with more": rules_scored(surprise=whole(1, 2)),
    "rules of numbers with a point": rules_scored(rules=np.zeros((2, 1))),
    "rules in a line": rules_scored(rules=whole(0, 1)),
    "counts of another length": rules_scored(n_inside=whole(400)),
    "a rule that is not there": rules_scored(rules=whole(0, 2)[:, None]),
    "a rule set of nothing": rules_scored(rules=whole(0, -1)[:, None]),
    "the same twice": rules_scored(rules=whole(0, 0)[:, None], n_rows=whole(40, 40)),
    "nothing at all": rules_scored(rules=np.empty((0, 1), np.int64)),
    "other rows than its cells": rules_scored(n_rows=whole(41, 60)),
    "a group below the support": rules_scored(n_rows=whole(4, 96), cell_n_rows=whole(4, 96)),
    "more rows than there are": rules_scored(space={"n_rows": 99}),
    "rows that are a claim": rules_scored(space={"n_rows": True}),
    "rows in words": rules_scored(space={"n_rows": "many"}),
    "more favourable than samples": rules_scored(favourable_inside=whole(401, 300)),
    "negative samples": rules_scored(n_outside=whole(-600, 400), favourable_outside=whole(-700, 100)),
    "samples of nobody's cells": rules_scored(favourable_inside=whole(120, 300)),
    "cells with a row of none": rules_scored(cell_n_rows=whole(100, 0)),
    "a cell twice": rules_scored(cell_codes=whole(0, 0)[:, None]),
    "a cell of another value": rules_scored(cell_codes=whole(0, 2)[:, None]),
    "a score outside its interval": rules_scored(low=np.array([0.26, 0.2])),
    "an interval beyond one": rules_scored(high=np.array([1.1, 0.3])),
    "an interval of nothing": rules_scored(low=np.array([np.nan, 0.2])),
    "an error below nothing": rules_scored(error=np.array([-0.1, 0.05])),
    "an error without end": rules_scored(error=np.array([0.05, np.inf])),
    "cells beyond all counting": rules_scored(cell_n_rows=whole(2**62, 60)),
    "exact with an interval": rules_scored(stage=whole(3, 3)),
    "a stage of its own": rules_scored(stage=whole(9, 9)),
    "scores upside down": rules_scored(
        **{"stage": whole(2, 2), "favourable_inside": whole(160, 300), "favourable_outside": whole(300, 100)},
        **{"low": np.zeros(2), "high": np.ones(2)},
    ),
    "a head that is folded": rules_scored(head=whole(1, 0)),
    "a head from elsewhere": rules_scored(head=whole(5, 5)),
    "another attribute": rules_scored(space={"attributes": [{**SEX, "name": "race"}]}),
    "other labels": rules_scored(space={"attributes": [{**SEX, "labels": ["men", "women"]}]}),
    "attributes of text": rules_scored(space={"attributes": "all"}),
    "labels without end": rules_scored(space={"attributes": [{**SEX, "labels": ["a"] * 10**6}]}),
    "terms in a table": rules_scored(space={"attributes": [{**SEX, "kind": "term"}]}),
}


def misbehave_in_rules(mode: str, say: Callable[[str], None]) -> None:
    """Say what a run of rule sets must not say."""
    if mode in LIES:
        say(to_line(LIES[mode]))
        say(to_line(Stopped(StopReason.EXHAUSTED, 1000, 0.1, 2, 2)))
    elif mode == "rules twice":
        say(to_line(LIES["rules"]))
        say(to_line(LIES["rules"]))
    elif mode == "pairs":
        none = np.zeros((1, 9)), np.zeros((1, 9)), np.zeros(1), np.ones(1), whole(0), whole(1), whole(5)
        say(to_line(PairsFound(Pairs(*none))))
    elif mode == "a certification":
        say(to_line(ResultReady("certification", {})))
    elif mode == "more shown than scored":
        say(to_line(ResultReady("rules", {**RULES_SUMMARY, "n_shown": 3})))
    elif mode == "sentences of numbers":
        say(to_line(ResultReady("sentences", {"pairs": [1, 2]})))
    elif mode == "a bomb":
        line = to_line(rules_scored(cell_drawn=np.zeros(10**6, np.int64)))
        say(line.replace('"shape":[1000000]', '"shape":[2000000000]'))
    elif mode == "scores and dies":
        say(to_line(Progress(1000, 0.1, 2, 2, "scored")))
        say(to_line(LIES["rules"]))
        say(to_line(ResultReady("rules", RULES_SUMMARY)))
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
