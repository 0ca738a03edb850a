"""Speakers: who of those that a window's turns name is the user, and who is somebody else in the same talk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import orjson

from schemas.messages.observations import USER_NAME
from schemas.text import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from streams.extraction.protocol import Known, Piece

_OWN_NAME: Final = re.compile(
    r"(?:\bmy name(?: is|'s)|\bI(?: am|'m)|\bcall me|\bthis is|我(?:的名字)?[叫是])(.{1,40})", re.IGNORECASE
)
_GIVEN: Final = re.compile("[\u4e00-\u9fff]{2,}")


def others_of(pieces: Sequence[Piece], user_name: str | None = None) -> Mapping[int, str]:
    """Return by index those turns of the user's role that another person spoke, each with that person's name.

    The user's are turns without a name, those whose name is `user_name` or a part of it (or the reverse), and all
    where they all have the same name, or the only name is of who introduces themselves by it among turns without one.
    Where there are several names, and none is known to be the user's, each is another person's. Where the metadata of
    a turn say what the user is called, every other name is another person's, also in a window of that person alone.
    """
    turns = {i: (piece.name or "").strip() for i, piece in enumerate(pieces) if piece.speaker == "user"}
    if (told := next(filter(None, map(_told, pieces)), None)) is not None:
        return {i: name for i, name in turns.items() if name and name.casefold() != told.strip().casefold()}
    names = {plain_words(name): name for name in turns.values()}
    if len(names) < 2:  # noqa: PLR2004 - one name, or none
        return {}
    named = [name for plain, name in names.items() if plain]
    if user_name is None and len(named) == 1:
        own = (pieces[i].text for i, name in turns.items() if name)
        user_name = named[0] if any(_introduces(text, named[0]) for text in own) else None
    return {i: name for i, name in turns.items() if name and not (user_name and is_same_person(name, user_name))}


def _told(piece: Piece) -> str | None:
    """Return what the metadata of a turn say that the user is called, None where they say nothing."""
    if USER_NAME not in piece.metadata:
        return None
    try:
        document = orjson.loads(piece.metadata)
    except orjson.JSONDecodeError:  # a producer of Avro may write anything there
        return None
    name = document.get(USER_NAME) if isinstance(document, dict) else None
    return name if isinstance(name, str) and name.strip() else None


def _introduces(text: str, name: str) -> bool:
    """Return whether a speaker gives a name as their own."""
    return any(name.casefold() in said[1].casefold() for said in _OWN_NAME.finditer(text))


def is_same_person(name: str, other: str) -> bool:
    """Return whether two names may be one person's: the words of one are among those of the other, as Amy, Amy Lee.

    A Chinese given name is the end of the full one: 晓雨, 林晓雨.
    """
    one, two = set(plain_words(name).split()), set(plain_words(other).split())
    if one and two and (one <= two or two <= one):
        return True
    given, full = sorted((name.strip(), other.strip()), key=len)
    return _GIVEN.fullmatch(given) is not None and full.endswith(given)


def user_name_of(known: Iterable[Known]) -> str | None:
    """Return the user's name, where what is known of the user says it."""
    names = (one.value for one in known if one.attribute == "user_name" and one.about is None)
    return next(filter(None, names), None)
