"""The contract of a technique.

A technique is a frozen dataclass whose fields are its settings, and one method, ``search``. Budget, cancel, duplicates
and the replay of every pair are the oracle's and the driver's business: a technique only proposes rows to
``oracle.probe`` and says ``Step`` after each batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.events import Event
from fairness_engine.settings import Settings, setting

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle


OF_PEOPLE = "people"
"""The part of a technique's settings that says who is to be found."""


def only_plausible_setting() -> bool:
    """The setting of techniques that can keep to people who could exist."""
    found: bool = setting(
        False,
        "Find pairs of two people who could exist: near to real people, and without values that practically never "
        "occur together. Whether somebody could is decided without asking the model.",
        label="Only plausible people",
        part=OF_PEOPLE,
    )
    return found


class Technique(Settings, ABC):
    """One way to search for discriminatory pairs.

    Attributes:
        name: on the command line and in the store, e.g. ``aequitas``.
        title: on screens.
        summary: when to use it, in one line.
        reference: paper and algorithm number.
        needs_gradient: of the model, else it is refused.
        estimates_gradient: from scores, which labels hardly give.
        moves_rows: false for one that works where no attribute may be moved.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]
    needs_gradient: ClassVar[bool] = False
    estimates_gradient: ClassVar[bool] = False
    moves_rows: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        cls.whose = f"'{getattr(cls, 'name', cls.__name__)}'"

    @property
    def finds_plausible_only(self) -> bool:
        """Whether it has the setting ``only_plausible``, and it is on."""
        return bool(getattr(self, "only_plausible", False))

    @abstractmethod
    def search(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> Iterator[Event]:
        """Propose rows to the oracle until done; the oracle raises ``SearchStopped`` when the budget is spent.

        Args:
            oracle: the only door to the model.
            start_rows: rows of the data ``(n_rows, n_columns)`` to start from; may be empty.
            rng: the only source of chance.

        Yields:
            ``Step`` after every batch, and findings of its own kind.
        """

    @staticmethod
    def warm_up() -> None:
        """Compile or load loops of its own, so that a search does not wait for them."""
