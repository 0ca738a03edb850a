"""The metadata that a memory has from the turns that it cites."""

from __future__ import annotations

from datetime import UTC, datetime

import orjson

from schemas.redaction import Redaction, actions_of
from streams.extraction.carried_metadata import MAX_CARRIED_BYTES, carried_metadata
from streams.extraction.protocol import Piece

AT = datetime(2026, 1, 5, tzinfo=UTC)


def piece(**metadata: object) -> Piece:
    return Piece(
        piece_id="e#0",
        event_id="e",
        speaker="user",
        text="x",
        occurred_at=AT,
        recorded_at=AT,
        metadata=orjson.dumps(metadata).decode(),
    )


def carried(*pieces: Piece, redaction: Redaction | None = None) -> object:
    found = carried_metadata(pieces, redaction or Redaction({}))
    return None if found is None else orjson.loads(found)


def test_without_metadata_nothing_is_carried():
    assert carried(piece(), piece()) is None
    assert carried(piece(timezone="UTC", extraction_instructions="Remember all.")) is None


def test_of_two_members_with_one_name_the_later_counts():
    assert carried(piece(a=1, b=1), piece(b={"c": [2]})) == {"a": 1, "b": {"c": [2]}}
    assert carried(piece(b=1), piece(b=2), piece(b=1)) == {"b": 1}


def test_what_makes_it_too_long_is_left_out():
    assert carried(piece(a=1), piece(b="x" * MAX_CARRIED_BYTES), piece(c=3)) == {"a": 1, "c": 3}


def test_what_must_not_be_kept_is_not_carried():
    redaction = Redaction(actions_of("card=redact"))
    assert "4111" not in str(carried(piece(note="4111 1111 1111 1111"), redaction=redaction))
