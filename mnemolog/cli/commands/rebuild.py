"""`mnemolog rebuild` and `reembed`: build a replacement alongside the serving data, compare it, and switch to it.

A rebuild folds the log into a new generation; a reembedding computes another encoder's vectors.
"""

import asyncio
import re
from collections.abc import Awaitable
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson

from mnemolog.cli.invocation import CommandFailed, Commands
from mnemolog.cli.output import Output
from mnemolog.cli.parameters import Argument, Option
from mnemolog.client.client import AsyncClient
from mnemolog.client.errors import MnemologError

WHAT = Annotated[Literal["all", "shards", "index"], Argument(help="What to rebuild.")]
LIST = Annotated[bool, Option("--list", help="Only list the existing generations.")]
ACTIVATE = Annotated[
    int | None, Option(min=1, metavar="GENERATION", help="Switch back to this generation after bringing it up to date.")
]
ENCODER = Annotated[
    str | None, Argument(help="The encoder, written as in MNEMOLOG_EMBEDDING_MODEL. [default: the active one]")
]
FORECAST = Annotated[bool, Option("--forecast", help="Only show what it would take: memories, tokens, seconds.")]
DIFF = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="A file with lines {user_id, query, expected: [id]}, by which it is compared with the active encoder.",
    ),
]
SERVE = Annotated[bool, Option("--activate", help="Use it from now on, and after a restart.")]
SERVING = Annotated[bool, Option("--list", help="Only show which encoder is active.")]
LOOK_SECONDS = 0.3
commands = Commands()


@commands.add("rebuild", again=True)
async def rebuild(
    client: AsyncClient, output: Output, what: WHAT = "all", *, listed: LIST = False, activate: ACTIVATE = None
) -> None:
    """Fold the log anew, verify it by digest, and switch to it. Asks no model."""
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
        await asyncio.gather(rebuilding, return_exceptions=True)  # so that no unretrieved error is reported later
    output.fields(found)
    rate = found["decisions"] / found["seconds"] if found["seconds"] else 0.0
    output.say(f"{rate:,.0f} decisions/s")
    if not found["equal"]:
        raise CommandFailed("the rebuilt digest differs from the one before")


async def _ratio(client: AsyncClient) -> float:
    """Return the progress, 0 to 1. The metric is 1 both before the start and after the end, so 1 counts as 0."""
    try:
        found = re.search(r"^mnemolog_rebuild_progress_ratio (\S+)$", await client.metrics(), re.MULTILINE)
    except MnemologError:
        return 0.0  # the bar is informational: the rebuild itself reports errors
    ratio = float(found[1]) if found else 0.0
    return 0.0 if ratio >= 1 else ratio


@commands.add("reembed", again=True)
async def reembed(
    client: AsyncClient,
    output: Output,
    encoder: ENCODER = None,
    *,
    forecast: FORECAST = False,
    diff: DIFF = None,
    activate: SERVE = False,
    listed: SERVING = False,
) -> None:
    """Make another encoder's vectors beside those that serve. A second run goes on where the first ended."""
    if listed:
        output.fields(await client.reembedding())
        return
    if diff is not None and encoder is None:
        raise CommandFailed("--diff compares the active encoder with another one: name it")
    questions = _questions(diff) if diff is not None else []
    expected = await client.reembed(encoder, what="forecast")
    if forecast:
        output.fields({name: value for name, value in expected.items() if value is not None})
        return
    output.say(f"{expected['memories']} memories, {expected['tokens']} tokens, about {expected['seconds']:.0f} s")
    if diff is not None and encoder is not None:
        output.fields(await _watched(client, output, client.compare_encoders(encoder, questions)))
        return
    made = await _watched(client, output, client.reembed(encoder, what="activate" if activate else "build"))
    output.fields({name: value for name, value in made.items() if value is not None})


async def _watched(client: AsyncClient, output: Output, asked: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    """Await an answer while a progress bar is shown."""
    waiting = asyncio.ensure_future(asked)
    try:
        with output.progress("memories") as bar:
            making = bar.add_task("reembedding", total=None)
            while not waiting.done():
                if running := await _running(client):
                    bar.update(making, completed=running["done"], total=running["total"])
                await asyncio.wait([waiting], timeout=LOOK_SECONDS)
        found: dict[str, Any] = await waiting
        return found
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def _running(client: AsyncClient) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] | None = (await client.reembedding())["running"]
    except MnemologError:
        return None  # the bar is informational: the answer itself reports errors
    return found


def _questions(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a file of questions. Raises CommandFailed."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise CommandFailed(f"{path}: {error.strerror}") from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(orjson.loads(line))
        except orjson.JSONDecodeError as error:
            raise CommandFailed(f"{path}, line {number}: is no JSON: {error}") from error
    return found
