"""The tools of MCP clients in addition to the two of every model, and the requests that their calls become.

The arguments of a tool are those of its route; the URL of the server names the owner of the memory. A memory or a
reminder is addressed by its id, and those of other users or agents are treated as if they did not exist.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args
from urllib.parse import quote

import orjson

from mnemolog.http.models.body import as_written
from mnemolog.http.own_routes import Requested
from mnemolog.http.tool_definitions import ADD, OF_SPEAKER, OF_WHOM, SEARCH, Tool, text
from projections.state.memory import SUPERSEDED
from projections.state.provenance import marked
from schemas.instant import shown_day
from schemas.text import on_one_line
from schemas.vocabulary.words import Category, MemoryType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Answer = dict[str, Any]

ALL_OF_A_MEMORY: Final = "/v1/memories/{memory_id}"
_ID: Final = re.compile(r"[0-9A-Za-z-]{1,64}")
REMINDERS: Final = "/v1/users/{user_id}/reminders"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedTool(Tool):
    """A tool, the route that executes its calls, and the text of its answer.

    `takes_agent` and `takes_app` are whether the route has a parameter for the agent and for the application.
    """

    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: str
    as_text: Callable[[Answer], str]
    takes_agent: bool = True
    takes_app: bool = False
    reads: bool = False
    destroys: bool = False

    def request(self, arguments: Mapping[str, Any], named: Mapping[str, str | None]) -> Requested:
        """Return the request for a call, for the named user, agent and application.

        Null arguments are left out. Raises ValueError for arguments that cannot form a request.
        """
        left = self._given(arguments)
        if unknown := [name for name in left if name not in self.parameters["properties"]]:
            # The route may accept more than the tool.
            known = ", ".join(self.parameters["properties"]) or "nothing"
            raise ValueError(f"$.{on_one_line(unknown[0])[:64]}: is not known here: {self.name} takes {known}")
        path = self.path.replace("{user_id}", quote(str(named["user_id"]), safe=""))
        for name in ("memory_id", "reminder_id"):
            if f"{{{name}}}" not in path:
                continue
            subject = left.pop(name, None)
            if not isinstance(subject, str) or not _ID.fullmatch(subject):  # else it could lead to another route
                raise ValueError(f"$.{name}: is no id: give that of one which was listed or found")
            path = path.replace(f"{{{name}}}", subject)
        takes = {"user_id": "{user_id}" not in self.path, "agent_id": self.takes_agent, "app_id": self.takes_app}
        whose = {name: value for name, value in named.items() if takes[name] and value is not None}
        if self.method == "POST" and "{memory_id}" not in self.path:
            return Requested(method=self.method, path=path, body=left | whose)
        if self.method == "PATCH":
            return Requested(method=self.method, path=path, query=whose, body=left)
        if "filters" in left:
            left["filters"] = orjson.dumps(left["filters"]).decode()
        if structured := [name for name, value in left.items() if isinstance(value, dict | list)]:
            raise ValueError(f"$.{structured[0]}: is a list or an object: give a word or a number")
        return Requested(method=self.method, path=path, query={k: _word(v) for k, v in left.items()} | whose)

    def _given(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments without nulls, and convert values that a model sent as text to the schema's types."""
        kinds = {name: one.get("type") for name, one in self.parameters["properties"].items()}
        numbers = [name for name, kind in kinds.items() if kind in ("integer", "number")]
        left = {name: one for name, one in as_written(arguments, numbers, ()).items() if one is not None}
        for name, kind in kinds.items():
            value = left.get(name)
            if kind == "integer" and isinstance(value, float) and value.is_integer():
                left[name] = int(value)
            elif kind == "object" and isinstance(value, str):
                left[name] = _object(value)
        return left

    @property
    def names_memory(self) -> bool:
        """Whether a call names one memory."""
        return "{memory_id}" in self.path


def _object(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON value of a text, or the text itself if it is not JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def line(memory: Answer) -> str:
    """Return a memory or a turn as one line: its day or minute, its kind, its text with the provenance, and its id."""
    words = marked(memory.get("memory") or memory["content"], memory["provenance"])
    subject = f" (id {memory['memory_id']})" if memory.get("memory_id") else ""
    day = shown_day(memory["occurred_at"], memory.get("formed_at"))
    return f"- {day} [{_kind(memory)}] {words}{subject}"


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kind(found: Answer) -> str:
    """Return the category of a memory and whether it was superseded, or the speaker of a turn."""
    if found["kind"] == "turn":
        return f"said by the {found['role']}"
    return f"{found['category']}{', superseded' * (found['status'] == SUPERSEDED)}"


def _listed(page: Answer) -> str:
    lines = [line(memory) for memory in page["items"]]
    left = page["total"] - (page["page"] - 1) * page["page_size"] - len(lines)
    if not lines:
        return (
            f"There are {page['total']} memories, and none on this page." if page["total"] else "Nothing is remembered."
        )
    return "\n".join([*lines, f"{left} more on the next page."] if left > 0 else lines)


def _history(history: Answer) -> str:
    """Return the events of a memory, one per line, and the number of observations that it came from."""
    events = [
        f"- {event['recorded_at'][:10]} {event['type']}{f': {on_one_line(said)}' * bool(said)}"
        for event in history["events"]
        for said in [(event["after"] or {}).get("content", "")]
    ]
    sources = len(history["lineage"]["observations"])
    return "\n".join([*events, f"It came from {sources} observations." if sources else "It was told directly."])


def _context(context: Answer) -> str:
    return str(context["text"]) or "Nothing is known."


def _profile(profile: Answer) -> str:
    known = {
        name: value for name, value in profile.items() if value and name not in ("sources", "text", "usage_patterns")
    }
    told = profile["text"] or "\n".join(f"- {name}: {_said(value)}" for name, value in known.items())
    return f"{told or 'Nothing is known.'}"


def _said(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_said(each)}" for key, each in value.items())
    return on_one_line(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def _changed(verb: str) -> Callable[[Answer], str]:
    def said(memory: Answer) -> str:
        if "content" not in memory:
            return "Accepted; it will be done in a moment."
        return f"{verb}: {on_one_line(memory['content'])} (id {memory['memory_id']})"

    return said


def _reminder(reminder: Answer) -> str:
    if "content" not in reminder:
        return "Accepted; it will be noted in a moment."
    return f"- {reminder['due_at']} {on_one_line(reminder['content'])} (id {reminder['reminder_id']})"


def _reminders(page: Answer) -> str:
    return "\n".join(_reminder(each) for each in page["items"]) or "There are no reminders."


def _arguments(required: tuple[str, ...] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _number(description: str, least: int, most: int, default: int) -> dict[str, Any]:
    return {"type": "integer", "description": description, "minimum": least, "maximum": most, "default": default}


_MEMORY_ID: Final = text("The memory's id, as memory_search and memory_list show it.")
_CATEGORY: Final = text("Only memories about this.", enum=list(get_args(Category)))
MEMORY_TOOLS: Final = (
    RoutedTool(
        name="memory_list",
        description="List what is remembered, the most important first. To look for something, use memory_search.",
        parameters=_arguments(
            category=_CATEGORY,
            memory_type=text("Only memories of this type.", enum=list(get_args(MemoryType))),
            about=OF_WHOM,
            speaker=OF_SPEAKER,
            filters={
                "type": "object",
                "description": (
                    'Only memories that meet this: fields, operators and AND, OR, NOT, such as {"importance": {"gte": '
                    '0.5}, "NOT": {"metadata.project": "atlas"}}.'
                ),
            },
            page=_number("Which page.", 1, 1_000_000, 1),
            page_size=_number("How many memories a page has.", 1, 200, 50),
        ),
        method="GET",
        path="/v1/memories",
        as_text=_listed,
        takes_app=True,
        reads=True,
    ),
    RoutedTool(
        name="memory_get",
        description="Read one memory with everything that is known about it.",
        parameters=_arguments(("memory_id",), memory_id=_MEMORY_ID),
        method="GET",
        path=ALL_OF_A_MEMORY,
        as_text=line,
        takes_agent=False,
        reads=True,
    ),
    RoutedTool(
        name="memory_revise",
        description="Correct a memory. What is left out stays; its history keeps what it was before.",
        parameters=_arguments(
            ("memory_id",),
            memory_id=_MEMORY_ID,
            content=text("What it should say, as one self-contained sentence."),
            about=text("Whom or what it is about, such as my mother; user: the user."),
            category=text("What it is about.", enum=list(get_args(Category))),
            memory_type=text("long_term is kept; short_term is gone after 48 hours.", enum=list(get_args(MemoryType))),
            importance={"type": "number", "description": "How much it matters.", "minimum": 0, "maximum": 1},
            metadata={"type": "object", "description": "Members to set; those that are null are taken away."},
            expires_at=text("When it is no longer known, in ISO 8601 with its time zone."),
        ),
        method="PATCH",
        path=ALL_OF_A_MEMORY,
        as_text=_changed("It now says"),
        takes_agent=False,
    ),
    RoutedTool(
        name="memory_forget",
        description="Forget a memory that is wrong or unwanted. memory_restore takes it back.",
        parameters=_arguments(("memory_id",), memory_id=_MEMORY_ID),
        method="DELETE",
        path=ALL_OF_A_MEMORY,
        as_text=_changed("Forgotten"),
        takes_agent=False,
        destroys=True,
    ),
    RoutedTool(
        name="memory_restore",
        description="Bring back a memory that was forgotten or has expired.",
        parameters=_arguments(("memory_id",), memory_id=_MEMORY_ID),
        method="POST",
        path=f"{ALL_OF_A_MEMORY}/restore",
        as_text=_changed("Remembered again"),
        takes_agent=False,
    ),
    RoutedTool(
        name="memory_history",
        description="Read how a memory came to be, and every change of it.",
        parameters=_arguments(("memory_id",), memory_id=_MEMORY_ID),
        method="GET",
        path=f"{ALL_OF_A_MEMORY}/history",
        as_text=_history,
        takes_agent=False,
        reads=True,
    ),
    RoutedTool(
        name="memory_context",
        description=(
            "Read what is worth knowing before an answer: the user's profile, what happened lately, and what is "
            "remembered about a question."
        ),
        parameters=_arguments(("query",), query=text("The user's question, or what the answer will be about.")),
        method="POST",
        path="/v1/context",
        as_text=_context,
        takes_app=True,
        reads=True,
    ),
    RoutedTool(
        name="memory_profile",
        description="Read what is known about the user: name, work, home, tastes, people, dates.",
        parameters=_arguments(),
        method="GET",
        path="/v1/users/{user_id}/profile",
        as_text=_profile,
        reads=True,
    ),
    RoutedTool(
        name="reminder_add",
        description="Have the user reminded of something once, at a time.",
        parameters=_arguments(
            ("content", "due_at"),
            content=text("What to remind of."),
            due_at=text("When, in ISO 8601 with its time zone, such as 2026-03-01T09:00:00+01:00."),
        ),
        method="POST",
        path=REMINDERS,
        as_text=_reminder,
    ),
    RoutedTool(
        name="reminder_list",
        description="List the reminders that are still to come, the next first.",
        parameters=_arguments(),
        method="GET",
        path=REMINDERS,
        as_text=_reminders,
        reads=True,
    ),
    RoutedTool(
        name="reminder_cancel",
        description="Cancel a reminder that is still to come.",
        parameters=_arguments(("reminder_id",), reminder_id=text("The reminder's id, as reminder_list shows it.")),
        method="DELETE",
        path=f"{REMINDERS}/{{reminder_id}}",
        as_text=lambda _: "Cancelled.",
        destroys=True,
    ),
)
READING: Final = frozenset({SEARCH.name, *(tool.name for tool in MEMORY_TOOLS if tool.reads)})
OF_MCP: Final[Mapping[str, Tool]] = {tool.name: tool for tool in (ADD, SEARCH, *MEMORY_TOOLS)}
