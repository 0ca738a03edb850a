"""Slot questions: the slot of the profile that a question asks for, its person, and how well a memory fills it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.questions import named_span
from projections.profile.chinese_questions import asked_in_chinese
from projections.profile.english_questions import asked_in_english
from projections.profile.relations import mentions
from projections.state.memory import ACTIVE, SUPERSEDED
from projections.text.analyser import fold
from projections.text.scripts import HAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from projections.dates.questions import Span
    from projections.profile.slot_asked import SlotAsked
    from projections.state.memory import Memory, UserState

MAX_CHARACTERS: Final = 200
"""The longest text that is read as a question: longer ones are stories, or contain several questions."""
MOST: Final = 200
"""The most memories that are examined for one attribute; those formed last are kept."""
FILLS: Final = 1.0
ONE_OF_MANY: Final = 0.5
"""The share of a memory in a long list: most of the things that a user likes are not the answer to a question."""
_LONG_LISTS: Final = frozenset({"likes", "dislikes", "skills"})
_CHANGING: Final = frozenset({"employer", "occupation", "city", "relationship_status"})
"""Slots whose value changes over time, unlike a birthday."""
_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_PAST: Final = re.compile(
    r"\b(?:used to|formerly|previously|former|no longer|in the past|years ago)\b"
    r"|^(?:in \d{4},? )?(?:the )?user (?:once )?(?:lived|worked|resided|was)\b"
    r"|以前|(?<![一二三四五六日天号年月点])之前|曾(?=[经在是任住做当])|过去|从前|原来|原先|小时候|年轻时|不再"
)
_USER: Final = r"^(?:in \d{4},? )?(?:the )?user (?:now |currently |still |also |used to |formerly |previously |once )*"
_ZH_USER: Final = r"^(?:\d{4}年)?用户(?:现在|目前|如今|以前|之前|曾经|曾|过去|从前|原来|原先)*"
_WORK: Final = re.compile(
    rf"{_USER}(?:works?|worked|working) (?:at|for|in|as|with)\b|{_ZH_USER}在.{{1,20}}(?:工作|上班|任职|就职)"
)
_HOME: Final = re.compile(rf"{_USER}(?:lives?|lived|living|resides?|resided) in\b|{_ZH_USER}(?:居住|定居|住)(?:在|过)?")
_TELLS: Final = {"employer": _WORK, "occupation": _WORK, "city": _HOME}


def slot_asked(query: str) -> SlotAsked | None:
    """Return the slot that a question asks for; None if it asks for no known slot."""
    if not 0 < len(query) <= MAX_CHARACTERS:
        return None
    text = fold(query).strip()
    return asked_in_chinese(text) if HAN.search(text) else asked_in_english(text)


def filling(
    state: UserState,
    asked: SlotAsked,
    at: datetime,
    *,
    agent_id: str | None = None,
    with_past: bool = False,
    span: Span | None = None,
    found: Iterable[Memory] = (),
) -> dict[str, float]:
    """Return how well the memories visible to an agent fill the slot, from 0 to 1, by memory_id.

    Statements about the past answer a question for an earlier value, and so do superseded values if `with_past` is set.
    Statements about the present answer other questions. Either kind is a fallback for the other. With a `span`, only
    values that were true within it fill a slot that changes over time, whether superseded since or not. Memories in
    `found` that tell where the user works or lives, though they are in no slot, may fill it as well.
    """
    about = _about_user(state, asked, at, agent_id)
    if not _CHANGING.issuperset(asked.attributes):
        span = None
    now: dict[str, float] = {}
    past: dict[str, float] = {}
    for memory in _memories(state, asked.attributes if about else asked.of_others, agent_id):
        status = memory.status_at(at)
        if (status == SUPERSEDED and not with_past) or status not in (ACTIVE, SUPERSEDED):
            continue
        if (span is None or _was_true(memory, state, span)) and (share := _share(memory, asked, about_user=about)):
            is_over = status == SUPERSEDED and (span is None or asked.past)
            (past if is_over or _is_past(memory.content) else now)[memory.memory_id] = share
    wanted, other = (past, now) if asked.past else (now, past)
    if about and not asked.words and (asked.past or not wanted):
        for memory in found:
            if not any(_tells(memory.content, attribute) for attribute in asked.attributes):
                continue
            if _is_past(memory.content) == asked.past if span is None else _was_true(memory, state, span):
                wanted.setdefault(memory.memory_id, FILLS)
    return wanted or other


def was_then(memory: Memory, span: Span) -> bool:
    """Return whether a memory belongs to a span of time, by the year or date that it names, else by its own date."""
    named = named_span(memory.content, memory.occurred_at, span.zone) if _YEAR.search(memory.content) else None
    return span.overlaps(named) if named is not None else span.holds(memory.occurred_at)


def _was_true(memory: Memory, state: UserState, span: Span) -> bool:
    """Return whether the statement of a memory was true within a span, as far as the memory tells."""
    if _YEAR.search(memory.content):
        return was_then(memory, span)
    if _is_past(memory.content):
        return memory.occurred_at >= span.since
    newer = state.memories.get(memory.superseded_by) if memory.superseded_by else None
    return memory.occurred_at < span.until and (newer is None or newer.occurred_at > span.since)


def _memories(state: UserState, attributes: tuple[str, ...], agent_id: str | None) -> Iterator[Memory]:
    for attribute in attributes:
        for memory_id in state.by_attribute.get(attribute, ())[-MOST:]:
            memory = state.memories[memory_id]
            if memory.slot == attribute and memory.visible_to(agent_id):
                yield memory


def _share(memory: Memory, asked: SlotAsked, *, about_user: bool) -> float:
    words = f"{memory.content}\n{memory.value or ''}"
    if not all(mentions(words, word) for word in (*asked.words, *(() if about_user else (asked.whose,)))):
        return 0.0
    return ONE_OF_MANY if memory.slot in _LONG_LISTS and not asked.words else FILLS


def _about_user(state: UserState, asked: SlotAsked, at: datetime, agent_id: str | None) -> bool:
    """Return whether the question is about the user: it names no one, or it uses the user's own name."""
    if not asked.whose:
        return True
    names = {fold(state.owner.user_id)}
    for memory in _memories(state, ("user_name",), agent_id):
        if memory.status_at(at) == ACTIVE and memory.value:
            names.add(fold(memory.value))
    return any(_is_part(asked.whose, name) for name in names)


def _is_part(said: str, name: str) -> bool:
    if HAN.search(said):
        return len(said) > 1 and name.endswith(said)
    return set(said.split()) <= set(name.split())


def _is_past(content: str) -> bool:
    """Return whether a statement is about what was, and is so no more."""
    return _PAST.search(fold(content)) is not None


def _tells(content: str, attribute: str) -> bool:
    """Return whether a statement says where the user works or lives, or did, for the attributes that ask for it."""
    pattern = _TELLS.get(attribute)
    return pattern is not None and pattern.search(fold(content)) is not None
