"""LangChain: the two memory tools, and a retriever of memories. The extra `langchain` installs their dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import StructuredTool, ToolException
from pydantic import ConfigDict

from mnemolog.client.client import AsyncClient, Client  # noqa: TC001 - pydantic reads the retriever's fields
from mnemolog.client.errors import MnemologError
from mnemolog.integrations.answers import as_text

if TYPE_CHECKING:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun


def memory_tools(
    client: Client, user_id: str, agent_id: str | None = None, *, async_client: AsyncClient | None = None
) -> list[StructuredTool]:
    """Return memory_add and memory_search as the server defines them, for one user.

    If a call fails, the model receives the reason as the answer. Calls with await need `async_client`. Raises
    MnemologError.
    """
    functions = [tool["function"] for tool in client.tools()["tools"]]
    return [_tool(function, client, user_id, agent_id, async_client) for function in functions]


def _tool(
    function: dict[str, Any], client: Client, user_id: str, agent_id: str | None, async_client: AsyncClient | None
) -> StructuredTool:
    name = function["name"]

    def call(**arguments: Any) -> str:  # noqa: ANN401 - what the schema says
        try:
            return as_text(client.call_tool(name, arguments, user_id, agent_id))
        except MnemologError as error:
            raise ToolException(error.detail) from error

    async def acall(**arguments: Any) -> str:  # noqa: ANN401 - as above
        if async_client is None:
            raise TypeError("give memory_tools an async_client, to call its tools with await")
        try:
            return as_text(await async_client.call_tool(name, arguments, user_id, agent_id))
        except MnemologError as error:
            raise ToolException(error.detail) from error

    return StructuredTool(
        name=name,
        description=function["description"],
        args_schema=function["parameters"],
        func=call,
        coroutine=None if async_client is None else acall,
        handle_tool_error=True,
    )


class MemoryRetriever(BaseRetriever):
    """Finds a user's relevant memories and turns, best first.

    The text of a result is the page content of its document, and the other fields are the metadata.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Client
    user_id: str
    agent_id: str | None = None
    limit: int = 5
    filters: dict[str, Any] | None = None
    async_client: AsyncClient | None = None
    """The client for `ainvoke`; without it, `client` is called in a thread."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:  # noqa: ARG002
        found = self.client.search(self.user_id, self.agent_id, query, limit=self.limit, filters=self.filters)
        return _documents(found)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.async_client is None:
            found: list[Document] = await super()._aget_relevant_documents(query, run_manager=run_manager)
            return found
        answer = await self.async_client.search(
            self.user_id, self.agent_id, query, limit=self.limit, filters=self.filters
        )
        return _documents(answer)


def _documents(found: dict[str, Any]) -> list[Document]:
    return [_document(result) for result in found["results"] if not result["below_line"]]


def _document(result: dict[str, Any]) -> Document:
    known = {name: value for name, value in result.items() if name not in ("memory", "content")}
    return Document(page_content=result["memory"], metadata=known, id=result.get("memory_id") or result["turn_id"])
