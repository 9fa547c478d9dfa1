"""Signing in and out at the foot of the menu, where the operator named an identity provider."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from streamlit.errors import StreamlitAuthError

from pages.shared.app import session, wording

_DEFAULT = ""
"""Of the settings of a provider that has no name."""


def providers() -> tuple[str, ...]:
    """The identity providers that can be asked, by their names in the server's ``secrets.toml``; one without a name is
    an empty text.
    """
    if not st.secrets.load_if_toml_exists():
        return ()
    auth = st.secrets.get("auth", {})
    named = tuple(name for name, content in auth.items() if isinstance(content, Mapping) and "client_id" in content)
    return (_DEFAULT, *named) if "client_id" in auth else named


def draw() -> None:
    """Who is signed in, by the name that others add this person by, or how to sign in; nothing where nobody can."""
    if session.is_signed_in():
        name = wording.markdown(session.owner())
        signed_in = f"Signed in as {name}"
        if not providers():
            st.caption(signed_in)
            return
        with st.popover(name, type="tertiary", icon=":material/account_circle:", key="signed_in", wrap=False):
            st.caption(signed_in)
            st.button("Sign out", on_click=st.logout, icon=":material/logout:", key="sign_out")
        return
    for name in providers():
        label = f"Sign in with {wording.markdown(name)}" if name else "Sign in"
        icon = ":material/login:"
        if st.button(label, type="tertiary", icon=icon, key=f"sign_in_{name}"):
            _sign_in(name)


def _sign_in(name: str) -> None:
    try:
        st.login(name or None)
    except StreamlitAuthError as error:  # Authlib is missing, or a setting
        st.error(
            "A sign-in needs the extra 'team' (pip install 'evenhand[team]') and a complete section [auth] in the "
            f"server's secrets.toml, got: {wording.markdown(str(error).partition(chr(10))[0])}"
        )
