"""A trace from an agent's call to the memory that came of it, through the embedded engine, as OpenTelemetry's SDK."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door, turn
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, format_trace_id

from mnemolog.http.tracing import OPERATIONS
from mnemolog.publishing.publisher import record_of
from mnemolog.telemetry.listener import OpenTelemetry
from schemas.inputs.input_events import new_event
from schemas.log import NewRecord
from schemas.telemetry import listen
from schemas.topics import INBOX, LEDGER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from opentelemetry.sdk.trace import ReadableSpan

pytestmark = pytest.mark.asyncio
TRACE = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE}-b7ad6b7169203331-01"
OTHER = "11111111111111111111111111111111"
OTHER_PARENT = f"00-{OTHER}-2222222222222222-01"
SAID = "I like oolong tea very much"


class Heard:
    """A worker whose spans and durations are kept."""

    def __init__(self, door: FrontDoor, spans: InMemorySpanExporter, durations: InMemoryMetricReader) -> None:
        self.door = door
        self._spans = spans
        self._durations = durations

    def spans(self, trace: str | None = None) -> list[ReadableSpan]:
        return [one for one in self._spans.get_finished_spans() if trace in (None, trace_of(one))]

    def named(self, name: str, trace: str | None = None) -> list[ReadableSpan]:
        return [one for one in self.spans(trace) if one.name == name]

    async def until(self, name: str, trace: str) -> ReadableSpan:
        """Wait until a trace has a span of a name."""
        async with asyncio.timeout(120):
            while not (found := self.named(name, trace)):  # noqa: ASYNC110 - the exporter tells nobody
                await asyncio.sleep(0.02)
        return found[0]

    def points(self, name: str) -> list[Any]:
        data = self._durations.get_metrics_data()
        assert data is not None
        metrics = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics if m.name == name]
        return [point for metric in metrics for point in metric.data.data_points]


def trace_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return format_trace_id(span.context.trace_id)


def is_child(span: ReadableSpan, of: ReadableSpan) -> bool:
    assert of.context is not None
    return span.parent is not None and span.parent.span_id == of.context.span_id


@asynccontextmanager
async def heard(folder: Path, *, has_words: bool = False, **settings: object) -> AsyncIterator[Heard]:
    spans, durations = InMemorySpanExporter(), InMemoryMetricReader()
    tracers, meters = TracerProvider(shutdown_on_exit=False), MeterProvider([durations], shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    with listen(OpenTelemetry(tracers, meters, has_words=has_words)):
        async with front_door(folder, **settings) as door:
            yield Heard(door, spans, durations)


async def headers_in(door: FrontDoor, topic: str) -> list[dict[str, bytes]]:
    log = door.worker.log
    return [
        dict(record.headers)
        for partition in range(await log.partitions(topic))
        for record in await log.read(topic, partition, 0)
    ]


@pytest.mark.parametrize("encryption", ["on", "off"])
async def test_the_trace_of_a_conversation_shows_the_memory_that_came_of_it(tmp_path: Path, encryption: str):
    async with heard(tmp_path, encryption=encryption) as worker:
        body = {"user_id": "u1", "messages": [{"role": "user", "content": SAID}]}
        assert (await worker.door.post("/v1/conversations", body, traceparent=TRACEPARENT)).status_code == 202
        fold = await worker.until("fold", TRACE)
        [server] = worker.named("POST /v1/conversations")
        assert server.kind is SpanKind.SERVER
        assert server.parent is not None
        assert f"{server.parent.span_id:016x}" == "b7ad6b7169203331"
        [upsert] = worker.named("upsert_memory", TRACE)
        assert is_child(upsert, server)
        [extract] = worker.named("extract", TRACE)
        assert is_child(extract, upsert)
        assert is_child(worker.named("extract by rules", TRACE)[0], extract)
        assert is_child(worker.named("embeddings hash", TRACE)[0], extract)
        [decide] = worker.named("decide", TRACE)
        assert is_child(decide, extract)
        assert decide.attributes is not None
        assert decide.attributes["mnemolog.outcome"] == "formed"
        assert is_child(fold, decide)


async def test_the_first_search_that_finds_a_memory_is_linked_to_the_trace_that_made_it(tmp_path: Path):
    async with heard(tmp_path) as worker:
        body = {"user_id": "u1", "messages": [{"role": "user", "content": SAID}]}
        await worker.door.post("/v1/conversations", body, traceparent=TRACEPARENT)
        await worker.until("fold", TRACE)
        asked = {"user_id": "u1", "query": "oolong"}
        [found] = (await worker.door.post("/v1/search", asked, traceparent=OTHER_PARENT)).json()["results"]
        await worker.door.post("/v1/search", asked)
        first, second = worker.named("search_memory")
        assert [format_trace_id(link.context.trace_id) for link in first.links] == [TRACE]
        assert first.links[0].attributes == {"gen_ai.memory.record.id": found["memory_id"]}
        assert first.links[0].context.span_id == worker.named("decide")[0].context.span_id
        assert not second.links
        legs = {one.name for one in worker.spans(OTHER)}
        assert {"POST /v1/search", "search_memory", "embeddings hash", "keyword", "vector"} <= legs


async def test_a_producers_header_leads_to_the_decision(tmp_path: Path):
    """Upstream appends to the log itself, past HTTP, with a trace in the record's header."""
    async with heard(tmp_path) as worker:
        door = worker.door
        raw = turn("e1", SAID, infer=False)
        event = new_event(raw, tenant="default", accepted_at=door.clock.now(), event_id="e1")
        record = record_of(event, door.worker.shards.partition(event.envelope.owner))
        produced = NewRecord(
            topic=record.topic,
            partition=record.partition,
            key=record.key,
            value=record.value,
            headers=(("traceparent", TRACEPARENT.encode()),),
        )
        await door.worker._inner_log.append([produced])  # as a producer that knows of no sealing
        decide = await worker.until("decide", TRACE)
        assert decide.kind is SpanKind.CONSUMER
        await worker.until("fold", TRACE)


async def test_operations_have_the_names_and_attributes_of_the_conventions(tmp_path: Path):
    async with heard(tmp_path) as worker:
        door = worker.door
        memory = await door.remember("likes oolong tea")
        path = f"/v1/memories/{memory['memory_id']}"
        await door.http.patch(path, params={"user_id": "u1"}, json={"content": "likes sencha tea"})
        await door.post("/v1/search", {"user_id": "u1", "query": "sencha"})
        await door.http.delete(path, params={"user_id": "u1"})
        for name in ("create_memory", "update_memory", "delete_memory"):
            [span] = worker.named(name)
            assert span.attributes == {
                "gen_ai.operation.name": name,
                "gen_ai.memory.store.id": "default",
                "gen_ai.memory.record.id": memory["memory_id"],
                "gen_ai.memory.record.count": 1,
            }
        [span] = worker.named("search_memory")
        assert span.attributes == {
            "gen_ai.operation.name": "search_memory",
            "gen_ai.memory.store.id": "default",
            "gen_ai.memory.record.count": 1,
        }
        told = {
            point.attributes["gen_ai.operation.name"] for point in worker.points("gen_ai.client.operation.duration")
        }
        assert {"create_memory", "update_memory", "search_memory", "delete_memory", "embeddings"} <= told
        routes = {point.attributes["http.route"] for point in worker.points("http.server.request.duration")}
        assert {"/v1/memories", "/v1/memories/{memory_id}", "/v1/search"} == routes


async def test_no_word_and_no_user_leaves_without_being_asked_for(tmp_path: Path):
    async with heard(tmp_path) as worker:
        door = worker.door
        await door.remember("likes oolong tea", "user-oolong")
        await door.post("/v1/search", {"user_id": "user-oolong", "query": "oolong"})
        await door.http.get("/v1/users/user-oolong/profile", params={"nothing": "oolong"})
        await door.post("/v1/search", {"user_id": "user-oolong", "query": "oolong", "oolong": "oolong"})
        body = {"user_id": "user-oolong", "messages": [{"role": "user", "content": SAID}]}
        await door.post("/v1/conversations", body, traceparent=TRACEPARENT)
        await worker.until("fold", TRACE)
        assert not [one for one in worker.spans() if "oolong" in one.to_json()]
        points = worker.points("gen_ai.client.operation.duration") + worker.points("http.server.request.duration")
        assert "oolong" not in str([point.attributes for point in points])


async def test_words_are_told_where_the_operator_wants_them(tmp_path: Path):
    async with heard(tmp_path, has_words=True) as worker:
        memory = await worker.door.remember("likes oolong tea")
        await worker.door.post("/v1/search", {"user_id": "u1", "query": "oolong?"})
        [create], [search] = worker.named("create_memory"), worker.named("search_memory")
        assert create.attributes is not None
        assert search.attributes is not None
        assert memory["memory_id"] in str(create.attributes["gen_ai.memory.records"])
        assert "likes oolong tea" in str(search.attributes["gen_ai.memory.records"])
        assert search.attributes["gen_ai.memory.query.text"] == "oolong?"


async def test_a_failure_is_told_by_its_kind(tmp_path: Path):
    async with heard(tmp_path) as worker:
        worker.door.embedder.is_down = True
        body = {"user_id": "u1", "content": "likes tea"}
        assert (await worker.door.post("/v1/memories", body)).status_code == 503
        [create] = worker.named("create_memory")
        assert create.status.status_code is StatusCode.ERROR
        assert create.attributes is not None
        assert create.attributes["error.type"] == "503"
        [embed] = worker.named("embeddings hash")
        assert embed.attributes is not None
        assert embed.attributes["error.type"] == "EmbedderUnavailable"
        assert not embed.events


async def test_what_is_no_trace_begins_a_new_one(tmp_path: Path):
    async with heard(tmp_path) as worker:
        await worker.door.get("/v1/memories", user_id="u1")
        for wrong in ("oolong", f"00-{'0' * 32}-b7ad6b7169203331-01", "x" * 5000):
            response = await worker.door.http.get(
                "/v1/memories", params={"user_id": "u1"}, headers={"traceparent": wrong}
            )
            assert response.status_code == 200
        assert [one.parent for one in worker.named("GET /v1/memories")] == [None] * 4


async def test_probes_are_not_told_about(tmp_path: Path):
    async with heard(tmp_path) as worker:
        await worker.door.get("/health/live")
        await worker.door.get("/metrics")
        assert not worker.spans()


async def test_a_sealed_record_keeps_its_trace_and_no_other_header(tmp_path: Path):
    async with heard(tmp_path) as worker:
        await worker.door.post("/v1/memories", {"user_id": "u1", "content": "likes tea"}, traceparent=TRACEPARENT)
        for topic in (INBOX.name, LEDGER.name):
            [headers] = await headers_in(worker.door, topic)
            assert list(headers) == ["traceparent"]
            assert headers["traceparent"].decode().split("-")[1] == TRACE


async def test_nothing_is_in_the_log_when_nobody_listens(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await door.post("/v1/memories", {"user_id": "u1", "content": "likes tea"}, traceparent=TRACEPARENT)
        for topic in (INBOX.name, LEDGER.name):
            assert await headers_in(door, topic) == [{}]


async def test_a_method_that_a_sender_made_up_is_no_name(tmp_path: Path):
    async with heard(tmp_path) as worker:
        await worker.door.http.request("OOLONG", "/v1/memories")
        [span] = worker.spans()
        assert span.name == "_OTHER"


async def test_every_operation_is_a_route(tmp_path: Path):
    async with front_door(tmp_path) as door:
        routes: set[tuple[str, str]] = set()
        for route in door.app.router.routes:
            with suppress(AttributeError):
                routes |= {(method, route.path_format) for method in route.methods or ()}  # type: ignore[attr-defined]
        assert set(OPERATIONS) <= routes


async def test_what_others_protocols_ask_is_an_operation_too(tmp_path: Path):
    """mem0's clients and MCP ask our own routes from within, in the same trace."""
    async with heard(tmp_path) as worker:
        door = worker.door
        memory = await door.remember("likes oolong tea")
        asked = {"query": "oolong", "filters": {"user_id": "u1"}}
        answer = await door.post("/v3/memories/search/", asked, traceparent=TRACEPARENT)
        assert answer.status_code == 200, answer.text
        assert memory["memory_id"] in answer.text
        call = {"name": "memory_search", "arguments": {"query": "oolong"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        accepted = {"accept": "application/json, text/event-stream", "traceparent": OTHER_PARENT}
        answer = await door.post("/mcp?user_id=u1", body, **accepted)
        assert answer.status_code == 200, answer.text
        for trace in (TRACE, OTHER):
            [search] = worker.named("search_memory", trace)
            assert len([one for one in worker.spans(trace) if one.kind is SpanKind.SERVER]) == 1
            assert search.attributes is not None
            assert search.attributes["gen_ai.memory.record.count"] == 1
