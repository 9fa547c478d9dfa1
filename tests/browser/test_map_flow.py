"""The map of a partition tree of 50,000 boxes in a real browser: areas, mouse, keys, and what Python learns of them."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Iterator

import numpy as np
import pytest
from driver import ROOT, AppPage, AppServer, OpenPage
from playwright.sync_api import BrowserContext, expect

import partition_trees
from fairness_engine.certification.partition.partition_tree import PartitionTree
from fairness_engine.certification.partition.phrases import describe_box

pytestmark = pytest.mark.browser

N_LEAVES = 50_000
VERDICTS = ("certified", "undecided", "falsified")

COUNT_COLOURS = """
(canvas, palette) => {
  const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const hex = (i) => '#' + [0, 1, 2].map((k) => image[i + k].toString(16).padStart(2, '0')).join('').toUpperCase();
  const found = {};
  for (let i = 0; i < image.length; i += 4) {
    const name = image[i + 3] === 0 ? 'empty' : (palette[hex(i)] ?? 'other');
    found[name] = (found[name] ?? 0) + 1;
  }
  return found;
}
"""


class MapServer(AppServer):
    """A server of one page: the map alone."""

    def command(self) -> list[str]:
        page = ROOT / "tests" / "browser" / "scripts" / "map_alone.py"
        return [sys.executable, "-m", "streamlit", "run", str(page), "--server.port", str(self.port)]


@pytest.fixture(scope="module")
def tree() -> PartitionTree:
    return partition_trees.split_tree(N_LEAVES)


@pytest.fixture(scope="module")
def map_server(tree: PartitionTree, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    folder = tmp_path_factory.mktemp("map")
    shutil.copytree(ROOT / ".streamlit", folder / ".streamlit")
    np.savez(folder / "tree.npz", **tree.to_arrays())
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    environment = {"MAP_TREE": str(folder / "tree.npz"), "PYTHONPATH": paths}
    server = MapServer(folder / "workspace", environment=environment).start()
    yield server
    server.stop()


class Map:
    """The map on a tab."""

    def __init__(self, tab: AppPage) -> None:
        self.tab = tab
        self.page = tab.page
        self.stage = tab.page.locator(".stage")

    def open(self, **query: str) -> float:
        """Open the page; seconds from the navigation until the boxes are painted."""
        began = time.perf_counter()
        self.tab.goto("", settle=False, **query)
        self.page.wait_for_selector(".stage[data-n-drawn]")
        seconds = time.perf_counter() - began
        self.rest()
        return seconds

    def begin_anew(self, *, theme: str = "light", width: int = 1400, height: int = 900) -> None:
        """Put a map that nobody has touched yet in place of this one, as it is drawn in a theme and a window."""
        self.page.emulate_media(color_scheme=theme)
        self.page.set_viewport_size({"width": width, "height": height})
        self.tab.page.mouse.move(5, 5)
        self.tab.click_button("Begin anew")
        self.page.wait_for_selector(".stage[data-n-drawn]")
        self.rest()

    def rest(self) -> None:
        """Wait until zooming has ended, keys were sent and the app has answered."""
        n_drawn = -1
        while n_drawn != (now := int(self.stage.get_attribute("data-n-drawn") or 0)):
            n_drawn = now
            self.tab.pause(300)
        self.tab.wait_until_at_rest()

    def press(self, *keys: str) -> str:
        """Press keys, one after the other; what is read out then."""
        for key in keys:
            self.page.keyboard.press(key)
        self.rest()
        return self.status()

    def status(self) -> str:
        return self.page.locator(".status").inner_text()

    def path(self) -> list[str]:
        """The buttons of the path of splits."""
        return self.page.locator("ol button").all_inner_texts()

    def here(self) -> str:
        """The box that the map is zoomed to."""
        return self.page.locator("ol button[aria-current]").inner_text()

    def milliseconds(self, which: str) -> float:
        return float(self.stage.get_attribute(f"data-{which}-ms") or "nan")

    def shares(self, palette: dict[str, list[str]]) -> dict[str, float]:
        """Shares of the areas' pixels by verdict."""
        names = {colour.upper(): name for name in VERDICTS for colour in palette[name]}
        found = self.page.locator("canvas.areas").evaluate(COUNT_COLOURS, names)
        total = sum(found.values())
        assert set(found) <= set(VERDICTS), f"pixels that are no verdict: {found}"
        return {name: found.get(name, 0) / total for name in VERDICTS}


@pytest.fixture(scope="module")
def opened(map_server: AppServer, chromium: BrowserContext) -> Iterator[Map]:
    """The page on one tab for all tests that do not look at how it is loaded."""
    found = Map(AppPage(map_server, chromium.new_page()))
    found.open()
    yield found
    found.tab.close()
    assert found.tab.external_requests == []


@pytest.fixture
def shown(opened: Map) -> Iterator[Map]:
    """A map that nobody has touched yet."""
    opened.begin_anew()
    yield opened
    assert opened.tab.page_errors == []


def palette(theme: str = "light") -> dict[str, list[str]]:
    from pages.certification.partition_map import _colours

    return _colours()[theme]


def true_shares(tree: PartitionTree, box: int = 0) -> dict[str, float]:
    return {name: float(getattr(tree, name)[box] / tree.weight[box]) for name in VERDICTS}


# --- areas --------------------------------------------------------------------------------------


def test_fifty_thousand_boxes_are_painted_soon(
    map_server: AppServer, open_page: OpenPage, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = Map(open_page(map_server))
    seconds = shown.open()
    first = shown.milliseconds("ready")
    shown.stage.click(position={"x": 500, "y": 200})
    redraws = []
    for _ in range(6):
        shown.press("+")
        redraws.append(shown.milliseconds("draw"))
    with capsys.disabled():
        print(
            f"\n{N_LEAVES} boxes: painted {seconds:.2f} s after navigation, "
            f"{first:.0f} ms after the data; redraws while zooming {', '.join(f'{ms:.0f}' for ms in redraws)} ms"
        )
    assert "Map of 50\u202f000 boxes" in (shown.stage.get_attribute("aria-label") or "")
    shown.tab.expect_no_exception()


def test_areas_are_what_was_proved(shown: Map, tree: PartitionTree) -> None:
    assert shown.shares(palette()) == pytest.approx(true_shares(tree), abs=0.002)


@pytest.mark.parametrize(("width", "height"), [(700, 900), (1900, 1000)])
def test_areas_stay_true_in_windows_of_other_shapes(shown: Map, tree: PartitionTree, width: int, height: int) -> None:
    shown.begin_anew(width=width, height=height)
    assert shown.shares(palette()) == pytest.approx(true_shares(tree), abs=0.002)
    shown.page.set_viewport_size({"width": 1100, "height": 800})
    shown.rest()
    assert shown.shares(palette()) == pytest.approx(true_shares(tree), abs=0.002)


def test_areas_of_a_box_that_is_zoomed_to_are_its_own(shown: Map, tree: PartitionTree) -> None:
    shown.stage.focus()
    shown.press("Home", *["ArrowDown"] * 4, "ArrowLeft", "Enter")
    box = chosen_box(shown)
    assert tree.column[box] >= 0
    assert shown.shares(palette()) == pytest.approx(true_shares(tree, box), abs=0.002)


def test_areas_of_people_are_shares_of_rows(shown: Map, tree: PartitionTree) -> None:
    shown.tab.choose("Weight", "people")
    leaf = tree.is_leaf
    people = tree.n_people[leaf] / tree.n_people[0]
    expected = {name: float((people * getattr(tree, name)[leaf] / tree.weight[leaf]).sum()) for name in VERDICTS}
    assert shown.shares(palette()) == pytest.approx(expected, abs=0.002)
    assert shown.shares(palette()) != pytest.approx(true_shares(tree), abs=0.002)
    expect(shown.page.locator(".note")).to_contain_text("rows of the data")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_theme_has_its_colours(opened: Map, tree: PartitionTree, theme: str) -> None:
    opened.begin_anew(theme=theme)
    shown = opened
    assert shown.shares(palette(theme)) == pytest.approx(true_shares(tree), abs=0.002)
    shown.tab.screenshot(f"map-{theme}")
    shown.stage.focus()
    shown.press("u", "f")
    shown.tab.screenshot(f"map-{theme}-zoomed")


# --- mouse --------------------------------------------------------------------------------------


def chosen_box(shown: Map) -> int:
    """The box that Python has."""
    found = re.search(r"Chosen: box (\d+)", shown.tab.text())
    assert found, shown.tab.text()
    return int(found[1])


def words_of(tree: PartitionTree, box: int) -> set[str]:
    """What a box's splits say of each column, in no order; sets of labels hold commas of their own."""
    return set(describe_box(partition_trees.columns(), *tree.box(box)))


def test_a_click_chooses_a_box_and_python_learns_which(shown: Map, tree: PartitionTree) -> None:
    before = shown.stage.bounding_box()
    shown.stage.click(position={"x": 400, "y": 300})
    shown.rest()
    assert shown.stage.bounding_box() == before, "a longer path does not move the map under the pointer"
    box = chosen_box(shown)
    assert all(words in shown.status() for words in words_of(tree, box))
    drawn = shown.page.locator("canvas.pointer").evaluate(COUNT_COLOURS, {"#CC79A7": "selection", "#FFFFFF": "ring"})
    assert drawn["selection"] > 10
    assert shown.path()[0] == "Everybody"


def test_wheel_and_drag_move_the_view_once_the_map_has_the_focus(shown: Map, tree: PartitionTree) -> None:
    box = shown.stage.bounding_box()
    assert box is not None
    shown.page.mouse.move(box["x"] + 300, box["y"] + 200)
    shown.page.mouse.wheel(0, -400)
    expect(shown.page.locator(".hint")).to_be_visible()
    assert shown.shares(palette()) == pytest.approx(true_shares(tree), abs=0.002), "the page scrolls, the map stays"
    shown.stage.focus()
    box = shown.stage.bounding_box() or box
    shown.page.mouse.move(box["x"] + 620, box["y"] + 260)
    for _ in range(3):
        shown.page.mouse.wheel(0, -400)
    shown.rest()
    zoomed = shown.shares(palette())
    assert zoomed != pytest.approx(true_shares(tree), abs=0.002)
    shown.page.mouse.move(box["x"] + 600, box["y"] + 300)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + 200, box["y"] + 100, steps=5)
    shown.page.mouse.up()
    shown.rest()
    assert shown.shares(palette()) != zoomed
    assert "Chosen: box None" in shown.tab.text(), "a drag is no click"
    for _ in range(12):
        shown.page.mouse.wheel(0, 600)
    shown.rest()
    assert shown.shares(palette()) == pytest.approx(true_shares(tree), abs=0.002)


def test_a_double_click_zooms_in_and_the_path_leads_back(shown: Map, tree: PartitionTree) -> None:
    for _ in range(5):
        shown.stage.dblclick(position={"x": 640, "y": 260})
        shown.rest()
    assert shown.here() != "Everybody"
    deep = shown.shares(palette())
    assert deep != pytest.approx(true_shares(tree), abs=0.002)
    shown.page.locator("ol button").first.click()
    shown.rest()
    assert shown.here() == "Everybody"
    assert shown.shares(palette()) == pytest.approx(true_shares(tree), abs=0.002)


def test_a_long_path_is_folded_and_opens(shown: Map, tree: PartitionTree) -> None:
    shown.stage.focus()
    shown.press("f")
    box = chosen_box(shown)
    depth = depth_of(tree, box)
    assert depth > 8
    assert "…" in shown.path()
    assert len(shown.path()) <= 9, "both ends, what is zoomed to, and buttons between them"
    shown.page.get_by_role("button", name="steps between").first.click()
    assert len(shown.path()) == depth + 1


def depth_of(tree: PartitionTree, box: int) -> int:
    parents = tree.parents()
    depth = 0
    while (box := int(parents[box])) >= 0:
        depth += 1
    return depth


def test_hovering_tells_of_a_box_without_choosing_it(shown: Map) -> None:
    shown.stage.hover(position={"x": 200, "y": 200})
    tip = shown.page.locator(".tip")
    expect(tip).to_contain_text("of all individuals, depth")
    expect(tip).to_contain_text(re.compile("certified|falsified|undecided"))
    shown.page.mouse.move(5, 5)
    expect(tip).to_be_hidden()
    assert "Chosen: box None" in shown.tab.text()


# --- keys only ----------------------------------------------------------------------------------


def test_the_map_is_explored_by_keyboard_alone(shown: Map, tree: PartitionTree) -> None:
    for _ in range(40):
        shown.page.keyboard.press("Tab")
        if shown.stage.evaluate("(stage) => stage.matches(':focus-visible')"):
            break
    else:
        pytest.fail("Tab does not reach the map")
    assert shown.press("Home").startswith("Everybody: 100 % of all individuals")
    assert chosen_box(shown) == 0
    right = int(tree.right[0])
    larger = right if tree.weight[right] > tree.weight[1] * (1 + 1e-6) else 1
    shown.press("ArrowDown")
    assert chosen_box(shown) == larger
    shown.press("ArrowLeft" if larger == right else "ArrowRight")
    other = right if larger == 1 else 1
    assert chosen_box(shown) == other
    shown.press("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp")
    assert chosen_box(shown) == other
    shown.press("Enter")
    assert shown.path() == ["Everybody", shown.here()]
    assert shown.shares(palette()) == pytest.approx(true_shares(tree, other), abs=0.002)
    shown.press("+", "+")
    assert shown.shares(palette()) != pytest.approx(true_shares(tree, other), abs=0.002)
    shown.press("-", "-", "Escape")
    assert shown.here() == "Everybody"
    shown.press("Escape")
    assert "Chosen: box None" in shown.tab.text()
    assert shown.status().startswith("No box is selected")


def test_keys_lead_to_the_largest_undecided_and_falsified_boxes(shown: Map, tree: PartitionTree) -> None:
    leaves = np.flatnonzero(tree.is_leaf)
    shown.stage.focus()
    for key, part in (("u", tree.undecided), ("f", tree.falsified)):
        order = leaves[np.argsort(-part[leaves], kind="stable")]
        shown.press(key)
        assert part[chosen_box(shown)] == pytest.approx(part[order[0]], rel=1e-6)
        shown.press(key)
        assert part[chosen_box(shown)] == pytest.approx(part[order[1]], rel=1e-6)


def test_arrows_walk_over_all_boxes_of_a_depth(shown: Map, tree: PartitionTree) -> None:
    shown.stage.focus()
    shown.press("Home", "ArrowDown", "ArrowDown")
    visited = set()
    for key in ("ArrowLeft", "ArrowRight"):
        for _ in range(4):
            shown.press(key)
            visited.add(chosen_box(shown))
    right = int(tree.right[0])
    assert visited == {2, int(tree.right[1]), right + 1, int(tree.right[right])}


# --- with the rest of the page ------------------------------------------------------------------


def test_a_box_chosen_in_python_is_outlined_and_brought_near(shown: Map, tree: PartitionTree) -> None:
    leaves = np.flatnonzero(tree.is_leaf)
    tiny = int(leaves[np.argmin(tree.weight[leaves])])
    shown.tab.fill("Row of the table", str(tiny))
    shown.rest()
    assert all(words in shown.status() for words in words_of(tree, tiny))
    drawn = shown.page.locator("canvas.pointer").evaluate(COUNT_COLOURS, {"#CC79A7": "selection"})
    assert drawn["selection"] > 100, "seen, so zoomed to"
    assert shown.here() != "Everybody"
    shown.stage.focus()
    shown.press("ArrowUp")
    assert chosen_box(shown) == tree.parents()[tiny]


def test_a_choice_costs_few_bytes(map_server: AppServer, open_page: OpenPage) -> None:
    shown = Map(open_page(map_server))
    frames: list[int] = []
    shown.page.on("websocket", lambda socket: socket.on("framereceived", lambda data: frames.append(len(data))))
    shown.open()
    assert sum(frames) > 1_000_000, "the boxes"
    frames.clear()
    shown.stage.click(position={"x": 300, "y": 100})
    shown.rest()
    chosen_box(shown)
    assert 0 < sum(frames) < 300_000, frames


def test_zoom_survives_reruns_and_another_weight(shown: Map, tree: PartitionTree) -> None:
    shown.stage.focus()
    shown.press("Home", "ArrowDown", "ArrowDown", "ArrowDown", "Enter")
    here = shown.here()
    box = chosen_box(shown)
    assert here != "Everybody"
    before = shown.shares(palette())
    shown.press("ArrowDown")
    assert chosen_box(shown) != box, "a rerun"
    assert shown.here() == here
    assert shown.shares(palette()) == before
    assert shown.stage.evaluate("(stage) => stage.matches(':focus')"), "a rerun leaves the focus where it is"
    shown.tab.choose("Weight", "people")
    assert shown.here() == here
    shown.tab.choose("Weight", "domain")
    assert shown.shares(palette()) == before


def test_words_of_the_splits_can_be_hidden(shown: Map) -> None:
    pixels = "(canvas) => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.join('').length"
    marks = shown.page.locator("canvas.marks")
    toggle = shown.page.get_by_role("button", name="Show or hide the words of the splits")
    expect(toggle).to_have_attribute("aria-pressed", "true")
    before = marks.evaluate(pixels)
    toggle.click()
    shown.rest()
    expect(toggle).to_have_attribute("aria-pressed", "false")
    assert marks.evaluate(pixels) != before


def test_names_that_try_to_be_more_than_text_stay_text(map_server: AppServer, open_page: OpenPage) -> None:
    shown = Map(open_page(map_server))
    shown.open(hostile="1")
    shown.stage.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "u", "f"):
        shown.press(key)
    shown.stage.hover(position={"x": 300, "y": 300})
    assert shown.page.evaluate("() => window.taken") is None
    assert shown.page.locator(".map img, .map script, .map b").count() == 0
    text = shown.status() + " ".join(shown.path())
    assert any(label in text for label in partition_trees.HOSTILE[:3])
    shown.tab.expect_no_exception()


def test_a_tree_of_one_box_is_a_map_too(map_server: AppServer, open_page: OpenPage) -> None:
    shown = Map(open_page(map_server))
    shown.open(one="1")
    expected = {"certified": 0.25, "undecided": 0.25, "falsified": 0.5}
    assert shown.shares(palette()) == pytest.approx(expected, abs=0.002)
    shown.stage.focus()
    text = shown.press("ArrowDown", "ArrowLeft", "ArrowRight", "ArrowUp", "Enter", "ArrowDown")
    assert text.startswith("Everybody: 100 % of all individuals, certified 25 %, undecided 25 %, falsified 50 %.")
    assert chosen_box(shown) == 0
    assert shown.path() == ["Everybody"]
    assert "Map of 1 box." in (shown.stage.get_attribute("aria-label") or "")
    shown.tab.expect_no_exception()
