"""`mnemolog verify` and `head`: whether the log still has every decision, and a head that can prove it later."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mnemolog.cli.invocation import CommandFailed, Commands, Surroundings
from mnemolog.cli.parameters import Option

if TYPE_CHECKING:
    from mnemolog.operations.integrity.verification import Verified

AGAINST = Annotated[
    Path | None,
    Option(metavar="PATH", help="A file or a folder of heads that were kept elsewhere. [default: MNEMOLOG_HEADS_TO]"),
]
KEY = Annotated[
    str | None,
    Option("--public-key", metavar="KEY", help="The public key of who signed them. [default: this installation's]"),
]
USER = Annotated[
    str | None, Option("--user", "-u", metavar="TENANT/USER", help="Only this user's partition and history.")
]
commands = Commands()

_OF_SERVERS = ("url", "api_key_file")
"""Options for a server, which these commands do not use: they read the log here."""


@commands.add_local("verify", without=_OF_SERVERS)
async def verify(around: Surroundings, *, against: AGAINST = None, public_key: KEY = None, user: USER = None) -> None:
    """Check that no decision is missing, changed or exchanged.

    Exits 1 where one is. Without --against the heads in the folder that HEADS_TO names are compared; where that is an
    address, give a file of the lines that were posted there.

    On Kafka workers may run meanwhile. The embedded log must be free: stop its worker, or verify a copy.
    """
    found, _, compared = await _read(around, against, public_key, user)
    if around.output.as_json:
        around.output.json({**found.as_json(), "heads_compared": compared})
    else:
        counts = {"records": found.records, "linked": found.linked, "erased": found.erased}
        lines = "none" if compared is None else f"{compared} {'line' if compared == 1 else 'lines'}"
        around.output.fields({**counts, "damaged": len(found.damage), "heads compared": lines})
        for one in found.damage:
            around.output.say(str(one))
    if found.damage:
        raise CommandFailed


@commands.add_local("head", without=_OF_SERVERS)
async def head(around: Surroundings) -> None:
    """Print the heads of all partitions, signed as receipts are. Keep them elsewhere, for `verify --against`.

    The embedded log must be free, as for `verify`.
    """
    found, signed, _ = await _read(around, None, None, None)
    if found.damage:
        raise CommandFailed(f"{found.damage[0]}; no head is signed of a damaged log")
    rows = [(one.topic, one.partition, one.offset, one.head) for one in found.heads if one.offset]
    around.output.table(("topic", "partition", "offset", "head"), rows, "the log has no decision yet", of=signed)


async def _read(
    around: Surroundings, against: Path | None, public_key: str | None, user: str | None
) -> "tuple[Verified, dict[str, Any], int | None]":
    """Read the whole log with a progress bar; return the result, its signed heads, and the count of heads compared."""
    from mnemolog.operations.integrity.kept_heads import folder_of, read_kept  # noqa: PLC0415 - as the next
    from mnemolog.operations.integrity.verification import (  # noqa: PLC0415 - --help needs none of the engines
        NoHead,
        Verification,
        known_heads,
        opened_ledger,
        signed_heads,
    )
    from schemas.identity import InvalidOwner, Owner  # noqa: PLC0415 - as above
    from schemas.log import LogError, LogLocked  # noqa: PLC0415 - as above
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
            compared = None
            if against is not None:
                kept = await asyncio.to_thread(read_kept, against, public_key or ledger.receipts.public_key)
                known, compared = [*known, *kept.heads], kept.lines
            verification = Verification(ledger.log, known, whose)
            with around.output.progress("records") as bar:
                reading = bar.add_task("verifying", total=await verification.total())
                found = await verification.run(lambda records: bar.advance(reading, records))
            return found, signed_heads(found, ledger.receipts), compared
    except LogLocked as error:
        raise CommandFailed(
            f"the log in {settings.data_dir.resolve()} is in use: stop its worker first, or name with --data a copy "
            "that was made while it was stopped, or a restored backup"
        ) from error
    except (LogError, KeysUnusable, KeysMissing, MasterKeyUnknown, NoHead, InvalidOwner) as error:
        raise CommandFailed(str(error)) from error
    except OSError as error:
        raise CommandFailed(f"{against}: {error}") from error
