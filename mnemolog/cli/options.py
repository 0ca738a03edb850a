"""Options that several commands share."""

from datetime import datetime
from typing import Annotated

import typer

from schemas.instant import read_instant

USER = Annotated[str, typer.Option("--user", "-u", help="Whose memory it is.")]
SOME_USER = Annotated[str | None, typer.Option("--user", "-u", help="Whose memory it is, if not anybody's.")]
AGENT = Annotated[str | None, typer.Option("--agent", "-a", help="The assistant that the user talks to.")]


def instant(text: str) -> datetime:
    """Return a time as typer reads it. Raises typer.BadParameter."""
    try:
        return read_instant(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} {error}") from None


AS_OF = Annotated[
    datetime | None,
    typer.Option("--as-of", parser=instant, metavar="TIME", help="Answer for a past effective time."),
]
