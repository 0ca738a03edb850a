"""`mnemolog reembed`: makes another encoder's vectors beside those that serve, compares, and switches."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from mnemolog.cli.invocation import CommandFailed, command
from mnemolog.cli.output import Output
from mnemolog.client.client import AsyncClient
from mnemolog.client.errors import MnemologError

ENCODER = Annotated[
    str | None, typer.Argument(help="Spelt as MNEMOLOG_EMBEDDING_MODEL is; without it the active encoder.")
]
FORECAST = Annotated[bool, typer.Option("--forecast", help="Only say what it takes: memories, tokens, seconds.")]
DIFF = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Lines {user_id, query, expected: [id]}: compare it with the active encoder."),
]
ACTIVATE = Annotated[bool, typer.Option("--activate", help="Let it serve, from now on and after a restart.")]
LIST = Annotated[bool, typer.Option("--list", help="Only say which encoder serves.")]
LOOK_SECONDS = 0.5


def install(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "reembed", reembed, again=True)


async def reembed(
    client: AsyncClient,
    output: Output,
    encoder: ENCODER = None,
    *,
    forecast: FORECAST = False,
    diff: DIFF = None,
    activate: ACTIVATE = False,
    listed: LIST = False,
) -> None:
    """Make another encoder's vectors beside those that serve; a second run goes on where the first ended."""
    if listed:
        output.fields(await client.reembedding())
        return
    if diff is not None and encoder is None:
        raise CommandFailed("--diff compares the active encoder with another one: name it")
    expected = await client.reembed(encoder, what="forecast")
    if forecast:
        output.fields({name: value for name, value in expected.items() if value is not None})
        return
    output.say(f"{expected['memories']} memories, {expected['tokens']} tokens, about {expected['seconds']:.0f} s")
    if diff is not None and encoder is not None:
        output.fields(await _watched(client, output, client.compare_encoders(encoder, _questions(diff))))
        return
    made = await _watched(client, output, client.reembed(encoder, what="activate" if activate else "build"))
    output.fields({name: value for name, value in made.items() if value is not None})


async def _watched(client: AsyncClient, output: Output, asked: Any) -> dict[str, Any]:  # noqa: ANN401 - an awaitable answer
    """Await an answer behind a bar."""
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
        return None  # the bar is for a person's patience: the answer itself says what is wrong
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
