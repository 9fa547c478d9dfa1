"""Can a model be retrained on its data, and if not, what may be trained instead. Importing this is cheap: a page reads
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from fairness_engine.errors import ProcessError
from fairness_engine.models.formats import FileFormat, detect_format
from fairness_engine.retraining.settings import RetrainSettings, Strategy, Surrogate

_MAX_CHARACTERS = 2_000
"""Of a sentence that comes from the model's process."""
_MAX_ROWS = 10**12


@dataclass(frozen=True)
class Trainable:
    """What is known before a retraining.

    Args:
        problem: why nothing can be trained on this data, in a sentence; ``None`` when it suffices.
        reason: why the model itself cannot be trained, in a sentence; ``None`` when it can. Surrogates are offered only
            then.
        kind: what is trained, in words; empty where the model cannot be.
        has_weights: whether a training can begin from the model's own weights.
        takes_weights: whether rows can count more or less than others.
        surrogates: that may be named instead.
        n_train, n_validation, n_test: rows of the parts of the data; 0 where it does not suffice.
    """

    problem: str | None = None
    reason: str | None = None
    kind: str = ""
    has_weights: bool = False
    takes_weights: bool = False
    surrogates: tuple[Surrogate, ...] = ()
    n_train: int = 0
    n_validation: int = 0
    n_test: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain values; ``from_json`` reads them back."""
        return asdict(self) | {"surrogates": [one.value for one in self.surrogates]}

    @classmethod
    def from_json(cls, content: Any) -> Trainable:
        """Read what the model's process said.

        Raises:
            ProcessError: it cannot be.
        """
        if not isinstance(content, Mapping) or set(content) != {one.name for one in fields(cls)}:
            raise ProcessError(_BROKEN)
        texts = [content["kind"], *(content[name] or "" for name in ("problem", "reason"))]
        flags = [content[name] for name in ("has_weights", "takes_weights")]
        counts = [content[name] for name in ("n_train", "n_validation", "n_test")]
        is_right = (
            all(isinstance(text, str) and len(text) <= _MAX_CHARACTERS for text in texts)
            and all(isinstance(flag, bool) for flag in flags)
            and all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < _MAX_ROWS for n in counts)
            and isinstance(content["surrogates"], list)
        )
        if not is_right:
            raise ProcessError(_BROKEN)
        try:
            surrogates = tuple(Surrogate(name) for name in content["surrogates"])
        except ValueError:
            raise ProcessError(_BROKEN) from None
        return cls(**{**content, "surrogates": surrogates})


_BROKEN = "The model's process broke its protocol: what it said of a retraining cannot be read."


def libraries_of(path: Path, name: str, settings: RetrainSettings) -> tuple[str, ...]:
    """The large libraries that a retraining will take, of ``start.LIBRARIES``.

    Args:
        path, name: the model's file, and what it was called.
        settings: how to train.

    Raises:
        ModelError: the model's file is of no known format.
    """
    if settings.strategy is Strategy.THRESHOLD:
        return ()
    is_keras = settings.surrogate is Surrogate.NETWORK
    if settings.surrogate is Surrogate.NONE:
        is_keras = detect_format(path, name) in (FileFormat.KERAS, FileFormat.KERAS_H5)
    return ("tensorflow",) if is_keras else ()
