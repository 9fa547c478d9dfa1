"""Data scan: every row of the data set, tested once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fairness_engine.events import Event, FloatArray, Step
from fairness_engine.search.technique import setting

if TYPE_CHECKING:
    from fairness_engine.oracle import Oracle


@dataclass(frozen=True)
class DataScan:
    """Every row of the data set, in random order: all real people, a few evaluations each.

    The baseline that a search has to beat for plausible pairs; it ends when every row was tested.
    """

    name: ClassVar[str] = "data-scan"
    title: ClassVar[str] = "Data scan"
    summary: ClassVar[str] = "Tests every person of the data set. The place to start: all pairs are plausible."
    reference: ClassVar[str] = "baseline"
    moves_rows: ClassVar[bool] = False

    batch: int = setting(4096, "Rows tested in one step.", minimum=1, maximum=1_000_000, unit="rows")

    def search(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> Iterator[Event]:
        """Test every start row once."""
        order = rng.permutation(len(start_rows))
        for begin in range(0, len(order), self.batch):
            oracle.probe(start_rows[order[begin : begin + self.batch]])
            yield Step("scanning the data")
