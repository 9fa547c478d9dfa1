"""A link to a pair, told from the pair that the page itself wrote into the address."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from fairness_engine.arrays import IntArray

_SLOT = "pair_link"


@dataclass
class PairLink:
    """What the address of the pairs of a run last named from outside.

    Args:
        run_id: of the run.
        asked: position of the pair that the address names now; ``None`` where it names none.
        n_followed: links that were followed in this browser session: what was clicked before one has no say after it.
        shown: run and position of the pair that the page itself wrote into the address.
        followed: run and position of the last link's pair.
        listed: what was listed when it was followed; ``None`` before that is known.
    """

    run_id: str
    asked: int | None
    n_followed: int = 0
    shown: tuple[str, int] | None = None
    followed: tuple[str, int] | None = None
    listed: int | None = None

    @property
    def is_new(self) -> bool:
        """Whether a link was followed just now."""
        return self.asked is not None and self.followed == (self.run_id, self.asked) and self.listed is None

    def position(self, matching: IntArray, listed: IntArray) -> int | None:
        """The pair to open of those that the address may name: one that matches the filters, or that a link names for
        as long as the list stays what it was.
        """
        if self.asked is None:
            return None
        digest = hash(listed.tobytes())
        if self.is_new:
            self.listed = digest
        is_held = self.followed == (self.run_id, self.asked) and self.listed == digest
        return self.asked if is_held or self.asked in matching else None

    def show(self, position: int) -> None:
        """Write the pair that is open into the address."""
        self.shown = (self.run_id, position)
        st.query_params["pair"] = str(position + 1)


def read(run_id: str, n_pairs: int) -> PairLink:
    """What the address names, of the pairs of a run."""
    text = st.query_params.get("pair", "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    link: PairLink = st.session_state.setdefault(_SLOT, PairLink(run_id, None))
    link.run_id = run_id
    link.asked = number - 1 if 0 < number <= n_pairs else None
    if link.asked is not None and link.shown != (run_id, link.asked):
        link.followed = link.shown = (run_id, link.asked)
        link.n_followed += 1
        link.listed = None
    return link
