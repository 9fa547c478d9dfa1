"""The frame around every page: heading, menu with navigation, the boundary that no traceback passes, charts with
tables.
"""

from __future__ import annotations

import logging
import secrets
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache, partial, wraps
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import streamlit as st

from fairness_engine.errors import EvenhandError, StoreAwayError
from pages.shared import tables
from pages.shared.app import closed, navigation, presenting, session, theme, turns, wording
from pages.shared.charts import kit
from pages.shared.members import sign_in

if TYPE_CHECKING:
    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator
    from streamlit.elements.lib.mutable_expander_container import ExpanderContainer
    from streamlit.elements.lib.mutable_popover_container import PopoverContainer
    from streamlit.navigation.page import Page

    from fairness_engine.oracle.domain import Scope
    from fairness_engine.store.records import Review
    from pages.shared.charts.drawn import Drawn

P = ParamSpec("P")
R = TypeVar("R")

LOG = logging.getLogger("evenhand.app")
_LOG_BYTES = 1_000_000

ICON = f"data:image/png;base64,{b64encode((session.ROOT / 'pages/shared/app/icon.png').read_bytes()).decode()}"
"""Of the tab. As a file Streamlit would read it at every rerun."""
STYLE = """
<style>
.block-container {padding-top: 0; padding-bottom: 4rem; max-width: 82rem;}
@media (max-width: 1300px) {.block-container {padding-left: 2.2rem; padding-right: 2.2rem;}}
[data-testid="stHeader"] {height: 2.6rem; min-height: 2.6rem;}
[data-testid="stLayoutWrapper"]:has(> .st-key-page_head) {position: sticky; top: 0; z-index: 999991; height: 2rem;
  margin-bottom: -1rem;}
.st-key-page_head {padding: 0.7rem 9rem 0 0;}
.st-key-page_head > [data-testid="stLayoutWrapper"]:has(> .st-key-presenting) {position: absolute; width: auto;
  top: 0.5rem; right: 2.8rem;}
.stApp:has([data-testid="stStatusWidget"]) .st-key-page_head {padding-right: 13.8rem;}
.stApp:has([data-testid="stStatusWidget"]) .st-key-page_head > [data-testid="stLayoutWrapper"]:has(> .st-key-presenting)
  {right: 7.6rem;}
.st-key-presenting {flex-wrap: nowrap;}
.st-key-presenting :is(button, a) {min-height: 1.6rem; padding: 0 0.3rem;}
.st-key-presenting :is(button, a) p {font-size: 0.85rem; white-space: nowrap;}
.stApp:has([data-testid="stExpandSidebarButton"]) .st-key-page_head {padding-left: 2rem;}
.evenhand-of {display: flex; margin: 0; font-size: 0.82rem; line-height: 1.3rem; white-space: pre;
  color: light-dark(#5A6069, #A7ADB5);}
.evenhand-of b {font-weight: 600; overflow: hidden; text-overflow: ellipsis; color: light-dark(#1B1F24, #E8EAED);}
.evenhand-name {font-size: 1.35rem; font-weight: 650; letter-spacing: 0.01em;}
[data-testid="stHeading"] h1 {font-size: 1.75rem; padding: 0.8rem 0 0.2rem 0;}
[data-testid="stMain"] h2 {font-size: 1.35rem; padding: 0.5rem 0 0.3rem 0;}
[data-testid="stMain"] h3 {font-size: 1.15rem;}
[data-testid="stCaptionContainer"] {color: light-dark(#5A6069, #A7ADB5); opacity: 1;}
[data-testid="stSliderThumbValue"], [data-testid="stSliderThumbValue"] p {color: light-dark(#0067A3, #7CC4F0);}
[data-testid="stPageLink-NavLink"]:focus-visible {outline: 3px solid light-dark(#0067A3, #7CC4F0); outline-offset: 1px;}
.evenhand-lead {font-size: 1.05rem; opacity: 0.85; margin: -0.35rem 0 -0.3rem 0; max-width: 60rem;}
.evenhand-idea {margin: -0.5rem 0 -0.3rem 0; font-size: 0.95rem; line-height: 1.4;}
[data-testid="stSidebar"] [data-testid="stPageLink"] p {font-size: 1rem;}
[data-testid="stSidebarHeader"] {height: 1.5rem; margin-bottom: 0; padding-top: 0.4rem; padding-bottom: 0;}
[data-testid="stSidebarUserContent"] {padding-bottom: 1rem;}
[data-testid="stSidebar"] [data-testid="stVerticalBlock"] {gap: 0.55rem;}
[data-testid="stSidebar"] [data-testid="stElementContainer"]:has([data-testid="stPageLink"]) {margin: -0.275rem 0;}
[data-testid="stSidebar"] [data-testid="stPageLink-NavLink"] {margin: 0; padding-top: 0; padding-bottom: 0;
  min-height: 1.5rem; line-height: 1.5rem;}
[data-testid="stSidebar"] [data-testid="stPageLink-NavLink"] :is(span, p) {line-height: 1.5rem;}
[data-testid="stSidebar"] [data-testid="stCaptionContainer"] {margin: 0;}
[data-testid="stSidebar"] [data-testid="stCaptionContainer"] p {margin: 0;}
.evenhand-open p {display: -webkit-box; -webkit-line-clamp: 2; -webkit-box-orient: vertical; overflow: hidden;
  margin: 0.55rem 0 0 0; line-height: 1.3; overflow-wrap: anywhere;}
.evenhand-open p + p {font-size: 0.875rem; color: light-dark(#5A6069, #A7ADB5);}
[data-testid="stMetricValue"], [data-testid="stMetricValue"] * {font-size: 1.6rem; white-space: normal;}
[class*="st-key-wrap_"] > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"] {flex-wrap: wrap;}
[class*="st-key-wrap_"] > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"] > [data-testid="stColumn"]
  {min-width: 15.5rem;}
@media (max-width: 1300px) {
  [class*="st-key-wrap_"] > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"]
      > [data-testid="stColumn"]
    {min-width: 18rem;}
}
[class*="st-key-wrap_wide"] > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"]
    > [data-testid="stColumn"]
  {min-width: 25rem;}
.st-key-wrap_rules_filters > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"]
    > [data-testid="stColumn"],
.st-key-wrap_figures > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"]
    > [data-testid="stColumn"] {min-width: 13rem;}
[class*="st-key-grid_"] {display: grid !important; align-items: stretch !important;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, max(18rem, 30%)), 1fr));}
[class*="st-key-grid_"] > [data-testid="stLayoutWrapper"] > * {height: 100%;}
[class*="st-key-grid_wide_"] {grid-template-columns: repeat(auto-fill, minmax(min(100%, max(25rem, 40%)), 1fr));}
[data-testid="stLayoutWrapper"]:has(> .st-key-teaching) {margin: -5.1rem 0 1.6rem 0;}
.st-key-teaching {justify-content: flex-end;}
@media (max-width: 1150px) {
  [data-testid="stLayoutWrapper"]:has(> .st-key-teaching) {margin: -0.5rem 0 -0.5rem 0;}
  .st-key-wrap_figures > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"]
    > [data-testid="stColumn"] {min-width: 16rem;}
}
[data-testid="stLayoutWrapper"]:has(> .st-key-tour) {order: 9; position: sticky; bottom: 0.5rem; z-index: 20;}
.st-key-tour {background: light-dark(#E6F0F7, #1B2A36); padding: 0.6rem 1rem;}
button[data-variant][data-selected="true"] p {color: light-dark(#003A5C, #D6ECFA); font-weight: 600;}
[data-testid="stPopover"] button[aria-expanded="true"]:not([kind="primary"])
  {color: light-dark(#003A5C, #D6ECFA) !important;}
.js-plotly-plot .modebar {top: 1.75rem !important; right: 0.4rem !important;}
.js-plotly-plot .modebar-group {padding-left: 0 !important;}
.evenhand-reload {color: light-dark(#0067A3, #7CC4F0) !important;}
</style>
"""


def scheme() -> str:
    """Which colours are the reader's in what Streamlit draws beside the app: popovers, dialogs."""
    return f"<style>:root {{color-scheme: {'dark' if theme.is_dark() else 'light'};}}</style>"


def wrapping(name: str, *, is_wide: bool = False) -> DeltaGenerator:
    """A container whose columns go below one another when the window, or a projector, is narrow.

    Args:
        name: unique on the page.
        is_wide: the columns hold charts and need more room each.
    """
    return st.container(key=f"wrap_wide_{name}" if is_wide else f"wrap_{name}")


def grid(name: str, *, is_wide: bool = False) -> DeltaGenerator:
    """A container whose parts stand side by side, three in a row at most, and below one another when there is no room.
    Rows of columns need twice as many messages at every rerun.

    Args:
        name: unique on the page.
        is_wide: two in a row at most.
    """
    return st.container(key=f"grid_wide_{name}" if is_wide else f"grid_{name}")


def heading(title: str, lead: str = "") -> None:
    """The page's title and one sentence of what it is for. Both are the app's own words."""
    st.title(title, anchor=False)
    if lead:
        st.html(f'<p class="evenhand-lead">{wording.escaped(lead)}</p>')


# --- the boundary -------------------------------------------------------------------------------


@contextmanager
def boundary() -> Iterator[None]:
    """Turn every error inside into a sentence: the error's own, or an apology with a number found in the log."""
    try:
        yield
    except StoreAwayError as error:  # every part of the page meets it
        session.once(("said", "away"), partial(say, error))
    except EvenhandError as error:
        say(error)
    except Exception:  # noqa: BLE001 - the last line before the reader: nothing else may show a traceback
        apologise()


@contextmanager
def rerun() -> Iterator[None]:
    """A rerun of the page, or of a fragment alone: it takes its turn, asks the store anew, and whoever comes after it
    does.
    """
    with turns.taken() as is_whole, session.asking() if is_whole else nullcontext():
        yield


def guarded(function: Callable[P, R]) -> Callable[P, R | None]:
    """The boundary for fragments and callbacks, which run outside the page's own."""

    @wraps(function)
    def safely(*args: P.args, **kwargs: P.kwargs) -> R | None:
        with rerun(), boundary():
            return function(*args, **kwargs)
        return None

    return safely


_is_within: ContextVar[bool] = ContextVar("is_within", default=False)


def alone(function: Callable[P, R], *, run_every: float | None = None) -> Callable[P, R | None]:
    """A part of a page that is drawn without the rest: by a click in it, and every so many seconds. A part inside such
    a part is drawn with it.

    Streamlit's fragments may stand in one another, but then a white page comes of it now and then: when the outer one
    is drawn anew before the browser was sent all of it, its own elements are dropped and those of the inner one are
    not, which the browser has no place for.
    """

    @wraps(function)
    def part(*args: P.args, **kwargs: P.kwargs) -> R | None:
        before = _is_within.set(True)
        try:
            return guarded(function)(*args, **kwargs)
        finally:
            _is_within.reset(before)

    def draw(*args: P.args, **kwargs: P.kwargs) -> R | None:
        if _is_within.get():
            assert run_every is None, "what is drawn every so often stands in no other part"
            with boundary():
                return function(*args, **kwargs)
            return None
        return st.fragment(part, run_every=run_every)(*args, **kwargs)

    return draw


def fold(label: str, draw: Callable[[], None], key: str, *, is_open: bool = False, icon: str | None = None) -> None:
    """What few people unfold is drawn from its first opening on: then what was typed into it outlasts its closing.

    Args:
        label, icon: of the line that unfolds it.
        draw: what is inside.
        key: of its own for each review, run, or whatever else it is about.
        is_open: it stands open from the start.
    """
    name = f"{key}_{'unfolded' if is_open else 'fold'}"  # the browser keeps the state that a key began with
    _draw_once_opened(st.expander(label, is_open, key=name, icon=icon, on_change="rerun"), name, draw)


def popup(label: str, draw: Callable[[], None], key: str, **look: Any) -> None:
    """A popover, drawn as ``fold`` draws.

    Args:
        label: of the button that opens it.
        draw: what is inside.
        key: as in ``fold``.
        look: of the button, Streamlit's.
    """
    _draw_once_opened(st.popover(label, key=key, on_change="rerun", **look), key, draw)


def _draw_once_opened(place: ExpanderContainer | PopoverContainer, name: str, draw: Callable[[], None]) -> None:
    opened: set[str] = st.session_state.setdefault("once_opened", set())
    if place.open:
        opened.add(name)
    if name in opened:
        with place:
            draw()


_SAID_BY: dict[type[EvenhandError], Callable[[Any], None]] = {}


def said_by(kind: type[EvenhandError], show: Callable[[Any], None]) -> None:
    """Have errors of one class shown in a way of their own."""
    _SAID_BY[kind] = show


def say(error: EvenhandError) -> None:
    """Show an error that was raised on purpose; lines of code that help are there to be copied, and a change that
    another tab forestalled comes with what can be done about it."""
    own = _SAID_BY.get(type(error))
    if own is not None:
        own(error)
        return
    st.error(wording.markdown(wording.spaced(str(error))), icon=":material/error:")
    if error.recipe:
        st.code(error.recipe, language="r" if error.recipe.startswith("# in R") else "python", wrap_lines=True)


def apologise() -> None:
    """Show that something went wrong that nobody expected, and write the details to the log."""
    number = secrets.token_hex(3)
    _open_log()
    LOG.exception("Unexpected error %s", number)
    st.error(
        "Something went wrong that should not have. Nothing stored was lost. The log has the details under number "
        f"{number}: go back and try again, or report it.",
        icon=":material/error:",
    )


def _open_log() -> None:
    if LOG.handlers:
        return
    try:
        file = RotatingFileHandler(
            session.workspace() / "app.log", maxBytes=_LOG_BYTES, backupCount=2, encoding="utf-8"
        )
    except OSError:
        return  # the message still goes to the server's own output
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    LOG.addHandler(file)


# --- the menu -----------------------------------------------------------------------------------


def menu(scripts: Mapping[navigation.Place, Page]) -> list[Page]:
    """Sections, pages and steps in the sidebar, and what is open.

    Args:
        scripts: Streamlit's page of each place.

    Returns:
        The pages that can be used, in their order.
    """
    usable: list[Page] = []
    review = session.current_review()
    has_runs = review is not None and session.has_runs(review)
    kinds = cache(partial(session.kinds_of_runs, review))
    following = closed.next_place(review, kinds, has_runs=has_runs)
    address = session.address_of()
    with st.sidebar:
        st.html(f'<div class="evenhand-name">Evenhand</div>{"" if review is None else _opened(review)}')
        section = ""
        for place in navigation.PLACES:
            if place.section != section:
                section = place.section
                st.caption(section)
            reason = closed.why_closed(place, review, kinds)
            is_done = place.is_step and reason is None and navigation.is_done(place, review, has_runs=has_runs)
            st.page_link(
                scripts[place],
                label=place.title,
                icon=_step_icon(place, following, is_done=is_done),
                help=_step_help(place, following, is_done=is_done) if reason is None else wording.markdown(reason.text),
                query_params=address,
                disabled=reason is not None,
            )
            if reason is None:
                usable.append(scripts[place])
        sign_in.draw()
    return usable


def _opened(review: Review) -> str:
    """The review that is open, with what changes the meaning of everything in it, as HTML."""
    facts: list[str] = []
    if review.reading is not None:
        facts.append(f"Reading: {'not accepted yet' if review.fit is None else review.reading}")
    if review.scope is not None and review.scope.links:
        facts.append(linked_in_words(review.scope))
    said = "".join(f"<p>{wording.escaped(fact)}</p>" for fact in facts)
    return f'<div class="evenhand-open"><p><b>{wording.escaped(review.name)}</b></p>{said}</div>'


def linked_in_words(scope: Scope) -> str:
    """The links in force, not escaped: ``Linked: relationship goes with sex``."""
    return f"Linked: {'; '.join(f'{link.column} goes with {link.protected}' for link in scope.links)}"


def _step_icon(place: navigation.Place, following: navigation.Place, *, is_done: bool) -> str:
    if is_done:
        return ":material/check_circle:"
    if place is following and place is not navigation.START:
        return ":material/arrow_circle_right:"
    return ":material/radio_button_unchecked:" if place.is_step else place.icon


def _step_help(place: navigation.Place, following: navigation.Place, *, is_done: bool) -> str:
    if is_done:
        return "Done"
    return "Next" if place is following and place is not navigation.START else ""


# --- charts -------------------------------------------------------------------------------------


def chart(
    figure: Drawn,
    key: str,
    note: str = "",
    *,
    said: str = "",
    on_points: Callable[[list[Mapping[str, Any]]], None] | None = None,
) -> None:
    """Draw a figure in the look of the app.

    Args:
        figure: what is drawn.
        key: of the chart.
        note: under it, our own words.
        said: what it shows, in a sentence, not escaped: read behind its title. Without it the names of its axes are.
        on_points: told what was clicked. A picture of its own for each choice, by its key: what was clicked before has
            no say in it.
    """
    if said:
        figure.say(said)
    if presenting.is_on():
        figure = kit.enlarged(figure, presenting.LARGER)
    if on_points is None:
        st.plotly_chart(figure, key=key, config=kit.CONFIG, theme=None)
    else:

        def take() -> None:
            on_points(st.session_state[key].selection.points)

        st.plotly_chart(figure, key=key, config=kit.CONFIG, theme=None, on_select=take, selection_mode="points")
    if note:
        st.caption(note)


def chart_with_table(
    figure: Drawn, table: Callable[[], pd.DataFrame], key: str, note: str = "", *, said: str = ""
) -> None:
    """A chart and, folded under it, the same numbers as a table.

    Args:
        figure, key, note, said: as in ``chart``.
        table: makes it.
    """
    chart(figure, key, note, said=said)
    folded_table(table, f"{key}_table")


def folded_table(
    table: Callable[[], pd.DataFrame],
    key: str,
    label: str = "The same as a table",
    column_config: Callable[[pd.DataFrame], Mapping[str, Any]] | None = None,
) -> None:
    """A table that is made when it is unfolded.

    Args:
        table: makes it.
        key: of the table.
        label: of what is unfolded.
        column_config: Streamlit's, of the table.
    """
    place = st.expander(label, key=f"{key}_fold", on_change="rerun")
    if place.open:
        with place, boundary():
            content = table()
            tables.show(content, key, column_config=column_config and column_config(content))
