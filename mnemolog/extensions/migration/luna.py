"""Luna's tables: a value of `semantic_memories` is a memory of the profile, a row of `episodic_memories` an episode."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from mnemolog.extensions.migration import sqlite_rows
from mnemolog.extensions.migration.rows import BadRow, Line, Rows, count, given, instant, line_of, named, number, text
from schemas.identity import derived_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PROFILES: Final = "semantic_memories"
EPISODES: Final = "episodic_memories"
OWNER: Final = ("id", "user_id", "character_id")


@dataclass(frozen=True, slots=True)
class Slot:
    """The attribute that a column fills, with its category and the wording of the statement."""

    attribute: str
    category: str
    statement: str


SINGLE: Final = {
    "user_name": Slot("user_name", "people", "用户叫{}"),
    "birthday": Slot("birthday", "schedule", "用户的生日是{}"),
    "occupation": Slot("occupation", "fact", "用户的职业是{}"),
    "location": Slot("city", "fact", "用户住在{}"),
    "communication_style": Slot("communication_style", "habit", "用户的沟通风格是{}"),
    "relationship_status": Slot("relationship_status", "people", "用户的感情状况是{}"),
    "user_nickname": Slot("pet_names", "people", "用户的昵称是{}"),
}
"""The columns that hold one value."""
LISTS: Final = {
    "likes": Slot("likes", "preference", "用户喜欢{}"),
    "dislikes": Slot("dislikes", "preference", "用户不喜欢{}"),
    "interests": Slot("interests", "interest", "用户对{}感兴趣"),
    "personality_traits": Slot("personality_traits", "people", "用户的性格：{}"),
    "pet_names": Slot("pet_names", "people", "用户的昵称是{}"),
    "sensitive_topics": Slot("sensitive_topics", "preference", "用户的敏感话题：{}"),
    "shared_jokes": Slot("shared_jokes", "fact", "和用户之间的玩笑：{}"),
}
DATES: Final = "important_dates"


def luna_rows(name: str) -> Rows:
    """Return the rows of Luna's database. Raises OSError."""
    with sqlite_rows.opened(name) as connection:
        sqlite_rows.check_table(name, connection, PROFILES, OWNER)
        sqlite_rows.check_table(name, connection, EPISODES, (*OWNER, "summary"))
        total = sum(sqlite_rows.row_count(connection, table) for table in (PROFILES, EPISODES))
    return Rows(total, "rows", lambda: _read(name))


def _read(name: str) -> Iterator[tuple[Line, int]]:
    with sqlite_rows.opened(name) as connection:
        for table, builds in ((PROFILES, profile_memories), (EPISODES, episode_memories)):
            for number_, row in sqlite_rows.rows_of(connection, table):
                size = 1
                for build in builds(row):
                    yield line_of(f"{name}:{table}", number_, build), size
                    size = 0


def profile_memories(stored: dict[str, Any]) -> Iterator[Callable[[], dict[str, Any]]]:
    """Yield a builder for the memory of each value of a row; each invalid column is a bad row by itself."""
    if not stored["user_id"] or stored["id"] is None:
        yield partial(_owned, stored)  # which is refused, once
        return
    row, wrong = _without_wrong(stored, TIMES)
    yield from (partial(_refused, error) for error in wrong)
    for column, slot in SINGLE.items():
        if row.get(column):
            yield partial(_valued, row, column, row[column], slot)
    for column, slot in LISTS.items():
        found = _json(row.get(column), list)
        for value in found if isinstance(found, list) else [found]:
            yield partial(_valued, row, column, value, slot)
    dates = _json(row.get(DATES), dict)
    for what, day in dates.items() if isinstance(dates, dict) else [("", dates)]:
        value = day if isinstance(day, BadRow) else f"{what}: {day}"
        yield partial(_valued, row, DATES, value, Slot(DATES, "schedule", f"用户的{what}是{day}"))


def _json(stored: object, kind: type[list[Any] | dict[str, Any]]) -> Any:  # noqa: ANN401 - what a column holds
    """Return the list or object in a column. Raises BadRow for another value."""
    try:
        found = orjson.loads(stored) if isinstance(stored, (str, bytes)) else stored
    except orjson.JSONDecodeError as error:
        return BadRow(f"is not JSON: {error}")
    if found is None:
        return kind()
    return found if isinstance(found, kind) else BadRow(f"{found!r} is no {'list' if kind is list else 'object'}")


def _without_wrong(
    row: dict[str, Any], readers: Mapping[str, Callable[[str, object], object]]
) -> tuple[dict[str, Any], list[BadRow]]:
    """Return the row without the values that their readers refuse, and the reasons."""
    good, wrong = dict(row), []
    for column, read in readers.items():
        try:
            read(column, row.get(column))
        except BadRow as error:
            wrong.append(error)
            good[column] = None
    return good, wrong


def _refused(error: BadRow) -> dict[str, Any]:
    raise error


def _valued(row: dict[str, Any], column: str, value: object, slot: Slot) -> dict[str, Any]:
    if isinstance(value, BadRow):
        raise BadRow(f"{column} {value}")
    if not isinstance(value, str) or not value.strip():
        raise BadRow(f"{column} holds {value!r}, which is no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadRow(f"{column} {value!r} is not UTF-8") from None
    formed = instant("created_at", row.get("created_at"))
    said = instant("updated_at", row.get("updated_at")) or formed
    return _of(row) | given(
        memory_id=f"{PROFILES}-{named(row)}-{derived_id(column, value)}",
        content=slot.statement.replace("{}", value),
        category=slot.category,
        attribute=slot.attribute,
        value=value,
        formed_at=formed or said,
        said_at=said,
        last_accessed_at=said,
    )


def episode_memories(stored: dict[str, Any]) -> Iterator[Callable[[], dict[str, Any]]]:
    """Yield the builder of a row's episode; each invalid column is a bad row by itself."""
    row, wrong = _without_wrong(stored, GRADED)
    yield from (partial(_refused, error) for error in wrong)
    yield partial(_episode, row)


def _dialogue(column: str, stored: object) -> list[Any]:
    spoken = _json(stored, list)
    if isinstance(spoken, BadRow):
        raise BadRow(f"{column} {spoken}")
    return cast("list[Any]", spoken)


def _importance(column: str, stored: object) -> float:
    return number(column, stored, 1, 4, 2) / 4


TIMES: Final = {"created_at": instant, "updated_at": instant}
GRADED: Final[Mapping[str, Callable[[str, object], object]]] = {
    "key_dialogue": _dialogue,
    "importance": _importance,
    "recall_count": count,
    "created_at": instant,
    "last_recalled": instant,
}
"""The optional columns of an episode."""


def _episode(row: dict[str, Any]) -> dict[str, Any]:
    spoken = _dialogue("key_dialogue", row.get("key_dialogue"))
    recalls = count("recall_count", row.get("recall_count"))
    formed = instant("created_at", row.get("created_at"))
    strength = row.get("strength")
    return _of(row) | given(
        memory_id=str(row.get("memory_id") or f"{EPISODES}-{named(row)}"),
        kind="episodic",
        content=text(row, "summary"),
        event_type=row.get("event_type"),
        emotion=row.get("emotion_state"),
        key_dialogue=[line if isinstance(line, str) else orjson.dumps(line).decode() for line in spoken],
        importance=_importance("importance", row.get("importance")),
        access_count=recalls,
        recall_count=recalls,
        formed_at=formed,
        last_accessed_at=instant("last_recalled", row.get("last_recalled")) or formed,
        metadata=None if strength is None else {"strength": strength},
    )


def _owned(row: dict[str, Any]) -> dict[str, Any]:
    return _of(row) | {"memory_id": named(row)}


def _of(row: dict[str, Any]) -> dict[str, Any]:
    if not row["user_id"]:
        raise BadRow("user_id is empty")
    return given(source_system="luna", user_id=str(row["user_id"]), agent_id=row["character_id"])
