"""The documentation names every technique and every setting with its default."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.settings import settings_of

TEXT = (Path(__file__).parents[2] / "docs" / "techniques.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(TECHNIQUES))
def test_every_technique_has_a_section(name: str) -> None:
    assert f"(`{name}`)" in TEXT


def test_every_setting_of_aequitas_is_in_the_table_with_its_default() -> None:
    for info in settings_of(TECHNIQUES["aequitas"]):
        default = f"`{info.default}`" if isinstance(info.default, str) else str(info.default)
        assert f"| `{info.name}` | {default} |" in TEXT, info.name
