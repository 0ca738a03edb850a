"""What mem0's get_all and its histories return, as memories to import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest
from support.migrating import bad, memories

from mnemolog.extensions.migration.mem0 import mem0_rows

if TYPE_CHECKING:
    from pathlib import Path

BERN: dict[str, Any] = {
    "id": "a1",
    "memory": "Zoe lives in Bern",
    "user_id": "zoe",
    "run_id": "r1",
    "app_id": "web",
    "categories": ["home", "people"],
    "metadata": {"k": 1},
    "expiration_date": "2030-05-01",
    "created_at": "2025-01-05T08:00:00-08:00",
    "updated_at": "2025-02-05T08:00:00-08:00",
}
HISTORY = [
    {"event": "ADD", "new_memory": "Zoe lives in Basel", "created_at": "2025-01-05T16:00:00Z"},
    {
        "event": "UPDATE",
        "old_memory": "Zoe lives in Basel",
        "new_memory": "Zoe lives in Bern",
        "created_at": "2025-02-05T16:00:00Z",
    },
]


def written(tmp_path: Path, content: object) -> str:
    path = tmp_path / "mem0.json"
    path.write_bytes(orjson.dumps(content))
    return str(path)


def test_a_memory_keeps_its_owner_times_and_metadata(tmp_path: Path):
    [memory] = memories(mem0_rows(written(tmp_path, {"count": 1, "results": [BERN]})))
    assert memory == {
        "source_system": "mem0",
        "memory_id": "a1",
        "user_id": "zoe",
        "content": "Zoe lives in Bern",
        "category": "people",
        "source_ref": "r1",
        "session_id": "r1",
        "formed_at": "2025-01-05T16:00:00+00:00",
        "said_at": "2025-02-05T16:00:00+00:00",
        "last_accessed_at": "2025-02-05T16:00:00+00:00",
        "expires_at": "2030-05-01T23:59:59Z",
        "metadata": {"k": 1, "categories": ["home", "people"], "app_id": "web"},
    }


@pytest.mark.parametrize("categories", [5, True, "people", {"people": 1}, [["people"], None]])
def test_categories_that_are_no_list_of_texts_name_none(tmp_path: Path, categories: object):
    [memory] = memories(mem0_rows(written(tmp_path, [BERN | {"categories": categories}])))
    assert (memory["content"], memory["category"]) == ("Zoe lives in Bern", "fact")


def test_what_it_said_before_is_a_memory_that_it_superseded(tmp_path: Path):
    now, before = memories(mem0_rows(written(tmp_path, [BERN | {"history": HISTORY}])))
    assert now["content"] == "Zoe lives in Bern"
    assert before["content"] == "Zoe lives in Basel"
    assert (before["status"], before["superseded_by"], before["memory_id"]) == ("superseded", "a1", "a1-0")


@pytest.mark.parametrize(
    ("whose", "user"),
    [({"agent_id": "bot"}, "mem0:agent:bot"), ({"runId": "r"}, "mem0:run:r"), ({}, "owner"), ({"userId": "u"}, "u")],
)
def test_a_memory_of_no_user_is_where_mem0s_clients_look_for_it(tmp_path: Path, whose: dict[str, str], user: str):
    [memory] = memories(mem0_rows(written(tmp_path, [{"id": "1", "data": "x"} | whose])))
    assert memory["user_id"] == user


@pytest.mark.parametrize(
    ("element", "why"),
    [
        (3, "is no object"),
        ({"id": "1"}, "memory is empty: there is nothing to remember"),
        ({"memory": "x", "created_at": "soon"}, "created_at 'soon' is no time"),
        ({"memory": "x", "metadata": [1]}, "metadata [1] is no object"),
    ],
)
def test_what_is_no_memory_is_said_and_skipped(tmp_path: Path, element: object, why: str):
    rows = list(mem0_rows(written(tmp_path, [element, BERN])).read())
    assert len(rows) == 2
    assert bad(mem0_rows(written(tmp_path, [element, BERN]))) == [(1, why)]
