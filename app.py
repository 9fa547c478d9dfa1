"""The app: page configuration, the menu, and the page that the address names. Start it with ``make run``."""

import streamlit as st

from pages.components import layout, state, steps

_SIDEBAR_PIXELS = 230


def main() -> None:
    """Draw the frame and run one page inside it."""
    icon = state.ROOT / "pages" / "components" / "icon.png"
    st.set_page_config(page_title="Evenhand", page_icon=str(icon), layout="wide", initial_sidebar_state=_SIDEBAR_PIXELS)
    sections: dict[str, list] = {}
    for place in steps.PLACES:
        page = st.Page(place.path, title=place.title, url_path=place.url or None, default=place is steps.START)
        sections.setdefault(place.section, []).append(page)
    page = st.navigation(sections, position="hidden")
    st.html(layout.STYLE)
    with layout.boundary():
        state.remember_address()
        layout.menu()
    with layout.boundary():
        page.run()


if __name__ == "__main__":
    main()
