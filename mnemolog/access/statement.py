"""Statements: a principal as text, which one worker sends to another together with a proof."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from mnemolog.access.principal import Principal, Role

VALID_SECONDS: Final = 60.0
"""How long a statement is valid. Each forwarded request carries a new one."""
_ROLES: Final = frozenset(Role)


class NoStatement(ValueError):
    """The text is not a statement, or has expired."""


class _Stated(BaseModel):
    """The fields of a statement. Fields of a newer version are ignored, so they cannot extend a right here."""

    model_config = ConfigDict(frozen=True)

    tenant: str
    roles: tuple[str, ...]
    key_id: str | None
    users: tuple[str, ...] | None
    agents: tuple[str, ...] | None
    until: float


def write_statement(principal: Principal, now: float) -> str:
    """Return a principal as URL-safe Base64, valid for VALID_SECONDS from `now` (seconds since 1970)."""
    stated = _Stated(
        tenant=principal.tenant,
        roles=tuple(sorted(principal.roles)),
        key_id=principal.key_id,
        users=principal.users,
        agents=principal.agents,
        until=now + VALID_SECONDS,
    )
    return urlsafe_b64encode(stated.model_dump_json().encode()).decode()


def read_statement(text: str, now: float) -> Principal:
    """Return the principal of a statement that is valid at `now`. Raises NoStatement."""
    try:
        stated = _Stated.model_validate(orjson.loads(urlsafe_b64decode(text)))
    except (ValidationError, ValueError) as error:
        raise NoStatement("the principal cannot be read") from error
    if now > stated.until:
        raise NoStatement(f"the principal was stated {now - stated.until + VALID_SECONDS:.0f} s ago by this clock")
    return Principal(
        tenant=stated.tenant,
        roles=frozenset(Role(role) for role in stated.roles if role in _ROLES),
        key_id=stated.key_id,
        users=stated.users,
        agents=stated.agents,
    )
