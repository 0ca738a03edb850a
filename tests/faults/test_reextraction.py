"""Rejected windows extracted again, behind a real worker: once, by whatever extracts now, and rebuilt alike."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from faults.sample_worker import DRAIN_SECONDS, rebuilt, running
from faults.test_model_trouble import MoodyModel, answers, asking, say, state
from support.own_words import OwnWordsHere

from mnemolog.http.app import make_http
from mnemolog.operations.reextraction import WINDOWS_AT_ONCE, DecisionsStalled, Reextraction, Rejections
from schemas.identity import Owner
from schemas.instant import SystemClock
from schemas.messages.inbox import ExtractionRejected
from schemas.topics import INBOX

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from contract.scripted_model import Mode

    from mnemolog.worker.worker import Worker

SECONDS = 120.0
HOUR = timedelta(hours=1)
MORE = ("", " (said so)")
REMEMBERED = ["The user's word is alpha.", "The user's word is alpha. (said so)"]


async def again(worker: Worker, **wanted: Any) -> dict[str, int]:
    """Extract the next rejected windows again."""
    return await worker.reextraction.run(Rejections(before=worker.clock.now() + HOUR, **wanted))


async def memories(worker: Worker, user: str) -> list[str]:
    found = worker.shards.of(Owner("default", user)).ledger.state(Owner("default", user)).memories.values()
    return sorted(memory.content for memory in found)


async def until_remembered(worker: Worker, user: str, count: int) -> None:
    async with asyncio.timeout(SECONDS):
        while True:
            if len(await memories(worker, user)) == count:
                return
            await asyncio.sleep(0.01)


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
    async with running(tmp_path, extractor=OwnWordsHere(), partitions=2) as worker:
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


async def test_of_two_runs_at_once_the_second_asks_the_model_nothing_again(tmp_path: Path):
    """Also what the first is refused again: both began before."""
    with MoodyModel({"alpha": "prose", "bravo": "prose"}) as model:
        async with asking(tmp_path, model.base_url, clock=SystemClock()) as worker:
            said = [await say(worker, user, word) for user, word in (("u1", "alpha"), ("u2", "bravo"))]
            assert await worker.event_states.wait(said, SECONDS)
            model.moods, asked = {"bravo": "prose"}, len(model.requests)
            await asyncio.sleep(0.002)  # `before` has milliseconds
            wanted = Rejections(before=worker.clock.now())
            found = await asyncio.gather(worker.reextraction.run(wanted), worker.reextraction.run(wanted))
            assert sorted((each["windows"], each["extracted"], each["rejected"]) for each in found) == [
                (0, 0, 0),
                (2, 1, 1),
            ]
            of_bravo = len([r for r in model.requests[asked:] if "bravo" in str(r["messages"])])
            assert len(model.requests) - asked - of_bravo == 1
            assert await memories(worker, "u1") == REMEMBERED


async def test_runs_that_go_on_between_each_others_calls_take_no_window_twice(tmp_path: Path):
    with MoodyModel({"alpha": "prose"}) as model:
        async with asking(tmp_path, model.base_url) as worker:
            number = 2 * WINDOWS_AT_ONCE
            said = [await say(worker, f"u{n}", "alpha") for n in range(number)]
            assert await worker.event_states.wait(said, SECONDS)
            model.moods, asked = {}, len(model.requests)
            one, other = (Rejections(before=worker.clock.now() + n * HOUR) for n in (1, 2))
            first = [await worker.reextraction.run(run) for run in (one, other)]
            assert [each["left"] for each in first] == [number - WINDOWS_AT_ONCE, 0]
            last = await worker.reextraction.run(one)
            assert (last["windows"], last["left"]) == (0, 0)
            assert len(model.requests) - asked == number


async def test_an_answer_that_nobody_decides_on_is_said_and_not_asked_for_again(tmp_path: Path):
    with MoodyModel({"alpha": "prose"}) as model:
        async with asking(tmp_path, model.base_url) as worker:
            assert await worker.event_states.wait([await say(worker, "u1", "alpha")], SECONDS)
            model.moods, asked = {}, len(model.requests)
            stalled = Reextraction(
                log=worker.log,
                shards=worker.shards,
                extractions=worker.extractions,
                cluster=worker.cluster,
                handled=lambda _topic, _partition: 0,
                decision_seconds=0.05,
            )
            wanted = Rejections(before=worker.clock.now() + HOUR)
            with pytest.raises(DecisionsStalled, match="do it again later"):
                await stalled.run(wanted)
            await worker.drain.run(DRAIN_SECONDS)
            assert (await stalled.run(wanted))["windows"] == 0
            assert len(model.requests) - asked == 1
            assert await memories(worker, "u1") == REMEMBERED


class HeldModel(MoodyModel):
    """Answers what holds a word only when it may."""

    def __init__(self, moods: dict[str, Mode]) -> None:
        super().__init__(moods)
        self.held: dict[str, threading.Event] = {}
        self.asked: dict[str, threading.Event] = defaultdict(threading.Event)

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        said = str([m["content"] for m in request["messages"] if m["role"] == "user"])
        for word, may_answer in self.held.items():
            if word in said:
                self.asked[word].set()
                assert may_answer.wait(SECONDS)
        return super().answer(request)

    async def until_asked(self, word: str) -> None:
        assert await asyncio.to_thread(self.asked[word].wait, SECONDS)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for may_answer in self.held.values():
            may_answer.set()
        super().__exit__(kind, error, trace)


async def test_an_answer_to_a_user_who_was_erased_meanwhile_leaves_nothing(tmp_path: Path):
    erased, other = Owner("default", "u1"), Owner("default", "u2")
    with HeldModel({"alpha": "prose", "bravo": "prose"}) as model:
        async with asking(tmp_path, model.base_url) as worker:
            said = [await say(worker, user, word) for user, word in (("u1", "alpha"), ("u2", "bravo"))]
            assert await worker.event_states.wait(said, SECONDS)
            model.moods, model.held = {}, {"alpha": threading.Event()}
            run = asyncio.create_task(again(worker))
            await model.until_asked("alpha")
            await worker.user_erasures.erase(erased, "once")
            partition = worker.shards.partition(erased)
            end = await worker.log.end(INBOX.name, partition)
            model.held["alpha"].set()
            found = await run
            assert (found["extracted"], found["gone"]) == (1, 1)
            if partition != worker.shards.partition(other):
                assert await worker.log.end(INBOX.name, partition) == end
            records = [r for r in await worker.log.read(INBOX.name, partition, 0) if not r.is_erased]
            assert not any(b"alpha" in record.value for record in records)
            assert (await memories(worker, "u1"), len(await memories(worker, "u2"))) == ([], 2)
            assert (await again(worker))["windows"] == 0
            await rebuilt(worker)


async def test_a_run_that_was_cut_off_is_taken_up_by_the_next_worker(tmp_path: Path):
    """What was answered is asked no more; what was not, is."""
    with HeldModel({"alpha": "prose", "bravo": "prose"}) as model:
        async with asking(tmp_path, model.base_url) as worker:
            said = [await say(worker, user, word) for user, word in (("u1", "alpha"), ("u2", "bravo"))]
            assert await worker.event_states.wait(said, SECONDS)
            model.moods, model.held = {}, {"bravo": threading.Event()}
            run = asyncio.create_task(again(worker))
            await model.until_asked("bravo")
            await until_remembered(worker, "u1", 2)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
        model.held["bravo"].set()
        model.held, asked = {}, len(model.requests)
        async with asking(tmp_path, model.base_url) as worker:
            found = await again(worker)
            assert (found["windows"], found["extracted"], found["left"]) == (1, 1, 0)
            assert not any("alpha" in str(request["messages"]) for request in model.requests[asked:])
            assert len(await memories(worker, "u2")) == 2
            await rebuilt(worker)


@pytest.mark.parametrize("first", ["alpha", "bravo"])
async def test_what_comes_of_a_run_does_not_depend_on_who_is_answered_first(tmp_path: Path, first: str):
    """Two users' windows are with the model at once; each user's own come one after the other."""
    second = "bravo" if first == "alpha" else "alpha"
    users = {"alpha": "u1", "bravo": "u2"}
    with HeldModel({"alpha": "prose", "bravo": "prose"}) as model:
        async with asking(tmp_path, model.base_url) as worker:
            for place in ("one", "two"):
                said = [await say(worker, user, f"{word} {place}") for word, user in users.items()]
                assert await worker.event_states.wait(said, SECONDS)
            model.moods, model.held = {}, {word: threading.Event() for word in users}
            asked = len(model.requests)
            run = asyncio.create_task(again(worker))
            for word in users:
                await model.until_asked(word)
            model.held[first].set()
            await until_remembered(worker, users[first], 4)
            assert await memories(worker, users[second]) == []
            model.held[second].set()
            assert (await run)["extracted"] == 4
            for word, user in users.items():
                windows = [
                    str(r["messages"]) for r in model.requests[asked:] if f"My word is {word}" in str(r["messages"])
                ]
                assert [f"My word is {word} one" in window for window in windows] == [True, False]
                said_so = [f"The user's word is {word} {place}.{more}" for place in ("one", "two") for more in MORE]
                assert await memories(worker, user) == said_so
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
    async with running(tmp_path, extractor=OwnWordsHere(), partitions=2) as worker:
        assert (await again(worker))["extracted"] == 1
        assert any("Bergen" in content for content in await memories(worker, "u1"))
