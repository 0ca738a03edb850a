"""Rejected windows extracted again, behind a real worker: once, by whatever extracts now, and rebuilt alike."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
from faults.sample_worker import DRAIN_SECONDS, rebuilt, running
from faults.test_model_trouble import MoodyModel, answers, asking, say, state

from mnemolog.http.app import make_http
from mnemolog.operations.reextraction import WINDOWS_AT_ONCE, Rejections
from schemas.clock import SystemClock
from schemas.identity import Owner
from schemas.messages.inbox import ExtractionRejected
from streams.extraction.rules.extractor import RuleExtractor

if TYPE_CHECKING:
    from pathlib import Path

    from mnemolog.worker.worker import Worker

SECONDS = 30.0
HOUR = timedelta(hours=1)
REMEMBERED = ["The user's word is alpha.", "The user's word is alpha. (said so)"]


async def again(worker: Worker, **wanted: Any) -> dict[str, int]:
    """Extract the next rejected windows again."""
    return await worker.reextraction.run(Rejections(before=worker.clock.now() + HOUR, **wanted))


async def memories(worker: Worker, user: str) -> list[str]:
    found = worker.shards.of(Owner("default", user)).ledger.state(Owner("default", user)).memories.values()
    return sorted(memory.content for memory in found)


async def test_what_the_model_could_not_answer_is_remembered_when_it_can(tmp_path: Path):
    with MoodyModel({"alpha": "prose", "bravo": "cut"}) as model:
        async with asking(tmp_path, model.base_url) as worker:
            said = [await say(worker, "u1", "alpha"), await say(worker, "u2", "bravo"), await say(worker, "u3", "fine")]
            assert await worker.event_states.wait(said, SECONDS)
            assert [(await state(worker, one))["state"] for one in said] == ["rejected", "rejected", "remembered"]
            model.moods = {}
            assert await again(worker) == {
                "windows": 2,
                "extracted": 2,
                "rejected": 0,
                "memories": 4,
                "gone": 0,
                "left": 0,
            }
            assert [(await state(worker, one))["state"] for one in said] == ["remembered"] * 3
            assert await memories(worker, "u1") == REMEMBERED
            asked = len(model.requests)
            assert (await again(worker))["windows"] == 0
            assert len(model.requests) == asked
            await worker.drain.run(DRAIN_SECONDS)
            await rebuilt(worker)
            assert (await state(worker, said[0]))["reason"].startswith("new")


async def test_what_is_rejected_again_is_kept_for_a_later_run_and_not_for_this_one(tmp_path: Path):
    with MoodyModel({"alpha": "prose"}) as model:
        clock = SystemClock()
        async with asking(tmp_path, model.base_url, clock=clock) as worker:
            said = await say(worker, "u1", "alpha")
            assert await worker.event_states.wait([said], SECONDS)
            before = clock.now() + timedelta(milliseconds=1)
            await asyncio.sleep(0.002)
            for _ in range(2):
                assert (await again(worker))["rejected"] == 1
            found = await worker.reextraction.run(Rejections(before=before))
            assert (found["windows"], found["left"]) == (0, 0)
            model.moods = {}
            assert (await again(worker))["extracted"] == 1
            assert len([i for i in await answers(worker) if isinstance(i, ExtractionRejected)]) == 3
            assert len(await memories(worker, "u1")) == 2
            await rebuilt(worker)


async def test_what_is_past_its_retention_is_counted_and_keeps_no_run_going(tmp_path: Path):
    with MoodyModel({"alpha": "prose"}) as model:
        async with asking(tmp_path, model.base_url) as worker:
            said = [await say(worker, f"u{n}", "alpha") for n in range(WINDOWS_AT_ONCE + 1)]
            assert await worker.event_states.wait(said, SECONDS)
            late = worker.clock.now() + timedelta(days=40)
            await worker.ticks.emit("retention", late, SECONDS, force=True)
            asked = len(model.requests)
            found = await again(worker)
            assert (found["gone"], found["windows"], found["left"]) == (len(said), 0, 0)
            assert len(model.requests) == asked


async def test_a_users_windows_are_decided_on_in_the_order_of_the_log(tmp_path: Path):
    with MoodyModel({"home": "prose"}) as model:
        async with asking(tmp_path, model.base_url) as worker:
            for city in ("Bergen", "Oslo", "Porto"):
                said = await say(worker, "u1", f"home. I live in {city}")
                assert await worker.event_states.wait([said], SECONDS)
    async with running(tmp_path, extractor=RuleExtractor(), partitions=2) as worker:
        assert (await again(worker))["extracted"] == 3
        state_of = worker.shards.of(Owner("default", "u1")).ledger.state(Owner("default", "u1"))
        assert [m.value for m in state_of.memories.values() if m.slot == "city" and m.status == "active"] == ["Porto"]
        await rebuilt(worker)


async def test_two_runs_at_once_remember_it_once(tmp_path: Path):
    with MoodyModel({"alpha": "prose"}) as model:
        async with asking(tmp_path, model.base_url) as worker:
            said = await say(worker, "u1", "alpha")
            assert await worker.event_states.wait([said], SECONDS)
            model.moods = {}
            await asyncio.gather(again(worker), again(worker))
            assert await memories(worker, "u1") == REMEMBERED
            await rebuilt(worker)


async def test_only_a_users_or_those_of_a_time(tmp_path: Path):
    with MoodyModel({"alpha": "prose"}) as model:
        async with asking(tmp_path, model.base_url) as worker:
            said = [await say(worker, user, "alpha") for user in ("u1", "u2")]
            assert await worker.event_states.wait(said, SECONDS)
            model.moods = {}
            assert (await again(worker, since=worker.clock.now() + HOUR))["windows"] == 0
            assert (await again(worker, until=worker.clock.now() - HOUR))["windows"] == 0
            assert (await again(worker, owner=Owner("other", "u1")))["windows"] == 0
            assert (await again(worker, owner=Owner("default", "u1")))["extracted"] == 1
            assert [(await state(worker, one))["state"] for one in said] == ["remembered", "rejected"]


async def test_more_windows_than_one_call_takes_over_http(tmp_path: Path):
    with MoodyModel({"alpha": "prose"}) as model:
        async with asking(tmp_path, model.base_url, clock=SystemClock()) as worker:
            said = [await say(worker, f"u{n}", "alpha") for n in range(WINDOWS_AT_ONCE + 3)]
            assert await worker.event_states.wait(said, SECONDS)
            model.moods = {}
            transport = httpx.ASGITransport(make_http(worker))
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                await asyncio.sleep(0.002)  # `before` has milliseconds
                first = (await http.post("/v1/admin/reextract", timeout=SECONDS)).json()
                assert (first["windows"], first["left"]) == (WINDOWS_AT_ONCE, 3)
                asked = {"before": first["before"]}
                second = (await http.post("/v1/admin/reextract", json=asked, timeout=SECONDS)).json()
                assert (second["extracted"], second["left"]) == (3, 0)


async def test_a_second_model_answers_what_the_first_does_not(tmp_path: Path):
    class Picky(MoodyModel):
        def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
            self.moods = {"alpha": "prose"} if request["model"] == "small" else {}
            return super().answer(request)

    with Picky() as model:
        chosen = {"llm_model": "small", "llm_second_model": "large"}
        async with asking(tmp_path, model.base_url, **chosen) as worker:
            said = [await say(worker, "u1", "alpha"), await say(worker, "u2", "fine")]
            assert await worker.event_states.wait(said, SECONDS)
            assert [(await state(worker, one))["state"] for one in said] == ["remembered"] * 2
            assert {i.envelope.user_id: i.model for i in await answers(worker)} == {"u1": "large", "u2": "small"}
            await rebuilt(worker)


async def test_a_model_that_was_refused_may_be_replaced_by_the_rules(tmp_path: Path):
    with MoodyModel({"Bergen": "prose"}) as model:
        async with asking(tmp_path, model.base_url) as worker:
            said = await say(worker, "u1", "home. I live in Bergen")
            assert await worker.event_states.wait([said], SECONDS)
    async with running(tmp_path, extractor=RuleExtractor(), partitions=2) as worker:
        assert (await again(worker))["extracted"] == 1
        assert any("Bergen" in content for content in await memories(worker, "u1"))
