"""`mnemolog export`: writes a user's memories and their history as JSON Lines."""

import os
import sys
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import orjson

from mnemolog.cli.invocation import CommandFailed, Commands, Surroundings
from mnemolog.cli.options import APP, FILTER, OF_SESSION, USER
from mnemolog.cli.output import Output
from mnemolog.cli.parameters import Option
from mnemolog.client.client import AsyncClient
from mnemolog.client.exchange import LAST
from schemas.vocabulary.words import Scope

SCOPE = Annotated[Scope, Option("--scope", help="`global` exports the memories that all users share.")]
INTO = Annotated[
    Path | None,
    Option("--output", "-o", metavar="FILE", help="The file to write, which only you can read. [default: stdout]"),
]

READABLE = Annotated[
    bool,
    Option(
        "--what-can-be-read", help="Export everybody's memories from a damaged log, as far as its ledger can be read."
    ),
]
commands = Commands()


async def salvage(around: Surroundings, *, into: Path | None = None, **_: object) -> None:
    """Write all users' memories from the readable part of the ledger; exit 1 if some cannot be read."""
    from mnemolog.operations.integrity.salvage import salvaged  # noqa: PLC0415 - --help needs none of the engines
    from schemas.log import LogError  # noqa: PLC0415

    if into is None:
        raise CommandFailed("say where to with --output: what cannot be read is told on the terminal")
    try:
        found = await salvaged(around.settings())
        memories = 0
        with os.fdopen(os.open(into, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for line in found.lines(datetime.now(UTC)):
                file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
                memories += line["type"] == "Memory"
    except (LogError, OSError) as error:
        raise CommandFailed(f"nothing could be read: {error}") from error
    for why in found.unread:
        around.output.say(why)
    around.output.fields(
        {"memories": memories, "users": len(found.states), "unread": len(found.unread), "file": str(into)}
    )
    if found.unread:
        raise CommandFailed


@commands.add("export", only_reads=True, instead=("what_can_be_read", salvage))
async def export(
    client: AsyncClient,
    output: Output,
    *,
    user: USER = "owner",
    scope: SCOPE = "personal",
    filters: FILTER = None,
    session: OF_SESSION = None,
    app: APP = None,
    into: INTO = None,
    what_can_be_read: READABLE = False,
) -> None:
    """Write a user's memories and their history as JSON Lines. `mnemolog import` reads them."""
    assert not what_can_be_read  # noqa: S101 - that is `salvage`
    lines = client.export(user, scope=scope, filters=filters, session_id=session, app_id=app)
    try:
        if into is None:
            await _write(lines, output, sys.stdout.buffer)
            return
        part = into.with_name(into.name + ".part")  # only a complete file gets its final name
        part.unlink(missing_ok=True)  # left over from an interrupted export; this export creates its own file
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            counts = await _write(lines, output, file)
        part.replace(into)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CommandFailed(f"cannot write: {error}") from error
    memories, reminders = counts["Memory"], counts["Reminder"]
    events = counts.total() - memories - reminders - counts["PeriodicWake"] - 1
    output.fields({"memories": memories, "reminders": reminders, "events": events, "file": str(into)})


async def _write(lines: AsyncIterator[dict[str, Any]], output: Output, file: BinaryIO) -> Counter[str]:
    counts: Counter[str] = Counter()
    with output.progress("lines") as bar:
        writing = bar.add_task("exporting", total=None)
        async for line in lines:
            file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
            counts[line["type"]] += 1
            bar.advance(writing)
            if line["type"] == LAST:
                file.flush()
    return counts
