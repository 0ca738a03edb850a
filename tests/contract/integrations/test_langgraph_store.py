"""A store of LangGraph against a server in a process of its own: items are documents of users, exact and lasting."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp
from support.free_ports import free_ports
from support.mnemolog_up import ForkedUp

from mnemolog import Client, Refused
from mnemolog.client.client import AT_ONCE
from mnemolog.integrations.langgraph import MnemologStore
from mnemolog.integrations.langgraph_items import key_of, put_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a server, and give its address."""
    up = ForkedUp(tmp_path_factory.mktemp("up"), free_ports(1)[0])
    try:
        up.wait_until_ready()
        yield up.url
    finally:
        up.end(signal.SIGTERM)


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    """Give a client of the server."""
    with Client(url) as client:
        yield client


@pytest.fixture
def store(url: str) -> Iterator[MnemologStore]:
    """Give a store of the server."""
    with MnemologStore(url) as store:
        yield store


@pytest.fixture
def ann() -> str:
    """Give a user whom no other test has."""
    return f"ann-{uuid4().hex}"


def test_an_item_is_read_as_it_was_put_last(store: MnemologStore, ann: str) -> None:
    value = {"text": "likes tea", "nested": {"n": [1, 2.5, None, True]}}
    store.put((ann, "notes"), "a", {"text": "likes milk"})
    first = store.get((ann, "notes"), "a")
    store.put((ann, "notes"), "a", value)
    item = store.get((ann, "notes"), "a")
    assert first is not None
    assert item is not None
    assert (item.value, item.key, item.namespace) == (value, "a", (ann, "notes"))
    assert first.created_at == item.created_at < first.updated_at < item.updated_at
    assert store.get((ann, "other"), "a") is None
    store.delete((ann, "notes"), "a")
    assert store.get((ann, "notes"), "a") is None
    assert store.search((ann,)) == []


async def test_it_works_with_await(url: str, ann: str) -> None:
    store = MnemologStore(url)
    await store.aput((ann,), "a", {"color": "red"})
    found = await store.asearch((ann,), query="red")
    assert [(item.key, item.score is not None) for item in found] == [("a", True)]
    assert (await store.aget((ann,), "a")) is not None
    assert await store.alist_namespaces(prefix=(ann,)) == [(ann,)]
    await store.adelete((ann,), "a")
    assert await store.aget((ann,), "a") is None
    await store.aclose()


def test_a_batch_is_carried_out_in_order(store: MnemologStore, ann: str) -> None:
    put, read = PutOp((ann,), "a", {"n": 1}), GetOp((ann,), "a")
    before, _, after = store.batch([read, put, read])
    assert before is None
    assert after is not None


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ({"color": "red"}, {"a", "b"}),
        ({"color": {"$ne": "red"}}, {"c"}),
        ({"n": {"$gt": 1, "$lte": 3}}, {"b", "c"}),
        ({"color": {"$eq": "red"}, "n": {"$gte": 2}}, {"b"}),
        ({"at": {"city": "Rome"}}, {"a"}),
    ],
)
def test_filters_decide_before_the_cut(
    store: MnemologStore, ann: str, wanted: dict[str, object], keys: set[str]
) -> None:
    store.put((ann, "x"), "a", {"color": "red", "n": 1, "at": {"city": "Rome", "street": "1"}})
    store.put((ann, "x"), "b", {"color": "red", "n": 2})
    store.put((ann, "y"), "c", {"color": "blue", "n": 3})
    for query in (None, "something"):
        assert {item.key for item in store.search((ann,), filter=wanted, query=query, limit=len(keys))} == keys


def test_an_unknown_operator_is_refused(store: MnemologStore, ann: str) -> None:
    with pytest.raises(ValueError, match="Unsupported operator"):
        store.search((ann,), filter={"n": {"$near": 3}})


def test_only_the_chosen_fields_are_searched(store: MnemologStore, ann: str) -> None:
    store.put((ann,), "title", {"title": "umbrella", "body": "x"}, index=["title"])
    store.put((ann,), "body", {"title": "x", "body": "umbrella"}, index=["title"])
    store.put((ann,), "none", {"title": "umbrella", "body": "x"}, index=False)
    found = store.search((ann,), query="umbrella")
    assert found[0].key == "title"
    assert {item.key: item.score is None for item in found} == {"title": False, "body": False, "none": True}


def test_namespaces_are_listed_over_users(store: MnemologStore, ann: str) -> None:
    for namespace in ((ann, "a", "x"), (ann, "b", "x"), (f"{ann}2", "a", "y")):
        store.put(namespace, "k", {"n": 1})
    assert store.list_namespaces(prefix=(ann,), suffix=("x",)) == [(ann, "a", "x"), (ann, "b", "x")]
    assert store.list_namespaces(prefix=(ann,), max_depth=1) == [(ann,)]
    assert {(ann, "a", "x"), (f"{ann}2", "a", "y")} <= set(store.list_namespaces(prefix=("*", "a")))
    assert {item.namespace[0] for item in store.search((), filter={"n": 1}, limit=200)} >= {ann, f"{ann}2"}
    assert {item.namespace[0] for item in store.search((ann,))} == {ann}


def test_forgetting_a_user_called_langgraph_leaves_the_directory_of_users(
    store: MnemologStore, client: Client, ann: str
) -> None:
    store.put((ann,), "k", {"n": 1})
    assert client.forget_memories("langgraph", filters={"kind": "document"})["left"] == 0
    assert (ann,) in store.list_namespaces()


def test_users_whom_an_earlier_version_put_into_its_directory_are_known(
    store: MnemologStore, client: Client, ann: str
) -> None:
    client.carry(put_call(PutOp((ann,), "k", {"n": 1}), ann, None, ["$"], datetime.now(UTC)))
    assert (ann,) not in store.list_namespaces()
    name = key_of((), ann)
    client.remember(name, "langgraph", kind="document", attribute=name, value="forever", metadata={"user": ann})
    assert (ann,) in store.list_namespaces()


def letters(texts: Sequence[str]) -> list[list[float]]:
    """Embed texts by how often they have the letters a, b and c."""
    return [[float(text.count(letter)) for letter in "abc"] for text in texts]


async def test_an_embedder_of_the_callers_ranks_items_by_its_own_cosines(url: str, ann: str) -> None:
    index: Any = {"embed": letters, "dims": 3, "fields": ["title", "lines[*]"]}
    with MnemologStore(url, index=index) as store:
        store.put((ann,), "mixed", {"title": "aab", "lines": ["ccc"]})
        store.put((ann,), "other", {"title": "bbb", "lines": []})
        store.put((ann,), "hidden", {"title": "aaa"}, index=False)
        found = store.search((ann,), query="aa")
        assert [item.key for item in found] == ["mixed", "other", "hidden"]
        assert [item.score for item in found] == [pytest.approx(2 / 5**0.5), pytest.approx(0.0), None]
        assert [item.key for item in store.search((ann,), query="c", limit=1)] == ["mixed"]
        assert [item.key for item in store.search((ann,), query="c", filter={"title": "bbb"})] == ["other"]
        assert "vectors" not in found[0].value
    async with MnemologStore(url, index=index) as store:
        await store.aput((ann,), "late", {"title": "c"})
        assert {item.key for item in await store.asearch((ann,), query="c", limit=2)} == {"late", "mixed"}


def test_a_vector_of_another_length_is_refused_and_one_from_before_has_no_score(url: str, ann: str) -> None:
    indexes: list[Any] = [
        {"embed": letters, "dims": 3},
        {"embed": letters, "dims": 4},
        {"embed": lambda texts: [[1.0, 1.0] for _ in texts], "dims": 2},
    ]
    before, wrong, after = (MnemologStore(url, index=index) for index in indexes)
    with before, wrong, after:
        before.put((ann,), "a", {"text": "a"})
        with pytest.raises(ValueError, match="no vector of 4 finite numbers"):
            wrong.put((ann,), "b", {"text": "b"})
        assert [(item.key, item.score) for item in after.search((ann,), query="a")] == [("a", None)]


def test_what_has_ended_is_hidden_and_swept(store: MnemologStore, client: Client, ann: str) -> None:
    store.put((ann,), "short", {"n": 1}, ttl=0.0)
    store.put((ann,), "long", {"n": 2}, ttl=60.0)
    assert store.get((ann,), "short") is None
    assert [item.key for item in store.search((ann,))] == ["long"]
    assert store.sweep_ttl() == 1
    assert [memory["metadata"]["key"] for memory in client.memories(ann, kind="document")["items"]] == ["long"]


def test_reading_makes_an_item_live_longer_unless_told_not_to(store: MnemologStore, client: Client, ann: str) -> None:
    def end() -> str:
        return str(client.memories(ann, kind="document")["items"][0]["value"])

    store.put((ann,), "a", {"n": 1}, ttl=60.0)
    first = end()
    store.get((ann,), "a", refresh_ttl=False)
    assert end() == first
    store.get((ann,), "a")
    second = end()
    store.search((ann,))
    assert first < second < end()


def test_the_part_of_a_namespace_that_names_the_user_can_be_chosen(url: str, client: Client, ann: str) -> None:
    with MnemologStore(url, user_part=1) as store:
        store.put(("memories", ann), "a", {"n": 1})
        assert [item.key for item in store.search(("memories", ann))] == ["a"]
        assert client.memories(ann, kind="document")["total"] == 1
        with pytest.raises(InvalidNamespaceError):
            store.get((), "a")


def test_ordinary_questions_show_no_documents(store: MnemologStore, client: Client, ann: str) -> None:
    store.put((ann,), "a", {"text": "Lives in Rome and likes tea"})
    client.remember("Likes tea", ann)
    assert [memory["content"] for memory in client.memories(ann)["items"]] == ["Likes tea"]
    assert [found["memory"] for found in client.search(ann, query="tea")["results"]] == ["Likes tea"]
    assert client.stats(ann)["total"] == 1
    assert "Rome" not in str(client.profile(ann))


def test_a_document_needs_a_key(client: Client, ann: str) -> None:
    with pytest.raises(Refused, match="document without a key"):
        client.remember("words", ann, kind="document")


def test_what_json_cannot_carry_is_refused(store: MnemologStore, ann: str) -> None:
    with pytest.raises(Refused, match="cannot be kept"):
        store.put((ann,), "a", {"n": float("nan")})


def test_a_sweeper_deletes_what_has_ended_until_it_is_stopped(url: str, client: Client, ann: str) -> None:
    with MnemologStore(url) as store:
        store.put((ann, "notes"), "short", {"text": "gone soon"}, ttl=0.005)
        done = store.start_ttl_sweeper(0.005)
        assert store.start_ttl_sweeper(0.005) is done
        deadline = time.monotonic() + 120
        while client.query_memories(ann, {"kind": "document"})["total"] and time.monotonic() < deadline:
            time.sleep(0.1)
        assert client.memories(ann, kind="document", status="forgotten")["total"] == 1
        assert store.stop_ttl_sweeper(120)
        assert done.done()
        assert store.stop_ttl_sweeper()  # once more changes nothing


@pytest.mark.asyncio
async def test_a_store_is_closed_at_the_end_of_an_asynchronous_block(url: str, ann: str) -> None:
    async with MnemologStore(url) as store:
        await store.aput((ann, "notes"), "a", {"text": "likes tea"})
        item = await store.aget((ann, "notes"), "a")
    assert item is not None
    assert item.value == {"text": "likes tea"}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"$lt": float("inf")}, {"a", "b"}),
        ({"$gt": float("-inf")}, {"a", "b"}),
        ({"$gt": float("inf")}, set()),
        ({"$eq": float("nan")}, set()),
        ({"$ne": float("nan")}, {"a", "b", "none"}),
        (float("inf"), set()),
        ({"$lt": 10**100}, {"a", "b"}),
        ({"$gte": -(10**400), "$lt": 20}, {"a"}),
    ],
)
def test_a_filter_takes_numbers_that_json_has_not(
    store: MnemologStore, ann: str, wanted: object, found: set[str]
) -> None:
    items: dict[str, dict[str, Any]] = {"a": {"price": 10}, "b": {"price": 20.5}, "none": {}}
    for key, value in items.items():
        store.put((ann,), key, value)
    assert {item.key for item in store.search((ann,), filter={"price": wanted})} == found


def test_what_would_not_come_back_as_it_was_is_refused(store: MnemologStore, ann: str) -> None:
    store.put((ann,), "most", {"n": [2**64 - 1, -(2**63)]})
    item = store.get((ann,), "most")
    assert item is not None
    assert item.value == {"n": [2**64 - 1, -(2**63)]}
    for number in (2**64, -(2**63) - 1):
        with pytest.raises(Refused, match="more than 64 bits"):
            store.put((ann,), "more", {"n": {"deep": number}})
    with pytest.raises(ValueError, match="Invalid filter key"):
        store.search((ann,), filter={"a') or true('$.": 1})


async def test_hundreds_of_operations_at_once_are_all_carried_out(
    url: str, ann: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They wait in the client: those that waited in the pool of connections would time out there."""
    under_way: list[int] = [0]
    most: list[int] = [0]
    send = httpx.AsyncClient.send

    async def counted(*given: Any, **more: Any) -> httpx.Response:
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        try:
            return await send(*given, **more)
        finally:
            under_way[0] -= 1

    monkeypatch.setattr(httpx.AsyncClient, "send", counted)
    async with MnemologStore(url) as store:
        await asyncio.gather(*(store.aput((ann,), f"k{number % 50}", {"n": number}) for number in range(200)))
        found = await asyncio.gather(*(store.aget((ann,), f"k{number % 50}") for number in range(4 * AT_ONCE)))
        assert all(found)
        assert len(await store.asearch((ann,), limit=100)) == 50
    assert most == [AT_ONCE]


def test_of_items_that_are_put_while_their_user_is_erased_only_the_later_ones_stay(
    store: MnemologStore, client: Client, ann: str
) -> None:
    store.put((f"{ann}2",), "kept", {"text": "likes tea"})
    client.drain()  # what other tests have found is counted as found later
    without = client.digest()["total"]
    puts: dict[str, tuple[float, float]] = {}
    ended = threading.Event()

    def put_many() -> None:
        while not ended.is_set():
            key, began = str(len(puts)), time.monotonic()
            store.put((ann, "notes"), key, {"text": f"note {key}"})
            puts[key] = began, time.monotonic()

    def await_more(count: int) -> None:
        wanted = len(puts) + count
        while len(puts) < wanted:
            assert putting.is_alive(), "it could not put"
            time.sleep(0.01)

    putting = threading.Thread(target=put_many)
    putting.start()
    try:
        for _ in range(3):
            await_more(5)
            began = time.monotonic()
            client.erase(ann)
            erased = time.monotonic()
        await_more(20)
    finally:
        ended.set()
        putting.join()
    there = {item.key for item in store.search((ann,), limit=10_000)}
    later = {key for key, (begin, _) in puts.items() if begin > erased}
    assert later
    assert there >= later
    assert there.isdisjoint(key for key, (_, end) in puts.items() if end < began)
    client.erase(ann)
    assert store.search((ann,)) == []
    named = {"kind": "document", "metadata.user": ann}
    assert len(client.forget_memories("langgraph.directory", filters=named, forever=True)["items"]) == 1
    client.drain()
    assert client.digest()["total"] == without
    assert client.rebuild()["equal"]
