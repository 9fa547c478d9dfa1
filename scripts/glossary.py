"""Write the page of the words: ``python scripts/glossary.py``. They stand in ``pages/shared/app/wording.py``, where
the app takes them from.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "glossary.md"


def written() -> str:
    """The whole page."""
    from pages.shared.app.wording import TERMS

    lines = [f"| {word} | {TERMS[word]} |" for word in sorted(TERMS, key=str.lower)]
    return "\n".join(
        [
            "# The words",
            "",
            "One word an idea, the same in the app, on the command line and here. *Techniques*, *Words* shows them; a",
            "question mark beside a field explains the one it is about. Written by `python scripts/glossary.py`.",
            "",
            "| word | what it means |",
            "| --- | --- |",
            *lines,
            "",
        ]
    )


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PAGE.write_text(written(), encoding="utf-8")
