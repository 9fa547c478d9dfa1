"""Linked attributes: when ``sex`` changes from Male to Female, ``relationship`` changes from Husband to Wife."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairness_engine.data.schema import Value


@dataclass(frozen=True)
class Link:
    """A column that changes with a protected attribute; see ``spelling``.

    Args:
        protected, column: names of inputs, both with values that can be listed.
        of: every value of the protected attribute, as the file holds it.
        values: for each role that is spelled in several ways, its value for each of ``of``, as the file holds it.
    """

    protected: str
    column: str
    of: tuple[Value, ...]
    values: tuple[tuple[Value, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain lists; ``from_json`` reads it back."""
        values = [list(spellings) for spellings in self.values]
        return {"protected": self.protected, "column": self.column, "of": list(self.of), "values": values}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Link:
        """Read what ``to_json`` wrote."""
        values = tuple(tuple(spellings) for spellings in content["values"])
        return cls(content["protected"], content["column"], tuple(content["of"]), values)
