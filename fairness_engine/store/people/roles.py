"""What a person may do to a review, and when two names are of one person."""

from __future__ import annotations

from enum import StrEnum

from fairness_engine.errors import SettingError, cut

LOCAL_OWNER = "local"
"""Of reviews made on this machine, by whoever sits at it."""
UNLISTED_OWNER = "unlisted"
"""Of reviews made on a server that others reach without signing in: found by their link only."""
NOBODY = (LOCAL_OWNER, UNLISTED_OWNER)
"""Owners that are no person who signed in: whoever has the link of such a review may change it."""
MAX_NAME = 200


class Role(StrEnum):
    """Of a person in a review, the one who may most first."""

    OWNER = "owner"
    """Made it."""
    REVIEWER = "reviewer"
    """Does all that the owner does, but to delete or archive the review, and to say who is in it."""
    READER = "reader"
    """Sees everything and saves copies of it; changes nothing."""

    @property
    def may_change(self) -> bool:
        """Whether runs are started and stopped, and anything of the review is written."""
        return self is not Role.READER


def name_of(person: str) -> str:
    """A person's name as it is compared: without blanks around it; of an e-mail address, which is typed by hand, with
    small letters.

    Of other names (an identity provider's number for a person) the case counts, and of letters beyond A to Z always:
    two that fold into one may be two people's.
    """
    name = person.strip()
    return name.encode(errors="surrogatepass").lower().decode(errors="surrogatepass") if "@" in name else name


def typed_name(person: str) -> str:
    """The name of a person whom somebody wants to add.

    Raises:
        SettingError: it is nobody's.
    """
    name = name_of(person)
    if not 0 < len(name) <= MAX_NAME or not name.isprintable() or name in NOBODY:
        raise SettingError(
            f"A person is named as they sign in, as by an e-mail address of at most {MAX_NAME} characters, got "
            f"'{cut(name)}'. Ask them for the name at the foot of their menu."
        )
    return name
