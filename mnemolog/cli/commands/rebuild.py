"""`mnemolog rebuild`: folds the log into a new generation, verifies it, and switches."""

import asyncio
import re
from typing import Annotated, Literal

import typer

from mnemolog.cli.invocation import CommandFailed, command
from mnemolog.cli.output import Output
from mnemolog.client.client import AsyncClient
from mnemolog.client.errors import MnemologError

WHAT = Annotated[Literal["all", "shards", "index"], typer.Argument(help="What to build anew.")]
LIST = Annotated[bool, typer.Option("--list", help="Only list the generations there are.")]
ACTIVATE = Annotated[
    int | None, typer.Option(min=1, metavar="GENERATION", help="Switch back to this one, brought up to date.")
]
LOOK_SECONDS = 0.3


def install(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "rebuild", rebuild, again=True)


async def rebuild(
    client: AsyncClient, output: Output, what: WHAT = "all", *, listed: LIST = False, activate: ACTIVATE = None
) -> None:
    """Fold the log from its beginning into a new generation, verify it by digest, and switch. Asks no model."""
    if listed:
        output.fields(await client.generations())
        return
    rebuilding = asyncio.get_running_loop().create_task(client.rebuild(what, activate=activate))
    try:
        with output.progress("%") as bar:
            folding = bar.add_task("rebuilding", total=100)
            while not rebuilding.done():
                bar.update(folding, completed=round(100 * await _ratio(client)))
                await asyncio.wait([rebuilding], timeout=LOOK_SECONDS)
            bar.update(folding, completed=100)
        found = await rebuilding
    finally:
        rebuilding.cancel()
        await asyncio.gather(rebuilding, return_exceptions=True)  # who waits no longer leaves no word of it behind
    output.fields(found)
    rate = found["decisions"] / found["seconds"] if found["seconds"] else 0.0
    output.say(f"{rate:,.0f} decisions/s")
    if not found["equal"]:
        raise CommandFailed("the rebuilt digest differs from the one before")


async def _ratio(client: AsyncClient) -> float:
    """Return how far it is, 0 to 1; before it has begun the metric says 1 as well as afterwards, so 1 counts as 0."""
    try:
        found = re.search(r"^mnemolog_rebuild_progress_ratio (\S+)$", await client.metrics(), re.MULTILINE)
    except MnemologError:
        return 0.0  # the bar is for a person's patience: the rebuild itself says what is wrong
    ratio = float(found[1]) if found else 0.0
    return 0.0 if ratio >= 1 else ratio
