"""API keys: their parts, their stored form, and their creation.

The text of a key is `mnl_<id>_<secret>`; the secret is 256 random bits in 43 characters of base64url. Only a scrypt
hash of the whole text is stored, so a reader of the file cannot use the keys.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
from base64 import b64decode, b64encode
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from mnemolog.access.principal import Principal, Role
from schemas.identity import InvalidOwner, check_tenant
from schemas.instant import instant, read_instant

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

_TEXT: Final = re.compile(r"mnl_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_ID: Final = re.compile(r"[0-9a-f]{12}")
_N, _R, _P, _HASH_BYTES, _SALT_BYTES = 2**14, 8, 1, 32, 16
"""The parameters of scrypt: a hash takes about 40 ms and 16 MiB."""


class InvalidKey(ValueError):
    """The description of a key is invalid; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a key; None: unlimited."""

    requests_per_second: float | None = None
    events_per_day: int | None = None
    model_tokens_per_day: int | None = None
    streams: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key as it is stored: its rights, and the hash of its text."""

    key_id: str
    tenant: str
    roles: frozenset[Role]
    salt: bytes = field(repr=False)
    digest: bytes = field(repr=False)
    created: datetime
    expires: datetime | None = None
    users: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    limits: Limits = Limits()

    @property
    def principal(self) -> Principal:
        """The principal that the key identifies."""
        return Principal(self.tenant, self.roles, self.key_id, self.users, self.agents)

    def is_expired(self, now: datetime) -> bool:
        """Return whether the key has expired."""
        return self.expires is not None and now >= self.expires

    def matches(self, text: str) -> bool:
        """Return whether a text is the text of this key. Computes the slow hash."""
        return hmac.compare_digest(_hash(text, self.salt), self.digest)

    def as_json(self) -> dict[str, Any]:
        """Return the key as the file stores it."""
        shown = self.public()
        shown["scrypt"] = {"salt": b64encode(self.salt).decode(), "hash": b64encode(self.digest).decode()}
        return shown

    def public(self) -> dict[str, Any]:
        """Return the fields that a list of keys shows: everything but the hash."""
        limits = {
            "requests_per_second": self.limits.requests_per_second,
            "events_per_day": self.limits.events_per_day,
            "model_tokens_per_day": self.limits.model_tokens_per_day,
            "streams": self.limits.streams,
        }
        return {
            "id": self.key_id,
            "tenant": self.tenant,
            "roles": sorted(self.roles),
            "users": None if self.users is None else list(self.users),
            "agents": None if self.agents is None else list(self.agents),
            "created": instant(self.created),
            "expires": None if self.expires is None else instant(self.expires),
            "limits": {name: value for name, value in limits.items() if value is not None},
        }


def new_key(
    *,
    tenant: str,
    roles: Iterable[Role],
    now: datetime,
    expires: datetime | None = None,
    users: tuple[str, ...] | None = None,
    agents: tuple[str, ...] | None = None,
    limits: Limits | None = None,
) -> tuple[Key, str]:
    """Return a new key and its text, which is not stored anywhere. Raises InvalidKey."""
    key_id = secrets.token_hex(6)
    text = f"mnl_{key_id}_{secrets.token_urlsafe(32)}"
    salt = secrets.token_bytes(_SALT_BYTES)
    key = Key(
        key_id=key_id,
        tenant=tenant,
        roles=frozenset(roles),
        salt=salt,
        digest=_hash(text, salt),
        created=now,
        expires=expires,
        users=users,
        agents=agents,
        limits=limits or Limits(),
    )
    return _checked(key), text


def renewed(key: Key, now: datetime) -> tuple[Key, str]:
    """Return a new key with the rights and the lifetime of another one, and its text."""
    expires = None if key.expires is None else now + (key.expires - key.created)
    made, text = new_key(tenant=key.tenant, roles=key.roles, now=now, expires=expires)
    return replace(made, users=key.users, agents=key.agents, limits=key.limits), text


def id_of(text: str) -> str | None:
    """Return the id in the text of a key, or None if the text is not a key."""
    found = _TEXT.fullmatch(text)
    return found and found[1]


def read_key(entry: Any) -> Key:  # noqa: ANN401 - any JSON
    """Return the key that an entry of the file describes. Raises InvalidKey."""
    try:
        given = dict(entry)
        hashed = given.pop("scrypt")
        key = Key(
            key_id=_text(given.pop("id")),
            tenant=_text(given.pop("tenant")),
            roles=frozenset(Role(role) for role in given.pop("roles")),
            salt=b64decode(hashed["salt"], validate=True),
            digest=b64decode(hashed["hash"], validate=True),
            created=read_instant(given.pop("created")),
            expires=None if given.get("expires") is None else read_instant(given["expires"]),
            users=_texts(given.get("users")),
            agents=_texts(given.get("agents")),
            limits=_limits(given.get("limits") or {}),
        )
        unknown = set(given) - {"expires", "users", "agents", "limits"}
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidKey(f"has no {error}" if isinstance(error, KeyError) else str(error)) from None
    if unknown:  # a limit or restriction that a later version added must not be ignored
        raise InvalidKey(f"has {min(unknown)!r}, which this version does not know")
    if _ID.fullmatch(key.key_id) is None or len(key.digest) != _HASH_BYTES:
        raise InvalidKey("has an id or a hash that is none")
    return _checked(key)


def _checked(key: Key) -> Key:
    try:
        check_tenant(key.tenant)
    except InvalidOwner as error:
        raise InvalidKey(str(error)) from None
    if not key.roles:
        raise InvalidKey(f"a key needs a role: {', '.join(Role)}")
    for what, names in (("user", key.users), ("agent", key.agents)):
        if names is not None and (not names or not all(names)):
            raise InvalidKey(f"a blank {what} allows nothing: name one, or leave it out for all")
    of_all = key.roles & {Role.OPERATOR, Role.METRICS}
    if of_all and (key.users is not None or key.agents is not None):
        raise InvalidKey(f"the role {min(of_all)} is about the whole installation: a key for some users has none")
    return key


def _limits(given: dict[str, Any]) -> Limits:
    limits = Limits(**given)
    for name, value in given.items():
        may_be_part = name == "requests_per_second" and isinstance(value, float) and math.isfinite(value)
        if not (may_be_part or type(value) is int) or not value > 0:
            raise InvalidKey(f"the limit {name} must be a number above 0")
    return limits


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidKey("has an id or a tenant that is no text")
    return value


def _texts(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidKey("users and agents are lists of texts")
    return tuple(value)


def _hash(text: str, salt: bytes) -> bytes:
    return hashlib.scrypt(text.encode(), salt=salt, n=_N, r=_R, p=_P, dklen=_HASH_BYTES)
