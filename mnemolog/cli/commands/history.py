"""`mnemolog history`, `changes`: the events and origins of a memory, and the changes of all memories."""

import asyncio
from typing import Annotated, Any

from mnemolog.cli.invocation import Commands
from mnemolog.cli.options import AGENT, MEMORY_ID
from mnemolog.cli.output import Output, shown
from mnemolog.cli.parameters import Option
from mnemolog.client.client import AsyncClient
from schemas.text import on_one_line

SOMEBODY = Annotated[str | None, Option("--user", "-u", help="Only this user's. [default: everybody's]")]
CHANGES = Annotated[
    list[str] | None,
    Option("--type", help="Only changes of this type, such as MemoryFormed; repeat it for several types."),
]
AFTER = Annotated[
    str | None,
    Option(
        "--after", metavar="CURSOR", help="The cursor to begin after. [default: the first change; with --follow, now]"
    ),
]
LIMIT = Annotated[int, Option("--limit", min=1, max=500, help="Roughly how many to read at a time.")]
FOLLOW = Annotated[bool, Option("--follow", help="Keep printing new changes until Ctrl-C.")]
NOW = "now"
LOOK_EVERY_SECONDS = 0.5
LOUD = ("content", "importance", "status", "value", "category", "expires_at", "access_count")
"""The fields of a change that fit into a table."""

MOST_WORDS = 500
"""The most characters of an observation that are shown; --json shows all."""
commands = Commands()


@commands.add("history", only_reads=True, again=True)
async def history(client: AsyncClient, output: Output, memory_id: MEMORY_ID) -> None:
    """Show what happened to a memory, and the words it came from. The oldest is first."""
    found = await client.history(memory_id)
    if output.as_json:
        output.json(found)
        return
    output.table(
        ("when", "event", "change", "reason", "by", "position"),
        [(e["occurred_at"], e["type"], _change(e), e["reason"], e["by"], e["position"]) for e in found["events"]],
        "nothing has happened to it",
    )
    if candidates := found["lineage"]["candidates"]:
        rows = [(c["model"], c["prompt_hash"], c["position"]) for c in candidates]
        output.table(("extracted by", "prompt", "the answer is at"), rows, "")
    if observations := found["lineage"]["observations"]:
        output.table(("when", "who", "the words behind it", "event"), map(_said, observations), "")


@commands.add("changes", only_reads=True)
async def changes(
    client: AsyncClient,
    output: Output,
    *,
    user: SOMEBODY = None,
    agent: AGENT = None,
    type_: CHANGES = None,
    after: AFTER = None,
    limit: LIMIT = 100,
    follow: FOLLOW = False,
) -> None:
    """Show what happened to memories, oldest first. A line for each; with --json a JSON object a line."""
    cursor = after or (NOW if follow else None)
    while True:
        page = await client.changes(cursor, user_id=user, agent_id=agent, types=type_ or (), limit=limit)
        for change in page["items"]:
            if output.as_json:
                output.json(change)
            else:
                said = (change["recorded_at"], change["type"], change["user_id"], _words_of(change))
                output.text(" ".join(said).rstrip())
        cursor = page["next"]
        if not follow:
            output.say(f"--after {cursor} shows what comes then")
            return
        if not page["more"]:
            await asyncio.sleep(LOOK_EVERY_SECONDS)


def _words_of(change: dict[str, Any]) -> str:
    """Return the current words of a changed memory, or its id if it is not active; nothing for an erased user."""
    memory, memory_id = change["memory"], change["memory_id"]
    if memory is None:
        return f"({memory_id})" if memory_id else ""
    return on_one_line(memory["content"])


def _said(observation: dict[str, Any]) -> tuple[object, ...]:
    content = observation["content"]
    if content is None:
        return None, None, "no longer in the log", observation["event_id"]
    words = content if len(content) <= MOST_WORDS else f"{content[: MOST_WORDS - 1]}…"
    return observation["occurred_at"], observation["role"] or observation["type"], words, observation["event_id"]


def _change(event: dict[str, Any]) -> str:
    before, after = event["before"] or {}, event["after"] or {}
    if not before:
        return shown(after.get("content"))
    return ", ".join(f"{n}: {shown(before.get(n))} -> {shown(after[n])}" for n in LOUD if n in after)
