"""What a run is asked to do, as one value that can be stored, shown and repeated."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import metadata
from typing import Any

from fairness_engine import __version__
from fairness_engine.data.schema import Schema
from fairness_engine.errors import InputError, RunError, SettingError, cut
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Distribution, Scope

_VERSIONED = (
    *("numpy", "pandas", "scikit-learn", "numba", "tensorflow", "keras", "onnxruntime", "skops"),
    *("shap", "lime", "z3-solver"),
)
MAX_SEED = 2**63 - 1


@cache
def installed_versions() -> dict[str, str]:
    """Versions of this program, Python and the libraries that can change a result; what is absent is left out."""
    versions = {"python": platform.python_version()}
    for name in _VERSIONED:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions | {"evenhand": __version__}


@dataclass(frozen=True)
class RunConfig:
    """One run, completely: the same configuration gives the same pairs.

    Args:
        kind: name in ``runs.kinds.KINDS``, whose ``config`` makes configurations and checks what only the kind knows.
        data_id, model_id: files of the store (their content is in the id); no model (empty text) where a column of the
            data is compared.
        schema: the columns as the review corrected them.
        scope: protected attributes, threshold, limits.
        technique: name in ``search.registry``; empty for what is no search.
        settings: by name; the kind reads them (``RunKind.settings``), and what is not named keeps its default.
        budget: when a search ends; an estimate ends with its samples, a count with the space, a certification when
            everything is decided or by its own settings, or each by the limit of seconds.
        seed: 0 or more; every random draw derives from it.
        comparison: runs of one side-by-side comparison share this text.
        max_starts: how many rows of the data a search may start from, drawn by the seed; ``None`` is all.
        distribution, n_samples: of an estimate.
        versions: of this program and the libraries that can change a result.
        data_query: where the data is the rows of a query: its ``text``, and the ``url`` of the database without
            password; ``None`` for a file.

    Raises:
        SettingError: a seed, a number of starts or of samples out of its range.
    """

    kind: str
    data_id: str
    model_id: str
    schema: Schema
    scope: Scope
    technique: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    seed: int = 0
    comparison: str | None = None
    max_starts: int | None = None
    distribution: Distribution = Distribution.UNIFORM
    n_samples: int = 20_000
    versions: Mapping[str, str] = field(default_factory=lambda: dict(installed_versions()))
    data_query: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "distribution", Distribution(self.distribution))
        if not 0 <= self.seed <= MAX_SEED:
            raise SettingError(f"The seed must be a whole number from 0 to {MAX_SEED}, got {self.seed}.")
        if self.max_starts is not None and self.max_starts < 1:
            raise SettingError(f"The number of start rows must be at least 1, got {self.max_starts}.")
        if self.n_samples < 1:
            raise SettingError(f"The number of samples must be at least 1, got {self.n_samples}.")

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and text; ``from_json`` reads it back to an equal configuration."""
        content = {name: getattr(self, name) for name in self.__dataclass_fields__}
        content |= {
            "distribution": self.distribution.value,
            "schema": self.schema.to_json(),
            "scope": self.scope.to_json(),
            "budget": asdict(self.budget),
            "settings": dict(self.settings),
            "versions": dict(self.versions),
        }
        if self.data_query is None:  # as versions before it wrote it, which read no other
            del content["data_query"]
        else:
            content["data_query"] = dict(self.data_query)
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RunConfig:
        """Read what ``to_json`` wrote.

        Raises:
            RunError: it is not what ``to_json`` wrote.
        """
        try:
            if not isinstance(content, Mapping):
                raise TypeError("it is no JSON object")
            known = dict(content)
            if not all(isinstance(known.get(name, ""), str) for name in ("kind", "data_id", "model_id", "technique")):
                raise TypeError("a name that is no text")
            known["schema"] = Schema.from_json(content["schema"]).with_protected(content["schema"]["protected"])
            known["scope"] = Scope.from_json(content["scope"])
            known["budget"] = Budget(**content["budget"])
            known |= {name: dict(content[name]) for name in ("settings", "versions", "data_query") if name in content}
            if not all(isinstance(text, str) for text in known.get("data_query", {}).values()):
                raise TypeError("a query that is no text")
            return cls(**known)
        except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError, InputError) as error:
            raise RunError(
                "The question of a stored run must be as it was written, but it was changed "
                f"({cut(str(error), 150)}). Run it anew."
            ) from error

    @property
    def text_column(self) -> str:
        """The column of texts that the run is about; empty where it is about a table."""
        return next((name for name in self.scope.protected if self.schema.is_text(name)), "")
