"""Trust: what the user did not say decides less than what the user said.

Screens and articles are other people's text, and so is what an assistant read out. They may become memories, but they
take no place in the profile that holds one value, they are no reason to remember a thing better, and what a screen or
an article shows does not matter more than an ordinary memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from projections.profile.visibility import SENSITIVE
from projections.state.memory import ACTIVE
from schemas.vocabulary.attributes import MAPS, NICKNAME, OPPOSITES
from schemas.vocabulary.facts import subject_of
from streams.decisions import slots

if TYPE_CHECKING:
    from projections.state.memory import Memory, UserState
    from schemas.messages.inbox import Candidate, CandidatesExtracted, CoveredPiece
    from streams.decisions.duplicates.matching import Statement

CHAT: Final = "chat"
ASSISTANTS: Final = frozenset({"assistant", "ai", "ai assistant", "助手", "ai助手"})
"""Names of speakers whose words are an assistant's."""
SHOWN: Final = ("photo", "inferred")
"""Source types that are not speech: a screen, an article."""
MOST_IMPORTANCE_SHOWN: Final = 0.5
"""The most that a memory of a screen or an article matters, 0 to 1.

Evatar's default for everything that it remembers, and Luna's least grade of an episode (2 of 4): what is shown is kept
as those systems keep it, and never goes before what the user said to be important.
"""


def is_by_user(item: CandidatesExtracted, piece: CoveredPiece) -> bool:
    """Return whether a piece is a turn of the user's. Of screens older logs say that the user said them."""
    return piece.by_user and item.source_type == CHAT


def is_by_speaker(item: CandidatesExtracted, candidate: Candidate) -> bool:
    """Return whether somebody else in the conversation said it of themselves; an assistant's name is nobody's."""
    if item.source_type != CHAT or candidate.speaker is None:
        return False
    speaker = subject_of(candidate.speaker.text)
    return (
        speaker is not None
        and speaker not in ASSISTANTS
        and speaker == subject_of(candidate.about and candidate.about.text)
    )


def bounded(item: CandidatesExtracted, candidate: Candidate) -> Candidate:
    """Return a candidate with the importance that its source can give it."""
    if item.source_type not in SHOWN or candidate.importance <= MOST_IMPORTANCE_SHOWN:
        return candidate
    return replace(candidate, importance=MOST_IMPORTANCE_SHOWN)


def needs_user(state: UserState, said: Statement) -> bool:
    """Return whether only the user, or whom it is about, can fill the slot that a statement names.

    Slots of one value are such, one for each name in a map too; topics to avoid, which hide other memories; and a like
    or dislike whose opposite is known, since it would take that one's place.
    """
    if said.attribute is None:
        return False
    if said.is_single or said.attribute in (*MAPS, NICKNAME, SENSITIVE):
        return True
    return said.attribute in OPPOSITES and bool(slots.present(slots.opposed(state, said, keeps=False), said.effective))


def is_echo(memory: Memory, said: Statement) -> bool:
    """Return whether a memory has the words of the user's statement, but was not allowed to fill its slot."""
    return (
        said.attribute is not None
        and memory.attribute is None
        and memory.source_type in (CHAT, *SHOWN)
        and (said.is_single or said.attribute in (*MAPS, SENSITIVE))
    )


def without_echoes(alike: list[Memory], said: Statement) -> tuple[list[Memory], list[Memory]]:
    """Divide memories into those that say what the statement says, and its active echoes, whose place it takes."""
    echoes = {m.memory_id: m for m in alike if is_echo(m, said) and m.status_at(said.effective) == ACTIVE}
    return [m for m in alike if m.memory_id not in echoes], list(echoes.values())
