"""What a run learns of a question and the next one need not learn again: how the model is read, and the tree that the
diversity of searches is measured by.

Both are functions of the data, the model and what was asked of them, and take longer than a short search. The model's
process makes them and gets them back: it can say of itself what it likes, so they are of no use to anybody else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fairness_engine.codec import decode, encode
from fairness_engine.measures.diversity import Surrogate
from fairness_engine.models.fit.reading_state import Reading
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore


@dataclass(frozen=True)
class _Lesson:
    """Something that is learned.

    Args:
        folder: of the workspace, where it is kept.
        kind: its type.
        scope: what of the scope it is a function of; plain JSON.
    """

    folder: str
    kind: type
    scope: Callable[[RunConfig], Any]


_LESSONS = {
    "reading": _Lesson("readings", Reading, lambda config: [config.scope.protected, config.scope.threshold]),
    "surrogate": _Lesson("surrogates", Surrogate, lambda config: config.scope.to_json()),
}


def known_lessons(store: RunStore, config: RunConfig, names: Iterable[str]) -> dict[str, Any]:
    """What the process of a run is told: by name what was learned by these versions, as it was kept."""
    known = {}
    for name in names:
        lesson = _LESSONS[name]
        try:
            content = json.loads(store.note(lesson.folder, _question(lesson, config)))
            known[name] = encode(decode(lesson.kind, content))
        except ValueError:  # none, or a damaged one: it is learned again
            continue
    return known


def keep_lessons(store: RunStore, config: RunConfig, names: Iterable[str], learned: dict[str, Any]) -> None:
    """Keep what a run has learned.

    Args:
        learned: by name, as its process says, which may be anything.
    """
    for name in names:
        lesson = _LESSONS[name]
        try:
            content = encode(decode(lesson.kind, learned.get(name)))
        except ValueError:
            continue
        store.keep_note(lesson.folder, _question(lesson, config), json.dumps(content))


def _question(lesson: _Lesson, config: RunConfig) -> str:
    """Of what it is a function: whatever else a run is told makes no difference."""
    content = config.to_json()
    question = {name: content[name] for name in ("data_id", "model_id", "schema", "versions")}
    question["scope"] = lesson.scope(config)
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
