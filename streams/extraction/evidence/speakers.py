"""Speakers: who of those that a window's turns name is the user, and who is somebody else in the same talk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.text import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from streams.extraction.protocol import Known, Piece


def others_of(pieces: Sequence[Piece], user_name: str | None = None) -> Mapping[int, str]:
    """Return by index those turns of the user's role that another person spoke, each with that person's name.

    The user's are turns without a name, those whose name is `user_name` or a part of it (or the reverse), and all
    where they all have the same name. Where there are several names, and none is known to be the user's, each is
    another person's.
    """
    turns = {i: (piece.name or "").strip() for i, piece in enumerate(pieces) if piece.speaker == "user"}
    if len({plain_words(name) for name in turns.values()}) < 2:  # noqa: PLR2004 - one name, or none
        return {}
    return {i: name for i, name in turns.items() if name and not (user_name and is_same_person(name, user_name))}


def is_same_person(name: str, other: str) -> bool:
    """Return whether two names may be one person's: the words of one are among those of the other, as Amy, Amy Lee."""
    one, two = set(plain_words(name).split()), set(plain_words(other).split())
    return bool(one and two) and (one <= two or two <= one)


def user_name_of(known: Iterable[Known]) -> str | None:
    """Return the user's name, where what is known of the user says it."""
    names = (one.value for one in known if one.attribute == "user_name" and one.about is None)
    return next(filter(None, names), None)
