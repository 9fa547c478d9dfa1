"""The frame: errors become sentences, links keep what is open, the menu shows the navigation, nothing heavy is
loaded.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

from fairness_engine.data.catalogue import find_sample
from fairness_engine.oracle.domain import Scope
from fairness_engine.store.records import FileRole, Review
from fairness_engine.store.store import RunStore
from pages.shared.app import frame as layout
from pages.shared.app import navigation, theme

ROOT = Path(__file__).resolve().parents[3]


def folding() -> None:
    import streamlit as st

    from pages.shared.app import frame as layout

    layout.fold("More", lambda: st.text_input("Said", key="said"), "more")
    layout.fold("Open", lambda: st.text_input("Told", key="told"), "open", is_open=True)


def test_what_was_typed_into_a_fold_outlasts_its_closing() -> None:
    app = AppTest.from_function(folding).run()
    assert [field.key for field in app.text_input] == ["told"], "what stands open is drawn at once"
    said.unfold(app, "more")
    app.text_input(key="said").input("typed").run()
    app.session_state["more_fold"] = False
    app.run()
    assert app.text_input(key="said").value == "typed"


def prepared(store: RunStore) -> Review:
    """A review with everything but a run; the model is not opened."""
    sample = find_sample("credit")
    model = sample.models[0]
    data = store.add_file(sample.data, sample.data.name, FileRole.DATA)
    file = store.add_file(model.path, model.path.name, FileRole.MODEL)
    fit = {"output": {"kind": "probability"}, "uses_protected": {"age": True, "sex": True}, "rows_per_second": 1e6}
    held = replace(store.create_review("Credit"), data_id=data.id, model_id=file.id, schema=sample.schema_for(model))
    return store.save_review(replace(held, scope=Scope(("sex",)), fit=fit))


def raising(kind: str) -> None:
    from fairness_engine.errors import DataError
    from pages.shared.app import frame as layout

    with layout.boundary():
        if kind == "ours":
            raise DataError("Column '<b>age</b>' must be whole numbers, got 'x'. Fix the cell.")
        raise ZeroDivisionError("a secret of the machine")


@pytest.mark.parametrize("kind", ["ours", "other"])
def test_no_error_becomes_a_traceback(workspace: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.mkdir(parents=True)
    monkeypatch.setattr(layout.LOG, "handlers", [])
    app = AppTest.from_function(raising, args=(kind,)).run()
    (error,) = said.errors_of(app)
    if kind == "ours":
        assert error == "Column '<b>age</b>' must be whole numbers, got 'x'. Fix the cell."
        assert r"\<b\>" in app.error[0].value, "escaped on the screen"
    else:
        assert "secret" not in error
        number = error.split("number ")[1][:6]
        assert number in (workspace / "app.log").read_text()
        assert "ZeroDivisionError: a secret" in (workspace / "app.log").read_text()


def test_links_of_the_menu_keep_the_review_and_the_run(open_app: OpenApp, store: RunStore) -> None:
    review = prepared(store)
    app = open_app("pages/scope/page.py", review=review.id, run="r1")
    queries = {link.proto.query_string for link in app.sidebar.get("page_link")}
    assert queries == {f"review={review.id}&run=r1"}


def test_another_review_forgets_the_run_of_the_first(open_app: OpenApp, store: RunStore) -> None:
    first = prepared(store)
    second = prepared(store)
    app = open_app("pages/scope/page.py", review=first.id, run="r1")
    app.query_params = {"review": second.id}
    app.run()
    assert app.query_params == {"review": second.id}


def test_the_menu_shows_what_is_done_and_what_is_next(open_app: OpenApp, store: RunStore) -> None:
    def icons(app: AppTest) -> dict[str, str]:
        return {link.label: link.proto.icon for link in app.sidebar.get("page_link")}

    begun = icons(open_app("pages/data/page.py", review=store.create_review("New").id))
    assert begun["Data"] == ":material/arrow_circle_right:"
    assert begun["Model"] == ":material/radio_button_unchecked:"
    ready = icons(open_app("pages/scope/page.py", review=prepared(store).id))
    assert [ready[name] for name in ("Data", "Model", "Scope")] == [":material/check_circle:"] * 3
    assert ready["Plan"] == ":material/arrow_circle_right:"


def test_a_link_to_a_run_opens_its_review(open_app: OpenApp, store: RunStore) -> None:
    from pages.shared.review.planning import EFFORTS, Plan, PlannedRun, make_configs

    review = prepared(store)
    (config,) = make_configs(review, Plan([PlannedRun("random")], EFFORTS[0].budget, seed=0))
    run_id = store.create_run(config, review.id)
    app = open_app("pages/scope/page.py", run=run_id)
    assert said.errors_of(app) == []
    assert app.query_params == {"review": review.id, "run": run_id}
    assert app.title[0].value == "Scope"


def test_every_place_has_a_page_and_every_page_its_place() -> None:
    paths = {place.path for place in navigation.PLACES}
    assert paths == {str(path.relative_to(ROOT)) for path in (ROOT / "pages").rglob("page.py")}


def test_steps_follow_one_another() -> None:
    assert navigation.next_step(None) is navigation.START
    assert navigation.missing_before(navigation.PAIRS, None) is navigation.START


def test_no_page_defines_a_class_or_loads_a_model_library() -> None:
    scripts = [ROOT / "app.py", *(ROOT / place.path for place in navigation.PLACES)]
    for script in scripts:
        assert not [line for line in script.read_text().splitlines() if line.startswith("class ")], script
    code = (
        "import sys, importlib, pathlib\n"
        "modules = [path for path in pathlib.Path('pages').rglob('*.py') if path.name not in ('page.py', "
        "'__init__.py')]\n"
        "for path in modules: importlib.import_module('.'.join(path.with_suffix('').parts))\n"
        "print(sorted({'tensorflow', 'keras', 'onnxruntime', 'skops', 'h5py', 'numba', 'shap', 'lime'} & "
        "set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("is_dark", [False, True])
def test_every_meaning_is_told_apart_without_colour(is_dark: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theme, "is_dark", lambda: is_dark)
    meanings = [theme.DISCRIMINATORY, theme.CERTIFIED, theme.UNDECIDED, theme.BEFORE, theme.AFTER, theme.SELECTION]
    assert len({meaning.symbol for meaning in meanings}) == len(meanings)
    assert len({meaning.colour for meaning in meanings}) == len(meanings)
    assert theme.DISCRIMINATORY.colour == ("#FF8A4C" if is_dark else "#D55E00")
    assert theme.DISCRIMINATORY.colour not in theme.series()
