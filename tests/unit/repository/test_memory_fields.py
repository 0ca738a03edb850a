"""Every place that a field of a memory must reach; each is named when a new field is missing there.

The recipe is docs/contributing/memory-field.md. What a place leaves out on purpose stands here with its reason.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, dataclass, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.examples import MONDAY, XIAOMING, later
from support.given import given
from support.tables import each

from mnemolog.http.models import responses
from mnemolog.imports.snapshot import parse_snapshot
from projections.queries.export import memory_line
from projections.queries.views import memory_view
from projections.shard.rows.memories import memory_of_row, row_of_memory
from projections.state.digest import digests
from projections.state.memory import Memory, UserState
from schemas.inputs.input_events import InvalidEvent
from schemas.messages.events import MemoryFormed, MemoryImported
from schemas.messages.inbox import ImportMemory

ROOT = Path(__file__).resolve().parents[3]
RECIPE = ROOT / "docs" / "contributing" / "memory-field.md"
FIELDS = {field.name: field for field in fields(Memory)}

CHOSEN: dict[str, Any] = {
    "scope": "personal",
    "kind": "episodic",
    "memory_type": "short_term",
    "category": "people",
    "status": "active",
    "metadata": '{"a":1}',
    "met_in": ('{"session_id":"another"}',),
    "value": "coffee",
    "strength": 0.5,
    "emotion_intensity": 0.25,
    "expires_at": later(days=300),
    "confirmed": False,
}
"""Values of fields that do not take any."""
BY_TYPE: dict[str, Any] = {
    "bool": True,
    "str": "a text",
    "int": 7,
    "float": 0.75,
    "datetime": MONDAY + timedelta(microseconds=5),
    "tuple[str, ...]": ("one", "two"),
}
OTHER: dict[str, Any] = {
    "bool": False,
    "str": "another text",
    "int": 8,
    "float": 0.875,
    "datetime": MONDAY + timedelta(hours=1),
    "tuple[str, ...]": ("three",),
}


def type_of(name: str) -> str:
    return str(FIELDS[name].type).removesuffix(" | None")


MEMORY = Memory(**{name: CHOSEN.get(name, BY_TYPE[type_of(name)]) for name in FIELDS})
"""Every field says something."""

LOCAL = {
    "last_tick_id": "a tick elsewhere is none of here",
    "last_recalled_at": "it only spaces the recalls",
    "version": "it counts the changes here",
    "text_version": "it counts the changes here",
    "pieces": "pieces elsewhere are none of here",
    "strength": "it is computed anew",
    "shared_with": "commands of their own share what was imported",
}
"""What an import does not carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file where fields of a memory are spelled out."""

    file: str
    what: str
    """What a field is to be added to, and what is lost without it."""
    names: set[str]
    besides: dict[str, str]
    """Fields that are not there, with the reason."""


def spelled(message: type, **other_names: str) -> set[str]:
    names = {field.name for field in fields(message)}
    return names | {ours for ours, theirs in other_names.items() if theirs in names}


PLACES = (
    Place(
        file="projections/queries/views.py",
        what="the dictionary of memory_view: nobody sees it otherwise",
        names=set(memory_view(XIAOMING, MEMORY, MONDAY)),
        besides={
            "pieces": "the history shows them",
            "said_at": "only exports say it",
            "restored_at": "only exports say it",
            "forgotten_at": "only exports say it",
            "last_recalled_at": "internal",
            "last_tick_id": "internal",
            "text_version": "internal",
            "embedding_model": "internal",
        },
    ),
    Place(
        file="schemas/messages/events.py",
        what="MemoryFormed or MemoryImported, or an event of its own: no event of a new memory says it",
        names=spelled(MemoryFormed, agent_id="envelope", occurred_at="happened_at") | spelled(MemoryImported),
        besides={
            "strength": "begins as initial_strength",
            "last_recalled_at": "begins as none",
            "last_tick_id": "begins as none",
            "version": "begins at 1",
            "text_version": "begins at 1",
            "shared_with": "MemoryRevised says it",
        },
    ),
    Place(
        file="schemas/messages/events.py",
        what="MemoryImported, with a default, and then tools/new_message.py: an import loses it otherwise",
        names=spelled(MemoryImported, agent_id="envelope", occurred_at="happened_at"),
        besides=LOCAL,
    ),
    Place(
        file="schemas/messages/inbox.py",
        what="ImportMemory, with a default, and then tools/new_message.py: an import loses it otherwise",
        names=spelled(ImportMemory, agent_id="envelope", occurred_at="happened_at"),
        besides=LOCAL | {"memory_id": "it follows from the source", "content_hash": "it follows from the content"},
    ),
)


@each("place", PLACES, ids=lambda place: place.what.split(":")[0])
def test_a_field_stands_in_every_place_or_is_left_out_for_a_reason(place: Place):
    missing = [name for name in FIELDS if name not in place.names | place.besides.keys()]
    assert missing == [], f"{', '.join(missing)}: {place.file} lacks it. Add it to {place.what}"
    known = [name for name in place.besides if name in place.names or name not in FIELDS]
    assert known == [], f"{', '.join(known)}: it stands in {place.file}, and is said to be left out"


def test_the_answers_of_the_routes_have_the_fields_of_the_view():
    missing = set(memory_view(XIAOMING, MEMORY, MONDAY)) ^ set(responses.Memory.model_fields)
    assert missing == set(), f"{missing}: mnemolog/http/models/responses.py, Memory, differs from memory_view"


def test_the_page_of_http_has_the_fields_of_the_view():
    page = (ROOT / "docs" / "reference" / "http.md").read_text("utf-8")
    table = page.split("\nA memory:\n")[1].split("\n## ")[0]
    named = {
        name for row in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    missing = set(memory_view(XIAOMING, MEMORY, MONDAY)) ^ named
    assert missing == set(), f"{missing}: docs/reference/http.md, the table 'A memory', differs from memory_view"


def test_an_export_has_nothing_that_an_import_refuses():
    line = memory_line(XIAOMING, MEMORY, MONDAY)
    try:
        parse_snapshot(line, tenant="default", user_id=None, accepted_at=later(days=1))
    except InvalidEvent as error:
        pytest.fail(f"{error}: mnemolog/imports/snapshot.py, Snapshot, lacks a field that ImportMemory has not either")


@each("name", FIELDS)
def test_the_row_of_the_shard_keeps_every_field(name: str):
    kept = getattr(memory_of_row(row_of_memory(MEMORY)), name)
    assert kept == getattr(MEMORY, name), f"{name}: projections/shard/rows/memories.py reads it otherwise"


@pytest.mark.parametrize("name", [name for name, field in FIELDS.items() if field.default is not MISSING])
def test_a_row_that_was_written_before_there_was_a_field_has_its_default(name: str):
    default: dict[str, Any] = {name: FIELDS[name].default}
    before = replace(MEMORY, **default)
    text = row_of_memory(MEMORY).decode()
    old = re.sub(rf',?"{name}":(\[[^\]]*\]|"[^"]*"|[^,}}]*)', "", text)
    assert old != text
    assert memory_of_row(old.encode()) == before, f"{name}: projections/shard/rows/memories.py needs it in old rows"


UNDIGESTED = {
    "said_at": "the order of a slot's values is in their statuses",
    "forgotten_at": "a log time, which differs between engines",
}
"""What the digest leaves out, because equal decisions give it anyway or it is local."""


@each("name", FIELDS)
def test_the_digest_says_when_a_field_differs(name: str):
    other: dict[str, Any] = {
        name: {"status": "expired", "kind": "semantic", "confirmed": True}.get(name, OTHER[type_of(name)])
    }
    differs = digest(replace(MEMORY, **other)) != digest(MEMORY)
    assert differs == (name not in UNDIGESTED), (
        f"{name}: projections/state/digest.py leaves it out. One with a default is in the digest by itself"
    )


def digest(memory: Memory) -> str:
    """Return the digest of a user with one memory."""
    state = UserState(owner=XIAOMING)
    return digests([replace(state, memories=state.memories.set(memory.memory_id, memory))])["total"]


NOT_KEPT = LOCAL | {
    "memory_id": "it follows from the source",
    "source_type": "it is import here",
    "content_hash": "it follows from the content",
    "embedding_model": "an import embeds anew",
    "superseded_by": "of superseded ones",
    "forgotten_at": "of forgotten ones",
}


@each("name", [name for name in FIELDS if name not in NOT_KEPT])
def test_an_import_of_an_export_keeps_every_field(name: str):
    """Through Snapshot, ImportMemory, MemoryImported and formation, which copy what they spell alike."""
    there = replace(MEMORY, access_count=9, last_accessed_at=later(hours=1), restored_at=later(hours=2))
    line = memory_line(XIAOMING, there, later(days=1))
    line["source_system"] = "another"
    item = parse_snapshot(line, tenant="default", user_id=None, accepted_at=later(days=1)).item(later(days=1), b"", "m")
    here = given().when(item).then("formed").only
    assert getattr(here, name) == getattr(there, name), (
        f"{name}: it is lost between mnemolog/imports/snapshot.py (Snapshot, and Importable.item where ImportMemory "
        "spells it otherwise), streams/decisions/imports.py (decide_import) and projections/state/formation.py"
    )


def test_the_recipe_names_every_place():
    recipe = RECIPE.read_text("utf-8")
    files = {place.file for place in PLACES} | {
        "projections/state/memory.py",
        "projections/state/formation.py",
        "projections/state/evolve.py",
        "projections/state/digest.py",
        "projections/shard/rows/memories.py",
        "streams/decisions/imports.py",
        "mnemolog/http/models/responses.py",
        "docs/reference/http.md",
    }
    assert [file for file in sorted(files) if f"`{file}`" not in recipe] == []
