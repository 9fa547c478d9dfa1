"""What a reader of the open review is told: by a line on every page, and by controls that are switched off and whose
help says why.

They spare a reader the attempt. What refuses is the store (``fairness_engine.store.people.guard``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.shared.app import session, wording

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile


def say_reader() -> None:
    """A line for a reader; nothing for others."""
    review = session.only_reads()
    if review is not None:
        st.info(
            f"**Reader:** you see this review of {wording.markdown(review.owner)} and change nothing.",
            icon=":material/visibility:",
        )


def off() -> bool:
    """Whether they are switched off: whoever sits at this browser reads the open review."""
    return session.only_reads() is not None


def button(label: str, **options: Any) -> bool:
    """A button, as ``st.button`` makes it."""
    return bool(st.button(label, **_for_reader(options)))


def submit(label: str, **options: Any) -> bool:
    """The button of a form, as ``st.form_submit_button`` makes it."""
    return bool(st.form_submit_button(label, **_for_reader(options)))


def uploader(label: str, max_bytes: int, **options: Any) -> UploadedFile | None:
    """What takes one file of at most so many bytes, or of what the operator allows, as ``st.file_uploader`` makes it.
    The browser says so, and refuses what is far larger before it is sent; whoever reads the file holds it to the limit.
    """
    allowed = int(st.get_option("server.maxUploadSize"))
    options["max_upload_size"] = max(1, min(allowed, max_bytes // 1_000_000))
    taken: UploadedFile | None = st.file_uploader(label, **_for_reader(options))
    return taken


def _for_reader(options: dict[str, Any]) -> dict[str, Any]:
    review = session.only_reads()
    if review is None:
        return options
    help_text = f"You read this review. Ask {wording.markdown(review.owner)} to make you a reviewer."
    return options | {"disabled": True, "help": help_text}
