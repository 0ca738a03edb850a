"""Options that several commands share."""

import json
from datetime import datetime
from typing import Annotated, Any

import click

from mnemolog.cli.parameters import Argument, Option
from schemas.instant import read_instant

USER = Annotated[str, Option("--user", "-u", help="The user's id.")]
SOME_USER = Annotated[str | None, Option("--user", "-u", help="The user's id; without it, any user's.")]
AGENT = Annotated[str | None, Option("--agent", "-a", help="The id of the assistant that the user talks to.")]

APP = Annotated[str | None, Option("--app", help="The id of the application.")]
OF_SESSION = Annotated[str | None, Option("--session", "-s", help="Only memories from this conversation.")]


ABOUT = Annotated[str | None, Option("--about", help="The person or thing that it is about; `user` is the user.")]
SPEAKER = Annotated[
    str | None, Option("--speaker", help="Only what this person said about themselves; `user` is the user.")
]
MEMORY_ID = Annotated[str, Argument(metavar="MEMORY_ID")]
PAGE = Annotated[int, Option("--page", min=1)]
PAGE_SIZE = Annotated[int, Option("--page-size", min=1, max=200)]
TIMEOUT = Annotated[float, Option("--timeout", min=0.001, max=3600.0, help="Seconds to wait.")]
ONE_ATTRIBUTE = Annotated[str | None, Option("--attribute", help="Only memories with a value for this attribute.")]


def instant(text: str) -> datetime:
    """Return a time, parsed for click. Raises click.BadParameter."""
    try:
        return read_instant(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} {error}") from None


def filters(text: str) -> dict[str, Any]:
    """Return a filter, parsed for click. Raises click.BadParameter."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise click.BadParameter('is no JSON object, such as {"category": "fact"}')
    return found


FILTER = Annotated[
    dict[str, Any] | None,
    Option(
        "--filter", parser=filters, metavar="JSON", help='Only what meets a filter, such as {"metadata.shelf": "top"}.'
    ),
]
METADATA = Annotated[
    dict[str, Any] | None,
    Option("--metadata", parser=filters, metavar="JSON", help='An object, such as {"shelf": "top"}.'),
]
EXPIRES_AT = Annotated[
    datetime | None, Option("--expires-at", parser=instant, metavar="TIME", help="The time at which it expires.")
]
AS_OF = Annotated[
    datetime | None,
    Option("--as-of", parser=instant, metavar="TIME", help="Answer as of a past time."),
]
