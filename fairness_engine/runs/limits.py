"""How much of a server one person may take: disk, and runs that wait. The person at the machine itself has no limit."""

from __future__ import annotations

from fairness_engine.errors import RunError
from fairness_engine.store.environment import MAX_DISK_VARIABLE, MAX_WAITING_VARIABLE, max_gigabytes, max_waiting
from fairness_engine.store.reviews import LOCAL_OWNER
from fairness_engine.store.store import RunStore

_GIGABYTE = 1_000_000_000


def check_disk(store: RunStore, owner: str, n_more: int = 0) -> None:
    """Whether an owner has room on the disk.

    Args:
        store: of the workspace.
        owner: of reviews; visitors who did not sign in are one.
        n_more: bytes that are to be added.

    Raises:
        RunError: the owner has not.
    """
    if owner == LOCAL_OWNER:
        return
    most = max_gigabytes()
    held = store.bytes_of(owner)
    if held + n_more > most * _GIGABYTE:
        raise RunError(
            f"Your files and runs may take at most {most:,} GB on this server, and take {held / _GIGABYTE:.1f} GB. "
            f"Ask its operator to remove old runs ('runs clean'), or to raise {MAX_DISK_VARIABLE}."
        )


def check_waiting(store: RunStore, owner: str, n_more: int) -> None:
    """Whether an owner may put more runs into the queue.

    Raises:
        RunError: too many wait or work already.
    """
    if owner == LOCAL_OWNER:
        return
    most = max_waiting()
    held = store.n_active_of(owner)
    if held + n_more > most:
        raise RunError(
            f"At most {most:,} of your runs may wait or work at once, got {n_more:,} more beside {held:,}. Wait until "
            f"some have ended, or cancel them; the operator sets {MAX_WAITING_VARIABLE}."
        )
