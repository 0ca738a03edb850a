"""Which worker publishes which events of a request, and that no event is appended before all can be."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest
from support.examples import MONDAY

from mnemolog.publishing.publisher import AcceptedEvent, Conflict, Publisher
from mnemolog.publishing.router import PublishRouter
from schemas.inputs.input_events import parse_event
from schemas.log import Position
from schemas.topics import CONVERSATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mnemolog.cluster.peers import Peers
    from mnemolog.publishing.states import EventStates
    from projections.partitions.shards import Shards
    from schemas.identity import Owner
    from schemas.messages.observations import Observation

HERE, THERE = "anna", "ben"
"""A user of this worker, and one of another."""
URL = "http://other:8420"


class World:
    """One worker and its peer, as far as a router sees them; `calls` are the steps in their order."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.conflicts_here: Mapping[int, Position | str | None] = {}
        self.answer_there: dict[str, Any] = {"items": [{"event_id": "b", "position": "p:1:7"}], "final": True}
        self.router = PublishRouter(
            cast("Shards", self),
            cast("Publisher", self),
            cast("EventStates", None),
            cast("Peers", self),
            suspend_deadline=self.suspend,
        )

    def partition(self, owner: Owner) -> int:
        return 1 if owner.user_id == THERE else 0

    def owner(self, partition: int) -> str | None:
        return URL if partition else None

    async def check(self, _events: Sequence[Observation]) -> None:
        self.calls.append("check here")
        if self.conflicts_here:
            raise Conflict(self.conflicts_here)

    async def publish(self, events: Sequence[Observation], _conversation: object = None) -> list[AcceptedEvent]:
        self.calls.append("publish here")
        return [AcceptedEvent(e.envelope.event_id, Position(CONVERSATIONS.name, 0, 3)) for e in events]

    async def ask(self, url: str, path: str, body: dict[str, Any], seconds: float) -> dict[str, Any]:
        assert (url, path, seconds) == (URL, "/v1/internal/events", body["wait"] + 30)
        self.calls.append("check there" if body["only_check"] else "publish there")
        if body["only_check"]:
            return {"items": [], "final": False, "conflicts": {}}
        return {"conflicts": {}} | self.answer_there

    @contextmanager
    def suspend(self) -> Iterator[None]:
        self.calls.append("suspend")
        yield


def said(event_id: str, user_id: str) -> Observation:
    raw = {"type": "TurnRecorded", "user_id": user_id, "session_id": "s", "role": "user", "content": event_id}
    return parse_event(raw, tenant="default", accepted_at=MONDAY, event_id=event_id)


async def test_events_of_this_worker_are_published_without_a_check_before():
    world = World()
    published = await world.router.publish([said("a", HERE)], 0)
    assert published.items == [{"event_id": "a", "position": f"{CONVERSATIONS.name}:0:3"}]
    assert (published.is_final, world.calls) == (False, ["publish here"])


async def test_events_of_two_workers_are_checked_at_both_before_one_is_appended():
    world = World()
    published = await world.router.publish([said("b", THERE), said("a", HERE)], 0)
    assert [item["event_id"] for item in published.items] == ["b", "a"]
    assert sorted(world.calls[:2]) == ["check here", "check there"]
    assert sorted(world.calls[2:]) == ["publish here", "publish there"]


async def test_a_conflict_names_the_place_in_the_whole_request_and_nothing_is_appended():
    world = World()
    world.conflicts_here = {0: Position(CONVERSATIONS.name, 0, 1)}
    with pytest.raises(Conflict) as refused:
        await world.router.publish([said("b", THERE), said("a", HERE)], 0)
    assert refused.value.places == {1: Position(CONVERSATIONS.name, 0, 1)}
    assert "publish there" not in world.calls
    assert "publish here" not in world.calls


async def test_a_conflict_at_another_worker_names_the_place_in_the_whole_request():
    world = World()
    world.answer_there = {"items": [], "final": False, "conflicts": {"0": "p:1:2"}}
    with pytest.raises(Conflict) as refused:
        await world.router.publish([said("a", HERE), said("b", THERE)], 0)
    assert refused.value.places == {1: "p:1:2"}


async def test_the_deadline_is_suspended_only_while_a_caller_waits_for_another_worker():
    world = World()
    await world.router.publish([said("b", THERE)], 0)
    assert world.calls == ["publish there"]
    assert (await world.router.publish([said("b", THERE)], 2.5)).is_final
    assert world.calls[1:] == ["suspend", "publish there"]
