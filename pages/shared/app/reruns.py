"""Draw again after a change."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st
from streamlit.errors import StreamlitAPIException


def rerun_fragment() -> NoReturn:
    """Draw the fragment again that was clicked in, or the page when the whole page is being drawn."""
    try:
        st.rerun(scope="fragment")
    except StreamlitAPIException:
        st.rerun()
