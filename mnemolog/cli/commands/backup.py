"""`mnemolog backup` and `restore`: a copy of the log, made while it serves, and the log as it was at a moment."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from mnemolog.cli.invocation import CommandFailed, Surroundings, local_command
from mnemolog.environment import SettingsError

PLACES = Annotated[
    list[Path],
    typer.Argument(metavar="[verify] DIR", help="The folder of the backup; after `verify` it is only read through."),
]
FOLDER = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the backup.")]
PACE = Annotated[
    float, typer.Option("--pace", min=0.01, help="How many MB a second are copied at most, beside what is served.")
]
TO = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="TIME|POSITION",
        help="The moment to restore: a time of the log with its offset, or the position of a decision. [default: all]",
    ),
]
VERIFY = "verify"
MEGABYTE = 1e6


def install(app: typer.Typer) -> None:
    """Add the commands."""
    local_command(app, "backup", backup)
    local_command(app, "restore", restore)


async def backup(around: Surroundings, places: PLACES, *, pace: PACE = 20.0) -> None:
    """Copy what the log has and DIR does not have yet into DIR, while workers serve; or verify what is in DIR.

    It holds no key that opens it: keep keys/ in another place.
    """
    folder = places[-1]
    if len(places) > 1:
        if str(places[0]) != VERIFY or len(places) > 2:  # noqa: PLR2004 - `verify` and the folder
            raise SettingsError("give one folder, or `verify` and one folder")
        await _verify(around, folder)
        return
    from mnemolog.backup.creation import back_up  # noqa: PLC0415 - --help needs none of it
    from mnemolog.backup.last_backup import LastBackup, note_backup  # noqa: PLC0415 - as above
    from mnemolog.backup.source import opened_source  # noqa: PLC0415 - as above
    from schemas.log import LogError  # noqa: PLC0415 - as above

    settings = around.settings()
    data_dir, place = settings.data_dir.resolve(), folder.resolve()
    if place == data_dir or data_dir in place.parents:
        raise SettingsError(f"{folder} lies in the data directory, and would be lost with it: name another place")
    try:
        with around.output.progress("bytes") as bar:
            copying = bar.add_task("copying", total=None)
            async with opened_source(settings) as source:
                made = await back_up(
                    source, place, pace * MEGABYTE, lambda _, size: bar.update(copying, completed=size)
                )
        manifest = made.manifest
        note_backup(settings, LastBackup(manifest.taken_at, str(place), manifest.records))
    except LogError as error:
        raise CommandFailed(str(error)) from error
    except OSError as error:
        raise CommandFailed(f"{folder}: {error.strerror or error}; what was there before is whole") from error
    around.output.fields(
        {
            "backup": str(place),
            "taken_at": manifest.taken_at,
            "records": manifest.records,
            "bytes": manifest.size,
            "copied_records": made.copied_records,
            "copied_bytes": made.copied_bytes,
        }
    )


async def _verify(around: Surroundings, folder: Path) -> None:
    from mnemolog.backup.verification import verify_backup  # noqa: PLC0415 - as above
    from schemas.log import LogError  # noqa: PLC0415 - as above

    try:
        with around.output.progress("bytes") as bar:
            reading = bar.add_task("reading", total=None)
            manifest = await asyncio.to_thread(verify_backup, folder, lambda size: bar.update(reading, advance=size))
    except LogError as error:
        raise CommandFailed(str(error)) from error
    around.output.fields(
        {
            "backup": str(folder),
            "ok": True,
            "taken_at": manifest.taken_at,
            "engine": manifest.engine,
            "records": manifest.records,
            "bytes": manifest.size,
        }
    )


async def restore(around: Surroundings, folder: FOLDER, *, to: TO = None) -> None:
    """Make a log of a backup again, in an empty data directory, and print a receipt of what was restored.

    The master key must be given by its setting, or lie in the directory's keys/. The digest is that of the moment,
    without whom an erasure has taken since; what keys/erasures.jsonl lists is erased again before anything is served.
    """
    from mnemolog.backup.moment import NoMoment, moment_of  # noqa: PLC0415 - as above
    from mnemolog.backup.restoration import restore as restored  # noqa: PLC0415 - as above
    from mnemolog.log.private_files import create_privately  # noqa: PLC0415 - as above
    from schemas.log import LogError  # noqa: PLC0415 - as above

    create_privately()
    settings = around.settings()
    try:
        moment = moment_of(to)
    except NoMoment as error:
        raise SettingsError(str(error)) from None
    try:
        with around.output.progress() as bar:
            tasks = {step: bar.add_task(step, total=None) for step in ("verified", "restored", "folded")}
            receipt = await restored(
                settings, folder.resolve(), moment, lambda step, done: bar.update(tasks[step], advance=done)
            )
    except LogError as error:
        raise CommandFailed(str(error)) from error
    except OSError as error:
        raise CommandFailed(f"{settings.data_dir}: {error.strerror or error}; give the same command again") from error
    around.output.fields(receipt)
