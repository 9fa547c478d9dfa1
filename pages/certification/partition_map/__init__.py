"""The map of a partition tree: every box as an area, drawn by the browser; a click says which one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from fairness_engine.certification.partition.partition_tree import PartitionTree
from fairness_engine.certification.partition.phrases import EVERYBODY, BoxColumn
from pages.shared.app import theme, wording
from pages.shared.app.kept import shared

_FRONT = Path(__file__).parent / "front"
_SCRIPTS = ("tree", "view", "numbers", "paint", "marks", "frame", "map", "listen", "mount")
"""Parts of one script, in this order."""
_HEIGHT_PIXELS = 520
_NOTHING = 1e-12
"""Part of a box below which a share is what is left of rounding."""
_WORD_BYTES = 4

VERDICT_WORDS = ("certified", "undecided", "falsified")


class AreaOf(StrEnum):
    """What the area of a box stands for."""

    DOMAIN = "domain"
    PEOPLE = "people"


_UNITS = {AreaOf.DOMAIN: "all individuals", AreaOf.PEOPLE: "the rows of the data"}
_NOTES = {
    AreaOf.DOMAIN: "The area of a colour is the share of all individuals with that verdict, to the pixel. A box that "
    "is partly decided shows its parts; boxes smaller than a pixel are drawn together.",
    AreaOf.PEOPLE: "The area of a box is its share of the rows of the data. A box that is partly decided is coloured "
    "in the proportions of all individuals in it, not of the rows, so areas of rows are approximate there.",
}
_NOBODY = "No row of the data lies in the domain, so areas are shares of all individuals."

_PATTERNS_ON_LIGHT = {
    "certified": (theme.CERTIFIED, "#0072B2"),
    "undecided": (theme.UNDECIDED, "#E4E6E9"),
    "falsified": (theme.DISCRIMINATORY, "#FFC39A"),
}
"""The meaning whose colour is the ground, and the colour of dots or hatch on it."""
_PATTERNS_ON_DARK = {
    "certified": (theme.CERTIFIED, "#6DB6E8"),
    "undecided": (theme.UNDECIDED, "#3E444C"),
    "falsified": (theme.DISCRIMINATORY, "#7A2E00"),
}

_map = st.components.v2.component(
    "evenhand_partition_map",
    css=(_FRONT / "map.css").read_text(encoding="utf-8"),
    js="\n".join((_FRONT / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS),
)


def partition_map(
    tree: PartitionTree,
    columns: Sequence[BoxColumn],
    *,
    weight: AreaOf | str = AreaOf.DOMAIN,
    selected: int | None = None,
    verdict_words: tuple[str, str, str] = VERDICT_WORDS,
    height: int = _HEIGHT_PIXELS,
    key: str = "partition_map",
) -> int | None:
    """Draw the map; zoom and the words shown are kept while the boxes stay the same.

    The boxes travel once: a change of ``selected`` alone sends a few bytes. Pass the same ``tree`` object on every
    rerun.

    Args:
        tree: whose boxes are drawn, up to ``tree.MAX_BOXES``.
        columns: its columns, see ``words.box_columns``.
        weight: what areas stand for.
        selected: the box that is outlined; when it changes it is zoomed to where it is too small to be seen.
        verdict_words: of certified, undecided, falsified.
        height: of the areas, in pixels.
        key: unique on the page.

    Returns:
        The box that the reader chose just now (``None`` where they chose none), else ``selected``.
    """
    content = _content(tree, columns, AreaOf(weight), verdict_words, height, key)
    with st.container(gap=None, key=f"{key}_place"):
        result = _map(data=content, key=key, on_picked_change=_ignore)
        _map(data={"map": key, "selected": selected}, key=f"{key}_order", height=1)
    picked = result.picked
    if not isinstance(picked, int) or isinstance(picked, bool) or picked >= len(tree):
        return selected
    return picked if picked >= 0 else None


def _ignore() -> None:
    """A choice needs no callback: the rerun that it starts returns it."""


def _content(
    tree: PartitionTree,
    columns: Sequence[BoxColumn],
    weight: AreaOf,
    verdict_words: tuple[str, str, str],
    height: int,
    key: str,
) -> bytes:
    """What the browser gets, kept for whoever looks at the same tree."""
    return _encoded(id(tree), id(columns), weight, verdict_words, height, key, _held=(tree, columns))[0]


@shared
def _encoded(
    tree_id: int,
    columns_id: int,
    weight: AreaOf,
    verdict_words: tuple[str, str, str],
    height: int,
    key: str,
    _held: tuple[PartitionTree, Sequence[BoxColumn]],
) -> tuple[bytes, tuple[PartitionTree, Sequence[BoxColumn]]]:
    """The bytes; tree and columns are kept beside them, so that no others take their ids."""
    del tree_id, columns_id
    return encode(*_held, weight, verdict_words, height, key), _held


# --- bytes --------------------------------------------------------------------------------------


def encode(
    tree: PartitionTree,
    columns: Sequence[BoxColumn],
    weight: AreaOf = AreaOf.DOMAIN,
    verdict_words: tuple[str, str, str] = VERDICT_WORDS,
    height: int = _HEIGHT_PIXELS,
    key: str = "partition_map",
) -> bytes:
    """A tree as the script reads it: about 13 bytes a box, and each different text once.

    Returns:
        Length of the header (uint32), header (JSON, padded to four bytes); of every leaf its certified, undecided and
        falsified area (float32 each) and merged boxes (uint32); of every box its text (uint32) and whether it was split
        (uint8).
    """
    has_people = weight is AreaOf.PEOPLE and int(tree.n_people[0]) > 0
    leaf = tree.is_leaf
    areas = _leaf_areas(tree, is_people=has_people)
    texts, columns_of_texts, text_of_box = _texts(tree, columns)
    arrays = [
        *(part.astype("<f4") for part in areas),
        tree.n_merged[leaf].astype("<u4"),
        text_of_box.astype("<u4"),
        (~leaf).astype("u1"),
    ]
    body = b"".join(array.tobytes() for array in arrays)
    shown = AreaOf.PEOPLE if has_people else AreaOf.DOMAIN
    header = {
        "key": key,
        "n": len(tree),
        "n_leaves": int(leaf.sum()),
        "height": height,
        "everybody": EVERYBODY.capitalize(),
        "columns": [column.column.name for column in columns],
        "texts": texts,
        "text_columns": columns_of_texts,
        "verdicts": list(verdict_words),
        "shares": _share_texts(areas),
        "unit": _UNITS[shown],
        "note": _NOTES[shown] if shown is weight else f"{_NOBODY} {_NOTES[shown]}",
        "colours": _colours(),
        "shape": _digest(tree.column, tree.cut, tree.right),
    }
    header["data"] = _digest(json.dumps(header).encode(), body)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % _WORD_BYTES)
    return len(head).to_bytes(_WORD_BYTES, "little") + head + body


def _leaf_areas(tree: PartitionTree, *, is_people: bool) -> NDArray[np.float64]:
    """Certified, undecided and falsified area of every leaf ``(3, n_leaves)``."""
    leaf = tree.is_leaf
    whole = tree.weight[leaf]
    undecided = tree.undecided[leaf]
    undecided[undecided < _NOTHING * whole] = 0.0
    areas = np.stack([tree.certified[leaf], undecided, tree.falsified[leaf]])
    if not is_people:
        return areas
    people = tree.n_people[leaf] / tree.n_people[0]
    parts = np.divide(areas, areas.sum(axis=0), out=np.zeros_like(areas), where=whole > 0)
    parts[1, whole <= 0] = 1.0  # of nobody nothing is proved
    return parts * people


def _share_texts(areas: NDArray[np.float64]) -> list[str]:
    """What is certified, undecided and falsified of all."""
    parts = areas.sum(axis=1)
    certified, undecided, falsified = parts / parts.sum() if parts.sum() > 0 else (0.0, 1.0, 0.0)
    texts = wording.proved_shares(float(certified), float(falsified), float(undecided))
    return [texts[0], texts[2], texts[1]]


def _texts(tree: PartitionTree, columns: Sequence[BoxColumn]) -> tuple[list[str], list[int], NDArray[np.int64]]:
    """What each split leaves of its column in words, every different text once.

    Returns:
        The texts without their column's name, the column of each, and the text of every box ``(n,)``; 0 for the whole.
    """
    text_of_box = np.zeros(len(tree), dtype=np.int64)
    if len(tree) < 2:
        return [], [], text_of_box
    low, high = tree.boxes()
    boxes = np.arange(1, len(tree))
    column = tree.column[tree.parents()[1:]]
    bits = int(tree.n_digits.max()).bit_length()
    ranges = (column << 2 * bits) | (low[boxes, column] << bits) | high[boxes, column]
    different, text_of_box[1:] = np.unique(ranges, return_inverse=True)
    mask = (1 << bits) - 1
    columns_of_texts = (different >> 2 * bits).tolist()
    ends = zip(columns_of_texts, ((different >> bits) & mask).tolist(), (different & mask).tolist(), strict=True)
    texts = [columns[i].text(first, last).removeprefix(f"{columns[i].column.name} ") for i, first, last in ends]
    return texts, columns_of_texts, text_of_box


def _colours() -> dict[str, dict[str, Any]]:
    """Ground and mark of every verdict, in both themes: the browser knows which one is on."""
    return {
        name: {
            **{word: [getattr(meaning, name), mark] for word, (meaning, mark) in patterns.items()},
            "selection": getattr(theme.SELECTION, name),
            "on": ink,
        }
        for name, ink, patterns in (("light", "#FFFFFF", _PATTERNS_ON_LIGHT), ("dark", "#14171B", _PATTERNS_ON_DARK))
    }


def _digest(*parts: bytes | NDArray[Any]) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        digest.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
