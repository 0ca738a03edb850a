"""`mnemolog erase`, `erasures` and `encrypt`: erase a person, prove the erasure, and encrypt an existing log."""

import sys
from typing import Annotated

import click

from mnemolog.cli.invocation import CommandFailed, Commands, Surroundings
from mnemolog.cli.output import Output, harmless
from mnemolog.cli.parameters import Option
from mnemolog.client.client import AsyncClient

WHOM = Annotated[str | None, Option("--user", "-u", help="The user to erase.")]
MEMORY = Annotated[str | None, Option("--memory", help="Erase only this memory, and the events that it came from.")]
PREVIEW = Annotated[bool, Option("--preview", help="Only show what would be removed.")]
KEY = Annotated[
    str | None,
    Option("--key", help="The Idempotency-Key. Repeating an erasure with the same key gives the same receipt."),
]

FORCE = Annotated[
    bool,
    Option("--force", help="Erase the user even if nothing is known about them yet: their events may be on their way."),
]
YES = Annotated[bool, Option("--yes", "-y", help="Do not ask for confirmation.")]
commands = Commands()


@commands.add("erase")
async def erase(
    client: AsyncClient,
    output: Output,
    *,
    user: WHOM = None,
    memory: MEMORY = None,
    preview: PREVIEW = False,
    key: KEY = None,
    force: FORCE = False,
    yes: YES = False,
) -> None:
    """Erase a user or a memory for good, and print a receipt. At a terminal it asks first.

    The receipt is signed, and says what was removed and what remains until when.
    """
    if (user or memory) and not (preview or yes) and sys.stdin is not None and sys.stdin.isatty():
        if memory is not None:
            found = await client.preview_memory_erasure(memory, user_id=user)
            what = f"the memory {harmless(memory)} for good, with {found['events']} events that it came from"
        else:
            found = await client.preview_erasure(str(user))
            what = f"{harmless(str(user))} for good, with {found['events']} events and {found['memories']} memories"
        if not click.confirm(f"Erase {what}?", err=True):
            raise CommandFailed("nothing was erased")
    if memory is not None:
        asked = (
            client.preview_memory_erasure(memory, user_id=user)
            if preview
            else client.erase_memory(memory, user_id=user, key=key)
        )
    elif user is not None:
        asked = client.preview_erasure(user) if preview else client.erase(user, key=key, force=force)
    else:
        raise CommandFailed("name a user with --user, or a memory with --memory")
    found = await asked
    if output.as_json:
        output.json(found)
        return
    output.fields({name: value for name, value in found.items() if name != "remains"})
    rows = [(one["where"], one["until"] or "without end", one["why"]) for one in found["remains"]]
    output.table(("what remains", "until", "why"), rows, "nothing remains readable")


@commands.add("erasures", only_reads=True)
async def erasures(client: AsyncClient, output: Output) -> None:
    """List the erasures, without names. Shows the public key that verifies their receipts, too."""
    found = await client.erasures()
    rows = [(one["receipt_id"], one["erased_at"], one["memories"], one["subject"][:16]) for one in found["items"]]
    output.table(("receipt", "erased at", "memories", "subject"), rows, "there were no erasures", of=found)


@commands.add_local("encrypt")
async def encrypt(around: Surroundings) -> None:
    """Encrypt an existing embedded log in place. It can be interrupted and run again."""
    from mnemolog.operations.encryption import encrypt_log  # noqa: PLC0415 - --help needs none of the engines
    from schemas.log import LogError  # noqa: PLC0415

    settings = around.settings()
    if not settings.is_embedded:
        raise CommandFailed("only an embedded log can be rewritten: on Kafka, existing records stay as they are")
    if not settings.encrypts:
        raise CommandFailed("MNEMOLOG_ENCRYPTION is off: unset it first")
    try:
        with around.output.progress("records") as bar:
            sealing = bar.add_task("encrypting", total=None)
            count = await encrypt_log(settings, lambda records: bar.advance(sealing, records))
    except (LogError, OSError) as error:
        raise CommandFailed(str(error)) from error
    around.output.fields({"encrypted": count})
