"""The group of workers as Kafka's coordinator knows it: its members, and the removal of a dead one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson
from aiokafka.errors import KafkaError, UnknownMemberIdError, for_code

from streams.transports.kafka.aiokafka_parts import leave_group

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aiokafka.admin import AIOKafkaAdminClient

GROUP: Final = "mnemolog"
"""The name of Faust's app, which is also that of the group."""
PAUSE_SECONDS: Final = 0.2
_VERSION_BYTES: Final = 2
_COUNT, _LENGTH_OF_NAME = Struct(">i"), Struct(">h")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Member:
    """A worker in the group."""

    member_id: str
    host: str
    url: str | None
    """The URL at which other workers reach it; None while the group rebalances."""


async def members(admin: AIOKafkaAdminClient) -> list[Member]:
    """Return the members, including dead ones whose session has not ended yet. Raises KafkaError."""

    async def describe(coordinator: int) -> list[Member]:
        [response] = await admin.describe_consumer_groups([GROUP], coordinator)
        [group] = response.to_object()["groups"]
        _check(group["error_code"])
        return [_member(one) for one in group["members"]]

    return await _by_coordinator(admin, describe)


async def forget(admin: AIOKafkaAdminClient, member_id: str) -> bool:
    """Remove a member from the group, as if it had left; return whether it was a member. Raises KafkaError."""

    async def leave(coordinator: int) -> bool:
        try:
            _check(await leave_group(admin, GROUP, member_id, coordinator))
        except UnknownMemberIdError:
            return False
        return True

    return await _by_coordinator(admin, leave)


async def _by_coordinator(admin: AIOKafkaAdminClient, request: Callable[[int], Awaitable[_T]]) -> _T:
    """Send a request to the group's coordinator; repeat it while the group has none yet, or another one takes over."""
    while True:
        try:
            return await request(await admin.find_coordinator(GROUP))
        except KafkaError as error:
            if not error.retriable:
                raise
        await asyncio.sleep(PAUSE_SECONDS)


def _check(code: int) -> None:
    if code:
        raise for_code(code)


def _member(description: dict[str, Any]) -> Member:
    url = None
    if description["member_metadata"]:
        user_data = _user_data(description["member_metadata"])
        url = orjson.loads(user_data).get("url") if user_data else None
    return Member(description["member_id"], description["client_host"].lstrip("/"), url)


def _user_data(metadata: bytes) -> bytes:
    """Return the user data in a member's metadata, which follow a version and the names of topics."""
    (topics,) = _COUNT.unpack_from(metadata, _VERSION_BYTES)
    at = _VERSION_BYTES + _COUNT.size
    for _ in range(topics):
        (length,) = _LENGTH_OF_NAME.unpack_from(metadata, at)
        at += _LENGTH_OF_NAME.size + length
    (length,) = _COUNT.unpack_from(metadata, at)
    at += _COUNT.size
    return metadata[at : at + max(length, 0)]  # -1 stands for none
