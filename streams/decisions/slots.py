"""Single slots, which hold one value: the newest wins, by effective time, then log position, then ordinal.

A single-valued attribute is a slot. So is each thing that is liked or disliked, because it cannot be both.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from projections.state.memory import ACTIVE, EXPIRED, FORGOTTEN
from schemas.messages.events import MemorySuperseded
from schemas.vocabulary.attributes import OPPOSITES, name_and_date, plain_value, same_value
from schemas.vocabulary.facts import key_of
from schemas.vocabulary.tastes import says_taste
from schemas.vocabulary.words import DOCUMENT
from streams.decisions.duplicates import matching, statement_keys
from streams.decisions.duplicates.contradiction import ANY, end_keys, ends, taken_back
from streams.decisions.duplicates.equivalence import content_words

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator
    from datetime import datetime

    from projections.state.memory import Memory, UserState
    from streams.decisions.draft import Draft
    from streams.decisions.duplicates.matching import Statement

EXTRACTED: Final = ("chat", "photo", "inferred")
"""The source types of extracted memories, which a model or rules wrote and not a client."""

OF_OCCASIONS: Final = ("schedule", "finance")
"""Categories whose memories each concern one occasion."""
OF_PEOPLE: Final = ("family", "friends")
"""Attributes whose values name somebody, and may say who that is to the user."""
_OTHER_CONTACT: Final = re.compile(
    r"^(?:the )?user's [\w -]{2,30} (?:is now|(?:has )?changed to) |^用户的?[^，。]{1,10}[换改变]成了?", re.IGNORECASE
)
_CONTACTS: Final = {
    **dict.fromkeys(
        ("phone", "phone number", "mobile", "cell", "number", "手机", "手机号", "电话", "电话号码"), "phone"
    ),
    **dict.fromkeys(("email", "e-mail", "email address", "邮箱", "邮件"), "email"),
    **dict.fromkeys(("address", "home address", "地址", "家庭地址", "住址"), "address"),
    **dict.fromkeys(("wechat", "微信", "微信号"), "wechat"),
}
"""Names under which the same is given."""


def occupants(state: UserState, statement: Statement) -> list[Memory]:
    """Return the memories that ever held the statement's single slot, by the time last said; [] without a slot.

    A fact about another person has its own slot. The key of a document is a slot for documents.
    """
    fact = statement.key
    if fact is None or not (statement.kind == DOCUMENT or (statement.kind == "semantic" and statement.is_single)):
        return []
    filling = _filling(_of_fact(state, fact), statement)
    if statement.is_by_name and statement.kind != DOCUMENT:
        return [m for m in filling if _name(m.value) == _name(statement.value)]
    return filling


def _name(value: str | None) -> str:
    """Return the name at the beginning of a map's value, in its canonical spelling."""
    return plain_value(name_and_date(value or "")[0])


def opposed(state: UserState, statement: Statement, *, keeps: bool) -> list[Memory]:
    """Return the memories that ever stated the opposite about the same thing, by the time last said.

    If the profile `keeps` its values, the result is [] and both lists accumulate. An extracted memory whose words state
    neither a like nor a dislike, such as `I have a cat` with the cat's name as a like, is not ended by a dislike.
    """
    opposite = key_of(statement.subject, OPPOSITES.get(statement.attribute or ""))
    if keeps or opposite is None or statement.kind != "semantic":
        return []
    opposite_of_it = matching.with_value(state, opposite, statement.value)
    return [m for m in _filling(opposite_of_it, statement) if _says_its_slot(m)]


def _says_its_slot(memory: Memory) -> bool:
    """Return whether a memory's words state its like or dislike; those that a client wrote always count."""
    return memory.source_type not in EXTRACTED or says_taste(memory.content) or holds(memory, memory.content)


def contradicted(state: UserState, statement: Statement, *, keeps: bool) -> list[Memory]:
    """Return the memories that a statement of the user contradicts, or that contradict it later, by the time said.

    Besides single slots, contradictions are denials, other numbers and withdrawals. Plans and sums of money on two
    occasions do not contradict each other. Memories that fill slots are left out if the profile `keeps` its values or
    the statement is about another person.
    """
    if statement.kind != "semantic":
        return []
    back = taken_back(statement.content) if statement.subject is None else None
    keys: list[Hashable] = [*end_keys(content_words(statement.content))]
    if statement.slot is not None and statement.value is not None:
        keys.append(statement_keys.of_taking_back(statement.slot))
    perhaps: set[str] = set()
    attributes, taken = back or ((), ANY)
    for attribute in attributes:
        if taken == ANY or attribute in (*OF_PEOPLE, _EMPLOYER):
            perhaps.update(state.by_attribute.get(attribute, ()))
        else:
            keys.append(statement_keys.of_value(attribute, taken))
    if statement.slot in _LOVE:
        perhaps |= {i for attribute in _LOVE for i in state.by_attribute.get(attribute, ())}
    if statement.slot == _ACCOUNTS:
        perhaps.update(state.by_attribute.get(_ACCOUNTS, ()))
    perhaps |= matching.found(state, keys)
    found = [
        m
        for m in map(state.memories.__getitem__, perhaps)
        if m.kind == "semantic"
        and m.status in (ACTIVE, FORGOTTEN)
        and m.category not in OF_OCCASIONS
        and m.scope == statement.scope
        and m.known_to(statement.agent_id)
        and not (m.slot and (keeps or statement.subject is not None))
        and _contradicts(m, statement, back)
    ]
    return sorted(found, key=lambda m: (m.said_at, m.memory_id))


def _contradicts(memory: Memory, statement: Statement, back: tuple[tuple[str, ...], str] | None) -> bool:
    if statement.slot == memory.slot == _ACCOUNTS:
        newer, older = (memory, statement) if memory.said_at > statement.effective else (statement, memory)
        return _takes_place(newer.content, newer.value, older.value)
    if statement.slot in _LOVE and memory.slot in _LOVE and memory.said_at != statement.effective:
        newer, older = (memory, statement) if memory.said_at > statement.effective else (statement, memory)
        if _is_alone(newer, older) or _is_alone(older, newer):
            return True
    if memory.said_at > statement.effective:
        return ends(memory.content, statement.content) or _takes_back(memory.content, statement)
    if back is not None and memory.slot in back[0] and _is_taken(memory, back[1], statement):
        return True
    if statement.slot and statement.slot == memory.slot:  # the slot itself decides between two numbers in it
        return False
    return ends(statement.content, memory.content) or _gives_again(memory, statement)


_PARTNER: Final = re.compile(
    r"(?:ex-?)?(?:girlfriend|boyfriend|partner|fianc[eé]e?|husband|wife|spouse) (?P<name>.+)"
    r"|(?:女朋友|男朋友|女友|男友|对象|爱人|老婆|老公|妻子|丈夫|未婚妻|未婚夫)(?P<also>.+)",
    re.IGNORECASE,
)
"""The value of a partner in `family`: a relation and a name."""


_LOVE: Final = ("relationship_status", "family")
_COUPLE: Final = r"(?:girlfriend|boyfriend|partner|女朋友|男朋友|女友|男友|对象)"
_SPOUSE: Final = r"(?:husband|wife|spouse|爱人|老婆|老公|妻子|丈夫|太太|先生)"
_WITHOUT: Final = {
    **dict.fromkeys(("single", "单身"), re.compile(rf"(?:{_COUPLE}|{_SPOUSE}).+", re.IGNORECASE)),
    **dict.fromkeys(("divorced", "离婚"), re.compile(rf"{_SPOUSE}.+", re.IGNORECASE)),
}
"""The partners that a relationship status excludes, as values of `family`: `girlfriend Mia`, 女朋友小美."""


def _is_alone(status: Memory | Statement, family: Memory | Statement) -> bool:
    """Return whether a relationship status excludes the partner that `family` names."""
    if status.slot != "relationship_status" or family.slot != "family":
        return False
    without = _WITHOUT.get((status.value or "").casefold())
    return without is not None and without.fullmatch(family.value or "") is not None


def _is_taken(memory: Memory, value: str, statement: Statement) -> bool:
    """Return whether a memory holds the value that a statement takes back; a partner matches by the name alone.

    If any value is taken back, a memory that was said at the same time stays, because it is the replacement.
    """
    if value == ANY:
        return memory.said_at < statement.effective
    partner = _PARTNER.fullmatch(memory.value or "")
    name = partner["name"] or partner["also"] if partner else None
    if memory.slot in OF_PEOPLE:
        return name is not None and same_value(name, value)
    return holds(memory, value) or (memory.slot == _EMPLOYER and _begins(memory.value, value, statement.content))


def _takes_back(content: str, statement: Statement) -> bool:
    back = taken_back(content)
    if back is None or statement.slot not in back[0] or statement.value is None:
        return False
    return (
        back[1] == ANY
        or same_value(back[1], statement.value)
        or (statement.slot == _EMPLOYER and _begins(statement.value, back[1], content))
    )


_EMPLOYER: Final = "employer"
_ACCOUNTS: Final = "accounts"
_JOB: Final = re.compile(r"\bjob\b", re.IGNORECASE)
"""A word that marks the name after `at` as an employer: "left New York" does not mean the New York Times."""


def _begins(employer: str | None, short: str, said: str) -> bool:
    """Return whether a statement that ends a job names an employer by its first words (St. Mary's)."""
    return bool(_JOB.search(said)) and (employer or "").casefold().startswith(f"{short.casefold()} ")


def _gives_again(memory: Memory, statement: Statement) -> bool:
    """Return whether a memory took back a value that the statement gives again."""
    back = taken_back(memory.content)
    return memory.slot is None and back is not None and back[1] != ANY and _takes_back(memory.content, statement)


def _of_fact(state: UserState, fact: str) -> Iterator[Memory]:
    return (state.memories[i] for i in state.by_attribute.get(fact, ()))


def _filling(memories: Iterable[Memory], statement: Statement) -> list[Memory]:
    """Return the memories that fill their slot for a statement, by the time last said."""
    filling = [
        m
        for m in memories
        if m.stated
        and (m.kind == DOCUMENT) == (statement.kind == DOCUMENT)
        and m.scope == statement.scope
        and m.known_to(statement.agent_id)
    ]
    return sorted(filling, key=lambda m: m.said_at)  # stable: of two said at once, the later decided is newer


def newer_than(occupants: list[Memory], effective: datetime) -> Memory | None:
    """Return the newest occupant if it is newer than `effective`: an older value is formed as superseded.

    A forgotten occupant counts, because forgetting the current value does not bring back a past one. An expired one
    does not count.
    """
    newest = next((m for m in reversed(occupants) if m.status_at(effective) != EXPIRED), None)
    return newest if newest is not None and newest.said_at > effective else None


def present(occupants: list[Memory], effective: datetime) -> list[Memory]:
    """Return the occupants that are active at an instant."""
    return [m for m in occupants if m.status_at(effective) == ACTIVE]


def supersede(draft: Draft, present: list[Memory], by: str, effective: datetime, reason: str | None = None) -> None:
    """Draft that the memory `by` supersedes the present ones; the default reason is that it is newer."""
    newer = draft.state.memories[by].attribute if present else None
    for old in present:
        draft.add(MemorySuperseded(envelope=draft.envelope(effective), memory_id=old.memory_id, superseded_by=by))
        draft.say(old.memory_id, "superseded", reason or f"a newer {newer or 'statement'} was said", old.memory_id)


def named(state: UserState, statement: Statement) -> Statement:
    """Return a nickname as the user's name if no other name is known, else as one of the pet names."""
    name = replace(statement, attribute="user_name")
    others = [m for m in present(occupants(state, name), statement.effective) if not holds(m, statement.value)]
    return replace(statement, attribute="pet_names") if others else name


def holds(memory: Memory, value: str | None) -> bool:
    """Return whether an occupant has the value."""
    return value is not None and memory.value is not None and same_value(memory.value, value)


def fills_same(memory: Memory, statement: Statement) -> bool:
    """Return whether a memory with the same text fills the same slot with the same value, as far as they are given."""
    if statement.attribute is None:
        return True
    return (
        memory.stated is not None
        and memory.key == statement.key
        and (statement.value is None or holds(memory, statement.value))
    )


def is_same(memory: Memory, statement: Statement, happened_at: datetime | None) -> bool:
    """Return whether a memory with the same text is the same: two events may have the same wording."""
    if memory.kind != statement.kind or not fills_same(memory, statement):
        return False
    return memory.kind != "episodic" or memory.occurred_at == happened_at


def _takes_place(content: str, value: str | None, older: str | None) -> bool:
    """Return whether a statement says that a number or address is now another one than `older`.

    Both are values of `accounts`, such as `phone: 07700 900456`. Where nothing says that it changed, somebody has two.
    """
    if not value or not older or not _OTHER_CONTACT.search(content):
        return False
    return _contact(value) == _contact(older) and not same_value(value, older)


def _contact(value: str) -> str:
    name = name_and_date(value)[0].casefold()
    return _CONTACTS.get(name, name)
