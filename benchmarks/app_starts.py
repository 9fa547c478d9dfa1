"""From a click, or a command, to the first people: what a start costs where the search itself takes a moment.

Part of ``python -m benchmarks.app``, which keeps the table; alone, ``python -m benchmarks.app_starts`` prints it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "browser"))

from driver import AppPage, AppServer, launch_browser

import run_cases
from benchmarks.table import markdown
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import read_table
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import Held, Scores
from fairness_engine.model_process.starting.start import get_ready
from fairness_engine.oracle.domain import Scope
from fairness_engine.store.records import FileRole, Review
from fairness_engine.store.store import RunStore

ROOT = Path(__file__).resolve().parents[1]
N_TIMES = 5
SECONDS_TO_GET_READY = 12.0
"""The fork server has loaded everything by then, as it has for whoever reads a page before the first click."""
ADULT = "adult__maft_eidig"
Line = tuple[str, ...]


def shared_folder() -> Path | None:
    """Where the real data is; ``None`` where it is not."""
    folder = os.environ.get("EVENHAND_SHARED")
    return Path(folder) if folder else None


def adult_files(shared: Path) -> tuple[Path, Path, Path]:
    """Data, schema and model of MAFT's Adult."""
    return (
        shared / "data" / "peer" / f"{ADULT}.csv",
        shared / "data" / "peer" / f"{ADULT}.schema.json",
        shared / "models" / "maft" / "adult_model.h5",
    )


def reviews(store: RunStore) -> Iterator[tuple[str, Review]]:
    """A sample and, where it is, Adult, ready for a plan."""
    yield "sample network", run_cases.review_of(store, model="census_income_network")
    shared = shared_folder()
    if shared is not None:
        data, schema, model = adult_files(shared)
        changes = {
            "data_id": store.add_file(data, data.name, FileRole.DATA).id,
            "model_id": store.add_file(model, model.name, FileRole.MODEL).id,
            "schema": Schema.read(schema),
            "scope": Scope(("sex",)),
        }
        yield "Adult", run_cases.review_of(store, model="census_income_network", **changes)


def first_people(browser: Browser) -> list[Line]:
    """Seconds from the click on *Start* until the first pairs can be read, in a browser, and how many of them pass
    before the run's first event.
    """
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        server = AppServer(Path(folder) / "workspace").start()
        store = RunStore(server.workspace)
        time.sleep(SECONDS_TO_GET_READY)
        for name, review in reviews(store):
            measured = [_one_start(browser, server, store, review) for _ in range(N_TIMES + 1)]
            asked = (("*Start* to first pair visible", "<= 1.0 s"), ("of it, before the first event", "<= 0.5 s"))
            for (what, bar), (first, *others) in zip(asked, zip(*measured, strict=True), strict=True):
                lines.append((f"{what}, {name}", *median_and_worst(others), f"{first:.2f}", bar))
        store.close()
        server.stop()
        server.end_workers()
    return lines


def _one_start(browser: Browser, server: AppServer, store: RunStore, review: Review) -> tuple[float, float]:
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    tab = AppPage(server, context.new_page())
    tab.goto("plan", review=review.id)
    button = tab.page.get_by_role("button", name="Start", exact=True)
    button.wait_for()
    clicked = time.time()
    started = time.perf_counter()
    button.click()
    tab.page.locator("li", has_text="instead of").first.wait_for()
    seconds = time.perf_counter() - started
    tab.wait_until_at_rest()
    context.close()
    run = store.runs(review.id)[0]
    assert run.started is not None, "its people are on the screen"
    until_first_event = run.started.timestamp() + float(store.progress(run.id)["seconds"].iloc[0]) - clicked
    return seconds, until_first_event


def small_questions() -> list[Line]:
    """Seconds of the first question about data and a model that nobody has asked about, and of the next one."""
    lines = []
    with tempfile.TemporaryDirectory() as folder, closing(RunStore(Path(folder))) as store:
        get_ready(store.workspace)
        evaluator = Evaluator(store)
        time.sleep(SECONDS_TO_GET_READY)
        for name, review in reviews(store):
            assert review.data_id is not None
            assert review.model_id is not None
            assert review.schema is not None
            assert review.scope is not None
            rows = make_dataset(read_table(store.file(review.data_id).path), review.schema).rows[:10]
            question = Scores(rows)
            first = []
            later = []
            for number in range(N_TIMES):
                scope = replace(review.scope, threshold=0.5 + number / 100)  # another question each time
                held = Held(review.data_id, review.model_id, review.schema, scope)
                first.append(_seconds(partial(evaluator.ask, held, question)))
                later.append(_seconds(partial(evaluator.ask, held, question)))
            lines.append((f"first small question, {name}", *median_and_worst(first), f"{first[0]:.3f}", "<= 0.15 s"))
            lines.append((f"the next one, {name}", *median_and_worst(later), f"{later[0]:.3f}", "-"))
        evaluator.close()
    return lines


def commands() -> list[Line]:
    """Seconds of the whole command of a search that takes less than a tenth of one."""
    shared = shared_folder()
    if shared is None:
        return []
    data, schema, model = adult_files(shared)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "fairness_engine", "search", "--data", str(data), "--schema", str(schema)]
        command += ["--model", str(model), "--protected", "sex", "--technique", "maft", "--starts", "100"]
        command += ["--steps", "100", "--set", "n_rounds=1", "--quiet", "--workspace", folder]

        def run(seed: int) -> None:
            subprocess.run([*command, "--seed", str(seed)], cwd=ROOT, check=True, capture_output=True)

        alone = [_seconds(partial(run, seed)) for seed in range(N_TIMES + 1)]
        app = AppServer(Path(folder)).start()
        time.sleep(SECONDS_TO_GET_READY)
        beside = [_seconds(partial(run, seed)) for seed in range(N_TIMES + 1)]
        app.stop()
    what = "`search`, MAFT 100 x 100 on Adult, whole command"
    return [
        (f"{what}, nothing open", *median_and_worst(alone[1:]), f"{alone[0]:.2f}", "-"),
        (f"{what}, while the app is open", *median_and_worst(beside[1:]), f"{beside[0]:.2f}", "<= 1.5 s"),
    ]


def with_tensorflow() -> list[Line]:
    """Seconds until the first answer of a Keras model that only TensorFlow can run."""
    from keras import Input, Model, layers

    with tempfile.TemporaryDirectory() as folder, closing(RunStore(Path(folder) / "workspace")) as store:
        review = run_cases.review_of(store, model="census_income_network")
        assert review.schema is not None
        assert review.data_id is not None
        inputs = Input((len(review.schema.inputs),))
        outputs = layers.Dense(1, activation="sigmoid")(layers.LayerNormalization()(layers.Dense(8)(inputs)))
        path = Path(folder) / "normalised.keras"
        Model(inputs, outputs).save(path)
        model = store.add_file(path, path.name, FileRole.MODEL)
        get_ready(store.workspace)
        time.sleep(SECONDS_TO_GET_READY)
        evaluator = Evaluator(store)
        rows = np.asarray(make_dataset(read_table(store.file(review.data_id).path), review.schema).rows[:10])
        measured = []
        for number in range(N_TIMES + 1):
            scope = replace(Scope(("sex",)), threshold=0.5 + number / 100)
            held = Held(review.data_id, model.id, review.schema, scope)
            measured.append(_seconds(partial(evaluator.ask, held, Scores(rows))))
        evaluator.close()
    first, *others = measured
    return [
        ("first answer of a Keras model that needs TensorFlow", *median_and_worst(others), f"{first:.2f}", "<= 4 s")
    ]


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def median_and_worst(measured: list[float]) -> tuple[str, str]:
    """Of seconds, as a table has them."""
    digits = 3 if max(measured) < 0.5 else 2
    return f"{statistics.median(measured):.{digits}f}", f"{max(measured):.{digits}f}"


HEADER = ("seconds", "median of five", "worst", "the very first", "bar")


def starts(browser: Browser) -> str:
    """All of it as a table."""
    lines = [*first_people(browser), *small_questions(), *commands(), *with_tensorflow()]
    return markdown(HEADER, lines)


def main() -> None:
    """Print the table."""
    with sync_playwright() as playwright:
        browser = launch_browser(playwright)
        print(starts(browser))
        browser.close()


if __name__ == "__main__":
    main()
