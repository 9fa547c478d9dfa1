"""The app: page configuration, the menu, and the page that the address names. Start it with ``make run``."""

import streamlit as st

from fairness_engine.errors import StaleReviewError
from pages.shared import access
from pages.shared.access import announced
from pages.shared.app import frame, paper, presenting, session
from pages.shared.review import changes
from pages.shared.teaching import tour

_SIDEBAR_PIXELS = 230


def main() -> None:
    """Draw the frame and run one page inside it."""
    scripts = session.scripts()
    page = st.navigation(list(scripts.values()), position="hidden")
    title = f"{page.title} · Evenhand"
    st.set_page_config(page_title=title, page_icon=frame.ICON, layout="wide", initial_sidebar_state=_SIDEBAR_PIXELS)
    frame.said_by(StaleReviewError, changes.say_refused)
    with frame.rerun():
        st.html(frame.STYLE + frame.scheme() + access.STYLE + paper.STYLE)
        with frame.boundary():
            session.remember_address()
            presenting.remember()
            session.enter(page.url_path)
            head = st.container(key="page_head", gap=None)
            with head:
                access.arrive(page.url_path)
            open_pages = frame.menu(scripts)
            with head:
                paper.head(session.current_review())
                presenting.control(open_pages, page)
                announced.draw()
        with frame.boundary():
            tour.draw(page.url_path)
            page.run()


if __name__ == "__main__":
    main()
