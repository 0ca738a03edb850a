"""Bad requests over HTTP: each is refused with what is wrong, and leaves no trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from contract.front_door import FrontDoor, front_door, turn

from schemas.topics import TOPICS

if TYPE_CHECKING:
    from pathlib import Path


BAD_BODIES: list[tuple[str, bytes, int]] = [
    ("/v1/events", b"", 422),
    ("/v1/events", b"\xff\xfe\x00", 422),
    ("/v1/events", b"[" * 100_000, 422),
    ("/v1/events", b"7", 422),
    ("/v1/events", b'{"type":"TurnRecorded"}', 422),
    ("/v1/events", orjson.dumps(turn("bad", "x") | {"type": "TurnRecorder"}), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x", occurred_at="yesterday")), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x", user_id=["u1"])), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x", user_id="*")), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x", session_id=None)), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x", mood="happy")), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x", context={"weather": "rain"})), 422),
    ("/v1/events", orjson.dumps(turn("bad", "x" * 65_537)), 422),
    ("/v1/events", orjson.dumps(turn("good", "x")) + b"\n{not json}\n" + orjson.dumps(turn("good-2", "x")), 422),
    ("/v1/events", orjson.dumps([turn(f"many-{n}", "x") for n in range(1001)]), 413),
    ("/v1/events", b" " * (8 * 1024 * 1024 + 1), 413),
    ("/v1/conversations", b'{"user_id":"u1","messages":"hello"}', 422),
    ("/v1/conversations", b'{"user_id":"u1","messages":[{"role":"user"}]}', 422),
    ("/v1/conversations", b'{"user_id":"u1","messages":[{"role":"user","content":{"x":1}}]}', 422),
    ("/v1/memories", b'{"user_id":"u1"}', 422),
    ("/v1/memories", b'{"user_id":"u1","content":"x","importance":2}', 422),
    ("/v1/memories", b'{"user_id":"u1","content":"x","kind":"dream"}', 422),
    ("/v1/memories", b'{"user_id":"u1","content":"x","colour":"red"}', 422),
    ("/v1/search", b'{"user_id":"u1","query":5}', 422),
    ("/v1/admin/ticks", b'{"as_of":"soon"}', 422),
    ("/v1/admin/rebuild", b'{"what":"everything"}', 422),
]


async def ends(door: FrontDoor) -> list[int]:
    log = door.worker.log
    return [await log.end(t.name, p) for t in TOPICS for p in range(await log.partitions(t.name))]


async def test_a_bad_request_is_refused_with_what_is_wrong_and_leaves_no_trace(tmp_path: Path):
    async with front_door(tmp_path, decay_policy="off") as door:
        empty = await ends(door)
        for path, body, status in BAD_BODIES:
            headers = {"Content-Type": "application/json"}
            response = await door.http.post(path, content=body, headers=headers)
            assert response.status_code == status, (path, body[:80], response.text)
            assert response.headers["content-type"] == "application/problem+json"
            assert response.json()["detail"], (path, body[:80])
            assert await ends(door) == empty, (path, body[:80])
        accepted = await door.http.post("/v1/events?wait=60", json=turn("fine", "I live in Berlin."))
        assert accepted.json()["accepted"][0]["state"] == "remembered"
