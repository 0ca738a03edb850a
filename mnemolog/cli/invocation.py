"""The invocation of a command: the common options, one event loop, and an exit code for each kind of error."""

from __future__ import annotations

import asyncio
import inspect
import os
import ssl
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Final, ParamSpec, TypeAlias

import click

from mnemolog.cli.connect import FoldedAnew, NotReached, announced, reached
from mnemolog.cli.data_directory import check_folder
from mnemolog.cli.output import Output, harmless
from mnemolog.cli.parameters import Group, Option, command
from mnemolog.client.errors import MnemologError
from mnemolog.environment import (
    CA_FILE_VARIABLE,
    DATA_DIR_VARIABLE,
    DEFAULT_DATA_DIR,
    KEY_VARIABLE,
    URL_VARIABLE,
    SettingsError,
    named_settings,
)
from schemas.disclosure import masked

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine

    from mnemolog.client.client import AsyncClient
    from mnemolog.settings import Settings

P = ParamSpec("P")
Run: TypeAlias = "Coroutine[Any, Any, None]"
ToWorker: TypeAlias = "Callable[Concatenate[AsyncClient, Output, P], Run]"
Local: TypeAlias = "Callable[Concatenate[Surroundings, P], Run]"

FAILED: Final = 1
WRONG_USAGE: Final = 2
INTERRUPTED: Final = 130

JSON = Annotated[bool, Option("--json", help="Print one JSON object.")]
ENV_FILE = Annotated[Path | None, Option("--env-file", help="A file of settings with one NAME=value on each line.")]
DATA = Annotated[Path | None, Option("--data", help="The data directory. [default: MNEMOLOG_DATA_DIR, else ./var]")]
URL = Annotated[
    str | None, Option("--url", help="The server's URL. [default: MNEMOLOG_URL, else this machine's server]")
]

KEY_FILE = Annotated[
    Path | None, Option("--api-key-file", help="A file that contains the API key. [default: MNEMOLOG_API_KEY]")
]
COMMON: Final[dict[str, Any]] = {
    "json": JSON,
    "env_file": ENV_FILE,
    "data": DATA,
    "url": URL,
    "api_key_file": KEY_FILE,
}
"""The options that all commands have."""


class CommandFailed(Exception):
    """The command did not do what it was asked; the message says what to do. Empty when that was said before."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The context of a command: the environment variables, and the options that all commands have."""

    environment: dict[str, str] = field(repr=False)
    data: Path | None
    url: str | None
    output: Output
    api_key: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    """The authorities that verify a server's certificate."""

    @classmethod
    def given(cls, given: dict[str, Any]) -> Surroundings:
        """Remove the common options from the arguments of a command, and return them. Raises SettingsError."""
        environment = dict(os.environ)
        if (file := given.pop("env_file", None)) is not None:
            from mnemolog.settings import read_env_file  # noqa: PLC0415 - a tenth of a second, and few commands need it

            environment |= read_env_file(file)
        if named_settings(environment):
            from mnemolog.settings import check_names  # noqa: PLC0415 - as above

            check_names(environment)
        data, option = given.pop("data", None), given.pop("url", None)
        url = option or environment.get(URL_VARIABLE) or None
        if url is not None:
            _check_url("--url" if option else URL_VARIABLE, url)
        api_key = _api_key(given.pop("api_key_file", None), environment)
        return cls(environment, data, url, Output(as_json=given.pop("json", False)), api_key, _ca_file(environment))

    def settings(self, **overrides: object) -> Settings:
        """Build the settings. Raises SettingsError."""
        from mnemolog.settings import from_environment  # noqa: PLC0415 - as above

        settings = from_environment(self.environment, data_dir=self.data, **overrides)
        check_folder(settings.data_dir)
        return settings

    async def server(self) -> str | None:
        """Return the URL of the named server, else of the ready worker that holds the data directory.

        Return None if there is none, or if the environment has settings that do not help to find it, because these must
        be checked first. Raises SettingsError.
        """
        if self.url is not None or set(named_settings(self.environment)) - {DATA_DIR_VARIABLE, CA_FILE_VARIABLE}:
            return self.url
        folder = self.data or Path(self.environment.get(DATA_DIR_VARIABLE) or DEFAULT_DATA_DIR)
        check_folder(folder)
        return await announced(folder, self.ca_file)


def _ca_file(environment: dict[str, str]) -> Path | None:
    """Return the file of authorities that the environment names. Raises SettingsError."""
    if not (text := environment.get(CA_FILE_VARIABLE, "")):
        return None
    try:
        ssl.create_default_context(cafile=text)
    except OSError as error:  # includes ssl.SSLError
        reason = "it has no certificates" if isinstance(error, ssl.SSLError) else error.strerror
        raise SettingsError(f"{CA_FILE_VARIABLE}={text}: {reason}") from None
    return Path(text)


def _api_key(file: Path | None, environment: dict[str, str]) -> str | None:
    """Return the key to send, from the file, else from the environment. Raises SettingsError, without the key."""
    try:
        text = environment.get(KEY_VARIABLE, "") if file is None else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SettingsError(f"--api-key-file {file}: {reason}") from None
    text = text.strip()
    if file is not None and not text:
        raise SettingsError(f"--api-key-file {file}: it is empty")
    if not text.isascii() or not text.isprintable() or " " in text:
        source = KEY_VARIABLE if file is None else f"--api-key-file {file}"
        raise SettingsError(f"{source}: this is no key: it begins with mnl_ and has 60 characters")
    return text or None


def _check_url(source: str, url: str) -> None:
    if not url.startswith(("http://", "https://")):
        raise SettingsError(f"{source} {masked(url)}: must begin with http:// or https://")
    if url.partition("://")[2].rstrip("/").partition("/")[1] or "?" in url or "#" in url:
        raise SettingsError(f"{source} {masked(url)}: give the URL without a path")


class Commands:
    """The commands of a module: each is a function decorated with `@commands.add`, and its docstring is its help."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, Callable[..., Run], Callable[..., Run], dict[str, Any], int]] = []
        """For each command: its name, its function, its starter, the common options, and how many parameters to
        skip."""

    def add(
        self,
        name: str,
        *,
        only_reads: bool = False,
        again: bool = False,
        instead: tuple[str, Callable[..., Run]] | None = None,
    ) -> Callable[[ToWorker[P]], ToWorker[P]]:
        """Add a command that uses a worker: its first arguments are a client and the output.

        A command that `only_reads` does not create a data directory. A command that can run `again`, because a repeat
        has no further effect and it prints nothing before its end, is repeated if its engine found damaged shards,
        which are then folded anew. With the option that `instead` names, no worker is found or started: the function
        given with the option runs locally.
        """

        def added(run: ToWorker[P]) -> ToWorker[P]:
            async def reach(around: Surroundings, *args: P.args, **kwargs: P.kwargs) -> None:
                if instead is not None and kwargs.get(instead[0]):
                    await instead[1](around, *args, **kwargs)
                    return
                url = await around.server()
                settings = None if url else around.settings()
                shards = 0 if settings is None else settings.partitions + 1
                for found in range(shards + 1):  # damaged shards may be found one by one
                    try:
                        async with reached(
                            url,
                            settings,
                            around.output,
                            only_reads=only_reads,
                            api_key=around.api_key,
                            ca_file=around.ca_file,
                        ) as client:
                            await run(client, around.output, *args, **kwargs)
                    except FoldedAnew as error:
                        if not again or found == shards:
                            raise
                        around.output.say(f"{error}; doing so")
                    else:
                        return

            self._rows.append((name, run, reach, COMMON, 2))
            return run

        return added

    def add_local(self, name: str, *, without: Collection[str] = ()) -> Callable[[Local[P]], Local[P]]:
        """Add a command that works locally, without a worker, and `without` some of the common options."""
        options = {one: kind for one, kind in COMMON.items() if one not in without}

        def added(run: Local[P]) -> Local[P]:
            self._rows.append((name, run, run, options, 1))
            return run

        return added

    def install_group(self, program: click.Group, name: str, explanation: str) -> None:
        """Add the commands to a program, as a group with a name and its explanation."""
        group = Group(name, help=explanation, no_args_is_help=True)
        self.install(group)
        program.add_command(group)

    def install(self, group: click.Group) -> None:
        """Add the commands to a program, or to a group in it."""
        for name, run, start, options, skipped in self._rows:
            group.add_command(_made(name, run, start, options=options, skipped=skipped))


def _made(
    name: str, run: Callable[..., Run], start: Callable[..., Run], *, options: dict[str, Any], skipped: int
) -> click.Command:
    own = list(inspect.signature(run, eval_str=True).parameters.values())[skipped:]
    common = [
        inspect.Parameter(
            option, inspect.Parameter.KEYWORD_ONLY, default=False if option == "json" else None, annotation=kind
        )
        for option, kind in options.items()
    ]

    def invoke(**given: Any) -> None:  # noqa: ANN401 - checked by the signature of `run`
        code = exit_code(lambda: start(Surroundings.given(given), **given))
        if code:
            raise click.exceptions.Exit(code)

    return command(name, invoke, [*own, *common], inspect.getdoc(run) or "")


def exit_code(start: Callable[[], Run]) -> int:
    """Run a command to its end; report an error on stderr, and return the exit code."""
    try:
        asyncio.run(start())
    except SettingsError as error:
        return _said(error, WRONG_USAGE)
    except (CommandFailed, NotReached, MnemologError) as error:
        return _said(error, FAILED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the output has closed it
        return FAILED
    except OSError as error:
        code = _said(CommandFailed(error.strerror or str(error) or type(error).__name__), FAILED)
        _give_up_stdout()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _give_up_stdout() -> None:
    """Prevent Python from writing at exit the output that could not be written before."""
    if sys.stdout is not None:
        with suppress(OSError):
            sys.stdout.close()
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the process ends


def _said(error: Exception, code: int) -> int:
    if str(error):
        print(harmless(f"mnemolog: {error}"), file=sys.stderr)  # noqa: T201 - the command line talks to a person
    return code
