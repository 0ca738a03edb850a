"""Owners of memories, and ids that are derived from their cause, so that repeats get the same id."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha1
from typing import TYPE_CHECKING, Final
from uuid import UUID

if TYPE_CHECKING:
    from datetime import datetime

NAMESPACE: Final = UUID("6a6f3c1e-8f0c-5d0b-9a53-2f6d6e656d6f")
"""All ids of mnemolog are uuid5 in this namespace."""
_NAMESPACE: Final = NAMESPACE.bytes
_VARIANTS: Final = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}
"""The digit for a UUID's variant, by the digit of the hash that it replaces."""

GLOBAL_USER: Final = "*"
"""The reserved user that owns a tenant's global memories."""

DEFAULT_TENANT: Final = "default"
"""The tenant of a server without keys."""

SYSTEM_TENANT: Final = "*"
"""The reserved tenant of ticks: `*/p` is partition p itself."""

OURS: Final = "mnemolog"
"""The source system of exports and shared memories: its memory ids are ours, and differ from user to user."""

MAX_USER_ID_CHARACTERS: Final = 256
_TENANT = re.compile(r"[a-z0-9_-]{1,63}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_STEPS = re.compile(r"(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:$|[/\\?#]|%2f|%5c)", re.IGNORECASE)
"""Parts that a URL parser treats as a step in a path, plain or encoded: `/users/./wake` means `/users/wake`."""
PATH_REFUSED: Final = "is a step in a path, such as `.` and `..`, which leads elsewhere in a URL: choose another"


class InvalidOwner(ValueError):
    """The tenant or the user id cannot own memories; the message says what is wrong."""


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """The owner of memories. The key of every message is `tenant/user_id`, split at the first slash."""

    tenant: str
    user_id: str
    key: bytes = field(init=False, repr=False, compare=False)
    """The message key in UTF-8, computed once: one memory needs it, and its hash, about sixty times."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"{self.tenant}/{self.user_id}".encode())

    def __hash__(self) -> int:
        """Return the hash of the key, which `bytes` caches."""
        return hash(self.key)

    @property
    def is_partition(self) -> bool:
        """Whether this is the reserved owner of a partition's ticks."""
        return self.tenant == SYSTEM_TENANT

    @property
    def is_global(self) -> bool:
        """Whether this is the reserved user of a tenant's global memories."""
        return self.user_id == GLOBAL_USER and self.tenant != SYSTEM_TENANT

    @classmethod
    @lru_cache(maxsize=1_024)
    def of(cls, tenant: str, user_id: str) -> Owner:
        """Return an owner, cached for recent ones: one turn needs it about thirty times."""
        return cls(tenant, user_id)

    @classmethod
    def of_key(cls, key: bytes) -> Owner:
        """Read a message key. Raises InvalidOwner."""
        try:
            tenant, slash, user_id = key.decode().partition("/")
        except UnicodeDecodeError:
            raise InvalidOwner("the message key is not UTF-8: it must be tenant/user_id") from None
        if not slash:
            raise InvalidOwner(f"the message key {tenant!r} has no slash: it must be tenant/user_id")
        return cls.of(tenant, user_id)


def partition_owner(partition: int) -> Owner:
    """Return the reserved owner under which a partition's ticks are decided."""
    return Owner(SYSTEM_TENANT, str(partition))


def check_user_id(user_id: str, *, field: str = "user_id", instead: str = "") -> str:
    """Return the id if new input may use it. Raises InvalidOwner, as `known_user_id` does."""
    if is_path(known_user_id(user_id, field=field, instead=instead)):
        raise InvalidOwner(f"user_id {PATH_REFUSED}")
    return user_id


def known_user_id(user_id: str, *, field: str = "user_id", instead: str = "") -> str:
    """Return the id if a log may hold it. Raises InvalidOwner, which names `field` and an alternative (`instead`)."""
    if not user_id:
        raise InvalidOwner(f"{field} is empty: give the user's id{instead}")
    if user_id == GLOBAL_USER:
        raise InvalidOwner("user_id `*` is reserved: global memories are made with scope=global")
    if len(user_id) > MAX_USER_ID_CHARACTERS:
        raise InvalidOwner(f"user_id has {len(user_id)} characters: at most {MAX_USER_ID_CHARACTERS} are allowed")
    if _CONTROL.search(user_id):
        raise InvalidOwner("user_id has control characters: remove them")
    return user_id


def is_path(name: str) -> bool:
    """Return whether a URL with this name in its path would lead elsewhere."""
    return _STEPS.search(name) is not None


def check_id(name: str) -> str:
    """Return an id that a caller chose, if log lines and URLs can contain it. Raises ValueError."""
    if is_path(no_controls(name)):
        raise ValueError(PATH_REFUSED)
    return name


def no_controls(name: str) -> str:
    """Return a name that a caller chose, if log lines can contain it. Raises ValueError."""
    if _CONTROL.search(name):
        raise ValueError("has control characters: remove them")
    return name


def check_tenant(tenant: str) -> str:
    """Return the tenant's name if it is well formed. Raises InvalidOwner."""
    if not _TENANT.fullmatch(tenant):
        raise InvalidOwner(f"tenant {tenant!r} must match [a-z0-9_-]{{1,63}}")
    return tenant


def derived_id(*cause: object) -> str:
    """Return the uuid5 of the cause's parts; the same cause always has the same id."""
    # The same as `str(uuid5(NAMESPACE, …))` without the intermediate objects: each turn needs several ids.
    spelt = sha1(_NAMESPACE + "\x1f".join(map(str, cause)).encode(), usedforsecurity=False).hexdigest()
    return f"{spelt[:8]}-{spelt[8:12]}-5{spelt[13:16]}-{_VARIANTS[spelt[16]]}{spelt[17:20]}-{spelt[20:32]}"


def extracted_memory_id(owner: Owner, first_piece: str, ordinal: int, model: str, prompt_hash: str) -> str:
    """Return the id of the memory that an extraction forms, derived from its cause and not from its content.

    `ordinal` counts, from 0, the candidates of one answer that cite `first_piece` first.
    """
    return derived_id("memory", owner.tenant, owner.user_id, first_piece, ordinal, model, prompt_hash)


def commanded_memory_id(owner: Owner, command_id: str) -> str:
    """Return the id of the memory that a command forms."""
    return derived_id("memory", owner.tenant, owner.user_id, command_id)


def reminder_id_of(owner: Owner, command_id: str) -> str:
    """Return the id of the reminder that a command schedules."""
    return derived_id("reminder", owner.tenant, owner.user_id, command_id)


def wake_id_of(owner: Owner, cause: str, due_at: datetime) -> str:
    """Return the id of the wake that a reminder or a configuration leads to at a time."""
    return derived_id("wake", owner.tenant, owner.user_id, cause, due_at.isoformat())


def import_id(owner: Owner, source_system: str, source_user: str, source_memory: str) -> str:
    """Return the id of the command that imports a memory from another system for this owner; repeats get the same."""
    return derived_id("import", owner.tenant, owner.user_id, source_system, source_user, source_memory)


def piece_id(event_id: str, number: int) -> str:
    """Return the id of an observation's piece; `number` counts from 0."""
    return f"{event_id}#{number}"


def event_of_piece(piece: str) -> str:
    """Return the id of the observation to which a piece belongs."""
    return piece.rpartition("#")[0]
