"""The verifier: one slow hash for a key, none for a key that is known, and few for who guesses."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from mnemolog.access import key as keys_module
from mnemolog.access.failures import AT_ONCE, EVERY_SECONDS, Failures
from mnemolog.access.key import Key, new_key
from mnemolog.access.key_file import KeyFile, write_keys
from mnemolog.access.principal import Role
from mnemolog.access.verifier import NoKey, TooMany, Verifier

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 5, tzinfo=UTC)
HERE = "203.0.113.1"
UNKNOWN = "mnl_000000000000_" + "A" * 43


class Times:
    """Both clocks, moved by a test, and how many hashes were made."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.hashes = 0

    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    times, hashed = Times(), keys_module._hash

    def counted(text: str, salt: bytes) -> bytes:
        times.hashes += 1
        return hashed(text, salt)

    monkeypatch.setattr(keys_module, "_hash", counted)
    return times


def made(tmp_path: Path, times: Times, **more: Any) -> tuple[Path, Verifier, Key, str]:
    path = tmp_path / "keys.json"
    key, text = new_key(tenant="acme", roles=[Role.READ], now=NOW, **more)
    write_keys(path, [key])
    verifier = Verifier(KeyFile(path, times.monotonic), times, times.monotonic)
    times.hashes = 0
    return path, verifier, key, text


async def test_a_key_is_hashed_once(tmp_path: Path, times: Times):
    """So a stranger who guesses at it, from the address of a proxy, does not keep out who has it."""
    _, verifier, key, text = made(tmp_path, times)
    assert [await verifier.verify(text, HERE) for _ in range(20)] == [key] * 20
    assert times.hashes == 1
    for _ in range(20):
        with pytest.raises((NoKey, TooMany)):
            await verifier.verify(text[:-1] + ("A" if text[-1] != "A" else "B"), HERE)
    times.seconds, times.hashes = 3_600.0, 0
    assert await verifier.verify(text, HERE) == key
    assert times.hashes == 0


async def test_requests_at_the_same_time_share_the_hash(tmp_path: Path, times: Times):
    _, verifier, key, text = made(tmp_path, times)
    assert await asyncio.gather(*(verifier.verify(text, HERE) for _ in range(100))) == [key] * 100
    assert times.hashes == 1


async def test_a_revoked_key_is_refused_when_the_file_is_read_again(tmp_path: Path, times: Times):
    path, verifier, _, text = made(tmp_path, times)
    await verifier.verify(text, HERE)
    write_keys(path, [])
    times.seconds = 1.0
    with pytest.raises(NoKey):
        await verifier.verify(text, HERE)


async def test_a_key_whose_entry_changed_allows_what_the_file_says_now(tmp_path: Path, times: Times):
    path, verifier, key, text = made(tmp_path, times)
    await verifier.verify(text, HERE)
    write_keys(path, [replace(key, tenant="other")])
    times.seconds = 1.0
    assert (await verifier.verify(text, HERE)).tenant == "other"


async def test_an_expired_key_is_refused_also_while_it_is_remembered(tmp_path: Path, times: Times):
    _, verifier, _, text = made(tmp_path, times, expires=NOW + timedelta(seconds=5))
    await verifier.verify(text, HERE)
    times.seconds = 5.0
    with pytest.raises(NoKey, match="expired"):
        await verifier.verify(text, HERE)


@pytest.mark.parametrize("kind", ["unknown", "wrong"])
async def test_who_guesses_is_hashed_for_a_few_times_and_then_waits(tmp_path: Path, times: Times, kind: str):
    _, verifier, _, text = made(tmp_path, times)
    guess = UNKNOWN if kind == "unknown" else text[:-1] + ("A" if text[-1] != "A" else "B")
    for _ in range(AT_ONCE):
        with pytest.raises(NoKey):
            await verifier.verify(guess, HERE)
    for _ in range(50):
        with pytest.raises(TooMany) as refused:
            await verifier.verify(guess, HERE)
    assert times.hashes == AT_ONCE
    assert 0 < refused.value.seconds <= EVERY_SECONDS
    assert await verifier.verify(text, "203.0.113.2")  # another address is not slowed down
    times.seconds += EVERY_SECONDS
    with pytest.raises(NoKey):
        await verifier.verify(guess, HERE)


async def test_an_id_that_a_key_has_is_answered_as_one_that_none_has(tmp_path: Path, times: Times):
    """Also when the address has invented many ids before."""

    async def answers(guess: str) -> list[tuple[type[Exception], str, bool]]:
        found = []
        for _ in range(AT_ONCE + 2):
            began = time.perf_counter()
            with pytest.raises((NoKey, TooMany)) as refused:
                await verifier.verify(guess, HERE)
            took_a_hash = refused.type is NoKey and time.perf_counter() - began > 0.005
            found.append((refused.type, str(refused.value), took_a_hash))
        return found

    _, verifier, _, text = made(tmp_path, times)
    for number in range(AT_ONCE + 5):
        with pytest.raises(NoKey):
            await verifier.verify(f"mnl_{number:012x}_" + "A" * 43, HERE)
    assert times.hashes == AT_ONCE  # what is invented takes no thread for long
    wrong = text[:-1] + ("A" if text[-1] != "A" else "B")
    known, unknown = await answers(wrong), await answers("mnl_ffffffffffff_" + "A" * 43)
    assert known == unknown
    assert [kind for kind, _, _ in known] == [NoKey] * AT_ONCE + [TooMany] * 2
    assert await verifier.verify(text, "203.0.113.2")


@pytest.mark.parametrize("text", ["", "mnl_", "x" * 60, UNKNOWN + "A", UNKNOWN.upper(), "mnl_00000000000_" + "A" * 43])
async def test_what_is_no_key_is_not_hashed(tmp_path: Path, times: Times, text: str):
    _, verifier, _, _ = made(tmp_path, times)
    with pytest.raises(NoKey):
        await verifier.verify(text, HERE)
    assert times.hashes == 0


def test_an_ipv6_caller_is_one_however_many_addresses_it_has():
    failures = Failures(lambda: 0.0)
    for number in range(AT_ONCE):
        failures.add(f"2001:db8::{number:x}", "k")
    assert failures.seconds_to_wait("2001:db8::ffff:1", "k") > 0
    assert failures.seconds_to_wait("2001:db8:0:1::1", "k") == 0
    assert failures.seconds_to_wait("2001:db8::1", "another") == 0  # a proxy's address is that of many callers
