"""Uploads leave memory as soon as they are read: Streamlit would keep their bytes until the session has ended.

What was read of the upload of a widget is given again in later reruns, as long as the widget shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import DeletedFile, UploadedFile

from fairness_engine.errors import EvenhandError, InputError
from fairness_engine.runs.limits import NO_ROOM
from pages.shared.app import session

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairness_engine.store.records import FileRole, StoredFile

T = TypeVar("T")

_READ = "read_uploads"
_REFUSED = "refused_uploads"
MAX_CONTENT_BYTES = 5_000_000
"""Of what is kept in the session, not stored."""


def stored(file: UploadedFile | None, key: str, role: FileRole) -> StoredFile | None:
    """The upload of a widget as a stored file; ``None`` where it has none.

    Args:
        file: what the widget returned.
        key: of the widget.
        role: what the file is for.

    Raises:
        RunError: it cannot be stored, or there is no room for it.
        RoleError: whoever sits at this browser reads the open review.
    """

    def keep(upload: UploadedFile) -> StoredFile:
        session.check_may_change()
        return session.keep_file(upload.getvalue(), upload.name, role)

    return _read_once(file, key, keep)


def content(file: UploadedFile | None, key: str, what: str) -> tuple[bytes, str] | None:
    """Content and name of a small upload of a widget; ``None`` where it has none.

    Args:
        file: what the widget returned.
        key: of the widget.
        what: it should be: ``a schema file``.

    Raises:
        InputError: it is larger than 5 MB.
    """

    def read(upload: UploadedFile) -> tuple[bytes, str]:
        if upload.size > MAX_CONTENT_BYTES:
            raise InputError(
                f"{what.capitalize()} must be at most {MAX_CONTENT_BYTES // 1_000_000} MB, '{upload.name[:60]}' is "
                "larger. Is it the CSV file?"
            )
        return upload.getvalue(), upload.name

    return _read_once(file, key, read)


def _read_once(file: UploadedFile | None, key: str, read: Callable[[UploadedFile], T]) -> T | None:
    known: dict[str, tuple[str, T | EvenhandError]] = st.session_state.setdefault(_READ, {})
    widget = key.rpartition("_")[0]  # its key has a number, which is another when it is emptied
    shown = file if file is not None else st.session_state.get(key)
    file_id = shown.file_id if file is not None or isinstance(shown, DeletedFile) else None
    if widget in known and known[widget][0] != file_id:
        del known[widget]
    if file is not None and widget not in known:
        try:
            if file.type == NO_ROOM:
                raise InputError("This server reads as many uploads as it can. Drop the file again in a minute.")
            known[widget] = file.file_id, read(file)
        except EvenhandError as error:
            known[widget] = file.file_id, error.with_traceback(None)
        _give_up(file, key)
    if widget not in known:
        return None
    found = known[widget][1]
    if isinstance(found, EvenhandError):
        raise found.with_traceback(None)
    return found


def _give_up(file: UploadedFile, key: str) -> None:
    """Have nobody keep the bytes: neither the server's manager, nor the widget's value, of which the file is a copy."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
    for each in (file, st.session_state.get(key)):
        if isinstance(each, UploadedFile):
            each.seek(0)
            each.truncate()


@contextmanager
def refused_once(name: str, uploads: object) -> Iterator[None]:
    """What is refused of uploads is said again as long as they are the same, without reading them anew.

    Args:
        name: of what they are for.
        uploads: all that the refusal depends on.
    """
    refused: dict[str, tuple[object, EvenhandError]] = st.session_state.setdefault(_REFUSED, {})
    if name in refused and refused[name][0] == uploads:
        raise refused[name][1].with_traceback(None)
    refused.pop(name, None)
    try:
        yield
    except EvenhandError as error:
        refused[name] = uploads, error.with_traceback(None)
        raise
