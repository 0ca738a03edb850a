"""`mnemolog doctor`: checks the configuration, reaches every component, and advises on each fault."""

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from mnemolog.cli.invocation import CommandFailed, Commands, Surroundings
from mnemolog.cli.parameters import Option
from mnemolog.environment import SettingsError

RESIDUE = Annotated[
    Path | None,
    Option(
        metavar="FILE", help="Instead, search everything that is stored for the words in this file, one on each line."
    ),
]
ERASED = Annotated[
    Path | None,
    Option(metavar="RECEIPT", help="Read everything that any key opens, and show what is left of an erased user."),
]
IN_CLEAR = (
    "this proves that no file or record holds these words in clear. With encryption that is so of everybody, also of "
    "who was not erased: that somebody is, `--erased RECEIPT` proves"
)
UNDER_ANY_KEY = "this proves that no key that is left opens anything of this user from before the erasure"
commands = Commands()


NO_CALLS = Annotated[
    bool,
    Option("--no-calls", help="Send nothing to the model or the embedding endpoint, since a call may cost money."),
]


@commands.add_local("doctor")
async def doctor(
    around: Surroundings, *, residue: RESIDUE = None, erased: ERASED = None, no_calls: NO_CALLS = False
) -> None:
    """Check the configuration and reach every component. Exits with 1 when something is wrong.

    The model is asked for one extraction, an embedding endpoint for one embedding; what cannot be read is shown.

    With a URL that server is asked what it reaches: its settings count, not those here.

    With --residue every byte that is kept is searched for words instead, and it exits 1 where one is found. With
    --erased and a receipt, everything that a key opens is searched for that user, and for those words.
    """
    if erased is not None:
        await _prove(around, erased, residue)
        return
    if residue is not None:
        await _search(around, residue)
        return
    from mnemolog.diagnostics.check import Check  # noqa: PLC0415 - --help needs none of the engines
    from mnemolog.diagnostics.checks import checked  # noqa: PLC0415 - as above
    from mnemolog.diagnostics.server_checks import of_server  # noqa: PLC0415 - as above

    checks = []
    if around.url:
        checks += await of_server(around.url, around.api_key, around.ca_file)
    else:
        try:
            settings = around.settings()
        except SettingsError as error:
            checks.append(Check("settings", ok=False, detail=str(error), advice="correct that, then look again"))
        else:
            checks += [Check("settings", ok=True, detail="can be used"), *await checked(settings, calls=not no_calls)]
    ok = all(check.ok for check in checks)
    if around.output.as_json:
        around.output.json({"ok": ok, "checks": [asdict(check) for check in checks]})
    else:
        rows = [("ok" if c.ok else "WRONG", c.name, c.detail, "" if c.ok else c.advice) for c in checks]
        around.output.table(("", "what", "how it is", "what to do"), rows, "")
    if not ok:
        raise CommandFailed


async def _search(around: Surroundings, file: Path) -> None:
    """Search every file of the data directory, and on Kafka every record, for the words in a file."""
    from mnemolog.diagnostics.residue import NothingToSearch, TooShort, find_residue, searched  # noqa: PLC0415 - --help needs none of the engines
    from schemas.log import LogError  # noqa: PLC0415

    settings = around.settings()
    try:
        words = await asyncio.to_thread(file.read_text, "utf-8-sig")  # some editors begin a file with a byte order mark
        found = await find_residue(settings, words.splitlines())
    except (OSError, UnicodeDecodeError, TooShort, NothingToSearch, LogError) as error:
        raise CommandFailed(f"{file}: {error}") from error
    if around.output.as_json:
        listed = [asdict(one) for one in found]
        around.output.json({"ok": not found, "found": listed, "searched": searched(settings), "proves": IN_CLEAR})
    else:
        rows = [(one.line, one.where, one.spelling) for one in found]
        around.output.table(("line", "where", "as"), rows, "none of the words is found")
        around.output.say(f"{searched(settings)}; {IN_CLEAR}")
    if found:
        raise CommandFailed


async def _prove(around: Surroundings, receipt: Path, words: Path | None) -> None:
    """Search everything that a key decrypts for the user of a receipt, and for words."""
    from mnemolog.diagnostics.erased import NoReceipt, prove_erased  # noqa: PLC0415 - --help needs none of the engines
    from schemas.log import LogError  # noqa: PLC0415

    try:
        given = json.loads(await asyncio.to_thread(receipt.read_text, "utf-8-sig"))
        if not isinstance(given, dict):
            raise NoReceipt("it is no receipt: that is a JSON object")
        lines = [] if words is None else (await asyncio.to_thread(words.read_text, "utf-8-sig")).splitlines()
        proof = await prove_erased(around.settings(), given, lines)
    except (OSError, ValueError, LogError) as error:
        raise CommandFailed(f"{receipt}: {error}") from error
    other = proof.control
    control = (
        "there is nobody else to try the search on, so it shows less"
        if other is None
        else f"the same search finds {other['records']} records of {other['user']}, who is not erased"
    )
    if around.output.as_json:
        told = {"ok": not proof.found, **asdict(proof), "proves": UNDER_ANY_KEY}
        around.output.json(told)
    else:
        rows = [(one["where"], one["what"]) for one in proof.found]
        around.output.table(("where", "what is left"), rows, "nothing of this user is left")
        around.output.say(f"read {proof.opened} records; {control}; {UNDER_ANY_KEY}")
    if proof.found:
        raise CommandFailed
