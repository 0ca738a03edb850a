"""A front door that asks for keys, and callers with keys of their own."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from contract.front_door import FrontDoor, front_door

from mnemolog.access.key import Key, new_key
from mnemolog.access.key_file import edited_keys, write_keys

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    import httpx

    from mnemolog.access.principal import Role


class Asking(Protocol):
    """What sends a request, as httpx does and a DirectDoor."""

    async def request(
        self,
        method: str,
        url: str,
        *,
        json: object = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response: ...


@dataclass(frozen=True)
class Caller:
    """Somebody with a key."""

    http: Asking
    key: Key
    text: str

    async def ask(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None, **query: str
    ) -> httpx.Response:
        sent = {"Authorization": f"Bearer {self.text}"} | dict(headers or {})
        return await self.http.request(method, path, json=body, params=query or None, headers=sent)


class KeyedDoor:
    """A started worker that asks for keys, and the file in which they are."""

    def __init__(self, door: FrontDoor, path: Path) -> None:
        self.path, self.app, self.http, self.worker = path, door.app, door.http, door.worker
        self.asking: Asking = door.http
        """What callers ask by."""

    def caller(self, *roles: Role, tenant: str = "acme", **more: Any) -> Caller:
        """Make a key, and return somebody who has it."""
        key, text = new_key(tenant=tenant, roles=roles, now=datetime.now(UTC), **more)
        with edited_keys(self.path) as keys:
            keys[key.key_id] = key
        return Caller(self.asking, key, text)


@asynccontextmanager
async def keyed_door(folder: Path, **settings: object) -> AsyncIterator[KeyedDoor]:
    """Start a worker whose callers need keys; its file is looked at again for every request."""
    path = folder / "api-keys.json"
    write_keys(path, [])
    async with front_door(folder / "data", api_keys_file=path, **settings) as door:
        yield KeyedDoor(door, path)
