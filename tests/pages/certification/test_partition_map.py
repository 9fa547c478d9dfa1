"""What the map of a partition tree sends to the browser: every box, its words, its areas; and that words stay words."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest

import partition_trees
from fairness_engine.certification.partition.partition_tree import PartitionTree
from fairness_engine.certification.partition.phrases import BoxColumn, describe_box
from pages.certification.partition_map import AreaOf, encode

FRONT = Path(__file__).parents[3] / "pages" / "certification" / "partition_map" / "front"


class Sent:
    """The bytes, read back."""

    def __init__(self, content: bytes) -> None:
        n_header = int.from_bytes(content[:4], "little")
        self.header: dict[str, Any] = json.loads(content[4 : 4 + n_header])
        self._content = content
        self._at = 4 + n_header
        assert self._at % 4 == 0, "numbers of four bytes begin at a multiple of four"
        n = self.header["n"]
        n_leaves = self.header["n_leaves"]
        self.areas = np.stack([self._take("<f4", n_leaves) for _ in range(3)])
        self.merged = self._take("<u4", n_leaves)
        self.text = self._take("<u4", n)
        self.is_split = self._take("u1", n).astype(bool)
        assert self._at == len(content)

    def _take(self, kind: str, n: int) -> NDArray[Any]:
        found = np.frombuffer(self._content, kind, n, self._at)
        self._at += found.nbytes
        return found

    def words(self, box: int) -> str:
        at = self.text[box]
        return f"{self.header['columns'][self.header['text_columns'][at]]} {self.header['texts'][at]}"


@pytest.fixture(scope="module")
def tree() -> PartitionTree:
    return partition_trees.split_tree(3000, seed=3)


def test_every_leaf_arrives_with_its_three_areas(tree: PartitionTree) -> None:
    sent = Sent(encode(tree, partition_trees.columns()))
    leaf = tree.is_leaf
    assert (sent.is_split == ~leaf).all()
    expected = np.stack([tree.certified[leaf], tree.undecided[leaf], tree.falsified[leaf]])
    np.testing.assert_allclose(sent.areas, expected, rtol=1e-6, atol=1e-15)
    assert sent.areas.sum() == pytest.approx(1.0, abs=1e-5)


def test_a_wholly_decided_box_has_nothing_undecided_left_of_rounding() -> None:
    sent = Sent(encode(partition_trees.one_box(1.0, 0.3, 0.7 - 1e-16), partition_trees.columns()))
    assert sent.areas[:, 0].tolist() == pytest.approx([0.3, 0.0, 0.7])
    assert sent.areas[1, 0] == 0
    assert sent.merged.tolist() == [7]


def test_shares_of_the_whole_claim_no_more_than_is_proved() -> None:
    sent = Sent(encode(partition_trees.one_box(1.0, 0.12999, 0.5), partition_trees.columns()))
    assert sent.header["shares"] == ["12 %", "38 %", "50 %"]
    wholly = Sent(encode(partition_trees.one_box(1.0, 1.0, 0.0), partition_trees.columns()))
    assert wholly.header["shares"] == ["100 %", "0 %", "0 %"]


def test_every_box_says_in_words_what_its_split_left_of_the_column(tree: PartitionTree) -> None:
    columns = partition_trees.columns()
    sent = Sent(encode(tree, columns))
    parents = tree.parents()
    for box in range(1, len(tree), 37):
        low, high = tree.box(box)
        column = tree.column[parents[box]]
        assert sent.words(box) == columns[column].text(int(low[column]), int(high[column]))
        assert sent.words(box) in describe_box(columns, low, high)
    assert len(sent.header["texts"]) == len({sent.words(box) for box in range(1, len(tree))})


def test_a_box_costs_few_bytes(tree: PartitionTree) -> None:
    content = encode(tree, partition_trees.columns())
    texts = len(json.dumps(Sent(content).header))
    assert len(content) - texts <= 14 * len(tree)


def test_areas_of_people_are_shares_of_rows_and_nobody_is_proved_of_nobody(tree: PartitionTree) -> None:
    sent = Sent(encode(tree, partition_trees.columns(), AreaOf.PEOPLE))
    people = tree.n_people[tree.is_leaf]
    np.testing.assert_allclose(sent.areas.sum(axis=0), people / tree.n_people[0], atol=1e-7)
    assert (sent.areas[:, people == 0] == 0).all()
    assert "approximate" in sent.header["note"]
    assert sent.header["unit"] == "the rows of the data"


def test_a_domain_without_rows_is_drawn_by_the_domain_and_says_so() -> None:
    sent = Sent(encode(partition_trees.one_box(people=0), partition_trees.columns(), AreaOf.PEOPLE))
    assert sent.areas[:, 0].tolist() == [0.25, 0.25, 0.5]
    assert sent.header["note"].startswith("No row of the data lies in the domain")
    assert sent.header["unit"] == "all individuals"


def test_a_box_of_no_weight_does_not_divide_by_it() -> None:
    sent = Sent(
        encode(
            partition_trees.one_box(weight=0.0, certified=0.0, falsified=0.0), partition_trees.columns(), AreaOf.PEOPLE
        )
    )
    assert sent.areas[:, 0].tolist() == [0.0, 1.0, 0.0]


def test_the_browser_can_tell_the_same_boxes_from_the_same_areas(tree: PartitionTree) -> None:
    columns = partition_trees.columns()
    domain, people = (Sent(encode(tree, columns, area)).header for area in AreaOf)
    assert domain["shape"] == people["shape"]
    assert domain["data"] != people["data"]
    assert domain["data"] == Sent(encode(tree, columns)).header["data"]
    cut = tree.cut.copy()
    cut[0] += 1
    other = Sent(encode(replace(tree, cut=cut), columns)).header
    assert other["shape"] != domain["shape"]


# --- words stay words ---------------------------------------------------------------------------


def test_hostile_names_and_labels_arrive_as_they_are(tree: PartitionTree) -> None:
    columns: tuple[BoxColumn, ...] = partition_trees.hostile_columns()
    sent = Sent(encode(tree, columns))
    assert sent.header["columns"] == [column.column.name for column in columns]
    job = [text for text, at in zip(sent.header["texts"], sent.header["text_columns"], strict=True) if at == 1]
    assert any(partition_trees.HOSTILE[0] in text for text in job)


def test_the_script_makes_no_html_of_text_and_asks_nobody_for_anything() -> None:
    for file in FRONT.glob("*.js"):
        text = file.read_text()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert word not in text, f"{file.name} has {word}"
        for word in ("fetch(", "XMLHttpRequest", "WebSocket", "import(", "http:", "https:", "localStorage"):
            assert word not in text, f"{file.name} has {word}"
    assert "url(" not in (FRONT / "map.css").read_text()
    assert "@import" not in (FRONT / "map.css").read_text()


def test_every_part_of_the_script_is_given_to_the_browser() -> None:
    from pages.certification import partition_map

    assert {path.stem for path in FRONT.glob("*.js")} == set(partition_map._SCRIPTS)


def test_colours_are_those_of_the_other_pages() -> None:
    sent = Sent(encode(partition_trees.one_box(), partition_trees.columns()))
    light = sent.header["colours"]["light"]
    dark = sent.header["colours"]["dark"]
    assert (light["certified"][0], light["falsified"][0], light["undecided"][0]) == ("#0072B2", "#D55E00", "#8A8F98")
    assert light["selection"] == "#CC79A7"
    for palette in (light, dark):
        colours = [*palette["falsified"], *palette["undecided"], palette["certified"][0]]
        assert all(re.fullmatch("#[0-9A-F]{6}", colour) for colour in colours)
        assert len(set(colours)) == 5, "each verdict is told from the others, and its marks from its ground"


# --- on a page ----------------------------------------------------------------------------------


def draw() -> None:
    import streamlit as st

    import partition_trees
    from pages.certification.partition_map import partition_map

    tree = st.session_state.setdefault("tree", partition_trees.split_tree(40))
    chosen = partition_map(tree, partition_trees.columns(), selected=st.session_state.get("chosen"), key="m")
    st.markdown(f"Chosen: {chosen}")


def test_a_choice_of_python_sends_the_boxes_no_second_time() -> None:
    app = AppTest.from_function(draw).run()
    assert not app.exception
    assert app.markdown[0].value == "Chosen: None"
    before = [element.proto for element in app.get("bidi_component")]
    app.session_state["chosen"] = 11
    app.run()
    assert app.markdown[0].value == "Chosen: 11"
    after = [element.proto for element in app.get("bidi_component")]
    assert before[0].bytes == after[0].bytes
    assert json.loads(before[1].json) == {"map": "m", "selected": None}
    assert json.loads(after[1].json) == {"map": "m", "selected": 11}
