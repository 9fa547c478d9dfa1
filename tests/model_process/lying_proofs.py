"""A model's process that misbehaves in a certification; see ``lying_child.py``."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import numpy as np

from fairness_engine.events import ResultReady, SharesProved, to_line
from proof_events import CERTIFICATION, tree_ready, whole


def misbehave_in_proofs(mode: str, say: Callable[[str], None]) -> None:
    """Say what a certification must not say."""
    leaf = whole(-1, -1, -1)
    trees = {
        "a tree": tree_ready(),
        "tree without a column": tree_ready(tree={"column": whole(9, -1, -1)}),
        "tree of loops": tree_ready(tree={"right": whole(1, -1, -1)}),
        "tree in numbers with a point": tree_ready(tree={"cut": np.zeros(3)}),
        "tree of leaves": tree_ready(tree={"column": leaf}),
        "tree that weighs more": tree_ready(tree={"weight": np.array([1.0, 0.9, 0.9])}),
        "tree proved beyond its weight": tree_ready(tree={"certified": np.array([0.5, 0.9, 0.0])}),
        "tree with other names": tree_ready(tree={"surprise": whole(1)}),
        "tree of another space": tree_ready(tree={"n_digits": whole(*[100] * 8)}),
        "tree of nobody": tree_ready(tree={"n_people": whole(1, -1, 2)}),
        "space of other columns": tree_ready(space={"columns": ["sex"] * 8}),
        "space of other values": tree_ready(space={"low": [1e9] * 8}),
        "space of text": tree_ready(space={"steps": "many"}),
        "certificates of inner boxes": tree_ready(certificates={"leaf": whole(0)}),
        "certificates of nothing": tree_ready(certificates={"leaf": whole(7)}),
        "certificates without numbers": tree_ready(certificates={"thresholds": np.full((1, 4), np.nan)}),
        "certificates of another shape": tree_ready(certificates={"coefficients": np.empty((2, 3, 0))}),
        "certificates with other places": tree_ready(certificates={"coefficients": np.zeros((1, 3, 5))}),
    }
    if mode in trees:
        say(to_line(trees[mode]))
    elif mode == "two trees":
        say(to_line(trees["a tree"]))
        say(to_line(trees["a tree"]))
    elif mode == "shares":
        say(to_line(SharesProved(0.1, 0.1, 0.1, 3, 1)))
    elif mode == "shares above one":
        say(to_line(SharesProved(0.1, 0.6, 0.5, 3, 1)))
    elif mode == "shares of text":
        say(to_line(SharesProved(0.1, "all", 0.5, 3, 1)))  # a lie
    elif mode == "more open than there are":
        say(to_line(SharesProved(0.1, 0.1, 0.1, 3, 4)))
    elif mode == "time runs backwards":
        say(to_line(SharesProved(0.2, 0.1, 0.1, 3, 1)))
        say(to_line(SharesProved(0.1, 0.1, 0.1, 3, 1)))
    elif mode == "a certification":
        say(to_line(ResultReady("certification", CERTIFICATION)))
    elif mode == "certification that does not add up":
        say(to_line(ResultReady("certification", {**CERTIFICATION, "undecided": 0.1})))
    elif mode == "count in a certification":
        say(to_line(ResultReady("count", {"n_discriminatory": 1, "n_individuals": 2, "share": 0.5})))
    elif mode == "proves and dies":
        for i in range(2500):
            say(to_line(SharesProved(i / 10, i / 1e4, i / 1e5, 10 * i, i)))
        say(to_line(trees["a tree"]))
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGKILL)
