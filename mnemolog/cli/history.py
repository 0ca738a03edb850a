"""`mnemolog history`: every event about a memory, and what it came from."""

from typing import Annotated, Any

import typer

from mnemolog.cli.invoking import command
from mnemolog.cli.output import Output, shown
from mnemolog.client import AsyncClient

MEMORY_ID = Annotated[str, typer.Argument(metavar="MEMORY_ID")]
LOUD = ("content", "importance", "status", "value", "category", "expires_at", "access_count")
"""What of a change a table has room for."""


def install(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "history", history, only_reads=True, again=True)


async def history(client: AsyncClient, output: Output, memory_id: MEMORY_ID) -> None:
    """Show every event about a memory, oldest first."""
    found = await client.history(memory_id)
    if output.as_json:
        output.json(found)
        return
    events = next(v for k, v in found.items() if k != "lineage" and isinstance(v, list))
    output.table(
        ("when", "event", "change", "reason"),
        [(e["occurred_at"], e["type"], _change(e), e["reason"]) for e in events],
        "nothing has happened to it",
    )


def _change(event: dict[str, Any]) -> str:
    before, after = event["before"] or {}, event["after"] or {}
    if not before:
        return shown(after.get("content"))
    return ", ".join(f"{n}: {shown(before.get(n))} -> {shown(after[n])}" for n in LOUD if n in after)
