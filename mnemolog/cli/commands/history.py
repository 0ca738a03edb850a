"""`mnemolog history`: every event about a memory, and what it came from."""

from typing import Annotated, Any

import typer

from mnemolog.cli.invocation import command
from mnemolog.cli.output import Output, shown
from mnemolog.client.client import AsyncClient

MEMORY_ID = Annotated[str, typer.Argument(metavar="MEMORY_ID")]
LOUD = ("content", "importance", "status", "value", "category", "expires_at", "access_count")
"""Characters of a change that a table has room for."""

MOST_WORDS = 500
"""Characters of an observation that are shown; --json has them all."""


def install(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "history", history, only_reads=True, again=True)


async def history(client: AsyncClient, output: Output, memory_id: MEMORY_ID) -> None:
    """Show every event about a memory, oldest first, and the words that it came from."""
    found = await client.history(memory_id)
    if output.as_json:
        output.json(found)
        return
    output.table(
        ("when", "event", "change", "reason", "by"),
        [(e["occurred_at"], e["type"], _change(e), e["reason"], e["by"]) for e in found["events"]],
        "nothing has happened to it",
    )
    if candidates := found["lineage"]["candidates"]:
        rows = [(c["model"], c["prompt_hash"], c["position"]) for c in candidates]
        output.table(("extracted by", "prompt", "the answer is at"), rows, "")
    if observations := found["lineage"]["observations"]:
        output.table(("when", "who", "the words behind it", "event"), map(_said, observations), "")


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
