"""`mnemolog import`: imports memories of an export or of another system, and chats of other programs."""

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from mnemolog.cli.invocation import CommandFailed, Commands, Surroundings
from mnemolog.cli.lines.event_lines import BadLine, EventLine
from mnemolog.cli.lines.publisher import LinePublisher
from mnemolog.cli.lines.reader import read_rows
from mnemolog.cli.lines.sender import Refusals, interruptible, send_all
from mnemolog.cli.output import Output
from mnemolog.cli.parameters import Argument, Option
from mnemolog.client.client import AsyncClient
from mnemolog.extensions.migration.systems import CHATS, System

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mnemolog.extensions.migration.chats.sources import Export
    from mnemolog.extensions.migration.chats.whatsapp import Dates
    from mnemolog.extensions.migration.rows import Rows
    from mnemolog.extensions.migration.systems import Chats, Memories

T = TypeVar("T")
FILE = Annotated[
    str,
    Argument(
        metavar="FILE", help="The file that `mnemolog export` wrote (- is stdin), or one of the kind that --from names."
    ),
]
FROM = Annotated[
    System,
    Option(
        "--from",
        help="evatar: its table as SQLite or CSV; luna: its SQLite; powermem: a backup, JSON; "
        "chromadb: its folder, its SQLite, or a JSON export; mem0: what get_all returns, JSON; "
        "chatgpt, claude, whatsapp, telegram: what they export, as it comes; openai-messages: JSON or JSON Lines.",
    ),
]
WHOSE = Annotated[str | None, Option("--user", "-u", help="The user who gets them. [default: the user who had them]")]
KEY_FILE = Annotated[
    Path | None,
    Option("--key-file", help="Evatar's Fernet key, for encrypted rows. [default: EVATAR_ENCRYPTION_KEY]"),
]
COLLECTION = Annotated[str, Option("--collection", help="The collection of a ChromaDB.")]
ME = Annotated[
    str | None,
    Option("--me", metavar="NAME", help="Which person in a chat is the user: the name that the chat uses, or an id."),
]
TIMEZONE = Annotated[
    str | None,
    Option("--timezone", help="The time zone of a chat: an IANA name, or an offset such as +08:00. [default: UTC]"),
]
DATES = Annotated[
    Literal["dmy", "mdy", "ymd"] | None,
    Option("--dates", help="The order of day, month and year in WhatsApp's file. [default: found from the file]"),
]
DRY_RUN = Annotated[bool, Option("--dry-run", help="Only show what the file contains.")]
KEY_VARIABLE = "EVATAR_ENCRYPTION_KEY"
NOWHERE = "http://127.0.0.1"
"""The address of a client that sends no requests."""
AGAIN = "Import the same again: what was imported counts once."
LINES_AT_ONCE = 200
WAIT_SECONDS = 60.0
commands = Commands()


async def _preview(around: Surroundings, file: str, **options: Any) -> None:  # noqa: ANN401 - those of `import_`
    async with AsyncClient(NOWHERE) as client:
        await import_(client, around.output, file, **options)


@commands.add("import", instead=("dry_run", _preview))
async def import_(  # noqa: PLR0913 - one for each option
    client: AsyncClient,
    output: Output,
    file: FILE,
    *,
    system: FROM = "mnemolog",
    user: WHOSE = None,
    me: ME = None,
    timezone: TIMEZONE = None,
    dates: DATES = None,
    key_file: KEY_FILE = None,
    collection: COLLECTION = "memories",
    dry_run: DRY_RUN = False,
) -> None:
    """Import memories or chats. A bad line is reported and stops no good one; importing again changes nothing."""
    if system in CHATS:
        export = await _read(lambda: _export(system, file, timezone, dates))
        if dry_run:
            await _show_chats(output, export, me)
        else:
            await _publish(client, output, await _read(lambda: export.rows(user, me)))
        return
    rows = _rows(system, file, key_file, collection)
    if dry_run:
        await _show_memories(output, rows, user)
    else:
        await _import(client, output, rows, user)


async def _import(client: AsyncClient, output: Output, rows: "Rows", user: str | None) -> None:
    counts = Counter[str]()

    async def send(lines: Sequence[EventLine]) -> dict[int, str]:
        answer = await client.import_memories([line.event for line in lines], user, wait_seconds=WAIT_SECONDS)
        counts.update({name: answer[name] for name in ("imported", "known", "waiting")})
        items = enumerate(answer["items"])
        return {place: item["reason"] for place, item in items if item["action"] == "refused"}

    def said(answer: dict[str, Any], refused: int) -> str:
        summary = f"imported {answer['imported']}, known already {answer['known']}, refused {refused}"
        return summary + (f", {answer['waiting']} to be decided in a moment" if answer["waiting"] else "")

    await _send(output, rows, send, lambda: {name: counts[name] for name in ("imported", "known", "waiting")}, said)


async def _publish(client: AsyncClient, output: Output, rows: "Rows") -> None:
    turns: list[int] = []

    async def send(lines: Sequence[EventLine]) -> dict[int, str]:
        await client.publish([line.event for line in lines], derived_ids=True)
        turns.append(sum(line.event["type"] == "TurnRecorded" for line in lines))
        return {}  # all or none

    def said(answer: dict[str, Any], refused: int) -> str:
        return f"accepted {answer['turns']} turns, refused {refused}"

    await _send(output, rows, send, lambda: {"turns": sum(turns)}, said)


async def _send(
    output: Output,
    rows: "Rows",
    send: "Callable[[Sequence[EventLine]], Awaitable[dict[int, str]]]",
    counted: "Callable[[], dict[str, Any]]",
    said: "Callable[[dict[str, Any], int], str]",
) -> None:
    """Send all rows, and show the results. Raises CommandFailed if any was refused."""
    refusals = Refusals(output)
    publisher = LinePublisher(send, refusals.take, output.say, most=LINES_AT_ONCE)
    async with interruptible(output, publisher, refusals, AGAIN):
        reading = read_rows(rows.read)
        await send_all(reading, publisher, output, task="importing", unit=rows.unit, total=rows.total)
    if output.as_json:
        output.json(counted() | {"refused": refusals.listed(lambda bad: (bad.file, bad.line))})
    else:
        output.text(said(counted(), len(refusals.all)))
    if refusals.all:
        raise CommandFailed


async def _show_memories(output: Output, rows: "Rows", user: str | None) -> None:
    from schemas.inputs.input_events import DEFAULT_USER  # noqa: PLC0415 - no other command should wait for it

    refusals, users = Refusals(output), Counter[str]()
    async for lines, _ in read_rows(rows.read):
        for line in lines:
            if isinstance(line, BadLine):
                refusals.take(line)
            else:
                users[user or str(line.event.get("user_id", DEFAULT_USER))] += 1
    output.fields({"memories": users.total(), "users": users, "refused": len(refusals.all)})


async def _show_chats(output: Output, export: "Export", me: str | None) -> None:
    found = await _read(export.survey)
    refusals = Refusals(output)
    for bad in found.bad:
        refusals.take(bad)
    output.fields(
        {
            "turns": found.turns,
            "sessions": len(found.sessions),
            "speakers": dict(found.speakers.most_common()),
            "first": found.first,
            "last": found.last,
            "left_out": found.left_out,
            "refused": len(found.bad),
        }
    )
    await _read(lambda: export.who(me))  # which raises if the user must still be named


async def _read(read: "Callable[[], T]") -> T:
    """Return the result of reading a file, off the event loop, which an engine may share. Raises CommandFailed."""
    try:
        return await asyncio.to_thread(read)
    except FileNotFoundError as error:
        raise CommandFailed(f"there is no file {error.filename}: nothing was imported") from error
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{error}: nothing was imported") from error


def _export(system: System, file: str, timezone: str | None, dates: "Dates | None") -> "Export":
    """Return the chats of a file. Raises OSError, ValueError."""
    from mnemolog.extensions.migration.chats.sources import Export  # noqa: PLC0415 - no other command should wait for its readers

    return Export(cast("Chats", system), file, dates=dates, timezone=timezone)


def _rows(system: System, file: str, key_file: Path | None, collection: str) -> "Rows":
    """Return the memories of a file. Raises CommandFailed."""
    from mnemolog.extensions.migration.sources import rows_of  # noqa: PLC0415 - as above

    try:
        key = os.environ.get(KEY_VARIABLE) or None if key_file is None else key_file.read_text("utf-8").strip()
        return rows_of(cast("Memories", system), file, key=key, collection=collection)
    except FileNotFoundError as error:
        raise CommandFailed(f"there is no file {error.filename}: nothing was imported") from error
    except OSError as error:
        raise CommandFailed(f"{error}: nothing was imported") from error
    except ValueError as error:
        raise CommandFailed(f"the key is no Fernet key ({error}): nothing was imported") from error
