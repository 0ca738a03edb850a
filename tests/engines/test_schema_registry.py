"""A real schema registry: ours are registered in it, what others write by it is read, and it may be away."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx
import orjson
import pytest
from support.examples import XIAOMING
from support.registry_avro import SAID_AT, end, in_registry_avro, theirs, turn

from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker
from schemas.codec import Undecodable, newest_version, released_schema
from schemas.inputs.input_events import parse_event
from schemas.log import NewRecord
from schemas.messages.events import MemoryRevised
from schemas.messages.observations import SessionEnded, TurnRecorded
from schemas.topics import CONVERSATIONS
from streams.registry.cache import SchemaCache
from streams.registry.registry import RegistryRefused, SchemaRegistry, ledger_subjects

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from support.registry_server import RegistryServer

TURNS = "mnemolog.conversations-mnemolog.TurnRecorded"
SUBJECTS = {
    TURNS,
    "mnemolog.conversations-mnemolog.SessionEnded",
    "mnemolog.screenshots-mnemolog.ScreenshotAnalysed",
    "mnemolog.articles-mnemolog.ArticleInferred",
}
LEDGER = {name for name, _ in ledger_subjects()}
PATIENCE_S = 120.0
NOW = datetime(2026, 1, 5, 8, tzinfo=UTC)
SAID = {"type": "TurnRecorded", "session_id": "s1", "role": "user", "content": "一", "infer": False}


def asked(registry: RegistryServer, path: str, body: object = None) -> Any:
    """Ask the registry directly; a body is posted."""
    method = "GET" if body is None else "POST"
    answer = httpx.request(method, registry.url + path, json=body, timeout=PATIENCE_S).raise_for_status()
    return answer.json()


def registered(registry: RegistryServer, subject: str, schema: dict[str, Any], **more: Any) -> int:
    """Register a schema as a producer does; return its id."""
    text = orjson.dumps(schema).decode().replace('"{}"', r'"\u007b\u007d"')
    return int(asked(registry, f"/subjects/{subject}/versions", {"schema": text, **more})["id"])


@asynccontextmanager
async def client(registry: RegistryServer, folder: Path) -> AsyncIterator[SchemaRegistry]:
    one = SchemaRegistry(registry.url, SchemaCache(folder / "registry.json", registry.url))
    yield one
    await one.aclose()


@asynccontextmanager
async def working(registry: RegistryServer, folder: Path) -> AsyncIterator[Worker]:
    """Run a worker on the embedded log: what reads the records is the same on Kafka."""
    settings = from_environment(
        {},
        data_dir=folder,
        schema_registry_url=registry.url,
        partitions=1,
        extractor="verbatim",
        decay_policy="off",
    )
    worker = Worker(settings)
    try:
        await worker.start()
        yield worker
    finally:
        await worker.stop()


async def produce(worker: Worker, *values: bytes, key: bytes = XIAOMING.key) -> None:
    """Append records to the conversations, as a producer would."""
    await worker.log.append([NewRecord(topic=CONVERSATIONS.name, partition=0, key=key, value=v) for v in values])


def remembered(worker: Worker) -> list[str]:
    """Return what is remembered, in the order of the words."""
    memories = [m for owner in worker.shards.users.owners() for m in worker.shards.state(owner).memories.values()]
    return sorted(m.content for m in memories)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - neither the worker nor the registry has an event for it
            await asyncio.sleep(0.05)


async def test_our_schemas_are_registered_under_their_subjects_with_full_transitive(
    registry: RegistryServer, tmp_path: Path
):
    async with client(registry, tmp_path) as one:
        lacking, refusing = await one.unregistered()
        assert (set(lacking), refusing) == (SUBJECTS | LEDGER, [])
        await one.register()
        await one.register()
        assert await one.unregistered() == ([], [])
    assert set(asked(registry, "/subjects")) == SUBJECTS | LEDGER
    for subject in SUBJECTS:
        assert asked(registry, f"/subjects/{subject}/versions") == [1]
        assert asked(registry, f"/config/{subject}") == {"compatibilityLevel": "FULL_TRANSITIVE"}
    held = Counter(name for name, _ in ledger_subjects())
    assert {name: len(asked(registry, f"/subjects/{name}/versions")) for name in LEDGER} == held
    assert held["mnemolog.memories-mnemolog.MemoryRevised"] == newest_version(MemoryRevised) > 1


async def test_a_ledgers_subject_that_refuses_ours_stops_nothing(
    registry: RegistryServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    other = {"type": "record", "name": "Decision", "namespace": "mnemolog", "fields": [{"name": "x", "type": "int"}]}
    asked(registry, "/subjects/mnemolog.memories-mnemolog.Decision/versions", {"schema": orjson.dumps(other).decode()})
    async with client(registry, tmp_path) as one:
        await one.register()
        assert await one.unregistered() == (["mnemolog.memories-mnemolog.Decision"], [])
    assert "readers of the ledger by the registry lack a schema" in caplog.text


async def test_what_our_own_schemas_ids_mean_is_known_before_any_record_names_them(
    registry: RegistryServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    registry.stop()
    registry.start()  # its ids begin with 1, as they will when it has lost its memory
    number = registered(registry, "acme", released_schema(TurnRecorded))
    for folder in (tmp_path / "first", tmp_path / "later"):  # registered by it, and found registered already
        async with client(registry, folder) as one:
            await one.register()
    ids = {asked(registry, f"/subjects/{name}/versions/1")["id"] for name in SUBJECTS}
    registry.stop()
    for folder in (tmp_path / "first", tmp_path / "later"):
        async with client(registry, folder) as one:
            found = [await asyncio.wait_for(one.writer(schema_id), PATIENCE_S) for schema_id in sorted(ids)]
            assert {s["name"] for s in found if isinstance(s, dict)} == {
                *("mnemolog.TurnRecorded", "mnemolog.SessionEnded"),
                *("mnemolog.ScreenshotAnalysed", "mnemolog.ArticleInferred"),
            }
    assert number in ids
    assert "anew" not in caplog.text
    registry.start()
    for other in (theirs(), theirs(type="string")):  # its memory is gone, and others come first
        registered(registry, "x" + str(len(str(other))), other)
    async with client(registry, tmp_path / "first") as one:
        await one.register()
    assert "gives its ids anew" in caplog.text


async def test_workers_that_start_together_all_register_at_once(registry: RegistryServer, tmp_path: Path):
    for _ in range(3):
        registry.stop()
        registry.start()
        async with AsyncExitStack() as stack:
            workers = [await stack.enter_async_context(client(registry, tmp_path / str(i))) for i in range(6)]
            await asyncio.gather(*(worker.register() for worker in workers))
        assert set(asked(registry, "/subjects")) == SUBJECTS | LEDGER


async def test_a_producer_that_would_break_the_subject_is_refused_by_the_registry(
    registry: RegistryServer, tmp_path: Path
):
    async with client(registry, tmp_path) as one:
        await one.register()
    schema = released_schema(TurnRecorded)
    schema["fields"].append({"name": "channel", "type": "string"})
    with pytest.raises(httpx.HTTPStatusError, match="409"):
        registered(registry, TURNS, schema)
    schema["fields"][-1]["default"] = "chat"
    assert registered(registry, TURNS, schema)


async def test_a_worker_whose_schema_is_refused_does_not_start_and_says_what_to_do(
    registry: RegistryServer, tmp_path: Path
):
    registered(registry, TURNS, theirs(type="string"))
    with pytest.raises(RegistryRefused, match=f"subject {TURNS}.*Delete that version.*or unset MNEMOLOG_"):
        async with working(registry, tmp_path / "data"):
            pass
    async with client(registry, tmp_path) as one:
        assert (await one.unregistered())[1] == [TURNS]


async def test_schemas_are_read_with_what_they_refer_to_and_what_is_no_avro_is_refused(
    registry: RegistryServer, tmp_path: Path
):
    schema = theirs()
    envelope = schema["fields"][0]["type"] | {"namespace": "com.acme.chat"}
    schema["fields"][0]["type"] = "com.acme.chat.Envelope"
    registered(registry, "envelope", envelope)
    reference = {"name": "com.acme.chat.Envelope", "subject": "envelope", "version": 1}
    number = registered(registry, "turns", schema, references=[reference])
    proto = 'syntax = "proto3"; message A { string x = 1; }'
    other = asked(registry, "/subjects/a/versions", {"schema": proto, "schemaType": "PROTOBUF"})["id"]
    async with client(registry, tmp_path) as one:
        assert isinstance(await one.writer(number), dict)
        with pytest.raises(Undecodable, match="PROTOBUF: only Avro"):
            await one.writer(other)
        with pytest.raises(Undecodable, match="knows no schema 4711"):
            await one.writer(4711)
        with pytest.raises(Undecodable, match="no id of a schema"):
            await one.writer(2**32 - 1)


async def test_what_producers_write_by_the_registry_is_remembered_once_and_in_order(
    registry: RegistryServer, tmp_path: Path
):
    async with working(registry, tmp_path / "data") as worker:
        ours, ended = (registered(registry, m.__name__, released_schema(m)) for m in (TurnRecorded, SessionEnded))
        foreign = registered(registry, "acme", theirs())
        values = [
            in_registry_avro(ours, turn("t-1", "一"), released_schema(TurnRecorded)),
            in_registry_avro(foreign, turn("t-2", "二", at=SAID_AT // 1000), theirs()),
            in_registry_avro(ours, turn("t-3", "三"), released_schema(TurnRecorded)),
            in_registry_avro(ended, end("e-1"), released_schema(SessionEnded)),
            in_registry_avro(4711, turn("t-4", "四"), released_schema(TurnRecorded)),
        ]
        await produce(worker, *values, *values[:2])
        counts = await worker.drain.run_local(PATIENCE_S)
        assert (counts["observations"], counts["remembered"], counts["dead"]) == (3, 3, 1)
        turns = worker.shards.of(XIAOMING).turns.of_session(XIAOMING, "s1", 10)
        assert [t.message.content for t in turns] == ["一", "二", "三"]
        assert (await worker.rebuild.run("all"))["equal"]


async def test_a_registry_that_is_down_stops_no_start_and_has_our_schemas_when_it_is_back(
    registry: RegistryServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    registry.stop()
    async with working(registry, tmp_path / "data") as worker:
        assert "not registered yet" in caplog.text
        await worker.publisher.publish([parse_event(SAID, tenant="default", accepted_at=NOW, event_id="t-1")])
        await until(lambda: remembered(worker) == ["一"])
        registry.start()
        await until(lambda: worker.registry.is_registered)
        assert set(asked(registry, "/subjects")) == SUBJECTS | LEDGER


async def test_known_schemas_flow_while_the_registry_is_away_and_after_a_restart_and_others_wait(
    registry: RegistryServer, tmp_path: Path
):
    folder, schema = tmp_path / "data", released_schema(TurnRecorded)
    known = registered(registry, "x", schema)
    later = registered(registry, "x", schema | {"doc": "the same in other words"})

    def said(schema_id: int, event_id: str, words: str, user_id: str = XIAOMING.user_id) -> bytes:
        return in_registry_avro(schema_id, turn(event_id, words, user_id) | {"infer": False}, schema)

    async with working(registry, folder) as worker:
        await produce(worker, said(known, "t-1", "一"))
        await until(lambda: remembered(worker) == ["一"])
        registry.freeze()
        await produce(worker, said(known, "t-2", "二"))
        await until(lambda: remembered(worker) == ["一", "二"])
        await produce(worker, said(later, "t-3", "三"))
    async with working(registry, folder) as worker:
        await produce(worker, said(known, "a-1", "四", "xiaohong"), key=b"default/xiaohong")
        await until(lambda: remembered(worker) == ["一", "二", "四"])
        registry.thaw()
        await until(lambda: "三" in remembered(worker))
        await until(lambda: worker.registry.is_registered)
        counts = await worker.drain.run_local(PATIENCE_S)
        assert (counts["remembered"], counts["dead"]) == (4, 0)
