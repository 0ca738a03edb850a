"""`mnemolog verify` and `head`: whether the log still has every decision, and what proves it later."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.invocation import CommandFailed, Commands, Surroundings

if TYPE_CHECKING:
    from mnemolog.operations.integrity.verification import Verified

AGAINST = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Heads kept elsewhere, a file or a folder. [default: MNEMOLOG_HEADS_TO]"),
]
KEY = Annotated[
    str | None,
    typer.Option("--public-key", metavar="KEY", help="Who signed them. [default: this installation]"),
]
USER = Annotated[
    str | None, typer.Option("--user", "-u", metavar="TENANT/USER", help="Only this user's partition and history.")
]
commands = Commands()


@commands.add_local("verify")
async def verify(around: Surroundings, *, against: AGAINST = None, public_key: KEY = None, user: USER = None) -> None:
    """Check that no decision is missing, changed or exchanged.

    Exits 1 where one is. On Kafka workers may run meanwhile. The embedded log must be free: stop its worker, or verify
    a copy.
    """
    found = (await _read(around, against, public_key, user))[0]
    if around.output.as_json:
        around.output.json(found.as_json())
    else:
        counts = {"records": found.records, "linked": found.linked, "erased": found.erased}
        around.output.fields({**counts, "damaged": len(found.damage)})
        for one in found.damage:
            around.output.say(str(one))
    if found.damage:
        raise CommandFailed


@commands.add_local("head")
async def head(around: Surroundings) -> None:
    """Print the heads of all partitions, signed as receipts are. Keep them elsewhere, for `verify --against`."""
    found, signed = await _read(around, None, None, None)
    if found.damage:
        raise CommandFailed(f"{found.damage[0]}; no head is signed of a damaged log")
    rows = [(one.topic, one.partition, one.offset, one.head) for one in found.heads if one.offset]
    around.output.table(("topic", "partition", "offset", "head"), rows, "the log has no decision yet", of=signed)


async def _read(
    around: Surroundings, against: Path | None, public_key: str | None, user: str | None
) -> "tuple[Verified, dict[str, Any]]":
    """Read the log through behind a bar; return what was found, and its heads, signed."""
    from mnemolog.operations.integrity.kept_heads import folder_of, read_kept  # noqa: PLC0415 - as the next
    from mnemolog.operations.integrity.verification import (  # noqa: PLC0415 - --help needs none of the engines
        NoHead,
        Verification,
        known_heads,
        opened_ledger,
        signed_heads,
    )
    from schemas.identity import InvalidOwner, Owner  # noqa: PLC0415 - as above
    from schemas.log import LogError  # noqa: PLC0415 - as above
    from streams.sealing.key_files import KeysUnusable  # noqa: PLC0415 - as above
    from streams.sealing.key_ring import KeysMissing  # noqa: PLC0415 - as above
    from streams.sealing.master_key import MasterKeyUnknown  # noqa: PLC0415 - as above

    settings = around.settings()
    try:
        whose = None if user is None else Owner.of_key((user if "/" in user else f"default/{user}").encode())
        against = against or folder_of(settings)
        async with opened_ledger(settings) as ledger:
            if ledger is None:
                raise CommandFailed(f"there is no log in {settings.data_dir.resolve()}: name the folder with --data")
            known = await known_heads(settings)
            if against is not None:
                key = public_key or ledger.receipts.public_key
                known += await asyncio.to_thread(read_kept, against, key)
            verification = Verification(ledger.log, known, whose)
            with around.output.progress("records") as bar:
                reading = bar.add_task("verifying", total=await verification.total())
                found = await verification.run(lambda records: bar.advance(reading, records))
            return found, signed_heads(found, ledger.receipts)
    except (LogError, KeysUnusable, KeysMissing, MasterKeyUnknown, NoHead, InvalidOwner) as error:
        raise CommandFailed(str(error)) from error
    except OSError as error:
        raise CommandFailed(f"{against}: {error}") from error
