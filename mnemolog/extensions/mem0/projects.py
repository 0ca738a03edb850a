"""mem0's settings for extraction: a project's are the tenant's policy, a call's accompany its turns.

mem0's projects can define categories. mnemolog has eight fixed ones, which can only be described.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, get_args

from mnemolog.extensions.mem0.requests import OwnRoutes
from mnemolog.http.problems import Problem
from schemas.messages.observations import MAX_INSTRUCTIONS_CHARACTERS
from schemas.vocabulary.words import Category

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import Request

CATEGORIES: Final = get_args(Category)
_POLICY: Final = "/v1/policy"
_FORM: Final = 'custom_categories must be a list of objects, such as [{"preference": "what the user likes to eat"}]'
_AGENTS: Final = "agent_custom_instructions: set the policy of the agent instead: PUT /v1/policy?agent_id=…"


def instructions_of(body: Mapping[str, Any], *, is_of_agent: bool) -> str:
    """Return the instructions for the extraction of an added conversation. Raises Problem.

    Unknown categories are ignored, so that a conversation from a mem0 client is never lost because of them.
    """
    own = body.get("agent_custom_instructions") if is_of_agent else None
    said = [own or body.get("custom_instructions")]
    for name, words in (("includes", "Remember only: {}"), ("excludes", "Do not remember: {}")):
        said.append(words.format(body[name]) if body.get(name) else None)
    described = categories_of(body.get("custom_categories"))
    said += [f"- category {name}: {what}" for name, what in described.items() if what and name in CATEGORIES]
    words = "\n".join(one for one in said if isinstance(one, str) and one.strip())
    if len(words) > MAX_INSTRUCTIONS_CHARACTERS:
        detail = f"the instructions have {len(words)} characters: at most {MAX_INSTRUCTIONS_CHARACTERS} are allowed"
        raise Problem(HTTPStatus.BAD_REQUEST, detail)
    return words


def categories_of(given: object) -> dict[str, str]:
    """Return the descriptions of categories, given as a list of objects or of names. Raises Problem."""
    found: dict[str, str] = {}
    members = [] if given is None else given
    if not isinstance(members, list):
        raise Problem(HTTPStatus.BAD_REQUEST, _FORM)
    for one in members:
        named = {one: ""} if isinstance(one, str) else one
        if not isinstance(named, dict) or not all(isinstance(what, str) for what in named.values()):
            raise Problem(HTTPStatus.BAD_REQUEST, _FORM)
        found |= named
    return found


class Projects:
    """The one project of the caller's tenant: its settings are the tenant's policy."""

    def __init__(self, request: Request) -> None:
        self._routes = OwnRoutes(request)

    async def shown(self) -> dict[str, Any]:
        """Return the settings in mem0's shape. Raises Problem."""
        policy = await self._routes.body("GET", _POLICY)
        return {
            "custom_instructions": policy["instructions"] or None,
            "custom_categories": [{name: what} for name, what in policy["categories"].items()] or None,
            "agent_custom_instructions": None,
            "multilingual": True,
            "decay": True,
        }

    async def update(self, body: Mapping[str, Any]) -> None:
        """Set the instructions and the descriptions of categories, and keep the rest of the policy. Raises Problem."""
        if body.get("agent_custom_instructions") is not None:
            raise Problem(HTTPStatus.BAD_REQUEST, _AGENTS)
        changes: dict[str, Any] = {}
        if body.get("custom_instructions") is not None:
            changes["instructions"] = body["custom_instructions"]
        if body.get("custom_categories") is not None:
            described = categories_of(body["custom_categories"])
            if unknown := [name for name in described if name not in CATEGORIES]:
                there = ", ".join(CATEGORIES)
                detail = f"there is no category {unknown[0][:64]!r} here, only {there}: use metadata"
                raise Problem(HTTPStatus.BAD_REQUEST, detail)
            changes["categories"] = described
        if not changes:
            return  # mnemolog is always multilingual and lets memories fade
        known = await self._routes.body("GET", _POLICY)
        kept = {name: value for name, value in known.items() if name not in _OF_ANSWERS}
        await self._routes.body("PUT", _POLICY, body=kept | changes)


_OF_ANSWERS: Final = ("policy_id", "version", "agent_id", "set_at", "by")
"""Members of an answer that are not part of the policy itself."""
