"""Webhooks over HTTP: changes come signed, in order, at least once; what a receiver refuses is not lost."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from contract.front_door import FrontDoor, front_door
from contract.keyed_door import keyed_door
from standardwebhooks import Webhook, WebhookVerificationError
from support.webhook_receiver import WebhookReceiver, webhook_receiver

from mnemolog.access import key_file
from mnemolog.access.principal import Role
from mnemolog.extensions.webhooks import deliveries
from mnemolog.extensions.webhooks.part import part_of
from schemas.topics import WEBHOOK_PROGRESS, WEBHOOKS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest_asyncio.fixture
async def receiver() -> AsyncIterator[WebhookReceiver]:
    async with webhook_receiver() as listening:
        yield listening


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch):
    """Look and try again after moments."""
    monkeypatch.setattr(deliveries, "FOLLOW_EVERY_SECONDS", 0.05)
    monkeypatch.setattr(deliveries, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(deliveries, "LONGEST_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(deliveries, "WRITE_EVERY", timedelta(0))


@asynccontextmanager
async def opened(folder: Path, **settings: object) -> AsyncIterator[FrontDoor]:
    async with front_door(folder, webhook_hosts="127.0.0.1", **settings) as door:
        part_of(door.worker).deliveries._first_pause_seconds = 0.05
        yield door


@pytest_asyncio.fixture
async def door(tmp_path: Path) -> AsyncIterator[FrontDoor]:
    async with opened(tmp_path) as one:
        yield one


async def register(door: FrontDoor, receiver: WebhookReceiver, **more: object) -> dict[str, Any]:
    response = await door.post("/v1/webhooks", {"url": receiver.url} | more)
    assert response.status_code == 201, response.text
    webhook: dict[str, Any] = response.json()
    return webhook


async def shown(door: FrontDoor, webhook: dict[str, Any]) -> dict[str, Any]:
    response = await door.get(f"/v1/webhooks/{webhook['webhook_id']}")
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def shown_when(door: FrontDoor, webhook: dict[str, Any], **wanted: object) -> dict[str, Any]:
    """Return a webhook as soon as it is shown so: its progress is written after the receiver has answered."""
    async with asyncio.timeout(120):
        while True:
            state = await shown(door, webhook)
            if state.items() >= wanted.items():
                return state
            await asyncio.sleep(0.02)


async def test_changes_come_as_the_feed_has_them_signed_by_the_secret(door: FrontDoor, receiver: WebhookReceiver):
    await door.remember("was there before", "u1")
    webhook = await register(door, receiver)
    made = [(await door.remember(f"saw a {n}", f"u{n % 3}"))["memory_id"] for n in range(9)]
    await receiver.until(lambda: len(receiver.items) == 9)
    fed = (await door.get("/v1/changes", after=webhook["reached"])).json()["items"]
    for user in ("u0", "u1", "u2"):
        assert [i for i in receiver.items if i["user_id"] == user] == [i for i in fed if i["user_id"] == user]
    assert sorted(item["memory_id"] for item in receiver.items) == sorted(made)
    for delivery in receiver.taken:  # the specification's own library
        assert Webhook(webhook["secret"]).verify(delivery.raw, dict(delivery.headers)) is not None
        with pytest.raises(WebhookVerificationError):
            Webhook("whsec_" + "A" * 32).verify(delivery.raw, dict(delivery.headers))
    state = await shown_when(door, webhook, deliveries=len(receiver.taken))
    assert "secret" not in state
    assert (state["failure"], state["given_up"]) == (None, 0)


async def test_only_what_is_wanted_comes(door: FrontDoor, receiver: WebhookReceiver):
    await register(door, receiver, user_id="u1", types=["MemoryForgotten"])
    memory = await door.remember("likes juice", "u1")
    other = await door.remember("likes juice", "u2")
    for each in (other, memory):
        assert (await door.http.delete(f"/v1/memories/{each['memory_id']}")).status_code == 200
    await receiver.until(lambda: bool(receiver.items))
    [item] = receiver.items
    assert (item["type"], item["memory_id"]) == ("MemoryForgotten", memory["memory_id"])


async def test_what_is_refused_comes_again_under_the_same_id_before_what_follows(
    door: FrontDoor, receiver: WebhookReceiver
):
    receiver.statuses = [500, 302, 429]
    webhook = await register(door, receiver)
    first = await door.remember("saw a fox", "u1")
    await receiver.until(lambda: len(receiver.came) >= 1)
    second = await door.remember("saw a hen", "u1")
    await receiver.until(lambda: len(receiver.items) == 2)
    assert [item["memory_id"] for item in receiver.items] == [first["memory_id"], second["memory_id"]]
    assert len({delivery.delivery_id for delivery in receiver.came[:4]}) == 1
    state = await shown_when(door, webhook, failure=None)
    assert (state["attempts"], state["failing_since"]) == (0, None)


async def test_a_receiver_that_is_away_is_seen(door: FrontDoor, receiver: WebhookReceiver):
    receiver.status = 503
    webhook = await register(door, receiver)
    await door.remember("saw a fox", "u1")
    await receiver.until(lambda: len(receiver.came) >= 2)
    state = await shown_when(door, webhook, failure="status 503")
    assert state["attempts"] >= 1
    assert state["failing_since"] is not None


async def test_after_a_restart_it_goes_on_where_it_was(tmp_path: Path, receiver: WebhookReceiver):
    async with opened(tmp_path) as door:
        webhook = await register(door, receiver)
        await door.remember("saw a fox", "u1")
        await receiver.until(lambda: len(receiver.items) == 1)
        await shown_when(door, webhook, deliveries=1)
        receiver.status = 500
        await door.remember("saw a hen", "u1")
        await receiver.until(lambda: len(receiver.came) >= 2)
    receiver.status = 204
    async with opened(tmp_path) as door:
        await receiver.until(lambda: len(receiver.items) == 2)
        assert [item["memory"]["content"] for item in receiver.items] == ["saw a fox", "saw a hen"]
        assert (await shown(door, webhook))["url"] == receiver.url


async def test_a_delivery_that_is_given_up_is_a_dead_letter_and_comes_when_it_is_sent_back(
    door: FrontDoor, receiver: WebhookReceiver
):
    part_of(door.worker).deliveries._given_up_after = timedelta(0)
    receiver.statuses = [500]
    webhook = await register(door, receiver)
    lost = await door.remember("saw a fox", "u1")
    await receiver.until(lambda: len(receiver.came) == 1)
    kept = await door.remember("saw a hen", "u1")
    await receiver.until(lambda: len(receiver.items) == 1)
    await shown_when(door, webhook, given_up=1)
    [letter] = (await door.get("/v1/admin/dead-letters")).json()["items"]
    assert letter["reason"] == "undelivered"
    assert "saw a fox" not in str(letter)
    sent = await door.post("/v1/admin/dead-letters", {"ids": [letter["id"]]})
    assert sent.status_code == 200, sent.text
    await receiver.until(lambda: len(receiver.items) == 3)
    again = [kept["memory_id"], lost["memory_id"], kept["memory_id"]]  # from the letter on, so in order
    assert [item["memory_id"] for item in receiver.items] == again


async def test_a_replay_begins_where_it_is_told(door: FrontDoor, receiver: WebhookReceiver):
    memory = await door.remember("was there before", "u1")
    webhook = await register(door, receiver)
    path = f"/v1/webhooks/{webhook['webhook_id']}/replay"
    assert (await door.post(path, {"after": None})).status_code == 200
    await receiver.until(lambda: bool(receiver.items))
    assert [item["memory_id"] for item in receiver.items] == [memory["memory_id"]]
    assert (await door.post(path, {"after": webhook["reached"]})).status_code == 200
    last = await door.remember("saw a hen", "u1")
    await receiver.until(lambda: len(receiver.items) == 2)
    assert receiver.items[1]["memory_id"] == last["memory_id"]
    assert (await door.post(path, {"after": "nonsense"})).status_code == 422
    assert (await door.post("/v1/webhooks/none/replay", {"after": None})).status_code == 404


async def test_a_webhook_that_is_removed_gets_nothing_more(door: FrontDoor, receiver: WebhookReceiver):
    webhook = await register(door, receiver)
    await door.remember("saw a fox", "u1")
    await receiver.until(lambda: len(receiver.items) == 1)
    path = f"/v1/webhooks/{webhook['webhook_id']}"
    assert (await door.http.delete(path)).status_code == 200
    assert (await door.http.delete(path)).status_code == 404
    witness = await register(door, receiver, types=["MemoryFormed"])
    await door.remember("saw a hen", "u1")
    await receiver.until(lambda: len(receiver.items) == 2)
    assert [one["webhook_id"] for one in (await door.get("/v1/webhooks")).json()["items"]] == [witness["webhook_id"]]


async def test_words_of_who_is_erased_meanwhile_are_not_sent_and_the_webhook_goes_too(
    door: FrontDoor, receiver: WebhookReceiver
):
    receiver.status = 500
    await register(door, receiver)
    named = await register(door, receiver, user_id="leaves")
    await door.remember("likes perry", "leaves")
    await receiver.until(lambda: len(receiver.came) >= 2)
    assert (await door.http.delete("/v1/users/leaves")).status_code == 200
    assert (await door.get(f"/v1/webhooks/{named['webhook_id']}")).status_code == 404
    receiver.came.clear()
    receiver.status = 204
    last = await door.remember("likes tea", "stays")
    await receiver.until(lambda: last["memory_id"] in {item["memory_id"] for item in receiver.items})
    assert all(b"perry" not in delivery.raw for delivery in receiver.came)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://10.0.0.1/hook", "private"),
        ("https://[::ffff:169.254.169.254]/hook", "private"),
        ("https://[::1]/hook", "private"),
        ("https://localhost/hook", "private"),
        ("https://0x7f000001/hook", "private"),
        ("http://example.com/hook", "https://"),
        ("ftp://example.com/hook", "https://"),
        ("https://user:secret@example.com/hook", "password"),
        ("https://example.com/a b", "percent-encoded"),
        ("https://[::1/hook", "IPv6"),
        ("https://example.com:99999/", "ort"),
    ],
)
async def test_an_address_that_nothing_is_posted_to_is_refused(door: FrontDoor, url: str, why: str):
    response = await door.post("/v1/webhooks", {"url": url})
    assert response.status_code == 422, response.text
    assert why in response.json()["detail"]


async def test_a_request_that_is_sent_again_makes_no_second_webhook(door: FrontDoor, receiver: WebhookReceiver):
    body = {"url": receiver.url}
    one, again = [await door.post("/v1/webhooks", body, **{"Idempotency-Key": "k1"}) for _ in range(2)]
    assert one.json()["secret"] == again.json()["secret"]
    assert len((await door.get("/v1/webhooks")).json()["items"]) == 1
    other = await door.post("/v1/webhooks", body | {"user_id": "u1"}, **{"Idempotency-Key": "k1"})
    assert other.status_code == 409
    assert (await door.http.delete(f"/v1/webhooks/{one.json()['webhook_id']}")).status_code == 200
    late = await door.post("/v1/webhooks", body, **{"Idempotency-Key": "k1"})
    assert late.status_code == 409
    assert "was removed" in late.json()["detail"]


async def test_an_own_secret_signs_and_a_weak_one_is_refused(door: FrontDoor, receiver: WebhookReceiver):
    secret = "whsec_" + "MDEy" * 8
    await register(door, receiver, secret=secret)
    await door.remember("saw a fox", "u1")
    await receiver.until(lambda: bool(receiver.taken))
    delivery = receiver.taken[0]
    assert Webhook(secret).verify(delivery.raw, dict(delivery.headers)) is not None
    refused = await door.post("/v1/webhooks", {"url": receiver.url, "secret": "whsec_c2hvcnQ="})
    assert refused.status_code == 422
    assert "c2hvcnQ" not in refused.text


async def test_a_new_secret_signs_and_for_a_while_the_former_one_does_too(door: FrontDoor, receiver: WebhookReceiver):
    webhook = await register(door, receiver)
    path, idempotent = f"/v1/webhooks/{webhook['webhook_id']}/secret", {"Idempotency-Key": "rotation-1"}

    async def valid(content: str) -> set[str]:
        """Return which of the secrets a delivery is signed with."""
        await door.remember(content, "u1")
        await receiver.until(lambda: any(item["memory"]["content"] == content for item in receiver.items))
        delivery, found = receiver.taken[-1], set()
        for name, secret in secrets.items():
            with suppress(WebhookVerificationError):
                Webhook(secret).verify(delivery.raw, dict(delivery.headers))
                found.add(name)
        return found

    secrets = {"first": webhook["secret"]}
    changed = await door.post(path, {}, **idempotent)
    assert changed.status_code == 200, changed.text
    secrets["second"] = changed.json()["secret"]
    assert await valid("likes tea") == {"first", "second"}
    assert (await door.post(path, {}, **idempotent)).json()["secret"] == secrets["second"]
    other = {"secret": "whsec_" + "A" * 44}
    assert (await door.post(path, other, **idempotent)).status_code == 409
    ended = await door.post(path, {"both_for": 0} | other)
    secrets["third"] = ended.json()["secret"]
    assert secrets["third"] == other["secret"]
    assert await valid("likes coffee") == {"third"}
    assert "secret" not in await shown(door, webhook)
    unknown = await door.post("/v1/webhooks/none/secret", {})
    assert unknown.status_code == 404
    assert (await door.post(path, {"both_for": -1})).status_code == 422


async def test_secret_and_address_lie_sealed_and_progress_names_nobody(door: FrontDoor, receiver: WebhookReceiver):
    await register(door, receiver, user_id="somebody")
    await door.remember("saw a fox", "somebody")
    await receiver.until(lambda: bool(receiver.items))
    raw = door.worker._inner_log
    held = [r for topic in (WEBHOOKS, WEBHOOK_PROGRESS) for r in await raw.read(topic.name, 0, 0)]
    assert held
    for record in held:
        assert all(word not in record.value + (record.key or b"") for word in (b"hook", b"somebody", b"fox"))


async def test_webhooks_are_the_tenants_own_and_need_its_administrator(
    tmp_path: Path, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(key_file, "LOOK_SECONDS", 0.0)
    async with keyed_door(tmp_path, webhook_hosts="127.0.0.1") as door:
        admin = door.caller(Role.TENANT_ADMIN, Role.WRITE)
        body = {"url": receiver.url}
        response = await admin.ask("POST", "/v1/webhooks", body)
        assert response.status_code == 201, response.text
        made = response.json()
        path = f"/v1/webhooks/{made['webhook_id']}"
        stranger = door.caller(Role.TENANT_ADMIN, Role.WRITE, tenant="other")
        assert (await stranger.ask("GET", "/v1/webhooks")).json()["items"] == []
        assert (await stranger.ask("GET", path)).status_code == 404
        assert (await stranger.ask("DELETE", path)).status_code == 404
        assert (await stranger.ask("POST", f"{path}/replay", {"after": None})).status_code == 404
        assert (await door.caller(Role.READ, Role.WRITE).ask("POST", "/v1/webhooks", body)).status_code == 403
        narrow = door.caller(Role.TENANT_ADMIN, users=("u1",))
        assert (await narrow.ask("POST", "/v1/webhooks", body | {"user_id": "u1"})).status_code == 403
        assert (await narrow.ask("GET", "/v1/webhooks")).json()["items"] == []
        said = {"user_id": "u1", "content": "saw a fox"}
        assert (await stranger.ask("POST", "/v1/memories", said)).status_code == 201
        assert (await admin.ask("POST", "/v1/memories", said | {"content": "saw a hen"})).status_code == 201
        await receiver.until(lambda: bool(receiver.items))
        assert [item["memory"]["content"] for item in receiver.items] == ["saw a hen"]


async def test_there_are_only_so_many(door: FrontDoor, receiver: WebhookReceiver):
    part_of(door.worker).webhooks._max_webhooks = 2
    for _ in range(2):
        await register(door, receiver)
    refused = await door.post("/v1/webhooks", {"url": receiver.url})
    assert refused.status_code == 409
    assert "remove one" in refused.json()["detail"]


async def test_a_tenant_whose_receivers_do_not_answer_delays_its_own_deliveries_only(
    tmp_path: Path, receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(key_file, "LOOK_SECONDS", 0.0)
    silent = asyncio.Queue[asyncio.StreamWriter]()

    async def say_nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await silent.put(writer)

    async with (
        await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server,
        keyed_door(tmp_path, webhook_hosts="127.0.0.1") as door,
    ):
        mute = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        slow, other = (door.caller(Role.WRITE, Role.TENANT_ADMIN, tenant=name) for name in ("slow", "other"))
        for _ in range(deliveries.OF_A_TENANT_AT_ONCE + 3):
            assert (await slow.ask("POST", "/v1/webhooks", {"url": mute})).status_code == 201
        assert (await other.ask("POST", "/v1/webhooks", {"url": receiver.url})).status_code == 201
        for caller in (slow, other):
            assert (await caller.ask("POST", "/v1/memories", {"user_id": "u1", "content": "likes tea"})).is_success
        async with asyncio.timeout(120):
            writers = [await silent.get() for _ in range(deliveries.OF_A_TENANT_AT_ONCE)]
            while not receiver.items:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        assert silent.empty()
        for writer in writers:
            writer.close()
