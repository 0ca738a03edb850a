"""The documentation's example of a producer in Avro gives a record that is read as what it says."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from run_snippets import snippets_in

from schemas.inputs.decoding import observation_of_record
from schemas.log import Position, Record
from schemas.messages.observations import TurnRecorded
from schemas.topics import CONVERSATIONS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "publish.md"


def test_what_the_avro_example_publishes_is_the_turn_that_it_says():
    [example] = [snippet for snippet in snippets_in(PAGE) if "schemaless_writer" in snippet.text]
    made: dict[str, Any] = {}
    exec(example.text, made)  # noqa: S102 - our own page
    position, now = Position(CONVERSATIONS.name, 0, 0), datetime.now(UTC)
    message = observation_of_record(Record(position=position, recorded_at=now, key=made["key"], value=made["value"]))
    assert isinstance(message, TurnRecorded)
    assert (message.envelope.event_id, message.envelope.owner.key) == ("k-2", b"default/u7")
    assert (message.content, message.role, message.session_id) == ("I live in Bern.", "user", "s1")
