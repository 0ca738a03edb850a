"""The MCP server: the official package implements the protocol, and each tool call is a request to mnemolog's routes.

A call therefore passes the same checks as a request without MCP, and reaches the worker that holds its user.
"""

from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Final

import orjson
from fastapi import Request, Response
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from starlette.types import Message, Receive, Scope, Send

from mnemolog.extensions.mcp.tools import OF_MCP, READING, RoutedTool, line
from mnemolog.http.bounds.bodies import MAX_SMALL_BODY_BYTES
from mnemolog.http.forwarding import BODY
from mnemolog.http.models.body import as_written
from mnemolog.http.own_routes import Answered, Requested, ask
from mnemolog.http.problems import problem
from mnemolog.http.tool_definitions import ADD, CALLER_FIELDS, NOTHING_KNOWN, SEARCH
from schemas.identity import derived_id
from schemas.messages.observations import APP_ID
from schemas.text import on_one_line

INSTRUCTIONS: Final = (
    "Long-term memory about the user. Search it before you ask for what may have been said before; add what will "
    "matter in later conversations."
)

SIMILAR: Final = "Similar memories are known; memory_revise corrects one, memory_forget takes one away"


class Caller:
    """An MCP client, and the execution of its tool calls."""

    def __init__(self, request: Request, user_id: str, agent_id: str | None, app_id: str | None) -> None:
        self._request = request
        self._key = request.headers.get("idempotency-key", "")
        self._whose = {"user_id": user_id, "agent_id": agent_id, "app_id": app_id}

    def server(self) -> Server[Any]:
        """Return a server for this caller's memory."""
        return Server(
            "mnemolog",
            version=version("mnemolog"),
            instructions=INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def _list(self, _: ServerRequestContext[Any, Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=tool.parameters,
                    annotations=ToolAnnotations(
                        read_only_hint=tool.name in READING,
                        destructive_hint=isinstance(tool, RoutedTool) and tool.destroys,
                    ),
                )
                for tool in OF_MCP.values()
            ]
        )

    async def _call(self, context: ServerRequestContext[Any, Any], call: CallToolRequestParams) -> CallToolResult:
        tool = OF_MCP.get(call.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool {call.name!r}: tools/list names those there are")
        arguments = call.arguments or {}
        if chosen := [name for name in CALLER_FIELDS if arguments.get(name) is not None]:
            return _refusal(f"$.{chosen[0]}: whose memory it is stands in the server's URL: leave it out")
        if isinstance(tool, RoutedTool):
            return await self._routed(tool, arguments, str(context.request_id))
        body = {name: one for name, one in arguments.items() if one is not None} | self._whose
        answer = await self._ask(
            Requested(method="POST", path=f"/v1/tools/{tool.name}", body=body), str(context.request_id)
        )
        told: dict[str, Any] = answer.body
        if not answer.is_success:
            return _refusal(str(told["detail"]))
        text = _search_text(told) if tool is SEARCH else _add_text(answer.status, told)
        return CallToolResult(content=[TextContent(text=text)], structured_content=told)

    async def _routed(self, tool: RoutedTool, arguments: dict[str, Any], request_id: str) -> CallToolResult:
        try:
            request = tool.request(arguments, self._whose)
        except ValueError as error:
            return _refusal(str(error))
        if tool.names_memory and not await self._has(request.path, request_id):
            return _refusal(f"there is no memory {arguments['memory_id']!r}")
        answer = await self._ask(request, request_id)
        told: dict[str, Any] = answer.body
        if not answer.is_success:
            return _refusal(str(told["detail"]))
        return CallToolResult(content=[TextContent(text=tool.as_text(told))], structured_content=told)

    async def _has(self, path: str, request_id: str) -> bool:
        """Return whether a memory is visible to the agent and belongs to the application that the URL names."""
        agent_id, app_id = self._whose["agent_id"], self._whose["app_id"]
        if agent_id is None and app_id is None:
            return True  # the route itself checks whether the user has it
        whose = {"user_id": str(self._whose["user_id"])}
        one = await self._ask(Requested(method="GET", path="/".join(path.split("/")[:4]), query=whose), request_id)
        if not one.is_success:
            return False
        memory = one.body
        is_of_app = app_id is None or memory["metadata"].get(APP_ID) == app_id
        return is_of_app and (
            agent_id in (None, memory["agent_id"], *memory["shared_with"]) or memory["agent_id"] is None
        )

    async def _ask(self, request: Requested, request_id: str) -> Answered:
        """Send a request to mnemolog's own app. A repeat with the same key and request id is the same request."""
        return await ask(self._request, request, derived_id("mcp", self._key, request_id))


class Exchange(Response):
    """A response that the MCP library writes. Each request has its own server, so no state is kept between them."""

    def __init__(self, caller: Caller) -> None:
        super().__init__()
        self._caller = caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the library read the message and write the answer."""
        manager = StreamableHTTPSessionManager(
            self._caller.server(), json_response=True, stateless=True, max_request_body_size=MAX_SMALL_BODY_BYTES
        )
        refusal, body = _as_message(scope[BODY])
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        async with manager.run():
            await manager.handle_request(scope, _with_body(body, receive), send)


def _as_message(body: bytes) -> tuple[Response | None, bytes]:
    """Return a refusal, or a body in which the arguments of a tool call are an object even if sent as text."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None, body  # the library reports the error
    if isinstance(message, list):
        detail = "MCP takes one message a request, and no batch: send them one by one"
        return problem(HTTPStatus.BAD_REQUEST, detail), body
    params = message.get("params") if isinstance(message, dict) else None
    if isinstance(params, dict) and isinstance(params.get("arguments"), str):
        params["arguments"] = as_written(params["arguments"], (), ())
        return None, orjson.dumps(message)
    return None, body


def _with_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields a body first."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return messages.pop() if messages else await receive()

    return received


def _refusal(detail: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=detail)], is_error=True)


def _add_text(status: int, memory: dict[str, Any]) -> str:
    """Return the result of adding a fact as text, with similar memories; the structured content has the memory."""
    if status == HTTPStatus.ACCEPTED:
        return "Accepted; it will be remembered in a moment."
    done = f"{'Remembered' if status == HTTPStatus.CREATED else 'Known already'}: {on_one_line(memory['content'])}"
    similar = [f"- {on_one_line(one['content'])} (id {one['memory_id']})" for one in memory["similar"]]
    return "\n".join([done, f"{SIMILAR}:", *similar]) if similar else done


def _search_text(results: dict[str, Any]) -> str:
    """Return the results as text: a line for each memory or turn, with its day and its provenance."""
    lines = [line(found) for found in results["results"]]
    return "\n".join(lines) or f"{NOTHING_KNOWN} {ADD.name} remembers something."
