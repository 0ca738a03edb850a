"""`mnemolog up`: a worker, the whole system in one process."""

import gc
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import click

from mnemolog.cli.data_directory import wait_until_free
from mnemolog.cli.invocation import ENV_FILE, FAILED, CommandFailed, Surroundings, exit_code
from mnemolog.cli.logs import start_logging
from mnemolog.cli.parameters import Option
from mnemolog.cluster.membership import FORGOTTEN
from mnemolog.telemetry.start import telemetry
from projections.embedding.choice import BUILTIN
from schemas.disclosure import masked
from schemas.log import LogLocked

if TYPE_CHECKING:
    from mnemolog.settings import Settings

log = logging.getLogger("mnemolog")
STARTS: Final = "mnemolog is starting: the whole system in this process, with its data in %s"
STARTS_ON_KAFKA: Final = "mnemolog is starting: a worker on %s, with its files in %s"


def up(
    *,
    data: Annotated[Path | None, Option("--data", help="The data directory. [default: ./var]")] = None,
    host: Annotated[str | None, Option("--host", help="The address to listen on. [default: 127.0.0.1]")] = None,
    port: Annotated[
        int | None, Option("--port", help="The port to listen on; 0 picks a free one. [default: 8420]")
    ] = None,
    env_file: ENV_FILE = None,
) -> None:
    """Run the whole system in one process. Ctrl-C or SIGTERM ends it."""
    gc.disable()  # loaded modules stay, and collections over them take a sixth of the time; see `tune_process`
    given: list[Settings] = []
    forgotten: list[bool] = []

    async def checked() -> None:
        around = Surroundings.given({"data": data, "env_file": env_file})
        settings = around.settings(host=host, port=port)
        start_logging(settings.log_level, settings.log_format)
        _announce(settings)  # ahead of the engine, which takes seconds to load
        if not settings.is_embedded:
            from mnemolog.cli.former_process import forget_former_process  # noqa: PLC0415 - it loads Kafka's client

            forgotten.append(await forget_former_process(settings))
        if settings.embedding_model == BUILTIN:  # loading its model takes as long as importing this process's modules
            from projections.embedding.encoder_process import start_ahead  # noqa: PLC0415 - no other command needs numpy

            start_ahead()
        # This takes seconds, during which a command may take the folder, so the check follows.
        import mnemolog.server  # noqa: F401, PLC0415 - and --help needs none of it

        try:
            await wait_until_free(settings, around.output.say)
        except LogLocked as error:
            raise CommandFailed(str(error)) from None
        given.append(settings)

    if code := exit_code(checked):
        raise click.exceptions.Exit(code)
    settings = given[0]
    if any(forgotten):
        log.info(FORGOTTEN)
    from mnemolog.server import run  # noqa: PLC0415 - as above

    with telemetry(os.environ):
        code = run(settings)
    raise click.exceptions.Exit(FAILED if code else 0)


def _announce(settings: "Settings") -> None:
    folder = settings.data_dir.resolve()
    if settings.is_embedded:
        log.info(STARTS, folder)
    else:
        log.info(STARTS_ON_KAFKA, masked(settings.broker), folder)
