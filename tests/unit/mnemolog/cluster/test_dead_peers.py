"""A worker whose machine refuses connections is dead, and the group is told; one that only stays silent is not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from support.free_ports import free_ports

from mnemolog.cluster import dead_peers as module
from mnemolog.cluster.dead_peers import DeadPeers
from schemas.log import LogUnavailable
from streams.transports.kafka.group import Member

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

REFUSED_SECONDS = 0.8


class Group:
    """A group of two, in which the one at `url` may be dead; whoever is forgotten is no member any more."""

    def __init__(self, url: str) -> None:
        self.known: list[Member] = [Member("m1", "127.0.0.1", url + "/"), Member("m2", "127.0.0.1", "http://other:1")]
        self.asked = 0
        self.silent_for = 0

    async def members(self) -> list[Member]:
        """Return the members; without their URLs for the first few times, as while a group rebalances."""
        self.asked += 1
        if self.asked <= self.silent_for:
            return [Member(one.member_id, one.host, None) for one in self.known]
        return self.known

    async def forget_member(self, member_id: str) -> bool:
        """Remove a member."""
        before = len(self.known)
        self.known = [one for one in self.known if one.member_id != member_id]
        return len(self.known) < before

    @property
    def ids(self) -> list[str]:
        """Who is in it."""
        return [one.member_id for one in self.known]


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return where nobody listens; looking at it goes fast."""
    monkeypatch.setattr(module, "REFUSED_SECONDS", REFUSED_SECONDS)
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.02)
    [port] = free_ports(1)
    return f"http://127.0.0.1:{port}"


@pytest.fixture
def group(url: str) -> Group:
    return Group(url)


@pytest_asyncio.fixture
async def dead(group: Group) -> AsyncIterator[DeadPeers]:
    dead = DeadPeers(group)
    yield dead
    await dead.aclose()


async def looked(dead: DeadPeers, url: str) -> None:
    """Have a worker looked at, until that is over."""
    dead.suspect(url)
    dead.suspect(url)
    await asyncio.wait_for(asyncio.gather(*dead._looking.values()), 120)


async def test_a_worker_whose_port_refuses_connections_for_long_enough_is_forgotten(
    dead: DeadPeers, group: Group, url: str
):
    dead.suspect(url)
    await asyncio.sleep(REFUSED_SECONDS / 4)
    assert group.ids == ["m1", "m2"], "it may be about to leave by itself"
    await looked(dead, url)
    assert group.ids == ["m2"]


async def test_it_is_forgotten_as_soon_as_a_group_that_rebalances_says_who_it_is(
    dead: DeadPeers, group: Group, url: str
):
    group.silent_for = 3
    await looked(dead, url)
    assert (group.ids, group.asked) == (["m2"], 4)


async def test_a_worker_that_listens_again_is_left_alone(dead: DeadPeers, group: Group, url: str):
    dead.suspect(url)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", int(url.rpartition(":")[2]))
    await looked(dead, url)
    server.close()
    assert (group.ids, group.asked) == (["m1", "m2"], 0)


async def test_one_that_joins_again_behind_a_closed_port_is_not_thrown_out_again(
    dead: DeadPeers, group: Group, url: str
):
    await looked(dead, url)
    group.known.append(Member("m3", "127.0.0.1", url))
    await looked(dead, url)
    assert group.ids == ["m2", "m3"]


async def test_one_that_was_reached_since_and_dies_again_is_forgotten_again(dead: DeadPeers, group: Group, url: str):
    await looked(dead, url)
    group.known.append(Member("m3", "127.0.0.1", url))
    dead.reached(url)
    await looked(dead, url)
    assert group.ids == ["m2"]


async def test_without_the_broker_the_group_is_left_to_notice_by_itself(dead: DeadPeers, group: Group, url: str):
    async def away() -> list[Member]:
        raise LogUnavailable("the broker does not answer")

    group.members = away  # type: ignore[method-assign]
    await looked(dead, url)
    assert group.ids == ["m1", "m2"]
