"""Speakers: which of the people that a window's turns name is the user, and who is somebody else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import orjson

from schemas.messages.observations import USER_NAME
from schemas.text import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from streams.extraction.protocol import Known, Piece, Window

_OWN_NAME: Final = re.compile(
    r"(?:\bmy name(?: is|'s)|\bI(?: am|'m)|\bcall me|\bthis is|我(?:的名字)?[叫是])(.{1,40})", re.IGNORECASE
)
_GIVEN: Final = re.compile("[\u4e00-\u9fff]{2,}")


def others_of(window: Window) -> Mapping[int, str]:
    """Return the turns of the user's role that another person spoke, as a map from index to that person's name.

    Where the metadata of a turn contain the user's name, or the user introduced themselves in a turn that had a name,
    every other name is another person's, even if it is the only one in the session. Otherwise a turn is the user's if
    it has no name, or if its name and the user's may be one person's. All turns are the user's if all of the session
    have the same name. They are the user's too if some have no name, and the only name belongs to a person who
    introduces themselves by it. Where there are several names, the user's is the one that a known memory has, or the
    user's id, or that of the only speaker of the session's first window, because what they said there is the user's. If
    it is none of these, each name is another person's.
    """
    pieces, first = window.pieces, window.first_speakers
    turns = {i: (piece.name or "").strip() for i, piece in enumerate(pieces) if piece.speaker == "user"}
    if (told := next(filter(None, map(_told, pieces)), None)) is not None:
        return {i: name for i, name in turns.items() if name and name.casefold() != told.strip().casefold()}
    names = {plain_words(name): name for name in (*first, *turns.values())}
    if len(names) < 2 and not window.introduced:  # noqa: PLR2004 - one name, or none
        return {}
    named = [name for plain, name in names.items() if plain]
    own = [name for name in (user_name_of(window.known), *window.introduced) if name]
    own = own or [name for name in named if _as_words(name) == _as_words(window.user_id)]
    if not own and len(named) == 1:
        texts = [pieces[i].text for i, name in turns.items() if name]
        own = [name for name in named if any(_introduces(text, name) for text in texts)]
    if not own and len({plain_words(name) for name in first}) == 1:
        own = [name for name in first if name]
    return {i: name for i, name in turns.items() if name and not any(is_same_person(name, one) for one in own)}


def depends_on_others(window: Window) -> bool:
    """Return whether other turns decide whose a window's turns are: some have names, and none tells the user's."""
    has_names = any(piece.name and piece.speaker == "user" for piece in window.pieces)
    return has_names and not any(map(_told, window.pieces))


def _as_words(name: str) -> str:
    return plain_words(re.sub("[-_.@]", " ", name))


def _told(piece: Piece) -> str | None:
    """Return the user's name from the metadata of a turn, None where they do not contain it."""
    if USER_NAME not in piece.metadata:
        return None
    try:
        document = orjson.loads(piece.metadata)
    except orjson.JSONDecodeError:  # a producer of Avro may write anything there
        return None
    name = document.get(USER_NAME) if isinstance(document, dict) else None
    return name if isinstance(name, str) and name.strip() else None


def _introduces(text: str, name: str) -> bool:
    """Return whether a speaker gives this name as their own."""
    return any(name.casefold() in said[1].casefold() for said in _OWN_NAME.finditer(text))


def is_same_person(name: str, other: str) -> bool:
    """Return whether two names may be one person's: one has all the words of the other, as Amy Lee has those of Amy.

    A Chinese given name is the end of the full name: 晓雨, 林晓雨.
    """
    one, two = set(plain_words(name).split()), set(plain_words(other).split())
    if one and two and (one <= two or two <= one):
        return True
    given, full = sorted((name.strip(), other.strip()), key=len)
    return _GIVEN.fullmatch(given) is not None and full.endswith(given)


def user_name_of(known: Iterable[Known]) -> str | None:
    """Return the user's name, where a known memory has it; else None."""
    names = (one.value for one in known if one.attribute == "user_name" and one.about is None)
    return next(filter(None, names), None)
