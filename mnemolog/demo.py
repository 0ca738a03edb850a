"""A demo of the whole path with the bundled sample, for a person to watch: `python -m mnemolog.demo`."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mnemolog.sample import sample_events
from mnemolog.settings import from_environment
from mnemolog.terminal import Progress, columns, table, width
from mnemolog.worker.worker import Worker
from projections.queries.filters import Filters
from projections.queries.search import Question
from schemas.identity import Owner
from schemas.inputs.input_events import parse_event
from schemas.inputs.pieces import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemas.messages.observations import Observation

DAYS: Final = 30
START: Final = datetime(2026, 11, 2, tzinfo=UTC)
"""The current time in the demo, just after the sample's last event; no rule reads the machine's clock."""
BATCH: Final = 50
ROWS: Final = 12
DRAIN_SECONDS: Final = 120.0
TICK_SECONDS: Final = 60.0


class DemoFailed(Exception):
    """The demo had another result than it must; the message says where."""


class FixedClock:
    """A clock that always returns the same instant."""

    def now(self) -> datetime:
        """Return START."""
        return START


async def run(folder: Path) -> None:
    """Run the main job in a folder. Raises DemoFailed."""
    settings = from_environment({}, data_dir=folder, decay_policy="ladder", port=0)
    worker = Worker(settings, clock=FixedClock())
    print("starting: the log, three agents, eight shards")
    await worker.start()
    try:
        messages = _messages()
        await _publish(worker, messages)
        await _show_memories(worker, messages)
        await _decay(worker)
        await _ask(worker)
        await _rebuild(worker)
    finally:
        await worker.stop()


def _messages() -> list[Observation]:
    return [parse_event(e, tenant="default", accepted_at=START, event_id="") for e in sample_events()]


def _bar() -> Progress:
    return Progress(stream=sys.stdout, stays=True)


def _rule(title: str) -> None:
    room = max(width() - columns(title) - 2, 0)
    print(f"{'─' * (room // 2)} {title} {'─' * (room - room // 2)}")


async def _publish(worker: Worker, messages: Sequence[Observation]) -> None:
    _rule("1. Published")
    kinds = Counter(type(m).__name__ for m in messages)
    ids = {(m.envelope.owner, m.envelope.event_id) for m in messages}
    with _bar() as bar:
        sending = bar.add_task("to the log", total=len(messages))
        for begin in range(0, len(messages), BATCH):
            batch = messages[begin : begin + BATCH]
            await worker.publisher.publish(batch)
            bar.advance(sending, len(batch))
        working = bar.add_task("extracted and remembered", total=len(ids))
        draining = asyncio.get_running_loop().create_task(worker.drain.run_local(DRAIN_SECONDS))
        while not draining.done():
            done = await worker.drain.counts()
            ended = kinds["SessionEnded"] + done["remembered"] + done["nothing"] + done["rejected"]
            bar.update(working, completed=min(ended, len(ids)))
            await asyncio.wait([draining], timeout=0.2)
        bar.update(working, completed=len(ids))
    counts = draining.result()
    listed = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
    print(f"{len(messages)} events ({listed}); {len(messages) - len(ids)} of them came twice and count once.")
    print(
        f"{counts['observations']} observations: {counts['remembered']} led to memories, "
        f"{counts['nothing']} to nothing, {counts['rejected']} were rejected."
    )


async def _show_memories(worker: Worker, messages: Sequence[Observation]) -> None:
    _rule("2. Remembered, and from which words")
    words = {m.envelope.event_id: text_of(m) for m in messages}
    memories = [(o, m) for o in worker.shards.users.owners() for m in worker.shards.state(o).memories.values()]
    headings, rows = ("user", "memory", "from the words", "importance"), list[tuple[str, ...]]()
    shown: Counter[Owner] = Counter()
    for owner, memory in memories:
        if memory.status == "active" and shown[owner] < ROWS // 2:
            shown[owner] += 1
            source = words.get(memory.source_ids[0], "") if memory.source_ids else ""
            rows.append((owner.user_id, memory.content, _short(source), f"{memory.importance:.2f}"))
    print(table(headings, rows, width()))
    known = sum(m.access_count for _, m in memories)
    replaced = [(o, m) for o, m in memories if m.status == "superseded"]
    print(f"{len(memories)} memories were formed. What was said again was known {known} times:")
    for owner, memory in sorted(memories, key=lambda x: -x[1].access_count)[:3]:
        print(f"  {owner.user_id}: {memory.content} (said again: {memory.access_count})")
    print(f"{len(replaced)} were superseded by newer values, with history:")
    for owner, memory in replaced[:4]:
        newer = worker.shards.state(owner).memories[memory.superseded_by or ""]
        print(f"  {owner.user_id}: {memory.content} -> {newer.content}")


async def _decay(worker: Worker) -> None:
    _rule(f"3. {DAYS} days pass: decay is an event")
    before = {m.memory_id: m for o in worker.shards.users.owners() for m in worker.shards.state(o).memories.values()}
    decayed = expired = 0
    with _bar() as bar:
        passing = bar.add_task("days", total=DAYS)
        for day in range(1, DAYS + 1):
            answer = await worker.commands.tick("ladder", START + timedelta(days=day), TICK_SECONDS)
            if not answer.applied:
                raise DemoFailed(f"the tick of day {day} was not applied within {TICK_SECONDS:g} s")
            decayed, expired = decayed + answer.decayed, expired + answer.expired
            bar.advance(passing)
    print(f"{decayed} events lowered an importance, {expired} short-term memories expired. Some of them:")
    now = [(o, m) for o in worker.shards.users.owners() for m in worker.shards.state(o).memories.values()]
    faded = sorted(now, key=lambda x: x[1].importance - before[x[1].memory_id].importance)
    headings, rows = ("user", "memory", "importance then", f"after {DAYS} days"), list[tuple[str, ...]]()
    gone = [x for x in now if x[1].status == "expired"]
    for owner, memory in (*faded[:4], *gone[:2]):
        then = before[memory.memory_id].importance
        after = "expired" if memory.status == "expired" else f"{memory.importance:.2f}"
        rows.append((owner.user_id, memory.content, f"{then:.2f}", after))
    print(table(headings, rows, width()))


async def _ask(worker: Worker) -> None:
    _rule("4. Questions")
    file = resources.files("mnemolog.sample") / "questions.json"
    questions: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
    for question in questions:
        held = worker.shards.resolve(Owner("default", question["user"]))
        asked = Question(text=question["query"], filters=Filters(agent_id=question.get("agent")), limit=3)
        hits = (await worker.queries.search(held, asked, now=START)).found
        print(f"{question['query']}")
        for hit in hits:
            print(f"  {hit.ranked.score:.2f}  {hit.memory.content}")
        if not hits or question["expect"] not in hits[0].memory.content:
            raise DemoFailed(f"the first answer to {question['query']!r} does not hold {question['expect']!r}")


async def _rebuild(worker: Worker) -> None:
    _rule("5. Rebuilt from the log")
    with _bar() as bar:
        folding = bar.add_task("records folded", total=None)
        rebuilding = asyncio.get_running_loop().create_task(worker.rebuild.run("all"))
        while not rebuilding.done():
            progress = worker.rebuilder.progress
            if progress.total:
                bar.update(folding, total=progress.total, completed=progress.folded)
            await asyncio.wait([rebuilding], timeout=0.05)
        report = rebuilding.result()
        bar.update(folding, total=report["decisions"], completed=report["decisions"])
    print(f"live    {report['digest_before']}\nrebuilt {report['digest_after']}")
    if not report["equal"]:
        raise DemoFailed("the rebuilt digest differs from the live one")
    print(
        f"{report['decisions']} decisions folded in {report['seconds']:.2f} s, no model asked: the digests are equal."
    )


def _short(text: str, characters: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def main() -> int:
    """Run the demo in a folder that is removed afterwards; return the exit code."""
    logging.basicConfig(level=logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="mnemolog-demo-") as folder:
        try:
            asyncio.run(run(Path(folder)))
        except DemoFailed as error:
            print(f"The demo failed: {error}")
            return 1
        except KeyboardInterrupt:
            return 130
    print("\nNext: make up, then publish your own events; the README has the tour.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
