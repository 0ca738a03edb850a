"""Times from outside are read by one function: the same forms and the same sentence, wherever they come in."""

from __future__ import annotations

from datetime import UTC, datetime

import click
import pytest
from pydantic import ValidationError
from support.tables import each

from mnemolog.cli.options import instant
from mnemolog.http.models.requests import TickDue
from schemas.inputs.input_events import InvalidEvent, parse_event
from schemas.instant import read_instant, shown_day

MORNING = datetime(2026, 1, 5, 8, tzinfo=UTC)
SENTENCE = "must be an RFC 3339 time with an offset, such as 2026-01-05T08:00:00Z, or a date (its beginning in UTC)"


def of_event(text: object) -> datetime:
    raw = {"type": "SessionEnded", "session_id": "s", "occurred_at": text}
    return parse_event(
        raw, tenant="default", accepted_at=datetime.max.replace(tzinfo=UTC), event_id="e"
    ).envelope.occurred_at


def of_request(text: object) -> datetime:
    return TickDue.model_validate({"as_of": text}).as_of


@each(
    ("text", "meant"),
    [
        ("2026-01-05T08:00:00Z", MORNING),
        ("2026-01-05t08:00:00z", MORNING),
        ("2026-01-05 08:00:00+00:00", MORNING),
        ("2026-01-05T16:00:00+08:00", MORNING),
        ("2026-01-05T08:00:00.250Z", MORNING.replace(microsecond=250_000)),
        ("2026-01-05T08:00:00.123456789Z", MORNING.replace(microsecond=123_456)),
        ("2026-01-05", MORNING.replace(hour=0)),
    ],
)
def test_every_way_in_reads_the_same_forms(text: str, meant: datetime):
    assert [read(text) for read in (read_instant, instant, of_event, of_request)] == [meant] * 4


@each(
    "text",
    ["soon", "", "2026-01-05T08:00:00", "2026-01-05T08:00Z", "20260105", "2026-W01-1", "1767600000", "２０２６-01-05"],
)
def test_every_way_in_refuses_the_rest_with_the_same_sentence(text: str):
    with pytest.raises(ValueError, match="must be") as plain:
        read_instant(text)
    assert str(plain.value) == SENTENCE
    with pytest.raises(click.BadParameter) as typed:
        instant(text)
    assert typed.value.message == f"{text!r} {SENTENCE}"
    with pytest.raises(InvalidEvent) as published:
        of_event(text)
    assert [(f.path, f.message) for f in published.value.faults] == [("$.occurred_at", SENTENCE)]
    with pytest.raises(ValidationError, match="must be an RFC 3339 time"):
        of_request(text)


@pytest.mark.parametrize("text", ["2026-02-30", "2026-01-05T08:00:60Z", "2026-01-05T25:00:00Z"])
def test_what_has_the_form_and_is_no_time_says_so(text: str):
    with pytest.raises(ValueError, match="is not a time: "):
        read_instant(text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_what_lies_outside_the_years_in_utc_says_so(text: str):
    with pytest.raises(ValueError, match="years 1000 to 9000"):
        read_instant(text)


@each("value", [1767600000, 1.5, True, None, MORNING.replace(tzinfo=None), ["2026-01-05"]])
def test_what_is_no_text_is_no_time(value: object):
    with pytest.raises(ValueError, match="RFC 3339"):
        read_instant(value)


@each(
    ("occurred_at", "formed_at", "shown"),
    [
        ("2026-03-10T23:00:00Z", "2026-03-10T07:30:00Z", "2026-03-10T23:00Z"),
        ("2026-03-11T00:00:00.000001Z", "2026-03-10T07:30:00Z", "2026-03-11T00:00Z"),
        ("2026-03-11T00:00:00Z", "2026-03-10T07:30:00Z", "2026-03-11"),
        ("2026-03-10T07:30:00Z", "2026-03-10T07:30:00Z", "2026-03-10"),
        ("2026-03-10T07:30:00Z", None, "2026-03-10"),
    ],
)
def test_a_plan_with_an_hour_is_shown_with_it(occurred_at: str, formed_at: str | None, shown: str):
    assert shown_day(occurred_at, formed_at) == shown
