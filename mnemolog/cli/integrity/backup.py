"""`mnemolog backup`: copies the log while it serves, verifies the copy, and restores the log as of a moment."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

from mnemolog.cli.invocation import CommandFailed, Commands, Surroundings
from mnemolog.cli.parameters import Argument, Option
from mnemolog.environment import SettingsError

PLACES = Annotated[
    list[Path],
    Argument(
        metavar="[verify|restore] DIR",
        help="The folder of the backup. `verify` only reads it; `restore` makes a log from it.",
    ),
]
PACE = Annotated[float, Option("--pace", min=0.01, help="The most megabytes to copy a second while the server runs.")]
TO = Annotated[
    str | None,
    Option(
        "--to",
        metavar="TIME|POSITION",
        help="With `restore`: a time of the log with its offset, or the position of a decision. [default: all]",
    ),
]
MEGABYTE = 1e6
commands = Commands()


@commands.add_local("backup")
async def backup(around: Surroundings, places: PLACES, *, pace: PACE = 20.0, to: TO = None) -> None:
    """Copy the log into a folder, or verify or restore that.

    What DIR does not have yet is copied, while workers serve. It holds no key that opens it: keep keys/ in another
    place.

    `restore` makes a log of it in an empty data directory (on Kafka, in new topics) and prints a receipt. The master
    key must be given by its setting, or lie in the directory's keys/. The digest is that of the log as it is before
    the first start, which erases again what keys/erasures.jsonl lists, before anything is served.
    """
    *words, folder = places
    match [str(word) for word in words]:
        case [] if to is None and str(folder) not in {"verify", "restore"}:
            await _make(around, folder, pace)
        case ["verify"] if to is None:
            await _verify(around, folder)
        case ["restore"]:
            await _restore(around, folder, to)
        case _:
            raise SettingsError("give a folder, `verify` and a folder, or `restore` and a folder; --to is for the last")


async def _make(around: Surroundings, folder: Path, pace: float) -> None:
    from mnemolog.backup.creation import back_up  # noqa: PLC0415 - --help needs none of it
    from mnemolog.backup.last_backup import LastBackup, note_backup  # noqa: PLC0415 - as above
    from mnemolog.backup.source import opened_source  # noqa: PLC0415 - as above
    from schemas.log import LogError  # noqa: PLC0415 - as above

    settings = around.settings()
    place = _outside(folder, settings.data_dir)
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


async def _restore(around: Surroundings, folder: Path, to: str | None) -> None:
    from mnemolog.backup.moment import NoMoment, moment_of  # noqa: PLC0415 - as above
    from mnemolog.backup.restoration import remark_on, restore  # noqa: PLC0415 - as above
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

            def tell(receipt: dict[str, Any]) -> None:
                bar.stop()  # as long as it is shown, what is printed goes where it goes
                try:
                    around.output.fields(receipt)
                    if (remark := remark_on(receipt, moment)) is not None:
                        around.output.say(remark)
                except BrokenPipeError:
                    raise
                except OSError as error:
                    why = error.strerror or error
                    raise CommandFailed(f"the log is restored, and the receipt cannot be written: {why}") from error

            await restore(
                settings, _absolute(folder), moment, lambda step, done: bar.update(tasks[step], advance=done), tell
            )
    except LogError as error:
        raise CommandFailed(str(error)) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CommandFailed(f"{settings.data_dir}: {error.strerror or error}; give the same command again") from error


def _absolute(folder: Path) -> Path:
    return folder.resolve()


def _outside(folder: Path, data_dir: Path) -> Path:
    """Return the folder of a backup. Raises SettingsError for a folder that would be lost with the original."""
    place, data = folder.resolve(), data_dir.resolve()
    if place == data or data in place.parents:
        raise SettingsError(f"{folder} lies in the data directory, and would be lost with it: name another place")
    return place
