"""Batches of lines: what the server refuses is told by its line, the rest is accepted, and an outage is waited out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import orjson
import pytest

from mnemolog import AsyncClient, Unavailable
from mnemolog.cli.lines.event_lines import BadLine, EventLine
from mnemolog.cli.lines.publisher import MAX_BATCH_EVENTS, LinePublisher

if TYPE_CHECKING:
    from collections.abc import Sequence


class Server:
    """Accepts events whose id does not begin with `bad`; says which it refuses, or not."""

    def __init__(self, *, names_places: bool = True, outages: int = 0) -> None:
        self.accepted: list[str] = []
        self.requests: list[int] = []
        self._names_places = names_places
        self._outages = outages

    def __call__(self, request: httpx.Request) -> httpx.Response:
        events = orjson.loads(request.content)
        self.requests.append(len(events))
        if self._outages:
            self._outages -= 1
            return httpx.Response(503, json={"detail": "busy"})
        bad = [n for n, event in enumerate(events) if event["event_id"].startswith("bad")]
        if bad:
            faults = [{"path": f"$[{n}].event_id", "message": "was accepted before"} for n in bad[:100]]
            badly = [n for n in bad if events[n]["event_id"].startswith("badly")]
            faults += [{"path": f"$[{n}].role", "message": "must be text"} for n in badly]
            problem: dict[str, Any] = {"detail": "no", "errors": faults if self._names_places else []}
            return httpx.Response(409, json=problem)
        self.accepted += [event["event_id"] for event in events]
        told = ["not taken" if event["event_id"].startswith("late") else "taken" for event in events]
        return httpx.Response(202, json={"accepted": told})


async def publish(server: Server, ids: list[str], **settings: Any) -> tuple[LinePublisher, list[BadLine]]:
    refused: list[BadLine] = []
    transport = httpx.MockTransport(server)
    async with AsyncClient("http://mnemolog", retries=0, transport=transport) as client:

        async def send(lines: Sequence[EventLine]) -> dict[int, str]:
            taken = await client.publish([line.event for line in lines])
            return {place: "too many" for place, one in enumerate(taken["accepted"]) if one == "not taken"}

        publisher = LinePublisher(send, refused.append, lambda _: None, **settings)
        for number, name in enumerate(ids, 1):
            await publisher.take(EventLine("file", number, {"event_id": name}, 20, not name.startswith("derived")))
        await publisher.flush()
    return publisher, refused


async def test_lines_go_in_batches_and_in_order() -> None:
    server, ids = Server(), [f"t-{n}" for n in range(MAX_BATCH_EVENTS + 1)]
    publisher, refused = await publish(server, ids)
    assert server.requests == [MAX_BATCH_EVENTS, 1]
    assert server.accepted == ids
    assert (publisher.accepted, refused) == (len(ids), [])
    assert publisher.reached == f"file:{len(ids)}"


async def test_lines_with_ids_and_lines_without_go_apart() -> None:
    server, ids = Server(), ["t-1", "t-2", "derived-1", "derived-2", "t-3"]
    await publish(server, ids)
    assert server.requests == [2, 2, 1]
    assert server.accepted == ids


async def test_what_is_refused_is_told_by_its_line_and_the_rest_is_sent_again() -> None:
    server = Server()
    publisher, refused = await publish(server, ["t-1", "bad-1", "t-2", "bad-2"])
    assert server.accepted == ["t-1", "t-2"]
    assert [(bad.line, bad.error) for bad in refused] == [
        (2, "$.event_id: was accepted before"),
        (4, "$.event_id: was accepted before"),
    ]
    assert publisher.accepted == 2


async def test_all_faults_of_a_line_are_told() -> None:
    _, refused = await publish(Server(), ["t-1", "badly-1"])
    assert [bad.error for bad in refused] == ["$.event_id: was accepted before; $.role: must be text"]


async def test_more_refusals_than_an_answer_names_are_all_found() -> None:
    server = Server()
    _, refused = await publish(server, [f"bad-{n}" for n in range(250)] + ["t-1"])
    assert len(refused) == 250
    assert server.accepted == ["t-1"]


async def test_a_refusal_that_names_no_place_is_narrowed_down() -> None:
    server = Server(names_places=False)
    _, refused = await publish(server, ["t-1", "t-2", "bad-1", "t-3"])
    assert [bad.line for bad in refused] == [3]
    assert server.accepted == ["t-1", "t-2", "t-3"]


async def test_an_outage_is_waited_out() -> None:
    server = Server(outages=1)
    publisher, _ = await publish(server, ["t-1"])
    assert publisher.accepted == 1


async def test_an_outage_without_end_is_the_callers() -> None:
    with pytest.raises(Unavailable, match="busy"):
        await publish(Server(outages=99), ["t-1"], max_outage_seconds=0.0)


async def test_what_an_answer_did_not_take_is_told_by_its_line() -> None:
    publisher, refused = await publish(Server(), ["t-1", "late-2", "t-3"])
    assert (publisher.accepted, refused) == (2, [BadLine("file", 2, "too many")])
