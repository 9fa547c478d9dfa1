"""The tree that the diversity of searches is measured by, learned by the first one of a question and kept for the next.

It is a function of the data, the model and the scope, and takes longer to learn than a short search. The model's
process makes it and gets it back: it can say of itself what it likes, so its tree is of no use to anybody else.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from fairness_engine.codec import decode, encode
from fairness_engine.measures.diversity import Surrogate
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

_FOLDER = "surrogates"


def known_surrogate(store: RunStore, config: RunConfig) -> dict[str, Any]:
    """What the process of a search is told: ``surrogate``, where one was learned by these versions."""
    try:
        return {"surrogate": encode(decode(Surrogate, json.loads(store.note(_FOLDER, _name(config)))))}
    except ValueError:  # none, or a damaged one: it is learned again
        return {}


def keep_surrogate(store: RunStore, config: RunConfig, learned: dict[str, Any]) -> None:
    """Keep what a search has learned.

    Args:
        learned: as its process says, which may be anything.
    """
    try:
        surrogate = encode(decode(Surrogate, learned.get("surrogate")))
    except ValueError:
        return
    store.keep_note(_FOLDER, _name(config), json.dumps(surrogate))


def _name(config: RunConfig) -> str:
    """Of the question: whatever else a search is told makes no difference."""
    content = config.to_json()
    question = {name: content[name] for name in ("data_id", "model_id", "schema", "scope", "versions")}
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
