"""Limits of keys: requests a second, open streams, events and model tokens a day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.tables import each

from mnemolog.access.key import InvalidKey, Key, Limits, new_key, read_key
from mnemolog.access.principal import Principal, Role
from mnemolog.access.rates import Rates
from mnemolog.access.usage import Usage
from mnemolog.access.verifier import TooMany
from schemas.messages.envelope import Envelope
from schemas.messages.inbox import ExtractionRejected
from streams.extraction.protocol import Piece, Window

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


def key_with(**limits: float) -> Key:
    return new_key(tenant="acme", roles=[Role.WRITE], now=NOON, limits=Limits(**limits))[0]  # type: ignore[arg-type]


def granted(rates: Rates, key: Key, asked: int) -> int:
    done = 0
    for _ in range(asked):
        try:
            rates.take_request(key)
        except TooMany:
            continue
        done += 1
    return done


def test_what_a_request_makes_within_is_never_refused_and_has_the_next_wait():
    clock = Clock()
    rates, key = Rates(clock=clock.monotonic), key_with(requests_per_second=2)
    rates.take_request(key)
    for _ in range(10):
        rates.add_request(key)
    clock.seconds = 4.9
    assert granted(rates, key, 1) == 0
    clock.seconds = 5.0
    assert granted(rates, key, 2) == 1
    without = key_with()
    rates.add_request(without)
    assert granted(rates, without, 50) == 50


@pytest.mark.parametrize(("workers", "share"), [(1, 10), (2, 5), (100, 1)])
def test_each_worker_grants_its_share_of_a_second(workers: int, share: int):
    clock = Clock()
    rates, key = Rates(lambda: workers, clock.monotonic), key_with(requests_per_second=10)
    assert granted(rates, key, 50) == share
    clock.seconds = 1.0
    assert granted(rates, key, 50) == share


def test_a_key_without_limits_may_do_what_it_likes():
    rates, key = Rates(), key_with()
    assert granted(rates, key, 1000) == 1000


def test_so_many_streams_may_be_open_at_a_time():
    rates, key = Rates(), key_with(streams=2)
    with rates.stream(key):
        with rates.stream(key), pytest.raises(TooMany), rates.stream(key):
            pass
        with rates.stream(key):
            pass


def test_a_quota_is_of_a_day_and_survives_a_restart(tmp_path: Path):
    clock, key = Clock(), key_with(events_per_day=10)
    usage = Usage(tmp_path / "usage.json", clock)
    usage.take(key, 8)
    usage.save()
    again = Usage(tmp_path / "usage.json", clock)
    with pytest.raises(TooMany) as refused:
        again.take(key, 3)
    assert refused.value.seconds == 12 * 3600
    again.take(key, 2)
    clock.seconds = 12 * 3600
    again.take(key, 10)


async def test_what_other_workers_accepted_counts(tmp_path: Path):
    clock, key = Clock(), key_with(events_per_day=10)
    here, there = Usage(tmp_path / "here.json", clock), Usage(tmp_path / "there.json", clock)
    there.take(key, 7)
    here.count_others([await there.counts(), {"day": "2026-01-04", "events": {key.key_id: 100}}])
    here.take(key, 3)
    with pytest.raises(TooMany):
        here.take(key, 1)


def answer_of(tokens_in: int, tokens_out: int) -> ExtractionRejected:
    envelope = Envelope(event_id="x", tenant="acme", user_id="u", occurred_at=NOON)
    return ExtractionRejected(
        envelope=envelope,
        model="m",
        prompt_hash="p",
        reason="r",
        answer=None,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        covered=[],
    )


def window_of(*texts: tuple[str | None, str]) -> Window:
    """Return a window of turns, each of the key that sent it."""
    pieces = [
        Piece(
            piece_id=f"t{number}#0",
            event_id=f"t{number}",
            speaker="user",
            text=text,
            occurred_at=NOON,
            recorded_at=NOON,
            by=key_id,
        )
        for number, (key_id, text) in enumerate(texts)
    ]
    return Window(
        tenant="acme",
        user_id="u",
        agent_id=None,
        session_id="s",
        source_type="chat",
        source_ref="s",
        pieces=tuple(pieces),
    )


async def test_what_the_model_took_for_a_key_ends_what_it_publishes_that_day(tmp_path: Path):
    clock, key = Clock(), key_with(model_tokens_per_day=100)
    here, there = Usage(tmp_path / "here.json", clock), Usage(tmp_path / "there.json", clock)
    here.spend(answer_of(50, 9), window_of((key.key_id, "hello")))
    here.spend(answer_of(500, 0), window_of((None, "hello")))
    here.take(key, 1000)
    there.spend(answer_of(40, 1), window_of((key.key_id, "hello")))
    here.count_others([await there.counts()])
    with pytest.raises(TooMany, match="100 model tokens of a day"):
        here.take(key, 1)
    here.save()
    again = Usage(tmp_path / "here.json", clock)
    again.count_others([await there.counts()])
    with pytest.raises(TooMany):
        again.take(key, 1)
    clock.seconds = 12 * 3600
    here.take(key, 1)


def test_a_file_of_usage_that_cannot_be_read_counts_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "usage.json").write_text("[")
    Usage(tmp_path / "usage.json", Clock()).take(key_with(events_per_day=1), 1)
    assert "usage.json cannot be read" in caplog.text


@each("limits", [{"streams": 0}, {"streams": "many"}, {"requests_per_second": -1}, {"meals": 3}])
def test_a_limit_that_is_none_is_refused(limits: dict[str, object]):
    with pytest.raises(InvalidKey):
        read_key(key_with().as_json() | {"limits": limits})


@each(
    ("users", "only"),
    [(None, None), (("ana",), "ana"), (("ana", "ben"), None), (("a*",), None), (("a?",), None)],
)
def test_a_key_for_one_user_names_it(users: tuple[str, ...] | None, only: str | None):
    assert Principal("acme", frozenset(Role), "k", users).only_user == only


async def test_keys_that_take_turns_in_a_window_each_pay_for_what_they_sent(tmp_path: Path):
    usage, first, second = Usage(tmp_path / "usage.json", Clock()), key_with(), key_with()
    usage.spend(answer_of(90, 11), window_of((first.key_id, "a" * 30), (second.key_id, "b" * 10), (None, "")))
    usage.spend(answer_of(0, 0), window_of((first.key_id, "a")))
    assert (await usage.counts())["tokens"] == {first.key_id: 74, second.key_id: 25}


async def test_a_key_that_shares_its_windows_meets_its_quota_too(tmp_path: Path):
    usage, key, other = Usage(tmp_path / "usage.json", Clock()), key_with(model_tokens_per_day=100), key_with()
    for _ in range(2):
        usage.take(key, 1)
        usage.spend(answer_of(100, 20), window_of((key.key_id, "mine"), (other.key_id, "hers")))
    with pytest.raises(TooMany, match="100 model tokens of a day"):
        usage.take(key, 1)
