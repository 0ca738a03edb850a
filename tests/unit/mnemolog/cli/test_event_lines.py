"""JSON Lines become events: bad lines are named, ids that are missing are derived, and nothing is loaded whole."""

from __future__ import annotations

from datetime import UTC, datetime
from io import BytesIO

import orjson

from mnemolog.cli.lines.event_lines import MAX_LINE_BYTES, BadLine, EventLine, event_lines

NOW = datetime(2026, 1, 5, tzinfo=UTC)


def line(content: str = "I love tea.", **more: object) -> bytes:
    fields = {"type": "TurnRecorded", "user_id": "u1", "session_id": "s1", "role": "user", "content": content}
    return orjson.dumps(fields | more)


def read(*lines: bytes) -> list[EventLine | BadLine]:
    return list(event_lines("file", BytesIO(b"\n".join(lines)), NOW))


def ids(*lines: bytes) -> list[str]:
    return [found.event["event_id"] for found in read(*lines) if isinstance(found, EventLine)]


def test_each_bad_line_is_named_and_stops_nobody() -> None:
    lines = [
        line(event_id="t-1"),
        b"{broken",
        line(type="Nonsense"),
        line(colour="red"),
        b"\xff\xfe",
        b"[]",
        line("x" * 70_000),
        line(event_id="t-2"),
    ]
    found = read(*lines)
    assert [f.line for f in found if isinstance(f, EventLine)] == [1, 8]
    errors = {f.line: f.error for f in found if isinstance(f, BadLine)}
    assert sorted(errors) == [2, 3, 4, 5, 6, 7]
    assert "JSON" in errors[2]
    assert "$.type" in errors[3]
    assert "$.colour" in errors[4]
    assert "UTF-8" in errors[5]
    assert "at most 65536" in errors[7]


def test_a_line_without_end_is_skipped_and_the_next_is_read() -> None:
    found = read(b"x" * (3 * MAX_LINE_BYTES), line(event_id="t-1"))
    assert [type(f) for f in found] == [BadLine, EventLine]
    assert found[1].line == 2


def test_blank_lines_a_byte_order_mark_and_windows_line_ends_do_not_count() -> None:
    found = read(b"\xef\xbb\xbf" + line(event_id="t-1") + b"\r", b"", b"  \r", line(event_id="t-2"))
    assert [(f.line, f.event["event_id"]) for f in found if isinstance(f, EventLine)] == [(1, "t-1"), (4, "t-2")]


def test_the_same_file_has_the_same_ids_and_a_line_said_twice_has_two() -> None:
    lines = [line(), line(), line("I love jam.")]
    assert ids(*lines) == ids(*lines)
    assert len(set(ids(*lines))) == 3


def test_it_is_said_which_lines_had_an_id() -> None:
    found = read(line(), line(event_id="t-1"))
    assert [one.is_named for one in found if isinstance(one, EventLine)] == [False, True]


def test_an_id_does_not_depend_on_how_the_line_is_spelt() -> None:
    spelt = b'{"content":"I love tea.", "role":"user","session_id":"s1","user_id":"u1","type":"TurnRecorded"}'
    assert ids(spelt) == ids(line())


def test_json_over_several_lines_is_told_how_to_stand() -> None:
    first = next(event_lines("f", BytesIO(b'{\n  "type": "SessionEnded"\n}'), datetime(2026, 1, 5, tzinfo=UTC)))
    assert isinstance(first, BadLine)
    assert first.error.endswith("put one event on each line")
