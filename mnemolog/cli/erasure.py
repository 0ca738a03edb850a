"""`mnemolog erase`, `erasures` and `encrypt`: forget a person for good, prove it, and encrypt what lies in clear."""

from typing import Annotated

import typer

from mnemolog.cli.invocation import CommandFailed, Surroundings, command, local_command
from mnemolog.cli.output import Output
from mnemolog.client.client import AsyncClient

WHOM = Annotated[str | None, typer.Option("--user", "-u", help="Whom to erase.")]
MEMORY = Annotated[str | None, typer.Option("--memory", help="Erase this memory only, and what it came from.")]
PREVIEW = Annotated[bool, typer.Option("--preview", help="Only say what would go.")]
KEY = Annotated[str | None, typer.Option("--key", help="The Idempotency-Key: the same key is the same erasure.")]


def install(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "erase", erase)
    command(app, "erasures", erasures, only_reads=True)
    local_command(app, "encrypt", encrypt)


async def erase(
    client: AsyncClient,
    output: Output,
    *,
    user: WHOM = None,
    memory: MEMORY = None,
    preview: PREVIEW = False,
    key: KEY = None,
) -> None:
    """Erase a user or a memory for good, and print the signed receipt: what went, and what remains until when."""
    if memory is not None:
        asked = (
            client.preview_memory_erasure(memory, user_id=user)
            if preview
            else client.erase_memory(memory, user_id=user, key=key)
        )
    elif user is not None:
        asked = client.preview_erasure(user) if preview else client.erase(user, key=key)
    else:
        raise CommandFailed("say whom to erase by --user, or which memory by --memory")
    found = await asked
    if output.as_json:
        output.json(found)
        return
    output.fields({name: value for name, value in found.items() if name != "remains"})
    rows = [(one["where"], one["until"] or "without end", one["why"]) for one in found["remains"]]
    output.table(("what remains", "until", "why"), rows, "nothing of it remains readable")


async def erasures(client: AsyncClient, output: Output) -> None:
    """List the erasures, without names, and the key that their receipts are checked with."""
    found = await client.erasures()
    if output.as_json:
        output.json(found)
        return
    rows = [(one["receipt_id"], one["erased_at"], one["memories"], one["subject"][:16]) for one in found["items"]]
    output.table(("receipt", "erased at", "memories", "subject"), rows, "nobody was erased")


async def encrypt(around: Surroundings) -> None:
    """Encrypt an embedded log that lies in clear, in place. It can be stopped, and goes on where it was."""
    from mnemolog.operations.encryption import encrypt_log  # noqa: PLC0415 - --help needs none of the engines
    from schemas.log import LogError  # noqa: PLC0415

    settings = around.settings()
    if not settings.is_embedded:
        raise CommandFailed("only an embedded log can be rewritten: Kafka's topics are encrypted from now on")
    if not settings.encrypts:
        raise CommandFailed("MNEMOLOG_ENCRYPTION is off: unset it")
    try:
        with around.output.progress("records") as bar:
            sealing = bar.add_task("encrypting", total=None)
            count = await encrypt_log(settings, lambda records: bar.advance(sealing, records))
    except (LogError, OSError) as error:
        raise CommandFailed(str(error)) from error
    around.output.fields({"encrypted": count})
