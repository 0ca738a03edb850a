"""The group of workers as Kafka's coordinator knows it: who is in it, and having it forget one that is dead."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata
from aiokafka.errors import KafkaError, UnknownMemberIdError, for_code
from aiokafka.protocol.group import LeaveGroupRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aiokafka.admin import AIOKafkaAdminClient

GROUP: Final = "mnemolog"
"""What Faust's app is named, and with it the group."""
PAUSE_SECONDS: Final = 0.2
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Member:
    """A worker in the group."""

    member_id: str
    host: str
    url: str | None
    """Where it says that others reach it; None while the group settles who has which partition."""


async def members(admin: AIOKafkaAdminClient) -> list[Member]:
    """Return who is in the group, those of whom it has not noticed yet that they are dead too. Raises KafkaError."""

    async def ask(coordinator: int) -> list[Member]:
        [answer] = await admin.describe_consumer_groups([GROUP], coordinator)
        [group] = answer.to_object()["groups"]
        _check(group["error_code"])
        return [_member(one) for one in group["members"]]

    return await _by_coordinator(admin, ask)


async def forget(admin: AIOKafkaAdminClient, member_id: str) -> bool:
    """Have the group forget a member, as if it had left; return whether it was in it. Raises KafkaError."""

    async def leave(coordinator: int) -> bool:
        answer = await admin._send_request(LeaveGroupRequest(GROUP, member_id), coordinator)  # noqa: SLF001 - no other way
        try:
            _check(answer.error_code)
        except UnknownMemberIdError:
            return False
        return True

    return await _by_coordinator(admin, leave)


async def _by_coordinator(admin: AIOKafkaAdminClient, ask: Callable[[int], Awaitable[_T]]) -> _T:
    """Ask the group's coordinator; a fresh broker makes it first, and another one may take over."""
    while True:
        try:
            return await ask(await admin.find_coordinator(GROUP))
        except KafkaError as error:
            if not error.retriable:
                raise
        await asyncio.sleep(PAUSE_SECONDS)


def _check(code: int) -> None:
    if code:
        raise for_code(code)


def _member(told: dict[str, Any]) -> Member:
    url = None
    if told["member_metadata"]:
        said = ConsumerProtocolMemberMetadata.decode(told["member_metadata"]).user_data
        url = orjson.loads(said).get("url") if said else None
    return Member(told["member_id"], told["client_host"].lstrip("/"), url)
