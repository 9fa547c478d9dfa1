"""The app: page configuration, the menu, and the page that the address names. Start it with ``make run``."""

import streamlit as st

from pages.components import layout, state, steps
from pages.components.kept import kept

_SIDEBAR_PIXELS = 230


def main() -> None:
    """Draw the frame and run one page inside it."""
    icon = state.ROOT / "pages" / "components" / "icon.png"
    st.set_page_config(page_title="Evenhand", page_icon=str(icon), layout="wide", initial_sidebar_state=_SIDEBAR_PIXELS)
    scripts = kept("scripts", None, make_pages)
    page = st.navigation(list(scripts.values()), position="hidden")
    st.html(layout.STYLE)
    with layout.boundary():
        state.remember_address()
        state.enter(page.url_path)
        layout.menu(scripts)
    with layout.boundary():
        page.run()


def make_pages() -> dict:
    """Streamlit's page of each place. It looks for the file: once a session, not at every click."""
    return {
        place: st.Page(place.path, title=place.title, url_path=place.url or None, default=place is steps.START)
        for place in steps.PLACES
    }


if __name__ == "__main__":
    main()
