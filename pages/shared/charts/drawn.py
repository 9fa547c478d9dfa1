"""A figure that is written for the browser once."""

from __future__ import annotations

from typing import Any

from plotly.graph_objects import Figure


class Drawn(Figure):
    """Plotly's figure. Streamlit asks it for its dictionary at every rerun, of a figure that is kept too; Plotly makes
    that anew, and encodes its arrays anew, each time.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._written: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As Plotly's, made at the first call: what is changed in the figure afterwards has no part in it, except by
        ``say``.
        """
        if self._written is None:
            self._written = super().to_dict()
        return self._written

    def say(self, text: str) -> None:
        """What the figure shows, in a sentence: ``layout.meta``."""
        if self.layout.meta != text:
            self.layout.meta = text
            self._written = None
