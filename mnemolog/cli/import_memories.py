"""`mnemolog import`: memories of an export, or of another system, come in."""

from collections import Counter
from typing import Annotated, Any

import typer

from mnemolog.cli.file_reading import missing, read_rows, sizes
from mnemolog.cli.import_lines import exported_rows
from mnemolog.cli.invoking import CommandFailed, command
from mnemolog.cli.line_sending import Refusals, interruptible, send_all
from mnemolog.cli.output import Output
from mnemolog.cli.publishing_lines import LinePublisher
from mnemolog.client import AsyncClient

FILE = Annotated[str, typer.Argument(metavar="FILE", help="What `mnemolog export` wrote; - is stdin.")]
WHOSE = Annotated[str | None, typer.Option("--user", "-u", help="Whose they become. [default: who had them]")]
AGAIN = "Import the same again: what was imported counts once."
LINES_AT_ONCE = 200
WAIT_SECONDS = 60.0


def install(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "import", import_)


async def import_(client: AsyncClient, output: Output, file: FILE, *, user: WHOSE = None) -> None:
    """Import memories. A bad line is reported and never stops the good ones; importing again changes nothing."""
    if missing([file]):
        raise CommandFailed(f"there is no file {file}: nothing was imported")
    refusals, counts = Refusals(output), Counter[str]()

    async def send(memories: list[dict[str, Any]]) -> None:
        answer = await client.import_memories(memories, user, wait_seconds=WAIT_SECONDS)
        counts.update({name: answer[name] for name in ("imported", "known", "waiting")})

    publisher = LinePublisher(send, refusals.take, output.say, most=LINES_AT_ONCE)
    async with interruptible(output, publisher, refusals, AGAIN):
        await send_all(
            read_rows(lambda: exported_rows(file)),
            publisher,
            output,
            task="importing",
            unit="bytes",
            total=sizes([file]),
        )
    answer: dict[str, Any] = {name: counts[name] for name in ("imported", "known", "waiting")}
    if output.as_json:
        output.json(answer | {"refused": refusals.listed(lambda bad: bad.line)})
    else:
        told = f"imported {answer['imported']}, known already {answer['known']}, refused {len(refusals.all)}"
        output.text(told + (f", {answer['waiting']} to be decided in a moment" if answer["waiting"] else ""))
    if refusals.all:
        raise CommandFailed
