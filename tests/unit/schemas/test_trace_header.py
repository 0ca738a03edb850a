"""The seam of telemetry: nothing is done, and nothing is in a record, where nobody listens."""

from __future__ import annotations

from support.tables import each

from schemas import telemetry
from schemas.log import NewRecord
from schemas.messages.dead_letters import SENT_BACK_FROM, headers_in_clear

TRACEPARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
RECORD = NewRecord(topic="mem.inbox", partition=0, key=b"k", value=b"v", headers=(("ce_id", b"1"),))


def test_where_nobody_listens_a_record_is_the_same():
    records = [RECORD]
    with telemetry.span("work") as span:
        assert telemetry.with_trace(records) is records
        assert span.traceparent is None
    assert telemetry.carried((("traceparent", TRACEPARENT),)) is None
    assert telemetry.outgoing() == {}
    assert telemetry.headers_of(None) == ()


def test_where_nobody_listens_no_words_are_put_together():
    def words() -> dict[str, str]:
        raise AssertionError("nobody wants them")

    telemetry.current().reveal(words)


@each(
    "value",
    [b"", b"likes tea", TRACEPARENT + b"-likes tea", TRACEPARENT.upper(), TRACEPARENT + b"\n", b"00-\xff"],
)
def test_a_sealed_record_keeps_no_header_that_only_claims_to_be_a_trace(value: bytes):
    assert headers_in_clear((("traceparent", value), ("ce_id", b"1"))) == ()


def test_a_sealed_record_keeps_its_place_and_its_trace():
    kept = ((SENT_BACK_FROM, b"t:0:1"), ("traceparent", TRACEPARENT))
    assert headers_in_clear((*kept, ("tracestate", b"vendor=words"))) == kept
