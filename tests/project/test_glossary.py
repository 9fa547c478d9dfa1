from __future__ import annotations

import runpy
from pathlib import Path

from pages.shared.app.wording import TERMS

FIELD = ("individual", "row", "person", "pair", "rule set", "box", "score", "share", "interval", "proxy", "neighbour")


def test_the_page_of_the_words_is_what_the_app_says(root: Path) -> None:
    script = runpy.run_path(str(root / "scripts" / "glossary.py"))
    assert (root / "docs" / "glossary.md").read_text(encoding="utf-8") == script["written"]()


def test_the_words_of_the_field_are_explained_in_a_sentence_or_two() -> None:
    assert set(FIELD) <= set(TERMS)
    assert all(meaning.endswith(".") and len(meaning) < 300 for meaning in TERMS.values())
