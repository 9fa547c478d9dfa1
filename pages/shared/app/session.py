"""What a page may know: the store, the evaluator, the open review and run.

The open review is the query parameter ``review``, a run is ``run``, so that a link opens what it names. Both are kept
for the browser session too, and put back into the address by pages that were reached without them.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Lock, local
from typing import TYPE_CHECKING, NoReturn, TypeVar

import streamlit as st

from fairness_engine.errors import RoleError, RunError, StaleReviewError, StoreAwayError
from fairness_engine.store.environment import WORKSPACE_VARIABLE, database_url, is_for_others, unsafe_formats_allowed
from fairness_engine.store.people.roles import LOCAL_OWNER, NOBODY, UNLISTED_OWNER, Role, name_of
from pages.shared.app import navigation, turns
from pages.shared.app.kept import kept
from pages.shared.app.wording import markdown

if TYPE_CHECKING:
    from streamlit.navigation.page import Page

    from fairness_engine.model_process.pool import Evaluator
    from fairness_engine.model_process.questions import Question, Target
    from fairness_engine.store.records import FileRole, Review, RunRecord, StoredFile, UnreadableRun
    from fairness_engine.store.run_config import RunConfig
    from fairness_engine.store.store import RunStore

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[3]
_NAMES = ("review", "run", "predict", "tour")
"""What a link keeps: the open review and run, and the switches of teaching."""
_SEEN = "seen_review"
_own = local()
"""Of this thread, and so of one session: what its rerun has asked of the store."""
_one_at_a_time = Lock()
"""Sessions that come at the same moment share one store and one evaluator."""
_PROXY_HEADERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip")


def workspace() -> Path:
    """The folder that keeps reviews, runs and uploaded files."""
    return Path(os.environ.get(WORKSPACE_VARIABLE) or ROOT / "workspace")


def store() -> RunStore:
    """The run store as whoever sits at this browser may use it: nothing is written that they may not change."""
    return once(("store", ""), _own_store)


def _own_store() -> RunStore:
    held = _server_store()
    person = owner()
    if person == LOCAL_OWNER:
        return held
    from fairness_engine.store.people.guard import PersonalStore

    return PersonalStore(held, person)


def _server_store() -> RunStore:
    """The run store of this server, which writes: no page is handed it."""
    with _one_at_a_time:
        return _store(str(workspace()), database_url())


def evaluator() -> Evaluator:
    """Answers small questions about a model, in a process of its own."""
    with _one_at_a_time:
        return _evaluator(str(workspace()), database_url())


def ask(target: Target, question: Question[T]) -> T:
    """The answer of a model's process; others have their turn meanwhile."""
    with turns.left():
        return evaluator().ask(target, question)


@cache
def _store(folder: str, url: str | None) -> RunStore:
    from fairness_engine.store.store import RunStore

    return RunStore(Path(folder), url)


@cache
def _evaluator(folder: str, url: str | None) -> Evaluator:
    from fairness_engine.model_process.pool import Evaluator

    return Evaluator(_store(folder, url))


def keep_file(source: bytes | Path, name: str, role: FileRole) -> StoredFile:
    """Store a file for whoever sits at this browser.

    Args:
        source, name, role: as ``RunStore.add_file`` takes them.

    Raises:
        RunError: it cannot be stored, or there is no room for it.
    """
    from fairness_engine.runs.limits import check_disk

    check_disk(store(), owner(), source.stat().st_size if isinstance(source, Path) else len(source))
    file = store().add_file(source, name, role)
    if owner() != LOCAL_OWNER:
        store().note_upload(owner(), file.id)
    return file


def accepts_unsafe_formats() -> bool:
    """Whether the operator switched on model files that run code when they are loaded."""
    return unsafe_formats_allowed()


# --- who ----------------------------------------------------------------------------------------


def owner() -> str:
    """Whose reviews this browser makes: the person signed in, this machine, or nobody's list."""
    return once(("owner", ""), _owner)


def _owner() -> str:
    if is_signed_in():
        name = str(st.user.get("email") or st.user.get("sub"))
        return f"{name} (signed in)" if name in NOBODY else name
    return LOCAL_OWNER if is_local_server() else UNLISTED_OWNER


def is_signed_in() -> bool:
    """Whether an identity provider says who sits at this browser."""
    return once(("signed in", ""), lambda: bool(st.user.get("is_logged_in")))  # each look reads a file of secrets


def is_me(person: str) -> bool:
    """Whether a name in a review is of whoever sits at this browser."""
    return name_of(person) == name_of(owner())


def lists_reviews() -> bool:
    """Whether saved reviews may be listed to this browser; otherwise they open by their link only."""
    return owner() != UNLISTED_OWNER


def may_open(review: Review) -> bool:
    """Whether this browser may open a review whose link it has: that of a person who signed in is theirs, and of those
    whom they added.
    """
    return role_in(review) is not None


def may_find(review: Review) -> bool:
    """Whether a part of a review, a run or a comparison, leads to it: where it could be found in the list too."""
    role = role_in(review)
    return lists_reviews() and role is not None and (review.owner not in NOBODY or role is Role.OWNER)


def role_in(review: Review) -> Role | None:
    """What whoever sits at this browser is in a review, as it stood when this rerun first asked; ``None`` for nobody in
    it.
    """
    person = owner()
    if review.owner in (*NOBODY, person):  # nothing is to be looked up
        return Role.OWNER if review.owner == person else Role.REVIEWER
    return once(("role", review.id), lambda: store().role(review.id, person))


def only_reads() -> Review | None:
    """The open review where whoever sits at this browser reads it and changes nothing; else ``None``."""
    review = current_review()
    return review if review is not None and role_in(review) is Role.READER else None


def still_opens() -> Callable[[], None]:
    """A function that refuses when the open review opens no more to whoever sits at this browser: for what is made when
    a button is pressed, without a rerun that would look.
    """
    review = current_review()
    person = owner()
    held = store()

    def look() -> None:
        if review is not None and review.owner not in (*NOBODY, person) and held.role(review.id, person) is None:
            raise RoleError("This review opened to you before, and does no more. Ask its owner to add you.")

    return look


def check_may_change() -> None:
    """Before something is done for the open review that the store does not see: it may be changed.

    Raises:
        RoleError: whoever sits at this browser reads it.
    """
    from fairness_engine.store.people.guard import PersonalStore

    held = store()
    review_id = addressed("review")
    if review_id is not None and isinstance(held, PersonalStore):
        held.check_role(review_id)


def is_local_server() -> bool:
    """Whether only this machine reaches the server: nobody said that others do, it listens on loopback, and no proxy
    says that it passes others on to it.
    """
    headers = st.context.headers
    is_passed_on = is_for_others() or any(name in headers for name in _PROXY_HEADERS)
    return _is_loopback(st.get_option("server.address") or "") and not is_passed_on


@cache
def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


# --- what is asked of the store -------------------------------------------------------------------


@contextmanager
def asking() -> Iterator[None]:
    """A rerun, of the page or a fragment: what it asks of the store is asked ``once``."""
    _own.asked = {}
    try:
        yield
    finally:
        _own.asked = None


def forget_asked() -> None:
    """Ask the store anew: after a change."""
    if getattr(_own, "asked", None) is not None:
        _own.asked = {}


def once(what: tuple[str, str], ask: Callable[[], T]) -> T:
    """What the store, the address or the browser says, asked once a rerun; each time outside of one, where a thread may
    serve another session next.
    """
    asked: dict[tuple[str, str], T] | None = getattr(_own, "asked", None)
    if asked is None:
        return ask()
    if what not in asked:
        asked[what] = ask()
    return asked[what]


def runs(review_id: str) -> list[RunRecord]:
    """The runs of a review, the newest first, as they stood when this rerun first asked."""
    return _all_runs(review_id)[0]


def unreadable_runs(review_id: str) -> list[UnreadableRun]:
    """Those of a review that were changed or damaged since they were written."""
    return _all_runs(review_id)[1]


def _all_runs(review_id: str) -> tuple[list[RunRecord], list[UnreadableRun]]:
    return once(("runs", review_id), lambda: store().all_runs(review_id))


def _stored_review(review_id: str) -> Review:
    """A review as it is stored.

    Raises:
        RunError: there is none.
    """
    return once(("review", review_id), lambda: store().review(review_id))


# --- what is open -------------------------------------------------------------------------------


def remember_address() -> None:
    """Take review and run from the address; put back those that the address lost. Called once a rerun."""
    given = st.query_params.to_dict()
    address = {name: given[name] for name in _NAMES if name in given}
    if "run" in address and "review" not in address:
        review_id = review_to_find(lambda: store().run(address["run"]).review_id)
        if review_id is not None:
            address["review"] = review_id
    if "review" in address and address["review"] != st.session_state.get("open_review"):
        st.session_state["open_run"] = None
    for name, value in address.items():
        if st.session_state.get(f"open_{name}") != value:
            st.session_state[f"open_{name}"] = value
    for name in _NAMES:
        value = st.session_state.get(f"open_{name}")
        if value and given.get(name) != value:
            st.query_params[name] = value


def review_to_find(ask: Callable[[], str | None]) -> str | None:
    """The review that a part of it leads to; ``None`` where it is not to be found like this.

    Args:
        ask: looks it up; what is not there raises ``RunError``.
    """
    try:
        review_id = ask()
        return review_id if review_id is not None and may_find(_stored_review(review_id)) else None
    except StoreAwayError:  # it may be there
        raise
    except RunError:
        return None


def current_review() -> Review | None:
    """The open review as it stands, with the revision that this page was opened on, so that a change from elsewhere is
    not saved over unseen; ``None`` when none is open, or the link names none or one of somebody else."""
    return once(("open", "review"), _current_review)


def _current_review() -> Review | None:
    review_id = addressed("review")
    if review_id is None:
        return None
    try:
        review = _stored_review(review_id)
    except StoreAwayError:  # it may be there
        raise
    except RunError:
        return None
    if not may_open(review):
        return None
    seen = _seen(review)
    return review if seen.revision == review.revision else replace(review, revision=seen.revision)


def _seen(review: Review) -> Review:
    """The review as this page was opened on it; from now on as given, when this is the first look."""
    held = seen_review()
    if held is None or held.id != review.id:
        st.session_state[_SEEN] = held = review
    return held


def seen_review() -> Review | None:
    """A review as this page was opened on it."""
    seen: Review | None = st.session_state.get(_SEEN)
    return seen


def enter(page: str) -> None:
    """Begin a rerun of a page: one that was reached from another looks at the review anew."""
    if st.session_state.get("open_page") != page:
        st.session_state["open_page"] = page
        st.session_state.pop(_SEEN, None)


def changed_elsewhere() -> tuple[Review, Review] | None:
    """The open review as this page was opened on it and as another tab, or program, has left it; ``None`` while nobody
    changed it.
    """
    seen = seen_review()
    if seen is None or seen.id != addressed("review"):
        return None
    held = _stored_review(seen.id)
    return None if held.revision == seen.revision else (seen, held)


def save(review: Review) -> Review:
    """Save a change of the open review, made on the state that this page was opened on.

    Raises:
        StaleReviewError: it was changed elsewhere since; nothing is saved.
    """
    seen = seen_review()
    if seen is not None and seen.id == review.id:
        review = replace(review, revision=seen.revision)
    return saw(store().save_review(review))


def saw(review: Review) -> Review:
    """Note that this page knows a review as it is."""
    forget_asked()
    st.session_state[_SEEN] = review
    return review


def check_unchanged() -> None:
    """Before a run starts: its reader knows the review as it stands.

    Raises:
        StaleReviewError: it was changed elsewhere since this page was opened.
    """
    forget_asked()
    changed = changed_elsewhere()
    if changed is not None:
        raise StaleReviewError("This review was changed in another tab. Nothing was started.", None, changed[1])


def start_runs(review: Review, configs: Sequence[RunConfig], *, is_here: bool = False) -> list[str]:
    """Queue runs of the open review and start those that there is a place for; returns their ids.

    Args:
        is_here: the cluster, where there is one, is not asked.

    Raises:
        StaleReviewError: as ``check_unchanged``.
        RunError: as ``queue_runs``.
    """
    check_unchanged()
    return queue_runs(review, configs, is_here=is_here)


def queue_runs(review: Review, configs: Sequence[RunConfig], *, is_here: bool = False) -> list[str]:
    """Queue runs of a review as it is known, and start those that there is a place for; returns their ids.

    Args:
        is_here: as in ``start_runs``.

    Raises:
        RunError: whoever starts them has too many runs waiting, or no room on the disk.
        RoleError: they may not.
    """
    from fairness_engine.cluster.counts import HERE
    from fairness_engine.codec import encode
    from fairness_engine.runs.limits import check_disk, check_waiting

    check_waiting(store(), owner(), len(configs))
    check_disk(store(), owner())
    run_ids = [store().create_run(config, review.id) for config in configs]
    for run_id in run_ids if is_here else ():
        store().set_result(run_id, "cluster", encode(HERE))
    start_waiting()
    forget_asked()
    return run_ids


def start_waiting() -> None:
    """Start runs that wait, where there is a place, and notice workers that are gone: the server's own work, at
    whoever's click, so that runs go on while a reader looks.
    """
    from fairness_engine.runs.queue import start_queued

    start_queued(_server_store())


def refreshed(run_id: str) -> RunRecord:
    """A run as it stands, after ``start_waiting``.

    Raises:
        RunError: there is no such run.
    """
    from fairness_engine.runs.queue import refresh

    return refresh(_server_store(), run_id)


def open_run_id() -> str | None:
    """The run that the address names, or that was opened last; ``None`` where nobody chose one."""
    return addressed("run")


def current_run_id() -> str | None:
    """The run that the address names; else the open review's newest; ``None`` without any."""
    run_id = addressed("run")
    if run_id is not None:
        return run_id
    review = current_review()
    found = runs(review.id) if review else []
    return max(found, key=lambda run: run.created).id if found else None


def has_runs(review: Review) -> bool:
    """Whether a review has a run; asked on every rerun, so a yes is remembered."""
    known: set[str] = st.session_state.setdefault("reviews_with_runs", set())
    if review.id not in known and runs(review.id):
        known.add(review.id)
    return review.id in known


def kinds_of_runs(review: Review | None) -> frozenset[str]:
    """Which kinds of runs a review has."""
    return frozenset() if review is None else frozenset(run.config.kind for run in runs(review.id))


def addressed(name: str) -> str | None:
    """What the address names, or what was open before: ``review``, ``run``."""
    return once(("address", name), lambda: st.query_params.get(name) or st.session_state.get(f"open_{name}"))


def set_review(review: Review | str | None) -> None:
    """Open a review, or close the open one with ``None``; its run is chosen anew."""
    if isinstance(review, str) or review is None:
        _set("review", review)
    else:
        _set("review", review.id)
    _set("run", None)


def close_review(review_id: str) -> None:
    """Close a review where it is the open one: it was deleted, or opens here no more."""
    if st.session_state.get("open_review") == review_id:
        set_review(None)


def set_run(run_id: str | None) -> None:
    """Name the run that the pages of this browser show."""
    _set("run", run_id)


def switch(name: str, value: str | None) -> None:
    """Set what the address holds beside review and run, for this browser session; ``None`` takes it away."""
    _set(name, value)


def _set(name: str, value: str | None) -> None:
    st.session_state[f"open_{name}"] = value
    if value is not None:
        st.query_params[name] = value
    elif name in st.query_params:
        del st.query_params[name]
    forget_asked()


def address_of(**changes: str) -> dict[str, str]:
    """Query parameters for a link that keeps the open review and run."""
    kept = {name: value for name in _NAMES if (value := addressed(name)) is not None}
    return {**kept, **changes}


# --- where next ---------------------------------------------------------------------------------


def go_to(place: navigation.Place) -> NoReturn:
    """Leave for another page with the open review and run."""
    st.switch_page(script(place), query_params=address_of())


def link_to(place: navigation.Place, label: str | None = None) -> None:
    """A link to another page with the open review and run."""
    page_link(place, markdown(label or place.title), address_of())


def page_link(
    place: navigation.Place,
    label: str,
    query_params: Mapping[str, str | list[str]],
    icon: str = ":material/arrow_forward:",
) -> None:
    """A link to another page with an address of its own; ``label`` is Markdown."""
    st.page_link(script(place), label=label, query_params=query_params, icon=icon)


def script(place: navigation.Place) -> Page:
    """Streamlit's page of a place; of a path alone it would look for the file at every link."""
    return scripts()[place]


def scripts() -> dict[navigation.Place, Page]:
    """Streamlit's page of each place, looked for once a session."""
    return kept("scripts", None, _scripts)


def _scripts() -> dict[navigation.Place, Page]:
    return {
        place: st.Page(place.path, title=place.title, url_path=place.url or None, default=place is navigation.START)
        for place in navigation.PLACES
    }


def can_start(review: Review) -> bool:
    """Whether a review has all that something new needs; else that is said. What was made before is shown all the
    same.
    """
    missing = navigation.missing_before(navigation.PLAN, review)
    if missing is None:
        return True
    st.info(missing.invitation)
    link_to(missing, f"Go to {missing.title}")
    return False
