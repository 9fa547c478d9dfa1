"""Tables of Markdown: nothing has to be converted for the browser, as for a table of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.settings import NOT_ASKED, Settings, settings_of
from pages.shared.app import wording
from pages.shared.app.kept import shared


@shared
def settings_tables() -> dict[str, str]:
    """The settings of each technique as a table; empty for a technique without any."""
    return {name: settings_table(technique) for name, technique in TECHNIQUES.items()}


def settings_table(kind: type[Settings]) -> str:
    """Name, meaning and default of settings; empty where there are none."""
    cells = []
    for info in settings_of(kind):
        elsewhere = f" By {info.flag} on the command line." if info.option and info.part == NOT_ASKED else ""
        default = "" if info.default == () else f"{info.default} {info.unit}".strip()
        cells.append((info.label, info.help + elsewhere, default))
    columns = [[wording.markdown(cell) or wording.DASH for cell in column] for column in zip(*cells, strict=True)]
    return table(dict(zip(("Setting", "What it is", "Default"), columns, strict=True))) if cells else ""


def table(columns: Mapping[str, Sequence[str]]) -> str:
    """Columns, by their headings, as a table."""
    rows = [columns, ["---"] * len(columns), *zip(*columns.values(), strict=True)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
