"""OpenAI Agents: the two memory tools for one user. The extra `openai-agents` installs their dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents import FunctionTool

from mnemolog.client.errors import MnemologError
from mnemolog.integrations.answers import as_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mnemolog.client.client import AsyncClient


async def memory_tools(client: AsyncClient, user_id: str, agent_id: str | None = None) -> list[FunctionTool]:
    """Return memory_add and memory_search as the server defines them, as the tools of an Agent.

    If a call fails, the model receives the reason as the answer. Raises MnemologError.
    """
    functions = [tool["function"] for tool in (await client.tools())["tools"]]
    return [
        FunctionTool(
            name=function["name"],
            description=function["description"],
            params_json_schema=function["parameters"],
            on_invoke_tool=_caller(client, function["name"], user_id, agent_id),
            strict_json_schema=False,  # parameters with defaults are optional
        )
        for function in functions
    ]


def _caller(client: AsyncClient, name: str, user_id: str, agent_id: str | None) -> Callable[[Any, str], Awaitable[str]]:
    async def call(_context: object, arguments: str) -> str:
        try:
            return as_text(await client.call_tool(name, arguments, user_id, agent_id))
        except MnemologError as error:
            return f"That failed: {error.detail}"

    return call
