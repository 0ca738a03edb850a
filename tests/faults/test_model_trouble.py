"""A model in trouble, behind a real worker: rejections keep the raw text, outages are waited out, others go on."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from contract.front_door import turn
from contract.scripted_model import Memories, Mode, ScriptedModel
from faults.sample_worker import DRAIN_SECONDS, START, rebuilt, running
from support.free_ports import free_ports

from mnemolog.http.app import make_http
from schemas import codec
from schemas.identity import Owner
from schemas.inputs.input_events import parse_event
from schemas.messages.inbox import EXTRACTIONS, CandidatesExtracted, ExtractionRejected
from schemas.topics import INBOX

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from mnemolog.worker.worker import Worker

PAUSE_SECONDS = 0.02
SECONDS = 120.0
"""Only what hangs takes so long. A model has as long: who is not answered in time asks again, and is counted."""
SOON_SECONDS = 0.5
"""In which a model that hangs is given up."""


def in_two(lines: list[tuple[int, str]]) -> Memories:
    """Remember each line, and that it was said."""
    return [{"content": text + more, "sources": [number]} for number, text in lines for more in ("", " (said so)")]


class MoodyModel(ScriptedModel):
    """Answers each user in a mood of their own: `moods` by a word in what was said."""

    def __init__(self, moods: dict[str, Mode] | None = None, port: int = 0) -> None:
        super().__init__(in_two, port)
        self.moods = moods or {}
        self.answers: dict[str, str] = {}

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        said = str([m["content"] for m in request["messages"] if m["role"] == "user"])
        mood: Mode = next((mode for word, mode in self.moods.items() if word in said), "ok")
        if mood == "500":
            self.requests.append(request)
            return 500, b'{"error": {"message": "not this one"}}', {}
        if mood != "ok":
            self.play(mood, 1)
        return super().answer(request)


@asynccontextmanager
async def asking(folder: Path, base_url: str, **settings: object) -> AsyncIterator[Worker]:
    """Start a worker that asks the model at `base_url`, with short pauses."""
    given: dict[str, Any] = {"idle_seconds": 0.2, "partitions": 2, "llm_timeout_seconds": SECONDS}
    async with running(folder, llm_base_url=base_url, **(given | settings)) as worker:
        worker.extractions._service.make_pauses = lambda: lambda: PAUSE_SECONDS
        yield worker


async def say(worker: Worker, user: str, word: str) -> tuple[Owner, str]:
    """Publish a turn of a user with a word in it, and return how to ask about it."""
    event = turn(f"{user}-{word}", f"My word is {word}.", user_id=user, session_id=f"{user}-{word}")
    await worker.publisher.publish([parse_event(event, tenant="default", accepted_at=START, event_id="")])
    return Owner("default", user), event["event_id"]


async def state(worker: Worker, said: tuple[Owner, str]) -> dict[str, Any]:
    owner, event_id = said
    return (await worker.event_states.of(owner, [event_id]))[event_id]


async def until_waiting(worker: Worker, said: Sequence[tuple[Owner, str]]) -> list[str]:
    """Return why each event waits, when all do."""
    async with asyncio.timeout(SECONDS):
        while True:
            states = [await state(worker, one) for one in said]
            if all(s["state"] == "waiting" for s in states):
                return [s["reason"] for s in states]
            await asyncio.sleep(PAUSE_SECONDS)


async def answers(worker: Worker) -> list[CandidatesExtracted | ExtractionRejected]:
    found = []
    for partition in range(worker.shards.partitions):
        items = [codec.decode(r.value) for r in await worker.log.read(INBOX.name, partition, 0)]
        found += [i for i in items if isinstance(i, EXTRACTIONS)]
    return found


async def is_ready(worker: Worker) -> bool:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(make_http(worker)), base_url="http://127.0.0.1") as http:
        return (await http.get("/health/ready")).status_code == 200


BAD_ANSWERS: list[tuple[str, Mode, str, str]] = [
    ("alpha", "cut", "cut off", '{"memories": [{"content": "My word is alpha."'),
    ("bravo", "prose", "not JSON", "Certainly! This was a nice conversation."),
    ("charlie", "wrong_shape", "wrong shape", '{"result": {"count": 2}}'),
    ("delta", "empty", "not JSON", ""),
]


async def test_an_answer_that_cannot_be_used_is_a_rejection_that_keeps_it_and_others_go_on(tmp_path: Path):
    moods: dict[str, Mode] = {word: mode for word, mode, _, _ in BAD_ANSWERS}
    with MoodyModel(moods) as model:
        async with asking(tmp_path, model.base_url, llm_concurrency=1) as worker:
            bad = [await say(worker, f"user-{word}", word) for word, _, _, _ in BAD_ANSWERS]
            good = [await say(worker, f"user-{word}", "fine") for word, _, _, _ in BAD_ANSWERS]
            assert await worker.event_states.wait([*bad, *good], SECONDS)
            kept = {i.envelope.user_id: i for i in await answers(worker) if isinstance(i, ExtractionRejected)}
            for said, (word, _, why, raw) in zip(bad, BAD_ANSWERS, strict=True):
                found = await state(worker, said)
                assert (found["state"], found["memory_ids"]) == ("rejected", [])
                assert f"rejected: {why}" in found["reason"]
                item = kept[f"user-{word}"]
                assert item.answer is not None
                assert item.answer.text.startswith(raw)
                assert item.answer.text == raw or why == "cut off"
                assert [c.piece_id for c in item.covered] == [f"{said[1]}#0"]
                assert item.tokens_out == 30
            assert [(await state(worker, said))["state"] for said in good] == ["remembered"] * len(good)
            asked = len(model.requests)
            assert asked == 3 * len(bad) + len(good)
            await rebuilt(worker)
            assert len(model.requests) == asked


async def test_one_bad_entry_is_dropped_and_the_good_ones_stay(tmp_path: Path):
    with MoodyModel({"echo": "one_bad"}) as model:
        async with asking(tmp_path, model.base_url) as worker:
            said = await say(worker, "anna", "echo")
            assert await worker.event_states.wait([said], SECONDS)
            found = await state(worker, said)
            assert (found["state"], len(found["memory_ids"])) == ("remembered", 2)
            [item] = await answers(worker)
            assert isinstance(item, CandidatesExtracted)
            assert (len(item.candidates), len(item.dropped)) == (2, 1)


@pytest.mark.parametrize(
    ("mode", "reason"), [("429", "answers 429"), ("500", "answers 500"), ("hang", "no answer from the model")]
)
async def test_an_outage_is_waited_out_and_nothing_is_lost(tmp_path: Path, mode: Mode, reason: str):
    with MoodyModel() as model:
        model.retry_after = "0.1"
        model.play(mode)
        async with asking(tmp_path, model.base_url, llm_timeout_seconds=SOON_SECONDS) as worker:
            said = [await say(worker, f"user-{n}", word) for n in range(3) for word in ("alpha", "bravo")]
            firsts = said[::2]
            async with asyncio.timeout(SECONDS):  # on a busy machine an attempt may have been too late for its answer
                while not all(reason in why for why in await until_waiting(worker, firsts)):  # noqa: ASYNC110 - the worker tells nobody
                    await asyncio.sleep(PAUSE_SECONDS)
            assert await is_ready(worker)
            assert await answers(worker) == []
            asked = len(model.requests)
            async with asyncio.timeout(SECONDS):
                while len(model.requests) <= asked + 3:  # noqa: ASYNC110 - the model's thread has no event of this loop
                    await asyncio.sleep(PAUSE_SECONDS)
            model.play("ok")
            assert await worker.event_states.wait(said, SECONDS)
            assert [(await state(worker, one))["state"] for one in said] == ["remembered"] * len(said)
            exposed = await worker.metrics.exposition(worker.gauges)
            assert b'mnemolog_retries_total{reason="unavailable",step="extract"}' in exposed


async def test_retry_after_is_kept_to(tmp_path: Path):
    with MoodyModel() as model:
        model.retry_after = "1"
        model.play("429", 1)
        async with asking(tmp_path, model.base_url) as worker:
            began = asyncio.get_running_loop().time()
            said = await say(worker, "anna", "alpha")
            assert await worker.event_states.wait([said], SECONDS)
            assert asyncio.get_running_loop().time() - began >= 1.0
            assert len(model.requests) == 2


async def test_a_model_that_comes_up_after_the_worker_was_started_again_loses_nothing(tmp_path: Path):
    [port] = free_ports(1)  # of a model that comes up late
    url = f"http://127.0.0.1:{port}/v1"
    async with asking(tmp_path, url, llm_timeout_seconds=SECONDS) as worker:
        before = [await say(worker, "anna", "alpha"), await say(worker, "ben", "bravo")]
        assert all("cannot be reached" in why for why in await until_waiting(worker, before))
    async with asking(tmp_path, url, llm_timeout_seconds=SECONDS) as worker:
        said = [*before, await say(worker, "anna", "charlie")]
        await until_waiting(worker, before)
        assert await is_ready(worker)
        with MoodyModel(port=port) as model:
            assert await worker.event_states.wait(said, SECONDS)
            assert [(await state(worker, one))["state"] for one in said] == ["remembered"] * 3
            await worker.drain.run_local(DRAIN_SECONDS)
            assert len(model.requests) == 3


async def test_a_window_that_fails_eight_times_while_others_succeed_is_rejected(tmp_path: Path):
    with MoodyModel({"poison": "500"}) as model:
        async with asking(tmp_path, model.base_url) as worker:
            assert await worker.event_states.wait([await say(worker, "first", "fine")], SECONDS)
            poisoned = await say(worker, "anna", "poison")
            after = await say(worker, "anna", "fine")
            await until_waiting(worker, [poisoned])
            others = 0
            while (await state(worker, poisoned))["state"] != "rejected":
                others += 1
                assert others < 400
                other = await say(worker, f"other-{others}", "fine")
                assert await worker.event_states.wait([other], SECONDS)
                assert (await state(worker, other))["state"] == "remembered"
            assert others >= 7
            assert "failed 8 times while others succeeded" in (await state(worker, poisoned))["reason"]
            assert await worker.event_states.wait([after], SECONDS)
            assert (await state(worker, after))["state"] == "remembered"
