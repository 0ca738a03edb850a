"""`mnemolog keys`: creates, lists, revokes and renews API keys in their file, without a server."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import click

from mnemolog.access.key import InvalidKey, Key, Limits, new_key, renewed
from mnemolog.access.key_file import KeyFileError, edited_keys, read_keys
from mnemolog.access.principal import Role
from mnemolog.cli.connect import reached
from mnemolog.cli.invocation import CommandFailed, Commands, Surroundings
from mnemolog.cli.parameters import Argument, Option
from schemas.instant import instant

DEFAULT_ROLES = "read,write"
_SPAN = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def span(text: str) -> timedelta:
    """Return a duration, such as 90d, 12h, 30m or 0s. Raises click.BadParameter."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is no length of time: give one such as 90d, 12h, 30m or 0s")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def roles(text: str) -> list[Role]:
    """Return the roles in a comma-separated list. Raises click.BadParameter."""
    try:
        return [Role(name.strip()) for name in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"{text!r}: the roles are {', '.join(Role)}") from None


TENANT = Annotated[
    str, Option("--tenant", help="The tenant whose data it opens; a server without keys has the tenant `default`.")
]
ROLE = Annotated[str, Option("--role", help=f"{', '.join(Role)}, with commas between them.")]
USERS = Annotated[
    list[str] | None, Option("--user", "-u", metavar="PATTERN", help="Only for these users; * and ? are wildcards.")
]
AGENTS = Annotated[list[str] | None, Option("--agent", "-a", help="Only for these agents.")]
EXPIRES = Annotated[
    timedelta | None, Option("--expires", parser=span, metavar="TIME", help="How long it is valid, such as 90d.")
]
GRACE = Annotated[
    timedelta, Option("--grace", parser=span, metavar="TIME", help="How long the old key is still valid.")
]
REQUESTS = Annotated[float | None, Option("--requests-per-second", min=0.01, help="At most this many.")]
EVENTS = Annotated[
    int | None,
    Option("--events-per-day", min=1, help="At most this many events a day (UTC)."),
]
TOKENS = Annotated[
    int | None,
    Option(
        "--model-tokens-per-day",
        min=1,
        help="Publish nothing more on a day (UTC) once its events have cost this many tokens.",
    ),
]
STREAMS = Annotated[int | None, Option("--streams", min=1, help="At most this many open streams.")]
KEY_ID = Annotated[str, Argument(metavar="KEY_ID", help="The key's id, as `keys list` shows it.")]
SOME_KEY_ID = Annotated[str | None, Argument(metavar="[KEY_ID]", help="The key's id, as `keys list` shows it.")]
commands = Commands()


@commands.add_local("create")
async def create(
    around: Surroundings,
    *,
    tenant: TENANT,
    role: ROLE = DEFAULT_ROLES,
    users: USERS = None,
    agents: AGENTS = None,
    expires: EXPIRES = None,
    requests_per_second: REQUESTS = None,
    events_per_day: EVENTS = None,
    model_tokens_per_day: TOKENS = None,
    streams: STREAMS = None,
) -> None:
    """Make a key and print it once. Only a hash of it is kept, in API_KEYS_FILE."""
    path, now = _path(around), datetime.now(UTC)
    limits = Limits(
        requests_per_second=requests_per_second,
        events_per_day=events_per_day,
        model_tokens_per_day=model_tokens_per_day,
        streams=streams,
    )
    try:
        key, text = new_key(
            tenant=tenant,
            roles=roles(role),
            now=now,
            expires=None if expires is None else now + expires,
            users=tuple(users) if users else None,
            agents=tuple(agents) if agents else None,
            limits=limits,
        )
        with edited_keys(path) as keys:
            keys[key.key_id] = key
    except (InvalidKey, KeyFileError) as error:
        raise CommandFailed(str(error)) from None
    _print_made(around, key, text)
    if around.settings().api_keys_file is None:
        around.output.say(f"a server asks for keys with MNEMOLOG_API_KEYS_FILE={path}")


@commands.add_local("list")
async def listed(around: Surroundings) -> None:
    """List the keys: what each allows, never the key itself."""
    path = _path(around)
    try:
        keys = [key.public() for key in read_keys(path).values()] if path.exists() else []
    except KeyFileError as error:
        raise CommandFailed(str(error)) from None
    columns = ("id", "tenant", "roles", "users", "agents", "created", "expires", "limits")
    rows = [[_shown(key[column]) for column in columns] for key in keys]
    nothing = f"{path} has no keys: make one by `mnemolog keys create --tenant NAME`"
    around.output.table(columns, rows, nothing, of={"keys": keys})


@commands.add_local("revoke")
async def revoke(around: Surroundings, key_id: KEY_ID) -> None:
    """Remove a key: a server refuses it from a second later on."""
    _change(around, key_id, None)
    around.output.fields({"key_id": key_id, "state": "revoked"})


@commands.add_local("rotate")
async def rotate(around: Surroundings, key_id: SOME_KEY_ID = None, *, grace: GRACE = "1h") -> None:  # type: ignore[assignment] # its text, which click parses
    """Replace an API key, or the master key. The old API key is valid for a while yet.

    Without KEY_ID it is the master key: every data key is wrapped by a newer one, while the server serves.
    """
    if key_id is None:
        settings = None if around.url else around.settings()
        async with reached(
            around.url, settings, around.output, only_reads=True, api_key=around.api_key, ca_file=around.ca_file
        ) as client:
            around.output.fields(await client.rotate_master_key())
        return
    now = datetime.now(UTC)
    made: list[tuple[Key, str]] = []

    def end(old: Key) -> Key:
        made.append(renewed(old, now))
        until = now + grace
        return replace(old, expires=until if old.expires is None else min(old.expires, until))

    old = _change(around, key_id, end, made)
    assert old is not None  # noqa: S101 - it was changed, not removed
    _print_made(around, *made[0], replaces={"replaces": key_id, "replaced_expires": instant(old.expires)})


def _change(
    around: Surroundings, key_id: str, change: Callable[[Key], Key] | None, made: Sequence[tuple[Key, str]] = ()
) -> Key | None:
    """Change a key, or remove it without a `change`; add the keys that were `made`. Raises CommandFailed."""
    try:
        path = _path(around)
        with edited_keys(path) as keys:
            if key_id not in keys:
                raise CommandFailed(f"there is no key {key_id!r} in {path}: `mnemolog keys list` shows those there are")
            old = keys.pop(key_id)
            if change is None:
                return None
            keys[key_id] = changed = change(old)
            for key, _ in made:
                keys[key.key_id] = key
            return changed
    except KeyFileError as error:
        raise CommandFailed(str(error)) from None


def _path(around: Surroundings) -> Path:
    """Return the path of the file of keys: the configured one, else in the data directory. Raises SettingsError."""
    settings = around.settings()
    return settings.api_keys_file or settings.data_dir.resolve() / "keys" / "api-keys.json"


def _print_made(around: Surroundings, key: Key, text: str, replaces: dict[str, Any] | None = None) -> None:
    if around.output.as_json:
        around.output.json({"key_id": key.key_id, "key": text} | (replaces or {}))
        return
    around.output.say("this is the only time that the key is shown:")
    around.output.fields({"key_id": key.key_id, "key": text} | (replaces or {}))


def _shown(value: Any) -> object:  # noqa: ANN401 - a field of a key
    if isinstance(value, list):
        return ",".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={limit:g}" for name, limit in value.items())
    return value
