"""Names of classes that a file brings: shortened and made plain where they are shown, compared whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from small_models import numbers_schema

from fairness_engine.errors import ModelError
from fairness_engine.models.classes import MAX_CLASSES, match_classes, some_classes
from fairness_engine.models.open import open_model

LONG = tuple(f"{letter * 5_000}\n{letter}" for letter in "abcdefgh")
SCHEMA = numbers_schema()


@pytest.mark.parametrize("classes", [None, ("no", "yes"), tuple("ABCDEFGH")])
def test_sentences_about_classes_are_short(classes: tuple[str, ...] | None) -> None:
    found = match_classes(len(LONG), LONG, classes, SCHEMA)
    assert all(len(note) <= 300 and "\n" not in note for note in found.notes)
    assert all(len(name) <= 70 and "\n" not in name for name in found.classes)
    assert len(set(found.classes)) == len(LONG)
    assert len(some_classes(LONG)) < 200


def test_long_names_are_compared_whole() -> None:
    found = match_classes(2, LONG[:2], (LONG[1], LONG[0]), SCHEMA)
    assert (found.order, found.is_named) == ((1, 0), True)


def test_names_that_begin_alike_stay_apart() -> None:
    assert match_classes(2, ("x" * 100 + "1", "x" * 100 + "2"), None, SCHEMA).classes == (
        f"{'x' * 57}... (0)",
        f"{'x' * 57}... (1)",
    )
    assert match_classes(2, ("", "\udc86"), None, SCHEMA).classes == ("''", "?")


def test_thousands_of_classes_are_refused() -> None:
    match_classes(MAX_CLASSES, None, None, SCHEMA)
    with pytest.raises(ModelError, match="at most 1,000 classes, got 1,001"):
        match_classes(MAX_CLASSES + 1, None, None, SCHEMA)


def test_halves_of_letters_in_a_file_reach_no_line_of_json(tmp_path: Path) -> None:
    rows = np.arange(40.0).reshape(10, 4) % 7
    fitted = LogisticRegression().fit(rows, np.array(["\udc86", "b"])[(rows[:, 0] > 3).astype(int)])
    fitted.feature_names_in_ = np.array(["a", "b", "c", "d"], dtype=object)
    skops.io.dump(fitted, tmp_path / "m.skops")
    model = open_model(tmp_path / "m.skops", SCHEMA)
    assert "\\ud" not in json.dumps([*model.classes, *model.notes])
    assert "\\ud" not in json.dumps(str(ModelError("The model uses 'Den\udc86se'.")))
