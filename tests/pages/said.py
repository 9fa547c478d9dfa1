"""What a page says, for tests that read it."""

from __future__ import annotations

import html
from collections.abc import Callable

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block

OpenApp = Callable[..., AppTest]

KINDS = ("title", "header", "markdown", "caption", "info", "warning", "error", "success")


def text_of(app: AppTest) -> str:
    """All text of the page and the menu, without markdown's backslashes."""
    found = [str(element.value) for kind in KINDS for element in getattr(app, kind)]
    found.append(head_of_menu(app))
    return "\n".join(found).replace("\\", "")


def html_of(app: AppTest) -> str:
    """All HTML of the page itself, its signs as a reader sees them."""
    return _html_in(app.main)


def head_of_menu(app: AppTest) -> str:
    """What the menu says of the open review, as HTML, its signs as a reader sees them."""
    return _html_in(app.sidebar)


def _html_in(block: Block) -> str:
    return html.unescape("\n".join(str(each.proto.body) for each in block.get("html")))


def errors_of(app: AppTest) -> list[str]:
    """The sentences shown as errors; a traceback would be an exception element, which fails the test here."""
    assert not app.exception, [element.value for element in app.exception]
    return [element.value.replace("\\", "") for element in app.error]


def links_of(app: AppTest) -> list[str]:
    """Labels of the links on the page itself, without the menu."""
    return [link.label.replace("\\", "") for link in app.main.get("page_link")]


def unfold(app: AppTest, *keys: str) -> AppTest:
    """Open the tables of these charts, or the folded tables of these keys."""
    for key in keys:
        app.session_state[f"{key}_fold"] = True
    return app.run()


def pop_up(app: AppTest, key: str) -> AppTest:
    """Open the popover of a key, which is drawn then."""
    app.session_state[key] = True
    return app.run()
