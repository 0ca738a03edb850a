"""Reading records of the input topics: what tells a repeat from another event."""

from __future__ import annotations

from dataclasses import replace

from support.examples import envelope

from schemas import codec
from schemas.inputs.decoding import digest_of, observation_of_record
from schemas.log import Position, Record
from schemas.messages.observations import TurnRecorded

TURN = TurnRecorded(envelope=envelope("t-1"), session_id="s1", role="user", content="likes tea")
"""As another program writes it to Kafka: without a digest of its body."""


def by(key_id: str) -> TurnRecorded:
    return replace(TURN, envelope=replace(TURN.envelope, by=key_id))


def test_an_observation_is_the_same_whichever_key_it_came_with():
    assert digest_of(by("k-ann")) == digest_of(by("k-ben")) == digest_of(TURN)
    assert digest_of(replace(TURN, content="likes coffee")) != digest_of(TURN)


def test_the_digest_of_an_observation_is_what_it_was_before_envelopes_had_keys():
    """Written down: shards keep it, and a repeat that has another one would be refused."""
    assert digest_of(TURN).hex() == "d834ba9ef2a36cffa5c05740940381bf"


def test_a_key_in_an_avro_record_is_believed():
    """Whoever may write to the topics is trusted, and our own publishers write there too."""
    message = by("k-ann")
    at = TURN.envelope.occurred_at
    place = Position("mnemolog.conversations", 0, 0)
    record = Record(position=place, recorded_at=at, key=TURN.envelope.owner.key, value=codec.encode(message))
    assert observation_of_record(record) == message
