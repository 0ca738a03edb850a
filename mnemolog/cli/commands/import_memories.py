"""`mnemolog import`: memories of an export, or of another system, come in."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.invocation import CommandFailed, command
from mnemolog.cli.lines.event_lines import EventLine
from mnemolog.cli.lines.publisher import LinePublisher
from mnemolog.cli.lines.reader import read_rows
from mnemolog.cli.lines.sender import Refusals, interruptible, send_all
from mnemolog.cli.migrations.systems import System
from mnemolog.cli.output import Output
from mnemolog.client.client import AsyncClient

if TYPE_CHECKING:
    from mnemolog.cli.migrations.rows import Rows

FILE = Annotated[
    str, typer.Argument(metavar="FILE", help="What `mnemolog export` wrote (- is stdin), or what --from names.")
]
FROM = Annotated[
    System,
    typer.Option(
        "--from",
        help="evatar: its table as SQLite or CSV; luna: its SQLite; powermem: a backup, JSON; "
        "chromadb: its folder, its SQLite, or a JSON export; mem0: what get_all returns, JSON.",
    ),
]
WHOSE = Annotated[str | None, typer.Option("--user", "-u", help="Whose they become. [default: who had them]")]
KEY_FILE = Annotated[
    Path | None,
    typer.Option("--key-file", help="Evatar's Fernet key, for encrypted rows. [default: EVATAR_ENCRYPTION_KEY]"),
]
COLLECTION = Annotated[str, typer.Option("--collection", help="The collection of a ChromaDB.")]
KEY_VARIABLE = "EVATAR_ENCRYPTION_KEY"
AGAIN = "Import the same again: what was imported counts once."
LINES_AT_ONCE = 200
WAIT_SECONDS = 60.0


def install(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "import", import_)


async def import_(
    client: AsyncClient,
    output: Output,
    file: FILE,
    *,
    system: FROM = "mnemolog",
    user: WHOSE = None,
    key_file: KEY_FILE = None,
    collection: COLLECTION = "memories",
) -> None:
    """Import memories. A bad line is reported and never stops the good ones; importing again changes nothing."""
    rows = _rows(system, file, key_file, collection)
    refusals, counts = Refusals(output), Counter[str]()

    async def send(lines: Sequence[EventLine]) -> dict[int, str]:
        answer = await client.import_memories([line.event for line in lines], user, wait_seconds=WAIT_SECONDS)
        counts.update({name: answer[name] for name in ("imported", "known", "waiting")})
        items = enumerate(answer["items"])
        return {place: item["reason"] for place, item in items if item["action"] == "refused"}

    publisher = LinePublisher(send, refusals.take, output.say, most=LINES_AT_ONCE)
    async with interruptible(output, publisher, refusals, AGAIN):
        reading = read_rows(rows.read)
        await send_all(reading, publisher, output, task="importing", unit=rows.unit, total=rows.total)
    answer: dict[str, Any] = {name: counts[name] for name in ("imported", "known", "waiting")}
    if output.as_json:
        output.json(answer | {"refused": refusals.listed(lambda bad: (bad.file, bad.line))})
    else:
        summary = f"imported {answer['imported']}, known already {answer['known']}, refused {len(refusals.all)}"
        output.text(summary + (f", {answer['waiting']} to be decided in a moment" if answer["waiting"] else ""))
    if refusals.all:
        raise CommandFailed


def _rows(system: System, file: str, key_file: Path | None, collection: str) -> "Rows":
    """Return what the file holds. Raises CommandFailed."""
    from mnemolog.cli.migrations.sources import rows_of  # noqa: PLC0415 - no other command should wait for its readers

    try:
        key = os.environ.get(KEY_VARIABLE) or None if key_file is None else key_file.read_text("utf-8").strip()
        return rows_of(system, file, key=key, collection=collection)
    except FileNotFoundError as error:
        raise CommandFailed(f"there is no file {error.filename}: nothing was imported") from error
    except OSError as error:
        raise CommandFailed(f"{error}: nothing was imported") from error
    except ValueError as error:
        raise CommandFailed(f"the key is no Fernet key ({error}): nothing was imported") from error
