"""A model whose work is shared out: large batches of rows are evaluated by other processes, in blocks.

What a model says of a row depends on that row alone, so a search, a count or a proof that asks a shared model finds
what it would have found by itself, however many processes evaluate and whichever of them fail.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.errors import ModelError
from fairness_engine.models.known_items import Arrays, KnownItems
from fairness_engine.models.model import Model

BATCH_SECONDS = 1.0
"""What a batch is to take, about, with all its blocks side by side: in between, a run can be ended."""
BLOCK_SECONDS = 0.25
"""What a block is to take, about: long beside what it costs to send one, short beside what is lost with one."""
_HALF_SECONDS = 0.05
"""What is longer than two of these goes to a process in two blocks: one travels while the other is worked on."""
_LEAST_BLOCK_SECONDS = 0.01
_LEAST_SAVED_SECONDS = 0.01
"""What sharing out must save; else work is done here."""
_BREADTH = 16
_BREADTH_OF_COLUMNS = 1024
"""Columns times breadth: batches of very wide rows would fill the memory."""
_FADE = 0.95
"""What is left of it at each time that work is done here."""
_TELLING_SECONDS = 0.002
_TRIED_SECONDS = 0.05
_TRIED_EVERY = 16
_FIRST_ITEMS = 64
"""Of something that was never timed: it is tried on so many, here."""

_MAX_PIECES = 64
"""Of which what is known of a batch may consist: with more, all of it is asked again."""


@dataclass(frozen=True)
class Answered:
    """A block that was done.

    Args:
        arrays: what it comes to.
        seconds: that it took, where it was done.
        is_back: it was not done, for nobody is there; it is to be done here.
    """

    arrays: list[NDArray[Any]]
    seconds: float
    is_back: bool = False


class Blocks(Protocol):
    """Other processes that hold the same data and the same model.

    Attributes:
        width: how many of them are ready; everything is done here while it is 0.
        known: what they answered before.
    """

    width: int
    known: KnownItems

    def work(self, name: str, asked: Sequence[Arrays], settings: Mapping[str, Any]) -> list[Answered | None]:
        """What each block comes to; ``None`` for one that ended every process that tried it.

        Args:
            name: of what is to be done, see ``model_process.blocks``.
            asked: what each block is of.
            settings: of all of them.
        """
        ...


@dataclass
class Sharing:
    """What is shared out, and how much at once.

    Args:
        blocks: who does it.
        settings: told with every block.

    Attributes:
        n_set_aside: items of blocks that ended every process that tried them.
    """

    blocks: Blocks
    settings: Mapping[str, Any] = field(default_factory=dict)
    n_set_aside: int = field(default=0, init=False)
    _costs: dict[str, _Cost] = field(default_factory=dict, init=False)
    _none: dict[str, list[NDArray[Any]]] = field(default_factory=dict, init=False)
    _local: threading.local = field(default_factory=threading.local, init=False)

    def work(
        self,
        name: str,
        n_items: int,
        here: Callable[[slice], Sequence[NDArray[Any]]],
        asked: Callable[[slice], Arrays],
        cost: int = 1,
        can_lack: bool = False,
    ) -> list[NDArray[Any]]:
        """Do something with each of so many items: here where they are few, else in blocks elsewhere.

        Args:
            name: see ``Blocks``.
            n_items: items, whose results are rows of arrays in their order.
            here: does it with some of them.
            asked: what a block of some of them is told.
            cost: as how many each counts: variants of a row.
            can_lack: a block that ended every process that tried it is set aside.

        Returns:
            The arrays that ``here`` gives, of all items. Items that were set aside are NaN, or -1 in whole numbers.

        Raises:
            ModelError: a block ended every process that tried it, and nothing may lack.
        """
        if not n_items or getattr(self._local, "is_working", False):  # what is asked within something is part of it
            return list(here(slice(0, n_items)))
        whole = slice(0, n_items)
        if not self.blocks.known:
            return self._work(name, whole, here, asked, cost, can_lack)
        is_known, answers = self.blocks.known.find(name, self.settings, asked(whole))
        pieces = _runs(is_known)
        if not is_known.any() or len(pieces) > _MAX_PIECES:
            return self._work(name, whole, here, asked, cost, can_lack)
        found = [
            [array[piece] for array in answers]
            if is_known[piece.start]
            else self._work(name, piece, here, asked, cost, can_lack)
            for piece in pieces
        ]
        return _joined(found, [])

    def _work(
        self,
        name: str,
        whole: slice,
        here: Callable[[slice], Sequence[NDArray[Any]]],
        asked: Callable[[slice], Arrays],
        cost: int,
        can_lack: bool,
    ) -> list[NDArray[Any]]:
        """``work`` of some of the items, of which nothing is known."""
        n_items = whole.stop - whole.start
        done: list[Sequence[NDArray[Any]]] = []
        begin = whole.start
        width = self.blocks.width  # another thread may change it
        if name not in self._costs:
            self._costs[name] = _Cost()
            begin += min(n_items, max(1, _FIRST_ITEMS // cost))
            self._here(here, slice(begin - 1, begin))  # the first call of anything loads or compiles something
        elif self._costs[name].is_to_be_tried(n_items * cost, width):
            begin += min(n_items, max(1, self._costs[name].most_tried // cost))
        if begin > whole.start:
            done.append(self._timed(name, slice(whole.start, begin), here, cost))
        known = self._costs[name]
        n_left = (whole.stop - begin) * cost
        if not n_left or known.saved(n_left, width) < _LEAST_SAVED_SECONDS:
            known.forget()
            if n_left:
                done.append(self._timed(name, slice(begin, whole.stop), here, cost))
            return list(done[0]) if len(done) == 1 else _joined(done, [])
        parts = _parts(begin, whole.stop, n_left * known.there, width)
        started = time.perf_counter()
        answers = self.blocks.work(name, [asked(part) for part in parts], self.settings)
        worked = sum(each.seconds for each in answers if each)
        sizes = [part.stop - part.start for part in parts]
        n_lacking = sum(size for size, each in zip(sizes, answers, strict=True) if each is None)
        if not any(each.is_back for each in answers if each):  # else it tells what waiting takes
            known.learn_there(n_left - n_lacking * cost, worked, time.perf_counter() - started - worked / width)
        found = [
            None if each is None else self._here(here, part) if each.is_back else each.arrays
            for part, each in zip(parts, answers, strict=True)
        ]
        if n_lacking and not can_lack:
            raise ModelError(
                f"The model must answer every row, but ended each process that asked it about {n_lacking:,} of them. "
                "Look for the row that it breaks down on; what was found until then is kept."
            )
        self.n_set_aside += n_lacking
        pieces = [*done, *found]
        if all(piece is None for piece in pieces):  # else they tell the shapes, which differ from call to call
            pieces.append(self._none[name])
        return _joined(pieces, [begin - whole.start, *sizes, 0] if done else [*sizes, 0])

    def _timed(
        self, name: str, part: slice, here: Callable[[slice], Sequence[NDArray[Any]]], cost: int
    ) -> Sequence[NDArray[Any]]:
        started = time.perf_counter()
        found = self._here(here, part)
        self._costs[name].learn_here((part.stop - part.start) * cost, time.perf_counter() - started)
        self._none[name] = [array[:0] for array in found]
        return found

    def _here(self, here: Callable[[slice], Sequence[NDArray[Any]]], part: slice) -> Sequence[NDArray[Any]]:
        self._local.is_working = True
        try:
            return here(part)
        finally:
            self._local.is_working = False


@dataclass
class _Cost:
    """What something was seen to take; each is the mean of the last time and of what was known.

    Attributes:
        here, there: seconds of an item; ``there`` is as ``here`` until it is known.
        trip: seconds that sharing out took beside the work itself.
    """

    here: float = math.nan
    there: float = math.nan
    trip: float = 0.0
    _n_shared: int = 0

    @property
    def most_tried(self) -> int:
        """Items that take a twentieth of a second here."""
        return int(_TRIED_SECONDS / self.here)

    def is_to_be_tried(self, n_items: int, width: int) -> bool:
        """Whether something that would be shared out is to be begun here, to see what that takes now: the first times
        were while others loaded, and what is always shared out would never be seen here again. After 1, 2, 4, 8 times,
        then each 16.
        """
        is_due = self._n_shared in (1, 2, 4, 8) or (self._n_shared > 0 and self._n_shared % _TRIED_EVERY == 0)
        return is_due and self.saved(n_items, width) >= _LEAST_SAVED_SECONDS

    def saved(self, n_items: int, width: int) -> float:
        """What sharing out would save, in seconds."""
        return n_items * (self.here - self.there / width) - self.trip if width else 0.0

    def learn_here(self, n_items: int, seconds: float) -> None:
        """So many took so long. A call that was short tells what a call costs, not what an item does."""
        if math.isnan(self.here) or seconds > _TELLING_SECONDS:
            self.here = _mean(self.here, seconds / n_items)
        if not self._n_shared:
            self.there = self.here

    def forget(self) -> None:
        """Believe a little less of what was seen there: whoever was busy may be free again."""
        self.trip *= _FADE
        self.there = self.here + _FADE * (self.there - self.here)

    def learn_there(self, n_items: int, worked: float, trip: float) -> None:
        """So many took so long, all in all, and so much more until they were back; the first time loads or compiles."""
        self._n_shared += 1
        if self._n_shared == 1:
            return
        self.trip = (self.trip + max(0.0, trip)) / 2
        if n_items:
            self.there = _mean(self.there, worked / n_items)


def _mean(known: float, new: float) -> float:
    return new if math.isnan(known) else (known + new) / 2


def _runs(is_known: BoolArray) -> list[slice]:
    """Ranges of items that are known, and of others, by turns."""
    edges = np.flatnonzero(np.diff(is_known)) + 1
    return [slice(*each) for each in itertools.pairwise([0, *edges.tolist(), len(is_known)])]


def _parts(begin: int, end: int, seconds: float, width: int) -> list[slice]:
    """Blocks of a range that takes so long: as many for each process, none of them too short to be worth it."""
    each = seconds / width
    n = width * max(1, round(each / BLOCK_SECONDS), min(2, int(each / _HALF_SECONDS)))
    n = max(1, min(n, end - begin, int(seconds / _LEAST_BLOCK_SECONDS)))
    ends = [begin + (end - begin) * i // n for i in range(n + 1)]
    return [slice(*each) for each in itertools.pairwise(ends)]


def _joined(done: Sequence[Sequence[NDArray[Any]] | None], sizes: Sequence[int]) -> list[NDArray[Any]]:
    """The arrays of all parts, one after the other, with nothing known of those that were set aside."""
    joined = []
    for i, pattern in enumerate(next(each for each in done if each is not None)):
        parts = []
        for k, each in enumerate(done):
            parts.append(_unknown(pattern, sizes[k]) if each is None else each[i])
        joined.append(np.concatenate(parts))
    return joined


def _unknown(pattern: NDArray[Any], n: int) -> NDArray[Any]:
    fill = np.nan if pattern.dtype.kind == "f" else -1
    return np.full((n, *pattern.shape[1:]), fill, dtype=pattern.dtype)


@dataclass(frozen=True)
class SharedModel(Model):
    """The same model with its work shared out.

    Args:
        sharing: how; ``None`` to do everything here.
        original: whom the others hold; whatever was made of it is asked here.
    """

    sharing: Sharing | None = None
    original: Model | None = None

    @property
    def breadth(self) -> int:
        """See ``Model``."""
        if self._held is None:
            return 1
        return max(1, min(_BREADTH, _BREADTH_OF_COLUMNS // len(self.encoder.names)))

    def scores(self, rows: FloatArray) -> FloatArray:
        """As ``Model.scores``."""
        return self._rows("scores", rows, super().scores)

    def margins(self, rows: FloatArray) -> FloatArray:
        """As ``Model.margins``."""
        return self._rows("margins", rows, super().margins)

    def fast_scores(self, rows: FloatArray) -> FloatArray:
        """As ``Model.fast_scores``."""
        return self._rows("fast_scores", rows, super().fast_scores)

    def exact_margins(self, rows: FloatArray) -> FloatArray:
        """As ``Model.exact_margins``."""
        return self._rows("exact_margins", rows, super().exact_margins)

    def variant_margins(self, rows: FloatArray, columns: IntArray, values: FloatArray) -> FloatArray:
        """As ``Model.variant_margins``."""
        whole = super().variant_margins
        shared = self._held
        if shared is None:
            return whole(rows, columns, values)

        def by_row(part: slice) -> list[FloatArray]:
            return [whole(rows[part], columns, values).reshape(part.stop - part.start, len(values), -1)]

        found = shared.work(
            "variant_margins",
            len(rows),
            by_row,
            lambda part: {"rows": rows[part], "columns": columns, "values": values},
            cost=len(values),
        )
        return np.asarray(found[0].reshape(len(rows) * len(values), -1))

    def nearby_scores(self, rows: FloatArray, columns: IntArray, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As ``Model.nearby_scores``."""
        whole = super().nearby_scores
        shared = self._held
        if shared is None:
            return whole(rows, columns, steps)
        own, moved = shared.work(
            "nearby_scores",
            len(rows),
            lambda part: whole(rows[part], columns, steps[part]),
            lambda part: {"rows": rows[part], "columns": columns, "steps": steps[part]},
            cost=len(columns) + 1,
        )
        return own, moved

    def gradients(self, rows: FloatArray, classes: IntArray | None = None) -> FloatArray:
        """As ``Model.gradients``."""
        whole = super().gradients
        shared = self._held
        if shared is None:
            return whole(rows, classes)

        def asked(part: slice) -> Arrays:
            return {"rows": rows[part]} | ({} if classes is None else {"classes": classes[part]})

        def here(part: slice) -> list[FloatArray]:
            return [whole(rows[part], None if classes is None else classes[part])]

        return shared.work("gradients", len(rows), here, asked)[0]

    def _rows(self, name: str, rows: FloatArray, whole: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """One array, of rows alone."""
        shared = self._held
        if shared is None:
            return whole(rows)
        return shared.work(name, len(rows), lambda part: [whole(rows[part])], lambda part: {"rows": rows[part]})[0]

    @property
    def _held(self) -> Sharing | None:
        """What shares the work out, where the others hold this very model."""
        original = self.original
        is_same = (
            original is not None
            and self.predictor is original.predictor
            and self.encoder is original.encoder
            and self.threshold == original.threshold
        )
        return self.sharing if is_same else None


def share(model: Model, sharing: Sharing) -> SharedModel:
    """A model with its work shared out."""
    held = {each.name: getattr(model, each.name) for each in fields(Model)}
    return SharedModel(**held, sharing=sharing, original=model)
