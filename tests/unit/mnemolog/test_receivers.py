"""Receivers of webhooks: which addresses are public, and that nothing else is connected to."""

from __future__ import annotations

import asyncio
import socket
import threading
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest
from support.tables import each
from support.webhook_receiver import webhook_receiver

from mnemolog.receivers import AddressRefused, Receivers, is_public, retry_after

if TYPE_CHECKING:
    from collections.abc import Callable


@each("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::"])
def test_addresses_of_the_public_internet(address: str):
    assert is_public(ip_address(address))


@each(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",  # noqa: S104
        "255.255.255.255", "240.0.0.1", "::1", "::", "fe80::1", "fd00::1", "ff02::1", "::ffff:127.0.0.1",
        "::7f00:1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:f5ff:fffe",
        "fec0::1", "192.0.0.192", "168.63.129.16", "::ffff:168.63.129.16",
    ],
)  # fmt: skip
def test_addresses_that_are_not(address: str):
    """Loopback, private, local, shared, clouds' own, reserved and multicast ones, and those that wrap one of them."""
    assert not is_public(ip_address(address))


def meaning(*addresses: str) -> Callable[..., Any]:
    """Return a resolver for which every name means these addresses, one after another with each call."""
    left = list(addresses)

    def resolve(_host: str, port: int, **_: object) -> list[Any]:
        address = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    return resolve


async def test_a_name_that_means_a_private_address_is_refused_at_the_door(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socket, "getaddrinfo", meaning("10.0.0.1"))
    with pytest.raises(AddressRefused, match="private"):
        await Receivers().look_up("https://hooks.example/")


async def test_a_name_that_changes_its_meaning_leads_nowhere(monkeypatch: pytest.MonkeyPatch):
    async with webhook_receiver() as inside:
        monkeypatch.setattr(socket, "getaddrinfo", meaning("8.8.8.8", "127.0.0.1"))
        receivers = Receivers()
        url = f"https://hooks.example:{inside.port}/"
        await receivers.look_up(url)  # now it is public
        with pytest.raises(AddressRefused, match="private"):
            await receivers.post(url, {}, b"{}")
        await receivers.aclose()
        assert inside.came == []


async def test_a_redirect_is_not_followed_and_a_pause_is_heard():
    async with webhook_receiver() as receiver:
        receiver.statuses, receiver.headers = [302, 429], {"Location": f"{receiver.url}&again", "Retry-After": "7"}
        receivers = Receivers(["127.0.0.1"])
        answers = [await receivers.post(receiver.url, {}, b"{}") for _ in range(2)]
        await receivers.aclose()
        assert [(answer.status, answer.retry_after) for answer in answers] == [(302, 7.0), (429, 7.0)]
        assert len(receiver.came) == 2


async def test_receivers_that_do_not_answer_keep_no_other_waiting():
    silent = asyncio.Queue[asyncio.StreamWriter]()

    async def say_nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await silent.put(writer)

    receivers = Receivers(["127.0.0.1"])
    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server, webhook_receiver() as receiver:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        posting = [asyncio.create_task(receivers.post(url, {}, b"{}")) for _ in range(100)]
        async with asyncio.timeout(120):
            writers = [await silent.get() for _ in posting]
            assert (await receivers.post(receiver.url, {}, b"{}")).status == 204
        for task in posting:
            task.cancel()
        await asyncio.gather(*posting, return_exceptions=True)
        await receivers.aclose()
        for writer in writers:
            writer.close()


async def test_a_slow_name_server_keeps_nothing_else_waiting(monkeypatch: pytest.MonkeyPatch):
    answers = threading.Event()
    known = socket.getaddrinfo

    def slow(host: str, *given: Any, **more: Any) -> Any:
        if host == "slow.example":
            answers.wait()
            raise OSError("nobody knows it")
        return known(host, *given, **more)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    receivers = Receivers()
    looking = [asyncio.create_task(receivers.look_up("https://slow.example/")) for _ in range(40)]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(120):
            await asyncio.to_thread(int)  # keys are read so, and files of shards
            assert await asyncio.get_running_loop().getaddrinfo("127.0.0.1", 80)  # and Kafka's brokers are found so
    finally:
        answers.set()
        await asyncio.gather(*looking)
        await receivers.aclose()


@each(
    ("said", "seconds"),
    [
        ("7", 7.0),
        (" 120 ", 120.0),
        ("9" * 5_000, 999_999_999.0),
        ("Tue, 24 Nov 2026 12:01:30 GMT", 90.0),
        ("Tue, 24 Nov 2026 11:00:00 GMT", 0.0),
        ("Tue, 24 Nov 2026 12:01:30", None),
        ("soon", None),
        ("-5", None),
        ("", None),
        ("\u0661", None),
    ],
)
def test_a_retry_after_is_a_number_or_a_date(said: str, seconds: float | None):
    now = datetime(2026, 11, 24, 12, tzinfo=UTC)
    assert retry_after([(b"Retry-After", said.encode())], now) == seconds
    assert retry_after([], now) is None
