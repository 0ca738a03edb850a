"""The worker that a command uses: a URL, else the holder of the data directory, else one of the command's own.

On Kafka, a worker of the command's own would join the group, take partitions from the other workers, and be unreachable
for them. Therefore a worker of the group is used if there is one.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from mnemolog.cli.data_directory import is_empty_world
from mnemolog.client.client import AsyncClient
from mnemolog.diagnostics.liveness import is_ready, live_url
from schemas.log import LogError, LogLocked
from streams.transports.directory_lock import read_note

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mnemolog.cli.output import Output
    from mnemolog.settings import Settings

START_SECONDS: Final = 30.0
"""The longest wait for a worker that is starting or stopping."""
LOOK_SECONDS: Final = 0.2


class NotReached(Exception):
    """There is no worker to talk to, and none could be started; the message says why."""


class FoldedAnew(NotReached):
    """Shards were damaged: the same command, given again, folds them anew and goes on."""


@asynccontextmanager
async def reached(
    url: str | None,
    settings: Settings | None,
    output: Output,
    *,
    only_reads: bool = False,
    api_key: str | None = None,
    ca_file: Path | None = None,
) -> AsyncIterator[AsyncClient]:
    """Give a client of the right worker. Without a URL there must be settings. Raises NotReached.

    `ca_file` has the authorities that verify a certificate. The key is sent to a worker; an engine of the command's own
    needs none. A command that `only_reads` creates no data: an empty data directory would answer it, and hide that the
    command looked in the wrong place.
    """
    if url is not None:
        async with AsyncClient(url, api_key, ca_file=ca_file) as client:
            yield client
        return
    assert settings is not None  # noqa: S101 - the caller's side of the contract
    deadline = time.monotonic() + START_SECONDS
    while True:
        if (running := await _found(settings, deadline, output)) is not None:
            async with AsyncClient(running, api_key, ca_file=ca_file) as client:
                yield client
            return
        folder = settings.data_dir.resolve()
        if only_reads and is_empty_world(settings):
            raise NotReached(
                f"there is no data at {folder} and no worker: start `mnemolog up`, or name another with --data or --url"
            )
        from mnemolog.cli.local_engine import EngineStopped, started  # noqa: PLC0415 - takes seconds; only this branch needs it

        try:
            engine = await started(settings)
        except LogLocked as error:
            if time.monotonic() < deadline:
                continue  # another command was quicker: it ends, or announces its address
            raise NotReached(str(error)) from error
        except (LogError, EngineStopped, OSError) as error:
            raise _not_reached(error, "the engine cannot start") from error
        if not (only_reads and settings.is_embedded):
            others = "" if settings.is_embedded else " and none is in the group"
            output.say(f"no worker serves {folder}{others}: this command runs its engine")
        try:
            async with engine as client:
                yield client
        except EngineStopped as error:
            raise _not_reached(error, "the engine stopped") from error
        return


async def announced(data_dir: Path, ca_file: Path | None) -> str | None:
    """Return the URL of the worker that holds the data directory; None if there is none, or it is not ready."""
    note = read_note(data_dir / "log")
    url = None if note is None else await live_url(note, ca_file)
    return url if url is not None and await is_ready(url, ca_file) else None


def _not_reached(error: Exception, what: str) -> NotReached:
    from mnemolog.cli.local_engine import ShardsDamaged  # noqa: PLC0415 - as above

    return FoldedAnew(str(error)) if isinstance(error, ShardsDamaged) else NotReached(f"{what}: {error}")


async def _found(settings: Settings, deadline: float, output: Output) -> str | None:
    running = await _running(settings, deadline, output)
    if running is None and not settings.is_embedded:
        return await _member(settings, deadline, output)
    return running


async def _running(settings: Settings, deadline: float, output: Output) -> str | None:
    """Return the URL of the ready worker that holds the data directory; None if the directory is free."""
    announced, data_dir = False, settings.data_dir
    while (note := read_note(data_dir / "log")) is not None:
        url = await live_url(note, settings.ca_file)
        if url is not None and await is_ready(url, settings.ca_file):
            return url
        if time.monotonic() >= deadline:
            where = f" at {url}" if url else ""
            raise NotReached(
                f"process {note['pid']}{where} holds {data_dir} and is not ready: wait for it, or stop it, "
                "or give the --url of a server"
            )
        if not announced:
            output.say(f"waiting for process {note['pid']}, which holds {data_dir} and is not ready yet")
            announced = True
        await asyncio.sleep(LOOK_SECONDS)
    return None


async def _member(settings: Settings, deadline: float, output: Output) -> str | None:
    """Return the URL of a ready worker of the group; None if the group is empty. Raises NotReached.

    The group still includes dead workers that it has not yet noticed.
    """
    from mnemolog.log.connection import opened_log  # noqa: PLC0415 - only this branch needs it
    from streams.transports.kafka.log import KafkaLog  # noqa: PLC0415

    announced = False
    try:
        async with opened_log(settings) as log:
            assert isinstance(log, KafkaLog)  # noqa: S101 - it is not embedded
            while members := await log.members():
                if settings.has_proof:  # the group's URLs are those of ports that answer only workers
                    raise NotReached("the group has workers, whose own URLs only they know: give the --url of one")
                for url in sorted({member.url for member in members if member.url is not None}):
                    if await is_ready(url, settings.ca_file):
                        output.say(f"no --url and no MNEMOLOG_URL: asking {url}, a worker of the group")
                        return url
                where = ", ".join(sorted({member.url or member.host for member in members}))
                if time.monotonic() >= deadline:
                    raise NotReached(
                        f"the group has workers ({where}), and none is ready or reached from here: wait, "
                        "or give the --url of one"
                    )
                if not announced:
                    output.say(f"waiting for a worker of the group ({where})")
                    announced = True
                await asyncio.sleep(LOOK_SECONDS)
    except LogError as error:
        raise NotReached(str(error)) from error
    return None
