"""Report: a review as a document that can be handed over, signed and made again."""

from __future__ import annotations

from pages.report import view
from pages.shared.app import entry, frame, navigation


def main() -> None:
    """Ask for the preset and who it is by, show the report, and offer its files."""
    frame.heading(
        navigation.REPORT.title,
        "What was found as a document: for a board, for an authority, for the file. Every number leads to its run.",
    )
    view.draw(entry.require(navigation.REPORT))


main()
