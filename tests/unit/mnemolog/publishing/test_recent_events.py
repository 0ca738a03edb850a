"""What a worker appended itself it knows before its shard has folded it; what others did, only the fold can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contract.front_door import front_door, turn
from support.examples import MONDAY

from mnemolog.publishing.recent_events import MOST_EVENTS, Unfolded
from schemas import codec
from schemas.identity import Owner
from schemas.inputs.input_events import parse_event
from schemas.log import NewRecord, Position
from schemas.topics import CONVERSATIONS

if TYPE_CHECKING:
    from pathlib import Path

OWNER = Owner("default", "u1")
TOPIC = CONVERSATIONS.name


def appended(*offsets: int) -> Unfolded:
    unfolded = Unfolded()
    for offset in offsets:
        unfolded.add((OWNER, f"e-{offset}"), b"digest", Position(TOPIC, 0, offset))
    return unfolded


def test_a_run_from_where_the_shard_is_to_the_end_of_the_log_needs_no_fold():
    unfolded = appended(3, 4, 5)
    assert unfolded.bridges(TOPIC, 0, 3, 6)
    assert unfolded.bridges(TOPIC, 0, 5, 6)
    assert unfolded.get(0, (OWNER, "e-4")) == (b"digest", Position(TOPIC, 0, 4))
    assert unfolded.get(1, (OWNER, "e-4")) is None


def test_a_record_of_somebody_else_anywhere_wants_the_fold():
    assert not appended(3, 4, 5).bridges(TOPIC, 0, 2, 6)  # before
    assert not appended(3, 5).bridges(TOPIC, 0, 3, 6)  # between
    assert not appended(3, 4).bridges(TOPIC, 0, 3, 6)  # behind


def test_after_a_fold_nothing_is_known_here_any_more():
    for folded, end in ((6, 6), (2, 6)):
        unfolded = appended(3, 4, 5)
        unfolded.bridges(TOPIC, 0, folded, end)
        assert unfolded.get(0, (OWNER, "e-4")) is None


def test_a_long_run_is_folded_after_all():
    assert appended(*range(MOST_EVENTS - 1)).bridges(TOPIC, 0, 0, MOST_EVENTS - 1)
    assert not appended(*range(MOST_EVENTS)).bridges(TOPIC, 0, 0, MOST_EVENTS)


async def test_an_event_that_another_producer_appended_is_the_first_one(tmp_path: Path):
    async with front_door(tmp_path, partitions=1) as door:
        await door.post("/v1/events", turn("mine", "I live in Berlin."))
        foreign = turn("theirs", "I live in Bern.")
        message = parse_event(foreign, tenant="default", accepted_at=MONDAY, event_id="theirs")
        record = NewRecord(topic=TOPIC, partition=0, key=OWNER.key, value=codec.encode(message))
        [there] = await door.worker.log.append([record])
        again = await door.post("/v1/events", [turn("mine", "I live in Berlin."), foreign])
        assert [item["position"] for item in again.json()["accepted"]] == [f"{TOPIC}:0:0", str(there.position)]
        assert await door.worker.log.end(TOPIC, 0) == 2
